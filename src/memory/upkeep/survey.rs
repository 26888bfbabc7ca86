//! Looks at every version once: versions in, the items of a plan out. What is held in memory of each is
//! a few numbers, not its text.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::likeness::{alike, bands};
use super::{Config, Item, Plan, Work};
use crate::memory::collection::Collections;
use crate::memory::unit::{Kind, State, Version};

/// Pairs that are looked at whole in one run; the next one finds what is left.
const PAIRS: usize = 20_000;

/// What is kept of a version that others may repeat.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) tenant: String,
    pub(super) seq: i64,
}

/// A survey on its way.
#[derive(Debug)]
pub(super) struct Survey {
    config: Config,
    collections: Arc<Collections>,
    now: Timestamp,
    seen: u64,
    /// The first version of each band of likeness.
    bands: HashMap<u64, Seen>,
    pairs: BTreeSet<(i64, i64)>,
    tenants: BTreeMap<i64, String>,
    items: BTreeMap<i64, Item>,
}

impl Survey {
    pub(super) fn new(config: Config, collections: Arc<Collections>, now: Timestamp) -> Self {
        Self {
            config,
            collections,
            now,
            seen: 0,
            bands: HashMap::new(),
            pairs: BTreeSet::new(),
            tenants: BTreeMap::new(),
            items: BTreeMap::new(),
        }
    }

    /// Looks at one version.
    pub(super) fn look(&mut self, version: &Version) {
        self.seen += 1;
        let Some(collection) = self.collections.get(&version.draft.collection).cloned() else {
            return;
        };
        let last = version.used.map_or(version.recorded, |used| used.max(version.recorded));
        let over = |since: Timestamp, time: Option<Duration>| {
            let span = time.and_then(|time| SignedDuration::try_from(time).ok())?;
            (since.saturating_add(span).ok()? <= self.now).then_some(span)
        };
        let days = |span: SignedDuration| span.as_hours() / 24;
        if let Some(span) = over(version.recorded, collection.retention) {
            let why = format!("recorded more than {} days ago, its retention", days(span));
            self.put(version, Work::Expire, why);
        } else if version.state == State::Rejected {
            if let Some(span) = over(version.recorded, Some(self.config.rejected)) {
                self.put(version, Work::Drop, format!("rejected, and {} days old", days(span)));
            }
        } else if version.state == State::Active {
            if let Some(span) = over(last, collection.archive_after) {
                self.put(version, Work::Archive, format!("not used for {} days", days(span)));
            } else {
                self.remember(version);
            }
        }
    }

    fn put(&mut self, version: &Version, work: Work, why: String) {
        let item = Item {
            work,
            tenant: version.tenant.clone(),
            collection: version.draft.collection.clone(),
            unit: version.unit.clone(),
            seq: version.seq,
            kept: None,
            why,
        };
        self.items.insert(version.seq, item);
    }

    /// What happened twice, and the turns of a conversation, are no duplicates.
    fn remember(&mut self, version: &Version) {
        if version.draft.kind == Kind::Case || !version.draft.group.is_empty() {
            return;
        }
        for band in bands(version) {
            let Some(first) = self.bands.get(&band) else {
                let (tenant, seq) = (version.tenant.clone(), version.seq);
                self.bands.insert(band, Seen { tenant, seq });
                continue;
            };
            let own = first.seq != version.seq && first.tenant == version.tenant;
            if own && self.pairs.len() < PAIRS {
                self.pairs.insert((first.seq, version.seq));
                self.tenants.insert(first.seq, first.tenant.clone());
            }
        }
    }

    /// Pairs that may say the same.
    pub(super) fn pairs(&self) -> Vec<(Seen, i64)> {
        let tenant = |seq| self.tenants.get(&seq).cloned().unwrap_or_default();
        let seen = |seq| Seen { tenant: tenant(seq), seq };
        self.pairs.iter().map(|(one, two)| (seen(*one), *two)).collect()
    }

    /// Plans to merge one into the other, where they do say the same.
    pub(super) fn merge(&mut self, one: &Version, two: &Version) {
        let taken = |version: &Version| self.items.contains_key(&version.seq);
        if taken(one) || taken(two) {
            return;
        }
        let Some(share) = alike(one, two).filter(|share| *share >= self.config.similarity.max(0.8))
        else {
            return;
        };
        let weight = |version: &Version| (version.trust, version.source_time, -version.seq);
        let (kept, gone) = if weight(one) >= weight(two) { (one, two) } else { (two, one) };
        let why = format!(
            "says the same as `{}` of {} ({:.1} %)",
            kept.unit,
            kept.draft.source,
            share * 100.0
        );
        self.put(gone, Work::Merge, why);
        if let Some(item) = self.items.get_mut(&gone.seq) {
            item.kept = Some(kept.unit.clone());
        }
    }

    pub(super) fn plan(self) -> Plan {
        Plan { at: self.now, items: self.items.into_values().collect(), seen: self.seen }
    }
}
