//! Whether a conclusion is what its rule makes of its comparisons: by what the trace keeps of the rule.
//! Whether the rule itself was declared so is checked against the policies folder, elsewhere.

use crate::evidence::builder::AS_OF;
use crate::evidence::refusal::{Reason, Refusal};
use crate::evidence::rule::{COUNT, Rules};
use crate::evidence::trace::{Combine, Item, Operand, Operation, Source, Step, Trace};

/// Why an assumed unit or kind has nobody behind it: only a rule, or the value that a follow-up changes,
/// may give one.
pub(super) fn vouches(trace: &Trace, operand: &Operand) -> Result<(), String> {
    if operand.unit.is_empty() && operand.kind.is_none() {
        return Ok(());
    }
    let name = &operand.name;
    let rules = || trace.evidence.iter().filter(|item| matches!(item.source, Source::Rule { .. }));
    let kind = operand.kind.map(|kind| serde_json::to_value(kind).unwrap_or_default());
    let declares = |item: &Item, member: &str, value: &str| {
        item.fact(&format!("{member}.{name}")).is_some_and(|fact| fact.value == value)
    };
    if let Some(kind) = kind.as_ref().and_then(|kind| kind.as_str())
        && !rules().any(|item| declares(item, "type", kind))
    {
        return Err(format!("no rule declares `{name}` as a {kind}"));
    }
    let unit = &operand.unit;
    let earlier = || {
        let operands = trace.earlier().flat_map(|summary| &summary.operands);
        let mut same = operands.filter(|one| one.name == *name);
        same.any(|one| one.value.unit() == Some(unit.as_str()))
    };
    if unit.is_empty() || rules().any(|item| declares(item, "unit", unit)) || earlier() {
        return Ok(());
    }
    Err(format!(
        "nobody gives `{}` the unit `{unit}`: write the value with its unit",
        operand.spelled
    ))
}

/// Whether a conclusion compares what the rule says, with facts from where the rule says.
pub(super) fn applies(
    trace: &Trace,
    (rule, step): (&Item, &Step),
    combine: Combine,
    place: &str,
    wrong: &mut Vec<Refusal>,
) {
    if !rule.holds_at(trace.as_of) {
        let message = format!("the rule of `{}` is not in force at {}", step.id, trace.as_of);
        wrong.push(Refusal::new(Reason::NotInForce, format!("{place}/evidence"), message));
    }
    let mut made = Vec::new();
    for (number, label) in step.premises.iter().enumerate() {
        let Some(premise) = trace.step(label) else { continue };
        let (Some(Operation::Compare(operator)), [left, right]) =
            (premise.operation, premise.operands.as_slice())
        else {
            continue;
        };
        made.push(format!("{} {operator} {}", left.name, right.name));
        for operand in [left, right] {
            if let Err(message) = fits(trace, rule, operand) {
                let place = format!("{place}/premises/{number}");
                wrong.push(Refusal::new(Reason::DoesNotFollow, place, message));
            }
        }
    }
    let word = if combine == Combine::Any { "any" } else { "all" };
    let made = format!("{word}: {}", made.join("; "));
    let declared = rule.fact("decide").map_or("", |fact| fact.value.as_str());
    if made != declared {
        let message =
            format!("`{}` is not what its rule compares: `{declared}`, not `{made}`", step.id);
        wrong.push(Refusal::new(Reason::DoesNotFollow, format!("{place}/premises"), message));
    }
}

/// Whether an operand comes from where the rule says.
fn fits(trace: &Trace, rule: &Item, operand: &Operand) -> Result<(), String> {
    let name = &operand.name;
    let Some(from) = rule.fact(&format!("from.{name}")).map(|fact| fact.value.as_str()) else {
        return Err(format!("the rule has no fact `{name}`"));
    };
    let item = operand.evidence.as_ref().and_then(|label| trace.item(label));
    let fact = operand.fact.as_deref();
    let mut words = from.splitn(3, ' ');
    let (origin, place, what) =
        (words.next(), words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let source = item.map(|item| &item.source);
    let is_so = match (origin, source) {
        (Some("question"), Some(Source::Question {})) => fact.is_none(),
        (Some("question"), Some(Source::Earlier { .. })) => true,
        (Some("as_of"), Some(Source::Question {})) => fact == Some(AS_OF),
        (Some("rule"), Some(Source::Rule { .. })) => {
            item.is_some_and(|item| item.id == rule.id) && fact == Some(&format!("value.{name}"))
        }
        (Some("memory"), Some(Source::Memory { collection, .. })) => {
            collection == place && fact.unwrap_or_default() == what
        }
        (Some("count"), Some(Source::Recall { collections, .. })) => {
            collections.as_slice() == [place.to_owned()] && fact == Some(COUNT)
        }
        (Some("tool"), Some(Source::Tool { tool, .. })) => {
            let stated = fact.and_then(|fact| item?.fact(fact));
            tool == place && stated.is_some_and(|fact| fact.pointer == what)
        }
        (Some(_), None) => return worked_out(trace, rule, operand, from),
        _ => false,
    };
    if is_so { Ok(()) } else { Err(format!("the rule takes `{name}` from {from}, not from here")) }
}

fn worked_out(trace: &Trace, rule: &Item, operand: &Operand, from: &str) -> Result<(), String> {
    let name = &operand.name;
    let Some(derived) = &operand.derived else {
        return Err(format!("the rule takes `{name}` from {from}, not from here"));
    };
    let of: Vec<&str> = derived.of.iter().map(|one| one.name.as_str()).collect();
    let made = format!("{}({})", derived.how.as_str(), of.join(", "));
    if made != from {
        return Err(format!("the rule works `{name}` out as {from}, not as {made}"));
    }
    derived.of.iter().try_for_each(|one| fits(trace, rule, one))
}

/// The rules of a trace that are not declared as it has them.
pub fn rule_refusals(trace: &Trace, rules: &Rules) -> Vec<Refusal> {
    let mut wrong = Vec::new();
    for (at, item) in trace.evidence.iter().enumerate() {
        let Source::Rule { id, digest } = &item.source else { continue };
        let declared = rules.all().iter().find(|one| one.rule.id == *id && one.digest == *digest);
        let is_so = declared.is_some_and(|one| {
            let told = one.evidence();
            told.text == item.text
                && told.facts == item.facts
                && (told.valid_from, told.valid_to) == (item.valid_from, item.valid_to)
        });
        if !is_so {
            let message = format!(
                "rule `{id}` is not declared as this trace has it: it was changed since, or never was"
            );
            wrong.push(Refusal::new(
                Reason::NotRetrieved,
                format!("/evidence/{at}/source"),
                message,
            ));
        }
    }
    wrong
}
