//! What came of a question is held against what should have come of it, and what must not have. Each check is
//! a line of the result. Asks nobody: what a judge says is handed in.

mod call;

use serde_json::Value;

use super::player::Heard;
use super::seen::{Ran, Seen};
use super::suite::{Answer, Calls, Decision, Ended, Evidence, Expect, Never, Prompt, Turn};
use call::{fits, in_order, paired, stands, told};

/// One check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// What was checked, in a word or two.
    pub(super) check: String,
    /// What was wrong; empty when it held.
    pub(super) wrong: String,
    /// Whether it is about what must not happen.
    pub(super) forbidden: bool,
}

/// Gathers checks.
#[derive(Debug, Default)]
struct Checks(Vec<Found>);

impl Checks {
    fn hold(&mut self, check: impl Into<String>, holds: bool, wrong: impl FnOnce() -> String) {
        let wrong = if holds { String::new() } else { wrong() };
        self.0.push(Found { check: check.into(), wrong, forbidden: false });
    }

    fn never(&mut self, check: impl Into<String>, happened: Option<String>) {
        let wrong = happened.unwrap_or_default();
        self.0.push(Found { check: check.into(), wrong, forbidden: true });
    }
}

/// All checks of a question. `judged` is what a judge says of the answer, where one was asked: yes or no, and
/// why.
pub(super) fn check(turn: &Turn, seen: &Seen, judged: Option<(bool, String)>) -> Vec<Found> {
    let mut checks = Checks::default();
    script(&mut checks, seen);
    expected(&mut checks, &turn.expect, seen);
    if let Some((holds, why)) = judged {
        checks.hold("judged", holds, || why);
    }
    forbidden(&mut checks, &turn.never, seen);
    checks.0
}

/// A model that was asked what nobody recorded shows a change of the product, whatever came of it.
fn script(checks: &mut Checks, seen: &Seen) {
    if let Some(misfit) = seen.heard.iter().find_map(|heard| heard.misfits.first()) {
        checks.hold("recording", false, || misfit.clone());
    }
}

fn expected(checks: &mut Checks, expect: &Expect, seen: &Seen) {
    ended(checks, expect, seen);
    if let Some(calls) = &expect.tools {
        tools(checks, calls, &seen.calls);
    }
    answer(checks, &expect.answer, &seen.answer);
    if let Some(wanted) = &expect.decision {
        decision(checks, wanted, seen);
    }
    evidence(checks, &expect.evidence, seen);
    if let Some(heard) = &seen.heard {
        prompt(checks, &expect.prompt, heard);
    }
    if seen.ended == Some(Ended::Answer) {
        checks.hold("trace", seen.refusals.is_empty(), || seen.refusals.join("; "));
    }
}

fn ended(checks: &mut Checks, expect: &Expect, seen: &Seen) {
    let wanted = match expect.ended.as_slice() {
        // A partial answer repeats what was found: what an answer has to say stands in it by chance.
        [] if expect.answers() => &[Ended::Answer],
        wanted => wanted,
    };
    if wanted.is_empty() {
        checks.hold("ended", seen.ended.is_some(), || format!("it was cut off: {}", seen.why));
        return;
    }
    let holds = seen.ended.is_some_and(|ended| wanted.contains(&ended));
    checks.hold("ended", holds, || {
        let wanted: Vec<&str> = wanted.iter().map(|one| one.as_str()).collect();
        let ended = seen.ended.map_or("cut off", Ended::as_str);
        let text = seen.answer.chars().take(200).collect::<String>().replace('\n', " ");
        format!("{ended} instead of {}: {} {text}", wanted.join(" or "), seen.why)
    });
}

fn tools(checks: &mut Checks, wanted: &Calls, calls: &[Ran]) {
    let holds = match wanted {
        Calls::Exact(wanted) => {
            wanted.len() == calls.len() && wanted.iter().zip(calls).all(|(one, ran)| fits(one, ran))
        }
        Calls::AnyOrder(wanted) => paired(wanted, calls),
        Calls::Subset(wanted) => in_order(wanted, calls),
    };
    checks.hold("tools", holds, || {
        let names: Vec<String> = calls.iter().map(told).collect();
        let names = if names.is_empty() { "no calls".to_owned() } else { names.join(", ") };
        let wanted: Vec<&str> = wanted.all().iter().map(|one| one.tool()).collect();
        format!("expected {}; the ledger has {names}", wanted.join(", "))
    });
}

