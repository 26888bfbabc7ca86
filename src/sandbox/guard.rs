//! The end of a call whose runner does not say that it has ended: a call that is dropped, or a silent
//! runner, in; the kill out, and who it was.

use switchboard_runner::Report;

use super::exchange::Silence;
use super::hub::Holding;
use super::{Killer, Sight};

/// Ends the tool of a call that is dropped, and says so.
#[derive(Debug)]
pub(super) struct Guard<'call> {
    holding: &'call Holding,
    sight: &'call Sight,
    armed: bool,
}

impl<'call> Guard<'call> {
    /// Guards the call that has `holding`.
    pub(super) const fn new(holding: &'call Holding, sight: &'call Sight) -> Self {
        Self { holding, sight, armed: true }
    }

    /// The call has come to its end by itself; kills what does not answer. Who ended the tool, when it
    /// did not end by itself.
    pub(super) fn settle(&mut self, said: &Result<Report, Silence>) -> Option<Killer> {
        self.armed = false;
        match said {
            Ok(report) => report.stopped.map(|_| Killer::Runner.count()),
            Err(Silence::Late | Silence::Flood | Silence::Broken(_)) => {
                self.holding.doubt();
                Some(self.holding.end())
            }
            Err(Silence::Gone(_)) => None,
        }
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if self.armed {
            self.sight.killed(self.holding.end());
        }
    }
}
