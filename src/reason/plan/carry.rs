//! Carries a plan out: has each task worked on by the loop, with nothing but what is its agent's; keeps
//! every note before the next step is built on it. What is next is decided by the [`Course`].

use std::collections::{BTreeMap, BTreeSet};

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use jiff::Timestamp;

use super::course::{Course, Hearing, Job, Move, Worked};
use super::{Board, Note};
use crate::evidence::{Draft, Fact, Found, Item, Label, Source};
use crate::model::{Currency, Money, Prompt, Turn};
use crate::reason::drive::{Drive, Halt};
use crate::reason::errand::{Errand, Outcome};
use crate::reason::event::{Event, Ruled, Spent, Told};
use crate::reason::judge::{self, Case, Ruling, Verdict};
use crate::reason::message::{Grounds, Message};

/// Longest ruling that a judge is shown again, in characters.
const SHOWN: usize = 4000;

/// Numbers of marks are below this.
const DIGITS: u128 = 1_000_000_000_000_000_000;

/// What came of something that was begun.
enum Done {
    Worked(String, Worked),
    Judged(Box<Case>, Spent, Result<String, String>),
}

impl Drive {
    /// Has an orchestrator plan the question and its team carry the plan out.
    pub(in crate::reason) async fn by_plan(&self) -> Result<Outcome, Halt> {
        let Some(lead) = self.lead() else {
            let why = "the orchestrator that the run was put to is not declared any more";
            return Ok(self.at_limit("model", "PLAN_REFUSED", why));
        };
        let crew = self.crew(&lead);
        let past = self.past();
        let board = match past.board {
            Some(board) => board,
            None => match Box::pin(self.planned(&crew, past)).await? {
                Ok(plan) => Board::new(plan),
                Err(outcome) => return Ok(*outcome),
            },
        };
        let mut course = Course::new(crew, board, self.grounds());
        Box::pin(self.carry(&mut course)).await?;
        Ok(self.concluded(course.board()))
    }

    /// Does what the course says until nothing is left.
    async fn carry(&self, course: &mut Course) -> Result<(), Halt> {
        let mut going: FuturesUnordered<BoxFuture<'_, Result<Done, Halt>>> =
            FuturesUnordered::new();
        let mut costs: BTreeMap<String, Spent> = BTreeMap::new();
        loop {
            self.open()?;
            let moves = course.moves();
            let is_idle = moves.is_empty();
            for one in moves {
                match one {
                    Move::Keep(task, note) => self.keep(&task, &note).await?,
                    Move::Rule(ruling) => {
                        let spent = costs.remove(&ruling.case.id);
                        self.keep_ruling(&ruling, spent).await?;
                    }
                    Move::Work(job) => going.push(Box::pin(self.job(*job))),
                    Move::Hear(hearing) => going.push(Box::pin(self.hear(*hearing))),
                }
            }
            match going.next().await {
                Some(done) => match done? {
                    Done::Worked(task, worked) => course.worked(&task, worked, self.grounds()),
                    Done::Judged(case, spent, said) => {
                        costs
                            .entry(case.id.clone())
                            .and_modify(|sum| *sum = both(sum, &spent))
                            .or_insert(spent);
                        course.judged(&case, said.as_deref().map_err(Clone::clone));
                    }
                },
                None if is_idle || course.is_over() => return Ok(()),
                // Moves that only keep something lead to others.
                None => course.see(self.grounds()),
            }
        }
    }

    /// Keeps a note of a task, and what it stated as evidence for those after it.
    async fn keep(&self, task: &str, note: &Note) -> Result<(), Halt> {
        let (mut items, mut steps, mut refusals) = (Vec::new(), Vec::new(), Vec::new());
        let mut from = String::new();
        match note {
            Note::Ended(ended) => {
                for message in &ended.messages {
                    message.agent.clone_into(&mut from);
                    let found = self.stated(message);
                    let (item, step) = self.proof().found(found, Timestamp::now());
                    items.extend(item);
                    steps.extend(step);
                }
            }
            Note::Refused { refusals: reasons, .. } => {
                refusals = reasons.iter().map(ToString::to_string).collect();
            }
            Note::Begun { agent, .. } => agent.clone_into(&mut from),
            Note::Skipped(_) => {}
        }
        let message = serde_json::to_value(note).unwrap_or_default();
        let told = Told { from, to: String::new(), message, refusals, items };
        self.add(task, Event::Message(told)).await?;
        for step in steps {
            self.add(task, Event::Evidence(Box::new(step))).await?;
        }
        Ok(())
    }

