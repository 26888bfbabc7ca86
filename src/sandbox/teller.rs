//! What a running call says before its end, to a listener who may be slow: pieces go out while there
//! is room, and are put together here while there is none. Never holds the call back.

use bytes::Bytes;
use tokio::sync::mpsc::Sender;

use super::Event;

/// Places of the channel that are kept for what is put together here: one for each stream.
const KEPT: usize = 2;

/// Tells a listener. What waits here is bounded by the call's output cap. Dropping it tells the rest.
#[derive(Debug)]
pub(super) struct Teller {
    events: Option<Sender<Event>>,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Teller {
    /// A teller; without `events` nobody listens. A channel with fewer than four places tells only
    /// at the end.
    pub(super) const fn new(events: Option<Sender<Event>>) -> Self {
        Self { events, stdout: Vec::new(), stderr: Vec::new() }
    }

    /// Tells now where there is room, later otherwise.
    pub(super) fn tell(&mut self, event: Event) {
        if self.events.as_ref().is_none_or(Sender::is_closed) {
            return;
        }
        match event {
            Event::Stdout(piece) if self.must_wait() => self.stdout.extend_from_slice(&piece),
            Event::Stderr(piece) if self.must_wait() => self.stderr.extend_from_slice(&piece),
            event => self.send(event),
        }
    }

    /// Waits until something can be told that could not before; for ever when there is nothing.
    pub(super) async fn catch_up(&mut self) {
        let room = match &self.events {
            Some(events) if self.is_behind() => events.reserve_many(2 * KEPT).await.is_ok(),
            Some(_) | None => std::future::pending().await,
        };
        if room {
            self.flush();
        } else {
            self.events = None;
        }
    }

    const fn is_behind(&self) -> bool {
        !self.stdout.is_empty() || !self.stderr.is_empty()
    }

    fn must_wait(&self) -> bool {
        let room = self.events.as_ref().is_some_and(|events| events.capacity() > KEPT);
        self.is_behind() || !room
    }

    fn flush(&mut self) {
        let (stdout, stderr) = (std::mem::take(&mut self.stdout), std::mem::take(&mut self.stderr));
        if !stdout.is_empty() {
            self.send(Event::Stdout(Bytes::from(stdout)));
        }
        if !stderr.is_empty() {
            self.send(Event::Stderr(Bytes::from(stderr)));
        }
    }

    fn send(&self, event: Event) {
        if let Some(events) = &self.events {
            // Nobody listening any more is no reason to stop the tool.
            drop(events.try_send(event));
        }
    }
}

impl Drop for Teller {
    fn drop(&mut self) {
        self.flush();
    }
}
