//! The wording of violations: an error in, words and a piece of schema out. Looks at no schema
//! but the piece it is given.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;
use serde_json::{Map, Value, json};

use crate::schema::validator::HARD_PATTERN;

/// Stands for a secret.
pub(in crate::schema) const MASK: &str = "***";
/// Most values or names listed.
const MAX_LISTED: usize = 20;
/// Longest text quoted, in characters.
const MAX_QUOTED: usize = 100;
/// Longest JSON Pointer reported, in characters.
const MAX_POINTER: usize = 500;
/// Least likeness (0 to 1) at which a name counts as a misspelling of another.
const LIKENESS: f64 = 0.75;

/// The place in words.
pub(in crate::schema) fn named(pointer: &str) -> String {
    if pointer.is_empty() {
        return "the value as a whole".to_owned();
    }
    format!("`{}`", shorten(pointer))
}

/// A JSON Pointer, cut where its names are so long that it helps nobody.
pub(crate) fn short_pointer(pointer: &str) -> String {
    let mut short: String = pointer.chars().take(MAX_POINTER).collect();
    if short.len() < pointer.len() {
        short.push('…');
    }
    short
}

/// `text`, cut after [`MAX_QUOTED`] characters, without control characters.
pub(super) fn shorten(text: &str) -> String {
    let mut short: String = text
        .chars()
        .take(MAX_QUOTED)
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// The name among `names` that `given` is most likely a misspelling of.
pub(in crate::schema) fn nearest<'n>(
    given: &str,
    names: impl Iterator<Item = &'n str>,
) -> Option<&'n str> {
    let fold = |text: &str| -> String {
        let kept = text.chars().filter(|c| c.is_alphanumeric());
        kept.take(MAX_QUOTED).flat_map(char::to_lowercase).collect()
    };
    let wanted = fold(given);
    names
        .take(1000)
        .map(|name| (strsim::jaro_winkler(&wanted, &fold(name)), name))
        .filter(|(likeness, _)| *likeness >= LIKENESS)
        .max_by(|(left, _), (right, _)| left.total_cmp(right))
        .map(|(_, name)| name)
}

pub(super) fn did_you_mean(name: Option<&str>) -> String {
    name.map(|name| format!("; did you mean `{}`", shorten(name))).unwrap_or_default()
}

/// Names in backticks, at most [`MAX_LISTED`].
pub(super) fn list(names: &[&str]) -> String {
    let mut shown: Vec<String> =
        names.iter().take(MAX_LISTED).map(|name| format!("`{}`", shorten(name))).collect();
    if names.len() > MAX_LISTED {
        shown.push(format!("{} more", names.len() - MAX_LISTED));
    }
    shown.join(", ")
}

fn article(name: &str) -> String {
    match name {
        "null" => "null".to_owned(),
        "integer" | "array" | "object" => format!("an {name}"),
        _ => format!("a {name}"),
    }
}

/// Types in words and as schema.
pub(super) fn types(names: &[String]) -> (String, Value) {
    let words: Vec<String> = names.iter().map(|name| article(name)).collect();
    let schema = match names {
        [one] => json!({"type": one}),
        _ => json!({"type": names}),
    };
    (words.join(" or "), schema)
}

/// A value in words, and as it is reported.
pub(super) fn came(value: &Value, sensitive: bool) -> (String, Value) {
    let masked = Value::String(MASK.to_owned());
    match value {
        Value::Null => ("null".to_owned(), Value::Null),
        Value::Object(map) => {
            let words = format!("an object of {} members", map.len());
            (words.clone(), Value::String(words))
        }
        Value::Array(items) => {
            let words = format!("an array of {} items", items.len());
            (words.clone(), Value::String(words))
        }
        Value::String(_) if sensitive => ("a string".to_owned(), masked),
        Value::Number(_) if sensitive => ("a number".to_owned(), masked),
        Value::Bool(_) if sensitive => ("a boolean".to_owned(), masked),
        Value::String(text) => {
            (format!("the string `{}`", shorten(text)), Value::String(shorten(text)))
        }
        Value::Number(number) => (
            format!("the number `{}`", shorten(number.as_str())),
            if number.as_str().len() > MAX_QUOTED {
                Value::String(shorten(number.as_str()))
            } else {
                value.clone()
            },
        ),
        Value::Bool(flag) => (format!("`{flag}`"), value.clone()),
    }
}

/// What came, in the words that fit the failed keyword, and as it is reported.
pub(super) fn came_to(error: &ValidationError<'_>, sensitive: bool) -> (String, Value) {
    let value = error.instance().as_ref();
    let (came, got) = came(value, sensitive);
    let words = match (error.kind(), value) {
        (Kind::MaxLength { .. } | Kind::MinLength { .. }, Value::String(text)) => {
            format!("has {} characters", text.chars().count())
        }
        (_, Value::Array(items)) => format!("has {} items", items.len()),
        (_, Value::Object(map)) => format!("has {} members", map.len()),
        _ => format!("is {came}"),
    };
    (words, got)
}

