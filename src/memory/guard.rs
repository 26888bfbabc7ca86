//! Judges what is about to be remembered: a text and where it comes from in, a score and the places
//! that read like an instruction to a model out. Origin decides authority: a person may ask for
//! something, what a tool or a page says may only state. It changes and drops nothing, and it is a
//! filter and no proof: what it passes stays what it is, text from outside.

use super::unit::Origin;
use crate::screen::{self, MOST_BYTES, Screened};
pub use crate::screen::{Finding, Reading, Rule};

/// From which score on a text is held for review, unless a person or a curator stands behind it.
pub const HOLD: f32 = screen::ORDERS;
/// From which score on the places of a text are told to a reviewer.
const SHOWN: f32 = 0.25;

/// What is thought of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// How much it reads like an instruction to a model, 0 to 1, whatever its origin.
    pub score: f32,
    /// What it was that does, each rule once.
    pub findings: Vec<Finding>,
    /// Whether it has to wait for a reviewer.
    pub hold: bool,
}

/// Bytes that two pieces of a long text share, so that no order falls between them.
const SHARED: usize = 4 << 10;

/// Judges one text, all of it. Takes time in proportion to its length; decoding goes two levels deep
/// and stops after a fixed number of bytes in each half MiB.
pub fn judge(text: &str, origin: Origin) -> Judgement {
    let mut whole = Screened::default();
    let mut rest = text;
    loop {
        whole.join(screen::weigh(rest, SHOWN));
        let next = rest.floor_char_boundary(MOST_BYTES - SHARED);
        match rest.get(next..).filter(|_| rest.len() > MOST_BYTES) {
            Some(more) => rest = more,
            None => break,
        }
    }
    let asks = whole.score >= HOLD && !origin.may_ask();
    Judgement { score: whole.score, hold: asks || whole.outright, findings: whole.findings }
}
