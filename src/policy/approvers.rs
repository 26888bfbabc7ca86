//! Who may approve a call of another, or one's own: policies of their own, in the folder `approvers`,
//! so that no policy that permits calls can make an approver by being too wide.

use std::path::Path;
use std::sync::Arc;

use cedar_policy::{
    Authorizer, Context, Decision as Cedar, Entities, PolicySet, Request, RestrictedExpression,
    Schema,
};

use super::files::{APPROVERS, Files, sentence};
use super::schema::{self, uid};
use super::{Error, Names};
use crate::admission::Caller;
use crate::approval::Wanted;
use crate::catalog::Tool;

/// One set of the policies that say who may approve, checked against one catalog.
pub struct Approvers {
    authorizer: Authorizer,
    names: Names,
    schema: Schema,
    policies: PolicySet,
    version: String,
}

impl std::fmt::Debug for Approvers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Approvers").field("version", &self.version).finish_non_exhaustive()
    }
}

impl Approvers {
    /// Reads `approvers/*.cedar` below `root`. What refuses a policy that permits calls refuses these
    /// too; without any, nobody can approve.
    pub fn load(root: &Path, tools: &[Arc<Tool>]) -> Result<Self, Error> {
        Self::build(&mut Files::read(root, APPROVERS)?, tools)
    }

    /// The set of files that were read; takes the policies out of them.
    pub(super) fn build(files: &mut Files, tools: &[Arc<Tool>]) -> Result<Self, Error> {
        let text = schema::print_approvers(tools);
        let invalid = |error: &dyn miette::Diagnostic| Error::Schema { reason: sentence(error) };
        let (schema, _) = Schema::from_cedarschema_str(&text).map_err(|error| invalid(&error))?;
        files.check(schema.clone(), tools)?;
        let policies = PolicySet::from_policies(std::mem::take(&mut files.policies))
            .map_err(|error| Error::Schema { reason: error.to_string() })?;
        Ok(Self {
            authorizer: Authorizer::new(),
            names: Names::new()?,
            schema,
            policies,
            version: files.version(&text),
        })
    }

    /// SHA-256 in hex over the files and their schema.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The ids of the policies by which `approver` may approve, or deny, what is wanted; `None` when
    /// that is not permitted. A policy that cannot be evaluated permits nothing.
    pub fn permit(&self, approver: &Caller, wanted: &Wanted, approve: bool) -> Option<Vec<String>> {
        let (request, entities) = self
            .request(approver, wanted, approve)
            .inspect_err(|error| tracing::warn!(%error, "an approver cannot be judged"))
            .ok()?;
        let response = self.authorizer.is_authorized(&request, &self.policies, &entities);
        let failed = response.diagnostics().errors().next().is_some();
        if failed || response.decision() == Cedar::Deny {
            return None;
        }
        let mut ids: Vec<String> =
            response.diagnostics().reason().map(ToString::to_string).collect();
        ids.sort_unstable();
        Some(ids)
    }

    fn request(
        &self,
        approver: &Caller,
        wanted: &Wanted,
        approve: bool,
    ) -> Result<(Request, Entities), Box<dyn std::error::Error>> {
        let names = &self.names;
        let own = wanted.is_of(approver);
        let request = Request::new(
            uid(&names.caller, &approver.name),
            uid(&names.action, if own { "decide-own" } else { "decide" }),
            uid(&names.source, &wanted.source),
            context(wanted, approve)?,
            Some(&self.schema),
        )?;
        let principals = schema::principals(approver, names);
        let entity = schema::principal(approver, &principals, names)?;
        Ok((request, Entities::from_entities([entity], None)?))
    }
}

fn context(wanted: &Wanted, approve: bool) -> Result<Context, Box<dyn std::error::Error>> {
    let set =
        |values: &[String]| RestrictedExpression::new_set(values.iter().map(|value| text(value)));
    let asked = RestrictedExpression::new_record([
        ("name".to_owned(), text(&wanted.caller)),
        ("tenant".to_owned(), text(&wanted.tenant)),
        ("roles".to_owned(), set(&wanted.roles)),
    ])?;
    let pairs = [
        ("approve", RestrictedExpression::new_bool(approve)),
        ("caller", asked),
        ("tool", text(&wanted.tool)),
        ("risk", text(wanted.risk.as_str())),
        ("conversation", text(&wanted.conversation)),
        ("egress_hosts", set(&wanted.hosts)),
        ("secrets", set(&wanted.sandbox.secrets)),
    ];
    Ok(Context::from_pairs(pairs.map(|(name, value)| (name.to_owned(), value)))?)
}

fn text(value: &str) -> RestrictedExpression {
    RestrictedExpression::new_string(value.to_owned())
}
