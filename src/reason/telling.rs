//! What is told of a run: its events in order to anyone who follows, and its evidence as one trace. Only
//! what is in the file is told, and only to whose it is.

use std::collections::VecDeque;
use std::sync::Arc;

use futures::Stream;
use futures::stream;

use super::event::Kept;
use super::going::Going;
use super::proof::Proof;
use super::{Error, Inner, RunId, Visitor};
use crate::evidence::Trace;

/// Where a follower is.
struct Follower {
    inner: Arc<Inner>,
    visitor: Visitor,
    run: RunId,
    after: u64,
    ready: VecDeque<Arc<Kept>>,
    ended: bool,
    met: bool,
}

/// The events of a run behind `after`, to its end.
pub(super) fn follow(
    inner: Arc<Inner>,
    (visitor, run): (Visitor, RunId),
    after: u64,
) -> impl Stream<Item = Result<Kept, Error>> + Send + 'static {
    let ready = VecDeque::new();
    let follower = Follower { inner, visitor, run, after, ready, ended: false, met: false };
    stream::unfold(follower, |mut follower| async move {
        match follower.next().await {
            Ok(Some(kept)) => Some((Ok(kept), follower)),
            Ok(None) => None,
            Err(error) => {
                follower.ended = true;
                Some((Err(error), follower))
            }
        }
    })
}

impl Follower {
    async fn next(&mut self) -> Result<Option<Kept>, Error> {
        loop {
            if let Some(kept) = self.ready.pop_front() {
                self.after = kept.seq;
                self.ended = kept.event.is_end();
                return Ok(Some(Arc::unwrap_or_clone(kept)));
            }
            if self.ended {
                return Ok(None);
            }
            match self.inner.at_work(&self.visitor, &self.run) {
                Some(going) => self.watch(&going).await?,
                None => self.read().await?,
            }
        }
    }

    /// Takes what there is of a run that is worked on, once there is any.
    async fn watch(&mut self, going: &Going) -> Result<(), Error> {
        self.meet(going.last())?;
        // Without more the executor has ended, and the file has all.
        if going.more(self.after).await {
            self.ready.extend(going.behind(self.after));
        }
        Ok(())
    }

    /// Refuses, the first time, to begin behind the last event.
    fn meet(&mut self, last: u64) -> Result<(), Error> {
        if !self.met && self.after > last {
            let reason = format!("is {}, and the last event is {last}", self.after);
            return Err(Error::Argument { field: "after", reason });
        }
        self.met = true;
        Ok(())
    }

    /// Takes what the file has of a run that nobody works on.
    async fn read(&mut self) -> Result<(), Error> {
        let now = self.inner.store.summary(&self.visitor.caller, &self.run).await?;
        self.meet(now.last_seq)?;
        let page = self.inner.store.events(&self.run, self.after).await?;
        if page.is_empty() {
            if !now.state.is_end() {
                return Err(match self.inner.closing().is_cancelled() {
                    true => Error::Draining,
                    false => Error::Stopped(self.run.to_string()),
                });
            }
            self.ended = true;
        }
        self.ready.extend(page.into_iter().map(Arc::new));
        Ok(())
    }
}

/// The evidence of a run, as far as it has come.
pub(super) async fn trace(inner: &Inner, visitor: &Visitor, run: &RunId) -> Result<Trace, Error> {
    inner.store.summary(&visitor.caller, run).await?;
    let events = inner.store.whole(run).await?;
    let earlier = inner.earlier(&events).await;
    Ok(Proof::of(&events, inner.config.confidence, earlier)?.into_trace())
}
