//! One operation of a document in, the draft of one tool out: its arguments, their schema and where
//! each goes in the request.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::body::{self, Content, Kind, Need, Plan, kind};
use super::flatten::has_beside;
use super::names::Arguments;
use super::parameters::{self, Declared};
use super::placeholders;
use super::refs::Spot;
use super::report::{Note, Reason};
use super::schema::{Converter, Direction, SENSITIVE, is_sensitive, length};
use super::security;
use super::servers::{self, ServerSettings};
use super::swagger;
use crate::catalog::http::{
    Body, Field, Format, HttpTarget, Parameter, Place, Shape, has_dot_segments, outline,
};
use crate::catalog::loops;

/// Largest input schema of one tool, as JSON text.
const MAX_SCHEMA: usize = 1 << 20;

/// An operation and everything around it that counts.
pub(super) struct Subject<'s, 'a> {
    pub(super) root: &'s Spot<'a>,
    pub(super) item: &'s Spot<'a>,
    pub(super) operation: &'s Spot<'a>,
    /// Upper-case method.
    pub(super) method: &'s str,
    pub(super) path: &'s str,
}

/// What a tool needs from its operation.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::catalog) struct Draft {
    pub(in crate::catalog) description: String,
    pub(in crate::catalog) input_schema: Value,
    pub(in crate::catalog) output_schema: Option<Value>,
    pub(in crate::catalog) target: HttpTarget,
    /// Names the schemas and the target; empty until they are complete.
    pub(in crate::catalog) digest: String,
    pub(super) notes: Vec<Note>,
    /// What the operator must give for it to work.
    pub(super) needs: Option<Note>,
}

/// The schema of the arguments as it grows.
#[derive(Default)]
struct Input {
    properties: Map<String, Value>,
    required: Vec<Value>,
    /// Members of an optional body: giving one demands these others.
    together: Option<(Vec<String>, Vec<String>)>,
    /// The body's schema, when it is the whole input.
    whole: Option<Map<String, Value>>,
}

/// Makes a draft, or says why not.
pub(super) fn draft<'a>(
    converter: &mut Converter<'a>,
    subject: &Subject<'_, 'a>,
    settings: &ServerSettings,
) -> Result<Draft, Reason> {
    let Subject { root, item, operation, method, path } = *subject;
    for spot in [root, item, operation] {
        converter.heed(spot)?;
    }
    let template = placeholders::settle(converter, [item, operation], path)?;
    let (path, query) = template.split_once('?').unwrap_or((&template, ""));
    check_path(converter, operation, (path, query))?;
    let server = servers::choose(converter, [operation, item, root], settings)?;
    let schemes = security::needed(converter, operation);
    let declared = parameters::read(converter, item, operation, (method, path), &schemes)?;
    let mut plan = match method {
        "GET" | "HEAD" => {
            no_body(converter, item, operation, method)?;
            None
        }
        _ => body::read(converter, item, operation, declared.is_empty())?,
    };
    if let Some(plan) = &mut plan {
        security::withhold(converter, plan, &schemes);
    }
    let mut arguments = Arguments::new(wanted(&declared, plan.as_ref()));
    let mut input = Input::default();
    let mut parameters = Vec::new();
    for one in declared {
        parameters.push(add_parameter(converter, &mut arguments, &mut input, one)?);
    }
    let body = match plan {
        Some(plan) => Some(add_body(converter, &mut arguments, &mut input, plan)?),
        None => None,
    };
    let input_schema = close(converter, operation, input)?;
    let mut headers = Vec::new();
    if let Some(media) = accepted(converter, operation) {
        headers.push(("accept".to_owned(), media));
    }
    Ok(Draft {
        description: describe(converter, subject),
        input_schema,
        output_schema: None,
        target: HttpTarget {
            method: method.to_owned(),
            server,
            path: path.to_owned(),
            query: query.to_owned(),
            parameters,
            headers,
            body,
            keys: security::keys(&schemes),
            manner: Box::default(),
        },
        digest: String::new(),
        needs: security::tell(converter, operation, &schemes),
        notes: std::mem::take(&mut converter.notes),
    })
}

/// Tells of a body that will not be sent.
fn no_body<'a>(
    converter: &mut Converter<'a>,
    item: &Spot<'a>,
    operation: &Spot<'a>,
    method: &str,
) -> Result<(), Reason> {
    let message = format!("a {method} request carries no body; left out");
    if converter.is_swagger() {
        for spot in parameters::listed(converter, item, operation)? {
            if spot.text("in") == Some("body") {
                converter.note(&spot, "in", message.clone());
            }
        }
    } else if operation.get("requestBody").is_some() {
        converter.note(operation, "requestBody", message);
    }
    Ok(())
}

fn check_path(
    converter: &Converter<'_>,
    operation: &Spot<'_>,
    (path, query): (&str, &str),
) -> Result<(), Reason> {
    let plain = outline(path);
    let wrong = if !path.starts_with('/') {
        "does not start with `/`"
    } else if plain.contains(['{', '}']) || query.contains(['{', '}']) {
        "has an unbalanced brace, or an argument behind `?`"
    } else if path.contains('#') || query.contains('#') {
        "holds a fragment"
    } else if has_dot_segments(&plain) {
        "holds dot segments"
    } else {
        return Ok(());
    };
    Err(converter.reason(operation, format!("path `{path}` {wrong}")))
}

