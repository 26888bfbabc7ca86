//! Who may start a run of which agent: policies of their own, in the folder `reason`. A caller and a [`Crew`]
//! in, a [`Decision`] out. What the run then calls and recalls is decided call by call, as for anybody.

use std::collections::BTreeSet;
use std::path::Path;

use cedar_policy::{
    Authorizer, Context, Decision as Cedar, Entities, Entity, EntityTypeName, PolicySet, Request,
    RestrictedExpression, Schema,
};

use super::files::{Files, REASON, sentence};
use super::schema::{self, CALLERS, uid};
use super::{Decision, Error, Finding, Names, Ruling, Severity};
use crate::admission::Caller;

/// What the schema has beside the callers.
const RUNS: &str = "
  // Who answers: `default`, or one of `agents/*.toml`.
  entity Agent;

  // `tools` are the names that the agent declares, patterns included; [\"*\"] for all that the caller may use.
  // `models` are the endpoints to which the question, and what is found for it, can be sent.
  action \"run\" appliesTo {
    principal: Caller, resource: Agent,
    context: { tools: Set<__cedar::String>, models: Set<__cedar::String> }
  };
}
";

/// An agent as far as policies see it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Crew {
    /// Its name.
    pub agent: String,
    /// The tools that it declares, patterns included; `*` alone for all that its caller may use.
    pub tools: BTreeSet<String>,
    /// The endpoints of the models that it asks.
    pub models: BTreeSet<String>,
}

/// One set of the policies on runs.
pub struct Reasoners {
    authorizer: Authorizer,
    names: Names,
    agent: EntityTypeName,
    schema: Schema,
    policies: PolicySet,
    version: String,
    findings: Vec<Finding>,
}

impl std::fmt::Debug for Reasoners {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reasoners").field("version", &self.version).finish_non_exhaustive()
    }
}

impl Reasoners {
    /// Reads `reason/*.cedar` below `root`. One policy that cannot be used refuses the set; without any
    /// policy nobody may start a run, and a warning says so.
    pub fn load(root: &Path) -> Result<Self, Error> {
        let wrong = |error: &dyn std::error::Error| Error::Schema { reason: error.to_string() };
        let mut files = Files::read(root, REASON)?;
        let schema = schema()?;
        files.check(schema.clone(), &[])?;
        let policies = PolicySet::from_policies(std::mem::take(&mut files.policies))
            .map_err(|error| wrong(&error))?;
        Ok(Self {
            authorizer: Authorizer::new(),
            names: Names::new()?,
            agent: "Switchboard::Agent".parse().map_err(|error| wrong(&error))?,
            schema,
            policies,
            version: files.version(RUNS),
            findings: files.findings,
        })
    }

    /// What a reviewer should know of the policies; what refuses them too.
    pub fn review(root: &Path) -> Result<Vec<Finding>, Error> {
        let mut files = Files::read(root, REASON)?;
        // What refuses it is among the findings.
        drop(files.check(schema()?, &[]));
        Ok(files.findings)
    }

    /// SHA-256 in hex over the files.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The warnings, one line each.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        let warnings = self.findings.iter().filter(|found| found.severity == Severity::Warning);
        warnings.map(|found| format!("{}: {}", found.location(), found.sentence()))
    }

    /// Whether a caller may start a run of this agent, and by which policies.
    pub fn decide(&self, caller: &Caller, crew: &Crew) -> Decision {
        let asked = self.request(caller, crew).inspect_err(|error| {
            tracing::warn!(%error, "a run cannot be put before the policies");
        });
        let Ok((request, entities)) = asked else { return self.decision(Ruling::Deny, []) };
        let response = self.authorizer.is_authorized(&request, &self.policies, &entities);
        let failed = response.diagnostics().errors().next().is_some();
        let reasons = response.diagnostics().reason().map(ToString::to_string);
        // A policy that cannot be evaluated permits nothing.
        let denied = failed || response.decision() == Cedar::Deny;
        self.decision(if denied { Ruling::Deny } else { Ruling::Permit }, reasons)
    }

    fn decision(&self, ruling: Ruling, ids: impl IntoIterator<Item = String>) -> Decision {
        let ids: BTreeSet<String> = ids.into_iter().collect();
        let policies = ids.into_iter().collect();
        Decision { ruling, policies, version: self.version.clone(), approval: None }
    }

    fn request(
        &self,
        caller: &Caller,
        crew: &Crew,
    ) -> Result<(Request, Entities), Box<dyn std::error::Error>> {
        let (names, resource) = (&self.names, uid(&self.agent, &crew.agent));
        let pairs = [("tools", &crew.tools), ("models", &crew.models)];
        let pairs = pairs.map(|(name, all)| (name.to_owned(), set(all)));
        let request = Request::new(
            uid(&names.caller, &caller.name),
            uid(&names.action, "run"),
            resource.clone(),
            Context::from_pairs(pairs)?,
            Some(&self.schema),
        )?;
        let principals = schema::principals(caller, names);
        let principal = schema::principal(caller, &principals, names)?;
        let agent = Entity::new_no_attrs(resource, [].into());
        let entities = Entities::from_entities([principal, agent], Some(&self.schema))?;
        Ok((request, entities))
    }
}

fn set(all: &BTreeSet<String>) -> RestrictedExpression {
    RestrictedExpression::new_set(all.iter().cloned().map(RestrictedExpression::new_string))
}

fn schema() -> Result<Schema, Error> {
    let text = format!("{CALLERS}{RUNS}");
    let parsed = Schema::from_cedarschema_str(&text);
    parsed.map(|(schema, _)| schema).map_err(|error| Error::Schema { reason: sentence(&error) })
}
