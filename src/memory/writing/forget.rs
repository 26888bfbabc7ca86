//! Takes a unit out: hides it from now on, or erases it on every axis.

use super::Writing;
use super::settle::end;
use crate::memory::fault::Error;
use crate::memory::rights::Rights;
use crate::memory::store::Change;
use crate::memory::unit::{Draft, End, UnitId, Version};

impl Writing {
    /// Hides a unit from now on (its history stays), or, with `erase`, removes every version of it
    /// for ever, on every axis. One's own, or as a reviewer anybody's in the tenant. Gives the number
    /// of versions.
    pub async fn forget(&self, rights: &Rights, unit: &UnitId, erase: bool) -> Result<u64, Error> {
        let tenant = &rights.caller.tenant;
        let collections = self.collections();
        let _order = self.order().await;
        let history = self.store().history(tenant, unit).await?;
        let seen: Vec<&Version> =
            history.iter().filter(|version| rights.sees(version, &collections)).collect();
        let open: Vec<&Version> =
            seen.iter().copied().filter(|version| erase || version.ended.is_none()).collect();
        let Some(newest) = open.first() else { return Err(Error::unknown("unit", unit)) };
        let own = |version: &&Version| {
            version.owner == rights.caller.name && rights.write.contains(&version.draft.collection)
        };
        // Of a unit that several wrote, nobody takes out what others said.
        let touched = if erase { &seen } else { &open };
        if !rights.reviews(newest)
            && !(touched.iter().all(own) && (!erase || seen.len() == history.len()))
        {
            let message = format!(
                "unit `{unit}` was not written by you alone: ask a reviewer of `{}` to forget it",
                newest.draft.collection
            );
            return Err(Error::Forbidden(message));
        }
        let kind = if erase { "erased" } else { "hidden" };
        metrics::counter!("switchboard_memory_forgotten_total", "how" => kind).increment(1);
        self.withdrawing();
        if erase {
            return Ok(self.store().erase(tenant, unit).await?);
        }
        // What waits would be found again as soon as it is stored.
        let mut owners: Vec<String> = open.iter().map(|one| one.owner.clone()).collect();
        owners.dedup();
        self.store().withdraw(tenant, &newest.draft, &owners).await?;
        let now = self.now();
        let changes: Vec<Change> =
            open.iter().map(|version| end(version, End::Forgotten, None, now)).collect();
        self.store().change(None, &changes).await?;
        Ok(u64::try_from(changes.len()).unwrap_or(u64::MAX))
    }

    /// Refuses what the caller has waiting to be stored under the draft's source id; gives the number.
    pub async fn withdraw(&self, rights: &Rights, draft: &Draft) -> Result<u64, Error> {
        if !rights.write.contains(&draft.collection) {
            return Ok(0);
        }
        let _order = self.order().await;
        self.withdrawing();
        let caller = std::slice::from_ref(&rights.caller.name);
        Ok(self.store().withdraw(&rights.caller.tenant, draft, caller).await?)
    }
}
