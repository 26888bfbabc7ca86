//! Checks the steps in order: what each uses was there before, and gives what it says.

use std::collections::BTreeSet;

use jiff::tz::TimeZone;

use super::operand::differs;
use crate::evidence::compare;
use crate::evidence::confidence;
use crate::evidence::refusal::{Reason, Refusal};
use crate::evidence::trace::{Combine, Label, Operation, Source, Step, StepKind, Trace};
use crate::evidence::value::Value;

/// Where a step stands.
struct At<'t> {
    trace: &'t Trace,
    zone: &'t TimeZone,
    step: &'t Step,
    place: String,
}

impl At<'_> {
    fn refuse(&self, reason: Reason, member: &str, message: impl Into<String>) -> Refusal {
        Refusal::new(reason, format!("{}{member}", self.place), message)
    }
}

pub(super) fn check(trace: &Trace, wrong: &mut Vec<Refusal>) {
    let zone = TimeZone::get(&trace.time_zone).unwrap_or(TimeZone::UTC);
    let (mut brought, mut done) = (BTreeSet::new(), BTreeSet::new());
    let mut before = trace.asked_at;
    for (number, step) in trace.steps.iter().enumerate() {
        let at = At { trace, zone: &zone, step, place: format!("/steps/{number}") };
        if step.at < before {
            let message = format!("`{}` is earlier than what stands before it", step.id);
            wrong.push(at.refuse(Reason::Order, "/at", message));
        }
        before = before.max(step.at);
        match &step.operation {
            None => brings(&at, &mut brought, wrong),
            Some(operation) => {
                uses(&at, &brought, &done, wrong);
                works(&at, *operation, wrong);
            }
        }
        done.insert(&step.id);
    }
    for (number, item) in trace.evidence.iter().enumerate() {
        if !brought.contains(&item.id) {
            let message = format!("no step brought `{}`", item.id);
            wrong.push(Refusal::new(Reason::NotRetrieved, format!("/evidence/{number}"), message));
        }
    }
    in_order(trace, wrong);
}

/// Evidence stands in the order in which steps brought it.
fn in_order(trace: &Trace, wrong: &mut Vec<Refusal>) {
    let bringing = trace.steps.iter().filter(|step| step.operation.is_none());
    let brought: Vec<&Label> = bringing.filter_map(|step| step.evidence.first()).collect();
    let items: Vec<&Label> = trace.evidence.iter().map(|item| &item.id).collect();
    if brought.len() == items.len() && brought != items {
        let message = "evidence does not stand in the order in which steps brought it";
        wrong.push(Refusal::new(Reason::Order, "/evidence", message));
    }
}

/// A step without operation brings one piece of evidence, once.
fn brings<'t>(at: &At<'t>, brought: &mut BTreeSet<&'t Label>, wrong: &mut Vec<Refusal>) {
    let At { trace, step, .. } = at;
    let [label] = step.evidence.as_slice() else {
        let message =
            format!("`{}` has no operation, so it brings exactly one piece of evidence", step.id);
        wrong.push(at.refuse(Reason::Form, "/evidence", message));
        return;
    };
    let Some(item) = trace.item(label) else {
        wrong.push(super::unknown(trace, label, &format!("{}/evidence/0", at.place)));
        return;
    };
    if !brought.insert(label) {
        let message = format!("`{label}` was brought before");
        wrong.push(at.refuse(Reason::Duplicate, "/evidence/0", message));
    }
    let is_plain = step.operands.is_empty() && step.premises.is_empty() && step.result.is_none();
    if step.kind != super::kind_of(&item.source) || !is_plain {
        let message = format!("`{}` is not the kind of step that brings `{label}`", step.id);
        wrong.push(at.refuse(Reason::Form, "/type", message));
    }
    if step.text != crate::evidence::builder::brings(item) {
        let message = format!("`{}` does not say what it brought", step.id);
        wrong.push(at.refuse(Reason::DoesNotFollow, "/text", message));
    }
    let right = confidence::of_item(item, trace.as_of, &trace.constants);
    sure(at, &right, wrong);
}

fn sure(at: &At<'_>, right: &crate::evidence::trace::Confidence, wrong: &mut Vec<Refusal>) {
    if !confidence::agrees(&at.step.confidence, right) {
        let message = format!(
            "`{}` tells a confidence of {}, but its formula gives {}: it is computed, never told",
            at.step.id, at.step.confidence.value, right.value
        );
        wrong.push(at.refuse(Reason::Confidence, "/confidence", message));
    }
}

/// Everything that a step uses was there before it.
fn uses(
    at: &At<'_>,
    brought: &BTreeSet<&Label>,
    done: &BTreeSet<&Label>,
    wrong: &mut Vec<Refusal>,
) {
    let At { trace, step, .. } = at;
    let evidence = step.evidence.iter().map(|label| ("evidence", label));
    let premises = step.premises.iter().map(|label| ("premises", label));
    for (number, (member, label)) in evidence.enumerate().chain(premises.enumerate()) {
        let place = format!("{}/{member}/{number}", at.place);
        let (known, before) = match member {
            "evidence" => (trace.item(label).is_some(), brought.contains(label)),
            _ => (trace.step(label).is_some(), done.contains(label)),
        };
        if !known {
            wrong.push(super::unknown(trace, label, &place));
        } else if !before {
            let message = format!("`{}` uses `{label}`, which was found only after it", step.id);
            wrong.push(Refusal::new(Reason::TooEarly, place, message));
        }
    }
}

