//! Carries a plan out: has it made, checked and made again; has each task worked on by the loop, with
//! nothing but what is its agent's; keeps every note before the next step is built on it. What is next is
//! decided by the [`Course`]; after a restart it is taken up from the events.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use jiff::Timestamp;

use super::course::{Course, Crew, Hearing, Job, Move, Worked};
use super::{AGAIN, Board, Note, Plan, Staff};
use crate::evidence::{Draft, Fact, Found, Item, Label, Source};
use crate::model::{Failed, Prompt, Role, Said, Turn, Who};
use crate::reason::agent::Agent;
use crate::reason::drive::{Drive, Halt};
use crate::reason::errand::{Errand, Outcome};
use crate::reason::event::{Event, Kept, Planned, Ruled, Spent, Told};
use crate::reason::judge::{self, Case, Law, Ruling, Verdict};
use crate::reason::message::{Grounds, Message};

/// Longest text of a plan that the record repeats, in characters.
const SHOWN: usize = 4000;

/// What came of something that was begun.
enum Done {
    Worked(String, Worked),
    Judged(Box<Case>, Spent, Result<String, String>),
}

/// What the events of a run say of its plan.
#[derive(Default)]
struct Past {
    board: Option<Board>,
    /// The last plan that was refused, and why.
    refused: Option<(String, String)>,
    attempts: usize,
}

impl Drive {
    /// Has an orchestrator plan the question and its team carry the plan out.
    pub(in crate::reason) async fn by_plan(&self, lead: &Arc<Agent>) -> Result<Outcome, Halt> {
        let crew = self.crew(lead);
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

    /// Who works, with what is in force now.
    fn crew(&self, lead: &Arc<Agent>) -> Crew {
        let inner = &self.inner;
        let agents = inner.agents.load_full();
        let caller = &self.visitor.caller;
        let (tools, _) = inner.pipeline.snapshot().tools_for(caller);
        let asked = self.log.story(|story| story.started.collections.clone());
        let wanted = |name: &String| asked.is_empty() || asked.contains(name);
        let collections = inner.desk.collections();
        let shelves = collections.iter().map(|one| (one.name.clone(), one.layer));
        let law = |(id, description): (&str, &str)| Law {
            id: id.to_owned(),
            description: description.trim().to_owned(),
        };
        let hears = agents.judge(lead).is_some_and(|judge| match who(judge.model()) {
            Who::Role(role) => inner.models.serves(role),
            Who::Endpoint(name) => inner.models.endpoint(name).is_some(),
        });
        Crew {
            lead: Arc::clone(lead),
            tools: tools.iter().map(|tool| tool.name.clone()).collect(),
            shelves: shelves.filter(|(name, _)| wanted(name)).collect(),
            laws: inner.rules.load().described().map(law).collect(),
            constants: inner.config.confidence,
            zone: self.proof().builder().zone().clone(),
            hears,
            agents,
        }
    }

    /// What happened before a restart.
    fn past(&self) -> Past {
        let mut past = Past::default();
        for kept in self.log.events() {
            let Kept { task, event, .. } = &*kept;
            match (event, &mut past.board) {
                (Event::Planned(planned), _) if planned.refusals.is_empty() => {
                    past.board = serde_json::from_value(planned.plan.clone()).ok().map(Board::new);
                }
                (Event::Planned(planned), _) => {
                    past.attempts += 1;
                    let text = match &planned.plan {
                        serde_json::Value::String(text) => text.clone(),
                        other => other.to_string(),
                    };
                    past.refused = Some((text, planned.refusals.join("\n")));
                }
                (Event::Message(told), Some(board)) => {
                    if let Ok(note) = serde_json::from_value::<Note>(told.message.clone()) {
                        board.take(task, note);
                    }
                }
                (Event::Ruling(ruled), Some(board)) => {
                    if let Ok(ruling) = serde_json::from_value(ruled.ruling.clone()) {
                        board.rule(ruling);
                    }
                }
                _ => {}
            }
        }
        past
    }

    /// Has the plan made until one can be run, or the run's outcome where none can.
    async fn planned(&self, crew: &Crew, past: Past) -> Result<Result<Plan, Box<Outcome>>, Halt> {
        let staff = Staff { agents: &crew.agents, lead: &crew.lead, tools: &crew.tools };
        let (mut refused, mut attempts) = (past.refused, past.attempts);
        while attempts <= AGAIN {
            self.open()?;
            let mut asked = vec![self.question.clone()];
            asked.extend(self.earlier_words());
            if let Some((plan, mend)) = &refused {
                asked.push(format!("Your last plan was:\n{plan}\n\n{mend}"));
            }
            let prompt = Prompt {
                system: Plan::instructions(staff),
                turns: vec![Turn::User(asked.join("\n\n"))],
                shape: Some(Plan::shape(staff)),
                by: Some(self.end()),
                ..Prompt::default()
            };
            let said = match self.put(crew.lead.model(), &prompt).await? {
                Ok(said) => said,
                Err(failed) => {
                    let why = format!("no plan was made: {failed}");
                    return Ok(Err(Box::new(self.at_limit("model", "MODEL_FAILED", &why))));
                }
            };
            attempts += 1;
            let read = Plan::read(&said.text);
            let refusals = match &read {
                Ok(plan) => plan.check(staff),
                Err(refusals) => refusals.clone(),
            };
            let shown: String = said.text.chars().take(SHOWN).collect();
            let plan = match &read {
                Ok(plan) => serde_json::to_value(plan).unwrap_or_default(),
                Err(_) => serde_json::Value::String(shown),
            };
            let reasons: Vec<String> = refusals.iter().map(ToString::to_string).collect();
            let spent = Some(spent(&said));
            let text = plan.to_string();
            self.add("", Event::Planned(Planned { plan, refusals: reasons, spent })).await?;
            match read {
                Ok(plan) if refusals.is_empty() => return Ok(Ok(plan)),
                _ => refused = Some((text, Plan::mend(&refusals))),
            }
        }
        let reasons = refused.map(|(_, reasons)| reasons).unwrap_or_default();
        let why = format!("no plan of {attempts} could be run; of the last one:\n{reasons}");
        Ok(Err(Box::new(self.at_limit("model", "PLAN_REFUSED", &why))))
    }

    /// Does what the course says until nothing is left.
    async fn carry(&self, course: &mut Course) -> Result<(), Halt> {
        let mut going: FuturesUnordered<BoxFuture<'_, Result<Done, Halt>>> =
            FuturesUnordered::new();
        let mut costs: BTreeMap<String, Spent> = BTreeMap::new();
        loop {
            self.open()?;
            for one in course.moves() {
                match one {
                    Move::Keep(task, note) => self.keep(&task, note).await?,
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
                            .and_modify(|sum| *sum = sum.plus(&spent))
                            .or_insert(spent);
                        course.judged(&case, said.as_deref().map_err(Clone::clone));
                    }
                },
                None if course.is_over() => return Ok(()),
                // Moves that only keep something lead to others.
                None => course.see(self.grounds()),
            }
        }
    }

