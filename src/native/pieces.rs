//! Calls that arrive in pieces: an index, an id, a name or a part of the arguments in, whole calls out.
//! Names and arguments of two calls are never joined; what cannot be told apart does not run.

use super::raw::span;
use super::{Asked, Kind, MAX_BYTES, MOST_CALLS};

/// Bytes of arguments that are looked at to tell whether they are whole, in one stream.
const BUDGET: usize = 8 * MAX_BYTES;

/// The calls so far.
#[derive(Debug)]
pub(super) struct Pieces {
    calls: Vec<Piece>,
    budget: usize,
}

impl Default for Pieces {
    fn default() -> Self {
        Self { calls: Vec::new(), budget: BUDGET }
    }
}

#[derive(Debug, Default)]
struct Piece {
    index: Option<u64>,
    asked: Asked,
}

/// What one event says of a call.
#[derive(Debug, Default)]
pub(super) struct Delta {
    pub(super) index: Option<u64>,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: String,
    pub(super) kind: Kind,
}

impl Pieces {
    /// Adds what an event says to the call that it belongs to, or begins another call.
    pub(super) fn add(&mut self, delta: Delta) {
        let place = self.place(&delta);
        // One more than may be is enough for the message to be refused.
        if place.is_none() && self.calls.len() > MOST_CALLS {
            return;
        }
        let piece = match place.and_then(|at| self.calls.get_mut(at)) {
            Some(piece) => piece,
            None => {
                let fresh = Asked { kind: delta.kind, ..Asked::default() };
                self.calls.push(Piece { index: delta.index, asked: fresh });
                let Some(last) = self.calls.last_mut() else { return };
                last
            }
        };
        let asked = &mut piece.asked;
        if asked.id.is_empty() {
            asked.id = delta.id;
        }
        if asked.name.is_empty() {
            asked.name = delta.name;
        } else if !delta.name.is_empty() && delta.name != asked.name {
            let why = "two names came for this call, so it did not run: send it again";
            asked.fault = Some(why.to_owned());
        }
        asked.arguments.push_str(&delta.arguments);
    }

    /// Which call an event belongs to; `None` for a new one.
    fn place(&mut self, delta: &Delta) -> Option<usize> {
        let last = |fits: &dyn Fn(&Piece) -> bool| self.calls.iter().rposition(fits);
        let at = match (delta.index, delta.id.is_empty()) {
            (Some(index), _) => last(&|piece| piece.index == Some(index))?,
            (None, false) => match last(&|piece| piece.asked.id == delta.id) {
                Some(at) => return Some(at),
                // An id that comes late, for a call that has none yet.
                None => self.calls.len().checked_sub(1)?,
            },
            (None, true) => self.calls.len().checked_sub(1)?,
        };
        let known = &self.calls.get(at)?.asked;
        let other = !delta.id.is_empty() && !known.id.is_empty() && delta.id != known.id;
        if other {
            return None;
        }
        let same_id = !delta.id.is_empty() && delta.id == known.id;
        let named = !delta.name.is_empty() && !known.name.is_empty();
        let begun = !known.arguments.trim().is_empty();
        if !named || same_id || !begun {
            return Some(at);
        }
        // Where there is an index, a name may be said again in the middle of its call.
        self.budget = self.budget.saturating_sub(known.arguments.len());
        let begins = delta.index.is_none() || (self.budget > 0 && span(&known.arguments).is_ok());
        (!begins).then_some(at)
    }

    /// The calls, in the order in which they began.
    pub(super) fn finish(self) -> Vec<Asked> {
        let whole = |mut asked: Asked| {
            if asked.arguments.trim().is_empty() || asked.arguments.trim() == "null" {
                "{}".clone_into(&mut asked.arguments);
            }
            asked
        };
        self.calls.into_iter().map(|piece| whole(piece.asked)).collect()
    }
}
