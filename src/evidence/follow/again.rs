//! Comparisons that no rule declares, made again with one side changed: the summary of the earlier one in,
//! a step of the new trace and the answer to it out.

use jiff::Timestamp;

use super::{Given, Unfollowed, asked_in, changes};
use crate::evidence::builder::{Builder, Grown, Pick};
use crate::evidence::check::evidence_of;
use crate::evidence::compare::Operator;
use crate::evidence::draft::{Claim, Draft};
use crate::evidence::refusal::Refusal;
use crate::evidence::rule;
use crate::evidence::scan::Spot;
use crate::evidence::trace::{Found, Item, Label, Operand, Source, Step, Summary};
use crate::evidence::value::Value;

/// Longest word of an earlier decision that is told again, in bytes.
const WORD: usize = 80;

/// A comparison with one side changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Again {
    /// The instant that it is asked for: the earlier one, unless the caller names another.
    pub as_of: Timestamp,
    /// What was decided by it then, and whether it held.
    pub before: Option<(String, bool)>,
    /// How.
    pub operator: Operator,
    /// Whether the left side is the changed one.
    pub is_left: bool,
    /// Its new value.
    pub given: Given,
    /// The other side, as it was.
    pub other: Operand,
    /// The evidence of the other side.
    pub evidence: Vec<Item>,
}

pub(super) fn by_comparison(
    at: (&str, &[Spot]),
    summary: &Summary,
    asked_for: Option<Timestamp>,
) -> Result<Option<Again>, Unfollowed> {
    let (Some(operator), [left, right]) = (summary.operator, summary.operands.as_slice()) else {
        return Ok(None);
    };
    let asked: Vec<&Operand> =
        [left, right].into_iter().filter(|one| asked_in(summary, one).is_some()).collect();
    let mut changes = changes(at, &asked)?;
    let Some(change) = changes.pop() else { return Ok(None) };
    if let Some(other) = changes.pop() {
        let value = format!("{}, {}", other.spelled, change.spelled);
        return Err(Unfollowed::Several { value, names: "one side only".to_owned() });
    }
    let is_left = std::ptr::eq(change.operand, left);
    let other = if is_left { right } else { left };
    let labels = evidence_of(std::slice::from_ref(other));
    let evidence =
        summary.evidence.iter().filter(|item| labels.contains(&item.id)).cloned().collect();
    let given = Given { spelled: change.spelled, unit: change.unit, run: None };
    let before = summary
        .decision
        .as_ref()
        .filter(|one| one.value.len() <= WORD)
        .map(|one| (one.value.clone(), one.holds));
    let as_of = asked_for.unwrap_or(summary.as_of);
    let again = Again { as_of, before, operator, is_left, given, other: other.clone(), evidence };
    Ok(Some(again))
}

impl Again {
    /// Makes the comparison again: the evidence of the other side is brought into the new trace, and what
    /// does not hold any more is refused there.
    ///
    /// # Errors
    /// Where the evidence does not state the values, does not hold, or they cannot be compared.
    pub fn compare(&self, builder: &mut Builder, at: Timestamp) -> Result<Vec<Grown>, Refusal> {
        let mut grown = Vec::new();
        let mut label = Label::question();
        for item in &self.evidence {
            let found = match &item.source {
                Source::Question {} => continue,
                _ => Found::from(item.clone()),
            };
            let one = builder.found(found, at);
            if Some(&item.id) == self.other.evidence.as_ref() {
                label = one.label().clone();
            }
            grown.push(one);
        }
        let changed = Pick {
            unit: self.given.unit.clone(),
            ..Pick::new(&Label::question(), &self.given.spelled)
        };
        let told = self.other.fact.as_ref().unwrap_or(&self.other.spelled);
        let other = Pick { unit: self.other.unit.clone(), ..Pick::new(&label, told) };
        let (left, right) = if self.is_left { (changed, other) } else { (other, changed) };
        grown.push(builder.compare(&left, self.operator, &right, at)?);
        Ok(grown)
    }
}

impl Again {
    /// The answer that a comparison made again gives, in the language of the question. What was decided by
    /// it before is decided again where it comes out the same; what else a model would say of it is not known.
    pub fn draft(&self, step: &Step, question: &str) -> Option<Draft> {
        let Some(Value::Bool { holds }) = step.result else { return None };
        let same = self.before.as_ref().filter(|(_, held)| *held == holds);
        let value = match same {
            Some((value, _)) => value.clone(),
            None => if holds { "holds" } else { "does_not_hold" }.to_owned(),
        };
        let [left, right] = step.operands.as_slice() else { return None };
        let (left, right, operator) = (&left.value, &right.value, self.operator);
        let label = &step.id;
        let answer = if rule::is_chinese(question) {
            let not = if holds { "成立" } else { "不成立" };
            let decided = match &self.before {
                Some((value, _)) if same.is_some() => format!("，结论仍为：{value}"),
                Some((value, _)) => format!("，原结论（{value}）不再适用"),
                None => String::new(),
            };
            format!("{left} {operator} {right} {not}{decided} [{label}]。")
        } else {
            let not = if holds { "holds" } else { "does not hold" };
            let decided = match &self.before {
                Some((value, _)) if same.is_some() => format!(", so it is still: {value}"),
                Some((value, _)) => {
                    format!(", so what was decided before ({value}) is no longer so")
                }
                None => String::new(),
            };
            format!("{left} {operator} {right} {not}{decided} [{label}].")
        };
        let decision = Some(Claim { value, step: label.clone(), holds });
        Some(Draft { answer, evidence: step.evidence.clone(), decision, ..Draft::default() })
    }
}

impl From<Item> for Found {
    fn from(item: Item) -> Self {
        Self {
            source: item.source,
            text: item.text,
            facts: item.facts,
            valid_from: item.valid_from,
            valid_to: item.valid_to,
            trust: item.trust,
            score: item.score,
            untrusted: item.untrusted,
        }
    }
}
