//! What became of the lines of an import: receipts in, until each is at its last stage; sums out.

use std::collections::HashMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use serde_json::{Value, json};

use super::form;
use crate::cli::client::{Memories, told};
use crate::cli::{Failed, print};
use crate::proto::memory as proto;

/// Receipts that are asked for at once.
const AT_ONCE: usize = 500;
/// How long the daemon may hold back one answer, in milliseconds; the bar moves so often at least.
const HOLD: u32 = 2000;
/// Time without any unit coming to its end, after which the import ends with what is known.
const STALLED: Duration = Duration::from_secs(120);

/// What became of the lines.
#[derive(Debug, Default)]
pub(super) struct Sums {
    new: u64,
    newer: u64,
    unchanged: u64,
    outdated: u64,
    held: u64,
    quarantined: u64,
    pub(super) refused: u64,
    /// Durable, and not yet worked on when it was last looked at.
    pub(super) waiting: u64,
    /// The lines that were refused, and why.
    pub(super) wrong: Vec<String>,
}

impl Sums {
    /// Counts a receipt at its last stage; `false` for one that is not there yet.
    pub(super) fn count(&mut self, line: u64, receipt: &proto::Receipt) -> bool {
        let count = match receipt.stage() {
            proto::Stage::Unspecified | proto::Stage::Accepted => return false,
            proto::Stage::Stored if receipt.newer => &mut self.newer,
            proto::Stage::Stored => &mut self.new,
            proto::Stage::Unchanged => &mut self.unchanged,
            proto::Stage::Outdated => &mut self.outdated,
            proto::Stage::Held => &mut self.held,
            proto::Stage::Quarantined => &mut self.quarantined,
            proto::Stage::Refused => {
                self.wrong.push(format!("line {line}: {}", receipt.remarks.join("; ")));
                &mut self.refused
            }
        };
        *count += 1;
        true
    }

    /// Units that were acknowledged and are not equal to what was there.
    pub(super) const fn taken(&self) -> u64 {
        self.new + self.newer + self.outdated + self.held + self.quarantined + self.waiting
    }

    /// Units that were acknowledged.
    pub(super) const fn known(&self) -> u64 {
        self.taken() + self.unchanged
    }

    fn words(&self) -> String {
        let all = [
            (self.new, "new"),
            (self.newer, "newer version"),
            (self.unchanged, "unchanged"),
            (self.outdated, "older than what is there"),
            (self.held, "held for review"),
            (self.quarantined, "quarantined"),
            (self.refused, "refused"),
            (self.waiting, "not yet worked on"),
        ];
        let always = ["new", "newer version", "unchanged", "held for review", "refused"];
        let told = all.into_iter().filter(|(count, what)| *count > 0 || always.contains(what));
        told.map(|(count, what)| format!("{count} {what}")).collect::<Vec<_>>().join(", ")
    }

    fn json(&self) -> Value {
        json!({
            "taken": self.taken(), "new": self.new, "newer": self.newer,
            "unchanged": self.unchanged, "outdated": self.outdated, "held": self.held,
            "quarantined": self.quarantined, "refused": self.refused, "waiting": self.waiting,
        })
    }

    /// Prints them; the exit code is 1 where a line was refused, or nobody knows what became of it.
    pub(super) fn tell(&self, json: bool, waited: bool) -> Result<ExitCode, Failed> {
        for wrong in &self.wrong {
            print::error(wrong);
        }
        if json {
            print::json(&self.json())?;
        } else {
            print::text(&self.words())?;
        }
        let stalled = waited && self.waiting > 0;
        if stalled {
            print::error(
                "the daemon has not worked off all of it: `memory stats` tells how much waits",
            );
        }
        Ok(ExitCode::from(u8::from(self.refused > 0 || stalled)))
    }
}

/// Waits until each write is at its last stage, as long as any goes on, and counts what became of it.
/// `open` are lines and their receipts.
pub(super) async fn settle(
    client: &mut Memories,
    open: Vec<(u64, String)>,
    sums: &mut Sums,
    (json, bar): (bool, &ProgressBar),
) -> Result<(), Failed> {
    let mut moved = Instant::now();
    let mut waiting = open.into_iter();
    loop {
        let mut left: Vec<(u64, String)> = waiting.by_ref().take(AT_ONCE).collect();
        if left.is_empty() {
            return Ok(());
        }
        while !left.is_empty() {
            let before = left.len();
            left = look(client, left, sums, (json, bar)).await?;
            if left.len() < before {
                moved = Instant::now();
            } else if moved.elapsed() >= STALLED {
                sums.waiting += u64::try_from(left.len() + waiting.len()).unwrap_or(u64::MAX);
                return Ok(());
            }
        }
    }
}

/// One look at receipts; gives those that are not at their last stage.
async fn look(
    client: &mut Memories,
    open: Vec<(u64, String)>,
    sums: &mut Sums,
    (json, bar): (bool, &ProgressBar),
) -> Result<Vec<(u64, String)>, Failed> {
    let receipt_ids = open.iter().map(|(_, id)| id.clone()).collect();
    let asked = proto::GetReceiptsRequest { receipt_ids, wait_ms: HOLD };
    let found = client.get_receipts(asked).await.map_err(|status| told(&status))?;
    let found = found.into_inner().receipts.into_iter();
    let mut known: HashMap<String, proto::Receipt> =
        found.map(|receipt| (receipt.id.clone(), receipt)).collect();
    let mut left = Vec::new();
    for (line, id) in open {
        match known.remove(&id) {
            Some(receipt) if sums.count(line, &receipt) => {
                bar.inc(1);
                if json {
                    print::json(&json!({ "line": line, "receipt": form::receipt(&receipt) }))?;
                }
            }
            Some(_) => left.push((line, id)),
            None => {
                return Err(Failed::answer(format!("the receipt `{id}` of line {line} is gone")));
            }
        }
    }
    Ok(left)
}
