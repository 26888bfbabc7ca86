//! `CallNative`: a provider's message from the wire, its calls through the pipeline together, and the
//! provider's own messages back.

use std::sync::Arc;

use futures::stream::{self, StreamExt, TryStreamExt};
use serde_json::{Map, Value};
use tonic::{Request, Status};
use tracing::Span;

use super::underway::{Arrived, large};
use super::{Tools, arrival, status, wire};
use crate::admission::Caller;
use crate::call::{Call, Dialect, Withheld};
use crate::catalog::{Exported, Tool};
use crate::native::{self, Answer, Asked, Known, Provider, Reading, Told, Turn};
use crate::normalize::Reply;
use crate::pipeline::Recorded;
use crate::proto::tools as proto;
use crate::proto::tools::call_native_request::Message;

/// Calls of one message that run at the same time.
const TOGETHER: usize = 8;
/// Bytes of the prefix of idempotency keys, and of a native id that stands in one.
const PREFIX_BYTES: usize = 128;
/// Bytes of a tool's name that are kept; no tool has as many.
const NAME_BYTES: usize = 256;

/// What all calls of one message have in common.
struct Shared {
    caller: Caller,
    /// A call without a tool, which each is made from.
    call: Call,
    prefix: String,
    span: Span,
}

/// What a message says: its turn, and what its text is, where that was searched.
struct Said {
    turn: Turn,
    reading: Option<Reading>,
}

impl Tools {
    pub(super) async fn native(
        &self,
        request: Request<proto::CallNativeRequest>,
    ) -> Result<proto::CallNativeResponse, Status> {
        let brought = arrival::brought(&request)?;
        let wire = request.into_inner();
        let provider = provider(wire.provider)?;
        let mut call = Call::new("", "{}");
        brought.mark(&mut call);
        call.dialect = wire::dialect(wire.dialect)?.or_else(|| Some(usual(provider)));
        call.conversation = wire::named("conversation_id", wire.conversation_id)?;
        call.attends = wire.wait_for_approval;
        call.max_tokens = wire.max_tokens;
        let prefix = wire::named("idempotency_prefix", wire.idempotency_prefix)?;
        if prefix.len() > PREFIX_BYTES {
            let wrong = format!("has {} bytes; at most {PREFIX_BYTES}", prefix.len());
            return Err(status::malformed(&[("idempotency_prefix", wrong)]));
        }
        let shared = Shared { caller: brought.caller, call, prefix, span: brought.span };
        let message = wire
            .message
            .ok_or_else(|| status::malformed(&[("message_json", "is missing".to_owned())]))?;
        let said = self.hear(provider, message, wire.text_calls, &shared).await?;
        self.respond(provider, said, &shared).await
    }

    /// Reads a message. A long one takes time.
    async fn hear(
        &self,
        provider: Provider,
        message: Message,
        text_calls: bool,
        shared: &Shared,
    ) -> Result<Said, Status> {
        let length = match &message {
            Message::MessageJson(text) | Message::Text(text) => text.len(),
            Message::Stream(bytes) => bytes.len(),
        };
        let (pipeline, caller) = (Arc::clone(&self.pipeline), shared.caller.clone());
        let dialect = shared.call.dialect;
        let read = move || {
            let turn = turn(provider, message)?;
            let searched = turn.calls.is_empty() && turn.malformed.is_none();
            let is_text = provider == Provider::Text;
            if !(searched && (is_text || text_calls)) {
                return Ok(Said { turn, reading: None });
            }
            let find = |name: &str| {
                let tool = pipeline.tool(name, dialect, &caller)?;
                Some(known(
                    &tool,
                    dialect.map(|dialect| pipeline.snapshot().exported(&tool, dialect)),
                ))
            };
            let reading = match &turn.cut {
                Some(why) => native::search_cut(&turn.text, why, &find),
                None => native::search(&turn.text, &find),
            };
            Ok(Said { turn, reading: Some(reading) })
        };
        large("a message", length, read).await
    }

    async fn respond(
        &self,
        provider: Provider,
        said: Said,
        shared: &Shared,
    ) -> Result<proto::CallNativeResponse, Status> {
        let Said { mut turn, reading } = said;
        let mut response = proto::CallNativeResponse {
            stop_reason: std::mem::take(&mut turn.stop),
            text: std::mem::take(&mut turn.text),
            ..Default::default()
        };
        let spoken = reading.is_some();
        let asked = match reading {
            None => {
                response.messages_json.extend(turn.say_malformed(provider));
                turn.calls
            }
            Some(Reading::Prose) => {
                response.set_reading(proto::Reading::Prose);
                Vec::new()
            }
            Some(Reading::Final { text, json }) => {
                response.set_reading(proto::Reading::Final);
                (response.answer, response.answer_json) = (text, json);
                Vec::new()
            }
            Some(Reading::Unclear(unclear)) => {
                response.set_reading(proto::Reading::Unclear);
                response.messages_json.push(unclear.say(provider));
                Vec::new()
            }
            Some(Reading::Calls(asked)) => {
                response.set_reading(proto::Reading::Calls);
                native::checked(asked).map_err(|error| malformed("text", &error))?
            }
        };
        let replies = self.run_all(&asked, shared).await?;
        let answers: Vec<Answer<'_>> = asked
            .iter()
            .zip(&replies)
            .map(|(asked, recorded)| Answer { asked, told: tell(&recorded.reply) })
            .collect();
        if spoken && !answers.is_empty() {
            response.messages_json.push(native::say(provider, &answers));
        } else {
            response.messages_json.extend(native::messages(provider, &answers));
        }
        response.calls =
            asked.iter().zip(&replies).map(|(asked, done)| wired(asked, done)).collect();
        Ok(response)
    }

