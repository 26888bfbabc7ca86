//! A suite as it is written: the tables of the YAML file, and what in them is wrong by itself.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::cli::eval::script::Line;
use crate::mask;

/// A file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SuiteTable {
    pub(super) suite: String,
    #[serde(default)]
    pub(super) agent: String,
    /// Files of units, JSON lines, relative to the suite's folder.
    #[serde(default)]
    pub(super) memory: Vec<String>,
    /// File of recorded answers, JSON lines, for the cases that bring none of their own.
    #[serde(default)]
    pub(super) transcript: Option<String>,
    /// What must not happen in any case.
    #[serde(default)]
    pub(super) never: Never,
    /// The cases, in their order: each a [`CaseTable`] with the members of a [`TurnTable`] beside them.
    pub(super) cases: Vec<Map<String, Value>>,
}

/// A case, without its first question.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CaseTable {
    pub(super) name: String,
    #[serde(default)]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) agent: Option<String>,
    #[serde(default)]
    pub(super) memory: Vec<Value>,
    #[serde(default)]
    pub(super) then: Vec<TurnTable>,
}

impl CaseTable {
    /// A case, and its first question.
    pub(super) fn read(mut members: Map<String, Value>) -> Result<(Self, TurnTable), String> {
        let name = members.get("name").and_then(Value::as_str).map_or_else(
            || format!("a case without a name ({})", Value::from(members.clone())),
            |name| format!("case `{name}`"),
        );
        let name: String = name.chars().take(120).collect();
        let mut own = Map::new();
        for key in ["name", "kind", "agent", "memory", "then"] {
            own.extend(members.shift_remove(key).map(|value| (key.to_owned(), value)));
        }
        let wrong = |error: serde_json::Error| format!("{name}: {error}");
        let case = serde_json::from_value(Value::Object(own)).map_err(wrong)?;
        Ok((case, serde_json::from_value(Value::Object(members)).map_err(wrong)?))
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TurnTable {
    pub(super) question: String,
    #[serde(default)]
    pub(super) as_of: String,
    #[serde(default)]
    pub(super) collections: Vec<String>,
    #[serde(default)]
    pub(super) limits: Limits,
    #[serde(default)]
    pub(super) model: Option<Vec<Line>>,
    #[serde(default)]
    pub(super) expect: Expect,
    #[serde(default)]
    pub(super) never: Never,
}

/// Limits of a run; what is not named is the daemon's.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::cli::eval) struct Limits {
    /// Steps.
    #[serde(default)]
    pub(in crate::cli::eval) steps: Option<u32>,
    /// Tokens of all answers together.
    #[serde(default)]
    pub(in crate::cli::eval) tokens: Option<u64>,
}

/// How a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::cli::eval) enum Ended {
    /// With an answer.
    Answer,
    /// At a limit, with what is known and what is missing.
    Partial,
    /// With a failure that the stream explains.
    Failed,
    /// Not yet: a call waits for a person.
    Waiting,
}

impl Ended {
    /// The name in suites.
    pub(in crate::cli::eval) const fn as_str(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Partial => "partial",
            Self::Failed => "failed",
            Self::Waiting => "waiting",
        }
    }
}

/// What should come of a question.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::cli::eval) struct Expect {
    /// How the run ends; one of these. Empty for an answer where something is expected to be in it, and
    /// for whichever where not.
    #[serde(default)]
    pub(in crate::cli::eval) ended: Vec<Ended>,
    /// The calls in the ledger.
    #[serde(default)]
    pub(in crate::cli::eval) tools: Option<Calls>,
    /// The answer.
    #[serde(default)]
    pub(in crate::cli::eval) answer: Answer,
    /// What was decided.
    #[serde(default)]
    pub(in crate::cli::eval) decision: Option<Decision>,
    /// What it rests upon.
    #[serde(default)]
    pub(in crate::cli::eval) evidence: Evidence,
    /// What the model was told.
    #[serde(default)]
    pub(in crate::cli::eval) prompt: Prompt,
}

impl Expect {
    /// Whether something is expected of an answer that only an answer has.
    pub(in crate::cli::eval) fn answers(&self) -> bool {
        let Answer { exact, contains, lacks: _, regex, most: _, schema, judged } = &self.answer;
        let said = exact.is_some() || regex.is_some() || judged.is_some();
        said || schema.is_some() || !contains.is_empty() || self.decision.is_some()
    }
}

/// A call that is expected or forbidden.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub(in crate::cli::eval) enum Call {
    /// The tool alone.
    Tool(String),
    /// With what it was called with, and what came of it.
    Full {
        /// The tool; a `*` at its end stands for any end.
        tool: String,
        /// Members that the arguments must have; others may be there. A text between two `/` is a regular
        /// expression that must be found in that argument.
        #[serde(default)]
        arguments: Map<String, Value>,
        /// Code of the reply: SUCCESS, or that of an error.
        #[serde(default)]
        code: String,
    },
}

/// The calls that are expected, in one of three ways.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::cli::eval) enum Calls {
    /// These, in this order, and no others.
    Exact(Vec<Call>),
    /// These, in any order, and no others.
    AnyOrder(Vec<Call>),
    /// These among others, in this order.
    Subset(Vec<Call>),
}

