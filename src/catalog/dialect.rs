//! A tool in the terms of a model host, and a call that its model writes back in the tool's own terms.
//! A [`Tool`] in, its definition and what was lost out; arguments in, arguments out. Checks nothing.
//! How each dialect maps a schema stands at the top of `copy`, `strict` and `gemini`; how a call comes
//! back, at the top of `restore`.

mod copy;
mod exports;
mod gemini;
mod lent;
mod merge;
mod mould;
mod names;
mod patterns;
mod plan;
mod restore;
mod strict;
#[cfg(test)]
mod tests;
mod text;
mod view;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::Tool;
pub use crate::call::Dialect;
pub use exports::{Exported, Exports};
pub use mould::Mould;
use names::Keys;
pub use names::exported_name;
pub(super) use names::{DOT, is_marked};
pub use plan::Plans;

/// Longest description of a tool that `OpenAI` takes, in characters.
const MAX_DESCRIPTION: usize = 1024;

/// A tool as one provider's model hosts take it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Export {
    /// The name that the model sees; a function of the tool's own name.
    pub name: String,
    /// The provider's own tool object.
    pub definition: Value,
    /// What it does not say as the input schema does, by place.
    pub losses: Vec<Loss>,
}

/// One thing that a dialect cannot say as the input schema does.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Loss {
    /// JSON Pointer of the place in the input schema; empty for the whole.
    pub pointer: String,
    /// The keyword.
    pub keyword: String,
    /// What was left out, or moved to the description.
    pub message: String,
}

/// Describes a tool in a dialect. The same tool gives the same bytes, whatever was exported before.
pub fn export(tool: &Tool, dialect: Dialect) -> Export {
    define((&tool.name, &tool.description), &tool.input_schema, dialect)
}

/// As [`export`], for a name, a description and a schema that are no tool of a catalog.
fn define((own, description): (&str, &str), root: &Value, dialect: Dialect) -> Export {
    let name = exported_name(own, dialect).into_owned();
    // Most tools that are told are never called, so no plan is made and kept for them.
    let keys = &Keys::of_schema(root, dialect);
    let mut told = Vec::new();
    let (schema, strict, mut losses) = match dialect {
        Dialect::Gemini => {
            let (schema, sentences, losses) = gemini::write(root, keys);
            told = sentences;
            (schema, None, losses)
        }
        Dialect::OpenaiStrict => {
            let against = strict::refusal(root);
            if against.is_empty() {
                let (schema, losses) = strict::write(root, keys);
                (Some(schema), Some(true), losses)
            } else {
                let (schema, mut losses) = copy::copy(root, dialect, keys);
                let named =
                    |loss: Loss| Loss { message: format!("`{own}` {}", loss.message), ..loss };
                losses.extend(against.into_iter().map(named));
                (Some(schema), Some(false), losses)
            }
        }
        Dialect::Openai | Dialect::Anthropic | Dialect::Plain => {
            let (schema, losses) = copy::copy(root, dialect, keys);
            (Some(schema), None, losses)
        }
    };
    let mut description = text::describe(description, &told);
    if matches!(dialect, Dialect::Openai | Dialect::OpenaiStrict)
        && description.chars().count() > MAX_DESCRIPTION
    {
        description = description.chars().take(MAX_DESCRIPTION - 1).chain(['…']).collect();
        losses.push(Loss {
            pointer: String::new(),
            keyword: "description".to_owned(),
            message: format!("is cut after {MAX_DESCRIPTION} characters"),
        });
    }
    losses.sort();
    let definition = wrap(dialect, &name, &description, schema, strict);
    Export { name, definition, losses }
}

/// Puts arguments that a provider's model wrote into the tool's own terms: original keys, no nulls for
/// what was only left out, objects and numbers out of texts. What is not of the dialect's making stays
/// as it is.
pub fn restore<'v>(tool: &Tool, dialect: Dialect, arguments: Cow<'v, Value>) -> Cow<'v, Value> {
    restore::restore((&tool.input_schema, dialect), tool.plan(dialect), arguments)
}

/// The arguments that a tool is exported with under another name than their own, by their own.
pub fn exported_keys(tool: &Tool, dialect: Dialect) -> &BTreeMap<String, String> {
    tool.plan(dialect).keys.exported()
}

/// The provider's tool object.
fn wrap(
    dialect: Dialect,
    name: &str,
    description: &str,
    schema: Option<Value>,
    strict: Option<bool>,
) -> Value {
    let mut object = Map::new();
    object.insert("name".to_owned(), name.into());
    object.insert("description".to_owned(), description.into());
    let key = if dialect == Dialect::Anthropic { "input_schema" } else { "parameters" };
    object.extend(schema.map(|schema| (key.to_owned(), schema)));
    object.extend(strict.map(|strict| ("strict".to_owned(), strict.into())));
    match dialect {
        Dialect::Anthropic | Dialect::Gemini => Value::Object(object),
        Dialect::Openai | Dialect::OpenaiStrict | Dialect::Plain => {
            json!({ "type": "function", "function": object })
        }
    }
}