fn answer(checks: &mut Checks, wanted: &Answer, answer: &str) {
    let short = || -> String { answer.chars().take(300).collect() };
    if let Some(text) = &wanted.exact {
        checks.hold("exact", text.trim() == answer.trim(), || format!("it is `{}`", short()));
    }
    for text in &wanted.contains {
        let check = format!("contains `{text}`");
        checks.hold(check, answer.contains(text.as_str()), || format!("it is `{}`", short()));
    }
    for text in &wanted.lacks {
        let check = format!("lacks `{text}`");
        checks.hold(check, !answer.contains(text.as_str()), || format!("it is `{}`", short()));
    }
    if let Some(pattern) = &wanted.regex {
        let found = regex::Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(answer));
        checks.hold(format!("regex `{pattern}`"), found, || format!("it is `{}`", short()));
    }
    if let Some(most) = wanted.most {
        let length = answer.chars().count();
        checks.hold("answer's length", length <= most, || format!("it has {length} characters"));
    }
    if let Some(schema) = &wanted.schema {
        let value = serde_json::from_str::<Value>(answer);
        let value = value.map_err(|error| format!("the answer is not JSON: {error}"));
        let fits = value.and_then(|value| crate::schema::fits(schema, &value));
        checks.hold("schema", fits.is_ok(), || fits.err().unwrap_or_default());
    }
}

fn decision(checks: &mut Checks, wanted: &Decision, seen: &Seen) {
    let Some((value, rule, holds)) = &seen.decision else {
        checks.hold("decision", false, || "nothing was decided".to_owned());
        return;
    };
    if let Some(text) = &wanted.value {
        let text = text.as_str().map_or_else(|| text.to_string(), str::to_owned);
        checks.hold("decision", text == *value, || format!("`{value}` instead of `{text}`"));
    }
    if let Some(id) = &wanted.rule {
        checks.hold("rule", id == rule, || format!("decided by `{rule}` instead of `{id}`"));
    }
    if let Some(wanted) = wanted.holds {
        checks.hold("holds", *holds == Some(wanted), || format!("{holds:?} instead of {wanted}"));
    }
}

fn evidence(checks: &mut Checks, wanted: &Evidence, seen: &Seen) {
    let cited = || format!("it cites {}", seen.cites.join(", "));
    for source in &wanted.cites {
        checks.hold(format!("cites {source}"), seen.cites.contains(source), cited);
    }
    for source in &wanted.lacks {
        checks.hold(format!("does not cite {source}"), !seen.cites.contains(source), cited);
    }
    for kind in &wanted.steps {
        let check = format!("step {kind}");
        checks
            .hold(check, seen.steps.contains(kind), || format!("it has {}", seen.steps.join(", ")));
    }
}

fn prompt(checks: &mut Checks, wanted: &Prompt, heard: &Heard) {
    for text in &wanted.contains {
        let some = heard.prompts.iter().any(|prompt| prompt.contains(text.as_str()));
        checks.hold(format!("is told `{text}`"), some, || "no model was told it".to_owned());
    }
    if let Some(most) = wanted.most {
        let longest = heard.prompts.iter().map(|one| one.chars().count()).max().unwrap_or(0);
        checks.hold("length", longest <= most, || format!("a question of {longest} characters"));
    }
}

fn forbidden(checks: &mut Checks, never: &Never, seen: &Seen) {
    let executed: Vec<&Ran> = seen.calls.iter().filter(|ran| ran.executed).collect();
    for call in &never.runs {
        let ran = executed.iter().find(|ran| fits(call, ran));
        checks.never(format!("never runs {}", call.tool()), ran.map(|ran| told(ran)));
    }
    for text in &never.sends {
        let ran = executed.iter().find(|ran| stands(text, &ran.arguments));
        checks.never(format!("never sends `{text}`"), ran.map(|ran| told(ran)));
    }
    for host in &never.reaches {
        let ran = executed.iter().find(|ran| ran.hosts.contains(host));
        checks.never(format!("never reaches {host}"), ran.map(|ran| told(ran)));
    }
    for text in &never.says {
        let says = seen.answer.contains(text.as_str()).then(|| "the answer has it".to_owned());
        checks.never(format!("never says `{text}`"), says);
    }
    for text in &never.prompts {
        let Some(heard) = &seen.heard else { continue };
        let told = heard.prompts.iter().position(|prompt| prompt.contains(text.as_str()));
        let told = told.map(|at| format!("question {} to the model has it", at + 1));
        checks.never(format!("never tells `{text}`"), told);
    }
}

#[cfg(test)]
mod tests;
