//! Worked-on writes are brought to their end in one transaction: versions and all that finds them, the
//! changes of others, the receipts. One at a time over all daemons, so that numbers and times of
//! recording grow in the order in which they become visible.

use std::collections::{BTreeMap, HashMap, HashSet};

use deadpool_postgres::Transaction;
use jiff::Timestamp;
use tokio_postgres::types::ToSql;

use super::amend::amend;
use super::models::{self, Models};
use super::row::{self, give, json, keep, kept, name};
use super::sheet::{Sheet, Sum};
use super::{Error, Link, writes};
use crate::memory::store::{Settlement, Stage};
use crate::memory::unit::Version;

/// Brings writes to their end; gives the number of each version that was stored.
pub(super) async fn settle(
    link: &Link,
    settlements: Vec<Settlement>,
) -> Result<Vec<Option<i64>>, Error> {
    let models = Models::make(link, settlements.iter().flat_map(vectors)).await?;
    let receipts: Vec<String> =
        settlements.iter().map(|settlement| settlement.receipt.clone()).collect();
    let mut client = link.client().await?;
    let step = client.transaction().await?;
    let first = next_moment(&step, settlements.len()).await?;
    models.check(&step).await?;
    let known = known(&step, &receipts).await?;
    let mut done: HashMap<String, Option<i64>> = HashMap::new();
    let mut open = Vec::with_capacity(settlements.len());
    // The same receipt twice in one batch is settled once.
    let mut taken = HashSet::new();
    for settlement in settlements {
        match known.get(&settlement.receipt) {
            Some((true, made)) => drop(done.insert(settlement.receipt, *made)),
            Some((false, _)) if !taken.insert(settlement.receipt.clone()) => {}
            Some((false, _)) => open.push((settlement, true)),
            None if !taken.insert(settlement.receipt.clone()) => {}
            None => open.push((settlement, false)),
        }
    }
    let stored = store(&step, open, first, &models).await?;
    step.commit().await?;
    let seq = |receipt| *stored.get(receipt).or_else(|| done.get(receipt)).unwrap_or(&None);
    Ok(receipts.iter().map(seq).collect())
}

/// Models of the vectors of a settlement, and their lengths.
fn vectors(settlement: &Settlement) -> Vec<(models::Key, usize)> {
    let Some((version, chunks)) = &settlement.version else { return Vec::new() };
    let own = chunks.iter().filter_map(|chunk| chunk.vector.as_ref());
    let own = own.map(|(model, vector)| (models::text(model), vector.len()));
    let images = version.draft.images.iter().filter(|image| !image.vector.is_empty());
    let images = images
        .map(|image| (models::image(&version.tenant, &image.vector_model), image.vector.len()));
    own.chain(images).collect()
}

/// The first of so many times of recording, each after every earlier one; holds off all other settling
/// until the end.
async fn next_moment(step: &Transaction<'_>, count: usize) -> Result<i64, Error> {
    let statement = step
        .prepare_cached(
            "UPDATE meta SET recorded = greatest(recorded, $1::bigint - $2) + $2 RETURNING recorded",
        )
        .await?;
    let now = Timestamp::now().as_microsecond();
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let last: i64 = step.query_one(&statement, &[&now, &count]).await?.try_get(0)?;
    Ok(last.saturating_sub(count).saturating_add(1))
}

/// Receipts that there are: whether they are settled, and the number of what each stored.
async fn known(
    step: &Transaction<'_>,
    receipts: &[String],
) -> Result<HashMap<String, (bool, Option<i64>)>, Error> {
    let receipts: Vec<String> = receipts.iter().map(|receipt| keep(receipt)).collect();
    let statement = step
        .prepare_cached("SELECT receipt, body IS NULL, made FROM writes WHERE receipt = ANY($1)")
        .await?;
    let rows = step.query(&statement, &[&receipts]).await?;
    let read =
        |row: &tokio_postgres::Row| Ok((give(row.try_get(0)?), (row.try_get(1)?, row.try_get(2)?)));
    rows.iter().map(read).collect()
}

