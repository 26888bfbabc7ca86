//! The body of one operation: which media type is sent, and which arguments make it. An object's
//! members become arguments of their own where that loses nothing.

use std::collections::BTreeSet;

use serde_json::Value;

use super::flatten::{Flat, flatten, is_object};
use super::refs::Spot;
use super::report::Reason;
use super::schema::Converter;
use crate::catalog::http::{Format, Style};

/// What a media type is for us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// JSON, with how readily it is chosen (less is better).
    Json(u8),
    Form,
    Multipart,
    Text,
    Bytes,
    Other,
}

/// Media types compare without case and without parameters.
pub(super) fn kind(media: &str) -> Kind {
    let base = media.split(';').next().unwrap_or_default().trim();
    let base = base.to_ascii_lowercase();
    match base.as_str() {
        "application/json" => Kind::Json(0),
        "*/*" | "application/*" => Kind::Json(1),
        // Of the patch types, the one whose body is the object itself.
        "application/merge-patch+json" => Kind::Json(2),
        "application/x-www-form-urlencoded" => Kind::Form,
        "multipart/form-data" => Kind::Multipart,
        "text/plain" | "text/*" => Kind::Text,
        "application/octet-stream" => Kind::Bytes,
        other if other.ends_with("+json") && !other.contains('*') => Kind::Json(3),
        _ => Kind::Other,
    }
}

impl Kind {
    const fn rank(&self) -> u8 {
        match self {
            Self::Json(rank) => *rank,
            Self::Form => 10,
            Self::Multipart => 11,
            Self::Text => 12,
            Self::Bytes => 13,
            Self::Other => u8::MAX,
        }
    }
}

/// A body as it will be sent.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    pub(super) media: String,
    pub(super) format: Format,
    pub(super) required: Need,
    pub(super) content: Content<'a>,
    pub(super) description: Option<&'a str>,
}

/// Whether a body must be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    Yes,
    /// The document says that it may be left out.
    No,
    /// The document says nothing, which counts as no but often means yes.
    Unsaid,
}

/// Where a body's value comes from.
#[derive(Debug)]
pub(super) enum Content<'a> {
    Fields(Flat<'a>, Vec<Wire>),
    Whole(Option<Spot<'a>>),
    All(Spot<'a>),
}

/// How one member of a form is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wire {
    pub(super) style: Style,
    pub(super) explode: bool,
    pub(super) json: bool,
    pub(super) bytes: bool,
}

impl Wire {
    const PLAIN: Self = Self { style: Style::Form, explode: true, json: false, bytes: false };
}

/// Reads an operation's body. `alone` says that there are no parameters beside it.
pub(super) fn read<'a>(
    converter: &Converter<'a>,
    operation: &Spot<'a>,
    alone: bool,
) -> Result<Option<Plan<'a>>, Reason> {
    let Some(body) = operation.get("requestBody") else {
        return Ok(None);
    };
    let body = converter.document.follow_refs(body)?;
    let (media, kind, content) = choose(converter, &body)?;
    let format = match kind {
        Kind::Json(_) | Kind::Other => Format::Json,
        Kind::Form => Format::Form,
        Kind::Multipart => Format::Multipart,
        Kind::Text => Format::Text,
        Kind::Bytes => Format::Bytes,
    };
    let required = match body.value.get("required").and_then(Value::as_bool) {
        Some(true) => Need::Yes,
        Some(false) => Need::No,
        None => Need::Unsaid,
    };
    let schema = content.get("schema");
    let content = match (format, schema) {
        (Format::Text | Format::Bytes, schema) => Content::Whole(schema),
        (Format::Json | Format::Form | Format::Multipart, None) => Content::Whole(None),
        (Format::Json | Format::Form | Format::Multipart, Some(schema)) => {
            arrange(converter, &content, schema, (format, alone))?
        }
    };
    Ok(Some(Plan {
        media,
        format,
        required,
        content,
        description: body.text("description").filter(|text| !text.trim().is_empty()),
    }))
}

