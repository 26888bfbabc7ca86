//! The executor of one run, from its start or from wherever its events end, to its end: routes the
//! question, has it worked on, and writes the end down. There is one for a run.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::clock::Clock;
use super::errand::{Errand, Outcome};
use super::event::{Answered, Event, Failure, Partial, Route, Routed, Spent};
use super::going::Going;
use super::log::Log;
use super::proof::Proof;
use super::{Error, Inner, Visitor, life, rules};
use crate::call::Taint;
use crate::model::{self, Budget, Money, Purse, Role};
use crate::{evidence, mask};

/// Why an executor stops although its run has not ended.
#[derive(Debug)]
pub(super) enum Halt {
    /// The daemon is on its way out; its successor goes on.
    Closing,
    /// An event could not be kept, so nothing may be built on it.
    Unkept(Error),
}

impl From<Error> for Halt {
    fn from(error: Error) -> Self {
        Self::Unkept(error)
    }
}

/// The executor of one run.
#[derive(Debug)]
pub(super) struct Drive {
    pub(super) inner: Arc<Inner>,
    pub(super) log: Log,
    pub(super) going: Arc<Going>,
    pub(super) visitor: Visitor,
    /// As it came; after a restart, as it was kept.
    pub(super) question: String,
    /// Whether parts of it are not known any more, since they were kept masked.
    pub(super) is_masked: bool,
    pub(super) purse: Purse,
    /// Summaries of the runs that it follows up, latest first.
    pub(super) earlier: Vec<evidence::Summary>,
    /// What those runs have read; it taints this one too.
    pub(super) brought: BTreeSet<Taint>,
    proof: Mutex<Proof>,
    clock: Mutex<Clock>,
}

/// A call that waits for a person, as long as this lives.
#[derive(Debug)]
pub(super) struct Waits<'d>(&'d Drive);

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.clock().go_on(Instant::now());
    }
}

impl Drive {
    /// Works a run off, and writes its end down; or stops before, without an end.
    pub(super) async fn over(inner: &Arc<Inner>, log: Log, going: Arc<Going>, question: String) {
        let began = Instant::now();
        let drive = match Self::new(inner, log, Arc::clone(&going), question).await {
            Ok(drive) => drive,
            Err(error) => {
                tracing::error!(%error, "a run cannot be worked on");
                return;
            }
        };
        let run = drive.log.run().clone();
        let whole = Box::pin(drive.whole());
        let ended = tokio::select! {
            biased;
            () = going.cancel.cancelled() => Ok(Event::Cancelled),
            ended = whole => ended,
        };
        let kept = match ended {
            Ok(event) => {
                let outcome = event.kind();
                metrics::counter!("switchboard_reason_runs_total", "outcome" => outcome)
                    .increment(1);
                metrics::histogram!("switchboard_reason_run_seconds").record(began.elapsed());
                drive.log.add("", event).await
            }
            Err(Halt::Closing) => Ok(()),
            Err(Halt::Unkept(error)) => Err(error),
        };
        if let Err(error) = kept {
            let error: &dyn std::error::Error = &error;
            tracing::error!(%run, error, "a run stops, since its events cannot be kept");
        }
    }

    async fn new(
        inner: &Arc<Inner>,
        log: Log,
        going: Arc<Going>,
        question: String,
    ) -> Result<Self, Error> {
        let events = log.events();
        let kept: Vec<&super::Kept> = events.iter().map(|kept| &**kept).collect();
        let earlier = inner.earlier(kept.iter().copied()).await;
        let proof = Proof::of(kept, inner.config.confidence, earlier.clone())?;
        let (started, total, active) =
            log.story(|story| (story.started.clone(), story.total.clone(), story.active));
        let visitor = Visitor { caller: life::owner(&started), proof: started.proof.clone() };
        let brought = match started.brought.clone() {
            Some(brought) => brought,
            None => inner.brought(started.previous.as_ref(), &visitor.caller).await,
        };
        let is_masked = question == started.question && question.contains(mask::MASK);
        let purse = inner.purse(&started, &total);
        let wall = started.limits.wall().unwrap_or(inner.config.wall);
        let end = Instant::now() + wall.saturating_sub(active);
        let inner = Arc::clone(inner);
        let (proof, clock) = (Mutex::new(proof), Mutex::new(Clock::new(end)));
        Ok(Self {
            inner,
            log,
            going,
            visitor,
            question,
            is_masked,
            purse,
            earlier,
            brought,
            proof,
            clock,
        })
    }

    /// From the question to the end.
    async fn whole(&self) -> Result<Event, Halt> {
        let mended = self.proof().mend(Timestamp::now());
        for step in mended {
            self.add("", Event::Evidence(Box::new(step))).await?;
        }
        // A run that was gone on with is not kept: part of it is as old as it likes.
        let mut slot = None;
        let routed = match self.log.story(|story| story.routed.clone()) {
            Some(routed) => routed,
            None => {
                slot = self.slot().await;
                if let Some(slot) = &slot
                    && let Some(ended) = self.again(slot).await?
                {
                    return Ok(ended);
                }
                let routed = self.route().await?;
                // Kept like the question itself.
                let rewritten = mask::text(&routed.rewritten).into_owned();
                self.add("", Event::Routed(Routed { rewritten, ..routed.clone() })).await?;
                routed
            }
        };
        let agent = self.log.story(|story| story.started.agent.clone());
        if !agent.is_empty() && self.inner.agents.load().get(&agent).is_none() {
            return Ok(self.ended(gone(&agent)));
        }
        let outcome = match routed.route {
            Route::Rule => Box::pin(self.by_rule(&routed.rule)).await?,
            Route::Comparison => Box::pin(self.by_comparison()).await?,
            Route::Plan => Box::pin(self.by_plan()).await?,
            _ => match self.nobody(&agent) {
                Some(why) => self.at_limit(rules::TASK, "", &why),
                None => Box::pin(self.work(&self.errand(&routed))).await?,
            },
        };
        let ended = self.ended(outcome);
        if let Some(slot) = &slot {
            self.keep_answer(slot, &ended);
        }
        Ok(ended)
    }

