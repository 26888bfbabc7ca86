//! Checks a rule as it is declared: what would make it decide wrongly, or never, is named by its key, and
//! how to mend it.

use std::collections::BTreeSet;

use jiff::tz::TimeZone;

use super::{Fact, Origin, Outcome, Rule, Take, fact, pick};
use crate::evidence::compare::{self, Refused};
use crate::evidence::derive::How;
use crate::evidence::read::{self, Expect, Type};
use crate::evidence::unit;
use crate::evidence::value::Value;

/// Longest text of one key, in characters.
const TEXT: usize = 2000;
/// Most facts of a rule.
const FACTS: usize = 32;

/// Faults so far, each by its key.
type Wrong = Vec<(String, String)>;

/// Everything that is wrong with a rule, by key.
pub(super) fn check(rule: &Rule) -> Wrong {
    let mut wrong = Vec::new();
    head(rule, &mut wrong);
    when(rule, &mut wrong);
    for (name, fact) in &rule.facts {
        let key = format!("facts.{name}");
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(is_name) || name == "as_of" {
            wrong.push((
                key.clone(),
                format!("`{name}` is no name of a fact: use letters, digits and _, and not as_of"),
            ));
        }
        keys(&key, fact, &mut wrong);
        value(&key, fact, &mut wrong);
        finds(&key, fact, &mut wrong);
        needs(rule, (&key, name), fact, &mut wrong);
    }
    alike(rule, &mut wrong);
    decide(rule, &mut wrong);
    outcome(rule, "then", &rule.then, &mut wrong);
    outcome(rule, "else", &rule.otherwise, &mut wrong);
    if rule.then.decision == rule.otherwise.decision {
        wrong.push((
            "else.decision".to_owned(),
            "`then` and `else` decide the same: the rule decides nothing".to_owned(),
        ));
    }
    wrong
}

fn head(rule: &Rule, wrong: &mut Wrong) {
    let is_id =
        |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.' | '_');
    if rule.id.is_empty() || rule.id.len() > 64 || !rule.id.chars().all(is_id) {
        wrong.push((
            "id".to_owned(),
            format!(
                "`{}` is no id: use lower-case letters, digits, `-`, `.` and `_`, at most 64",
                rule.id
            ),
        ));
    }
    for (key, text) in [("owner", &rule.owner), ("description", &rule.description)] {
        if text.trim().is_empty() || text.chars().count() > TEXT {
            wrong.push((
                key.to_owned(),
                format!("is empty, or has more than {TEXT} characters: say it in a sentence"),
            ));
        }
    }
    if rule.facts.len() > FACTS {
        wrong.push((
            "facts".to_owned(),
            format!("{} facts are too many: a rule has at most {FACTS}", rule.facts.len()),
        ));
    }
}

fn when(rule: &Rule, wrong: &mut Wrong) {
    let when = &rule.when;
    if when.all.is_empty() && when.patterns.is_empty() {
        wrong.push((
            "when".to_owned(),
            "fits every question: give `all` groups of words, or `patterns`".to_owned(),
        ));
    }
    let words = when.all.iter().flatten().chain(&when.none);
    if words.into_iter().any(|word| word.trim_matches('*').trim().is_empty())
        || when.all.iter().any(Vec::is_empty)
    {
        wrong.push((
            "when.all".to_owned(),
            "has an empty word or group: each group has at least one word".to_owned(),
        ));
    }
}

