//! `eval compare`: the results of two versions side by side, case by case and in sum, and which cases got
//! better or worse.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use super::plot;
use super::report::{CaseReport, Report, Sum};
use crate::cli::{Failed, print};

#[derive(Debug, Args)]
pub(in crate::cli) struct Options {
    /// Results of the one version, as `eval run --out` writes them.
    before: PathBuf,
    /// Results of the other.
    after: PathBuf,
    /// Also cases that are as they were.
    #[arg(long)]
    all: bool,
    /// Draw both, as SVG.
    #[arg(long)]
    plot: Option<PathBuf>,
    /// One line of JSON.
    #[arg(long)]
    json: bool,
}

/// What became of a case from the one version to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Change {
    /// Its score fell, or something forbidden happened that had not.
    Worse,
    /// Only the first has it.
    Gone,
    /// Its score rose, or nothing forbidden happens any more.
    Better,
    /// Only the second has it.
    New,
    /// As it was.
    Same,
}

/// One case in both.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Pair {
    /// Suite and case.
    pub(super) name: String,
    /// What became of it.
    pub(super) change: Change,
    /// Score in the first; none where it is not there.
    pub(super) before: Option<f64>,
    /// Score in the second.
    pub(super) after: Option<f64>,
    /// Forbidden things that happened, in each.
    pub(super) forbidden: (usize, usize),
    /// Milliseconds, in each.
    pub(super) millis: (u64, u64),
    /// What does not hold in the second and did in the first.
    pub(super) wrong: Vec<String>,
}

/// Two versions side by side.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Comparison {
    /// What was measured, in each.
    pub(super) labels: (String, String),
    /// Sums of all cases, in each.
    pub(super) sums: (Sum, Sum),
    /// Sums by suite and kind, where either has them.
    pub(super) rows: Vec<(String, Sum, Sum)>,
    /// How many cases got worse, were dropped, got better, are new, and are as they were.
    pub(super) counts: [(Change, usize); 5],
    /// The cases: worse ones first.
    pub(super) cases: Vec<Pair>,
}

pub(super) fn run(options: &Options) -> Result<ExitCode, Failed> {
    let (before, after) = (read(&options.before)?, read(&options.after)?);
    let mut comparison = Comparison::of(&before, &after);
    if let Some(path) = &options.plot {
        plot::draw(&comparison, path).map_err(Failed::answer)?;
    }
    let worse = comparison.cases.iter().any(|pair| pair.change == Change::Worse);
    if !options.all {
        comparison.cases.retain(|pair| pair.change != Change::Same);
    }
    match options.json {
        true => print::json(&comparison)?,
        false => print::shown(&comparison.to_string())?,
    };
    Ok(ExitCode::from(u8::from(worse)))
}

fn read(path: &Path) -> Result<Report, Failed> {
    let wrong = |why: String| Failed::usage(format!("`{}`: {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    serde_json::from_str(&text)
        .map_err(|error| wrong(format!("it is no result of `eval run --out`: {error}")))
}

impl Comparison {
    /// Puts two side by side; cases are the same by suite and name.
    pub(super) fn of(before: &Report, after: &Report) -> Self {
        let key = |case: &CaseReport| (case.suite.clone(), case.name.clone());
        let keys: BTreeSet<_> = before.cases.iter().chain(&after.cases).map(key).collect();
        let mut cases: Vec<Pair> = keys
            .iter()
            .map(|key| {
                let name = format!("{}/{}", key.0, key.1);
                Pair::of(name, find(before, key), find(after, key))
            })
            .collect();
        cases.sort_by_key(|pair| pair.change.place());
        let count =
            |change: Change| (change, cases.iter().filter(|pair| pair.change == change).count());
        Self {
            labels: (before.label.clone(), after.label.clone()),
            sums: (before.sum, after.sum),
            rows: rows(before, after),
            counts: Change::ALL.map(count),
            cases,
        }
    }
}

/// A case by suite and name.
fn find<'r>(report: &'r Report, (suite, name): &(String, String)) -> Option<&'r CaseReport> {
    report.cases.iter().find(|case| case.suite == *suite && case.name == *name)
}

