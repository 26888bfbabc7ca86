//! Room 4: may this caller make this call. [`Checked`] in, [`Authorized`] out.

use crate::schema::Checked;

/// A call that policy permits. Only this room makes one.
#[derive(Debug)]
pub struct Authorized {
    pub(crate) checked: Checked,
    pub(crate) decision: Decision,
}

/// Why a call was permitted or denied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Ids of the policies that decided.
    pub policies: Vec<String>,
    /// Digest of the policy set that decided.
    pub version: String,
}
