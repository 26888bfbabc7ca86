//! Request bodies: arguments in, bytes and their media type out. JSON, forms, multipart, plain
//! text and bytes (which a model passes as base64).

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::keys::Guard;
use super::style::{self, scalar};
use super::{Parameter, Place, Style};
use crate::catalog::digest::short;
use crate::catalog::error::Error;

/// How a request's body is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Body {
    /// The Content-Type that is sent.
    pub media: String,
    /// How the value is written.
    pub format: Format,
    /// Which arguments make the value.
    pub shape: Shape,
    /// Sends an empty object or form when none of the arguments is given.
    pub required: bool,
}

/// How a body's value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// JSON text.
    Json,
    /// `application/x-www-form-urlencoded`.
    Form,
    /// `multipart/form-data`.
    Multipart,
    /// A string as it is.
    Text,
    /// The bytes behind a base64 string.
    Bytes,
}

/// Which arguments make a body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// An object of these arguments.
    Fields(Vec<Field>),
    /// One argument is the whole body.
    Whole(String),
    /// All arguments together are the body.
    All,
}

/// One member of a body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// Name of the argument in the tool's input schema.
    pub argument: String,
    /// Name in the body.
    pub name: String,
    /// How arrays and objects are written in a form.
    pub style: Style,
    /// Whether each item is written by itself in a form.
    pub explode: bool,
    /// Leaves URL characters such as `/` and `:` in a form's value as they are.
    pub reserved: bool,
    /// Writes the value as JSON text in a form.
    pub json: bool,
    /// The argument is base64 and the bytes are sent as a file (multipart only).
    pub bytes: bool,
    /// Content-Type of its part (multipart only); `None` for the usual one.
    pub media: Option<String>,
}

impl Field {
    /// A member under its own name, written as forms are by default.
    pub fn plain(name: &str) -> Self {
        Self {
            argument: name.to_owned(),
            name: name.to_owned(),
            style: Style::Form,
            explode: true,
            reserved: false,
            json: false,
            bytes: false,
            media: None,
        }
    }

    /// Head and content of one multipart part.
    fn part(&self, item: &Value) -> Result<(String, Vec<u8>), Error> {
        let name = quote(&self.name);
        let head = format!("Content-Disposition: form-data; name=\"{name}\"");
        let typed = |head: &str, usual: &str| {
            let media = self.media.as_deref().unwrap_or(usual);
            format!("{head}\r\nContent-Type: {media}")
        };
        if self.bytes {
            let head = format!("{head}; filename=\"{name}\"");
            let bytes = decode(&self.argument, item)?;
            return Ok((typed(&head, "application/octet-stream"), bytes));
        }
        let json = self.media.as_deref().is_some_and(is_json);
        Ok(match (scalar(item), &self.media) {
            (Some(text), None) => (head, text.into_owned().into_bytes()),
            (Some(text), Some(_)) if !json => {
                (typed(&head, "text/plain"), text.into_owned().into_bytes())
            }
            (Some(_) | None, _) => {
                (typed(&head, "application/json"), item.to_string().into_bytes())
            }
        })
    }

    fn parameter(&self) -> Parameter {
        Parameter {
            argument: self.argument.clone(),
            name: self.name.clone(),
            place: Place::Query,
            style: self.style,
            explode: self.explode,
            reserved: self.reserved,
            json: self.json,
            inner: Vec::new(),
        }
    }
}

/// A body, ready to send.
pub(super) struct Content {
    pub(super) media: String,
    pub(super) bytes: Vec<u8>,
}

pub(super) fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

impl Body {
    /// The body for these arguments; `None` when none is to be sent.
    pub(super) fn build(
        &self,
        arguments: &Map<String, Value>,
        guard: &Guard<'_>,
    ) -> Result<Option<Content>, Error> {
        match &self.shape {
            Shape::Whole(argument) => match arguments.get(argument) {
                Some(value) => self.write_one(argument, value, guard).map(Some),
                None => Ok(None),
            },
            Shape::All => {
                if arguments.is_empty() && !self.required {
                    return Ok(None);
                }
                let fields: Vec<Field> = arguments.keys().map(|name| Field::plain(name)).collect();
                self.write(&fields, arguments, (guard, false)).map(Some)
            }
            Shape::Fields(fields) => {
                let any = fields.iter().any(|field| arguments.contains_key(&field.argument));
                if !any && !self.required {
                    return Ok(None);
                }
                self.write(fields, arguments, (guard, true)).map(Some)
            }
        }
    }

