//! The one record of a run: what happened, in order. The stream, the store, the trace and the state from
//! which a run goes on are all made of these. Kept as JSON; nothing in here decides or computes.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Limits, RunId, Served};
use crate::call::{Dialect, Taint};
use crate::evidence;
use crate::model::{Own, Said, Tried};

/// One event of a run, as it is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// Its place in the run, from 1, without a gap.
    pub seq: u64,
    /// When it was kept.
    pub at: Timestamp,
    /// The run.
    pub run: RunId,
    /// Which question to the reasoning model it belongs to, from 1; 0 before the first.
    pub step: u32,
    /// The task of a plan that it belongs to, or `rule` for what a rule reads; empty for the run itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub task: String,
    /// What happened.
    pub event: Event,
}

/// Something that happened in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The run is kept.
    Started(Box<Started>),
    /// How the question will be answered.
    Routed(Routed),
    /// What the memory gave.
    Recalled(Recalled),
    /// What the model said in one turn.
    Thought(Box<Thought>),
    /// What a model said did not hold, and was told so.
    Rejected(Rejected),
    /// A tool call that is about to be made.
    Action(Action),
    /// A call waits for a person.
    Waiting(Waiting),
    /// What came of an action.
    Observation(Box<Observation>),
    /// A step of the trace.
    Evidence(Box<evidence::Step>),
    /// A plan was made, or one was refused.
    Planned(Planned),
    /// A message from one agent to another.
    Message(Told),
    /// A contradiction was settled.
    Ruling(Ruled),
    /// The run goes on.
    Resumed(Resumed),
    /// The run is at a limit, and this is what it has. An end.
    Partial(Box<Partial>),
    /// The answer. An end.
    Answer(Box<Answered>),
    /// There is no answer. An end.
    Failed(Failure),
    /// The caller ended it. An end.
    Cancelled,
}

/// The run is kept, and so are all things that it goes by.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Started {
    /// The question, sensitive parts masked.
    pub question: String,
    /// Who answers; empty for the default agent.
    pub agent: String,
    /// The caller's name for what the run is part of.
    pub conversation: String,
    /// The run that this one follows up.
    pub previous: Option<RunId>,
    /// The date that is asked about, as the caller wrote it; empty for now.
    pub as_of: String,
    /// Zone in which its days begin.
    pub time_zone: String,
    /// Collections to look into; empty for all.
    pub collections: Vec<String>,
    /// The limits that hold, each set.
    pub limits: Limits,
    /// Whether an equal question's answer must not be given.
    pub no_cache: bool,
    /// Name of the caller.
    pub caller: String,
    /// Its tenant.
    pub tenant: String,
    /// Its roles.
    pub roles: Vec<String>,
    /// How it was proved.
    pub proof: String,
    /// Digest of the catalog, the rules and the agents that were in force.
    pub digest: String,
    /// What the runs that it follows up have read; `None` in runs of before this was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub brought: Option<BTreeSet<Taint>>,
}

/// How a question is answered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Routed {
    /// What it needs.
    pub route: Route,
    /// The question as the memory is asked it, where that was rewritten; else empty.
    pub rewritten: String,
    /// The rule that decides it; else empty.
    pub rule: String,
    /// Why, in one line.
    pub why: String,
    /// The question to the small model, where one was asked.
    pub spent: Option<Spent>,
}

/// What a question needs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Route {
    /// Neither memory nor tools.
    Direct,
    /// The memory alone.
    Memory,
    /// Tools alone.
    Tools,
    /// Both, in the loop.
    #[default]
    Loop,
    /// A declared rule.
    Rule,
    /// The comparison of an earlier question, made again.
    Comparison,
    /// A plan of several agents.
    Plan,
    /// The answer to an equal question.
    Cache,
}

/// What one question to a model took.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spent {
    /// The endpoint that answered, by its name in the configuration; empty where none did.
    pub endpoint: String,
    /// Its model.
    pub model: String,
    /// Tokens that went in.
    pub input: u64,
    /// Tokens that came out.
    pub output: u64,
    /// Whether they were counted here, since the endpoint did not say.
    pub estimated: bool,
    /// What that cost, a decimal number.
    pub money: String,
    /// The attempts, in their order.
    pub tried: Vec<Tried>,
}

/// What the memory gave.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Recalled {
    /// As it was asked.
    pub question: String,
    /// The ledger's record of it; empty where the memory was not asked.
    pub record: String,
    /// What came back, labelled, best first.
    pub items: Vec<evidence::Item>,
    /// The same as a model reads it, within its share of the context.
    pub text: String,
    /// The number in the marks of that text; empty without any.
    pub nonce: String,
    /// Whether that is the answer to a call of the model's, whose id in its turn this is.
    pub asked: Option<usize>,
    /// What it brings into the calls that follow.
    pub taint: BTreeSet<Taint>,
    /// Layers of the memory that did not work, and why; or why there is no memory.
    pub remarks: Vec<String>,
}

/// What a model said in one turn.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Thought {
    /// Its words.
    pub text: String,
    /// The calls in it.
    pub calls: Vec<Wanted>,
    /// Its final answer, where it gave one, as it wrote it.
    pub answer: Option<Value>,
    /// What of it could not be read, one line each; the model is asked again.
    pub unread: Vec<String>,
    /// What was mended in it; one line each.
    pub remarks: Vec<String>,
    /// In which dialect it was told of the tools, and so writes their names.
    pub dialect: Option<Dialect>,
    /// The message in its provider's own form.
    pub own: Option<Own>,
    /// What it took.
    pub spent: Spent,
}

