//! Whether evidence can be what it says it is.

use crate::evidence::builder::AS_OF;
use crate::evidence::read;
use crate::evidence::refusal::{Reason, Refusal};
use crate::evidence::rule::{COUNT, plain_text};
use crate::evidence::trace::{Item, Label, Source, StepKind, Trace};

/// The kind of the step that brings evidence of this source.
pub(in crate::evidence) const fn kind_of(source: &Source) -> StepKind {
    match source {
        Source::Tool { .. } | Source::Message { .. } => StepKind::ToolResult,
        _ => StepKind::FactRetrieval,
    }
}

pub(super) fn check(
    trace: &Trace,
    (at, item): (usize, &Item),
    place: &str,
    wrong: &mut Vec<Refusal>,
) {
    let mut refuse = |reason, place: String, message: String| {
        wrong.push(Refusal::new(reason, place, message));
    };
    if item.trust > 100 || !(0.0..=1.0).contains(&item.score) {
        let message = format!("`{}` has a trust above 100 or a score outside of 0 to 1", item.id);
        refuse(Reason::Form, place.to_owned(), message);
    }
    if matches!(item.source, Source::Tool { .. }) && item.score < 1.0 {
        let message = format!("`{}` is the reply of a tool, which has no score", item.id);
        refuse(Reason::Form, format!("{place}/score"), message);
    }
    let is_question = matches!(item.source, Source::Question {});
    if is_question != (item.id == Label::question()) || is_question != (at == 0) {
        let message = "the question is the first evidence, with the label `Q`, and no other is it";
        refuse(Reason::Form, format!("{place}/id"), message.to_owned());
    }
    match &item.source {
        Source::Question {} => {
            let as_of = item.fact(AS_OF).map(|fact| fact.value.as_str());
            let same = item.text == trace.question
                && as_of == Some(&read::spell(trace.as_of))
                && item.facts.len() == 1;
            if !same {
                let message =
                    "`Q` is not what was asked, or not for the time that it was asked for";
                refuse(Reason::NotInEvidence, place.to_owned(), message.to_owned());
            }
        }
        Source::Earlier { run } if trace.earlier_question(run) != Some(&item.text) => {
            let message = format!("no summary of an earlier turn has this question of run {run}");
            refuse(Reason::NotRetrieved, format!("{place}/source"), message);
        }
        Source::Recall { evidence, collections } => {
            recall(trace, (at, item), (evidence, collections), wrong);
        }
        Source::Memory { evidence, .. } if evidence.is_empty() => {
            let message = format!("`{}` names no evidence of the memory", item.id);
            refuse(Reason::Form, format!("{place}/source"), message);
        }
        Source::Tool { call_id, digest, .. } if call_id.is_empty() || digest.is_empty() => {
            let message = format!("`{}` names no call of the ledger, or not its digest", item.id);
            refuse(Reason::Form, format!("{place}/source"), message);
        }
        Source::Tool { .. } => replied(item, place, wrong),
        Source::Rule { id, digest } if id.is_empty() || digest.is_empty() => {
            let message = format!("`{}` names no rule, or not its digest", item.id);
            refuse(Reason::Form, format!("{place}/source"), message);
        }
        Source::Rule { .. } => declared(item, place, wrong),
        _ => {}
    }
}

/// What the reply of a tool states stands in it, where each fact says.
fn replied(item: &Item, place: &str, wrong: &mut Vec<Refusal>) {
    let data: Option<serde_json::Value> = serde_json::from_str(&item.text).ok();
    for (number, fact) in item.facts.iter().enumerate() {
        let found = data.as_ref().and_then(|data| data.pointer(&fact.pointer));
        if found.and_then(plain_text).as_ref() != Some(&fact.value) {
            let message = format!(
                "the reply of `{}` does not have `{}` at `{}`",
                item.id,
                read::shown(&fact.value),
                fact.pointer
            );
            let place = format!("{place}/facts/{number}");
            wrong.push(Refusal::new(Reason::NotInEvidence, place, message));
        }
    }
}

/// The words of a rule end with what it compares and decides.
fn declared(item: &Item, place: &str, wrong: &mut Vec<Refusal>) {
    let of = |name: &str| item.fact(name).map_or("", |fact| fact.value.as_str());
    let (decide, then, otherwise) = (of("decide"), of("then"), of("else"));
    if !item.text.ends_with(&format!(" {decide}; then {then}, else {otherwise}")) {
        let message = format!("the words of `{}` are not what the rule compares", item.id);
        wrong.push(Refusal::new(Reason::NotInEvidence, format!("{place}/text"), message));
    }
}

/// A recall counts what it brought, and all of that is there.
fn recall(
    trace: &Trace,
    (at, item): (usize, &Item),
    (ids, collections): (&[String], &[String]),
    wrong: &mut Vec<Refusal>,
) {
    let told = item.fact(COUNT).map(|fact| fact.value.as_str());
    if told != Some(&ids.len().to_string()) {
        let message = format!(
            "`{}` brought {} units, which is not the count that it tells",
            item.id,
            ids.len()
        );
        wrong.push(Refusal::new(Reason::DoesNotFollow, format!("/evidence/{at}/facts"), message));
    }
    for (beside, id) in ids.iter().enumerate() {
        let is_it = |one: &Item| match &one.source {
            Source::Memory { evidence, collection } => {
                let asked = collections.is_empty() || collections.contains(collection);
                evidence == id && asked && one.holds_at(trace.as_of)
            }
            _ => false,
        };
        let is_here = trace.evidence.iter().take(at).any(is_it);
        if !is_here || ids.iter().take(beside).any(|one| one == id) {
            let place = format!("/evidence/{at}/source/evidence/{beside}");
            let message = format!(
                "`{id}` was not retrieved from there before it was counted, does not hold, or is counted twice"
            );
            wrong.push(Refusal::new(Reason::NotRetrieved, place, message));
        }
    }
}
