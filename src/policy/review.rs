//! The reviewer's side of this room: a policies folder and its catalog in; findings, explanations,
//! results of tests, audits and comparisons out. It decides by the same code as the daemon, and
//! neither runs nor records anything.

mod audit;
mod boundary;
mod cases;
mod compare;
mod explain;
mod lint;
mod overlap;
mod parts;
mod replay;
mod sample;

use std::path::Path;
use std::sync::Arc;

use cedar_policy::{Effect, Policy, pst};
use serde::Serialize;
use serde_json::Value;

use super::files::{APPROVERS, Files};
use super::schema::{actions, principals, uid};
use super::slice::Scope;
use super::{Approvers, Error, Finding, Names, Policies, Question};
use crate::admission::Caller;
use crate::call::{FileFacts, Session};
use crate::catalog::{Catalog, Problem, Tool};
use crate::schema::{Change as Repair, Schemas};

pub use audit::{Audience, Audit, Permission, Reach, Row};
pub use cases::{Case, CaseResult, Coverage, read as read_cases};
pub use compare::{Change, Comparison, Example, Side};
pub use explain::{Explanation, Part, Told};
pub use replay::{Fault, Past, Replayed};

/// One load of a policies folder, for review. A broken policy set is a state of it, not an error.
#[derive(Debug)]
pub struct Review {
    catalog: Catalog,
    schemas: Schemas,
    policies: Result<Policies, Vec<Problem>>,
    rules: Vec<Rule>,
    /// The policies that say who may approve.
    approvers: Vec<Rule>,
    findings: Vec<Finding>,
}

/// One policy, as a reviewer looks for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuleFacts {
    /// Its `@id`.
    pub id: String,
    /// Its `@owner`.
    pub owner: String,
    /// `permit` or `forbid`.
    pub effect: &'static str,
    /// The file, relative to the policies folder.
    pub file: String,
    /// The line at which it starts.
    pub line: usize,
}

/// One policy with its parts.
#[derive(Debug)]
struct Rule {
    facts: RuleFacts,
    policy: Policy,
    scope: Scope,
    /// `None` when Cedar cannot take it apart.
    body: Option<pst::Template>,
}

/// A call as a reviewer or a record describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// The tool's name, as a caller writes it.
    pub tool: String,
    /// The arguments as JSON text.
    pub arguments: String,
    /// Who calls.
    pub caller: Caller,
    /// The conversation; empty for none.
    pub conversation: String,
    /// What the conversation has come to before.
    pub session: Session,
    /// Files that the call brings. What they hold is not looked at.
    pub files: Vec<FileFacts>,
}

/// What becomes of a call before it would run.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It would run.
    Permit,
    /// It would wait for a person.
    Approval,
    /// Policy refuses it.
    Deny,
    /// Its arguments do not fit the tool's schema.
    Invalid,
    /// There is no such tool.
    Unknown,
}

/// The decision on one call.
#[derive(Debug, Clone)]
pub struct Judged {
    /// What becomes of it.
    pub outcome: Outcome,
    /// Ids of the policies that decided.
    pub policies: Vec<String>,
    /// The refusal in words; empty when it would run.
    pub message: String,
    /// The tool, when there is one.
    pub tool: Option<Arc<Tool>>,
    /// The arguments that would run.
    pub arguments: Option<Value>,
    /// Digest of these arguments.
    pub digest: String,
    /// What was changed in them.
    pub repairs: Vec<Repair>,
}

impl Outcome {
    /// The outcome as it is written in tables of tests.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Permit => "permit",
            Self::Approval => "approval",
            Self::Deny => "deny",
            Self::Invalid => "invalid",
            Self::Unknown => "unknown",
        }
    }
}

impl Judged {
    const fn new(outcome: Outcome, policies: Vec<String>, message: String) -> Self {
        Self {
            outcome,
            policies,
            message,
            tool: None,
            arguments: None,
            digest: String::new(),
            repairs: Vec::new(),
        }
    }
}

// === impl Review ===

impl Review {
    /// Loads the policies below `root` for the tools of `catalog`, which lies in the same folder.
    pub fn load(root: &Path, catalog: Catalog) -> Result<Self, Error> {
        let (schemas, broken) = Schemas::compile(catalog.tools());
        let catalog = catalog.without(&broken);
        let mut files = Files::read(root, "cedar")?;
        let rules = files.policies.iter().map(|policy| Rule::new(policy, &files)).collect();
        let policies = match Policies::build(&mut files, catalog.tools(), None) {
            Ok(policies) => Ok(policies),
            Err(Error::Invalid { problems }) => Err(problems),
            Err(error) => return Err(error),
        };
        let mut own = Files::read(root, APPROVERS)?;
        let approvers = own.policies.iter().map(|policy| Rule::new(policy, &own)).collect();
        match Approvers::build(&mut own, catalog.tools()) {
            Ok(_) | Err(Error::Invalid { .. }) => files.findings.append(&mut own.findings),
            Err(error) => return Err(error),
        }
        let findings = files.findings;
        Ok(Self { catalog, schemas, policies, rules, approvers, findings })
    }

