//! The story of one call, told from its record: each stage in its order with its time, the one that
//! is responsible for a failure, and what to do about it. Reads nothing but the record.

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
                Code::Cancelled | Code::DeadlineExceeded | Code::LedgerUnavailable | Code::Internal,
            )
            | None => self.last_stage(),
        }
    }

    fn facts(&self, stage: &str) -> Vec<String> {
        let lines = match stage {
            "received" => self.received(),
            "admit" => self.admitted(),
            "resolve" => vec![
                labelled("tool", &self.entry.tool),
                labelled("tool digest", self.text("/tool_digest")),
                labelled("catalog digest", self.text("/catalog_digest")),
            ],
            "check" => self.checked(),
            "authorize" => self.authorized(),
            "replies" => self.replied(),
            "queue" => vec![labelled(
                "container",
                match self.text("/run/pool") {
                    "hit" => "one was ready",
                    "waited" => "one became ready while the call waited",
                    "cold" => "one was made for the call",
                    _ => "the call had none when it ended",
                },
            )],
            "sandbox" => self.sandboxed(),
            "tool" => self.ran(),
            "egress" => self.list("/run/egress").iter().map(attempt).collect(),
            _ => self.shaped(),
        };
        lines.into_iter().filter(|line| !line.is_empty()).collect()
    }

    fn received(&self) -> Vec<String> {
        let bytes = self.number("/arguments_bytes").unwrap_or(0);
        let files = self.list("/files_in").len();
        let mut first = format!("at {}, {bytes} bytes of arguments", self.entry.received);
        if files > 0 {
            first.push_str(&format!(", {files} files"));
        }
        vec![
            first,
            labelled("conversation", &self.entry.conversation),
            labelled("trace", self.text("/trace_id")),
        ]
    }

    fn admitted(&self) -> Vec<String> {
        let Entry { caller, tenant, .. } = self.entry;
        vec![
            format!("as `{caller}` of tenant `{tenant}`"),
            labelled("roles", &self.names("/roles")),
            labelled("by", self.text("/proof")),
        ]
    }

    fn checked(&self) -> Vec<String> {
        let mut lines: Vec<String> = self
            .list("/repairs")
            .iter()
            .map(|repair| {
                let part =
                    |name: &str| repair.get(name).and_then(Value::as_str).unwrap_or_default();
                let (kind, pointer, from, to) =
                    (part("kind"), part("pointer"), part("from"), part("to"));
                format!("repaired ({kind}) {pointer}: {from} to {to}")
            })
            .collect();
        let violations = self.reply.pointer("/error/details/violations");
        for violation in violations.and_then(Value::as_array).into_iter().flatten().take(8) {
            let part = |name: &str| violation.get(name).and_then(Value::as_str).unwrap_or_default();
            lines.push(format!("{}: {}", part("pointer"), part("message")));
        }
        lines.push(labelled("arguments digest", self.text("/arguments_digest")));
        lines
    }

    fn authorized(&self) -> Vec<String> {
        let Some(decision) = self.fact("/decision") else {
            return vec![
                "no decision on the arguments: policy hides this tool from the caller".to_owned(),
                labelled("policies", self.text("/policy_version")),
            ];
        };
        // Records of earlier versions have no outcome.
        let outcome = decision.get("outcome").and_then(Value::as_str).unwrap_or("decided");
        let names = self.names("/decision/policies");
        let by = if names.is_empty() { "no policy permits it" } else { &names };
        vec![format!("{outcome}: {by}"), labelled("policies", self.text("/decision/version"))]
    }

    fn replied(&self) -> Vec<String> {
        let first = self.reply_text("/error/details/first_call_id");
        if !first.is_empty() {
            return vec![format!("the same call was made before: {first}")];
        }
        let age = self.reply.pointer("/metadata/cache_age_ms").filter(|age| !age.is_null());
        vec![match age {
            Some(age) => format!("answered from a result that was {age} ms old"),
            None if self.cached() => "answered with the result of an equal call".to_owned(),
            None => "no earlier result was used".to_owned(),
        }]
    }

    fn sandboxed(&self) -> Vec<String> {
        let limit = |name: &str| self.number(&format!("/run/limits/{name}")).unwrap_or(0);
        vec![
            labelled("image", self.text("/run/image_digest")),
            labelled("container", self.text("/run/container")),
            format!(
                "limits: {} ms, {} MiB memory, {} thousandths of a core, {} processes, {} KiB output, \
                 {} MiB disk",
                limit("wall_us") / 1000,
                limit("memory") >> 20,
                limit("cpu_millis"),
                limit("processes"),
                limit("output") >> 10,
                limit("disk") >> 20,
            ),
        ]
    }

    fn ran(&self) -> Vec<String> {
        let number = |name: &str| self.number(&format!("/run/{name}")).unwrap_or(0);
        let killer = self.text("/run/killed_by");
        let by = if killer.is_empty() { "by itself" } else { killer };
        vec![
            format!("ended: {} ({by})", self.text("/run/exit")),
            format!(
                "used {} ms of processor, {} MiB at most; wrote {} and {} bytes",
                number("cpu_us") / 1000,
                number("peak_memory") >> 20,
                number("stdout_bytes"),
                number("stderr_bytes"),
            ),
        ]
    }

    fn shaped(&self) -> Vec<String> {
        vec![
            format!(
                "{} bytes of reply, digest {}",
                self.entry.reply_bytes, self.entry.reply_digest
            ),
            labelled("files", &self.list("/files_out").len().to_string()),
        ]
    }

    #[expect(clippy::too_many_lines, reason = "a list: one line for each code")]
    fn mend(&self, code: Option<Code>) -> String {
        let Some(code) = code else {
            return "this version does not know the code: use the one that wrote the record"
                .to_owned();
        };
        let tool = &self.entry.tool;
        match code {
            Code::UnknownTool => {
                "`switchboard tools list` shows the tools; mend the name".to_owned()
            }
            Code::SchemaValidationError => {
                format!(
                    "mend the arguments as told; `switchboard tools show {tool}` has the schema"
                )
            }
            Code::PolicyDenied => match self.names("/decision/policies").as_str() {
                "" => "no policy permits it: a reviewer may add one in policies/cedar".to_owned(),
                names => format!("ask the owner of `{names}`, or make another call"),
            },
            Code::ApprovalRequired => {
                "have a person approve the call, then send it again".to_owned()
            }
            Code::ApprovalRejected => "a person said no: do not send it again".to_owned(),
            Code::RateLimited => {
                "wait as long as the reply says, or raise the limit that it names \
                                  ([admission], or the tool's rate)"
                    .to_owned()
            }
            Code::ToolTimeout => format!(
                "give less work to one call, or raise `wall` in the sandbox profile of {tool}"
            ),
            Code::ToolOutOfMemory => format!("raise `memory` in the sandbox profile of {tool}"),
            Code::ProcessLimit => format!("raise `processes` in the sandbox profile of {tool}"),
            Code::OutputLimit => {
                format!("ask for less, or raise `output` in the profile of {tool}")
            }
            Code::DiskLimit => format!("write less, or raise `disk` in the profile of {tool}"),
            Code::EgressDenied => format!(
                "allow the host in `egress` of the profile of {tool}, if it \
                                           is to be reached"
            ),
            Code::ExecutionError => {
                "read what the tool wrote: `switchboard ledger show`".to_owned()
            }
            Code::UpstreamError => "look at the server that the tool asks".to_owned(),
            Code::OutputSchemaError => format!("mend {tool} or its output schema: they disagree"),
            Code::SandboxUnavailable if self.has_run() => {
                "the container went away: look at the engine's log, and check what the tool has \
                 done before sending it again"
                    .to_owned()
            }
            Code::SandboxUnavailable => "`switchboard doctor` looks at the engine; send it again \
                                         later"
                .to_owned(),
            Code::Cancelled => "the caller ended it, or went away".to_owned(),
            Code::DeadlineExceeded => "the caller's deadline was too short for it".to_owned(),
            Code::DuplicateCall => {
                "use the first call's result, or give an idempotency key".to_owned()
            }
            Code::LedgerUnavailable => "free the ledger's disk".to_owned(),
            Code::Draining => "the daemon was shutting down: send it again".to_owned(),
            Code::Internal => {
                "a fault of switchboard: look for the call's id in its log".to_owned()
            }
        }
    }
}

fn labelled(label: &str, value: &str) -> String {
    if value.is_empty() || value == "0" { String::new() } else { format!("{label}: {value}") }
}

fn attempt(attempt: &Value) -> String {
    let text = |name: &str| attempt.get(name).and_then(Value::as_str).unwrap_or_default();
    let number = |name: &str| attempt.get(name).and_then(Value::as_u64).unwrap_or(0);
    let allowed = attempt.get("allowed") == Some(&Value::Bool(true));
    let secrets = attempt.get("secrets").and_then(Value::as_array).into_iter().flatten();
    let secrets = secrets.filter_map(Value::as_str).collect::<Vec<_>>().join(", ");
    let mut line = format!(
        "{}:{} {}",
        text("host"),
        number("port"),
        if allowed { "allowed" } else { "refused" }
    );
    if !text("reason").is_empty() {
        line.push_str(&format!(" ({})", text("reason")));
    }
    if !secrets.is_empty() {
        line.push_str(&format!(", with secrets {secrets}"));
    }
    let (sent, received, took) = (number("sent"), number("received"), number("duration_us"));
    line.push_str(&format!(", {sent} bytes out, {received} in, {} ms", took / 1000));
    line
}
