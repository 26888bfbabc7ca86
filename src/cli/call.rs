//! `switchboard call`: one call, its reply as one line of JSON.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use prost::Message;
use tonic::{Code, Request, Status};
use tonic_types::pb;

use super::client::{self, Where};
use super::{Failed, print};
use crate::proto::REPLY_TYPE_URL;
use crate::proto::tools::{CallRequest, Reply, reply};

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The tool's name.
    tool: String,
    /// The arguments as JSON text, `@file`, or `-` for standard input.
    #[arg(default_value = "{}")]
    arguments: String,
    /// Groups calls for loop protection.
    #[arg(long, default_value = "")]
    conversation: String,
    /// Makes a repeat safe.
    #[arg(long, default_value = "")]
    idempotency_key: String,
    /// Gives up after this time, for example 2s.
    #[arg(long, value_parser = crate::config::duration::parse)]
    timeout: Option<Duration>,
    #[command(flatten)]
    at: Where,
}

pub(super) async fn run(options: Options) -> Result<ExitCode, Failed> {
    let arguments_json = client::arguments(&options.arguments)?;
    let mut request = Request::new(CallRequest {
        tool_name: options.tool,
        arguments_json,
        conversation_id: options.conversation,
        idempotency_key: options.idempotency_key,
        call_id: String::new(),
    });
    if let Some(timeout) = options.timeout {
        request.set_timeout(timeout);
    }
    let reply = match options.at.tools().await?.call(request).await {
        Ok(response) => response.into_inner().reply,
        Err(status) => Some(reply_of(&status).ok_or_else(|| told(&status))?),
    };
    let reply = reply.ok_or_else(|| Failed::answer("the daemon sent no reply"))?;
    print::text(&reply.json)?;
    match reply.status() {
        reply::Status::Success => Ok(ExitCode::SUCCESS),
        reply::Status::Error | reply::Status::Unspecified => Ok(ExitCode::from(1)),
    }
}

/// The reply among the details of a status, if there is one.
fn reply_of(status: &Status) -> Option<Reply> {
    let details = pb::Status::decode(status.details()).ok()?;
    let reply = details.details.iter().find(|any| any.type_url == REPLY_TYPE_URL)?;
    Reply::decode(reply.value.as_slice()).ok()
}

fn told(status: &Status) -> Failed {
    let message = status.message();
    match status.code() {
        Code::Unavailable => Failed::no_daemon(message),
        Code::InvalidArgument => Failed::usage(message),
        _ => Failed::answer(format!("{}: {message}", status.code())),
    }
}
