//! Whether a body's schema is one plain object, so that its members can stand beside the parameters
//! as arguments of their own. References and allOf are followed; anything that would be lost says no.

use std::collections::BTreeSet;

use serde_json::Value;

use super::refs::Spot;
use super::report::Reason;
use super::schema::{Converter, SENSITIVE};

/// Deepest nesting of references and allOf that is followed.
const MAX_DEPTH: usize = 16;

/// The members of a plain object.
#[derive(Debug, Default)]
pub(super) struct Flat<'a> {
    pub(super) members: Vec<(&'a str, Spot<'a>)>,
    pub(super) required: BTreeSet<&'a str>,
    pub(super) hidden: BTreeSet<&'a str>,
    /// Demanded, but declared nowhere.
    pub(super) undeclared: Vec<&'a str>,
    /// A part was closed, so that as written it refuses the other parts' members.
    pub(super) closed_part: bool,
    /// The schemas that it was put together of.
    pub(super) parts: Vec<Spot<'a>>,
}

/// Stands for the schema of a member that is demanded only.
static ANY: Value = Value::Bool(true);

impl<'a> Flat<'a> {
    /// Notes what was read as meant rather than as written.
    pub(super) fn tell(&self, converter: &mut Converter<'a>) -> Result<(), Reason> {
        for part in &self.parts {
            converter.heed(part)?;
        }
        if let Some((_, spot)) = self.members.first().filter(|_| self.closed_part) {
            let message = "a part of the body with `additionalProperties: false` refuses what the \
                           other parts declare; read as all their members together, and no others";
            converter.note(spot, "", message);
        }
        for (name, spot) in self.members.iter().filter(|(name, _)| self.undeclared.contains(name)) {
            let message = format!(
                "names `{name}`, which `properties` does not declare; taken as an argument of any \
                 type"
            );
            converter.note(spot, "", message);
        }
        Ok(())
    }
}

/// The members of a schema that is one plain object; `None` for everything else.
pub(super) fn flatten<'a>(converter: &Converter<'a>, schema: &Spot<'a>) -> Option<Flat<'a>> {
    let mut flat = Flat::default();
    add(converter, schema, &mut flat, MAX_DEPTH)?;
    let hidden = flat.hidden.clone();
    flat.members.retain(|(name, _)| !hidden.contains(name));
    flat.required.retain(|name| !hidden.contains(name));
    for name in &flat.required {
        if !flat.members.iter().any(|(known, _)| known == name) {
            let spot = Spot::new(schema.file, format!("{}/required", schema.pointer), &ANY);
            flat.members.push((name, spot));
            flat.undeclared.push(name);
        }
    }
    (!flat.members.is_empty()).then_some(flat)
}

fn add<'a>(
    converter: &Converter<'a>,
    schema: &Spot<'a>,
    flat: &mut Flat<'a>,
    fuel: usize,
) -> Option<()> {
    let fuel = fuel.checked_sub(1)?;
    let beside = has_beside(converter, schema);
    let schema = match beside {
        true => schema.clone(),
        false => converter.document.follow_refs(schema.clone()).ok()?,
    };
    flat.parts.push(schema.clone());
    for (key, value) in schema.value.as_object()? {
        let plain = match key.as_str() {
            "type" => is_object_type(value),
            "properties" | "required" | "allOf" | "title" | "description" | "example"
            | "examples" | "deprecated" | "externalDocs" | "xml" | "readOnly" | "writeOnly"
            | "nullable" | "$id" | "$schema" | "$comment" | "format" => true,
            "$ref" => beside,
            // What stands there may be found by the way that leads here.
            "$defs" | "definitions" | "$anchor" | "id" => !converter.document.is_dynamic,
            // The base of other schemas: a value may have their members too.
            "discriminator" => fuel + 1 < MAX_DEPTH || !converter.has_kinds(&schema),
            "additionalProperties" => *value == Value::Bool(false),
            // The mark is of the whole, which its members would lose.
            SENSITIVE => *value == Value::Bool(false),
            other => other.starts_with("x-"),
        };
        if !plain {
            return None;
        }
    }
    let whole = fuel + 1 == MAX_DEPTH && !beside && schema.value.get("allOf").is_none();
    flat.closed_part |= schema.value.get("additionalProperties").is_some() && !whole;
    let properties = converter.document.properties(&schema);
    for (name, member) in properties.iter().flat_map(Spot::members) {
        match flat.members.iter().find(|(known, _)| *known == name) {
            Some((_, other)) if other.value == member.value => {}
            Some(_) => return None,
            None => flat.members.push((name, member)),
        }
    }
    let required = schema.value.get("required").and_then(Value::as_array);
    flat.required.extend(required.iter().copied().flatten().filter_map(Value::as_str));
    if required.is_none() && !converter.is_swagger() {
        let demanded = |spot: &Spot<'_>| spot.value.get("required") == Some(&Value::Bool(true));
        let own = properties.iter().flat_map(Spot::members).filter(|(_, spot)| demanded(spot));
        flat.required.extend(own.map(|(name, _)| name));
    }
    flat.hidden.extend(converter.hidden(&schema, 0));
    for part in schema.get("allOf").iter().flat_map(Spot::items) {
        add(converter, &part, flat, fuel)?;
    }
    match schema.text("$ref").filter(|_| beside) {
        Some(text) => {
            let target = converter.document.resolve(&schema, text).ok()?;
            add(converter, &target, flat, fuel)
        }
        None => Some(()),
    }
}

/// Whether a schema says more beside its reference than what people read; only 3.1 heeds it.
pub(super) fn has_beside<'a>(converter: &Converter<'a>, schema: &Spot<'a>) -> bool {
    const READ: [&str; 7] =
        ["$ref", "$comment", "summary", "title", "description", "example", "examples"];
    let more = |key: &String| !READ.contains(&key.as_str()) && !key.starts_with("x-");
    let members = schema.value.as_object().filter(|members| members.contains_key("$ref"));
    converter.document.goes_by_id() && members.is_some_and(|members| members.keys().any(more))
}

fn is_object_type(value: &Value) -> bool {
    match value {
        Value::String(name) => name == "object",
        Value::Array(names) => names.len() == 1 && names.iter().all(is_object_type),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}

/// Whether every value of a schema is an object.
pub(super) fn is_object<'a>(converter: &Converter<'a>, schema: &Spot<'a>, fuel: usize) -> bool {
    let Ok(schema) = converter.document.follow_refs(schema.clone()) else {
        return false;
    };
    let Some(fuel) = fuel.checked_sub(1) else {
        return false;
    };
    let parts = |key: &str| -> Vec<Spot<'a>> {
        let list = schema.get(key);
        list.iter().flat_map(Spot::items).collect()
    };
    if let Some(kind) = schema.value.get("type") {
        return is_object_type(kind) && schema.value.get("nullable") != Some(&Value::Bool(true));
    }
    let all = |parts: Vec<Spot<'a>>| {
        !parts.is_empty() && parts.iter().all(|part| is_object(converter, part, fuel))
    };
    schema.value.get("properties").is_some()
        || all(parts("oneOf"))
        || all(parts("anyOf"))
        || parts("allOf").iter().any(|part| is_object(converter, part, fuel))
}
