//! Values of declared attributes, compared by what they are: numbers with their units, dates, yes and
//! no, else text.

use std::cmp::Ordering;

use serde_json::Number;

use super::measure::{self, Measure};
use super::number;
use crate::decimal;
use crate::memory::collection::{Collection, Values};
use crate::memory::gate::fold;
use crate::memory::unit::{Draft, Fact, Version};

/// Relative difference that conversion between units can make.
const ROUNDING: f64 = 1e-6;

/// The first attribute of which the two state different values.
pub(super) fn differ(one: &Draft, two: &Draft, collection: &Collection) -> Option<String> {
    let (fact, other) = first((one, two), collection, Values::One)?;
    Some(format!(
        "`{}` of `{}` is `{}` here and `{}` there",
        fact.attribute,
        fact.entity,
        spell(fact),
        spell(other)
    ))
}

/// Facts that give an attribute of one value another than one before them in the same draft, with that one.
pub(in crate::memory) fn doubled(draft: &Draft, collection: &Collection) -> Vec<(usize, String)> {
    let mut doubled = Vec::new();
    for (at, fact) in draft.facts.iter().enumerate() {
        let Some(attribute) = collection.attributes.get(&fact.attribute) else { continue };
        let tolerance = attribute.tolerance.parse().unwrap_or_default();
        let other = draft.facts.iter().take(at).find(|other| {
            other.attribute == fact.attribute
                && fold(&other.entity) == fold(&fact.entity)
                && !same(fact, other, tolerance)
        });
        if let Some(other) = other.filter(|_| attribute.values == Values::One) {
            doubled.push((at, spell(other)));
        }
    }
    doubled
}

/// The first attribute of which the one would overtake what is believed more. Of what is believed alike,
/// the later takes over, and nobody has to decide.
pub(super) fn overtakes(one: &Version, two: &Version, collection: &Collection) -> Option<String> {
    let later = (one.valid_from, one.source_time) >= (two.valid_from, two.source_time);
    if !later || one.trust >= two.trust {
        return None;
    }
    let (fact, _) = first((&one.draft, &two.draft), collection, Values::Successive)?;
    Some(format!(
        "`{}` of `{}` would overtake what is believed more (trust {} against {})",
        fact.attribute, fact.entity, two.trust.0, one.trust.0
    ))
}

/// The first attribute of that kind of which the two state different values, with both facts.
fn first<'d>(
    (one, two): (&'d Draft, &'d Draft),
    collection: &Collection,
    values: Values,
) -> Option<(&'d Fact, &'d Fact)> {
    for fact in &one.facts {
        let Some(attribute) = collection.attributes.get(&fact.attribute) else { continue };
        if attribute.values != values {
            continue;
        }
        let about = |other: &&Fact| {
            other.attribute == fact.attribute && fold(&other.entity) == fold(&fact.entity)
        };
        let tolerance = attribute.tolerance.parse().unwrap_or_default();
        let others: Vec<&Fact> = two.facts.iter().filter(about).collect();
        let agrees = others.iter().any(|other| same(fact, other, tolerance));
        if let Some(other) = others.first().filter(|_| !agrees) {
            return Some((fact, other));
        }
    }
    None
}

fn spell(fact: &Fact) -> String {
    format!("{} {}", fact.value, fact.unit).trim().to_owned()
}

/// Whether two facts give the same value.
fn same(one: &Fact, two: &Fact, tolerance: f64) -> bool {
    match (measured(one), measured(two)) {
        (Some(left), Some(right)) => return equal(one, two, (&left, &right), tolerance),
        (None, None) => {}
        _ => return false,
    }
    if let (Some(left), Some(right)) = (number::date(&one.value), number::date(&two.value)) {
        return left == right;
    }
    if let (Some(left), Some(right)) = (truth(&one.value), truth(&two.value)) {
        return left == right;
    }
    fold(&one.value) == fold(&two.value) && fold(&one.unit) == fold(&two.unit)
}

/// The value as a number, with its unit: in its own field, or behind the number.
fn measured(fact: &Fact) -> Option<Measure> {
    measure::parse(format!("{} {}", fact.value.trim(), fact.unit.trim()).trim())
}

fn equal(one: &Fact, two: &Fact, (left, right): (&Measure, &Measure), tolerance: f64) -> bool {
    if left.dimension != right.dimension {
        return false;
    }
    // Numbers in one unit are compared exactly, however long they are.
    let exact = |fact: &Fact| fact.value.trim().parse::<Number>().ok();
    if tolerance == 0.0
        && left.unit == right.unit
        && let (Some(left), Some(right)) = (exact(one), exact(two))
    {
        return decimal::compare(&left, &right) == Ordering::Equal;
    }
    let most = left.value.abs().max(right.value.abs());
    (left.value - right.value).abs() <= most * tolerance.max(ROUNDING)
}

fn truth(text: &str) -> Option<bool> {
    match fold(text).as_str() {
        "true" | "yes" | "on" | "是" | "有" | "支持" => Some(true),
        "false" | "no" | "off" | "否" | "不是" | "无" | "没有" | "不支持" => Some(false),
        _ => None,
    }
}
