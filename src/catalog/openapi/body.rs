//! The body of one operation: which media type is sent, and which arguments make it. An object's
//! members become arguments of their own where that loses nothing.

use std::collections::BTreeSet;

use serde_json::Value;

use super::flatten::{Flat, flatten, is_object};
use super::refs::Spot;
use super::report::Reason;
use super::schema::Converter;
use super::swagger;
use crate::catalog::http::{Field, Format, Style, essence};

/// What a media type is for us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// JSON, with how readily it is chosen (less is better).
    Json(u8),
    Form,
    Multipart,
    Text,
    Bytes,
    /// Sent as it is where the schema says that it is text or bytes.
    Other,
}

/// Media types compare without case and without parameters.
pub(super) fn kind(media: &str) -> Kind {
    match essence(media).as_str() {
        "application/json" | "text/json" | "application/x-json" | "text/x-json" => Kind::Json(0),
        "*/*" | "application/*" | "application/*+json" => Kind::Json(1),
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

/// A media type whose content is no text, whatever the schema says.
fn is_binary(media: &str) -> bool {
    let base = essence(media);
    let (kind, rest) = base.split_once('/').unwrap_or_default();
    let text = rest.ends_with("xml") || rest == "svg" || rest.contains('*');
    matches!(kind, "image" | "audio" | "video" | "font") && !text
        || ["pdf", "zip", "gzip", "x-tar", "x-gzip"].contains(&rest) && kind == "application"
}

/// The media type that is chosen first, the same for every order in the document.
pub(super) fn best<'m>(offers: impl Iterator<Item = &'m str>) -> Option<(&'m str, Kind)> {
    let known = offers.map(|media| (media, kind(media))).filter(|(_, kind)| *kind != Kind::Other);
    known.min_by(|(one, a), (two, b)| (a.rank(), *one).cmp(&(b.rank(), *two)))
}

/// What stands in Content-Type.
pub(super) fn sent(media: &str, kind: &Kind) -> String {
    match kind {
        Kind::Json(1) => "application/json",
        Kind::Text if media.contains('*') => "text/plain",
        _ => media.trim(),
    }
    .to_owned()
}

impl Kind {
    pub(super) const fn format(&self) -> Format {
        match self {
            Self::Json(_) | Self::Other => Format::Json,
            Self::Form => Format::Form,
            Self::Multipart => Format::Multipart,
            Self::Text => Format::Text,
            Self::Bytes => Format::Bytes,
        }
    }

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
    /// Each with how it is written; `argument` is still the name on the wire.
    Fields(Flat<'a>, Vec<Field>),
    Whole(Option<Spot<'a>>),
    All(Spot<'a>),
}

/// Reads an operation's body. `alone` says that there are no parameters beside it.
pub(super) fn read<'a>(
    converter: &mut Converter<'a>,
    item: &Spot<'a>,
    operation: &Spot<'a>,
    alone: bool,
) -> Result<Option<Plan<'a>>, Reason> {
    if converter.is_swagger() {
        return swagger::body(converter, item, operation, alone);
    }
    let Some(body) = operation.get("requestBody") else {
        return Ok(None);
    };
    let body = converter.document.follow_refs(body)?;
    converter.heed(&body)?;
    let (media, kind, content) = choose(converter, &body)?;
    converter.heed(&content)?;
    let encodings = content.get("encoding");
    for (_, encoding) in encodings.iter().flat_map(Spot::members) {
        converter.heed(&encoding)?;
    }
    let format = kind.format();
    let required = match body.value.get("required").and_then(Value::as_bool) {
        Some(true) => Need::Yes,
        Some(false) => Need::No,
        None => Need::Unsaid,
    };
    let content = arrange(converter, &content, content.get("schema"), (format, alone))?;
    Ok(Some(Plan { media, format, required, content, description: body.description() }))
}

/// The best of the offered media types.
fn choose<'a>(
    converter: &Converter<'a>,
    body: &Spot<'a>,
) -> Result<(String, Kind, Spot<'a>), Reason> {
    let offers = body.get("content");
    let offers: Vec<(&str, Spot<'a>)> = offers.iter().flat_map(Spot::members).collect();
    if let Some((media, kind)) = best(offers.iter().map(|(media, _)| *media))
        && let Some((_, content)) = offers.iter().find(|(name, _)| *name == media)
    {
        return Ok((sent(media, &kind), kind, content.clone()));
    }
    let plain = offers
        .iter()
        .filter_map(|(media, content)| Some((*media, as_is(converter, media, content)?, content)))
        .min_by_key(|(media, _, _)| *media);
    if let Some((media, kind, content)) = plain {
        return Ok((media.trim().to_owned(), kind, content.clone()));
    }
    let names: Vec<&str> = offers.iter().map(|(media, _)| *media).collect();
    let message = match names.as_slice() {
        [] => "has a body without content".to_owned(),
        names => format!("has a body of `{}`, which is not supported", names.join("`, `")),
    };
    Err(converter.reason(body, message))
}

/// How a body of any other media type is given: as its text or as its bytes, when its schema is a
/// string or the media type leaves no choice.
fn as_is<'a>(converter: &Converter<'a>, media: &str, content: &Spot<'a>) -> Option<Kind> {
    if media.contains('*') || !media.contains('/') || media.starts_with("multipart/") {
        return None;
    }
    let schema = content.get("schema").and_then(|s| converter.document.follow_refs(s).ok());
    let Some(schema) = schema.filter(|schema| schema.value != &serde_json::json!({})) else {
        return is_binary(media).then_some(Kind::Bytes);
    };
    if is_bytes(&schema) {
        return Some(Kind::Bytes);
    }
    (schema.text("type") == Some("string")).then_some(Kind::Text)
}

/// Which arguments make a body of this schema.
pub(super) fn arrange<'a>(
    converter: &Converter<'a>,
    content: &Spot<'a>,
    schema: Option<Spot<'a>>,
    (format, alone): (Format, bool),
) -> Result<Content<'a>, Reason> {
    let schema = match schema {
        Some(schema) if !matches!(format, Format::Text | Format::Bytes) => schema,
        whole => return Ok(Content::Whole(whole)),
    };
    if let Some(flat) = flatten(converter, &schema) {
        let fields = flat
            .members
            .iter()
            .map(|(name, member)| field(converter, content, (name, member), format))
            .collect();
        return Ok(Content::Fields(flat, fields));
    }
    if format == Format::Form && !may_be_object(converter, &schema, 16) {
        let message = "has a form body whose schema is no object, so that its fields have no names";
        return Err(converter.reason(content, message));
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

/// Whether some value of a schema is an object, as far as types and values say.
fn may_be_object<'a>(converter: &Converter<'a>, schema: &Spot<'a>, fuel: usize) -> bool {
    let (Ok(schema), Some(fuel)) =
        (converter.document.follow_refs(schema.clone()), fuel.checked_sub(1))
    else {
        return false;
    };
    let typed = match schema.value.get("type") {
        Some(Value::String(name)) => name.eq_ignore_ascii_case("object"),
        Some(Value::Array(names)) => names.iter().any(|name| name == "object"),
        _ => true,
    };
    let any = |key: &str| match schema.get(key) {
        Some(list) => list.items().any(|part| may_be_object(converter, &part, fuel)),
        None => true,
    };
    let parts = schema.get("allOf");
    let all = parts.iter().flat_map(Spot::items).all(|part| may_be_object(converter, &part, fuel));
    typed && all && any("oneOf") && any("anyOf")
}

