//! The pen of one run: an event in, kept and told to those who follow when it returns. Tasks of a plan
//! write side by side; each event gets its place here.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use super::event::{Event, Kept};
use super::going::Going;
use super::state::Story;
use super::store::{Birth, Store};
use super::{Error, RunId};

/// The events of one run, and what they come to.
#[derive(Debug)]
pub(super) struct Log {
    run: RunId,
    store: Store,
    going: Arc<Going>,
    story: Mutex<Story>,
}

impl Log {
    pub(super) fn new(run: RunId, store: Store, going: Arc<Going>, story: Story) -> Self {
        Self { run, store, going, story: Mutex::new(story) }
    }

    pub(super) const fn run(&self) -> &RunId {
        &self.run
    }

    /// Keeps an event of a task; the empty one is the run itself. What is built on it waits for that.
    pub(super) async fn add(&self, task: &str, event: Event) -> Result<(), Error> {
        self.write(task, event, None).await
    }

    /// Keeps the first event.
    pub(super) async fn begin(&self, event: Event, birth: Birth) -> Result<(), Error> {
        self.write("", event, Some(birth)).await
    }

    async fn write(&self, task: &str, event: Event, birth: Option<Birth>) -> Result<(), Error> {
        // Sent while the story is held, so that places and the order in the file are the same.
        let (seq, receipt) = {
            let mut story = self.lock();
            if story.ended.is_some() {
                // A task that ran beside the end has nothing to say any more.
                return Ok(());
            }
            let kept = Arc::new(Kept {
                seq: story.seq + 1,
                at: now(),
                run: self.run.clone(),
                step: story.step_of(task) + u32::from(event.begins_step(story.retries(task))),
                task: task.to_owned(),
                event,
            });
            story.add(&kept);
            self.going.add(Arc::clone(&kept));
            (kept.seq, self.store.send(&kept, birth, story.head()))
        };
        receipt.kept().await?;
        self.going.keep(seq);
        Ok(())
    }

    /// Looks at what the events come to.
    pub(super) fn story<T>(&self, look: impl FnOnce(&Story) -> T) -> T {
        look(&self.lock())
    }

    /// All events.
    pub(super) fn events(&self) -> Vec<Arc<Kept>> {
        self.going.all()
    }

    fn lock(&self) -> MutexGuard<'_, Story> {
        self.story.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The time, as exactly as the file keeps it: what is worked out of an event is the same after a restart.
fn now() -> Timestamp {
    let now = Timestamp::now();
    Timestamp::from_microsecond(now.as_microsecond()).unwrap_or(now)
}
