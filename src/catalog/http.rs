//! The HTTP side of a tool: where each argument goes, and the request that results. Arguments are
//! taken as already checked; what would still change the meaning of a URL or a header is refused.

mod body;
mod keys;
pub(super) mod manner;
mod style;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use url::Url;

use super::error::Error;
use super::secret::Secret;
use keys::Guard;

pub(super) use body::essence;
pub use body::{Body, Field, Format, Shape};
pub use keys::Key;
pub(super) use keys::bound;
pub(crate) use keys::is_same;
pub use manner::{Follow, Manner, Pages, Retry};

/// How a tool's arguments become an HTTP request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HttpTarget {
    /// Upper-case method.
    pub method: String,
    /// Scheme, host, port and base path, without a trailing slash.
    pub server: String,
    /// Path template below the server; `{name}` stands for the path parameter of that name.
    pub path: String,
    /// A fixed part of the query string; empty for none.
    pub query: String,
    /// Where the arguments go that are not in the body.
    pub parameters: Vec<Parameter>,
    /// Headers with a fixed value.
    pub headers: Vec<(String, String)>,
    /// How the body is made; `None` for a tool that never sends one.
    pub body: Option<Body>,
    /// Keys of security schemes, which are no arguments: nothing that a caller gives may set them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<Key>,
    /// Whether it is sent again, and whether further pages are fetched.
    #[serde(default, skip_serializing_if = "Manner::is_plain")]
    pub manner: Box<Manner>,
}

/// One argument that is sent outside the body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameter {
    /// Name of the argument in the tool's input schema.
    pub argument: String,
    /// Name on the wire.
    pub name: String,
    /// Which part of the request carries it.
    pub place: Place,
    /// How arrays and objects are written.
    pub style: Style,
    /// Whether each item or member is written by itself.
    pub explode: bool,
    /// Leaves URL characters such as `/` and `:` in a query value as they are.
    pub reserved: bool,
    /// Writes the value as JSON text.
    pub json: bool,
    /// How lists inside the list are written, outermost first; without it there may be none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inner: Vec<Style>,
}

/// Which part of a request carries a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// A piece of the path.
    Path,
    /// The query string.
    Query,
    /// A header.
    Header,
    /// The Cookie header.
    Cookie,
}

impl Place {
    /// The place in a message.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Query => "query",
            Self::Header => "header",
            Self::Cookie => "cookie",
        }
    }
}

/// OpenAPI's parameter styles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names are OpenAPI's own")]
pub enum Style {
    Simple,
    Label,
    Matrix,
    Form,
    SpaceDelimited,
    PipeDelimited,
    DeepObject,
    /// Swagger 2.0's `tsv`, which OpenAPI 3 has no name for.
    TabDelimited,
}

/// One HTTP request, ready to send: what the sandboxed client reads on standard input as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpRequest {
    /// Upper-case method.
    pub method: String,
    /// Absolute URL, percent-encoded.
    pub url: String,
    /// Header names and values.
    pub headers: Vec<(String, String)>,
    /// The body in base64; `None` for none.
    pub body_base64: Option<String>,
    /// Whether and how it may be sent again; `None` for once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// How to fetch further pages; `None` for the first alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<Pages>,
}

impl HttpTarget {
    /// Builds the request for checked arguments; `secrets` are those of the tool's profile.
    ///
    /// Refuses what no encoding can carry safely: dots as a whole path segment, line breaks in a
    /// header, nesting that the parameter's style does not define. Refuses members of objects that
    /// would be sent under a name that only the operator sets.
    pub fn request(&self, arguments: &Value, secrets: &[Secret]) -> Result<HttpRequest, Error> {
        let empty = Map::new();
        let arguments = arguments.as_object().unwrap_or(&empty);
        let guard = Guard::new(self, secrets);
        let path = self.fill_path(arguments, &guard)?;
        let mut query = self.collect(Place::Query, arguments, (&guard, style::query))?;
        if !self.query.is_empty() {
            query.insert(0, style::literal(&self.query));
        }
        let url = self.join(&path, &query)?;
        let mut headers = self.headers.clone();
        for parameter in self.at(Place::Header) {
            if let Some(value) = present(arguments, parameter) {
                headers.push((parameter.name.clone(), style::header(parameter, value)?));
            }
        }
        let cookies = self.collect(Place::Cookie, arguments, (&guard, style::cookie))?;
        if !cookies.is_empty() {
            headers.push(("cookie".to_owned(), cookies.join("; ")));
        }
        let content = match &self.body {
            Some(body) => body.build(arguments, &guard)?,
            None => None,
        };
        let body_base64 = content.map(|content| {
            headers.push(("content-type".to_owned(), content.media));
            body::encode(&content.bytes)
        });
        let Manner { retry, pages, .. } = (*self.manner).clone();
        Ok(HttpRequest { method: self.method.clone(), url, headers, body_base64, retry, pages })
    }

    fn at(&self, place: Place) -> impl Iterator<Item = &Parameter> {
        self.parameters.iter().filter(move |parameter| parameter.place == place)
    }

