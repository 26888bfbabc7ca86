//! `oneOf` whose branches overlap: as written, a value that fits two branches fits none. Where the
//! branches are not provably apart, the union becomes `anyOf`, with a note.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::keyword::add_all;
use super::value::{allowed, is_type};
use super::{Converter, Work};
use crate::catalog::openapi::refs::Spot;

/// Deepest nesting that is looked into.
const MAX_DEPTH: usize = 5;
/// Most schemas of one union that are looked at, and most branches that are compared.
const MAX_LOOKS: usize = 2_000;
const MAX_BRANCHES: usize = 100;

const TYPES: [&str; 6] = ["string", "number", "boolean", "array", "object", "null"];

/// What is known of the values that fit a schema.
#[derive(Debug, Clone, Default)]
struct Traits<'a> {
    /// The types that they have, `integer` as `number`; `None` for all.
    types: Option<Vec<&'static str>>,
    values: Option<Vec<&'a Value>>,
    members: BTreeMap<&'a str, Traits<'a>>,
    required: Vec<&'a str>,
    closed: bool,
    /// Bounds of numbers, then of lengths, then of counts of items.
    bounds: [(Option<f64>, Option<f64>); 3],
}

impl<'a> Traits<'a> {
    fn may_be(&self, name: &str) -> bool {
        let typed = self.types.as_ref().is_none_or(|types| types.contains(&name));
        let fits = |value: &&Value| is_type(value, name);
        typed && self.values.as_ref().is_none_or(|values| values.iter().any(fits))
    }

    /// Whether no value fits both.
    fn is_apart(&self, other: &Self) -> bool {
        if let (Some(one), Some(two)) = (&self.values, &other.values)
            && !one.iter().any(|value| two.contains(value))
        {
            return true;
        }
        let shared = TYPES.iter().filter(|name| self.may_be(name) && other.may_be(name));
        shared.into_iter().all(|name| match *name {
            "object" => self.members_apart(other) || other.members_apart(self),
            "number" => self.bounds_apart(other, 0),
            "string" => self.bounds_apart(other, 1),
            "array" => self.bounds_apart(other, 2),
            _ => false,
        })
    }

    fn bounds_apart(&self, other: &Self, at: usize) -> bool {
        let get = |traits: &Self| traits.bounds.get(at).copied().unwrap_or_default();
        let (one, two) = (get(self), get(other));
        let below = |high: Option<f64>, low: Option<f64>| {
            high.zip(low).is_some_and(|(high, low)| high < low)
        };
        below(one.1, two.0) || below(two.1, one.0)
    }

    /// Whether an object of this schema cannot be one of the other.
    fn members_apart(&self, other: &Self) -> bool {
        self.required.iter().any(|name| match (self.members.get(name), other.members.get(name)) {
            (_, None) => other.closed,
            (Some(own), Some(theirs)) => own.is_apart(theirs),
            (None, Some(_)) => false,
        })
    }

    /// Whether each demands a member that the other does not: whoever gives only what one of them
    /// demands fits that one alone.
    fn demands_apart(&self, other: &Self) -> bool {
        let shared = TYPES.iter().filter(|name| self.may_be(name) && other.may_be(name));
        let more =
            |one: &Self, two: &Self| one.required.iter().any(|name| !two.required.contains(name));
        shared.into_iter().all(|name| *name == "object") && more(self, other) && more(other, self)
    }

    fn add_types(&mut self, spot: &Spot<'a>) {
        let listed = match spot.value.get("type") {
            Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).collect(),
            Some(Value::String(one)) => vec![one.as_str()],
            _ => Vec::new(),
        };
        let set = |key: &str| spot.value.get(key) == Some(&Value::Bool(true));
        let null = (set("nullable") || set("x-nullable")).then_some("null");
        let known = |name: &str| {
            let name = if name == "integer" { "number" } else { name };
            TYPES.iter().find(|known| **known == name).copied()
        };
        let mut types: Vec<&'static str> = listed.into_iter().filter_map(known).collect();
        if types.is_empty() {
            // Who lists members means an object.
            let object =
                ["properties", "required"].iter().any(|key| spot.value.get(*key).is_some());
            if !object {
                return;
            }
            types.push("object");
        }
        types.extend(null);
        match &mut self.types {
            Some(own) => own.retain(|name| types.contains(name)),
            None => self.types = Some(types),
        }
    }

    fn add_bounds(&mut self, spot: &Spot<'a>) {
        let keys = [("minimum", "maximum"), ("minLength", "maxLength"), ("minItems", "maxItems")];
        for (bounds, (low, high)) in self.bounds.iter_mut().zip(keys) {
            let get = |key: &str| spot.value.get(key).and_then(Value::as_f64);
            bounds.0 = get(low).or(bounds.0);
            bounds.1 = get(high).or(bounds.1);
        }
    }
}