/// A call in a model's turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Wanted {
    /// The provider's id; empty where there is none.
    pub id: String,
    /// The tool as the model wrote it.
    pub name: String,
    /// The arguments as JSON text, as the model wrote them.
    pub arguments: String,
    /// How it stood in the message: empty for a function, `legacy` or `custom`.
    pub kind: String,
    /// Whether it stood in the text, so that its result has to stand in a text too.
    pub spoken: bool,
    /// Why it may not run.
    pub fault: Option<String>,
    /// Whether that is because it was cut off.
    pub is_cut: bool,
}

/// What a model said did not hold.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rejected {
    /// `output` for what could not be read, `answer` for an answer that was not accepted, `model` for an
    /// endpoint that rejected what it was sent.
    pub what: String,
    /// Which time, from 1.
    pub attempt: u32,
    /// Why, one line each; the model is told these.
    pub reasons: Vec<String>,
}

/// A tool call that is about to be made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Action {
    /// Its id in the ledger.
    pub call_id: String,
    /// The tool as the model wrote it.
    pub tool: String,
    /// The arguments as JSON text, as they are sent.
    pub arguments: String,
    /// Which call of the model's turn it is, from 0.
    pub place: usize,
    /// The approval that it brings along; a call that waited for a person is sent again with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<String>,
}

/// A call waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// The call that asked.
    pub call_id: String,
    /// The approval.
    pub approval_id: String,
    /// Which call of the model's turn it is.
    pub place: usize,
}

/// What came of a call of the model's.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Observation {
    /// The call's id in the ledger; empty where nothing was called.
    pub call_id: String,
    /// Which call of the model's turn it answers; `None` for none of them.
    pub place: Option<usize>,
    /// The tool's name.
    pub tool: String,
    /// Whether it succeeded.
    pub success: bool,
    /// The reply's code where it did not; also `MODEL_OUTPUT` and `OUTCOME_UNKNOWN`.
    pub code: String,
    /// What the model reads of it, as JSON.
    pub told: Value,
    /// The evidence that it became.
    pub item: Option<evidence::Item>,
    /// How old the result was that it gives, in milliseconds; 0 for a new one.
    pub age_ms: u64,
    /// What was visited by it: digest of tool and canonical arguments; empty for none.
    pub visit: String,
}

/// A plan was made, or one was refused.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Planned {
    /// The task graph; null where the model's could not be read.
    pub plan: Value,
    /// Why it was refused; empty for one that is carried out.
    pub refusals: Vec<String>,
    /// The question to the model that made it.
    pub spent: Option<Spent>,
}

/// A message from one agent to another.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Told {
    /// Who says it.
    pub from: String,
    /// To whom.
    pub to: String,
    /// The message by its protocol.
    pub message: Value,
    /// What the checker found; with any, the message did not travel on.
    pub refusals: Vec<String>,
    /// What it states, as evidence for those after it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<evidence::Item>,
}

/// A contradiction was settled.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ruled {
    /// What contradicted what, what was decided, and why.
    pub ruling: Value,
    /// The question to the judge, where a model was asked.
    pub spent: Option<Spent>,
}

/// The run goes on after it was suspended or its daemon had ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resumed {
    /// `restart`, `approved`, `rejected`, `expired` or `asked`.
    pub why: String,
}

/// What is known at a limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Partial {
    /// The limit: `steps`, `tokens`, `money`, `time`, or `model` where no model's answer held.
    pub limit: String,
    /// What is known and what is missing, in evidence's form.
    pub partial: evidence::Partial,
    /// The same in one text.
    pub text: String,
    /// Of the whole run.
    pub total: Spent,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answered {
    /// The answer with what it rests on.
    pub answer: evidence::Answer,
    /// Summaries for the next question.
    pub follow_ups: Vec<evidence::Summary>,
    /// Whether it is that of an equal or nearly equal question.
    pub cached: bool,
    /// How it comes that it is; `None` unless it is.
    pub served: Option<Served>,
    /// Of the whole run.
    pub total: Spent,
}

/// There is no answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Failure {
    /// Stable code, as the proto file lists them.
    pub code: String,
    /// One line.
    pub message: String,
    /// Of the whole run.
    pub total: Spent,
}

impl Spent {
    /// What an answer took.
    pub(super) fn of(said: &Said) -> Self {
        Self {
            endpoint: said.endpoint.clone(),
            model: said.model.clone(),
            input: said.usage.input,
            output: said.usage.output,
            estimated: said.usage.estimated,
            money: said.cost.amount(),
            tried: said.tried.clone(),
        }
    }
}

impl Observation {
    /// Whether it gave something that can be cited.
    pub(super) fn is_evidence(&self) -> bool {
        match self.told.get("evidence") {
            Some(Value::String(label)) => !label.is_empty(),
            Some(Value::Array(labels)) => !labels.is_empty(),
            _ => false,
        }
    }
}

impl Event {
    /// The name on the wire and in the store.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Started(_) => "started",
            Self::Routed(_) => "routed",
            Self::Recalled(_) => "recalled",
            Self::Thought(_) => "thought",
            Self::Rejected(_) => "rejected",
            Self::Action(_) => "action",
            Self::Waiting(_) => "waiting",
            Self::Observation(_) => "observation",
            Self::Evidence(_) => "evidence",
            Self::Planned(_) => "planned",
            Self::Message(_) => "message",
            Self::Ruling(_) => "ruling",
            Self::Resumed(_) => "resumed",
            Self::Partial(_) => "partial",
            Self::Answer(_) => "answer",
            Self::Failed(_) => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether nothing comes after it.
    pub const fn is_end(&self) -> bool {
        matches!(self, Self::Partial(_) | Self::Answer(_) | Self::Failed(_) | Self::Cancelled)
    }
}
