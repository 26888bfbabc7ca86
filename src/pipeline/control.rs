//! What is asked of the pipeline beside calls: validate, find a tool, cancel, drain, put a new catalog
//! in force.

use std::sync::Arc;

use super::facts::Facts;
use super::{CallError, Pipeline, Snapshot};
use crate::admission::{self, Caller, Entrance, Peer, Unproven};
use crate::call::{Call, Dialect};
use crate::catalog::{Target, Tool};
use crate::ledger::Ledger;
use crate::schema::Change;

/// What a call would do, found without running it.
#[derive(Debug)]
pub struct Preview {
    /// The tool's declared name.
    pub tool_name: String,
    /// The arguments that would run, as JSON text.
    pub arguments_json: String,
    /// What was changed in them.
    pub repairs: Vec<Change>,
    /// Ids of the policies that permit the call.
    pub policies: Vec<String>,
}

impl Pipeline {
    /// Decides a call without running or recording it. It counts for the rates.
    pub async fn validate(&self, call: Call, caller: &Caller) -> Result<Preview, CallError> {
        let snapshot = self.snapshot.load_full();
        let mut facts = Facts::new(&call, caller, Arc::clone(&snapshot));
        let authorized = self.decide((call, caller), &snapshot, None, &mut facts).await?;
        let checked = authorized.checked;
        let tool = &checked.resolved.tool;
        if let Target::Http(target) = &tool.target {
            target.request(&checked.arguments.value, &tool.profile.secrets)?;
        }
        Ok(Preview {
            tool_name: tool.name.clone(),
            arguments_json: checked.arguments.value.to_string(),
            repairs: checked.arguments.repairs,
            policies: authorized.decision.policies,
        })
    }

    /// Ends a running call of this caller; false when there is none with that id.
    pub fn cancel(&self, call_id: &str, caller: &Caller) -> bool {
        self.running.cancel(call_id, caller)
    }

    /// Ends every running call, for the end of a drain.
    pub fn cancel_all(&self) {
        self.running.cancel_all();
    }

    /// Admits what is no call of a tool, under the limits of calls.
    pub fn welcome(&self, caller: &Caller) -> Result<Entrance, admission::Error> {
        self.admission.enter(caller)
    }

    /// Admits nothing from now on.
    pub fn close(&self) {
        self.admission.close();
        self.approvals.close();
    }

    /// The tool that a call by this name would be of, if the caller may know of it.
    pub fn tool(&self, name: &str, dialect: Option<Dialect>, caller: &Caller) -> Option<Arc<Tool>> {
        let snapshot = self.snapshot.load();
        let shown = |tool: &Tool| snapshot.shows(caller, tool);
        let call = Call { dialect, ..Call::new(name, "") };
        snapshot.catalog.named(&call, &shown).filter(|tool| shown(tool))
    }

    /// Tells who is at the other end, or why that is not known.
    pub fn identify(&self, peer: &Peer) -> Result<Caller, Unproven> {
        self.admission.identify(peer)
    }

    /// Reads the files that callers are known by again.
    pub fn reload_identity(&self) -> Result<(), admission::Error> {
        self.admission.reload()
    }

    /// The records.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// What is in force now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.load_full()
    }

    /// Puts a new catalog and policies in force. Running calls end under the old ones.
    pub fn replace(&self, snapshot: Snapshot) {
        self.sandbox.furnish(snapshot.catalog.tools());
        self.snapshot.store(Arc::new(snapshot));
    }
}
