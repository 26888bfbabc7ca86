//! Whether there are runs, and the way there: opened beside the daemon's start, tried again while that can
//! help, closed at a drain.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{Front, FrontPlace, Unserved};
use crate::memory::Standing as MemoryStanding;
use crate::model::{self, Models};
use crate::reason::{Error, Place, Runs};

/// Between two attempts to open them.
const PAUSE: Duration = Duration::from_secs(2);
/// How long a start waits for the memory, which runs that go on will ask.
const MEMORY: Duration = Duration::from_secs(5);

/// Whether there are runs.
#[derive(Debug, Clone)]
pub enum Standing {
    /// They are being opened.
    Opening,
    /// They are there.
    Open(Runs),
    /// They cannot be opened; why.
    Down(String),
    /// The daemon is on its way out.
    Closed,
}

impl Standing {
    /// Whether runs can be started.
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Open(runs) if runs.off().is_none())
    }
}

impl Front {
    pub(super) fn runs(&self) -> Result<Runs, Unserved> {
        match &*self.inner.standing.borrow() {
            Standing::Open(runs) => Ok(runs.clone()),
            Standing::Opening => Err(Unserved::Unavailable("the runs are being opened".to_owned())),
            Standing::Down(why) => Err(Unserved::Unavailable(why.clone())),
            Standing::Closed => Err(Error::Draining.into()),
        }
    }

    /// Opens the runs in a task, and tries again while that can help.
    pub(super) fn open(&self) {
        if self.inner.opening.swap(true, Ordering::AcqRel) {
            return;
        }
        let (front, stop) = (self.clone(), self.inner.place.stop.clone());
        self.set(Standing::Opening);
        self.inner.place.tasks.spawn(stop.run_until_cancelled_owned(async move {
            front.open_at_last().await;
            front.inner.opening.store(false, Ordering::Release);
        }));
    }

    async fn open_at_last(&self) {
        self.memory().await;
        loop {
            let (standing, again) = match open(&self.inner.place).await {
                Ok(runs) => (Standing::Open(runs), false),
                Err((why, lasting)) => {
                    tracing::error!(error = why, "the runs cannot be opened");
                    (Standing::Down(why), !lasting)
                }
            };
            self.set(standing);
            if !again {
                return;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Waits until the memory is open, or will not be soon.
    async fn memory(&self) {
        let mut standing = self.inner.place.desk.standing();
        let opened = standing.wait_for(|standing| !matches!(standing, MemoryStanding::Opening));
        // Runs without a memory say so, each for itself.
        drop(tokio::time::timeout(MEMORY, opened).await);
    }

    fn set(&self, standing: Standing) {
        metrics::gauge!("switchboard_reason_open").set(u8::from(standing.is_open()));
        self.inner.standing.send_if_modified(|now| {
            let closed = matches!(now, Standing::Closed);
            match (closed, &standing) {
                (true, Standing::Open(runs)) => runs.close(),
                (true, _) => {}
                (false, _) => *now = standing,
            }
            !closed
        });
    }

    /// Begins no run and no step any more: each is left where it is, to be gone on with by the next
    /// daemon. First thing of a drain.
    pub fn close(&self) {
        let last = self.inner.standing.send_replace(Standing::Closed);
        if let Standing::Open(runs) = last {
            runs.close();
        }
    }
}

/// Opens the runs; or why not, and whether that stays so until a file is changed.
async fn open(place: &FrontPlace) -> Result<Runs, (String, bool)> {
    let models = Models::open(&place.models, &place.tasks)
        .map_err(|error| (chain(&error), matches!(error, model::Error::Config { .. })))?;
    let opened = Runs::open(Place {
        config: place.config.clone(),
        context: place.context.clone(),
        policies: place.policies.clone(),
        pipeline: Arc::clone(&place.pipeline),
        desk: place.desk.clone(),
        models,
        tasks: place.calls.clone(),
        stop: place.stop.clone(),
    });
    opened.await.map_err(|error| (chain(&error), matches!(error, Error::Config { .. })))
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    let all: Vec<String> =
        std::iter::once(error.to_string()).chain(causes.map(ToString::to_string)).collect();
    all.join(": ")
}
