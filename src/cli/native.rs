//! `switchboard native`: a provider's message or stream, or a text, in; the provider's own result
//! messages and the replies as one line of JSON out.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::{Value, json};
use tonic::Request;

use super::client::{self, Where, told};
use super::{Failed, print};
use crate::call::Dialect;
use crate::proto::tools::call_native_request::Message;
use crate::proto::tools::{self as proto, CallNativeRequest, CallNativeResponse, Provider, reply};

/// The providers by their names on the command line.
const PROVIDERS: [(&str, Provider); 6] = [
    ("openai-chat", Provider::OpenaiChat),
    ("openai-responses", Provider::OpenaiResponses),
    ("anthropic", Provider::Anthropic),
    ("gemini", Provider::Gemini),
    ("ollama", Provider::Ollama),
    ("text", Provider::Text),
];

#[derive(Debug, Args)]
pub(super) struct Options {
    /// Whose message it is.
    #[arg(value_parser = named())]
    provider: Provider,
    /// The message as JSON text (with `text`, the text itself), `@file`, or `-` for standard input.
    #[arg(default_value = "-")]
    message: String,
    /// The message is the body of a streamed response.
    #[arg(long)]
    stream: bool,
    /// The dialect in which the tools were given to the model; default that of the provider.
    #[arg(long)]
    dialect: Option<Dialect>,
    /// Groups calls for loop protection.
    #[arg(long, default_value = "")]
    conversation: String,
    /// Makes a repeat of the message safe.
    #[arg(long, default_value = "")]
    idempotency_prefix: String,
    /// Looks for calls in the text of a message that has no other.
    #[arg(long)]
    text_calls: bool,
    /// Waits for a person where a call needs one.
    #[arg(long)]
    wait: bool,
    /// Gives up after this time, for example 2s.
    #[arg(long, value_parser = crate::config::duration::parse)]
    timeout: Option<Duration>,
    /// Shortens each result's data to about so many tokens; 0 for no bound.
    #[arg(long, default_value_t = 0)]
    max_tokens: u32,
    #[command(flatten)]
    at: Where,
}

/// The names of the providers.
fn named() -> impl TypedValueParser<Value = Provider> {
    PossibleValuesParser::new(PROVIDERS.map(|(name, _)| name)).try_map(|name| {
        let known = PROVIDERS.into_iter().find(|(known, _)| *known == name);
        known.map(|(_, provider)| provider).ok_or("there is no such provider")
    })
}

pub(super) async fn run(options: Options) -> Result<ExitCode, Failed> {
    let text = client::arguments(&options.message)?;
    let message = match (options.provider, options.stream) {
        (_, true) => Message::Stream(text.into_bytes()),
        (Provider::Text, false) => Message::Text(text),
        (_, false) => Message::MessageJson(text),
    };
    let dialect = options.dialect.map_or(proto::Dialect::Unspecified, proto::Dialect::from);
    let mut request = Request::new(CallNativeRequest {
        provider: options.provider.into(),
        dialect: dialect.into(),
        conversation_id: options.conversation,
        idempotency_prefix: options.idempotency_prefix,
        wait_for_approval: options.wait,
        text_calls: options.text_calls,
        max_tokens: options.max_tokens,
        message: Some(message),
    });
    if let Some(timeout) = options.timeout {
        request.set_timeout(timeout);
    }
    let answer = options.at.tools().await?.call_native(request).await;
    let answer = answer.map_err(|status| told(&status))?.into_inner();
    print::json(&line(&answer)?)?;
    let failed = answer.calls.iter().filter_map(|call| call.reply.as_ref());
    let failed = failed.filter(|reply| reply.status() != reply::Status::Success).count();
    let unclear = answer.reading() == proto::Reading::Unclear;
    Ok(if failed == 0 && !unclear { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// The answer as JSON; replies and messages are the daemon's, so they are read back exactly.
fn line(answer: &CallNativeResponse) -> Result<Value, Failed> {
    let parsed = |text: &str| serde_json::from_str::<Value>(text).map_err(Failed::answer);
    let mut calls = Vec::new();
    for call in &answer.calls {
        let reply = call.reply.as_ref().map_or("null", |reply| &reply.json);
        calls.push(json!({
            "native_id": call.native_id, "native_name": call.native_name, "reply": parsed(reply)?,
        }));
    }
    let messages: Vec<Value> =
        answer.messages_json.iter().map(|text| parsed(text)).collect::<Result<_, _>>()?;
    let reading =
        answer.reading().as_str_name().trim_start_matches("READING_").to_ascii_lowercase();
    Ok(json!({
        "messages": messages, "calls": calls, "stop_reason": answer.stop_reason,
        "text": answer.text, "reading": if reading == "unspecified" { "" } else { &reading },
        "answer": answer.answer,
    }))
}
