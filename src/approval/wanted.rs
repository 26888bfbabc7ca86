//! A checked call in, what a person is asked to approve out. Arguments that the schema marks as
//! sensitive, or that stand under a name such as `password`, are masked in it; all else is as it runs.

use serde::{Deserialize, Serialize};

use crate::admission::Caller;
use crate::call::FileFacts;
use crate::catalog::{Envelope, Risk};
use crate::mask::{Marks, Masker};
use crate::schema::Checked;

/// What a person is asked to approve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Wanted {
    /// Id of the call that asks.
    pub call_id: String,
    /// Name of its caller.
    pub caller: String,
    /// Tenant of its caller.
    pub tenant: String,
    /// Roles of its caller.
    pub roles: Vec<String>,
    /// How the caller proved who it is.
    pub proof: String,
    /// The conversation; empty for none.
    pub conversation: String,
    /// The tool's name.
    pub tool: String,
    /// Digest of its definition.
    pub tool_digest: String,
    /// What harm it can do.
    pub risk: Risk,
    /// Where it comes from.
    pub source: String,
    /// The arguments that will run, as JSON text for a person's eyes.
    pub arguments: String,
    /// The files that come along.
    pub files: Vec<FileFacts>,
    /// What it will run in.
    pub sandbox: Envelope,
    /// The hosts that it can reach.
    pub hosts: Vec<String>,
    /// The call's identity: what the approval holds for.
    pub digest: String,
    /// Ids of the policies that permit it once it is approved.
    pub policies: Vec<String>,
    /// Digest of the policy set that was asked.
    pub policy_version: String,
}

impl Wanted {
    /// Whether it is the caller's own call.
    pub fn is_of(&self, caller: &Caller) -> bool {
        self.caller == caller.name && self.tenant == caller.tenant
    }

    /// What a call wants, that `policies` of the policy set `version` permit once it is approved.
    pub fn of(checked: &Checked, policies: &[String], version: &str) -> Self {
        let admitted = &checked.resolved.admitted;
        let (call, caller, tool) = (&admitted.call, &admitted.caller, &checked.resolved.tool);
        let (schema, arguments) = (&tool.input_schema, &checked.arguments.canonical);
        let hosts = tool.profile.egress.as_deref().unwrap_or_default();
        Self {
            call_id: call.id.to_string(),
            caller: caller.name.clone(),
            tenant: caller.tenant.clone(),
            roles: caller.roles.clone(),
            proof: call.proof.clone(),
            conversation: call.conversation.clone(),
            tool: tool.name.clone(),
            tool_digest: tool.digest.clone(),
            risk: tool.risk,
            source: tool.source.clone(),
            arguments: Masker::new(schema, &Marks::of(schema)).marks(arguments),
            files: call.files.iter().map(|file| file.facts.clone()).collect(),
            sandbox: Envelope::of(&tool.profile),
            hosts: hosts.iter().map(|rule| rule.host.clone()).collect(),
            digest: checked.identity(version),
            policies: policies.to_vec(),
            policy_version: version.to_owned(),
        }
    }
}
