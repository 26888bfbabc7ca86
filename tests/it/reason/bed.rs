//! A daemon that reasons with a scripted model, and the people who ask it.

use std::process::{Command, Output};
use std::time::Duration;

use serde_json::{Value, json};
use switchboard::proto::policy::policy_service_client::PolicyServiceClient;
use switchboard::proto::policy::{DecideApprovalRequest, decide_approval_request::Decision};
use switchboard::proto::reason::reason_service_client::ReasonServiceClient;
use switchboard::proto::reason::run_event::Event;
use switchboard::proto::reason::{
    GetTraceRequest, Limits, ListRunsRequest, ListRunsResponse, ResumeRequest, RunEvent, RunRequest,
};
use tokio_stream::StreamExt;
use tonic::transport::Channel;
use tonic::{Request, Status, Streaming};
use tonic_types::StatusExt;

use super::forms::Form;
use super::model::{Model, Say, Seen};
use crate::daemon::{BINARY, Daemon, Setup, eventually, lines, tokens};

/// No vectors: what these tests are about does not need them, and the model is not there for all.
const PLAIN: &str = "[admission.identity]\ntokens = \"tokens.toml\"\n\
                     [memory.embedder]\nkind = \"none\"\n";
/// A tool that a person has to approve.
const ERASE: &str = r#"
name = "probe.erase"
description = "Erases a record for ever. For tests of approvals."
profile = "probe"
risk = "destructive"

[input_schema]
type = "object"
required = ["id"]
additionalProperties = false
properties.id = { type = "integer", minimum = 0, description = "Number of the record." }

[command]
argv = ["cat"]
stdin = "json"
json_output = true
"#;

/// An endpoint of the configuration, which is asked once and again at most `retries` times.
pub(crate) fn endpoint(name: &str, model: &Model, form: Form, more: &str) -> String {
    format!(
        "[models.endpoints.{name}]\nprovider = \"{}\"\nurl = \"{}\"\nmodel = \"scripted\"\n{more}\n",
        form.as_str(),
        model.url(form)
    )
}

/// The table of roles, with these endpoints for the reasoner.
pub(crate) fn reasoner(names: &[&str]) -> String {
    format!("[models.roles]\nreasoner = {names:?}\n")
}

pub(crate) struct Bed {
    pub(crate) daemon: Daemon,
    pub(crate) model: Model,
    /// Decides what is needed, where there is one.
    router: Option<Model>,
    tokens: Vec<(&'static str, String)>,
}

impl Bed {
    /// With a model that says what the script makes of each request.
    pub(crate) async fn by(script: impl Fn(&Seen) -> Say + Send + Sync + 'static) -> Self {
        Self::of(Model::start(script).await).await
    }

    /// With this model behind one endpoint, `main`, in OpenAI's form.
    pub(crate) async fn of(model: Model) -> Self {
        let config = endpoint("main", &model, Form::Openai, "") + &reasoner(&["main"]);
        Self::with(model, &config, |setup| setup).await
    }

    /// With this model behind `main`, and a small one that says of every question that it needs neither
    /// memory nor tools.
    pub(crate) async fn chatting(model: Model, more: &str) -> Self {
        Self::chatting_with(model, more, |setup| setup).await
    }

    pub(crate) async fn chatting_with(
        model: Model,
        more: &str,
        change: impl FnOnce(Setup) -> Setup,
    ) -> Self {
        let router = Model::start(|_| Say::json(&json!({ "needs": "none", "query": "" }))).await;
        let config = endpoint("main", &model, Form::Openai, more)
            + &endpoint("small", &router, Form::Openai, "")
            + &reasoner(&["main"])
            + "router = [\"small\"]\n";
        let bed = Self::with(model, &config, change).await;
        Self { router: Some(router), ..bed }
    }

