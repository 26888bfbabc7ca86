//! Reads `agents/*.toml` of a policies folder: files in, [`Agents`] and what is wrong with them out.

use std::path::Path;

use toml::de::{DeTable, DeValue};

use super::{Agent, Agents, check, lint};
use crate::catalog::{Flaw, Named, Problem, parse_toml};

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
        let previous = previous.map(|old| &old.named);
        let (named, mut problems) = Named::load((policies, FOLDER), previous, name, read);
        let loaded = Self { named };
        problems.extend(lint::among(&loaded));
        if let Ok(count) = u32::try_from(problems.len()) {
            metrics::gauge!("switchboard_reason_agent_problems").set(count);
        }
        (loaded, problems)
    }
}

fn name(one: &Agent) -> &str {
    &one.name
}

/// One file; all that is wrong with it, by place.
fn read(text: &str) -> Result<Agent, Vec<Flaw>> {
    let agent: Agent = parse_toml(text).map_err(|fault| vec![(fault.place, fault.message)])?;
    let wrong = check::check(&agent);
    if wrong.is_empty() {
        return Ok(agent);
    }
    Err(wrong.into_iter().map(|(path, message)| (place(text, &path), message)).collect())
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
