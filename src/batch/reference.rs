//! Arguments in, the references in them out; and the arguments with the values that the references
//! stand for. The form of a reference is documented in the proto file, at BATCHES.

use std::collections::HashMap;
use std::io::{self, Write};

use serde_json::{Map, Value, json};

use super::{Unfilled, Violation, brief, violation};
use crate::pointer;
use crate::schema::{MAX_ARGUMENTS_BYTES, short_pointer};

/// Most references of one call that are told to be none; of more it is said how many there are.
const MOST_TOLD: usize = 64;
/// Most names of calls in one message.
const MOST_NAMES: usize = 8;
/// The only member of a reference.
const MEMBER: &str = "$ref";

/// A reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hole {
    /// JSON Pointer of its place in the arguments.
    pub(super) pointer: String,
    /// The call that it refers to.
    pub(super) from: usize,
    /// JSON Pointer into the result of that call.
    pub(super) place: String,
    /// As it came.
    pub(super) text: String,
}

/// Arguments with references, what was escaped in them unescaped.
#[derive(Debug)]
pub(super) struct Template {
    value: Value,
    pub(super) holes: Vec<Hole>,
    /// References that are none and are not among those told.
    pub(super) untold: usize,
    unescaped: bool,
}

impl Template {
    /// Finds the references to the calls of these names; and those that are none.
    pub(super) fn new(mut value: Value, places: &HashMap<&str, usize>) -> (Self, Vec<Violation>) {
        let (holes, wrong) = (Vec::new(), Vec::new());
        let mut finder = Finder { places, holes, wrong, untold: 0, unescaped: false };
        finder.walk(&mut value, &mut String::new());
        let Finder { holes, wrong, untold, unescaped, .. } = finder;
        (Self { value, holes, untold, unescaped }, wrong)
    }

    /// Whether the arguments are the same as the text that they were read from.
    pub(super) fn is_plain(&self) -> bool {
        self.holes.is_empty() && !self.unescaped
    }

    /// The arguments with a value in each hole.
    pub(super) fn with(&self, fill: &mut dyn FnMut(&Hole) -> Value) -> Value {
        let mut value = self.value.clone();
        for hole in &self.holes {
            if let Some(place) = value.pointer_mut(&hole.pointer) {
                *place = fill(hole);
            }
        }
        value
    }

    /// The arguments as text, with the results that they refer to. What came from a result is not
    /// looked at again.
    pub(super) fn fill<'v>(
        &self,
        result: &dyn Fn(usize) -> Option<&'v Value>,
    ) -> Result<String, Unfilled> {
        let mut room = Room(MAX_ARGUMENTS_BYTES);
        let mut values: HashMap<&str, &Value> = HashMap::new();
        for hole in &self.holes {
            let found = result(hole.from).and_then(|data| data.pointer(&hole.place));
            let found = found
                .ok_or_else(|| Unfilled::Missing { from: hole.from, place: hole.place.clone() })?;
            // Before anything is copied: few references can ask for much.
            serde_json::to_writer(&mut room, found).map_err(|_full| Unfilled::Large)?;
            values.insert(&hole.text, found);
        }
        let filled = self.with(&mut |hole| {
            values.get(hole.text.as_str()).map_or(Value::Null, |found| (*found).clone())
        });
        let text = filled.to_string();
        if text.len() > MAX_ARGUMENTS_BYTES { Err(Unfilled::Large) } else { Ok(text) }
    }
}

/// Counts what is written, up to its size.
struct Room(usize);

impl Write for Room {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Finder<'f> {
    places: &'f HashMap<&'f str, usize>,
    holes: Vec<Hole>,
    wrong: Vec<Violation>,
    untold: usize,
    unescaped: bool,
}

impl Finder<'_> {
    /// Walks a value that was read, which is as deep as arguments may be.
    fn walk(&mut self, value: &mut Value, pointer: &mut String) {
        match value {
            Value::Object(members) if only(members) == Some(MEMBER) => self.take(value, pointer),
            Value::Object(members) => {
                if let Some(name) = only(members).filter(|name| is_escaped(name)) {
                    let name = name.to_owned();
                    let inner = members.shift_remove(&name).unwrap_or_default();
                    members.insert(name.get(1..).unwrap_or_default().to_owned(), inner);
                    self.unescaped = true;
                }
                self.members(members, pointer);
            }
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.inside(item, pointer, &index.to_string());
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn members(&mut self, members: &mut Map<String, Value>, pointer: &mut String) {
        for (name, member) in members {
            self.inside(member, pointer, &pointer::escape(name));
        }
    }

    fn inside(&mut self, value: &mut Value, pointer: &mut String, token: &str) {
        let length = pointer.len();
        pointer.push('/');
        pointer.push_str(token);
        self.walk(value, pointer);
        pointer.truncate(length);
    }

    /// Takes a reference, or says what is wrong with it.
    fn take(&mut self, value: &Value, pointer: &str) {
        let mut refuse = |what: &str| {
            if self.wrong.len() >= MOST_TOLD {
                self.untold += 1;
                return;
            }
            let at = match pointer {
                "" => "the whole".to_owned(),
                place => format!("`{}`", short_pointer(place)),
            };
            let expected = json!({ MEMBER: "NAME#/json/pointer" });
            self.wrong.push(violation(pointer, format!("{at} {what}"), expected, shown(value)));
        };
        let literal = "write \"$$ref\" for an object that is no reference";
        let Some(text) = value.get(MEMBER).and_then(Value::as_str) else {
            return refuse(&format!("is no reference: \"$ref\" must be text; {literal}"));
        };
        let Some((name, place)) = text.split_once('#') else {
            let what = format!("is no reference: write NAME#, or NAME#/json/pointer; {literal}");
            return refuse(&what);
        };
        if !is_pointer(place) {
            let what = "is no reference: behind # stands a JSON Pointer, which is empty or begins \
                        with /, and has ~ only as ~0 and ~1";
            return refuse(what);
        }
        let Some(from) = self.places.get(name) else {
            let mut known: Vec<&str> = self.places.keys().copied().collect();
            known.sort_by_key(|known| self.places.get(known));
            let more = match known.len().saturating_sub(MOST_NAMES) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            known.truncate(MOST_NAMES);
            return refuse(&format!(
                "refers to `{}`, which is no call of this batch; the calls are `{}`{more}",
                brief(name),
                known.join("`, `")
            ));
        };
        self.holes.push(Hole {
            pointer: pointer.to_owned(),
            from: *from,
            place: place.to_owned(),
            text: text.to_owned(),
        });
    }
}

/// A value as an error repeats it: what is long only by its beginning.
fn shown(value: &Value) -> Value {
    match value.get(MEMBER) {
        Some(Value::String(text)) => json!({ MEMBER: brief(text) }),
        Some(inner @ (Value::Array(_) | Value::Object(_))) => json!({
            MEMBER: if inner.is_array() { "an array" } else { "an object" }
        }),
        _ => value.clone(),
    }
}

/// The name of the member of an object that has one only.
fn only(members: &Map<String, Value>) -> Option<&str> {
    let mut names = members.keys();
    let name = names.next()?;
    names.next().is_none().then_some(name)
}

/// `$$ref`, `$$$ref` and so on.
fn is_escaped(name: &str) -> bool {
    name.strip_suffix("ref")
        .is_some_and(|start| start.len() >= 2 && start.bytes().all(|b| b == b'$'))
}

fn is_pointer(text: &str) -> bool {
    let escapes = text.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
    (text.is_empty() || text.starts_with('/')) && escapes
}
