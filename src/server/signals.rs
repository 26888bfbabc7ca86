//! The signals that the daemon answers. Registers them; what they mean is for others to say.

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::Error;

/// The signals that the daemon answers.
pub(super) struct Signals {
    pub(super) terminate: Signal,
    pub(super) interrupt: Signal,
    pub(super) hangup: Signal,
}

impl Signals {
    pub(super) fn register() -> Result<Self, Error> {
        let listen = |kind| {
            signal(kind).map_err(|source| Error::System { what: "cannot wait for signals", source })
        };
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            hangup: listen(SignalKind::hangup())?,
        })
    }
}
