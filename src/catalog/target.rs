//! The `[http]` part of a manifest: a URL template and a few lists in, an [`HttpTarget`] out.
//! Arguments that nothing places go into the query of a GET, HEAD, DELETE or OPTIONS, else the body.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::file::Fault;
use super::http::{
    Body, Field, Format, HttpTarget, Parameter, Piece, Place, Shape, Style, check_server,
    has_dot_segments, is_header_name, outline, pieces,
};
use super::manifest::declared;

/// `[http]` as it stands in a manifest.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HttpFile {
    method: Method,
    /// Absolute; `{name}` in its path is replaced by that argument.
    url: String,
    /// Arguments for the query string.
    #[serde(default)]
    query: Vec<String>,
    /// Header values; one that is exactly `{name}` is replaced by that argument.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    body: Option<BodyFile>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum Method {
    Get,
    Head,
    Options,
    Delete,
    Post,
    Put,
    Patch,
}

impl Method {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Options => "OPTIONS",
            Self::Delete => "DELETE",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
        }
    }

    const fn has_body(self) -> bool {
        matches!(self, Self::Post | Self::Put | Self::Patch)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum BodyFile {
    Json,
    Form,
    None,
}

/// Builds the target; every name must be an argument of the schema.
pub(super) fn build(file: &HttpFile, schema: &Value) -> Result<HttpTarget, Fault> {
    let (server, path) = split_url(&file.url)?;
    let mut parameters = Vec::new();
    for piece in pieces(&path) {
        if let Piece::Name(name) = piece {
            declared("http.url", name, schema)?;
            if !is_required(schema, name) {
                let message =
                    format!("`{name}` stands in the path, so `input_schema` must require it");
                return Err(Fault::new("http.url", message));
            }
            if !parameters.iter().any(|known: &Parameter| known.name == name) {
                parameters.push(parameter(name, name, Place::Path, Style::Simple));
            }
        }
    }
    for name in &file.query {
        declared("http.query", name, schema)?;
        parameters.push(parameter(name, name, Place::Query, Style::Form));
    }
    let headers = add_headers(&file.headers, schema, &mut parameters)?;
    let properties = schema.get("properties").and_then(Value::as_object);
    let rest: Vec<&String> = properties
        .into_iter()
        .flat_map(serde_json::Map::keys)
        .filter(|name| !parameters.iter().any(|known| known.argument == **name))
        .collect();
    let body = match (file.body, file.method.has_body()) {
        (Some(BodyFile::None), _) | (None, false) => None,
        (Some(BodyFile::Form), _) => Some(Format::Form),
        (Some(BodyFile::Json), _) | (None, true) => Some(Format::Json),
    };
    if body.is_none() {
        parameters.extend(rest.iter().map(|name| parameter(name, name, Place::Query, Style::Form)));
    }
    Ok(HttpTarget {
        method: file.method.as_str().to_owned(),
        server,
        path,
        query: String::new(),
        parameters,
        headers,
        body: body.map(|format| Body {
            media: match format {
                Format::Form => "application/x-www-form-urlencoded",
                Format::Json | Format::Multipart | Format::Text | Format::Bytes => {
                    "application/json"
                }
            }
            .to_owned(),
            format,
            shape: Shape::Fields(rest.into_iter().map(|name| Field::plain(name)).collect()),
            required: true,
        }),
        keys: Vec::new(),
        manner: Box::default(),
    })
}

fn split_url(text: &str) -> Result<(String, String), Fault> {
    let fail = |why: String| Fault::new("http.url", why);
    let (scheme, rest) = text
        .split_once("://")
        .ok_or_else(|| fail(format!("`{text}` is not absolute; start with `https://`")))?;
    let (authority, path) = match rest.find('/').and_then(|at| rest.split_at_checked(at)) {
        Some((authority, path)) => (authority, path),
        None => (rest, "/"),
    };
    if authority.contains(['{', '}']) {
        return Err(fail("has an argument in its host; a host is fixed".to_owned()));
    }
    let server = check_server(&format!("{scheme}://{authority}")).map_err(fail)?;
    let plain = outline(path);
    if plain.contains(['{', '}', '?', '#']) {
        let why = "holds a query, a fragment or an unbalanced brace; use `query` for arguments";
        return Err(fail(why.to_owned()));
    }
    if has_dot_segments(&plain) {
        return Err(fail("holds dot segments".to_owned()));
    }
    Ok((server, path.to_owned()))
}

fn add_headers(
    headers: &BTreeMap<String, String>,
    schema: &Value,
    parameters: &mut Vec<Parameter>,
) -> Result<Vec<(String, String)>, Fault> {
    let mut fixed = Vec::new();
    for (name, value) in headers {
        let place = format!("http.headers.{name}");
        if !is_header_name(name) {
            return Err(Fault::new(place, "is no header name"));
        }
        match value.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            Some(argument) => {
                declared(&place, argument, schema)?;
                parameters.push(parameter(argument, name, Place::Header, Style::Simple));
            }
            None if value.bytes().all(|b| (b' '..=b'~').contains(&b)) => {
                fixed.push((name.to_ascii_lowercase(), value.clone()));
            }
            None => {
                return Err(Fault::new(place, "holds more than visible ASCII characters"));
            }
        }
    }
    Ok(fixed)
}

fn parameter(argument: &str, name: &str, place: Place, style: Style) -> Parameter {
    Parameter {
        argument: argument.to_owned(),
        name: name.to_owned(),
        place,
        style,
        explode: style == Style::Form,
        reserved: false,
        json: false,
        inner: Vec::new(),
    }
}

fn is_required(schema: &Value, name: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|names| names.iter().any(|known| known.as_str() == Some(name)))
}
