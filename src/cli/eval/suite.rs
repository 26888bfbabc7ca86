//! Suites of cases, YAML files, in; cases with the files that they name read out. Asks nothing and checks
//! no answer. The form is told in `tests/fixtures/eval/README.md`.

mod table;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::script::{self, Line};
use crate::catalog;
pub(super) use table::{
    Answer, Call, Calls, Decision, Ended, Evidence, Expect, Limits, Never, Prompt, pattern,
};
use table::{CaseTable, SuiteTable, TurnTable};

/// One file of cases.
#[derive(Debug)]
pub(super) struct Suite {
    /// Its name.
    pub(super) name: String,
    /// Drafts of units that are there before the first case, with the file and line of each.
    pub(super) memory: Vec<(String, Value)>,
    /// Its cases, in their order.
    pub(super) cases: Vec<Case>,
}

/// One conversation of a suite: a question and those that follow it.
#[derive(Debug)]
pub(super) struct Case {
    /// Its name, unique in the suite.
    pub(super) name: String,
    /// What it is about, for sums by kind; empty for none.
    pub(super) kind: String,
    /// The agent that answers; empty for the daemon's own.
    pub(super) agent: String,
    /// Drafts of units that are written before it; whether they are taken is not asked.
    pub(super) memory: Vec<Value>,
    /// The questions.
    pub(super) turns: Vec<Turn>,
}

/// One question, what the model says to it, and what should come of it.
#[derive(Debug)]
pub(super) struct Turn {
    /// The question.
    pub(super) question: String,
    /// The day that it asks about; empty for now.
    pub(super) as_of: String,
    /// Collections that may be recalled from; empty for all.
    pub(super) collections: Vec<String>,
    /// Limits of its run.
    pub(super) limits: Limits,
    /// What the model says, in its order.
    pub(super) script: Vec<Line>,
    /// What should come of it.
    pub(super) expect: Expect,
    /// What must not.
    pub(super) never: Never,
}

/// Reads a suite. An error names the file, the case and what to mend.
pub(super) fn read(path: &Path) -> Result<Suite, String> {
    let wrong = |reason: String| format!("`{}`: {reason}", path.display());
    let text = std::fs::read_to_string(path)
        .map_err(|error| wrong(format!("it cannot be read: {error}")))?;
    let value = catalog::yaml(&text).map_err(wrong)?;
    let table: SuiteTable = serde_json::from_value(value)
        .map_err(|error| wrong(format!("{error}; `eval run --help` names the form")))?;
    finish(table, path.parent().unwrap_or_else(|| Path::new("."))).map_err(wrong)
}

fn finish(table: SuiteTable, folder: &Path) -> Result<Suite, String> {
    let recorded = match &table.transcript {
        Some(name) => script::read(&folder.join(name))?,
        None => Vec::new(),
    };
    let mut memory = Vec::new();
    for name in &table.memory {
        memory.extend(drafts(&folder.join(name))?);
    }
    let (mut seen, mut cases) = (BTreeSet::new(), Vec::with_capacity(table.cases.len()));
    for members in table.cases {
        let (case, first) = CaseTable::read(members)?;
        if !seen.insert(case.name.clone()) {
            return Err(format!("two cases are called `{}`: rename one", case.name));
        }
        let name = case.name.clone();
        let case = self::case((case, first), &table.agent, &table.never, &recorded);
        cases.push(case.map_err(|why| format!("case `{name}`: {why}"))?);
    }
    if cases.is_empty() {
        return Err("it has no cases: write at least one".to_owned());
    }
    if let Some(stray) = recorded.iter().find(|line| !seen.contains(&line.case)) {
        return Err(format!("its transcript speaks of `{}`, which is no case of it", stray.case));
    }
    Ok(Suite { name: table.suite, memory, cases })
}

/// Drafts of units in a file of JSON lines, as for an import.
fn drafts(path: &Path) -> Result<Vec<(String, Value)>, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("`{}` cannot be read: {error}", path.display()))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| {
            let place = format!("`{}` line {}", path.display(), at + 1);
            let draft = serde_json::from_str(line).map_err(|error| format!("{place}: {error}"))?;
            Ok((place, draft))
        })
        .collect()
}

fn case(
    (table, first): (CaseTable, TurnTable),
    agent: &str,
    never: &Never,
    recorded: &[Line],
) -> Result<Case, String> {
    let CaseTable { name, kind, agent: own, memory, then } = table;
    let mut turns = Vec::with_capacity(1 + then.len());
    for (at, turn) in std::iter::once(first).chain(then).enumerate() {
        let own = recorded.iter().filter(|line| line.case == name && line.turn == at + 1);
        let turn = self::turn(turn, never, (name.as_str(), at + 1), own.cloned().collect());
        turns.push(turn.map_err(|why| format!("question {}: {why}", at + 1))?);
    }
    let agent = own.unwrap_or_else(|| agent.to_owned());
    Ok(Case { name, kind, agent, memory, turns })
}

fn turn(
    table: TurnTable,
    never: &Never,
    (case, number): (&str, usize),
    recorded: Vec<Line>,
) -> Result<Turn, String> {
    if table.question.trim().is_empty() {
        return Err("it is empty".to_owned());
    }
    table.expect.check()?;
    let script = match table.model {
        Some(_) if !recorded.is_empty() => {
            return Err("its answers stand in the suite and in its transcript: keep one".to_owned());
        }
        Some(lines) => lines
            .into_iter()
            .map(|line| Line { case: case.to_owned(), turn: number, ..line })
            .collect(),
        None => recorded,
    };
    for line in &script {
        line.check()?;
    }
    let never = never.clone().with(table.never);
    never.check()?;
    Ok(Turn {
        question: table.question,
        as_of: table.as_of,
        collections: table.collections,
        limits: table.limits,
        script,
        expect: table.expect,
        never,
    })
}

/// Reads suites; two must not have one name, since results are told by it.
pub(super) fn read_all(paths: &[PathBuf]) -> Result<Vec<Suite>, String> {
    let (mut names, mut suites) = (BTreeSet::new(), Vec::with_capacity(paths.len()));
    for path in paths {
        let suite = read(path)?;
        if !names.insert(suite.name.clone()) {
            return Err(format!(
                "`{}`: another suite is called `{}` too: rename one",
                path.display(),
                suite.name
            ));
        }
        suites.push(suite);
    }
    Ok(suites)
}

#[cfg(test)]
mod tests;
