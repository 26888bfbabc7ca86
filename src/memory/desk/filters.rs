//! Conditions on metadata, and the collections that are asked: each value in the form in which it is
//! compared there, times read by the rule of writing; what no collection has is refused by its name.

use std::sync::Arc;

use jiff::tz::TimeZone;
use serde_json::Value;

use crate::decimal;
use crate::memory::collection::Form;
use crate::memory::instant::{self, Side};
use crate::memory::{Collection, Compare, Error, Filter};

/// Names that are given as those there are.
const NAMED: usize = 32;
/// Characters of a value that are repeated.
const SHOWN: usize = 64;
/// Names that stand for members of the unit itself.
const OWN: [&str; 5] = ["source", "source_id", "group", "kind", "origin"];

/// Reads the values; `place` stands before the field's name in errors.
pub(super) fn read(
    filters: &mut [Filter],
    place: &str,
    (asked, zone): (&[Arc<Collection>], &TimeZone),
) -> Result<(), Error> {
    // Where nothing may be read, nothing is found.
    if asked.is_empty() {
        return Ok(());
    }
    for (at, filter) in filters.iter_mut().enumerate() {
        let refuse = |member: &str, reason: String| Error::Argument {
            name: format!("{place}filters[{at}].{member}").into(),
            reason,
        };
        let forms = forms(&filter.field, asked);
        if forms.is_empty() {
            return Err(refuse("field", unknown(&filter.field, asked)));
        }
        let several = matches!(filter.compare, Compare::Any | Compare::None);
        if !several && forms.iter().all(|form| *form == Form::Texts) {
            let reason = "is a list, which has no order: ask for any or none of its members";
            return Err(refuse("compare", reason.to_owned()));
        }
        let read = values(filter, &forms, zone);
        filter.values = read.map_err(|reason| refuse("values_json", reason))?;
    }
    Ok(())
}

/// The types that the field has, times first.
fn forms(field: &str, asked: &[Arc<Collection>]) -> Vec<Form> {
    if OWN.contains(&field) {
        return vec![Form::Text];
    }
    let mut forms: Vec<Form> = Vec::new();
    for form in asked.iter().filter_map(|one| Some(one.metadata.get(field)?.form)) {
        if !forms.contains(&form) {
            forms.push(form);
        }
    }
    forms.sort_by_key(|form| *form != Form::Time);
    forms
}

fn unknown(field: &str, asked: &[Arc<Collection>]) -> String {
    let mut names: Vec<&str> =
        asked.iter().flat_map(|one| one.metadata.keys()).map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    let more = names.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let names: Vec<&str> = names.into_iter().take(NAMED).chain(OWN).collect();
    let (field, names) = (shown(field), names.join("`, `"));
    format!("is `{field}`, which no collection that is asked declares; there are `{names}`{more}")
}

/// The values as they are compared, or what is wrong with one. A value may be given in several spellings for
/// several types, of which one fits.
fn values(filter: &Filter, forms: &[Form], zone: &TimeZone) -> Result<Vec<Value>, String> {
    let (mut read, mut fitting, mut wrong) = (Vec::new(), Vec::new(), Vec::new());
    for value in &filter.values {
        let fits: Vec<Result<Value, String>> =
            forms.iter().map(|form| fit(*form, value, zone)).collect();
        match fits.iter().find_map(|fit| fit.as_ref().err()) {
            Some(reason) if fits.iter().all(Result::is_err) => {
                wrong.push((text(value), reason.clone()));
            }
            _ => fitting.push(text(value)),
        }
        for value in fits.into_iter().flatten() {
            if !read.contains(&value) {
                read.push(value);
            }
        }
    }
    match wrong.into_iter().find(|(text, _)| !fitting.contains(text)) {
        Some((_, reason)) => Err(reason),
        None => Ok(read),
    }
}

/// A value as a field of this type is compared with it.
fn fit(form: Form, value: &Value, zone: &TimeZone) -> Result<Value, String> {
    let wanted = match (form, value) {
        (Form::Time, Value::String(text)) => {
            let read = instant::read(text, Side::From, zone).map_err(|wrong| wrong.to_string())?;
            return Ok(instant::show(read).into());
        }
        (Form::Integer | Form::Number, Value::Number(number)) if decimal::is_storable(number) => {
            return Ok(value.clone());
        }
        (Form::Text | Form::Texts, Value::String(_)) | (Form::Boolean, Value::Bool(_)) => {
            return Ok(value.clone());
        }
        (Form::Text, _) => "a text",
        (Form::Texts, _) => "a list of texts",
        (Form::Integer, _) => "a whole number, without quotes",
        (Form::Number, _) => "a number, without quotes",
        (Form::Boolean, _) => "`true` or `false`, without quotes",
        (Form::Time, _) => "a date or time, such as \"2026-03-01\"",
    };
    Err(format!("has `{}`, and the field is {wanted}", shown(&value.to_string())))
}

/// What a value says, whatever its type.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn shown(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(SHOWN).collect()
}
