//! OpenAPI 3.0 and 3.1 and Swagger 2.0 documents, JSON or YAML, in; one tool draft for each usable
//! operation out, and a report on every operation. One bad operation never costs another.

mod anchors;
mod body;
mod document;
mod extensions;
mod filter;
mod flatten;
mod lines;
mod names;
mod nesting;
mod operation;
mod parameters;
mod placeholders;
mod refs;
mod remote;
mod report;
mod resources;
mod schema;
mod security;
mod servers;
mod slips;
mod swagger;
mod yaml;

use std::collections::HashMap;
use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::build;

use document::{Document, Version};
use operation::Subject;
use refs::Spot;
use schema::{Converter, Direction};

pub(super) use document::{Input, Origin};
pub(super) use filter::Filter;
#[cfg(test)]
pub(super) use names::from_id as name_of;
pub(super) use names::{MAX_NAME, is_legal};
pub(super) use operation::Draft;
pub(super) use remote::Allowed;
pub(super) use servers::ServerSettings;

pub(super) use yaml::parse as value;

pub use lines::Lines;
pub use report::{ImportReport, Imported, Note, Skipped};

const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

/// Most operations that one document makes tools of, unless its source says otherwise.
const MAX_OPERATIONS: usize = 20_000;
/// Most bytes of referenced schemas in one tool, unless its source says otherwise; in documents of
/// more than `MANY` operations it is `SMALL_SCHEMA`, so that thousands of tools fit into memory.
const LARGE_SCHEMA: usize = 256 << 10;
const SMALL_SCHEMA: usize = 8 << 10;
const MANY: usize = 2_000;
/// Operations for which another thread is worth its start.
const SHARE: usize = 64;

/// How a source wants its document read.
#[derive(Debug, Clone, Default)]
pub(super) struct Settings {
    pub(super) servers: ServerSettings,
    /// Put before every tool's name.
    pub(super) prefix: String,
    pub(super) include: Filter,
    pub(super) exclude: Filter,
    /// Also takes the schemas of good answers over as output schemas.
    pub(super) responses: bool,
    pub(super) max_operations: Option<usize>,
    /// In bytes of JSON text.
    pub(super) max_schema: Option<usize>,
    /// Hosts that other files may be fetched from.
    pub(super) references: Allowed,
    /// Offers the keys of security schemes as arguments too.
    pub(super) keys: bool,
}

/// What came of a document.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) found: Vec<Found>,
    pub(super) report: ImportReport,
    /// The files that this came from; `None` when they are not all at hand to look at again.
    pub(super) inputs: Option<Vec<Input>>,
}

/// An operation that became a tool.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Found {
    pub(super) name: String,
    /// The operation's id, or its method and path.
    pub(super) operation: String,
    pub(super) draft: Draft,
}

/// One operation of a document, before it is looked at.
struct Candidate<'a> {
    item: Spot<'a>,
    operation: Spot<'a>,
    id: Option<&'a str>,
    method: String,
    path: &'a str,
    /// Other operations have the same id.
    shared: bool,
    /// The document does not write the method in lower case.
    odd: bool,
}

impl Candidate<'_> {
    fn label(&self) -> String {
        match self.id {
            Some(id) => id.to_owned(),
            None => format!("{} {}", self.method, self.path),
        }
    }
}

/// Reads a document and makes a draft of each operation that is wanted and usable.
pub(super) fn read(origin: &Origin, settings: &Settings) -> Read {
    match Document::open(origin, &settings.references) {
        Ok(document) => {
            let (found, report) = read_document(&document, settings);
            let folder = match origin {
                Origin::File(path) => path.parent().and_then(|path| path.canonicalize().ok()),
                Origin::Url(_) => None,
            };
            let inputs = folder.and_then(|folder| document.inputs(&folder));
            Read { found, report, inputs }
        }
        Err(fault) => {
            let report = ImportReport::failed(&fault.place, fault.message);
            Read { found: Vec::new(), report, inputs: None }
        }
    }
}

