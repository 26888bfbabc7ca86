//! Room 4: may this caller make this call. [`Checked`] in, [`Authorized`] out. Cedar decides, on
//! the tool's declared name and on the very arguments that run. How arguments become Cedar values
//! is written in `policies/cedar/default.cedar`, for those who write policies.

mod approvers;
mod decision;
mod error;
mod files;
mod finding;
mod flip;
mod memory;
mod number;
mod reason;
mod review;
mod schema;
mod shape;
mod sight;
mod slice;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::sample;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use cedar_policy::{
    AuthorizationError, Authorizer, Context, Decision as Cedar, Entities, EntityTypeName,
    EntityUid, Request, RestrictedExpression, Schema,
};

use crate::admission::Caller;
use crate::approval::Grant;
use crate::catalog::{Cache, Tool};
use crate::schema::Checked;

pub use approvers::Approvers;
pub use decision::{Authorized, Decision, Question, Ruling};
pub use error::Error;
use files::Files;
pub use finding::{Finding, Severity};
pub use flip::{Flip, Said};
#[cfg(test)]
pub(crate) use memory::listed;
pub use memory::{Access, Keepers, Permit, Refused, Shelf, Verb, Wish, Work};
pub use reason::{Crew, Reasoners};
pub use review::{
    Asked, Audience, Audit, Case, CaseResult, Change, Comparison, Coverage, Example, Explanation,
    Fault, Judged, Outcome, Part, Past, Permission, Reach, Replayed, Review, Row, RuleFacts, Side,
    Told, read_cases,
};
use schema::{Prepared, uid};
use shape::Shape;
use slice::{Situation, Situations};

/// The cache's name of the sets that were checked.
const CHECKED: &str = "policies";

/// One policy set, checked against one catalog. Immutable; a reload makes a new one.
pub struct Policies {
    authorizer: Authorizer,
    names: Names,
    situations: Situations,
    tools: HashMap<String, Prepared>,
    version: String,
    warnings: Vec<String>,
}

/// The types of Switchboard's entities.
#[derive(Debug)]
struct Names {
    caller: EntityTypeName,
    role: EntityTypeName,
    tenant: EntityTypeName,
    action: EntityTypeName,
    source: EntityTypeName,
}

/// What a policy set says to one call.
enum Verdict {
    /// Permitted by these policies.
    Permit(Vec<String>),
    /// Forbidden by these policies; by none when no policy permits.
    Deny(Vec<String>),
}

// === impl Policies ===

impl std::fmt::Debug for Policies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Policies")
            .field("version", &self.version)
            .field("tools", &self.tools.len())
            .finish_non_exhaustive()
    }
}

impl Policies {
    /// Reads `cedar/*.cedar` below `root` and checks it against the schema made from `tools`.
    ///
    /// A set with one policy that cannot be used is refused as a whole, with file and line of each
    /// problem: broken syntax, a type error, a tool or source that does not exist, a missing or
    /// repeated `@id`, a missing `@owner`, a template. No policy at all means that every call is
    /// denied; a warning says so.
    pub fn load(root: &Path, tools: &[Arc<Tool>]) -> Result<Self, Error> {
        Self::load_cached(root, tools, None)
    }

    /// As [`Policies::load`]; a set that was checked before, letter by letter the same and against
    /// the same schema, is not checked again.
    pub fn load_cached(
        root: &Path,
        tools: &[Arc<Tool>],
        cache: Option<&Cache>,
    ) -> Result<Self, Error> {
        Self::build(&mut Files::read(root, "cedar")?, tools, cache)
    }

    /// The set of files that were read; takes the policies out of them.
    fn build(files: &mut Files, tools: &[Arc<Tool>], cache: Option<&Cache>) -> Result<Self, Error> {
        let shapes: Vec<Shape> =
            tools.iter().map(|tool| Shape::of_schema(&tool.input_schema)).collect();
        let schema_text = schema::print(tools, &shapes, &files.operations());
        let version = files.version(&schema_text);
        let mut warnings = files.warnings();
        let known = cache.and_then(|cache| cache.recall(CHECKED, &version));
        let known = known.and_then(|bytes| serde_json::from_slice::<Vec<String>>(&bytes).ok());
        if let Some(known) = known.filter(|_| !files.refused()) {
            warnings.extend(known);
        } else {
            let (schema, hints) = Schema::from_cedarschema_str(&schema_text)
                .map_err(|error| Error::Schema { reason: files::sentence(&error) })?;
            files.hints(hints.map(|hint| hint.to_string()));
            files.check(schema, tools)?;
            let found = files.warnings().split_off(warnings.len());
            if let (Some(cache), Ok(bytes)) = (cache, serde_json::to_vec(&found)) {
                cache.keep(CHECKED, &version, &bytes);
            }
            warnings.extend(found);
        }
        let names = Names::new()?;
        let mut prepared = HashMap::with_capacity(tools.len());
        let situations = Situations::new(std::mem::take(&mut files.policies));
        for (tool, shape) in tools.iter().zip(shapes) {
            let entry = schema::prepare(tool, shape, &names, &situations)?;
            prepared.insert(tool.name.clone(), entry);
        }
        Ok(Self {
            authorizer: Authorizer::new(),
            names,
            situations,
            tools: prepared,
            version,
            warnings,
        })
    }

