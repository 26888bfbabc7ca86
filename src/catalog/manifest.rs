//! Tool manifests: the text of one TOML file in, one tool out. A manifest is written by hand for
//! this product, so nothing in it is guessed or adapted: what is not right is refused.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::build::Tooling;
use super::file::{Fault, locate, nearest, parse_toml, read_text};
use super::files::{self, FilesTable};
use super::http::is_safe;
use super::http::manner::{self, PagesFile, RetryFile};
use super::node::Node;
use super::openapi::{MAX_NAME, is_legal};
use super::target::{self, HttpFile};
use super::units::Span;
use super::{Command, Repair, Risk, Stdin, SummaryField, Target, loops, pattern};
use crate::admission::Limit;
use crate::pointer;

/// A manifest as it stands in its file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ManifestFile {
    name: Option<String>,
    description: String,
    risk: Risk,
    profile: String,
    input_schema: Option<Node>,
    input_schema_file: Option<String>,
    output_schema: Option<Node>,
    output_schema_file: Option<String>,
    command: Option<Command>,
    http: Option<HttpFile>,
    #[serde(default)]
    files: FilesTable,
    cache_ttl: Option<Span>,
    /// Default: a GET, HEAD or OPTIONS request is, anything else is not.
    idempotent: Option<bool>,
    retry: Option<RetryFile>,
    pages: Option<PagesFile>,
    repair: Option<Repair>,
    #[serde(default)]
    summary_fields: Vec<SummaryField>,
    #[serde(default)]
    aliases: BTreeMap<String, String>,
    /// Calls per second, over all callers.
    calls_per_second: Option<NonZeroU32>,
    /// Calls in flight, over all callers.
    calls_in_flight: Option<NonZeroU32>,
}

/// Reads one manifest. `stem` is the file's name without ending, `root` the policies folder.
pub(super) fn parse(root: &Path, stem: &str, text: &str) -> Result<Tooling, Fault> {
    let file: ManifestFile = parse_toml(text)?;
    let name = file.name.unwrap_or_else(|| stem.to_owned());
    if !is_legal(&name) {
        let message = format!(
            "`{name}` is no tool name; at most {MAX_NAME} characters of `A-Z a-z 0-9 _ . -`"
        );
        return Err(Fault::new("name", message));
    }
    if file.description.trim().is_empty() {
        let message = "is empty; say what the tool does and when to choose it";
        return Err(Fault::new("description", message));
    }
    let input = schema(root, "input_schema", file.input_schema, file.input_schema_file)?;
    let Some(input_schema) = input else {
        let message = "is missing; write it as a table, or name a file in `input_schema_file`";
        return Err(Fault::new("input_schema", message));
    };
    if input_schema.get("type").and_then(Value::as_str) != Some("object") {
        let message = "must describe an object; add `type = \"object\"`";
        return Err(Fault::new("input_schema", message));
    }
    let output_schema = schema(root, "output_schema", file.output_schema, file.output_schema_file)?;
    let target = match (file.command, file.http) {
        (Some(command), None) => Target::Command(check_command(command, &input_schema)?),
        (None, Some(http)) => Target::Http(target::build(&http, &input_schema)?),
        (None, None) => return Err(Fault::new("", "has neither `[command]` nor `[http]`")),
        (Some(_), Some(_)) => return Err(Fault::new("", "has both `[command]` and `[http]`")),
    };
    let (target, idempotent) =
        send(target, file.idempotent, (file.retry.as_ref(), file.pages.as_ref()))?;
    check_aliases(&file.aliases, &input_schema)?;
    let files = files::read(file.files)?;
    if files.stdout.is_some() && output_schema.is_some() {
        let message = "describes data, and `files.stdout` says that there is none";
        return Err(Fault::new("output_schema", message));
    }
    Ok(Tooling {
        name,
        description: file.description.trim().to_owned(),
        input_schema,
        output_schema,
        target,
        body: String::new(),
        files,
        profile: file.profile,
        operation: None,
        risk: file.risk,
        idempotent,
        cache_ttl: file.cache_ttl.map(|span| span.0),
        repair: file.repair.unwrap_or(Repair::Safe),
        aliases: file.aliases,
        summary_fields: file.summary_fields,
        rate: Limit {
            per_second: file.calls_per_second.map(NonZeroU32::get),
            in_flight: file.calls_in_flight.map(NonZeroU32::get),
        },
    })
}

/// The target as its requests are sent, and whether sending one twice is as good as once.
fn send(
    target: Target,
    idempotent: Option<bool>,
    (retry, pages): (Option<&RetryFile>, Option<&PagesFile>),
) -> Result<(Target, bool), Fault> {
    match target {
        Target::Http(mut target) => {
            let method = target.method.as_str();
            let idempotent = idempotent.unwrap_or_else(|| is_safe(method));
            target.manner = Box::new(manner::build(retry, pages, (method, idempotent))?);
            Ok((Target::Http(target), idempotent))
        }
        Target::Command(_) if retry.is_some() => {
            Err(Fault::new("retry", "is for `[http]`; a program is run once"))
        }
        Target::Command(_) if pages.is_some() => {
            Err(Fault::new("pages", "are for `[http]`; a program gives its result at once"))
        }
        command @ Target::Command(_) => Ok((command, idempotent.unwrap_or(false))),
    }
}

