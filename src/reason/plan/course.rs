//! The course of a plan: what came of tasks and cases in, what is to be done next out. Begins nothing and
//! keeps nothing itself, so that whoever drives it keeps each note before acting on it, and one that was
//! killed goes on from the [`Board`] alone.

mod brief;
mod cases;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use jiff::tz::TimeZone;

use super::board::{Board, Ended, Note, RETRIES, Skipped, Standing};
use super::{Plan, Task};
use crate::evidence::{Config, Item, Source};
use crate::memory::Layer;
use crate::reason::agent::{Agent, Agents};
use crate::reason::judge::{Case, Law, Ruling};
use crate::reason::message::{self, Checked, Grounds, Message, Office};
use crate::reason::refusal::lines;

/// Who works, and with what.
#[derive(Debug, Clone)]
pub(in crate::reason) struct Crew {
    /// All agents.
    pub(in crate::reason) agents: Arc<Agents>,
    /// The orchestrator.
    pub(in crate::reason) lead: Arc<Agent>,
    /// The tools that the caller of the run may see.
    pub(in crate::reason) tools: BTreeSet<String>,
    /// The collections that the run looks into, with their layers.
    pub(in crate::reason) shelves: Vec<(String, Layer)>,
    /// The rules that are declared.
    pub(in crate::reason) laws: Vec<Law>,
    /// The constants of confidences.
    pub(in crate::reason) constants: Config,
    /// Where days begin.
    pub(in crate::reason) zone: TimeZone,
    /// Whether a model serves the judge.
    pub(in crate::reason) hears: bool,
}

/// Something to do, in the order in which it is to be done.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::reason) enum Move {
    /// Keep what happened to a task.
    Keep(String, Note),
    /// Keep a ruling.
    Rule(Box<Ruling>),
    /// Have an agent work on a task, then tell [`Course::worked`].
    Work(Box<Job>),
    /// Ask the judge, then tell [`Course::judged`].
    Hear(Box<Hearing>),
}

/// A task as its agent gets it.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::reason) struct Job {
    /// The task.
    pub(in crate::reason) task: String,
    /// Under which name its events stand: the task, from the second attempt on with its number.
    pub(in crate::reason) errand: String,
    /// The agent.
    pub(in crate::reason) agent: Arc<Agent>,
    /// What is asked.
    pub(in crate::reason) question: String,
    /// What is known before, as data.
    pub(in crate::reason) given: Vec<String>,
    /// What the model is told of its part.
    pub(in crate::reason) role: String,
    /// The only tools that it sees.
    pub(in crate::reason) tools: BTreeSet<String>,
    /// The only collections that it recalls from.
    pub(in crate::reason) collections: Vec<String>,
    /// JSON Schema of its report; `None` where words will do.
    pub(in crate::reason) shape: Option<serde_json::Value>,
}

/// A case as a judge gets it.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::reason) struct Hearing {
    /// The case.
    pub(in crate::reason) case: Case,
    /// The judge.
    pub(in crate::reason) judge: Arc<Agent>,
    /// What it said before and why that does not hold.
    pub(in crate::reason) before: Option<(String, String)>,
}

/// What came of a job.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::reason) enum Worked {
    /// A report, with the labels of all that the task found.
    Reported {
        /// As the model wrote it.
        text: String,
        /// The evidence and steps that its answer rests on, as far as the loop knows them.
        evidence: Vec<String>,
        /// All labels that came up in the task.
        found: BTreeSet<String>,
    },
    /// It was at a limit; in words, what it knew.
    Limited(String),
    /// There is nothing; why.
    Failed(String),
}

/// The course of one plan.
#[derive(Debug)]
pub(in crate::reason) struct Course {
    crew: Crew,
    board: Board,
    grounds: Grounds,
    /// Tasks that an agent works on now.
    going: BTreeSet<String>,
    /// Reports that wait for the reviews of these cases.
    held: BTreeMap<String, Held>,
    /// Cases that the judge is asked about now, with what did not hold before.
    hearings: BTreeMap<String, Vec<crate::reason::judge::Refusal>>,
    queue: VecDeque<Move>,
}

