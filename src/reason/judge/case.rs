//! Messages in, the cases among them out: which contradict each other, and what each rests on.

use jiff::tz::TimeZone;

use super::{Case, Exhibit, Law, Pack};
use crate::evidence::{Fact, Item};
use crate::reason::agent::Agent;
use crate::reason::message::{Grounds, Message, agree, same_scope};

/// Most facts of one piece of evidence that a judge is shown, and most pieces of one pack.
const FACTS: usize = 12;
const EXHIBITS: usize = 12;
/// Most characters of a fact that a judge is shown.
const FACT: usize = 120;

/// What cases are made of.
#[derive(Debug, Clone, Copy)]
pub(in crate::reason) struct Bench<'b> {
    /// The orchestrator, which declares claims, tolerances and rules.
    pub(in crate::reason) lead: &'b Agent,
    /// The evidence of the run.
    pub(in crate::reason) grounds: &'b Grounds,
    /// The rules that are declared.
    pub(in crate::reason) rules: &'b [Law],
    /// Where days begin.
    pub(in crate::reason) zone: &'b TimeZone,
}

/// Every group of messages of one claim and scope in which two do not agree.
pub(in crate::reason) fn contradictions(messages: &[&Message], bench: Bench<'_>) -> Vec<Case> {
    let mut groups: Vec<Vec<&Message>> = Vec::new();
    for message in messages {
        let group = groups.iter_mut().find(|group| {
            group.first().is_some_and(|first| {
                first.claim == message.claim && same_scope(&first.scope, &message.scope)
            })
        });
        match group {
            Some(group) => group.push(message),
            None => groups.push(vec![message]),
        }
    }
    groups.iter().filter_map(|group| between(group, bench)).collect()
}

/// The case of a message whose confidence is low.
pub(in crate::reason) fn review(message: &Message, bench: Bench<'_>) -> Case {
    let why = format!(
        "its confidence is {:.2}, and below {:.2} it is not used without a review",
        message.confidence,
        bench.lead.review_below()
    );
    Case { is_review: true, ..made(&[message], why, bench) }
}

/// The case between messages of one claim and scope, where two of them do not agree.
fn between(group: &[&Message], bench: Bench<'_>) -> Option<Case> {
    let claim = bench.lead.claims.get(&group.first()?.claim);
    let mut why = Vec::new();
    for (at, one) in group.iter().enumerate() {
        for two in group.iter().skip(at + 1) {
            match agree(claim, (one, two), bench.zone) {
                Ok(true) => {}
                Ok(false) => {
                    let tolerance = claim.map(|claim| claim.tolerance.as_str()).unwrap_or_default();
                    let tolerance = if tolerance.is_empty() { "0" } else { tolerance };
                    why.push(format!(
                        "{} of {} and {} of {} differ by more than the tolerance of {tolerance}",
                        one.value, one.id, two.value, two.id
                    ));
                }
                Err(refused) => why.push(format!(
                    "{} of {} and {} of {} cannot be compared: {refused}",
                    one.value, one.id, two.value, two.id
                )),
            }
        }
    }
    (!why.is_empty()).then(|| made(group, why.join("; "), bench))
}

fn made(group: &[&Message], why: String, bench: Bench<'_>) -> Case {
    let (claim, scope) =
        group.first().map(|first| (first.claim.clone(), first.scope.clone())).unwrap_or_default();
    let named = bench.lead.claims.get(&claim).map(|claim| claim.rules.as_slice());
    let applies = |law: &&Law| named.is_some_and(|named| named.contains(&law.id));
    let words: Vec<String> = scope.iter().map(|(key, value)| format!("{key} {value}")).collect();
    let id =
        if words.is_empty() { claim.clone() } else { format!("{claim} ({})", words.join(", ")) };
    let packs: Vec<Pack> =
        group.iter().enumerate().map(|(at, message)| pack((at, message), group, bench)).collect();
    let rules = bench.rules.iter().filter(applies).cloned().collect();
    Case { id, is_review: false, claim, scope, why, packs, rules }
}

fn pack((at, message): (usize, &Message), group: &[&Message], bench: Bench<'_>) -> Pack {
    let name = |at: usize| format!("P{}", at + 1);
    let claim = bench.lead.claims.get(&message.claim);
    let agrees = |(other, two): (usize, &&Message)| {
        let same = other != at && agree(claim, (message, two), bench.zone) == Ok(true);
        same.then(|| name(other))
    };
    let mut evidence: Vec<Exhibit> = Vec::new();
    for label in &message.evidence {
        for item in bench.grounds.behind(label.as_str()).unwrap_or_default() {
            if !evidence.iter().any(|known| known.label == item.id) {
                evidence.push(exhibit(item, message));
            }
        }
    }
    evidence.truncate(EXHIBITS);
    Pack {
        id: name(at),
        message: message.id.clone(),
        agent: message.agent.clone(),
        value: message.value.clone(),
        evidence,
        trust: message.trust,
        coverage: message.coverage,
        confidence: message.confidence,
        agrees: group.iter().enumerate().filter_map(agrees).collect(),
    }
}

fn exhibit(item: &Item, message: &Message) -> Exhibit {
    let concerns = |fact: &&Fact| {
        let value = fact.value.to_lowercase();
        fact.name.eq_ignore_ascii_case(&message.claim)
            || message.scope.iter().any(|(name, wanted)| {
                fact.name.eq_ignore_ascii_case(name) || value == wanted.to_lowercase()
            })
    };
    // What has no name is a reply that is one text: prose, which is not for a judge.
    let named = item.facts.iter().filter(|fact| !fact.name.is_empty());
    let (first, rest): (Vec<&Fact>, Vec<&Fact>) = named.partition(concerns);
    let facts = first.into_iter().chain(rest).take(FACTS).map(|fact| Fact {
        name: short(&fact.name),
        value: short(&fact.value),
        unit: short(&fact.unit),
        pointer: short(&fact.pointer),
    });
    let told = |at: Option<jiff::Timestamp>| at.map_or_else(String::new, |at| at.to_string());
    Exhibit {
        label: item.id.clone(),
        source: item.source.clone(),
        facts: facts.collect(),
        trust: item.trust,
        valid_from: told(item.valid_from),
        valid_to: told(item.valid_to),
        untrusted: item.untrusted,
    }
}

fn short(text: &str) -> String {
    match text.char_indices().nth(FACT) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
