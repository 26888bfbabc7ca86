//! A plan: a graph of tasks that an orchestrator's model wrote as JSON. Text in, a [`Plan`] that can be
//! run or [`Refusal`]s by which the model can mend it out; what came of its tasks stands in a [`Board`].

mod ask;
mod board;
mod carry;
mod check;
mod course;
mod crew;
mod make;
mod read;
#[cfg(test)]
pub(in crate::reason) mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::agent::{Agent, Agents};
use super::refusal;

use board::{Board, Note};
pub(in crate::reason) use make::who;

/// Times that a refused plan is made again.
pub(crate) const AGAIN: usize = 2;
/// Longest text of a plan, in bytes.
const BYTES: usize = 256 << 10;
/// Longest goal, in characters.
const GOAL: usize = 4000;
/// Most inputs of a task.
const INPUTS: usize = 32;
/// Most refusals of one plan: a model mends no more at once.
const MOST: usize = 64;
/// Longest id of a task and longest name of an input, in bytes.
const NAME: usize = 64;

/// A graph of tasks. One that [`Plan::read`] gave has been read only; [`Plan::check`] tells whether it
/// can be run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// In the order in which the model wrote them.
    pub(crate) tasks: Vec<Task>,
    /// Id of the task whose result is the answer.
    pub(crate) answer: String,
}

/// One task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Task {
    /// Its id.
    pub(crate) id: String,
    /// The agent that works on it.
    pub(crate) agent: String,
    /// What it is to find out or to do; `{name}` stands for an input.
    pub(crate) goal: String,
    /// Ids of the tasks that must have ended before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) needs: Vec<String>,
    /// What it gets from the results of tasks that it needs, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) inputs: BTreeMap<String, Input>,
    /// The only tools, out of those of its agent; `None` for all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tools: Option<Vec<String>>,
    /// What it has to give.
    #[serde(default, skip_serializing_if = "Output::is_open")]
    pub(crate) output: Output,
}

/// A value out of the result of another task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Input {
    /// Id of the task.
    pub(crate) from: String,
    /// JSON Pointer into its result; empty for the whole.
    #[serde(default)]
    pub(crate) place: String,
}

/// What a task has to give.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Output {
    /// JSON Schema of its result; `None` for any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) schema: Option<Value>,
    /// Names of the claims that its messages have to state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) claims: Vec<String>,
    /// The scope that its messages have, such as `quarter` = `2026-Q4`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) scope: BTreeMap<String, String>,
}

impl Output {
    fn is_open(&self) -> bool {
        *self == Self::default()
    }
}

/// Why a plan is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum Reason {
    /// The text is no JSON object, or too long.
    Unreadable,
    /// A member is missing, of the wrong type, or none that a plan has.
    BadShape,
    /// There is no task.
    NoTasks,
    /// There are more tasks than the orchestrator may plan.
    TooManyTasks,
    /// An id or the name of an input is no name.
    BadName,
    /// Two tasks have one id.
    DuplicateId,
    /// A task has no goal.
    EmptyGoal,
    /// A goal is too long.
    LongGoal,
    /// There is no such agent.
    UnknownAgent,
    /// The agent is none that this orchestrator gives tasks to.
    AgentNotAllowed,
    /// There is no such tool.
    UnknownTool,
    /// The agent does not have the tool.
    ToolNotAllowed,
    /// A task needs one that is not in the plan.
    MissingDependency,
    /// Tasks wait for each other.
    Cycle,
    /// The answer does not depend on the task.
    UnreachableTask,
    /// `answer` names no task.
    UnknownAnswer,
    /// An input comes from a task that is not needed, or a goal names an input that is not there.
    UnboundInput,
    /// A place is no JSON Pointer, or not in what the other task gives.
    BadPlace,
    /// The schema of an output cannot be used.
    BadSchema,
    /// The orchestrator declares no such claim.
    UnknownClaim,
}

impl Reason {
    /// Every reason.
    #[cfg(test)]
    pub(crate) const ALL: [Self; 20] = [
        Self::Unreadable,
        Self::BadShape,
        Self::NoTasks,
        Self::TooManyTasks,
        Self::BadName,
        Self::DuplicateId,
        Self::EmptyGoal,
        Self::LongGoal,
        Self::UnknownAgent,
        Self::AgentNotAllowed,
        Self::UnknownTool,
        Self::ToolNotAllowed,
        Self::MissingDependency,
        Self::Cycle,
        Self::UnreachableTask,
        Self::UnknownAnswer,
        Self::UnboundInput,
        Self::BadPlace,
        Self::BadSchema,
        Self::UnknownClaim,
    ];

    /// The code as it stands in records.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Unreadable => "UNREADABLE",
            Self::BadShape => "BAD_SHAPE",
            Self::NoTasks => "NO_TASKS",
            Self::TooManyTasks => "TOO_MANY_TASKS",
            Self::BadName => "BAD_NAME",
            Self::DuplicateId => "DUPLICATE_ID",
            Self::EmptyGoal => "EMPTY_GOAL",
            Self::LongGoal => "LONG_GOAL",
            Self::UnknownAgent => "UNKNOWN_AGENT",
            Self::AgentNotAllowed => "AGENT_NOT_ALLOWED",
            Self::UnknownTool => "UNKNOWN_TOOL",
            Self::ToolNotAllowed => "TOOL_NOT_ALLOWED",
            Self::MissingDependency => "MISSING_DEPENDENCY",
            Self::Cycle => "CYCLE",
            Self::UnreachableTask => "UNREACHABLE_TASK",
            Self::UnknownAnswer => "UNKNOWN_ANSWER",
            Self::UnboundInput => "UNBOUND_INPUT",
            Self::BadPlace => "BAD_PLACE",
            Self::BadSchema => "BAD_SCHEMA",
            Self::UnknownClaim => "UNKNOWN_CLAIM",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a plan is refused, and where.
pub(crate) type Refusal = refusal::Refusal<Reason>;

/// What a plan is checked against.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Staff<'s> {
    /// All agents.
    pub(crate) agents: &'s Agents,
    /// The orchestrator that plans.
    pub(crate) lead: &'s Agent,
    /// The tools that the caller of the run may see.
    pub(crate) tools: &'s BTreeSet<String>,
}

impl Plan {
    /// Reads what a model wrote. Notations that lose nothing are read as JSON.
    pub(crate) fn read(text: &str) -> Result<Self, Vec<Refusal>> {
        read::read(text)
    }

    /// All that is wrong with the plan; nothing for one that can be run.
    pub(crate) fn check(&self, staff: Staff<'_>) -> Vec<Refusal> {
        check::check(self, staff)
    }

    /// A task by its id.
    pub(crate) fn task(&self, id: &str) -> Option<&Task> {
        self.tasks.iter().find(|task| task.id == id)
    }
}
