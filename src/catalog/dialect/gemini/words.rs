//! Scalars for Gemini, and what its subset of schemas can only say in words: a schema without
//! references in, a schema or sentences out, with what was lost.

use serde_json::{Map, Value, json};

use super::{Dialect, patterns};
use crate::catalog::dialect::merge::Settler;
use crate::catalog::dialect::text::{self, Losses};
use crate::catalog::dialect::view::{self, Types};
use crate::decimal::compare_values;

/// Formats that are kept, by type.
const FORMATS: [(&str, &[&str]); 3] = [
    ("string", &["date-time"]),
    ("integer", &["int32", "int64"]),
    ("number", &["float", "double"]),
];
/// What formats mean, in words.
const MEANINGS: [(&str, &str); 19] = [
    ("uri", "A URI."),
    ("url", "A URL."),
    ("uri-reference", "A URI or a relative reference."),
    ("uuid", "A UUID."),
    ("date", "A date as YYYY-MM-DD."),
    ("time", "A time as hh:mm:ss with an offset (RFC 3339)."),
    ("duration", "A duration as in ISO 8601, for example PT5M."),
    ("byte", "Base64 text."),
    ("binary", "Binary content."),
    ("email", "An email address."),
    ("hostname", "A host name."),
    ("ipv4", "An IPv4 address."),
    ("ipv6", "An IPv6 address."),
    ("password", "A secret."),
    ("regex", "A regular expression."),
    ("uint32", "A whole number from 0 to 4294967295 (uint32)."),
    ("uint64", "A whole number from 0 to 18446744073709551615 (uint64)."),
    ("int32", "A 32-bit whole number (int32)."),
    ("int64", "A 64-bit whole number (int64)."),
];
/// Keywords that are told, with how.
const TOLD: [(&str, &str); 17] = [
    ("exclusiveMinimum", "Greater than"),
    ("exclusiveMaximum", "Less than"),
    ("multipleOf", "A multiple of"),
    ("uniqueItems", "Items differ"),
    ("minProperties", "Members at least"),
    ("maxProperties", "Members at most"),
    ("contains", "At least one item fits"),
    ("propertyNames", "Names of members fit"),
    ("patternProperties", "Members by the pattern of their name"),
    ("dependentRequired", "A member that needs others"),
    ("dependentSchemas", "A member that needs more"),
    ("not", "Does not fit"),
    ("if", "If it fits"),
    ("then", "Then it fits"),
    ("else", "Else it fits"),
    ("unevaluatedItems", "Further items fit"),
    ("contentEncoding", "Encoded as"),
];

/// Most members of an object in JSON text that are told.
const MAX_MEMBERS: usize = 20;

/// A schema of one type that has nothing inside.
pub(super) fn scalar(
    name: &str,
    flat: &Map<String, Value>,
    at: &str,
    losses: &mut Losses,
) -> Map<String, Value> {
    let mut schema = Map::from_iter([("type".to_owned(), json!(name.to_ascii_uppercase()))]);
    text::add(&mut schema, &notes(flat, at, losses));
    let kept: &[&str] = match name {
        "string" => &["minLength", "maxLength"],
        "integer" | "number" => &["minimum", "maximum"],
        _ => &[],
    };
    for keyword in kept {
        if let Some(value) = flat.get(*keyword) {
            schema.insert((*keyword).to_owned(), value.clone());
        }
    }
    listed(name, flat, at, (&mut schema, losses));
    if let Some(format) = view::text(flat, "format") {
        let known = FORMATS.iter().any(|(of, formats)| *of == name && formats.contains(&format));
        if known {
            schema.insert("format".to_owned(), format.into());
        } else {
            losses.add(at, "format", "moved to the description");
            let meaning = MEANINGS.iter().find(|(known, _)| *known == format);
            let meaning = meaning.map(|(_, words)| (*words).to_owned());
            text::add(&mut schema, &[meaning.unwrap_or_else(|| format!("Format: {format}."))]);
        }
    }
    if let (Some(pattern), "string") = (view::text(flat, "pattern"), name) {
        match patterns::spell_or_tell(pattern, Dialect::Gemini, at, losses) {
            Ok(spelled) => drop(schema.insert("pattern".to_owned(), spelled.into())),
            Err(told) => text::add(&mut schema, &[told]),
        }
    }
    schema
}

