//! Checks a trace again from nothing but itself: a trace in, every place that does not hold out. What a
//! run computed is computed once more here, by the same code.

mod answer;
mod operand;
mod rule;
mod source;
mod step;

use std::collections::{BTreeMap, BTreeSet};

use jiff::tz::TimeZone;

use super::confidence::Config;
use super::follow;
use super::refusal::{Reason, Refusal};
use super::schema::{item_digest, seal};
use super::trace::{FOLLOW_UPS, Label, Trace, VERSION};

pub(crate) use answer::citable;
pub(super) use answer::{check as answer, confidence_of, is_rules, unsupported};
pub(super) use operand::{evidence_of, operand_of, value_of};
pub use rule::rule_refusals;
pub(super) use source::kind_of;
pub(super) use step::combined;

/// Everything that is refused in a finished trace; empty for one that holds.
pub fn check(trace: &Trace) -> Vec<Refusal> {
    check_with(trace, None)
}

/// The same, and that its confidences come from these constants.
pub fn check_with(trace: &Trace, constants: Option<&Config>) -> Vec<Refusal> {
    let mut wrong = steps(trace);
    if constants.is_some_and(|constants| *constants != trace.constants) {
        let message = "the constants are not those of the configuration: a trace is only as sure as \
                       the constants that it was made with";
        wrong.push(Refusal::new(Reason::Confidence, "/constants", message));
    }
    match (&trace.answer, &trace.partial) {
        (Some(given), None) => answer(trace, given, "/answer", &mut wrong),
        (None, Some(_)) => partial(trace, &mut wrong),
        (None, None) => {
            let message = "there is neither an answer nor a partial one: the run has not ended, or \
                           it failed or was cancelled, so that there is nothing to check";
            wrong.push(Refusal::new(Reason::Form, "/answer", message));
        }
        (Some(_), Some(_)) => {
            let message = "there are both an answer and a partial one: a run ends once";
            wrong.push(Refusal::new(Reason::Form, "/partial", message));
        }
    }
    let told = trace.follow_ups.iter().position(|one| one.run == trace.run);
    if let Some(at) = told
        && (at > 0 || follow::summaries(trace).first() != trace.follow_ups.first())
    {
        let message = "the summary of this run is not what its steps give for the next turn";
        wrong.push(Refusal::new(Reason::DoesNotFollow, format!("/follow_ups/{at}"), message));
    }
    if trace.seal != seal(trace) {
        let message =
            "the seal is not the digest of the trace: something was changed after it ended";
        wrong.push(Refusal::new(Reason::Digest, "/seal", message));
    }
    wrong
}

/// What is refused in a trace that still grows.
pub(super) fn steps(trace: &Trace) -> Vec<Refusal> {
    let mut wrong = Vec::new();
    form(trace, &mut wrong);
    labels(trace, &mut wrong);
    for (at, item) in trace.evidence.iter().enumerate() {
        let place = format!("/evidence/{at}");
        if item.digest != item_digest(item) {
            let message =
                format!("`{}` is not what its digest was made of: it was changed", item.id);
            wrong.push(Refusal::new(Reason::Digest, format!("{place}/digest"), message));
        }
        source::check(trace, (at, item), &place, &mut wrong);
    }
    step::check(trace, &mut wrong);
    wrong
}

fn form(trace: &Trace, wrong: &mut Vec<Refusal>) {
    let mut refuse = |place: &str, message: String| {
        wrong.push(Refusal::new(Reason::Form, place, message));
    };
    if trace.version != VERSION {
        let message =
            format!("version {} is not read: this program reads {VERSION}", trace.version);
        refuse("/version", message);
    }
    if TimeZone::get(&trace.time_zone).is_err() {
        let message = format!("there is no time zone `{}`", trace.time_zone);
        refuse("/time_zone", message);
    }
    if trace.follow_ups.len() > FOLLOW_UPS {
        let message = format!(
            "{} summaries of earlier turns; at most {FOLLOW_UPS} go into one",
            trace.follow_ups.len()
        );
        refuse("/follow_ups", message);
    }
    if let Err(message) = trace.constants.check() {
        refuse("/constants", message);
    }
    for (at, summary) in trace.follow_ups.iter().enumerate() {
        for (beside, item) in summary.evidence.iter().enumerate() {
            if item.digest != item_digest(item) {
                let place = format!("/follow_ups/{at}/evidence/{beside}/digest");
                let message = format!("`{}` is not what its digest was made of", item.id);
                wrong.push(Refusal::new(Reason::Digest, place, message));
            }
        }
    }
}

/// Every label stands for one thing, and says what that is.
fn labels(trace: &Trace, wrong: &mut Vec<Refusal>) {
    let mut seen = BTreeSet::new();
    let items = trace
        .evidence
        .iter()
        .enumerate()
        .map(|(at, one)| (format!("/evidence/{at}/id"), &one.id, 'E'));
    let steps =
        trace.steps.iter().enumerate().map(|(at, one)| (format!("/steps/{at}/id"), &one.id, 'S'));
    for (place, label, letter) in items.chain(steps) {
        if !seen.insert(label) {
            let message = format!("`{label}` stands for two things: labels are given once");
            wrong.push(Refusal::new(Reason::Duplicate, &place, message));
        }
        let number = label.as_str().strip_prefix(letter);
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
        let is_question = letter == 'E' && *label == Label::question();
        if !is_question && !number.is_some_and(is_number) {
            let message = format!("`{label}` is no label: write {letter} and a number");
            wrong.push(Refusal::new(Reason::Form, &place, message));
        }
    }
}

fn partial(trace: &Trace, wrong: &mut Vec<Refusal>) {
    let known = trace.partial.iter().flat_map(|partial| &partial.known);
    for (at, known) in known.enumerate() {
        let place = format!("/partial/known/{at}");
        let text = match (trace.item(&known.id), trace.step(&known.id)) {
            (Some(item), _) => &item.text,
            (None, Some(step)) => &step.text,
            (None, None) => {
                wrong.push(unknown(trace, &known.id, &format!("{place}/id")));
                continue;
            }
        };
        if !text.starts_with(&known.text) {
            let message = format!("`{}` does not say this", known.id);
            wrong.push(Refusal::new(Reason::NotInEvidence, format!("{place}/text"), message));
        }
    }
}

/// The confidence of each label: of evidence, that of the step that brought it.
pub(super) fn confidences(
    trace: &Trace,
    evidence: &[Label],
    premises: &[Label],
) -> BTreeMap<String, f64> {
    let brought = |label: &Label| {
        let brings = |step: &&super::trace::Step| {
            step.operation.is_none() && step.evidence.first() == Some(label)
        };
        trace.steps.iter().find(brings).or_else(|| trace.step(label))
    };
    let all = evidence.iter().chain(premises);
    all.filter_map(|label| Some((label.to_string(), brought(label)?.confidence.value))).collect()
}

/// Why a label names nothing.
pub(super) fn unknown(trace: &Trace, label: &Label, place: &str) -> Refusal {
    let items = trace.evidence.iter().map(|item| item.id.as_str());
    let known: Vec<&str> =
        items.chain(trace.steps.iter().map(|step| step.id.as_str())).take(40).collect();
    let message = format!(
        "`{label}` was not retrieved in this run: cite what there is, {}",
        known.join(", ")
    );
    Refusal::new(Reason::NotRetrieved, place, message)
}
