//! The facts of a rule: where each comes from, as the trace tells it, and how it is found in a question or
//! in what was read.

use jiff::tz::TimeZone;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json};

use super::plan::Stuck;
use super::{Fact, Loaded, Origin, Outcome, Take, pick as picks};
use crate::evidence::builder::Pick;
use crate::evidence::check::operand_of;
use crate::evidence::compare::{self, Operator};
use crate::evidence::read::{self, Expect, Type};
use crate::evidence::refusal::{Reason, Refusal};
use crate::evidence::scan;
use crate::evidence::trace::{self, Found, Item, Label, Operand, Source, Trace};
use crate::evidence::unit;
use crate::evidence::value::Value;

/// Where a fact comes from, in one line.
pub(super) fn from(fact: &Fact) -> String {
    match (fact.from, fact.take) {
        (Origin::Question, _) => "question".to_owned(),
        (Origin::AsOf, _) => "as_of".to_owned(),
        (Origin::Rule, _) => "rule".to_owned(),
        (Origin::Memory, Take::Count) => format!("count {}", fact.collection),
        (Origin::Memory, _) => format!("memory {} {}", fact.collection, fact.fact),
        (Origin::Tool, _) => format!("tool {} {}", fact.tool, fact.pointer),
        (Origin::Derived, _) => {
            let how = fact.how.map_or("", |how| how.as_str());
            format!("{how}({})", fact.of.join(", "))
        }
    }
}

impl Loaded {
    /// The rule as evidence: what it compares, where its facts come from, what it decides.
    pub fn evidence(&self) -> Found {
        let rule = &self.rule;
        let source = Source::Rule { id: rule.id.clone(), digest: self.digest.clone() };
        let mut facts = Vec::new();
        for (name, fact) in &rule.facts {
            facts.push(trace::Fact::new(format!("from.{name}"), from(fact)));
            facts.push(trace::Fact::new(format!("type.{name}"), word(&fact.kind)));
            if !fact.unit.is_empty() {
                facts.push(trace::Fact::new(format!("unit.{name}"), &fact.unit));
            }
            if !fact.pattern.is_empty() {
                facts.push(trace::Fact::new(format!("pattern.{name}"), &fact.pattern));
            }
            if !matches!(fact.take, Take::One | Take::Count) {
                facts.push(trace::Fact::new(format!("take.{name}"), word(&fact.take)));
            }
            if fact.from == Origin::Rule {
                let value = trace::Fact::new(format!("value.{name}"), &fact.value);
                facts.push(trace::Fact { unit: fact.unit.clone(), ..value });
            }
        }
        let decide = self.decides();
        facts.push(trace::Fact::new("decide", &decide));
        facts.push(trace::Fact::new("then", &rule.then.decision));
        facts.push(trace::Fact::new("else", &rule.otherwise.decision));
        let text = format!(
            "{} {decide}; then {}, else {}",
            rule.description, rule.then.decision, rule.otherwise.decision
        );
        Found { facts, valid_from: self.from, valid_to: self.to, ..Found::new(source, text) }
    }

    /// What it compares, in one line.
    fn decides(&self) -> String {
        let decide = &self.rule.decide;
        let (word, all) =
            if decide.any.is_empty() { ("all", &decide.all) } else { ("any", &decide.any) };
        let all: Vec<String> =
            all.iter().map(|one| format!("{} {} {}", one.left, one.operator, one.right)).collect();
        format!("{word}: {}", all.join("; "))
    }
}

/// A word of a rule's declaration as it is written.
fn word(of: &impl Serialize) -> String {
    let written = serde_json::to_value(of).unwrap_or_default();
    written.as_str().unwrap_or_default().to_owned()
}

/// A fact that a rule takes from a question or from units of the memory, by what its evidence tells of it;
/// `None` for one from elsewhere.
pub(in crate::evidence) fn told(rule: &Item, name: &str) -> Option<Fact> {
    fn read<T: DeserializeOwned>(text: &str) -> Option<T> {
        serde_json::from_value(Json::String(text.to_owned())).ok()
    }
    let of = |member: &str| {
        let fact = rule.fact(&format!("{member}.{name}"));
        fact.map_or("", |fact| fact.value.as_str())
    };
    let mut words = of("from").splitn(3, ' ');
    let from: Origin = read(words.next()?)?;
    if !matches!(from, Origin::Question | Origin::Memory) {
        return None;
    }
    let (collection, fact) =
        (words.next().unwrap_or_default().to_owned(), words.next().unwrap_or_default().to_owned());
    let take = if of("take").is_empty() { Take::One } else { read(of("take"))? };
    Some(Fact {
        from,
        kind: read(of("type"))?,
        unit: of("unit").to_owned(),
        pattern: of("pattern").to_owned(),
        value: String::new(),
        question: String::new(),
        collection,
        filter: Map::new(),
        fact,
        take,
        tool: String::new(),
        arguments: Map::new(),
        pointer: String::new(),
        how: None,
        of: Vec::new(),
    })
}

