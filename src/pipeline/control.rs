//! What is asked of the pipeline beside calls: cancel, list, drain, put a new catalog in force.

use std::sync::Arc;

use super::{Pipeline, Snapshot};
use crate::admission::{Caller, Peer};
use crate::catalog::Tool;
use crate::ledger::Ledger;

impl Pipeline {
    /// Ends a running call of this caller; false when there is none with that id.
    pub fn cancel(&self, call_id: &str, peer: &Peer) -> bool {
        self.running.cancel(call_id, &self.admission.identify(peer).name)
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
    pub fn tools(&self, peer: &Peer) -> (Vec<Arc<Tool>>, String) {
        self.snapshot.load().tools_for(&self.admission.identify(peer))
    }

    /// Names the other end.
    pub fn identify(&self, peer: &Peer) -> Caller {
        self.admission.identify(peer)
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
