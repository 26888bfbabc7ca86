//! Whether an answer is supported: what it cites is there, and its decision is what its step gave.

use std::collections::BTreeSet;

use jiff::tz::TimeZone;

use crate::evidence::compare::{self, Operator};
use crate::evidence::confidence;
use crate::evidence::draft;
use crate::evidence::id;
use crate::evidence::read::{self, Expect};
use crate::evidence::refusal::{Reason, Refusal};
use crate::evidence::scan;
use crate::evidence::trace::{
    Answer, Combine, Confidence, Decision, Item, Label, Operation, Source, Step, Trace,
};
use crate::evidence::value::Value;

/// Whole numbers up to this one count things rather than state them.
const SMALL: u32 = 10;
/// Longest text of evidence in which numbers are looked for, in bytes.
const TEXT: usize = 64 * 1024;

/// Adds what is wrong with an answer; places begin with `place`.
pub(in crate::evidence) fn check(
    trace: &Trace,
    answer: &Answer,
    place: &str,
    wrong: &mut Vec<Refusal>,
) {
    let zone = TimeZone::get(&trace.time_zone).unwrap_or(TimeZone::UTC);
    cited(trace, answer, place, wrong);
    if let Some(decision) = &answer.decision {
        decided(trace, (answer, decision), &format!("{place}/decision"), wrong);
    }
    if let Some(refusal) = passed_by(trace, answer, place) {
        wrong.push(refusal);
    }
    let last = trace.steps.last().map_or(trace.asked_at, |step| step.at);
    if answer.at < last {
        let message = "the answer is earlier than the last step";
        wrong.push(Refusal::new(Reason::Order, format!("{place}/at"), message));
    }
    let numbers = unsupported(trace, answer, &zone);
    if numbers != answer.unsupported {
        let message = format!(
            "numbers of the answer that nothing it cites has are [{}], not [{}]",
            numbers.join(", "),
            answer.unsupported.join(", ")
        );
        wrong.push(Refusal::new(Reason::NotInEvidence, format!("{place}/unsupported"), message));
    }
    let right = confidence_of(trace, answer);
    if !confidence::agrees(&answer.confidence, &right) {
        let message = format!(
            "the answer tells a confidence of {}, but what it cites gives {}",
            answer.confidence.value, right.value
        );
        wrong.push(Refusal::new(Reason::Confidence, format!("{place}/confidence"), message));
    }
}

fn cited(trace: &Trace, answer: &Answer, place: &str, wrong: &mut Vec<Refusal>) {
    for (at, label) in answer.evidence.iter().enumerate() {
        let place = format!("{place}/evidence/{at}");
        if trace.item(label).is_none() && trace.step(label).is_none() {
            wrong.push(super::unknown(trace, label, &place));
        } else if answer.evidence.iter().take(at).any(|one| one == label) {
            let message = format!("`{label}` is cited twice");
            wrong.push(Refusal::new(Reason::Duplicate, place, message));
        }
    }
    for label in draft::marks(&answer.text) {
        if !answer.evidence.contains(&label) {
            let message = format!("the words cite `{label}`, which the answer does not list");
            wrong.push(Refusal::new(Reason::NotRetrieved, format!("{place}/text"), message));
        }
    }
    let rests = answer.evidence.iter().any(|label| supports(trace, label));
    match (answer.free, rests) {
        (true, _) if !answer.evidence.is_empty() || answer.decision.is_some() => {
            let message = "an answer without evidence cites none and decides nothing";
            wrong.push(Refusal::new(Reason::Form, format!("{place}/free"), message));
        }
        (false, false) if answer.missing.is_empty() => {
            let message = "the answer rests on nothing: cite the evidence that supports it, such as [E1], or say in `missing` what could not be found";
            wrong.push(Refusal::new(Reason::Unsupported, format!("{place}/evidence"), message));
        }
        _ => {}
    }
    if answer.text.trim().is_empty() {
        let message = "the answer has no words";
        wrong.push(Refusal::new(Reason::Form, format!("{place}/text"), message));
    }
}

/// Whether something was found or worked out that a label leads to: what was asked, now or before, supports
/// no answer, nor does a step that only brings it or states something from it.
fn supports(trace: &Trace, label: &Label) -> bool {
    let (mut open, mut seen) = (vec![label], BTreeSet::new());
    while let Some(label) = open.pop() {
        if !seen.insert(label) {
            continue;
        }
        if let Some(item) = trace.item(label) {
            if !matches!(item.source, Source::Question {} | Source::Earlier { .. }) {
                return true;
            }
        } else if let Some(step) = trace.step(label) {
            if !matches!(step.operation, None | Some(Operation::Combine(Combine::State))) {
                return true;
            }
            open.extend(step.evidence.iter().chain(&step.premises));
        }
    }
    false
}

/// The labels of a trace that an answer can rest on.
pub(crate) fn citable(trace: &Trace) -> Vec<&Label> {
    let items = trace.evidence.iter().map(|item| &item.id);
    let worked = |step: &&Step| step.operation.is_some();
    let steps = trace.steps.iter().filter(worked).map(|step| &step.id);
    items.chain(steps).filter(|label| supports(trace, label)).collect()
}

