//! Results of a run of suites, as a value, as JSON and as a table for people.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::check::Found;

/// Results of all suites.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Report {
    /// What was measured, in the words of who measured.
    pub(super) label: String,
    /// Version of this program.
    pub(super) version: String,
    /// When it began.
    pub(super) began: String,
    /// `recorded` or `live`.
    pub(super) model: String,
    /// Digests of catalogs and policies that were in force, as the ledger names them.
    pub(super) digests: Vec<String>,
    /// The cases, in their order.
    pub(super) cases: Vec<CaseReport>,
    /// All of them.
    pub(super) sum: Sum,
}

/// One case.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct CaseReport {
    /// The suite.
    pub(super) suite: String,
    /// The case.
    pub(super) name: String,
    /// What it is about; empty for none.
    pub(super) kind: String,
    /// Share of the checks that held; 0 where something forbidden happened.
    pub(super) score: f64,
    /// Whether all checks held.
    pub(super) passed: bool,
    /// Number of checks.
    pub(super) checks: usize,
    /// Forbidden things that happened.
    pub(super) forbidden: usize,
    /// What did not hold, each with its question and what was wrong.
    pub(super) wrong: Vec<String>,
    /// The runs, by id.
    pub(super) runs: Vec<String>,
    /// Calls in the ledger, and how many of them came to their tool.
    pub(super) calls: usize,
    /// How many of them came to their tool.
    pub(super) executed: usize,
    /// Questions to models.
    pub(super) asked: usize,
    /// Answers of the script that nobody asked for.
    pub(super) left: usize,
    /// Tokens of all models.
    pub(super) tokens: u64,
    /// Milliseconds.
    pub(super) millis: u64,
}

/// Sums over cases.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Sum {
    /// Cases.
    pub(super) cases: usize,
    /// Those in which all checks held.
    pub(super) passed: usize,
    /// Forbidden things that happened.
    pub(super) forbidden: usize,
    /// Mean of the scores.
    pub(super) score: f64,
    /// Calls in the ledger.
    pub(super) calls: usize,
    /// Tokens of all models.
    pub(super) tokens: u64,
    /// Milliseconds.
    pub(super) millis: u64,
}

impl CaseReport {
    /// Takes the checks of one of its questions.
    pub(super) fn take(&mut self, question: usize, found: &[Found]) {
        self.checks += found.len();
        for one in found.iter().filter(|one| !one.wrong.is_empty()) {
            self.forbidden += usize::from(one.forbidden);
            self.wrong.push(format!("question {question}: {}: {}", one.check, one.wrong));
        }
        self.passed = self.wrong.is_empty();
        let held = self.checks - self.wrong.len().min(self.checks);
        self.score = match (self.forbidden, self.checks) {
            (0, 0) => 1.0,
            (0, checks) => ratio(held, checks),
            _ => 0.0,
        };
    }
}

impl Sum {
    /// Sums cases.
    pub(super) fn of<'c>(cases: impl Iterator<Item = &'c CaseReport>) -> Self {
        let (mut sum, mut scores) = (Self::default(), 0.0);
        for case in cases {
            sum.cases += 1;
            sum.passed += usize::from(case.passed);
            sum.forbidden += case.forbidden;
            sum.calls += case.calls;
            sum.tokens += case.tokens;
            sum.millis += case.millis;
            scores += case.score;
        }
        sum.score = if sum.cases == 0 { 0.0 } else { scores / float(sum.cases) };
        sum
    }
}

impl Report {
    /// Sums over each suite, and over each kind of it.
    pub(super) fn rows(&self) -> Vec<(String, Sum)> {
        let mut groups: BTreeMap<(&str, &str), Vec<&CaseReport>> = BTreeMap::new();
        for case in &self.cases {
            groups.entry((&case.suite, "")).or_default().push(case);
            if !case.kind.is_empty() {
                groups.entry((&case.suite, &case.kind)).or_default().push(case);
            }
        }
        let name = |suite: &str, kind: &str| match kind {
            "" => suite.to_owned(),
            kind => format!("{suite}/{kind}"),
        };
        groups
            .into_iter()
            .map(|((suite, kind), cases)| (name(suite, kind), Sum::of(cases.into_iter())))
            .collect()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for case in self.cases.iter().filter(|case| !case.passed) {
            let word = if case.forbidden > 0 { "FORBIDDEN" } else { "FAILED" };
            writeln!(f, "{word:<10}{}/{}", case.suite, case.name)?;
            for wrong in &case.wrong {
                writeln!(f, "          {wrong}")?;
            }
            writeln!(
                f,
                "          runs: {}; {} questions to models, {} answers left",
                case.runs.join(", "),
                case.asked,
                case.left
            )?;
        }
        writeln!(
            f,
            "{:<36}{:>7}{:>8}{:>11}{:>8}{:>7}{:>9}{:>9}",
            "", "cases", "passed", "forbidden", "score", "calls", "tokens", "ms"
        )?;
        for (name, sum) in self.rows() {
            row(f, &name, &sum)?;
        }
        row(f, "all", &self.sum)
    }
}

fn row(f: &mut fmt::Formatter<'_>, name: &str, sum: &Sum) -> fmt::Result {
    writeln!(
        f,
        "{name:<36}{:>7}{:>8}{:>11}{:>8.3}{:>7}{:>9}{:>9}",
        sum.cases, sum.passed, sum.forbidden, sum.score, sum.calls, sum.tokens, sum.millis
    )
}

/// A share.
pub(super) fn ratio(part: usize, whole: usize) -> f64 {
    float(part) / float(whole.max(1))
}

/// A count as a number to draw and divide by.
pub(super) fn float(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests;
