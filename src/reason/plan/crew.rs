//! Who takes part in a plan, and what of all that there is they may see.

use std::sync::Arc;

use super::course::Crew;
use super::make::who;
use crate::model::Who;
use crate::reason::agent::Agent;
use crate::reason::drive::Drive;
use crate::reason::judge::Law;

impl Drive {
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
