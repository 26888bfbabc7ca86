//! One question's way through the layers: the question and its scope in, every candidate out, weighed,
//! with the reason where it is not given. What is asked of the store is asked once, not once a hit.

use std::time::Instant;

use super::fuse::{Candidate, Reading, Sheet};
use super::{Error, Recall, config, entity, wanted};
use crate::memory::embed::Role;
use crate::memory::normal;
use crate::memory::{
    Ask, Asked, Found, Hit, Question, Recalled, Recollection, Scope, Sense, StoreError, THRESHOLD,
};

/// What a question came to.
#[derive(Debug)]
pub(in crate::memory) struct Trace {
    /// What was noted on the way.
    pub(in crate::memory) notes: Notes,
    /// The candidates that were weighed in full, best first; withheld ones among them.
    pub(in crate::memory) weighed: Vec<Recollection>,
    /// Those behind them, best first: version, score.
    pub(in crate::memory) behind: Vec<Candidate>,
}

/// What one layer found, where it was asked.
type Layer = Option<Result<Vec<Hit>, StoreError>>;

/// How the question was read and which layers failed.
#[derive(Debug, Default)]
pub(in crate::memory) struct Notes {
    /// How it was read.
    pub(in crate::memory) asked: Asked,
    /// Layers that did not work.
    pub(in crate::memory) failed: Vec<(Sense, String)>,
}

impl Notes {
    /// Notes that a layer did not work.
    pub(super) fn failed(&mut self, sense: Sense, why: &dyn std::fmt::Display) {
        if !self.failed.iter().any(|(known, _)| *known == sense) {
            self.failed.push((sense, why.to_string()));
        }
    }

    /// Notes how long a layer took.
    pub(super) fn took(&mut self, sense: Sense, since: Instant) {
        let micros = u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.asked.micros.push((sense, micros));
    }
}

impl Trace {
    /// The answer to the question.
    pub(in crate::memory) fn answer(self, question: &Question) -> Recalled {
        let mut answer =
            Recalled { failed: self.notes.failed, asked: self.notes.asked, ..Recalled::default() };
        let most = wanted(question);
        let mut place = 0;
        for mut one in self.weighed {
            if one.withheld.is_empty() {
                place += 1;
                if place <= most {
                    answer.hits.push(one);
                    continue;
                }
                one.withheld = format!("outranked: place {place}, {most} wanted");
            }
            if question.explain {
                answer.missed.push(one);
            }
        }
        answer
    }
}

impl Recall {
    /// Takes a question through the layers.
    pub(in crate::memory) async fn trace(
        &self,
        scope: &Scope,
        question: &Question,
    ) -> Result<Trace, Error> {
        let mut notes = Notes::default();
        let ask = self.ask(question, &mut notes).await;
        if is_bare(&ask) {
            return self.newest(scope, question, notes).await;
        }
        if let Some((model, _)) = &ask.vector {
            self.tell_missing(&scope.tenant, model, &mut notes);
        }
        let found = self.search(scope, (question, &ask), &mut notes).await?;
        let mut sheet = Sheet::gather(
            &found,
            &Reading {
                terms: ask.words.as_deref().map_or(0, normal::terms),
                entities: ask.entities.len(),
                calibrate: &|cosine| self.calibrate(cosine),
                threshold: f64::from(question.threshold.unwrap_or(THRESHOLD)),
            },
        );
        self.across(question, &mut sheet, &mut notes).await;
        if !question.filters.is_empty() && question.threshold.is_none() {
            sheet.fall_back();
        }
        self.lend((scope, question), &mut sheet, &mut notes).await;
        if let Some((latitude, longitude)) = point(question) {
            self.measure((latitude, longitude), &mut sheet, &mut notes).await;
        }
        let candidates = sheet.into_ranked();
        self.weigh((scope, question), candidates, notes).await
    }

