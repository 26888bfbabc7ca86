//! What the room promises, checked through its public verbs on small schemas.

mod canon;
mod cut;
mod notation;
mod partial;
mod reader;
mod repair;
mod sturdy;
mod violation;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Arguments, Error, Schemas, Violation};
use crate::catalog::{
    Command, Limits, Pool, Profile, Repair, Risk, Runtime, Seccomp, Stdin, Target, Tier, Tool,
};

/// A tool with this input schema.
pub(crate) fn tool(schema: Value) -> Tool {
    let profile = Profile {
        name: "plain".to_owned(),
        image: "shell".to_owned(),
        tier: Tier::Call,
        runtime: Runtime::Runc,
        seccomp: Arc::new(Seccomp::built_in()),
        accept_unread: Vec::new(),
        limits: Limits {
            wall: Duration::from_secs(3),
            memory: 512 << 20,
            cpu_millis: 1000,
            processes: 64,
            output: 1 << 20,
            disk: 64 << 20,
            inodes: 4096,
            open_files: 256,
        },
        egress: None,
        egress_limits: Default::default(),
        secrets: Vec::new(),
        pool: Pool { min: 1, max: 8 },
    };
    Tool {
        name: "probe".to_owned(),
        description: "checks".to_owned(),
        digest: super::digest(&schema.to_string()),
        input_schema: schema,
        output_schema: None,
        operation: None,
        target: Target::Command(Command {
            argv: vec!["true".to_owned()],
            stdin: Stdin::Json,
            env: BTreeMap::new(),
            json_output: false,
        }),
        files: crate::catalog::Files::default(),
        profile: Arc::new(profile),
        source: "tests".to_owned(),
        risk: Risk::Read,
        idempotent: true,
        cache_ttl: None,
        repair: Repair::Safe,
        aliases: BTreeMap::new(),
        summary_fields: Vec::new(),
        rate: crate::admission::Limit::default(),
        plans: crate::catalog::Plans::default(),
    }
}

fn check_tool(tool: Tool, arguments: &str) -> Result<Arguments, Error> {
    let tool = Arc::new(tool);
    let (schemas, problems) = Schemas::compile(&[Arc::clone(&tool)]);
    assert_eq!(problems, []);
    schemas.check_text(&tool, arguments)
}

fn check(schema: Value, arguments: &str) -> Result<Arguments, Error> {
    check_tool(tool(schema), arguments)
}

/// Whether a value fits a schema as it stands, without any repair.
pub(crate) fn fits(schema: &Value, value: &Value) -> bool {
    let tool = Tool { repair: Repair::Off, ..tool(schema.clone()) };
    check_tool(tool, &value.to_string()).is_ok()
}

/// A schema with the one property `v`.
#[expect(clippy::needless_pass_by_value, reason = "reads better at the many places of use")]
fn one(schema: Value) -> Value {
    json!({"type": "object", "properties": {"v": schema}})
}

/// Arguments as JSON text, or the kinds of the violations.
fn outcome(schema: Value, arguments: &str) -> String {
    match check(schema, arguments) {
        Ok(done) => done.value.to_string(),
        Err(error) => format!("refused: {}", kinds(&error).join(" ")),
    }
}

fn violations(error: &Error) -> Vec<Violation> {
    let details = error.failure().details;
    serde_json::from_value(details["violations"].clone()).unwrap()
}

fn kinds(error: &Error) -> Vec<String> {
    violations(error).into_iter().map(|one| one.kind).collect()
}

fn message(schema: Value, arguments: &str) -> String {
    check(schema, arguments).unwrap_err().failure().message
}
