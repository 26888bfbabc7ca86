//! Ids in the arguments of a call that stand in nothing that is known: a small model fills in what it was not
//! told, with the example of a schema for a value. Such a reading call would give the answer of something
//! else, so it is refused once.

use serde_json::Value;

use super::drive::Drive;
use super::errand::Errand;
use super::event::Action;
use super::rules;
use crate::catalog::{Risk, Tool};
use crate::evidence::is_from_nowhere;

/// Most texts of the arguments of one call that are looked at.
const TEXTS: usize = 64;
/// What is said of such an id.
const NOWHERE: &str = "stands neither in the question nor in any result";

impl Drive {
    /// Why a call that only reads is refused for an id from nowhere; `None` where it is made again.
    pub(super) fn made_up(&self, errand: &Errand, action: &Action, tool: &Tool) -> Option<String> {
        if tool.risk != Risk::Read || errand.task == rules::TASK {
            return None;
        }
        let arguments: Value = serde_json::from_str(&action.arguments).ok()?;
        let mut texts = Vec::new();
        gather(&arguments, &mut texts);
        let proof = self.proof();
        let items = &proof.trace().evidence;
        let stated = items.iter().flat_map(|item| {
            let facts = item.facts.iter().map(|fact| fact.value.as_str());
            std::iter::once(item.text.as_str()).chain(facts)
        });
        let asked = std::iter::once(errand.question.as_str());
        let mut listed = Vec::new();
        choices(&tool.input_schema, &mut listed);
        let known =
            asked.chain(errand.given.iter().map(String::as_str)).chain(stated).chain(listed);
        let id = texts.into_iter().find(|text| is_from_nowhere(text, &known))?;
        let told = format!("`{id}` {NOWHERE}");
        let was_told = self.log.story(|story| {
            story.with(&errand.task, |thread| thread.is_some_and(|thread| thread.heard(&told)))
        });
        (!was_told).then(|| {
            format!(
                "{told}: call the tool that tells it first, or make this very call again if it is what was \
                 asked for"
            )
        })
    }
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
fn choices<'v>(schema: &'v Value, listed: &mut Vec<&'v str>) {
    match schema {
        Value::Array(items) => items.iter().for_each(|item| choices(item, listed)),
        Value::Object(members) => members.iter().for_each(|(key, value)| match key.as_str() {
            "enum" | "const" => gather(value, listed),
            _ => choices(value, listed),
        }),
        _ => {}
    }
}