    /// A message as evidence: it is trusted as its own evidence is, and fits as far as it is sure.
    fn stated(&self, message: &Message) -> Found {
        let source = Source::Message { from: message.agent.clone(), id: message.id.clone() };
        let value = message.value.to_string();
        let mut found = Found::new(source, message.told());
        let scope = message.scope.iter().map(|(name, value)| (name.as_str(), value.clone()));
        let facts = std::iter::once((message.claim.as_str(), value)).chain(scope);
        found.facts = facts
            .map(|(name, value)| Fact {
                name: name.to_owned(),
                value,
                unit: String::new(),
                pointer: String::new(),
            })
            .collect();
        found.trust = message.trust;
        found.score = message.confidence;
        let grounds = self.grounds();
        let behind = |label: &Label| grounds.behind(label.as_str()).unwrap_or_default();
        found.untrusted = message.evidence.iter().flat_map(behind).any(|item| item.untrusted);
        found
    }

    async fn keep_ruling(&self, ruling: &Ruling, spent: Option<Spent>) -> Result<(), Halt> {
        let outcome = match ruling.verdict {
            Verdict::Upheld { .. } => "upheld",
            Verdict::Undecided => "undecided",
        };
        metrics::counter!("switchboard_reason_rulings_total", "outcome" => outcome).increment(1);
        let ruling = serde_json::to_value(ruling).unwrap_or_default();
        self.add("", Event::Ruling(Ruled { ruling, spent })).await
    }

    /// Has the loop work on a task.
    async fn job(&self, job: Job) -> Result<Done, Halt> {
        let agent = &job.agent;
        let most = self.log.story(|story| story.started.limits.steps);
        let most = most.unwrap_or(self.inner.config.steps);
        let errand = Errand {
            task: job.errand.clone(),
            question: job.question,
            given: enveloped(&job.given).into_iter().collect(),
            role: job.role,
            tools: Some(job.tools.into_iter().collect()),
            recalls: !job.collections.is_empty(),
            collections: job.collections,
            model: agent.model.clone(),
            shape: job.shape,
            steps: agent.limits.steps.unwrap_or(most).min(most),
            budget: agent.budget.clone(),
            before: self.log.story(|story| story.spent_before(&job.errand)),
            ..Errand::default()
        };
        let work = Box::pin(self.work(&errand));
        let outcome = match agent.limits.wall {
            Some(wall) => match tokio::time::timeout(wall, work).await {
                Ok(outcome) => outcome?,
                Err(_elapsed) => {
                    let words = format!("the time of `{}` for a task is over", agent.name);
                    return Ok(Done::Worked(job.task, Worked::Limited(words)));
                }
            },
            None => work.await?,
        };
        let worked = match outcome {
            Outcome::Answered(answer) => Worked::Reported {
                text: answer.text,
                evidence: answer.evidence.iter().map(|label| label.as_str().to_owned()).collect(),
                found: self.found_in(&errand.task),
            },
            Outcome::Partial(partial) => Worked::Limited(partial.text),
            Outcome::Failed(failure) => Worked::Failed(failure.message),
        };
        Ok(Done::Worked(job.task, worked))
    }

    /// Asks the judge.
    async fn hear(&self, hearing: Hearing) -> Result<Done, Halt> {
        let Hearing { case, judge, before } = hearing;
        let mut asked = vec![judge::question(&case)];
        if let Some((ruling, mend)) = before {
            let ruling: String = ruling.chars().take(SHOWN).collect();
            asked.push(format!("Your last ruling was:\n{ruling}\n\n{mend}"));
        }
        let prompt = Prompt {
            system: judge::instructions(&judge),
            turns: vec![Turn::User(asked.join("\n\n"))],
            shape: Some(judge::shape(&case)),
            by: Some(self.end()),
            ..Prompt::default()
        };
        let (spent, said) = match self.put(judge.model(), &prompt).await? {
            Ok(said) => (Spent::of(&said), Ok(said.text)),
            Err(failed) => {
                let spent = Spent { tried: failed.tried().to_vec(), ..Spent::default() };
                (spent, Err(failed.to_string()))
            }
        };
        Ok(Done::Judged(Box::new(case), spent, said))
    }

