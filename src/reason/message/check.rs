//! The check of R9: a report as a model wrote it and the evidence of its task in; what travels on out,
//! or each reason why it does not, by which the model can mend it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::tz::TimeZone;
use serde_json::Value as Json;

use super::agree::{agree, fold, same_scope};
use super::report::{Report, Stated, read};
use super::typed::typed;
use super::{Grounds, MOST, Message, Reason, Refusal};
use crate::evidence::{Config, Expect, Item, Label, Source, Step, Value, read as read_value};
use crate::reason::agent::{Agent, hint};
use crate::reason::plan::Task;
use crate::reason::refusal::brief;
use crate::schema::Shape;

/// What a report is checked against.
#[derive(Debug, Clone, Copy)]
pub(in crate::reason) struct Office<'o> {
    /// The orchestrator, which declares the claims and the least confidence.
    pub(in crate::reason) lead: &'o Agent,
    /// The task.
    pub(in crate::reason) task: &'o Task,
    /// What it may cite.
    pub(in crate::reason) grounds: &'o Grounds,
    /// Messages that rulings upheld before the task began.
    pub(in crate::reason) upheld: &'o [&'o Message],
    /// The constants of confidences.
    pub(in crate::reason) constants: &'o Config,
    /// Where days begin.
    pub(in crate::reason) zone: &'o TimeZone,
}

/// A report that passed, but for what is less sure than messages have to be.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::reason) struct Checked {
    /// In words.
    pub(in crate::reason) text: String,
    /// What the inputs of other tasks are taken from.
    pub(in crate::reason) result: Json,
    /// What is stated.
    pub(in crate::reason) messages: Vec<Message>,
    /// The labels that the report and its messages cite.
    pub(in crate::reason) evidence: Vec<String>,
    /// The messages among them that need a review, by their number, with the refusal that holds
    /// without one.
    pub(in crate::reason) low: Vec<(usize, Refusal)>,
}

/// Checks a report.
pub(in crate::reason) fn check(text: &str, office: Office<'_>) -> Result<Checked, Vec<Refusal>> {
    let report = read(office.task, text)?;
    let mut wrong = Vec::new();
    if let Some(schema) = &office.task.output.schema {
        match Shape::compile(schema) {
            Ok(shape) => wrong.extend(shape.check(&report.result).into_iter().map(|flaw| {
                let place = format!("/result{}", flaw.pointer);
                Refusal::new(Reason::ResultMismatch, place, flaw.message)
            })),
            Err(why) => wrong.push(Refusal::new(Reason::ResultMismatch, "/result", why)),
        }
    }
    if report.stated.len() > MOST {
        let words = format!("has {} messages; at most {MOST}", report.stated.len());
        wrong.push(Refusal::new(Reason::TooMany, "/messages", words));
        return Err(wrong);
    }
    let (mut messages, mut low) = (Vec::new(), Vec::new());
    for stated in &report.stated {
        let number = messages.len();
        let mut own = Vec::new();
        let Some(message) = one(stated, number + 1, office, &mut own) else {
            wrong.extend(own);
            continue;
        };
        if message.confidence < office.lead.review_below() {
            low.push((number, unsure(&message, &stated.place, office)));
        }
        wrong.extend(own);
        messages.push(message);
    }
    missing(&report.stated, office, &mut wrong);
    let evidence = rests_on(&report, office, &mut wrong);
    itself(&messages, office, &mut wrong);
    if !wrong.is_empty() {
        return Err(wrong);
    }
    Ok(Checked { text: report.text, result: report.result, messages, evidence, low })
}

/// One message, where enough of it holds to make one.
fn one(
    stated: &Stated,
    number: usize,
    office: Office<'_>,
    wrong: &mut Vec<Refusal>,
) -> Option<Message> {
    let place = &stated.place;
    let is_known = claim(stated, office, wrong);
    let declared = office.lead.claims.get(&stated.claim);
    let scope = scope(stated, office, wrong);
    let cited = cited(stated, office, wrong);
    let unit = stated.unit.as_deref();
    let value = typed(declared, (&stated.value, unit), office.zone);
    let (form, value) = match value {
        Ok(found) => found,
        Err(why) => {
            wrong.push(Refusal::new(Reason::TypeMismatch, format!("{place}/value"), why));
            return None;
        }
    };
    let (labels, items) = cited?;
    if !is_known {
        return None;
    }
    let message = Message {
        id: format!("{}#{number}", office.task.id),
        task: office.task.id.clone(),
        agent: office.task.agent.clone(),
        claim: stated.claim.clone(),
        form,
        source: sources(&items),
        confidence: confidence(&value, (&labels, &items), office),
        trust: items.iter().map(|item| item.trust).min().unwrap_or_default(),
        coverage: coverage(&scope, &items),
        evidence: labels.iter().map(|label| Label::new(label)).collect(),
        scope,
        value,
        review: None,
    };
    for upheld in office.upheld {
        let is_same = upheld.claim == message.claim && same_scope(&upheld.scope, &message.scope);
        if is_same && agree(declared, (upheld, &message), office.zone) != Ok(true) {
            let words = format!(
                "it was settled before this task that {}; state that, or leave the claim out",
                upheld.told()
            );
            wrong.push(Refusal::new(Reason::AgainstRuling, format!("{place}/value"), words));
        }
    }
    Some(message)
}

