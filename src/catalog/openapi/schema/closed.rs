//! Compositions in which a closed schema (`additionalProperties: false`) refuses what stands beside
//! it: as written nothing could fit, so the union of all members is closed instead, with a note.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{Converter, Form, Work};
use crate::catalog::openapi::flatten::has_beside;
use crate::catalog::openapi::refs::Spot;
use crate::catalog::openapi::report::Reason;

/// Deepest composition that is looked into.
const MAX_DEPTH: usize = 8;
/// Most schemas of one composition that are looked at.
const MAX_LOOKS: usize = 400;

/// One schema of a composition: what it names itself, and what applies beside it.
#[derive(Debug, Default)]
struct Part<'a> {
    own: BTreeSet<&'a str>,
    closed: bool,
    /// All of these apply.
    all: Vec<Part<'a>>,
    /// One of each list applies.
    unions: Vec<Vec<Part<'a>>>,
}

impl<'a> Part<'a> {
    fn names(&self, into: &mut BTreeSet<&'a str>) {
        into.extend(&self.own);
        let below = self.all.iter().chain(self.unions.iter().flatten());
        below.for_each(|part| part.names(into));
    }

    fn any_closed(&self) -> bool {
        self.closed || self.all.iter().chain(self.unions.iter().flatten()).any(Part::any_closed)
    }

    /// Whether some closed schema refuses a name that another one declares.
    fn clashes(&self, outside: &BTreeSet<&'a str>) -> bool {
        let mut every = outside.clone();
        self.names(&mut every);
        if self.closed && every.iter().any(|name| !self.own.contains(name)) {
            return true;
        }
        let groups = || {
            let all = self.all.iter().map(std::slice::from_ref);
            all.chain(self.unions.iter().map(Vec::as_slice)).enumerate()
        };
        let around = |skip: usize| {
            let mut names = outside.clone();
            names.extend(&self.own);
            for (_, group) in groups().filter(|(at, _)| *at != skip) {
                group.iter().for_each(|part| part.names(&mut names));
            }
            names
        };
        groups().any(|(at, group)| {
            let around = around(at);
            group.iter().any(|part| part.clashes(&around))
        })
    }

    /// Whether nothing that fits may have a member that no part declares.
    fn seals(&self) -> bool {
        self.closed
            || self.all.iter().any(Part::seals)
            || self.unions.iter().any(|group| !group.is_empty() && group.iter().all(Part::seals))
    }
}

/// What becomes of a composition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Closing {
    /// It stays as it is written.
    Own,
    /// Its parts are opened, and it is closed as a whole.
    Whole,
    /// Its parts are opened; some of them are open as written.
    Opened,
}

impl<'a> Converter<'a> {
    /// Whether a composition must be closed as a whole.
    pub(super) fn closing(&self, spot: &Spot<'a>) -> Closing {
        let composed = ["allOf", "anyOf", "oneOf"].iter().any(|key| spot.value.get(*key).is_some());
        let composed = composed || has_beside(self, spot);
        if !composed || spot.value.get("unevaluatedProperties").is_some() {
            return Closing::Own;
        }
        let mut looks = MAX_LOOKS;
        let whole = self.part_of(spot, MAX_DEPTH, &mut looks);
        if looks == 0 || !whole.any_closed() || !whole.clashes(&BTreeSet::new()) {
            return Closing::Own;
        }
        if whole.seals() { Closing::Whole } else { Closing::Opened }
    }

