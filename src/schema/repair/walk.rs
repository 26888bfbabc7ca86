//! The repairing walk: goes through schema and value side by side and changes what does not fit
//! where nothing is lost. Whether the result fits is for the caller to check.

use std::collections::{BTreeMap, BTreeSet};

use jsonschema::Validator;
use serde_json::{Map, Value};

use super::Log;
use super::scalar::convert;
use super::scope::{Node, Scope, root};
use crate::schema::canon::canonical;
use crate::schema::reader::join;
use crate::schema::validator::Compiled;
use crate::schema::violation::{Violation, named};
use crate::schema::{MAX_ARGUMENTS_BYTES, MAX_DEPTH};

/// Repairs that only show after others take a further round; more are refused.
const MAX_ROUNDS: usize = 8;
/// Most errors looked at in a round.
const MAX_ERRORS: usize = 2_000;
/// Places that may be visited, beside a multiple of the size of the arguments.
const BUDGET: usize = 100_000;

/// One walk over one value.
pub(super) struct Walk<'s> {
    pub(super) compiled: &'s Compiled,
    aliases: &'s BTreeMap<String, String>,
    pub(super) log: Log,
    pub(super) conflicts: Vec<Violation>,
    /// Places with an error of their own, in the current round.
    broken: BTreeSet<String>,
    /// Names that are known at a place outside the alternative being walked.
    outside: BTreeMap<String, BTreeSet<&'s str>>,
    /// Places whose non-value was dropped; they get no default.
    pub(super) dropped: BTreeSet<String>,
    /// Places that may still be visited.
    pub(super) budget: usize,
    /// Bytes of defaults that may still be added.
    pub(super) room: usize,
}

impl<'s> Walk<'s> {
    pub(super) fn new(
        compiled: &'s Compiled,
        aliases: &'s BTreeMap<String, String>,
        log: Log,
    ) -> Self {
        Self {
            compiled,
            aliases,
            log,
            conflicts: Vec::new(),
            broken: BTreeSet::new(),
            outside: BTreeMap::new(),
            dropped: BTreeSet::new(),
            budget: BUDGET,
            room: MAX_ARGUMENTS_BYTES,
        }
    }

    pub(super) fn mend_root(&mut self, value: &mut Value) {
        self.budget = BUDGET + 16 * count(value);
        let compiled = self.compiled;
        self.rounds(&compiled.root, &root(compiled), value, "");
    }

