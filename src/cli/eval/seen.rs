//! What came of a question: how its run ended, what the ledger says was called, what the model was told.
//! Judges nothing.

use serde_json::Value;

use super::player::Heard;
use super::suite::Ended;
use crate::cli::Failed;
use crate::ledger::{Entry, Ledger, Query};

/// Records of one page of the ledger.
const PAGE: u32 = 1000;

/// What came of one question.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// The run's id; empty where none was begun.
    pub(super) run: String,
    /// How it ended; `None` where it was cut off.
    pub(super) ended: Option<Ended>,
    /// Code and message of a failure; the limit of a partial answer.
    pub(super) why: String,
    /// The answer, in part or whole.
    pub(super) answer: String,
    /// What was decided: value, rule, and whether the comparison holds where the trace says so.
    pub(super) decision: Option<(String, String, Option<bool>)>,
    /// Source ids of units, and names of tools, that the answer cites.
    pub(super) cites: Vec<String>,
    /// Kinds of the steps of its trace.
    pub(super) steps: Vec<String>,
    /// What speaks against its trace.
    pub(super) refusals: Vec<String>,
    /// Its calls by the ledger, in their order, refused ones too.
    pub(super) calls: Vec<Ran>,
    /// What the model was told; `None` where the daemon asked its own models.
    pub(super) heard: Option<Heard>,
    /// Tokens of all models.
    pub(super) tokens: u64,
    /// From the question to the end.
    pub(super) millis: u64,
}

/// One call by the ledger.
#[derive(Debug, Clone, Default)]
pub(super) struct Ran {
    /// Its id.
    pub(super) call_id: String,
    /// The tool.
    pub(super) tool: String,
    /// The arguments as they came, masked; JSON where they are.
    pub(super) arguments: Value,
    /// `SUCCESS`, or the code of the error.
    pub(super) code: String,
    /// Whether it came to its tool, or was answered as if it had.
    pub(super) executed: bool,
    /// Hosts that it was connected to.
    pub(super) hosts: Vec<String>,
}

impl From<&Entry> for Ran {
    fn from(entry: &Entry) -> Self {
        let success = entry.status == "success";
        let handed = entry.facts.get("handed_over") == Some(&Value::Bool(true));
        let attempts = entry.facts.pointer("/run/egress").and_then(Value::as_array);
        let reached = attempts.into_iter().flatten().filter(|one| {
            one.get("allowed") == Some(&Value::Bool(true)) && !one["address"].is_null()
        });
        Self {
            call_id: entry.call_id.clone(),
            tool: entry.tool.clone(),
            arguments: serde_json::from_str(&entry.arguments)
                .unwrap_or_else(|_not_json| Value::from(entry.arguments.clone())),
            code: match success {
                true => "SUCCESS".to_owned(),
                false => entry.code.clone().unwrap_or_default(),
            },
            executed: handed || success,
            hosts: reached
                .filter_map(|one| one.get("host").and_then(Value::as_str))
                .map(str::to_owned)
                .collect(),
        }
    }
}

/// The calls of a run, in their order. What the memory was asked is none.
pub(super) async fn calls(ledger: &Ledger, run: &str) -> Result<Vec<Ran>, Failed> {
    let (mut found, mut before_seq) = (Vec::new(), None);
    loop {
        let query = Query {
            conversation: Some(run.to_owned()),
            limit: Some(PAGE),
            before_seq,
            ..Query::default()
        };
        let page = ledger.search(query).await.map_err(Failed::answer)?;
        before_seq = page.last().map(|entry| entry.seq);
        let tools = page.iter().filter(|entry| !entry.is_memory() && !entry.is_decision());
        found.extend(tools.map(Ran::from));
        if page.len() < usize::try_from(PAGE).unwrap_or(usize::MAX) {
            found.reverse();
            return Ok(found);
        }
    }
}
