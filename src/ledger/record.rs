//! What is kept of one call: [`Record`] as the pipeline fills it, the row that is stored, and
//! [`Entry`] as it is read again. Nothing is written here.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::keeping::{Keeping, Kept};
use super::{Error, reply};
use crate::call::{Code, FileFacts, Member, Session, Taint};
use crate::catalog::{Limits, Tool};
use crate::mask;
use crate::policy::{Decision, Flip};
use crate::sandbox::{EgressAttempt, End, Killer, Outcome, PoolUse};
use crate::schema::Change;

/// Hash of a record, and of the one before it.
pub(super) type Hash = [u8; 32];

/// All that is known of one call when its reply is ready. What a call never came to stays empty.
#[derive(Debug, Clone, Default)]
pub struct Record {
    /// Id of the call.
    pub call_id: String,
    /// When the call arrived.
    pub received: Timestamp,
    /// Name of the caller.
    pub caller: String,
    /// Tenant of the caller.
    pub tenant: String,
    /// Roles of the caller.
    pub roles: Vec<String>,
    /// How the caller proved who it is, in words.
    pub proof: String,
    /// Digest of the catalog that was in force; empty when the call was not admitted.
    pub catalog_digest: String,
    /// Digest of the policy set that was in force; empty when the call was not admitted.
    pub policy_version: String,
    /// Conversation that the caller named.
    pub conversation: String,
    /// What that conversation had come to when the call was decided; `None` without one.
    pub session: Option<Session>,
    /// What the reply brought into it.
    pub taint: BTreeSet<Taint>,
    /// Name as it stands in the reply.
    pub tool_name: String,
    /// The tool, when there is one by that name.
    pub tool: Option<Arc<Tool>>,
    /// The tool whose schemas say what to mask, for a call that was refused before it came to one.
    pub masked_by: Option<Arc<Tool>>,
    /// Arguments as they came; sensitive parts are masked before they are stored.
    pub arguments_json: String,
    /// Why it was not to run whatever its arguments are; `None` where that was for the rooms to say.
    pub withheld: Option<String>,
    /// Files that the call brought.
    pub files_in: Vec<FileFacts>,
    /// Files that the reply carried.
    pub files_out: Vec<FileFacts>,
    /// Digest of the canonical arguments that ran.
    pub arguments_digest: Option<String>,
    /// Repairs of the arguments.
    pub repairs: Vec<Change>,
    /// What policy said, when it was asked; a denial too.
    pub decision: Option<Decision>,
    /// What the candidate policy set says, when that is something else.
    pub shadow: Option<Flip>,
    /// Whether the call was handed to the sandbox, from where on its tool may have run.
    pub handed_over: bool,
    /// What happened in the sandbox, when the call came so far.
    pub run: Option<Run>,
    /// Whether the result was served again.
    pub cache_hit: bool,
    /// Code of the reply; `None` for a success.
    pub code: Option<Code>,
    /// Time spent in each stage.
    pub latencies: Latencies,
    /// W3C trace id, when the call is traced.
    pub trace_id: Option<String>,
    /// The call's place in a batch.
    pub member: Option<Member>,
}

/// Time spent in each stage; `None` for a stage that the call did not come to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is named as its stage")]
pub struct Latencies {
    pub admit: Option<Duration>,
    pub resolve: Option<Duration>,
    pub check: Option<Duration>,
    pub authorize: Option<Duration>,
    pub approval: Option<Duration>,
    pub queue: Option<Duration>,
    pub sandbox: Option<Duration>,
    pub tool: Option<Duration>,
    pub normalize: Option<Duration>,
    pub total: Option<Duration>,
}

