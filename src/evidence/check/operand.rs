//! The value of an operand, from its evidence and nothing else.

use jiff::tz::TimeZone;

use crate::evidence::builder::Pick;
use crate::evidence::derive;
use crate::evidence::read::{self, Expect};
use crate::evidence::refusal::{Reason, Refusal};
use crate::evidence::scan;
use crate::evidence::trace::{Item, Label, Operand, Source, Trace};
use crate::evidence::value::Value;

/// How deep values can be worked out of each other.
const DEPTH: usize = 4;

/// The evidence that operands stand in, each once.
pub(in crate::evidence) fn evidence_of(operands: &[Operand]) -> Vec<Label> {
    let mut found = Vec::new();
    collect(operands, DEPTH, &mut found);
    found
}

fn collect(operands: &[Operand], depth: usize, found: &mut Vec<Label>) {
    for operand in operands {
        if let Some(label) = operand.evidence.as_ref().filter(|label| !found.contains(label)) {
            found.push(label.clone());
        }
        if let (Some(derived), Some(depth)) = (&operand.derived, depth.checked_sub(1)) {
            collect(&derived.of, depth, found);
        }
    }
}

/// The operand that is picked.
///
/// # Errors
/// Where the evidence is not there, does not hold, or does not state the value.
pub(in crate::evidence) fn operand_of(
    trace: &Trace,
    pick: &Pick,
    place: &str,
) -> Result<Operand, Refusal> {
    let spelled = pick.value.trim();
    let fact = trace.item(&pick.evidence).and_then(|item| item.fact(spelled));
    let mut operand = Operand {
        name: pick.name.clone(),
        evidence: Some(pick.evidence.clone()),
        fact: fact.map(|fact| fact.name.clone()),
        spelled: fact.map_or_else(|| spelled.to_owned(), |fact| fact.value.clone()),
        unit: pick.unit.clone(),
        kind: pick.kind,
        value: Value::of(false),
        derived: None,
    };
    // A unit is assumed only where there is none.
    let bare = Operand { unit: String::new(), ..operand.clone() };
    if let Ok(value) = value_of(trace, &bare, place)
        && !matches!(value, Value::Number { .. })
    {
        operand.unit = String::new();
    }
    operand.value = value_of(trace, &operand, place)?;
    Ok(operand)
}

/// What an operand is worth, read again.
///
/// # Errors
/// Where its evidence is not there, does not hold, does not state it, or it cannot be read.
pub(in crate::evidence) fn value_of(
    trace: &Trace,
    operand: &Operand,
    place: &str,
) -> Result<Value, Refusal> {
    let zone = TimeZone::get(&trace.time_zone).unwrap_or(TimeZone::UTC);
    worth((trace, &zone), operand, place, DEPTH)
}

fn worth(
    at: (&Trace, &TimeZone),
    operand: &Operand,
    place: &str,
    depth: usize,
) -> Result<Value, Refusal> {
    let refuse = |reason, message: String| Err(Refusal::new(reason, place, message));
    match (&operand.evidence, &operand.derived) {
        (Some(label), None) => stated(at, operand, label, place),
        (None, Some(derived)) => {
            let Some(depth) = depth.checked_sub(1) else {
                return refuse(
                    Reason::Form,
                    format!("more than {DEPTH} values worked out of each other"),
                );
            };
            let mut values = Vec::with_capacity(derived.of.len());
            for (number, one) in derived.of.iter().enumerate() {
                let place = format!("{place}/derived/of/{number}");
                let value = worth(at, one, &place, depth)?;
                if value != one.value {
                    return Err(differs(&one.value, &value, &place));
                }
                values.push(value);
            }
            let values: Vec<&Value> = values.iter().collect();
            derive::derive(derived.how, &values, at.1)
                .map_err(|wrong| Refusal::new(Reason::Incomparable, place, wrong.to_string()))
        }
        _ => refuse(
            Reason::Form,
            "a value stands in evidence, or is worked out of others: give one of the two"
                .to_owned(),
        ),
    }
}

/// That a value is another one when it is read again.
pub(in crate::evidence) fn differs(told: &Value, read: &Value, place: &str) -> Refusal {
    let message = format!("this is told to be `{told}`, but its evidence gives `{read}`");
    Refusal::new(Reason::NotInEvidence, format!("{place}/value"), message)
}

fn stated(
    (trace, zone): (&Trace, &TimeZone),
    operand: &Operand,
    label: &Label,
    place: &str,
) -> Result<Value, Refusal> {
    let Some(item) = trace.item(label) else {
        return Err(super::unknown(trace, label, &format!("{place}/evidence")));
    };
    if !item.source.is_given() && !item.holds_at(trace.as_of) {
        let message =
            format!("`{label}` is not in force at {}: look for what holds then", trace.as_of);
        return Err(Refusal::new(Reason::NotInForce, format!("{place}/evidence"), message));
    }
    if matches!(item.source, Source::Tool { success: false, .. }) {
        let message = format!("`{label}` is the reply of a tool that failed: it states no value");
        return Err(Refusal::new(Reason::NotInEvidence, format!("{place}/evidence"), message));
    }
    let (unit, machine) = spelling(item, operand, zone)
        .map_err(|message| Refusal::new(Reason::NotInEvidence, place, message))?;
    super::rule::vouches(trace, operand)
        .map_err(|message| Refusal::new(Reason::NotInEvidence, format!("{place}/unit"), message))?;
    let unit = if unit.is_empty() { operand.unit.as_str() } else { unit };
    let expect = Expect { kind: operand.kind, unit, machine };
    read::read(&operand.spelled, &expect, zone)
        .map_err(|wrong| Refusal::new(Reason::Incomparable, place, wrong.to_string()))
}

/// The unit that the evidence gives to a spelling, and whether a program wrote it.
fn spelling<'i>(
    item: &'i Item,
    operand: &Operand,
    zone: &TimeZone,
) -> Result<(&'i str, bool), String> {
    let (id, spelled) = (&item.id, &operand.spelled);
    if let Some(name) = &operand.fact {
        let Some(fact) = item.fact(name) else {
            let known: Vec<&str> = item.facts.iter().map(|fact| fact.name.as_str()).collect();
            return Err(format!("`{id}` has no fact `{name}`: it has {}", known.join(", ")));
        };
        if fact.value != *spelled {
            let value = &fact.value;
            return Err(format!("fact `{name}` of `{id}` is `{value}`, not `{spelled}`"));
        }
        return Ok((&fact.unit, true));
    }
    if !scan::holds(&item.text, spelled, zone) {
        if let Some(whole) = scan::around(&item.text, spelled, zone) {
            let part = read::shown(spelled);
            return Err(format!("`{part}` is only a part of `{whole}` in `{id}`: write all of it"));
        }
        return Err(format!(
            "`{id}` does not state `{}`: write the value as it stands there, whole and with its unit, or the name of one of its facts",
            read::shown(spelled)
        ));
    }
    Ok(("", is_json_number(item, spelled)))
}

/// Whether a spelling is a number of a tool's JSON, where a dot is always the decimal point.
fn is_json_number(item: &Item, spelled: &str) -> bool {
    fn has(json: &serde_json::Value, spelled: &str) -> bool {
        match json {
            serde_json::Value::Number(number) => number.as_str() == spelled,
            serde_json::Value::Array(all) => all.iter().any(|one| has(one, spelled)),
            serde_json::Value::Object(all) => all.values().any(|one| has(one, spelled)),
            _ => false,
        }
    }
    matches!(item.source, Source::Tool { .. })
        && serde_json::from_str(&item.text).is_ok_and(|json| has(&json, spelled))
}