/// What was wanted, in words and as a piece of schema.
pub(super) fn wanted(error: &ValidationError<'_>) -> (String, Value) {
    let words = |text: &str| (text.to_owned(), Value::Null);
    match error.kind() {
        Kind::Enum { options } => one_of(options),
        Kind::Constant { expected_value } => (
            format!("must be {}", value_text(expected_value)),
            json!({"const": bounded(expected_value)}),
        ),
        Kind::Pattern { pattern } => matching(pattern),
        Kind::Custom { keyword, message } if keyword == HARD_PATTERN => matching(message),
        Kind::Format { format } => {
            (format!("must be {}", format_words(format)), json!({"format": format}))
        }
        Kind::UniqueItems => {
            ("must not hold an item twice".to_owned(), json!({"uniqueItems": true}))
        }
        Kind::OneOfMultipleValid { .. } => words("must fit exactly one of the alternatives"),
        Kind::AnyOf { .. } | Kind::OneOfNotValid { .. } => {
            words("must fit one of the alternatives")
        }
        Kind::FalseSchema => ("must not be given".to_owned(), Value::Bool(false)),
        Kind::Not { .. } => words("must not be what the schema excludes"),
        Kind::Contains => words("must hold an item of the wanted form"),
        Kind::PropertyNames { error } => {
            let (text, expected) = wanted(error);
            let text = text.trim_start_matches("must ");
            (format!("has a member whose name must {text}"), expected)
        }
        other => bound(other)
            .unwrap_or_else(|| words(&format!("does not satisfy `{}`", other.keyword()))),
    }
}

/// The same for the keywords that bound a size.
fn bound(kind: &Kind) -> Option<(String, Value)> {
    let keyword = kind.keyword();
    let number = |words: &str, limit: &Value| {
        Some((format!("must be {words} {limit}"), json!({ keyword: limit })))
    };
    let count = |words: &str, limit: u64, unit: &str| {
        let text = format!("must have {words} {limit} {unit}");
        Some((text, json!({ keyword: limit })))
    };
    match kind {
        Kind::Maximum { limit } => number("at most", limit),
        Kind::Minimum { limit } => number("at least", limit),
        Kind::ExclusiveMaximum { limit } => number("less than", limit),
        Kind::ExclusiveMinimum { limit } => number("greater than", limit),
        Kind::MultipleOf { multiple_of } => number("a multiple of", multiple_of),
        Kind::MaxLength { limit } => count("at most", *limit, "characters"),
        Kind::MinLength { limit } => count("at least", *limit, "characters"),
        Kind::MaxItems { limit } => count("at most", *limit, "items"),
        Kind::MinItems { limit } => count("at least", *limit, "items"),
        Kind::MaxProperties { limit } => count("at most", *limit, "members"),
        Kind::MinProperties { limit } => count("at least", *limit, "members"),
        Kind::AdditionalItems { limit } => {
            let text = format!("must have at most {limit} items");
            Some((text, json!({"maxItems": limit})))
        }
        _ => None,
    }
}

fn matching(pattern: &str) -> (String, Value) {
    let short = shorten(pattern);
    (format!("must match the pattern `{short}`"), json!({"pattern": short}))
}

fn one_of(options: &Value) -> (String, Value) {
    let all = options.as_array().map(Vec::as_slice).unwrap_or_default();
    let shown: Vec<String> = all.iter().take(MAX_LISTED).map(value_text).collect();
    let more = match all.len().saturating_sub(MAX_LISTED) {
        0 => String::new(),
        more => format!(" or {more} more"),
    };
    let listed: Vec<Value> = all.iter().take(MAX_LISTED).map(bounded).collect();
    (format!("must be one of {}{more}", shown.join(", ")), json!({"enum": listed}))
}

fn bounded(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(shorten(text)),
        Value::Array(_) | Value::Object(_) => Value::String(shorten(&value.to_string())),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

pub(super) fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => format!("`{}`", shorten(text)),
        other => format!("`{}`", shorten(&other.to_string())),
    }
}

/// A format in words, with an example.
fn format_words(format: &str) -> String {
    let example = match format {
        "date-time" => "2026-01-31T09:30:00Z",
        "date" => "2026-01-31",
        "time" => "09:30:00Z",
        "duration" => "P1DT2H",
        "email" | "idn-email" => "name@example.com",
        "hostname" | "idn-hostname" => "host.example.com",
        "ipv4" => "192.0.2.1",
        "ipv6" => "2001:db8::1",
        "uri" | "iri" => "https://example.com/path",
        "uri-reference" | "iri-reference" => "/path?query",
        "uuid" => "123e4567-e89b-12d3-a456-426614174000",
        "json-pointer" => "/a/0",
        _ => return format!("a `{}`", shorten(format)),
    };
    format!("a `{format}` such as `{example}`")
}

/// The keywords of a schema that tell what a value must be.
pub(super) fn outline(schema: &Value) -> Value {
    const TOLD: [&str; 11] = [
        "type",
        "format",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "pattern",
        "minItems",
        "maxItems",
        "enum",
        "const",
    ];
    let Some(map) = schema.as_object() else {
        return Value::Null;
    };
    let told: Map<String, Value> = TOLD
        .iter()
        .filter_map(|key| Some(((*key).to_owned(), map.get(*key)?)))
        .map(|(key, value)| {
            let value = match value {
                Value::Array(items) => items.iter().take(MAX_LISTED).map(bounded).collect(),
                other => bounded(other),
            };
            (key, value)
        })
        .collect();
    Value::Object(told)
}

/// What a missing property must be, in words.
pub(super) fn describe(schema: &Value) -> String {
    let mut words = String::new();
    let names: Vec<String> = match schema.get("type") {
        Some(Value::String(name)) => vec![name.clone()],
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    };
    if !names.is_empty() {
        words.push_str(&format!(": {}", types(&names).0));
    }
    if let Some(options) = schema.get("enum") {
        let (text, _) = one_of(options);
        words.push_str(&format!(", {}", text.trim_start_matches("must be ")));
    }
    if let Some(text) = schema.get("description").and_then(Value::as_str) {
        words.push_str(&format!(" ({})", shorten(text)));
    }
    words
}
