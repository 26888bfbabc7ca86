//! What a probe has to show against what it did show: an expectation as TOML and a value as JSON in,
//! the differences out. Knows nothing of probes.

use serde_json::Value;

/// Compares one value. An expected text may list several that are right, parted by `|`, or any by `*`; a table with
/// `least` or `most` bounds a number; any other table has to fit member by member, none left over.
pub(crate) fn compare(
    place: &str,
    expected: &toml::Value,
    found: &Value,
    faults: &mut Vec<String>,
) {
    let fits = match expected {
        toml::Value::String(text) if text == "*" => true,
        toml::Value::String(text) => {
            found.as_str().is_some_and(|found| found == text || text.split('|').any(|t| t == found))
        }
        toml::Value::Integer(number) => found.as_i64() == Some(*number),
        toml::Value::Float(number) => found.as_f64() == Some(*number),
        toml::Value::Boolean(truth) => found.as_bool() == Some(*truth),
        toml::Value::Table(bounds) if is_range(bounds) => found.as_f64().is_some_and(|found| {
            number(bounds, "least").is_none_or(|least| found >= least)
                && number(bounds, "most").is_none_or(|most| found <= most)
        }),
        toml::Value::Table(members) => {
            members_fit(place, members, found, faults);
            return;
        }
        toml::Value::Array(items) => {
            let all = found.as_array();
            if let Some(all) = all.filter(|all| all.len() == items.len()) {
                for (at, (item, found)) in items.iter().zip(all).enumerate() {
                    compare(&format!("{place}/{at}"), item, found, faults);
                }
                return;
            }
            false
        }
        toml::Value::Datetime(_) => false,
    };
    if !fits {
        faults.push(format!("{place} is {}, expected {}", short(found), show(expected)));
    }
}

fn members_fit(place: &str, members: &toml::Table, found: &Value, faults: &mut Vec<String>) {
    let Some(all) = found.as_object() else {
        faults.push(format!("{place} is {}, expected an object", short(found)));
        return;
    };
    for (name, expected) in members {
        let found = all.get(name).unwrap_or(&Value::Null);
        compare(&format!("{place}/{name}"), expected, found, faults);
    }
    for (name, found) in all {
        if !members.contains_key(name) {
            faults.push(format!("{place}/{name} is {}, nothing was expected", short(found)));
        }
    }
}

fn is_range(table: &toml::Table) -> bool {
    !table.is_empty() && table.keys().all(|key| key == "least" || key == "most")
}

fn number(table: &toml::Table, key: &str) -> Option<f64> {
    match table.get(key)? {
        toml::Value::Integer(number) => number.to_string().parse().ok(),
        toml::Value::Float(number) => Some(*number),
        _ => None,
    }
}

fn show(expected: &toml::Value) -> String {
    match expected {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A value in few characters.
pub(crate) fn short(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match text.char_indices().nth(400) {
        Some((at, _)) => format!("{}...", text.get(..at).unwrap_or_default()),
        None => text,
    }
}