/// Which keys go with where a fact comes from: those it needs, and those it may have.
fn keys(key: &str, fact: &Fact, wrong: &mut Wrong) {
    let has = [
        ("pattern", !fact.pattern.is_empty()),
        ("value", !fact.value.is_empty()),
        ("question", !fact.question.is_empty()),
        ("collection", !fact.collection.is_empty()),
        ("filter", !fact.filter.is_empty()),
        ("fact", !fact.fact.is_empty()),
        ("take", fact.take != Take::One),
        ("tool", !fact.tool.is_empty()),
        ("arguments", !fact.arguments.is_empty()),
        ("pointer", !fact.pointer.is_empty()),
        ("how", fact.how.is_some()),
        ("of", !fact.of.is_empty()),
    ];
    let (must, may): (&[&str], &[&str]) = match fact.from {
        Origin::Question => (&[], &["pattern"]),
        Origin::AsOf => (&[], &[]),
        Origin::Rule => (&["value"], &[]),
        Origin::Memory => (&["collection"], &["question", "filter", "fact", "pattern", "take"]),
        Origin::Tool => (&["tool", "pointer"], &["arguments"]),
        Origin::Derived => (&["how", "of"], &[]),
    };
    let from = serde_json::to_value(fact.from).unwrap_or_default();
    let from = from.as_str().unwrap_or_default();
    for (name, is_there) in has {
        if must.contains(&name) && !is_there {
            wrong.push((key.to_owned(), format!("`from = \"{from}\"` needs `{name}`: add it")));
        }
        if is_there && !must.contains(&name) && !may.contains(&name) {
            wrong.push((
                format!("{key}.{name}"),
                format!("`{name}` has no effect with `from = \"{from}\"`: take it out"),
            ));
        }
    }
}

/// What a fact says about its value.
fn value(key: &str, fact: &Fact, wrong: &mut Wrong) {
    let mut refuse = |name: &str, message: String| wrong.push((format!("{key}.{name}"), message));
    if !fact.pattern.is_empty()
        && let Err(message) = pick::pattern(&fact.pattern)
    {
        refuse("pattern", message);
    }
    let is_known = match fact.kind {
        Type::Money => unit::currency(&fact.unit, &fact.unit).is_some(),
        Type::Quantity => unit::find(&fact.unit).is_some(),
        Type::Percent => fact.unit == "%",
        _ => false,
    };
    if !fact.unit.is_empty() && !is_known {
        refuse(
            "unit",
            format!(
                "`{}` is no unit of {}: write a currency such as CNY with money, a unit such as kg with quantity, % with percent",
                fact.unit,
                fact.kind.words()
            ),
        );
    }
    if fact.from == Origin::Rule {
        let expect = Expect { kind: Some(fact.kind), unit: &fact.unit, machine: true };
        if let Err(unread) = read::read(&fact.value, &expect, &TimeZone::UTC) {
            refuse("value", unread.to_string());
        }
    }
}

/// What a fact lacks to be found where it comes from.
fn finds(key: &str, fact: &Fact, wrong: &mut Wrong) {
    let kind = fact.kind;
    let is_memory = fact.from == Origin::Memory;
    let is_count = is_memory && fact.take == Take::Count;
    let is_word = matches!(kind, Type::Text | Type::Bool | Type::Set | Type::Range);
    let all = [
        (
            is_count && !matches!(kind, Type::Number | Type::Quantity),
            "type",
            "a count is a number, or a quantity with its unit".to_owned(),
        ),
        (
            is_memory && !is_count && fact.fact.is_empty() == fact.pattern.is_empty(),
            "fact",
            "what a unit states is named by `fact`, or found by `pattern`: give one of the two"
                .to_owned(),
        ),
        (
            is_memory && fact.question.is_empty() && fact.filter.is_empty(),
            "question",
            "asks the memory for everything: give `question` or `filter`".to_owned(),
        ),
        (
            fact.from == Origin::Question && fact.pattern.is_empty() && is_word,
            "pattern",
            format!("{} is found in a question only by a `pattern`: add one", kind.words()),
        ),
        (
            fact.from == Origin::Tool && !fact.pointer.starts_with('/'),
            "pointer",
            format!("`{}` is no JSON Pointer: begin it with `/`, as in `/total`", fact.pointer),
        ),
        (
            fact.from == Origin::AsOf && !matches!(kind, Type::Date | Type::Instant),
            "type",
            "the time asked about is a date or an instant".to_owned(),
        ),
    ];
    let faults = all.into_iter().filter(|(is_wrong, ..)| *is_wrong);
    wrong.extend(faults.map(|(_, name, message)| (format!("{key}.{name}"), message)));
}

