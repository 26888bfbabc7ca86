//! A review in, its findings out: what the load refuses, and what is in force but hardly as it was
//! meant. Whatever is claimed here holds for every call; doubts are said to be doubts.

use std::collections::HashMap;

use cedar_policy::{
    ActionConstraint, Authorizer, Context, Decision, Entities, PolicySet, PrincipalConstraint,
    Request, ResourceConstraint, RestrictedExpression,
};

use super::overlap::{Covers, covers};
use super::parts::conjuncts;
use super::{Review, Rule};
use crate::catalog::Tool;
use crate::policy::schema::{Prepared, actions};
use crate::policy::slice::is_guard;
use crate::policy::{Error, Finding, Names, Policies, Severity};

/// Pairs of policies that are compared; larger sets are compared as far as this goes.
const MAX_PAIRS: usize = 250_000;

impl Review {
    /// Everything that a reviewer should know, errors first, each file in order.
    pub fn lint(&self) -> Vec<Finding> {
        let mut found = self.findings.clone();
        found.extend(self.catalog.problems().iter().map(Finding::of_problem));
        if let Ok(names) = Names::new() {
            let silent = found.iter().filter(|found| found.rule == "never-applies");
            let silent: Vec<String> = silent.map(|found| found.policy.clone()).collect();
            let live = |rule: &&Rule| !silent.contains(&rule.facts.id);
            let live: Vec<&Rule> = self.rules.iter().filter(live).collect();
            for rule in &live {
                self.alone(rule, &names, &mut found);
            }
            self.pairs(&live, &names, &mut found);
        }
        if let Ok(policies) = &self.policies {
            self.tools(policies, &mut found);
        }
        found.sort();
        found.dedup();
        found
    }

    /// What one policy shows without the others.
    fn alone(&self, rule: &Rule, names: &Names, found: &mut Vec<Finding>) {
        let tools = self.catalog.tools();
        let mut say = |severity, check, message: String| {
            let place = Some(rule.facts.line);
            let finding = Finding::new(severity, check, message).at(&rule.facts.file, place);
            found.push(finding.of(&rule.facts.id));
        };
        let id = &rule.facts.id;
        let idle = !tools.is_empty() && !tools.iter().any(|tool| rule.concerns(tool, names));
        if idle && !is_guard(&rule.scope.action, tools) {
            let message = format!("no tool is in the scope of `{id}`");
            say(Severity::Warning, "matches-no-tool", message);
        }
        let open =
            matches!(rule.scope.principal, PrincipalConstraint::Any | PrincipalConstraint::Is(_))
                && matches!(rule.scope.action, ActionConstraint::Any)
                && matches!(
                    rule.scope.resource,
                    ResourceConstraint::Any | ResourceConstraint::Is(_)
                );
        if open && rule.body.is_some() && conjuncts(rule).is_empty() {
            if rule.permits() {
                let message = format!("`{id}` permits every call of every tool to every caller");
                say(Severity::Error, "permits-everything", message);
            } else {
                let message = format!("`{id}` forbids every call");
                say(Severity::Warning, "forbids-everything", message);
            }
        }
    }

    /// What two policies show together.
    fn pairs(&self, rules: &[&Rule], names: &Names, found: &mut Vec<Finding>) {
        let tools = || self.catalog.tools().iter().map(|tool| &**tool);
        let mut left = MAX_PAIRS;
        for (index, rule) in rules.iter().enumerate() {
            for (other, wide) in rules.iter().enumerate() {
                let same = rule.permits() == wide.permits();
                // Of two that cover each other the earlier one stays.
                let overruled = rule.permits() && !wide.permits();
                if index == other || !(same || overruled) {
                    continue;
                }
                let Some(rest) = left.checked_sub(1) else { return };
                left = rest;
                let covered = covers(wide, rule, tools(), names);
                let mutual = same
                    && other > index
                    && covered == Covers::Always
                    && covers(rule, wide, tools(), names) == Covers::Always;
                if !mutual {
                    found.extend(overlap(rule, wide, covered));
                }
            }
        }
    }