#[derive(Debug)]
struct Held {
    attempt: u32,
    checked: Checked,
    evidence: Vec<String>,
}

impl Course {
    /// Takes up a plan where its board says that it is, with all evidence of the run so far.
    pub(in crate::reason) fn new(crew: Crew, board: Board, grounds: Grounds) -> Self {
        Self {
            crew,
            board,
            grounds,
            going: BTreeSet::new(),
            held: BTreeMap::new(),
            hearings: BTreeMap::new(),
            queue: VecDeque::new(),
        }
    }

    /// How far it is.
    pub(in crate::reason) const fn board(&self) -> &Board {
        &self.board
    }

    /// Whether nothing is left to do, and nothing is being done.
    pub(in crate::reason) fn is_over(&self) -> bool {
        self.queue.is_empty()
            && self.going.is_empty()
            && self.held.is_empty()
            && self.hearings.is_empty()
            && self.board.is_over()
            && self.open_cases(None).is_empty()
    }

    /// What is to be done now. Empty while something that is being done has to end first, and once all
    /// is over.
    pub(in crate::reason) fn moves(&mut self) -> Vec<Move> {
        loop {
            let lost = self.board.lost();
            if lost.is_empty() {
                break;
            }
            for (task, skipped) in lost {
                self.note(&task, Note::Skipped(skipped));
            }
        }
        let open: Vec<Task> = self.board.open().cloned().collect();
        for task in open {
            let is_busy = self.going.contains(&task.id) || self.held.contains_key(&task.id);
            if is_busy || self.going.len() >= self.crew.lead.parallel() {
                continue;
            }
            if self.settled(Some(&task.id)) {
                self.begin(&task);
            }
        }
        if self.going.is_empty() && self.held.is_empty() && self.board.is_over() {
            self.settled(None);
        }
        // A task that was skipped just now takes others with it.
        let more = !self.board.lost().is_empty();
        let mut moves: Vec<Move> = self.queue.drain(..).collect();
        if more {
            moves.extend(self.moves());
        }
        moves
    }

    /// Takes the evidence of the run by now.
    pub(in crate::reason) fn see(&mut self, grounds: Grounds) {
        self.grounds = grounds;
    }

    /// Takes what came of a job, with all evidence of the run by then.
    pub(in crate::reason) fn worked(&mut self, task: &str, worked: Worked, grounds: Grounds) {
        self.grounds = grounds;
        if !self.going.remove(task) {
            return;
        }
        let (text, evidence, found) = match worked {
            Worked::Reported { text, evidence, found } => (text, evidence, found),
            Worked::Limited(words) => return self.skip(task, "limit", words),
            Worked::Failed(words) => return self.skip(task, "failed", words),
        };
        let Some(task) = self.board.plan().task(task).cloned() else { return };
        let own = self.own(&task.id, &found);
        let upheld = self.upheld_before(&task.id);
        let office = Office {
            lead: &self.crew.lead,
            task: &task,
            grounds: &own,
            upheld: &upheld,
            constants: &self.crew.constants,
            zone: &self.crew.zone,
        };
        let attempt = self.attempt(&task.id);
        match message::check(&text, office) {
            Ok(checked) => self.held(&task.id, Held { attempt, checked, evidence }),
            Err(refusals) => self.refuse(&task.id, attempt, refusals),
        }
    }

    /// Keeps a note, and goes by it.
    fn note(&mut self, task: &str, note: Note) {
        self.board.take(task, note.clone());
        self.queue.push_back(Move::Keep(task.to_owned(), note));
    }

    fn skip(&mut self, task: &str, why: &str, words: String) {
        let skipped = Skipped { why: why.to_owned(), need: String::new(), words };
        self.note(task, Note::Skipped(skipped));
    }

    /// What a task gave does not travel on: it is asked once more, then left out.
    fn refuse(&mut self, task: &str, attempt: u32, refusals: Vec<message::Refusal>) {
        let words = lines(&refusals);
        self.note(task, Note::Refused { attempt, refusals });
        if attempt > RETRIES {
            let words = format!("what it gave was refused {attempt} times, at last:\n{words}");
            self.skip(task, "refused", words);
        }
    }

