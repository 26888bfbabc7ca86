//! Answers of the memory in their wire form.

use jiff::Timestamp;
use prost::Message;
use serde_json::{Value, json};

use super::page::{BYTES, Pages, fit};
use crate::memory::context::{Assembled, Detail};
use crate::memory::explain::{Explained, Verdict};
use crate::memory::{
    Answered, Collection, Item, Layer, Pending, Recalled, Receipt, Recollection, Run, Score, Sense,
    Stage, State, Stats, UpkeepDone, Version, Vote, Work,
};
use crate::proto::memory as proto;

/// Steps of upkeep that one answer tells.
const STEPS: usize = 1000;

fn time(at: Timestamp) -> String {
    at.to_string()
}

fn some_time(at: Option<Timestamp>) -> String {
    at.map(time).unwrap_or_default()
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

impl From<Layer> for proto::Layer {
    fn from(layer: Layer) -> Self {
        match layer {
            Layer::Curated => Self::Curated,
            Layer::Notes => Self::Notes,
        }
    }
}

impl From<State> for proto::State {
    fn from(state: State) -> Self {
        match state {
            State::Active => Self::Active,
            State::Held => Self::Held,
            State::Quarantined => Self::Quarantined,
            State::Rejected => Self::Rejected,
            State::Archived => Self::Archived,
        }
    }
}

impl From<Stage> for proto::Stage {
    fn from(stage: Stage) -> Self {
        match stage {
            Stage::Accepted => Self::Accepted,
            Stage::Stored => Self::Stored,
            Stage::Unchanged => Self::Unchanged,
            Stage::Outdated => Self::Outdated,
            Stage::Held => Self::Held,
            Stage::Quarantined => Self::Quarantined,
            Stage::Refused => Self::Refused,
        }
    }
}

impl From<Sense> for proto::Sense {
    fn from(sense: Sense) -> Self {
        match sense {
            Sense::Trigger => Self::Trigger,
            Sense::Entity => Self::Entity,
            Sense::Words => Self::Words,
            Sense::Vector => Self::Vector,
            Sense::Neighbour => Self::Neighbour,
            Sense::Image => Self::Image,
            Sense::Place => Self::Place,
            Sense::Recency => Self::Recency,
            Sense::Rerank => Self::Rerank,
            Sense::Rewrite => Self::Rewrite,
        }
    }
}

/// A receipt.
pub(super) fn receipt(receipt: Receipt) -> proto::Receipt {
    let stored = receipt.stored.as_ref();
    proto::Receipt {
        id: receipt.id,
        stage: proto::Stage::from(receipt.stage).into(),
        unit_id: stored.map(|(unit, _)| unit.to_string()).unwrap_or_default(),
        evidence_id: stored.map(|(unit, seq)| unit.evidence(*seq)).unwrap_or_default(),
        newer: receipt.newer,
        remarks: receipt.remarks,
        arrived: time(receipt.arrived),
        changed: time(receipt.changed),
    }
}

/// A version of a unit.
pub(super) fn unit(version: Version) -> proto::Unit {
    let evidence_id = version.evidence();
    let ended = version.ended;
    let by = ended.as_ref().and_then(|end| end.by.as_ref()).map(ToString::to_string);
    proto::Unit {
        unit_id: version.unit.to_string(),
        evidence_id,
        draft: Some(version.draft.into()),
        layer: proto::Layer::from(version.layer).into(),
        owner: version.owner,
        state: proto::State::from(version.state).into(),
        trust: version.trust.0.into(),
        origin: proto::Origin::from(version.origin).into(),
        source_time: time(version.source_time),
        valid_from: some_time(version.valid_from),
        valid_to: some_time(version.valid_to),
        recorded: time(version.recorded),
        ended: some_time(ended.as_ref().map(|end| end.at)),
        ended_why: ended.map(|end| end.why.as_str().to_owned()).unwrap_or_default(),
        ended_by: by.unwrap_or_default(),
        digest: version.digest,
        remarks: version.remarks,
        conflicts: version.conflicts.iter().map(ToString::to_string).collect(),
        used: some_time(version.used),
        uses: version.uses,
        left_out: Vec::new(),
    }
}

fn score(score: &Score) -> proto::Score {
    proto::Score {
        sense: proto::Sense::from(score.sense).into(),
        raw: score.raw,
        even: score.even,
        adds: score.adds,
        rank: number(score.rank),
    }
}

fn hit(found: Recollection) -> proto::Hit {
    let withheld = match (found.withheld.is_empty(), found.version.state) {
        (true, State::Held) => "held: waits for a reviewer".to_owned(),
        (true, State::Quarantined) => "quarantined: waits for a reviewer".to_owned(),
        (true, State::Archived) => "archived: not used for long".to_owned(),
        _ => found.withheld.clone(),
    };
    let passage = |(ordinal, text)| proto::hit::Passage { ordinal, text };
    proto::Hit {
        evidence_id: found.evidence(),
        unit: Some(unit(found.version)),
        passages: found.passages.into_iter().map(passage).collect(),
        score: found.score,
        scores: found.scores.iter().map(score).collect(),
        metres: found.metres,
        withheld,
    }
}

fn failed(failed: Vec<(Sense, String)>) -> Vec<proto::FailedLayer> {
    let layer =
        |(sense, reason)| proto::FailedLayer { sense: proto::Sense::from(sense).into(), reason };
    failed.into_iter().map(layer).collect()
}

/// What was found for a question.
pub(super) fn recalled(found: Answered<Recalled>) -> proto::RecallResponse {
    let Answered { record, answer } = found;
    let mut hits: Vec<proto::Hit> = answer.hits.into_iter().map(hit).collect();
    fit(hits.iter_mut().filter_map(|hit| hit.unit.as_mut()));
    proto::RecallResponse { hits, failed: failed(answer.failed), record_id: record }
}

/// A model's context.
pub(super) fn context(made: Answered<(Assembled, Vec<(Sense, String)>)>) -> proto::ContextResponse {
    let Answered { record, answer: (context, broken) } = made;
    let part = |part: crate::memory::context::Part| proto::context_response::Part {
        name: part.name.to_owned(),
        text: part.text,
        tokens: number(part.tokens),
        granted: number(part.granted),
        wanted: number(part.wanted),
    };
    let used = |used: crate::memory::context::Used| proto::context_response::Used {
        evidence_id: used.evidence,
        form: match used.form {
            Detail::Whole => "whole",
            Detail::Passages => "passages",
            Detail::Value => "value",
            Detail::Cut => "cut",
            Detail::Left => "left",
        }
        .to_owned(),
        enveloped: used.enveloped,
    };
    proto::ContextResponse {
        text: context.text,
        parts: context.parts.into_iter().map(part).collect(),
        tokens: number(context.tokens),
        units: context.units.into_iter().map(used).collect(),
        nonce: context.nonce,
        failed: failed(broken),
        record_id: record,
    }
}

/// How an answer came about.
pub(super) fn explained(told: Answered<Explained>) -> proto::ExplainResponse {
    let Answered { record, answer: Explained { recalled, versions } } = told;
    let asked = recalled.asked;
    let timed = |(sense, micros)| proto::explain_response::Time {
        sense: proto::Sense::from(sense).into(),
        micros,
    };
    let verdict = |one: Verdict| proto::explain_response::Verdict {
        evidence_id: one.evidence,
        place: one.place.map_or(0, number),
        why: one.why,
        scores: one.scores.iter().map(score).collect(),
    };
    let mut hits: Vec<proto::Hit> = recalled.hits.into_iter().map(hit).collect();
    let mut missed: Vec<proto::Hit> = recalled.missed.into_iter().map(hit).collect();
    fit(hits.iter_mut().chain(&mut missed).filter_map(|hit| hit.unit.as_mut()));
    proto::ExplainResponse {
        hits,
        missed,
        failed: failed(recalled.failed),
        reading: Some(proto::explain_response::Reading {
            normal: asked.normal,
            entities: asked.entities.into_iter().map(Into::into).collect(),
            words: asked.words,
            rewritten: asked.rewritten,
            times: asked.micros.into_iter().map(timed).collect(),
        }),
        verdicts: versions.into_iter().map(verdict).collect(),
        record_id: record,
    }
}

/// A page of units, and whether there are more.
pub(super) fn list((found, more): (Vec<Version>, bool), pages: &Pages) -> proto::ListResponse {
    let last = found.last().filter(|_| more).map(|last| pages.token(last.seq));
    proto::ListResponse {
        units: found.into_iter().map(unit).collect(),
        next_page_token: last.unwrap_or_default(),
    }
}

/// A page of what waits for a reviewer, of which one more was asked for.
pub(super) fn reviews(
    found: Vec<Pending>,
    size: usize,
    pages: &Pages,
) -> proto::ListReviewsResponse {
    let vote = |vote: Vote| proto::review::Vote {
        by: vote.by,
        approve: vote.approve,
        reason: vote.reason,
        at: time(vote.at),
    };
    let review = |one: Pending| {
        let mut rivals: Vec<proto::Unit> = one.rivals.into_iter().map(unit).collect();
        fit(rivals.iter_mut());
        let votes = one.votes.into_iter().map(vote).collect();
        proto::Review { unit: Some(unit(one.version)), rivals, votes, needed: one.reviewers.into() }
    };
    let (mut reviews, mut bytes, mut last, mut more) = (Vec::new(), 0, 0, false);
    for one in found {
        let seq = one.version.seq;
        let review = review(one);
        bytes += review.encoded_len();
        more = reviews.len() >= size || bytes > BYTES && !reviews.is_empty();
        if more {
            break;
        }
        last = seq;
        reviews.push(review);
    }
    let next_page_token = if more { pages.token(last) } else { String::new() };
    proto::ListReviewsResponse { reviews, next_page_token }
}

/// What upkeep did, or would do.
pub(super) fn consolidated(done: UpkeepDone) -> proto::ConsolidateResponse {
    let more = done.items.len().saturating_sub(STEPS);
    let run = |run: Run| proto::consolidate_response::Run {
        id: run.id,
        at: time(run.at),
        summary: run.summary,
        changed: run.changed,
        undone: run.undone,
    };
    proto::ConsolidateResponse {
        runs: done.runs.into_iter().map(run).collect(),
        steps: done.items.into_iter().take(STEPS).map(step).collect(),
        more: u64::try_from(more).unwrap_or(u64::MAX),
        undone: done.undone,
    }
}

fn step(item: Item) -> proto::consolidate_response::Step {
    proto::consolidate_response::Step {
        work: match item.work {
            Work::Merge => "merge",
            Work::Expire => "expire",
            Work::Drop => "drop",
            Work::Archive => "archive",
        }
        .to_owned(),
        evidence_id: item.unit.evidence(item.seq),
        collection: item.collection,
        kept: item.kept.map(|unit| unit.to_string()).unwrap_or_default(),
        why: item.why,
    }
}

/// How much there is.
pub(super) fn stats(stats: Stats) -> proto::StatsResponse {
    let counts = stats.counts;
    let vectors = |(model, chunks)| proto::stats_response::Vectors { model, chunks };
    let collection = |(one, verbs): (std::sync::Arc<Collection>, Vec<crate::policy::Verb>)| {
        proto::stats_response::Collection {
            name: one.name.clone(),
            description: one.description.clone(),
            layer: proto::Layer::from(one.layer).into(),
            verbs: verbs.into_iter().map(|verb| verb.as_str().to_owned()).collect(),
            declaration_json: declaration(&one).to_string(),
        }
    };
    proto::StatsResponse {
        store: stats.store.to_owned(),
        units: counts.units,
        versions: counts.versions,
        chunks: counts.chunks,
        vectors: counts.vectors.into_iter().map(vectors).collect(),
        held: counts.held.0,
        quarantined: counts.held.1,
        waiting: counts.waiting,
        embedder: stats.model.unwrap_or_default(),
        collections: stats.collections.into_iter().map(collection).collect(),
        embedding: Some(proto::stats_response::Embedding {
            made: stats.embedding.made,
            missing: stats.embedding.missing,
            loading: stats.embedding.loading,
            fault: stats.embedding.fault,
        }),
    }
}

/// What a collection demands of those who write.
fn declaration(collection: &Collection) -> Value {
    json!({
        "kinds": collection.kinds, "sources": collection.sources, "origin": collection.origin,
        "origins": collection.trust.keys().collect::<Vec<_>>(), "metadata": collection.metadata,
        "attributes": collection.attributes, "document": collection.document,
        "placeholders": collection.placeholders, "time_zone": collection.time_zone, "reviewers": collection.reviewers,
    })
}