    /// Tools that nobody can call.
    fn tools(&self, policies: &Policies, found: &mut Vec<Finding>) {
        let mut sets = HashMap::new();
        for tool in self.catalog.tools() {
            let Ok(prepared) = policies.prepared(tool) else { continue };
            let rules: Vec<usize> = prepared.policies.clone();
            let permitting = rules.iter().filter_map(|at| self.rules.get(*at)).any(Rule::permits);
            let (check, message) = if !permitting {
                let message = format!("no policy could permit `{}`", tool.name);
                ("tool-without-rule", message)
            } else if self.never(policies, prepared, &mut sets).unwrap_or(false) {
                let message = format!(
                    "policies name `{}`, and together they deny every call of it",
                    tool.name
                );
                ("tool-never-permitted", message)
            } else {
                continue;
            };
            let mut finding = Finding::new(Severity::Warning, check, message);
            finding.place.clone_from(&tool.name);
            found.push(finding.at(self.catalog.file_of(&tool.name), None));
        }
    }

    /// Whether every call of the tool is denied, whoever calls.
    fn never(
        &self,
        policies: &Policies,
        prepared: &Prepared,
        sets: &mut HashMap<Vec<usize>, PolicySet>,
    ) -> Result<bool, Error> {
        Ok(self.anybody(policies, prepared, None, sets)? == Some(false))
    }

    /// What policy says to every call of a tool by every caller; `None` when it depends.
    pub(super) fn anybody(
        &self,
        policies: &Policies,
        prepared: &Prepared,
        attended: Option<bool>,
        sets: &mut HashMap<Vec<usize>, PolicySet>,
    ) -> Result<Option<bool>, Error> {
        let wrong = |error: &dyn std::error::Error| Error::Schema { reason: error.to_string() };
        if !sets.contains_key(&prepared.policies) {
            let chosen = prepared.policies.iter().filter_map(|at| self.rules.get(*at));
            let set = PolicySet::from_policies(chosen.map(|rule| rule.policy.clone()));
            sets.insert(prepared.policies.clone(), set.map_err(|error| wrong(&error))?);
        }
        let Some(set) = sets.get(&prepared.policies) else { return Ok(None) };
        let unknown = RestrictedExpression::new_unknown;
        let mut parts: Vec<_> =
            ["input", "files", "session"].map(|name| (name.to_owned(), unknown(name))).into();
        parts.push((
            "attended".to_owned(),
            attended.map_or_else(|| unknown("attended"), RestrictedExpression::new_bool),
        ));
        parts.push(("sandbox".to_owned(), prepared.sandbox.clone()));
        let context = Context::from_pairs(parts).map_err(|error| wrong(&error))?;
        let request = Request::builder()
            .unknown_principal_with_type(policies.names.caller.clone())
            .action(prepared.action.clone())
            .resource(prepared.resource.clone())
            .context(context)
            .build();
        let entities = Entities::from_entities([prepared.entity.clone()], None)
            .map_err(|error| wrong(&error))?;
        let response = Authorizer::new().is_authorized_partial(&request, set, &entities);
        Ok(match response.decision() {
            _ if response.definitely_errored().next().is_some() => Some(false),
            Some(Decision::Deny) => Some(false),
            Some(Decision::Allow) => Some(true),
            None => None,
        })
    }

    /// Ids of the policies whose scope the tool is in.
    pub(super) fn concerning(&self, tool: &Tool, names: &Names) -> Vec<&Rule> {
        let own = actions(tool, names);
        let resource = crate::policy::schema::uid(&names.source, &tool.source);
        self.rules.iter().filter(|rule| rule.scope.matches_tool(&own, &resource)).collect()
    }
}

fn overlap(rule: &Rule, wide: &Rule, covered: Covers) -> Option<Finding> {
    let (own, other) = (&rule.facts.id, &wide.facts);
    let there = format!("`{}` ({}:{})", other.id, other.file, other.line);
    let (severity, check, message) = match (covered, wide.permits() == rule.permits()) {
        (Covers::No, _) | (Covers::Perhaps, false) => return None,
        (Covers::Always, true) => {
            let message = format!("`{own}` changes nothing: {there} applies whenever it does");
            (Severity::Warning, "shadowed", message)
        }
        (Covers::Always, false) => {
            let message =
                format!("`{own}` never has an effect: {there} forbids whatever it permits");
            (Severity::Warning, "overruled", message)
        }
        (Covers::Perhaps, true) => {
            let message = format!(
                "`{own}` may change nothing: {there} has the wider scope, unsure whether also the wider conditions"
            );
            (Severity::Info, "maybe-shadowed", message)
        }
    };
    let finding =
        Finding::new(severity, check, message).at(&rule.facts.file, Some(rule.facts.line));
    Some(finding.of(own))
}
