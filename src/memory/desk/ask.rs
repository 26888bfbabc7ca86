//! Requests that read: recall, get, list, stats. Each is decided, answered in the caller's time and
//! recorded with the evidence that was given out.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::record::digest;
use super::{Answered, Desk, Error, Memory, Visit, filters};
use crate::mask;
use crate::memory::context::{Assembled, Detail, Material};
use crate::memory::explain::Explained;
use crate::memory::facade::{Embedding, Listing};
use crate::memory::instant::{self, Side};
use crate::memory::{
    Collection, Counts, Error as Fault, Question, Recalled, Recollection, Sense, UnitId, Version,
};
use crate::policy::{Access, Permit, Verb, Wish};

/// Longest wait for writes before a question, where its caller has no deadline.
const WAIT: Duration = Duration::from_secs(30);

/// A question, and what belongs to it but is not the question: where, when, after what.
#[derive(Debug, Clone, Default)]
pub struct Asking {
    /// The question, without its times.
    pub question: Question,
    /// Where to look; empty for everywhere that is permitted.
    pub collections: Vec<String>,
    /// Its times.
    pub when: When,
    /// Receipts of writes of the caller that must have come to their last stage before.
    pub after: Vec<String>,
}

/// Times of a question as the caller wrote them; empty for now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct When {
    /// The date that is asked about.
    pub as_of: String,
    /// What was known when.
    pub known_at: String,
    /// Zone of times without an offset; empty for the one that all collections have, or else UTC.
    pub time_zone: String,
}

/// A unit, and its versions where they were asked for.
#[derive(Debug)]
pub struct Shown {
    /// The version.
    pub version: Version,
    /// All versions, newest first.
    pub history: Vec<Version>,
}

/// How much there is, and what of it the caller may use.
#[derive(Debug)]
pub struct Stats {
    /// What the store is.
    pub store: &'static str,
    /// The model of its vectors.
    pub model: Option<String>,
    /// Of the caller's tenant.
    pub counts: Counts,
    /// How far their vectors are.
    pub embedding: Embedding,
    /// Collections, with what the caller may do there.
    pub collections: Vec<(Arc<Collection>, Vec<Verb>)>,
}

impl Asking {
    fn wish(&self, verb: Verb) -> Wish<'_> {
        Wish::Read {
            verb,
            collections: &self.collections,
            held: self.question.held,
            archived: self.question.archived,
        }
    }

    /// What the record says of it.
    fn told(&self) -> Value {
        let question = &self.question;
        json!({
            "question": mask::text(&question.text), "digest": digest(&question.text),
            "collections": self.collections, "top_k": question.top_k,
            "as_of": self.when.as_of, "known_at": self.when.known_at,
            "filters": question.filters.iter().map(|one| &one.field).collect::<Vec<_>>(),
            "held": question.held, "archived": question.archived,
        })
    }
}

impl Desk {
    /// Finds evidence for a question.
    pub async fn recall(&self, visit: &Visit, asking: Asking) -> Result<Answered<Recalled>, Error> {
        let told = asking.told();
        let (memory, permit) = self.admit(visit, &asking.wish(Verb::Recall), &told).await?;
        let outcome = in_time(visit, async {
            let question = self.question(&memory, visit, &permit, asking).await?;
            Ok(memory.recall(&permit, &question).await?)
        });
        let outcome = Box::pin(outcome).await;
        self.finish(visit, (&permit, &told), outcome, |found| given(&found.hits)).await
    }

