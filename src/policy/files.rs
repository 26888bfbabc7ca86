//! The folder of Cedar files in, one checked policy set out. One policy that cannot be used refuses
//! the whole set, so that no fewer denies hold than were written. It decides nothing.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cedar_policy::{
    Policy, PolicyId, PolicySet, Schema, ValidationError, ValidationMode, ValidationWarning,
    Validator,
};
use miette::Diagnostic;
use sha2::{Digest, Sha256};

use super::schema::OPERATION;
use super::slice::is_guard;
use super::{Error, Finding, Severity};
use crate::catalog::Tool;

/// The folder of the policies that say who may approve.
pub(super) const APPROVERS: &str = "approvers";
/// The folder of the policies on the memory, beside its collections.
pub(super) const MEMORY: &str = "memory";
/// The folder of the policies that say who may start runs.
pub(super) const REASON: &str = "reason";
/// Annotations without which a policy is refused.
const MANDATORY: [(&str, &str); 2] = [("id", "id-missing"), ("owner", "owner-missing")];

/// The policy files of one folder, read and parsed.
#[derive(Debug, Default)]
pub(super) struct Files {
    pub(super) policies: Vec<Policy>,
    /// What was found so far, errors and warnings.
    pub(super) findings: Vec<Finding>,
    /// Where each policy stands.
    places: HashMap<String, Place>,
    digest: Sha256,
}

/// A file and the text that came before a policy in it.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) file: String,
    pub(super) line: usize,
    text: Arc<str>,
}

impl Files {
    /// Reads `*.cedar` of a folder below `root`, in the order of their names.
    pub(super) fn read(root: &Path, folder: &str) -> Result<Self, Error> {
        let mut files = Self::default();
        for path in files.list(root, folder)? {
            let bytes =
                fs::read(&path).map_err(|source| Error::Read { path: path.clone(), source })?;
            let file = relative(root, &path);
            files.digest.update(file.as_bytes());
            files.digest.update([0]);
            files.digest.update(bytes.len().to_le_bytes());
            files.digest.update(&bytes);
            match String::from_utf8(bytes) {
                Ok(text) => files.parse(&file, &text),
                Err(error) => {
                    let message =
                        format!("not UTF-8 after byte {}", error.utf8_error().valid_up_to());
                    let finding = Finding::new(Severity::Error, "encoding", message)
                        .mend("save the file as UTF-8");
                    files.findings.push(finding.at(&file, None));
                }
            }
        }
        if files.policies.is_empty() {
            let (severity, meaning) = match folder {
                APPROVERS => (Severity::Info, "nobody can approve a call"),
                MEMORY => (Severity::Warning, "nobody may do anything with the memory"),
                REASON => (Severity::Warning, "nobody may start a run"),
                _ => (Severity::Warning, "every call is denied"),
            };
            let message = format!("there is no policy, so {meaning}");
            let finding =
                Finding::new(severity, "no-policy", message).at(&format!("{folder}/*.cedar"), None);
            files.findings.push(finding.mend(format!("write one in `{folder}/*.cedar`")));
        }
        Ok(files)
    }

