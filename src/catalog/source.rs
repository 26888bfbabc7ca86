//! OpenAPI sources: one TOML file that names a document and says how its operations are to be run.
//! The file's text in, tools out, each with what the file says about it.

mod stored;

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::Path;

use serde::Deserialize;

use super::build::Tooling;
use super::cache::Cache;
use super::file::{Fault, join_inside, locate, nearest, parse_toml};
use super::http::is_safe;
use super::http::manner::{self, PagesFile, RetryFile};
use super::openapi::{
    self, Allowed, Filter, Found, ImportReport, Origin, Read, ServerSettings, Settings,
};
use super::units::{Size, Span};
use super::{Files, Repair, Risk, SummaryField, Target};
use crate::admission::Limit;

/// Longest prefix that leaves room for a name.
const MAX_PREFIX: usize = 24;

/// A source as it stands in its file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceFile {
    /// Path of the document, inside the policies folder, or its URL (HTTPS).
    document: String,
    /// Hosts, or `host:port`, that references may be fetched from, once at each load; default none.
    /// HTTPS only, and HTTP for loopback addresses and `localhost`.
    #[serde(default)]
    references: Vec<String>,
    profile: String,
    /// Base URL, instead of the document's own servers.
    server: Option<String>,
    /// URL the document is published at; its relative servers are relative to it.
    location: Option<String>,
    #[serde(default)]
    variables: BTreeMap<String, String>,
    #[serde(default)]
    prefix: String,
    #[serde(default)]
    include: Filter,
    #[serde(default)]
    exclude: Filter,
    /// Most operations that may become tools; default 20,000.
    max_operations: Option<usize>,
    /// Most bytes of schemas that one tool's arguments refer to; what lies beyond takes any value.
    /// Default 256 KiB, and 8 KiB in a document of more than 2,000 operations.
    max_schema: Option<Size>,
    /// Offers the keys of the document's security schemes as arguments. Off: they are the operator's,
    /// who binds them as secrets of the profile.
    #[serde(default)]
    keys_as_arguments: bool,
    /// Checks answers against the document's response schemas. Off, as many documents are wrong.
    #[serde(default)]
    check_output: bool,
    /// For every operation; otherwise the method decides.
    risk: Option<Risk>,
    /// For operations that only read.
    cache_ttl: Option<Span>,
    repair: Option<Repair>,
    /// For operations that are idempotent, and all where it names a `key_header`.
    retry: Option<RetryFile>,
    /// Calls per second, over all callers.
    calls_per_second: Option<NonZeroU32>,
    /// Calls in flight, over all callers.
    calls_in_flight: Option<NonZeroU32>,
    /// By operation id, or `METHOD /path`.
    #[serde(default)]
    operations: BTreeMap<String, Particulars>,
}

/// What a source says about one operation.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Particulars {
    description: Option<String>,
    profile: Option<String>,
    risk: Option<Risk>,
    idempotent: Option<bool>,
    cache_ttl: Option<Span>,
    repair: Option<Repair>,
    summary_fields: Vec<SummaryField>,
    retry: Option<RetryFile>,
    pages: Option<PagesFile>,
    aliases: BTreeMap<String, String>,
    /// Calls per second, over all callers.
    calls_per_second: Option<NonZeroU32>,
    /// Calls in flight, over all callers.
    calls_in_flight: Option<NonZeroU32>,
}

/// What a source gives.
pub(super) struct Parsed {
    pub(super) tools: Vec<Tooling>,
    pub(super) report: ImportReport,
    /// Its document, relative to the policies folder; `None` for a URL.
    pub(super) document: Option<String>,
}

