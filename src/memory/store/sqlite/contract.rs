//! The contract of a store, method by method: what reads goes to a reader, what writes to the
//! writer. Nothing is worked out here.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use jiff::Timestamp;
use tokio::sync::oneshot;

use super::super::{
    Ask, Backlog, Bare, Beside, Change, Counts, Error, Found, Look, Looked, Receipt, Rival, Run,
    Settlement, Store, Vote, Write,
};
use super::entry::Event;
use super::fault::Fault;
use super::vectors::Code;
use super::writer::{Order, Step};
use super::{Sqlite, amend, erase, models, purge, read, rows, search, settle};
use crate::memory::{Draft, Scope, State, UnitId, Version};

/// Settlements that are made ready together; others are beside them.
const SHARE: usize = 64;
/// Rows that one transaction of a long removal takes, so that writes do not wait for long.
const PIECE: i64 = 2000;

#[async_trait::async_trait]
impl Store for Sqlite {
    fn name(&self) -> &'static str {
        "sqlite"
    }

    fn is_shared(&self) -> bool {
        false
    }

    async fn accept(&self, writes: Vec<Write>) -> Result<(), Error> {
        self.write(move |step| settle::accept(step, &writes)).await
    }

    async fn receipt(&self, tenant: &str, id: &str) -> Result<Option<Receipt>, Error> {
        let (tenant, id) = (tenant.to_owned(), id.to_owned());
        self.read(move |connection, _| read::receipt(connection, &tenant, &id)).await
    }

    async fn waiting(&self, after: Option<&str>, limit: usize) -> Result<Vec<Write>, Error> {
        let after = after.map(str::to_owned);
        self.read(move |connection, _| read::waiting(connection, after.as_deref(), limit)).await
    }

    async fn backlog(&self) -> Result<Backlog, Error> {
        self.read(|connection, _| read::backlog(connection)).await
    }

    async fn settle(&self, settlements: Vec<Settlement>) -> Result<Vec<Option<i64>>, Error> {
        let mut changes = settlements.iter().flat_map(|settlement| &settlement.changes);
        let opens = changes.any(|change| change.ended == Some(None));
        let mut rest = settlements.into_iter().peekable();
        let mut parts = Vec::new();
        while rest.peek().is_some() {
            let (some, path) = (rest.by_ref().take(SHARE).collect(), self.path.clone());
            let prepare = move || settle::prepare(some).map_err(|fault| fault.told(&path));
            parts.push(tokio::task::spawn_blocking(prepare));
        }
        let mut prepared = Vec::new();
        for part in parts {
            prepared.extend(part.await.map_err(|_cancelled| Error::Closed)??);
        }
        let settled = self.write(move |step| settle::settle(step, prepared)).await;
        if opens {
            self.look_again_for_bare();
        }
        settled
    }

    async fn load(&self, tenant: &str, seqs: &[i64]) -> Result<Vec<Version>, Error> {
        let (tenant, seqs) = (tenant.to_owned(), seqs.to_vec());
        self.read(move |connection, _| read::load(connection, &tenant, &seqs)).await
    }

    async fn history(&self, tenant: &str, unit: &UnitId) -> Result<Vec<Version>, Error> {
        let (tenant, unit) = (tenant.to_owned(), unit.clone());
        self.read(move |connection, _| read::history(connection, &tenant, &unit)).await
    }

    async fn of_source(&self, tenant: &str, draft: &Draft) -> Result<Vec<Version>, Error> {
        let (tenant, draft) = (tenant.to_owned(), draft.clone());
        self.read(move |connection, _| read::of_source(connection, &tenant, &draft)).await
    }

    async fn rivals(
        &self,
        (tenant, collection): (&str, &str),
        claims: &[(String, String)],
        rival: &Rival,
    ) -> Result<Vec<Version>, Error> {
        let (tenant, collection) = (tenant.to_owned(), collection.to_owned());
        let (claims, rival) = (claims.to_vec(), rival.clone());
        self.read(move |connection, _| {
            read::rivals(connection, (&tenant, &collection), &claims, &rival)
        })
        .await
    }

    async fn alike(
        &self,
        (tenant, collection): (&str, &str),
        (field, value): (&str, &str),
        rival: &Rival,
    ) -> Result<Vec<Version>, Error> {
        let (tenant, collection) = (tenant.to_owned(), collection.to_owned());
        let (field, value, rival) = (field.to_owned(), value.to_owned(), rival.clone());
        self.read(move |connection, shelves| {
            let seqs = shelves.look(&tenant, |shelf| shelf.spelled(&collection, &field, &value));
            read::against(connection, &tenant, seqs.unwrap_or_default(), &rival)
        })
        .await
    }

    async fn equal(
        &self,
        (tenant, collection): (&str, &str),
        digest: &str,
    ) -> Result<Vec<Version>, Error> {
        let (tenant, collection) = (tenant.to_owned(), collection.to_owned());
        let digest = digest.to_owned();
        self.read(move |connection, _| read::equal(connection, (&tenant, &collection), &digest))
            .await
    }

    async fn look(&self, looks: &[Look]) -> Result<Vec<Looked>, Error> {
        let looks = looks.to_vec();
        self.read(move |connection, shelves| {
            looks.iter().map(|look| search::look(connection, shelves, look)).collect()
        })
        .await
    }

    async fn list(
        &self,
        scope: &Scope,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Vec<Version>, Error> {
        let scope = scope.clone();
        self.read(move |connection, shelves| {
            let seqs = search::list(connection, shelves, &scope, (before, limit))?;
            read::load(connection, &scope.tenant, &seqs)
        })
        .await
    }

    async fn search(&self, scope: &Scope, ask: &Ask) -> Result<Found, Error> {
        let (scope, ask, started) = (scope.clone(), ask.clone(), Instant::now());
        let found = self
            .read(move |connection, shelves| search::search(connection, shelves, &scope, &ask))
            .await;
        metrics::histogram!("switchboard_memory_search_seconds").record(started.elapsed());
        found
    }

    async fn image_length(&self, tenant: &str, model: &str) -> Result<Option<usize>, Error> {
        let (tenant, model) = (tenant.to_owned(), model.to_owned());
        let known =
            self.read(move |connection, _| models::known_image(connection, (&tenant, &model)));
        Ok(known.await?.map(|(_, length)| length))
    }

    async fn beside(&self, scope: &Scope, seqs: &[i64], span: u32) -> Result<Vec<Beside>, Error> {
        let (scope, seqs) = (scope.clone(), seqs.to_vec());
        self.read(move |connection, shelves| {
            let counts = search::allowed(connection, shelves, &scope)?;
            read::beside(connection, &scope, (&seqs, span), &counts)
        })
        .await
    }

    async fn texts(&self, chunks: &[(i64, u32)]) -> Result<Vec<String>, Error> {
        let chunks = chunks.to_vec();
        self.read(move |connection, _| read::texts(connection, &chunks)).await
    }

    async fn distances(&self, seqs: &[i64], from: (f64, f64)) -> Result<Vec<(i64, f64)>, Error> {
        let seqs = seqs.to_vec();
        self.read(move |connection, _| read::distances(connection, &seqs, from)).await
    }

    async fn touch(&self, seqs: &[i64], at: Timestamp) -> Result<(), Error> {
        let seqs = seqs.to_vec();
        self.write(move |step| amend::touch(step, &seqs, at)).await
    }

    async fn change(&self, run: Option<(&str, &str)>, changes: &[Change]) -> Result<(), Error> {
        let run = run.map(|(id, summary)| (id.to_owned(), summary.to_owned()));
        let changes = changes.to_vec();
        let changed = self
            .write(move |step| {
                let run = run.as_ref().map(|(id, summary)| (id.as_str(), summary.as_str()));
                amend::change(step, run, &changes)
            })
            .await;
        self.look_again_for_bare();
        changed
    }

    async fn undo(&self, run: &str) -> Result<u64, Error> {
        let run = run.to_owned();
        let undone = self.write(move |step| amend::undo(step, &run)).await;
        self.look_again_for_bare();
        undone
    }

    async fn runs(&self, limit: usize) -> Result<Vec<Run>, Error> {
        self.read(move |connection, _| read::runs(connection, limit)).await
    }

    async fn vote(&self, tenant: &str, vote: Vote) -> Result<Vec<Vote>, Error> {
        let tenant = tenant.to_owned();
        self.write(move |step| amend::vote(step, &tenant, &vote)).await
    }

    async fn votes(&self, tenant: &str, seq: i64) -> Result<Vec<Vote>, Error> {
        let tenant = tenant.to_owned();
        self.read(move |connection, _| amend::votes(connection, &tenant, seq)).await
    }

    async fn unvote(&self, tenant: &str, seq: i64) -> Result<(), Error> {
        let tenant = tenant.to_owned();
        self.write(move |step| amend::unvote(step, &tenant, seq)).await
    }

    async fn withdraw(&self, tenant: &str, draft: &Draft, by: &[String]) -> Result<u64, Error> {
        let (tenant, draft, by) = (tenant.to_owned(), draft.clone(), by.to_vec());
        self.write(move |step| erase::withdraw(step, &tenant, (&draft, &by))).await
    }

    async fn erase(&self, tenant: &str, unit: &UnitId) -> Result<u64, Error> {
        let (tenant, unit) = (tenant.to_owned(), unit.clone());
        let erased = self.write(move |step| erase::erase(step, &tenant, &unit)).await?;
        if erased > 0 {
            // The log still has what was erased, until it begins anew.
            self.empty_log().await?;
        }
        Ok(erased)
    }

    async fn outlived(
        &self,
        ended: Timestamp,
        recorded: &[(String, Timestamp)],
        limit: usize,
    ) -> Result<Vec<(String, i64)>, Error> {
        let recorded = recorded.to_vec();
        self.read(move |connection, _| purge::outlived(connection, ended, &recorded, limit)).await
    }

    async fn purge(&self, tenant: &str, seqs: &[i64]) -> Result<u64, Error> {
        let (tenant, seqs) = (tenant.to_owned(), seqs.to_vec());
        let purged = self.write(move |step| purge::purge(step, &tenant, &seqs)).await?;
        if purged > 0 {
            self.empty_log().await?;
        }
        Ok(purged)
    }

    async fn tended(&self) -> Result<Option<Timestamp>, Error> {
        self.read(|connection, _| purge::tended(connection)).await
    }

    async fn tend(&self, at: Timestamp) -> Result<(), Error> {
        self.write(move |step| purge::tend(step, at)).await
    }

    async fn walk(
        &self,
        tenant: Option<&str>,
        states: &[State],
        after: i64,
        limit: usize,
    ) -> Result<Vec<Version>, Error> {
        let (tenant, states) = (tenant.map(str::to_owned), states.to_vec());
        self.read(move |connection, _| {
            read::walk(connection, (tenant.as_deref(), &states), (after, limit))
        })
        .await
    }

    async fn bare(
        &self,
        model: &str,
        without: &[String],
        limit: usize,
    ) -> Result<Vec<Bare>, Error> {
        let key = format!("{model}\n{}", without.join("\n"));
        let (from, forgotten, passed) = {
            let known = self.bare.lock().unwrap_or_else(PoisonError::into_inner);
            let passed = known.passed.get(model).cloned().unwrap_or_default();
            (known.chunks.get(&key).copied().unwrap_or(0), known.forgotten, passed)
        };
        let (own, without) = (model.to_owned(), without.to_vec());
        let look = move |connection: &_, _: &_| {
            read::bare(connection, (&own, &without, &passed), (from, limit))
        };
        let (found, next) = self.read(look).await?;
        let mut known = self.bare.lock().unwrap_or_else(PoisonError::into_inner);
        if known.forgotten == forgotten {
            known.chunks.insert(key, next);
        }
        Ok(found)
    }

    async fn pass_over(&self, model: &str, chunks: &[(i64, u32)]) -> Result<(), Error> {
        let mut known = self.bare.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = known.passed.entry(model.to_owned()).or_default();
        let ids = chunks.iter().map(|(seq, ordinal)| rows::chunk_id(*seq, *ordinal));
        Arc::make_mut(passed).extend(ids);
        Ok(())
    }

    async fn embed(&self, model: &str, vectors: &[(i64, u32, Vec<f32>)]) -> Result<(), Error> {
        let code = |(seq, ordinal, numbers): &(i64, u32, Vec<f32>)| {
            (*seq, *ordinal, numbers.clone(), Code::new(numbers))
        };
        let vectors = vectors.iter().map(code).collect();
        let model = model.to_owned();
        self.write(move |step| amend::embed(step, &model, vectors)).await
    }

    async fn count_bare(
        &self,
        model: &str,
        without: &[String],
    ) -> Result<Vec<(String, u64)>, Error> {
        let (model, without) = (model.to_owned(), without.to_vec());
        self.read(move |connection, _| read::count_bare(connection, &model, &without)).await
    }

    async fn forget_receipts(&self, before: Timestamp) -> Result<u64, Error> {
        let (mut removed, mut from) = (0, 0);
        while let Some((next, count)) =
            self.write(move |step| erase::forget_receipts(step, before, (from, PIECE))).await?
        {
            (from, removed) = (next, removed + count);
        }
        Ok(removed)
    }

    async fn forget_models(&self, keep: &str) -> Result<u64, Error> {
        // Looked up with each piece: the first vector of the model may come in between.
        let kept = |keep: &str, step: &Step<'_>| -> Result<i64, Fault> {
            Ok(models::known_text(step.connection, keep)?.map_or(-1, |(id, _)| id))
        };
        let (mut removed, mut from) = (0, 0);
        loop {
            let keep = keep.to_owned();
            let piece = self.write(move |step| {
                let kept = kept(&keep, step)?;
                erase::forget_vectors(step, kept, (from, PIECE))
            });
            let Some((next, count)) = piece.await? else { break };
            (from, removed) = (next, removed + count);
        }
        let keep = keep.to_owned();
        self.write(move |step| {
            let kept = kept(&keep, step)?;
            step.events.extend(
                erase::forget_models(step, kept)?.into_iter().map(|model| Event::Forget { model }),
            );
            Ok(())
        })
        .await?;
        self.look_again_for_bare();
        Ok(removed)
    }

    async fn compact(&self) -> Result<(), Error> {
        loop {
            let left = self.write(|step| erase::shrink(step, PIECE)).await?;
            if left == 0 {
                break;
            }
        }
        self.empty_log().await
    }

    async fn counts(&self, tenant: Option<&str>) -> Result<Counts, Error> {
        let (tenant, path) = (tenant.map(str::to_owned), self.path.clone());
        self.read(move |connection, _| {
            let mut counts = read::counts(connection, tenant.as_deref())?;
            let log = crate::config::beside(&path, "-wal");
            let size = |path: &Path| std::fs::metadata(path).map_or(0, |about| about.len());
            counts.bytes = size(&path) + size(&log);
            Ok(counts)
        })
        .await
    }

    async fn revision(&self, tenant: &str, collections: &[String]) -> Result<String, Error> {
        let (tenant, collections) = (tenant.to_owned(), collections.to_vec());
        self.read(move |_, shelves| {
            let changes = shelves.look(&tenant, |shelf| shelf.changes(&collections));
            Ok(changes.unwrap_or_default().to_string())
        })
        .await
    }

    async fn close(&self) -> Result<(), Error> {
        if self.closed.swap(true, Ordering::AcqRel) {
            return Err(Error::Closed);
        }
        self.readers.close().await;
        let (done, closed) = oneshot::channel();
        let sent = self.orders.send(Order::Close(done)).await;
        sent.map_err(|_closed| Error::Closed)?;
        closed.await.map_err(|_closed| Error::Closed)
    }
}
