//! The folder of Cedar files in, one checked policy set out. One policy that cannot be used refuses
//! the whole set, so that no fewer denies hold than were written. It decides nothing.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use cedar_policy::{Policy, PolicyId, PolicySet, Schema, ValidationMode, Validator};
use miette::Diagnostic;
use sha2::{Digest, Sha256};

use super::Error;
use crate::catalog::Problem;

/// Annotations without which a policy is refused.
const MANDATORY: [&str; 2] = ["id", "owner"];

/// The policy files of one folder, read and parsed.
#[derive(Debug, Default)]
pub(super) struct Files {
    pub(super) policies: Vec<Policy>,
    pub(super) warnings: Vec<String>,
    /// Where each policy stands.
    places: HashMap<String, Place>,
    problems: Vec<Problem>,
    digest: Sha256,
}

/// A file and the text that came before a policy in it.
#[derive(Debug, Clone)]
struct Place {
    file: String,
    line: usize,
    text: std::sync::Arc<str>,
}

impl Files {
    /// Reads `*.cedar` of the folder `cedar` below `root`, in the order of their names.
    pub(super) fn read(root: &Path) -> Result<Self, Error> {
        let mut files = Self::default();
        for path in files.list(&root.join("cedar"))? {
            let bytes =
                fs::read(&path).map_err(|source| Error::Read { path: path.clone(), source })?;
            let file = relative(root, &path);
            files.digest.update(file.as_bytes());
            files.digest.update([0]);
            files.digest.update(bytes.len().to_le_bytes());
            files.digest.update(&bytes);
            match String::from_utf8(bytes) {
                Ok(text) => files.parse(&file, &text),
                Err(error) => files.problems.push(Problem {
                    file,
                    place: String::new(),
                    message: format!(
                        "not UTF-8 after byte {}: save the file as UTF-8",
                        error.utf8_error().valid_up_to()
                    ),
                    fatal: true,
                }),
            }
        }
        if files.policies.is_empty() {
            files.warnings.push(
                "cedar: there is no policy, so every call is denied: write one in `cedar/*.cedar`"
                    .to_owned(),
            );
        }
        Ok(files)
    }

    /// The Cedar files of a folder. Anything else in it is warned of, hidden files aside.
    fn list(&mut self, folder: &Path) -> Result<Vec<PathBuf>, Error> {
        let read = |source| Error::Read { path: folder.to_owned(), source };
        let entries = match fs::read_dir(folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.map_err(read)?,
        };
        let mut found = Vec::new();
        for entry in entries {
            let path = entry.map_err(read)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with('.') {
                continue;
            }
            if path.extension().is_some_and(|end| end == "cedar") && !path.is_dir() {
                found.push(path);
            } else {
                self.warnings.push(format!(
                    "cedar/{name}: not a policy file, so it is not read: only `cedar/*.cedar` is"
                ));
            }
        }
        found.sort();
        self.warnings.sort();
        Ok(found)
    }

    fn parse(&mut self, file: &str, text: &str) {
        let set: PolicySet = match text.parse() {
            Ok(set) => set,
            Err(errors) => {
                let errors: &cedar_policy::ParseErrors = &errors;
                self.refuse(file, text, errors);
                for error in errors.related().into_iter().flatten() {
                    self.refuse(file, text, error);
                }
                return;
            }
        };
        for template in set.templates() {
            let id = template.annotation("id").unwrap_or_default();
            self.problem(
                file,
                "",
                format!("`{id}` is a template: name its principal and resource instead of `?principal` and `?resource`"),
            );
        }
        let mut policies: Vec<&Policy> = set.policies().collect();
        policies.sort_by_key(|policy| ordinal(policy));
        let shared: std::sync::Arc<str> = text.into();
        let mut from = 0;
        for policy in policies {
            let source = policy.to_cedar().unwrap_or_default();
            let start =
                text.get(from..).and_then(|rest| rest.find(&source)).map_or(from, |at| from + at);
            from = start + source.len();
            let place =
                Place { file: file.to_owned(), line: line_of(text, start), text: shared.clone() };
            self.admit(policy, place);
        }
    }

