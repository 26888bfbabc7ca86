//! The facts of an audit in, a page of Markdown out. Text from files is quoted, so that it can form
//! neither a table nor a heading of its own.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;

use crate::policy::{Audit, Permission, Row};

/// Appends one line. Writing to a String cannot fail.
macro_rules! put {
    ($out:expr, $($text:tt)*) => { writeln!($out, $($text)*).unwrap_or_default() };
}

pub(super) fn page(audit: &Audit) -> String {
    let mut out = String::new();
    put!(out, "# Policy report\n");
    put!(out, "| what | digest |\n| --- | --- |");
    put!(out, "| policies | {} |", code(&audit.policy_version));
    put!(out, "| catalog | {} |", code(&audit.catalog_digest));
    put!(out, "\n## Findings\n");
    if audit.findings.is_empty() {
        put!(out, "None.");
    } else {
        put!(out, "| severity | where | check | what |\n| --- | --- | --- | --- |");
    }
    for found in &audit.findings {
        let (severity, place) = (word(found.severity), code(&found.location()));
        put!(out, "| {severity} | {place} | {} | {} |", found.rule, plain(&found.sentence()));
    }
    put!(out, "\n## Tools\n");
    put!(out, "| tool | risk | who may call | hosts | secrets | approval |");
    put!(out, "| --- | --- | --- | --- | --- | --- |");
    for row in &audit.tools {
        let envelope = &row.envelope;
        let held = row.callers.iter().any(|reach| reach.may.contains("approval"));
        let held = if held { "yes" } else { "no" };
        put!(
            out,
            "| {} | {} | {} | {} | {} | {held} |",
            code(&row.tool),
            word(row.risk),
            plain(&reaches(row)),
            list(&envelope.hosts),
            list(&envelope.secrets)
        );
    }
    for row in &audit.tools {
        tool(&mut out, row);
    }
    put!(out, "\n## Who may approve\n");
    if audit.approvers.is_empty() {
        put!(out, "Nobody.");
    }
    for policy in &audit.approvers {
        put!(out, "- {}: {}", policy.policy.effect, permission(policy));
    }
    put!(out, "\n## Policies\n\n| policy | effect | owner | where |\n| --- | --- | --- | --- |");
    for rule in &audit.policies {
        let place = code(&format!("{}:{}", rule.file, rule.line));
        put!(out, "| {} | {} | {} | {place} |", code(&rule.id), rule.effect, plain(&rule.owner));
    }
    out
}

fn tool(out: &mut String, row: &Row) {
    put!(out, "\n### {}\n", code(&row.tool));
    let envelope = &row.envelope;
    let image = match envelope.image_digest.as_str() {
        "" => "digest not known here",
        digest => digest,
    };
    put!(out, "- source {}, definition {}", code(&row.source), code(&row.digest));
    put!(out, "- who: {}", plain(&reaches(row)));
    put!(
        out,
        "- envelope: profile {}, image {} ({}), tier {}, runtime {}, seccomp {}",
        code(&envelope.profile),
        code(&envelope.image),
        code(image),
        word(envelope.tier),
        word(envelope.runtime),
        code(&envelope.seccomp)
    );
    put!(
        out,
        "- limits: {} ms, {} bytes of memory, {} thousandths of a core, {} processes, {} bytes of \
         output, {} bytes of disk",
        envelope.wall_ms,
        envelope.memory,
        envelope.cpu_millis,
        envelope.processes,
        envelope.output,
        envelope.disk
    );
    put!(out, "- hosts: {}", list(&envelope.hosts));
    put!(out, "- secrets: {}", list(&envelope.secrets));
    for (what, policies) in [("permits", &row.permits), ("forbids", &row.forbids)] {
        for policy in policies {
            put!(out, "- {what}: {}", permission(policy));
        }
    }
}

fn permission(policy: &Permission) -> String {
    let rule = &policy.policy;
    let mut text = format!("{} of {}", code(&rule.id), plain(&rule.owner));
    if policy.principal != "principal" {
        // Writing to a String cannot fail.
        write!(text, ", for {}", code(&policy.principal)).unwrap_or_default();
    }
    for (index, condition) in policy.conditions.iter().enumerate() {
        let word = if index == 0 { "when" } else { "and" };
        write!(text, " {word} {}", code(condition)).unwrap_or_default();
    }
    text
}

fn reaches(row: &Row) -> String {
    let callers = row.callers.iter().map(|reach| format!("{}: {}", reach.who, reach.may));
    callers.collect::<Vec<_>>().join("; ")
}

fn list(items: &[String]) -> String {
    match items {
        [] => "none".to_owned(),
        items => items.iter().map(|item| code(item)).collect::<Vec<_>>().join(", "),
    }
}

/// A word of one of our own enumerations.
fn word(value: impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        _ => String::new(),
    }
}

/// As code, in one line; a vertical line would end the cell of a table.
fn code(text: &str) -> String {
    let one: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let fence = if one.contains('`') { "``" } else { "`" };
    format!("{fence}{}{fence}", one.replace('|', "\\|"))
}

/// As text, in which nothing is markup.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            out.push(' ');
        } else {
            if "\\|<>*_[]#&".contains(c) {
                out.push('\\');
            }
            out.push(c);
        }
    }
    out
}