    /// Walks until nothing changes any more.
    fn rounds(
        &mut self,
        validator: &Validator,
        nodes: &[Node<'s>],
        value: &mut Value,
        place: &str,
    ) {
        for _ in 0..MAX_ROUNDS {
            if !self.spend(count(value)) {
                return;
            }
            self.broken = validator
                .iter_errors(value)
                .take(MAX_ERRORS)
                .map(|error| format!("{place}{}", error.instance_path().as_str()))
                .collect();
            let before = self.log.count();
            self.mend(nodes, value, place);
            if self.log.count() == before || !self.conflicts.is_empty() {
                return;
            }
        }
    }

    pub(super) fn spend(&mut self, cost: usize) -> bool {
        let enough = self.budget >= cost;
        self.budget = self.budget.saturating_sub(cost);
        enough
    }

    fn mend(&mut self, nodes: &[Node<'s>], value: &mut Value, place: &str) {
        if nodes.is_empty() || !self.spend(1) {
            return;
        }
        let scope = Scope::of(self.compiled, nodes, value);
        if self.broken.contains(place) {
            let depth = MAX_DEPTH.saturating_sub(place.matches('/').count());
            if let Some((kind, new)) = convert(&scope, value, depth) {
                let secret = scope.sensitive() || (kind == "decode" && self.log.sensitive);
                self.log
                    .note(kind, place, secret, [Some(value), Some(&new)]);
                *value = new;
            }
        }
        match value {
            Value::Object(_) => self.mend_object(&scope, value, place),
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    let inner = join(place, &index.to_string());
                    // Most items are scalars that fit; a long array must not cost a scope each.
                    if item.is_array() || item.is_object() || self.broken.contains(&inner) {
                        self.mend(&scope.item(index), item, &inner);
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        for union in &scope.unions {
            self.mend_union(&scope, union, value, place);
        }
    }

    fn mend_object(&mut self, scope: &Scope<'s>, value: &mut Value, place: &str) {
        self.rename(scope, value, place);
        let Value::Object(map) = value else { return };
        let required = scope.required();
        let declared: BTreeSet<&str> = scope.names().into_iter().collect();
        let keys: Vec<String> = map.keys().cloned().collect();
        for key in keys {
            let nodes = scope.member(self.compiled, &key);
            let inner = join(place, &key);
            if let Some(member) = map.get_mut(&key) {
                self.mend(&nodes, member, &inner);
            }
            let meaningless = map
                .get(&key)
                .is_some_and(|member| member.is_null() || member.as_str() == Some(""));
            let optional = declared.contains(key.as_str()) && !required.contains(key.as_str());
            if meaningless && optional && self.broken.contains(&inner) {
                let gone = map.shift_remove(&key);
                self.log.note("drop", &inner, false, [gone.as_ref(), None]);
                self.dropped.insert(inner);
            }
        }
        for name in required {
            if !map.contains_key(name) {
                let nodes = scope.member(self.compiled, name);
                self.add_default(&nodes, map, (place, name));
            }
        }
    }

    /// Gives the member its default, if it has one that fits.
    pub(super) fn add_default(
        &mut self,
        nodes: &[Node<'s>],
        map: &mut Map<String, Value>,
        (place, name): (&str, &str),
    ) {
        let inner = join(place, name);
        if self.dropped.contains(&inner) {
            return;
        }
        let scope = Scope::of(self.compiled, nodes, &Value::Null);
        let Some(default) = scope.default_value() else {
            return;
        };
        let fits = nodes.iter().all(|node| {
            let validator = self.compiled.branch(&node.pointer);
            validator.is_some_and(|validator| validator.is_valid(default))
        });
        if !fits {
            return;
        }
        match self.room.checked_sub(default.to_string().len()) {
            Some(left) => self.room = left,
            None => {
                self.refuse(
                    "size",
                    &inner,
                    "cannot get its default: the arguments would be too large",
                );
                return;
            }
        }
        self.log
            .note("default", &inner, scope.sensitive(), [None, Some(default)]);
        map.insert(name.to_owned(), default.clone());
    }

    pub(super) fn refuse(&mut self, kind: &str, place: &str, words: &str) {
        self.conflicts.push(Violation {
            pointer: place.to_owned(),
            kind: kind.to_owned(),
            message: format!("{} {words}", named(place)),
            expected: Value::Null,
            got: Value::Null,
        });
    }

    /// Renames members whose name differs from a declared one only in case or separators, or is
    /// an alias. Two names for one property are a conflict.
    fn rename(&mut self, scope: &Scope<'s>, value: &mut Value, place: &str) {
        let elsewhere = scope.union_names(self.compiled, value);
        let Value::Object(map) = value else { return };
        let names = scope.names();
        let known: BTreeSet<&str> = names.iter().copied().collect();
        let mut renames: BTreeMap<String, &str> = BTreeMap::new();
        for key in map.keys() {
            let stranger = !known.contains(key.as_str())
                && !elsewhere.contains(key.as_str())
                && !self
                    .outside
                    .get(place)
                    .is_some_and(|outer| outer.contains(key.as_str()));
            if !stranger {
                continue;
            }
            let (target, declared) = match self.alias(key, place, &names) {
                Some(target) => (target, true),
                None => match only_alike(key, &names, &elsewhere) {
                    Some(target) => (target, false),
                    None => continue,
                },
            };
            let needed = scope.required().contains(target) && !map.contains_key(target);
            if scope.open() && !declared && !needed
                || !scope.patterned(self.compiled, key).is_empty()
            {
                continue;
            }
            if map.contains_key(target) || renames.values().any(|taken| *taken == target) {
                let words = format!("and `{target}` name the same property: give only `{target}`");
                self.refuse("conflict", &join(place, key), &words);
                continue;
            }
            renames.insert(key.clone(), target);
        }
        if renames.is_empty() {
            return;
        }
        let old = std::mem::take(map);
        for (key, member) in old {
            match renames.get(&key) {
                Some(new) => {
                    let texts = [Value::String(key), Value::String((*new).to_owned())];
                    let [from, to] = &texts;
                    let inner = join(place, new);
                    self.log
                        .note("rename", &inner, false, [Some(from), Some(to)]);
                    map.insert((*new).to_owned(), member);
                }
                None => {
                    map.insert(key, member);
                }
            }
        }
    }

    /// The property that `key` is a declared alias of.
    fn alias(&self, key: &str, place: &str, names: &[&'s str]) -> Option<&'s str> {
        if !place.is_empty() {
            return None;
        }
        let exact = self.aliases.get(key);
        let target = exact.or_else(|| {
            let alike = |(alias, _): &(&String, &String)| fold(alias) == fold(key);
            self.aliases.iter().find(alike).map(|(_, target)| target)
        })?;
        names.iter().copied().find(|name| name == target)
    }

    /// Walks the one alternative that fits, or makes one fit if only one can be made to.
    fn mend_union(
        &mut self,
        scope: &Scope<'s>,
        union: &[Node<'s>],
        value: &mut Value,
        place: &str,
    ) {
        let broken = self.broken.contains(place);
        if !broken && !value.is_object() && !value.is_array() {
            return;
        }
        if !self.spend(count(value).saturating_mul(union.len())) {
            return;
        }
        let outer = self.outside.get(place).cloned();
        let names = self.outside.entry(place.to_owned()).or_default();
        names.extend(scope.names());
        let fitting: Vec<&Node<'s>> = union.iter().filter(|node| self.fits(node, value)).collect();
        match fitting.as_slice() {
            [only] => self.mend(&[(*only).clone()], value, place),
            [] if broken => self.try_each(union, value, place),
            _ => {}
        }
        match outer {
            Some(outer) => self.outside.insert(place.to_owned(), outer),
            None => self.outside.remove(place),
        };
    }

    pub(super) fn fits(&self, node: &Node<'s>, value: &Value) -> bool {
        let validator = self.compiled.branch(&node.pointer);
        validator.is_some_and(|validator| validator.is_valid(value))
    }

    fn try_each(&mut self, union: &[Node<'s>], value: &mut Value, place: &str) {
        let mut found: Option<(String, Value, Log, BTreeSet<String>)> = None;
        for node in union {
            let Some(validator) = self.compiled.branch(&node.pointer) else {
                continue;
            };
            let mut walk = Walk::new(self.compiled, self.aliases, Log::new(self.log.sensitive));
            walk.budget = self.budget;
            walk.room = self.room;
            walk.outside.clone_from(&self.outside);
            let mut trial = value.clone();
            walk.rounds(&validator, std::slice::from_ref(node), &mut trial, place);
            self.budget = walk.budget;
            if !walk.conflicts.is_empty() || !validator.is_valid(&trial) {
                continue;
            }
            let text = canonical(&trial);
            match &found {
                Some((other, ..)) if *other == text => {}
                // Two alternatives, two meanings: the caller must say which.
                Some(_) => return,
                None => found = Some((text, trial, walk.log, walk.dropped)),
            }
        }
        if let Some((_, new, log, dropped)) = found {
            *value = new;
            self.log.append(log);
            self.dropped.extend(dropped);
        }
    }
}

/// The only one among `names` that differs from `key` in nothing but case and separators. None
/// when an alternative (`elsewhere`) has one too.
fn only_alike<'n>(key: &str, names: &[&'n str], elsewhere: &BTreeSet<&str>) -> Option<&'n str> {
    let wanted = fold(key);
    if wanted.is_empty() || elsewhere.iter().any(|name| fold(name) == wanted) {
        return None;
    }
    let mut alike = names.iter().copied().filter(|name| fold(name) == wanted);
    match (alike.next(), alike.next()) {
        (Some(one), None) => Some(one),
        _ => None,
    }
}

/// A name without case and separators.
fn fold(name: &str) -> String {
    name.chars()
        .filter(|c| !matches!(c, '_' | '-' | '.' | ' '))
        .flat_map(char::to_lowercase)
        .collect()
}

/// How many values `value` holds, itself included.
fn count(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(count).sum::<usize>(),
        Value::Object(map) => 1 + map.values().map(count).sum::<usize>(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
    }
}
