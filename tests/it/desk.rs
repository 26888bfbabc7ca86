//! A daemon whose agent needs a person's approval, and the people around it.

use std::process::{Command, Output};

use serde_json::{Value, json};
use switchboard::proto::policy::policy_service_client::PolicyServiceClient;
use switchboard::proto::policy::{
    Approval, DecideApprovalRequest, GetApprovalRequest, decide_approval_request::Decision,
};
use switchboard::proto::tools::call_event::Event;
use switchboard::proto::tools::{CallEvent, CallRequest};
use tokio_stream::StreamExt;
use tonic::{Request, Status, Streaming};

use crate::daemon::{BINARY, Daemon, Setup, code, parsed, request, tokens};

const ERASE: &str = r#"
name = "probe.erase"
description = "Erases a record for ever. For tests of approvals."
profile = "probe"
risk = "destructive"

[input_schema]
type = "object"
required = ["id"]
additionalProperties = false

[input_schema.properties]
id = { type = "integer", minimum = 0, description = "Number of the record." }
pin = { type = "string", writeOnly = true, description = "Proof of the one who asks." }

[command]
argv = ["cat"]
stdin = "json"
json_output = true
"#;

/// A daemon with an agent who asks, an approver of the same tenant, and others who are neither.
pub(crate) struct Desk {
    pub(crate) daemon: Daemon,
    tokens: Vec<(&'static str, String)>,
}

impl Desk {
    pub(crate) async fn new() -> Self {
        Self::with("", |setup| setup).await
    }

    pub(crate) async fn with(config: &str, change: impl FnOnce(Setup) -> Setup) -> Self {
        let setup = change(Setup::new().policy("tools/probe-erase.toml", ERASE));
        let people = [
            ("agent", "acme", "agent"),
            ("boss", "acme", "approver"),
            ("clerk", "acme", "agent"),
            ("stranger", "other", "approver"),
        ];
        let tokens = tokens(setup.folder.path(), &people);
        let config = format!("[admission.identity]\ntokens = \"tokens.toml\"\n{config}");
        Self { daemon: setup.config(&config).start().await, tokens }
    }

    pub(crate) fn token(&self, who: &str) -> &str {
        &self.tokens.iter().find(|(name, _)| *name == who).unwrap().1
    }

    pub(crate) fn by<T>(&self, who: &str, message: T) -> Request<T> {
        let mut request = Request::new(message);
        let value = format!("Bearer {}", self.token(who));
        request.metadata_mut().insert("authorization", value.parse().unwrap());
        request
    }

    pub(crate) async fn call(&self, who: &str, call: CallRequest) -> Value {
        let reply = self.daemon.client().await.call(self.by(who, call)).await;
        parsed(&reply.unwrap().into_inner().reply.unwrap())
    }

    /// The id of the approval that the agent's call is told to wait for.
    pub(crate) async fn asked(&self, call: CallRequest) -> String {
        let reply = self.call("agent", call).await;
        assert_eq!(code(&reply), "APPROVAL_REQUIRED", "{reply}");
        assert_eq!(reply["error"]["details"]["approval_state"], "pending");
        reply["error"]["details"]["approval_id"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn policies(&self) -> PolicyServiceClient<tonic::transport::Channel> {
        PolicyServiceClient::new(self.daemon.channel().await)
    }

    pub(crate) async fn decide(
        &self,
        who: &str,
        id: &str,
        decision: Decision,
    ) -> Result<Approval, Status> {
        let asked = DecideApprovalRequest {
            approval_id: id.to_owned(),
            decision: decision.into(),
            reason: format!("says {who}"),
        };
        let decided = self.policies().await.decide_approval(self.by(who, asked)).await;
        decided.map(tonic::Response::into_inner)
    }

    pub(crate) async fn approve(&self, id: &str) -> Approval {
        self.decide("boss", id, Decision::Approve).await.unwrap()
    }

    pub(crate) async fn get(&self, who: &str, id: &str) -> Result<Approval, Status> {
        let asked = GetApprovalRequest { approval_id: id.to_owned() };
        let found = self.policies().await.get_approval(self.by(who, asked)).await;
        found.map(tonic::Response::into_inner)
    }

    pub(crate) fn cli(&self, who: &str, arguments: &[&str]) -> Output {
        Command::new(BINARY)
            .args(arguments)
            .env("SWITCHBOARD_ENDPOINT", self.daemon.socket())
            .env("SWITCHBOARD_TOKEN", self.token(who))
            .output()
            .unwrap()
    }

    /// Starts a call of the agent that waits for a person, and waits until it does: what comes after
    /// that is in the stream; with the id of the approval.
    pub(crate) async fn waiting(&self, call: CallRequest) -> (Streaming<CallEvent>, String) {
        let waiting = CallRequest { wait_for_approval: true, ..call };
        let stream = self.daemon.client().await.call_stream(self.by("agent", waiting)).await;
        let mut stream = stream.unwrap().into_inner();
        loop {
            if let Some(Event::Waiting(waiting)) = stream.next().await.unwrap().unwrap().event {
                return (stream, waiting.approval_id);
            }
        }
    }

    /// Records, as the command line gives them.
    pub(crate) fn ledger(&self, arguments: &[&str]) -> Vec<Value> {
        let file = self.daemon.folder().join("ledger.db").display().to_string();
        let line = [&["ledger"], arguments, &["--json", "--file", &file]].concat();
        let told = String::from_utf8(self.daemon.cli(&line).stdout).unwrap();
        told.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The record of a call.
    pub(crate) fn record(&self, call_id: &str) -> Value {
        self.ledger(&["show", call_id]).pop().unwrap()
    }
}

/// A call that only a person can permit.
pub(crate) fn erase(id: u32) -> CallRequest {
    request("probe.erase", &json!({ "id": id }).to_string())
}
