//! Units of any date, page by page, for who wants them all. Ranks nothing.

use super::{Listing, Memory};
use crate::memory::{Error, State, Version};
use crate::policy::Permit;

/// Versions that are read at a time.
const PAGE: usize = 200;

impl Memory {
    /// Units whatever their date. Going up, it meets what takes the place of one that it is yet to meet.
    pub(super) async fn walk(
        &self,
        permit: &Permit,
        listing: &Listing,
    ) -> Result<Vec<Version>, Error> {
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
        let (mut found, mut after) = (Vec::new(), listing.before.unwrap_or(0));
        loop {
            let page = self.inner.store.walk(tenant, &states, after, PAGE).await?;
            let full = page.len() == PAGE;
            after = page.last().map_or(after, |version| version.seq);
            found.extend(page.into_iter().filter(fits));
            if !full || found.len() >= listing.limit {
                found.truncate(listing.limit);
                return Ok(found);
            }
        }
    }
}
