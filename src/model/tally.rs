//! What is read of an answer while it comes: text for whoever listens, the tokens it cost, a provider's
//! words of an error. What the answer is in the end is for `native` to say, from all of its bytes.

use serde_json::{Value, json};

use super::config::Provider;

/// What stands for the end of a stream of `OpenAI`.
const DONE: &str = "[DONE]";

/// What has come of one answer.
#[derive(Debug)]
pub(super) struct Tally {
    provider: Provider,
    /// Whether the answer comes as the arguments of a call.
    called: bool,
    /// The line that has not ended yet.
    line: Vec<u8>,
    /// The data of the event that has not ended yet.
    data: String,
    /// Tokens that were read and written, as far as they were told.
    pub(super) input: Option<u64>,
    pub(super) output: Option<u64>,
    /// Whether the provider said that the answer is whole.
    pub(super) ended: bool,
    /// What the provider says of an error inside its answer.
    pub(super) error: Option<String>,
    /// What a model says in place of an answer that it refuses.
    pub(super) refusal: String,
    /// Why the provider lets the model answer nothing.
    pub(super) blocked: Option<String>,
    /// The parts of Gemini, and whether one is signed.
    parts: Vec<Value>,
    signed: bool,
}

impl Tally {
    pub(super) const fn new(provider: Provider, called: bool) -> Self {
        Self {
            provider,
            called,
            line: Vec::new(),
            data: String::new(),
            input: None,
            output: None,
            ended: false,
            error: None,
            refusal: String::new(),
            blocked: None,
            parts: Vec::new(),
            signed: false,
        }
    }

    /// Takes the next bytes; the text in them.
    pub(super) fn push(&mut self, bytes: &[u8]) -> String {
        let mut text = String::new();
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, after) = rest.split_at_checked(end).unwrap_or((rest, &[]));
            self.line.extend_from_slice(line);
            rest = after.get(1..).unwrap_or_default();
            let line = std::mem::take(&mut self.line);
            text.push_str(&self.end_line(&line));
        }
        self.line.extend_from_slice(rest);
        text
    }

    /// Takes what has no end of line behind it; the text in it.
    pub(super) fn finish(&mut self) -> String {
        let line = std::mem::take(&mut self.line);
        let mut text = self.end_line(&line);
        text.push_str(&self.end_event());
        text
    }

    fn end_line(&mut self, line: &[u8]) -> String {
        let line = String::from_utf8_lossy(line);
        let line = line.trim_end_matches('\r');
        if let Some(data) = line.strip_prefix("data:") {
            if !self.data.is_empty() {
                self.data.push('\n');
            }
            self.data.push_str(data.trim_start());
            String::new()
        } else if line.trim().is_empty() {
            self.end_event()
        } else if line.starts_with('{') {
            serde_json::from_str(line).map_or_else(|_| String::new(), |event| self.note(&event))
        } else {
            String::new()
        }
    }

    fn end_event(&mut self) -> String {
        let data = std::mem::take(&mut self.data);
        self.ended |= data.trim() == DONE;
        serde_json::from_str(&data).map_or_else(|_| String::new(), |event| self.note(&event))
    }

    /// Forgets what would be noted twice.
    pub(super) fn restart(&mut self) {
        self.parts.clear();
        self.refusal.clear();
    }

    /// Notes what one event says, or a whole answer; the text in it.
    pub(super) fn note(&mut self, event: &Value) -> String {
        if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
            let said = error.get("message").unwrap_or(error);
            self.error = Some(said.as_str().map_or_else(|| said.to_string(), str::to_owned));
        }
        match self.provider {
            Provider::Openai => self.chat(event),
            Provider::Anthropic => self.anthropic(event),
            Provider::Gemini => self.gemini(event),
            Provider::Ollama => self.ollama(event),
        }
    }

    fn count(&mut self, event: &Value, input: &[&str], output: &[&str]) {
        let sum = |places: &[&str]| {
            let told = places.iter().filter_map(|place| event.pointer(place)?.as_u64());
            told.reduce(u64::saturating_add)
        };
        self.input = sum(input).or(self.input);
        self.output = sum(output).or(self.output);
    }

    fn chat(&mut self, event: &Value) -> String {
        self.count(event, &["/usage/prompt_tokens"], &["/usage/completion_tokens"]);
        for place in ["/choices/0/delta/refusal", "/choices/0/message/refusal"] {
            self.refusal.push_str(&text(event, place));
        }
        text(event, "/choices/0/delta/content")
    }

    fn anthropic(&mut self, event: &Value) -> String {
        // A whole message has its usage at the root, a stream the first part of it in its first event.
        for root in ["/usage", "/message/usage"] {
            let place = |key: &str| format!("{root}/{key}");
            let read = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
            let read = read.map(place);
            let read = read.each_ref().map(String::as_str);
            self.count(event, &read, &[place("output_tokens").as_str()]);
        }
        self.ended |= event.get("type").and_then(Value::as_str) == Some("message_stop");
        let place = if self.called { "/delta/partial_json" } else { "/delta/text" };
        text(event, place)
    }

    fn gemini(&mut self, event: &Value) -> String {
        let written = ["/usageMetadata/candidatesTokenCount", "/usageMetadata/thoughtsTokenCount"];
        self.count(event, &["/usageMetadata/promptTokenCount"], &written);
        let blocked = event.pointer("/promptFeedback/blockReason").and_then(Value::as_str);
        self.blocked = blocked.map(str::to_owned).or_else(|| self.blocked.take());
        let parts = event.pointer("/candidates/0/content/parts").and_then(Value::as_array);
        let mut said = String::new();
        for part in parts.into_iter().flatten() {
            let thought = part.get("thought").and_then(Value::as_bool) == Some(true);
            if !thought {
                said.push_str(&text(part, "/text"));
            }
            self.signed |= part.get("thoughtSignature").is_some();
            self.parts.push(part.clone());
        }
        said
    }

    fn ollama(&mut self, event: &Value) -> String {
        self.count(event, &["/prompt_eval_count"], &["/eval_count"]);
        self.ended |= event.get("done") == Some(&Value::Bool(true));
        text(event, "/message/content")
    }

    /// The message in the provider's own form, where something in it has to come back to it.
    pub(super) fn own(&mut self) -> Option<String> {
        let parts = std::mem::take(&mut self.parts);
        self.signed.then(|| json!({ "role": "model", "parts": parts }).to_string())
    }
}

fn text(event: &Value, place: &str) -> String {
    event.pointer(place).and_then(Value::as_str).unwrap_or_default().to_owned()
}
