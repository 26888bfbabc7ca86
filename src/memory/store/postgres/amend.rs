//! What changes of versions that are there: state, end, conflicts, remarks; with a journal where it is a
//! run of upkeep, so that it can be undone.

use deadpool_postgres::Transaction;
use jiff::Timestamp;

use super::row::{FOREVER, json, keep, micros, moment, name, named, parse};
use super::{Error, Link};
use crate::memory::store::mark::Mark;
use crate::memory::store::{Change, Run};

/// Reads what can change, and when the version was recorded; nobody else changes it until the end.
async fn known(step: &Transaction<'_>, seq: i64) -> Result<Option<(Mark, Timestamp)>, Error> {
    let statement = step
        .prepare_cached(
            "SELECT state, ending, conflicts, remarks, recorded FROM versions WHERE seq = $1 FOR UPDATE",
        )
        .await?;
    let Some(row) = step.query_opt(&statement, &[&seq]).await? else {
        return Ok(None);
    };
    let mark = Mark {
        state: named(row.try_get(0)?)?,
        ended: row.try_get::<_, Option<&str>>(1)?.map(parse).transpose()?,
        conflicts: parse(row.try_get(2)?)?,
        remarks: parse(row.try_get(3)?)?,
    };
    Ok(Some((mark, moment(row.try_get(4)?)?)))
}

async fn put(step: &Transaction<'_>, seq: i64, mark: &Mark) -> Result<(), Error> {
    let statement = step
        .prepare_cached(
            "UPDATE versions SET state = $2, ended = $3, ending = $4, conflicts = $5, remarks = $6 \
             WHERE seq = $1",
        )
        .await?;
    let ended = mark.ended.as_ref().map_or(FOREVER, |ended| micros(ended.at));
    let ending = mark.ended.as_ref().map(json).transpose()?;
    let (conflicts, remarks) = (json(&mark.conflicts)?, json(&mark.remarks)?);
    step.execute(&statement, &[&seq, &name(&mark.state)?, &ended, &ending, &conflicts, &remarks])
        .await?;
    Ok(())
}

/// Changes a version. It ends at `at`, where that is given; never before it was recorded. Gives what
/// it was and what it is.
pub(super) async fn amend(
    step: &Transaction<'_>,
    change: &Change,
    at: Option<Timestamp>,
) -> Result<(String, String), Error> {
    let Some((mut mark, recorded)) = known(step, change.seq).await? else {
        return Err(Error::Engine(format!("there is no version {}", change.seq)));
    };
    let before = json(&mark)?;
    mark.apply(change, at, recorded);
    put(step, change.seq, &mark).await?;
    if let Some(said) = change.said {
        let statement = step
            .prepare_cached(
                "INSERT INTO uses (seq, uses, said) VALUES ($1, 0, $2) ON CONFLICT (seq) \
                 DO UPDATE SET said = greatest(uses.said, excluded.said)",
            )
            .await?;
        step.execute(&statement, &[&change.seq, &micros(said)]).await?;
    }
    Ok((before, json(&mark)?))
}

/// Changes versions, all or none, under a run where one is named.
pub(super) async fn change(
    link: &Link,
    run: Option<(&str, &str)>,
    changes: &[Change],
) -> Result<(), Error> {
    let mut client = link.client().await?;
    let step = client.transaction().await?;
    if let Some((id, summary)) = run {
        let statement = step
            .prepare_cached(
                "INSERT INTO runs (id, began, summary, changed, undone, tenant, collections) \
                 VALUES ($1, $2, $3, 0, false, '', '{}') ON CONFLICT (id) \
                 DO UPDATE SET summary = excluded.summary",
            )
            .await?;
        let now = micros(Timestamp::now());
        step.execute(&statement, &[&keep(id), &now, &keep(summary)]).await?;
    }
    // In one order everywhere, so that two that change the same do not wait for each other for ever.
    let mut ordered: Vec<&Change> = changes.iter().collect();
    ordered.sort_by_key(|change| change.seq);
    for change in ordered {
        let (before, after) = amend(&step, change, None).await?;
        if let Some((id, _)) = run {
            // What it was before the run's first change is what an undo puts back.
            let statement = step
                .prepare_cached(
                    "INSERT INTO journal VALUES ($1, $2, $3, $4) \
                     ON CONFLICT (run, seq) DO UPDATE SET after = excluded.after",
                )
                .await?;
            step.execute(&statement, &[&keep(id), &change.seq, &before, &after]).await?;
        }
    }
    if let Some((id, _)) = run {
        end_run(&step, id).await?;
    }
    step.commit().await?;
    Ok(())
}

