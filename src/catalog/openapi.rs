//! OpenAPI 3.0 and 3.1 documents, JSON or YAML, in; one tool draft for each usable operation out,
//! and a report on every operation. One bad operation never costs another.

mod body;
mod document;
mod flatten;
mod names;
mod operation;
mod parameters;
mod refs;
mod report;
mod schema;
mod servers;
mod yaml;

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use document::Document;
use operation::Subject;
use refs::Spot;
use schema::{Converter, Direction};

#[cfg(test)]
pub(super) use names::from_id as name_of;
pub(super) use names::{MAX_NAME, is_legal};
pub(super) use operation::Draft;
pub(super) use servers::ServerSettings;

pub(super) use yaml::parse as value;

pub use report::{ImportReport, Imported, Note, Skipped};

const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

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
}

/// Which operations are meant; an empty list says nothing.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Filter {
    /// Operation ids, or `METHOD /path` for operations without one.
    operations: BTreeSet<String>,
    tags: BTreeSet<String>,
    methods: BTreeSet<String>,
}

/// An operation that became a tool.
#[derive(Debug)]
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
pub(super) fn read(path: &Path, settings: &Settings) -> (Vec<Found>, ImportReport) {
    let mut report = ImportReport::default();
    let document = match Document::open(path) {
        Ok(document) => document,
        Err(fault) => {
            report.error = Some(Note::new(fault.place, fault.message));
            return (Vec::new(), report);
        }
    };
    let root = Spot::new(0, "", document.root(0));
    let text = |value: Option<&Value>| value.map(plain).unwrap_or_default();
    report.title = text(root.value.get("info").and_then(|info| info.get("title")));
    report.openapi = text(root.value.get("openapi"));
    report.ignored = root.get("webhooks").map_or(0, |hooks| hooks.members().count());
    let candidates = gather(&document, &root, &mut report);
    report.operations = candidates.len() + report.skipped.len();
    let names = name_all(&candidates, &settings.prefix);
    let mut found = Vec::new();
    for (candidate, name) in candidates.iter().zip(names) {
        let callbacks = candidate.operation.get("callbacks");
        report.ignored += callbacks.map_or(0, |all| all.members().count());
        if !wanted(candidate, settings) {
            report.excluded += 1;
            continue;
        }
        match make(&document, &root, candidate, settings) {
            Ok(mut draft) => {
                report.imported.push(Imported {
                    tool: name.clone(),
                    operation: candidate.label(),
                    method: candidate.method.clone(),
                    path: candidate.path.to_owned(),
                    adapted: std::mem::take(&mut draft.notes),
                });
                found.push(Found { name, operation: candidate.label(), draft });
            }
            Err(reason) => report.skipped.push(Skipped {
                operation: candidate.label(),
                place: reason.place,
                reason: reason.message,
            }),
        }
    }
    (found, report)
}

fn make<'a>(
    document: &'a Document,
    root: &Spot<'a>,
    candidate: &Candidate<'a>,
    settings: &Settings,
) -> Result<Draft, Note> {
    let mut converter = Converter::new(document, Direction::Request);
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
        for method in METHODS {
            let Some(operation) = item.get(method) else {
                continue;
            };
            let method = method.to_ascii_uppercase();
            match document.follow_refs(operation) {
                Ok(operation) => candidates.push(Candidate {
                    id: operation.text("operationId").filter(|id| !id.is_empty()),
                    item: item.clone(),
                    operation,
                    method,
                    path,
                }),
                Err(reason) => skip(format!("{method} {path}"), reason),
            }
        }
    }
    candidates
}

/// The name of each operation, in the same order.
fn name_all(candidates: &[Candidate<'_>], prefix: &str) -> Vec<String> {
    let mut uses: HashMap<&str, usize> = HashMap::new();
    for id in candidates.iter().filter_map(|candidate| candidate.id) {
        *uses.entry(id).or_default() += 1;
    }
    let name = |candidate: &Candidate<'_>| {
        let (method, path) = (candidate.method.as_str(), candidate.path);
        match candidate.id {
            None => names::from_path(prefix, method, path),
            Some(id) if uses.get(id).is_some_and(|count| *count > 1) => {
                names::from_shared_id(prefix, id, method, path)
            }
            Some(id) => names::from_id(prefix, id),
        }
    };
    candidates.iter().map(name).collect()
}

fn wanted(candidate: &Candidate<'_>, settings: &Settings) -> bool {
    let label = candidate.label();
    let tags: Vec<&str> = candidate
        .operation
        .get("tags")
        .iter()
        .flat_map(Spot::items)
        .filter_map(|tag| tag.value.as_str())
        .collect();
    let matches = |filter: &Filter| {
        let short = format!("{} {}", candidate.method, candidate.path);
        [
            (!filter.operations.is_empty())
                .then(|| filter.operations.contains(&label) || filter.operations.contains(&short)),
            (!filter.tags.is_empty()).then(|| tags.iter().any(|tag| filter.tags.contains(*tag))),
            (!filter.methods.is_empty()).then(|| {
                let same = |method: &String| method.eq_ignore_ascii_case(&candidate.method);
                filter.methods.iter().any(same)
            }),
        ]
    };
    let included = matches(&settings.include).into_iter().flatten().all(|yes| yes);
    let excluded = matches(&settings.exclude).into_iter().flatten().any(|yes| yes);
    included && !excluded
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
