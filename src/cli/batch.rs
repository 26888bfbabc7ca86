//! `switchboard batch`: several calls of which some use the results of others, from a file; the reply
//! to each as one line of JSON.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use serde::Deserialize;
use serde_json::{Value, json};
use tonic::Request;

use super::client::{self, Where, told};
use super::{Failed, print};
use crate::proto::tools::call_batch_request::{Entry, OnFailure};
use crate::proto::tools::{CallBatchRequest, CallRequest, reply};

#[derive(Debug, Args)]
pub(super) struct Options {
    /// A file, or `-` for standard input, with `{"calls": [{"name", "tool", "arguments"}]}`. A call may
    /// also have `conversation`, `idempotency_key`, `approval` and `wait`. Anywhere in its arguments
    /// `{"$ref": "NAME#/json/pointer"}` stands for a place in the result of another call.
    file: String,
    /// Begins nothing more after a call failed.
    #[arg(long)]
    stop: bool,
    /// Gives up after this time, for example 2s.
    #[arg(long, value_parser = crate::config::duration::parse)]
    timeout: Option<Duration>,
    #[command(flatten)]
    at: Where,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    calls: Vec<Call>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    name: String,
    tool: String,
    arguments: Option<Value>,
    #[serde(default)]
    conversation: String,
    #[serde(default)]
    idempotency_key: String,
    #[serde(default)]
    approval: String,
    #[serde(default)]
    wait: bool,
}

pub(super) async fn run(options: Options) -> Result<ExitCode, Failed> {
    let given = if options.file == "-" { "-".to_owned() } else { format!("@{}", options.file) };
    let text = client::arguments(&given)?;
    let file: File = serde_json::from_str(&text)
        .map_err(|error| Failed::usage(format!("`{}` is no batch: {error}", options.file)))?;
    let on_failure = if options.stop { OnFailure::Stop } else { OnFailure::Continue };
    let calls = file.calls.into_iter().map(entry).collect();
    let mut request = Request::new(CallBatchRequest { calls, on_failure: on_failure.into() });
    if let Some(timeout) = options.timeout {
        request.set_timeout(timeout);
    }
    let answer = options.at.tools().await?.call_batch(request).await;
    let answer = answer.map_err(|status| told(&status))?.into_inner();
    let mut success = true;
    for result in &answer.results {
        let reply = result.reply.as_ref();
        success &= reply.is_some_and(|reply| reply.status() == reply::Status::Success);
        let line = reply.map_or("null", |reply| &reply.json);
        // The reply byte for byte as the daemon sent it.
        print::text(&format!(r#"{{"name":{},"reply":{line}}}"#, json!(result.name)))?;
    }
    print::json(&json!({ "batch_id": answer.batch_id, "refused": answer.refused }))?;
    Ok(if success { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn entry(call: Call) -> Entry {
    Entry {
        name: call.name,
        call: Some(CallRequest {
            tool_name: call.tool,
            arguments_json: call.arguments.map(|value| value.to_string()).unwrap_or_default(),
            conversation_id: call.conversation,
            idempotency_key: call.idempotency_key,
            approval_id: call.approval,
            wait_for_approval: call.wait,
            ..Default::default()
        }),
    }
}
