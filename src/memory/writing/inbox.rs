//! How much waits to be worked on: counts and bytes, and the refusal when it is too much.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;

use super::Config;
use crate::memory::fault::Error;
use crate::memory::store::{Backlog, Store, Write};
use crate::memory::unit::Draft;

/// Writes that are read at a time when the inbox is counted.
const PAGE: usize = 1000;

/// What waits.
#[derive(Debug)]
pub(super) struct Inbox {
    load: Mutex<Load>,
    most_writes: u64,
    most_bytes: u64,
}

#[derive(Debug, Default)]
struct Load {
    writes: u64,
    bytes: u64,
    /// Those who have taken room for writes that the store may not have yet.
    takers: u64,
    /// How many there have ever been.
    taken: u64,
}

/// Held from before room is taken until the store has the writes. Until then nothing is known of how
/// many wait.
#[derive(Debug)]
pub(super) struct Taker<'i> {
    inbox: &'i Inbox,
}

/// A moment at which the store had all that the inbox counts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quiet {
    taken: u64,
}

impl Inbox {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            load: Mutex::default(),
            most_writes: config.waiting,
            most_bytes: config.waiting_bytes,
        }
    }

    /// Counts what waits since before; gives the arrival of the last.
    pub(super) async fn open(
        config: &Config,
        store: &dyn Store,
    ) -> Result<(Self, Option<Timestamp>), Error> {
        let inbox = Self::new(config);
        let (mut after, mut latest) = (None::<String>, None);
        loop {
            let page = store.waiting(after.as_deref(), PAGE).await?;
            let Some(last) = page.last() else { break };
            after = Some(last.receipt.clone());
            latest = latest.max(Some(last.arrived));
            page.iter().for_each(|write| inbox.load().add(&write.draft));
        }
        inbox.report();
        Ok((inbox, latest))
    }

    pub(super) fn waiting(&self) -> u64 {
        self.load().writes
    }

    /// For one who will take room.
    pub(super) fn taker(&self) -> Taker<'_> {
        let mut load = self.load();
        load.takers += 1;
        load.taken += 1;
        Taker { inbox: self }
    }

    /// Gives the room back.
    pub(super) fn release<'d>(&self, drafts: impl IntoIterator<Item = &'d Draft>) {
        self.give_back(&drafts.into_iter().map(weigh).collect::<Vec<_>>());
    }

    /// The same for writes of these bytes.
    pub(super) fn give_back(&self, weights: &[u64]) {
        let mut load = self.load();
        for weight in weights {
            load.writes = load.writes.saturating_sub(1);
            load.bytes = load.bytes.saturating_sub(*weight);
        }
        drop(load);
        self.report();
    }

    /// Whether this is such a moment.
    pub(super) fn quiet(&self) -> Option<Quiet> {
        let load = self.load();
        (load.takers == 0).then_some(Quiet { taken: load.taken })
    }

    /// Empties the counts when the store, asked after a quiet moment, had nothing that waits and
    /// nobody has taken room since.
    pub(super) fn recount(&self, quiet: Quiet, writes: u64) {
        let mut load = self.load();
        if writes == 0 && load.taken == quiet.taken {
            (load.writes, load.bytes) = (0, 0);
        }
        drop(load);
        self.report();
    }

    /// Counts what the store has, where others settle what this daemon took and take what it settles. It
    /// is asked again and again, so that what is on its way just now counts the next time.
    pub(super) fn follow(&self, backlog: Backlog) {
        let mut load = self.load();
        (load.writes, load.bytes) = (backlog.writes, backlog.bytes);
        drop(load);
        self.report();
    }

    pub(super) fn report(&self) {
        let count = u32::try_from(self.waiting()).unwrap_or(u32::MAX);
        metrics::gauge!("switchboard_memory_waiting").set(count);
    }

    fn load(&self) -> MutexGuard<'_, Load> {
        self.load.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Load {
    fn add(&mut self, draft: &Draft) {
        self.writes += 1;
        self.bytes = self.bytes.saturating_add(weigh(draft));
    }
}

impl Taker<'_> {
    /// Takes room for one, whatever there is already.
    pub(super) fn add(&self, draft: &Draft) {
        self.inbox.load().add(draft);
    }

    /// Takes room for one; an error when there is none.
    pub(super) fn reserve(&self, draft: &Draft) -> Result<(), Error> {
        let mut load = self.inbox.load();
        let bytes = load.bytes.saturating_add(weigh(draft));
        if load.writes >= self.inbox.most_writes || bytes > self.inbox.most_bytes {
            metrics::counter!("switchboard_memory_writes_total", "outcome" => "busy").increment(1);
            return Err(Error::Busy { waiting: load.writes, retry_after: Duration::from_secs(1) });
        }
        load.add(draft);
        Ok(())
    }
}

impl Drop for Taker<'_> {
    fn drop(&mut self) {
        self.inbox.load().takers -= 1;
    }
}

/// The bytes of a write, nearly; equal for what was stored and read again.
pub(in crate::memory) fn weigh(draft: &Draft) -> u64 {
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
