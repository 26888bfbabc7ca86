//! Who took what from a pool's reserve: keeps one caller from draining it for the others. Pure
//! bookkeeping.

use std::collections::HashMap;
use std::time::Instant;

use super::Who;
use super::demand::WINDOW;

/// What each caller has taken from the reserve and was not yet replaced.
#[derive(Debug, Default)]
pub(in crate::sandbox) struct Shares {
    callers: HashMap<Who, Share>,
}

#[derive(Debug)]
struct Share {
    taken: usize,
    /// When it asked last.
    seen: Instant,
}

impl Shares {
    /// Whether `who` may take one of `ready` containers, of a reserve that is to hold `target`.
    /// Within its equal share it always may. Beyond it, one is left for each other caller of the
    /// recent past that has none; a caller alone may take all. (To leave what the others once needed
    /// at most, instead of one, makes more calls wait than it serves.)
    pub(in crate::sandbox) fn may(
        &self,
        who: &Who,
        ready: usize,
        target: usize,
        now: Instant,
    ) -> bool {
        let own = self.callers.get(who).map_or(0, |share| share.taken);
        let others = self.callers.iter().filter(|(other, _)| *other != who);
        let others: Vec<&Share> =
            others.map(|(_, share)| share).filter(|share| share.is_recent(now)).collect();
        let equal = (target / (others.len() + 1)).max(1);
        let kept = others.iter().filter(|share| share.taken == 0).count();
        own < equal || ready > kept
    }

    /// The callers of the recent past.
    pub(in crate::sandbox) fn active(&self, now: Instant) -> usize {
        self.callers.values().filter(|share| share.is_recent(now)).count()
    }

    /// `who` took one from the reserve.
    pub(in crate::sandbox) fn take(&mut self, who: &Who, now: Instant) {
        let share = self.share(who, now);
        share.taken += 1;
        share.seen = now;
    }

    /// `who` waits for one.
    pub(in crate::sandbox) fn wait(&mut self, who: &Who, now: Instant) {
        self.share(who, now).seen = now;
    }

    /// One was put into the reserve: it stands for what the caller with the most took.
    pub(in crate::sandbox) fn replace(&mut self) {
        let most = self.callers.values_mut().max_by_key(|share| share.taken);
        if let Some(share) = most {
            share.taken = share.taken.saturating_sub(1);
        }
    }

    /// The reserve is whole again.
    pub(in crate::sandbox) fn settle(&mut self) {
        self.callers.values_mut().for_each(|share| share.taken = 0);
    }

    /// Taken by all and not yet replaced.
    pub(in crate::sandbox) fn taken(&self) -> usize {
        self.callers.values().map(|share| share.taken).sum()
    }

    /// Forgets the callers that took nothing for long.
    pub(in crate::sandbox) fn forget(&mut self, now: Instant) {
        self.callers.retain(|_, share| share.taken > 0 || share.is_recent(now));
    }

    fn share(&mut self, who: &Who, now: Instant) -> &mut Share {
        let new = || Share { taken: 0, seen: now };
        self.callers.entry(Who::clone(who)).or_insert_with(new)
    }
}

impl Share {
    fn is_recent(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.seen) < WINDOW
    }
}
