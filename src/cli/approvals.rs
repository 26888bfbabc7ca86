//! `switchboard approvals`: calls that wait for a person, asked of the daemon; and the decisions.

use std::process::ExitCode;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use jiff::Timestamp;
use serde_json::{Value, json};
use tonic::Code;

use super::client::{Where, told};
use super::{Failed, print};
use crate::approval::State;
use crate::proto::policy::decide_approval_request::Decision;
use crate::proto::policy::{
    self as proto, Approval, DecideApprovalRequest, GetApprovalRequest, ListApprovalsRequest,
    WatchApprovalsRequest,
};

#[derive(Debug, Subcommand)]
pub(super) enum Approvals {
    /// Print the approvals that you may see, newest first.
    List(List),
    /// Print one approval: who wants what, with which arguments, in which sandbox.
    Show(Show),
    /// Approve a call: exactly that one, once, and until the approval expires.
    Approve(Decide),
    /// Refuse a call.
    Deny(Decide),
    /// Print each approval as it changes, as lines of JSON, until interrupted.
    Watch(Watch),
}

#[derive(Debug, Args)]
pub(super) struct List {
    /// Only those in this state; without it only what is pending.
    #[arg(long, value_parser = named())]
    state: Option<State>,
    /// Those in every state.
    #[arg(long, conflicts_with = "state")]
    all: bool,
    /// So many at most.
    #[arg(long, default_value_t = 100)]
    limit: u32,
    /// One line of JSON for each.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    at: Where,
}

#[derive(Debug, Args)]
pub(super) struct Show {
    /// The approval's id.
    approval_id: String,
    /// One line of JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    at: Where,
}

#[derive(Debug, Args)]
pub(super) struct Decide {
    /// The approval's id.
    approval_id: String,
    /// Why: for the ledger and, when refused, for the model.
    #[arg(long, default_value = "")]
    reason: String,
    /// One line of JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    at: Where,
}

#[derive(Debug, Args)]
pub(super) struct Watch {
    /// Only those in this state.
    #[arg(long, value_parser = named())]
    state: Option<State>,
    /// Begin after this revision; 0 begins with all there are.
    #[arg(long, default_value_t = 0)]
    after: u64,
    #[command(flatten)]
    at: Where,
}

/// The names of the states.
fn named() -> impl TypedValueParser<Value = State> {
    PossibleValuesParser::new(State::ALL.map(State::as_str))
        .try_map(|name| State::parse(&name).ok_or("there is no such state"))
}

/// As it is asked for.
fn wire(state: State) -> i32 {
    proto::State::from(state).into()
}

pub(super) async fn run(approvals: Approvals) -> Result<ExitCode, Failed> {
    match approvals {
        Approvals::List(options) => list(options).await,
        Approvals::Show(options) => show(options).await,
        Approvals::Approve(options) => decide(options, Decision::Approve).await,
        Approvals::Deny(options) => decide(options, Decision::Deny).await,
        Approvals::Watch(options) => watch(options).await,
    }
}

