//! Findings of the linter in, a log in the Static Analysis Results Interchange Format 2.1.0 out, which
//! code hosts and editors show at the lines it names.
//!
//! Written by hand: a log is one JSON object of a dozen keys, and the crates for it are larger than that.

use std::path::Path;

use serde_json::{Value, json};

use super::lint::{Row, UNUSABLE, place, what};
use crate::call::digest_of;
use crate::catalog::{Level, RULES, Rule};

/// The schema of the format, at its maker's.
const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
/// Stands for the policies folder in the places of results.
const BASE: &str = "POLICIES";

/// Of what could not be loaded.
const BROKEN: Rule = Rule {
    id: UNUSABLE,
    level: Level::Error,
    about: "Something in the policies folder cannot be used",
    mend: "the message says what is wrong and how to mend it",
    source: "https://spec.openapis.org/oas/latest.html",
};

/// The page that a rule comes from.
pub(super) fn source(rule: &str) -> &'static str {
    rules().find(|known| known.id == rule).map_or("", |known| known.source)
}

fn rules() -> impl Iterator<Item = &'static Rule> {
    RULES.iter().chain(std::iter::once(&BROKEN))
}

/// One run of the linter.
pub(super) fn log(folder: &Path, rows: &[Row]) -> Value {
    let mut run = json!({
        "tool": { "driver": {
            "name": "switchboard",
            "version": env!("CARGO_PKG_VERSION"),
            "semanticVersion": env!("CARGO_PKG_VERSION"),
            "rules": rules().map(describe).collect::<Vec<_>>(),
        } },
        "columnKind": "unicodeCodePoints",
        "results": rows.iter().map(result).collect::<Vec<_>>(),
    });
    let base =
        folder.canonicalize().ok().and_then(|folder| url::Url::from_directory_path(folder).ok());
    if let (Some(base), Some(run)) = (base, run.as_object_mut()) {
        run.insert("originalUriBaseIds".to_owned(), json!({ BASE: { "uri": base.as_str() } }));
    }
    json!({ "$schema": SCHEMA, "version": "2.1.0", "runs": [run] })
}

fn describe(rule: &Rule) -> Value {
    json!({
        "id": rule.id,
        "shortDescription": { "text": format!("{}.", rule.about) },
        "help": { "text": format!("To mend it, {}. See {}", rule.mend, rule.source) },
        "helpUri": rule.source,
        "defaultConfiguration": { "level": rule.level.as_str() },
    })
}

fn result(row: &Row) -> Value {
    let full = match row.operation.is_empty() {
        true => row.name.clone(),
        false => format!("{}#{}", row.name, row.operation),
    };
    let logical = json!({
        "name": row.name,
        "fullyQualifiedName": format!("{full}{}", row.pointer),
        "kind": if row.pointer.is_empty() { "function" } else { "parameter" },
    });
    // A place without a line is the whole file, which begins at its first.
    let line = row.line.unwrap_or(1);
    let mut location = json!({ "physicalLocation": {
        "artifactLocation": { "uri": uri(&row.file), "uriBaseId": BASE },
        "region": { "startLine": line },
    } });
    if let Some(location) = location.as_object_mut().filter(|_| !row.name.is_empty()) {
        location.insert("logicalLocations".to_owned(), json!([logical]));
    }
    // Of what stays the same when lines move or a number in the message changes.
    // Rules that may find several things in one place are told apart by their words.
    let several = ["confusable", "secret", UNUSABLE].contains(&row.rule);
    let words = if several { row.message.as_str() } else { "" };
    let print = digest_of([row.rule, &row.file, &row.name, &row.operation, &row.pointer, words]);
    json!({
        "ruleId": row.rule,
        "ruleIndex": rules().position(|rule| rule.id == row.rule),
        "level": row.level.as_str(),
        "message": { "text": format!("{}: {}.", place(row), what(row)) },
        "locations": [location],
        "partialFingerprints": { "finding/v1": hex::encode(print) },
    })
}

/// A relative path as a URI reference.
fn uri(file: &str) -> String {
    let parts = file.split('/').map(|part| {
        percent_encoding::utf8_percent_encode(part, percent_encoding::NON_ALPHANUMERIC)
            .to_string()
            .replace("%2E", ".")
            .replace("%2D", "-")
            .replace("%5F", "_")
    });
    parts.collect::<Vec<_>>().join("/")
}
