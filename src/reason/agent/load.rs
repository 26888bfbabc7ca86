//! Reads `agents/*.toml` of a policies folder: files in, [`Agents`] and what is wrong with them out.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use toml::de::{DeTable, DeValue};

use super::{Agent, Agents, check, lint};
use crate::catalog::{Fault, Problem, parse_toml, read_text};

/// The subfolder with the declarations.
const FOLDER: &str = "agents";

impl Agents {
    /// Reads the folder `agents` of a policies folder. A folder that is not there declares no agents.
    /// Blocks for as long as reading some small files takes.
    pub fn load(policies: &Path) -> (Self, Vec<Problem>) {
        Self::load_with(policies, None)
    }

    /// As [`Agents::load`]; a file that is broken now keeps what it declared in `previous`, and the
    /// problem says so. One that is gone takes its agent with it.
    pub fn load_with(policies: &Path, previous: Option<&Self>) -> (Self, Vec<Problem>) {
        let (mut loaded, mut problems) = (Self::default(), Vec::new());
        let files = list(policies).unwrap_or_else(|message| {
            problems.push(problem(FOLDER, "", message));
            // Without a list nothing is known to be gone.
            previous.map(Self::files).unwrap_or_default()
        });
        for file in files {
            match read(&policies.join(&file)) {
                Ok(one) => loaded.take(one, &file, &mut problems),
                Err(faults) => {
                    let kept = previous.and_then(|old| old.of_file(&file));
                    for (place, message) in faults {
                        let more = if kept.is_some() { "; its last good state holds" } else { "" };
                        problems.push(problem(&file, &place, format!("{message}{more}")));
                    }
                    if let Some(kept) = kept {
                        loaded.take(Arc::clone(kept), &file, &mut problems);
                    }
                }
            }
        }
        problems.extend(lint::among(&loaded));
        loaded.digest = loaded.compute_digest();
        if let Ok(count) = u32::try_from(problems.len()) {
            metrics::gauge!("switchboard_reason_agent_problems").set(count);
        }
        (loaded, problems)
    }

    fn take(&mut self, one: Arc<Agent>, file: &str, problems: &mut Vec<Problem>) {
        if let Some((_, first)) = self.by_name.get(&one.name) {
            let message = format!(
                "`{}` is declared in `{first}` already, which holds; give one of them another name",
                one.name
            );
            problems.push(problem(file, "name", message));
            return;
        }
        self.by_name.insert(one.name.clone(), (one, file.to_owned()));
    }

    /// The agents with the files that declare them.
    pub(super) fn declared(&self) -> impl Iterator<Item = (&Arc<Agent>, &str)> {
        self.by_name.values().map(|(one, file)| (one, file.as_str()))
    }

    fn of_file(&self, file: &str) -> Option<&Arc<Agent>> {
        self.declared().find(|(_, from)| *from == file).map(|(one, _)| one)
    }

    fn files(&self) -> Vec<String> {
        self.declared().map(|(_, file)| file.to_owned()).collect()
    }

    fn compute_digest(&self) -> String {
        let all: BTreeMap<&String, &Agent> =
            self.by_name.iter().map(|(name, (one, _))| (name, one.as_ref())).collect();
        hex::encode(Sha256::digest(serde_json::to_vec(&all).unwrap_or_default()))
    }
}

fn problem(file: &str, place: &str, message: String) -> Problem {
    Problem { file: file.to_owned(), place: place.to_owned(), message, fatal: true }
}

/// The files, relative to the policies folder, sorted.
fn list(policies: &Path) -> Result<Vec<String>, String> {
    let entries = match std::fs::read_dir(policies.join(FOLDER)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(format!("cannot be read: {error}")),
    };
    let mut files: Vec<String> = entries
        .filter_map(|entry| {
            let name = entry.ok()?.file_name().into_string().ok()?;
            let wanted = name.ends_with(".toml") && !name.starts_with('.');
            wanted.then(|| format!("{FOLDER}/{name}"))
        })
        .collect();
    files.sort();
    Ok(files)
}

/// One file; all that is wrong with it, by place.
fn read(path: &Path) -> Result<Arc<Agent>, Vec<(String, String)>> {
    let one = |fault: Fault| vec![(fault.place, fault.message)];
    let text = read_text(path).map_err(one)?;
    let agent: Agent = parse_toml(&text).map_err(one)?;
    let wrong = check::check(&agent);
    if wrong.is_empty() {
        return Ok(Arc::new(agent));
    }
    Err(wrong.into_iter().map(|(path, message)| (place(&text, &path), message)).collect())
}

/// A path of keys as errors name it, with the line where it stands, or the part of it that does.
fn place(text: &str, path: &[String]) -> String {
    let mut key = String::new();
    for step in path {
        match step.parse::<usize>() {
            Ok(at) => key.push_str(&format!("[{at}]")),
            Err(_name) if key.is_empty() => key.push_str(step),
            Err(_name) => key.push_str(&format!(".{step}")),
        }
    }
    match line(text, path) {
        Some(line) => format!("line {line}, `{key}`"),
        None => key,
    }
}

fn line(text: &str, path: &[String]) -> Option<usize> {
    let root = DeTable::parse(text).ok()?;
    let (first, rest) = path.split_first()?;
    let (key, value) = root.get_ref().get_key_value(first.as_str())?;
    let (mut start, mut value) = (key.span().start, value);
    for step in rest {
        let next = match value.get_ref() {
            DeValue::Table(table) => {
                table.get_key_value(step.as_str()).map(|(key, next)| (key.span().start, next))
            }
            DeValue::Array(items) => step
                .parse::<usize>()
                .ok()
                .and_then(|at| items.get(at))
                .map(|next| (next.span().start, next)),
            _ => None,
        };
        let Some(next) = next else { break };
        (start, value) = next;
    }
    Some(text.get(..start)?.matches('\n').count() + 1)
}