fn claim(stated: &Stated, office: Office<'_>, wrong: &mut Vec<Refusal>) -> bool {
    let declared: Vec<&str> = office.lead.claims.keys().map(String::as_str).collect();
    let own: Vec<&str> = office.task.output.claims.iter().map(String::as_str).collect();
    let known = if own.is_empty() { declared } else { own };
    let is_known = known.is_empty() || known.contains(&stated.claim.as_str());
    if !is_known {
        let name = brief(&stated.claim);
        let words = format!("the task states no claim `{name}`{}", hint(&stated.claim, &known));
        let place = format!("{}/claim", stated.place);
        wrong.push(Refusal::new(Reason::UnknownClaim, place, words));
    }
    is_known
}

/// The whole scope: that of the task, and what the message says beside it.
fn scope(
    stated: &Stated,
    office: Office<'_>,
    wrong: &mut Vec<Refusal>,
) -> BTreeMap<String, String> {
    let place = format!("{}/scope", stated.place);
    let mut scope = office.task.output.scope.clone();
    for (name, value) in &stated.scope {
        match scope.get(name) {
            Some(own) if fold(own) != fold(value) => {
                let words = format!(
                    "`{name}` is `{}`, and the task is about `{}`; state only what it is about",
                    brief(value),
                    brief(own)
                );
                wrong.push(Refusal::new(Reason::OutOfScope, place.clone(), words));
            }
            Some(_) => {}
            None => drop(scope.insert(name.clone(), value.clone())),
        }
    }
    let needed = office.lead.claims.get(&stated.claim).map(|claim| claim.scope.as_slice());
    for name in needed.unwrap_or_default() {
        if !scope.contains_key(name) {
            let words = format!("says not for which `{name}` `{}` holds; add it", stated.claim);
            wrong.push(Refusal::new(Reason::MissingScope, place.clone(), words));
        }
    }
    scope
}

/// The labels that are cited, each once, and the evidence behind them.
fn cited<'o>(
    stated: &Stated,
    office: Office<'o>,
    wrong: &mut Vec<Refusal>,
) -> Option<(Vec<String>, Vec<&'o Item>)> {
    let place = format!("{}/evidence", stated.place);
    let (mut labels, mut items, mut is_whole): (Vec<String>, Vec<&Item>, bool) =
        (Vec::new(), Vec::new(), true);
    for label in &stated.evidence {
        match office.grounds.behind(label) {
            Some(behind) => {
                for item in behind {
                    if !items.iter().any(|known| known.id == item.id) {
                        items.push(item);
                    }
                }
                if !labels.contains(label) {
                    labels.push(label.clone());
                }
            }
            None => {
                wrong.push(unknown(label, place.clone(), office));
                is_whole = false;
            }
        }
    }
    if is_whole && sources(&items).is_empty() {
        let words = "names no source of its data: cite the evidence that the value stands in, by its \
                     label, or leave the message out";
        wrong.push(Refusal::new(Reason::MissingSource, place, words));
        is_whole = false;
    }
    is_whole.then_some((labels, items))
}

/// Where the data comes from. The question itself is no source.
fn sources(items: &[&Item]) -> Vec<Source> {
    let mut found: Vec<Source> = Vec::new();
    for item in items {
        let is_data = !matches!(
            item.source,
            Source::Question {} | Source::Earlier { .. } | Source::Recall { .. }
        );
        if is_data && !found.contains(&item.source) {
            found.push(item.source.clone());
        }
    }
    found
}

/// The least of what is cited, times the constant of inference for a value that does not stand there.
fn confidence(value: &Value, (labels, items): (&[String], &[&Item]), office: Office<'_>) -> f64 {
    let least = labels
        .iter()
        .filter_map(|label| office.grounds.confidence(label))
        .min_by(f64::total_cmp)
        .unwrap_or_default();
    let in_step = |step: &Step| {
        step.result.as_ref() == Some(value) || step.operands.iter().any(|one| one.value == *value)
    };
    let stands = items.iter().any(|item| states(item, value, office.zone))
        || labels.iter().filter_map(|label| office.grounds.step(label)).any(in_step);
    if stands { least } else { least * office.constants.inference }
}

