//! A tool in, the texts that it is found by out, each with the field that it belongs to.

use serde_json::{Map, Value};

use super::super::Tool;
use super::super::outline::first_sentence;

/// Deepest properties that are read, and most values of one schema.
const DEEPEST: usize = 5;
const MOST: usize = 400;

/// A part of a tool that can be searched. The names are those of the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    /// Its name.
    Name,
    /// Its description.
    Description,
    /// Names of its arguments, their descriptions and listed values.
    Arguments,
    /// Where it comes from: the source and the operation.
    Source,
}

impl Field {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Name, Self::Description, Self::Arguments, Self::Source];

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Description => "description",
            Self::Arguments => "arguments",
            Self::Source => "source",
        }
    }

    /// Its bit in a set.
    pub(super) const fn bit(self) -> u8 {
        match self {
            Self::Name => 1,
            Self::Description => 2,
            Self::Arguments => 4,
            Self::Source => 8,
        }
    }
}

/// The bit, beside those of the fields, of a word in the sentence that a description begins with.
pub(super) const LEADS: u8 = 16;

/// A kind of text: how much a word in it weighs, and beyond how many words it weighs less.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    pub(super) field: Field,
    pub(super) weight: f32,
    /// Words that such a text usually has. Fixed, so that no tool's rank depends on another tool.
    pub(super) usual: f32,
    /// How much length counts, 0 to 1.
    pub(super) length: f32,
    /// Whether it is what a description begins with.
    pub(super) leads: bool,
}

impl Part {
    const fn new(field: Field, weight: f32, (usual, length): (f32, f32)) -> Self {
        Self { field, weight, usual, length, leads: false }
    }
}

const NAME: Part = Part::new(Field::Name, 3.2, (4.0, 0.45));
const LEAD: Part = Part { leads: true, ..Part::new(Field::Description, 2.4, (12.0, 0.4)) };
const REST: Part = Part::new(Field::Description, 1.0, (30.0, 0.5));
const ARGUMENT: Part = Part::new(Field::Arguments, 0.9, (8.0, 0.6));
const MEANING: Part = Part::new(Field::Arguments, 0.5, (40.0, 0.7));
const SOURCE: Part = Part::new(Field::Source, 1.0, (3.0, 0.5));

/// The texts of a tool, by their kind.
pub(super) fn parts(tool: &Tool) -> [(Part, String); 6] {
    let lead = first_sentence(&tool.description);
    let rest = tool.description.get(lead.len()..).unwrap_or_default();
    let mut arguments = Arguments::default();
    arguments.read(&tool.input_schema, 0);
    let operation = tool.operation.as_deref().unwrap_or_default();
    let source = if operation == tool.name {
        tool.source.clone()
    } else {
        format!("{} {operation}", tool.source)
    };
    [
        (NAME, tool.name.clone()),
        (LEAD, lead.to_owned()),
        (REST, rest.to_owned()),
        (ARGUMENT, arguments.names),
        (MEANING, arguments.meanings),
        (SOURCE, source),
    ]
}

/// Names and meanings of what a schema describes.
#[derive(Default)]
struct Arguments {
    names: String,
    meanings: String,
    seen: usize,
}

impl Arguments {
    fn read(&mut self, schema: &Value, depth: usize) {
        let Some(schema) = schema.as_object() else { return };
        for (name, property) in
            schema.get("properties").and_then(Value::as_object).into_iter().flatten()
        {
            self.seen += 1;
            if self.seen > MOST {
                return;
            }
            self.names.push_str(name);
            self.names.push(' ');
            if let Some(property) = property.as_object() {
                self.describe(property);
            }
            if depth < DEEPEST {
                self.read(property, depth + 1);
            }
        }
        if depth >= DEEPEST {
            return;
        }
        for key in ["items", "additionalProperties"] {
            schema.get(key).into_iter().for_each(|part| self.read(part, depth + 1));
        }
        for key in ["anyOf", "oneOf", "allOf"] {
            let parts = schema.get(key).and_then(Value::as_array).into_iter().flatten();
            parts.for_each(|part| self.read(part, depth + 1));
        }
    }

    fn describe(&mut self, property: &Map<String, Value>) {
        for key in ["title", "description"] {
            let text = property.get(key).and_then(Value::as_str).unwrap_or_default();
            self.meanings.push_str(text);
            self.meanings.push(' ');
        }
        let listed = property.get("enum").and_then(Value::as_array).into_iter().flatten();
        for value in listed.filter_map(Value::as_str).take(50) {
            self.meanings.push_str(value);
            self.meanings.push(' ');
        }
    }
}