fn wanted(declared: &[Declared<'_>], plan: Option<&Plan<'_>>) -> BTreeSet<String> {
    let mut names = body::names(plan);
    names.extend(declared.iter().map(|one| one.wire.name.clone()));
    names
}

fn add_parameter<'a>(
    converter: &mut Converter<'a>,
    arguments: &mut Arguments,
    input: &mut Input,
    declared: Declared<'a>,
) -> Result<Parameter, Reason> {
    let mut wire = declared.wire;
    wire.argument = arguments.claim(&wire.name, wire.place.as_str());
    let mut schema = match &declared.schema {
        Some(spot) => as_object(converter.convert(spot)?),
        None if wire.place == Place::Path => as_object(json!({ "type": "string" })),
        None => Map::new(),
    };
    if let Some(text) = declared.description {
        schema.insert("description".to_owned(), text.into());
    }
    if declared.sensitive {
        schema.insert(SENSITIVE.to_owned(), Value::Bool(true));
    }
    if declared.required {
        input.required.push(wire.argument.clone().into());
    }
    input.properties.insert(wire.argument.clone(), Value::Object(schema));
    Ok(wire)
}

fn add_body<'a>(
    converter: &mut Converter<'a>,
    arguments: &mut Arguments,
    input: &mut Input,
    plan: Plan<'a>,
) -> Result<Body, Reason> {
    let required = plan.required == Need::Yes;
    let shape = match &plan.content {
        Content::All(schema) => {
            let target = converter.document.follow_refs(schema.clone())?;
            let whole = match converter.has_kinds(&target) {
                _ if has_beside(converter, schema) => converter.convert(schema)?,
                true => converter.kinds(&target)?,
                false => converter.convert(&target)?,
            };
            input.whole = Some(as_object(whole));
            Shape::All
        }
        Content::Whole(schema) => {
            let name = arguments.invent("body", "body");
            let inner = match (plan.format, schema) {
                (Format::Bytes, _) => json!({ "type": "string", "contentEncoding": "base64" }),
                (Format::Form | Format::Multipart, None) => json!({ "type": "object" }),
                (Format::Form, Some(schema)) => body::form(converter, schema)?,
                (_, Some(schema)) => converter.convert(schema)?,
                (Format::Text, None) => json!({ "type": "string" }),
                (_, None) => json!({}),
            };
            let mut inner = as_object(inner);
            inner.insert("description".to_owned(), whole_text(&plan, &inner).into());
            if required {
                input.required.push(name.clone().into());
            }
            input.properties.insert(name.clone(), Value::Object(inner));
            Shape::Whole(name)
        }
        Content::Fields(..) => Shape::Fields(add_fields(converter, arguments, input, &plan)?),
    };
    Ok(Body { media: plan.media, format: plan.format, shape, required })
}

fn whole_text(plan: &Plan<'_>, schema: &Map<String, Value>) -> String {
    let own = schema.get("description").and_then(Value::as_str);
    let more = plan.description.or(own).unwrap_or_default();
    let how = match plan.format {
        Format::Bytes => ", as base64 text",
        Format::Json | Format::Form | Format::Multipart | Format::Text => "",
    };
    format!("The whole request body ({}){how}. {more}", plan.media).trim_end().to_owned()
}

fn add_fields<'a>(
    converter: &mut Converter<'a>,
    arguments: &mut Arguments,
    input: &mut Input,
    plan: &Plan<'a>,
) -> Result<Vec<Field>, Reason> {
    let Content::Fields(flat, written) = &plan.content else {
        return Ok(Vec::new());
    };
    flat.tell(converter)?;
    let mut fields = Vec::new();
    let mut needed = Vec::new();
    for ((name, member), field) in flat.members.iter().zip(written) {
        let argument = arguments.claim(name, "body");
        let schema = match field.bytes {
            true => file_schema(converter, member),
            false => as_object(converter.convert(member)?),
        };
        input.properties.insert(argument.clone(), Value::Object(schema));
        if flat.required.contains(name) {
            needed.push(argument.clone());
        }
        fields.push(Field { argument, ..field.clone() });
    }
    match plan.required {
        Need::No if !needed.is_empty() => {
            let all = fields.iter().map(|field| field.argument.clone()).collect();
            input.together = Some((all, needed));
        }
        Need::Yes | Need::No | Need::Unsaid => {
            input.required.extend(needed.into_iter().map(Value::String));
        }
    }
    Ok(fields)
}