/// Checks on the answer.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::cli::eval) struct Answer {
    /// The whole, but for space at its ends.
    #[serde(default)]
    pub(in crate::cli::eval) exact: Option<String>,
    /// Texts that it has.
    #[serde(default)]
    pub(in crate::cli::eval) contains: Vec<String>,
    /// Texts that it has not.
    #[serde(default)]
    pub(in crate::cli::eval) lacks: Vec<String>,
    /// A regular expression that is found in it.
    #[serde(default)]
    pub(in crate::cli::eval) regex: Option<String>,
    /// Most characters of it.
    #[serde(default)]
    pub(in crate::cli::eval) most: Option<usize>,
    /// A JSON Schema that it fits; the answer is JSON then.
    #[serde(default)]
    pub(in crate::cli::eval) schema: Option<Value>,
    /// What a model in the role of judge is asked about it; the model says yes or no.
    #[serde(default)]
    pub(in crate::cli::eval) judged: Option<String>,
}

/// What was decided.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::cli::eval) struct Decision {
    /// The decision.
    #[serde(default)]
    pub(in crate::cli::eval) value: Option<Value>,
    /// The rule that decided.
    #[serde(default)]
    pub(in crate::cli::eval) rule: Option<String>,
    /// Whether its comparison holds.
    #[serde(default)]
    pub(in crate::cli::eval) holds: Option<bool>,
}

/// What the answer rests upon.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::cli::eval) struct Evidence {
    /// Source ids of units, or names of tools, that the answer cites.
    #[serde(default)]
    pub(in crate::cli::eval) cites: Vec<String>,
    /// Those that it does not cite.
    #[serde(default)]
    pub(in crate::cli::eval) lacks: Vec<String>,
    /// Kinds of steps that the trace has, such as `numerical_comparison`.
    #[serde(default)]
    pub(in crate::cli::eval) steps: Vec<String>,
}

/// What the model was told.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::cli::eval) struct Prompt {
    /// Texts that stood in some prompt.
    #[serde(default)]
    pub(in crate::cli::eval) contains: Vec<String>,
    /// Most characters of a prompt.
    #[serde(default)]
    pub(in crate::cli::eval) most: Option<usize>,
}

/// What must not happen.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::cli::eval) struct Never {
    /// Calls that must not have come to their tool.
    #[serde(default)]
    pub(in crate::cli::eval) runs: Vec<Call>,
    /// Texts that must not stand in the arguments of a call that came to its tool.
    #[serde(default)]
    pub(in crate::cli::eval) sends: Vec<String>,
    /// Texts that must not stand in an answer.
    #[serde(default)]
    pub(in crate::cli::eval) says: Vec<String>,
    /// Texts that must not stand in a prompt.
    #[serde(default)]
    pub(in crate::cli::eval) prompts: Vec<String>,
    /// Hosts that no connection may have been opened to.
    #[serde(default)]
    pub(in crate::cli::eval) reaches: Vec<String>,
}

impl Call {
    /// The tool.
    pub(in crate::cli::eval) fn tool(&self) -> &str {
        match self {
            Self::Tool(tool) | Self::Full { tool, .. } => tool,
        }
    }
}

impl Calls {
    /// The calls, in whichever way they are expected.
    pub(in crate::cli::eval) fn all(&self) -> &[Call] {
        match self {
            Self::Exact(calls) | Self::AnyOrder(calls) | Self::Subset(calls) => calls,
        }
    }
}

impl Expect {
    /// What is wrong with it by itself.
    pub(super) fn check(&self) -> Result<(), String> {
        for call in self.tools.iter().flat_map(|calls| calls.all()) {
            patterns(call)?;
        }
        let texts = [&self.answer.contains, &self.prompt.contains, &self.evidence.cites];
        if texts.into_iter().flatten().any(String::is_empty) {
            return Err("`expect` has an empty text, which stands in everything".to_owned());
        }
        match &self.answer.regex {
            Some(text) => regular(text),
            None => Ok(()),
        }
    }
}

impl Never {
    /// These and those.
    pub(super) fn with(mut self, more: Self) -> Self {
        self.runs.extend(more.runs);
        self.sends.extend(more.sends);
        self.says.extend(more.says);
        self.prompts.extend(more.prompts);
        self.reaches.extend(more.reaches);
        self
    }

    /// What is wrong with it by itself.
    pub(super) fn check(&self) -> Result<(), String> {
        self.runs.iter().try_for_each(patterns)?;
        let texts = [&self.sends, &self.says, &self.prompts, &self.reaches];
        if texts.into_iter().flatten().any(String::is_empty) {
            return Err("`never` has an empty text, which stands in everything".to_owned());
        }
        match self.sends.iter().find(|text| mask::text(text) != text.as_str()) {
            Some(text) => Err(format!(
                "`never.sends` has `{text}`, which the ledger masks, so that it would never be seen: name \
                 another part of what must not be sent"
            )),
            None => Ok(()),
        }
    }
}

/// Whether the regular expressions of a call are ones.
fn patterns(call: &Call) -> Result<(), String> {
    if call.tool().is_empty() {
        return Err("a call names no tool".to_owned());
    }
    let Call::Full { arguments, .. } = call else { return Ok(()) };
    arguments.values().try_for_each(all_regular)
}

/// Whether each regular expression in a value is one.
fn all_regular(value: &Value) -> Result<(), String> {
    match value {
        Value::String(text) => pattern(text).map_or(Ok(()), regular),
        Value::Array(items) => items.iter().try_for_each(all_regular),
        Value::Object(members) => members.values().try_for_each(all_regular),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

/// The regular expression between two `/`; none for any other text.
pub(in crate::cli::eval) fn pattern(text: &str) -> Option<&str> {
    text.strip_prefix('/')?.strip_suffix('/').filter(|inner| !inner.is_empty())
}

fn regular(text: &str) -> Result<(), String> {
    let read = regex::Regex::new(text).map(drop);
    read.map_err(|error| format!("`{text}` is no regular expression: {error}"))
}
