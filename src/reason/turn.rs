//! The loop: recall, then question after question to the model, the calls that it asks for, and its
//! answer once that holds. What is next is read from the events, so that it goes on after a restart as
//! it would have gone on without one.

use std::time::Instant;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::drive::{Drive, Halt};
use super::errand::{Errand, Outcome};
use super::event::{Event, Observation, Rejected, Spent, Thought};
use super::output::{self, Reading};
use super::prompt::{self, Way};
use super::state::{Exchange, Progress, Thread};
use super::tongue;
use super::tools::Toolset;
use crate::catalog::Risk;
use crate::evidence::{Answer, Draft, Label, Refusal};
use crate::mask;
use crate::model::{Failed, Limit, Said};

/// How often a model is asked again for what could not be read, and for an answer that did not hold.
const AGAIN: u32 = 2;
/// Turns of nothing but calls that were made before, after which no tool is offered.
const REPEATS: usize = 2;
/// Reasons why an answer does not hold that a model is told at a time.
const REASONS: usize = 12;
/// The code of an observation of what a model wrote.
const MODEL_OUTPUT: &str = "MODEL_OUTPUT";

/// What has to be done next.
enum Next {
    /// Ask the memory.
    Recall,
    /// See to the calls of the last turn.
    Calls,
    /// See whether the answer of the last turn holds.
    Judge(Value),
    /// Tell the model what of its last turn could not be read.
    Reject(Vec<String>),
    /// Ask the model.
    Ask,
}

impl Drive {
    /// Works on an errand until something comes of it.
    pub(super) async fn work(&self, errand: &Errand) -> Result<Outcome, Halt> {
        let tools = self.toolset(errand);
        loop {
            self.open()?;
            let next = self
                .log
                .story(|story| story.with(&errand.task, |thread| next(thread, errand.recalls)));
            match next {
                Next::Recall => Box::pin(self.recall(errand)).await?,
                Next::Calls => Box::pin(self.act(errand, &tools)).await?,
                Next::Reject(reasons) => self.reject(errand, reasons).await?,
                Next::Judge(answer) => {
                    if let Some(outcome) = self.judge(errand, &answer).await? {
                        return Ok(outcome);
                    }
                }
                Next::Ask => {
                    if let Some(outcome) = Box::pin(self.ask(errand, &tools)).await? {
                        return Ok(outcome);
                    }
                }
            }
        }
    }

    /// Asks the model, unless a limit is in the way; what came of it where that is the end.
    async fn ask(&self, errand: &Errand, tools: &Toolset) -> Result<Option<Outcome>, Halt> {
        let thread = self.log.story(|story| story.thread(&errand.task));
        let fresh = thread.retries() == 0;
        if fresh && thread.step >= errand.steps {
            let why = format!("the limit of {} steps is reached", errand.steps);
            return Ok(Some(self.at_limit("steps", "", &why)));
        }
        if let Some(limit) = errand.used_up(&thread) {
            let why = format!("the {limit} that its agent may spend in a task are used up");
            return Ok(Some(self.at_limit(limit, "BUDGET_EXHAUSTED", &why)));
        }
        if Instant::now() >= self.end() {
            let why = "the time of the run is over";
            return Ok(Some(self.at_limit("time", "TIME_LIMIT", why)));
        }
        let way = if thread.step + u32::from(fresh) >= errand.steps {
            Way::Closed(prompt::LAST)
        } else if thread.repeats() >= REPEATS {
            Way::Closed(prompt::REPEATED)
        } else if tools.tools.iter().any(|tool| tool.risk == Risk::Read)
            && thread.turns.len().checked_sub(1).is_some_and(|last| invented(errand, &thread, last))
        {
            Way::Call
        } else {
            Way::Open
        };
        let prompt = prompt::of(self, errand, (&thread, tools), way);
        let models = &self.inner.models;
        let who = errand.who();
        let asked = models.ask(who, &prompt, &self.purse, None);
        let said = match self.inner.closing().run_until_cancelled(asked).await {
            None => return Err(Halt::Closing),
            Some(said) => said,
        };
        match said {
            Ok(said) => {
                let thought = thought(said, tools);
                self.add(&errand.task, Event::Thought(Box::new(thought))).await?;
                Ok(None)
            }
            Err(failed) => self.unanswered(errand, &failed).await.map(Some),
        }
    }