    fn collect(
        &self,
        place: Place,
        arguments: &Map<String, Value>,
        (guard, write): (&Guard<'_>, Writer),
    ) -> Result<Vec<String>, Error> {
        let mut parts = Vec::new();
        for parameter in self.at(place) {
            let Some(value) = present(arguments, parameter) else {
                continue;
            };
            let pairs = write(parameter, value)?;
            if value.is_object() {
                let others = self.at(place).map(|other| Cow::Borrowed(other.name.as_str()));
                let fixed = self.query.split('&').filter_map(|pair| pair.split('=').next());
                let fixed = fixed.filter(|name| place == Place::Query && !name.is_empty());
                let fixed = fixed.map(style::decode);
                let others = others.filter(|name| *name != parameter.name).chain(fixed);
                style::check_pairs(parameter, &pairs, others)?;
            }
            let own = (place, &*style::encode(&parameter.name));
            guard.check(own, &parameter.argument, &pairs)?;
            parts.extend(pairs);
        }
        Ok(parts)
    }

    /// Fills the template; every value stays inside its segment.
    fn fill_path(
        &self,
        arguments: &Map<String, Value>,
        guard: &Guard<'_>,
    ) -> Result<String, Error> {
        let mut path = String::new();
        for segment in self.path.split('/').skip(1) {
            path.push('/');
            let mut last = None;
            let mut filled = String::new();
            for piece in pieces(segment) {
                match piece {
                    Piece::Text(text) => filled.push_str(&style::literal(text)),
                    Piece::Name(name) => {
                        let parameter = self
                            .at(Place::Path)
                            .find(|parameter| parameter.name == name)
                            .ok_or_else(|| Error::argument(name, "has no path parameter"))?;
                        let value = present(arguments, parameter).ok_or_else(|| {
                            Error::argument(&parameter.argument, "is needed in the path")
                        })?;
                        let text = style::path(parameter, value)?;
                        if parameter.style == Style::Matrix {
                            let own = (Place::Query, &*style::encode(&parameter.name));
                            let pairs = text.trim_start_matches(';').split(';');
                            let pairs: Vec<String> = pairs.map(str::to_owned).collect();
                            guard.check(own, &parameter.argument, &pairs)?;
                        }
                        filled.push_str(&text);
                        last = Some(parameter);
                    }
                }
            }
            if let Some(parameter) = last {
                check_segment(&filled, parameter)?;
            }
            path.push_str(&filled);
        }
        Ok(path)
    }

    /// Joins the parts, and reads the result back as the sender will.
    fn join(&self, path: &str, query: &[String]) -> Result<String, Error> {
        let mut text = format!("{}{path}", self.server);
        if !query.is_empty() {
            text.push('?');
            text.push_str(&query.join("&"));
        }
        let moved = || Error::Url { url: text.clone() };
        let url =
            Url::parse(&text).map_err(|source| Error::Server { url: text.clone(), source })?;
        let server = Url::parse(&self.server)
            .map_err(|source| Error::Server { url: self.server.clone(), source })?;
        let base = server.path().trim_end_matches('/');
        let same = url.origin() == server.origin()
            && url.path().strip_prefix(base) == Some(if path.is_empty() { "/" } else { path })
            && url.fragment().is_none();
        if same { Ok(url.into()) } else { Err(moved()) }
    }
}

/// Writes one argument as `name=value` pairs.
type Writer = fn(&Parameter, &Value) -> Result<Vec<String>, Error>;

fn present<'a>(arguments: &'a Map<String, Value>, parameter: &Parameter) -> Option<&'a Value> {
    arguments.get(&parameter.argument).filter(|value| !value.is_null())
}

/// Dots are unreserved, so no encoding can keep `.` and `..` from being resolved.
fn check_segment(segment: &str, parameter: &Parameter) -> Result<(), Error> {
    let plain = segment.to_ascii_lowercase().replace("%2e", ".");
    let reason = match plain.as_str() {
        "." | ".." => "must not be `.` or `..`, which would change the path",
        "" => "must not be empty in a path",
        _ => return Ok(()),
    };
    Err(Error::argument(&parameter.argument, reason))
}

/// A piece of a path template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece<'t> {
    /// Text as it stands.
    Text(&'t str),
    /// The name of a path parameter.
    Name(&'t str),
}

/// Splits a template into text and names. Unbalanced braces stay text.
pub(super) fn pieces(template: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some((text, after)) = rest.split_once('{') {
        let Some((name, tail)) = after.split_once('}') else {
            break;
        };
        if !text.is_empty() {
            pieces.push(Piece::Text(text));
        }
        pieces.push(Piece::Name(name));
        rest = tail;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest));
    }
    pieces
}

/// A template with `x` in place of each name: what its author wrote literally.
pub(super) fn outline(template: &str) -> String {
    pieces(template)
        .into_iter()
        .map(|piece| match piece {
            Piece::Text(text) => text,
            Piece::Name(_) => "x",
        })
        .collect()
}

/// Whether a path holds `.` or `..`, which would lead out of where it seems to be.
pub(super) fn has_dot_segments(path: &str) -> bool {
    path.split('/').any(|part| matches!(part, "." | ".."))
}

/// Whether a text can be the name of a header.
pub(super) fn is_header_name(name: &str) -> bool {
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !name.is_empty() && name.bytes().all(token)
}

/// Whether a method only reads, as HTTP defines it.
pub(super) fn is_safe(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "OPTIONS")
}

/// A server URL that can be called: http or https, a host, nothing but a path behind it. Returns
/// it without a trailing slash.
pub(super) fn check_server(text: &str) -> Result<String, String> {
    let url = Url::parse(text).map_err(|error| format!("server `{text}` is no URL: {error}"))?;
    let wrong = if !matches!(url.scheme(), "http" | "https") {
        "has a scheme other than http and https"
    } else if url.host_str().is_none_or(str::is_empty) {
        "has no host"
    } else if !url.username().is_empty() || url.password().is_some() {
        "holds a user name or password"
    } else if url.query().is_some() || url.fragment().is_some() {
        "holds a query or a fragment"
    } else {
        return Ok(url.as_str().trim_end_matches('/').to_owned());
    };
    Err(format!("server `{text}` {wrong}"))
}
