//! The run's questions to the memory, as its caller: at its beginning, and whenever the model asks again.
//! What comes back becomes evidence, and a text within its share of the context, in which each unit has
//! its label and what is not trusted stands in an envelope.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::drive::{Drive, Halt};
use super::errand::Errand;
use super::event::{Event, Observation, Recalled, Wanted};
use super::observe;
use super::observe::refused;
use super::output;
use crate::call::{Code, Taint};
use crate::evidence::{Fact, Found, Source, Step};
use crate::mask;
use crate::memory::context::{Detail, Material};
use crate::memory::guard;
use crate::memory::{
    Asking, Origin, Question, Recalled as Hits, Recollection, State, Unserved, Visit, When,
};

/// Longest text of one unit as evidence, in bytes.
const TEXT: usize = 8 << 10;
/// Longest wait for a place at the memory's desk at once.
const WAIT: Duration = Duration::from_secs(1);

impl Drive {
    /// What the memory has for the question of an errand.
    pub(super) async fn recall(&self, errand: &Errand) -> Result<(), Halt> {
        let question = if errand.asks.is_empty() { &errand.question } else { &errand.asks };
        let room = self.shelf(errand);
        let (recalled, steps) = self.asked(errand, question, (room, None)).await?;
        self.add(&errand.task, Event::Recalled(recalled)).await?;
        for step in steps {
            self.step(&errand.task, Some(step)).await?;
        }
        Ok(())
    }

    /// The same for a question of the model's, as the result of its call.
    pub(super) async fn recall_again(
        &self,
        errand: &Errand,
        place: usize,
        wanted: &Wanted,
    ) -> Result<(), Halt> {
        let arguments: Value = serde_json::from_str(&wanted.arguments).unwrap_or_default();
        let question = arguments.get("question").and_then(Value::as_str).unwrap_or_default().trim();
        let mut seen =
            Observation { place: Some(place), tool: wanted.name.clone(), ..Observation::default() };
        if question.is_empty() {
            let code = Code::SchemaValidationError.as_str();
            seen.code = code.to_owned();
            seen.told = refused(code, "`question` is missing: say what to look for");
            return self.add(&errand.task, Event::Observation(Box::new(seen))).await;
        }
        let room = usize::try_from(self.inner.config.observation).unwrap_or(usize::MAX);
        let question = output::bounded(question);
        let (recalled, steps) = self.asked(errand, &question, (room, Some(place))).await?;
        let labels: Vec<&str> = recalled.items.iter().map(|item| item.id.as_str()).collect();
        seen.success = true;
        seen.told = json!({
            "status": "success", "evidence": labels, "recalled": recalled.text,
            "remarks": recalled.remarks,
        });
        self.add(&errand.task, Event::Recalled(recalled)).await?;
        for step in steps {
            self.step(&errand.task, Some(step)).await?;
        }
        self.add(&errand.task, Event::Observation(Box::new(seen))).await
    }

    /// Asks the memory; what it gave, and the steps that this adds. A memory that cannot be asked is a
    /// remark, and no end.
    async fn asked(
        &self,
        errand: &Errand,
        question: &str,
        (room, asked): (usize, Option<usize>),
    ) -> Result<(Recalled, Vec<Step>), Halt> {
        let shown = mask::text(question).into_owned();
        let mut recalled = Recalled { question: shown, asked, ..Recalled::default() };
        let top_k = self.inner.config.recalled;
        let asking = Asking {
            question: Question {
                text: question.to_owned(),
                conversation: errand.given.clone(),
                top_k,
                ..Question::default()
            },
            collections: errand.collections.clone(),
            when: self.when(),
            after: Vec::new(),
        };
        if top_k == 0 {
            return Ok((recalled, Vec::new()));
        }
        let hits = match self.hits_again(asking).await? {
            Ok((record, mut hits)) => {
                recalled.record = record;
                hits.hits.retain(|hit| hit.score >= self.inner.config.relevance);
                hits
            }
            Err(why) => {
                recalled.remarks.push(why);
                return Ok((recalled, Vec::new()));
            }
        };
        let layers = hits.failed.iter().map(|(sense, why)| format!("{}: {why}", sense.as_str()));
        recalled.remarks.extend(layers);
        let steps = self.told(&mut recalled, &hits, room);
        Ok((recalled, steps))
    }

    /// The times that the memory is asked for.
    pub(super) fn when(&self) -> When {
        self.log.story(|story| When {
            as_of: story.started.as_of.clone(),
            time_zone: story.started.time_zone.clone(),
            known_at: String::new(),
        })
    }

