//! Values inside schemas: enums, defaults and examples. A value that contradicts its own schema is
//! mended where only one reading is possible, and left out otherwise.

use std::cmp::Ordering;

use serde_json::{Number, Value, json};

use super::{Converter, Work};
use crate::catalog::openapi::plain;
use crate::decimal::{compare_values, is_whole};

/// Longest example, as JSON text, that is kept.
const MAX_EXAMPLE: usize = 512;

impl<'a> Converter<'a> {
    pub(super) fn values(&mut self, work: &mut Work<'_, 'a>, key: &str, value: &Value) {
        match (key, value) {
            ("example", example) if !work.out.contains_key("examples") && is_short(example) => {
                work.out.insert("examples".to_owned(), json!([example]));
            }
            ("examples", Value::Array(_)) if is_short(value) => {
                work.out.insert("examples".to_owned(), value.clone());
            }
            ("enum", Value::Array(items)) if !items.is_empty() => {
                let mut once: Vec<Value> = Vec::new();
                for item in items {
                    if !once.contains(item) {
                        once.push(item.clone());
                    }
                }
                work.out.insert("enum".to_owned(), Value::Array(once));
            }
            ("enum", _) => self.note(work.spot, "enum", "lists no value; left out"),
            ("const", _) => {
                if self.is_old() {
                    self.note(work.spot, "const", "does not exist in 3.0; taken as in 3.1");
                }
                work.out.insert("const".to_owned(), value.clone());
            }
            _ => {}
        }
    }

    /// Values of an enum that are written in another type than the schema's.
    pub(super) fn settle_enum(&mut self, work: &mut Work<'_, 'a>) {
        let types = types(&work.out);
        self.settle_const(work, &types);
        let spelled = self.spellings(work);
        let Some(Value::Array(items)) = work.out.get_mut("enum") else {
            return;
        };
        if types.is_empty() {
            return;
        }
        let fits = |item: &Value| types.iter().any(|name| is_type(item, name));
        let any = items.iter().any(fits);
        let (mut kept, mut mended, mut odd) = (Vec::new(), Vec::new(), false);
        for item in items.iter() {
            // A null that is listed says nothing that the type does not.
            let own = match fits(item) || item.is_null() {
                true => Some(item.clone()),
                false => mend(item, &spell(&spelled, item), &types),
            };
            match own {
                Some(value) => {
                    if value != *item {
                        mended.push(format!("`{}`", spell(&spelled, item)));
                    }
                    if !kept.contains(&value) {
                        kept.push(value);
                    }
                }
                None => odd = true,
            }
        }
        let usable = kept.iter().any(fits) && (any || !odd);
        match !usable {
            true => {
                work.out.shift_remove("enum");
                self.note(work.spot, "enum", "has no value of the schema's type; left out");
            }
            false => {
                *items = kept;
                if !mended.is_empty() {
                    let message = format!(
                        "has values of another type ({}); taken as the type's, as they are written",
                        mended.join(", ")
                    );
                    self.note(work.spot, "enum", message);
                }
                if odd {
                    self.note(work.spot, "enum", "has values that its type excludes; left out");
                }
            }
        }
    }

    fn settle_const(&mut self, work: &mut Work<'_, 'a>, types: &[String]) {
        let Some(value) = work.source.get("const") else {
            return;
        };
        if types.is_empty() || types.iter().any(|name| is_type(value, name)) {
            return;
        }
        let place = format!("{}/const", work.spot.pointer);
        let text = self.document.spelling(work.spot.file, &place, value);
        if let Some(meant) = mend(value, &text, types) {
            let message = format!("`{text}` is of another type; taken as `{meant}`");
            work.out.insert("const".to_owned(), meant);
            self.note(work.spot, "const", message);
        }
    }

    /// The numbers of an enum as their author wrote them.
    fn spellings(&self, work: &Work<'_, 'a>) -> Vec<(&'a Value, String)> {
        let listed = work.source.get("enum").and_then(Value::as_array);
        let one = |(index, item): (usize, &'a Value)| {
            let place = format!("{}/enum/{index}", work.spot.pointer);
            (item, self.document.spelling(work.spot.file, &place, item))
        };
        let numbers = listed.into_iter().flatten().enumerate().filter(|(_, item)| item.is_number());
        numbers.map(one).collect()
    }

