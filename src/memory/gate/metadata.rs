//! Metadata against the fields that the collection declares. Nothing is coerced: a number that came as
//! text could be a name. Times are rewritten as instants.

use serde_json::{Map, Value};

use super::Faults;
use super::limits::shown;
use crate::decimal;
use crate::memory::collection::{Collection, Field, Form};
use crate::memory::instant::{self, Side};
use crate::pointer::escape;

/// Characters of a text.
const TEXT: usize = 4096;
/// Members of a list.
const MEMBERS: usize = 256;

/// Checks all fields.
pub(super) fn check(
    metadata: &mut Map<String, Value>,
    collection: &Collection,
    faults: &mut Faults,
) {
    for (name, field) in &collection.metadata {
        if field.required && metadata.get(name).is_none_or(Value::is_null) {
            let about = if field.description.is_empty() { "" } else { ": " };
            let message = format!(
                "is missing; `{}` wants {}{about}{}",
                collection.name,
                describe(field),
                field.description
            );
            faults.say(place(name), message);
        }
    }
    // A member that is null says as much as one that is not there.
    metadata.retain(|_, value| !value.is_null());
    for (name, value) in metadata.iter_mut() {
        let Some(field) = collection.metadata.get(name) else {
            faults.say(place(&shown(name)), undeclared(collection));
            continue;
        };
        if let Err(message) = fit(name, value, field, collection) {
            faults.say(place(name), message);
        }
    }
}

fn place(name: &str) -> String {
    format!("/metadata/{}", escape(name))
}

fn undeclared(collection: &Collection) -> String {
    let names: Vec<&str> = collection.metadata.keys().map(String::as_str).collect();
    let known = if names.is_empty() {
        "it declares none".to_owned()
    } else {
        format!("declared are `{}`", names.join("`, `"))
    };
    format!("is not declared by `{}`; {known}", collection.name)
}

fn describe(field: &Field) -> String {
    if !field.values.is_empty() {
        return format!("one of `{}`", field.values.join("`, `"));
    }
    match field.form {
        Form::Text => "a text of one line",
        Form::Texts => "a list of texts",
        Form::Integer => "a whole number, without quotes",
        Form::Number => "a number, without quotes",
        Form::Boolean => "`true` or `false`, without quotes",
        Form::Time => "a date or time, such as \"2026-03-01\"",
    }
    .to_owned()
}

/// Whether a value is what the field declares; a time is rewritten.
fn fit(
    name: &str,
    value: &mut Value,
    field: &Field,
    collection: &Collection,
) -> Result<(), String> {
    let fits = match (field.form, &*value) {
        (Form::Text, Value::String(text)) => return text_fits(text, field),
        (Form::Texts, Value::Array(members)) => return texts_fit(members, field),
        (Form::Integer, Value::Number(number)) => {
            decimal::is_whole(number) && decimal::is_storable(number)
        }
        (Form::Number, Value::Number(number)) => decimal::is_storable(number),
        (Form::Boolean, Value::Bool(_)) => true,
        (Form::Time, Value::String(text)) => {
            let read = instant::read(text, Side::From, &collection.zone());
            let read = read.map_err(|unread| unread.to_string())?;
            *value = instant::show(read).into();
            true
        }
        _ => false,
    };
    if fits {
        return Ok(());
    }
    let text = shown(&value.to_string());
    Err(format!("is `{text}`, and `{name}` is {}; send that", describe(field)))
}

fn text_fits(text: &str, field: &Field) -> Result<(), String> {
    if text.chars().any(char::is_control) {
        return Err("has control characters or several lines; send one line".to_owned());
    }
    if text.trim().is_empty() {
        return Err("is empty; send a value".to_owned());
    }
    if text.chars().count() > TEXT {
        return Err(format!("is longer than {TEXT} characters"));
    }
    if !field.values.is_empty() && !field.values.iter().any(|one| one == text) {
        return Err(format!("is `{}`, which is not {}", shown(text), describe(field)));
    }
    Ok(())
}

fn texts_fit(members: &[Value], field: &Field) -> Result<(), String> {
    if members.len() > MEMBERS {
        return Err(format!("has {} members, at most {MEMBERS}", members.len()));
    }
    for member in members {
        let Some(text) = member.as_str() else {
            return Err(format!(
                "has the member `{}`, which is no text",
                shown(&member.to_string())
            ));
        };
        text_fits(text, field).map_err(|message| format!("has a member that {message}"))?;
    }
    Ok(())
}
