//! One call in, why it is decided as it is: the deciding policies, and for those that are nearest to
//! another decision each part of their conditions with what it came to.

use std::str::FromStr;

use cedar_policy::{Decision, Expression, PolicySet, Request, eval_expression};
use serde::Serialize;

use super::parts::{Conjunct, conjuncts};
use super::{Asked, Judged, Outcome, Review, Rule, RuleFacts};
use crate::policy::slice::{Reads, Situation};
use crate::policy::{Error, Policies, Question};

/// Policies that are told of beside the deciding ones, at most.
const NEAREST: usize = 5;

/// Why one call is decided as it is.
#[derive(Debug, Clone)]
pub struct Explanation {
    /// The decision.
    pub judged: Judged,
    /// Digest of the policy set that decided.
    pub version: String,
    /// The policies that decided, with their parts.
    pub deciding: Vec<Told>,
    /// What would have to change: the policies that would have permitted the call, nearest first. Empty
    /// for a call that is permitted.
    pub nearest: Vec<Told>,
}

/// One policy, held against one call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Told {
    /// The policy.
    pub policy: RuleFacts,
    /// Every part of its scope and conditions that could fail.
    pub parts: Vec<Part>,
    /// How many of them are not met.
    pub unmet: usize,
}

/// One part of a policy, held against one call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Part {
    /// The part in Cedar.
    pub text: String,
    /// Whether the call meets it; `None` when it was not reached, because one before it failed.
    pub met: Option<bool>,
    /// What the call has there, or why the part cannot be evaluated; empty when that says nothing.
    pub found: String,
}

impl Review {
    /// Explains the decision that [`Review::judge`] gives.
    pub fn explain(&self, asked: &Asked) -> Result<Explanation, Error> {
        let policies = self.policies()?;
        let judged = self.judge(asked)?;
        let mut explanation = Explanation {
            version: policies.version().to_owned(),
            judged,
            deciding: Vec::new(),
            nearest: Vec::new(),
        };
        let judged = &explanation.judged;
        let (Some(tool), Some(input)) = (judged.tool.clone(), judged.arguments.clone()) else {
            return Ok(explanation);
        };
        let question = Question {
            caller: &asked.caller,
            tool: &tool,
            input: &input,
            conversation: &asked.conversation,
            session: &asked.session,
            files: asked.files.iter().collect(),
        };
        let scene = Scene::new(policies, &question)?;
        let ids = judged.policies.clone();
        let told = |id: &String| self.rule(id).map(|rule| scene.tell(rule));
        explanation.deciding = ids.iter().filter_map(told).collect();
        if judged.outcome != Outcome::Permit {
            let rules = self.concerning(&tool, &policies.names);
            let permits = rules.into_iter().filter(|rule| rule.permits());
            let mut nearest: Vec<Told> = permits.map(|rule| scene.tell(rule)).collect();
            nearest.sort_by_key(|told| told.unmet);
            nearest.truncate(NEAREST);
            explanation.nearest = nearest;
        }
        Ok(explanation)
    }
}

/// One call before Cedar, with all of its context.
struct Scene<'s> {
    policies: &'s Policies,
    question: &'s Question<'s>,
    situation: Situation,
    request: Request,
}

impl<'s> Scene<'s> {
    fn new(policies: &'s Policies, question: &'s Question<'s>) -> Result<Self, Error> {
        let prepared = policies.prepared(question.tool)?;
        let known = policies.situation(question.caller, &question.tool.name, prepared)?;
        let situation = Situation {
            entities: known.entities.clone(),
            policies: known.policies.clone(),
            reads: Reads::ALL,
        };
        // The first decision is taken without a person; so is what is told of it.
        let request = policies.request(question, false, prepared, &situation)?;
        Ok(Self { policies, question, situation, request })
    }

    fn tell(&self, rule: &Rule) -> Told {
        let mut parts: Vec<Part> = self.scope(rule).into_iter().collect();
        let mut failed = None;
        for part in conjuncts(rule) {
            if failed == Some(part.clause) {
                parts.push(Part { text: part.text(), met: None, found: String::new() });
                continue;
            }
            let told = self.part(&part);
            if told.met != Some(true) {
                failed = Some(part.clause);
            }
            parts.push(told);
        }
        let unmet = parts.iter().filter(|part| part.met != Some(true)).count();
        Told { policy: rule.facts.clone(), parts, unmet }
    }

    /// The principal of the scope, where it names one; tools were chosen by the rest.
    fn scope(&self, rule: &Rule) -> Option<Part> {
        let text = rule.principal()?;
        let met = rule.binds(self.question.caller, &self.policies.names);
        let caller = self.question.caller;
        let found = format!(
            "{} of tenant {} with the roles {}",
            caller.name,
            caller.tenant,
            caller.roles.join(", ")
        );
        (text != "principal").then_some(Part { text, met: Some(met), found })
    }

    fn part(&self, part: &Conjunct) -> Part {
        let text = part.text();
        let outcome = part.policy().and_then(|policy| PolicySet::from_policies([policy]).ok());
        let Some(set) = outcome else {
            return Part { text, met: Some(false), found: "cannot be taken apart".to_owned() };
        };
        let response =
            self.policies.authorizer.is_authorized(&self.request, &set, &self.situation.entities);
        if let Some(error) = response.diagnostics().errors().next() {
            return Part { text, met: Some(false), found: error.to_string() };
        }
        let met = response.decision() == Decision::Allow;
        Part { text, met: Some(met), found: self.value(part).unwrap_or_default() }
    }

    /// What the call has at the place that the part looks at.
    fn value(&self, part: &Conjunct) -> Option<String> {
        let expression = Expression::from_str(&part.operand()?.to_string()).ok()?;
        let value = eval_expression(&self.request, &self.situation.entities, &expression).ok()?;
        Some(value.to_string())
    }
}