    /// Carries the default over, when it can hold.
    pub(super) fn settle_default(&mut self, work: &mut Work<'_, 'a>) {
        let Some(default) = work.source.get("default") else {
            return;
        };
        let types = types(&work.out);
        let typed = if types.is_empty() || types.iter().any(|name| is_type(default, name)) {
            Some(default.clone())
        } else {
            let place = format!("{}/default", work.spot.pointer);
            let text = self.document.spelling(work.spot.file, &place, default);
            mend(default, &text, &types)
        };
        match typed.filter(|value| holds(value, &work.out)) {
            Some(value) if value == *default => {
                work.out.insert("default".to_owned(), value);
            }
            Some(value) => {
                let message = format!("`{default}` is of another type; taken as `{value}`");
                work.out.insert("default".to_owned(), value);
                self.note(work.spot, "default", message);
            }
            None if default.is_null() => {}
            None => {
                let message = format!("`{default}` does not fit its own schema; left out");
                self.note(work.spot, "default", message);
            }
        }
    }
}

fn is_short(value: &Value) -> bool {
    value.to_string().len() <= MAX_EXAMPLE
}

fn types(schema: &serde_json::Map<String, Value>) -> Vec<String> {
    match schema.get("type") {
        Some(Value::String(name)) => vec![name.clone()],
        Some(Value::Array(names)) => {
            names.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect()
        }
        _ => Vec::new(),
    }
}

/// The values that a schema lists, where it lists any.
pub(super) fn allowed(schema: &Value) -> Option<Vec<&Value>> {
    match (schema.get("const"), schema.get("enum")) {
        (Some(one), _) => Some(vec![one]),
        (None, Some(Value::Array(many))) => Some(many.iter().collect()),
        _ => None,
    }
}

/// Whether a value is of a JSON Schema type.
pub(super) fn is_type(value: &Value, name: &str) -> bool {
    match value {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        Value::String(_) => name == "string",
        Value::Array(_) => name == "array",
        Value::Object(_) => name == "object",
        Value::Number(number) => name == "number" || (name == "integer" && is_whole(number)),
    }
}

/// The text of an item.
fn spell(spelled: &[(&Value, String)], item: &Value) -> String {
    let known = spelled.iter().find(|(value, _)| *value == item);
    known.map_or_else(|| plain(item), |(_, text)| text.clone())
}

/// The same value in one of these types, when it has exactly one such reading; `written` is its text.
fn mend(value: &Value, written: &str, types: &[String]) -> Option<Value> {
    let wants = |name: &str| types.iter().any(|known| known == name);
    match value {
        Value::String(text) => match text.as_str() {
            "true" if wants("boolean") => Some(Value::Bool(true)),
            "false" if wants("boolean") => Some(Value::Bool(false)),
            _ => {
                let number = Value::Number(read_number(text)?);
                types.iter().any(|name| is_type(&number, name)).then_some(number)
            }
        },
        Value::Bool(_) | Value::Number(_) if wants("string") => Some(written.into()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            None
        }
    }
}

/// A number as text, with leading zeros as YAML has them too.
pub(super) fn read_number(text: &str) -> Option<Number> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let padded = digits.len() > 1 && digits.bytes().all(|b| b.is_ascii_digit());
    if padded && digits.starts_with('0') {
        let kept = digits.trim_start_matches('0');
        let kept = if kept.is_empty() { "0" } else { kept };
        return format!("{sign}{kept}").parse().ok();
    }
    text.parse().ok()
}

/// Checks what a default most often breaks: the enum, the bounds and the lengths beside it.
fn holds(value: &Value, schema: &serde_json::Map<String, Value>) -> bool {
    if let Some(Value::Array(items)) = schema.get("enum")
        && !items.contains(value)
    {
        return false;
    }
    let beside = |key: &str| schema.get(key).and_then(|bound| compare_values(value, bound));
    if value.is_number() {
        return beside("minimum").is_none_or(Ordering::is_ge)
            && beside("maximum").is_none_or(Ordering::is_le)
            && beside("exclusiveMinimum").is_none_or(Ordering::is_gt)
            && beside("exclusiveMaximum").is_none_or(Ordering::is_lt);
    }
    if let Some(text) = value.as_str() {
        let count = u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
        let limit = |key: &str| schema.get(key).and_then(Value::as_u64);
        return limit("minLength").is_none_or(|low| count >= low)
            && limit("maxLength").is_none_or(|high| count <= high)
            && matches_pattern(text, schema);
    }
    true
}

fn matches_pattern(text: &str, schema: &serde_json::Map<String, Value>) -> bool {
    let Some(pattern) = schema.get("pattern").and_then(Value::as_str) else {
        return true;
    };
    jsonschema_regex::to_rust_regex(pattern)
        .ok()
        .and_then(|translated| regex::Regex::new(&translated).ok())
        .is_none_or(|regex| regex.is_match(text))
}
