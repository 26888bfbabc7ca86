//! Questions that change one value of an earlier one ("and if it were 8,000?"): the question and the
//! summaries of earlier turns in, what is to be decided again out. The earlier answer plays no part.

mod again;
mod only;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::check::evidence_of;
use super::read::{self, Expect, Type, Unread};
use super::rule::{self, Loaded, Origin, Rules};
use super::scan::{self, Spot};
use super::trace::{FOLLOW_UPS, Item, Operand, Operation, Source, Step, Summary, Trace};
use super::value::Value;

pub use again::Again;

/// Longest question that can be one, in characters: a longer one says all of it itself.
const LONG: usize = 120;

/// What is to be decided again.
#[derive(Debug, Clone)]
pub enum FollowUp {
    /// The rule decides: begin a plan for it with the values that are given.
    Rule {
        /// The rule, in the version for the date.
        rule: Arc<Loaded>,
        /// The instant that it is asked for: the earlier one, unless the new question names another.
        as_of: Timestamp,
        /// The facts of the question, by name: the changed one from the new question, the others from the
        /// earlier one.
        given: BTreeMap<String, Given>,
    },
    /// No rule decided: the comparison is made again, by [`Again::compare`].
    Comparison(Box<Again>),
}

/// A value that a question gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// As it is spelled.
    pub spelled: String,
    /// The unit that it takes from the value that it changes, where it has none; empty without.
    pub unit: String,
    /// The earlier run whose question spells it; `None` for the new question.
    pub run: Option<String>,
}

/// Why a question cannot be taken as a follow-up, though it reads like one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfollowed {
    /// A value can stand for several of the earlier ones, or several for one.
    #[error("`{value}` can stand for {names}: change one value, and write its unit")]
    Several {
        /// The value.
        value: String,
        /// What it can stand for.
        names: String,
    },
    /// The value cannot be read.
    #[error(transparent)]
    Unread(#[from] Unread),
    /// It says more than what changes.
    #[error(
        "it reads like one that changes a value of an earlier question, but says more, `{words}`: ask the whole question, or change the value only"
    )]
    More {
        /// What it says beside.
        words: String,
    },
    /// It is asked for another date than it names.
    #[error("it names {named}, and is asked for {asked}: name one date")]
    Dates {
        /// The date in its words.
        named: Timestamp,
        /// The date that it is asked for.
        asked: Timestamp,
    },
    /// The rule is gone, or not in force.
    #[error("rule `{rule}`, which decided before, is not in force at {at}: ask the whole question")]
    Gone {
        /// Its id.
        rule: String,
        /// The date that is asked about.
        at: Timestamp,
    },
}

/// Takes a question as a follow-up of the latest summary that it fits; `None` where it reads like none, or
/// is by itself one for another rule. `asked` is the instant that the caller names; without it the question
/// or the earlier one does.
///
/// # Errors
/// [`Unfollowed`], where it reads like one, but what it changes is not certain.
pub fn follow_up(
    question: &str,
    earlier: &[Summary],
    (rules, zone): (&Rules, &TimeZone),
    asked: Option<Timestamp>,
) -> Result<Option<FollowUp>, Unfollowed> {
    if !reads_like_one(question) {
        return Ok(None);
    }
    let text = read::normal(question);
    let spots = scan::scan(&text, &Expect::default(), zone);
    for summary in earlier.iter().take(FOLLOW_UPS) {
        let own = summary.decision.as_ref().and_then(|one| one.rule.as_deref());
        let picked = rules.pick(question, asked.unwrap_or(summary.as_of));
        if !picked.is_ok_and(|one| one.is_none_or(|one| Some(one.rule.id.as_str()) == own)) {
            return Ok(None);
        }
        let found = match own {
            Some(id) => by_rule((&text, &spots), summary, (id, rules), (zone, asked))?,
            None => {
                let again = again::by_comparison((&text, &spots), summary, asked)?;
                again.map(|again| FollowUp::Comparison(Box::new(again)))
            }
        };
        if let Some(found) = found {
            let beside = found.beside((&text, &spots), summary);
            return match beside.is_empty() {
                true => Ok(Some(found)),
                false => Err(Unfollowed::More { words: beside.join(" ") }),
            };
        }
    }
    match spots.into_iter().find_map(|spot| spot.found.err()) {
        Some(unread) if !earlier.is_empty() => Err(unread.into()),
        _ => Ok(None),
    }
}

impl FollowUp {
    /// The words of a question that are neither what it changes nor in the earlier question or the rule.
    fn beside(&self, (text, spots): (&str, &[Spot]), summary: &Summary) -> Vec<String> {
        let mut rest = String::new();
        let mut end = 0;
        for spot in spots {
            rest.push_str(text.get(end..spot.start).unwrap_or_default());
            rest.push(' ');
            end = spot.end;
        }
        rest.push_str(text.get(end..).unwrap_or_default());
        let mut known = vec![summary.question.clone()];
        match self {
            Self::Rule { rule, given, .. } => {
                for given in given.values().filter(|one| one.run.is_none()) {
                    rest = rest.replace(&given.spelled, " ");
                }
                known.push(rule.rule.description.clone());
                known.extend(rule.rule.facts.keys().map(|name| name.replace('_', " ")));
                known.extend(rule.rule.when.all.iter().flatten().cloned());
            }
            Self::Comparison(again) => known.push(again.other.spelled.clone()),
        }
        // What was changed before stands in the questions before.
        let earlier =
            |item: &&Item| matches!(item.source, Source::Earlier { .. } | Source::Question {});
        known.extend(summary.evidence.iter().filter(earlier).map(|item| item.text.clone()));
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        only::beside(&rest, &known)
    }
}