async fn list(options: List) -> Result<ExitCode, Failed> {
    let states = match options.state {
        _ if options.all => Vec::new(),
        Some(state) => vec![wire(state)],
        None => vec![wire(State::Pending)],
    };
    let mut client = options.at.policies().await?;
    let (mut found, mut page_token): (Vec<Approval>, String) = (Vec::new(), String::new());
    let limit = usize::try_from(options.limit).unwrap_or(usize::MAX);
    while found.len() < limit {
        let page_size = options.limit.min(1000);
        let asked = ListApprovalsRequest { states: states.clone(), page_size, page_token };
        let page = client.list_approvals(asked).await.map_err(|status| told(&status))?.into_inner();
        found.extend(page.approvals);
        page_token = page.next_page_token;
        if page_token.is_empty() {
            break;
        }
    }
    found.truncate(limit);
    if options.json {
        for approval in &found {
            print::json(&facts(approval))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let head = ["APPROVAL", "STATE", "ASKED", "TOOL", "CALLER", "DECIDED BY", "YOURS TO DECIDE"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(found.iter().map(|approval| {
        vec![
            approval.id.clone(),
            state(approval).to_owned(),
            time(approval.asked_ms),
            approval.tool_name.clone(),
            format!("{} of {}", approval.caller, approval.tenant),
            approval.decided_by.clone(),
            if approval.decidable { "yes" } else { "no" }.to_owned(),
        ]
    }));
    print::table(&rows)
}

async fn show(options: Show) -> Result<ExitCode, Failed> {
    let mut client = options.at.policies().await?;
    let asked = GetApprovalRequest { approval_id: options.approval_id };
    let found = client.get_approval(asked).await.map_err(|status| told(&status))?.into_inner();
    tell(&found, options.json)
}

async fn decide(options: Decide, decision: Decision) -> Result<ExitCode, Failed> {
    let mut client = options.at.policies().await?;
    let Decide { approval_id, reason, .. } = options;
    let asked = DecideApprovalRequest { approval_id, decision: decision.into(), reason };
    let found = client.decide_approval(asked).await.map_err(|status| told(&status))?.into_inner();
    tell(&found, options.json)
}

async fn watch(options: Watch) -> Result<ExitCode, Failed> {
    let states: Vec<i32> = options.state.map(wire).into_iter().collect();
    let mut after_revision = options.after;
    loop {
        let mut client = options.at.policies().await?;
        let asked = WatchApprovalsRequest { states: states.clone(), after_revision };
        let changes = client.watch_approvals(asked).await;
        let mut changes = changes.map_err(|status| told(&status))?.into_inner();
        loop {
            match changes.message().await {
                Ok(Some(changed)) => {
                    after_revision = changed.revision;
                    print::json(&facts(&changed))?;
                }
                Ok(None) => return Ok(ExitCode::SUCCESS),
                // Watches end after a time; the next one goes on from here.
                Err(status) if status.code() == Code::Unavailable => break,
                Err(status) => return Err(told(&status)),
            }
        }
    }
}

fn tell(approval: &Approval, as_json: bool) -> Result<ExitCode, Failed> {
    let facts = facts(approval);
    if as_json {
        return print::json(&facts);
    }
    let members = facts.as_object().into_iter().flatten();
    let rows: Vec<Vec<String>> = members
        .filter_map(|(name, value)| match value {
            Value::Null => None,
            Value::String(text) if text.is_empty() => None,
            Value::String(text) => Some(vec![name.clone(), text.clone()]),
            other => Some(vec![name.clone(), other.to_string()]),
        })
        .collect();
    print::table(&rows)
}

/// The approval as JSON, times as text.
fn facts(approval: &Approval) -> Value {
    let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    let moment = |ms: u64| (ms > 0).then(|| time(ms));
    json!({
        "approval_id": approval.id,
        "state": state(approval),
        "tool": approval.tool_name,
        "risk": approval.risk,
        "source": approval.source,
        "arguments": parsed(&approval.arguments_json),
        "files": parsed(&approval.files_json),
        "sandbox": parsed(&approval.sandbox_json),
        "caller": approval.caller,
        "tenant": approval.tenant,
        "roles": approval.roles,
        "proof": approval.proof,
        "conversation": approval.conversation_id,
        "asked": moment(approval.asked_ms),
        "decide_by": moment(approval.decide_by_ms),
        "decided_by": approval.decided_by,
        "decided_by_tenant": approval.decided_by_tenant,
        "decided": moment(approval.decided_ms),
        "reason": approval.reason,
        "use_by": moment(approval.use_by_ms),
        "used_by_call": approval.used_by_call_id,
        "asked_by_call": approval.call_id,
        "call_digest": approval.call_digest,
        "tool_digest": approval.tool_digest,
        "policies": approval.policies,
        "policy_version": approval.policy_version,
        "decidable": approval.decidable,
        "revision": approval.revision,
    })
}

fn state(approval: &Approval) -> &'static str {
    approval.state().named().map_or("unknown", State::as_str)
}

fn time(ms: u64) -> String {
    let ms = i64::try_from(ms).unwrap_or(i64::MAX);
    Timestamp::from_millisecond(ms).unwrap_or_default().to_string()
}
