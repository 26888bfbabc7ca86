//! One piece of work of a run, as the loop takes it: the whole question with all that its agent may
//! use, or a task of a plan with the few things of its worker. What comes of it is an [`Outcome`].

use serde_json::Value;

use super::agent::Budget;
use super::event::{Failure, Partial, Spent};
use super::plan::who;
use super::rules;
use super::state::Thread;
use crate::evidence;
use crate::model::{Currency, Endpoint, Models, Money, Who};

/// What is to be found out, and with what.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Errand {
    /// The task of a plan; empty for the run itself. Its events bear it.
    pub(super) task: String,
    /// What is asked.
    pub(super) question: String,
    /// The same as the memory is asked it; empty for as it is.
    pub(super) asks: String,
    /// What is known before, each one text: results of other tasks, earlier questions.
    pub(super) given: Vec<String>,
    /// What the model is told of its part; empty for nothing.
    pub(super) role: String,
    /// The only tools that it may see: names, with `*` for any run of characters; `None` for all that
    /// the caller may use.
    pub(super) tools: Option<Vec<String>>,
    /// Collections to look into; empty for all.
    pub(super) collections: Vec<String>,
    /// Whether it may look into the memory at all.
    pub(super) recalls: bool,
    /// Whether its answer may be without evidence, as that to small talk is.
    pub(super) free: bool,
    /// The shape of its final answer, where that is no answer in words: then whoever set the errand checks
    /// it, and its JSON is the text of the answer.
    pub(super) shape: Option<Value>,
    /// A role of the models or the name of an endpoint; `None` for the role `reasoner`.
    pub(super) model: Option<String>,
    /// Questions to the model, at most.
    pub(super) steps: u32,
    /// What it may spend itself, within what its run may.
    pub(super) budget: Budget,
    /// What earlier attempts at it took of that.
    pub(super) before: Vec<Spent>,
}

/// What came of an errand.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Outcome {
    /// An answer that holds, with the labels that it rests on.
    Answered(evidence::Answer),
    /// It was at a limit.
    Partial(Partial),
    /// There is none.
    Failed(Failure),
}

impl Errand {
    /// Whether it is a task of a plan.
    pub(super) fn is_task(&self) -> bool {
        !self.task.is_empty() && self.task != rules::TASK
    }

    /// Which part of its own budget the attempts before and the turns so far have used up.
    pub(super) fn used_up(&self, thread: &Thread) -> Option<&'static str> {
        let Budget { tokens, money } = &self.budget;
        let spent = || {
            let own = thread.turns.iter().map(|turn| &turn.thought.spent);
            self.before.iter().chain(own)
        };
        let all = spent().map(|one| one.input.saturating_add(one.output));
        if tokens.is_some_and(|tokens| all.fold(0, u64::saturating_add) >= tokens) {
            return Some("tokens");
        }
        let read = |text: &str| Money::parse(text, Currency::default()).unwrap_or_default();
        let all = spent().fold(Money::default(), |sum, one| sum.plus(read(&one.money)));
        money.as_deref().is_some_and(|money| all >= read(money)).then_some("money")
    }

    /// Whom it asks.
    pub(super) fn who(&self) -> Who<'_> {
        who(self.model.as_deref().unwrap_or("reasoner"))
    }

    /// The endpoint that is asked first.
    pub(super) fn endpoint<'m>(&self, models: &'m Models) -> Option<&'m Endpoint> {
        match self.who() {
            Who::Role(role) => models.lead(role),
            Who::Endpoint(name) => models.endpoint(name),
        }
    }
}
