//! What is kept, at work in a run: an answer that is told again, a routing and a recall that are not asked
//! for again. What a declared rule decides is decided again each time: that costs less than to look.

use std::time::Duration;

use jiff::Timestamp;

use super::{Hit, Replay, Setting, Slot, Unfit, Used, Worth};
use crate::call::digest_of;
use crate::catalog::Risk;
use crate::evidence::{Answer, Item, Label};
use crate::memory::{Asking, Recalled as Hits};
use crate::reason::drive::{Drive, Halt};
use crate::reason::event::{Answered, Event, Kept, Route, Routed};
use crate::reason::proof::Proof;

impl Drive {
    /// Where the answer of this run is kept; `None` where it is not to be, and none is to be given.
    pub(in crate::reason) async fn slot(&self) -> Option<Slot> {
        let started = self.log.story(|story| story.started.clone());
        if started.no_cache || !matches!(self.decider(), Ok(None)) {
            return None;
        }
        let memory = self.standing(&started.collections).await?;
        let previous = started.previous.as_ref().map_or("", |run| run.as_str());
        self.named(&memory, (&started.collections, &started.as_of), (&self.question, previous))
    }

    async fn standing(&self, collections: &[String]) -> Option<String> {
        self.inner.desk.revision(&self.visitor.caller, collections).await
    }

    fn named(
        &self,
        memory: &str,
        (collections, as_of): (&[String], &str),
        (question, previous): (&str, &str),
    ) -> Option<Slot> {
        let version = self.inner.version();
        let agent = self.log.story(|story| story.started.agent.clone());
        let setting = Setting {
            caller: &self.visitor.caller,
            agent: &agent,
            version: &version,
            memory,
            collections,
            as_of,
            previous,
        };
        self.inner.cache.slot(&setting, question)
    }

    /// Tells the answer of an equal question again, with all that it rests on; the end of the run, where
    /// there is one.
    pub(in crate::reason) async fn again(&self, slot: &Slot) -> Result<Option<Event>, Halt> {
        let embedder = self.inner.desk.embedder();
        let hit = self.inner.cache.answers.look(slot, embedder.as_ref()).await;
        let Some(Hit { value, served }) = hit else { return Ok(None) };
        let Replay { run, events, answer } = value;
        // What it compared stands in other words there.
        if served.similarity.is_some() && events.iter().any(|(_, event)| is_of_question(event)) {
            return Ok(None);
        }
        let kind = if served.similarity.is_some() { "a nearly equal" } else { "an equal" };
        let why = format!("run {run} answered {kind} question {} ms ago", served.age_ms);
        self.add("", Event::Routed(Routed { route: Route::Cache, why, ..Routed::default() }))
            .await?;
        for (task, mut event) in events {
            if let Event::Evidence(step) = &mut event {
                // In this trace it stands behind the question.
                step.at = Timestamp::now();
            }
            self.add(&task, event).await?;
        }
        let kept = self.log.events();
        let constants = self.inner.config.confidence;
        let proof = Proof::of(kept.iter().map(|kept| &**kept), constants, self.earlier.clone())?;
        *self.proof() = proof;
        let answer = Answer { at: Timestamp::now(), ..answer };
        let follow_ups = self.summaries(&answer);
        let total = self.total();
        let served = Some(served);
        let answered = Answered { answer, follow_ups, cached: true, served, total };
        Ok(Some(Event::Answer(Box::new(answered))))
    }

    /// Keeps an answer, where it may be given again.
    pub(in crate::reason) fn keep_answer(&self, slot: &Slot, ended: &Event) {
        let Event::Answer(answered) = ended else { return };
        let events = self.log.events();
        let outcome = match self.worth(&events, &answered.answer).life(self.inner.cache.ttl()) {
            Ok(life) => {
                let told = events.iter().filter_map(|kept| replayed(kept));
                let (run, answer) = (self.log.run().clone(), answered.answer.clone());
                let replay = Replay { run, events: told.collect(), answer };
                self.inner.cache.answers.keep(slot, replay, life);
                "kept"
            }
            Err(unfit) => {
                tracing::debug!(run = %self.log.run(), %unfit, "an answer is not kept");
                unfit.as_str()
            }
        };
        metrics::counter!("switchboard_reason_cache_kept_total", "outcome" => outcome).increment(1);
    }

