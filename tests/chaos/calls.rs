//! One call as its caller sees it: what was asked, what came back, and whether that is possible.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use switchboard::proto::tools::tool_service_client::ToolServiceClient;
use switchboard::proto::tools::{CallRequest, CancelRequest};
use tonic::transport::Channel;
use tonic::{Request, Status};
use tonic_types::StatusExt;

use crate::dice::Dice;

pub type Client = ToolServiceClient<Channel>;

/// No call may be without an answer for so long.
const PATIENCE: Duration = Duration::from_secs(60);
/// First and longest pause of a caller whose calls do not get through, before it calls again.
const PAUSE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));
/// Callers go away at most so long after they called.
const FICKLE_MS: u64 = 700;

/// What a call is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Quick,
    Egress,
    Timeout,
    Memory,
    Flood,
    /// Its future is dropped at a random moment.
    Dropped,
    /// It is cancelled by its id at a random moment.
    Cancelled,
    /// It has a deadline that passes at a random moment.
    Hasty,
}

/// Kinds by their share of the calls in hundredths.
const KINDS: [(Kind, u64); 8] = [
    (Kind::Quick, 52),
    (Kind::Egress, 8),
    (Kind::Timeout, 8),
    (Kind::Memory, 8),
    (Kind::Flood, 8),
    (Kind::Dropped, 6),
    (Kind::Cancelled, 6),
    (Kind::Hasty, 4),
];

/// What the caller saw.
#[derive(Debug)]
pub enum View {
    /// A reply: its code, or `SUCCESS`, and its exact text.
    Reply(String, String),
    /// A status with a reason of Switchboard's, and its words.
    Refused(String, String),
    /// The transport failed.
    Broken(Status),
    /// The caller went away.
    Left,
    /// Nothing came.
    Hung,
}

/// One call that was made.
#[derive(Debug)]
pub struct Call {
    pub id: String,
    pub kind: Kind,
    pub view: View,
    pub begun: Instant,
    pub ended: Instant,
}

impl Call {
    /// How long the caller waits before its next call, after so many in a row that did not get
    /// through.
    pub fn pause(&self, failures: &mut u32) -> Duration {
        if !matches!(self.view, View::Refused(..) | View::Broken(_)) {
            *failures = 0;
            return Duration::ZERO;
        }
        *failures += 1;
        (PAUSE.0 * 2_u32.pow((*failures - 1).min(8))).min(PAUSE.1)
    }

    /// Whether this view is one that this kind of call may have. A sandbox may always be lost or
    /// not to be had while daemon and engine come and go.
    pub fn is_possible(&self) -> bool {
        let expected: &[&str] = match self.kind {
            Kind::Quick | Kind::Egress => &["SUCCESS"],
            Kind::Timeout => &["TOOL_TIMEOUT"],
            Kind::Memory => &["TOOL_OUT_OF_MEMORY"],
            Kind::Flood => &["OUTPUT_LIMIT"],
            Kind::Dropped => &[],
            Kind::Cancelled => &["CANCELLED", "TOOL_TIMEOUT"],
            Kind::Hasty => &["DEADLINE_EXCEEDED", "CANCELLED"],
        };
        match &self.view {
            View::Reply(code, json) => {
                let whole = code != "SUCCESS" || self.is_whole(json);
                expected.contains(&code.as_str()) && whole
            }
            View::Refused(code, _) => {
                let always = ["SANDBOX_UNAVAILABLE", "RATE_LIMITED"];
                expected.contains(&code.as_str()) || always.contains(&code.as_str())
            }
            View::Broken(_) => true,
            View::Left => self.kind == Kind::Dropped,
            View::Hung => false,
        }
    }

    /// Whether a reply has the answer to this very call.
    fn is_whole(&self, json: &str) -> bool {
        let reply: Value = serde_json::from_str(json).unwrap();
        let data = reply["data"].as_str().unwrap_or_default();
        data.trim_matches(['\n', '/']) == self.id && reply["metadata"]["call_id"] == self.id
    }
}

/// Makes call `number` of a plan with this seed.
pub async fn one(client: &Client, seed: u64, number: usize) -> Call {
    let mut dice = Dice::new(seed.wrapping_mul(1_000_003).wrapping_add(number as u64));
    let kind = KINDS[dice.choose(&KINDS.map(|(_, share)| share))].0;
    let moment = Duration::from_millis(dice.below(FICKLE_MS));
    let id = uuid::Uuid::from_u64_pair(dice.roll(), dice.roll());
    let id = uuid::Builder::from_random_bytes(*id.as_bytes()).into_uuid().to_string();
    let begun = Instant::now();
    let view = tokio::time::timeout(PATIENCE, ask(client.clone(), kind, &id, moment)).await;
    let view = view.unwrap_or(View::Hung);
    Call { id, kind, view, begun, ended: Instant::now() }
}

fn request(kind: Kind, id: &str) -> CallRequest {
    let (tool, arguments) = match kind {
        Kind::Egress => ("chaos.get", json!({ "word": id })),
        Kind::Quick => ("chaos.patient", json!({ "script": format!("echo {id}") })),
        Kind::Timeout => ("chaos.sh", json!({ "script": "trap '' TERM; sleep 30" })),
        Kind::Memory => {
            ("chaos.patient", json!({ "script": "head -c 300000000 /dev/zero | tail" }))
        }
        Kind::Flood => ("chaos.patient", json!({ "script": "yes" })),
        Kind::Dropped | Kind::Cancelled | Kind::Hasty => {
            ("chaos.sh", json!({ "script": "sleep 20" }))
        }
    };
    CallRequest {
        tool_name: tool.to_owned(),
        arguments_json: arguments.to_string(),
        call_id: id.to_owned(),
        ..Default::default()
    }
}

async fn ask(mut client: Client, kind: Kind, id: &str, moment: Duration) -> View {
    let mut call = Request::new(request(kind, id));
    if kind == Kind::Hasty {
        call.set_timeout(moment + Duration::from_millis(1));
    }
    let mut other = client.clone();
    let answer = client.call(call);
    let answer = match kind {
        Kind::Dropped => match tokio::time::timeout(moment, answer).await {
            Ok(answer) => answer,
            Err(_) => return View::Left,
        },
        Kind::Cancelled => {
            let cancel = async {
                tokio::time::sleep(moment).await;
                // The call may not have arrived yet, or be over.
                drop(other.cancel(CancelRequest { call_id: id.to_owned() }).await);
            };
            tokio::join!(answer, cancel).0
        }
        _ => answer.await,
    };
    match answer {
        Ok(answer) => {
            let reply = answer.into_inner().reply.unwrap();
            let code = reply.error.map_or_else(|| "SUCCESS".to_owned(), |error| error.code);
            View::Reply(code, reply.json)
        }
        Err(status) => match status.get_error_details().error_info() {
            Some(info) => View::Refused(info.reason.clone(), status.message().to_owned()),
            None => View::Broken(status),
        },
    }
}
