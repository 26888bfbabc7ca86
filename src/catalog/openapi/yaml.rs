//! Text of a document, JSON or YAML, in; one value without duplicate keys out. YAML is read by the
//! 1.2 core schema, and aliases cannot multiply it.

use serde_json::Value;
use serde_saphyr::Options;

use crate::catalog::file::{Fault, one_line};
use crate::catalog::node::Node;

/// Most nodes, written out or repeated by aliases, that one YAML document may have.
const MAX_NODES: usize = 4_000_000;

/// Reads a document: JSON when it starts like JSON, YAML otherwise.
pub(in crate::catalog) fn parse(text: &str) -> Result<Value, Fault> {
    let start = text.trim_start();
    if start.is_empty() {
        return Err(Fault::new("", "is empty; an OpenAPI document is expected"));
    }
    if start.starts_with(['{', '[']) {
        match serde_json::from_str::<Node>(text) {
            Ok(Node(value)) => return Ok(value),
            // Flow style YAML starts the same way.
            Err(error) => {
                return parse_yaml(text).map_err(|_not_yaml_either| {
                    let place = format!("line {}", error.line());
                    Fault::new(place, format!("is not JSON: {}", one_line(&error.to_string())))
                });
            }
        }
    }
    parse_yaml(text)
}

fn parse_yaml(text: &str) -> Result<Value, Fault> {
    match serde_saphyr::from_str_with_options::<Node>(text, options()) {
        Ok(Node(value)) => Ok(value),
        Err(error) => {
            let place =
                error.location().map_or_else(String::new, |at| format!("line {}", at.line()));
            let message = format!("is not YAML: {}", one_line(&error.to_string()));
            Err(Fault::new(place, message))
        }
    }
}

fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: 2 * MAX_NODES,
            max_nodes: MAX_NODES,
            max_depth: 128,
            // One anchor used often is usual; the total below is what protects.
            enforce_alias_anchor_ratio: false,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: MAX_NODES,
        },
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
        with_snippet: false,
    }
}