    /// What the layers are asked.
    async fn ask(&self, question: &Question, notes: &mut Notes) -> Ask {
        let mut text = question.text.trim().to_owned();
        let asks = |sense| !question.without.contains(&sense);
        let normal = normal::normal(&text);
        // Without a conversation nothing makes it more complete than it is.
        let rewrites =
            asks(Sense::Rewrite) && !text.is_empty() && !question.conversation.is_empty();
        if let Some(rewriter) = self.rewriter.as_ref().filter(|_| rewrites) {
            match rewriter.rewrite(question).await {
                Ok(rewritten) => {
                    notes.asked.rewritten.clone_from(&rewritten);
                    text = rewritten;
                }
                Err(why) => notes.failed(Sense::Rewrite, &why),
            }
        }
        let words = normal::words(&text);
        let entities = entity::entities(&text, &question.entities);
        notes.asked.normal.clone_from(&normal);
        notes.asked.words.clone_from(&words);
        notes.asked.entities.clone_from(&entities);
        let limit = self.config.candidates.max(wanted(question) * config::OVERSAMPLING);
        Ask {
            trigger: Some(normal).filter(|one| !one.is_empty() && asks(Sense::Trigger)),
            entities: if asks(Sense::Entity) { entities } else { Vec::new() },
            words: Some(words).filter(|one| !one.is_empty() && asks(Sense::Words)),
            vector: match asks(Sense::Vector) {
                true => self.vector(&text, notes).await,
                false => None,
            },
            image: question.image.clone().filter(|_| asks(Sense::Image)),
            nearest: question.nearest.clone().filter(|_| asks(Sense::Place)),
            limit,
        }
    }

    async fn vector(&self, text: &str, notes: &mut Notes) -> Option<(String, Vec<f32>)> {
        let embedder = self.embedder.as_ref()?;
        // What holds no letter, digit or picture is about nothing that a vector knows.
        if !text.chars().any(|one| one.is_alphanumeric() || !one.is_ascii()) {
            return None;
        }
        let started = Instant::now();
        let texts = [text.to_owned()];
        let made = embedder.embed(Role::Query, &texts);
        let vector = match tokio::time::timeout(self.config.embed_timeout, made).await {
            Ok(Ok(vectors)) => vectors.into_iter().next(),
            Ok(Err(error)) => {
                notes.failed(Sense::Vector, &error);
                None
            }
            Err(_late) => {
                let after = self.config.embed_timeout.as_millis();
                let why = match embedder.is_loading() {
                    true => format!("its model is being read, and was not ready in {after} ms"),
                    false => format!("the embedder did not answer in {after} ms"),
                };
                notes.failed(Sense::Vector, &why);
                None
            }
        };
        metrics::histogram!("switchboard_memory_embed_question_seconds").record(started.elapsed());
        notes.took(Sense::Vector, started);
        Some((embedder.model().name.clone(), vector?))
    }

    /// Tells that units can be missed since they have no vector yet.
    fn tell_missing(&self, tenant: &str, model: &str, notes: &mut Notes) {
        let missing = self.coverage.as_ref().map_or(0, |coverage| coverage.missing(tenant));
        if missing > 0 {
            let why = format!("partial: {missing} chunks have no vector of `{model}` so far");
            notes.failed(Sense::Vector, &why);
        }
    }

    fn calibrate(&self, cosine: f64) -> f64 {
        #[expect(clippy::cast_possible_truncation, reason = "a cosine, of which f32 keeps enough")]
        let cosine = cosine as f32;
        self.embedder.as_ref().map_or(0.0, |one| f64::from(one.calibrate(cosine)))
    }