    /// Decides one call. A call that is denied is decided again as if a person had approved it:
    /// when that permits it, the error is [`Error::ApprovalRequired`]. With a `grant` that holds for
    /// this very call under this policy set, a person has.
    pub fn authorize(&self, checked: Checked, grant: Option<Grant>) -> Result<Authorized, Error> {
        let started = Instant::now();
        let grant = grant.filter(|grant| grant.covers(&checked.identity(&self.version)));
        let question = Question::of(&checked);
        let decided = match &grant {
            Some(_) => self.judge_attended(&question),
            None => self.judge(&question),
        };
        let outcome = match &decided {
            Ok(_) => "permit",
            Err(Error::ApprovalRequired { .. }) => "approval",
            Err(Error::Denied { .. }) => "deny",
            Err(_) => "error",
        };
        if let Err(Error::Evaluation { policy, .. }) = &decided {
            // The reason can quote arguments, which have no place in a log.
            tracing::warn!(%policy, "a policy cannot be evaluated, so the call is denied");
        }
        metrics::counter!("switchboard_policy_decisions_total", "outcome" => outcome).increment(1);
        metrics::histogram!("switchboard_policy_decision_seconds").record(started.elapsed());
        let policies = decided.map_err(|error| error.wanting(&checked))?;
        let version = self.version.clone();
        let approval = grant.map(Grant::approved);
        let ruling = if approval.is_some() { Ruling::Approved } else { Ruling::Permit };
        Ok(Authorized { checked, decision: Decision { ruling, policies, version, approval } })
    }

    /// What policy says to a call that a person has approved.
    fn judge_attended(&self, question: &Question<'_>) -> Result<Vec<String>, Error> {
        match self.ask(question, true)? {
            Verdict::Permit(policies) => Ok(policies),
            Verdict::Deny(policies) => {
                Err(Error::Denied { policies, version: self.version.clone() })
            }
        }
    }

    /// Whether the caller may be told of the tool: true unless policy denies every call of it,
    /// whatever the arguments, the conversation and a person's approval.
    pub fn visible(&self, caller: &Caller, tool: &Tool) -> bool {
        self.never(caller, tool).is_ok_and(|never| !never)
    }

    /// The refusal of a call whose tool is hidden from its caller, whatever the arguments.
    pub fn hide(&self) -> Error {
        Error::Denied { policies: Vec::new(), version: self.version.clone() }
    }

    /// SHA-256 in hex over the policy files and the schema made from the catalog.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// What a reviewer should know of the set, one line each; none of it keeps it from use.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// What [`Policies::authorize`] decides, without a call that could run afterwards: the ids of the
    /// policies that permit it, or the refusal.
    pub fn judge(&self, question: &Question<'_>) -> Result<Vec<String>, Error> {
        let policies = match self.ask(question, false)? {
            Verdict::Permit(policies) => return Ok(policies),
            Verdict::Deny(policies) => policies,
        };
        let version = self.version.clone();
        match self.ask(question, true) {
            Ok(Verdict::Permit(policies)) => {
                Err(Error::ApprovalRequired { policies, version, wanted: None })
            }
            Ok(Verdict::Deny(_)) | Err(_) => Err(Error::Denied { policies, version }),
        }
    }

    /// What the policies say; an error in any of them is an error, whatever the others say.
    fn ask(&self, question: &Question<'_>, attended: bool) -> Result<Verdict, Error> {
        let Question { caller, tool, .. } = question;
        let prepared = self.prepared(tool)?;
        let situation = self.situation(caller, &tool.name, prepared)?;
        let request = self.request(question, attended, prepared, &situation)?;
        let response =
            self.authorizer.is_authorized(&request, &situation.policies, &situation.entities);
        if let Some(error) = response.diagnostics().errors().next() {
            let AuthorizationError::PolicyEvaluationError(inner) = error;
            let id = inner.policy_id();
            return Err(Error::Evaluation {
                policy: id.to_string(),
                reason: error.to_string(),
                version: self.version.clone(),
            });
        }
        let mut ids: Vec<String> =
            response.diagnostics().reason().map(ToString::to_string).collect();
        ids.sort_unstable();
        Ok(match response.decision() {
            Cedar::Allow => Verdict::Permit(ids),
            Cedar::Deny => Verdict::Deny(ids),
        })
    }

