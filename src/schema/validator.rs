//! Compiles one tool's schemas: a [`Tool`] in, a [`Compiled`] or the reason why not out. Offline,
//! with regular expressions whose cost is bounded. Checks no call by itself.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use jsonschema::{Draft, Keyword, PatternOptions, Registry, ValidationError, Validator};
use serde_json::{Map, Value, json};

use crate::catalog::Tool;

/// Keyword under which a pattern with look-around or back-references is compiled.
pub(super) const HARD_PATTERN: &str = "x-switchboard-hard-pattern";
/// Deepest schema that is compiled; compilation recurses.
const MAX_SCHEMA_DEPTH: usize = 128;
/// Backtracking steps after which a hard pattern counts as not matched.
const MAX_BACKTRACKS: usize = 10_000;
/// Longest string, in bytes, that is tried against a hard pattern: each step may read it all.
const MAX_HARD_TEXT: usize = 4096;
/// Largest compiled regular expression, in bytes.
const MAX_REGEX: usize = 4 << 20;
/// Places of one schema for which a validator of their own is kept.
const MAX_BRANCHES: usize = 1024;
/// Base URI under which a tool's schema refers to itself.
const BASE: &str = "json-schema:///tool";

/// The validators of one tool.
pub(super) struct Compiled {
    tool: Arc<Tool>,
    /// The input schema as compiled, where it is not the tool's own.
    rewritten: Option<Value>,
    pub(super) root: Validator,
    pub(super) output: Option<Validator>,
    /// Whether any part of the input is marked as secret.
    pub(super) sensitive: bool,
    branches: Mutex<HashMap<String, Option<Arc<Validator>>>>,
}

impl fmt::Debug for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compiled")
            .field("tool", &self.tool.name)
            .finish_non_exhaustive()
    }
}

impl Compiled {
    /// Compiles the schemas of `tool`. The error says which part of which schema cannot be used.
    pub(super) fn build(tool: &Arc<Tool>) -> Result<Self, String> {
        let mut rewritten = None;
        let root = compile(&tool.input_schema, &mut rewritten)
            .map_err(|why| format!("the input schema cannot be used: {why}"))?;
        let output = match &tool.output_schema {
            None => None,
            Some(schema) => Some(
                compile(schema, &mut None)
                    .map_err(|why| format!("the output schema cannot be used: {why}"))?,
            ),
        };
        Ok(Self {
            sensitive: any_object(&tool.input_schema, &is_sensitive),
            tool: Arc::clone(tool),
            rewritten,
            root,
            output,
            branches: Mutex::default(),
        })
    }

    /// The input schema as compiled.
    pub(super) fn schema(&self) -> &Value {
        self.rewritten.as_ref().unwrap_or(&self.tool.input_schema)
    }

    /// The validator of the part of the input schema at `pointer`, compiled on first use.
    pub(super) fn branch(&self, pointer: &str) -> Option<Arc<Validator>> {
        self.cached(pointer, || {
            let registry = Registry::new()
                .add(BASE, self.schema())
                .and_then(jsonschema::RegistryBuilder::prepare)
                .ok()?;
            let reference = format!("{BASE}#{}", encode(pointer));
            options()
                .with_registry(&registry)
                .build(&json!({"$ref": reference}))
                .ok()
        })
    }

    /// Whether `key` matches the regular expression `pattern` of the schema.
    pub(super) fn matches(&self, pattern: &str, key: &str) -> bool {
        self.cached(&format!("pattern {pattern}"), || {
            options().build(&json!({"pattern": pattern})).ok()
        })
        .is_some_and(|validator| validator.is_valid(&Value::String(key.to_owned())))
    }

    fn cached(
        &self,
        name: &str,
        build: impl FnOnce() -> Option<Validator>,
    ) -> Option<Arc<Validator>> {
        let lock = || self.branches.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = lock().get(name) {
            return found.clone();
        }
        let built = build().map(Arc::new);
        let mut branches = lock();
        if branches.len() < MAX_BRANCHES {
            branches.insert(name.to_owned(), built.clone());
        }
        built
    }
}

/// Whether a schema says that its value is a secret.
pub(super) fn is_sensitive(schema: &Map<String, Value>) -> bool {
    schema.get("writeOnly") == Some(&Value::Bool(true))
        || schema.get("format").and_then(Value::as_str) == Some("password")
}

fn options<'r>() -> jsonschema::ValidationOptions<'r> {
    jsonschema::options()
        .with_draft(Draft::Draft202012)
        .with_pattern_options(PatternOptions::regex().size_limit(MAX_REGEX))
        .with_keyword(HARD_PATTERN, hard_pattern)
        .should_validate_formats(true)
        .should_ignore_unknown_formats(true)
        .offline()
}