/// The spelling of a fact in a question.
pub(in crate::evidence) fn in_question(
    (id, name, fact): (&str, &str, &Fact),
    question: &str,
    zone: &TimeZone,
) -> Result<String, Stuck> {
    let missing = |why: String| Stuck::Missing { rule: id.to_owned(), fact: name.to_owned(), why };
    let text = read::normal(question);
    if !fact.pattern.is_empty() {
        let form = picks::pattern(&fact.pattern).map_err(missing)?;
        let mut all: Vec<&str> =
            form.captures_iter(&text).filter_map(|found| group(&found)).map(str::trim).collect();
        all.dedup();
        return one((id, name), &all, || missing("say it in the question".to_owned()));
    }
    let expect = Expect { kind: None, unit: &fact.unit, machine: false };
    let spots = scan::scan(&text, &expect, zone);
    let spelled = |spot: &scan::Spot| text.get(spot.start..spot.end).unwrap_or_default();
    let exact: Vec<&scan::Spot> =
        spots.iter().filter(|spot| fits(fact, &spot.found, false)).collect();
    let loose: Vec<&scan::Spot> = match exact.is_empty() {
        true => spots.iter().filter(|spot| fits(fact, &spot.found, true)).collect(),
        false => Vec::new(),
    };
    // The unit of a fact is not that of a number which counts something else.
    let counted = loose.iter().find_map(|spot| text.get(spot.start..spot.counted?));
    let plain = loose.into_iter().filter(|spot| spot.counted.is_none());
    let found: Vec<&scan::Spot> = if exact.is_empty() { plain.collect() } else { exact };
    let wrong = spots.iter().find_map(|spot| spot.found.clone().err());
    let counted = counted.map(|text| read::Unread::Unit { text: read::shown(text) });
    if found.is_empty()
        && let Some(wrong) = wrong.or(counted)
    {
        let (rule, fact) = (id.to_owned(), name.to_owned());
        return Err(Stuck::Unread { rule, fact, source: wrong });
    }
    let mut all: Vec<&str> = Vec::new();
    let mut values: Vec<&Value> = Vec::new();
    for spot in found {
        if let Ok(value) = &spot.found
            && !values.contains(&value)
        {
            values.push(value);
            all.push(spelled(spot));
        }
    }
    one((id, name), &all, || missing(format!("write {} into the question", fact.kind.words())))
}

/// The first group of a pattern that took part, or all that it found.
fn group<'t>(found: &regex::Captures<'t>) -> Option<&'t str> {
    let mut groups = found.iter().skip(1).flatten();
    groups.next().or_else(|| found.get(0)).map(|part| part.as_str())
}

fn one(
    (rule, fact): (&str, &str),
    all: &[&str],
    missing: impl FnOnce() -> Stuck,
) -> Result<String, Stuck> {
    match all {
        [] => Err(missing()),
        [single] => Ok((*single).to_owned()),
        several => {
            let (rule, fact) = (rule.to_owned(), fact.to_owned());
            Err(Stuck::Several { rule, fact, values: several.join(", ") })
        }
    }
}

/// Whether a value of a question can be this fact; `bare`: also a number that takes its unit.
fn fits(fact: &Fact, found: &Result<Value, read::Unread>, bare: bool) -> bool {
    let Ok(value) = found else { return false };
    can_be(fact.kind, &fact.unit, value, bare)
}

/// Whether a value can stand for one of this kind and unit.
pub(in crate::evidence) fn can_be(kind: Type, unit: &str, value: &Value, bare: bool) -> bool {
    match (kind, value) {
        (Type::Quantity, Value::Quantity { unit: own, .. }) => {
            let wanted = unit::find(unit).map(|unit| unit.dimension);
            let dimension = unit::find(own).map(|unit| unit.dimension);
            unit.is_empty() || dimension == wanted
        }
        (Type::Quantity | Type::Money | Type::Percent, Value::Number { .. }) => {
            bare && !unit.is_empty()
        }
        (Type::Date, Value::Instant { .. }) => true,
        (kind, value) => kind.has(value),
    }
}

/// The `{name}` holes of a text.
pub(super) fn holes(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split('{').skip(1);
    parts.filter_map(|part| part.split_once('}').map(|(name, _)| name))
}

/// A text with its holes filled; `None` where one is not known.
pub(super) fn fill(text: &str, known: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, behind) = after.split_once('}')?;
        out.push_str(before);
        out.push_str(&known(name)?);
        rest = behind;
    }
    out.push_str(rest);
    Some(out)
}

/// JSON with the holes of its texts filled; a text that is one hole becomes the value itself.
pub(super) fn fill_json(json: &Json, known: &dyn Fn(&str) -> Option<Value>) -> Option<Json> {
    let words = |name: &str| known(name).map(|value| value.to_string());
    Some(match json {
        Json::String(text) => {
            let hole = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
            match hole.filter(|name| !name.contains(['{', '}'])) {
                Some(name) => plain(&known(name)?),
                None => Json::String(fill(text, &words)?),
            }
        }
        Json::Array(all) => {
            Json::Array(all.iter().map(|one| fill_json(one, known)).collect::<Option<_>>()?)
        }
        Json::Object(all) => Json::Object(fill_map(all, known)?),
        other => other.clone(),
    })
}