    /// With endpoints and roles of its own.
    pub(crate) async fn with(
        model: Model,
        config: &str,
        change: impl FnOnce(Setup) -> Setup,
    ) -> Self {
        let setup = change(Setup::new().policy("tools/probe-erase.toml", ERASE));
        let people = [
            ("agent", "acme", "agent"),
            ("clerk", "acme", "agent"),
            ("boss", "acme", "approver"),
            ("stranger", "other", "agent"),
        ];
        let tokens = tokens(setup.folder.path(), &people);
        let daemon = setup.config(&format!("{PLAIN}{config}")).start().await;
        let bed = Self { daemon, model, router: None, tokens };
        bed.open().await;
        bed
    }

    /// Waits until runs can be started, or there are to be none.
    async fn open(&self) {
        eventually("the runs are open", || async {
            let listed = self.list("agent", ListRunsRequest::default()).await;
            listed.map_err(|status| reason(&status)).err().is_none_or(|why| why == "REASON_OFF")
        })
        .await;
    }

    /// The daemon again, in the same folder, after it has ended.
    pub(crate) async fn restart(self) -> Self {
        let Self { daemon, model, router, tokens } = self;
        let bed = Self { daemon: daemon.restart().await, model, router, tokens };
        bed.open().await;
        bed
    }

    /// Kills the daemon, and starts it again.
    pub(crate) async fn kill(mut self) -> Self {
        self.daemon.signal("KILL");
        assert_eq!(self.daemon.wait(), None, "killed");
        self.restart().await
    }

    pub(crate) fn token(&self, who: &str) -> &str {
        &self.tokens.iter().find(|(name, _)| *name == who).unwrap().1
    }

    pub(crate) fn with_token<T>(&self, who: &str, message: T) -> Request<T> {
        let mut request = Request::new(message);
        let value = format!("Bearer {}", self.token(who));
        request.metadata_mut().insert("authorization", value.parse().unwrap());
        request
    }

    pub(crate) async fn client(&self) -> ReasonServiceClient<Channel> {
        ReasonServiceClient::new(self.daemon.channel().await).max_decoding_message_size(usize::MAX)
    }

    /// Starts a run; its stream.
    pub(crate) async fn start(
        &self,
        who: &str,
        asked: RunRequest,
    ) -> Result<Streaming<RunEvent>, Status> {
        Ok(self.client().await.run(self.with_token(who, asked)).await?.into_inner())
    }

    /// All events of a run of the agent, to its end.
    pub(crate) async fn run(&self, asked: RunRequest) -> Vec<RunEvent> {
        all(self.start("agent", asked).await.unwrap()).await.unwrap()
    }

    pub(crate) async fn resume(
        &self,
        who: &str,
        run: &str,
        after: u64,
    ) -> Result<Streaming<RunEvent>, Status> {
        let asked = ResumeRequest { run_id: run.to_owned(), after, ..ResumeRequest::default() };
        Ok(self.client().await.resume(self.with_token(who, asked)).await?.into_inner())
    }

    pub(crate) async fn trace(&self, who: &str, run: &str) -> Result<Value, Status> {
        let asked = self.with_token(who, GetTraceRequest { run_id: run.to_owned() });
        let told = self.client().await.get_trace(asked).await?.into_inner();
        Ok(serde_json::from_str(&told.trace_json).unwrap())
    }

    pub(crate) async fn list(
        &self,
        who: &str,
        asked: ListRunsRequest,
    ) -> Result<ListRunsResponse, Status> {
        Ok(self.client().await.list_runs(self.with_token(who, asked)).await?.into_inner())
    }

    pub(crate) async fn decide(&self, approval: &str, decision: Decision) {
        let asked = DecideApprovalRequest {
            approval_id: approval.to_owned(),
            decision: decision.into(),
            reason: "says boss".into(),
        };
        let mut policies = PolicyServiceClient::new(self.daemon.channel().await);
        policies.decide_approval(self.with_token("boss", asked)).await.unwrap();
    }

    /// The command line as one of the people.
    pub(crate) fn cli(&self, who: &str, arguments: &[&str]) -> Output {
        self.command(who, arguments).output().unwrap()
    }

    pub(crate) fn command(&self, who: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(BINARY);
        command
            .args(arguments)
            .env("SWITCHBOARD_ENDPOINT", self.daemon.socket())
            .env("SWITCHBOARD_TOKEN", self.token(who));
        command
    }

