//! From what a file says to a finished [`Tool`]: finds the profile, checks that the two fit, and
//! computes the digest that names this very definition.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::digest::{digest, of_all};
use super::file::Fault;
use super::{Files, Plans, Profile, Repair, Risk, SummaryField, Target, Tier, Tool, files};
use crate::admission::Limit;

/// Everything a file says about one tool; the profile is only named.
#[derive(Debug)]
pub(super) struct Tooling {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) input_schema: Value,
    pub(super) output_schema: Option<Value>,
    pub(super) target: Target,
    /// What [`body`] gives, where it is known already; empty otherwise.
    pub(super) body: String,
    pub(super) files: Files,
    pub(super) profile: String,
    pub(super) operation: Option<String>,
    pub(super) risk: Risk,
    pub(super) idempotent: bool,
    pub(super) cache_ttl: Option<Duration>,
    pub(super) repair: Repair,
    pub(super) aliases: BTreeMap<String, String>,
    pub(super) summary_fields: Vec<SummaryField>,
    pub(super) rate: Limit,
}

/// Makes the tool. `image` is the id of the profile's image; empty when it is not built.
pub(super) fn finish(
    tooling: Tooling,
    source: &str,
    profile: &Arc<Profile>,
    image: &str,
) -> Result<Tool, Fault> {
    if profile.tier == Tier::Worker && matches!(tooling.target, Target::Command(_)) {
        let message = format!(
            "`{}` has the tier `worker`, which runs our own code only; a command needs `call`",
            profile.name
        );
        return Err(Fault::new("profile", message));
    }
    files::check(&tooling.files, &tooling.target, profile)?;
    let known = match tooling.body.is_empty() {
        true => body(&tooling.input_schema, tooling.output_schema.as_ref(), &json!(tooling.target)),
        false => tooling.body,
    };
    let mut tool = Tool {
        name: tooling.name,
        description: tooling.description,
        input_schema: tooling.input_schema,
        output_schema: tooling.output_schema,
        target: tooling.target,
        files: tooling.files,
        profile: Arc::clone(profile),
        source: source.to_owned(),
        operation: tooling.operation,
        risk: tooling.risk,
        idempotent: tooling.idempotent,
        cache_ttl: tooling.cache_ttl,
        repair: tooling.repair,
        aliases: tooling.aliases,
        summary_fields: tooling.summary_fields,
        rate: tooling.rate,
        digest: String::new(),
        plans: Plans::default(),
    };
    tool.digest = digest(&definition(&tool, &known, image));
    Ok(tool)
}

/// The digest of the large parts of a definition, which do not depend on where it runs.
pub(super) fn body(input: &Value, output: Option<&Value>, target: &Value) -> String {
    of_all(&[input, output.unwrap_or(&Value::Null), target])
}

/// The whole definition as one value, its large parts by their digest.
fn definition(tool: &Tool, body: &str, image: &str) -> Value {
    json!({
        "name": tool.name,
        "description": tool.description,
        "body": body,
        "files": tool.files,
        "profile": *tool.profile,
        "image": image,
        "source": tool.source,
        "operation": tool.operation,
        "risk": tool.risk,
        "idempotent": tool.idempotent,
        "cache_ttl": tool.cache_ttl,
        "repair": tool.repair,
        "aliases": tool.aliases,
        "summary_fields": tool.summary_fields,
        "rate": tool.rate,
    })
}
