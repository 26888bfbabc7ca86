//! Parameters of one operation: the lists of path item and operation in, each with its place,
//! style and schema out. Placeholders of the path and path parameters are brought together.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::flatten::is_object;
use super::nesting;
use super::refs::Spot;
use super::report::Reason;
use super::schema::{Converter, is_sensitive};
use super::security::Scheme;
use super::swagger;
use crate::catalog::http::{Parameter, Piece, Place, Style, is_header_name, pieces};

/// Headers that the sender or the gate writes: an argument there could forge or split a request.
const OWN_HEADERS: [&str; 19] = [
    "accept",
    "authorization",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "cookie",
    "expect",
    "forwarded",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
    "x-forwarded-for",
];

/// One parameter; `wire.argument` is still the name on the wire.
#[derive(Debug)]
pub(super) struct Declared<'a> {
    pub(super) wire: Parameter,
    pub(super) required: bool,
    pub(super) description: Option<&'a str>,
    /// Whether the parameter itself is marked as sensitive.
    pub(super) sensitive: bool,
    /// `None` for a path parameter that the document forgot, or one without a schema.
    pub(super) schema: Option<Spot<'a>>,
}

/// Reads the parameters of an operation, in the order path, query, header, cookie; the keys of its
/// `schemes` are none, unless they are offered.
pub(super) fn read<'a>(
    converter: &mut Converter<'a>,
    item: &Spot<'a>,
    operation: &Spot<'a>,
    (method, template): (&str, &str),
    schemes: &[Scheme<'a>],
) -> Result<Vec<Declared<'a>>, Reason> {
    let mut found: Vec<Declared<'a>> = Vec::new();
    for spot in listed(converter, item, operation)? {
        let lone = matches!(method, "GET" | "HEAD") && spot.text("in") == Some("formData");
        if converter.is_swagger() && swagger::is_body(&spot) && !lone {
            continue;
        }
        if lone {
            converter.note(&spot, "in", format!("a {method} carries no form; sent in the query"));
        }
        let key = schemes.iter().find(|scheme| scheme.is(&spot));
        if let Some(scheme) = key.filter(|_| !converter.offers_keys) {
            converter.note(&spot, "name", scheme.left_out());
            continue;
        }
        found.extend(read_one(converter, &spot)?);
    }
    tell_spread(converter, operation, &found);
    match_path(converter, operation, template, &mut found);
    found.sort_by_key(|declared| declared.wire.place);
    Ok(found)
}

/// The parameter objects of an operation: its own, and those of its path that it does not replace.
pub(super) fn listed<'a>(
    converter: &mut Converter<'a>,
    item: &Spot<'a>,
    operation: &Spot<'a>,
) -> Result<Vec<Spot<'a>>, Reason> {
    let mut found: Vec<Spot<'a>> = Vec::new();
    let mut places = HashMap::new();
    for level in [item, operation] {
        let first = found.len();
        let mut replaced = HashSet::new();
        for entry in level.get("parameters").iter().flat_map(Spot::items) {
            let spot = converter.document.follow_refs(entry)?;
            converter.heed(&spot)?;
            let place = spot.text("in");
            // There is one body, whatever its name.
            let name = spot.text("name").filter(|_| place != Some("body"));
            // Names of headers have no case.
            let key = name.map(|name| match place {
                Some("header") => name.to_ascii_lowercase(),
                _ => name.to_owned(),
            });
            let known = places.get(&(place, key.clone())).copied();
            match known.and_then(|at: usize| Some((at, found.get_mut(at)?))) {
                Some((at, other)) => {
                    if at >= first || !replaced.insert(at) {
                        let message = format!(
                            "names `{}` in the same place twice; the last one counts",
                            name.unwrap_or_default()
                        );
                        converter.note(&spot, "name", message);
                    }
                    *other = spot;
                }
                None => {
                    places.insert((place, key), found.len());
                    found.push(spot);
                }
            }
        }
    }
    Ok(found)
}

fn read_one<'a>(
    converter: &mut Converter<'a>,
    spot: &Spot<'a>,
) -> Result<Option<Declared<'a>>, Reason> {
    let Some(name) = spot.text("name").filter(|name| !name.is_empty()) else {
        converter.note(spot, "name", "is missing, so the parameter cannot be sent; left out");
        return Ok(None);
    };
    let place = match spot.text("in") {
        Some("path") => Place::Path,
        Some("query") => Place::Query,
        Some("header") => Place::Header,
        Some("cookie") => Place::Cookie,
        // What a GET cannot carry in a body is read from the query by those who write it so.
        Some("formData") if converter.is_swagger() => Place::Query,
        other => {
            let message = format!("parameter `{name}` is in `{}`", other.unwrap_or_default());
            return Err(converter.reason(spot, message));
        }
    };
    if place == Place::Header && !may_send(converter, spot, name)? {
        return Ok(None);
    }
    let flag = |key: &str| spot.value.get(key).and_then(Value::as_bool);
    let (style, explode, schema, json) = if converter.is_swagger() {
        let (style, explode) = swagger::style(converter, spot, place);
        (style, explode, Some(spot.clone()), false)
    } else {
        let style = style(converter, spot, name, place)?;
        let (schema, json) = content(converter, spot, name)?;
        (style, flag("explode").unwrap_or(style == Style::Form), schema, json)
    };
    let mut wire = Parameter {
        argument: name.to_owned(),
        name: name.to_owned(),
        place,
        style,
        explode,
        reserved: flag("allowReserved").unwrap_or(false),
        json,
        inner: Vec::new(),
    };
    if let Some(schema) = &schema {
        nesting::settle(converter, schema, &mut wire);
    }
    Ok(Some(Declared {
        wire,
        required: place == Place::Path || flag("required").unwrap_or(false),
        sensitive: spot.value.as_object().is_some_and(is_sensitive),
        description: spot.description(),
        schema,
    }))
}

