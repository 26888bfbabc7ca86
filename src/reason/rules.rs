//! Questions that a declared rule decides, without a model: what the rule wants to know is read from the
//! memory and from tools like anything else of a run, and code compares. What a rule cannot decide goes
//! to the loop, where there is a model, with the reason.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::drive::{Drive, Halt};
use super::errand::{Errand, Outcome};
use super::event::{Event, Kept, Observation, Recalled, Rejected, Route, Routed, Thought, Wanted};
use super::recall;
use super::state::Exchange;
use crate::call::Taint;
use crate::evidence::{
    Again, Answer, Draft, FollowUp, Found, Given, Item, LoadedRule, MemoryRead, Plan, Read, Source,
    Stuck, Want, follow_up,
};
use crate::memory::{Asking, Compare, Filter, Question, Recollection};
use crate::model::Role;
use crate::schema;

/// The task that what a rule reads belongs to.
pub(super) const TASK: &str = "rule";
/// Units that a rule counts, at most.
const COUNTED: usize = 200;
/// How often the memory is asked again for a count, of which a layer failed, and after which time.
const AGAIN: u32 = 3;
const PAUSE: Duration = Duration::from_secs(1);
/// Reads of one rule that build on each other, at most.
const ROUNDS: usize = 16;

/// What decides a question without a model.
#[derive(Debug)]
pub(super) enum Decider {
    /// A rule, with what an earlier question gives it.
    Rule(Arc<LoadedRule>, BTreeMap<String, Given>),
    /// The comparison of an earlier question, made again.
    Again(Box<Again>),
}

/// What a rule came to.
type Tried<T> = Result<Result<T, Stuck>, Halt>;

impl Drive {
    /// What decides the question without a model; `None` where it reads like no question for that.
    ///
    /// # Errors
    /// Why nothing does, although it reads like one.
    pub(super) fn decider(&self) -> Result<Option<Decider>, String> {
        let is_dated = self.log.story(|story| !story.started.as_of.is_empty());
        let rules = self.inner.rules.load_full();
        let proof = self.proof();
        let (trace, zone) = (proof.trace(), proof.zone());
        let asked = is_dated.then_some(trace.as_of);
        let mut why = None;
        if !self.earlier.is_empty() {
            match follow_up(&trace.question, &self.earlier, (&rules, zone), asked) {
                Ok(Some(FollowUp::Rule { rule, given, .. })) => {
                    return Ok(Some(Decider::Rule(rule, given)));
                }
                Ok(Some(FollowUp::Comparison(again))) => return Ok(Some(Decider::Again(again))),
                Ok(None) => {}
                Err(unfollowed) => why = Some(unfollowed.to_string()),
            }
        }
        match rules.pick(&trace.question, trace.as_of) {
            Ok(Some(rule)) => Ok(Some(Decider::Rule(rule, BTreeMap::new()))),
            Ok(None) => why.map_or(Ok(None), Err),
            Err(unfit) => Err(unfit.to_string()),
        }
    }

    /// Tells that nothing decides without a model, although the question reads like one for that; once.
    pub(super) async fn unfit(&self, why: &str) -> Result<(), Halt> {
        let is_told = |kept: &Kept| matches!(&kept.event, Event::Rejected(one) if one.what == TASK);
        if self.log.events().iter().any(|kept| is_told(kept)) {
            return Ok(());
        }
        let reasons = vec![why.to_owned()];
        let rejected = Rejected { what: TASK.to_owned(), attempt: 1, reasons };
        self.add(TASK, Event::Rejected(rejected)).await
    }

    /// Lets the rule decide; the loop goes on where it cannot.
    pub(super) async fn by_rule(&self, id: &str) -> Result<Outcome, Halt> {
        let decided = match self.decider() {
            Ok(Some(Decider::Rule(rule, given))) if rule.rule.id == id => {
                self.decided((rule, given)).await?.map_err(|stuck| stuck.to_string())
            }
            _ => Err(format!("rule `{id}` is not in force any more")),
        };
        match decided.and_then(|draft| self.accepts(&draft, &format!("what rule `{id}` decides"))) {
            Ok(answer) => Ok(Outcome::Answered(answer)),
            Err(why) => self.undecided(&why).await,
        }
    }

