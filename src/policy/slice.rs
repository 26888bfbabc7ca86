//! All policies in, those whose scope can match one tool and one caller out, and what of a call
//! they can read. The others would answer false, and what none reads need not be made: leaving both
//! out is what keeps a decision fast in a large set.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use cedar_policy::{
    ActionConstraint, Entities, EntityUid, Policy, PolicySet, PrincipalConstraint,
    ResourceConstraint, pst,
};
use serde_json::Value;

use super::Error;
use super::schema::group_of_risk;
use crate::catalog::Tool;

/// Situations that are remembered; beyond it all are forgotten, and made again as they come.
const REMEMBERED: usize = 1024;

/// One policy, with its scope beside it.
#[derive(Debug)]
pub(super) struct Scope {
    policy: Policy,
    pub(super) principal: PrincipalConstraint,
    pub(super) action: ActionConstraint,
    pub(super) resource: ResourceConstraint,
    reads: Reads,
}

/// Which parts of the context can be read, and whether more of the tool is than the scope.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Reads {
    pub(super) input: bool,
    pub(super) session: bool,
    pub(super) sandbox: bool,
    pub(super) files: bool,
    /// Not of the context: the tool and its source, beyond the scope.
    pub(super) target: bool,
}

/// All that is fixed when one caller calls one tool.
#[derive(Debug)]
pub(super) struct Situation {
    pub(super) entities: Entities,
    pub(super) policies: Arc<PolicySet>,
    pub(super) reads: Reads,
}

/// The policies of a set, and the situations that have come up.
#[derive(Debug)]
pub(super) struct Situations {
    scopes: Vec<Scope>,
    known: RwLock<Known>,
}

#[derive(Debug, Default)]
struct Known {
    situations: HashMap<String, Arc<Situation>>,
    /// Sets by the places of their policies; many situations have the same.
    sets: HashMap<Vec<usize>, Arc<PolicySet>>,
}

impl Situations {
    pub(super) fn new(policies: Vec<Policy>) -> Self {
        Self { scopes: policies.into_iter().map(Scope::new).collect(), known: RwLock::default() }
    }

    /// Places of the policies that can match an action with its groups (`actions`, itself first) on
    /// a resource.
    pub(super) fn of_tool(&self, actions: &[EntityUid], resource: &EntityUid) -> Vec<usize> {
        self.scopes
            .iter()
            .enumerate()
            .filter(|(_, scope)| scope.matches_tool(actions, resource))
            .map(|(place, _)| place)
            .collect()
    }

    /// The situation of that name, if it is remembered.
    pub(super) fn recall(&self, name: &str) -> Option<Arc<Situation>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.situations.get(name).cloned()
    }

    /// Those of the policies at `places` that can match a principal with its groups, and what they read.
    pub(super) fn choose(&self, places: &[usize], principals: &[EntityUid]) -> (Vec<usize>, Reads) {
        let mut reads = Reads::default();
        let mut chosen = places.to_vec();
        chosen.retain(|place| {
            let scope = self.scopes.get(*place);
            let matching = scope.filter(|scope| scope.matches_principal(principals));
            reads = matching.map_or(reads, |scope| reads.or(scope.reads));
            matching.is_some()
        });
        (chosen, reads)
    }

    /// Makes and remembers the situation in which a principal with its groups (`principals`, itself
    /// first) meets the policies at `places`.
    pub(super) fn make(
        &self,
        name: String,
        places: &[usize],
        principals: &[EntityUid],
        entities: Entities,
    ) -> Result<Arc<Situation>, Error> {
        let (key, reads) = self.choose(places, principals);
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.situations.len() >= REMEMBERED {
            *known = Known::default();
        }
        let policies = match known.sets.get(&key) {
            Some(set) => set.clone(),
            None => {
                let chosen = key.iter().filter_map(|place| self.scopes.get(*place));
                let chosen = chosen.map(|scope| scope.policy.clone());
                let set = PolicySet::from_policies(chosen)
                    .map_err(|error| Error::Schema { reason: error.to_string() })?;
                let set = Arc::new(set);
                known.sets.insert(key, set.clone());
                set
            }
        };
        let situation = Arc::new(Situation { entities, policies, reads });
        known.situations.insert(name, situation.clone());
        Ok(situation)
    }
}

