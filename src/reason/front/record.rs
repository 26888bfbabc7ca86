//! The ledger's record of one run that was asked for: ids and digests, and texts only as far as they are
//! masked. What the run then does has records of its own.

use std::time::Instant;

use jiff::Timestamp;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Front, Unserved};
use crate::call::{CallId, Code};
use crate::ledger::{self, Latencies, REASON, Record};
use crate::mask;
use crate::policy::Decision;
use crate::reason::{Asked, Error, RunId, Visitor};
use crate::telemetry;

/// Bytes of the question that a record shows.
const SHOWN: usize = 512;

/// What the record says of a question.
pub(super) fn told(asked: &Asked) -> Value {
    let question = mask::text(&asked.question);
    let shown = question.get(..question.floor_char_boundary(SHOWN)).unwrap_or_default();
    // What is masked cannot be guessed from the digest.
    let digest = hex::encode(Sha256::digest(question.as_bytes()));
    json!({
        "question": shown, "digest": digest, "agent": asked.agent, "limits": asked.limits,
        "conversation": mask::text(&asked.conversation), "as_of": asked.as_of,
        "previous": asked.previous, "collections": asked.collections,
    })
}

impl Front {
    pub(super) async fn record(
        &self,
        visitor: &Visitor,
        received: Instant,
        (decision, told, begun): (Option<&Decision>, &Value, Result<&RunId, &Unserved>),
    ) -> Result<(), ledger::Error> {
        let (call_id, tool) = (CallId::generate().to_string(), format!("{REASON}run"));
        let code = begun.err().map(code);
        let error = begun.err().map(|error| {
            let message = error.to_string();
            json!({
                "code": code, "message": mask::text(&message), "details": null,
                "retryable": false,
            })
        });
        let status = if code.is_some() { "error" } else { "success" };
        let reply = json!({
            "tool_name": tool, "status": status, "data": begun.ok().map(|run| json!({ "run": run })),
            "error": error, "metadata": { "call_id": call_id },
        });
        let (caller, now) = (&visitor.caller, Timestamp::now());
        let record = Record {
            call_id,
            received: now.checked_sub(received.elapsed()).unwrap_or(now),
            caller: caller.name.clone(),
            tenant: caller.tenant.clone(),
            roles: caller.roles.clone(),
            proof: visitor.proof.clone(),
            policy_version: decision.map(|said| said.version.clone()).unwrap_or_default(),
            tool_name: tool,
            arguments_json: told.to_string(),
            decision: decision.cloned(),
            code,
            latencies: Latencies { total: Some(received.elapsed()), ..Latencies::default() },
            trace_id: Some(telemetry::trace_id()).filter(|id| !id.is_empty()),
            ..Record::default()
        };
        metrics::counter!("switchboard_reason_requests_total", "outcome" => status).increment(1);
        self.ledger().record(record, &reply.to_string()).await.map(drop)
    }
}

/// The code of the record.
fn code(error: &Unserved) -> Code {
    match error {
        Unserved::Denied(_) | Unserved::Run(Error::Unknown(_) | Error::Agent(_)) => {
            Code::PolicyDenied
        }
        Unserved::Run(Error::Argument { .. } | Error::State { .. }) => Code::SchemaValidationError,
        Unserved::Run(Error::Busy { .. }) => Code::RateLimited,
        Unserved::Run(Error::Draining) => Code::Draining,
        Unserved::Unavailable(_) | Unserved::Unrecorded(_) | Unserved::Run(_) => Code::Internal,
    }
}