    /// Makes the comparison of an earlier question again; the loop goes on where that cannot be done.
    pub(super) async fn by_comparison(&self) -> Result<Outcome, Halt> {
        let compared = match self.decider() {
            Ok(Some(Decider::Again(again))) => {
                let made = again.compare(self.proof().builder(), Timestamp::now());
                self.grown("what was compared before").await?;
                made.map_err(|refusal| format!("it cannot be compared again: {refusal}")).and_then(
                    |grown| {
                        let question = self.proof().trace().question.clone();
                        let step = grown.last().map(|one| &one.step);
                        let draft = step.and_then(|step| again.draft(step, &question));
                        self.accepts(&draft.unwrap_or_default(), "what was compared again")
                    },
                )
            }
            _ => Err("the comparison of the earlier question is not there any more".to_owned()),
        };
        match compared {
            Ok(answer) => Ok(Outcome::Answered(answer)),
            Err(why) => self.undecided(&why).await,
        }
    }

    /// The answer of a draft that code made, or why it does not hold.
    fn accepts(&self, draft: &Draft, what: &str) -> Result<Answer, String> {
        self.proof().judge(draft, Timestamp::now()).map_err(|refusals| {
            let all: Vec<String> = refusals.iter().map(ToString::to_string).collect();
            format!("{what} does not hold: {}", all.join("; "))
        })
    }

    /// Goes on with the loop, or ends where there is no model for it.
    async fn undecided(&self, why: &str) -> Result<Outcome, Halt> {
        self.unfit(why).await?;
        if self.inner.models.serves(Role::Reasoner) {
            return self
                .work(&self.errand(&Routed { route: Route::Loop, ..Routed::default() }))
                .await;
        }
        Ok(self.at_limit(TASK, "", why))
    }

    /// Reads what the rule wants until it decides.
    async fn decided(
        &self,
        (rule, given): (Arc<LoadedRule>, BTreeMap<String, Given>),
    ) -> Tried<Draft> {
        let now = Timestamp::now();
        let begun = Plan::begin(rule, self.proof().builder(), &given, now);
        self.grown("what the rule says").await?;
        let mut plan = match begun {
            Ok(plan) => plan,
            Err(stuck) => return Ok(Err(stuck)),
        };
        for _ in 0..ROUNDS {
            let reads = plan.reads();
            if reads.is_empty() {
                break;
            }
            self.call_all(&reads).await?;
            for read in &reads {
                let taken = match &read.want {
                    Want::Memory(want) => match self.hits_for(&plan, read, want).await? {
                        Ok(hits) => {
                            let now = Timestamp::now();
                            plan.recalled(&read.facts, self.proof().builder(), hits, now)
                        }
                        Err(stuck) => Err(stuck),
                    },
                    Want::Tool { tool, arguments } => {
                        self.call_tool(&mut plan, read, (tool, arguments)).await?
                    }
                };
                self.grown(&read.facts.join(", ")).await?;
                if let Err(stuck) = taken {
                    return Ok(Err(stuck));
                }
            }
        }
        let decided = plan.decide(self.proof().builder(), Timestamp::now());
        self.grown("what follows").await?;
        Ok(decided)
    }

    /// Keeps what was added to the evidence; also where what it was for came to nothing.
    async fn grown(&self, what: &str) -> Result<(), Halt> {
        let fresh = self.proof().untold();
        let items: Vec<Item> = fresh.iter().filter_map(|one| one.item.clone()).collect();
        if !items.is_empty() {
            let question = what.to_owned();
            let recalled = Recalled { question, items, ..Recalled::default() };
            self.add(TASK, Event::Recalled(recalled)).await?;
        }
        for one in fresh {
            self.step(TASK, Some(one.step)).await?;
        }
        Ok(())
    }

    /// What the memory has for a read. That it does not answer, or not with all, is no answer: a rule that
    /// counts would take it for nothing.
    async fn hits_for(&self, plan: &Plan, read: &Read, want: &MemoryRead) -> Tried<Vec<Found>> {
        let stuck = |why: String| Ok(Err(plan.missing(&read.facts.join(", "), why)));
        let permitted = self.log.story(|story| story.started.collections.clone());
        if !permitted.is_empty() && !permitted.contains(&want.collection) {
            let (asked, own) = (permitted.join("`, `"), &want.collection);
            return stuck(format!("the question is for `{asked}` only, and it stands in `{own}`"));
        }
        let filters = want.filter.iter().map(|(field, value)| Filter {
            field: field.clone(),
            compare: Compare::Any,
            values: match value {
                Value::Array(values) => values.clone(),
                value => vec![value.clone()],
            },
        });
        let top_k = if want.is_count { COUNTED } else { self.inner.config.recalled.max(1) };
        let asking = Asking {
            question: Question {
                text: want.question.clone(),
                filters: filters.collect(),
                top_k,
                ..Question::default()
            },
            collections: vec![want.collection.clone()],
            when: self.when(),
            after: Vec::new(),
        };
        let mut tries = 0;
        let (record, hits) = loop {
            match self.hits(asking.clone()).await? {
                // Most of what fails is late, and there the next time.
                Ok((_, hits)) if want.is_count && !hits.failed.is_empty() && tries < AGAIN => {
                    tries += 1;
                    self.pause(PAUSE).await?;
                }
                Ok(answered) => break answered,
                Err(why) => return stuck(format!("the memory cannot be asked for it: {why}")),
            }
        };
        if want.is_count && hits.hits.len() >= COUNTED {
            return stuck(format!("there are {COUNTED} units or more, which are not counted"));
        }
        if let (true, Some((sense, why))) = (want.is_count, hits.failed.first()) {
            let sense = sense.as_str();
            return stuck(format!("the memory looked for it in part only, without {sense}: {why}"));
        }
        self.taints(read, (record, &hits.hits)).await?;
        let enveloped = |hit| self.inner.contexts.envelops(hit);
        Ok(Ok(hits.hits.iter().map(|hit| recall::found(hit, enveloped(hit))).collect()))
    }

