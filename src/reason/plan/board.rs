//! How far a plan is: a fold over the [`Note`]s of a run, so that one that was killed goes on where it
//! was. Says which tasks can begin and which never can; begins none.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Plan, Task};
use crate::reason::judge::Ruling;
use crate::reason::message::{Message, Refusal};
use crate::reason::refusal::brief;

/// Times that a task is asked again after what it gave was refused.
pub(crate) const RETRIES: u32 = 1;

/// What happened to a task, as the run's record has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "note", rename_all = "snake_case")]
pub(crate) enum Note {
    /// An agent works on it.
    Begun {
        /// The agent.
        agent: String,
        /// Which time, from 1.
        attempt: u32,
    },
    /// What it gave did not pass the check.
    Refused {
        /// Which time, from 1.
        attempt: u32,
        /// Why; the agent is told these.
        refusals: Vec<Refusal>,
    },
    /// It ended, and what it gave travels on.
    Ended(Ended),
    /// It will not be worked on any more.
    Skipped(Skipped),
}

/// What a task gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ended {
    /// Its answer in words.
    pub(crate) text: String,
    /// Its result, which the inputs of other tasks are taken from.
    pub(crate) result: Value,
    /// What it states, checked.
    pub(crate) messages: Vec<Message>,
    /// Labels of the evidence and steps that it rests on.
    pub(crate) evidence: Vec<String>,
}

/// Why a task is not worked on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Skipped {
    /// `failed`, `refused`, `need` for a task that it needs, `input` for a value that is not there,
    /// `limit`.
    pub(crate) why: String,
    /// The task that it needs and that did not end; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) need: String,
    /// The reason in one line.
    pub(crate) words: String,
}

/// Where a task stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Standing {
    /// Nobody works on it yet.
    Waiting,
    /// An agent works on it.
    Begun {
        /// Which time, from 1.
        attempt: u32,
        /// Why what it gave was refused, this time or the one before.
        refusals: Vec<Refusal>,
        /// Whether an agent is at it; false once what it gave was refused.
        is_on: bool,
    },
    /// It ended.
    Ended(Ended),
    /// It is not worked on.
    Skipped(Skipped),
}

/// The tasks of a plan, and what came of each.
#[derive(Debug, Clone)]
pub(crate) struct Board {
    plan: Plan,
    standings: BTreeMap<String, Standing>,
    rulings: Vec<Ruling>,
}

impl Board {
    /// A plan that passed its check, of which nothing has happened yet.
    pub(crate) fn new(plan: Plan) -> Self {
        let standings =
            plan.tasks.iter().map(|task| (task.id.clone(), Standing::Waiting)).collect();
        Self { plan, standings, rulings: Vec::new() }
    }

    /// The plan.
    pub(crate) const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Takes what happened to a task; what happens after its end changes nothing.
    pub(crate) fn take(&mut self, task: &str, note: Note) {
        let Some(standing) = self.standings.get_mut(task) else { return };
        if matches!(standing, Standing::Ended(_) | Standing::Skipped(_)) {
            return;
        }
        *standing = match (note, &*standing) {
            (Note::Begun { attempt, .. }, Standing::Begun { refusals, .. }) => {
                Standing::Begun { attempt, refusals: refusals.clone(), is_on: true }
            }
            (Note::Begun { attempt, .. }, _) => {
                Standing::Begun { attempt, refusals: Vec::new(), is_on: true }
            }
            (Note::Refused { attempt, refusals }, _) => {
                Standing::Begun { attempt, refusals, is_on: false }
            }
            (Note::Ended(ended), _) => Standing::Ended(ended),
            (Note::Skipped(skipped), _) => Standing::Skipped(skipped),
        };
    }

    /// Takes a ruling.
    pub(crate) fn rule(&mut self, ruling: Ruling) {
        self.rulings.push(ruling);
    }

    /// What was ruled.
    pub(crate) fn rulings(&self) -> &[Ruling] {
        &self.rulings
    }

    /// The rulings that whoever reads the answer is told of: those that left something open, and those
    /// that came after the answer and do not uphold what it states.
    pub(crate) fn disputed(&self) -> impl Iterator<Item = &Ruling> {
        let stated = self.answer().map(|ended| ended.messages.as_slice()).unwrap_or_default();
        let is_against = move |ruling: &Ruling| {
            ruling.overruled().any(|lost| stated.iter().any(|message| message.id == lost))
        };
        let rulings = self.rulings.iter().filter(|ruling| !ruling.case.is_review);
        rulings.filter(move |ruling| ruling.upheld().is_none() || is_against(ruling))
    }