/// The schema of a form that is one argument: an object, as a form is names and values.
pub(super) fn form<'a>(converter: &mut Converter<'a>, schema: &Spot<'a>) -> Result<Value, Reason> {
    let made = converter.convert(schema)?;
    if is_object(converter, schema, 16) {
        return Ok(made);
    }
    converter.note(schema, "", "is the schema of a form; only objects are taken");
    Ok(match made {
        Value::Object(mut map) if !map.contains_key("$ref") => {
            map.insert("type".to_owned(), "object".into());
            Value::Object(map)
        }
        other => serde_json::json!({ "type": "object", "allOf": [other] }),
    })
}

/// How one member of a body is written.
fn field<'a>(
    converter: &Converter<'a>,
    content: &Spot<'a>,
    (name, member): (&str, &Spot<'a>),
    format: Format,
) -> Field {
    if format == Format::Json {
        return Field::plain(name);
    }
    let encoding = content.get("encoding").and_then(|all| all.get(name));
    let text = |key: &str| encoding.as_ref().and_then(|encoding| encoding.text(key));
    let flag = |key: &str| encoding.as_ref()?.value.get(key).and_then(Value::as_bool);
    let style = match text("style") {
        Some("spaceDelimited") => Style::SpaceDelimited,
        Some("pipeDelimited") => Style::PipeDelimited,
        Some("deepObject") => Style::DeepObject,
        Some(_) | None => Style::Form,
    };
    let target = converter.document.follow_refs(member.clone());
    let inner = target.as_ref().unwrap_or(member);
    let items = inner.get("items");
    let items = items.and_then(|items| converter.document.follow_refs(items).ok());
    let objects = is_object(converter, inner, 16)
        || items.as_ref().is_some_and(|items| is_object(converter, items, 16));
    // Of several types that a part may have, the first that is one.
    let listed = text("contentType").or_else(|| inner.text("contentMediaType"));
    let media = listed.into_iter().flat_map(|all| all.split(',')).map(str::trim);
    let media = media.into_iter().find(|media| media.contains('/') && !media.contains('*'));
    let json = media.is_some_and(|media| matches!(kind(media), Kind::Json(_)));
    Field {
        style,
        explode: flag("explode").unwrap_or(style == Style::Form),
        reserved: flag("allowReserved").unwrap_or(false),
        json: text("style").is_none() && (objects || json && format == Format::Form),
        bytes: format == Format::Multipart
            && (is_bytes(inner) || items.as_ref().is_some_and(is_bytes)),
        media: media.filter(|_| format == Format::Multipart).filter(is_header).map(str::to_owned),
        ..Field::plain(name)
    }
}

/// Whether a media type can stand in a part's header.
fn is_header(media: &&str) -> bool {
    media.bytes().all(|b| (b' '..=b'~').contains(&b))
}

/// A string that stands for bytes, by 3.0's and by 3.1's way of saying so.
pub(super) fn is_bytes(schema: &Spot<'_>) -> bool {
    let binary = schema.text("format") == Some("binary") || schema.text("type") == Some("file");
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
