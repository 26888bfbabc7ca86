//! Where the operations of a document and their arguments stand in its text: text in, lines out. Says
//! nothing of what stands in another file.

use std::collections::HashMap;

use granit_parser::{Event, Parser};

use crate::pointer::escape;

/// Levels below `paths` of what is looked at: a property of a body's schema is seven below its path.
const DEPTH: usize = 9;

/// The lines of one document's operations and arguments, from 1.
#[derive(Debug, Default)]
pub struct Lines {
    /// By JSON Pointer: paths and operations.
    operations: HashMap<String, usize>,
    /// By the pointer of their path or operation, and their name.
    arguments: HashMap<(String, String), usize>,
}

/// A list or mapping that is not complete yet.
enum Open {
    List,
    /// With the key whose value comes next.
    Map(Option<String>),
}

impl Lines {
    /// Reads the text of a document, JSON or YAML, as far as it can be read.
    pub fn of(text: &str) -> Self {
        let (mut lines, mut open) = (Self::default(), Vec::new());
        for next in Parser::new_from_str(text) {
            let Ok((event, span)) = next else { break };
            let line = span.start.line();
            match event {
                Event::Scalar(text, ..) => {
                    if let Some(Open::Map(key @ None)) = open.last_mut() {
                        *key = Some(text.into_owned());
                        lines.note_key(&open, line);
                        continue;
                    }
                    lines.note_name(&open, &text, line);
                    advance(&mut open);
                }
                Event::Alias(_) => match open.last_mut() {
                    // Which key it is does not matter: nothing that is looked for bears it.
                    Some(Open::Map(key @ None)) => *key = Some(String::new()),
                    _ => advance(&mut open),
                },
                Event::SequenceStart(..) => open.push(Open::List),
                Event::MappingStart(..) => open.push(Open::Map(None)),
                Event::SequenceEnd | Event::MappingEnd => {
                    open.pop();
                    advance(&mut open);
                }
                _ => {}
            }
        }
        lines
    }

    /// The line of an argument of an operation, or of the operation, or of its path: the first that
    /// is known. `operation` is a JSON Pointer, `argument` may be empty.
    pub fn find(&self, operation: &str, argument: &str) -> Option<usize> {
        let path = operation.rsplit_once('/').map_or("", |(path, _)| path);
        let argument =
            |place: &str| self.arguments.get(&(place.to_owned(), argument.to_owned())).copied();
        argument(operation)
            .or_else(|| argument(path))
            .or_else(|| self.operations.get(operation).copied())
            .or_else(|| self.operations.get(path).copied())
    }

    /// A key that has just been read: of a path, an operation, or a property of a body.
    fn note_key(&mut self, open: &[Open], line: usize) {
        let Some((place, rest)) = place(open) else { return };
        match rest.as_slice() {
            [] => drop(self.operations.insert(place, line)),
            ["requestBody", "content", _, "schema", "properties", name]
            | ["parameters", _, "schema", "properties", name] => {
                self.arguments.entry((place, (*name).to_owned())).or_insert(line);
            }
            _ => {}
        }
    }

    /// A text that has just been read: the name of a parameter.
    fn note_name(&mut self, open: &[Open], text: &str, line: usize) {
        let Some((place, rest)) = place(open) else { return };
        if let ["parameters", _, "name"] = rest.as_slice() {
            self.arguments.entry((place, text.to_owned())).or_insert(line);
        }
    }
}

/// A value is complete: in a mapping, a key comes next.
fn advance(open: &mut [Open]) {
    match open.last_mut() {
        Some(Open::Map(key)) => *key = None,
        Some(Open::List) | None => {}
    }
}

/// The pointer of the path or operation in which the reader is, and the keys below it; an index is
/// an empty one.
fn place(open: &[Open]) -> Option<(String, Vec<&str>)> {
    if open.len() > DEPTH {
        return None;
    }
    let keys = open.iter().map(|open| match open {
        Open::Map(key) => key.as_deref(),
        Open::List => Some(""),
    });
    let keys: Vec<&str> = keys.collect::<Option<_>>()?;
    let ["paths", path, rest @ ..] = keys.as_slice() else { return None };
    let place = format!("/paths/{}", escape(path));
    match rest {
        [method, rest @ ..] if super::METHODS.contains(method) => {
            Some((format!("{place}/{method}"), rest.to_vec()))
        }
        rest => Some((place, rest.to_vec())),
    }
}