    /// The messages of a task that rulings did not uphold, by their ids.
    pub(crate) fn overruled<'b>(&'b self, ended: &'b Ended) -> Vec<&'b str> {
        let rulings = self.rulings.iter().filter(|ruling| !ruling.case.is_review);
        let lost: Vec<&str> = rulings.flat_map(Ruling::overruled).collect();
        let own = ended.messages.iter().map(|message| message.id.as_str());
        own.filter(|id| lost.contains(id)).collect()
    }

    /// Where a task stands.
    pub(crate) fn standing(&self, task: &str) -> Option<&Standing> {
        self.standings.get(task)
    }

    /// What a task gave, once it ended.
    pub(crate) fn ended(&self, task: &str) -> Option<&Ended> {
        match self.standings.get(task)? {
            Standing::Ended(ended) => Some(ended),
            Standing::Waiting | Standing::Begun { .. } | Standing::Skipped(_) => None,
        }
    }

    /// The tasks that nobody has ended or skipped and whose needs have all ended, in the plan's order:
    /// what begins next, or was begun before the daemon ended.
    pub(crate) fn open(&self) -> impl Iterator<Item = &Task> {
        self.plan.tasks.iter().filter(|task| {
            let is_open = matches!(
                self.standings.get(&task.id),
                Some(Standing::Waiting | Standing::Begun { .. })
            );
            is_open && task.needs.iter().all(|need| self.ended(need).is_some())
        })
    }

    /// The tasks that can never begin, since one that they need was skipped; with that one's reason.
    pub(crate) fn lost(&self) -> Vec<(String, Skipped)> {
        let lost = self.plan.tasks.iter().filter_map(|task| {
            if !matches!(self.standings.get(&task.id), Some(Standing::Waiting)) {
                return None;
            }
            let (need, why) =
                task.needs.iter().find_map(|need| match self.standings.get(need)? {
                    Standing::Skipped(skipped) => Some((need, &skipped.words)),
                    Standing::Waiting | Standing::Begun { .. } | Standing::Ended(_) => None,
                })?;
            let words = format!("needs `{need}`, which did not end: {why}");
            let skipped = Skipped { why: "need".to_owned(), need: need.clone(), words };
            Some((task.id.clone(), skipped))
        });
        lost.collect()
    }

    /// Whether nothing is left to do.
    pub(crate) fn is_over(&self) -> bool {
        self.standings
            .values()
            .all(|standing| matches!(standing, Standing::Ended(_) | Standing::Skipped(_)))
    }

    /// What the task of the answer gave.
    pub(crate) fn answer(&self) -> Option<&Ended> {
        self.ended(&self.plan.answer)
    }

    /// The inputs of a task, out of what the others gave.
    pub(crate) fn inputs(&self, task: &Task) -> Result<BTreeMap<String, Value>, Skipped> {
        let mut found = BTreeMap::new();
        for (name, input) in &task.inputs {
            let value = self.ended(&input.from).and_then(|from| from.result.pointer(&input.place));
            let value = value.ok_or_else(|| Skipped {
                why: "input".to_owned(),
                need: input.from.clone(),
                words: format!(
                    "the input `{name}` is not there: the result of `{}` has no place `{}`",
                    input.from,
                    brief(&input.place)
                ),
            })?;
            found.insert(name.clone(), value.clone());
        }
        Ok(found)
    }

    /// All messages of tasks that ended, in the plan's order.
    pub(crate) fn messages(&self) -> impl Iterator<Item = &Message> {
        self.plan
            .tasks
            .iter()
            .filter_map(|task| self.ended(&task.id))
            .flat_map(|ended| &ended.messages)
    }

    /// How each task stands, in one line each: what a caller is told where the plan had no answer.
    pub(crate) fn told(&self) -> Vec<String> {
        let tell = |task: &Task| match self.standings.get(&task.id)? {
            Standing::Ended(_) => None,
            Standing::Skipped(skipped) => Some(format!("task `{}`: {}", task.id, skipped.words)),
            Standing::Waiting | Standing::Begun { .. } => {
                Some(format!("task `{}` did not end", task.id))
            }
        };
        self.plan.tasks.iter().filter_map(tell).collect()
    }
}