    /// What a question that no model answered comes to.
    pub(super) async fn unanswered(
        &self,
        errand: &Errand,
        failed: &Failed,
    ) -> Result<Outcome, Halt> {
        if !failed.tried().is_empty() {
            let spent = Spent { tried: failed.tried().to_vec(), ..Spent::default() };
            let thought = Thought { spent, ..Thought::default() };
            self.add(&errand.task, Event::Thought(Box::new(thought))).await?;
        }
        let message = failed.to_string();
        Ok(match failed {
            Failed::Budget { limit, .. } => {
                let limit = match limit {
                    Limit::RunTokens | Limit::TenantTokens => "tokens",
                    Limit::RunMoney | Limit::TenantMoney => "money",
                };
                self.at_limit(limit, "BUDGET_EXHAUSTED", &message)
            }
            Failed::Deadline { .. } => self.at_limit("time", "TIME_LIMIT", &message),
            Failed::Exhausted { .. } => self.at_limit("model", "MODEL_FAILED", &message),
            Failed::Unconfigured(_) | Failed::Unknown(_) => {
                self.at_limit("model", "NO_MODEL", &message)
            }
        })
    }

    /// Tells the model what could not be read; the third time that is an observation, and a new step.
    async fn reject(&self, errand: &Errand, reasons: Vec<String>) -> Result<(), Halt> {
        let before = self.log.story(|story| {
            story.with(&errand.task, |thread| thread.map_or(0, super::state::Thread::asked_again))
        });
        let rejected =
            Rejected { what: "output".to_owned(), attempt: before + 1, reasons: reasons.clone() };
        self.add(&errand.task, Event::Rejected(rejected)).await?;
        if before < AGAIN {
            return Ok(());
        }
        let told = json!({
            "status": "error",
            "error": { "code": MODEL_OUTPUT, "message": reasons.join("; ") },
        });
        let seen = Observation { code: MODEL_OUTPUT.to_owned(), told, ..Observation::default() };
        self.add(&errand.task, Event::Observation(Box::new(seen))).await
    }

    /// Whether an answer holds; `None` where the model is told why not and asked again.
    async fn judge(&self, errand: &Errand, answer: &Value) -> Result<Option<Outcome>, Halt> {
        let draft = draft(errand, answer);
        let refused = self.log.story(|s| s.with(&errand.task, |t| t.map_or(0, |t| t.refused)));
        let reasons = match draft {
            Err(wrong) => vec![wrong],
            Ok(draft) => {
                let draft = Draft { free: errand.free || draft.free, ..draft };
                let worded = errand.shape.is_none();
                let foreign = worded && tongue::foreign(&errand.question, &draft.answer);
                let judged = self.proof().judge(&draft, Timestamp::now());
                match judged {
                    // An answer in another language is asked for anew once, and is better than none.
                    Ok(_) if foreign && refused == 0 => vec![tongue::REASON.to_owned()],
                    // Likewise one with numbers from nowhere, where a tool can still be asked.
                    Ok(answer) => match baseless(&answer) {
                        Some(reason) if refused == 0 && self.may_call(errand) => vec![reason],
                        _ => return Ok(Some(Outcome::Answered(answer))),
                    },
                    Err(refusals) => few(&refusals),
                }
            }
        };
        let message = format!("no answer of the model held: {}", reasons.join("; "));
        let rejected = Rejected { what: "answer".to_owned(), attempt: refused + 1, reasons };
        self.add(&errand.task, Event::Rejected(rejected)).await?;
        if refused < AGAIN {
            return Ok(None);
        }
        Ok(Some(self.at_limit("model", "MODEL_CONFUSED", &message)))
    }
}

/// The first of some refusals, in words.
fn few(refusals: &[Refusal]) -> Vec<String> {
    let mut reasons: Vec<String> = refusals.iter().take(REASONS).map(ToString::to_string).collect();
    if let Some(more) = refusals.len().checked_sub(REASONS).filter(|more| *more > 0) {
        reasons.push(format!("and {more} more"));
    }
    reasons
}

