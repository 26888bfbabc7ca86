//! Tests of the catalog: documents and folders as text in, tools, requests and problems out.

mod bodies;
mod cache;
mod documents;
mod drafts;
mod filters;
mod folder;
mod keys;
mod kinds;
mod lines;
mod linter;
mod manner;
mod meant;
mod names;
mod narrow;
mod policies;
mod remote;
mod requests;
mod schemas;
mod search;
mod secrets;
mod slips;
mod summary;
mod swagger;
mod unions;
mod values;

use serde_json::{Value, json};

use super::http::HttpRequest;
use super::openapi::{self, Found, ImportReport, Origin, Settings};

/// Reads a document given as text, at a server that is set.
fn read(text: &str) -> (Vec<Found>, ImportReport) {
    let mut settings = Settings::default();
    settings.servers.server = Some("https://api.example/v1".to_owned());
    read_with(text, &settings)
}

fn read_with(text: &str, settings: &Settings) -> (Vec<Found>, ImportReport) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("document.yaml");
    std::fs::write(&path, text).unwrap();
    let read = openapi::read(&Origin::File(path), settings);
    (read.found, read.report)
}

/// A document with one operation, given its method, path and YAML lines.
fn one(version: &str, head: &str, operation: &str) -> String {
    let (method, path) = head.split_once(' ').unwrap();
    let body: String = operation.lines().map(|line| format!("      {line}\n")).collect();
    format!(
        "openapi: {version}\ninfo: {{title: T, version: '1'}}\npaths:\n  {path}:\n    {}:\n      \
         operationId: op\n{body}",
        method.to_lowercase()
    )
}

/// A document whose one operation takes `schema` as JSON, given it and the named schemas as YAML.
fn posting(version: &str, schema: &str, named: &str) -> String {
    let operation = format!(
        "summary: Adds one thing\nrequestBody: {{required: true, content: {{application/json: {{schema: {schema}}}}}}}"
    );
    format!("{}components:\n  schemas:\n{named}", one(version, "POST /x", &operation))
}

fn only(text: &str) -> Found {
    let (mut found, report) = read(text);
    assert_eq!(found.len(), 1, "{report:#?}");
    found.remove(0)
}

/// The request of a single-operation document for these arguments.
fn send(text: &str, arguments: &Value) -> HttpRequest {
    only(text).draft.target.request(arguments, &[]).unwrap()
}

fn refuse(text: &str, arguments: &Value) -> String {
    let error = only(text).draft.target.request(arguments, &[]).unwrap_err();
    error.to_string()
}

/// The body's text.
fn body(request: &HttpRequest) -> String {
    use base64::Engine;
    let text = request.body_base64.as_ref().expect("a body");
    let bytes = base64::engine::general_purpose::STANDARD.decode(text).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn header<'r>(request: &'r HttpRequest, name: &str) -> Option<&'r str> {
    let found = request.headers.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value.as_str())
}

/// The schema of argument `x`, given as a YAML flow map, after import as a query parameter.
fn argument(version: &str, schema: &str) -> (Value, Vec<String>) {
    let text =
        one(version, "GET /x", &format!("parameters: [{{name: x, in: query, schema: {schema}}}]"));
    let (found, report) = read(&text);
    let schema = found[0].draft.input_schema["properties"]["x"].clone();
    let notes = report.imported[0].adapted.iter();
    (
        schema,
        notes
            .filter(|note| !note.message.contains("neither summary"))
            .map(|note| format!("{}: {}", note.place, note.message))
            .collect(),
    )
}

#[test]
fn helper_reads_one_operation() {
    let found = only(&one("3.0.3", "GET /x", "summary: Lists things"));
    assert_eq!(found.name, "op");
    assert_eq!(
        found.draft.input_schema,
        json!({"type": "object", "properties": {}, "additionalProperties": false})
    );
}