/// The argument of a file: base64 text, or a list of them.
fn file_schema<'a>(converter: &Converter<'a>, member: &Spot<'a>) -> Map<String, Value> {
    let target = converter.document.follow_refs(member.clone());
    let target = target.as_ref().unwrap_or(member);
    let text = target.text("description").unwrap_or("The file's content");
    let one = json!({ "type": "string", "contentEncoding": "base64" });
    let mut schema = as_object(if body::is_bytes(target) {
        one
    } else {
        json!({ "type": "array", "items": one })
    });
    let text = format!("{} (bytes as base64 text)", text.trim_end_matches('.'));
    schema.insert("description".to_owned(), text.into());
    if [member, target].iter().any(|spot| spot.value.as_object().is_some_and(is_sensitive)) {
        schema.insert(SENSITIVE.to_owned(), Value::Bool(true));
    }
    schema
}

fn as_object(schema: Value) -> Map<String, Value> {
    match schema {
        Value::Object(map) => map,
        Value::Bool(false) => Map::from_iter([("not".to_owned(), json!({}))]),
        _ => Map::new(),
    }
}

/// Puts the input schema together and checks it as a whole.
fn close<'a>(
    converter: &mut Converter<'a>,
    operation: &Spot<'a>,
    input: Input,
) -> Result<Value, Reason> {
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    match input.whole {
        Some(whole) => schema.extend(whole),
        None => {
            schema.insert("properties".to_owned(), Value::Object(input.properties));
            if !input.required.is_empty() {
                schema.insert("required".to_owned(), Value::Array(input.required));
            }
            if let Some((all, needed)) = input.together {
                let rule = all.into_iter().map(|name| (name, json!(needed))).collect();
                schema.insert("dependentRequired".to_owned(), Value::Object(rule));
            }
            schema.insert("additionalProperties".to_owned(), Value::Bool(false));
        }
    }
    let defs = converter.finish(operation)?;
    if !defs.is_empty() {
        schema.insert("$defs".to_owned(), Value::Object(defs));
    }
    let schema = Value::Object(schema);
    loops::check(&schema).map_err(|why| converter.reason(operation, why))?;
    let size = length(&schema);
    if size > MAX_SCHEMA {
        let message = format!("needs an input schema of {size} bytes; at most {MAX_SCHEMA}");
        return Err(converter.reason(operation, message));
    }
    Ok(schema)
}

/// The description, which says when the operation is deprecated.
fn describe(converter: &mut Converter<'_>, subject: &Subject<'_, '_>) -> String {
    let text = summarize(converter, subject);
    if subject.operation.value.get("deprecated") != Some(&Value::Bool(true)) {
        return text;
    }
    converter.note(subject.operation, "deprecated", "is deprecated; its description says so");
    format!("Deprecated. {text}")
}

fn summarize(converter: &mut Converter<'_>, subject: &Subject<'_, '_>) -> String {
    let part = |key: &str| {
        let text = subject.operation.text(key).or_else(|| subject.item.text(key));
        text.map(str::trim).filter(|text| !text.is_empty())
    };
    match (part("summary"), part("description")) {
        (Some(summary), Some(text)) if text.starts_with(summary.trim_end_matches('.')) => {
            text.to_owned()
        }
        (Some(summary), Some(text)) if summary.ends_with(['.', '!', '?', '。']) => {
            format!("{summary} {text}")
        }
        (Some(summary), Some(text)) => format!("{summary}. {text}"),
        (Some(one), None) | (None, Some(one)) => one.to_owned(),
        (None, None) => {
            let message = "has neither summary nor description; named by its method and path";
            converter.note(subject.operation, "description", message);
            format!("{} {}", subject.method, subject.path)
        }
    }
}

/// The JSON media type that a good answer has, for the Accept header.
fn accepted(converter: &Converter<'_>, operation: &Spot<'_>) -> Option<String> {
    let (media, _) = answer(converter, operation)?;
    Some(media.split(';').next().unwrap_or(media).trim().to_owned())
}

fn answer<'a>(converter: &Converter<'a>, operation: &Spot<'a>) -> Option<(&'a str, Spot<'a>)> {
    let responses = operation.get("responses")?;
    for (code, response) in responses.members() {
        if !code.starts_with('2') && code != "default" {
            continue;
        }
        let response = converter.document.follow_refs(response).ok()?;
        let found = if converter.is_swagger() {
            swagger::answer(converter, operation, response)
        } else {
            let content = response.get("content");
            let mut offers = content.iter().flat_map(Spot::members);
            offers.find(|(media, _)| matches!(kind(media), Kind::Json(0 | 3)))
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

/// The schema of a good answer's data, where the document has one that can be used.
pub(super) fn output<'a>(subject: &Subject<'_, 'a>, from: &Converter<'a>) -> Option<Value> {
    let (_, content) = answer(from, subject.operation)?;
    let mut converter = Converter::new(from.document, Direction::Response, from.room());
    let mut schema = as_object(converter.convert(&content.get("schema")?).ok()?);
    let defs = converter.finish(subject.operation).ok()?;
    if !defs.is_empty() {
        schema.insert("$defs".to_owned(), Value::Object(defs));
    }
    let schema = Value::Object(schema);
    loops::check(&schema).ok()?;
    (length(&schema) <= MAX_SCHEMA).then_some(schema)
}