/// A schema written inline, as JSON text, or in a file of the policies folder.
fn schema(
    root: &Path,
    key: &str,
    inline: Option<Node>,
    file: Option<String>,
) -> Result<Option<Value>, Fault> {
    let json = |place: &str, text: &str| match serde_json::from_str::<Node>(text) {
        Ok(Node(value)) => Ok(value),
        Err(error) => Err(Fault::new(place, format!("is not JSON: {error}"))),
    };
    let value = match (inline, file) {
        (None, None) => return Ok(None),
        (Some(_), Some(_)) => {
            let message = format!("and `{key}_file` are both given; keep one");
            return Err(Fault::new(key, message));
        }
        (Some(Node(Value::String(text))), None) => json(key, &text)?,
        (Some(Node(value)), None) => value,
        (None, Some(name)) => {
            let place = format!("{key}_file");
            let at = |fault: Fault| Fault::new(place.as_str(), fault.message);
            let path = locate(root, &name).map_err(at)?;
            json(&place, &read_text(&path).map_err(at)?)?
        }
    };
    if !value.is_object() {
        return Err(Fault::new(key, "is no schema; an object is expected"));
    }
    loops::check(&value).map_err(|why| Fault::new(key, why))?;
    check_patterns(&value, key)?;
    Ok(Some(value))
}

/// Every pattern must be one that the linear-time engine enforces.
fn check_patterns(value: &Value, place: &str) -> Result<(), Fault> {
    match value {
        Value::Object(map) => {
            for (key, member) in map {
                let place = format!("{place}/{key}");
                match member {
                    Value::String(text) if key == "pattern" && !pattern::compiles(text) => {
                        let message = format!(
                            "`{text}` is invalid, or needs look-around or back-references, which \
                             take unbounded time; write it without"
                        );
                        return Err(Fault::new(place, message));
                    }
                    other if !["enum", "const", "default", "examples"].contains(&key.as_str()) => {
                        check_patterns(other, &place)?;
                    }
                    _ => {}
                }
            }
            Ok(())
        }
        Value::Array(items) => items
            .iter()
            .enumerate()
            .try_for_each(|(index, item)| check_patterns(item, &format!("{place}/{index}"))),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

/// The program is named, and every pointer leads to a declared argument.
fn check_command(command: Command, schema: &Value) -> Result<Command, Fault> {
    match command.argv.first().map(String::as_str) {
        None | Some("") => {
            let message = "is empty; its first element is the program";
            return Err(Fault::new("command.argv", message));
        }
        Some(program) if program.starts_with("{/") => {
            let message = "takes the program from an argument; name the program itself";
            return Err(Fault::new("command.argv", message));
        }
        Some(_) => {}
    }
    for element in &command.argv {
        let pointer = element.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        if let Some(pointer) = pointer.filter(|pointer| pointer.starts_with('/')) {
            check_pointer("command.argv", pointer, schema)?;
        }
        if element.contains('\0') {
            return Err(Fault::new("command.argv", "holds a NUL character"));
        }
    }
    if let Stdin::Pointer(pointer) = &command.stdin {
        check_pointer("command.stdin", pointer, schema)?;
    }
    for name in command.env.keys() {
        let own = ["PATH", "HOME", "LANG", "TMPDIR"].contains(&name.as_str());
        let proxy = name.to_ascii_uppercase().ends_with("_PROXY");
        if name.is_empty() || name.contains(['=', '\0']) || own || proxy {
            let message = format!("cannot set `{name}`");
            return Err(Fault::new("command.env", message));
        }
    }
    Ok(command)
}

fn check_pointer(place: &str, pointer: &str, schema: &Value) -> Result<(), Fault> {
    let first = pointer.strip_prefix('/').and_then(|rest| rest.split('/').next());
    let first = first.map(pointer::unescape);
    match first {
        Some(key) => declared(place, &key, schema),
        None => {
            let message = format!("`{pointer}` is no JSON Pointer; it starts with `/`");
            Err(Fault::new(place, message))
        }
    }
}

/// Whether `input_schema` declares an argument; the nearest is named when it does not.
pub(super) fn declared(place: &str, key: &str, schema: &Value) -> Result<(), Fault> {
    let properties = schema.get("properties").and_then(Value::as_object);
    if properties.is_some_and(|all| all.contains_key(key)) {
        return Ok(());
    }
    let names = properties.into_iter().flatten().map(|(name, _)| name.as_str());
    let hint = match nearest(key, names).first() {
        Some(best) => format!("; did you mean `{best}`?"),
        None => String::new(),
    };
    let message = format!("names `{key}`, which `input_schema` does not declare{hint}");
    Err(Fault::new(place, message))
}

fn check_aliases(aliases: &BTreeMap<String, String>, schema: &Value) -> Result<(), Fault> {
    for (alias, name) in aliases {
        let place = format!("aliases.{alias}");
        declared(&place, name, schema)?;
        if declared(&place, alias, schema).is_ok() {
            let message = format!("`{alias}` is itself an argument, so it can stand for no other");
            return Err(Fault::new(place, message));
        }
    }
    Ok(())
}
