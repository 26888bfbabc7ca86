//! The memory of a daemon as suites need it: units that have to be there, written and waited for; and which
//! source a piece of evidence is of.

use std::collections::HashMap;

use serde_json::Value;
use tonic::Code;

use crate::cli::Failed;
use crate::cli::client::{Memories, told};
use crate::memory::Draft;
use crate::proto::memory as proto;

/// Receipts that are asked for at once.
const AT_ONCE: usize = 500;
/// How long the daemon may hold back one answer, in milliseconds.
const HOLD: u32 = 2000;
/// Answers without any unit coming to its end, after which it is given up.
const MOST_HOLDS: usize = 60;

/// What became of the units of a suite.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Written {
    /// They are found.
    pub(super) stored: usize,
    /// They were there already.
    pub(super) known: usize,
    /// They wait for a reviewer, since they contradict others or read like instructions.
    pub(super) held: usize,
    /// They were not taken.
    pub(super) refused: usize,
}

/// Writes units in their order, and waits until what is taken of them is found.
pub(super) async fn write<'v>(
    client: &mut Memories,
    drafts: impl Iterator<Item = (&'v str, &'v Value)>,
) -> Result<Written, Failed> {
    let (mut written, mut open) = (Written::default(), Vec::new());
    for (place, draft) in drafts {
        let draft: Draft = serde_json::from_value(draft.clone())
            .map_err(|error| Failed::usage(format!("{place}: it is no unit: {error}")))?;
        let asked = proto::RememberRequest {
            draft: Some(draft.into()),
            ..proto::RememberRequest::default()
        };
        match client.remember(asked).await {
            Ok(receipt) => open.push(receipt.into_inner()),
            // The memory's own defences; what must not happen is the case's business.
            Err(status) if is_refusal(status.code()) => written.refused += 1,
            Err(status) => return Err(told(&status)),
        }
    }
    settle(client, open, &mut written).await?;
    Ok(written)
}

fn is_refusal(code: Code) -> bool {
    let refusals =
        [Code::InvalidArgument, Code::NotFound, Code::PermissionDenied, Code::AlreadyExists];
    refusals.contains(&code)
}

async fn settle(
    client: &mut Memories,
    open: Vec<proto::Receipt>,
    written: &mut Written,
) -> Result<(), Failed> {
    let mut open: Vec<String> = open.into_iter().filter_map(|one| count(&one, written)).collect();
    let mut holds = 0;
    while !open.is_empty() {
        let before = open.len();
        let rest = open.split_off(before.min(AT_ONCE));
        let asked = proto::GetReceiptsRequest { receipt_ids: open, wait_ms: HOLD };
        let found = client.get_receipts(asked).await.map_err(|status| told(&status))?;
        let found = found.into_inner().receipts;
        open = rest;
        open.extend(found.iter().filter_map(|one| count(one, written)));
        holds = if open.len() < before { 0 } else { holds + 1 };
        if holds > MOST_HOLDS {
            let message = format!("{} units are not worked on: is the memory stuck?", open.len());
            return Err(Failed::answer(message));
        }
    }
    Ok(())
}

/// Counts a receipt at its last stage; gives the id of one that is not there yet.
fn count(receipt: &proto::Receipt, written: &mut Written) -> Option<String> {
    match receipt.stage() {
        proto::Stage::Unspecified | proto::Stage::Accepted => return Some(receipt.id.clone()),
        proto::Stage::Stored | proto::Stage::Outdated => written.stored += 1,
        proto::Stage::Unchanged => written.known += 1,
        proto::Stage::Held | proto::Stage::Quarantined => written.held += 1,
        proto::Stage::Refused => written.refused += 1,
    }
    None
}

/// The source ids of pieces of evidence, asked for once each.
#[derive(Debug)]
pub(super) struct Sources {
    client: Memories,
    known: HashMap<String, String>,
}

impl Sources {
    pub(super) fn new(client: Memories) -> Self {
        Self { client, known: HashMap::new() }
    }

    /// The source id of a unit; the id itself where there is no such unit.
    pub(super) async fn name(&mut self, evidence: &str) -> Result<String, Failed> {
        if let Some(known) = self.known.get(evidence) {
            return Ok(known.clone());
        }
        let asked = proto::GetRequest { id: evidence.to_owned(), history: false };
        let name = match self.client.get(asked).await {
            Ok(found) => {
                let draft = found.into_inner().unit.and_then(|unit| unit.draft);
                draft.map_or_else(|| evidence.to_owned(), |draft| draft.source_id)
            }
            Err(status) if is_refusal(status.code()) => evidence.to_owned(),
            Err(status) => return Err(told(&status)),
        };
        self.known.insert(evidence.to_owned(), name.clone());
        Ok(name)
    }
}