/// Notes objects whose members are written as parameters of their own, beside others.
fn tell_spread<'a>(converter: &mut Converter<'a>, operation: &Spot<'a>, found: &[Declared<'a>]) {
    for one in found {
        let wire = &one.wire;
        let spread = wire.explode && !wire.json && wire.style == Style::Form;
        let schema = one.schema.clone().and_then(|s| converter.document.follow_refs(s).ok());
        let Some(schema) = schema.filter(|schema| spread && is_object(converter, schema, 16))
        else {
            continue;
        };
        let properties = converter.document.properties(&schema);
        let members: Vec<&str> =
            properties.iter().flat_map(Spot::members).map(|(name, _)| name).collect();
        let open = schema.value.get("additionalProperties") != Some(&Value::Bool(false));
        let others: Vec<&str> = found
            .iter()
            .map(|other| &other.wire)
            .filter(|other| other.place == wire.place && other.name != wire.name)
            .map(|other| other.name.as_str())
            .filter(|name| open || members.contains(name))
            .collect();
        if !others.is_empty() {
            let message = format!(
                "members of `{}` are sent as parameters of their own; a call whose member is named \
                 as another parameter (`{}`) is refused",
                wire.name,
                others.join("`, `")
            );
            converter.note(operation, "parameters", message);
        }
    }
}

fn may_send(converter: &mut Converter<'_>, spot: &Spot<'_>, name: &str) -> Result<bool, Reason> {
    if !is_header_name(name) {
        let message = format!("parameter `{name}` is no possible header name");
        return Err(converter.reason(spot, message));
    }
    if OWN_HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
        let message =
            format!("header `{name}` is written by the sender; no argument is made of it");
        converter.note(spot, "name", message);
        return Ok(false);
    }
    Ok(true)
}

fn style(
    converter: &Converter<'_>,
    spot: &Spot<'_>,
    name: &str,
    place: Place,
) -> Result<Style, Reason> {
    let fits = match (spot.text("style"), place) {
        (None, Place::Path | Place::Header) => Some(Style::Simple),
        (None, Place::Query | Place::Cookie) => Some(Style::Form),
        (Some("simple"), Place::Path | Place::Header) => Some(Style::Simple),
        (Some("label"), Place::Path) => Some(Style::Label),
        (Some("matrix"), Place::Path) => Some(Style::Matrix),
        (Some("form"), Place::Query | Place::Cookie) => Some(Style::Form),
        (Some("spaceDelimited"), Place::Query) => Some(Style::SpaceDelimited),
        (Some("pipeDelimited"), Place::Query) => Some(Style::PipeDelimited),
        (Some("deepObject"), Place::Query) => Some(Style::DeepObject),
        (Some(_), _) => None,
    };
    fits.ok_or_else(|| {
        let message = format!(
            "parameter `{name}` has the style `{}`, which a {} parameter cannot have",
            spot.text("style").unwrap_or_default(),
            place.as_str()
        );
        converter.reason(spot, message)
    })
}

/// The schema of a parameter, and whether its value is sent as JSON text.
fn content<'a>(
    converter: &mut Converter<'a>,
    spot: &Spot<'a>,
    name: &str,
) -> Result<(Option<Spot<'a>>, bool), Reason> {
    if let Some(schema) = spot.get("schema") {
        return Ok((Some(schema), false));
    }
    let Some((media, body)) = spot.get("content").and_then(|all| all.members().next()) else {
        let message = format!("parameter `{name}` has no schema; any value is taken");
        converter.note(spot, "schema", message);
        return Ok((None, false));
    };
    match super::body::kind(media) {
        super::body::Kind::Json(_) => Ok((body.get("schema"), true)),
        super::body::Kind::Text => Ok((body.get("schema"), false)),
        _ => {
            let message = format!("parameter `{name}` is written as `{media}`");
            Err(converter.reason(spot, message))
        }
    }
}

/// Adds path parameters that were not declared, and drops those that the path has no place for.
fn match_path(
    converter: &mut Converter<'_>,
    operation: &Spot<'_>,
    template: &str,
    found: &mut Vec<Declared<'_>>,
) {
    let names: Vec<&str> = pieces(template)
        .into_iter()
        .filter_map(|piece| match piece {
            Piece::Name(name) => Some(name),
            Piece::Text(_) => None,
        })
        .collect();
    found.retain(|declared| {
        let name = &declared.wire.name;
        let keep = declared.wire.place != Place::Path || names.contains(&name.as_str());
        if !keep {
            let message = format!("path parameter `{name}` has no place in `{template}`; left out");
            converter.note(operation, "parameters", message);
        }
        keep
    });
    for name in names {
        let known = |declared: &Declared<'_>| {
            declared.wire.place == Place::Path && declared.wire.name == name
        };
        if found.iter().any(known) {
            continue;
        }
        let message =
            format!("`{{{name}}}` of the path is not declared; taken as a required string");
        converter.note(operation, "parameters", message);
        found.push(Declared {
            wire: Parameter {
                argument: name.to_owned(),
                name: name.to_owned(),
                place: Place::Path,
                style: Style::Simple,
                explode: false,
                reserved: false,
                json: false,
                inner: Vec::new(),
            },
            required: true,
            sensitive: false,
            description: None,
            schema: None,
        });
    }
}