impl<'a> Converter<'a> {
    /// Weakens a `oneOf` that has values which no call could pass.
    pub(super) fn settle_union(&mut self, work: &mut Work<'_, 'a>) {
        let Some(list) = work.spot.get("oneOf") else {
            return;
        };
        let told = work.spot.get("discriminator").is_some();
        if told || !work.out.contains_key("oneOf") || self.are_apart(work.spot, &list) {
            return;
        }
        let Some(branches) = work.out.shift_remove("oneOf") else {
            return;
        };
        match work.out.contains_key("anyOf") {
            true => add_all(&mut work.out, vec![json!({ "anyOf": branches })]),
            false => {
                work.out.insert("anyOf".to_owned(), branches);
            }
        }
        let message = "has branches that overlap, so that a value of two would be refused; taken \
                       as `anyOf`";
        self.note(work.spot, "oneOf", message);
    }

    fn are_apart(&self, owner: &Spot<'a>, list: &Spot<'a>) -> bool {
        let mut looks = MAX_LOOKS;
        let mut whole = Traits::default();
        whole.add_types(owner);
        let branches: Vec<Traits<'a>> = list
            .items()
            .map(|item| {
                let mut traits = self.traits(&item, MAX_DEPTH, &mut looks);
                traits.types = match (traits.types.take(), &whole.types) {
                    (Some(own), Some(all)) => {
                        Some(own.into_iter().filter(|name| all.contains(name)).collect())
                    }
                    (own, all) => own.or_else(|| all.clone()),
                };
                traits
            })
            .collect();
        if branches.len() > MAX_BRANCHES || looks == 0 {
            return false;
        }
        branches.iter().enumerate().all(|(at, one)| {
            let mut others = branches.iter().skip(at + 1);
            others.all(|two| one.is_apart(two) || one.demands_apart(two))
        })
    }

    fn traits(&self, spot: &Spot<'a>, depth: usize, looks: &mut usize) -> Traits<'a> {
        let mut traits = Traits::default();
        self.add_traits(spot, &mut traits, depth, looks);
        traits
    }

    fn add_traits(
        &self,
        spot: &Spot<'a>,
        traits: &mut Traits<'a>,
        depth: usize,
        looks: &mut usize,
    ) {
        *looks = looks.saturating_sub(1);
        let (Some(depth), Ok(spot)) =
            (depth.checked_sub(1), self.document.follow_refs(spot.clone()))
        else {
            return;
        };
        if *looks == 0 {
            return;
        }
        traits.add_types(&spot);
        traits.add_bounds(&spot);
        traits.values = allowed(spot.value).or_else(|| traits.values.take());
        let closed = spot.value.get("additionalProperties") == Some(&Value::Bool(false));
        traits.closed |= closed && spot.value.get("patternProperties").is_none();
        let hidden = self.hidden(&spot, 0);
        let required = spot.value.get("required").and_then(Value::as_array);
        let required = required.into_iter().flatten().filter_map(Value::as_str);
        traits.required.extend(required.filter(|name| !hidden.contains(name)));
        let properties = self.document.properties(&spot);
        for (name, member) in properties.iter().flat_map(Spot::members) {
            let member = self.traits(&member, depth, looks);
            traits.members.entry(name).or_insert(member);
        }
        for part in spot.get("allOf").iter().flat_map(Spot::items) {
            self.add_traits(&part, traits, depth, looks);
        }
        let inner = ["oneOf", "anyOf"].iter().find_map(|key| spot.get(key));
        if let (Some(list), None) = (inner, &traits.types) {
            let all: Option<Vec<Vec<&'static str>>> =
                list.items().map(|item| self.traits(&item, depth, looks).types).collect();
            traits.types = all.map(|all| all.concat());
        }
    }
}