impl Drive {
    /// Whether the model can still call a tool for the question of the run.
    fn may_call(&self, errand: &Errand) -> bool {
        let offered = errand.tools.as_ref().is_none_or(|patterns| !patterns.is_empty());
        let steps = self.log.story(|story| story.step_of(&errand.task));
        errand.task.is_empty() && offered && steps < errand.steps
    }
}

/// Whether the answer of a turn was refused and cites evidence where there was none yet: a model
/// that takes the form of a run for the run. Only a call can help it, and the sight of what it made up makes
/// it say so again.
pub(super) fn invented(errand: &Errand, thread: &Thread, turn: usize) -> bool {
    let recalled = thread.recalled.as_ref().is_some_and(|recalled| !recalled.items.is_empty());
    let gave = |call: &Progress| call.observation.as_ref().is_some_and(Observation::is_evidence);
    let is_first = |turns: &[Exchange]| !turns.iter().flat_map(|turn| &turn.calls).any(gave);
    if recalled || !errand.given.is_empty() || !thread.turns.get(..turn).is_some_and(is_first) {
        return false;
    }
    let Some(turn) = thread.turns.get(turn) else { return false };
    let is_refused = turn.rejected.as_ref().is_some_and(|one| one.what == "answer");
    let answer = turn.thought.answer.as_ref().filter(|_| is_refused);
    let draft = answer.and_then(|answer| draft(errand, answer).ok());
    draft.is_some_and(|draft| draft.evidence.iter().any(|one| *one != Label::question()))
}

/// An answer as it is judged.
fn draft(errand: &Errand, answer: &Value) -> Result<Draft, String> {
    match answer {
        _ if errand.shape.is_some() => {
            let inner = answer.get("final").unwrap_or(answer);
            let words = inner.as_str().map_or_else(|| inner.to_string(), str::to_owned);
            Ok(Draft { answer: words, free: true, ..Draft::default() })
        }
        Value::String(prose) => Ok(Draft::from_prose(prose)),
        other => Draft::from_json(other),
    }
}

/// What an answer has that stands in nothing it cites, as a reason against it.
fn baseless(answer: &Answer) -> Option<String> {
    let numbers = answer.unsupported.join("`, `");
    (!numbers.is_empty()).then(|| {
        format!(
            "`{numbers}` stands in nothing that you cite: say what the evidence says, call a tool that \
             can tell, or name it in `missing`"
        )
    })
}

/// What is next, by what has come to be.
fn next(thread: Option<&Thread>, recalls: bool) -> Next {
    let Some(thread) = thread else {
        return if recalls { Next::Recall } else { Next::Ask };
    };
    let Some(turn) = thread.turns.last() else {
        return match recalls && thread.recalled.is_none() {
            true => Next::Recall,
            false => Next::Ask,
        };
    };
    let Exchange { thought, calls, rejected, noted } = turn;
    if noted.is_some() {
        return Next::Ask;
    }
    if let Some(rejected) = rejected {
        // The third time is told as an observation; a daemon may have ended between the two.
        let again = rejected.what == "output" && rejected.attempt > AGAIN;
        return if again { Next::Reject(rejected.reasons.clone()) } else { Next::Ask };
    }
    if calls.iter().any(|call| call.observation.is_none()) {
        return Next::Calls;
    }
    if !calls.is_empty() {
        return Next::Ask;
    }
    match &thought.answer {
        Some(answer) => Next::Judge(answer.clone()),
        None if thought.unread.is_empty() => Next::Ask,
        None => Next::Reject(thought.unread.clone()),
    }
}

/// A model's answer as an event.
fn thought(said: Said, tools: &Toolset) -> Thought {
    let spent = Spent::of(&said);
    let Reading { calls, answer, unread, remarks } = output::read(&said, tools);
    Thought {
        text: mask::text(&output::bounded(&said.text)).into_owned(),
        calls,
        answer,
        unread,
        remarks,
        dialect: Some(said.dialect),
        own: said.own.filter(|own| own.message.len() <= output::LONGEST),
        spent,
    }
}