/// Stores what is open; those with `false` have no receipt yet.
async fn store(
    step: &Transaction<'_>,
    open: Vec<(Settlement, bool)>,
    mut moment: i64,
    models: &Models,
) -> Result<HashMap<String, Option<i64>>, Error> {
    let realms = realms(step, &open).await?;
    let mut seqs = next_seqs(step, &open).await?.into_iter();
    let (mut sheet, mut ends) = (Sheet::new(), Ends::default());
    let mut stored = HashMap::new();
    for (mut settlement, asked) in open {
        if !asked {
            unasked(step, &settlement).await?;
        }
        let (mut seq, mut at) = (None, None);
        if let Some((version, chunks)) = &mut settlement.version {
            record(version, seqs.next().unwrap_or_default(), moment)?;
            moment += 1;
            seq = Some(version.seq);
            // What takes another's place is known from then on: nothing is unknown in between.
            at = version.ended.is_none().then_some(version.recorded);
            let of = (version.tenant.clone(), version.draft.collection.clone());
            let realm = realms.get(&of).copied().unwrap_or_default();
            sheet.add((realm, version), chunks, models)?;
        }
        ends.add(&settlement, seq)?;
        for change in &settlement.changes {
            amend(step, change, at).await?;
        }
        stored.insert(settlement.receipt, seq);
    }
    sheet.send(step).await?;
    count(step, &sheet.sums).await?;
    ends.send(step).await?;
    Ok(stored)
}

/// Gives a version its number and time.
fn record(version: &mut Version, seq: i64, moment: i64) -> Result<(), Error> {
    version.seq = seq;
    version.recorded = row::moment(moment)?;
    version.source_time = kept(version.source_time);
    version.valid_from = version.valid_from.map(kept);
    version.valid_to = version.valid_to.map(kept);
    if let Some(ended) = &mut version.ended {
        ended.at = kept(ended.at).max(version.recorded);
    }
    Ok(())
}

/// Makes the receipt of a version that nobody's write asked for, such as one that upkeep made.
async fn unasked(step: &Transaction<'_>, settlement: &Settlement) -> Result<(), Error> {
    let receipt = &settlement.receipt;
    let Some((version, _)) = &settlement.version else {
        return Err(Error::Engine(format!("there is no receipt `{receipt}`")));
    };
    let statement = step
        .prepare_cached(
            "INSERT INTO writes (receipt, tenant, caller, collection, source, body, arrived, changed, \
             stage, remarks) VALUES ($1, $2, $3, $4, $5, '', $6, $6, $7, '[]')",
        )
        .await?;
    let draft = &version.draft;
    let names =
        [receipt, &version.tenant, &version.owner, &draft.collection].map(|name| keep(name));
    let [receipt, tenant, owner, collection] = &names;
    let (source, now) = (writes::source(draft)?, Timestamp::now().to_string());
    let stage = name(&Stage::Accepted)?;
    let values: [&(dyn ToSql + Sync); 7] =
        [receipt, tenant, owner, collection, &source, &now, &stage];
    step.execute(&statement, &values).await?;
    Ok(())
}

/// Numbers of the collections of what is stored; makes those that are new.
async fn realms(
    step: &Transaction<'_>,
    open: &[(Settlement, bool)],
) -> Result<HashMap<(String, String), i32>, Error> {
    let mut wanted: Vec<(String, String)> = open
        .iter()
        .filter_map(|(settlement, _)| settlement.version.as_ref())
        .map(|(version, _)| (version.tenant.clone(), version.draft.collection.clone()))
        .collect();
    wanted.sort_unstable();
    wanted.dedup();
    let (tenants, collections): (Vec<String>, Vec<String>) =
        wanted.iter().map(|(tenant, collection)| (keep(tenant), keep(collection))).unzip();
    let made = step
        .prepare_cached(
            "INSERT INTO realms (tenant, collection) SELECT * FROM unnest($1::text[], $2::text[]) \
             ON CONFLICT DO NOTHING",
        )
        .await?;
    step.execute(&made, &[&tenants, &collections]).await?;
    let asked = step
        .prepare_cached(
            "SELECT n, r.id FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS w(t, c, n) \
             JOIN realms r ON r.tenant = w.t AND r.collection = w.c ORDER BY n",
        )
        .await?;
    let rows = step.query(&asked, &[&tenants, &collections]).await?;
    let ids = rows.iter().map(|row| row.try_get(1)).collect::<Result<Vec<i32>, _>>()?;
    Ok(wanted.into_iter().zip(ids).collect())
}

