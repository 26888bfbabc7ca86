//! What the events of a run come to: a fold over them, the same before and after a restart. From it the
//! loop knows what is next. Nothing is done here.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use jiff::Timestamp;

use super::State;
use super::event::{
    Action, Event, Kept, Observation, Recalled, Rejected, Routed, Spent, Started, Thought, Waiting,
};
use super::store::Head;
use crate::call::{Code, Taint};
use crate::model::Money;

/// A whole run.
#[derive(Debug, Default)]
pub(super) struct Story {
    /// Place of the last event.
    pub(super) seq: u64,
    pub(super) started: Started,
    pub(super) at: Timestamp,
    pub(super) routed: Option<Routed>,
    /// Time in which it was worked on.
    pub(super) active: Duration,
    pub(super) ended: Option<State>,
    pub(super) total: Spent,
    steps: u32,
    code: String,
    last: Option<Timestamp>,
    /// Calls that wait for a person: task and place.
    waiting: BTreeSet<(String, usize)>,
    threads: BTreeMap<String, Thread>,
}

/// The run itself, or one task of its plan.
#[derive(Debug, Clone, Default)]
pub(super) struct Thread {
    /// Questions to the model, but for those that only repeat one.
    pub(super) step: u32,
    /// What the memory gave at its beginning.
    pub(super) recalled: Option<Recalled>,
    pub(super) turns: Vec<Exchange>,
    /// Calls that were made: digest of tool and arguments, and the place of the observation.
    pub(super) visited: HashMap<String, String>,
    /// What recalled units bring along.
    pub(super) taint: BTreeSet<Taint>,
    /// Answers of it that were not accepted.
    pub(super) refused: u32,
}

/// One turn of the model's, and what came of it.
#[derive(Debug, Clone, Default)]
pub(super) struct Exchange {
    pub(super) thought: Thought,
    /// One for each of its calls.
    pub(super) calls: Vec<Progress>,
    /// What did not hold, and was told.
    pub(super) rejected: Option<Rejected>,
    /// What was observed without a call.
    pub(super) noted: Option<Observation>,
}

/// How far one call is.
#[derive(Debug, Clone, Default)]
pub(super) struct Progress {
    pub(super) action: Option<Action>,
    pub(super) waiting: Option<Waiting>,
    pub(super) observation: Option<Observation>,
}

impl Thread {
    /// How often the model was asked again since its last step began.
    pub(super) fn retries(&self) -> u32 {
        let bad = |turn: &&Exchange| turn.rejected.is_some() && turn.noted.is_none();
        u32::try_from(self.turns.iter().rev().take_while(bad).count()).unwrap_or(u32::MAX)
    }

    /// How often it was asked again before its last turn, of which nothing was said yet.
    pub(super) fn asked_again(&self) -> u32 {
        let bad = |turn: &&Exchange| turn.rejected.is_some() && turn.noted.is_none();
        let before = self.turns.iter().rev().skip(1);
        u32::try_from(before.take_while(bad).count()).unwrap_or(u32::MAX)
    }

    /// How many of its last turns asked for nothing but calls that had been made before.
    pub(super) fn repeats(&self) -> usize {
        let again = |call: &Progress| {
            let seen = call.observation.as_ref();
            seen.is_some_and(|seen| seen.code == Code::DuplicateCall.as_str())
        };
        let repeated = |turn: &&Exchange| !turn.calls.is_empty() && turn.calls.iter().all(again);
        self.turns.iter().rev().take_while(repeated).count()
    }

    /// Whether a result of a call says this.
    pub(super) fn heard(&self, words: &str) -> bool {
        let calls = self.turns.iter().flat_map(|turn| &turn.calls);
        let mut seen = calls.filter_map(|call| call.observation.as_ref());
        seen.any(|seen| seen.told.to_string().contains(words))
    }

    fn progress(&mut self, place: usize) -> Option<&mut Progress> {
        self.turns.last_mut()?.calls.get_mut(place)
    }
}

impl Event {
    /// Whether it is a new question to the reasoning model.
    pub(super) fn begins_step(&self, retries: u32) -> bool {
        // What a rule reads comes from no model.
        matches!(self, Self::Thought(thought) if !thought.spent.tried.is_empty()) && retries == 0
    }
}