fn decided(
    trace: &Trace,
    (answer, decision): (&Answer, &Decision),
    place: &str,
    wrong: &mut Vec<Refusal>,
) {
    let mut refuse = |reason, member: &str, message: String| {
        wrong.push(Refusal::new(reason, format!("{place}{member}"), message));
    };
    let Some(step) = trace.step(&decision.step) else {
        wrong.push(super::unknown(trace, &decision.step, &format!("{place}/step")));
        return;
    };
    if !answer.evidence.contains(&step.id) {
        let message = format!("the answer decides by `{}`, but does not cite it", step.id);
        refuse(Reason::Unsupported, "/step", message);
    }
    let holds = match (&step.operation, &step.result) {
        (Some(_), Some(Value::Bool { holds })) => Some(*holds),
        (Some(Operation::Combine(Combine::State)), None) => Some(true),
        _ => None,
    };
    match holds {
        None => {
            let message = format!(
                "`{}` decides nothing: name a comparison or a conclusion, and make one first where there is none",
                step.id
            );
            refuse(Reason::Unsupported, "/step", message);
        }
        Some(holds) if holds != decision.holds => {
            let does = if holds { "holds" } else { "does not hold" };
            let message =
                format!("`{}` {does}, and the decision says otherwise: {}", step.id, step.text);
            refuse(Reason::DoesNotFollow, "/holds", message);
        }
        Some(holds) => {
            if let Err(message) = ruled(trace, (decision, step), holds) {
                refuse(Reason::DoesNotFollow, "/value", message);
            }
        }
    }
    if decision.value.trim().is_empty() {
        refuse(Reason::Form, "/value", "the decision has no word".to_owned());
    }
}

/// That a rule concluded something, and the answer does not decide by it.
fn passed_by(trace: &Trace, answer: &Answer, place: &str) -> Option<Refusal> {
    let mut concluded = trace.steps.iter().filter(|step| is_rules(step)).peekable();
    let last = concluded.peek()?.id.clone();
    let decision = answer.decision.as_ref();
    if decision.is_some_and(|decision| concluded.any(|step| step.id == decision.step)) {
        return None;
    }
    let message = format!("a rule decided in `{last}`, which the answer passes by: decide by it");
    Some(Refusal::new(Reason::DoesNotFollow, format!("{place}/decision"), message))
}

/// Whether a step is what a rule concludes; what a model states is not, whatever it names.
pub(in crate::evidence) const fn is_rules(step: &Step) -> bool {
    matches!(step.operation, Some(Operation::Combine(Combine::All | Combine::Any)))
}

/// Where a rule decided, its own word for it counts.
fn ruled(trace: &Trace, (decision, step): (&Decision, &Step), holds: bool) -> Result<(), String> {
    let rules = step.evidence.iter().filter_map(|label| trace.item(label));
    let rule = rules.into_iter().find_map(|item| match &item.source {
        Source::Rule { id, .. } => Some((item, id)),
        _ => None,
    });
    let rule = rule.filter(|_| is_rules(step));
    let told = decision.rule.as_ref();
    let Some((item, id)) = rule else {
        return match told {
            Some(told) => Err(format!("`{}` is not a conclusion of the rule `{told}`", step.id)),
            None => Ok(()),
        };
    };
    if told != Some(id) {
        return Err(format!(
            "`{}` is a conclusion of the rule `{id}`, which the decision does not name",
            step.id
        ));
    }
    let word = if holds { "then" } else { "else" };
    let right = item.fact(word).map_or("", |fact| fact.value.as_str());
    if right == decision.value {
        return Ok(());
    }
    Err(format!("the rule `{id}` decides `{right}` here, not `{}`", decision.value))
}

/// How sure an answer is.
pub(in crate::evidence) fn confidence_of(trace: &Trace, answer: &Answer) -> Confidence {
    let inputs = super::confidences(trace, &answer.evidence, &[]);
    confidence::answer(inputs, (answer.unsupported.is_empty(), &trace.constants))
}

