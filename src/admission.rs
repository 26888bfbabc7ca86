//! Room 1: who calls, and whether there is room for one call more. Call in, [`Admitted`] out.

use crate::call::Call;

/// Who sent a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Stable name, for example `uid:1000` or `spiffe://cluster/agent`.
    pub name: String,
    /// The tenant whose data the caller may touch; scopes cache and duplicates.
    pub tenant: String,
    /// Roles that policies can name.
    pub roles: Vec<String>,
}

/// A call whose sender is known and which is inside every rate and in-flight limit.
#[derive(Debug)]
pub struct Admitted {
    pub(crate) call: Call,
    pub(crate) caller: Caller,
}
