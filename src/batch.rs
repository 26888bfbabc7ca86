//! Calls of which some use the results of others: their names, arguments and tools in, a [`Plan`] out
//! and what is wrong with it; then the arguments of each call once what it refers to is known. Runs
//! nothing and knows no policy.

mod circle;
mod progress;
mod reach;
mod reference;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::catalog::{Repair, Tool};
use crate::schema::{
    Bounds, Error, MAX_ARGUMENTS_BYTES, MAX_DEPTH, Violation, loosely, read, short_pointer, unknown,
};

pub(crate) use circle::find as circles;
pub use progress::{Because, Progress, Step};
use reach::types_at;
use reference::{Hole, Template};

/// Most calls of one batch.
pub const MOST: usize = 64;
/// Most references of one call.
const HOLES: usize = 256;
/// Longest name of a call.
const NAME: usize = 64;
/// Characters of a text that an error repeats.
const BRIEF: usize = 128;
/// The kind of a violation that is about a reference.
const KIND: &str = "reference";

/// One call, as far as planning goes.
#[derive(Debug, Clone, Copy)]
pub struct Part<'p> {
    /// Its name in the batch.
    pub name: &'p str,
    /// Its arguments as JSON text.
    pub arguments: &'p str,
    /// Its tool, where the caller may know it.
    pub tool: Option<&'p Tool>,
    /// Whether the arguments are in the tool's own terms, and not in those of a dialect.
    pub own_terms: bool,
}

/// What refers to what.
#[derive(Debug)]
pub struct Plan {
    names: Vec<String>,
    templates: Vec<Option<Template>>,
    rewritten: Vec<bool>,
    needs: Vec<Vec<usize>>,
}

/// Why arguments cannot be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unfilled {
    /// The result of this call has no such place.
    Missing {
        /// The call.
        from: usize,
        /// JSON Pointer into its result.
        place: String,
    },
    /// The arguments have more bytes than any call's may have.
    Large,
}

/// Whether a value that fits a schema can have something at a place, given as a JSON Pointer.
pub(crate) fn can_have(schema: &Value, place: &str) -> bool {
    !types_at(schema, place).is_empty()
}

/// What is wrong with names: the number of the call, and how.
pub fn misnamed<'n>(names: impl IntoIterator<Item = &'n str>) -> Vec<(usize, String)> {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    let mut wrong = Vec::new();
    for (at, name) in names.into_iter().enumerate() {
        let legal = |b: u8| b.is_ascii_alphanumeric() || b"_.-".contains(&b);
        if name.is_empty() || name.len() > NAME || !name.bytes().all(legal) {
            let what = format!("is no name; 1 to {NAME} characters of A-Z a-z 0-9 _ . -");
            wrong.push((at, what));
        } else if let Some(first) = seen.insert(name, at) {
            wrong.push((at, format!("is also the name of calls[{first}]; names are unique")));
        }
    }
    wrong
}