/// The facts that a fact needs, which must be there and must not need it back.
fn needs(rule: &Rule, (key, name): (&str, &str), fact: &Fact, wrong: &mut Wrong) {
    let mut seen = BTreeSet::new();
    let mut open = needed(fact);
    while let Some(one) = open.pop() {
        if one == name {
            wrong.push((
                key.to_owned(),
                format!("`{name}` needs itself, by way of others: break the circle"),
            ));
            return;
        }
        match rule.facts.get(&one) {
            None => wrong.push((
                key.to_owned(),
                format!(
                    "needs `{one}`, which is no fact of this rule: declare it under [facts.{one}]"
                ),
            )),
            Some(fact) if seen.insert(one) => open.extend(needed(fact)),
            Some(_) => {}
        }
    }
    let count = fact.of.len();
    let fits = match fact.how {
        None => true,
        Some(How::Sum) => count >= 2,
        Some(_) => count == 2,
    };
    if !fits {
        wrong.push((
            format!("{key}.of"),
            format!("has {count} facts: a sum takes two or more, the others take two"),
        ));
    }
}

fn needed(fact: &Fact) -> Vec<String> {
    fn texts(json: &serde_json::Value, found: &mut Vec<String>) {
        match json {
            serde_json::Value::String(text) => found.extend(fact::holes(text).map(str::to_owned)),
            serde_json::Value::Array(all) => all.iter().for_each(|one| texts(one, found)),
            serde_json::Value::Object(all) => all.values().for_each(|one| texts(one, found)),
            _ => {}
        }
    }
    let mut found = fact.of.clone();
    found.extend(fact::holes(&fact.question).map(str::to_owned));
    fact.filter.values().chain(fact.arguments.values()).for_each(|one| texts(one, &mut found));
    found
}

/// Two facts that would take the same value of a question.
fn alike(rule: &Rule, wrong: &mut Wrong) {
    let plain = |fact: &Fact| fact.from == Origin::Question && fact.pattern.is_empty();
    let all: Vec<(&String, &Fact)> = rule.facts.iter().filter(|(_, fact)| plain(fact)).collect();
    for (at, (name, fact)) in all.iter().enumerate() {
        let twin = all.iter().take(at).find(|(_, other)| other.kind == fact.kind);
        if let Some((other, _)) = twin {
            wrong.push((format!("facts.{name}"), format!("takes the same value of a question as `{other}`: tell them apart by a `pattern`")));
        }
    }
}

fn decide(rule: &Rule, wrong: &mut Wrong) {
    let decide = &rule.decide;
    if decide.all.is_empty() == decide.any.is_empty() {
        wrong.push((
            "decide".to_owned(),
            "needs `all` or `any`, one of the two, with at least one comparison".to_owned(),
        ));
    }
    for one in decide.all.iter().chain(&decide.any) {
        let (left, right) = (rule.facts.get(&one.left), rule.facts.get(&one.right));
        for (name, fact) in [(&one.left, left), (&one.right, right)] {
            if fact.is_none() {
                wrong.push(("decide".to_owned(), format!("compares `{name}`, which is no fact of this rule: declare it under [facts.{name}]")));
            }
        }
        let Some((left, right)) = left.zip(right) else { continue };
        if let Some((left, right)) = sample(left).zip(sample(right))
            && let Err(refused) = compare::compare(&left, one.operator, &right, &TimeZone::UTC)
            && !matches!(refused, Refused::Inexact { .. })
        {
            wrong.push((
                "decide".to_owned(),
                format!(
                    "`{} {} {}` cannot be compared: {refused}",
                    one.left, one.operator, one.right
                ),
            ));
        }
    }
    let used = used(rule);
    for name in rule.facts.keys().filter(|name| !used.contains(*name)) {
        wrong.push((
            format!("facts.{name}"),
            format!("`{name}` is used by nothing: compare it, or take it out"),
        ));
    }
}

