//! The repairing walk: goes through schema and value side by side and changes what does not fit
//! where nothing is lost. Whether the result fits is for the caller to check.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use serde_json::{Map, Value};

use super::Log;
use super::scalar::convert;
use super::scope::{Node, Scope, root};
use crate::schema::canon::canonical;
use crate::schema::reader::join;
use crate::schema::validator::{Compiled, collect_errors, count};
use crate::schema::violation::{Violation, named, short_pointer};
use crate::schema::{MAX_ARGUMENTS_BYTES, MAX_DEPTH};

/// Repairs that only show after others take a further round; more are refused.
const MAX_ROUNDS: usize = 8;
/// Alternatives within alternatives that are tried; deeper ones must fit as they are.
const MAX_TRIALS: usize = 3;
/// Places whose alternatives cannot be repaired after which no more are tried: one is enough for
/// the arguments to be refused.
const MAX_FAILED: usize = 16;
/// Places that may be visited, beside a multiple of the size of the arguments.
const BUDGET: usize = 20_000;

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
    elsewhere: HashMap<String, Rc<BTreeSet<&'s str>>>,
    /// Places whose non-value was dropped; they get no default.
    pub(super) dropped: BTreeSet<String>,
    /// Places that may still be visited.
    pub(super) budget: usize,
    /// How many alternatives within alternatives are being tried.
    trials: usize,
    /// How many places with alternatives could not be repaired.
    failed: usize,
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
            elsewhere: HashMap::new(),
            dropped: BTreeSet::new(),
            budget: BUDGET,
            trials: 0,
            failed: 0,
            room: MAX_ARGUMENTS_BYTES,
        }
    }

    pub(super) fn mend_root(&mut self, value: &mut Value) {
        self.budget = BUDGET + 16 * count(value);
        self.rounds("", &root(self.compiled), value, "");
    }

    /// Walks until nothing changes any more. `part` is the place in the schema that `value` must
    /// fit.
    fn rounds(&mut self, part: &str, nodes: &[Node<'s>], value: &mut Value, place: &str) {
        let compiled = self.compiled;
        for _ in 0..MAX_ROUNDS {
            if !self.spend(count(value)) {
                return;
            }
            self.broken.clear();
            if !compiled.fits(part, value)
                && let Some(locator) = compiled.locator(&compiled.located(part))
            {
                self.broken = collect_errors(&locator, value)
                    .iter()
                    .map(|error| format!("{place}{}", error.instance_path().as_str()))
                    .collect();
            }
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
                self.log.note(kind, place, secret, [Some(value), Some(&new)]);
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
        // A scalar that fits stays as it is.
        let fits = |member: &Value| !member.is_array() && !member.is_object();
        let all = !self.broken.is_empty();
        let open = map.iter().filter(|(_, member)| all || !fits(member));
        let keys: Vec<String> = open.map(|(key, _)| key.clone()).collect();
        for key in keys {
            let nodes = scope.member(self.compiled, &key);
            let inner = join(place, &key);
            if let Some(member) = map.get_mut(&key) {
                self.mend(&nodes, member, &inner);
            }
            let meaningless =
                map.get(&key).is_some_and(|member| member.is_null() || member.as_str() == Some(""));
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
        let fits = nodes.iter().all(|node| self.fits(node, default));
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
        self.log.note("default", &inner, scope.sensitive(), [None, Some(default)]);
        map.insert(name.to_owned(), default.clone());
    }

    pub(super) fn refuse(&mut self, kind: &str, place: &str, words: &str) {
        self.conflicts.push(Violation {
            pointer: short_pointer(place),
            kind: kind.to_owned(),
            message: format!("{} {words}", named(place)),
            expected: Value::Null,
            got: Value::Null,
        });
    }

    /// Renames members whose name differs from a declared one only in case or separators, or is
    /// an alias. Two names for one property are a conflict.
    fn rename(&mut self, scope: &Scope<'s>, value: &mut Value, place: &str) {
        let elsewhere = self.names_elsewhere(scope);
        let Value::Object(map) = value else { return };
        let names = scope.names();
        let known: BTreeSet<&str> = names.iter().copied().collect();
        let mut renames: BTreeMap<String, &str> = BTreeMap::new();
        for key in map.keys() {
            let stranger = !known.contains(key.as_str())
                && !elsewhere.contains(key.as_str())
                && !self.outside.get(place).is_some_and(|outer| outer.contains(key.as_str()));
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
                    self.log.note("rename", &inner, false, [Some(from), Some(to)]);
                    map.insert((*new).to_owned(), member);
                }
                None => {
                    map.insert(key, member);
                }
            }
        }
    }

    /// The names that the alternatives at a place declare. Many places share one schema, so each
    /// set is made once.
    fn names_elsewhere(&mut self, scope: &Scope<'s>) -> Rc<BTreeSet<&'s str>> {
        let firsts = scope.unions.iter().filter_map(|union| union.first());
        let key: String = firsts.map(|node| format!("{}\n", node.pointer)).collect();
        let compiled = self.compiled;
        let made =
            self.elsewhere.entry(key).or_insert_with(|| Rc::new(scope.union_names(compiled)));
        Rc::clone(made)
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
        let scalar = !value.is_object() && !value.is_array();
        if !broken && scalar || broken && self.failed >= MAX_FAILED {
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
            [] if broken && self.trials < MAX_TRIALS => self.try_each(union, value, place),
            _ => {}
        }
        match outer {
            Some(outer) => self.outside.insert(place.to_owned(), outer),
            None => self.outside.remove(place),
        };
    }

    pub(super) fn fits(&self, node: &Node<'s>, value: &Value) -> bool {
        self.compiled.fits(&node.pointer, value)
    }

    fn try_each(&mut self, union: &[Node<'s>], value: &mut Value, place: &str) {
        let mut found: Option<(String, Value, Log, BTreeSet<String>)> = None;
        for node in union {
            let mut walk = Walk::new(self.compiled, self.aliases, Log::new(self.log.sensitive));
            walk.budget = self.budget;
            walk.room = self.room;
            walk.outside.clone_from(&self.outside);
            let mut trial = value.clone();
            walk.trials = self.trials + 1;
            walk.rounds(&node.pointer, std::slice::from_ref(node), &mut trial, place);
            self.budget = walk.budget;
            if !walk.conflicts.is_empty() || !self.fits(node, &trial) {
                continue;
            }
            let text = canonical(&trial);
            match &found {
                Some((other, ..)) if *other == text => {}
                // Two alternatives, two meanings: the caller must say which.
                Some(_) => {
                    self.failed += 1;
                    return;
                }
                None => found = Some((text, trial, walk.log, walk.dropped)),
            }
        }
        if let Some((_, new, log, dropped)) = found {
            *value = new;
            self.log.append(log);
            self.dropped.extend(dropped);
        } else {
            self.failed += 1;
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
