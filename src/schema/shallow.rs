//! A copy of a schema in which alternatives are judged as a whole: a schema in, a [`Shallow`] out.
//!
//! Collecting the errors of nested alternatives costs a power of their number. Here `anyOf` and
//! `oneOf` stand behind a double `not`, which says yes or no and nothing else; whoever wants to
//! know more asks one alternative after the other.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::reader::join;
use super::reference::pointer_of;
use super::validator::{encode, holds_data, names_schemas};

/// Member of the copy's root that holds the alternatives.
const UNIONS: &str = "x-switchboard-unions";

/// The copy.
pub(super) struct Shallow {
    pub(super) schema: Value,
    /// Pointers of `anyOf` and `oneOf` in the original, and their numbers in the copy.
    unions: HashMap<String, usize>,
}

/// Copies `schema`; `None` when it has no alternatives.
pub(super) fn flatten(schema: &Value) -> Option<Shallow> {
    let mut copier = Copier::default();
    let mut copy = copier.copy(schema, "");
    if copier.unions.is_empty() {
        return None;
    }
    let Copier { unions, lists } = copier;
    copy.as_object_mut()?.insert(UNIONS.to_owned(), Value::Array(lists));
    let mut shallow = Shallow { schema: Value::Null, unions };
    shallow.redirect(&mut copy);
    shallow.schema = copy;
    Some(shallow)
}

/// The alternatives that a failed double `not` of `schema` stands for: the pointer of their list.
pub(super) fn union_of(negated: &Value) -> Option<&str> {
    let target = negated.get("not")?.get("$ref")?.as_str()?;
    let pointer = target.strip_prefix('#')?;
    pointer.strip_prefix('/')?.starts_with(UNIONS).then_some(pointer)
}

impl Shallow {
    /// Where the place at `pointer` of the original stands in the copy.
    pub(super) fn place_of(&self, pointer: &str) -> String {
        let ends = pointer.match_indices('/').map(|(at, _)| at).skip(1);
        let mut ends: Vec<usize> = ends.collect();
        ends.push(pointer.len());
        for end in ends.into_iter().rev() {
            let Some((head, rest)) = pointer.split_at_checked(end) else {
                continue;
            };
            if let Some(number) = self.unions.get(head) {
                let keyword = head.rsplit('/').next().unwrap_or_default();
                return format!("/{UNIONS}/{number}/{keyword}{rest}");
            }
        }
        pointer.to_owned()
    }

    /// Makes references into alternatives follow these to their new place.
    fn redirect(&self, copy: &mut Value) {
        let mut todo = vec![copy];
        while let Some(part) = todo.pop() {
            match part {
                Value::Array(items) => todo.extend(items),
                Value::Object(map) => {
                    if let Some(Value::String(target)) = map.get_mut("$ref")
                        && let Some(pointer) = pointer_of(target)
                    {
                        let place = self.place_of(&pointer);
                        if place != pointer {
                            *target = format!("#{}", encode(&place));
                        }
                    }
                    todo.extend(map.values_mut());
                }
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            }
        }
    }
}

#[derive(Default)]
struct Copier {
    unions: HashMap<String, usize>,
    lists: Vec<Value>,
}

impl Copier {
    fn copy(&mut self, schema: &Value, pointer: &str) -> Value {
        match schema {
            Value::Object(map) => self.copy_object(map, pointer),
            Value::Array(items) => items
                .iter()
                .enumerate()
                .map(|(index, item)| self.copy(item, &join(pointer, &index.to_string())))
                .collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => schema.clone(),
        }
    }

    fn copy_object(&mut self, map: &Map<String, Value>, pointer: &str) -> Value {
        let mut copy = Map::new();
        let mut checks = Vec::new();
        for (key, value) in map {
            match key.as_str() {
                "anyOf" | "oneOf" if value.is_array() => {
                    checks.push(self.copy_union(key, value, pointer));
                }
                // What alternatives have evaluated does not show through a `not`.
                "unevaluatedProperties" | "unevaluatedItems" => {}
                key if holds_data(key) => {
                    copy.insert(key.to_owned(), value.clone());
                }
                key if names_schemas(key) => {
                    let all = value.as_object().into_iter().flatten();
                    let here = join(pointer, key);
                    let all =
                        all.map(|(name, part)| (name.clone(), self.copy(part, &join(&here, name))));
                    let all: Map<String, Value> = all.collect();
                    copy.insert(key.to_owned(), Value::Object(all));
                }
                key => {
                    copy.insert(key.to_owned(), self.copy(value, &join(pointer, key)));
                }
            }
        }
        if !checks.is_empty() {
            match copy.get_mut("allOf") {
                Some(Value::Array(all)) => all.extend(checks),
                _ => {
                    copy.insert("allOf".to_owned(), Value::Array(checks));
                }
            }
        }
        Value::Object(copy)
    }

    fn copy_union(&mut self, keyword: &str, branches: &Value, pointer: &str) -> Value {
        let number = self.lists.len();
        let inner = join(pointer, keyword);
        self.lists.push(Value::Null);
        self.unions.insert(inner.clone(), number);
        let copied = self.copy(branches, &inner);
        if let Some(list) = self.lists.get_mut(number) {
            *list = json!({ keyword: copied });
        }
        json!({"not": {"not": {"$ref": format!("#/{UNIONS}/{number}")}}})
    }
}
