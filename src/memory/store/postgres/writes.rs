//! Writes that were acknowledged, who works on them, and their receipts.
//!
//! A daemon takes charge of all waiting writes of one collection of a tenant, as long as it has any of
//! them unsettled: so the writes of a source id are worked on in order, and a contradiction between
//! two writes is not missed because two daemons looked at the same moment. A charge is void when the
//! daemon's lock is gone.

use jiff::Timestamp;
use tokio_postgres::types::ToSql;

use super::row::{give, instant, json, keep, name, named, parse};
use super::{Error, Link};
use crate::memory::store::{Backlog, Receipt, Stage, Write};
use crate::memory::unit::{Draft, UnitId};

/// Names the lock under which charges are given out.
const GIVING: &str = "SELECT pg_advisory_xact_lock(hashtext($1), 0)";

/// Keeps writes; they are on the disk when this returns.
pub(super) async fn accept(link: &Link, writes: &[Write]) -> Result<(), Error> {
    let accepted = name(&Stage::Accepted)?;
    let mut columns: [Vec<String>; 7] = Default::default();
    for write in writes {
        let row = [
            keep(&write.receipt),
            keep(&write.tenant),
            keep(&write.caller),
            keep(&write.draft.collection),
            source(&write.draft)?,
            json(write)?,
            write.arrived.to_string(),
        ];
        columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
    }
    let [receipts, tenants, callers, collections, sources, bodies, times] = &columns;
    let client = link.client().await?;
    let statement = client
        .prepare_cached(
            "INSERT INTO writes (receipt, tenant, caller, collection, source, body, arrived, changed, \
             stage, remarks) SELECT r, t, c, l, s, b, a, a, $8, '[]' FROM unnest($1::text[], \
             $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[]) \
             WITH ORDINALITY AS w(r, t, c, l, s, b, a, n) \
             ORDER BY n ON CONFLICT (receipt) DO NOTHING",
        )
        .await?;
    let values: [&(dyn ToSql + Sync); 8] =
        [receipts, tenants, callers, collections, sources, bodies, times, &accepted];
    client.execute(&statement, &values).await?;
    Ok(())
}

/// One source id, as writes that wait name it.
pub(super) fn source(draft: &Draft) -> Result<String, Error> {
    json(&[&draft.collection, &draft.source, &draft.source_id])
}

/// What became of a write.
pub(super) async fn receipt(link: &Link, tenant: &str, id: &str) -> Result<Option<Receipt>, Error> {
    let client = link.client().await?;
    let statement = client
        .prepare_cached(
            "SELECT receipt, tenant, caller, stage, unit, seq, remarks, arrived, changed, \
             EXISTS (SELECT FROM versions v WHERE v.unit = writes.unit AND v.seq < writes.made) \
             FROM writes WHERE receipt = $1 AND tenant = $2",
        )
        .await?;
    let Some(row) = client.query_opt(&statement, &[&keep(id), &keep(tenant)]).await? else {
        return Ok(None);
    };
    let stored = match (row.try_get::<_, Option<&str>>(4)?, row.try_get::<_, Option<i64>>(5)?) {
        (Some(unit), Some(seq)) => UnitId::parse(unit).map(|unit| (unit, seq)),
        _ => None,
    };
    let stage = named(row.try_get(3)?)?;
    Ok(Some(Receipt {
        id: give(row.try_get(0)?),
        tenant: give(row.try_get(1)?),
        caller: give(row.try_get(2)?),
        stage,
        stored,
        newer: stage != Stage::Outdated && row.try_get(9)?,
        remarks: parse(row.try_get(6)?)?,
        arrived: instant(row.try_get(7)?)?,
        changed: instant(row.try_get(8)?)?,
    }))
}

/// Takes charge of writes and gives them in order. Where `after` was given to this daemon, what it has
/// not been given yet comes too, if its place is before: it was accepted elsewhere at the same moment,
/// or another daemon had charge of it.
pub(super) async fn waiting(
    link: &Link,
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<Write>, Error> {
    let number = link.number().await?;
    let mut client = link.client().await?;
    let statement = client
        .prepare_cached(
            "WITH alive AS MATERIALIZED (SELECT objid::bigint::int AS number FROM pg_locks \
             WHERE locktype = 'advisory' AND objsubid = 2 AND granted AND database = \
             (SELECT oid FROM pg_database WHERE datname = current_database()) \
             AND classid::bigint = (hashtext($1)::bigint & 4294967295)), \
             since AS (SELECT coalesce(max(id), 0) AS id, coalesce(bool_or(claimed = $2), false) \
             AS mine FROM writes WHERE receipt = $3), \
             next AS (SELECT w.id FROM writes w, since WHERE w.body IS NOT NULL \
             AND (w.id > since.id OR since.mine AND w.claimed IS DISTINCT FROM $2) \
             AND NOT EXISTS (SELECT FROM writes o WHERE o.tenant = w.tenant \
             AND o.collection = w.collection AND o.body IS NOT NULL AND o.claimed IS NOT NULL \
             AND o.claimed <> $2 AND o.claimed IN (SELECT number FROM alive)) \
             ORDER BY w.id LIMIT $4) \
             UPDATE writes w SET claimed = $2 FROM next WHERE w.id = next.id \
             RETURNING w.id, w.body",
        )
        .await?;
    let step = client.transaction().await?;
    let giving = step.prepare_cached(GIVING).await?;
    step.execute(&giving, &[&link.schema()]).await?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let after = after.map(keep);
    let rows = step.query(&statement, &[&link.schema(), &number, &after, &limit]).await?;
    step.commit().await?;
    let mut found = Vec::with_capacity(rows.len());
    for row in &rows {
        let write: Write = parse(row.try_get(1)?)?;
        found.push((row.try_get::<_, i64>(0)?, write));
    }
    found.sort_by_key(|(id, _)| *id);
    Ok(found.into_iter().map(|(_, write)| write).collect())
}

/// Removes receipts of writes that came to their last stage before this; answers how many.
pub(super) async fn forget(link: &Link, before: Timestamp) -> Result<u64, Error> {
    let client = link.client().await?;
    let gone = "DELETE FROM writes WHERE id IN (SELECT id FROM writes WHERE body IS NULL \
                AND changed::timestamptz < $1::text::timestamptz ORDER BY id LIMIT 10000)";
    let statement = client.prepare_cached(gone).await?;
    let mut removed = 0;
    loop {
        match client.execute(&statement, &[&before.to_string()]).await? {
            0 => return Ok(removed),
            count => removed += count,
        }
    }
}

/// How much waits, whoever works on it.
pub(super) async fn backlog(link: &Link) -> Result<Backlog, Error> {
    let client = link.client().await?;
    let asked = "SELECT count(*), coalesce(sum(octet_length(body)), 0)::bigint FROM writes \
                 WHERE body IS NOT NULL";
    let row = client.query_one(asked, &[]).await?;
    let number = |at: usize| row.try_get::<_, i64>(at).map(i64::unsigned_abs);
    Ok(Backlog { writes: number(0)?, bytes: number(1)? })
}
