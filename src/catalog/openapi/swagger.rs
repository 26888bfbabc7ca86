//! Swagger 2.0: what it writes otherwise than OpenAPI 3.0 (parameters, bodies, servers, answers) in,
//! the same parts as 3.0 has them out. The document itself stays as it is, so that every place in a
//! report is one of the file that the operator has.

use super::body::{self, Content, Kind, Need, Plan};
use super::flatten::Flat;
use super::nesting;
use super::parameters;
use super::refs::Spot;
use super::report::Reason;
use super::schema::Converter;
use crate::catalog::http::{Field, Format, Place, Style};

const FORM: &str = "application/x-www-form-urlencoded";
const MULTIPART: &str = "multipart/form-data";

/// How a parameter's list is written: style, and whether each item is written by itself.
pub(super) fn style(converter: &mut Converter<'_>, spot: &Spot<'_>, place: Place) -> (Style, bool) {
    let usual = match place {
        Place::Path | Place::Header => Style::Simple,
        Place::Query | Place::Cookie => Style::Form,
    };
    match spot.text("collectionFormat") {
        None | Some("csv") => (usual, false),
        Some("ssv") => (Style::SpaceDelimited, false),
        Some("tsv") => (Style::TabDelimited, false),
        Some("pipes") => (Style::PipeDelimited, false),
        Some("multi") if usual == Style::Form => (Style::Form, true),
        Some(other) => {
            let message = format!("`{other}` is not defined here; lists are written with commas");
            converter.note(spot, "collectionFormat", message);
            (usual, false)
        }
    }
}

/// Whether a parameter belongs to the body.
pub(super) fn is_body(spot: &Spot<'_>) -> bool {
    matches!(spot.text("in"), Some("body" | "formData"))
}

/// The body that the parameters of an operation make.
pub(super) fn body<'a>(
    converter: &mut Converter<'a>,
    item: &Spot<'a>,
    operation: &Spot<'a>,
    alone: bool,
) -> Result<Option<Plan<'a>>, Reason> {
    let listed = parameters::listed(converter, item, operation)?;
    let fields: Vec<&Spot<'a>> =
        listed.iter().filter(|spot| spot.text("in") == Some("formData")).collect();
    match (listed.iter().find(|spot| spot.text("in") == Some("body")), fields.as_slice()) {
        (Some(whole), fields) => {
            for field in fields {
                let message = "stands beside a body, which takes its place; left out";
                converter.note(field, "in", message);
            }
            one(converter, operation, whole, alone).map(Some)
        }
        (None, []) => Ok(None),
        (None, fields) => Ok(Some(form(converter, operation, fields))),
    }
}

/// A body parameter.
fn one<'a>(
    converter: &mut Converter<'a>,
    operation: &Spot<'a>,
    spot: &Spot<'a>,
    alone: bool,
) -> Result<Plan<'a>, Reason> {
    let consumed = media(converter, operation, "consumes");
    let forms = |kind: &Kind| matches!(kind, Kind::Form | Kind::Multipart);
    let fit = consumed.iter().copied().filter(|media| !forms(&body::kind(media)));
    let (name, kind) = match body::best(fit) {
        Some(best) => best,
        None if consumed.iter().all(|media| forms(&body::kind(media))) => {
            if !consumed.is_empty() {
                let message = "names forms only, which a body parameter is not; sent as JSON";
                converter.note(operation, "consumes", message);
            }
            ("application/json", Kind::Json(0))
        }
        None => {
            let message =
                format!("has a body of `{}`, which is not supported", consumed.join("`, `"));
            return Err(converter.reason(operation, message));
        }
    };
    let format = kind.format();
    let schema = spot.get("schema");
    if schema.is_none() && !matches!(format, Format::Text | Format::Bytes) {
        converter.note(spot, "schema", "is missing; any value is taken");
    }
    let content = body::arrange(converter, spot, schema, (format, alone))?;
    Ok(Plan {
        media: body::sent(name, &kind),
        format,
        required: need(spot.value.get("required") == Some(&true.into())),
        content,
        description: spot.description(),
    })
}

