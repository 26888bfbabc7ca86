//! One thing that a reviewer should know of a policies folder: where it is, how bad, and how to mend
//! it. Found elsewhere; here it is only said.

use serde::Serialize;

use crate::catalog::Problem;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Refused when it is loaded, or dangerous.
    Error,
    /// In force, but hardly as it was meant.
    Warning,
    /// Good to know.
    Info,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// The file, relative to the policies folder.
    pub file: String,
    /// The line, where it is known.
    pub line: Option<usize>,
    /// The place in the file where there is no line: a key, an operation, a tool. Or empty.
    pub place: String,
    /// Name of the check that found it.
    pub rule: &'static str,
    /// Id of the policy, or empty.
    pub policy: String,
    /// What is wrong, in one line.
    pub message: String,
    /// How to mend it, in one line.
    pub mend: String,
}

impl Finding {
    /// A finding without a place.
    pub(super) fn new(severity: Severity, rule: &'static str, message: String) -> Self {
        Self {
            severity,
            file: "cedar".to_owned(),
            line: None,
            place: String::new(),
            rule,
            policy: String::new(),
            message,
            mend: usual_mend(rule).to_owned(),
        }
    }

    /// Says where.
    #[must_use]
    pub(super) fn at(mut self, file: &str, line: Option<usize>) -> Self {
        file.clone_into(&mut self.file);
        self.line = line;
        self
    }

    /// Says which policy.
    #[must_use]
    pub(super) fn of(mut self, policy: &str) -> Self {
        policy.clone_into(&mut self.policy);
        self
    }

    /// Says how to mend it, where that is more than usual.
    #[must_use]
    pub(super) fn mend(mut self, mend: impl Into<String>) -> Self {
        self.mend = mend.into();
        self
    }

    /// What could not be used in the catalog.
    pub fn of_problem(problem: &Problem) -> Self {
        let rule = match problem.file.split('/').next() {
            _ if problem.place.starts_with("ceiling") => "ceiling",
            Some("sandbox" | "seccomp") => "profile",
            Some("openapi") => "document",
            Some("memory") => "collection",
            Some("agents") => "agent",
            _ => "manifest",
        };
        let severity = if problem.fatal { Severity::Error } else { Severity::Warning };
        let line = problem.place.strip_prefix("line ").and_then(|rest| {
            rest.split(|c: char| !c.is_ascii_digit()).next().and_then(|line| line.parse().ok())
        });
        Self {
            place: problem.place.clone(),
            ..Self::new(severity, rule, problem.message.clone()).at(&problem.file, line)
        }
    }

    /// `file:line`, or as much of it as is known.
    pub fn location(&self) -> String {
        match self.line {
            Some(line) => format!("{}:{line}", self.file),
            None if self.place.is_empty() => self.file.clone(),
            None => format!("{} {}", self.file, self.place),
        }
    }

    /// What is wrong and how to mend it.
    pub fn sentence(&self) -> String {
        if self.mend.is_empty() {
            self.message.clone()
        } else {
            format!("{}: {}", self.message, self.mend)
        }
    }

    pub(super) fn problem(&self) -> Problem {
        Problem {
            file: self.file.clone(),
            place: self.line.map(|line| line.to_string()).unwrap_or_default(),
            message: self.sentence(),
            fatal: self.severity == Severity::Error,
        }
    }
}

/// How a finding of a check is mended where the finding itself does not know better.
fn usual_mend(rule: &str) -> &'static str {
    match rule {
        "unguarded" => "ask `has` first in the same condition",
        "unknown-name" => "take a name that the catalog has, or add the tool",
        "unknown-attribute" => {
            "take an attribute that the schema has; `switchboard policy report --format json` lists them"
        }
        "type" => "compare values of one type, as `cedar/default.cedar` lists them",
        "never-applies" => "mend the condition or remove the policy",
        "matches-no-tool" => "widen its scope, or remove it until there is such a tool",
        "permits-everything" => "name an action, a role or a condition",
        "shadowed" => "remove it, or narrow the other one",
        "maybe-shadowed" => "compare the two by hand",
        "overruled" => "remove it, or narrow the policy that forbids",
        "lookalike" => "write it in one script, without invisible characters",
        "tool-without-rule" => "write a policy that permits it, or remove the tool",
        "tool-never-permitted" => "mend the policies that deny it, or remove the tool",
        "profile" | "manifest" | "document" | "ceiling" => "",
        _ => "",
    }
}