fn read_document(document: &Document, settings: &Settings) -> (Vec<Found>, ImportReport) {
    let mut report = ImportReport::default();
    let root = Spot::new(0, "", document.root(0));
    introduce(document, &root, &mut report);
    report.broken = document.broken();
    let candidates = gather(document, &root, &mut report);
    report.operations = candidates.len() + report.skipped.len();
    let names = name_all(&candidates, &settings.prefix);
    filter::check(settings, &candidates, &mut report);
    let mut chosen = Vec::new();
    for (candidate, name) in candidates.iter().zip(names) {
        let callbacks = candidate.operation.get("callbacks");
        report.ignored += callbacks.map_or(0, |all| all.members().count());
        if filter::wanted(candidate, settings) {
            chosen.push((candidate, name));
        } else {
            report.excluded.push(candidate.label());
        }
    }
    let most = settings.max_operations.unwrap_or(MAX_OPERATIONS);
    if chosen.len() > most {
        report.error = Some(too_many(report.operations, chosen.len(), most));
        return (Vec::new(), report);
    }
    let room = settings.max_schema.unwrap_or(match chosen.len() {
        ..=MANY => LARGE_SCHEMA,
        _ => SMALL_SCHEMA,
    });
    let made = make_all(&chosen, |candidate| make(document, &root, candidate, (settings, room)));
    let mut found = Vec::with_capacity(made.len());
    for ((candidate, name), made) in chosen.into_iter().zip(made) {
        found.extend(enter(&mut report, candidate, name, made));
    }
    report.remarks.extend(document.untold(&report));
    (found, report)
}

/// What the report says of the document before its operations are looked at.
fn introduce(document: &Document, root: &Spot<'_>, report: &mut ImportReport) {
    let text = |value: Option<&Value>| value.map(plain).unwrap_or_default();
    report.title = text(root.value.get("info").and_then(|info| info.get("title")));
    report.openapi = text(root.value.get("openapi").or_else(|| root.value.get("swagger")));
    report.ignored = root.get("webhooks").map_or(0, |hooks| hooks.members().count());
    if document.version == Version::V20 {
        let message = "is Swagger 2.0; read as OpenAPI 3.0: body and form parameters as bodies, \
                       `collectionFormat` as styles, `host`, `basePath` and `schemes` as servers";
        report.remarks.push(Note::new("#/swagger", message));
    }
}

fn too_many(all: usize, wanted: usize, most: usize) -> Note {
    let message = format!(
        "has {all} operations, of which {wanted} are wanted, and at most {most} may be; narrow it \
         with `include` and `exclude` (tags, methods, paths, operations), or raise `max_operations`"
    );
    Note::new("/paths", message)
}

/// Makes a draft of each, in order; many are shared out over the processors.
fn make_all<'c, T: Sync>(
    chosen: &[(&'c T, String)],
    make: impl Fn(&'c T) -> Result<Draft, Note> + Sync,
) -> Vec<Result<Draft, Note>> {
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get).min(8);
    if threads < 2 || chosen.len() < SHARE {
        return chosen.iter().map(|(one, _)| make(one)).collect();
    }
    let share = chosen.len().div_ceil(threads);
    std::thread::scope(|scope| {
        let parts: Vec<_> = chosen
            .chunks(share)
            .map(|part| {
                let make = &make;
                let part: Vec<&'c T> = part.iter().map(|(one, _)| *one).collect();
                (part.clone(), scope.spawn(move || part.into_iter().map(make).collect::<Vec<_>>()))
            })
            .collect();
        let ended = parts.into_iter().flat_map(|(part, thread)| {
            // A thread that panicked is tried again here, where the panic has its place.
            thread.join().unwrap_or_else(|_panic| part.into_iter().map(&make).collect())
        });
        ended.collect()
    })
}

/// Enters one operation into the report.
fn enter(
    report: &mut ImportReport,
    candidate: &Candidate<'_>,
    name: String,
    made: Result<Draft, Note>,
) -> Option<Found> {
    let operation = candidate.label();
    match made {
        Ok(mut draft) => {
            report.imported.push(Imported {
                tool: name.clone(),
                operation: operation.clone(),
                method: candidate.method.clone(),
                path: candidate.path.to_owned(),
                adapted: std::mem::take(&mut draft.notes),
                needs: draft.needs.take(),
            });
            Some(Found { name, operation, draft })
        }
        Err(Note { place, message: reason }) => {
            report.skipped.push(Skipped { operation, place, reason });
            None
        }
    }
}

fn make<'a>(
    document: &'a Document,
    root: &Spot<'a>,
    candidate: &Candidate<'a>,
    (settings, room): (&Settings, usize),
) -> Result<Draft, Note> {
    let mut converter = Converter::new(document, Direction::Request, room);
    converter.offers_keys = settings.keys;
    if candidate.shared {
        let message =
            "is the id of several operations; each tool is named by it, its method and path";
        converter.note(&candidate.operation, "operationId", message);
    }
    if candidate.odd {
        let message = "stands under a method that is not written in lower case; taken as meant";
        converter.note(&candidate.operation, "", message);
    }
    if candidate.method == "TRACE" {
        let message = "is a TRACE operation, which would send secrets back";
        return Err(converter.reason(&candidate.operation, message));
    }
    let subject = Subject {
        root,
        item: &candidate.item,
        operation: &candidate.operation,
        method: &candidate.method,
        path: candidate.path,
    };
    let mut draft = operation::draft(&mut converter, &subject, &settings.servers)?;
    if settings.responses {
        draft.output_schema = operation::output(&subject, &converter);
    }
    draft.digest = build::body(
        &draft.input_schema,
        draft.output_schema.as_ref(),
        &serde_json::json!({ "http": draft.target }),
    );
    Ok(draft)
}