    /// Runs the calls of one message, and gives their replies in the same order.
    async fn run_all(&self, asked: &[Asked], shared: &Shared) -> Result<Vec<Recorded>, Status> {
        let calls: Vec<Call> =
            asked.iter().enumerate().map(|(number, asked)| shared.call(number, asked)).collect();
        let each = calls.into_iter().map(async |call| {
            let arrived =
                Arrived { call, caller: shared.caller.clone(), span: shared.span.clone() };
            self.start(arrived, None).await?.reply().await
        });
        stream::iter(each).buffered(TOGETHER).try_collect().await
    }
}

impl Shared {
    /// One call of the message, as the pipeline takes it.
    fn call(&self, number: usize, asked: &Asked) -> Call {
        let fresh = Call::new(name(&asked.name), asked.arguments.as_str());
        let key = match asked.id.as_str() {
            "" => number.to_string(),
            id if id.len() < PREFIX_BYTES => id.to_owned(),
            id => crate::schema::digest(id),
        };
        let key = format!("{}/{key}", self.prefix);
        Call {
            withheld: asked
                .fault
                .as_ref()
                .map(|why| Withheld { is_cut: asked.is_cut, why: why.clone() }),
            idempotency_key: (!self.prefix.is_empty()).then_some(key),
            id: fresh.id,
            tool: fresh.tool,
            arguments_json: fresh.arguments_json,
            ..self.call.clone()
        }
    }
}

/// A tool as the model was told of it.
fn known(tool: &Tool, export: Option<Arc<Exported>>) -> Known {
    let own = || Known { name: tool.name.clone(), schema: tool.input_schema.clone() };
    let Some(export) = export else { return own() };
    let definition: Value = serde_json::from_str(&export.definition).unwrap_or_default();
    let places = ["/function/parameters", "/input_schema", "/parameters"];
    let schema = places.iter().find_map(|place| definition.pointer(place)).cloned();
    schema.map_or_else(own, |schema| Known { name: export.name.clone(), schema })
}

/// A name as a record can keep it. One that is changed is no tool's.
fn name(native: &str) -> String {
    let short = native.get(..native.floor_char_boundary(NAME_BYTES)).unwrap_or_default();
    short.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// What a model reads of a reply; and of one that shows only a part, how much that is.
fn tell(reply: &Reply) -> Told {
    let mut told = native::tell(reply);
    let (Some(view), Some(members)) = (&reply.metadata.view, told.value.as_object_mut()) else {
        return told;
    };
    if view.summary || view.left_out > 0 || view.handles > 0 {
        let mut part = Map::new();
        let mut add = |key: &str, value: Value, says: bool| {
            says.then(|| part.insert(key.to_owned(), value));
        };
        add("summary", true.into(), view.summary);
        add("left_out", view.left_out.into(), view.left_out > 0);
        add("handles", view.handles.into(), view.handles > 0);
        add("full_tokens", view.full_tokens.into(), true);
        members.insert("view".to_owned(), part.into());
        members.insert("call_id".to_owned(), reply.metadata.call_id.as_str().into());
    }
    told
}

fn wired(asked: &Asked, recorded: &Recorded) -> proto::NativeCall {
    proto::NativeCall {
        native_id: asked.id.clone(),
        native_name: asked.name.clone(),
        call_id: recorded.reply.metadata.call_id.clone(),
        reply: Some(wire::reply(recorded)),
    }
}

fn turn(provider: Provider, message: Message) -> Result<Turn, Status> {
    match message {
        Message::MessageJson(json) => {
            native::read(provider, &json).map_err(|error| malformed("message_json", &error))
        }
        Message::Stream(bytes) => {
            native::assemble(provider, &bytes).map_err(|error| malformed("stream", &error))
        }
        Message::Text(text) if provider == Provider::Text && text.len() <= native::MAX_TEXT => {
            Ok(Turn { text, ..Turn::default() })
        }
        Message::Text(text) => {
            let wrong = match provider {
                Provider::Text => format!("has {} bytes; at most {}", text.len(), native::MAX_TEXT),
                _ => "is for PROVIDER_TEXT: send `message_json` or `stream`".to_owned(),
            };
            Err(status::malformed(&[("text", wrong)]))
        }
    }
}

fn malformed(field: &'static str, error: &native::Error) -> Status {
    status::malformed(&[(field, error.to_string())])
}

fn provider(wire: i32) -> Result<Provider, Status> {
    let wrong = |what: String| status::malformed(&[("provider", what)]);
    match proto::Provider::try_from(wire) {
        Ok(proto::Provider::OpenaiChat) => Ok(Provider::OpenaiChat),
        Ok(proto::Provider::OpenaiResponses) => Ok(Provider::OpenaiResponses),
        Ok(proto::Provider::Anthropic) => Ok(Provider::Anthropic),
        Ok(proto::Provider::Gemini) => Ok(Provider::Gemini),
        Ok(proto::Provider::Ollama) => Ok(Provider::Ollama),
        Ok(proto::Provider::Text) => Ok(Provider::Text),
        Ok(proto::Provider::Unspecified) => Err(wrong("is missing".to_owned())),
        Err(_) => Err(wrong(format!("`{wire}` is not known"))),
    }
}

/// The dialect in which a provider's host usually takes tools.
const fn usual(provider: Provider) -> Dialect {
    match provider {
        Provider::OpenaiChat | Provider::OpenaiResponses => Dialect::Openai,
        Provider::Anthropic => Dialect::Anthropic,
        Provider::Gemini => Dialect::Gemini,
        Provider::Ollama | Provider::Text => Dialect::Plain,
    }
}