const fn need(required: bool) -> Need {
    if required { Need::Yes } else { Need::Unsaid }
}

/// Form parameters: `multipart/form-data` where a file is among them.
fn form<'a>(converter: &mut Converter<'a>, operation: &Spot<'a>, fields: &[&Spot<'a>]) -> Plan<'a> {
    let mut flat = Flat::default();
    let mut written = Vec::new();
    for spot in fields {
        let Some(name) = spot.text("name").filter(|name| !name.is_empty()) else {
            converter.note(spot, "name", "is missing, so the field cannot be sent; left out");
            continue;
        };
        let (style, explode) = style(converter, spot, Place::Query);
        nesting::tell(converter, spot, spot.text("collectionFormat").unwrap_or("csv"));
        if spot.value.get("required") == Some(&true.into()) {
            flat.required.insert(name);
        }
        flat.members.push((name, (*spot).clone()));
        let bytes = body::is_bytes(spot);
        written.push(Field { style, explode, bytes, ..Field::plain(name) });
    }
    let consumed = media(converter, operation, "consumes");
    let names = |wanted: Kind| consumed.iter().any(|media| body::kind(media) == wanted);
    let file = written.iter().any(|field| field.bytes);
    let multipart = file || (names(Kind::Multipart) && !names(Kind::Form));
    if !consumed.is_empty() && !names(if multipart { Kind::Multipart } else { Kind::Form }) {
        let media = if multipart { MULTIPART } else { FORM };
        let message = format!("does not name `{media}`, as which form fields are sent");
        converter.note(operation, "consumes", message);
    }
    Plan {
        media: if multipart { MULTIPART } else { FORM }.to_owned(),
        format: if multipart { Format::Multipart } else { Format::Form },
        required: need(!flat.required.is_empty()),
        content: Content::Fields(flat, written),
        description: None,
    }
}

/// The media types of an operation, or of the document: `key` is `consumes` or `produces`.
fn media<'a>(converter: &Converter<'a>, operation: &Spot<'a>, key: &str) -> Vec<&'a str> {
    let own = operation.value.get(key);
    let listed = own.or_else(|| converter.document.root(0).get(key));
    let items = listed.and_then(|listed| listed.as_array());
    items.into_iter().flatten().filter_map(|item| item.as_str()).collect()
}

/// The JSON media type of an answer that has a schema, with the answer, in which the schema stands.
pub(super) fn answer<'a>(
    converter: &Converter<'a>,
    operation: &Spot<'a>,
    response: Spot<'a>,
) -> Option<(&'a str, Spot<'a>)> {
    let produced = media(converter, operation, "produces");
    let json = |media: &&str| matches!(body::kind(media), Kind::Json(0 | 3));
    let media = match produced.as_slice() {
        [] => "application/json",
        many => many.iter().copied().find(json)?,
    };
    let file = response.value.pointer("/schema/type").and_then(|kind| kind.as_str());
    let has = response.value.get("schema").is_some() && file != Some("file");
    has.then_some((media, response))
}

/// The base URL as the document writes it, which may lack scheme and host.
pub(super) fn server(root: &Spot<'_>, operation: &Spot<'_>) -> (String, String) {
    let schemes = operation.get("schemes").or_else(|| root.get("schemes"));
    let listed: Vec<&str> =
        schemes.iter().flat_map(Spot::items).filter_map(|item| item.value.as_str()).collect();
    let scheme = ["https", "http"].into_iter().find(|known| listed.contains(known));
    let base = root.text("basePath").unwrap_or_default().trim_start_matches('/');
    let host = root.text("host").filter(|host| !host.is_empty());
    let text = match (host, scheme) {
        (Some(host), Some(scheme)) => format!("{scheme}://{host}/{base}"),
        (Some(host), None) => format!("//{host}/{base}"),
        (None, _) => format!("/{base}"),
    };
    let place = if host.is_some() { "#/host" } else { "#/basePath" };
    (place.to_owned(), text)
}