/// What happened in the sandbox.
#[derive(Debug, Clone)]
pub struct Run {
    /// The verdict.
    pub end: End,
    /// Who ended the tool; `None` when it ended by itself.
    pub killed: Option<Killer>,
    /// Id of the image.
    pub image_digest: String,
    /// Id of the container.
    pub container: String,
    /// Limits that were enforced.
    pub limits: Limits,
    /// Attempts to connect.
    pub egress: Vec<EgressAttempt>,
    /// Whether a container was waiting.
    pub pool: PoolUse,
    /// Bytes of standard output and of standard error.
    pub output_bytes: (u64, u64),
    /// Processes killed for want of memory.
    pub oom_kills: u64,
    /// Processor time.
    pub cpu: Duration,
    /// Peak resident memory in bytes.
    pub peak_memory: u64,
}

impl From<&Outcome> for Run {
    fn from(outcome: &Outcome) -> Self {
        Self {
            end: outcome.end.clone(),
            killed: outcome.killed,
            image_digest: outcome.image_digest.clone(),
            container: outcome.container.clone(),
            limits: outcome.limits,
            egress: outcome.egress.clone(),
            pool: outcome.pool,
            output_bytes: (outcome.stdout_bytes, outcome.stderr_bytes),
            oom_kills: outcome.oom_kills,
            cpu: outcome.cpu,
            peak_memory: outcome.peak_memory,
        }
    }
}

/// One record as it is read again.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry {
    /// Place in the chain, counted from 1 without gaps.
    pub seq: u64,
    /// Id of the call.
    pub call_id: String,
    /// When the call arrived.
    pub received: Timestamp,
    /// Name of the caller.
    pub caller: String,
    /// Tenant of the caller.
    pub tenant: String,
    /// Conversation that the caller named.
    pub conversation: String,
    /// Name of the tool.
    pub tool: String,
    /// `success` or `error`.
    pub status: String,
    /// Code of an error.
    pub code: Option<String>,
    /// Arguments as they came, sensitive parts masked, cut at the configured length.
    pub arguments: String,
    /// Everything else: `roles` and `proof` of the caller, `catalog_digest`, `policy_version`,
    /// `tool_digest`, `arguments_digest`, `arguments_bytes`, `repairs`,
    /// `files_in` and `files_out` (name, media type, bytes, SHA-256), `decision`, `handed_over`,
    /// `run`, `cache_hit`, `latency_us`, `trace_id`, `session` (calls and taint of the conversation when
    /// the call was decided) and `taint` (what the reply brought into it). `shadow` (from, outcome,
    /// policies, version) is there only when a candidate policy set decides otherwise; `batch` (id, name,
    /// refers) only of a call in a batch, whose arguments are those with the results that it refers
    /// to; `withheld`, why the call was not to run whatever its arguments are, only of such a call; and
    /// `masked`, the places of the reply that every view of it masks, only where there are any.
    pub facts: Value,
    /// Length of the reply.
    pub reply_bytes: u64,
    /// SHA-256 of the reply, in hex.
    pub reply_digest: String,
    /// The reply, byte for byte as the caller got it, but that sensitive arguments that it repeats (in
    /// repairs, and in the message of a SCHEMA_VALIDATION_ERROR) are masked; not filled by a search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_json: Option<String>,
    /// SHA-256 over this record and the hash of the one before, in hex.
    pub hash: String,
}

/// What a person's decision on an approval is recorded as; no tool can have this name.
pub const DECISION: &str = "approval:decide";

/// How the names begin under which requests to the memory are recorded; no tool can be called so.
pub const MEMORY: &str = "memory:";

/// How the names begin under which questions to the reasoning are recorded; no tool can be called so.
pub const REASON: &str = "reason:";

