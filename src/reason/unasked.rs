//! Arguments that nobody asked for: a small model fills in what it was not told, with the example of a schema
//! for an id and with filters for what is optional. A call with such an id would do something to, or give the
//! answer of, something else, so it is refused once; of a filter it is told where the result is empty.

use regex::Regex;
use serde_json::{Map, Value};

use super::drive::Drive;
use super::errand::Errand;
use super::event::Action;
use super::rules;
use crate::catalog::Tool;
use crate::evidence::{ids, is_from_nowhere, is_id};
use crate::normalize::Reply;

/// Most texts of the arguments of one call that are looked at.
const TEXTS: usize = 64;
/// Most ids of the question that are named.
const NAMED: usize = 4;
/// What is said of such an id.
const NOWHERE: &str = "stands neither in the question nor in any result";

impl Drive {
    /// Why a call is refused for an id from nowhere; `None` where it is made again.
    pub(super) fn made_up(&self, errand: &Errand, action: &Action, tool: &Tool) -> Option<String> {
        if errand.task == rules::TASK {
            return None;
        }
        let arguments: Value = serde_json::from_str(&action.arguments).ok()?;
        let mut texts = Vec::new();
        gather(&arguments, &mut texts);
        texts.retain(|text| is_id(text));
        if texts.is_empty() {
            return None;
        }
        let mut known = self.knowable(errand);
        listed(&tool.input_schema, &mut known);
        let known = known.iter().map(String::as_str);
        let id = texts.into_iter().find(|text| is_from_nowhere(text, &known))?;
        // Once for each tool: what it would look up it may not cancel.
        let told = format!("`{id}` of the call of `{}` {NOWHERE}", tool.name);
        let was_told = self.log.story(|story| {
            story.with(&errand.task, |thread| thread.is_some_and(|thread| thread.heard(&told)))
        });
        let named: Vec<String> =
            ids(&errand.question).take(NAMED).map(|(_, id)| format!("`{id}`")).collect();
        let there = match named.is_empty() {
            true => String::new(),
            false => format!(" The question names {}.", named.join(", ")),
        };
        (!was_told).then(|| {
            format!(
                "{told}.{there} Call a tool that takes what is known, or make this very call again if it is \
                 what was asked for"
            )
        })
    }

    /// What a model is told of an empty result whose call was narrowed by what nobody asked for.
    pub(super) fn narrowed(
        &self,
        errand: &Errand,
        action: &Action,
        (tool, reply): (&Tool, &Reply),
    ) -> Option<String> {
        if reply.error.is_some() || errand.task == rules::TASK || !is_empty(&reply.data) {
            return None;
        }
        let arguments: Map<String, Value> = serde_json::from_str(&action.arguments).ok()?;
        let required = tool.input_schema.get("required").and_then(Value::as_array);
        let is_required =
            |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
        let known: Vec<String> =
            self.knowable(errand).iter().map(|text| text.to_lowercase()).collect();
        let is_known = |text: &str| known.iter().any(|known| known.contains(&text.to_lowercase()));
        let names: Vec<String> = arguments
            .iter()
            .filter(|(name, value)| {
                !is_required(name) && value.as_str().is_some_and(|text| !is_known(text))
            })
            .map(|(name, _)| format!("`{name}`"))
            .collect();
        (!names.is_empty()).then(|| {
            format!(
                "nothing was found, with {}, which can be left out and which nothing asked for: call again \
                 without",
                names.join(" and ")
            )
        })
    }

    /// Whether what is known can fill the arguments that a tool requires: a text with a pattern needs a word
    /// that fits it.
    pub(super) fn can_fill(&self, errand: &Errand, tool: &Tool) -> bool {
        let required = tool.input_schema.get("required").and_then(Value::as_array);
        let mut patterns = required.into_iter().flatten().filter_map(|name| {
            let property = tool.input_schema.get("properties")?.get(name.as_str()?)?;
            Regex::new(property.get("pattern")?.as_str()?).ok()
        });
        let known = self.knowable(errand);
        let words = || known.iter().flat_map(|text| text.split(|c| !is_of_word(c)));
        patterns.all(|pattern| words().any(|word| pattern.is_match(word)))
    }

    /// What a model can know an argument from: the question, what is given with it, evidence.
    fn knowable(&self, errand: &Errand) -> Vec<String> {
        let proof = self.proof();
        let items = &proof.trace().evidence;
        let stated = items.iter().flat_map(|item| {
            std::iter::once(&item.text).chain(item.facts.iter().map(|fact| &fact.value))
        });
        std::iter::once(&errand.question).chain(&errand.given).chain(stated).cloned().collect()
    }
}

/// Whether something was looked for and not found: lists that are all empty, or nothing at all.
fn is_empty(data: &Value) -> bool {
    fn lists(data: &Value, found: &mut (usize, usize)) {
        match data {
            Value::Array(items) => {
                *found = (found.0 + 1, found.1 + items.len());
                items.iter().for_each(|item| lists(item, found));
            }
            Value::Object(members) => members.values().for_each(|member| lists(member, found)),
            _ => {}
        }
    }
    let mut found = (0, 0);
    lists(data, &mut found);
    data.is_null() || matches!(found, (1.., 0))
}

/// Whether a character can stand in a value that is one word.
fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '/' | '@' | '+')
}

fn gather<'v>(value: &'v Value, texts: &mut Vec<&'v str>) {
    match value {
        Value::String(text) if texts.len() < TEXTS => texts.push(text),
        Value::Array(items) => items.iter().for_each(|item| gather(item, texts)),
        Value::Object(members) => members.values().for_each(|member| gather(member, texts)),
        _ => {}
    }
}

/// The texts that a schema lists as those there are, such as `sha256` of a digest: its examples are none.
fn listed(schema: &Value, texts: &mut Vec<String>) {
    match schema {
        Value::Array(items) => items.iter().for_each(|item| listed(item, texts)),
        Value::Object(members) => members.iter().for_each(|(key, value)| match key.as_str() {
            "enum" | "const" => {
                let mut found = Vec::new();
                gather(value, &mut found);
                texts.extend(found.into_iter().map(str::to_owned));
            }
            _ => listed(value, texts),
        }),
        _ => {}
    }
}
