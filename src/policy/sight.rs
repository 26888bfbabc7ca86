//! A caller and all tools of a catalog in, which of them the caller may be told of out. Policy is asked
//! once for tools that it cannot tell apart, which is what makes ten thousand of them quick.

use std::collections::HashMap;
use std::sync::Arc;

use super::Policies;
use super::schema::principals;
use crate::admission::Caller;
use crate::catalog::{Profile, Tool};

/// What the answer for a tool depends on, beside the caller: the policies that can match, and what
/// those read of the tool itself.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Alike<'t> {
    policies: Vec<usize>,
    name: Option<&'t str>,
    profile: Option<*const Profile>,
}

impl Policies {
    /// What [`Policies::visible`] says to each of these tools, in their order.
    pub fn sees<'t>(&self, caller: &Caller, tools: &'t [Arc<Tool>]) -> Vec<bool> {
        let principals = principals(caller, &self.names);
        let mut known = HashMap::new();
        let sees = |tool: &'t Arc<Tool>| {
            let Ok(prepared) = self.prepared(tool) else { return false };
            let (policies, reads) = self.situations.choose(&prepared.policies, &principals);
            let alike = Alike {
                policies,
                name: reads.target.then_some(tool.name.as_str()),
                profile: reads.sandbox.then_some(Arc::as_ptr(&tool.profile)),
            };
            *known.entry(alike).or_insert_with(|| self.visible(caller, tool))
        };
        tools.iter().map(sees).collect()
    }
}
