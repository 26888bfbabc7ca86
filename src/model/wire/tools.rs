//! The tools of a prompt in a dialect: definitions for the provider, and what a text tells of each.

use std::collections::HashMap;

use serde_json::Value;

use super::gives::gives;
use super::simple::simplify;
use crate::call::Dialect;
use crate::catalog::{Exports, exported_name};
use crate::model::prompt::Offer;

/// Most bytes of a description that is added to; `OpenAI` takes 1,024 characters.
const DESCRIPTION: usize = 1024;

/// A tool as a model is told of it.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) name: String,
    /// The provider's own tool object.
    definition: Value,
}

impl Told {
    /// The provider's own tool object, with a simple schema or its whole one.
    pub(super) fn definition(mut self, simple: bool) -> Value {
        for place in ["/function/parameters", "/input_schema", "/parameters"] {
            if let Some(schema) = self.definition.pointer_mut(place).filter(|_| simple) {
                simplify(schema);
            }
        }
        self.definition
    }

    /// What it is for, in the object of a dialect with the shape of `OpenAI`.
    pub(super) fn description(&self) -> &str {
        let description = self.definition.pointer("/function/description");
        description.and_then(Value::as_str).unwrap_or_default()
    }

    /// The schema of its arguments, in the same object.
    pub(super) fn parameters(&self) -> Option<&Value> {
        self.definition.pointer("/function/parameters")
    }
}

/// Tells tools.
pub(super) fn tell(offers: &[Offer], dialect: Dialect, exports: &Exports) -> Vec<Told> {
    let tell = |offer: &Offer| {
        let (exported, output) = match offer {
            Offer::Tool(tool) => (exports.of(tool, dialect), tool.output_schema.as_ref()),
            Offer::Own { name, description, schema } => {
                (exports.defined((name, description), schema, dialect), None)
            }
        };
        let mut definition = serde_json::from_str(&exported.definition).unwrap_or_default();
        if let Some(gives) = output.and_then(gives) {
            add(&mut definition, &gives);
        }
        Told { name: exported.name.clone(), definition }
    };
    offers.iter().map(tell).collect()
}

/// Adds a sentence to the description of a definition that has room for it.
fn add(definition: &mut Value, sentence: &str) {
    for place in ["/function/description", "/description"] {
        if let Some(Value::String(text)) = definition.pointer_mut(place)
            && text.len() + sentence.len() < DESCRIPTION
        {
            text.push_str(if text.is_empty() { "" } else { " " });
            text.push_str(sentence);
        }
    }
}

/// The names in a dialect, by those of every dialect: a call may have been made in another one.
pub(super) fn names(offers: &[Offer], dialect: Dialect) -> HashMap<String, String> {
    let mut names = HashMap::new();
    for offer in offers {
        let own = match offer {
            Offer::Tool(tool) => &tool.name,
            Offer::Own { name, .. } => name,
        };
        let here = exported_name(own, dialect);
        for other in Dialect::ALL {
            let there = exported_name(own, other);
            if there != here {
                names.insert(there.into_owned(), here.clone().into_owned());
            }
        }
    }
    names
}
