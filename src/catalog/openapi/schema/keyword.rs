//! One keyword of a schema at a time: what 2020-12 spells the same is copied, what it spells
//! differently is rewritten, what has no meaning for a call is dropped.

use serde_json::{Map, Value, json};

use super::value::read_number;
use super::{Converter, Direction, SENSITIVE, Work, is_sensitive};
use crate::catalog::openapi::refs::Spot;
use crate::catalog::openapi::report::Reason;
use crate::catalog::pattern::{Pattern, judge, literal};
use crate::decimal::is_positive;

const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "array", "object", "null"];

impl<'a> Converter<'a> {
    pub(super) fn keyword(
        &mut self,
        work: &mut Work<'_, 'a>,
        key: &'a str,
        value: &'a Value,
    ) -> Result<(), Reason> {
        match key {
            "type" => self.types(work, value),
            "title" | "description" | "format" | "contentEncoding" | "contentMediaType" => {
                if let Value::String(text) = value {
                    self.text(work, key, text);
                }
            }
            "uniqueItems" | "deprecated" => {
                if value.is_boolean() {
                    work.out.insert(key.to_owned(), value.clone());
                }
            }
            "maximum" | "minimum" | "multipleOf" | "exclusiveMaximum" | "exclusiveMinimum" => {
                self.number(work, key, value);
            }
            "maxLength" | "minLength" | "maxItems" | "minItems" | "maxProperties"
            | "minProperties" | "maxContains" | "minContains" => self.count(work, key, value),
            "pattern" => self.pattern(work, value),
            SENSITIVE => {
                if !value.is_boolean() {
                    let message = "is neither true nor false; taken as true";
                    self.note(work.spot, key, message);
                }
                work.out.insert(key.to_owned(), is_sensitive(work.source).into());
            }
            "example" | "examples" | "enum" | "const" => self.values(work, key, value),
            "dependentRequired" => self.dependents(work, value),
            // A parameter of Swagger 2.0 is its own schema. In draft 3 it is told with the object that
            // it is a member of.
            "required" if value.is_boolean() => {}
            "divisibleBy" => {
                self.note(work.spot, key, "is of an old draft; taken as `multipleOf`");
                self.number(work, "multipleOf", value);
            }
            "required" => self.required(work, value),
            "nullable" if !self.is_old() => {
                let message = "does not exist in 3.1 and has no effect; write a type list";
                self.note(work.spot, key, message);
            }
            _ => return self.nested(work, key),
        }
        Ok(())
    }

    fn text(&mut self, work: &mut Work<'_, 'a>, key: &str, text: &str) {
        let (key, text) = match (key, text) {
            ("format", "byte") => ("contentEncoding", "base64"),
            // Bytes inside JSON have no meaning of their own.
            ("format", "binary") => return,
            other => other,
        };
        work.out.insert(key.to_owned(), text.into());
    }

    fn types(&mut self, work: &mut Work<'_, 'a>, value: &Value) {
        if self.is_swagger() && value == "file" {
            // A form's file; in JSON it has no meaning of its own.
            work.out.insert("type".to_owned(), "string".into());
            return;
        }
        let listed = match value {
            Value::String(_) => std::slice::from_ref(value),
            Value::Array(items) => items.as_slice(),
            // YAML's plain null where the type's name was meant.
            Value::Null => &[],
            Value::Bool(_) | Value::Number(_) | Value::Object(_) => &[],
        };
        let mut names: Vec<&str> = Vec::new();
        let mut meant = 0;
        for written in listed.iter().filter_map(Value::as_str) {
            let known = TYPES.iter().find(|known| **known == written).copied();
            let name = known.or_else(|| {
                let (name, format) = mean(written)?;
                meant += 1;
                let message = format!("`{written}` is no type of JSON Schema; taken as `{name}`");
                self.note(work.spot, "type", message);
                if let Some(format) = format.filter(|_| !work.source.contains_key("format")) {
                    work.out.insert("format".to_owned(), format.into());
                }
                Some(name)
            });
            names.extend(name.filter(|name| !names.contains(name)));
        }
        if (names.len() != listed.len() && meant == 0) || names.is_empty() {
            let message = format!("`{value}` names no type; only known types are kept");
            self.note(work.spot, "type", message);
        }
        if meant > 0 && !listed.iter().all(Value::is_string) {
            self.note(work.spot, "type", format!("`{value}` holds what is no name; left out"));
        }
        if self.is_old() && value.is_array() {
            self.note(work.spot, "type", "is a list, as only 3.1 has it; taken as in 3.1");
        }
        let set = |key: &str| work.source.get(key) == Some(&Value::Bool(true));
        let nullable = set("nullable") || set("x-nullable");
        if self.is_old() && nullable && !names.is_empty() && !names.contains(&"null") {
            names.push("null");
        }
        match names.as_slice() {
            [] => None,
            [one] => work.out.insert("type".to_owned(), (*one).into()),
            many => work.out.insert("type".to_owned(), json!(many)),
        };
    }