/// Plans calls whose names are right. Beside the plan: what is wrong with each of them, nothing for a
/// plan that can be run.
pub fn plan(parts: &[Part<'_>]) -> (Plan, Vec<Vec<Violation>>) {
    let places: HashMap<&str, usize> =
        parts.iter().enumerate().map(|(at, part)| (part.name, at)).collect();
    let mut plan = Plan {
        names: parts.iter().map(|part| part.name.to_owned()).collect(),
        templates: Vec::with_capacity(parts.len()),
        rewritten: Vec::with_capacity(parts.len()),
        needs: Vec::with_capacity(parts.len()),
    };
    let mut faults = Vec::with_capacity(parts.len());
    for (own, part) in parts.iter().enumerate() {
        let (template, mut wrong, rewritten) = read_part(part, &places);
        let mut needs = Vec::new();
        for hole in template.iter().flat_map(|template| &template.holes) {
            if hole.from == own {
                wrong.push(fault(hole, "refers to its own call, which has no result yet"));
            } else if !needs.contains(&hole.from) {
                needs.push(hole.from);
            }
            wrong.extend(parts.get(hole.from).and_then(|from| misfit(hole, part, from)));
        }
        plan.templates.push(template);
        plan.rewritten.push(rewritten);
        plan.needs.push(needs);
        faults.push(wrong);
    }
    plan.circles(&mut faults);
    (plan, faults)
}

/// The arguments with their references, `None` where there are none; what is wrong with them; and
/// whether they had to be read out of another notation.
fn read_part(
    part: &Part<'_>,
    places: &HashMap<&str, usize>,
) -> (Option<Template>, Vec<Violation>, bool) {
    let bounds = Bounds { bytes: MAX_ARGUMENTS_BYTES, depth: MAX_DEPTH };
    let repaired = part.tool.is_none_or(|tool| tool.repair == Repair::Safe);
    let loose = || if repaired { loosely(part.arguments) } else { Ok((Value::Null, false)) };
    let (value, rewritten) = match read(part.arguments, bounds) {
        Ok(value) if !value.is_string() => (value, false),
        // A call without references is repaired, or refused, as any other.
        _ if !part.arguments.contains("$ref") => return (None, Vec::new(), false),
        Ok(value) => loose().ok().filter(|(_, rewritten)| *rewritten).unwrap_or((value, false)),
        Err(flaw) => match loose() {
            Ok((value, true)) => (value, true),
            Ok((_, false)) => return (None, vec![unreadable(&flaw.to_string())], false),
            Err(Error::Unreadable(flaw)) => {
                return (None, vec![unreadable(&flaw.to_string())], false);
            }
            Err(error) => return (None, vec![unreadable(&error.to_string())], false),
        },
    };
    let (template, mut wrong) = Template::new(value, places);
    if template.holes.len() > HOLES {
        let count = template.holes.len();
        let message = format!("has {count} references; a call has at most {HOLES}");
        wrong.push(violation("", message, json!({ "maximum": HOLES }), json!(count)));
    }
    let plain = template.is_plain() && template.untold == 0;
    ((!plain).then_some(template), wrong, rewritten)
}

fn unreadable(why: &str) -> Violation {
    let message = format!("the arguments cannot be read, so no reference in them can: {why}");
    violation("", message, Value::Null, Value::Null)
}

/// What makes a reference useless whatever the other call gives.
fn misfit(hole: &Hole, part: &Part<'_>, from: &Part<'_>) -> Option<Violation> {
    let source = from.tool?;
    let given = types_at(source.output_schema.as_ref()?, &hole.place);
    if given.is_empty() {
        let what = format!(
            "refers to `{}` in the result of `{}`, and by the output schema of `{}` there is no such \
             place",
            brief(&hole.place),
            from.name,
            source.name
        );
        return Some(fault(hole, &what));
    }
    let tool = part.tool.filter(|_| part.own_terms)?;
    // A place that the schema does not know may be another spelling of one that it does.
    let taken = types_at(&tool.input_schema, &hole.pointer);
    let repaired = tool.repair == Repair::Safe;
    if taken.is_empty() || given.fit(taken, repaired) {
        return None;
    }
    let what = format!(
        "must be {taken}, but `{}` in the result of `{}` is {given} by the output schema of `{}`",
        brief(&hole.place),
        from.name,
        source.name
    );
    let mut wrong = fault(hole, &what);
    wrong.expected = taken.schema();
    Some(wrong)
}

fn fault(hole: &Hole, what: &str) -> Violation {
    let at = if hole.pointer.is_empty() {
        "the whole".to_owned()
    } else {
        format!("`{}`", short_pointer(&hole.pointer))
    };
    let got = json!({ "$ref": brief(&hole.text) });
    violation(&hole.pointer, format!("{at} {what}"), Value::Null, got)
}

fn violation(pointer: &str, message: String, expected: Value, got: Value) -> Violation {
    Violation { pointer: short_pointer(pointer), kind: KIND.to_owned(), message, expected, got }
}

/// A text as an error repeats it.
fn brief(text: &str) -> String {
    match text.char_indices().nth(BRIEF) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

impl Plan {
    /// How many calls there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The name of a call.
    pub fn name(&self, call: usize) -> &str {
        self.names.get(call).map_or("", String::as_str)
    }

    /// The calls whose results a call uses.
    pub fn needs(&self, call: usize) -> &[usize] {
        self.needs.get(call).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether the arguments of a call were read out of another notation than JSON, for the references
    /// in them.
    pub fn is_rewritten(&self, call: usize) -> bool {
        self.rewritten.get(call).is_some_and(|rewritten| *rewritten)
    }

    /// How much more is wrong with a call than the violations beside the plan tell.
    pub fn untold(&self, call: usize) -> usize {
        self.templates.get(call).and_then(Option::as_ref).map_or(0, |template| template.untold)
    }

    /// The arguments of a call with [`unknown`] in the place of each reference; `None` for a call
    /// without any.
    pub fn outline(&self, call: usize) -> Option<Value> {
        let template = self.templates.get(call)?.as_ref()?;
        Some(template.with(&mut |_| unknown()))
    }

    /// The arguments of a call as JSON text, with the results that it refers to; `None` for a call
    /// whose arguments are as they came.
    pub fn fill<'v>(
        &self,
        call: usize,
        result: &dyn Fn(usize) -> Option<&'v Value>,
    ) -> Result<Option<String>, Unfilled> {
        match self.templates.get(call).and_then(Option::as_ref) {
            Some(template) => template.fill(result).map(Some),
            None => Ok(None),
        }
    }

    /// Adds what is wrong with calls that wait for each other.
    fn circles(&self, faults: &mut [Vec<Violation>]) {
        for circle in circle::find(&self.needs) {
            let names: Vec<&str> =
                circle.iter().chain(circle.first()).map(|call| self.name(*call)).collect();
            let path = names.join(" → ");
            for (at, call) in circle.iter().enumerate() {
                let next = circle.get(at + 1).or_else(|| circle.first());
                let holes = self.templates.get(*call).and_then(Option::as_ref);
                let mut holes = holes.into_iter().flat_map(|template| &template.holes);
                let hole = holes.find(|hole| Some(&hole.from) == next);
                let wrong = hole.map(|hole| {
                    let what = format!(
                        "closes a circle of calls that wait for each other: {path}; leave a \
                         reference out"
                    );
                    fault(hole, &what)
                });
                faults.get_mut(*call).into_iter().for_each(|faults| faults.extend(wrong.clone()));
            }
        }
    }
}
