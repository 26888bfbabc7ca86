//! Tables of tests beside the policies, `tests/*.yaml`, in; for each case what was decided, and
//! which policies no case made the deciding one, out.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Asked, Outcome, Review, RuleFacts};
use crate::admission::Caller;
use crate::call::{FileFacts, Session, Taint};
use crate::catalog;
use crate::policy::Error;

/// One case: a call, and what should become of it.
#[derive(Debug, Clone)]
pub struct Case {
    /// The file, relative to the policies folder.
    pub file: String,
    /// What the case says.
    pub name: String,
    /// The call.
    pub asked: Asked,
    /// What should become of it.
    pub expect: Outcome,
    /// Ids of the policies that should decide, in any order; `None` for whichever.
    pub policies: Option<Vec<String>>,
}

/// What became of one case.
#[derive(Debug, Clone, Serialize)]
pub struct CaseResult {
    /// The file, relative to the policies folder.
    pub file: String,
    /// What the case says.
    pub name: String,
    /// Whether it was decided as expected.
    pub passed: bool,
    /// What should become of it.
    pub expected: Outcome,
    /// Ids of the policies that should decide.
    pub expected_policies: Option<Vec<String>>,
    /// What becomes of it.
    pub decided: Outcome,
    /// The policies that decided.
    pub deciding: Vec<RuleFacts>,
    /// The refusal in words; empty when the call would run.
    pub message: String,
}

/// Which policies decided a case that passed.
#[derive(Debug, Clone, Serialize)]
pub struct Coverage {
    /// Policies in the set.
    pub policies: usize,
    /// Those that decided at least once.
    pub covered: usize,
    /// Hundredths of the set that are covered; 100 for an empty set.
    pub percent: usize,
    /// Those that never decided.
    pub missing: Vec<RuleFacts>,
}

/// A file of cases, as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    /// Who calls where a case names nobody.
    #[serde(default)]
    caller: Option<CallerTable>,
    cases: Vec<CaseTable>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseTable {
    name: String,
    tool: String,
    #[serde(default)]
    arguments: Option<Value>,
    #[serde(default)]
    caller: Option<CallerTable>,
    #[serde(default)]
    conversation: String,
    #[serde(default)]
    session: Option<SessionTable>,
    #[serde(default)]
    files: Vec<FileTable>,
    expect: Outcome,
    #[serde(default)]
    policies: Option<Vec<String>>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct CallerTable {
    name: String,
    #[serde(default = "usual_tenant")]
    tenant: String,
    #[serde(default)]
    roles: Vec<String>,
}

/// A conversation, and what it has come to.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SessionTable {
    conversation: String,
    #[serde(default)]
    calls: u64,
    #[serde(default)]
    taint: BTreeSet<Taint>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileTable {
    name: String,
    media_type: String,
    #[serde(default)]
    bytes: u64,
}

fn usual_tenant() -> String {
    "default".to_owned()
}

/// Reads `tests/*.yaml` and `tests/*.yml` below the policies folder, in the order of their names.
/// One that cannot be read is an error with its path.
pub fn read(root: &Path) -> Result<Vec<Case>, String> {
    let mut cases = Vec::new();
    for path in list(&root.join("tests"))? {
        let file = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
        let wrong = |reason: String| format!("{file}: {reason}");
        let text = std::fs::read_to_string(&path)
            .map_err(|error| wrong(format!("cannot be read: {error}")))?;
        let table = catalog::yaml(&text).map_err(wrong)?;
        let table: Table = serde_json::from_value(table)
            .map_err(|error| wrong(format!("{error}; `policy test --help` shows the form")))?;
        let mut seen = BTreeSet::new();
        for case in table.cases {
            if !seen.insert(case.name.clone()) {
                return Err(wrong(format!("two cases are called `{}`: rename one", case.name)));
            }
            cases.push(finish(case, table.caller.clone(), &file).map_err(wrong)?);
        }
    }
    Ok(cases)
}

fn list(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(format!("{}: cannot be read: {error}", folder.display())),
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| format!("{}: {error}", folder.display()))?.path();
        let yaml = path.extension().is_some_and(|end| end == "yaml" || end == "yml");
        if yaml && path.is_file() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn finish(case: CaseTable, usual: Option<CallerTable>, file: &str) -> Result<Case, String> {
    let caller = case.caller.or(usual).unwrap_or_else(|| CallerTable {
        name: "somebody".to_owned(),
        tenant: usual_tenant(),
        roles: Vec::new(),
    });
    let files = case.files.into_iter().map(|file| FileFacts {
        name: file.name,
        media_type: file.media_type,
        bytes: file.bytes,
        sha256: String::new(),
    });
    let (conversation, session) = match case.session {
        None => (case.conversation, Session::default()),
        Some(_) if !case.conversation.is_empty() => {
            let name = case.name;
            return Err(format!("`{name}` names its conversation twice: keep `session`"));
        }
        // A call without one has neither taint nor calls before it.
        Some(table) if table.conversation.is_empty() => {
            return Err(format!("the session of `{}` needs a `conversation`", case.name));
        }
        Some(SessionTable { conversation, calls, taint }) => {
            (conversation, Session { calls, taint })
        }
    };
    Ok(Case {
        file: file.to_owned(),
        name: case.name,
        asked: Asked {
            tool: case.tool,
            arguments: case.arguments.map_or_else(|| "{}".to_owned(), |given| given.to_string()),
            caller: Caller { name: caller.name, tenant: caller.tenant, roles: caller.roles },
            conversation,
            session,
            files: files.collect(),
        },
        expect: case.expect,
        policies: case.policies,
    })
}

impl Review {
    /// Decides every case, and tells which policies the cases that passed cover.
    pub fn test(&self, cases: &[Case]) -> Result<(Vec<CaseResult>, Coverage), Error> {
        let mut covered = BTreeSet::new();
        let mut results = Vec::with_capacity(cases.len());
        for case in cases {
            let judged = self.judge(&case.asked)?;
            let wanted: Option<BTreeSet<&String>> =
                case.policies.as_ref().map(|ids| ids.iter().collect());
            let passed = judged.outcome == case.expect
                && wanted.is_none_or(|wanted| wanted == judged.policies.iter().collect());
            let result = CaseResult {
                file: case.file.clone(),
                name: case.name.clone(),
                passed,
                expected: case.expect,
                expected_policies: case.policies.clone(),
                decided: judged.outcome,
                deciding: self.facts(&judged.policies),
                message: judged.message,
            };
            if passed {
                covered.extend(judged.policies);
            }
            results.push(result);
        }
        Ok((results, self.coverage(&covered)))
    }

    fn coverage(&self, covered: &BTreeSet<String>) -> Coverage {
        let missing: Vec<RuleFacts> =
            self.rules().filter(|rule| !covered.contains(&rule.id)).cloned().collect();
        let policies = self.rules.len();
        let covered = policies - missing.len();
        let percent = (covered * 100).checked_div(policies).unwrap_or(100);
        Coverage { policies, covered, percent, missing }
    }
}