/// An object with the holes of its texts filled.
pub(super) fn fill_map(
    all: &Map<String, Json>,
    known: &dyn Fn(&str) -> Option<Value>,
) -> Option<Map<String, Json>> {
    all.iter().map(|(name, one)| Some((name.clone(), fill_json(one, known)?))).collect()
}

/// A value as a tool or a filter takes it: numbers without their unit.
fn plain(value: &Value) -> Json {
    match (value, value.number()) {
        (_, Some(number)) => serde_json::from_str(&number.normalize().to_string())
            .unwrap_or_else(|_| Json::String(number.to_string())),
        (Value::Bool { holds }, None) => Json::Bool(*holds),
        (other, None) => Json::String(other.to_string()),
    }
}

/// Whether a question is in Chinese.
pub(in crate::evidence) fn is_chinese(question: &str) -> bool {
    question.chars().any(|c| matches!(c, '\u{4e00}'..='\u{9fff}'))
}

impl Outcome {
    /// Its words in the language of a question.
    pub(super) fn words(&self, question: &str) -> &str {
        let (first, second) = if is_chinese(question) { ("zh", "en") } else { ("en", "zh") };
        let found = self.answer.get(first).or_else(|| self.answer.get(second));
        found.map_or("", String::as_str)
    }
}

/// The spelling, or the name of the fact, by which evidence of the memory states a fact.
pub(super) fn stated(fact: &Fact, item: &Item) -> Option<String> {
    if !fact.fact.is_empty() {
        return item.fact(&fact.fact).map(|fact| fact.name.clone());
    }
    let text = read::normal(&item.text);
    let found = picks::pattern(&fact.pattern).ok()?.captures(&text)?;
    Some(group(&found)?.trim().to_owned())
}

/// Why no value of several is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::evidence) enum Untaken {
    /// None states one.
    Nothing,
    /// They differ; these are they.
    Several(String),
    /// One cannot be shown to be so, or two cannot be compared.
    Refused(Refusal),
}

/// How a value of evidence is picked for a fact; `unit` where it has none of its own.
pub(super) fn pick(
    (name, fact): (&str, &Fact),
    (evidence, value): (&Label, String),
    unit: &str,
) -> Pick {
    Pick {
        name: name.to_owned(),
        unit: unit.to_owned(),
        kind: Some(fact.kind),
        ..Pick::new(evidence, value)
    }
}

/// The value that a rule takes of units of the memory, best first, by the fact's `take`.
pub(in crate::evidence) fn taken(
    (trace, zone): (&Trace, &TimeZone),
    (name, fact): (&str, &Fact),
    items: &[&Item],
) -> Result<Operand, Untaken> {
    let mut found: Vec<Operand> = Vec::new();
    for item in items {
        let Some(value) = stated(fact, item) else { continue };
        let own: Vec<&str> =
            item.facts.iter().filter(|one| one.name == value).fold(Vec::new(), |mut all, one| {
                if !all.contains(&one.value.as_str()) {
                    all.push(&one.value);
                }
                all
            });
        if own.len() > 1 {
            return Err(Untaken::Several(own.join(", ")));
        }
        let pick = pick((name, fact), (&item.id, value), &fact.unit);
        let operand = operand_of(trace, &pick, &format!("/facts/{name}"));
        found.push(operand.map_err(Untaken::Refused)?);
    }
    let Some(first) = found.first() else { return Err(Untaken::Nothing) };
    let compared = |one: &Operand, operator, two: &Operand| {
        let compared = compare::compare(&one.value, operator, &two.value, zone);
        compared.map(|found| found.holds).map_err(|wrong| {
            let place = format!("/facts/{name}");
            Untaken::Refused(Refusal::new(Reason::Incomparable, place, wrong.to_string()))
        })
    };
    let mut held = first;
    for one in found.iter().skip(1) {
        match fact.take {
            Take::Least if compared(one, Operator::Less, held)? => held = one,
            Take::Most if compared(one, Operator::More, held)? => held = one,
            Take::One | Take::Count
                if one.value != held.value
                    && !compared(one, Operator::Equal, held).unwrap_or(false) =>
            {
                let all: Vec<String> = found.iter().map(|one| one.value.to_string()).collect();
                return Err(Untaken::Several(all.join(", ")));
            }
            _ => {}
        }
    }
    Ok(held.clone())
}

/// A plain value of JSON as text.
pub(in crate::evidence) fn plain_text(json: &Json) -> Option<String> {
    match json {
        Json::String(text) => Some(text.clone()),
        Json::Number(_) | Json::Bool(_) | Json::Array(_) => Some(json.to_string()),
        Json::Null | Json::Object(_) => None,
    }
}
