//! Compiles one tool's schemas: a [`Tool`] in, a [`Pair`] or the reason why not out. Offline,
//! with regular expressions whose cost is bounded. Checks no call by itself.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use jsonschema::{Draft, Keyword, PatternOptions, Registry, ValidationError, Validator};
use serde_json::{Map, Value, json};

use super::shallow::{Shallow, flatten};
use crate::catalog::Tool;
use crate::decimal::compare_values;

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
/// Values in arguments beyond which only the first error is looked for: each costs memory.
const MAX_COLLECTED: usize = 50_000;
/// Most errors looked at.
const MAX_ERRORS: usize = 2_000;
/// Base URI under which a tool's schema refers to itself.
const BASE: &str = "json-schema:///tool";

/// The validators of one tool.
#[derive(Debug)]
pub(super) struct Pair {
    /// Of the arguments.
    pub(super) input: Compiled,
    /// Of the data of a successful reply.
    pub(super) output: Option<Compiled>,
}

impl Pair {
    /// Compiles the schemas of `tool`. The error says which part of which schema cannot be used.
    pub(super) fn build(tool: &Arc<Tool>) -> Result<Self, String> {
        let build = |side, name| {
            Compiled::build(tool, side)
                .map_err(|why| format!("the {name} schema cannot be used: {why}"))
        };
        Ok(Self {
            input: build(Side::Input, "input")?,
            output: match tool.output_schema {
                Some(_) => Some(build(Side::Output, "output")?),
                None => None,
            },
        })
    }
}

#[derive(Debug, Clone, Copy)]
enum Side {
    Input,
    Output,
}

/// One schema of a tool, compiled.
pub(super) struct Compiled {
    tool: Arc<Tool>,
    side: Side,
    /// The schema as compiled, where it is not the tool's own.
    rewritten: Option<Value>,
    root: Validator,
    /// Whether any part of the schema is marked as secret.
    pub(super) sensitive: bool,
    /// The form that tells where errors are, made at the first error.
    shallow: OnceLock<Option<Shallow>>,
    branches: Mutex<HashMap<String, Option<Arc<Validator>>>>,
}

impl fmt::Debug for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compiled")
            .field("tool", &self.tool.name)
            .field("side", &self.side)
            .finish_non_exhaustive()
    }
}

impl Compiled {
    fn build(tool: &Arc<Tool>, side: Side) -> Result<Self, String> {
        let mut rewritten = None;
        let schema = side_of(tool, side);
        Ok(Self {
            root: compile(schema, &mut rewritten)?,
            sensitive: any_object(schema, &is_sensitive),
            tool: Arc::clone(tool),
            side,
            rewritten,
            shallow: OnceLock::new(),
            branches: Mutex::default(),
        })
    }

    /// The schema as compiled.
    pub(super) fn schema(&self) -> &Value {
        self.rewritten.as_ref().unwrap_or_else(|| side_of(&self.tool, self.side))
    }

    /// Whether `value` fits the whole schema.
    pub(super) fn is_valid(&self, value: &Value) -> bool {
        self.root.is_valid(value)
    }

    /// Whether `value` fits the part of the schema at `pointer`.
    pub(super) fn fits(&self, pointer: &str, value: &Value) -> bool {
        if pointer.is_empty() {
            return self.is_valid(value);
        }
        self.branch(pointer).is_some_and(|validator| validator.is_valid(value))
    }

    /// The first error against the whole schema.
    pub(super) fn first_error<'v>(&self, value: &'v Value) -> Option<ValidationError<'v>> {
        self.root.validate(value).err()
    }

    /// The validator of the part of the schema at `pointer`, compiled on first use.
    fn branch(&self, pointer: &str) -> Option<Arc<Validator>> {
        self.cached(&format!("deep {pointer}"), || compile_part(self.schema(), pointer))
    }

    fn shallow(&self) -> Option<&Shallow> {
        self.shallow.get_or_init(|| flatten(self.schema())).as_ref()
    }

    /// The schema that the errors of [`Compiled::locator`] speak of.
    pub(super) fn located_schema(&self) -> &Value {
        self.shallow().map_or_else(|| self.schema(), |shallow| &shallow.schema)
    }

    /// Where the place at `pointer` of the schema stands in [`Compiled::located_schema`].
    pub(super) fn located(&self, pointer: &str) -> String {
        self.shallow().map_or_else(|| pointer.to_owned(), |shallow| shallow.place_of(pointer))
    }

    /// The validator to collect errors with, of the part of [`Compiled::located_schema`] at
    /// `pointer`. Its errors say nothing of what is inside alternatives.
    pub(super) fn locator(&self, pointer: &str) -> Option<Arc<Validator>> {
        self.cached(&format!("shallow {pointer}"), || compile_part(self.located_schema(), pointer))
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

/// The errors of `value`, at most one when it is so large that all would be too many to hold.
pub(super) fn collect_errors<'v>(
    validator: &'v Validator,
    value: &'v Value,
) -> Vec<ValidationError<'v>> {
    if count(value) > MAX_COLLECTED {
        return validator.validate(value).err().into_iter().collect();
    }
    validator.iter_errors(value).take(MAX_ERRORS).collect()
}

