//! What is missing for a model to fill one argument: its schema in, names of rules and what was found
//! out.

use serde_json::Value;

use super::Found;

/// Fewer characters than this say nothing in a value of an enumeration.
const CODE: usize = 3;

/// Follows local references, which say as much as what they point at.
pub(super) fn deref<'s>(root: &'s Value, schema: &'s Value) -> &'s Value {
    let mut at = schema;
    for _ in 0..16 {
        let target = at
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(|text| root.pointer(text.strip_prefix('#')?));
        match target {
            Some(target) => at = target,
            None => break,
        }
    }
    at
}

/// What one argument lacks.
pub(super) fn look(root: &Value, schema: &Value) -> Vec<Found> {
    let target = deref(root, schema);
    let text = [schema, target].into_iter().find_map(|place| {
        let text = place.get("description").and_then(Value::as_str);
        text.filter(|text| !text.trim().is_empty())
    });
    let has = |keys: &[&str]| keys.iter().any(|key| target.get(*key).is_some());
    let mut found = Vec::new();
    if text.is_none() {
        found.push(("parameter", "has no description".to_owned()));
    }
    let union = has(&["anyOf", "oneOf", "allOf", "enum", "const"]);
    match target.get("type").and_then(Value::as_str) {
        Some("number" | "integer") if !union => {
            let bounds = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];
            if !has(&bounds) {
                found.push(("bounds", "is a number without bounds".to_owned()));
            }
            if text.is_none() || !names_unit(schema, target) {
                found.push(("unit", "is a number whose description names no unit".to_owned()));
            }
        }
        Some("string")
            if !union && !has(&["format", "pattern", "maxLength", "contentEncoding"]) =>
        {
            found.push(("format", "is free text of any form and length".to_owned()));
        }
        Some("array") if !has(&["items", "prefixItems"]) => {
            found.push(("items", "is a list that does not say of what".to_owned()));
        }
        None if !union && !has(&["type", "$ref", "not"]) => {
            found.push(("type", "takes any value".to_owned()));
        }
        _ => {}
    }
    found.extend(codes(target, text.unwrap_or_default()));
    if has(&["pattern"])
        && !has(&["examples", "default", "enum"])
        && !shows(text.unwrap_or_default())
    {
        found.push(("example", "must fit a pattern, and has no example".to_owned()));
    }
    found
}

/// An enumeration of numbers or of short codes that the description does not explain.
fn codes(target: &Value, text: &str) -> Option<Found> {
    let values = target.get("enum").and_then(Value::as_array)?;
    let bare = |value: &Value| match value {
        Value::Number(_) => true,
        Value::String(text) => text.chars().count() < CODE,
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => false,
    };
    let told = |value: &Value| text.contains(value.to_string().trim_matches('"'));
    let unclear = values.len() > 1 && values.iter().all(bare) && !values.iter().all(told);
    unclear.then(|| {
        ("enum", "is an enumeration of codes that the description does not explain".to_owned())
    })
}

/// Whether a description gives an example.
fn shows(text: &str) -> bool {
    let small = text.to_lowercase();
    ["example", "e.g.", "such as", "for instance", "`", "例如", "如："]
        .iter()
        .any(|mark| small.contains(mark))
}

/// Whether a description says what is counted.
fn names_unit(schema: &Value, target: &Value) -> bool {
    const UNITS: [&str; 36] = [
        "number of",
        "count",
        "how many",
        "maximum",
        "most",
        "limit",
        "page",
        "id",
        "index",
        "offset",
        "second",
        "minute",
        "hour",
        "day",
        "week",
        "month",
        "year",
        "byte",
        "kib",
        "mib",
        "metre",
        "meter",
        "kilo",
        "percent",
        "%",
        "cent",
        "euro",
        "dollar",
        "yuan",
        "pixel",
        "degree",
        "unix",
        "ms",
        "size",
        "port",
        "version",
    ];
    [schema, target].iter().any(|place| {
        let text = place.get("description").and_then(Value::as_str);
        let text = text.unwrap_or_default().to_lowercase();
        UNITS.iter().any(|unit| text.contains(unit))
            || text.chars().any(|c| "个秒分时天元米页".contains(c))
    })
}
