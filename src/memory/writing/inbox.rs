//! How much waits to be worked on: counts and bytes, and the refusal when it is too much.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;

use super::Config;
use crate::memory::fault::Error;
use crate::memory::store::{Store, Write};
use crate::memory::unit::Draft;

/// Writes that are read at a time when the inbox is counted.
const PAGE: usize = 1000;

/// What waits.
#[derive(Debug)]
pub(super) struct Inbox {
    writes: AtomicU64,
    bytes: AtomicU64,
    most_writes: u64,
    most_bytes: u64,
}

impl Inbox {
    /// Counts what waits since before; gives the arrival of the last.
    pub(super) async fn open(
        config: &Config,
        store: &dyn Store,
    ) -> Result<(Self, Option<Timestamp>), Error> {
        let inbox = Self {
            writes: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            most_writes: config.waiting,
            most_bytes: config.waiting_bytes,
        };
        let (mut after, mut latest) = (None::<String>, None);
        loop {
            let page = store.waiting(after.as_deref(), PAGE).await?;
            let Some(last) = page.last() else { break };
            after = Some(last.receipt.clone());
            latest = latest.max(Some(last.arrived));
            page.iter().for_each(|write| inbox.add(&write.draft));
        }
        inbox.report();
        Ok((inbox, latest))
    }

    pub(super) fn waiting(&self) -> u64 {
        self.writes.load(Ordering::Acquire)
    }

    /// Takes room for one; an error when there is none.
    pub(super) fn reserve(&self, draft: &Draft) -> Result<(), Error> {
        let (writes, bytes) = (self.waiting(), self.bytes.load(Ordering::Acquire));
        if writes >= self.most_writes || bytes.saturating_add(weigh(draft)) > self.most_bytes {
            metrics::counter!("switchboard_memory_writes_total", "outcome" => "busy").increment(1);
            return Err(Error::Busy { waiting: writes, retry_after: Duration::from_secs(1) });
        }
        self.add(draft);
        Ok(())
    }

    pub(super) fn add(&self, draft: &Draft) {
        self.writes.fetch_add(1, Ordering::AcqRel);
        self.bytes.fetch_add(weigh(draft), Ordering::AcqRel);
    }

    /// Gives the room back.
    pub(super) fn release<'d>(&self, drafts: impl IntoIterator<Item = &'d Draft>) {
        for draft in drafts {
            less(&self.writes, 1);
            less(&self.bytes, weigh(draft));
        }
        self.report();
    }

    /// Takes over how many there are, where that is known.
    pub(super) fn recount(&self, writes: u64) {
        if writes == 0 && self.waiting() > 0 {
            self.writes.store(0, Ordering::Release);
            self.bytes.store(0, Ordering::Release);
            self.report();
        }
    }

    pub(super) fn report(&self) {
        let count = u32::try_from(self.waiting()).unwrap_or(u32::MAX);
        metrics::gauge!("switchboard_memory_waiting").set(count);
    }
}

/// Takes off a count, which does not fall below nothing.
fn less(count: &AtomicU64, by: u64) {
    let mut now = count.load(Ordering::Acquire);
    while let Err(other) = count.compare_exchange_weak(
        now,
        now.saturating_sub(by),
        Ordering::AcqRel,
        Ordering::Acquire,
    ) {
        now = other;
    }
}

/// The bytes of a write, nearly; equal for what was stored and read again.
fn weigh(draft: &Draft) -> u64 {
    let cells = draft.tables.iter().flat_map(|table| table.rows.iter().flatten());
    let images = draft
        .images
        .iter()
        .map(|one| one.description.len() + one.ocr_text.len() + one.vector.len().saturating_mul(4));
    let texts = draft.triggers.iter().map(String::len);
    let sum = draft.text.len() + draft.value.len() + draft.key.len() + 512;
    let sum = sum + cells.map(String::len).sum::<usize>() + images.sum::<usize>();
    u64::try_from(sum + texts.sum::<usize>()).unwrap_or(u64::MAX)
}

/// Bytes of a write, for bounding a batch.
pub(super) fn size(write: &Write) -> u64 {
    weigh(&write.draft)
}
