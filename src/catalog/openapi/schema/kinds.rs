//! Discriminators: the property that tells the branches of a union apart, or the extensions of a
//! base, in; branches that demand its value out, so that a validator and a model see the rule.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::value::allowed;
use super::{Converter, Direction, Form, Work};
use crate::catalog::openapi::document::is_file;
use crate::catalog::openapi::refs::Spot;
use crate::catalog::openapi::report::Reason;

/// Most extensions of one base that are written out.
const MAX_KINDS: usize = 64;
/// Deepest `allOf` in which a property is looked for.
const MAX_DEPTH: usize = 8;

/// Values of a mapping, by file and pointer of the schema.
type Mapping = HashMap<(usize, String), Vec<String>>;

/// What a schema says of its discriminator property.
#[derive(Debug, Default)]
struct Found<'a> {
    /// The values that it allows.
    values: Option<Vec<&'a Value>>,
    declared: bool,
    required: bool,
    closed: bool,
}

impl<'a> Converter<'a> {
    /// Whether a schema stands for the schemas that extend it.
    pub(in crate::catalog::openapi) fn has_kinds(&self, target: &Spot<'a>) -> bool {
        let union = ["oneOf", "anyOf"].iter().any(|key| target.value.get(*key).is_some());
        if union || property_of(target).is_none() || self.hides(target) {
            return false;
        }
        (1..=MAX_KINDS).contains(&self.document.extensions_of(target, MAX_KINDS).len())
    }

    /// A schema of an `allOf`: a base there is itself only.
    pub(super) fn part(&mut self, item: &Spot<'a>) -> Result<Value, Reason> {
        if let Some(Value::Object(source)) =
            Some(item.value).filter(|_| item.text("$ref").is_some())
            && let Some(target) = self.pointed(item, source)?
        {
            let target = self.target(target)?;
            if self.has_kinds(&target) {
                self.tally(item)?;
                let reference = self.named(&target, Form::Own);
                return self.with_beside((item, source), reference, false);
            }
        }
        self.convert(item)
    }

    /// The union of a base and the schemas that extend it.
    pub(in crate::catalog::openapi) fn kinds(&mut self, base: &Spot<'a>) -> Result<Value, Reason> {
        let Some(property) = property_of(base) else {
            return self.convert(base);
        };
        let mapping = self.mapping(base);
        let mut branches = Vec::new();
        let mut all: Vec<String> = Vec::new();
        for kind in self.document.extensions_of(base, MAX_KINDS) {
            let names = names(&mapping, &kind);
            let rule = self.pin(base, (property, &names), &kind);
            all.extend(names);
            let reference = self.named(&kind, Form::Own);
            branches.push(joined(reference, rule));
        }
        all.sort();
        all.dedup();
        // Whoever says none of the names means the base itself.
        let named = json!({ "required": [property], "properties": { property: { "enum": all } } });
        branches.push(json!({ "allOf": [self.named(base, Form::Own)], "not": named }));
        let mut out = Map::from_iter([("oneOf".to_owned(), Value::Array(branches))]);
        if let Some(text) = base.text("description") {
            out.insert("description".to_owned(), text.into());
        }
        Ok(Value::Object(out))
    }

    /// Makes the branches of a union demand the value that the discriminator has for them.
    pub(super) fn settle_kinds(&mut self, work: &mut Work<'_, 'a>) -> Result<(), Reason> {
        let Some(property) = property_of(work.spot) else {
            return Ok(());
        };
        let union = ["oneOf", "anyOf"].iter().any(|key| work.source.contains_key(*key));
        if !union && self.document.extensions_of(work.spot, MAX_KINDS).len() > MAX_KINDS {
            let message = format!("has more than {MAX_KINDS} extensions; only the base is checked");
            self.note(work.spot, "discriminator", message);
        }
        if !union {
            return Ok(());
        }
        let mapping = self.mapping(work.spot);
        for key in ["oneOf", "anyOf"] {
            let Some(list) = work.spot.get(key) else {
                continue;
            };
            for (index, item) in list.items().enumerate() {
                let Some(source) = item.value.as_object() else {
                    continue;
                };
                let Some(target) = self.pointed(&item, source)? else {
                    continue;
                };
                let target = self.target(target)?;
                if self.hides(&target) || self.hides(work.spot) {
                    continue;
                }
                let names = names(&mapping, &target);
                let rule = self.pin(work.spot, (property, &names), &target);
                let branch = work.out.get_mut(key).and_then(|list| list.get_mut(index));
                if let (Some(branch), Some(_)) = (branch, &rule) {
                    *branch = joined(branch.take(), rule);
                }
            }
        }
        Ok(())
    }