/// Whether a question is short, and begins or ends as one that goes on with an earlier one.
fn reads_like_one(question: &str) -> bool {
    const WORDS: [&str; 22] = [
        "what if",
        "and if",
        "what about",
        "how about",
        "if it were",
        "if it was",
        "if it is",
        "and for",
        "and with",
        "instead",
        "suppose",
        "and on",
        "那",
        "如果",
        "要是",
        "换成",
        "改成",
        "假如",
        "若",
        "呢",
        "变成",
        "又如何",
    ];
    let lower = question.to_lowercase();
    question.chars().count() <= LONG && WORDS.iter().any(|word| lower.contains(word))
}

/// A value that a question changes, and the operand that it stands for.
struct Change<'c> {
    operand: &'c Operand,
    spelled: String,
    unit: String,
}

/// The operands that values of a question stand for: each value for one, each operand once. Numbers
/// without a unit count only where no value has one.
fn changes<'c>(
    (text, spots): (&str, &[Spot]),
    operands: &[&'c Operand],
) -> Result<Vec<Change<'c>>, Unfollowed> {
    for bare in [false, true] {
        let mut found: Vec<(usize, Change<'c>)> = Vec::new();
        for spot in spots {
            let Ok(value) = &spot.found else { continue };
            let spelled = text.get(spot.start..spot.end).unwrap_or_default();
            for operand in operands {
                let unit = operand.value.unit().unwrap_or_default();
                let Some(kind) = kind_of(&operand.value) else { continue };
                let is_other = spot.counted.is_some() && kind != Type::Number;
                if rule::can_be(kind, unit, value, bare) && !is_other {
                    let is_bare = matches!(value, Value::Number { .. });
                    let unit = if is_bare { unit } else { "" };
                    let (spelled, unit) = (spelled.to_owned(), unit.to_owned());
                    found.push((spot.start, Change { operand, spelled, unit }));
                }
            }
        }
        let mut rest = found.as_slice();
        while let [(start, one), more @ ..] = rest {
            let is_same = |(other, two): &&(usize, Change<'c>)| {
                other == start || std::ptr::eq(two.operand, one.operand)
            };
            if let Some((_, two)) = more.iter().find(is_same) {
                let mut names = vec![called(one.operand), called(two.operand)];
                names.dedup();
                let value = match one.spelled == two.spelled {
                    true => one.spelled.clone(),
                    false => format!("{}, {}", one.spelled, two.spelled),
                };
                return Err(Unfollowed::Several { value, names: names.join(" or ") });
            }
            rest = more;
        }
        if !found.is_empty() {
            return Ok(found.into_iter().map(|(_, change)| change).collect());
        }
    }
    Ok(Vec::new())
}

fn called(operand: &Operand) -> String {
    match operand.name.as_str() {
        "" => format!("`{}`", operand.value),
        name => format!("`{name}` ({})", operand.value),
    }
}

const fn kind_of(value: &Value) -> Option<Type> {
    match value {
        Value::Number { .. } => Some(Type::Number),
        Value::Quantity { .. } => Some(Type::Quantity),
        Value::Money { .. } => Some(Type::Money),
        Value::Percent { .. } => Some(Type::Percent),
        Value::Date { .. } => Some(Type::Date),
        Value::Instant { .. } => Some(Type::Instant),
        Value::Bool { .. } | Value::Text { .. } | Value::Set { .. } | Value::Range { .. } => None,
    }
}

/// The run whose question an operand stands in.
fn asked_in(summary: &Summary, operand: &Operand) -> Option<String> {
    let label = operand.evidence.as_ref()?;
    let item = summary.evidence.iter().find(|item| item.id == *label)?;
    match &item.source {
        Source::Question {} if operand.fact.is_none() => Some(summary.run.clone()),
        Source::Earlier { run } => Some(run.clone()),
        _ => None,
    }
}

