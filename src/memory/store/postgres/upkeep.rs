//! What is noted beside the versions, counted, tidied up, and removed for ever.

use std::time::Duration;

use deadpool_postgres::Transaction;
use jiff::Timestamp;
use tokio_postgres::types::ToSql;

use super::row::{FOREVER, give, json, keep, micros, moment, name, parse};
use super::{Error, Link, writes};
use crate::memory::store::mark::too_late;
use crate::memory::store::words;
use crate::memory::store::{Counts, Stage, Vote};
use crate::memory::unit::{Draft, UnitId, Version};

/// Longest time for compaction.
pub(super) const COMPACTION: Duration = Duration::from_secs(6 * 3600);

/// Notes that versions were given out.
pub(super) async fn touch(link: &Link, seqs: &[i64], at: Timestamp) -> Result<(), Error> {
    let client = link.client().await?;
    let statement = client
        .prepare_cached(
            "INSERT INTO uses (seq, used, uses) SELECT v.seq, $2, count(*) FROM unnest($1::bigint[]) a(seq) \
             JOIN versions v ON v.seq = a.seq GROUP BY v.seq ORDER BY v.seq \
             ON CONFLICT (seq) DO UPDATE SET used = greatest(uses.used, excluded.used), \
             uses = uses.uses + excluded.uses",
        )
        .await?;
    client.execute(&statement, &[&seqs, &micros(at)]).await?;
    Ok(())
}

/// Keeps a vote; gives all on that version.
pub(super) async fn vote(link: &Link, tenant: &str, vote: &Vote) -> Result<Vec<Vote>, Error> {
    let client = link.client().await?;
    let statement = client
        .prepare_cached(
            "INSERT INTO votes SELECT v.seq, $3, $4, $5, $6 FROM versions v JOIN realms r \
             ON r.id = v.realm WHERE v.seq = $1 AND r.tenant = $2 ON CONFLICT (seq, voter) \
             DO UPDATE SET approve = excluded.approve, reason = excluded.reason, at = excluded.at",
        )
        .await?;
    let (voter, reason, at) = (keep(&vote.by), keep(&vote.reason), micros(vote.at));
    let kept = client
        .execute(&statement, &[&vote.seq, &keep(tenant), &voter, &vote.approve, &reason, &at])
        .await?;
    if kept == 0 {
        return Err(Error::Engine(format!("there is no version {}", vote.seq)));
    }
    // The connection is another one's turn.
    drop(client);
    votes(link, tenant, vote.seq).await
}

/// The votes on a version, oldest first.
pub(super) async fn votes(link: &Link, tenant: &str, seq: i64) -> Result<Vec<Vote>, Error> {
    let asked = "SELECT o.voter, o.approve, o.reason, o.at FROM votes o \
                 JOIN versions v ON v.seq = o.seq JOIN realms r ON r.id = v.realm \
                 WHERE o.seq = $1 AND r.tenant = $2 ORDER BY o.at, o.voter";
    let client = link.client().await?;
    let read = |row: &tokio_postgres::Row| {
        Ok(Vote {
            seq,
            by: give(row.try_get(0)?),
            approve: row.try_get(1)?,
            reason: give(row.try_get(2)?),
            at: moment(row.try_get(3)?)?,
        })
    };
    client.query(asked, &[&seq, &keep(tenant)]).await?.iter().map(read).collect()
}

/// Takes all votes on a version back.
pub(super) async fn unvote(link: &Link, tenant: &str, seq: i64) -> Result<(), Error> {
    let gone = "DELETE FROM votes o USING versions v, realms r WHERE o.seq = $1 AND v.seq = o.seq \
                AND r.id = v.realm AND r.tenant = $2";
    link.client().await?.execute(gone, &[&seq, &keep(tenant)]).await?;
    Ok(())
}

/// Refuses what callers have waiting under a source id; gives the number.
pub(super) async fn withdraw(
    link: &Link,
    tenant: &str,
    (draft, callers): (&Draft, &[String]),
) -> Result<u64, Error> {
    let mut client = link.client().await?;
    let step = client.transaction().await?;
    // Not while any of it is being stored.
    step.execute("UPDATE meta SET recorded = recorded", &[]).await?;
    let written = callers.iter().map(|caller| Ok((writes::source(draft)?, keep(caller))));
    let written: Vec<(String, String)> = written.collect::<Result<_, Error>>()?;
    let count = refuse_waiting(&step, tenant, &written, "forgotten").await?;
    step.commit().await?;
    Ok(count)
}