    /// The call as Cedar is asked about it, with what the policies of the situation can read.
    fn request(
        &self,
        question: &Question<'_>,
        attended: bool,
        prepared: &Prepared,
        situation: &Situation,
    ) -> Result<Request, Error> {
        let caller = question.caller;
        let session = || schema::session(question.conversation, question.session);
        let mut parts = vec![("attended".to_owned(), RestrictedExpression::new_bool(attended))];
        if situation.reads.input {
            parts.push(("input".to_owned(), prepared.shape.express(question.input)));
        }
        if situation.reads.files {
            parts.push(("files".to_owned(), schema::files(&question.files)?));
        }
        let context = self.context(parts, caller, session, (prepared, situation))?;
        Request::new(
            uid(&self.names.caller, &caller.name),
            prepared.action.clone(),
            prepared.resource.clone(),
            context,
            None,
        )
        .map_err(|error| self.inexpressible(&error))
    }

    fn prepared(&self, tool: &Tool) -> Result<&Prepared, Error> {
        self.tools
            .get(&tool.name)
            .filter(|prepared| prepared.digest == tool.digest)
            .ok_or_else(|| Error::Stale { tool: tool.name.clone(), version: self.version.clone() })
    }

    /// Whether policy denies every call of the tool by this caller.
    fn never(&self, caller: &Caller, tool: &Tool) -> Result<bool, Error> {
        Ok(self.foresee(caller, tool, None)? == Some(false))
    }

    /// What policy says to every call of the tool by this caller, with a person's approval or
    /// without, or whatever comes of that; `None` when it depends on the call. An argument that Cedar
    /// cannot hold may still deny what is `Some(true)`.
    fn foresee(
        &self,
        caller: &Caller,
        tool: &Tool,
        attended: Option<bool>,
    ) -> Result<Option<bool>, Error> {
        let prepared = self.prepared(tool)?;
        let situation = self.situation(caller, &tool.name, prepared)?;
        let unknown = RestrictedExpression::new_unknown;
        let mut parts = Vec::from(["input", "files"].map(|name| (name.to_owned(), unknown(name))));
        let attended = match attended {
            Some(known) => RestrictedExpression::new_bool(known),
            None => unknown("attended"),
        };
        parts.push(("attended".to_owned(), attended));
        let session = || ["conversation", "calls", "taint"].map(|name| (name, unknown(name)));
        let context = self.context(parts, caller, session, (prepared, &situation))?;
        let request = Request::builder()
            .principal(uid(&self.names.caller, &caller.name))
            .action(prepared.action.clone())
            .resource(prepared.resource.clone())
            .context(context)
            .build();
        let response = self.authorizer.is_authorized_partial(
            &request,
            &situation.policies,
            &situation.entities,
        );
        // A policy that fails whatever the call denies every call, as `authorize` would.
        Ok(match response.decision() {
            _ if response.definitely_errored().next().is_some() => Some(false),
            Some(Cedar::Deny) => Some(false),
            Some(Cedar::Allow) => Some(true),
            None => None,
        })
    }

    /// The context: `parts`, and what else the policies of the situation can read.
    fn context(
        &self,
        mut parts: Vec<(String, RestrictedExpression)>,
        caller: &Caller,
        session: impl FnOnce() -> [(&'static str, RestrictedExpression); 3],
        (prepared, situation): (&Prepared, &Situation),
    ) -> Result<Context, Error> {
        if situation.reads.session {
            let tenant = RestrictedExpression::new_string(caller.tenant.clone());
            let members = session().into_iter().chain([("tenant", tenant)]);
            let session = RestrictedExpression::new_record(
                members.map(|(name, value)| (name.to_owned(), value)),
            )
            .map_err(|error| self.inexpressible(&error))?;
            parts.push(("session".to_owned(), session));
        }
        if situation.reads.sandbox {
            parts.push(("sandbox".to_owned(), prepared.sandbox.clone()));
        }
        Context::from_pairs(parts).map_err(|error| self.inexpressible(&error))
    }

    /// What is fixed when this caller calls this tool.
    fn situation(
        &self,
        caller: &Caller,
        tool: &str,
        prepared: &Prepared,
    ) -> Result<Arc<Situation>, Error> {
        let mut name = String::with_capacity(128);
        let parts = [tool, &caller.name, &caller.tenant];
        for part in parts.into_iter().chain(caller.roles.iter().map(String::as_str)) {
            // Lengths keep apart what would read the same when joined.
            name.push_str(&part.len().to_string());
            name.push(':');
            name.push_str(part);
        }
        if let Some(situation) = self.situations.recall(&name) {
            return Ok(situation);
        }
        let principals = schema::principals(caller, &self.names);
        let entities = self.entities(prepared, caller, &principals)?;
        self.situations.make(name, &prepared.policies, &principals, entities)
    }

    /// The caller with its tenant and roles, and the action with its groups.
    fn entities(
        &self,
        prepared: &Prepared,
        caller: &Caller,
        principals: &[EntityUid],
    ) -> Result<Entities, Error> {
        let principal = schema::principal(caller, principals, &self.names)
            .map_err(|error| self.inexpressible(&error))?;
        Entities::from_entities([principal, prepared.entity.clone()], None)
            .map_err(|error| self.inexpressible(&error))
    }

    fn inexpressible(&self, error: &dyn std::error::Error) -> Error {
        Error::Evaluation {
            policy: String::new(),
            reason: error.to_string(),
            version: self.version.clone(),
        }
    }
}
