//! Whether a conclusion is what its rule makes of its comparisons: by what the trace keeps of the rule.
//! Whether the rule itself was declared so is checked against the policies folder, elsewhere.

use jiff::tz::TimeZone;

use super::operand::operand_of;
use crate::evidence::builder::{AS_OF, Pick};
use crate::evidence::read::Type;
use crate::evidence::refusal::{Reason, Refusal};
use crate::evidence::rule::{self, COUNT, Fact, Origin, Rules, Stuck, Untaken};
use crate::evidence::trace::{self, Combine, Item, Operand, Operation, Source, Step, Trace};

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
    zone: &TimeZone,
    trace: &Trace,
    (rule, step): (&Item, &Step),
    (combine, place): (Combine, &str),
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
            if let Err(message) = fits((trace, zone), rule, operand) {
                let place = format!("{place}/premises/{number}");
                wrong.push(Refusal::new(Reason::DoesNotFollow, place, message));
            }
        }
    }
    let said = step.text.strip_prefix(&format!("rule `{}`: ", id_of(rule)));
    if said.is_none_or(|said| {
        !rule.text.starts_with(&format!("{said} all: "))
            && !rule.text.starts_with(&format!("{said} any: "))
    }) {
        let message = format!("`{}` does not say what its rule is for", step.id);
        wrong.push(Refusal::new(Reason::DoesNotFollow, format!("{place}/text"), message));
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

fn id_of(rule: &Item) -> &str {
    match &rule.source {
        Source::Rule { id, .. } => id,
        _ => "",
    }
}

/// Whether an operand comes from where the rule says, and is the one of several that it takes.
fn fits(at: (&Trace, &TimeZone), rule: &Item, operand: &Operand) -> Result<(), String> {
    let ((trace, _), name) = (at, &operand.name);
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
        (Some(_), None) => return worked_out(at, rule, operand, from),
        _ => false,
    };
    if !is_so {
        return Err(format!("the rule takes `{name}` from {from}, not from here"));
    }
    match (rule::told(rule, name), item) {
        (Some(fact), _) if operand.kind != Some(fact.kind) => {
            Err(format!("the rule takes `{name}` as {}, which is not told here", fact.kind.words()))
        }
        (Some(fact), Some(item)) if fact.from == Origin::Question => {
            asked(at, &fact, operand, item)
        }
        (Some(fact), _) => recalled(at, (rule, &fact), operand),
        (None, _) if matches!(origin, Some("question" | "memory")) => {
            Err(format!("the rule does not tell what `{name}` is"))
        }
        (None, _) => Ok(()),
    }
}

/// Whether a question gives the value, and no other. After an earlier turn a value may have been changed
/// that is written in another way than the rule finds it.
fn asked(
    at: (&Trace, &TimeZone),
    fact: &Fact,
    operand: &Operand,
    item: &Item,
) -> Result<(), String> {
    let ((trace, zone), name) = (at, operand.name.as_str());
    let is_word = matches!(fact.kind, Type::Text | Type::Bool | Type::Set | Type::Range);
    if is_word && fact.pattern.is_empty() {
        return Ok(());
    }
    let follows = trace.earlier().next().is_some();
    let unit = operand.value.unit().unwrap_or_default().to_owned();
    let changed = Fact { pattern: String::new(), unit, ..fact.clone() };
    let mut why = None;
    for fact in [Some(fact), Some(&changed).filter(|_| follows)].into_iter().flatten() {
        match rule::in_question(("", name, fact), &item.text, zone) {
            Ok(spelled) => {
                let pick = Pick {
                    name: name.to_owned(),
                    unit: fact.unit.clone(),
                    kind: operand.kind,
                    ..Pick::new(&item.id, spelled.clone())
                };
                let read = operand_of(trace, &pick, "");
                if read.is_ok_and(|read| read.value == operand.value) {
                    return Ok(());
                }
                why = why.or_else(|| Some(format!("the question gives `{spelled}` for `{name}`")));
            }
            Err(Stuck::Several { values, .. }) => {
                why = why
                    .or_else(|| Some(format!("the question gives several for `{name}`: {values}")));
            }
            Err(_) if follows => {}
            Err(stuck) => why = why.or_else(|| Some(stuck.to_string())),
        }
    }
    why.map_or(Ok(()), Err)
}

/// Whether the value is the one that the rule takes of all units that were recalled. Where it reads another
/// fact from the same collection, the units of the two reads cannot be told apart.
fn recalled(
    at: (&Trace, &TimeZone),
    (rule, fact): (&Item, &Fact),
    operand: &Operand,
) -> Result<(), String> {
    let ((trace, _), name) = (at, operand.name.as_str());
    let beside = |one: &trace::Fact| {
        let mut words = one.value.splitn(3, ' ');
        let is_read = matches!(words.next(), Some("memory" | "count"));
        let is_other = one.name.strip_prefix("from.").is_some_and(|other| other != name);
        is_other && is_read && words.next() == Some(fact.collection.as_str())
    };
    if rule.facts.iter().any(beside) {
        return Ok(());
    }
    let is_one = |item: &&Item| {
        let of = |collection: &String| *collection == fact.collection;
        let is_here = matches!(&item.source, Source::Memory { collection, .. } if of(collection));
        is_here && item.holds_at(trace.as_of)
    };
    let items: Vec<&Item> = trace.evidence.iter().filter(is_one).collect();
    match rule::taken(at, (name, fact), &items) {
        Ok(taken) if taken.value == operand.value => Ok(()),
        Ok(taken) => Err(format!("the rule takes `{}` for `{name}`", taken.value)),
        Err(Untaken::Several(values)) => {
            Err(format!("the rule takes none of several for `{name}`: {values}"))
        }
        Err(Untaken::Refused(wrong)) => Err(wrong.message),
        Err(Untaken::Nothing) => Err(format!("nothing that was recalled states `{name}`")),
    }
}

fn worked_out(
    at: (&Trace, &TimeZone),
    rule: &Item,
    operand: &Operand,
    from: &str,
) -> Result<(), String> {
    let name = &operand.name;
    let Some(derived) = &operand.derived else {
        return Err(format!("the rule takes `{name}` from {from}, not from here"));
    };
    let of: Vec<&str> = derived.of.iter().map(|one| one.name.as_str()).collect();
    let made = format!("{}({})", derived.how.as_str(), of.join(", "));
    if made != from {
        return Err(format!("the rule works `{name}` out as {from}, not as {made}"));
    }
    derived.of.iter().try_for_each(|one| fits(at, rule, one))
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