    /// Puts a model's context together, with what is recalled for its question.
    pub async fn context(
        &self,
        visit: &Visit,
        asking: Asking,
        (tokens, material): (usize, Material),
    ) -> Result<Answered<(Assembled, Vec<(Sense, String)>)>, Error> {
        let told = asking.told();
        let (memory, permit) = self.admit(visit, &asking.wish(Verb::Context), &told).await?;
        let outcome = in_time(visit, async {
            let question = self.question(&memory, visit, &permit, asking).await?;
            memory.context(&permit, &question, (tokens, material)).await
        });
        let outcome = Box::pin(outcome).await;
        self.finish(visit, (&permit, &told), outcome, |(context, _)| {
            let units = context.units.iter().filter(|used| used.form != Detail::Left);
            json!({ "evidence": units.map(|used| &used.evidence).collect::<Vec<_>>() })
        })
        .await
    }

    /// Tells how an answer comes about, and why a unit is or is not in it.
    pub async fn explain(
        &self,
        visit: &Visit,
        asking: Asking,
        unit: Option<&UnitId>,
    ) -> Result<Answered<Explained>, Error> {
        let mut told = asking.told();
        if let Some(members) = told.as_object_mut() {
            members.insert("unit".to_owned(), json!(unit));
        }
        let (memory, permit) = self.admit(visit, &asking.wish(Verb::Explain), &told).await?;
        let outcome = in_time(visit, async {
            let question = self.question(&memory, visit, &permit, asking).await?;
            Ok(memory.explain(&permit, &question, unit).await?)
        });
        let outcome = Box::pin(outcome).await;
        self.finish(visit, (&permit, &told), outcome, |told| given(&told.recalled.hits)).await
    }

    /// One unit.
    pub async fn get(
        &self,
        visit: &Visit,
        id: &str,
        history: bool,
    ) -> Result<Answered<Shown>, Error> {
        let told = json!({ "id": mask::text(id), "history": history });
        let wish = Wish::Read { verb: Verb::Get, collections: &[], held: true, archived: true };
        let (memory, permit) = self.admit(visit, &wish, &told).await?;
        let got = in_time(visit, async { Ok(memory.get(&permit, id, history).await?) }).await;
        let shown = got.map(|(version, history)| Shown { version, history });
        self.finish(visit, (&permit, &told), shown, |shown| {
            let all = std::iter::once(&shown.version).chain(&shown.history);
            json!({ "evidence": all.map(Version::evidence).collect::<Vec<_>>() })
        })
        .await
    }

    /// Units in a scope, those recorded last first, and whether there are more behind them.
    pub async fn list(
        &self,
        visit: &Visit,
        collections: &[String],
        (mut listing, when): (Listing, When),
    ) -> Result<Answered<(Vec<Version>, bool)>, Error> {
        let told = json!({
            "collections": collections, "as_of": when.as_of, "known_at": when.known_at,
            "held": listing.held, "archived": listing.archived, "limit": listing.limit,
            "any_date": listing.any_date,
        });
        let (held, archived) = (listing.held, listing.archived);
        let wish = Wish::Read { verb: Verb::List, collections, held, archived };
        let (memory, permit) = self.admit(visit, &wish, &told).await?;
        let outcome = in_time(visit, async {
            let zone = self.zone(&when, &permit)?;
            (listing.as_of, listing.known_at) = times(&when, &zone)?;
            filters::read(&mut listing.filters, "", (&self.granted(&permit), &zone))?;
            Ok(memory.list(&permit, &listing).await?)
        });
        let outcome = Box::pin(outcome).await;
        self.finish(
            visit,
            (&permit, &told),
            outcome,
            |(found, _)| json!({ "evidence": found.iter().map(Version::evidence).collect::<Vec<_>>() }),
        )
        .await
    }

