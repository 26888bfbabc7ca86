//! Lists and objects inside the list or object of a parameter: Swagger 2.0 says how the lists are
//! written, OpenAPI 3 does not. The separators, or a note that no such value can be sent, out.

use serde_json::Value;

use super::flatten::is_object;
use super::refs::Spot;
use super::schema::Converter;
use super::swagger;
use crate::catalog::http::{Parameter, Style};

/// Most levels of lists.
const MAX_LEVELS: usize = 4;

/// Settles how lists inside the value of a parameter are written.
pub(super) fn settle<'a>(converter: &mut Converter<'a>, schema: &Spot<'a>, wire: &mut Parameter) {
    if wire.json || wire.style == Style::DeepObject {
        return;
    }
    if !converter.is_swagger() {
        return tell(converter, schema, wire.style.as_str());
    }
    let mut levels = if wire.explode { Vec::new() } else { vec![wire.style.separator()] };
    let mut inner = Vec::new();
    let mut at = schema.get("items");
    while let Some(items) = at.filter(is_list) {
        let (style, each) = swagger::style(converter, &items, wire.place);
        let repeated = levels.contains(&style.separator());
        if each || repeated || inner.len() >= MAX_LEVELS {
            let why = if repeated { "the separator of the list around it" } else { "no separator" };
            let message = format!(
                "has {why}, so that no list inside can be told apart; calls with one are refused"
            );
            return converter.note(&items, "collectionFormat", message);
        }
        levels.push(style.separator());
        inner.push(style);
        at = items.get("items");
    }
    wire.inner = inner;
}

/// Notes what a style has no way to write.
pub(super) fn tell<'a>(converter: &mut Converter<'a>, schema: &Spot<'a>, style: &str) {
    let Ok(schema) = converter.document.follow_refs(schema.clone()) else {
        return;
    };
    let deep = |spot: Spot<'a>| {
        let spot = converter.document.follow_refs(spot).ok();
        spot.is_some_and(|spot| is_list(&spot) || is_object(converter, &spot, MAX_LEVELS))
    };
    let (key, what) = if schema.get("items").is_some_and(deep) {
        ("items", "lists or objects inside its list".to_owned())
    } else {
        let properties = converter.document.properties(&schema);
        let members = properties.iter().flat_map(Spot::members);
        let names: Vec<&str> =
            members.filter(|(_, spot)| deep(spot.clone())).map(|(name, _)| name).collect();
        if names.is_empty() {
            return;
        }
        ("properties", format!("lists or objects in `{}`", names.join("`, `")))
    };
    let message = format!(
        "holds {what}, which the style `{style}` is not defined for; calls with one are refused"
    );
    converter.note(&schema, key, message);
}

/// Whether every value of a schema is a list, by its type.
fn is_list(schema: &Spot<'_>) -> bool {
    match schema.value.get("type") {
        Some(Value::String(name)) => name == "array",
        Some(Value::Array(names)) => names.len() == 1 && names.iter().all(|name| name == "array"),
        _ => false,
    }
}