async fn next_seqs(step: &Transaction<'_>, open: &[(Settlement, bool)]) -> Result<Vec<i64>, Error> {
    let count = open.iter().filter(|(settlement, _)| settlement.version.is_some()).count();
    let statement =
        step.prepare_cached("SELECT nextval('seqs') FROM generate_series(1, $1::bigint)").await?;
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let rows = step.query(&statement, &[&count]).await?;
    Ok(rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?)
}

/// Adds up chunks and lengths of the collections, and of each owner there.
async fn count(step: &Transaction<'_>, sums: &[Sum]) -> Result<(), Error> {
    // In order, so that two daemons never wait for each other.
    let mut totals: BTreeMap<&(i32, String), (i64, i64)> = BTreeMap::new();
    for (of, (chunks, length)) in sums {
        let total = totals.entry(of).or_default();
        *total = (total.0 + chunks, total.1 + length);
    }
    let whole = step
        .prepare_cached(
            "UPDATE realms SET chunks = chunks + $2, length = length + $3 WHERE id = $1",
        )
        .await?;
    let own = step
        .prepare_cached(
            "INSERT INTO spaces (realm, owner, chunks, length) VALUES ($1, $2, $3, $4) \
             ON CONFLICT (realm, owner) DO UPDATE SET \
             chunks = spaces.chunks + excluded.chunks, length = spaces.length + excluded.length",
        )
        .await?;
    for ((realm, owner), (chunks, length)) in totals {
        step.execute(&whole, &[realm, &chunks, &length]).await?;
        step.execute(&own, &[realm, owner, &chunks, &length]).await?;
    }
    Ok(())
}

/// The ends of writes, column by column.
#[derive(Debug, Default)]
struct Ends {
    receipts: Vec<String>,
    stages: Vec<String>,
    units: Vec<Option<String>>,
    seqs: Vec<Option<i64>>,
    made: Vec<Option<i64>>,
    remarks: Vec<String>,
}

impl Ends {
    fn add(&mut self, settlement: &Settlement, seq: Option<i64>) -> Result<(), Error> {
        let version = settlement.version.as_ref().map(|(version, _)| version.unit.clone());
        let named = version.zip(seq).or_else(|| settlement.known.clone());
        let (unit, known) =
            named.map_or((None, None), |(unit, seq)| (Some(unit.as_str().to_owned()), Some(seq)));
        self.receipts.push(keep(&settlement.receipt));
        self.stages.push(name(&settlement.stage)?);
        self.units.push(unit);
        self.seqs.push(known);
        self.made.push(seq);
        self.remarks.push(json(&settlement.remarks)?);
        Ok(())
    }

    async fn send(&self, step: &Transaction<'_>) -> Result<(), Error> {
        let statement = step
            .prepare_cached(
                "UPDATE writes w SET body = NULL, stage = e.stage, unit = e.unit, seq = e.seq, \
                 made = e.made, remarks = e.remarks, changed = $7 FROM unnest($1::text[], \
                 $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::text[]) \
                 AS e(receipt, stage, unit, seq, made, remarks) \
                 WHERE w.receipt = e.receipt AND w.body IS NOT NULL",
            )
            .await?;
        let now = Timestamp::now().to_string();
        step.execute(
            &statement,
            &[
                &self.receipts,
                &self.stages,
                &self.units,
                &self.seqs,
                &self.made,
                &self.remarks,
                &now,
            ],
        )
        .await?;
        Ok(())
    }
}