    /// The values of a mapping, by the schemas that they stand for.
    fn mapping(&mut self, owner: &Spot<'a>) -> Mapping {
        let mapping = owner.get("discriminator").and_then(|all| all.get("mapping"));
        let mut known = Mapping::new();
        for (name, entry) in mapping.iter().flat_map(Spot::members) {
            match self.mapped(&entry) {
                Some(place) => {
                    known.entry((place.file, place.pointer)).or_default().push(name.to_owned());
                }
                None => self.note(&entry, "", "leads to no schema; left out"),
            }
        }
        known
    }

    /// The schema that an entry of a mapping names, by its name or as a reference.
    fn mapped(&self, entry: &Spot<'a>) -> Option<Spot<'a>> {
        let text = entry.value.as_str()?;
        let named = self.document.schemas().and_then(|all| all.get(text));
        let found = match named {
            Some(found) if !text.contains('#') && !is_file(text) => Some(found),
            _ => self.document.resolve(entry, text).ok(),
        };
        found.and_then(|found| self.target(found).ok())
    }

    /// What a branch must demand; `None` when it already does, or could never be met.
    fn pin(
        &mut self,
        owner: &Spot<'a>,
        (property, names): (&str, &[String]),
        target: &Spot<'a>,
    ) -> Option<Value> {
        let mut found = Found::default();
        self.look(target, property, MAX_DEPTH, &mut found);
        if found.closed && !found.declared {
            let message = format!("`{property}` is no property of {target}, which allows no other");
            self.note(owner, "discriminator", message);
            return None;
        }
        let fits = |name: &&String| {
            let known = |values: &Vec<&Value>| values.iter().any(|v| v.as_str() == Some(name));
            found.values.as_ref().is_none_or(known)
        };
        let kept: Vec<&String> = names.iter().filter(fits).collect();
        let same = found.values.as_ref().is_some_and(|own| own.len() == kept.len());
        if found.required && (same || (kept.is_empty() && found.values.is_some())) {
            return None;
        }
        // The branch's own values say it better than a name that contradicts them.
        let values = (!kept.is_empty()).then(|| json!({ "type": "string", "enum": kept }));
        let mut rule = json!({ "required": [property] });
        if let (Some(values), Some(rule)) = (values, rule.as_object_mut()) {
            rule.insert("properties".to_owned(), json!({ property: values }));
        }
        Some(rule)
    }

    /// Whether the discriminator is a property that only the other side sends.
    fn hides(&self, schema: &Spot<'a>) -> bool {
        self.direction == Direction::Request
            && property_of(schema).is_some_and(|own| self.hidden(schema, MAX_DEPTH).contains(&own))
    }

    fn look(&self, schema: &Spot<'a>, property: &str, fuel: usize, found: &mut Found<'a>) {
        let (Ok(schema), Some(fuel)) =
            (self.document.follow_refs(schema.clone()), fuel.checked_sub(1))
        else {
            return;
        };
        found.closed |= schema.value.get("additionalProperties") == Some(&Value::Bool(false));
        let required = schema.value.get("required").and_then(Value::as_array);
        found.required |= required.is_some_and(|all| all.iter().any(|name| name == property));
        let own = self.document.properties(&schema).and_then(|all| all.get(property));
        if let Some(own) = own.and_then(|own| self.document.follow_refs(own).ok()) {
            found.declared = true;
            found.values = allowed(own.value).or_else(|| found.values.take());
        }
        for part in schema.get("allOf").iter().flat_map(Spot::items) {
            self.look(&part, property, fuel, found);
        }
    }
}

/// The values that stand for a branch: those of the mapping, or its own name.
fn names(mapping: &Mapping, target: &Spot<'_>) -> Vec<String> {
    if let Some(names) = mapping.get(&(target.file, target.pointer.clone())) {
        return names.clone();
    }
    vec![target.key()]
}

/// The property that a schema's discriminator names: an object in 3.x, plain text in 2.0.
fn property_of<'a>(schema: &Spot<'a>) -> Option<&'a str> {
    let own = schema.value.get("discriminator")?;
    own.as_str().or_else(|| own.get("propertyName")?.as_str())
}

/// A branch that must also follow a rule.
fn joined(branch: Value, rule: Option<Value>) -> Value {
    match rule {
        Some(rule) => json!({ "allOf": [branch, rule] }),
        None => branch,
    }
}
