//! A daemon with a memory, and the people who use it.

use std::fmt::Write as _;
use std::process::{Command, Output};

use serde_json::{Value, json};
use switchboard::proto::memory::memory_service_client::MemoryServiceClient;
use switchboard::proto::memory::{
    Draft, Kind, Question, RecallRequest, RecallResponse, Receipt, RememberRequest,
};
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;
use tonic::{Request, Status};
use tonic_types::StatusExt;

use crate::daemon::{BINARY, Daemon, Setup, eventually, tokens};

/// Tickets of all in the tenant; the line is mandatory.
pub(super) const TICKETS: &str = r#"
name = "tickets"
description = "Faults and how they were mended, for tests."
layer = "notes"
kinds = ["case", "knowledge"]
sources = ["desk/*"]
origin = "person"
trust = { person = 60, web = 10 }
time_zone = "Asia/Shanghai"

[access]
read = ["any"]
write = ["any"]
review = ["role:reviewer"]

[metadata]
line = { type = "text" }
opened = { type = "time", required = false }

[attributes]
pressure = { values = "one" }
"#;

/// No vectors: what these tests are about does not need them, and the model is not there for all.
pub(super) const PLAIN: &str = "[memory.embedder]\nkind = \"none\"\n";

/// Adds a token to each request.
#[derive(Clone)]
pub(super) struct Token(MetadataValue<Ascii>);

impl tonic::service::Interceptor for Token {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        request.metadata_mut().insert("authorization", self.0.clone());
        Ok(request)
    }
}

pub(super) type Client = MemoryServiceClient<InterceptedService<Channel, Token>>;

pub(super) struct Bed {
    pub(super) daemon: Daemon,
    tokens: Vec<(&'static str, String)>,
}

impl Bed {
    pub(super) async fn new() -> Self {
        Self::with(PLAIN, |setup| setup).await
    }

    /// With a configuration of its own; waits until the memory is open.
    pub(super) async fn with(config: &str, change: impl FnOnce(Setup) -> Setup) -> Self {
        let bed = Self::unopened(config, change).await;
        bed.open().await;
        bed
    }

    pub(super) async fn unopened(config: &str, change: impl FnOnce(Setup) -> Setup) -> Self {
        let setup = change(Setup::new().policy("memory/tickets.toml", TICKETS));
        let people = [
            ("agent", "acme", "agent"),
            ("clerk", "acme", "agent"),
            ("eve", "acme", "curator"),
            ("rita", "acme", "reviewer"),
            ("stranger", "other", "reviewer"),
        ];
        let tokens = tokens(setup.folder.path(), &people);
        let mut text = String::new();
        writeln!(text, "[admission.identity]\ntokens = \"tokens.toml\"\n{config}").unwrap();
        Self { daemon: setup.config(&text).start_unready().await, tokens }
    }

    /// Waits until the memory answers.
    pub(super) async fn open(&self) {
        let client = self.client("agent").await;
        eventually("the memory is open", || {
            let mut client = client.clone();
            async move { client.stats(switchboard::proto::memory::StatsRequest {}).await.is_ok() }
        })
        .await;
    }

    /// The daemon again, in the same folder, after it has ended.
    pub(super) async fn restart(self) -> Self {
        let bed = Self { daemon: self.daemon.restart().await, tokens: self.tokens };
        bed.open().await;
        bed
    }

    /// As [`Bed::restart`], for a memory that will not open.
    pub(super) async fn restart_unopened(self) -> Self {
        Self { daemon: self.daemon.restart().await, tokens: self.tokens }
    }

    pub(super) fn token(&self, who: &str) -> &str {
        &self.tokens.iter().find(|(name, _)| *name == who).unwrap().1
    }

    pub(super) async fn client(&self, who: &str) -> Client {
        let token = format!("Bearer {}", self.token(who)).parse().unwrap();
        MemoryServiceClient::with_interceptor(self.daemon.channel().await, Token(token))
            .max_decoding_message_size(usize::MAX)
            .max_encoding_message_size(usize::MAX)
    }

    /// Writes, and waits until it is found.
    pub(super) async fn remember(&self, who: &str, draft: Draft) -> Receipt {
        self.try_remember(who, draft).await.unwrap()
    }

    pub(super) async fn try_remember(&self, who: &str, draft: Draft) -> Result<Receipt, Status> {
        let asked =
            RememberRequest { draft: Some(draft), wait: true, ..RememberRequest::default() };
        Ok(self.client(who).await.remember(asked).await?.into_inner())
    }

    pub(super) async fn try_recall(&self, who: &str, text: &str) -> Result<RecallResponse, Status> {
        Ok(self.client(who).await.recall(asked(text)).await?.into_inner())
    }

    /// The command line as one of the people.
    pub(super) fn cli(&self, who: &str, arguments: &[&str]) -> Output {
        Command::new(BINARY)
            .args(arguments)
            .env("SWITCHBOARD_ENDPOINT", self.daemon.socket())
            .env("SWITCHBOARD_TOKEN", self.token(who))
            .output()
            .unwrap()
    }

    /// The ledger's records, newest first.
    pub(super) fn records(&self) -> Vec<Value> {
        let ledger = self.daemon.folder().join("ledger.db");
        let found = Command::new(BINARY)
            .args(["ledger", "search", "--json", "--file"])
            .arg(ledger)
            .output()
            .unwrap();
        assert!(found.status.success(), "{found:?}");
        crate::daemon::lines(&found)
    }

    /// One record with its reply, as text.
    pub(super) fn record(&self, id: &str) -> String {
        let ledger = self.daemon.folder().join("ledger.db");
        let found = Command::new(BINARY)
            .args(["ledger", "show", id, "--json", "--file"])
            .arg(ledger)
            .output()
            .unwrap();
        assert!(found.status.success(), "{found:?}");
        String::from_utf8(found.stdout).unwrap()
    }
}

/// A ticket that its collection takes.
pub(super) fn ticket(id: &str, text: &str) -> Draft {
    Draft {
        collection: "tickets".into(),
        source: "desk/one".into(),
        source_id: id.into(),
        kind: Kind::Case.into(),
        text: text.into(),
        metadata_json: json!({ "line": "PX" }).to_string(),
        ..Draft::default()
    }
}

pub(super) fn asked(text: &str) -> RecallRequest {
    let question = Question { text: text.to_owned(), ..Question::default() };
    RecallRequest { question: Some(question), ..RecallRequest::default() }
}

pub(super) fn evidence(found: &RecallResponse) -> Vec<String> {
    found.hits.iter().map(|hit| hit.evidence_id.clone()).collect()
}

pub(super) fn reason(status: &Status) -> String {
    status.get_details_error_info().map(|info| info.reason).unwrap_or_default()
}

/// The fields that a status names.
pub(super) fn fields(status: &Status) -> Vec<String> {
    let details = status.get_details_bad_request();
    details
        .map(|bad| bad.field_violations.into_iter().map(|one| one.field).collect())
        .unwrap_or_default()
}
