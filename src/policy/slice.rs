//! All policies and one tool in, the policies whose scope can match the tool out. The others would
//! answer false; leaving them out is what keeps a decision fast in a large set.

use std::collections::HashMap;
use std::sync::Arc;

use cedar_policy::{ActionConstraint, EntityUid, Policy, PolicySet, ResourceConstraint};

use super::Error;

/// Hands out one set for all tools that the same policies can match.
#[derive(Debug)]
pub(super) struct Slices<'a> {
    policies: Vec<Scope<'a>>,
    made: HashMap<Vec<usize>, Arc<PolicySet>>,
}

#[derive(Debug)]
struct Scope<'a> {
    policy: &'a Policy,
    action: ActionConstraint,
    resource: ResourceConstraint,
}

impl<'a> Slices<'a> {
    pub(super) fn new(policies: &'a [Policy]) -> Self {
        let policies = policies
            .iter()
            .map(|policy| Scope {
                policy,
                action: policy.action_constraint(),
                resource: policy.resource_constraint(),
            })
            .collect();
        Self { policies, made: HashMap::new() }
    }

    /// The set for an action with its groups (`actions`, itself included) on a resource.
    pub(super) fn take(
        &mut self,
        actions: &[EntityUid],
        resource: &EntityUid,
    ) -> Result<Arc<PolicySet>, Error> {
        let key: Vec<usize> = self
            .policies
            .iter()
            .enumerate()
            .filter(|(_, scope)| scope.matches(actions, resource))
            .map(|(index, _)| index)
            .collect();
        if let Some(set) = self.made.get(&key) {
            return Ok(set.clone());
        }
        let chosen = key.iter().filter_map(|index| self.policies.get(*index));
        let set = PolicySet::from_policies(chosen.map(|scope| scope.policy.clone()))
            .map_err(|error| Error::Schema { reason: error.to_string() })?;
        let set = Arc::new(set);
        self.made.insert(key, set.clone());
        Ok(set)
    }
}

impl Scope<'_> {
    fn matches(&self, actions: &[EntityUid], resource: &EntityUid) -> bool {
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
}