    /// Which time a task is worked on.
    fn attempt(&self, task: &str) -> u32 {
        match self.board.standing(task) {
            Some(Standing::Begun { attempt, .. }) => *attempt,
            _ => 1,
        }
    }

    fn begin(&mut self, task: &Task) {
        let inputs = match self.board.inputs(task) {
            Ok(inputs) => inputs,
            Err(skipped) => return self.note(&task.id, Note::Skipped(skipped)),
        };
        let Some(agent) = self.crew.agents.get(&task.agent).cloned() else {
            let words = format!("the agent `{}` is not declared any more", task.agent);
            return self.skip(&task.id, "failed", words);
        };
        let (attempt, is_new, refusals) = match self.board.standing(&task.id) {
            // It was refused: once more, with the reasons.
            Some(Standing::Begun { attempt, refusals, is_on: false }) => {
                (attempt.saturating_add(1), true, refusals.clone())
            }
            // It was begun by a daemon that ended.
            Some(Standing::Begun { attempt, refusals, is_on: true }) => {
                (*attempt, false, refusals.clone())
            }
            _ => (1, true, Vec::new()),
        };
        if is_new {
            self.note(&task.id, Note::Begun { agent: task.agent.clone(), attempt });
        }
        let job = self.job((task, agent), attempt, &inputs, &refusals);
        self.going.insert(task.id.clone());
        self.queue.push_back(Move::Work(Box::new(job)));
    }

    fn end(&mut self, task: &str, held: Held) {
        let Checked { text, result, messages, evidence: cited, .. } = held.checked;
        let mut evidence = held.evidence;
        for label in cited {
            if !evidence.contains(&label) {
                evidence.push(label);
            }
        }
        self.note(task, Note::Ended(Ended { text, result, messages, evidence }));
    }

    /// The evidence that a task may cite: what it found, and what the tasks before it rest on and state.
    fn own(&self, task: &str, found: &BTreeSet<String>) -> Grounds {
        let before = ancestors(self.board.plan(), task);
        let mut labels = found.clone();
        for ended in before.iter().filter_map(|task| self.board.ended(task)) {
            for label in &ended.evidence {
                let items = self.grounds.behind(label).unwrap_or_default();
                labels.extend(items.iter().map(|item| item.id.to_string()));
                labels.extend(self.grounds.chain(label).iter().map(|step| step.id.to_string()));
                labels.insert(label.clone());
            }
            let is_own = |item: &&Item| match &item.source {
                Source::Message { id, .. } => ended.messages.iter().any(|one| one.id == *id),
                _ => false,
            };
            labels.extend(self.grounds.items.iter().filter(is_own).map(|item| item.id.to_string()));
        }
        let has = |label: &str| labels.contains(label);
        let items = self.grounds.items.iter().filter(|item| has(item.id.as_str())).cloned();
        // A step that brought evidence says how sure that is, whoever cites it.
        let steps = self.grounds.steps.iter().filter(|step| {
            has(step.id.as_str())
                || step.operation.is_none() && step.evidence.iter().any(|one| has(one.as_str()))
        });
        Grounds { items: items.collect(), steps: steps.cloned().collect() }
    }

    /// The messages that rulings upheld among the tasks before one.
    fn upheld_before(&self, task: &str) -> Vec<&Message> {
        let before = ancestors(self.board.plan(), task);
        let messages: BTreeMap<&str, &Message> =
            self.board.messages().map(|message| (message.id.as_str(), message)).collect();
        let rulings = self.board.rulings().iter().filter(|ruling| !ruling.case.is_review);
        rulings
            .filter_map(|ruling| messages.get(ruling.upheld()?).copied())
            .filter(|message| before.contains(&message.task))
            .collect()
    }
}

/// The tasks that one depends on, directly or not.
fn ancestors(plan: &Plan, task: &str) -> BTreeSet<String> {
    let (mut found, mut todo) = (BTreeSet::new(), vec![task.to_owned()]);
    while let Some(id) = todo.pop() {
        for need in plan.task(&id).into_iter().flat_map(|task| &task.needs) {
            if found.insert(need.clone()) {
                todo.push(need.clone());
            }
        }
    }
    found
}