fn works(at: &At<'_>, operation: Operation, wrong: &mut Vec<Refusal>) {
    let At { trace, step, .. } = at;
    let kind = match operation {
        Operation::Compare(_) => StepKind::NumericalComparison,
        Operation::Combine(_) => StepKind::LogicalInference,
    };
    if step.kind != kind {
        let message = format!("`{}` is not the kind of step that its operation makes", step.id);
        wrong.push(at.refuse(Reason::Form, "/type", message));
    }
    let inputs = super::confidences(trace, &step.evidence, &step.premises);
    let right = match operation {
        Operation::Compare(operator) => {
            compares(at, operator, wrong);
            confidence::comparison(inputs, &trace.constants)
        }
        Operation::Combine(Combine::State) => {
            states(at, wrong);
            confidence::statement(inputs, &trace.constants)
        }
        Operation::Combine(combine) => {
            combines(at, combine, wrong);
            confidence::combination(inputs, &trace.constants)
        }
    };
    sure(at, &right, wrong);
}

fn compares(at: &At<'_>, operator: compare::Operator, wrong: &mut Vec<Refusal>) {
    let At { trace, zone, step, .. } = at;
    let [left, right] = step.operands.as_slice() else {
        let message = format!("`{}` compares two values; it has {}", step.id, step.operands.len());
        wrong.push(at.refuse(Reason::Form, "/operands", message));
        return;
    };
    if !step.premises.is_empty() || step.evidence != super::evidence_of(&step.operands) {
        let message =
            format!("`{}` does not name the evidence of its operands, and no other", step.id);
        wrong.push(at.refuse(Reason::NotRetrieved, "/evidence", message));
    }
    let mut values = Vec::new();
    for (number, operand) in [left, right].into_iter().enumerate() {
        let place = format!("{}/operands/{number}", at.place);
        match super::value_of(trace, operand, &place) {
            Ok(value) if value == operand.value => values.push(value),
            Ok(value) => wrong.push(differs(&operand.value, &value, &place)),
            Err(refusal) => wrong.push(refusal),
        }
    }
    let [left, right] = values.as_slice() else { return };
    match compare::compare(left, operator, right, zone) {
        Err(refused) => {
            wrong.push(at.refuse(Reason::Incomparable, "/operation", refused.to_string()))
        }
        Ok(compared) => {
            if step.result != Some(Value::of(compared.holds)) {
                let message = format!("`{}` does not follow: {}", step.id, compared.why);
                wrong.push(at.refuse(Reason::DoesNotFollow, "/result", message));
            } else if step.text != compared.why {
                let message =
                    format!("`{}` does not say what it compared: {}", step.id, compared.why);
                wrong.push(at.refuse(Reason::DoesNotFollow, "/text", message));
            }
        }
    }
}

/// A model's statement has premises, and no result that could be taken for a computed one.
fn states(at: &At<'_>, wrong: &mut Vec<Refusal>) {
    let step = at.step;
    if step.evidence.is_empty() && step.premises.is_empty() {
        let message = format!("`{}` concludes from nothing", step.id);
        wrong.push(at.refuse(Reason::Unsupported, "/premises", message));
    }
    if step.result.is_some() || !step.operands.is_empty() {
        let message = format!("`{}` is a statement, of which nothing was computed", step.id);
        wrong.push(at.refuse(Reason::Form, "/result", message));
    }
}

fn combines(at: &At<'_>, combine: Combine, wrong: &mut Vec<Refusal>) {
    let At { trace, step, .. } = at;
    let right = combined(trace, combine, &step.premises);
    if right.is_none() || step.result != right.map(Value::of) || !step.operands.is_empty() {
        let message = format!("`{}` does not follow from its premises", step.id);
        wrong.push(at.refuse(Reason::DoesNotFollow, "/result", message));
    }
    for (number, label) in step.premises.iter().enumerate() {
        let premise = trace.step(label);
        let compares = |one: &Step| matches!(one.operation, Some(Operation::Compare(_)));
        let is_twice = step.premises.iter().take(number).any(|one| one == label);
        if premise.is_some_and(|one| !compares(one)) || is_twice {
            let message =
                format!("`{label}` is no comparison of the rule's, or stands there twice");
            wrong.push(at.refuse(Reason::DoesNotFollow, &format!("/premises/{number}"), message));
        }
    }
    let is_rule = |label: &&Label| {
        trace.item(label).is_some_and(|item| matches!(item.source, Source::Rule { .. }))
    };
    let Some(item) = step.evidence.iter().find(is_rule).and_then(|label| trace.item(label)) else {
        let message =
            format!("`{}` combines comparisons, which only a rule does; it names none", step.id);
        wrong.push(at.refuse(Reason::Unsupported, "/evidence", message));
        return;
    };
    if step.evidence != [item.id.clone()] {
        let message = format!("`{}` is a conclusion of one rule, and names more than it", step.id);
        wrong.push(at.refuse(Reason::NotRetrieved, "/evidence", message));
    }
    super::rule::applies(at.zone, trace, (item, step), (combine, &at.place), wrong);
}

/// What premises give together; `None` where one of them has no result.
pub(in crate::evidence) fn combined(
    trace: &Trace,
    combine: Combine,
    premises: &[Label],
) -> Option<bool> {
    let results: Option<Vec<bool>> = premises
        .iter()
        .map(|label| match trace.step(label)?.result {
            Some(Value::Bool { holds }) => Some(holds),
            _ => None,
        })
        .collect();
    let results = results.filter(|results| !results.is_empty())?;
    match combine {
        Combine::All => Some(results.into_iter().all(|holds| holds)),
        Combine::Any => Some(results.into_iter().any(|holds| holds)),
        Combine::State => None,
    }
}
