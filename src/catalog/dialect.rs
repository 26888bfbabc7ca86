//! A tool in the terms of a model host, and a call that its model writes back in the tool's own terms.
//! A [`Tool`] in, its definition and what was lost out; arguments in, arguments out. Checks nothing.

mod names;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::Tool;
pub use crate::call::Dialect;
pub use names::exported_name;

/// A tool as one provider's model hosts take it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Export {
    /// The name that the model sees; a function of the tool's own name.
    pub name: String,
    /// The provider's own tool object.
    pub definition: Value,
    /// What it does not say as the input schema does.
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
    let name = exported_name(&tool.name, dialect).into_owned();
    let definition = wrap(dialect, &name, &tool.description, Some(tool.input_schema.clone()), None);
    Export { name, definition, losses: Vec::new() }
}

/// Puts arguments that a provider's model wrote into the tool's own terms.
pub fn restore(_tool: &Tool, _dialect: Dialect, arguments: Value) -> Value {
    arguments
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
    let key = match dialect {
        Dialect::Anthropic => "input_schema",
        _ => "parameters",
    };
    if let Some(schema) = schema {
        object.insert(key.to_owned(), schema);
    }
    if let Some(strict) = strict {
        object.insert("strict".to_owned(), strict.into());
    }
    match dialect {
        Dialect::Anthropic | Dialect::Gemini => Value::Object(object),
        _ => json!({ "type": "function", "function": object }),
    }
}