    /// `declared` says that the names are the document's, not the caller's.
    fn write(
        &self,
        fields: &[Field],
        arguments: &Map<String, Value>,
        (guard, declared): (&Guard<'_>, bool),
    ) -> Result<Content, Error> {
        let given: Vec<(&Field, &Value)> = fields
            .iter()
            .filter_map(|field| Some((field, arguments.get(&field.argument)?)))
            .collect();
        if matches!(self.format, Format::Form | Format::Multipart) {
            for (field, _) in &given {
                guard.check_field(&field.name, &field.argument, declared)?;
            }
        }
        match self.format {
            Format::Json | Format::Text | Format::Bytes => {
                let object: Map<String, Value> = given
                    .into_iter()
                    .map(|(field, value)| (field.name.clone(), value.clone()))
                    .collect();
                Ok(self.content(Value::Object(object).to_string().into_bytes()))
            }
            Format::Form => {
                let mut pairs = Vec::new();
                for (field, value) in given.into_iter().filter(|(_, value)| !value.is_null()) {
                    let parameter = field.parameter();
                    let own = style::query(&parameter, value)?;
                    let others = fields.iter().map(|other| Cow::Borrowed(other.name.as_str()));
                    let others = others.filter(|name| *name != field.name);
                    if value.is_object() {
                        style::check_pairs(&parameter, &own, others)?;
                    }
                    let name = style::encode(&field.name);
                    guard.check((Place::Query, &name), &field.argument, &own)?;
                    pairs.extend(own);
                }
                Ok(self.content(pairs.join("&").into_bytes()))
            }
            Format::Multipart => self.write_parts(&given),
        }
    }

    fn write_one(
        &self,
        argument: &str,
        value: &Value,
        guard: &Guard<'_>,
    ) -> Result<Content, Error> {
        let bytes = match self.format {
            Format::Json => value.to_string().into_bytes(),
            Format::Text => {
                scalar(value).map_or_else(|| value.to_string(), Cow::into_owned).into_bytes()
            }
            Format::Bytes => decode(argument, value)?,
            Format::Form | Format::Multipart => {
                let members = value
                    .as_object()
                    .ok_or_else(|| Error::argument(argument, "is a form and must be an object"))?;
                let fields: Vec<Field> = members.keys().map(|name| Field::plain(name)).collect();
                let written = self.write(&fields, members, (guard, false));
                return written.map_err(|error| error.inside(argument));
            }
        };
        Ok(self.content(bytes))
    }

    fn content(&self, bytes: Vec<u8>) -> Content {
        Content { media: self.media.clone(), bytes }
    }

    fn write_parts(&self, given: &[(&Field, &Value)]) -> Result<Content, Error> {
        let mut parts: Vec<(String, Vec<u8>)> = Vec::new();
        for (field, value) in given {
            match value {
                Value::Null => {}
                Value::Array(items) if !field.json && !field.bytes && !field.explode => {
                    let text = style::joined(field.style, value).map(Value::String);
                    let whole = text.unwrap_or_else(|| Value::Array(items.clone()));
                    parts.push(field.part(&whole)?);
                }
                Value::Array(items) if !field.json => {
                    for item in items {
                        parts.push(field.part(item)?);
                    }
                }
                other => parts.push(field.part(other)?),
            }
        }
        Ok(self.join_parts(&parts))
    }

    /// The boundary is a digest of the parts, so that equal calls make equal bytes.
    fn join_parts(&self, parts: &[(String, Vec<u8>)]) -> Content {
        let seed: String =
            parts.iter().map(|(head, bytes)| format!("{head}{}", encode(bytes))).collect();
        let boundary = format!("switchboard-{}", short(&seed, 32));
        let mut bytes = Vec::new();
        for (head, content) in parts {
            bytes.extend_from_slice(format!("--{boundary}\r\n{head}\r\n\r\n").as_bytes());
            bytes.extend_from_slice(content);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
        Content { media: format!("multipart/form-data; boundary={boundary}"), bytes }
    }
}

/// A media type without its parameters, in lower case: what media types are compared by.
pub(in crate::catalog) fn essence(media: &str) -> String {
    media.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Whether a part of this media type holds JSON text.
fn is_json(media: &str) -> bool {
    let base = essence(media);
    base == "application/json" || base.ends_with("+json")
}

fn decode(argument: &str, value: &Value) -> Result<Vec<u8>, Error> {
    value
        .as_str()
        .and_then(|text| STANDARD.decode(text).ok())
        .ok_or_else(|| Error::argument(argument, "is not base64 text"))
}

/// As the HTML standard escapes names in multipart headers.
fn quote(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}
