//! One YAML scalar in, its value by the core schema of YAML 1.2 out. Numbers keep the spelling of
//! their author, and what JSON has no number for stays text.

use serde_json::{Number, Value};

const CORE: &str = "tag:yaml.org,2002:";

/// The value of a scalar; `plain` says that it stands without quotes.
pub(super) fn read(text: &str, plain: bool, tag: Option<(&str, &str)>) -> Result<Value, String> {
    let kind = match tag {
        Some((CORE, suffix)) => Some(suffix),
        Some(("", full)) => full.strip_prefix(CORE),
        Some(("!", "")) => Some("str"),
        Some(_) | None => None,
    };
    let found = if plain || kind.is_some_and(|kind| kind != "str") { resolve(text) } else { None };
    let fits = match (kind, &found) {
        (None, _) => return Ok(found.unwrap_or_else(|| text.into())),
        (Some("null"), Some(Value::Null))
        | (Some("bool"), Some(Value::Bool(_)))
        | (Some("int" | "float"), Some(Value::Number(_))) => found,
        (Some("null" | "bool" | "int" | "float"), _) => None,
        (Some(_), _) => Some(text.into()),
    };
    fits.ok_or_else(|| format!("`{text}` is no value of its tag `!!{}`", kind.unwrap_or_default()))
}

/// A key: text, or what text would be read as something else, by its spelling.
pub(super) fn key(value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Bool(_) | Value::Number(_) => Ok(value.to_string()),
        Value::Null => Ok("null".to_owned()),
        Value::Array(_) | Value::Object(_) => {
            Err("a list or mapping is a key; keys are text".to_owned())
        }
    }
}

fn resolve(text: &str) -> Option<Value> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Some(Value::Null),
        "true" | "True" | "TRUE" => return Some(Value::Bool(true)),
        "false" | "False" | "FALSE" => return Some(Value::Bool(false)),
        _ => {}
    }
    let radix = |digits: &str, radix| u128::from_str_radix(digits, radix).ok();
    let whole = match text.get(..2) {
        Some("0x") => radix(text.get(2..)?, 16),
        Some("0o") => radix(text.get(2..)?, 8),
        _ => return decimal(text).map(Value::Number),
    };
    whole.and_then(|whole| whole.to_string().parse().ok()).map(Value::Number)
}

/// A number as JSON writes it. `+1`, `.5` and `1.` are respelled; leading zeros make it text, as
/// codes and years are written so.
fn decimal(text: &str) -> Option<Number> {
    let (sign, rest) = match text.as_bytes().first()? {
        b'-' => ("-", text.get(1..)?),
        b'+' => ("", text.get(1..)?),
        _ => ("", text),
    };
    let (mantissa, exponent) = match rest.find(['e', 'E']) {
        Some(at) => (rest.get(..at)?, rest.get(at..)?),
        None => (rest, ""),
    };
    let (whole, part) = match mantissa.split_once('.') {
        Some((whole, part)) => (whole, Some(part)),
        None => (mantissa, None),
    };
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let some = !whole.is_empty() || part.is_some_and(|part| !part.is_empty());
    let leading = whole.len() > 1 && whole.starts_with('0');
    if !some || leading || !digits(whole) || !part.is_none_or(digits) {
        return None;
    }
    let whole = if whole.is_empty() { "0" } else { whole };
    let part = match part {
        None => String::new(),
        Some("") => ".0".to_owned(),
        Some(part) => format!(".{part}"),
    };
    format!("{sign}{whole}{part}{exponent}").parse().ok()
}