/// Compiles `schema`; `rewritten` receives the form that was compiled when it is another.
fn compile(schema: &Value, rewritten: &mut Option<Value>) -> Result<Validator, String> {
    if deeper_than(schema, MAX_SCHEMA_DEPTH) {
        return Err(format!(
            "it is nested more than {MAX_SCHEMA_DEPTH} levels deep"
        ));
    }
    let first = match options().build(schema) {
        Ok(validator) => return Ok(validator),
        Err(error) => describe(&error),
    };
    let mut soft = schema.clone();
    if !move_hard_patterns(&mut soft) {
        return Err(first);
    }
    let validator = options().build(&soft).map_err(|error| describe(&error))?;
    *rewritten = Some(soft);
    Ok(validator)
}

fn describe(error: &ValidationError<'_>) -> String {
    let place = match error.instance_path().as_str() {
        "" => error.schema_path().as_str(),
        place => place,
    };
    let mut message: String = error.to_string().chars().take(300).collect();
    message = message.replace('\n', " ");
    format!("at `{place}`: {message}")
}

/// Moves each pattern that the linear engine cannot compile, but the bounded one can, to
/// [`HARD_PATTERN`]. Tells whether there was any.
fn move_hard_patterns(schema: &mut Value) -> bool {
    let mut moved = false;
    let mut todo = vec![schema];
    while let Some(part) = todo.pop() {
        match part {
            Value::Array(items) => todo.extend(items),
            Value::Object(map) => {
                if let Some(Value::String(pattern)) = map.get("pattern")
                    && options().build(&json!({"pattern": pattern})).is_err()
                    && hard_regex(pattern).is_ok()
                    && let Some(pattern) = map.shift_remove("pattern")
                {
                    map.insert(HARD_PATTERN.to_owned(), pattern);
                    moved = true;
                }
                todo.extend(
                    map.iter_mut()
                        .filter(|(key, _)| !holds_data(key))
                        .map(|(_, part)| part),
                );
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    moved
}

/// Whether the member `key` of a schema holds values, not schemas.
fn holds_data(key: &str) -> bool {
    matches!(key, "default" | "const" | "enum" | "example" | "examples")
}

fn any_object(schema: &Value, test: &dyn Fn(&Map<String, Value>) -> bool) -> bool {
    let mut todo = vec![schema];
    while let Some(part) = todo.pop() {
        match part {
            Value::Array(items) => todo.extend(items),
            Value::Object(map) if test(map) => return true,
            Value::Object(map) => todo.extend(map.values()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    false
}

fn deeper_than(value: &Value, limit: usize) -> bool {
    let mut todo = vec![(value, 0)];
    while let Some((part, depth)) = todo.pop() {
        if depth > limit {
            return true;
        }
        match part {
            Value::Array(items) => todo.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(map) => todo.extend(map.values().map(|item| (item, depth + 1))),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    false
}

/// A JSON Pointer as a URI fragment.
fn encode(pointer: &str) -> String {
    const KEEP: &percent_encoding::AsciiSet = &percent_encoding::NON_ALPHANUMERIC
        .remove(b'/')
        .remove(b'~')
        .remove(b'-')
        .remove(b'_')
        .remove(b'.')
        .remove(b'$');
    percent_encoding::utf8_percent_encode(pointer, KEEP).to_string()
}

// === impl HardPattern ===

struct HardPattern(fancy_regex::Regex);

fn hard_regex(pattern: &str) -> Result<fancy_regex::Regex, String> {
    fancy_regex::RegexBuilder::new(pattern)
        .backtrack_limit(MAX_BACKTRACKS)
        .delegate_size_limit(MAX_REGEX)
        .build()
        .map_err(|error| error.to_string())
}

fn hard_pattern<'s>(
    _parent: &'s Map<String, Value>,
    value: &'s Value,
    _path: jsonschema::paths::Location,
) -> Result<Box<dyn for<'i> Keyword<'i>>, ValidationError<'s>> {
    let regex = hard_regex(value.as_str().unwrap_or_default()).map_err(ValidationError::custom)?;
    Ok(Box::new(HardPattern(regex)))
}

impl<'i> Keyword<'i> for HardPattern {
    fn validate(&self, instance: &'i Value) -> Result<(), ValidationError<'i>> {
        if self.is_valid(instance) {
            return Ok(());
        }
        Err(ValidationError::custom(self.0.as_str()))
    }

    // What takes too long to match does not match: an unchecked value must not pass.
    fn is_valid(&self, instance: &'i Value) -> bool {
        instance.as_str().is_none_or(|text| {
            text.len() <= MAX_HARD_TEXT && self.0.is_match(text).unwrap_or(false)
        })
    }
}
