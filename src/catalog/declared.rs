//! Things that a subfolder of the policies folder declares, one a file: the folder and what its files
//! declared before in, what they declare now and every problem out. What a file means is said by whoever
//! reads it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::{Problem, read_text};

/// A place in a file, and what is wrong there.
pub(crate) type Flaw = (String, String);

/// Reads the TOML files of a folder of the policies folder, in the order of their names, and hands on what
/// each declares. A file that is broken now keeps what it declared in `previous`, and the problem says so;
/// one that is gone takes that with it. A folder that is not there declares nothing. Blocks for as long as
/// reading some small files takes.
pub(crate) fn declared<T>(
    (policies, folder): (&Path, &str),
    previous: &[(&str, &Arc<T>)],
    read: impl Fn(&str, &str) -> Result<T, Vec<Flaw>>,
    mut take: impl FnMut(Arc<T>, &str) -> Result<(), Flaw>,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    let files = list(policies, folder).unwrap_or_else(|message| {
        problems.push(problem(folder, (String::new(), message)));
        // Without a list nothing is known to be gone.
        previous.iter().map(|(file, _)| (*file).to_owned()).collect()
    });
    for file in files {
        let text = read_text(&policies.join(&file));
        let text = text.map_err(|fault| vec![(fault.place, fault.message)]);
        let one = match text.and_then(|text| read(&text, &file)) {
            Ok(one) => Some(Arc::new(one)),
            Err(flaws) => {
                let kept = previous.iter().find(|(from, _)| *from == file);
                let more = if kept.is_some() { "; its last good state holds" } else { "" };
                let told =
                    flaws.into_iter().map(|(place, words)| (place, format!("{words}{more}")));
                problems.extend(told.map(|flaw| problem(&file, flaw)));
                kept.map(|(_, one)| Arc::clone(one))
            }
        };
        if let Some(Err(flaw)) = one.map(|one| take(one, &file)) {
            problems.push(problem(&file, flaw));
        }
    }
    problems
}

fn problem(file: &str, (place, message): Flaw) -> Problem {
    Problem { file: file.to_owned(), place, message, fatal: true }
}

/// The files, relative to the policies folder, sorted.
fn list(policies: &Path, folder: &str) -> Result<Vec<String>, String> {
    let entries = match std::fs::read_dir(policies.join(folder)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(format!("cannot be read: {error}")),
    };
    let mut files: Vec<String> = entries
        .filter_map(|entry| {
            let name = entry.ok()?.file_name().into_string().ok()?;
            let wanted = name.ends_with(".toml") && !name.starts_with('.');
            wanted.then(|| format!("{folder}/{name}"))
        })
        .collect();
    files.sort();
    Ok(files)
}

/// What the files of a folder declare, by names that are there once.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Named<T> {
    /// With the file that declares each.
    by_name: BTreeMap<String, (Arc<T>, String)>,
    /// SHA-256 in hex over all declarations.
    digest: String,
}

impl<T> Default for Named<T> {
    fn default() -> Self {
        Self { by_name: BTreeMap::new(), digest: String::new() }
    }
}

impl<T: Serialize> Named<T> {
    /// Reads a folder as [`declared`] does. Of two files with one name the first holds.
    pub(crate) fn load(
        place: (&Path, &str),
        previous: Option<&Self>,
        name: impl Fn(&T) -> &str,
        read: impl Fn(&str) -> Result<T, Vec<Flaw>>,
    ) -> (Self, Vec<Problem>) {
        let mut loaded = Self::default();
        let before: Vec<(&str, &Arc<T>)> =
            previous.into_iter().flat_map(Self::files).map(|(one, file)| (file, one)).collect();
        let take = |one: Arc<T>, file: &str| {
            let name = name(&one).to_owned();
            if let Some((_, first)) = loaded.by_name.get(&name) {
                let message = format!(
                    "`{name}` is declared in `{first}` already, which holds; give one of them another name"
                );
                return Err(("name".to_owned(), message));
            }
            loaded.by_name.insert(name, (one, file.to_owned()));
            Ok(())
        };
        let problems = declared(place, &before, |text, _file| read(text), take);
        loaded.digest = loaded.compute_digest();
        (loaded, problems)
    }

    fn compute_digest(&self) -> String {
        let all: BTreeMap<&String, &T> =
            self.by_name.iter().map(|(name, (one, _))| (name, one.as_ref())).collect();
        hex::encode(Sha256::digest(serde_json::to_vec(&all).unwrap_or_default()))
    }
}

impl<T> Named<T> {
    /// One by its name.
    pub(crate) fn get(&self, name: &str) -> Option<&Arc<T>> {
        self.by_name.get(name).map(|(one, _)| one)
    }

    /// All, by name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<T>> {
        self.by_name.values().map(|(one, _)| one)
    }

    /// All, by name, with the files that declare them.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&Arc<T>, &str)> {
        self.by_name.values().map(|(one, file)| (one, file.as_str()))
    }

    /// SHA-256 in hex over all declarations: equal declarations, equal digest. Empty before any folder
    /// was read.
    pub(crate) fn digest(&self) -> &str {
        &self.digest
    }
}
