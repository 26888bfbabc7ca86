//! Tests of the dialects: schemas in, definitions that each provider's published rules take, and calls
//! that come back as they were meant.

mod checks;
mod documents;
mod forms;
mod gemini;
mod kept;
mod lent;
mod model;
mod names;
mod strict;
mod trips;

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::{Dialect, Export, export};
use crate::catalog::Tool;
use crate::schema::tests::tool;

/// Arguments in the tool's own terms.
fn restore(tool: &Tool, dialect: Dialect, arguments: Value) -> Value {
    super::restore(tool, dialect, Cow::Owned(arguments)).into_owned()
}

/// A tool whose arguments have these members.
#[expect(clippy::needless_pass_by_value, reason = "tests hand over what `json!` makes")]
fn with(properties: Value) -> Tool {
    tool(json!({ "type": "object", "properties": properties }))
}

/// Exports a tool and holds the definition against the provider's rules.
fn export_well(tool: &Tool, dialect: Dialect) -> Export {
    let before = tool.input_schema.to_string();
    let export = export(tool, dialect);
    assert_eq!(
        checks::check(&export.definition, dialect),
        Vec::<String>::new(),
        "{dialect} {export:#?}"
    );
    assert_eq!(tool.input_schema.to_string(), before);
    export
}

/// The exported schema of the arguments.
fn schema(export: &Export) -> Value {
    let definition = &export.definition;
    let inner = definition.get("function").unwrap_or(definition);
    ["parameters", "input_schema"]
        .iter()
        .find_map(|key| inner.get(*key))
        .cloned()
        .unwrap_or(json!({}))
}

/// The exported schemas of the members.
fn members(tool: &Tool, dialect: Dialect) -> Map<String, Value> {
    let export = export_well(tool, dialect);
    schema(&export)["properties"].as_object().cloned().unwrap_or_default()
}

/// The exported schema of each member, found by its own name.
fn member(tool: &Tool, dialect: Dialect, name: &str) -> (String, Value) {
    let told = format!("`{name}`");
    members(tool, dialect)
        .into_iter()
        .find(|(key, schema)| {
            key == name || schema["description"].as_str().is_some_and(|text| text.contains(&told))
        })
        .expect("the member is exported")
}

fn lost(export: &Export, pointer: &str) -> bool {
    export.losses.iter().any(|loss| loss.pointer == pointer)
}
