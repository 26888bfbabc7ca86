//! Schemas that some servers cannot read, made simpler: what only narrows a value goes, as patterns, bounds
//! and formats; structure, names, types, enums and what is required stay. It lets through whatever the whole
//! schema does. An answer is held against the whole schema by whoever asked.

use serde_json::{Map, Value};

/// Keywords that only narrow.
const NARROW: [&str; 29] = [
    "pattern",
    "format",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
    "uniqueItems",
    "contains",
    "minContains",
    "maxContains",
    "minProperties",
    "maxProperties",
    "propertyNames",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "if",
    "then",
    "else",
    "not",
    "unevaluatedProperties",
    "unevaluatedItems",
    "contentEncoding",
    "contentMediaType",
];
/// Keywords with schemas by names, and with one schema or a list of them.
const NAMED: [&str; 3] = ["properties", "$defs", "definitions"];
const INNER: [&str; 6] =
    ["items", "prefixItems", "additionalProperties", "anyOf", "oneOf", "allOf"];

/// Makes a schema simpler.
pub(super) fn simplify(schema: &mut Value) {
    match schema {
        Value::Object(map) => narrow(map),
        Value::Array(schemas) => schemas.iter_mut().for_each(simplify),
        _ => {}
    }
}

fn narrow(map: &mut Map<String, Value>) {
    map.retain(|key, _| !NARROW.contains(&key.as_str()));
    // Without the names that these let through, nothing else may shut out others.
    if map.shift_remove("patternProperties").is_some() {
        map.shift_remove("additionalProperties");
    }
    for (key, inner) in map {
        if INNER.contains(&key.as_str()) {
            simplify(inner);
        } else if NAMED.contains(&key.as_str())
            && let Some(named) = inner.as_object_mut()
        {
            named.values_mut().for_each(simplify);
        }
    }
}
