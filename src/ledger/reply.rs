//! Replies as they are kept and as they are shown. Kept ones are what the caller got, but that what
//! they repeat of the call's own arguments is masked; with them the places that no person may see.

use serde_json::{Map, Value};

use crate::call::Code;
use crate::mask::{self, MASK, Masker, Secrets};

/// Where a record names the places of its reply that are masked in every view.
pub(super) const PLACES: &str = "masked";
/// What is masked of a reply that repeats more than can be told.
const EVERYWHERE: [&str; 3] = ["/data", "/metadata", "/error"];

/// What a reply is held against.
pub(super) struct Against<'a> {
    /// Masks what belongs to the arguments.
    pub(super) input: Masker<'a>,
    /// Masks what belongs to the data, when the tool's output schema marks anything.
    pub(super) output: Option<Masker<'a>>,
    /// Sensitive values among the arguments.
    pub(super) secrets: Secrets,
    pub(super) code: Option<Code>,
    /// Whether the reply lists repairs of which something is masked.
    pub(super) repaired: bool,
}

/// The reply to keep, and JSON Pointers of what is masked when it is shown.
pub(super) fn keep(reply: String, against: &Against<'_>) -> (String, Vec<String>) {
    // These messages repeat what the caller sent.
    let told = matches!(against.code, Some(Code::SchemaValidationError | Code::UnknownTool));
    let looked_at = told || against.repaired || against.output.is_some();
    if !looked_at && against.secrets.is_empty() {
        return (reply, Vec::new());
    }
    let Ok(value) = serde_json::from_str::<Value>(&reply) else {
        return (reply, Vec::new());
    };
    let mut kept = value.clone();
    if against.repaired {
        repairs(kept.pointer_mut("/metadata/repairs"), against);
    }
    if told {
        error(&mut kept, against);
    }
    let places = places(&kept, against);
    let reply = if kept == value { reply } else { kept.to_string() };
    (reply, places)
}

fn repairs(list: Option<&mut Value>, against: &Against<'_>) {
    for repair in list.and_then(Value::as_array_mut).into_iter().flatten() {
        let pointer = text_of(repair, "pointer").to_owned();
        for side in ["from", "to"] {
            let shown = against.input.at(&pointer, text_of(repair, side));
            set(repair, side, shown);
        }
    }
}

fn error(reply: &mut Value, against: &Against<'_>) {
    let own = against.secrets.clone();
    repairs(reply.pointer_mut("/error/details/repairs"), against);
    let violations = reply.pointer_mut("/error/details/violations").and_then(Value::as_array_mut);
    let mut seen = Vec::new();
    for violation in violations.into_iter().flatten() {
        let secret = against.input.is_secret_at(text_of(violation, "pointer"));
        if let Some(got) = violation.get_mut("got").filter(|got| secret && !got.is_null()) {
            seen.push(got.as_str().map_or_else(|| got.to_string(), str::to_owned));
            *got = Value::String(MASK.to_owned());
        }
    }
    let seen = Secrets::new(seen);
    let mask = |text: &str| mask::text(&own.mask(&seen.mask(text))).into_owned();
    if let Some(error) = reply.get_mut("error") {
        every_text(error, &mask);
    }
    if against.code == Some(Code::UnknownTool)
        && let Some(name) = reply.get_mut("tool_name")
    {
        every_text(name, &mask);
    }
}

fn every_text(value: &mut Value, mask: &dyn Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = mask(text),
        Value::Array(items) => items.iter_mut().for_each(|item| every_text(item, mask)),
        Value::Object(members) => {
            members.values_mut().for_each(|member| every_text(member, mask));
        }
        Value::Number(number) => {
            let text = number.to_string();
            let masked = mask(&text);
            if masked != text {
                *value = Value::String(masked);
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

fn places(reply: &Value, against: &Against<'_>) -> Vec<String> {
    let data = reply.get("data").unwrap_or(&Value::Null);
    let marked = match &against.output {
        Some(output) => output.marked(data, "/data").unwrap_or_else(|| vec!["/data".to_owned()]),
        None => Vec::new(),
    };
    match against.secrets.places(reply) {
        Some(mut found) => {
            found.extend(marked);
            found
        }
        None => EVERYWHERE.map(str::to_owned).to_vec(),
    }
}

fn text_of<'v>(value: &'v Value, member: &str) -> &'v str {
    value.get(member).and_then(Value::as_str).unwrap_or_default()
}

fn set(value: &mut Value, member: &str, text: String) {
    if let Some(place) = value.as_object_mut().and_then(|map: &mut Map<_, _>| map.get_mut(member)) {
        *place = Value::String(text);
    }
}

/// A stored reply for the eyes of a person, with the facts of its record.
pub(super) fn shown(reply: &str, facts: &Value) -> Value {
    let Ok(mut value) = serde_json::from_str::<Value>(reply) else {
        return Value::String(mask::json(reply));
    };
    let places = facts.get(PLACES).and_then(Value::as_array);
    mask::cover(&mut value, places.into_iter().flatten().filter_map(Value::as_str));
    Masker::default().value(&value)
}