/// Writes down how many versions a run changed, and where.
async fn end_run(step: &Transaction<'_>, id: &str) -> Result<(), Error> {
    let counted = "WITH changed AS (SELECT r.tenant, r.collection FROM journal j \
                   JOIN versions v ON v.seq = j.seq JOIN realms r ON r.id = v.realm WHERE j.run = $1) \
                   UPDATE runs SET changed = (SELECT count(*) FROM changed), \
                   tenant = coalesce((SELECT min(tenant) FROM changed), ''), \
                   collections = ARRAY(SELECT DISTINCT collection FROM changed ORDER BY 1) \
                   WHERE id = $1 RETURNING (SELECT count(DISTINCT tenant) FROM changed)";
    let tenants: i64 = step.query_one(counted, &[&keep(id)]).await?.try_get(0)?;
    if tenants > 1 {
        return Err(Error::Engine("a run is of one tenant".to_owned()));
    }
    Ok(())
}

/// Puts back what a run changed, where nothing changed it since.
pub(super) async fn undo(link: &Link, run: &str) -> Result<u64, Error> {
    let mut client = link.client().await?;
    let step = client.transaction().await?;
    let run = keep(run);
    let claimed = "UPDATE runs SET undone = true WHERE id = $1 AND NOT undone";
    if step.execute(claimed, &[&run]).await? == 0 {
        return Ok(0);
    }
    let entries = "DELETE FROM journal WHERE run = $1 RETURNING seq, before, after";
    let mut entries = step
        .query(entries, &[&run])
        .await?
        .iter()
        .map(|row| {
            let (before, after) = (parse(row.try_get(1)?)?, parse(row.try_get(2)?)?);
            Ok((row.try_get(0)?, before, after))
        })
        .collect::<Result<Vec<(i64, Mark, Mark)>, Error>>()?;
    entries.sort_by_key(|(seq, ..)| *seq);
    let mut put_back = 0;
    for (seq, before, after) in entries {
        let Some((mark, _)) = known(&step, seq).await? else { continue };
        let opens = before.ended.is_none() && after.ended.is_some();
        if mark == after && !(opens && is_followed(&step, seq).await?) {
            put(&step, seq, &before).await?;
            put_back += 1;
        }
    }
    step.commit().await?;
    Ok(put_back)
}

/// Whether the unit of a version has a later one, so that two would hold at the same time.
async fn is_followed(step: &Transaction<'_>, seq: i64) -> Result<bool, Error> {
    let asked = format!(
        "SELECT EXISTS (SELECT FROM versions v JOIN versions o ON o.unit = v.unit AND o.realm = v.realm \
         WHERE v.seq = $1 AND o.seq > $1 AND o.ended = {FOREVER})"
    );
    Ok(step.query_one(&asked, &[&seq]).await?.try_get(0)?)
}

/// Runs of upkeep, newest first.
pub(super) async fn runs(link: &Link, limit: usize) -> Result<Vec<Run>, Error> {
    let client = link.client().await?;
    let asked = "SELECT id, began, summary, changed, undone, tenant, collections FROM runs \
         ORDER BY number DESC LIMIT $1";
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = client.query(asked, &[&limit]).await?;
    let read = |row: &tokio_postgres::Row| {
        Ok(Run {
            id: super::row::give(row.try_get(0)?),
            at: moment(row.try_get(1)?)?,
            summary: super::row::give(row.try_get(2)?),
            changed: row.try_get::<_, i64>(3)?.cast_unsigned(),
            undone: row.try_get(4)?,
            tenant: super::row::give(row.try_get(5)?),
            collections: row
                .try_get::<_, Vec<String>>(6)?
                .into_iter()
                .map(super::row::give)
                .collect(),
        })
    };
    rows.iter().map(read).collect()
}