    /// Keeps what the hits bring along, before anything is called with what they say.
    async fn taints(
        &self,
        read: &Read,
        (record, hits): (String, &[Recollection]),
    ) -> Result<(), Halt> {
        let each = hits.iter().map(|hit| recall::taint(hit, self.inner.contexts.envelops(hit)));
        let taint: BTreeSet<Taint> = each.flatten().collect();
        if taint.is_empty() {
            return Ok(());
        }
        let question = read.facts.join(", ");
        let recalled = Recalled { question, record, taint, ..Recalled::default() };
        self.add(TASK, Event::Recalled(recalled)).await
    }

    async fn call_tool(
        &self,
        plan: &mut Plan,
        read: &Read,
        (tool, arguments): (&str, &Map<String, Value>),
    ) -> Tried<()> {
        let seen = self.log.story(|story| {
            story.with(TASK, |thread| {
                let turns = thread.map(|thread| thread.turns.as_slice()).unwrap_or_default();
                turns.iter().find_map(|turn| result(turn, tool, arguments))
            })
        });
        let seen = seen.unwrap_or_default();
        if seen.call_id.is_empty() {
            let why = format!("tool `{tool}` was not called ({})", seen.code);
            return Ok(Err(plan.missing(&read.facts.join(", "), why)));
        }
        let data = seen.told.get("data").cloned().unwrap_or_default();
        let source = Source::Tool {
            digest: self.digest(&seen.call_id).await,
            call_id: seen.call_id,
            tool: tool.to_owned(),
            success: seen.success,
        };
        let found = Found { untrusted: true, ..Found::new(source, data.to_string()) };
        let now = Timestamp::now();
        Ok(plan.replied(&read.facts, self.proof().builder(), (found, &data), now))
    }

    /// Makes those calls of some reads that were not made yet, side by side.
    async fn call_all(&self, reads: &[Read]) -> Result<(), Halt> {
        let errand = Errand { task: TASK.to_owned(), free: true, ..Errand::default() };
        let tools = self.toolset(&errand);
        let known = |tool: &str, arguments: &Map<String, Value>| {
            self.log.story(|story| {
                story.with(TASK, |thread| {
                    let turns = thread.map(|thread| thread.turns.as_slice()).unwrap_or_default();
                    turns.iter().any(|turn| position(turn, tool, arguments).is_some())
                })
            })
        };
        let wanted = reads.iter().filter_map(|read| match &read.want {
            Want::Tool { tool, arguments } if !known(tool, arguments) => Some(Wanted {
                name: tool.clone(),
                arguments: Value::Object(arguments.clone()).to_string(),
                ..Wanted::default()
            }),
            _ => None,
        });
        let calls: Vec<Wanted> = wanted.collect();
        if !calls.is_empty() {
            let thought = Thought { calls, ..Thought::default() };
            self.add(TASK, Event::Thought(Box::new(thought))).await?;
        }
        Box::pin(self.act(&errand, &tools)).await
    }
}

/// Which call of a turn is the one that a rule wants.
fn position(turn: &Exchange, tool: &str, arguments: &Map<String, Value>) -> Option<usize> {
    let wanted = schema::canonical(&Value::Object(arguments.clone()));
    turn.thought.calls.iter().position(|call| {
        let same = |value: Value| schema::canonical(&value) == wanted;
        call.name == tool && serde_json::from_str::<Value>(&call.arguments).is_ok_and(same)
    })
}

/// What came of the call that a rule wants.
fn result(turn: &Exchange, tool: &str, arguments: &Map<String, Value>) -> Option<Observation> {
    let place = position(turn, tool, arguments)?;
    turn.calls.get(place)?.observation.clone()
}