/// Refuses what waits to become a version of a unit that is taken out: pairs of source id and caller.
async fn refuse_waiting(
    step: &Transaction<'_>,
    tenant: &str,
    written: &[(String, String)],
    how: &str,
) -> Result<u64, Error> {
    let waiting = "UPDATE writes SET body = NULL, stage = $4, remarks = $5, changed = $6 \
                   WHERE tenant = $1 AND body IS NOT NULL AND (source, caller) IN \
                   (SELECT * FROM unnest($2::text[], $3::text[]))";
    let (sources, callers): (Vec<&str>, Vec<&str>) =
        written.iter().map(|(source, caller)| (source.as_str(), caller.as_str())).unzip();
    let (refused, now) = (name(&Stage::Refused)?, Timestamp::now().to_string());
    let remarks = json(&[too_late(how)])?;
    let row: [&(dyn ToSql + Sync); 6] =
        [&keep(tenant), &sources, &callers, &refused, &remarks, &now];
    Ok(step.execute(waiting, &row).await?)
}

/// Removes every version of a unit and all that was made of it.
pub(super) async fn erase(link: &Link, tenant: &str, unit: &UnitId) -> Result<u64, Error> {
    let mut client = link.client().await?;
    let step = client.transaction().await?;
    // No vector is added to what goes, and no version stored meanwhile.
    step.execute("SELECT pg_advisory_xact_lock(hashtext($1), 1)", &[&link.schema()]).await?;
    step.execute("UPDATE meta SET recorded = recorded", &[]).await?;
    let of = "SELECT v.seq, v.realm, v.body FROM versions v JOIN realms r ON r.id = v.realm \
              WHERE v.unit = $1 AND r.tenant = $2";
    let rows = step.query(of, &[&unit.as_str(), &keep(tenant)]).await?;
    let (mut seqs, mut written) = (Vec::<i64>::new(), Vec::new());
    for row in &rows {
        let seq: i64 = row.try_get(0)?;
        let version: Version = parse(row.try_get(2)?)?;
        forget_words(&step, row.try_get(1)?, seq).await?;
        seqs.push(seq);
        written.push((writes::source(&version.draft)?, keep(&version.owner)));
    }
    if seqs.is_empty() {
        return Ok(0);
    }
    for table in [
        "versions", "facets", "triggers", "entities", "facts", "chunks", "vectors", "pictures",
        "places", "uses", "votes", "journal",
    ] {
        step.execute(&format!("DELETE FROM {table} WHERE seq = ANY($1)"), &[&seqs]).await?;
    }
    let receipts = "UPDATE writes SET remarks = '[]' WHERE unit = $1 AND body IS NULL";
    step.execute(receipts, &[&unit.as_str()]).await?;
    refuse_waiting(&step, tenant, &written, "erased").await?;
    forget_mentions(&step, unit).await?;
    step.commit().await?;
    Ok(u64::try_from(seqs.len()).unwrap_or(u64::MAX))
}

/// Takes the chunks of a version out of full text.
async fn forget_words(step: &Transaction<'_>, realm: i32, seq: i64) -> Result<(), Error> {
    let chunks = step.query("SELECT body FROM chunks WHERE seq = $1", &[&seq]).await?;
    let (mut terms, mut length) = (Vec::new(), 0_i64);
    for chunk in &chunks {
        let (own, words) = words::tally(&give(chunk.try_get(0)?));
        length += i64::from(words);
        terms.extend(own.keys().map(|term| keep(term)));
    }
    let gone = "DELETE FROM postings WHERE realm = $1 AND term = ANY($2) AND seq = $3";
    step.execute(gone, &[&realm, &terms, &seq]).await?;
    let counted = "UPDATE realms SET chunks = chunks - $2, length = length - $3 WHERE id = $1";
    let chunks = i64::try_from(chunks.len()).unwrap_or(i64::MAX);
    step.execute(counted, &[&realm, &chunks, &length]).await?;
    let own = "UPDATE spaces s SET chunks = s.chunks - $3, length = s.length - $4 FROM versions v \
               WHERE v.seq = $2 AND s.realm = $1 AND s.owner = v.owner";
    step.execute(own, &[&realm, &seq, &chunks, &length]).await?;
    Ok(())
}

