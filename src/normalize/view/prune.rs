//! The short view that a tool declares: a result and `summary_fields` in, the result without what
//! they do not select out. Structure, names and order stay.

use std::collections::HashMap;

use serde_json::Value;

use super::part::Part;
use crate::catalog::{Step, SummaryField};

/// What is selected of a value.
#[derive(Debug, Default)]
struct Chosen<'v> {
    whole: bool,
    below: HashMap<Step<'v>, Self>,
}

impl<'v> Chosen<'v> {
    fn add(&mut self, way: &[Step<'v>]) {
        let mut at = self;
        for step in way {
            if at.whole {
                return;
            }
            at = at.below.entry(*step).or_default();
        }
        at.whole = true;
    }

    fn take(&self, value: &'v Value) -> Part<'v> {
        match value {
            Value::Object(members) if !self.whole => {
                let chosen = members.iter().enumerate().filter_map(|(at, (name, member))| {
                    let below = self.below.get(&Step::Name(name))?;
                    Some((at, name.as_str(), below.take(member)))
                });
                Part::Object(chosen.collect())
            }
            Value::Array(items) if !self.whole => {
                let chosen = items.iter().enumerate().filter_map(|(at, item)| {
                    let below = self.below.get(&Step::Index(at))?;
                    Some((at, below.take(item)))
                });
                Part::Array(chosen.collect())
            }
            whole => Part::Whole(whole),
        }
    }
}

/// What the expressions select; `None` when that is nothing, or all. And those that match nothing.
pub(super) fn prune<'v>(
    value: &'v Value,
    fields: &[SummaryField],
) -> (Option<Part<'v>>, Vec<String>) {
    let mut chosen = Chosen::default();
    let mut unmatched = Vec::new();
    for field in fields {
        let ways = field.select(value);
        if ways.is_empty() {
            unmatched.push(field.as_str().to_owned());
        }
        for way in ways {
            chosen.add(&way);
        }
    }
    let some = !chosen.whole && !chosen.below.is_empty();
    (some.then(|| chosen.take(value)), unmatched)
}