    /// The tools.
    pub const fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The set that decides, or why there is none.
    pub fn policies(&self) -> Result<&Policies, Error> {
        self.policies.as_ref().map_err(|problems| Error::Invalid { problems: problems.clone() })
    }

    /// Every policy, in the order of the files.
    pub fn rules(&self) -> impl Iterator<Item = &RuleFacts> {
        self.rules.iter().map(|rule| &rule.facts)
    }

    /// Decides one call as the daemon would: the name is resolved, the arguments are checked and
    /// repaired, and policy is asked. Rates, caches and what files hold are not looked at.
    pub fn judge(&self, asked: &Asked) -> Result<Judged, Error> {
        let policies = self.policies()?;
        let visible = |tool: &Tool| policies.visible(&asked.caller, tool);
        let Some(tool) = self.catalog.find(&asked.tool, &visible) else {
            let message = self.catalog.unknown(&asked.tool, &visible).to_string();
            return Ok(Judged::new(Outcome::Unknown, Vec::new(), message));
        };
        let fit = match self.schemas.check_text(&tool, &asked.arguments) {
            Ok(fit) => fit,
            Err(error) => {
                // The daemon tells of a schema only to those who may know of the tool.
                let judged = match visible(&tool) {
                    true => Judged::new(Outcome::Invalid, Vec::new(), error.to_string()),
                    false => Judged::new(Outcome::Deny, Vec::new(), policies.hide().to_string()),
                };
                return Ok(Judged { tool: Some(tool), ..judged });
            }
        };
        let question = Question {
            caller: &asked.caller,
            tool: &tool,
            input: &fit.value,
            conversation: &asked.conversation,
            session: &asked.session,
            files: asked.files.iter().collect(),
        };
        let judged = match policies.judge(&question) {
            Ok(ids) => Judged::new(Outcome::Permit, ids, String::new()),
            Err(error) => refusal(error)?,
        };
        Ok(Judged {
            tool: Some(tool),
            digest: fit.digest,
            repairs: fit.repairs,
            arguments: Some(fit.value),
            ..judged
        })
    }

    fn rule(&self, id: &str) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.facts.id == id)
    }

    /// The facts of the policies with these ids.
    fn facts(&self, ids: &[String]) -> Vec<RuleFacts> {
        ids.iter().filter_map(|id| self.rule(id)).map(|rule| rule.facts.clone()).collect()
    }
}

/// The refusal as an outcome; an error when nothing was decided at all.
fn refusal(error: Error) -> Result<Judged, Error> {
    let message = error.to_string();
    Ok(match error {
        Error::Denied { policies, .. } => Judged::new(Outcome::Deny, policies, message),
        Error::ApprovalRequired { policies, .. } => {
            Judged::new(Outcome::Approval, policies, message)
        }
        Error::Evaluation { policy, .. } => {
            let policies = if policy.is_empty() { Vec::new() } else { vec![policy] };
            Judged::new(Outcome::Deny, policies, message)
        }
        other => return Err(other),
    })
}

// === impl Rule ===

impl Rule {
    fn new(policy: &Policy, files: &Files) -> Self {
        let id: &str = policy.id().as_ref();
        let place = files.place(id);
        Self {
            facts: RuleFacts {
                id: id.to_owned(),
                owner: policy.annotation("owner").unwrap_or_default().to_owned(),
                effect: match policy.effect() {
                    Effect::Permit => "permit",
                    Effect::Forbid => "forbid",
                },
                file: place.map(|place| place.file.clone()).unwrap_or_default(),
                line: place.map_or(0, |place| place.line),
            },
            scope: Scope::new(policy.clone()),
            body: policy.to_pst().ok().map(|policy| policy.body().clone()),
            policy: policy.clone(),
        }
    }

    fn permits(&self) -> bool {
        self.policy.effect() == Effect::Permit
    }

    /// Whom its scope names, in Cedar; `principal` for everybody, nothing when that cannot be told.
    fn principal(&self) -> Option<String> {
        let text = self.body.as_ref()?.principal.to_string();
        Some(if text.is_empty() { "principal".to_owned() } else { text })
    }

    /// Whether its scope can match calls of the tool.
    fn concerns(&self, tool: &Tool, names: &Names) -> bool {
        self.scope.matches_tool(&actions(tool, names), &uid(&names.source, &tool.source))
    }

    /// Whether its scope matches the caller.
    fn binds(&self, caller: &Caller, names: &Names) -> bool {
        self.scope.matches_principal(&principals(caller, names))
    }
}
