//! What is asked of the pipeline beside calls: cancel, list, drain, put a new catalog in force.

use std::sync::Arc;

use super::{Pipeline, Snapshot};
use crate::admission::{self, Caller, Peer, Unproven};
use crate::catalog::Tool;
use crate::ledger::Ledger;

impl Pipeline {
    /// Ends a running call of this caller; false when there is none with that id.
    pub fn cancel(&self, call_id: &str, caller: &Caller) -> bool {
        self.running.cancel(call_id, caller)
    }

    /// Ends every running call, for the end of a drain.
    pub fn cancel_all(&self) {
        self.running.cancel_all();
    }

    /// Admits nothing from now on.
    pub fn close(&self) {
        self.admission.close();
    }

    /// The tools that this caller may be able to use, by name, and the catalog's digest.
    pub fn tools(&self, caller: &Caller) -> (Vec<Arc<Tool>>, String) {
        self.snapshot.load().tools_for(caller)
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
