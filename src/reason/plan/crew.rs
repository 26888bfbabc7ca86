//! Who takes part: what an agent's file gives it of what the run has, for a plan or for a worker that
//! is asked by itself.

use std::sync::Arc;

use super::course::Crew;
use super::make::who;
use crate::model::Who;
use crate::reason::agent::{Agent, Role};
use crate::reason::drive::Drive;
use crate::reason::errand::Errand;
use crate::reason::judge::Law;

impl Drive {
    /// The agent that the run was put to; `None` for the default one, and for one that is gone by now.
    pub(in crate::reason) fn agent(&self) -> Option<Arc<Agent>> {
        let name = self.log.story(|story| story.started.agent.clone());
        self.inner.agents.load().get(&name).cloned()
    }

    /// The orchestrator that the run was put to.
    pub(in crate::reason) fn lead(&self) -> Option<Arc<Agent>> {
        self.agent().filter(|agent| agent.role == Role::Orchestrator)
    }

    /// An errand of the run itself with no more than what its agent has.
    pub(in crate::reason) fn within(&self, errand: Errand) -> Errand {
        let Some(agent) = self.agent() else { return errand };
        let collections = self.shelves(&errand.collections);
        let own = collections.into_iter().filter(|(name, layer)| agent.may_recall(name, *layer));
        let collections: Vec<String> = own.map(|(name, _)| name).collect();
        let steps = agent.limits.steps.unwrap_or(errand.steps).min(errand.steps);
        Errand {
            role: agent.instructions.trim().to_owned(),
            tools: Some(errand.tools.unwrap_or_else(|| agent.tools.clone())),
            recalls: errand.recalls && !collections.is_empty(),
            collections,
            model: agent.model.clone(),
            budget: agent.budget.clone(),
            steps,
            ..errand
        }
    }

    /// The collections that there are, of those that are asked for, with their layers.
    fn shelves(&self, asked: &[String]) -> Vec<(String, crate::memory::Layer)> {
        let collections = self.inner.desk.collections();
        let all = collections.iter().map(|one| (one.name.clone(), one.layer));
        all.filter(|(name, _)| asked.is_empty() || asked.contains(name)).collect()
    }

    /// Who works, with what is in force now.
    pub(super) fn crew(&self, lead: &Arc<Agent>) -> Crew {
        let inner = &self.inner;
        let agents = inner.agents.load_full();
        let caller = &self.visitor.caller;
        let (tools, _) = inner.pipeline.snapshot().tools_for(caller);
        let asked = self.log.story(|story| story.started.collections.clone());
        let (rules, now) = (inner.rules.load(), self.proof().trace().as_of);
        let laws = rules.all().iter().filter(|one| one.holds_at(now)).map(|one| Law {
            id: one.rule.id.clone(),
            description: one.rule.description.trim().to_owned(),
        });
        let hears = agents.judge(lead).is_some_and(|judge| match who(judge.model()) {
            Who::Role(role) => inner.models.serves(role),
            Who::Endpoint(name) => inner.models.endpoint(name).is_some(),
        });
        Crew {
            lead: Arc::clone(lead),
            tools: tools.iter().map(|tool| tool.name.clone()).collect(),
            shelves: self.shelves(&asked),
            laws: laws.collect(),
            constants: inner.config.confidence,
            zone: self.proof().builder().zone().clone(),
            hears,
            agents,
        }
    }
}