    /// Keeps a note of a task, and what it stated as evidence for those after it.
    async fn keep(&self, task: &str, note: Note) -> Result<(), Halt> {
        let (mut items, mut steps, mut refusals) = (Vec::new(), Vec::new(), Vec::new());
        let mut from = String::new();
        match &note {
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
        let message = serde_json::to_value(&note).unwrap_or_default();
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
        let proof = self.proof();
        let trace = proof.trace();
        let cited = message.evidence.iter().filter_map(|label| trace.item(label));
        found.untrusted = cited.map(|item| item.untrusted).any(|untrusted| untrusted);
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
            given: job.given,
            role: job.role,
            tools: Some(job.tools.into_iter().collect()),
            recalls: !job.collections.is_empty(),
            collections: job.collections,
            // What a report cites is checked by the protocol of messages.
            shape: job.shape,
            model: agent.model.clone(),
            steps: agent.limits.steps.unwrap_or(most).min(most),
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
            Ok(said) => (spent(&said), Ok(said.text)),
            Err(failed) => {
                let spent = Spent { tried: failed.tried().to_vec(), ..Spent::default() };
                (spent, Err(failed.to_string()))
            }
        };
        Ok(Done::Judged(Box::new(case), spent, said))
    }

    /// Asks a model, unless the daemon ends.
    async fn put(&self, model: &str, prompt: &Prompt) -> Result<Result<Said, Failed>, Halt> {
        let asked = self.inner.models.ask(who(model), prompt, &self.purse, None);
        self.inner.closing().run_until_cancelled(asked).await.ok_or(Halt::Closing)
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
        let mut missing: Vec<String> = board
            .rulings()
            .iter()
            .filter(|ruling| !ruling.case.is_review && ruling.upheld().is_none())
            .map(Ruling::told)
            .collect();
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
        let evidence = ended.evidence.iter().map(|label| Label::new(label)).collect();
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

/// Whom the `model` of an agent names.
pub(in crate::reason) fn who(model: &str) -> Who<'_> {
    match model {
        "router" => Who::Role(Role::Router),
        "reasoner" => Who::Role(Role::Reasoner),
        "judge" => Who::Role(Role::Judge),
        "vision" => Who::Role(Role::Vision),
        endpoint => Who::Endpoint(endpoint),
    }
}

/// What an answer took.
fn spent(said: &Said) -> Spent {
    Spent {
        endpoint: said.endpoint.clone(),
        model: said.model.clone(),
        input: said.usage.input,
        output: said.usage.output,
        estimated: said.usage.estimated,
        money: said.cost.amount(),
        tried: said.tried.clone(),
    }
}