    /// How much there is, and what the caller may use.
    pub async fn stats(&self, visit: &Visit) -> Result<Answered<Stats>, Error> {
        let told = json!({});
        let (memory, permit) = self.admit(visit, &Wish::Stats, &told).await?;
        let keepers = self.keepers()?;
        let outcome = in_time(visit, async {
            let readable = !permit.grants().is_empty();
            let counts = if readable { memory.counts(&permit).await? } else { Counts::default() };
            let verbs = |one: &Arc<Collection>| {
                let verbs = keepers.verbs(&visit.caller, &one.name);
                (!verbs.is_empty()).then(|| (Arc::clone(one), verbs))
            };
            let (store, model) = memory.kind();
            let collections = self.collections().iter().filter_map(verbs).collect();
            let embedding = match readable {
                true => memory.embedding(&permit, &counts),
                false => Embedding::default(),
            };
            let model = model.map(str::to_owned);
            Ok(Stats { store, model, counts, embedding, collections })
        });
        let outcome = Box::pin(outcome).await;
        self.finish(
            visit,
            (&permit, &told),
            outcome,
            |stats| json!({ "units": stats.counts.units, "collections": stats.collections.len() }),
        )
        .await
    }

    /// The question with its times, once the writes that it builds on can be found.
    pub(super) async fn question(
        &self,
        memory: &Memory,
        visit: &Visit,
        permit: &Permit,
        asking: Asking,
    ) -> Result<Question, Error> {
        let zone = self.zone(&asking.when, permit)?;
        let (as_of, known_at) = times(&asking.when, &zone)?;
        let mut question = asking.question;
        filters::read(&mut question.filters, "question.", (&self.granted(permit), &zone))?;
        let own = Permit::receipt(visit.caller.clone());
        for id in &asking.after {
            let wait = visit.remaining().unwrap_or(WAIT);
            let receipt = memory.receipt(&own, id, Some(wait)).await?;
            if !receipt.stage.is_last() {
                return Err(Error::Late);
            }
        }
        Ok(Question { as_of, known_at, ..question })
    }

    /// The zone that is named, else the one that all collections have in common, else UTC.
    fn zone(&self, when: &When, permit: &Permit) -> Result<TimeZone, Error> {
        let granted = self.granted(permit);
        let mut zones = granted.iter().map(|one| one.time_zone.as_str());
        let name = match when.time_zone.as_str() {
            "" => zones.next().filter(|first| zones.all(|zone| zone == *first)).unwrap_or("UTC"),
            named => named,
        };
        instant::zone(name).map_err(|wrong| argument("time_zone", &wrong))
    }

    /// The collections of a permit.
    fn granted(&self, permit: &Permit) -> Vec<Arc<Collection>> {
        let collections = self.collections();
        let named = |access: &Access| collections.get(&access.collection).cloned();
        permit.grants().iter().filter_map(named).collect()
    }
}

/// The times of a question as instants.
fn times(when: &When, zone: &TimeZone) -> Result<(Option<Timestamp>, Option<Timestamp>), Error> {
    let read = |name, text: &str| match text {
        "" => Ok(None),
        text => {
            instant::read(text, Side::From, zone).map(Some).map_err(|wrong| argument(name, &wrong))
        }
    };
    Ok((read("as_of", &when.as_of)?, read("known_at", &when.known_at)?))
}

fn argument(name: &'static str, wrong: &instant::Unread) -> Error {
    Fault::Argument { name: name.into(), reason: wrong.to_string() }.into()
}

/// What was read by the caller's deadline, or that it was not. Never around what changes something: it
/// would be cut in two, and recorded as if nothing of it had been done.
pub(super) async fn in_time<T>(
    visit: &Visit,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    match visit.remaining() {
        None => work.await,
        Some(remaining) => tokio::time::timeout(remaining, work).await.unwrap_or(Err(Error::Late)),
    }
}

/// Whether the caller still waits; what changes something is not begun for one that does not.
pub(super) fn still(visit: &Visit) -> Result<(), Error> {
    if visit.remaining().is_some_and(|remaining| remaining.is_zero()) {
        return Err(Error::Late);
    }
    Ok(())
}

/// What the record says that was given out.
pub(super) fn given(hits: &[Recollection]) -> Value {
    json!({ "evidence": hits.iter().map(Recollection::evidence).collect::<Vec<_>>() })
}
