//! Outputs that are a sequence: lines of JSON and server-sent events. Text in, values out.

use serde_json::{Value, json};

use super::output::{parse, parse_compound};

/// The values of lines of JSON, and for each broken line its number and what is wrong. Empty
/// lines are passed over. With `compound`, only objects and arrays count as values.
pub(super) fn read_lines(text: &str, compound: bool) -> (Vec<Value>, Vec<(usize, String)>) {
    let mut values = Vec::new();
    let mut broken = Vec::new();
    for (index, line) in text.lines().enumerate() {
        // A record separator starts each text of application/json-seq.
        let line = line.trim_start_matches('\u{1e}').trim();
        if line.is_empty() {
            continue;
        }
        let value = if compound {
            parse_compound(line).ok_or_else(|| "not an object or array".to_owned())
        } else {
            parse(line)
        };
        match value {
            Ok(value) => values.push(value),
            Err(flaw) => broken.push((index + 1, flaw)),
        }
        if compound && !broken.is_empty() {
            break;
        }
    }
    (values, broken)
}

/// The events of a `text/event-stream`. A last event without its empty line counts, unless the
/// stream was cut.
pub(super) fn read_events(text: &str, cut: bool) -> Vec<Value> {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut events = Vec::new();
    let mut id = Value::Null;
    let mut name = Value::Null;
    let mut data: Vec<&str> = Vec::new();
    for line in text.split('\n') {
        if line.is_empty() {
            if !data.is_empty() {
                events.push(json!({"event": name.take(), "id": id, "data": data.join("\n")}));
            }
            name = Value::Null;
            data.clear();
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => data.push(value),
            "event" => name = Value::String(value.to_owned()),
            "id" if !value.contains('\0') => id = Value::String(value.to_owned()),
            _ => {}
        }
    }
    if !data.is_empty() && !cut {
        events.push(json!({"event": name, "id": id, "data": data.join("\n")}));
    }
    events
}
