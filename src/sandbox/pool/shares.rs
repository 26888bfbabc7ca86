//! Who took what from a pool's reserve: keeps one caller from draining it for the others. Pure
//! bookkeeping.

use std::collections::HashMap;
use std::time::Instant;

use super::Who;
use super::demand::Peak;

/// What each caller has taken from the reserve and was not yet replaced.
#[derive(Debug, Default)]
pub(in crate::sandbox) struct Shares {
    callers: HashMap<Who, Share>,
}

#[derive(Debug)]
struct Share {
    taken: usize,
    /// The most that it took or waited for at once.
    peak: Peak,
}

impl Shares {
    /// Whether `who` may take one of `ready` containers, of a reserve that is to hold `target`.
    /// Within its equal share it always may. Beyond it, only what the other callers of the recent
    /// past are not expected to need; a caller alone may take all.
    pub(in crate::sandbox) fn may(
        &self,
        who: &Who,
        ready: usize,
        target: usize,
        now: Instant,
    ) -> bool {
        let own = self.callers.get(who).map_or(0, |share| share.taken);
        let others = self.callers.iter().filter(|(other, _)| *other != who);
        let others: Vec<(usize, usize)> = others
            .map(|(_, share)| (share.expected(now), share.taken))
            .filter(|(expected, _)| *expected > 0)
            .collect();
        let equal = (target / (others.len() + 1)).max(1);
        let kept: usize = others
            .iter()
            .map(|(expected, taken)| (*expected).min(equal).saturating_sub(*taken))
            .sum();
        own < equal || ready > kept
    }

    /// `who` took one from the reserve.
    pub(in crate::sandbox) fn take(&mut self, who: &Who, now: Instant) {
        let share = self.share(who, now);
        share.taken += 1;
        let taken = share.taken;
        share.peak.see(taken, now);
    }

    /// `who` waits, with `waiting` calls.
    pub(in crate::sandbox) fn wait(&mut self, who: &Who, waiting: usize, now: Instant) {
        let share = self.share(who, now);
        let demand = share.taken + waiting;
        share.peak.see(demand, now);
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
        self.callers.retain(|_, share| share.taken > 0 || share.expected(now) > 0);
    }

    fn share(&mut self, who: &Who, now: Instant) -> &mut Share {
        let new = || Share { taken: 0, peak: Peak::new(now) };
        self.callers.entry(Who::clone(who)).or_insert_with(new)
    }
}

impl Share {
    fn expected(&self, now: Instant) -> usize {
        let mut peak = self.peak.clone();
        peak.turn(now);
        peak.height()
    }
}