/// The best of the offered media types, the same for every order in the document.
fn choose<'a>(
    converter: &Converter<'a>,
    body: &Spot<'a>,
) -> Result<(String, Kind, Spot<'a>), Reason> {
    let offers = body.get("content");
    let mut best: Option<(&str, Kind, Spot<'a>)> = None;
    let mut names = Vec::new();
    for (media, content) in offers.iter().flat_map(Spot::members) {
        names.push(media);
        let kind = kind(media);
        let better = best
            .as_ref()
            .is_none_or(|(chosen, known, _)| (kind.rank(), media) < (known.rank(), *chosen));
        if kind != Kind::Other && better {
            best = Some((media, kind, content));
        }
    }
    let Some((media, kind, content)) = best else {
        let message = match names.as_slice() {
            [] => "has a body without content".to_owned(),
            names => format!("has a body of `{}`, which is not supported", names.join("`, `")),
        };
        return Err(converter.reason(body, message));
    };
    let sent = match kind {
        Kind::Json(1) => "application/json",
        Kind::Text if media.contains('*') => "text/plain",
        _ => media.trim(),
    };
    Ok((sent.to_owned(), kind, content))
}

fn arrange<'a>(
    converter: &Converter<'a>,
    content: &Spot<'a>,
    schema: Spot<'a>,
    (format, alone): (Format, bool),
) -> Result<Content<'a>, Reason> {
    if let Some(flat) = flatten(converter, &schema) {
        let wires = flat
            .members
            .iter()
            .map(|(name, member)| wire(converter, content, (name, member), format))
            .collect();
        return Ok(Content::Fields(flat, wires));
    }
    if format == Format::Multipart {
        let message = "has a multipart body that is no plain object, which is not supported";
        return Err(converter.reason(content, message));
    }
    Ok(if alone && is_object(converter, &schema, 16) {
        Content::All(schema)
    } else {
        Content::Whole(Some(schema))
    })
}

fn wire<'a>(
    converter: &Converter<'a>,
    content: &Spot<'a>,
    (name, member): (&str, &Spot<'a>),
    format: Format,
) -> Wire {
    if format == Format::Json {
        return Wire::PLAIN;
    }
    let encoding = content.get("encoding").and_then(|all| all.get(name));
    let style = encoding.as_ref().and_then(|encoding| encoding.text("style"));
    let explode = encoding
        .as_ref()
        .and_then(|encoding| encoding.value.get("explode"))
        .and_then(Value::as_bool);
    let style_value = match style {
        Some("spaceDelimited") => Style::SpaceDelimited,
        Some("pipeDelimited") => Style::PipeDelimited,
        Some("deepObject") => Style::DeepObject,
        Some(_) | None => Style::Form,
    };
    let target = converter.document.follow_refs(member.clone());
    let inner = target.as_ref().unwrap_or(member);
    let items = inner.get("items");
    let items = items.and_then(|items| converter.document.follow_refs(items).ok());
    Wire {
        style: style_value,
        explode: explode.unwrap_or(style_value == Style::Form),
        json: style.is_none() && is_object(converter, inner, 16)
            || items.as_ref().is_some_and(|items| is_object(converter, items, 16))
                && style.is_none(),
        bytes: format == Format::Multipart
            && (is_bytes(inner) || items.as_ref().is_some_and(is_bytes)),
    }
}

/// A string that stands for bytes, by 3.0's and by 3.1's way of saying so.
pub(super) fn is_bytes(schema: &Spot<'_>) -> bool {
    let binary = schema.text("format") == Some("binary");
    let media = schema.text("contentMediaType").is_some();
    binary || media && schema.text("contentEncoding").is_none()
}

/// Names of a flat body's members.
pub(super) fn names(plan: Option<&Plan<'_>>) -> BTreeSet<String> {
    match plan.map(|plan| &plan.content) {
        Some(Content::Fields(flat, _)) => {
            flat.members.iter().map(|(name, _)| (*name).to_owned()).collect()
        }
        Some(Content::Whole(_) | Content::All(_)) | None => BTreeSet::new(),
    }
}
