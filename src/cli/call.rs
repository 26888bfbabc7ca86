//! `switchboard call`: one call, its reply as one line of JSON.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use prost::Message;
use tonic::{Request, Status};
use tonic_types::{StatusExt, pb};

use super::client::{self, Where, told};
use super::files::Files;
use super::{Failed, print};
use crate::call::Dialect;
use crate::proto::REPLY_TYPE_URL;
use crate::proto::tools as proto;
use crate::proto::tools::{CallRequest, GetResultRequest, Reply, reply};

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
    /// The approval that the call has; one that holds for it is found without.
    #[arg(long, default_value = "")]
    approval: String,
    /// Waits for a person where the call needs one.
    #[arg(long)]
    wait: bool,
    /// The name and the arguments are in this dialect's terms, as a model wrote them.
    #[arg(long)]
    dialect: Option<Dialect>,
    /// Gives up after this time, for example 2s.
    #[arg(long, value_parser = crate::config::duration::parse)]
    timeout: Option<Duration>,
    /// Shortens the reply's data to about so many tokens; 0 for no bound.
    #[arg(long, default_value_t = 0)]
    max_tokens: u32,
    /// Gives the whole result, whatever the tool's summary says.
    #[arg(long)]
    full: bool,
    #[command(flatten)]
    files: Files,
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
        files: options.files.read()?,
        output_files: options.files.take.clone(),
        approval_id: options.approval,
        wait_for_approval: options.wait,
        dialect: options.dialect.map_or(0, |dialect| proto::Dialect::from(dialect).into()),
        max_tokens: options.max_tokens,
        full: options.full,
    });
    if let Some(timeout) = options.timeout {
        request.set_timeout(timeout);
    }
    let mut client = options.at.tools().await?;
    let (line, success, files) = match client.call(request).await {
        Ok(response) => {
            let reply = response.into_inner().reply;
            let reply = reply.ok_or_else(|| Failed::answer("the daemon sent no reply"))?;
            let success = reply.status() == reply::Status::Success;
            (reply.json, success, reply.files)
        }
        Err(status) => {
            let line = reply_of(&mut client, &status).await.ok_or_else(|| told(&status))?;
            (line, false, Vec::new())
        }
    };
    print::text(&line)?;
    options.files.write(&files)?;
    Ok(if success { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// The reply that a status stands for: among its details, or by the call's id.
async fn reply_of(client: &mut client::Tools, status: &Status) -> Option<String> {
    let details = pb::Status::decode(status.details()).ok()?;
    if let Some(reply) = details.details.iter().find(|any| any.type_url == REPLY_TYPE_URL) {
        return Reply::decode(reply.value.as_slice()).ok().map(|reply| reply.json);
    }
    let info = status.get_details_error_info()?;
    let call_id = info.metadata.get("call_id")?.clone();
    let (mut line, mut offset) = (String::new(), 0);
    loop {
        let asked =
            GetResultRequest { call_id: call_id.clone(), offset, ..GetResultRequest::default() };
        let page = client.get_result(asked).await.ok()?.into_inner();
        line.push_str(&page.json);
        offset = page.next_offset;
        if offset == 0 {
            return Some(line);
        }
    }
}
