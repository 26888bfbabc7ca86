//! Keywords that hold other schemas: each is converted in its place.

use serde_json::{Map, Value};

use super::keyword::add_all;
use super::{Converter, Work};
use crate::catalog::openapi::refs::Spot;
use crate::catalog::openapi::report::Reason;
use crate::catalog::pattern::{Pattern, judge};

impl<'a> Converter<'a> {
    pub(super) fn nested(&mut self, work: &mut Work<'_, 'a>, key: &str) -> Result<(), Reason> {
        let Some(spot) = work.spot.get(key) else {
            return Ok(());
        };
        match key {
            "items" if spot.value.is_array() => {
                self.note(work.spot, key, "is a list; taken as `prefixItems`");
                self.list(work, "prefixItems", &spot)?;
                if let Some(rest) = work.spot.get("additionalItems") {
                    self.note(work.spot, "additionalItems", "is of an old draft; taken as `items`");
                    let rest = self.convert(&rest)?;
                    work.out.insert("items".to_owned(), rest);
                }
            }
            "dependencies" => self.dependencies(work, &spot)?,
            "extends" => {
                self.note(work.spot, key, "is of an old draft; taken as `allOf`");
                let parts = match spot.value {
                    Value::Array(_) => spot.items().collect(),
                    _ => vec![spot],
                };
                let parts: Result<_, Reason> = parts.iter().map(|part| self.part(part)).collect();
                add_all(&mut work.out, parts?);
            }
            "disallow" => self.disallow(work, &spot)?,
            "not"
            | "if"
            | "then"
            | "else"
            | "contains"
            | "propertyNames"
            | "items"
            | "unevaluatedItems"
            | "unevaluatedProperties"
            | "additionalProperties"
            | "contentSchema" => {
                let schema = self.convert(&spot)?;
                work.out.insert(key.to_owned(), schema);
            }
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => self.list(work, key, &spot)?,
            "properties" => match self.document.properties(work.spot) {
                Some(map) => self.map(work, key, &map)?,
                None => return Err(self.reason(&spot, "has a reference that leads nowhere")),
            },
            "dependentSchemas" => self.map(work, key, &spot)?,
            "patternProperties" => self.patterns(work, &spot)?,
            // Everything else says nothing about which arguments are right: identification, XML,
            // vendor extensions. Discriminators are settled with the union they belong to.
            _ => {}
        }
        Ok(())
    }

    fn list(&mut self, work: &mut Work<'_, 'a>, key: &str, spot: &Spot<'a>) -> Result<(), Reason> {
        let mut schemas = Vec::new();
        for item in spot.items() {
            schemas.push(match key {
                "allOf" | "anyOf" | "oneOf" if work.open => self.open_part(&item)?,
                "allOf" => self.part(&item)?,
                _ => self.convert(&item)?,
            });
        }
        match (schemas.is_empty(), key) {
            (true, _) => self.note(work.spot, key, "holds no schema; left out"),
            (false, "allOf") => add_all(&mut work.out, schemas),
            (false, _) => {
                work.out.insert(key.to_owned(), Value::Array(schemas));
            }
        }
        Ok(())
    }

    fn map(&mut self, work: &mut Work<'_, 'a>, key: &str, spot: &Spot<'a>) -> Result<(), Reason> {
        let mut schemas = Map::new();
        for (name, member) in spot.members() {
            schemas.insert(name.to_owned(), self.convert(&member)?);
        }
        work.out.insert(key.to_owned(), Value::Object(schemas));
        Ok(())
    }

    /// What draft 3 forbids: types by their names, and schemas.
    fn disallow(&mut self, work: &mut Work<'_, 'a>, spot: &Spot<'a>) -> Result<(), Reason> {
        self.note(work.spot, "disallow", "is of an old draft; taken as `not`");
        let listed = match spot.value {
            Value::Array(_) => spot.items().collect(),
            _ => vec![spot.clone()],
        };
        let mut never = Vec::new();
        for one in listed {
            never.push(match one.value {
                Value::String(name) => serde_json::json!({ "type": name }),
                _ => self.convert(&one)?,
            });
        }
        let never = never.into_iter().filter(|one| one.get("type") != Some(&"any".into()));
        let never = never.map(|one| serde_json::json!({ "not": one })).collect();
        add_all(&mut work.out, never);
        Ok(())
    }

    /// What 2019-09 has as `dependentRequired` and `dependentSchemas`.
    fn dependencies(&mut self, work: &mut Work<'_, 'a>, spot: &Spot<'a>) -> Result<(), Reason> {
        let message = "is of an old draft; taken as `dependentRequired` and `dependentSchemas`";
        self.note(work.spot, "dependencies", message);
        for (name, member) in spot.members() {
            let (key, value) = match member.value {
                Value::Array(_) => ("dependentRequired", member.value.clone()),
                Value::String(one) => ("dependentRequired", serde_json::json!([one])),
                _ => ("dependentSchemas", self.convert(&member)?),
            };
            let all = work.out.entry(key).or_insert_with(|| Value::Object(Map::new()));
            if let Some(all) = all.as_object_mut() {
                all.insert(name.to_owned(), value);
            }
        }
        Ok(())
    }

    /// Members that say of themselves that they are required, as draft 3 has it.
    pub(super) fn settle_demands(&mut self, work: &mut Work<'_, 'a>) {
        if self.is_swagger() || work.source.get("required").is_some() {
            return;
        }
        let properties = self.document.properties(work.spot);
        let demanded = |spot: &Spot<'_>| spot.value.get("required") == Some(&Value::Bool(true));
        let names: Vec<Value> = properties
            .iter()
            .flat_map(Spot::members)
            .filter(|(_, spot)| demanded(spot))
            .map(|(name, _)| name.into())
            .collect();
        if !names.is_empty() {
            let message = "stands in the members themselves, as draft 3 has it; taken as a list";
            self.note(work.spot, "required", message);
            work.out.insert("required".to_owned(), Value::Array(names));
        }
    }

    fn patterns(&mut self, work: &mut Work<'_, 'a>, spot: &Spot<'a>) -> Result<(), Reason> {
        let mut schemas = Map::new();
        for (pattern, member) in spot.members() {
            match judge(pattern) {
                Pattern::Plain => {
                    schemas.insert(pattern.to_owned(), self.convert(&member)?);
                }
                Pattern::Parts(_) | Pattern::No(_) => {
                    let message = format!(
                        "names properties by the pattern `{pattern}`, which cannot be enforced"
                    );
                    return Err(self.reason(spot, message));
                }
            }
        }
        work.out.insert("patternProperties".to_owned(), Value::Object(schemas));
        Ok(())
    }
}
