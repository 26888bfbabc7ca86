//! What models of other makers write: a provider's own message, its stream or plain text in, the calls
//! in it out; and the results back as that provider's own messages. Runs nothing and decides nothing.

mod answer;
mod anthropic;
mod chat;
mod frames;
mod gemini;
mod hint;
mod node;
mod ollama;
mod pieces;
mod raw;
mod responses;
mod stream;
mod text;
mod told;

pub use answer::{Answer, messages, say};
pub use hint::Unclear;
pub use stream::assemble;
pub use text::{Known, MAX_TEXT, Reading, Tools, search, search_cut};
pub use told::{Told, tell};

use node::Node;

/// Most bytes of a message, of a stream, and of a text.
pub const MAX_BYTES: usize = 8 << 20;
/// Most calls of one message that are run; further ones are refused.
pub const MAX_CALLS: usize = 32;
/// Most calls in a message; one with more is refused as a whole.
pub const MOST_CALLS: usize = 256;

/// Whose messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// `OpenAI` chat completions, and the many servers that speak the same.
    OpenaiChat,
    /// The `OpenAI` responses API.
    OpenaiResponses,
    /// Anthropic messages.
    Anthropic,
    /// Gemini `generateContent`.
    Gemini,
    /// Ollama chat.
    Ollama,
    /// No provider's message: only text.
    Text,
}

impl Provider {
    const fn as_str(self) -> &'static str {
        match self {
            Self::OpenaiChat => "openai_chat",
            Self::OpenaiResponses => "openai_responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
            Self::Text => "text",
        }
    }
}

/// What a model's message holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Turn {
    /// The calls, in their order.
    pub calls: Vec<Asked>,
    /// The text around them.
    pub text: String,
    /// Why the model stopped, in the provider's own word; empty where it does not say.
    pub stop: String,
    /// Why nothing of the message may run, where it was cut off.
    pub cut: Option<String>,
    /// What the provider says of a call that it could not read itself.
    pub malformed: Option<String>,
}

/// One call that a model asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    /// The provider's id; empty where there is none.
    pub id: String,
    /// The tool's name as the model wrote it.
    pub name: String,
    /// The arguments as JSON text, as they came.
    pub arguments: String,
    /// How the call stands in the message.
    pub kind: Kind,
    /// Why it may not run, whatever its arguments are.
    pub fault: Option<String>,
    /// Whether that is because it was cut off.
    pub is_cut: bool,
}

/// How a call stands in a message; its result has to stand likewise.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Kind {
    /// A function with arguments.
    #[default]
    Function,
    /// The only call of a message, in the form before `tool_calls`.
    Legacy,
    /// A custom tool with text as its input.
    Custom,
}

/// Why a message is not read at all; nothing of it runs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Not what the provider sends.
    #[error("{}{what}", at(place))]
    Malformed {
        /// JSON Pointer of the place.
        place: String,
        /// What is wrong there.
        what: String,
    },
    /// Too much.
    #[error("has {0} bytes; at most {MAX_BYTES}")]
    TooLarge(usize),
    /// Too many calls.
    #[error("has {0} calls; at most {MOST_CALLS}")]
    TooMany(usize),
    /// A stream without its end.
    #[error("{0}: it was cut off, so nothing of it ran; let the model answer again")]
    Cut(String),
}

fn at(place: &str) -> String {
    if place.is_empty() { String::new() } else { format!("at {place}: ") }
}

/// Reads the message of a model, or the body of the response that holds it.
pub fn read(provider: Provider, json: &str) -> Result<Turn, Error> {
    counted(provider, message(provider, json))
}

/// Counts what became of a message.
fn counted(provider: Provider, read: Result<Turn, Error>) -> Result<Turn, Error> {
    let outcome = match &read {
        Ok(turn) if turn.cut.is_some() => "cut",
        Ok(turn) if turn.calls.is_empty() => "no_calls",
        Ok(_) => "calls",
        Err(_) => "refused",
    };
    metrics::counter!(
        "switchboard_native_messages_total",
        "provider" => provider.as_str(), "outcome" => outcome
    )
    .increment(1);
    read
}

fn message(provider: Provider, json: &str) -> Result<Turn, Error> {
    if json.len() > MAX_BYTES {
        return Err(Error::TooLarge(json.len()));
    }
    let whole = Node::whole(json.trim_start_matches('\u{feff}'), "")?;
    let turn = match provider {
        Provider::OpenaiChat => chat::read(&whole)?,
        Provider::OpenaiResponses => responses::read(&whole)?,
        Provider::Anthropic => anthropic::read(&whole)?,
        Provider::Gemini => gemini::read(&whole)?,
        Provider::Ollama => ollama::read(&whole)?,
        Provider::Text => return Err(whole.wrong("is for messages of a provider: send `text`")),
    };
    turn.bounded()
}

/// Calls that stood in a text, with what speaks against each.
pub fn checked(calls: Vec<Asked>) -> Result<Vec<Asked>, Error> {
    Turn { calls, ..Turn::default() }.bounded().map(|turn| turn.calls)
}

impl Turn {
    /// The turn with what speaks against each of its calls; or why it is none.
    fn bounded(mut self) -> Result<Self, Error> {
        if self.calls.len() > MOST_CALLS {
            return Err(Error::TooMany(self.calls.len()));
        }
        if self.cut.is_none() && is_cut(&self.stop) {
            let stop: String = self.stop.chars().take(64).collect();
            self.cut = Some(format!(
                "the message was cut off (`{stop}`), so none of its calls ran: send them again, \
                 fewer or shorter"
            ));
        }
        let ids: Vec<String> = self.calls.iter().map(|call| call.id.clone()).collect();
        for (index, call) in self.calls.iter_mut().enumerate() {
            let same = |id: &&String| **id == call.id;
            if call.fault.is_some() {
                continue;
            }
            if self.cut.is_some() {
                (call.fault, call.is_cut) = (self.cut.clone(), true);
            } else if !call.id.is_empty() && ids.iter().filter(same).count() > 1 {
                let why = "several calls of the message have this id, so their results could not be \
                           told apart and none of them ran: send them again, each with its own id";
                call.fault = Some(why.to_owned());
            } else if index >= MAX_CALLS {
                call.fault = Some(format!(
                    "a message may have {MAX_CALLS} calls, and this is one more: send it again"
                ));
            }
        }
        Ok(self)
    }
}

/// Whether a model that stopped for this reason had not come to its end.
fn is_cut(stop: &str) -> bool {
    const CUT: [&str; 26] = [
        "length",
        "max_tokens",
        "max_output_tokens",
        "max_completion_tokens",
        "model_length",
        "model_context_window_exceeded",
        "content_filter",
        "refusal",
        "safety",
        "recitation",
        "language",
        "blocklist",
        "prohibited_content",
        "spii",
        "other",
        "malformed_function_call",
        "malformed_response",
        "unexpected_tool_call",
        "too_many_tool_calls",
        "missing_thought_signature",
        "incomplete",
        "in_progress",
        "error",
        "failed",
        "cancelled",
        "abort",
    ];
    CUT.contains(&stop.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests;