    /// The evidence of the run so far.
    fn grounds(&self) -> Grounds {
        let proof = self.proof();
        let trace = proof.trace();
        Grounds { items: trace.evidence.clone(), steps: trace.steps.clone() }
    }

    /// The labels that came up in a task.
    fn found_in(&self, task: &str) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let mut take = |items: &[Item]| {
            found.extend(items.iter().map(|item| item.id.as_str().to_owned()));
        };
        let mut labels = Vec::new();
        for kept in self.log.events().iter().filter(|kept| kept.task == task) {
            match &kept.event {
                Event::Recalled(recalled) => take(&recalled.items),
                Event::Observation(seen) => take(seen.item.as_slice()),
                Event::Evidence(step) => {
                    labels.push(step.id.as_str().to_owned());
                    labels.extend(step.evidence.iter().map(|one| one.as_str().to_owned()));
                }
                _ => {}
            }
        }
        found.extend(labels);
        found
    }

    /// The run's outcome: the answer of the plan, with what is disputed and what was left out.
    fn concluded(&self, board: &Board) -> Outcome {
        let mut missing: Vec<String> = board.disputed().map(Ruling::told).collect();
        missing.extend(board.told());
        let Some(ended) = board.answer() else {
            let why = format!("the plan came to no answer: {}", missing.join("; "));
            return self.at_limit("model", "PLAN_FAILED", &why);
        };
        let disputed = missing.iter().map(|one| format!("\n- {one}")).collect::<String>();
        let answer = if missing.is_empty() {
            ended.text.clone()
        } else {
            format!("{}\n\nOpen:{disputed}", ended.text)
        };
        let mut evidence: Vec<Label> =
            ended.evidence.iter().map(|label| Label::new(label)).collect();
        for label in self.disputed(board) {
            if !evidence.contains(&label) {
                evidence.push(label);
            }
        }
        let draft = Draft { answer, evidence, missing, ..Draft::default() };
        match self.proof().judge(&draft, Timestamp::now()) {
            Ok(answer) => return Outcome::Answered(answer),
            Err(refusals) => {
                let reasons: Vec<String> = refusals.iter().map(ToString::to_string).collect();
                tracing::debug!(reasons = reasons.join("; "), "the answer of a plan does not hold");
            }
        }
        let why = "the answer of the plan does not hold by the evidence of its tasks";
        self.at_limit("model", "PLAN_FAILED", why)
    }
}

impl Drive {
    /// The messages of disputed rulings, by their labels as evidence.
    fn disputed(&self, board: &Board) -> Vec<Label> {
        let messages: Vec<&str> = board
            .disputed()
            .flat_map(|ruling| &ruling.case.packs)
            .map(|pack| pack.message.as_str())
            .collect();
        let proof = self.proof();
        let items = proof.trace().evidence.iter().filter(|item| match &item.source {
            Source::Message { id, .. } => messages.contains(&id.as_str()),
            _ => false,
        });
        items.map(|item| item.id.clone()).collect()
    }
}

/// What other agents found, between marks of which no text knows the number: it is data, and may have come
/// from outside.
fn enveloped(given: &[String]) -> Option<String> {
    let text = given.join("\n");
    if text.is_empty() {
        return None;
    }
    loop {
        let number = format!("{:018}", uuid::Uuid::new_v4().as_u128() % DIGITS);
        if !text.contains(&number) {
            return Some(format!("<<<data {number} origin=agents\n{text}\n>>>end {number}"));
        }
    }
}

/// What two questions to a model took.
fn both(one: &Spent, two: &Spent) -> Spent {
    let read = |text: &str| Money::parse(text, Currency::default()).unwrap_or_default();
    Spent {
        input: one.input.saturating_add(two.input),
        output: one.output.saturating_add(two.output),
        estimated: one.estimated || two.estimated,
        money: read(&one.money).plus(read(&two.money)).amount(),
        tried: one.tried.iter().chain(&two.tried).cloned().collect(),
        ..two.clone()
    }
}