/// Every operation of a document; what cannot even be reached is reported as skipped.
fn gather<'a>(
    document: &'a Document,
    root: &Spot<'a>,
    report: &mut ImportReport,
) -> Vec<Candidate<'a>> {
    let mut candidates = Vec::new();
    for (path, item) in root.get("paths").iter().flat_map(Spot::members) {
        if path.starts_with("x-") {
            continue;
        }
        let mut skip = |operation: String, reason: Note| {
            report.skipped.push(Skipped { operation, place: reason.place, reason: reason.message });
        };
        let item = match document.follow_refs(item) {
            Ok(item) => item,
            Err(reason) => {
                skip(path.to_owned(), reason);
                continue;
            }
        };
        if !item.value.is_object() && !item.value.is_null() {
            let place = document.describe(item.file, &item.pointer);
            skip(path.to_owned(), Note::new(place, "is no path item, which maps methods"));
        }
        for (key, operation) in methods(&item) {
            let method = key.to_ascii_uppercase();
            let odd = key.bytes().any(|b| b.is_ascii_uppercase());
            if odd && item.get(&key.to_ascii_lowercase()).is_some() {
                let place = document.describe(operation.file, &operation.pointer);
                let message = "stands beside the same method in lower case, which is used";
                skip(format!("{key} {path}"), Note::new(place, message));
                continue;
            }
            match document.follow_refs(operation) {
                Ok(other) if !other.value.is_object() => {
                    let place = document.describe(other.file, &other.pointer);
                    skip(format!("{method} {path}"), Note::new(place, "is not an operation"));
                }
                Ok(operation) => candidates.push(Candidate {
                    id: operation.text("operationId").filter(|id| !id.is_empty()),
                    item: item.clone(),
                    operation,
                    method,
                    path,
                    shared: false,
                    odd,
                }),
                Err(reason) => skip(format!("{method} {path}"), reason),
            }
        }
    }
    let mut uses: HashMap<&str, usize> = HashMap::new();
    for id in candidates.iter().filter_map(|candidate: &Candidate<'_>| candidate.id) {
        *uses.entry(id).or_default() += 1;
    }
    for candidate in &mut candidates {
        let count = candidate.id.and_then(|id| uses.get(id));
        candidate.shared = count.is_some_and(|count| *count > 1);
    }
    candidates
}

/// The operations of a path item, in the order of [`METHODS`].
fn methods<'a>(item: &Spot<'a>) -> Vec<(&'a str, Spot<'a>)> {
    let place = |key: &str| METHODS.iter().position(|method| key.eq_ignore_ascii_case(method));
    let known = item.members().filter(|(_, spot)| !spot.value.is_null());
    let mut found: Vec<_> = known.filter(|(key, _)| place(key).is_some()).collect();
    found.sort_by_key(|(key, _)| place(key));
    found
}

/// The name of each operation, in the same order.
fn name_all(candidates: &[Candidate<'_>], prefix: &str) -> Vec<String> {
    let name = |candidate: &Candidate<'_>| {
        let (method, path) = (candidate.method.as_str(), candidate.path);
        match candidate.id {
            None => names::from_path(prefix, method, path),
            Some(id) if candidate.shared => names::from_shared_id(prefix, id, method, path),
            Some(id) => names::from_id(prefix, id),
        }
    };
    candidates.iter().map(name).collect()
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
