//! What was measured, as a value, as JSON and as a table for people.

use std::fmt;

use serde::Serialize;

use super::PLACES;
use super::questions::Labelled;
use super::score::Tally;
use crate::memory::Sense;

/// What was measured.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// What became of the units that were written, by stage; `None` where a memory was there.
    pub units: Option<Vec<(String, usize)>>,
    /// Why the first refused ones were refused.
    pub refused: Vec<String>,
    /// All questions.
    pub all: Line,
    /// By language, where questions say theirs.
    pub languages: Vec<(String, Line)>,
    /// By kind, where questions say theirs.
    pub kinds: Vec<(String, Line)>,
    /// Recall by the number of hits that are asked for.
    pub top_k: Vec<(usize, f64)>,
    /// By threshold; empty unless it was asked for.
    pub thresholds: Vec<(f32, Line)>,
    /// Without a layer; empty unless it was asked for.
    pub without: Vec<(Sense, Line)>,
    /// What came back within the first 20 and must not.
    pub violations: Vec<Violation>,
    /// Layers that did not work for some question, and why.
    pub failed: Vec<(Sense, String)>,
    /// Milliseconds of a recall, with the question's vector: half take at most this.
    pub millis_p50: f64,
    /// And 95 of a hundred this.
    pub millis_p95: f64,
}

/// Figures of one set of questions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Line {
    /// How many.
    pub questions: usize,
    /// Share of the relevant units among the first 1, 3, 5, 10, 20 and 50 hits, on average over the
    /// questions that have any.
    pub recall: [f64; 6],
    /// Mean of one divided by the place of the first relevant unit; 0 for a question without one.
    pub mrr: f64,
    /// Units within the first 20 that must never come back.
    pub never: usize,
}

/// A unit that must not have come back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// The question.
    pub question: String,
    /// The unit, as the question names it.
    pub unit: String,
    /// Its place, from 1.
    pub place: usize,
}

impl Report {
    pub(super) fn new(
        questions: &[Labelled],
        tally: &Tally,
        units: Option<Vec<(String, usize)>>,
    ) -> Self {
        let (millis_p50, millis_p95) = tally.millis();
        let labelled = |of: fn(&Labelled) -> &String| questions.iter().any(|one| of(one) != "-");
        let some = |is: bool, lines: Vec<(String, Line)>| if is { lines } else { Vec::new() };
        Self {
            units,
            refused: Vec::new(),
            all: tally.line(),
            languages: some(labelled(|one| &one.language), tally.by_language()),
            kinds: some(labelled(|one| &one.kind), tally.by_kind()),
            top_k: Vec::new(),
            thresholds: Vec::new(),
            without: Vec::new(),
            violations: tally.violations.clone(),
            failed: tally.failed.iter().map(|(sense, why)| (*sense, why.clone())).collect(),
            millis_p50,
            millis_p95,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(units) = &self.units {
            let stages: Vec<String> =
                units.iter().map(|(stage, count)| format!("{count} {stage}")).collect();
            writeln!(f, "units: {}", stages.join(", "))?;
        }
        for why in &self.refused {
            writeln!(f, "refused: {why}")?;
        }
        write!(f, "{:<24}{:>10}", "", "questions")?;
        for place in PLACES {
            write!(f, "{:>8}", format!("R@{place}"))?;
        }
        writeln!(f, "{:>8}{:>7}", "MRR", "never")?;
        row(f, "all", &self.all)?;
        for (name, line) in self.languages.iter().chain(&self.kinds) {
            row(f, name, line)?;
        }
        for (threshold, line) in &self.thresholds {
            row(f, &format!("threshold {threshold:.2}"), line)?;
        }
        for (sense, line) in &self.without {
            row(f, &format!("without {}", sense.as_str()), line)?;
        }
        write!(f, "recall by top_k:")?;
        for (top, recall) in &self.top_k {
            write!(f, "  {top}: {recall:.3}")?;
        }
        writeln!(f)?;
        writeln!(
            f,
            "a recall takes {:.1} ms (p50), {:.1} ms (p95)",
            self.millis_p50, self.millis_p95
        )?;
        for one in &self.violations {
            writeln!(
                f,
                "must not come back: `{}` at place {} of `{}`",
                one.unit, one.place, one.question
            )?;
        }
        for (sense, why) in &self.failed {
            writeln!(f, "layer `{}` failed: {why}", sense.as_str())?;
        }
        Ok(())
    }
}

fn row(f: &mut fmt::Formatter<'_>, name: &str, line: &Line) -> fmt::Result {
    write!(f, "{name:<24}{:>10}", line.questions)?;
    for recall in line.recall {
        write!(f, "{recall:>8.3}")?;
    }
    writeln!(f, "{:>8.3}{:>7}", line.mrr, line.never)
}
