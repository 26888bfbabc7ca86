//! The finishing walk over arguments that fit: whole numbers get their plain spelling where the
//! schema asks for integers, and missing members their defaults.

use std::collections::BTreeSet;

use serde_json::{Number, Value};

use super::scope::{Node, Scope, Types, root};
use super::walk::Walk;
use crate::schema::canon::whole;
use crate::schema::reader::join;

/// Whether a value is what it is: no number to be spelt otherwise, and nothing to add to.
fn is_inert(value: &Value) -> bool {
    value.is_string() || value.is_boolean() || value.is_null()
}

impl<'s> Walk<'s> {
    pub(super) fn settle_root(&mut self, value: &mut Value, defaults: bool) {
        self.settle(&root(self.compiled), value, "", defaults);
    }

    fn settle(&mut self, nodes: &[Node<'s>], value: &mut Value, place: &str, defaults: bool) {
        if is_inert(value) || nodes.is_empty() || !self.spend(1) {
            return;
        }
        let scope = Scope::of(self.compiled, nodes, value);
        match value {
            Value::Number(number) => {
                let types = scope.types();
                if types.allow(Types::INTEGER) && !types.allow(Types::FRACTION) {
                    self.settle_integer(&scope, number, place);
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate().filter(|(_, v)| !is_inert(v)) {
                    let inner = join(place, &index.to_string());
                    self.settle(&scope.item(index), item, &inner, defaults);
                }
            }
            Value::Object(map) => {
                let mut added = BTreeSet::new();
                for name in scope.names().into_iter().filter(|_| defaults) {
                    if !map.contains_key(name) {
                        let nodes = scope.member(self.compiled, name);
                        self.add_default(&nodes, map, (place, name));
                        added.insert(name);
                    }
                }
                for (key, member) in map.iter_mut().filter(|(_, member)| !is_inert(member)) {
                    let nodes = scope.member(self.compiled, key);
                    // A default is taken as it is; defaults of its own could go on for ever.
                    let defaults = defaults && !added.contains(key.as_str());
                    self.settle(&nodes, member, &join(place, key), defaults);
                }
            }
            Value::Null | Value::Bool(_) | Value::String(_) => {}
        }
        for union in &scope.unions {
            if let Some(node) = self.chosen(union, value) {
                self.settle(&[node], value, place, defaults);
            }
        }
    }

    /// The only alternative that `value` fits.
    fn chosen(&mut self, union: &[Node<'s>], value: &Value) -> Option<Node<'s>> {
        let of_type: Vec<&Node<'s>> = union
            .iter()
            .filter(|node| {
                let scope = Scope::of(self.compiled, std::slice::from_ref(*node), value);
                scope.types().allow(Types::of(value))
            })
            .collect();
        if let [only] = of_type.as_slice() {
            return Some((*only).clone());
        }
        let mut fitting = of_type.into_iter().filter(|node| self.fits(node, value));
        match (fitting.next(), fitting.next()) {
            (Some(only), None) => Some(only.clone()),
            _ => None,
        }
    }

    fn settle_integer(&mut self, scope: &Scope<'s>, number: &mut Number, place: &str) {
        let Some(digits) = whole(number.as_str()) else {
            let words = "is too large to be written out as an integer: give at most 100 digits";
            self.refuse("integer", place, words);
            return;
        };
        if digits == number.as_str() {
            return;
        }
        if let Ok(plain) = digits.parse::<Number>() {
            let old = Value::Number(std::mem::replace(number, plain.clone()));
            let new = Value::Number(plain);
            self.log.note("integer", place, scope.sensitive(), [Some(&old), Some(&new)]);
        }
    }
}
