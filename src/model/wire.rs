//! A prompt as the body that one endpoint takes: roles, tools, results and the shape of the answer in
//! its provider's terms and in one [`Form`]. Sends nothing.

mod anthropic;
mod bind;
mod chat;
mod gemini;
mod gives;
mod ollama;
mod simple;
mod tools;
mod turns;
mod words;

use serde_json::Value;

use super::config::{Endpoint, Form, Provider};
use super::prompt::Prompt;
use crate::call::Dialect;
use crate::catalog::Exports;

pub(super) use bind::Bind;
use bind::Bound;
use tools::Told;
use turns::Message;

/// The name under which a model gives an answer in a shape, where that takes a name.
pub(super) const ANSWER: &str = "answer";

/// How an endpoint is asked: the form, and what it was found not to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Manner {
    pub(super) form: Form,
    /// With schemas that have structure alone.
    pub(super) simple: bool,
    /// Without `temperature`.
    pub(super) cold: bool,
    /// With `max_completion_tokens` in place of `max_tokens`.
    pub(super) renamed: bool,
    /// Without `stream_options`.
    pub(super) uncounted: bool,
    /// Without binding a turn to a call.
    pub(super) unforced: bool,
}

/// What is sent, and how what comes back is read.
#[derive(Debug)]
pub(super) struct Letter {
    pub(super) body: Value,
    /// The same as it is sent.
    pub(super) text: String,
    /// Most tokens that the answer may have.
    pub(super) most: u64,
    /// The dialect of names and arguments in it.
    pub(super) dialect: Dialect,
    /// The shape that the answer is bound to.
    pub(super) bind: Option<Bind>,
    /// Whether tools are told in the provider's own way.
    pub(super) native: bool,
}

/// The parts of a body, before a provider puts them together.
struct Sheet<'a> {
    endpoint: &'a Endpoint,
    manner: Manner,
    system: String,
    messages: Vec<Message>,
    /// The provider's own tool objects.
    tools: Vec<Value>,
    /// Whether one of them has to be called.
    must_call: bool,
    bound: Option<Bound<'a>>,
    most: u64,
}

/// Writes a prompt for the endpoint of this name. The answer may have `most` tokens.
pub(super) fn write(
    (name, endpoint): (&str, &Endpoint),
    prompt: &Prompt,
    manner: Manner,
    exports: &Exports,
    most: u64,
) -> Letter {
    let native = manner.form == Form::Native && !prompt.tools.is_empty();
    let dialect = match native {
        true => endpoint.dialect.unwrap_or_else(|| endpoint.provider.dialect()),
        // Told in words, by schemas that any model reads.
        false => Dialect::Plain,
    };
    let told: Vec<Told> = tools::tell(&prompt.tools, dialect, exports);
    let names = tools::names(&prompt.tools, dialect);
    let bind = Bind::of(endpoint, prompt, manner, &told);
    let loose = bind.as_ref().is_some_and(Bind::is_loose);
    let words = words::write(prompt, (manner.form, loose), &told);
    let parts = [prompt.system.as_str(), words.as_str()];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let sheet = Sheet {
        endpoint,
        manner,
        system: parts.join("\n\n"),
        messages: turns::write((name, endpoint.provider), &prompt.turns, native, &names),
        tools: match native {
            true => told.into_iter().map(|one| one.definition(manner.simple)).collect(),
            false => vec![],
        },
        must_call: native && prompt.must_call && !manner.unforced,
        bound: bind.as_ref().map(Bind::bound).or_else(|| Bound::json(manner.form, prompt)),
        most,
    };
    let body = match endpoint.provider {
        Provider::Openai => chat::body(sheet),
        Provider::Anthropic => anthropic::body(sheet),
        Provider::Gemini => gemini::body(sheet),
        Provider::Ollama => ollama::body(sheet),
    };
    Letter { text: body.to_string(), body, most, dialect, bind, native }
}

/// Whether a prompt has schemas, in this manner of asking, that can be made simpler.
pub(super) fn simplifies(
    address: (&str, &Endpoint),
    prompt: &Prompt,
    manner: Manner,
    exports: &Exports,
) -> bool {
    let body = |simple| write(address, prompt, Manner { simple, ..manner }, exports, 1).body;
    body(true) != body(false)
}

/// The arguments of a call as the object that some providers want them as.
fn object(arguments: &str) -> Value {
    match serde_json::from_str(arguments) {
        Ok(value @ Value::Object(_)) => value,
        // What the model wrote instead is still what it wrote.
        Ok(_) | Err(_) => serde_json::json!({ "arguments": arguments }),
    }
}
