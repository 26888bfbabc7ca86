//! Whether a value, as a dialect's model writes it, can belong to an alternative: by types, listed
//! values, required and declared members. Bounds are not compared; the full check comes later.

use serde_json::{Map, Value};

use super::{OMIT, Restorer, decode, item_of, listed};
use crate::call::Dialect;
use crate::catalog::dialect::copy::is_nullable;
use crate::catalog::dialect::view::{Types, enumerated, list, properties, referred, required};
use crate::decimal::compare;

/// Items of a list that are compared.
const MAX_ITEMS: usize = 32;

impl Restorer<'_> {
    /// Whether the value can belong to the schema. When too much was looked at, anything can.
    pub(super) fn fits(&mut self, schema: &Value, value: &Value, depth: usize) -> bool {
        let map = match schema {
            Value::Bool(all) => return *all,
            Value::Object(map) => map,
            _ => return true,
        };
        self.looks = self.looks.saturating_sub(1);
        if depth == 0 || self.looks == 0 {
            return true;
        }
        if let (Value::String(text), Dialect::Gemini) = (value, self.dialect)
            && let Some(meant) =
                listed(self.root, map, text).or_else(|| decode(text, self.types_of(map), depth))
        {
            return self.fits_map(map, &meant, depth);
        }
        self.fits_map(map, value, depth)
    }

    fn fits_map(&mut self, map: &Map<String, Value>, value: &Value, depth: usize) -> bool {
        let of_type = map.get("type").is_none_or(|types| {
            let declared = Types::declared(types);
            declared.meets(Types::of(value)) || (value.is_number() && declared.has(Types::NUMBER))
        });
        let listed = enumerated(map);
        if !of_type || listed.is_some_and(|listed| !listed.iter().any(|one| same(one, value))) {
            return false;
        }
        if let Some((_, target)) = referred(self.root, map)
            && !self.fits(target, value, depth - 1)
        {
            return false;
        }
        if !list(map, "allOf").iter().all(|part| self.fits(part, value, depth - 1)) {
            return false;
        }
        for keyword in ["anyOf", "oneOf"] {
            let branches = list(map, keyword);
            if !branches.is_empty()
                && !branches.iter().any(|branch| self.fits(branch, value, depth - 1))
            {
                return false;
            }
        }
        match value {
            Value::Object(members) => self.fits_object(map, members, depth),
            Value::Array(items) => items.iter().take(MAX_ITEMS).enumerate().all(|(index, item)| {
                item_of(map, index).is_none_or(|schema| self.fits(schema, item, depth - 1))
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
        }
    }

    fn fits_object(
        &mut self,
        schema: &Map<String, Value>,
        members: &Map<String, Value>,
        depth: usize,
    ) -> bool {
        let declared = properties(schema);
        let own_of = |name: &str| declared.and_then(|declared| declared.get(name));
        let has_all = required(schema).all(|name| {
            members.contains_key(name)
                || members.contains_key(self.keys.of(name))
                || (self.dialect == Dialect::Plain && own_of(name).is_some_and(is_nullable))
        });
        if !has_all {
            return false;
        }
        let closed = schema.get("additionalProperties") == Some(&Value::Bool(false))
            && !schema.contains_key("patternProperties");
        for (key, member) in members {
            let renamed = self.keys.own(key).filter(|own| own_of(own).is_some());
            let name = if own_of(key).is_some() { key } else { renamed.unwrap_or(key) };
            let Some(own) = own_of(name) else {
                if closed {
                    return false;
                }
                continue;
            };
            let optional = !required(schema).any(|known| known == name);
            let left_out = self.strict
                && optional
                && (member.is_null() || member.as_str() == Some(OMIT) && self.takes_null(own));
            if !left_out && !self.fits(own, member, depth - 1) {
                return false;
            }
        }
        true
    }
}

/// Whether two values are one, however their numbers are spelled.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => compare(one, other).is_eq(),
        _ => one == other,
    }
}
