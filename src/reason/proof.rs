//! The evidence of a run while it grows: what was found in, labels and steps out. Made again from the
//! events after a restart, with the same labels.

use std::collections::HashSet;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::Error;
use super::event::{Event, Kept};
use crate::evidence::{
    Answer, Builder, Config, Draft, Found, Grown, Item, Label, Opening, Refusal, Step, Summary,
    Trace, summaries,
};
use crate::memory::instant::{self, Side};

/// The evidence of one run.
#[derive(Debug)]
pub(super) struct Proof {
    builder: Builder,
    /// Evidence whose step was not kept before the daemon ended.
    loose: Vec<Item>,
    /// Steps that are in events.
    told: HashSet<Label>,
    partial: Option<crate::evidence::Partial>,
    answer: Option<Answer>,
}

impl Proof {
    /// The evidence that a run has by its events, oldest first; `earlier` are the summaries of the runs
    /// that it follows up.
    pub(super) fn of<'k>(
        events: impl IntoIterator<Item = &'k Kept>,
        constants: Config,
        earlier: Vec<Summary>,
    ) -> Result<Self, Error> {
        let mut events = events.into_iter();
        let first = events.next();
        let Some((first, started)) = first.and_then(|kept| match &kept.event {
            Event::Started(started) => Some((kept, started)),
            _ => None,
        }) else {
            let reason = "it does not begin with its start".to_owned();
            let run = first.map(|kept| kept.run.to_string()).unwrap_or_default();
            return Err(Error::Unread { run, seq: 1, reason });
        };
        let opening = Opening {
            run: first.run.to_string(),
            question: started.question.clone(),
            asked_at: first.at,
            as_of: as_of(&started.as_of, &started.time_zone, first.at)?,
            time_zone: started.time_zone.clone(),
            earlier,
        };
        let builder = Builder::new(opening, constants);
        let mut proof =
            Self { builder, loose: Vec::new(), told: HashSet::new(), partial: None, answer: None };
        events.for_each(|kept| proof.again(&kept.event));
        Ok(proof)
    }

    fn again(&mut self, event: &Event) {
        match event {
            Event::Recalled(recalled) => self.loose.extend(recalled.items.iter().cloned()),
            Event::Observation(seen) => self.loose.extend(seen.item.iter().cloned()),
            Event::Message(told) => self.loose.extend(told.items.iter().cloned()),
            Event::Evidence(step) => {
                let brought = step.operation.is_none().then(|| step.evidence.first()).flatten();
                let at =
                    brought.and_then(|label| self.loose.iter().position(|item| item.id == *label));
                let item = at.map(|at| self.loose.remove(at));
                self.told.insert(step.id.clone());
                self.builder.again(Grown { item, step: (**step).clone() });
            }
            Event::Partial(partial) => self.partial = Some(partial.partial.clone()),
            Event::Answer(answered) => {
                self.answer = Some(answered.answer.clone());
            }
            _ => {}
        }
    }

    /// The steps of evidence that has none, as the daemon ended before it was kept. It keeps the labels that
    /// a model was told.
    pub(super) fn mend(&mut self, at: Timestamp) -> Vec<Step> {
        let loose = std::mem::take(&mut self.loose);
        let steps = loose.into_iter().filter_map(|item| self.builder.put_back(item, at));
        let steps: Vec<Step> = steps.collect();
        self.told.extend(steps.iter().map(|step| step.id.clone()));
        steps
    }

    /// What is there and in no event yet; the question never is.
    pub(super) fn untold(&mut self) -> Vec<Grown> {
        let trace = self.builder.trace();
        let item = |step: &Step| match step.operation {
            None => step.evidence.first().and_then(|label| trace.item(label)).cloned(),
            Some(_) => None,
        };
        let all = trace.steps.iter().map(|step| Grown { item: item(step), step: step.clone() });
        let is_asked = |one: &Grown| one.label() == &Label::question();
        let new: Vec<Grown> =
            all.filter(|one| !is_asked(one) && !self.told.contains(&one.step.id)).collect();
        self.told.extend(new.iter().map(|one| one.step.id.clone()));
        new
    }

    /// Adds evidence; its item, and its step where that is new.
    pub(super) fn found(&mut self, found: Found, at: Timestamp) -> (Option<Item>, Option<Step>) {
        let Grown { item, step } = self.builder.found(found, at);
        let step = self.fresh(&step);
        (item, step)
    }

    /// A step, where no event has it yet.
    pub(super) fn fresh(&mut self, step: &Step) -> Option<Step> {
        self.told.insert(step.id.clone()).then(|| step.clone())
    }

    /// The builder, for comparisons, rules and conclusions.
    pub(super) const fn builder(&mut self) -> &mut Builder {
        &mut self.builder
    }

    /// The zone in which its days begin.
    pub(super) const fn zone(&self) -> &TimeZone {
        self.builder.zone()
    }

    /// What is there so far.
    pub(super) const fn trace(&self) -> &Trace {
        self.builder.trace()
    }

    /// Whether anything is known beside the question.
    pub(super) fn is_empty(&self) -> bool {
        self.trace().evidence.iter().all(|item| item.id == Label::question())
    }

    /// The answer, or why it does not hold. Leaves nothing behind.
    pub(super) fn judge(&self, draft: &Draft, at: Timestamp) -> Result<Answer, Vec<Refusal>> {
        self.builder.clone().answer(draft, at)
    }

    /// What is known and what is missing.
    pub(super) fn partial(&self, reason: &str, missing: Vec<String>) -> crate::evidence::Partial {
        self.builder.clone().partial(reason, missing)
    }

    /// What a run with this answer leaves for the next.
    pub(super) fn leaves(&self, answer: &Answer) -> Vec<Summary> {
        let mut trace = self.trace().clone();
        trace.answer = Some(answer.clone());
        summaries(&trace)
    }

    /// The whole trace, sealed.
    pub(super) fn into_trace(self) -> Trace {
        let Self { builder, partial, answer, .. } = self;
        let (whole, refusals) = builder.ended(answer, partial);
        if !refusals.is_empty() {
            tracing::error!(run = whole.run, ?refusals, "a trace does not hold");
        }
        whole
    }
}

/// The instant that a question is about.
pub(super) fn as_of(written: &str, zone: &str, now: Timestamp) -> Result<Timestamp, Error> {
    if written.is_empty() {
        return Ok(now);
    }
    let zone = TimeZone::get(zone).unwrap_or(TimeZone::UTC);
    instant::read(written, Side::From, &zone)
        .map_err(|wrong| Error::Argument { field: "as_of", reason: wrong.to_string() })
}