/// Whether evidence states a value among its facts.
fn states(item: &Item, value: &Value, zone: &TimeZone) -> bool {
    item.facts.iter().any(|fact| {
        let expect = Expect { kind: None, unit: &fact.unit, machine: true };
        let found = read_value(&fact.value, &expect, zone);
        found.is_ok_and(|found| found == *value)
            || matches!(value, Value::Text { text } if fold(text) == fold(&fact.value))
    })
}

/// Share of a scope that the evidence speaks of: its values stand in a fact or in the text.
fn coverage(scope: &BTreeMap<String, String>, items: &[&Item]) -> f64 {
    if scope.is_empty() {
        return 1.0;
    }
    let speaks = |wanted: &str| {
        items.iter().any(|item| {
            item.facts.iter().any(|fact| fold(&fact.value) == wanted) || has(&item.text, wanted)
        })
    };
    let found = scope.values().filter(|value| speaks(&fold(value))).count();
    let share = |count: usize| u32::try_from(count).map_or(f64::MAX, f64::from);
    share(found) / share(scope.len())
}

/// Whether a text has a word or some, whole.
fn has(text: &str, wanted: &str) -> bool {
    let text = text.to_lowercase();
    text.match_indices(wanted).any(|(at, found)| {
        let before = text.get(..at).and_then(|rest| rest.chars().next_back());
        let after = text.get(at + found.len()..).and_then(|rest| rest.chars().next());
        let joins = |side: Option<char>| side.is_some_and(|c| c.is_ascii_alphanumeric());
        !joins(before) && !joins(after)
    })
}

fn unsure(message: &Message, place: &str, office: Office<'_>) -> Refusal {
    let words = format!(
        "its confidence is {:.2}, and below {:.2} a message needs a review: cite better evidence, with \
         the value as it stands there, or leave it out",
        message.confidence,
        office.lead.review_below()
    );
    Refusal::new(Reason::LowConfidence, place, words)
}

/// The labels that a report and its messages cite, each once. One that is more than words rests on some.
fn rests_on(report: &Report, office: Office<'_>, wrong: &mut Vec<Refusal>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (at, label) in report.evidence.iter().enumerate() {
        if office.grounds.behind(label).is_none() {
            wrong.push(unknown(label, format!("/evidence/{at}"), office));
        }
    }
    let stated = report.stated.iter().flat_map(|one| &one.evidence);
    for label in report.evidence.iter().chain(stated) {
        if !found.contains(label) {
            found.push(label.clone());
        }
    }
    if found.is_empty() && !report.is_plain {
        let words = "names no source of its data: cite the evidence that it rests on, by its label";
        wrong.push(Refusal::new(Reason::MissingSource, "/evidence", words));
    }
    found
}

fn unknown(label: &str, place: String, office: Office<'_>) -> Refusal {
    let known: Vec<&str> = office.grounds.items.iter().map(|item| item.id.as_str()).collect();
    let words = format!(
        "the task found no evidence `{}` and was given none{}",
        brief(label),
        hint(label, &known)
    );
    Refusal::new(Reason::UnknownEvidence, place, words)
}

/// The claims of the task that nothing states.
fn missing(stated: &[Stated], office: Office<'_>, wrong: &mut Vec<Refusal>) {
    let found: BTreeSet<&str> = stated.iter().map(|one| one.claim.as_str()).collect();
    for claim in &office.task.output.claims {
        if !found.contains(claim.as_str()) {
            let words = format!("does not state `{}`, which the task asks for", brief(claim));
            wrong.push(Refusal::new(Reason::MissingClaim, "/messages", words));
        }
    }
}

/// Claims that are stated twice, in two ways.
fn itself(messages: &[Message], office: Office<'_>, wrong: &mut Vec<Refusal>) {
    for (at, one) in messages.iter().enumerate() {
        let earlier = messages
            .iter()
            .take(at)
            .find(|other| other.claim == one.claim && same_scope(&other.scope, &one.scope));
        let Some(earlier) = earlier else { continue };
        let declared = office.lead.claims.get(&one.claim);
        if agree(declared, (earlier, one), office.zone) != Ok(true) {
            let words = format!("says that {}, and before that {}", one.told(), earlier.told());
            let place = format!("/messages/{at}");
            wrong.push(Refusal::new(Reason::ContradictsItself, place, words));
        }
    }
}
