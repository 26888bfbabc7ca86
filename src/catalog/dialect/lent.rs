//! Members that an export of alternatives as one object shows beside each other: a schema in, out the
//! names of those that stand in some alternatives only, and that no value may have as null. A model
//! gives null for the ones that its choice does not have.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::merge::Settler;
use super::view::{Types, list, properties, required, types};

/// Most alternatives that are looked at; of more, nothing is said.
const MAX_BRANCHES: usize = 512;
/// How deep alternatives within alternatives are followed; deeper ones may take anything.
const MAX_STEPS: usize = 16;

/// The members of a tool's root that are lent by its alternatives and cannot be null.
pub(super) fn lent(root: &Value) -> BTreeSet<String> {
    let Some(map) = root.as_object() else { return BTreeSet::new() };
    if !["$ref", "allOf", "anyOf", "oneOf"].iter().any(|keyword| map.contains_key(*keyword)) {
        return BTreeSet::new();
    }
    let mut reader = Reader { root, left: MAX_BRANCHES };
    let whole = reader.part(map, MAX_STEPS);
    if whole.groups.is_empty() || reader.left == 0 {
        return BTreeSet::new();
    }
    let mut names = BTreeSet::new();
    whole.names(&mut names);
    let is_own = |name: &&str| properties(&whole.map).is_some_and(|own| own.contains_key(*name));
    let is_needed = |name: &&str| required(&whole.map).any(|known| known == *name);
    let lent = names.into_iter().filter(|name| !is_own(name) && !is_needed(name));
    lent.filter(|name| whole.refuses_null(root, name)).map(str::to_owned).collect()
}

/// A schema whose references were followed, and its groups of alternatives, one of each of which holds.
struct Part {
    map: Map<String, Value>,
    groups: Vec<Vec<Option<Part>>>,
}

struct Reader<'s> {
    root: &'s Value,
    /// Alternatives that may still be looked at.
    left: usize,
}

impl Reader<'_> {
    fn part(&mut self, schema: &Map<String, Value>, steps: usize) -> Part {
        let map = Settler { root: self.root, trail: Vec::new() }.settle(schema);
        let mut groups = Vec::new();
        for keyword in ["anyOf", "oneOf"] {
            let mut group = Vec::new();
            for branch in list(&map, keyword) {
                self.left = self.left.saturating_sub(1);
                let known = branch.as_object().filter(|_| steps > 0 && self.left > 0);
                group.push(known.map(|branch| self.part(branch, steps - 1)));
            }
            if !group.is_empty() {
                groups.push(group);
            }
        }
        Part { map, groups }
    }
}

impl Part {
    fn names<'p>(&'p self, found: &mut BTreeSet<&'p str>) {
        found.extend(properties(&self.map).into_iter().flatten().map(|(name, _)| name.as_str()));
        self.groups.iter().flatten().flatten().for_each(|part| part.names(found));
    }

    /// Whether no value with null as this member fits, whatever else it has.
    fn refuses_null(&self, root: &Value, name: &str) -> bool {
        let own = match properties(&self.map).and_then(|members| members.get(name)) {
            Some(member) => !types(root, member).has(Types::NULL),
            None => self.is_closed(),
        };
        let refused =
            |part: &Option<Self>| part.as_ref().is_some_and(|part| part.refuses_null(root, name));
        own || self.groups.iter().any(|group| group.iter().all(refused))
    }

    /// Whether what it does not declare itself is refused.
    fn is_closed(&self) -> bool {
        let is_false = |keyword: &str| self.map.get(keyword) == Some(&Value::Bool(false));
        let elsewhere = ["anyOf", "oneOf", "if", "then", "else", "dependentSchemas"];
        let alone = || !elsewhere.iter().any(|keyword| self.map.contains_key(*keyword));
        !self.map.contains_key("patternProperties")
            && (is_false("additionalProperties") || (is_false("unevaluatedProperties") && alone()))
    }
}