impl Entry {
    /// The texts of a list among the facts; none where there is no such list.
    pub fn texts(&self, pointer: &str) -> Vec<String> {
        let list = self.facts.pointer(pointer).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// Whether it is of a request to the memory, and no call of a tool.
    pub fn is_memory(&self) -> bool {
        self.tool.starts_with(MEMORY) && self.facts.get("decision").is_some_and(Value::is_object)
    }

    /// Whether it is of a question to the reasoning, and no call of a tool.
    pub fn is_reason(&self) -> bool {
        self.tool.starts_with(REASON) && self.facts.get("decision").is_some_and(Value::is_object)
    }

    /// Whether it is a person's decision on an approval, and no call of a tool.
    pub fn is_decision(&self) -> bool {
        // A caller who names a tool so gets no decision.
        self.tool == DECISION && self.facts.get("decision").is_some_and(Value::is_object)
    }
}

/// One record as it is stored, without its place in the chain.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) call_id: String,
    pub(super) time_ms: i64,
    pub(super) caller: String,
    pub(super) tenant: String,
    pub(super) conversation: String,
    pub(super) tool: String,
    pub(super) status: String,
    pub(super) code: Option<String>,
    pub(super) arguments: String,
    pub(super) facts: String,
    pub(super) reply: Vec<u8>,
    pub(super) reply_digest: Hash,
    /// The arguments as they came, sealed; stored beside the record.
    pub(super) original: Option<Vec<u8>>,
}

impl Row {
    /// Masks, cuts and digests.
    pub(super) fn of_record(
        record: Record,
        reply_json: String,
        keeping: &Keeping,
    ) -> Result<Self, Error> {
        let Kept { arguments, repairs, original, reply, places } =
            keeping.texts(&record, reply_json)?;
        let mut facts = json!({
            "roles": record.roles,
            "proof": record.proof,
            "catalog_digest": Some(record.catalog_digest).filter(|digest| !digest.is_empty()),
            "policy_version": Some(record.policy_version).filter(|version| !version.is_empty()),
            "tool_digest": record.tool.as_ref().map(|tool| &tool.digest),
            "arguments_digest": record.arguments_digest,
            "arguments_bytes": record.arguments_json.len(),
            "repairs": repairs,
            "files_in": masked(json!(record.files_in), "name"),
            "files_out": masked(json!(record.files_out), "name"),
            "decision": record.decision.map(|decision| json!({
                "outcome": decision.ruling.as_str(), "policies": decision.policies,
                "version": decision.version, "approval": decision.approval,
            })),
            "handed_over": record.handed_over,
            "run": record.run.as_ref().map(Run::to_json),
            "cache_hit": record.cache_hit,
            "latency_us": record.latencies.to_json(),
            "trace_id": record.trace_id,
            "session": record.session,
            "taint": record.taint,
        });
        let some = [
            ("shadow", record.shadow.map(|flip| json!(flip))),
            ("batch", record.member.map(|member| json!(member))),
            ("withheld", record.withheld.map(Value::from)),
            (reply::PLACES, (!places.is_empty()).then(|| json!(places))),
        ];
        if let Value::Object(facts) = &mut facts {
            let some = some.into_iter().filter_map(|(name, fact)| Some((name.to_owned(), fact?)));
            facts.extend(some);
        }
        Ok(Self {
            call_id: record.call_id,
            time_ms: record.received.as_millisecond(),
            caller: record.caller,
            tenant: record.tenant,
            conversation: record.conversation,
            tool: match record.tool {
                Some(_) => record.tool_name,
                // It may be anything.
                None => mask::text(&record.tool_name).into_owned(),
            },
            status: record.code.map_or("success", |_| "error").to_owned(),
            code: record.code.map(|code| code.as_str().to_owned()),
            arguments,
            facts: facts.to_string(),
            reply_digest: Sha256::digest(&reply).into(),
            reply: reply.into_bytes(),
            original,
        })
    }

    /// Bytes that the row holds, roughly.
    pub(super) fn size(&self) -> usize {
        let original = self.original.as_ref().map_or(0, Vec::len);
        self.reply.len()
            + self.arguments.len()
            + self.facts.len()
            + self.tool.len()
            + original
            + 256
    }