/// How many values `value` holds, itself included.
pub(super) fn count(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(count).sum::<usize>(),
        Value::Object(map) => 1 + map.values().map(count).sum::<usize>(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
    }
}

fn side_of(tool: &Tool, side: Side) -> &Value {
    match (side, &tool.output_schema) {
        (Side::Output, Some(schema)) => schema,
        (Side::Output, None) | (Side::Input, _) => &tool.input_schema,
    }
}

fn compile_part(schema: &Value, pointer: &str) -> Option<Validator> {
    let registry =
        Registry::new().add(BASE, schema).and_then(jsonschema::RegistryBuilder::prepare).ok()?;
    let reference = format!("{BASE}#{}", encode(pointer));
    options().with_registry(&registry).build(&json!({"$ref": reference})).ok()
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
pub(super) fn compile(schema: &Value, rewritten: &mut Option<Value>) -> Result<Validator, String> {
    if deeper_than(schema, MAX_SCHEMA_DEPTH) {
        return Err(format!("it is nested more than {MAX_SCHEMA_DEPTH} levels deep"));
    }
    let mut soft = schema.clone();
    let bounded = add_ranges(&mut soft);
    let first = match options().build(&soft) {
        Ok(validator) => {
            *rewritten = bounded.then_some(soft);
            return Ok(validator);
        }
        Err(error) => describe(&error),
    };
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
                todo.extend(parts_of(map));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    moved
}

/// Adds the range of `format: int32` and `int64` as bounds, where a schema says nothing else of that
/// side, nothing that contradicts, and lists no values. Tells whether there was any.
fn add_ranges(schema: &mut Value) -> bool {
    let mut added = false;
    let mut todo = vec![schema];
    while let Some(part) = todo.pop() {
        match part {
            Value::Array(items) => todo.extend(items),
            Value::Object(map) => {
                for (keyword, bound) in range(map) {
                    map.insert(keyword.to_owned(), bound);
                    added = true;
                }
                todo.extend(parts_of(map));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    added
}

/// The bounds that a schema's format adds to its own.
fn range(map: &Map<String, Value>) -> Vec<(&'static str, Value)> {
    let (low, high) = match map.get("format").and_then(Value::as_str) {
        Some("int32") => (json!(i32::MIN), json!(i32::MAX)),
        Some("int64") => (json!(i64::MIN), json!(i64::MAX)),
        Some(_) | None => return Vec::new(),
    };
    if ["enum", "const"].iter().any(|key| map.contains_key(*key)) {
        return Vec::new();
    }
    let (below, above) = (["minimum", "exclusiveMinimum"], ["maximum", "exclusiveMaximum"]);
    let free = |own: [&str; 2], others: [&str; 2], bound: &Value, outside| {
        let [one, two] = others;
        let contradicts = |key: &str| {
            map.get(key).and_then(|value| compare_values(value, bound)) == Some(outside)
        };
        !own.iter().any(|key| map.contains_key(*key))
            && !["default", one, two].into_iter().any(contradicts)
    };
    let mut bounds = Vec::new();
    if free(below, above, &low, Ordering::Less) {
        bounds.push(("minimum", low));
    }
    if free(above, below, &high, Ordering::Greater) {
        bounds.push(("maximum", high));
    }
    bounds
}

/// What of a schema is a schema, or a list of schemas. A property may be called as a keyword is.
fn parts_of(schema: &mut Map<String, Value>) -> Vec<&mut Value> {
    let mut parts = Vec::new();
    for (key, part) in schema.iter_mut().filter(|(key, _)| !holds_data(key)) {
        if names_schemas(key) {
            parts.extend(part.as_object_mut().into_iter().flat_map(Map::values_mut));
        } else {
            parts.push(part);
        }
    }
    parts
}

/// Whether the member `key` of a schema holds schemas by names that their author chose.
pub(super) fn names_schemas(key: &str) -> bool {
    matches!(
        key,
        "properties"
            | "patternProperties"
            | "$defs"
            | "definitions"
            | "dependentSchemas"
            | "dependencies"
    )
}

/// Whether the member `key` of a schema holds values, not schemas.
pub(super) fn holds_data(key: &str) -> bool {
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
pub(super) fn encode(pointer: &str) -> String {
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
