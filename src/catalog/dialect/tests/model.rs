//! A model that obeys what it was told: an exported definition and what is meant in, the arguments that
//! it would write out. It knows the definition and its descriptions, and nothing of the own schema.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{Dialect, Export, schema};

/// The arguments that a model writes, or `None` where the definition cannot say what is meant.
pub(super) fn write(export: &Export, dialect: Dialect, meant: &Value) -> Option<Value> {
    let root = schema(export);
    if root.as_object().is_none_or(Map::is_empty) {
        return (*meant == Value::Object(Map::new())).then(|| meant.clone());
    }
    let model = Model { root: &root, dialect };
    model.value(&root, meant)
}

struct Model<'e> {
    root: &'e Value,
    dialect: Dialect,
}

impl Model<'_> {
    fn value(&self, told: &Value, meant: &Value) -> Option<Value> {
        let Some(map) = told.as_object() else { return Some(meant.clone()) };
        if let Some(reference) = map.get("$ref").and_then(Value::as_str) {
            return self
                .value(self.root.pointer(reference.trim_start_matches('#')).unwrap(), meant);
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(parts) = map.get(keyword).and_then(Value::as_array) {
                return parts.iter().find_map(|part| {
                    self.value(part, meant).filter(|one| fits(self.root, part, one))
                });
            }
        }
        if let (Some(Value::Array(parts)), Value::Object(members)) = (map.get("allOf"), meant) {
            return self.object(&together(parts), members);
        }
        let listed = map.get("const").map(std::slice::from_ref);
        let listed = listed.or_else(|| map.get("enum")?.as_array().map(Vec::as_slice));
        if !meant.is_null() && listed.is_some_and(|listed| !listed.contains(meant)) {
            return None;
        }
        if self.dialect == Dialect::Gemini {
            if is_json(map, meant) {
                return Some(Value::String(meant.to_string()));
            }
            if !is_listed(map, meant) {
                return None;
            }
        }
        if !takes(map, type_of(meant)) {
            return None;
        }
        match meant {
            Value::Object(members) => self.object(map, members),
            Value::Array(items) => {
                let positions = map.get("prefixItems").and_then(Value::as_array);
                let written = items.iter().enumerate().map(|(index, item)| {
                    let told =
                        positions.and_then(|all| all.get(index)).or_else(|| map.get("items"));
                    told.map_or_else(|| Some(item.clone()), |told| self.value(told, item))
                });
                written.collect()
            }
            other => Some(other.clone()),
        }
    }

    fn object(&self, told: &Map<String, Value>, meant: &Map<String, Value>) -> Option<Value> {
        let empty = Map::new();
        let declared = told.get("properties").and_then(Value::as_object).unwrap_or(&empty);
        let required: Vec<&str> = told
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let mut own: BTreeMap<String, &str> = BTreeMap::new();
        for (key, schema) in declared {
            own.insert(name_of(key, schema), key);
        }
        let mut written = Map::new();
        for (name, value) in meant {
            match own.get(name) {
                Some(key) => match self.value(&declared[*key], value) {
                    Some(one) => drop(written.insert((*key).to_owned(), one)),
                    // What may be null and cannot be is left out, where that is allowed.
                    None if value.is_null()
                        && self.dialect == Dialect::Plain
                        && !required.contains(key) => {}
                    None => return None,
                },
                None => {
                    let rest = told.get("additionalProperties");
                    if rest == Some(&Value::Bool(false)) || self.dialect == Dialect::Gemini {
                        return None;
                    }
                    let rest = rest.cloned().unwrap_or(Value::Bool(true));
                    written.insert(name.clone(), self.value(&rest, value)?);
                }
            }
        }
        for key in
            required.into_iter().filter(|key| !written.contains_key(*key)).collect::<Vec<_>>()
        {
            let text = declared[key]["description"].as_str().unwrap_or_default();
            let absent = match text.contains("To leave it out, give \"__omit__\"") {
                true => Value::from("__omit__"),
                false => Value::Null,
            };
            written.insert(key.to_owned(), absent);
        }
        Some(Value::Object(written))
    }
}