/// The numbers, dates and ids of an answer that stand in nothing that it cites, nor in the question.
pub(in crate::evidence) fn unsupported(
    trace: &Trace,
    answer: &Answer,
    zone: &TimeZone,
) -> Vec<String> {
    if answer.free {
        return Vec::new();
    }
    let text = read::normal(&draft::unmarked(&answer.text));
    let spots = scan::scan(&text, &Expect::default(), zone);
    let wanted: Vec<(&str, Result<Value, ()>)> = spots
        .iter()
        .filter_map(|spot| {
            Some((text.get(spot.start..spot.end)?, spot.found.clone().map_err(|_unread| ())))
        })
        .filter(|(_, found)| !found.as_ref().is_ok_and(is_small))
        .collect();
    let is_value = |start: usize, id: &str| {
        spots.iter().any(|spot| start < spot.end && spot.start < start + id.len())
    };
    let ids = id::ids(&text).filter(|(start, id)| !is_value(*start, id)).map(|(_, id)| id);
    let ids: Vec<&str> = ids.collect();
    if wanted.is_empty() && ids.is_empty() {
        return Vec::new();
    }
    let (known, texts) = stated(trace, answer, zone);
    let days = known.iter().filter_map(|value| match value {
        Value::Date { date } => Some(*date),
        Value::Instant { instant } => Some(instant.to_zoned_datetime(zone.clone()).date()),
        _ => None,
    });
    let parts: BTreeSet<String> = days.flat_map(read::parts).collect();
    // `in June 2022` says less than a day that is known.
    let is_part = |spelled: &str| {
        let plain = |c: &char| !c.is_whitespace() && !matches!(c, '.' | ',');
        parts.contains(&spelled.to_lowercase().chars().filter(plain).collect::<String>())
    };
    let is_known = |spelled: &str, found: &Result<Value, ()>| match found {
        Ok(value) => {
            known.iter().any(|one| is_told(value, one, zone))
                || (matches!(value, Value::Number { .. }) && is_part(spelled))
        }
        // Of what has no unit that is known, the number has to stand there.
        Err(()) => {
            let number = read::plain(spelled).filter(|number| known.contains(number));
            number.is_some() || texts.iter().any(|text| text.contains(spelled)) || is_part(spelled)
        }
    };
    let mut missing: Vec<String> = Vec::new();
    for (spelled, found) in wanted {
        if !is_known(spelled, &found) && !missing.iter().any(|one| one == spelled) {
            missing.push(spelled.to_owned());
        }
    }
    let plain: Vec<String> = texts.iter().map(|text| id::joined(text)).collect();
    for id in ids {
        let is_there = plain.iter().any(|text| id::stands_in(text, id));
        if !is_there && !missing.iter().any(|one| one == id) {
            missing.push(id.to_owned());
        }
    }
    missing
}

fn is_small(value: &Value) -> bool {
    let number = match value {
        Value::Number { number } => number,
        Value::Quantity { number, unit }
            if matches!(unit.as_str(), "pcs" | "cases" | "persons" | "times") =>
        {
            number
        }
        _ => return false,
    };
    number.fract().is_zero() && *number <= SMALL.into() && !number.is_sign_negative()
}

/// The values and texts of what an answer cites, and of what its steps stand on.
fn stated(trace: &Trace, answer: &Answer, zone: &TimeZone) -> (Vec<Value>, Vec<String>) {
    let mut labels: Vec<&Label> = vec![];
    let mut values = vec![Value::Date { date: trace.as_of.to_zoned_datetime(zone.clone()).date() }];
    let mut steps: Vec<&Label> = answer.evidence.iter().collect();
    let mut at = 0;
    while let Some(label) = steps.get(at).copied() {
        at += 1;
        let Some(step) = trace.step(label) else {
            labels.push(label);
            continue;
        };
        labels.extend(&step.evidence);
        let new: Vec<&Label> = step.premises.iter().filter(|one| !steps.contains(one)).collect();
        steps.extend(new);
        values.extend(step.operands.iter().map(|operand| operand.value.clone()));
    }
    let items: Vec<&Item> = trace
        .evidence
        .iter()
        .filter(|item| {
            labels.contains(&&item.id)
                || matches!(item.source, Source::Question {} | Source::Earlier { .. })
        })
        .collect();
    let mut texts = Vec::new();
    for item in items {
        let ends = [item.valid_from, item.valid_to].into_iter().flatten();
        values.extend(ends.map(|instant| Value::Instant { instant }));
        let text =
            read::normal(item.text.get(..item.text.floor_char_boundary(TEXT)).unwrap_or_default());
        let machine = matches!(item.source, Source::Tool { .. } | Source::Rule { .. });
        let expect = Expect { machine, ..Expect::default() };
        for spot in scan::scan(&text, &expect, zone) {
            let spelled = text.get(spot.start..spot.end).unwrap_or_default();
            values.extend(spot.found.ok().or_else(|| read::plain(spelled)));
        }
        for fact in &item.facts {
            let expect = Expect { kind: None, unit: &fact.unit, machine: true };
            values.extend(read::read(&fact.value, &expect, zone));
            texts.push(read::normal(&fact.value));
        }
        texts.push(text);
    }
    (values, texts)
}

/// Whether an answer may tell the one for the other: `133 days` for 133.33.
fn is_told(value: &Value, known: &Value, zone: &TimeZone) -> bool {
    let rounded = || known.rounded(value.number()?.scale());
    is_same(value, known, zone) || rounded().is_some_and(|known| is_same(value, &known, zone))
}

/// Whether two values are the same, or the same number, of which one has no unit.
fn is_same(one: &Value, two: &Value, zone: &TimeZone) -> bool {
    if compare::compare(one, Operator::Equal, two, zone).is_ok_and(|compared| compared.holds) {
        return true;
    }
    let bare = |value: &Value| matches!(value, Value::Number { .. });
    (bare(one) || bare(two)) && one.number().is_some() && one.number() == two.number()
}