fn rows(before: &Report, after: &Report) -> Vec<(String, Sum, Sum)> {
    let (one, other) = (before.rows(), after.rows());
    let names: BTreeSet<&String> = one.iter().chain(&other).map(|(name, _)| name).collect();
    let sum = |rows: &[(String, Sum)], name: &String| {
        rows.iter().find(|(known, _)| known == name).map(|(_, sum)| *sum).unwrap_or_default()
    };
    names.into_iter().map(|name| (name.clone(), sum(&one, name), sum(&other, name))).collect()
}

impl Change {
    const ALL: [Self; 5] = [Self::Worse, Self::Gone, Self::Better, Self::New, Self::Same];

    fn place(self) -> usize {
        Self::ALL.iter().position(|one| *one == self).unwrap_or_default()
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Worse => "worse",
            Self::Gone => "gone",
            Self::Better => "better",
            Self::New => "new",
            Self::Same => "same",
        }
    }
}

impl Pair {
    fn of(name: String, before: Option<&CaseReport>, after: Option<&CaseReport>) -> Self {
        let change = match (before, after) {
            (None, _) => Change::New,
            (_, None) => Change::Gone,
            (Some(one), Some(other)) if one.forbidden != other.forbidden => {
                if other.forbidden > one.forbidden { Change::Worse } else { Change::Better }
            }
            (Some(one), Some(other)) => match other.score.total_cmp(&one.score) {
                std::cmp::Ordering::Less => Change::Worse,
                std::cmp::Ordering::Equal => Change::Same,
                std::cmp::Ordering::Greater => Change::Better,
            },
        };
        let known = |text: &String| before.is_some_and(|case| case.wrong.contains(text));
        let wrong = after.map(|case| case.wrong.iter()).into_iter().flatten();
        let count = |case: Option<&CaseReport>| case.map_or(0, |case| case.forbidden);
        let millis = |case: Option<&CaseReport>| case.map_or(0, |case| case.millis);
        Self {
            name,
            change,
            before: before.map(|case| case.score),
            after: after.map(|case| case.score),
            forbidden: (count(before), count(after)),
            millis: (millis(before), millis(after)),
            wrong: wrong.filter(|text| !known(text)).cloned().collect(),
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "A: {}", self.labels.0)?;
        writeln!(f, "B: {}", self.labels.1)?;
        let heads = ["score A", "score B", "passed A", "passed B", "forb. A", "forb. B"];
        write!(f, "{:<36}", "")?;
        heads.iter().try_for_each(|head| write!(f, "{head:>10}"))?;
        writeln!(f)?;
        let all = ("all".to_owned(), self.sums.0, self.sums.1);
        for (name, one, other) in self.rows.iter().chain([&all]) {
            write!(f, "{name:<36}{:>10.3}{:>10.3}", one.score, other.score)?;
            write!(f, "{:>10}{:>10}", share(one), share(other))?;
            writeln!(f, "{:>10}{:>10}", one.forbidden, other.forbidden)?;
        }
        for pair in &self.cases {
            let score = |score: Option<f64>| {
                score.map_or_else(|| "-".to_owned(), |one| format!("{one:.3}"))
            };
            let (before, after) = (score(pair.before), score(pair.after));
            writeln!(f, "{:<8}{before:>7} {after:>7}  {}", pair.change.as_str(), pair.name)?;
            for wrong in &pair.wrong {
                writeln!(f, "          {wrong}")?;
            }
        }
        let counts: Vec<String> = self
            .counts
            .iter()
            .map(|(change, count)| format!("{count} {}", change.as_str()))
            .collect();
        writeln!(f, "{}", counts.join(", "))
    }
}

fn share(sum: &Sum) -> String {
    format!("{}/{}", sum.passed, sum.cases)
}

#[cfg(test)]
mod tests;
