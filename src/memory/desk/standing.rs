//! Whether the memory is open, and the way there: opened beside the daemon's start, tried again while
//! that can help, looked after when its server goes away.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{Desk, Memory};
use crate::memory::{StoreError, open};

/// Between two attempts to open it, or to reach its server.
const PAUSE: Duration = Duration::from_secs(2);

/// Whether the memory answers.
#[derive(Debug, Clone)]
pub enum Standing {
    /// There is none; how there would be one.
    Off(String),
    /// It is being opened.
    Opening,
    /// It answers.
    Open(Memory),
    /// It does not; why, and the memory where it was open before.
    Down(String, Option<Memory>),
}

impl Standing {
    /// Why it does not answer; `None` when it does, or there is none.
    pub fn fault(&self) -> Option<&str> {
        match self {
            Self::Off(_) | Self::Open(_) => None,
            Self::Opening => Some("the memory is being opened"),
            Self::Down(why, _) => Some(why),
        }
    }

    /// Whether it answers.
    pub const fn is_open(&self) -> bool {
        matches!(self, Self::Open(_))
    }
}

impl Desk {
    /// Opens the memory in a task, and tries again while that can help.
    pub(super) fn open(&self) {
        if self.inner.opening.swap(true, Ordering::AcqRel) {
            return;
        }
        let (desk, stop) = (self.clone(), self.inner.place.stop.clone());
        self.set(Standing::Opening);
        self.inner.place.tasks.spawn(stop.run_until_cancelled_owned(async move {
            desk.open_at_last().await;
            desk.inner.opening.store(false, Ordering::Release);
        }));
    }

    async fn open_at_last(&self) {
        loop {
            match open::open(&self.inner.place, &self.inner.collections).await {
                Ok(memory) => {
                    let (store, model) = memory.kind();
                    tracing::info!(store, model, "the memory is open");
                    return self.set(Standing::Open(memory));
                }
                Err(error) => {
                    tracing::error!(%error, "the memory cannot be opened");
                    let lasting = error.is_lasting();
                    self.set(Standing::Down(error.to_string(), None));
                    if lasting {
                        return;
                    }
                }
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Sees to a store that does not answer any more: nobody is sent to it until it does again.
    pub(super) fn notice(&self, error: &StoreError) {
        let StoreError::Down(_) = error else { return };
        let mut memory = None;
        self.inner.standing.send_if_modified(|standing| match standing {
            Standing::Open(open) => {
                memory = Some(open.clone());
                *standing = Standing::Down(error.to_string(), memory.clone());
                true
            }
            Standing::Off(_) | Standing::Opening | Standing::Down(..) => false,
        });
        let Some(memory) = memory else { return };
        tracing::error!(%error, "the memory's server is gone; it is tried again");
        let (desk, stop) = (self.clone(), self.inner.place.stop.clone());
        self.inner.place.tasks.spawn(stop.run_until_cancelled_owned(async move {
            while memory.probe().await.is_err() {
                tokio::time::sleep(PAUSE).await;
            }
            tracing::info!("the memory's server answers again");
            desk.set(Standing::Open(memory));
        }));
    }

    pub(super) fn set(&self, standing: Standing) {
        metrics::gauge!("switchboard_memory_open").set(u8::from(standing.is_open()));
        self.inner.standing.send_replace(standing);
    }

    /// Writes what is open, and ends. Nothing is asked of the memory after this.
    pub async fn close(&self) {
        let last = self.inner.standing.send_replace(Standing::Off("it is closed".to_owned()));
        if let Standing::Open(memory) | Standing::Down(_, Some(memory)) = last
            && let Err(error) = memory.close().await
        {
            tracing::error!(%error, "the memory could not be closed");
        }
    }
}
