//! What a retention removes for ever: which versions it is over for, and their removal.

use jiff::Timestamp;

use super::row::{FOREVER, give, keep, micros, moment};
use super::upkeep::{forget_mentions, forget_words, remove};
use super::{Error, Link};
use crate::memory::unit::UnitId;

/// Versions that ended before an instant, and expired or were recorded before their collection's.
pub(super) async fn outlived(
    link: &Link,
    ended: Timestamp,
    recorded: &[(String, Timestamp)],
    limit: usize,
) -> Result<Vec<(String, i64)>, Error> {
    let (names, times): (Vec<String>, Vec<i64>) =
        recorded.iter().map(|(name, at)| (keep(name), micros(*at))).unzip();
    let asked = format!(
        "SELECT r.tenant, v.seq FROM versions v JOIN realms r ON r.id = v.realm \
         LEFT JOIN unnest($2::text[], $3::bigint[]) AS k(collection, at) \
         ON k.collection = r.collection WHERE v.ended < {FOREVER} AND v.ended <= $1 \
         AND (v.ending::json ->> 'why' = 'expired' OR v.recorded <= k.at) \
         ORDER BY v.ended, v.seq LIMIT $4"
    );
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let client = link.client().await?;
    let rows = client.query(&asked, &[&micros(ended), &names, &times, &limit]).await?;
    rows.iter().map(|row| Ok((give(row.try_get(0)?), row.try_get(1)?))).collect()
}

/// Removes versions that have ended; those that have not stay.
pub(super) async fn purge(link: &Link, tenant: &str, seqs: &[i64]) -> Result<u64, Error> {
    let mut client = link.client().await?;
    let step = client.transaction().await?;
    // No vector is added to what goes, and no version stored meanwhile.
    step.execute("SELECT pg_advisory_xact_lock(hashtext($1), 1)", &[&link.schema()]).await?;
    step.execute("UPDATE meta SET recorded = recorded", &[]).await?;
    let of = format!(
        "SELECT v.seq, v.realm, v.unit FROM versions v JOIN realms r ON r.id = v.realm \
         WHERE v.seq = ANY($1) AND r.tenant = $2 AND v.ended < {FOREVER} FOR UPDATE OF v"
    );
    let rows = step.query(&of, &[&seqs, &keep(tenant)]).await?;
    let mut gone: Vec<(i64, String)> = Vec::with_capacity(rows.len());
    for row in &rows {
        forget_words(&step, row.try_get(1)?, row.try_get(0)?).await?;
        gone.push((row.try_get(0)?, row.try_get(2)?));
    }
    let seqs: Vec<i64> = gone.iter().map(|(seq, _)| *seq).collect();
    remove(&step, tenant, &seqs).await?;
    for (seq, unit) in &gone {
        let receipts = "UPDATE writes SET remarks = '[]' WHERE unit = $1 AND seq = $2";
        step.execute(receipts, &[unit, seq]).await?;
        let left = "SELECT EXISTS (SELECT FROM versions WHERE unit = $1)";
        let left: bool = step.query_one(left, &[unit]).await?.try_get(0)?;
        if let Some(unit) = UnitId::parse(unit).filter(|_| !left) {
            forget_mentions(&step, &unit).await?;
        }
    }
    step.commit().await?;
    Ok(u64::try_from(gone.len()).unwrap_or(u64::MAX))
}

/// When upkeep of the whole memory was last done.
pub(super) async fn tended(link: &Link) -> Result<Option<Timestamp>, Error> {
    let row = link.client().await?.query_one("SELECT tended FROM meta", &[]).await?;
    row.try_get::<_, Option<i64>>(0)?.map(moment).transpose()
}

/// Notes that it was done.
pub(super) async fn tend(link: &Link, at: Timestamp) -> Result<(), Error> {
    let noted = "UPDATE meta SET tended = greatest(tended, $1)";
    link.client().await?.execute(noted, &[&micros(at)]).await?;
    Ok(())
}