/// Whether what was written fits the part of an exported schema.
pub(super) fn fits(root: &Value, part: &Value, written: &Value) -> bool {
    let mut whole = json!({"anyOf": [plain(part)]});
    // A reference to the whole means the exported root.
    let text = whole.to_string().replace("\"$ref\":\"#\"", "\"$ref\":\"#/$defs/_\"");
    whole = serde_json::from_str(&text).unwrap();
    let mut defs = root.get("$defs").cloned().unwrap_or(json!({}));
    defs["_"] = plain(root);
    whole["$defs"] = defs;
    jsonschema::draft202012::new(&whole).unwrap().is_valid(written)
}

/// A schema in JSON Schema's own terms, to hold what a model wrote against.
fn plain(schema: &Value) -> Value {
    match schema {
        Value::Object(map) => {
            let mut out = Map::new();
            for (key, value) in map {
                let value = match (key.as_str(), value) {
                    ("type", Value::String(name)) => json!(name.to_ascii_lowercase()),
                    ("properties", Value::Object(all)) => {
                        all.iter().map(|(name, inner)| (name.clone(), plain(inner))).collect()
                    }
                    ("anyOf", Value::Array(all)) => all.iter().map(plain).collect(),
                    ("items", inner) => plain(inner),
                    (_, other) => other.clone(),
                };
                out.insert(key.clone(), value);
            }
            match out.shift_remove("nullable") {
                Some(_) => json!({"anyOf": [out, {"type": "null"}]}),
                None => Value::Object(out),
            }
        }
        other => other.clone(),
    }
}

/// What all parts of an object say.
fn together(parts: &[Value]) -> Map<String, Value> {
    let mut told = json!({"properties": {}, "required": []});
    for part in parts {
        for (key, schema) in part["properties"].as_object().into_iter().flatten() {
            let known = told["properties"].as_object_mut().unwrap();
            known.entry(key.clone()).or_insert_with(|| schema.clone());
        }
        let required = part["required"].as_array().cloned().unwrap_or_default();
        told["required"].as_array_mut().unwrap().extend(required);
    }
    told.as_object().unwrap().clone()
}

const fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn description(map: &Map<String, Value>) -> &str {
    map.get("description").and_then(Value::as_str).unwrap_or_default()
}

/// Whether an object or a list is to be written as JSON text.
fn is_json(map: &Map<String, Value>, meant: &Value) -> bool {
    let what = match meant {
        Value::Object(_) => "A JSON object as text",
        Value::Array(_) => "A JSON list as text",
        _ => return false,
    };
    map["type"] == "STRING" && description(map).contains(what)
}

/// Whether a value is among those that a description tells.
fn is_listed(map: &Map<String, Value>, meant: &Value) -> bool {
    let Some((_, only)) = description(map).split_once("Only ") else { return true };
    let only = only.split(". ").next().unwrap_or_default().trim_end_matches('.');
    let text = meant.to_string();
    map["type"] == "STRING" || meant.is_null() || only.split(", ").any(|one| one == text)
}

/// The name that a description tells of a key.
pub(super) fn name_of(key: &str, schema: &Value) -> String {
    let told = |schema: &Value| {
        let text = schema["description"].as_str()?;
        let (_, rest) = text.rsplit_once("Its name is `")?;
        Some(rest.strip_suffix("`.").unwrap_or(rest).to_owned())
    };
    told(schema)
        .or_else(|| schema["anyOf"].as_array().and_then(|parts| parts.iter().find_map(told)))
        .unwrap_or_else(|| key.to_owned())
}

fn takes(map: &Map<String, Value>, name: &str) -> bool {
    if name == "null" && map.get("nullable") == Some(&Value::Bool(true)) {
        return true;
    }
    let fits = |one: &str| {
        let one = one.to_ascii_lowercase();
        // Whether a number is whole is for the check of the whole.
        one == name || (one == "integer" && name == "number")
    };
    match map.get("type") {
        Some(Value::String(one)) => fits(one),
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).any(fits),
        _ => true,
    }
}