impl Story {
    /// What so many events come to.
    pub(super) fn of<'k>(events: impl IntoIterator<Item = &'k Kept>) -> Self {
        let mut story = Self::default();
        events.into_iter().for_each(|kept| story.add(kept));
        story
    }

    /// The thread of a task.
    pub(super) fn thread(&self, task: &str) -> Thread {
        self.threads.get(task).cloned().unwrap_or_default()
    }

    pub(super) fn with<T>(&self, task: &str, look: impl FnOnce(Option<&Thread>) -> T) -> T {
        look(self.threads.get(task))
    }

    /// What the memory brought into the run. It taints the calls of every task: what one recalled reaches
    /// the others in its report, and the next attempt in the reasons of the one before.
    pub(super) fn taint(&self) -> BTreeSet<Taint> {
        self.threads.values().flat_map(|thread| thread.taint.iter().copied()).collect()
    }

    /// What the other attempts at a task took, by the name of this one: `find/2` beside `find`.
    pub(super) fn spent_before(&self, attempt: &str) -> Vec<Spent> {
        let is_other =
            |name: &str| name != attempt && name.split('/').next() == attempt.split('/').next();
        let others = self.threads.iter().filter(|(name, _)| is_other(name));
        let turns = others.flat_map(|(_, thread)| &thread.turns);
        turns.map(|turn| turn.thought.spent.clone()).collect()
    }

    pub(super) fn step_of(&self, task: &str) -> u32 {
        self.threads.get(task).map_or(0, |thread| thread.step)
    }

    pub(super) fn retries(&self, task: &str) -> u32 {
        self.threads.get(task).map_or(0, Thread::retries)
    }

    /// What a list says of it.
    pub(super) fn head(&self) -> Head {
        let state = match self.ended {
            Some(state) => state,
            None if self.waiting.is_empty() => State::Running,
            None => State::Waiting,
        };
        Head {
            state: Some(state),
            ended: self.ended.and(self.last),
            steps: self.steps,
            input: self.total.input,
            output: self.total.output,
            estimated: self.total.estimated,
            money: self.total.money.clone(),
            code: self.code.clone(),
        }
    }

    /// Adds the next event.
    pub(super) fn add(&mut self, kept: &Kept) {
        self.pass(kept);
        self.seq = kept.seq;
        if let Some(spent) = kept.event.spent() {
            self.spend(spent);
        }
        match &kept.event {
            Event::Started(started) => {
                self.started = (**started).clone();
                self.at = kept.at;
            }
            Event::Routed(routed) => self.routed = Some(routed.clone()),
            Event::Waiting(waiting) => {
                self.waiting.insert((kept.task.clone(), waiting.place));
            }
            Event::Action(action) => {
                self.waiting.remove(&(kept.task.clone(), action.place));
            }
            Event::Observation(seen) => {
                let place = seen.place.unwrap_or(usize::MAX);
                self.waiting.remove(&(kept.task.clone(), place));
            }
            Event::Partial(_) => self.ended = Some(State::Partial),
            Event::Answer(_) => self.ended = Some(State::Answered),
            Event::Cancelled => self.ended = Some(State::Cancelled),
            Event::Failed(failure) => {
                self.ended = Some(State::Failed);
                self.code.clone_from(&failure.code);
            }
            _ => {}
        }
        let thread = self.threads.entry(kept.task.clone()).or_default();
        if kept.event.begins_step(thread.retries()) {
            thread.step += 1;
            self.steps += 1;
        }
        thread.add(&kept.event);
    }

    /// Counts the time since the event before, unless nobody worked on it then.
    fn pass(&mut self, kept: &Kept) {
        let idle = matches!(kept.event, Event::Resumed(_)) || !self.waiting.is_empty();
        if let Some(last) = self.last.filter(|_| !idle) {
            self.active += Duration::try_from(kept.at.duration_since(last)).unwrap_or_default();
        }
        self.last = Some(kept.at);
    }

    fn spend(&mut self, spent: &Spent) {
        let total = &mut self.total;
        total.input = total.input.saturating_add(spent.input);
        total.output = total.output.saturating_add(spent.output);
        total.estimated |= spent.estimated;
        total.money = sum(&total.money, &spent.money);
    }
}

/// Two amounts together; one that cannot be read is nothing.
fn sum(one: &str, two: &str) -> String {
    let read = |text: &str| Money::parse(text, Default::default()).unwrap_or_default();
    read(one).plus(read(two)).amount()
}

impl Event {
    /// What a question to a model took, where it is the record of one.
    fn spent(&self) -> Option<&Spent> {
        match self {
            Self::Thought(thought) => Some(&thought.spent),
            Self::Routed(routed) => routed.spent.as_ref(),
            Self::Planned(planned) => planned.spent.as_ref(),
            Self::Ruling(ruled) => ruled.spent.as_ref(),
            _ => None,
        }
    }
}

impl Thread {
    fn add(&mut self, event: &Event) {
        match event {
            Event::Recalled(recalled) => {
                self.taint.extend(&recalled.taint);
                if recalled.asked.is_none() {
                    self.recalled = Some(recalled.clone());
                }
            }
            Event::Thought(thought) => self.turns.push(Exchange {
                calls: vec![Progress::default(); thought.calls.len()],
                thought: (**thought).clone(),
                ..Exchange::default()
            }),
            Event::Rejected(rejected) => {
                self.refused += u32::from(rejected.what == "answer");
                if let Some(turn) = self.turns.last_mut() {
                    turn.rejected = Some(rejected.clone());
                }
            }
            Event::Action(action) => {
                if let Some(progress) = self.progress(action.place) {
                    progress.action = Some(action.clone());
                    progress.waiting = None;
                }
            }
            Event::Waiting(waiting) => {
                if let Some(progress) = self.progress(waiting.place) {
                    progress.waiting = Some(waiting.clone());
                }
            }
            Event::Observation(seen) => self.observe(seen),
            _ => {}
        }
    }

    fn observe(&mut self, seen: &Observation) {
        if !seen.visit.is_empty() {
            let label = seen.item.as_ref().map(|item| item.id.to_string()).unwrap_or_default();
            self.visited.insert(seen.visit.clone(), label);
        }
        match seen.place {
            Some(place) => {
                if let Some(progress) = self.progress(place) {
                    progress.observation = Some(seen.clone());
                }
            }
            None => {
                if let Some(turn) = self.turns.last_mut() {
                    turn.noted = Some(seen.clone());
                }
            }
        }
    }
}
