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
            }
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
