//! A JSON Schema that is no tool's: a schema in, a [`Shape`] that values are held against out. Offline,
//! and bounded as the schemas of tools are.

use jsonschema::Validator;
use serde_json::Value;

use super::validator::{collect_errors, compile};

/// Most places that are told of one value.
const MOST: usize = 12;
/// Longest message, in characters.
const MESSAGE: usize = 240;

/// A compiled schema.
#[derive(Debug)]
pub(crate) struct Shape {
    root: Validator,
}

/// One place where a value is not what the schema says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Misfit {
    /// JSON Pointer of the place.
    pub(crate) pointer: String,
    /// What was expected and what came, in one line.
    pub(crate) message: String,
}

impl Shape {
    /// Compiles a schema. The error says which part of it cannot be used.
    pub(crate) fn compile(schema: &Value) -> Result<Self, String> {
        Ok(Self { root: compile(schema, &mut None)? })
    }

    /// Where a value does not fit; empty for one that does.
    pub(crate) fn check(&self, value: &Value) -> Vec<Misfit> {
        let errors = collect_errors(&self.root, value).into_iter().take(MOST);
        let misfit = |error: jsonschema::ValidationError<'_>| Misfit {
            pointer: error.instance_path().as_str().to_owned(),
            message: error.to_string().chars().take(MESSAGE).collect::<String>().replace('\n', " "),
        };
        errors.map(misfit).collect()
    }
}

/// Whether a value fits a schema; if not, why the schema cannot be used, or where the value does not
/// fit, in one line.
pub(crate) fn fits(schema: &Value, value: &Value) -> Result<(), String> {
    let misfits = Shape::compile(schema)?.check(value);
    let told = |one: &Misfit| match one.pointer.as_str() {
        "" => one.message.clone(),
        pointer => format!("{pointer}: {}", one.message),
    };
    let told: Vec<String> = misfits.iter().map(told).collect();
    if told.is_empty() { Ok(()) } else { Err(told.join("; ")) }
}