    /// The ledger's records of one tool, newest first.
    pub(crate) fn records(&self, tool: &str) -> Vec<Value> {
        let file = self.daemon.folder().join("ledger.db");
        let found = Command::new(BINARY)
            .args(["ledger", "search", "--json", "--tool", tool, "--file"])
            .arg(file)
            .output()
            .unwrap();
        assert!(found.status.success(), "{found:?}");
        lines(&found)
    }
}

/// A question of the agent that takes its own answer each time.
pub(crate) fn ask(question: &str) -> RunRequest {
    RunRequest { question: question.to_owned(), no_cache: true, ..RunRequest::default() }
}

/// The same, with a limit of time that no test reaches, or that it is about.
pub(crate) fn within(question: &str, wall: Duration) -> RunRequest {
    let wall_ms = Some(u64::try_from(wall.as_millis()).unwrap());
    RunRequest { limits: Some(Limits { wall_ms, ..Limits::default() }), ..ask(question) }
}

/// Every event of a stream.
pub(crate) async fn all(stream: Streaming<RunEvent>) -> Result<Vec<RunEvent>, Status> {
    let mut stream = stream;
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        events.push(event?);
    }
    Ok(events)
}

/// The events up to the first of a kind, with it.
pub(crate) async fn until(stream: &mut Streaming<RunEvent>, wanted: &str) -> Vec<RunEvent> {
    let mut events = Vec::new();
    loop {
        let event = stream.next().await;
        let event = event.unwrap_or_else(|| panic!("no {wanted}: {:?}", kinds(&events))).unwrap();
        let found = kind(&event) == wanted;
        events.push(event);
        if found {
            return events;
        }
    }
}

/// The name of an event.
pub(crate) fn kind(event: &RunEvent) -> &'static str {
    match event.event.as_ref().unwrap() {
        Event::Started(_) => "started",
        Event::Routed(_) => "routed",
        Event::Recalled(_) => "recalled",
        Event::Thought(_) => "thought",
        Event::Rejected(_) => "rejected",
        Event::Action(_) => "action",
        Event::Waiting(_) => "waiting",
        Event::Observation(_) => "observation",
        Event::Evidence(_) => "evidence",
        Event::Planned(_) => "planned",
        Event::Message(_) => "message",
        Event::Ruling(_) => "ruling",
        Event::Resumed(_) => "resumed",
        Event::Partial(_) => "partial",
        Event::Answer(_) => "answer",
        Event::Failed(_) => "failed",
        Event::Cancelled(_) => "cancelled",
    }
}

pub(crate) fn kinds(events: &[RunEvent]) -> Vec<&'static str> {
    events.iter().map(kind).collect()
}

/// How many events of a kind there are.
pub(crate) fn count(events: &[RunEvent], wanted: &str) -> usize {
    events.iter().filter(|event| kind(event) == wanted).count()
}

/// The text of the answer, which is the last event.
pub(crate) fn answer(events: &[RunEvent]) -> &switchboard::proto::reason::Answer {
    match &events.last().unwrap().event {
        Some(Event::Answer(answer)) => answer,
        _ => panic!("no answer: {events:#?}"),
    }
}

/// Whether the events have numbers without a gap, one start and one end.
pub(crate) fn whole(events: &[RunEvent]) {
    for (place, event) in events.iter().enumerate() {
        assert_eq!(event.seq, u64::try_from(place).unwrap() + 1, "{:?}", kinds(events));
        assert_eq!(event.run_id, events[0].run_id);
    }
    assert_eq!(kind(&events[0]), "started");
    let ends = ["answer", "partial", "failed", "cancelled"];
    let ended: Vec<_> = kinds(events).into_iter().filter(|kind| ends.contains(kind)).collect();
    assert_eq!(ended, [*kinds(events).last().unwrap()]);
}

pub(crate) fn reason(status: &Status) -> String {
    status.get_details_error_info().map(|info| info.reason).unwrap_or_default()
}