    fn number(&mut self, work: &mut Work<'_, 'a>, key: &str, value: &Value) {
        let exclusive = key.starts_with("exclusive");
        match value {
            // The boolean form is settled together with its bound.
            Value::Bool(_) if exclusive => {
                if !self.is_old() {
                    let message =
                        "is a boolean as in 3.0; taken as the exclusive form of the bound";
                    self.note(work.spot, key, message);
                }
                return;
            }
            Value::Number(number) if key != "multipleOf" || is_positive(number) => {
                if exclusive && self.is_old() {
                    let message = "is a number as in 3.1; taken as an exclusive bound";
                    self.note(work.spot, key, message);
                }
                work.out.insert(key.to_owned(), value.clone());
                return;
            }
            Value::String(text) => {
                if let Some(number) = read_number(text) {
                    self.note(work.spot, key, "is a number written as text; taken as the number");
                    work.out.insert(key.to_owned(), Value::Number(number));
                    return;
                }
            }
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Array(_)
            | Value::Object(_) => {}
        }
        self.note(work.spot, key, format!("`{value}` is no usable number; left out"));
    }

    fn count(&mut self, work: &mut Work<'_, 'a>, key: &str, value: &Value) {
        let whole = match value {
            Value::Number(number) => whole(&number.to_string()),
            Value::String(text) => {
                let whole = whole(text);
                if whole.is_some() {
                    self.note(work.spot, key, "is a number written as text; taken as the number");
                }
                whole
            }
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        };
        match whole {
            Some(count) => {
                work.out.insert(key.to_owned(), count.into());
            }
            None => {
                let message = format!("`{value}` is no whole number from 0; left out");
                self.note(work.spot, key, message);
            }
        }
    }

    fn pattern(&mut self, work: &mut Work<'_, 'a>, value: &Value) {
        let Value::String(pattern) = value else {
            self.note(work.spot, "pattern", "is not text; left out");
            return;
        };
        let mut pattern = pattern.as_str();
        if let Some((inside, flags)) = literal(pattern) {
            if flags.contains(['i', 'm', 's']) {
                let message = format!(
                    "`{pattern}` is written as JavaScript, with flags that a pattern cannot have; \
                     left out"
                );
                return self.note(work.spot, "pattern", message);
            }
            let message =
                format!("`{pattern}` is written as JavaScript; taken without its slashes");
            self.note(work.spot, "pattern", message);
            pattern = inside;
        }
        match judge(pattern) {
            Pattern::Plain => {
                work.out.insert("pattern".to_owned(), pattern.into());
            }
            Pattern::Parts(parts) => {
                self.note(work.spot, "pattern", "was taken apart to check it in linear time");
                add_all(&mut work.out, parts);
            }
            Pattern::No(why) => {
                let message = format!("`{pattern}` cannot be enforced: {why}; left out");
                self.note(work.spot, "pattern", message);
            }
        }
    }

    fn required(&mut self, work: &mut Work<'_, 'a>, value: &Value) {
        let Value::Array(items) = value else {
            let message = "is no list of names; left out";
            self.note(work.spot, "required", message);
            return;
        };
        let mut names: Vec<Value> = Vec::new();
        for item in items {
            if item.is_string() && !names.contains(item) {
                names.push(item.clone());
            }
        }
        work.out.insert("required".to_owned(), Value::Array(names));
    }

    /// The members that a member demands, by its name.
    fn dependents(&mut self, work: &mut Work<'_, 'a>, value: &Value) {
        let mut rules = Map::new();
        for (name, demanded) in value.as_object().into_iter().flatten() {
            match demanded {
                Value::Array(all) if all.iter().all(Value::is_string) => {
                    rules.insert(name.clone(), demanded.clone());
                }
                Value::String(_) => {
                    let message = format!("has one name at `{name}`; taken as a list of it");
                    self.note(work.spot, "dependentRequired", message);
                    rules.insert(name.clone(), json!([demanded]));
                }
                _ => {
                    let message = format!("has no list of names at `{name}`; left out");
                    self.note(work.spot, "dependentRequired", message);
                }
            }
        }
        work.out.insert("dependentRequired".to_owned(), Value::Object(rules));
    }