    /// Takes a policy under the id of its annotation.
    fn admit(&mut self, policy: &Policy, place: Place) {
        let line = place.line.to_string();
        for key in MANDATORY {
            if policy.annotation(key).is_none_or(|value| value.trim().is_empty()) {
                self.problem(
                    &place.file,
                    &line,
                    format!("policy without `@{key}(\"...\")`: write it above the policy"),
                );
            }
        }
        if policy.to_json().is_ok_and(|json| calls_unknown(&json)) {
            self.problem(
                &place.file,
                &line,
                "`unknown` is no function for policies: it would deny every call".to_owned(),
            );
        }
        let Some(id) = policy.annotation("id") else {
            return;
        };
        if let Some(first) = self.places.get(id) {
            let message = format!(
                "policy `{id}` already stands at {}:{}: ids are unique over all files",
                first.file, first.line
            );
            self.problem(&place.file, &line, message);
            return;
        }
        self.policies.push(policy.new_id(PolicyId::new(id)));
        self.places.insert(id.to_owned(), place);
    }

    /// Checks all policies against the schema; the set, or every problem that was found.
    pub(super) fn check(&mut self, schema: Schema) -> Result<(), Error> {
        let set = PolicySet::from_policies(self.policies.iter().cloned())
            .map_err(|error| Error::Schema { reason: error.to_string() })?;
        let result = Validator::new(schema).validate(&set, ValidationMode::Strict);
        for error in result.validation_errors() {
            let id: &str = error.policy_id().as_ref();
            let Some(place) = self.places.get(id).cloned() else {
                self.problem("cedar", "", sentence(error));
                continue;
            };
            self.refuse(&place.file, &place.text, error);
        }
        for warning in result.validation_warnings() {
            let id: &str = warning.policy_id().as_ref();
            if let Some(place) = self.places.get(id) {
                let text = sentence(warning);
                self.warnings.push(format!("{}:{}: {text}", place.file, place.line));
            }
        }
        if self.problems.is_empty() {
            Ok(())
        } else {
            let mut problems = std::mem::take(&mut self.problems);
            problems.sort_by(|a, b| (&a.file, &a.message).cmp(&(&b.file, &b.message)));
            problems.dedup();
            Err(Error::Invalid { problems })
        }
    }

    /// SHA-256 in hex over the files and the schema.
    pub(super) fn version(&self, schema: &str) -> String {
        let mut digest = self.digest.clone();
        digest.update(schema.as_bytes());
        hex::encode(digest.finalize())
    }

    fn refuse(&mut self, file: &str, text: &str, error: &dyn Diagnostic) {
        let line = error
            .labels()
            .and_then(|mut labels| labels.next())
            .map(|label| line_of(text, label.offset()).to_string())
            .unwrap_or_default();
        self.problem(file, &line, sentence(error));
    }

    fn problem(&mut self, file: &str, line: &str, message: String) {
        self.problems.push(Problem {
            file: file.to_owned(),
            place: line.to_owned(),
            message,
            fatal: true,
        });
    }
}

/// What Cedar says, with its hint, in one line.
pub(super) fn sentence(error: &dyn Diagnostic) -> String {
    let message = match error.help() {
        Some(help) => format!("{error}: {help}"),
        None => error.to_string(),
    };
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a policy calls the function that partial evaluation adds to the language. A call is an
/// array in Cedar's JSON form; an attribute of that name never is.
fn calls_unknown(json: &serde_json::Value) -> bool {
    match json {
        serde_json::Value::Array(items) => items.iter().any(calls_unknown),
        serde_json::Value::Object(members) => members
            .iter()
            .any(|(name, value)| (name == "unknown" && value.is_array()) || calls_unknown(value)),
        _ => false,
    }
}

/// The parser numbers the policies of a file: `policy0`, `policy1`, and so on.
fn ordinal(policy: &Policy) -> usize {
    let id: &str = policy.id().as_ref();
    id.trim_start_matches("policy").parse().unwrap_or(usize::MAX)
}

fn line_of(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
}

fn relative(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned()
}