    /// Hits for a question, with their record; or why there are none.
    pub(super) async fn hits(
        &self,
        asking: Asking,
    ) -> Result<Result<(String, Hits), String>, Halt> {
        loop {
            self.open()?;
            let entrance = match self.inner.pipeline.welcome(&self.visitor.caller) {
                Ok(entrance) => entrance,
                Err(error) => {
                    let failure = error.failure();
                    if failure.code == Code::Draining {
                        return Err(Halt::Closing);
                    }
                    let wait = failure.retry_after.unwrap_or(WAIT).min(WAIT);
                    if Instant::now() + wait >= self.end() {
                        return Ok(Err(failure.message));
                    }
                    self.pause(wait).await?;
                    continue;
                }
            };
            let visit = Visit {
                caller: self.visitor.caller.clone(),
                proof: self.visitor.proof.clone(),
                received: Instant::now(),
                deadline: Some(self.end()),
                entrance,
            };
            let answered = Box::pin(self.inner.desk.recall(&visit, asking.clone())).await;
            return Ok(match answered {
                Ok(answered) => Ok((answered.record, answered.answer)),
                Err(Unserved::Off(why)) => Err(format!("there is no memory: {why}")),
                Err(error) => Err(error.to_string()),
            });
        }
    }

    /// Fills in what came back: its text within `room`, its evidence and what it brings along.
    fn told(&self, recalled: &mut Recalled, hits: &Hits, room: usize) -> Vec<Step> {
        // The shares of a context: what is not used of the others goes to what is recalled.
        let material = Material { question: recalled.question.clone(), ..Material::default() };
        let budget = room.max(128);
        let context = match self.inner.contexts.assemble(budget, &material, hits) {
            Ok(context) => context,
            Err(error) => {
                recalled.remarks.push(error.to_string());
                return Vec::new();
            }
        };
        let part = context.parts.iter().find(|part| part.name == "recalled");
        let mut text = part.map(|part| part.text.clone()).unwrap_or_default();
        let mut steps = Vec::new();
        let used = context.units.iter().filter(|used| used.form != Detail::Left);
        let shown: BTreeMap<&str, bool> =
            used.map(|used| (used.evidence.as_str(), used.enveloped)).collect();
        for hit in &hits.hits {
            let evidence = hit.evidence();
            let Some(enveloped) = shown.get(evidence.as_str()) else { continue };
            let (item, step) = self.proof().found(found(hit, *enveloped), Timestamp::now());
            let Some(item) = item else { continue };
            let (from, to) =
                (format!("evidence={evidence} layer="), format!("evidence={} layer=", item.id));
            text = text.replace(&from, &to);
            recalled.taint.extend(taint(hit, *enveloped));
            steps.extend(step);
            recalled.items.push(item);
        }
        if !text.is_empty() && shown.values().any(|enveloped| *enveloped) {
            recalled.nonce = context.nonce;
        }
        recalled.text = text;
        steps
    }
}

/// A unit as evidence.
pub(super) fn found(hit: &Recollection, untrusted: bool) -> Found {
    let version = &hit.version;
    let draft = &version.draft;
    let parts = [draft.key.as_str(), &draft.text, &draft.value];
    let text = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n");
    let text = text.get(..text.floor_char_boundary(TEXT)).unwrap_or_default().to_owned();
    let mut facts: Vec<Fact> = Vec::new();
    for fact in &draft.facts {
        facts.push(Fact::of_unit(&fact.entity, &fact.attribute, &fact.value, &fact.unit));
    }
    let metadata = observe::facts(&Value::Object(draft.metadata.clone()));
    facts.extend(
        metadata
            .into_iter()
            .map(|fact| Fact { pointer: format!("/metadata{}", fact.pointer), ..fact }),
    );
    Found {
        facts,
        valid_from: version.valid_from,
        valid_to: version.valid_to,
        trust: version.trust.0,
        score: hit.score,
        untrusted,
        ..Found::new(
            Source::Memory { evidence: hit.evidence(), collection: draft.collection.clone() },
            text,
        )
    }
}

/// What a unit brings into the calls that follow it.
pub(super) fn taint(hit: &Recollection, enveloped: bool) -> BTreeSet<Taint> {
    let version = &hit.version;
    let outside = matches!(version.origin, Origin::Tool | Origin::Web | Origin::File);
    let mut taint = BTreeSet::new();
    if !version.origin.may_ask() {
        taint.insert(Taint::Noted);
    }
    if outside || !version.draft.images.is_empty() {
        taint.insert(Taint::Outside);
    }
    let orders = || {
        let texts = [&version.draft.key, &version.draft.text, &version.draft.value];
        texts.into_iter().any(|text| guard::judge(text, Origin::Web).hold)
    };
    if enveloped && (version.state != State::Active || orders()) {
        taint.insert(Taint::Flagged);
    }
    taint
}