fn by_rule(
    (text, spots): (&str, &[Spot]),
    summary: &Summary,
    (id, rules): (&str, &Rules),
    (zone, wanted): (&TimeZone, Option<Timestamp>),
) -> Result<Option<FollowUp>, Unfollowed> {
    let gone = |at| Unfollowed::Gone { rule: id.to_owned(), at };
    let Some(loaded) = rules.get(id, summary.as_of) else {
        return if spots.is_empty() { Ok(None) } else { Err(gone(summary.as_of)) };
    };
    let asked: Vec<&Operand> =
        summary.operands.iter().filter(|one| asked_in(summary, one).is_some()).collect();
    let mut changed = BTreeMap::new();
    for change in changes((text, spots), &asked)? {
        let declared = loaded.rule.facts.get(&change.operand.name);
        let has_unit = declared.is_some_and(|fact| fact.unit == change.unit);
        let unit = if has_unit { String::new() } else { change.unit };
        let given = Given { spelled: change.spelled, unit, run: None };
        changed.insert(change.operand.name.clone(), given);
    }
    for (name, fact) in &loaded.rule.facts {
        if fact.from == Origin::Question
            && !fact.pattern.is_empty()
            && let Ok(spelled) = rule::in_question((id, name, fact), text, zone)
        {
            changed.insert(name.clone(), Given { spelled, unit: String::new(), run: None });
        }
    }
    let is_date = |one: &&Operand| matches!(one.value, Value::Date { .. } | Value::Instant { .. });
    let date = match asked.iter().any(is_date) {
        true => None,
        false => spots.iter().find_map(|spot| day(spot, zone)),
    };
    if changed.is_empty() && date.is_none() {
        return Ok(None);
    }
    let on = |at: Timestamp| at.to_zoned_datetime(zone.clone()).date();
    if let Some((named, asked)) = date.zip(wanted).filter(|(one, two)| on(*one) != on(*two)) {
        return Err(Unfollowed::Dates { named, asked });
    }
    let as_of = wanted.or(date).unwrap_or(summary.as_of);
    let loaded = rules.get(id, as_of).ok_or_else(|| gone(as_of))?;
    let mut given = kept(loaded, summary, zone);
    given.extend(changed);
    Ok(Some(FollowUp::Rule { rule: Arc::clone(loaded), as_of, given }))
}

/// The start of a day that a question names.
fn day(spot: &Spot, zone: &TimeZone) -> Option<Timestamp> {
    match spot.found.as_ref().ok()? {
        Value::Date { date } => Some(date.to_zoned_datetime(zone.clone()).ok()?.timestamp()),
        Value::Instant { instant } => Some(*instant),
        _ => None,
    }
}

/// What the earlier question gave, which stays.
fn kept(loaded: &Loaded, summary: &Summary, zone: &TimeZone) -> BTreeMap<String, Given> {
    let facts = loaded.rule.facts.iter().filter(|(_, fact)| fact.from == Origin::Question);
    let found = facts.filter_map(|(name, fact)| {
        let operand = summary.operands.iter().find(|one| one.name == *name);
        let told = operand.and_then(|one| Some((one, asked_in(summary, one)?)));
        if let Some((operand, run)) = told {
            let (spelled, unit) = (operand.spelled.clone(), operand.unit.clone());
            let unit = if unit == fact.unit { String::new() } else { unit };
            return Some((name.clone(), Given { spelled, unit, run: Some(run) }));
        }
        // A fact that was not compared, only used to read others.
        let earlier = summary.evidence.iter().filter_map(|item| match &item.source {
            Source::Earlier { run } => Some((run, &item.text)),
            _ => None,
        });
        let mut asked = std::iter::once((&summary.run, &summary.question)).chain(earlier);
        asked.find_map(|(run, question)| {
            let named = (loaded.rule.id.as_str(), name.as_str(), fact);
            let spelled = rule::in_question(named, question, zone).ok()?;
            Some((name.clone(), Given { spelled, unit: String::new(), run: Some(run.clone()) }))
        })
    });
    found.collect()
}

/// The summaries for the next turn: that of this one, where it was answered, then those that it got; at
/// most three.
pub fn summaries(trace: &Trace) -> Vec<Summary> {
    let own = trace.answer.as_ref().map(|answer| {
        let decision = answer.decision.clone();
        let comparing = |step: &&Step| !step.operands.is_empty();
        let step = match &decision {
            Some(decision) => trace.step(&decision.step),
            None => trace.steps.iter().rev().find(comparing),
        };
        let operator = step.and_then(|step| match step.operation {
            Some(Operation::Compare(operator)) => Some(operator),
            _ => None,
        });
        let premises = step.iter().flat_map(|step| &step.premises);
        let premises = premises.filter_map(|label| trace.step(label));
        let mut operands: Vec<Operand> = Vec::new();
        for step in step.into_iter().chain(premises) {
            step.operands.iter().for_each(|one| flat(one, &mut operands));
        }
        let labels = evidence_of(&operands);
        let carried = |item: &&Item| {
            labels.contains(&item.id) || matches!(item.source, Source::Earlier { .. })
        };
        let evidence = trace.evidence.iter().filter(carried).cloned().collect();
        let (run, question, as_of) = (trace.run.clone(), trace.question.clone(), trace.as_of);
        Summary { run, question, as_of, decision, operator, operands, evidence }
    });
    own.into_iter().chain(trace.earlier().cloned()).take(FOLLOW_UPS).collect()
}

/// An operand, and what it was worked out of, each once.
fn flat(operand: &Operand, all: &mut Vec<Operand>) {
    match &operand.derived {
        Some(derived) => derived.of.iter().for_each(|one| flat(one, all)),
        None if all.contains(operand) => {}
        None => all.push(operand.clone()),
    }
}