/// Takes an erased unit out of the conflicts of others.
async fn forget_mentions(step: &Transaction<'_>, unit: &UnitId) -> Result<(), Error> {
    let asked = "SELECT seq, conflicts FROM versions WHERE conflicts <> '[]' \
                 AND strpos(conflicts, $1) > 0 FOR UPDATE";
    for row in step.query(asked, &[&unit.as_str()]).await? {
        let seq: i64 = row.try_get(0)?;
        let mut conflicts: Vec<UnitId> = parse(row.try_get(1)?)?;
        conflicts.retain(|other| other != unit);
        let put = "UPDATE versions SET conflicts = $2 WHERE seq = $1";
        step.execute(put, &[&seq, &json(&conflicts)?]).await?;
    }
    Ok(())
}

/// Gives room back, and lets the server count anew what it plans by.
pub(super) async fn compact(link: &Link) -> Result<(), Error> {
    let client = link.client().await?;
    let asked = "SELECT quote_ident(relname) FROM pg_class WHERE relnamespace = $1::text::regnamespace \
                 AND relkind = 'r'";
    let tables = client.query(asked, &[&link.schema()]).await?;
    client.batch_execute("SET statement_timeout = 0").await?;
    let mut done = Ok(());
    for table in &tables {
        let table: &str = table.try_get(0)?;
        done = client.batch_execute(&format!("VACUUM (ANALYZE) {}.{table}", link.schema())).await;
        if done.is_err() {
            break;
        }
    }
    client.batch_execute("RESET statement_timeout").await?;
    Ok(done?)
}

/// How much there is.
pub(super) async fn counts(link: &Link, tenant: Option<&str>) -> Result<Counts, Error> {
    let client = link.client().await?;
    let tenant = tenant.map(keep);
    let asked = format!(
        "WITH own AS (SELECT v.seq, v.unit, v.state, v.ended = {FOREVER} AS open FROM versions v \
         JOIN realms r ON r.id = v.realm WHERE $1::text IS NULL OR r.tenant = $1), \
         parts AS (SELECT pg_total_relation_size(oid) AS size FROM pg_class \
         WHERE relnamespace = $2::text::regnamespace AND relkind = 'r') \
         SELECT (SELECT count(DISTINCT unit) FROM own WHERE open), (SELECT count(*) FROM own), \
         (SELECT count(*) FROM chunks c JOIN own USING (seq) WHERE open), \
         (SELECT count(*) FROM own WHERE open AND state = 'held'), \
         (SELECT count(*) FROM own WHERE open AND state = 'quarantined'), \
         (SELECT count(*) FROM writes WHERE body IS NOT NULL AND ($1::text IS NULL OR tenant = $1)), \
         (SELECT coalesce(sum(size), 0)::bigint FROM parts)"
    );
    let row = client.query_one(&asked, &[&tenant, &link.schema()]).await?;
    let number =
        |at: usize| -> Result<u64, Error> { Ok(row.try_get::<_, i64>(at)?.cast_unsigned()) };
    let vectors = format!(
        "SELECT m.name, count(*) FROM vectors x JOIN models m ON m.id = x.model \
         JOIN versions v ON v.seq = x.seq JOIN realms r ON r.id = v.realm \
         WHERE v.ended = {FOREVER} AND ($1::text IS NULL OR r.tenant = $1) GROUP BY m.name ORDER BY m.name"
    );
    let mut by_model = Vec::new();
    for row in client.query(&vectors, &[&tenant]).await? {
        by_model.push((give(row.try_get(0)?), row.try_get::<_, i64>(1)?.cast_unsigned()));
    }
    Ok(Counts {
        units: number(0)?,
        versions: number(1)?,
        chunks: number(2)?,
        vectors: by_model,
        held: (number(3)?, number(4)?),
        waiting: number(5)?,
        bytes: number(6)?,
    })
}
