//! A review in, one page of facts for an audit out: each tool with who may call it, under which
//! envelope, and by which policies. Who is symbolic: whoever the policies name, and everybody else.

use std::collections::HashMap;

use serde::Serialize;

use super::parts::{Named, conjuncts};
use super::{Review, Rule, RuleFacts};
use crate::admission::Caller;
use crate::catalog::{Envelope, Risk, Tool};
use crate::policy::{Error, Finding, Policies};

/// Stands for every caller whom no policy names.
const ANYBODY: &str = "(not named by any policy)";

/// The facts of one policies folder.
#[derive(Debug, Clone, Serialize)]
pub struct Audit {
    /// Digest of the policy set and the schema made from the catalog.
    pub policy_version: String,
    /// Digest of all tools and profiles.
    pub catalog_digest: String,
    /// Every tool, by name.
    pub tools: Vec<Row>,
    /// Every policy, in the order of the files.
    pub policies: Vec<RuleFacts>,
    /// Who may approve calls, and when.
    pub approvers: Vec<Permission>,
    /// What a reviewer should know.
    pub findings: Vec<Finding>,
}

/// The facts of one tool.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// Its name.
    pub tool: String,
    /// Where it comes from.
    pub source: String,
    /// What harm a call can do.
    pub risk: Risk,
    /// Digest of its definition.
    pub digest: String,
    /// Who may call it.
    pub callers: Vec<Reach>,
    /// Policies that can permit a call of it.
    pub permits: Vec<Permission>,
    /// Policies that can forbid one.
    pub forbids: Vec<Permission>,
    /// What it runs in.
    pub envelope: Envelope,
}

/// Who could call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audience {
    /// In words.
    pub label: String,
    /// A caller who stands for all of them.
    pub caller: Caller,
}

/// What a group of callers may do with a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reach {
    /// Whom it is about.
    pub who: String,
    /// `always`, `depends` (on the call), `approval`, `approval depends`, or `never`.
    pub may: &'static str,
}

/// A policy that can decide calls of a tool, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Permission {
    /// The policy.
    pub policy: RuleFacts,
    /// Whom its scope names; `principal` for everybody.
    pub principal: String,
    /// What must hold beside its scope, in Cedar; empty for nothing.
    pub conditions: Vec<String>,
}

impl Review {
    /// Gathers the facts. `images` tells the id of an image by its name.
    pub fn audit(&self, images: &dyn Fn(&str) -> Option<String>) -> Result<Audit, Error> {
        let policies = self.policies()?;
        let audiences = self.audiences();
        let mut sets = HashMap::new();
        let mut tools = Vec::with_capacity(self.catalog.tools().len());
        for tool in self.catalog.tools() {
            let prepared = policies.prepared(tool)?;
            let mut callers = Vec::new();
            let now = self.anybody(policies, prepared, Some(false), &mut sets)?;
            let then = self.anybody(policies, prepared, Some(true), &mut sets)?;
            match may(now, then) {
                settled @ ("always" | "approval" | "never") => {
                    callers.push(Reach { who: "every caller".to_owned(), may: settled });
                }
                _ => {
                    for audience in &audiences {
                        callers.push(reach(policies, audience, tool)?);
                    }
                }
            }
            let rules = self.concerning(tool, &policies.names);
            let (permits, forbids): (Vec<&Rule>, Vec<&Rule>) =
                rules.into_iter().partition(|rule| rule.permits());
            tools.push(Row {
                tool: tool.name.clone(),
                source: tool.source.clone(),
                risk: tool.risk,
                digest: tool.digest.clone(),
                callers,
                permits: permits.into_iter().map(Permission::of).collect(),
                forbids: forbids.into_iter().map(Permission::of).collect(),
                envelope: envelope(tool, images),
            });
        }
        Ok(Audit {
            policy_version: policies.version().to_owned(),
            catalog_digest: self.catalog.digest().to_owned(),
            tools,
            policies: self.rules().cloned().collect(),
            approvers: self.approvers.iter().map(Permission::to_approve).collect(),
            findings: self.lint(),
        })
    }

    /// Whoever the policies name, and one who stands for everybody else.
    pub fn audiences(&self) -> Vec<Audience> {
        audiences(&Named::of_rules(self.rules.iter()))
    }
}

/// One audience for each name, and one for all others.
pub(super) fn audiences(named: &Named) -> Vec<Audience> {
    let caller = |name: &str, tenant: &str, roles: &[&String]| Caller {
        name: name.to_owned(),
        tenant: tenant.to_owned(),
        roles: roles.iter().map(|role| (*role).clone()).collect(),
    };
    let mut all = vec![Audience {
        label: "any other caller".to_owned(),
        caller: caller(ANYBODY, ANYBODY, &[]),
    }];
    all.extend(named.roles.iter().map(|role| Audience {
        label: format!("role {role}"),
        caller: caller(ANYBODY, ANYBODY, &[role]),
    }));
    all.extend(named.tenants.iter().map(|tenant| Audience {
        label: format!("tenant {tenant}"),
        caller: caller(ANYBODY, tenant, &[]),
    }));
    all.extend(named.callers.iter().map(|name| Audience {
        label: format!("caller {name}"),
        caller: caller(name, ANYBODY, &[]),
    }));
    all
}

fn reach(policies: &Policies, audience: &Audience, tool: &Tool) -> Result<Reach, Error> {
    let now = policies.foresee(&audience.caller, tool, Some(false))?;
    let then = policies.foresee(&audience.caller, tool, Some(true))?;
    Ok(Reach { who: audience.label.clone(), may: may(now, then) })
}

/// In words: without a person, and with one.
const fn may(now: Option<bool>, then: Option<bool>) -> &'static str {
    match (now, then) {
        (Some(true), _) => "always",
        (None, Some(true)) => "depends, else approval",
        (None, _) => "depends",
        (Some(false), Some(true)) => "approval",
        (Some(false), None) => "approval depends",
        (Some(false), Some(false)) => "never",
    }
}

impl Permission {
    fn of(rule: &Rule) -> Self {
        Self {
            policy: rule.facts.clone(),
            principal: rule.principal().unwrap_or_default(),
            conditions: conjuncts(rule).iter().map(super::parts::Conjunct::text).collect(),
        }
    }

    /// As [`Permission::of`], with the action among what must hold.
    fn to_approve(rule: &Rule) -> Self {
        let mut permission = Self::of(rule);
        let action = rule.body.as_ref().map(|body| body.action.to_string());
        permission.conditions.splice(0..0, action);
        permission
    }
}

fn envelope(tool: &Tool, images: &dyn Fn(&str) -> Option<String>) -> Envelope {
    let image_digest = images(&tool.profile.image).unwrap_or_default();
    Envelope { image_digest, ..Envelope::of(&tool.profile) }
}