/// Reads a source and its document; `cached` has the cache, and the name of the source in it.
pub(super) fn parse(
    root: &Path,
    text: &str,
    cached: Option<(&Cache, &str)>,
) -> Result<Parsed, Fault> {
    let mut file: SourceFile = parse_toml(text)?;
    let legal = |b: u8| b.is_ascii_alphanumeric() || b"_-.".contains(&b);
    if file.prefix.len() > MAX_PREFIX || !file.prefix.bytes().all(legal) {
        let message = format!("must be at most {MAX_PREFIX} characters of `A-Z a-z 0-9 _ . -`");
        return Err(Fault::new("prefix", message));
    }
    let origin = match Origin::url(&file.document) {
        Some(url) => Origin::Url(url.map_err(|why| Fault::new("document", why))?),
        None => Origin::File(
            locate(root, &file.document).map_err(|fault| Fault::new("document", fault.message))?,
        ),
    };
    let settings = Settings {
        servers: ServerSettings {
            server: file.server.take(),
            location: file.location.take().or_else(|| match &origin {
                Origin::Url(url) => Some(url.to_string()),
                Origin::File(_) => None,
            }),
            variables: std::mem::take(&mut file.variables),
            none_yet: false,
        },
        prefix: std::mem::take(&mut file.prefix),
        include: std::mem::take(&mut file.include),
        exclude: std::mem::take(&mut file.exclude),
        responses: file.check_output,
        keys: file.keys_as_arguments,
        references: Allowed::parse(&file.references)
            .map_err(|why| Fault::new("references", why))?,
        max_operations: file.max_operations,
        max_schema: file.max_schema.map(|size| usize::try_from(size.0).unwrap_or(usize::MAX)),
    };
    let (found, report) = read(&origin, &settings, text, cached);
    let document = match &origin {
        Origin::File(_) => join_inside(Path::new(""), &file.document),
        Origin::Url(_) => None,
    };
    let document = document.map(|path| path.display().to_string());
    if let Some(error) = &report.error {
        let message = format!("`{}` {}", file.document, error.message);
        return Err(Fault { file: document, ..Fault::new(error.place.clone(), message) });
    }
    let mut own = std::mem::take(&mut file.operations);
    if let Some(key) = own.keys().find(|key| !names_one(&report, key)) {
        let known = report.imported.iter().map(|one| one.operation.as_str());
        let hint = match nearest(key, known).first() {
            Some(best) => format!("; did you mean `{best}`?"),
            None => String::new(),
        };
        let message = format!("is no operation of the document{hint}");
        return Err(Fault::new(format!("operations.{key}"), message));
    }
    let tools = found
        .into_iter()
        .map(|one| {
            let particulars = own.remove(&one.operation).unwrap_or_default();
            tool(&file, one, particulars)
        })
        .collect::<Result<Vec<_>, Fault>>()?;
    Ok(Parsed { tools, report, document })
}

/// What the document gives, from the cache when nothing of it has changed.
fn read(
    origin: &Origin,
    settings: &Settings,
    text: &str,
    cached: Option<(&Cache, &str)>,
) -> (Vec<Found>, ImportReport) {
    let whole = |read: Read| (read.found, read.report);
    let (Origin::File(path), Some((cache, stem))) = (origin, cached) else {
        return whole(openapi::read(origin, settings));
    };
    let name = format!("openapi.{stem}");
    let key = format!("{}\n{text}", path.display());
    if let Some(bytes) = cache.recall(&name, &key)
        && let Some(known) = stored::read(&bytes, path)
    {
        return known;
    }
    let read = openapi::read(origin, settings);
    if let (Some(inputs), None) = (&read.inputs, &read.report.error)
        && let Some(bytes) = stored::write(&read.found, &read.report, inputs)
    {
        cache.keep(&name, &key, &bytes);
    }
    whole(read)
}

/// Operations that were skipped may be named too: the file then works again when they do.
fn names_one(report: &ImportReport, key: &str) -> bool {
    report.imported.iter().any(|one| one.operation == key)
        || report.skipped.iter().any(|one| one.operation == key)
}

fn tool(file: &SourceFile, found: Found, own: Particulars) -> Result<Tooling, Fault> {
    let mut draft = found.draft;
    let method = draft.target.method.as_str();
    let reads = is_safe(method);
    let usual = match method {
        "DELETE" => Risk::Destructive,
        _ if reads => Risk::Read,
        _ => Risk::Write,
    };
    let idempotent = reads || matches!(method, "PUT" | "DELETE");
    let idempotent = own.idempotent.unwrap_or(idempotent);
    let retry = own.retry.as_ref().or(file.retry.as_ref());
    let manner = manner::build(retry, own.pages.as_ref(), (method, idempotent));
    let place = |fault: Fault| format!("operations.{}.{}", found.operation, fault.place);
    let manner = manner.map_err(|fault| Fault::new(place(fault.clone()), fault.message))?;
    let cache = own.cache_ttl.or(if reads { file.cache_ttl } else { None });
    draft.target.manner = Box::new(manner);
    Ok(Tooling {
        name: found.name,
        description: own.description.unwrap_or(draft.description),
        input_schema: draft.input_schema,
        output_schema: draft.output_schema,
        target: Target::Http(draft.target),
        body: draft.digest,
        files: Files::default(),
        profile: own.profile.unwrap_or_else(|| file.profile.clone()),
        operation: Some(found.operation),
        risk: own.risk.or(file.risk).unwrap_or(usual),
        idempotent,
        cache_ttl: cache.map(|span| span.0),
        repair: own.repair.or(file.repair).unwrap_or(Repair::Safe),
        aliases: own.aliases,
        summary_fields: own.summary_fields,
        rate: Limit {
            per_second: own.calls_per_second.or(file.calls_per_second).map(NonZeroU32::get),
            in_flight: own.calls_in_flight.or(file.calls_in_flight).map(NonZeroU32::get),
        },
    })
}