impl Scope {
    pub(super) fn new(policy: Policy) -> Self {
        let bare = without_scope(&policy);
        Self {
            principal: policy.principal_constraint(),
            action: policy.action_constraint(),
            resource: policy.resource_constraint(),
            reads: match &bare {
                Some(_) => Reads::of_policy(&policy),
                None => Reads { target: true, ..Reads::of_policy(&policy) },
            },
            policy: bare.unwrap_or(policy),
        }
    }

    pub(super) fn matches_tool(&self, actions: &[EntityUid], resource: &EntityUid) -> bool {
        let action = match &self.action {
            ActionConstraint::Any => true,
            ActionConstraint::Eq(uid) => actions.first() == Some(uid),
            ActionConstraint::In(uids) => uids.iter().any(|uid| actions.contains(uid)),
        };
        // A source is in nothing but itself.
        action
            && match &self.resource {
                ResourceConstraint::Any => true,
                ResourceConstraint::Eq(uid) | ResourceConstraint::In(uid) => uid == resource,
                ResourceConstraint::Is(of) => of == resource.type_name(),
                ResourceConstraint::IsIn(of, uid) => of == resource.type_name() && uid == resource,
            }
    }

    pub(super) fn matches_principal(&self, principals: &[EntityUid]) -> bool {
        let is = |of| principals.first().is_some_and(|uid| uid.type_name() == of);
        match &self.principal {
            PrincipalConstraint::Any => true,
            PrincipalConstraint::Eq(uid) => principals.first() == Some(uid),
            PrincipalConstraint::In(uid) => principals.contains(uid),
            PrincipalConstraint::Is(of) => is(of),
            PrincipalConstraint::IsIn(of, uid) => is(of) && principals.contains(uid),
        }
    }
}

/// Whether a policy is about risk classes of which the catalog has no tool yet. It guards against
/// those to come, so nothing is wrong with it.
pub(super) fn is_guard(action: &ActionConstraint, tools: &[Arc<Tool>]) -> bool {
    let known = |group: &str| tools.iter().any(|tool| group_of_risk(tool.risk) == group);
    match action {
        ActionConstraint::In(groups) => groups.iter().all(|uid| {
            let group: &str = uid.id().as_ref();
            group.starts_with("risk:") && !known(group)
        }),
        ActionConstraint::Any | ActionConstraint::Eq(_) => false,
    }
}

/// The policy for those whom its scope matches, so that the scope is not asked again with every
/// call. `None` when Cedar cannot take it apart.
fn without_scope(policy: &Policy) -> Option<Policy> {
    let mut body = policy.to_pst().ok()?.body().clone();
    body.principal = pst::PrincipalConstraint::Any;
    body.action = pst::ActionConstraint::Any;
    body.resource = pst::ResourceConstraint::Any;
    let policy = pst::StaticPolicy::try_from(body).ok()?;
    Policy::from_pst(pst::Policy::Static(policy)).ok()
}

impl Reads {
    pub(super) const ALL: Self =
        Self { input: true, session: true, sandbox: true, files: true, target: true };

    /// Never too little: what is not plainly `context.name` or `context has name` counts as all.
    pub(super) fn of_policy(policy: &Policy) -> Self {
        match policy.to_json() {
            Ok(json) => Self::of_json(&json),
            Err(_) => Self::ALL,
        }
    }

    fn of_json(json: &Value) -> Self {
        match json {
            Value::Array(items) => {
                items.iter().fold(Self::default(), |reads, item| reads.or(Self::of_json(item)))
            }
            Value::Object(members) => {
                members.iter().fold(Self::default(), |reads, (key, value)| {
                    reads.or(match key.as_str() {
                        "Var" if value == "context" => Self::ALL,
                        "Var" if value == "action" || value == "resource" => {
                            Self { target: true, ..Self::default() }
                        }
                        "." | "has" if value.pointer("/left/Var") == Some(&"context".into()) => {
                            Self::of_name(value.get("attr").and_then(Value::as_str))
                        }
                        _ => Self::of_json(value),
                    })
                })
            }
            _ => Self::default(),
        }
    }

    fn of_name(name: Option<&str>) -> Self {
        let mut reads = Self::default();
        match name {
            Some("input") => reads.input = true,
            Some("session") => reads.session = true,
            Some("sandbox") => reads.sandbox = true,
            Some("files") => reads.files = true,
            Some("attended") => {}
            _ => return Self::ALL,
        }
        reads
    }

    fn or(self, other: Self) -> Self {
        Self {
            input: self.input || other.input,
            session: self.session || other.session,
            sandbox: self.sandbox || other.sandbox,
            files: self.files || other.files,
            target: self.target || other.target,
        }
    }
}