    fn part_of(&self, spot: &Spot<'a>, depth: usize, looks: &mut usize) -> Part<'a> {
        let mut part = Part::default();
        *looks = looks.saturating_sub(1);
        let beside = has_beside(self, spot);
        let followed = match beside {
            true => Ok(spot.clone()),
            false => self.document.follow_refs(spot.clone()),
        };
        let (Some(depth), Ok(spot)) = (depth.checked_sub(1), followed) else {
            return part;
        };
        if *looks == 0 {
            return part;
        }
        part.closed = spot.value.get("additionalProperties") == Some(&Value::Bool(false))
            && spot.value.get("patternProperties").is_none();
        let properties = self.document.properties(&spot);
        part.own.extend(properties.iter().flat_map(Spot::members).map(|(name, _)| name));
        for key in ["allOf", "anyOf", "oneOf"] {
            let list = spot.get(key);
            let parts = list.iter().flat_map(Spot::items);
            let parts: Vec<_> = parts.map(|item| self.part_of(&item, depth, looks)).collect();
            match key {
                "allOf" => part.all = parts,
                _ if parts.is_empty() => {}
                _ => part.unions.push(parts),
            }
        }
        let reference = spot.text("$ref").filter(|_| beside);
        let target = reference.and_then(|text| self.document.resolve(&spot, text).ok());
        part.all.extend(target.map(|target| self.part_of(&target, depth, looks)));
        part
    }

    /// One schema of a composition that is closed as a whole: what it says, but open.
    pub(super) fn open_part(&mut self, item: &Spot<'a>) -> Result<Value, Reason> {
        let Value::Object(source) = item.value else {
            return self.convert(item);
        };
        match self.pointed(item, source)? {
            Some(target) => {
                let target = self.target(target)?;
                let plain = target.value.as_object().is_some_and(|map| !map.contains_key("$ref"));
                match plain || has_beside(self, &target) {
                    true => {
                        let reference = self.named(&target, Form::Open);
                        self.with_beside((item, source), reference, true)
                    }
                    false => self.convert(item),
                }
            }
            None => {
                self.tally(item)?;
                self.object_in(item, source, true).map(Value::Object)
            }
        }
    }

    /// A reference with what stands beside it, which 3.1 heeds.
    pub(super) fn with_beside(
        &mut self,
        (item, source): (&Spot<'a>, &'a Map<String, Value>),
        mut reference: Value,
        open: bool,
    ) -> Result<Value, Reason> {
        if let Some(map) = reference.as_object_mut().filter(|_| has_beside(self, item)) {
            map.extend(self.object_in(item, source, open)?);
        }
        Ok(reference)
    }

    /// Takes the closed parts' own doors away, and closes the whole where it is to be.
    pub(super) fn settle_closed(&mut self, work: &mut Work<'_, 'a>, closing: Closing) {
        if work.open && work.out.get("additionalProperties") == Some(&Value::Bool(false)) {
            work.out.shift_remove("additionalProperties");
        }
        let how = match closing {
            Closing::Own => return,
            Closing::Whole => {
                work.out.insert("unevaluatedProperties".to_owned(), Value::Bool(false));
                "members that no part declares are refused"
            }
            Closing::Opened => "other members are allowed",
        };
        let message = format!(
            "a part with `additionalProperties: false` refuses what the other parts declare; read \
             as all their members together: {how}"
        );
        self.note(work.spot, "additionalProperties", message);
    }

    /// A closed schema that demands what it does not declare could never be met.
    pub(super) fn settle_required(&mut self, work: &mut Work<'_, 'a>) {
        let closed = work.out.get("additionalProperties") == Some(&Value::Bool(false));
        if !closed || work.out.contains_key("patternProperties") {
            return;
        }
        let required = work.out.get("required").and_then(Value::as_array).cloned();
        let known = |name: &str| {
            work.out.get("properties").is_some_and(|properties| properties.get(name).is_some())
        };
        let missing: Vec<String> = required
            .iter()
            .flatten()
            .filter_map(Value::as_str)
            .filter(|name| !known(name))
            .map(str::to_owned)
            .collect();
        if missing.is_empty() {
            return;
        }
        let properties = work.out.entry("properties").or_insert_with(|| json!({}));
        if let Some(properties) = properties.as_object_mut() {
            properties.extend(missing.iter().map(|name| (name.clone(), json!({}))));
        }
        let message = format!(
            "names `{}`, which `properties` does not declare; taken as members of any type",
            missing.join("`, `")
        );
        self.note(work.spot, "required", message);
    }
}