    /// Why a question that reads like one for a rule is decided by none, where no model answers it either.
    fn nobody(&self, agent: &str) -> Option<String> {
        let able = !agent.is_empty() || self.inner.models.serves(Role::Reasoner);
        if able { None } else { self.decider().err() }
    }

    /// The whole question as an errand.
    pub(super) fn errand(&self, routed: &Routed) -> Errand {
        let started = self.log.story(|story| story.started.clone());
        let steps = started.limits.steps.unwrap_or(self.inner.config.steps);
        self.within(Errand {
            question: self.question.clone(),
            given: self.earlier_words(),
            tools: matches!(routed.route, Route::Direct | Route::Memory).then(Vec::new),
            collections: started.collections,
            recalls: !matches!(routed.route, Route::Direct | Route::Tools),
            asks: routed.rewritten.clone(),
            free: routed.route == Route::Direct,
            steps,
            ..Errand::default()
        })
    }

    /// The end of the run for what came of it.
    fn ended(&self, outcome: Outcome) -> Event {
        let total = self.total();
        match outcome {
            Outcome::Answered(answer) => {
                let follow_ups = self.summaries(&answer);
                let (cached, served) = (false, None);
                Event::Answer(Box::new(Answered { answer, follow_ups, cached, served, total }))
            }
            Outcome::Partial(partial) => Event::Partial(Box::new(Partial { total, ..partial })),
            Outcome::Failed(failure) => Event::Failed(Failure { total, ..failure }),
        }
    }

    /// What models took so far.
    pub(super) fn total(&self) -> Spent {
        self.log.story(|story| Spent { tried: Vec::new(), ..story.total.clone() })
    }

    /// Keeps an event before anything is built on it.
    pub(super) async fn add(&self, task: &str, event: Event) -> Result<(), Halt> {
        Ok(self.log.add(task, event).await?)
    }

    /// Adds evidence that is in an event already, with its step where that is new.
    pub(super) async fn step(&self, task: &str, step: Option<evidence::Step>) -> Result<(), Halt> {
        match step {
            Some(step) => self.add(task, Event::Evidence(Box::new(step))).await,
            None => Ok(()),
        }
    }

    /// Refuses to begin anything while the daemon ends.
    pub(super) fn open(&self) -> Result<(), Halt> {
        if self.inner.closing().is_cancelled() { Err(Halt::Closing) } else { Ok(()) }
    }

    /// The evidence; never held over an await.
    pub(super) fn proof(&self) -> MutexGuard<'_, Proof> {
        self.proof.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When the run's time is over.
    pub(super) fn end(&self) -> Instant {
        self.clock().end(Instant::now())
    }

    /// Stops the run's time until what is returned is dropped.
    pub(super) fn waits(&self) -> Waits<'_> {
        self.clock().stop(Instant::now());
        Waits(self)
    }

    fn clock(&self) -> MutexGuard<'_, Clock> {
        self.clock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Pauses, unless the daemon ends meanwhile.
    pub(super) async fn pause(&self, time: Duration) -> Result<(), Halt> {
        let paused = self.inner.closing().run_until_cancelled(tokio::time::sleep(time)).await;
        paused.ok_or(Halt::Closing)
    }

    /// The outcome at a limit: what is known, or that nothing is.
    pub(super) fn at_limit(&self, limit: &str, code: &str, message: &str) -> Outcome {
        let message = one_line(&mask::text(message));
        let proof = self.proof();
        if proof.is_empty() && !code.is_empty() {
            let code = code.to_owned();
            return Outcome::Failed(Failure { code, message, total: Spent::default() });
        }
        let missing =
            vec![format!("an answer to: {}", self.log.story(|s| s.started.question.clone()))];
        let partial = proof.partial(&message, missing);
        Outcome::Partial(Partial {
            limit: limit.to_owned(),
            text: told(&partial),
            partial,
            total: Spent::default(),
        })
    }
}

impl Inner {
    /// The purse of a run, with what it spent before.
    fn purse(&self, started: &super::event::Started, total: &Spent) -> Purse {
        let currency = self.models.currency();
        let money = |text: &str| Money::parse(text, currency).ok();
        let budget = Budget {
            tokens: started.limits.tokens,
            money: started.limits.money.as_deref().and_then(money),
        };
        let spent = model::Spent {
            tokens: total.input.saturating_add(total.output),
            money: money(&total.money).unwrap_or_else(|| Money::zero(currency)),
        };
        self.models.purse(&started.tenant, budget, spent)
    }
}

/// The outcome for an agent that is declared no longer.
fn gone(name: &str) -> Outcome {
    let message = format!("agent `{name}` is declared no longer: ask another one");
    Outcome::Failed(Failure { code: "AGENT_GONE".to_owned(), message, total: Spent::default() })
}

/// A text in one line, whatever said it.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What is known and missing, in words.
fn told(partial: &evidence::Partial) -> String {
    let known: Vec<String> =
        partial.known.iter().map(|one| format!("- {} [{}]", one.text, one.id)).collect();
    let missing: Vec<String> = partial.missing.iter().map(|one| format!("- {one}")).collect();
    let known = if known.is_empty() { "- nothing".to_owned() } else { known.join("\n") };
    format!("{}\nKnown:\n{known}\nMissing:\n{}", partial.reason, missing.join("\n"))
}