    /// What of the row its hash is made of.
    pub(super) fn parts(&self) -> Parts<'_> {
        let code = self.code.as_deref().unwrap_or_default();
        let texts = [
            &self.call_id,
            &self.caller,
            &self.tenant,
            &self.conversation,
            &self.tool,
            &self.status,
            code,
            &self.arguments,
            &self.facts,
        ];
        Parts {
            time_ms: self.time_ms,
            texts: texts.map(str::as_bytes),
            reply_digest: &self.reply_digest,
        }
    }
}

/// What the hash of a record is made of, as the bytes that are stored.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parts<'a> {
    pub(super) time_ms: i64,
    /// The columns [`TEXTS`].
    pub(super) texts: [&'a [u8]; 9],
    /// The reply counts by its digest.
    pub(super) reply_digest: &'a [u8],
}

/// Names of the columns that are hashed as text, in their order.
pub(super) const TEXTS: [&str; 9] =
    ["call_id", "caller", "tenant", "conversation", "tool", "status", "code", "arguments", "facts"];

impl Parts<'_> {
    /// Hash of a record at its place in the chain.
    pub(super) fn link(&self, previous: &Hash, seq: i64) -> Hash {
        let mut digest = Sha256::new();
        digest.update(previous);
        digest.update(seq.to_be_bytes());
        digest.update(self.time_ms.to_be_bytes());
        for text in self.texts {
            digest.update(text.len().to_be_bytes());
            digest.update(text);
        }
        digest.update(self.reply_digest);
        digest.finalize().into()
    }
}

impl Run {
    fn to_json(&self) -> Value {
        let limits = &self.limits;
        json!({
            "exit": mask::text(&cause(&self.end)),
            "killed_by": self.killed,
            "image_digest": self.image_digest,
            "container": self.container,
            "pool": self.pool,
            "limits": {
                "wall_us": micros(limits.wall), "memory": limits.memory,
                "cpu_millis": limits.cpu_millis, "processes": limits.processes,
                "output": limits.output, "disk": limits.disk, "inodes": limits.inodes,
                "open_files": limits.open_files,
            },
            "egress": masked(masked(json!(self.egress), "host"), "reason"),
            "stdout_bytes": self.output_bytes.0,
            "stderr_bytes": self.output_bytes.1,
            "oom_kills": self.oom_kills,
            "cpu_us": micros(self.cpu),
            "peak_memory": self.peak_memory,
        })
    }
}

impl Latencies {
    fn to_json(self) -> Value {
        let stages = [
            ("admit", self.admit),
            ("resolve", self.resolve),
            ("check", self.check),
            ("authorize", self.authorize),
            ("approval", self.approval),
            ("queue", self.queue),
            ("sandbox", self.sandbox),
            ("tool", self.tool),
            ("normalize", self.normalize),
            ("total", self.total),
        ];
        stages
            .into_iter()
            .filter_map(|(stage, time)| Some((stage.to_owned(), micros(time?).into())))
            .collect::<serde_json::Map<_, _>>()
            .into()
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// A list of facts, with what looks sensitive in the texts of this name masked.
fn masked(mut list: Value, name: &str) -> Value {
    for fact in list.as_array_mut().into_iter().flatten() {
        if let Some(Value::String(text)) = fact.get_mut(name) {
            *text = mask::text(text).into_owned();
        }
    }
    list
}

/// The verdict in words.
fn cause(end: &End) -> String {
    match end {
        End::Exited(code) => format!("exited {code}"),
        End::Signaled(signal) => format!("signal {signal}"),
        End::NotStarted(reason) => format!("not started: {reason}"),
        End::Timeout => "timeout".to_owned(),
        End::OutOfMemory => "out of memory".to_owned(),
        End::ProcessLimit => "process limit".to_owned(),
        End::OutputLimit => "output limit".to_owned(),
        End::DiskLimit => "disk limit".to_owned(),
        End::Cancelled => "cancelled".to_owned(),
        End::Lost(reason) => format!("lost: {reason}"),
    }
}
