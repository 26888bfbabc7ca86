//! References inside one finished schema: each must point at something in it, and none may lead
//! back to itself without a value in between, or checking would never end.

use std::collections::{BTreeMap, BTreeSet};

use percent_encoding::percent_decode_str;
use serde_json::Value;

/// Keywords whose schemas apply to the very same value.
const IN_PLACE: [&str; 8] =
    ["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"];
/// Keywords whose content is data, not schemas.
const DATA: [&str; 4] = ["enum", "const", "default", "examples"];

/// Checks every reference of a schema; the error says what is wrong.
pub(super) fn check(root: &Value) -> Result<(), String> {
    let mut all = BTreeSet::new();
    gather(root, &mut all);
    let mut edges: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut inside = BTreeSet::new();
    in_place(root, &mut inside);
    edges.insert(String::new(), pointers(&inside)?);
    for pointer in pointers(&all)? {
        let target = root
            .pointer(&pointer)
            .ok_or_else(|| format!("reference `#{pointer}` points at nothing"))?;
        let mut inside = BTreeSet::new();
        in_place(target, &mut inside);
        edges.insert(pointer, pointers(&inside)?);
    }
    match cycle(edges) {
        Some(pointer) => Err(format!("`#{pointer}` is a reference loop without a schema")),
        None => Ok(()),
    }
}

fn pointers(references: &BTreeSet<&str>) -> Result<BTreeSet<String>, String> {
    references
        .iter()
        .map(|reference| {
            let fragment = reference
                .strip_prefix('#')
                .filter(|rest| rest.is_empty() || rest.starts_with('/'))
                .ok_or_else(|| {
                    format!("reference `{reference}` leaves the schema; use `#/$defs/...`")
                })?;
            let text = percent_decode_str(fragment).decode_utf8_lossy();
            Ok(text.into_owned())
        })
        .collect()
}

fn gather<'v>(value: &'v Value, found: &mut BTreeSet<&'v str>) {
    match value {
        Value::Object(map) => {
            for (key, member) in map {
                match member {
                    Value::String(text) if key == "$ref" => {
                        found.insert(text);
                    }
                    other if !DATA.contains(&key.as_str()) => gather(other, found),
                    _ => {}
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| gather(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn in_place<'v>(schema: &'v Value, found: &mut BTreeSet<&'v str>) {
    if let Some(Value::String(text)) = schema.get("$ref") {
        found.insert(text);
    }
    for key in IN_PLACE {
        match schema.get(key) {
            Some(Value::Array(items)) => items.iter().for_each(|item| in_place(item, found)),
            Some(Value::Object(map)) if key == "dependentSchemas" => {
                map.values().for_each(|item| in_place(item, found));
            }
            Some(one) => in_place(one, found),
            None => {}
        }
    }
}

/// Takes away what leads nowhere until nothing changes; what stays leads into a cycle.
fn cycle(mut edges: BTreeMap<String, BTreeSet<String>>) -> Option<String> {
    let mut before: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (from, targets) in &edges {
        for to in targets {
            before.entry(to.clone()).or_default().push(from.clone());
        }
    }
    let mut ends: Vec<String> = edges
        .iter()
        .filter(|(_, targets)| targets.is_empty())
        .map(|(from, _)| from.clone())
        .collect();
    while let Some(end) = ends.pop() {
        edges.remove(&end);
        for from in before.get(&end).into_iter().flatten() {
            if let Some(targets) = edges.get_mut(from)
                && targets.remove(&end)
                && targets.is_empty()
            {
                ends.push(from.clone());
            }
        }
    }
    edges.into_keys().next_back()
}
