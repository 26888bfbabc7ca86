//! The ledger's record of one request to the memory: ids and digests, and texts only as far as they
//! are masked. No answer without it.

use jiff::Timestamp;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Desk, Error, Memory, Visit};
use crate::call::{CallId, Code};
use crate::ledger::{Latencies, MEMORY, Record};
use crate::mask;
use crate::policy::{Decision, Permit, Verb, Wish};
use crate::telemetry;

/// An answer, and where its record is.
#[derive(Debug)]
pub struct Answered<T> {
    /// The record's id in the ledger.
    pub record: String,
    /// The answer.
    pub answer: T,
}

/// What a record says was given out, and why a part of it was not.
#[derive(Debug)]
pub(super) struct Given {
    data: Value,
    refused: Option<(Code, String)>,
}

impl Given {
    /// Something was refused; the code and the reason are the record's own.
    pub(super) const fn refused(data: Value, refused: Option<(Code, String)>) -> Self {
        Self { data, refused }
    }
}

impl From<Value> for Given {
    fn from(data: Value) -> Self {
        Self { data, refused: None }
    }
}

impl Desk {
    /// The open memory and the permit for what is wished; a denial is recorded.
    pub(super) async fn admit(
        &self,
        visit: &Visit,
        wish: &Wish<'_>,
        told: &Value,
    ) -> Result<(Memory, Permit), Error> {
        let (memory, keepers) = (self.memory()?, self.keepers()?);
        match keepers.permit(&visit.caller, wish) {
            Ok(permit) => Ok((memory, permit)),
            Err(refused) => {
                let (verb, decision) = (refused.verb, Some(&refused.decision));
                let error = Error::Denied(refused.clone());
                self.record(visit, (verb, decision), told, failed(&error)).await?;
                Err(error)
            }
        }
    }

    /// Records what came of a request, and hands it on.
    pub(super) async fn finish<T, G: Into<Given>>(
        &self,
        visit: &Visit,
        (permit, told): (&Permit, &Value),
        outcome: Result<T, Error>,
        given: impl FnOnce(&T) -> G,
    ) -> Result<Answered<T>, Error> {
        if let Some(error) = outcome.as_ref().err().and_then(Error::store) {
            self.notice(error);
        }
        let said = match &outcome {
            Ok(answer) => given(answer).into(),
            Err(error) => failed(error),
        };
        let record = self.record(visit, (permit.verb(), permit.decision()), told, said).await?;
        Ok(Answered { record, answer: outcome? })
    }

    async fn record(
        &self,
        visit: &Visit,
        (verb, decision): (Verb, Option<&Decision>),
        told: &Value,
        Given { data, refused }: Given,
    ) -> Result<String, Error> {
        let (call_id, tool) =
            (CallId::generate().to_string(), format!("{MEMORY}{}", verb.as_str()));
        let code = refused.as_ref().map(|(code, _)| *code);
        let error = refused.map(|(code, message)| {
            json!({
                "code": code, "message": mask::text(&message), "details": null, "retryable": false,
            })
        });
        let reply = json!({
            "tool_name": tool, "status": if code.is_some() { "error" } else { "success" },
            "data": data, "error": error, "metadata": { "call_id": call_id },
        });
        let caller = &visit.caller;
        let record = Record {
            call_id: call_id.clone(),
            received: arrival(visit),
            caller: caller.name.clone(),
            tenant: caller.tenant.clone(),
            roles: caller.roles.clone(),
            proof: visit.proof.clone(),
            policy_version: decision.map(|said| said.version.clone()).unwrap_or_default(),
            tool_name: tool,
            arguments_json: told.to_string(),
            decision: decision.cloned(),
            code,
            latencies: Latencies { total: Some(visit.received.elapsed()), ..Latencies::default() },
            trace_id: Some(telemetry::trace_id()).filter(|id| !id.is_empty()),
            ..Record::default()
        };
        let outcome = if code.is_some() { "error" } else { "success" };
        metrics::counter!(
            "switchboard_memory_requests_total", "verb" => verb.as_str(), "outcome" => outcome
        )
        .increment(1);
        metrics::histogram!("switchboard_memory_request_seconds", "verb" => verb.as_str())
            .record(visit.received.elapsed());
        self.inner.place.ledger.record(record, &reply.to_string()).await?;
        Ok(call_id)
    }
}

/// What the record says of a request without an answer.
fn failed(error: &Error) -> Given {
    Given::refused(Value::Null, Some((error.code(), error.to_string())))
}

/// When a visit began, by the clock.
fn arrival(visit: &Visit) -> Timestamp {
    let now = Timestamp::now();
    now.checked_sub(visit.received.elapsed()).unwrap_or(now)
}

/// SHA-256 in hex of a text as the record would show it: what is masked cannot be guessed from it.
pub(super) fn digest(text: &str) -> String {
    hex::encode(Sha256::digest(mask::text(text).as_bytes()))
}
