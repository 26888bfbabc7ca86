//! The shared store: PostgreSQL with pgvector behind the contract of [`Store`]. Several daemons may
//! use one schema; of each write only one of them takes charge. Computes no embedding, decides nothing.

use std::time::Duration;

use jiff::Timestamp;

use super::{
    Ask, Backlog, Bare, Beside, Change, Counts, Error, Found, Receipt, Rival, Run, Settlement,
    Store, Vote, Write,
};
use crate::memory::scope::Scope;
use crate::memory::unit::{Draft, State, UnitId, Version};

mod amend;
mod config;
mod layers;
mod link;
mod models;
mod password;
mod places;
mod purge;
mod query;
mod row;
mod schema;
mod settle;
mod sheet;
mod terms;
mod tls;
mod upkeep;
mod vectors;
mod versions;
mod writes;

pub use config::{Config, Sslmode};

use link::Link;

/// A store on a PostgreSQL server.
pub(super) struct Postgres {
    link: Link,
}

impl std::fmt::Debug for Postgres {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Postgres").field("place", &self.link.place()).finish_non_exhaustive()
    }
}

impl Postgres {
    /// Connects, and makes or brings up to date what it needs in its schema.
    pub(super) async fn open(config: &Config) -> Result<Self, Error> {
        Ok(Self { link: Link::open(config).await? })
    }

    /// Gives an answer, or says that there is none in time: the server ends a statement that lasts too
    /// long itself. It is down only where it does not answer a small question either.
    async fn bounded<T>(
        &self,
        work: impl Future<Output = Result<T, Error>> + Send,
    ) -> Result<T, Error> {
        self.within(self.link.patience(), work).await
    }

    async fn within<T>(
        &self,
        patience: Duration,
        work: impl Future<Output = Result<T, Error>> + Send,
    ) -> Result<T, Error> {
        match tokio::time::timeout(patience, work).await {
            Ok(done) => done,
            Err(_late) if self.link.answers().await => {
                Err(Error::Busy(format!("its server gave no answer within {patience:?}")))
            }
            Err(_late) => Err(Error::Down(format!("no answer within {patience:?}"))),
        }
    }
}