/// The values that a schema lists, as `enum` of texts or in words.
fn listed(
    name: &str,
    flat: &Map<String, Value>,
    at: &str,
    (schema, losses): (&mut Map<String, Value>, &mut Losses),
) {
    let Some(listed) = view::enumerated(flat) else { return };
    let of_type = Types::declared(&json!(name));
    let fitting: Vec<Value> =
        listed.iter().filter(|one| of_type.meets(Types::of(one))).cloned().collect();
    if listed.is_empty() {
        losses.add(at, "enum", "is empty, so no value fits; left out");
        text::add(schema, &["No value is valid here.".to_owned()]);
        return;
    }
    if name == "string" {
        let mut texts: Vec<Value> = Vec::new();
        for one in &fitting {
            if one != "" && !texts.contains(one) {
                texts.push(one.clone());
            }
        }
        if texts.len() < fitting.len() && fitting.iter().any(|one| one == "") {
            losses.add(at, "enum", "an empty text cannot be given");
        }
        if texts.is_empty() {
            text::add(schema, &["Only \"\".".to_owned()]);
        } else {
            schema.insert("enum".to_owned(), Value::Array(texts));
        }
        return;
    }
    losses.add(
        at,
        if flat.contains_key("enum") { "enum" } else { "const" },
        "moved to the description",
    );
    text::add(schema, &[format!("Only {}.", text::listed(&fitting))]);
    if matches!(name, "integer" | "number") {
        let by = |one: &&Value, two: &&Value| {
            compare_values(one, two).unwrap_or(std::cmp::Ordering::Equal)
        };
        let bounds =
            [("minimum", fitting.iter().min_by(by)), ("maximum", fitting.iter().max_by(by))];
        for (keyword, bound) in bounds {
            if let Some(bound) = bound {
                schema.insert(keyword.to_owned(), bound.clone());
            }
        }
    }
}

/// A schema's description, and what stands in words only.
pub(super) fn notes(flat: &Map<String, Value>, at: &str, losses: &mut Losses) -> Vec<String> {
    let description = view::text(flat, "description").or_else(|| view::text(flat, "title"));
    let mut notes: Vec<String> = description
        .map(|text| text.trim().to_owned())
        .filter(|text| !text.is_empty())
        .into_iter()
        .collect();
    for (keyword, words) in TOLD {
        let Some(told) = text::keyword(flat, keyword, words) else { continue };
        notes.push(told);
        losses.add(at, keyword, "moved to the description");
    }
    if let Some(default) = flat.get("default") {
        notes.push(format!("Default: {}.", text::shown(default)));
    }
    notes
}

/// What is in an object or a list that is given as JSON text.
pub(super) fn inside(root: &Value, flat: &Map<String, Value>, name: &str) -> String {
    let (keyword, what) = match name {
        "array" => ("items", "items"),
        _ => ("additionalProperties", "members"),
    };
    if let Some(told) = members(root, flat).filter(|_| name != "array") {
        return format!(", with the members {told}");
    }
    match flat.get(keyword) {
        Some(Value::Bool(false)) => ", without members".to_owned(),
        Some(Value::Object(schema)) => {
            let inner = Settler { root, trail: Vec::new() }.settle(schema);
            let types = view::types_of(root, schema).names();
            match members(root, &inner) {
                Some(told) => format!(", whose {what} are objects with the members {told}"),
                None if types.len() > 5 => String::new(),
                None => format!(", whose {what} are {}", types.join(" or ")),
            }
        }
        _ => String::new(),
    }
}

/// The declared members of an object with their types; `None` where there are none.
fn members(root: &Value, flat: &Map<String, Value>) -> Option<String> {
    let all = view::properties(flat).filter(|all| !all.is_empty())?;
    let told = all.iter().take(MAX_MEMBERS).map(|(name, schema)| {
        let types = view::types(root, schema).names();
        let types = if types.len() > 5 { "any value".to_owned() } else { types.join(" or ") };
        let needed = view::required(flat).any(|known| known == name);
        format!("`{name}` ({types}{})", if needed { ", required" } else { "" })
    });
    let more = if all.len() > MAX_MEMBERS { " and others" } else { "" };
    Some(format!("{}{more}", told.collect::<Vec<_>>().join(", ")))
}