    /// The Cedar files of a folder. Anything else in it is warned of, hidden files aside.
    fn list(&mut self, root: &Path, folder: &str) -> Result<Vec<PathBuf>, Error> {
        let (own, folder) = (folder, root.join(folder));
        let read = |source| Error::Read { path: folder.clone(), source };
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.map_err(read)?,
        };
        let mut found = Vec::new();
        for entry in entries {
            let path = entry.map_err(read)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            // Collections are read elsewhere.
            if name.starts_with('.') || own == MEMORY && name.ends_with(".toml") {
                continue;
            }
            if path.extension().is_some_and(|end| end == "cedar") && !path.is_dir() {
                found.push(path);
            } else {
                let message = "not a policy file, so it is not read".to_owned();
                let finding = Finding::new(Severity::Warning, "unread-file", message)
                    .at(&format!("{own}/{name}"), None);
                self.findings.push(finding.mend(format!("only `{own}/*.cedar` is")));
            }
        }
        found.sort();
        self.findings.sort();
        Ok(found)
    }

    fn parse(&mut self, file: &str, text: &str) {
        let set: PolicySet = match text.parse() {
            Ok(set) => set,
            Err(errors) => {
                let errors: &cedar_policy::ParseErrors = &errors;
                self.refuse("syntax", (file, text, ""), errors);
                for error in errors.related().into_iter().flatten() {
                    self.refuse("syntax", (file, text, ""), error);
                }
                return;
            }
        };
        for template in set.templates() {
            let id = template.annotation("id").unwrap_or_default();
            let message = format!("`{id}` is a template");
            let finding = Finding::new(Severity::Error, "template", message)
                .at(file, None)
                .mend("name its principal and resource instead of `?principal` and `?resource`");
            self.findings.push(finding.of(id));
        }
        let mut policies: Vec<&Policy> = set.policies().collect();
        policies.sort_by_key(|policy| ordinal(policy));
        let shared: Arc<str> = text.into();
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
        let id = policy.annotation("id").unwrap_or_default();
        let error = |rule, message: String| {
            Finding::new(Severity::Error, rule, message).at(&place.file, Some(place.line)).of(id)
        };
        for (key, rule) in MANDATORY {
            if policy.annotation(key).is_none_or(|value| value.trim().is_empty()) {
                let message = format!("policy without `@{key}(\"...\")`");
                self.findings.push(error(rule, message).mend("write it above the policy"));
            }
        }
        if policy.to_json().is_ok_and(|json| calls_unknown(&json)) {
            let message = "`unknown` is no function for policies".to_owned();
            let finding = error("unknown-function", message);
            self.findings.push(finding.mend("it would deny every call"));
        }
        let Some(id) = policy.annotation("id") else {
            return;
        };
        if let Some(first) = self.places.get(id) {
            let message = format!("policy `{id}` already stands at {}:{}", first.file, first.line);
            let finding = error("id-repeated", message).mend("ids are unique over all files");
            self.findings.push(finding);
            return;
        }
        self.policies.push(policy.new_id(PolicyId::new(id)));
        self.places.insert(id.to_owned(), place);
    }

    /// Checks all policies against the schema of these tools; every problem that was found.
    pub(super) fn check(&mut self, schema: Schema, tools: &[Arc<Tool>]) -> Result<(), Error> {
        let set = PolicySet::from_policies(self.policies.iter().cloned())
            .map_err(|error| Error::Schema { reason: error.to_string() })?;
        let result = Validator::new(schema).validate(&set, ValidationMode::Strict);
        for error in result.validation_errors() {
            let id: &str = error.policy_id().as_ref();
            let place = self.places.get(id).cloned();
            let (file, text) =
                place.as_ref().map_or(("cedar", ""), |place| (&*place.file, &*place.text));
            self.refuse(rule_of(error), (file, text, id), error);
        }
        for warning in result.validation_warnings() {
            self.warn(warning, tools);
        }
        let refused = |finding: &&Finding| finding.severity == Severity::Error;
        let mut problems: Vec<_> =
            self.findings.iter().filter(refused).map(Finding::problem).collect();
        problems.sort_by(|a, b| (&a.file, &a.message).cmp(&(&b.file, &b.message)));
        problems.dedup();
        if problems.is_empty() { Ok(()) } else { Err(Error::Invalid { problems }) }
    }

    fn warn(&mut self, warning: &ValidationWarning, tools: &[Arc<Tool>]) {
        let id: &str = warning.policy_id().as_ref();
        let policy = self.policies.iter().find(|policy| policy.id() == warning.policy_id());
        let Some(place) = self.places.get(id) else { return };
        let rule = match warning {
            ValidationWarning::ImpossiblePolicy(_)
            | ValidationWarning::InvalidActionApplication(_) => {
                if policy.is_some_and(|policy| is_guard(&policy.action_constraint(), tools)) {
                    return;
                }
                "never-applies"
            }
            _ => "lookalike",
        };
        let finding = Finding::new(Severity::Warning, rule, sentence(warning));
        self.findings.push(finding.at(&place.file, Some(place.line)).of(id));
    }

    /// The groups of single operations that the policies name.
    pub(super) fn operations(&self) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for place in self.places.values() {
            for (at, _) in place.text.match_indices(OPERATION) {
                let quoted = place.text.get(..at).is_some_and(|before| before.ends_with('"'));
                let name = place.text.get(at..).and_then(|rest| rest.split('"').next());
                found.extend(name.filter(|_| quoted).map(str::to_owned));
            }
        }
        found
    }

    /// What Cedar says to the schema itself.
    pub(super) fn hints(&mut self, hints: impl Iterator<Item = String>) {
        self.findings.extend(hints.map(|hint| Finding::new(Severity::Warning, "schema", hint)));
    }

    /// Whether something that was found refuses the set.
    pub(super) fn refused(&self) -> bool {
        self.findings.iter().any(|finding| finding.severity == Severity::Error)
    }

    /// The warnings, one line each.
    pub(super) fn warnings(&self) -> Vec<String> {
        let warnings = self.findings.iter().filter(|found| found.severity == Severity::Warning);
        warnings.map(|found| format!("{}: {}", found.location(), found.sentence())).collect()
    }

    /// Where a policy stands.
    pub(super) fn place(&self, id: &str) -> Option<&Place> {
        self.places.get(id)
    }

    /// SHA-256 in hex over the files and the schema.
    pub(super) fn version(&self, schema: &str) -> String {
        let mut digest = self.digest.clone();
        digest.update(schema.as_bytes());
        hex::encode(digest.finalize())
    }

    fn refuse(
        &mut self,
        rule: &'static str,
        (file, text, id): (&str, &str, &str),
        error: &dyn Diagnostic,
    ) {
        let line = error
            .labels()
            .and_then(|mut labels| labels.next())
            .map(|label| line_of(text, label.offset()));
        let finding = Finding::new(Severity::Error, rule, one_line(&error.to_string()));
        let finding = match error.help() {
            Some(help) => finding.mend(one_line(&help.to_string())),
            None => finding,
        };
        self.findings.push(finding.at(file, line).of(id));
    }
}

/// The check that a validation error belongs to.
fn rule_of(error: &ValidationError) -> &'static str {
    match error {
        ValidationError::UnsafeOptionalAttributeAccess(_) => "unguarded",
        ValidationError::UnrecognizedActionId(_)
        | ValidationError::UnrecognizedEntityType(_)
        | ValidationError::InvalidEnumEntity(_) => "unknown-name",
        ValidationError::UnsafeAttributeAccess(_) => "unknown-attribute",
        ValidationError::InvalidActionApplication(_) => "never-applies",
        _ => "type",
    }
}

/// What Cedar says, with its hint, in one line.
pub(super) fn sentence(error: &dyn Diagnostic) -> String {
    let message = match error.help() {
        Some(help) => format!("{error}: {help}"),
        None => error.to_string(),
    };
    one_line(&message)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
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