#[async_trait::async_trait]
impl Store for Postgres {
    fn name(&self) -> &'static str {
        "postgresql"
    }
    fn is_shared(&self) -> bool {
        true
    }

    async fn accept(&self, writes: Vec<Write>) -> Result<(), Error> {
        self.bounded(writes::accept(&self.link, &writes)).await
    }
    async fn receipt(&self, tenant: &str, id: &str) -> Result<Option<Receipt>, Error> {
        self.bounded(writes::receipt(&self.link, tenant, id)).await
    }
    async fn waiting(&self, after: Option<&str>, limit: usize) -> Result<Vec<Write>, Error> {
        self.bounded(writes::waiting(&self.link, after, limit)).await
    }
    async fn backlog(&self) -> Result<Backlog, Error> {
        self.bounded(writes::backlog(&self.link)).await
    }
    async fn settle(&self, settlements: Vec<Settlement>) -> Result<Vec<Option<i64>>, Error> {
        self.bounded(Box::pin(settle::settle(&self.link, settlements))).await
    }

    async fn load(&self, tenant: &str, seqs: &[i64]) -> Result<Vec<Version>, Error> {
        self.bounded(versions::load(&self.link, tenant, seqs)).await
    }
    async fn history(&self, tenant: &str, unit: &UnitId) -> Result<Vec<Version>, Error> {
        self.bounded(versions::history(&self.link, tenant, unit)).await
    }
    async fn of_source(&self, tenant: &str, draft: &Draft) -> Result<Vec<Version>, Error> {
        self.bounded(versions::of_source(&self.link, tenant, draft)).await
    }
    async fn rivals(
        &self,
        of: (&str, &str),
        claims: &[(String, String)],
        rival: &Rival,
    ) -> Result<Vec<Version>, Error> {
        self.bounded(versions::rivals(&self.link, of, claims, rival)).await
    }
    async fn alike(
        &self,
        of: (&str, &str),
        field: (&str, &str),
        rival: &Rival,
    ) -> Result<Vec<Version>, Error> {
        self.bounded(versions::alike(&self.link, of, field, rival)).await
    }
    async fn equal(&self, of: (&str, &str), digest: &str) -> Result<Vec<Version>, Error> {
        self.bounded(versions::equal(&self.link, of, digest)).await
    }
    async fn list(
        &self,
        scope: &Scope,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Vec<Version>, Error> {
        self.bounded(versions::list(&self.link, scope, before, limit)).await
    }

    async fn search(&self, scope: &Scope, ask: &Ask) -> Result<Found, Error> {
        self.bounded(layers::search(&self.link, scope, ask)).await
    }
    async fn image_length(&self, tenant: &str, model: &str) -> Result<Option<usize>, Error> {
        let key = models::image(tenant, model);
        let known = self.bounded(models::find(&self.link, &key)).await?;
        Ok(known.map(|(_, length)| length))
    }
    async fn beside(&self, scope: &Scope, seqs: &[i64], span: u32) -> Result<Vec<Beside>, Error> {
        self.bounded(layers::beside(&self.link, scope, seqs, span)).await
    }
    async fn texts(&self, chunks: &[(i64, u32)]) -> Result<Vec<String>, Error> {
        self.bounded(layers::texts(&self.link, chunks)).await
    }
    async fn distances(&self, seqs: &[i64], from: (f64, f64)) -> Result<Vec<(i64, f64)>, Error> {
        self.bounded(places::distances(&self.link, seqs, from)).await
    }
    async fn touch(&self, seqs: &[i64], at: Timestamp) -> Result<(), Error> {
        self.bounded(upkeep::touch(&self.link, seqs, at)).await
    }

    async fn change(&self, run: Option<(&str, &str)>, changes: &[Change]) -> Result<(), Error> {
        self.bounded(amend::change(&self.link, run, changes)).await
    }
    async fn undo(&self, run: &str) -> Result<u64, Error> {
        self.bounded(amend::undo(&self.link, run)).await
    }
    async fn runs(&self, limit: usize) -> Result<Vec<Run>, Error> {
        self.bounded(amend::runs(&self.link, limit)).await
    }
    async fn vote(&self, tenant: &str, vote: Vote) -> Result<Vec<Vote>, Error> {
        self.bounded(upkeep::vote(&self.link, tenant, &vote)).await
    }
    async fn unvote(&self, tenant: &str, seq: i64) -> Result<(), Error> {
        self.bounded(upkeep::unvote(&self.link, tenant, seq)).await
    }
    async fn withdraw(&self, tenant: &str, draft: &Draft, by: &[String]) -> Result<u64, Error> {
        self.bounded(upkeep::withdraw(&self.link, tenant, (draft, by))).await
    }
    async fn erase(&self, tenant: &str, unit: &UnitId) -> Result<u64, Error> {
        self.bounded(upkeep::erase(&self.link, tenant, unit)).await
    }
    async fn outlived(
        &self,
        ended: Timestamp,
        recorded: &[(String, Timestamp)],
        limit: usize,
    ) -> Result<Vec<(String, i64)>, Error> {
        self.bounded(purge::outlived(&self.link, ended, recorded, limit)).await
    }
    async fn purge(&self, tenant: &str, seqs: &[i64]) -> Result<u64, Error> {
        self.bounded(purge::purge(&self.link, tenant, seqs)).await
    }
    async fn tended(&self) -> Result<Option<Timestamp>, Error> {
        self.bounded(purge::tended(&self.link)).await
    }
    async fn tend(&self, at: Timestamp) -> Result<(), Error> {
        self.bounded(purge::tend(&self.link, at)).await
    }
    async fn votes(&self, tenant: &str, seq: i64) -> Result<Vec<Vote>, Error> {
        self.bounded(upkeep::votes(&self.link, tenant, seq)).await
    }
    async fn walk(
        &self,
        tenant: Option<&str>,
        states: &[State],
        after: i64,
        limit: usize,
    ) -> Result<Vec<Version>, Error> {
        self.bounded(versions::walk(&self.link, (tenant, states), (after, limit))).await
    }
    async fn bare(
        &self,
        model: &str,
        without: &[String],
        limit: usize,
    ) -> Result<Vec<Bare>, Error> {
        self.bounded(models::bare(&self.link, (model, without), limit)).await
    }
    async fn pass_over(&self, model: &str, chunks: &[(i64, u32)]) -> Result<(), Error> {
        self.link.pass_over(model, chunks);
        Ok(())
    }
    async fn embed(&self, model: &str, vectors: &[(i64, u32, Vec<f32>)]) -> Result<(), Error> {
        self.bounded(models::embed(&self.link, model, vectors)).await
    }
    async fn count_bare(
        &self,
        model: &str,
        without: &[String],
    ) -> Result<Vec<(String, u64)>, Error> {
        self.bounded(models::count_bare(&self.link, model, without)).await
    }
    async fn forget_receipts(&self, before: Timestamp) -> Result<u64, Error> {
        self.within(upkeep::COMPACTION, writes::forget(&self.link, before)).await
    }
    async fn forget_models(&self, keep: &str) -> Result<u64, Error> {
        self.bounded(models::forget(&self.link, keep)).await
    }
    async fn compact(&self) -> Result<(), Error> {
        self.within(upkeep::COMPACTION, upkeep::compact(&self.link)).await
    }
    async fn counts(&self, tenant: Option<&str>) -> Result<Counts, Error> {
        self.bounded(upkeep::counts(&self.link, tenant)).await
    }
    async fn revision(&self, tenant: &str, collections: &[String]) -> Result<String, Error> {
        self.bounded(versions::revision(&self.link, tenant, collections)).await
    }
    async fn close(&self) -> Result<(), Error> {
        self.link.close()
    }
}
