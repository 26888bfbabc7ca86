//! One probe on one runtime: its program's cases, its hostile calls, its controls, and then a look at
//! what is left. A number in, a finding out.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::Value;

use crate::control;
use crate::expect::{compare, short};
use crate::host::Before;
use crate::program::{Case, Program};
use crate::requests::{self, Scene};
use crate::site::{Run, Runtime, Site};

/// What came of a probe.
#[derive(Debug, Default)]
pub(crate) struct Finding {
    /// Verdicts and errors that were seen, and figures.
    pub(crate) observed: BTreeSet<String>,
    pub(crate) faults: Vec<String>,
    /// What the controls showed.
    pub(crate) controls: Vec<String>,
    skipped: Option<String>,
}

/// In one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Passed,
    Failed,
    Skipped,
}

impl Finding {
    pub(crate) fn skip(reason: &str) -> Self {
        Self { skipped: Some(reason.to_owned()), ..Self::default() }
    }

    /// Of a probe that could not be held to its end; standard error says why.
    pub(crate) fn broken() -> Self {
        Self { faults: vec!["it broke off, see above".to_owned()], ..Self::default() }
    }

    pub(crate) fn saw(&mut self, what: impl Into<String>) {
        self.observed.insert(what.into());
    }

    pub(crate) fn fault(&mut self, what: impl Into<String>) {
        self.faults.push(what.into());
    }

    /// Notes `what` as a fault unless it holds.
    pub(crate) fn check(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.faults.push(what());
        }
    }

    pub(crate) fn verdict(&self) -> Verdict {
        if !self.faults.is_empty() {
            Verdict::Failed
        } else if self.skipped.is_some() {
            Verdict::Skipped
        } else {
            Verdict::Passed
        }
    }

    /// One line, and one below it for each fault.
    pub(crate) fn line(&self, number: u32, title: &str, class: &str, runtime: Runtime) -> String {
        let word = match self.verdict() {
            Verdict::Passed => "passed",
            Verdict::Failed => "FAILED",
            Verdict::Skipped => "skipped",
        };
        let mut line = format!("probe {number:>2}  {title:<52}  {:<5}  {word}", runtime.name());
        if let Some(reason) = &self.skipped {
            write!(line, ": {reason}").unwrap();
        }
        let observed: Vec<&str> = self.observed.iter().map(String::as_str).collect();
        if !observed.is_empty() {
            write!(line, "  ({})", observed.join(", ")).unwrap();
        }
        for control in &self.controls {
            write!(line, "  control: {control}").unwrap();
        }
        line.push_str(class);
        for fault in &self.faults {
            write!(line, "\n          {}", short(&Value::from(fault.as_str()))).unwrap();
        }
        line
    }
}

/// What a probe is about.
pub(crate) fn title(programs: &[Program], number: u32) -> String {
    let program = programs.iter().find(|program| program.number == number);
    match (program, requests::of(number)) {
        (Some(program), _) => program.header.probe.clone(),
        (None, Some(calls)) => calls.title.to_owned(),
        (None, None) => "(not written)".to_owned(),
    }
}

/// Which scenarios of public suites a probe covers, as the end of its line.
pub(crate) fn class(programs: &[Program], number: u32) -> String {
    let program = programs.iter().find(|program| program.number == number);
    let of_program = program.map(|program| program.header.class.as_str());
    let of_calls = || requests::of(number).map(|calls| calls.class);
    let class = of_program.or_else(of_calls).unwrap_or_default();
    if class.is_empty() { String::new() } else { format!("  [{class}]") }
}

/// Holds probe `number`.
pub(crate) async fn hold(site: &Site, programs: &[Program], number: u32) -> Finding {
    let program = programs.iter().find(|program| program.number == number);
    let calls = requests::of(number);
    if program.is_none() && calls.is_none() {
        return Finding::skip("it is not written yet");
    }
    let before = Before::look(site);
    let mark = site.world.mark();
    let mut finding = Finding::default();
    let mut runs = Vec::new();
    if let Some(program) = program {
        for case in &program.header.case {
            let run = site.run(&program.code, case).await;
            judge(site, case, &run, &mut finding);
            runs.push(run);
        }
    }
    if let Some(calls) = calls {
        let (finding, runs) = (&mut finding, &mut runs);
        (calls.hold)(Scene { site, program, finding, runs, mark }).await;
    }
    finding
        .faults
        .extend(before.left(site, &runs).await.iter().map(|left| format!("left: {left}")));
    if let Err(why) = site.answers().await {
        finding.fault(why);
    }
    for control in program.iter().flat_map(|program| &program.header.control) {
        if let (Some(why), Runtime::Runsc) = (&control.not_on_runsc, site.runtime()) {
            finding.controls.push(format!("none, {why}"));
            continue;
        }
        let faults =
            program.map(|program| control::run(site, program, control)).unwrap_or_default();
        if faults.is_empty() {
            finding.controls.push(format!("succeeded with {} off", control.off));
        }
        finding.faults.extend(faults);
    }
    finding
}

/// Holds one case against what it had to show.
fn judge(site: &Site, case: &Case, run: &Run, finding: &mut Finding) {
    let expected = case.on(site.runtime());
    let mut faults = Vec::new();
    let code = expected.code.as_deref().unwrap_or("SUCCESS");
    if code.split('|').any(|code| code == run.code()) {
        if run.code() != "SUCCESS" {
            finding.saw(run.code());
        }
    } else {
        faults.push(format!("code is {}, expected {code}", run.code()));
    }
    if let Some(observed) = &expected.observed {
        compare("", observed, run.data(), &mut faults);
    }
    for (pointer, expected) in &expected.reply {
        let found = run.reply.pointer(pointer).unwrap_or(&Value::Null);
        compare(pointer, expected, found, &mut faults);
    }
    let recorded = run.record["code"].as_str().unwrap_or("SUCCESS");
    if recorded != run.code() {
        faults.push(format!("the ledger says {recorded}, the reply {}", run.code()));
    }
    let words = run.data().as_object().into_iter().flat_map(|all| all.values());
    let words = words.filter_map(Value::as_str).filter(|word| is_error(word));
    finding.observed.extend(words.map(str::to_owned));
    if !faults.is_empty() {
        faults.push(format!("stderr: {}", short(&run.reply["metadata"]["stderr"])));
    }
    let place = if case.name.is_empty() { String::new() } else { format!("{}: ", case.name) };
    finding.faults.extend(faults.iter().map(|fault| format!("{place}{fault}")));
}

/// Names of errors and signals, and nothing else that a program says.
fn is_error(word: &str) -> bool {
    (word.starts_with('E') || word.starts_with("SIG"))
        && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
}