    /// 3.0 writes an exclusive bound as a boolean beside the bound.
    pub(super) fn settle_bounds(&mut self, work: &mut Work<'_, 'a>) {
        for (flag, bound) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
            if work.source.get(flag) == Some(&Value::Bool(true))
                && let Some(value) = work.out.shift_remove(bound)
            {
                work.out.insert(flag.to_owned(), value);
            }
        }
    }

    /// Properties that only the other side may send are neither offered nor demanded.
    pub(super) fn settle_hidden(&mut self, work: &mut Work<'_, 'a>) {
        let own = self.hidden(work.spot, 0);
        if let Some(Value::Object(properties)) = work.out.get_mut("properties") {
            properties.retain(|name, _| !own.contains(&name.as_str()));
        }
        if let Some(Value::Array(required)) = work.out.get_mut("required") {
            let all = self.hidden(work.spot, 8);
            required.retain(|name| name.as_str().is_none_or(|name| !all.contains(&name)));
            if required.is_empty() {
                work.out.shift_remove("required");
            }
        }
        let closed = work.out.get("additionalProperties") == Some(&Value::Bool(false));
        if self.direction == Direction::Request && !own.is_empty() && !closed {
            let refuse = json!({ "propertyNames": { "not": { "enum": own } } });
            match work.out.contains_key("propertyNames") {
                true => add_all(&mut work.out, vec![refuse]),
                false => work.out.extend(refuse.as_object().cloned().unwrap_or_default()),
            }
        }
    }

    fn is_hidden(&self, property: &Spot<'a>) -> bool {
        let flag = match self.direction {
            Direction::Request => "readOnly",
            Direction::Response => "writeOnly",
        };
        let set = |value: &Value| value.get(flag) == Some(&Value::Bool(true));
        if set(property.value) && property.text("$ref").is_none() {
            return true;
        }
        let beside = !self.is_old() && set(property.value);
        beside || self.document.follow_refs(property.clone()).is_ok_and(|target| set(target.value))
    }

    /// Names hidden here or in any part of an allOf.
    pub(in crate::catalog::openapi) fn hidden(&self, spot: &Spot<'a>, fuel: usize) -> Vec<&'a str> {
        let mut names: Vec<&str> = self
            .document
            .properties(spot)
            .iter()
            .flat_map(Spot::members)
            .filter(|(_, property)| self.is_hidden(property))
            .map(|(name, _)| name)
            .collect();
        let parts = spot.get("allOf");
        for part in parts.iter().flat_map(Spot::items).filter(|_| fuel > 0) {
            if let Ok(part) = self.document.follow_refs(part) {
                names.extend(self.hidden(&part, fuel - 1));
            }
        }
        names
    }
}

/// What a type that JSON Schema does not have can only mean, with its format.
fn mean(written: &str) -> Option<(&'static str, Option<&'static str>)> {
    Some(match written.to_ascii_lowercase().as_str() {
        "str" | "string" | "text" => ("string", None),
        "date" => ("string", Some("date")),
        "datetime" | "date-time" | "timestamp" => ("string", Some("date-time")),
        "uuid" | "guid" => ("string", Some("uuid")),
        "uri" | "url" => ("string", Some("uri")),
        "int" | "integer" | "long" | "short" | "int32" | "int64" => ("integer", None),
        "float" | "double" | "decimal" | "number" | "numeric" => ("number", None),
        "bool" | "boolean" => ("boolean", None),
        "list" | "array" => ("array", None),
        "dict" | "map" | "hash" | "object" => ("object", None),
        "null" => ("null", None),
        _ => return None,
    })
}

/// Adds schemas that must hold beside what is there.
pub(super) fn add_all(out: &mut Map<String, Value>, more: Vec<Value>) {
    match out.get_mut("allOf") {
        Some(Value::Array(parts)) => parts.extend(more),
        Some(_) | None => {
            out.insert("allOf".to_owned(), Value::Array(more));
        }
    }
}

/// Reads `10` and `10.0`.
fn whole(text: &str) -> Option<u64> {
    let text = text.trim();
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    part.bytes().all(|b| b == b'0').then(|| whole.parse().ok())?
}