    /// Asks the store: all layers at once, or, where it is to be explained, one after the other, so
    /// that each one's time is known.
    async fn search(
        &self,
        scope: &Scope,
        (question, ask): (&Question, &Ask),
        notes: &mut Notes,
    ) -> Result<Found, Error> {
        let found = if question.explain {
            self.each(scope, ask, notes).await?
        } else {
            self.store.search(scope, ask).await?
        };
        let layers: [(Sense, &Layer); 6] = [
            (Sense::Trigger, &found.trigger),
            (Sense::Entity, &found.entity),
            (Sense::Words, &found.words),
            (Sense::Vector, &found.vector),
            (Sense::Image, &found.image),
            (Sense::Place, &found.nearest),
        ];
        let mut worked = false;
        let mut last = None;
        for (sense, layer) in layers {
            match layer {
                Some(Err(error)) => {
                    notes.failed(sense, error);
                    last = Some(error.clone());
                }
                Some(Ok(_)) => worked = true,
                None => {}
            }
        }
        match last {
            // It was the caller's own vector.
            Some(StoreError::Dimensions { model, expected, given })
                if !worked && matches!(&found.image, Some(Err(_))) =>
            {
                let reason = format!(
                    "its vector has {given} numbers, and those of `{model}` here have {expected}"
                );
                Err(Error::Question { field: "image", reason })
            }
            Some(error) if !worked => Err(error.into()),
            Some(_) | None => Ok(found),
        }
    }

    async fn each(&self, scope: &Scope, ask: &Ask, notes: &mut Notes) -> Result<Found, Error> {
        let one = |sense| {
            let mut part = Ask { limit: ask.limit, ..Ask::default() };
            match sense {
                Sense::Trigger => part.trigger.clone_from(&ask.trigger),
                Sense::Entity => part.entities.clone_from(&ask.entities),
                Sense::Words => part.words.clone_from(&ask.words),
                Sense::Vector => part.vector.clone_from(&ask.vector),
                Sense::Image => part.image.clone_from(&ask.image),
                _ => part.nearest.clone_from(&ask.nearest),
            }
            part
        };
        let mut found = Found::default();
        for sense in
            [Sense::Trigger, Sense::Entity, Sense::Words, Sense::Vector, Sense::Image, Sense::Place]
        {
            let part = one(sense);
            if is_bare(&part) {
                continue;
            }
            let started = Instant::now();
            let answer = self.store.search(scope, &part).await?;
            notes.took(sense, started);
            match sense {
                Sense::Trigger => found.trigger = answer.trigger,
                Sense::Entity => found.entity = answer.entity,
                Sense::Words => found.words = answer.words,
                Sense::Vector => found.vector = answer.vector,
                Sense::Image => found.image = answer.image,
                _ => found.nearest = answer.nearest,
            }
        }
        Ok(found)
    }

    /// Distances of what the other layers found.
    async fn measure(&self, from: (f64, f64), sheet: &mut Sheet, notes: &mut Notes) {
        let seqs: Vec<i64> = sheet
            .candidates()
            .filter(|one| one.metres.is_none() && one.withheld.is_empty())
            .map(|one| one.seq)
            .collect();
        if seqs.is_empty() {
            return;
        }
        match self.store.distances(&seqs, from).await {
            Ok(distances) => {
                let known: std::collections::HashMap<i64, f64> = distances.into_iter().collect();
                for one in sheet.candidates() {
                    one.metres = one.metres.or_else(|| known.get(&one.seq).copied());
                }
            }
            Err(error) => notes.failed(Sense::Place, &error),
        }
    }
}

/// The point that distances are told from.
pub(super) fn point(question: &Question) -> Option<(f64, f64)> {
    use crate::memory::Spot;
    match (&question.nearest, &question.spot) {
        (Some((latitude, longitude, _)), _)
        | (None, Some(Spot::Within { latitude, longitude, .. })) => Some((*latitude, *longitude)),
        (None, Some(Spot::Inside { .. }) | None) => None,
    }
}

/// Whether no layer is asked.
fn is_bare(ask: &Ask) -> bool {
    ask.trigger.is_none()
        && ask.entities.is_empty()
        && ask.words.is_none()
        && ask.vector.is_none()
        && ask.image.is_none()
        && ask.nearest.is_none()
}
