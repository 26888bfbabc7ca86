//! Units page by page: those of a scope, or those of any date for who wants them all. A page ends where it
//! has as many as were asked for, or as much as one message should hold. Ranks nothing.

use jiff::Timestamp;

use super::{Memory, owned};
use crate::memory::writing::weigh;
use crate::memory::{Adjacent, Error, Filter, Kind, Scope, Spot, State, Version};
use crate::policy::Permit;

/// Versions that are read at a time.
const STEP: usize = 64;
/// Bytes after which a page takes no further unit; clients take messages of 4 MiB if nobody tells them to take
/// more.
const BYTES: u64 = 2 << 20;

/// Which units are listed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Listing {
    /// Kinds that are wanted; empty for all.
    pub kinds: Vec<Kind>,
    /// Conditions on metadata.
    pub filters: Vec<Filter>,
    /// Where they have to be.
    pub spot: Option<Spot>,
    /// Only what is beside this unit, in the place of `spot`.
    pub adjacent: Option<Adjacent>,
    /// Only what holds then; `None`: now.
    pub as_of: Option<Timestamp>,
    /// What was known when; `None`: now.
    pub known_at: Option<Timestamp>,
    /// Also what is held.
    pub held: bool,
    /// Also what is archived.
    pub archived: bool,
    /// What holds at any date, those recorded first first; without place, and as it is known now.
    pub any_date: bool,
    /// The last version of the page before.
    pub before: Option<i64>,
    /// So many at most.
    pub limit: usize,
}

/// A page as it is filled.
struct Page {
    limit: usize,
    bytes: u64,
    versions: Vec<Version>,
}

impl Page {
    const fn new(limit: usize) -> Self {
        Self { limit, bytes: 0, versions: Vec::new() }
    }

    /// Whether there was room for it; for one unit there is, however large.
    fn take(&mut self, version: Version) -> bool {
        let bytes = self.bytes.saturating_add(weigh(&version.draft));
        let room = self.versions.is_empty() || bytes <= BYTES;
        if !room || self.versions.len() >= self.limit {
            return false;
        }
        self.bytes = bytes;
        self.versions.push(version);
        true
    }
}

impl Memory {
    /// Units in a scope, those recorded last first, and whether there are more behind them.
    pub async fn list(
        &self,
        permit: &Permit,
        listing: &Listing,
    ) -> Result<(Vec<Version>, bool), Error> {
        if listing.any_date {
            return self.walk(permit, listing).await;
        }
        let spot = match &listing.adjacent {
            Some(adjacent) => Some(self.spot(permit, adjacent).await?),
            None => listing.spot.clone(),
        };
        let scope = Scope {
            tenant: permit.caller().tenant.clone(),
            collections: owned(permit),
            as_of: listing.as_of.unwrap_or_else(Timestamp::now),
            known_at: listing.known_at,
            kinds: listing.kinds.clone(),
            filters: listing.filters.clone(),
            spot,
            held: listing.held,
            quarantined: false,
            archived: listing.archived,
        };
        // The unit itself is no neighbour of its own.
        let own = listing.adjacent.as_ref().map(|adjacent| &adjacent.unit);
        let (mut page, mut before) = (Page::new(listing.limit), listing.before);
        let step = listing.limit.saturating_add(2).min(STEP);
        loop {
            let found = self.inner.store.list(&scope, before, step).await?;
            let full = found.len() == step;
            before = found.last().map_or(before, |last| Some(last.seq));
            for version in found.into_iter().filter(|version| Some(&version.unit) != own) {
                if !page.take(version) {
                    return Ok((page.versions, true));
                }
            }
            if !full {
                return Ok((page.versions, false));
            }
        }
    }

    /// Units whatever their date. Going up, it meets what takes the place of one that it is yet to meet.
    async fn walk(
        &self,
        permit: &Permit,
        listing: &Listing,
    ) -> Result<(Vec<Version>, bool), Error> {
        let wanted = [
            (true, State::Active),
            (listing.held, State::Held),
            (listing.archived, State::Archived),
        ];
        let states: Vec<State> =
            wanted.into_iter().filter_map(|(wanted, state)| wanted.then_some(state)).collect();
        let tenant = Some(permit.caller().tenant.as_str());
        let fits = |version: &Version| {
            permit.covers(&version.draft.collection, &version.owner)
                && (listing.kinds.is_empty() || listing.kinds.contains(&version.draft.kind))
                && listing.filters.iter().all(|filter| filter.meets(version))
        };
        let (mut page, mut after) = (Page::new(listing.limit), listing.before.unwrap_or(0));
        loop {
            let found = self.inner.store.walk(tenant, &states, after, STEP).await?;
            let full = found.len() == STEP;
            after = found.last().map_or(after, |version| version.seq);
            for version in found.into_iter().filter(fits) {
                if !page.take(version) {
                    return Ok((page.versions, true));
                }
            }
            if !full {
                return Ok((page.versions, false));
            }
        }
    }
}