/// The facts that comparisons and answers lead to.
fn used(rule: &Rule) -> BTreeSet<String> {
    let mut used = BTreeSet::new();
    let compared = rule.decide.all.iter().chain(&rule.decide.any);
    let mut open: Vec<String> =
        compared.flat_map(|one| [one.left.clone(), one.right.clone()]).collect();
    let words = rule.then.answer.values().chain(rule.otherwise.answer.values());
    open.extend(words.flat_map(|text| fact::holes(text)).map(str::to_owned));
    while let Some(one) = open.pop() {
        if let Some(fact) = rule.facts.get(&one)
            && used.insert(one)
        {
            open.extend(needed(fact));
        }
    }
    used
}

/// A value such as the fact will have; `None` where that is not certain.
fn sample(fact: &Fact) -> Option<Value> {
    if fact.from == Origin::Rule {
        let expect = Expect { kind: Some(fact.kind), unit: &fact.unit, machine: true };
        return read::read(&fact.value, &expect, &TimeZone::UTC).ok();
    }
    let text = match fact.kind {
        Type::Number => "1".to_owned(),
        Type::Percent => "1%".to_owned(),
        Type::Money | Type::Quantity if !fact.unit.is_empty() => format!("1 {}", fact.unit),
        Type::Date => "2026-01-01".to_owned(),
        Type::Instant => "2026-01-01T00:00:00Z".to_owned(),
        Type::Bool => "true".to_owned(),
        Type::Text => "a".to_owned(),
        Type::Money | Type::Quantity | Type::Set | Type::Range => return None,
    };
    let expect = Expect { kind: Some(fact.kind), unit: "", machine: true };
    read::read(&text, &expect, &TimeZone::UTC).ok()
}

fn outcome(rule: &Rule, key: &str, outcome: &Outcome, wrong: &mut Wrong) {
    if outcome.decision.trim().is_empty() {
        wrong.push((
            format!("{key}.decision"),
            "is empty: say it in a word such as permitted".to_owned(),
        ));
    }
    for language in ["en", "zh"] {
        let text = outcome.answer.get(language).map_or("", String::as_str);
        if text.trim().is_empty() || text.chars().count() > TEXT {
            wrong.push((
                format!("{key}.answer.{language}"),
                format!("needs words in `{language}`, at most {TEXT} characters"),
            ));
        }
    }
    for (language, text) in &outcome.answer {
        let known = |name: &&str| *name == "as_of" || rule.facts.contains_key(*name);
        if let Some(name) = fact::holes(text).find(|name| !known(name)) {
            wrong.push((
                format!("{key}.answer.{language}"),
                format!("`{{{name}}}` is no fact of this rule"),
            ));
        }
    }
}

/// A key with the line on which it stands, or its table.
pub(super) fn place(text: &str, key: &str) -> String {
    let mut parts: Vec<&str> = key.split('.').collect();
    let mut behind: Vec<&str> = Vec::new();
    while !parts.is_empty() {
        let table = format!("[{}]", parts.join("."));
        let header = text.lines().position(|line| line.trim().replace(' ', "") == table);
        if let Some(start) = header {
            return format!(
                "line {}, `{key}`",
                inside(text, start + 1, &behind).unwrap_or(start) + 1
            );
        }
        if let Some(last) = parts.pop() {
            behind.insert(0, last);
        }
    }
    match inside(text, 0, &behind) {
        Some(line) => format!("line {}, `{key}`", line + 1),
        None => format!("`{key}`"),
    }
}

/// The line of a key below a table's header, before the next header.
fn inside(text: &str, start: usize, key: &[&str]) -> Option<usize> {
    let full = key.join(".");
    let first = key.first().copied().unwrap_or_default();
    let is = |line: &str, name: &str| {
        !name.is_empty()
            && line.split_once('=').is_some_and(|(key, _)| key.trim().replace(' ', "") == name)
    };
    let lines = || {
        text.lines()
            .enumerate()
            .skip(start)
            .take_while(|(_, line)| !line.trim_start().starts_with('['))
    };
    let found = lines().find(|(_, line)| is(line, &full));
    let found = found.or_else(|| lines().find(|(_, line)| is(line, first)));
    found.map(|(line, _)| line)
}
