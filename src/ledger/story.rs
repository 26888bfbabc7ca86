//! The story of one call, told from its record: each stage in its order with its time, the one that
//! is responsible for a failure, and what to do about it. Reads nothing but the record.

mod facts;
mod mend;

use serde::Serialize;
use serde_json::Value;

use super::record::Entry;
use super::shown_reply;
use crate::call::Code;

/// How a stage ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// The call went on.
    Passed,
    /// The call ended here, or because of what happened here.
    Responsible,
    /// The call did not come here.
    NotReached,
}

/// One stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Step {
    /// Its name.
    pub stage: &'static str,
    /// How it ended.
    pub mark: Mark,
    /// Time spent in it, in microseconds, where that is known.
    pub took_us: Option<u64>,
    /// What happened, one fact a line.
    pub facts: Vec<String>,
}

/// One call from its arrival to its reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Story {
    /// Place in the chain.
    pub seq: u64,
    /// Id of the call.
    pub call_id: String,
    /// Name of the tool.
    pub tool: String,
    /// Code of the reply; `SUCCESS` for a good one.
    pub code: String,
    /// The whole time in microseconds.
    pub took_us: Option<u64>,
    /// The stages.
    pub steps: Vec<Step>,
    /// The stage that is responsible for a failure.
    pub responsible: Option<&'static str>,
    /// The error as the caller read it, masked; empty for a success.
    pub message: String,
    /// What to do, in one line; empty for a success.
    pub mend: String,
}

/// Names of the stages in their order, and the latencies they go by.
const STAGES: [(&str, &str); 11] = [
    ("received", ""),
    ("admit", "admit"),
    ("resolve", "resolve"),
    ("check", "check"),
    ("authorize", "authorize"),
    ("replies", ""),
    ("queue", "queue"),
    ("sandbox", "sandbox"),
    ("tool", "tool"),
    ("egress", ""),
    ("shape", "normalize"),
];

/// Tells the story of a record that was read with its reply.
pub fn tell(entry: &Entry) -> Story {
    let case = Case::new(entry);
    let code = entry.code.as_deref().and_then(known);
    let responsible = entry.code.as_ref().map(|_| case.responsible(code));
    let step = |(stage, latency): (&'static str, &str)| {
        let took_us = case.number(&format!("/latency_us/{latency}"));
        let reached = case.reached(stage, took_us);
        let mark = match responsible {
            Some(guilty) if guilty == stage => Mark::Responsible,
            _ if reached => Mark::Passed,
            _ => Mark::NotReached,
        };
        let facts = if mark == Mark::NotReached { Vec::new() } else { case.facts(stage) };
        Step { stage, mark, took_us, facts }
    };
    Story {
        seq: entry.seq,
        call_id: entry.call_id.clone(),
        tool: entry.tool.clone(),
        code: entry.code.clone().unwrap_or_else(|| "SUCCESS".to_owned()),
        took_us: case.number("/latency_us/total"),
        steps: STAGES.into_iter().map(step).collect(),
        responsible,
        message: case.reply_text("/error/message"),
        mend: if entry.code.is_some() { case.mend(code) } else { String::new() },
    }
}

fn known(code: &str) -> Option<Code> {
    Code::ALL.into_iter().find(|known| known.as_str() == code)
}

struct Case<'e> {
    entry: &'e Entry,
    reply: Value,
}

impl<'e> Case<'e> {
    fn new(entry: &'e Entry) -> Self {
        Self { entry, reply: shown_reply(entry) }
    }

    fn fact(&self, pointer: &str) -> Option<&'e Value> {
        self.entry.facts.pointer(pointer).filter(|value| !value.is_null())
    }

    fn number(&self, pointer: &str) -> Option<u64> {
        self.fact(pointer)?.as_u64()
    }

    fn text(&self, pointer: &str) -> &'e str {
        self.fact(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    fn list(&self, pointer: &str) -> &'e [Value] {
        self.fact(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    fn names(&self, pointer: &str) -> String {
        let names = self.list(pointer).iter().filter_map(Value::as_str);
        names.collect::<Vec<_>>().join(", ")
    }

    fn reply_text(&self, pointer: &str) -> String {
        self.reply.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    fn has_run(&self) -> bool {
        self.fact("/run").is_some()
    }

    fn reached(&self, stage: &str, took_us: Option<u64>) -> bool {
        match stage {
            "received" => true,
            // Before the daemon noted each stage, the time alone tells.
            "replies" => self.cached() || self.handed_over() || self.has_run(),
            "queue" => self.handed_over() || self.has_run(),
            "egress" => !self.list("/run/egress").is_empty(),
            _ => took_us.is_some(),
        }
    }

    fn cached(&self) -> bool {
        self.fact("/cache_hit") == Some(&Value::Bool(true))
    }

    fn handed_over(&self) -> bool {
        self.fact("/handed_over") == Some(&Value::Bool(true))
    }

    /// Where a call was that ended from outside.
    fn last_stage(&self) -> &'static str {
        let timed = |stage: &str| self.fact(&format!("/latency_us/{stage}")).is_some();
        if self.has_run() {
            "tool"
        } else if self.handed_over() {
            "queue"
        } else if timed("authorize") {
            "replies"
        } else if timed("check") {
            "check"
        } else if timed("resolve") {
            "resolve"
        } else {
            "admit"
        }
    }

    fn responsible(&self, code: Option<Code>) -> &'static str {
        match code {
            Some(Code::RateLimited | Code::Draining) => "admit",
            Some(Code::UnknownTool) => "resolve",
            Some(Code::SchemaValidationError) => "check",
            Some(Code::PolicyDenied | Code::ApprovalRequired | Code::ApprovalRejected) => {
                "authorize"
            }
            Some(Code::DuplicateCall) => "replies",
            Some(Code::SandboxUnavailable) if self.has_run() => "sandbox",
            Some(Code::SandboxUnavailable) => "queue",
            Some(Code::EgressDenied) => "egress",
            Some(Code::OutputSchemaError) => "shape",
            Some(
                Code::ToolTimeout
                | Code::ToolOutOfMemory
                | Code::ProcessLimit
                | Code::OutputLimit
                | Code::DiskLimit
                | Code::ExecutionError
                | Code::UpstreamError,
            ) => "tool",
            Some(
                Code::Cancelled
                | Code::DeadlineExceeded
                | Code::LedgerUnavailable
                | Code::Skipped
                | Code::Internal,
            )
            | None => self.last_stage(),
        }
    }
}