    /// What is known of this run.
    fn worth<'k>(
        &self,
        events: impl IntoIterator<Item = &'k std::sync::Arc<Kept>>,
        answer: &Answer,
    ) -> Worth {
        let mut worth = Worth { partial: !answer.missing.is_empty(), ..Worth::default() };
        let remembers = self.inner.desk.standing().borrow().is_open();
        for kept in events {
            match &kept.event {
                Event::Recalled(recalled) => {
                    worth.failed |= remembers && !recalled.remarks.is_empty();
                    worth.tainted |= !recalled.taint.is_empty();
                    recalled.items.iter().for_each(|item| rests_on(&mut worth, item));
                }
                Event::Observation(seen) => {
                    worth.failed |= !seen.success;
                    seen.item.iter().for_each(|item| rests_on(&mut worth, item));
                    if !seen.call_id.is_empty() {
                        worth.used.push(self.used(&seen.tool, seen.age_ms));
                    }
                }
                Event::Waiting(_) => worth.attended = true,
                _ => {}
            }
        }
        worth
    }

    /// A tool as it is declared now; one that is gone is as one whose results are not kept.
    fn used(&self, name: &str, age_ms: u64) -> Used {
        let tool = self.inner.pipeline.tool(name, None, &self.visitor.caller);
        Used {
            tool: name.to_owned(),
            risk: tool.as_ref().map_or(Risk::Read, |tool| tool.risk),
            ttl: tool.and_then(|tool| tool.cache_ttl),
            age: Duration::from_millis(age_ms),
        }
    }

    /// Where the routing of this run's question is kept.
    pub(in crate::reason) fn routing_slot(&self) -> Option<Slot> {
        let started = self.log.story(|story| story.started.clone());
        let previous = started.previous.as_ref().map_or("", |run| run.as_str());
        let slot =
            || self.named("", (&started.collections, &started.as_of), (&self.question, previous));
        (!started.no_cache).then(slot).flatten()
    }

    /// How an equal question was routed.
    pub(in crate::reason) async fn routed_before(&self, slot: &Slot) -> Option<Routed> {
        let embedder = self.inner.desk.embedder();
        let hit = self.inner.cache.routings.look(slot, embedder.as_ref()).await?;
        let why = format!("{}, of such a question {} ms ago", hit.value.why, hit.served.age_ms);
        Some(Routed { why, spent: None, ..hit.value })
    }

    /// Keeps a routing.
    pub(in crate::reason) fn keep_routing(&self, slot: &Slot, routed: &Routed) {
        self.inner.cache.routings.keep(slot, routed.clone(), self.inner.cache.ttl());
    }

    /// Hits for a question, with their record: those of an equal question, whose record is then that of
    /// the first time, or new ones.
    pub(in crate::reason) async fn hits_again(
        &self,
        asking: Asking,
    ) -> Result<Result<(String, Hits), String>, Halt> {
        let slot = self.recall_slot(&asking).await;
        if let Some(slot) = &slot
            // To find a similar question costs as much as to ask the memory.
            && let Some(hit) = self.inner.cache.recalls.look(slot, None).await
        {
            return Ok(Ok(hit.value));
        }
        let found = self.hits(asking).await?;
        if let (Some(slot), Ok((_, hits))) = (&slot, &found)
            && hits.failed.is_empty()
        {
            let until = hits.hits.iter().filter_map(|hit| hit.version.valid_to).min();
            let worth = Worth { until, ..Worth::default() };
            if let (Ok(life), Ok(found)) = (worth.life(self.inner.cache.ttl()), &found) {
                self.inner.cache.recalls.keep(slot, found.clone(), life);
            }
        }
        Ok(found)
    }

    async fn recall_slot(&self, asking: &Asking) -> Option<Slot> {
        if self.log.story(|story| story.started.no_cache) {
            return None;
        }
        let memory = self.standing(&asking.collections).await?;
        let question = &asking.question;
        let context = hex::encode(digest_of(&question.conversation));
        let as_of = format!("{} {}", asking.when.as_of, asking.when.time_zone);
        let as_of = if asking.when.as_of.is_empty() { "" } else { as_of.as_str() };
        self.named(&memory, (&asking.collections, as_of), (&question.text, &context))
    }
}

impl Unfit {
    /// In one word, for the metric.
    const fn as_str(&self) -> &'static str {
        match self {
            Self::Partial => "partial",
            Self::Failed => "failed",
            Self::Tainted => "tainted",
            Self::Attended => "attended",
            Self::Writes(_) => "writes",
            Self::Uncacheable(_) => "uncacheable",
            Self::Over => "over",
        }
    }
}

/// Counts in what an answer rests on.
fn rests_on(worth: &mut Worth, item: &Item) {
    worth.tainted |= item.untrusted;
    worth.until = worth.until.into_iter().chain(item.valid_to).min();
}

/// An event as another run tells it again; `None` for what was only the way there.
fn replayed(kept: &Kept) -> Option<(String, Event)> {
    let event = match &kept.event {
        Event::Recalled(recalled) => {
            let mut recalled = recalled.clone();
            recalled.asked = None;
            Event::Recalled(recalled)
        }
        Event::Observation(seen) => {
            let mut seen = seen.clone();
            seen.place = None;
            Event::Observation(seen)
        }
        event @ (Event::Evidence(_) | Event::Message(_) | Event::Planned(_) | Event::Ruling(_)) => {
            event.clone()
        }
        _ => return None,
    };
    Some((kept.task.clone(), event))
}

/// Whether a step works with the words of the question.
fn is_of_question(event: &Event) -> bool {
    let Event::Evidence(step) = event else { return false };
    let question = Label::question();
    step.evidence.contains(&question)
        || step.operands.iter().any(|operand| operand.evidence.as_ref() == Some(&question))
}
