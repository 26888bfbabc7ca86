//! Neighbours: a turn whose answer stands beside the question's words is found by those words, since
//! each hit lends a part of its score to those near it in its group. The largest single gain that was
//! measured on conversations.

use super::Recall;
use super::fuse::{SPAN, Sheet};
use super::trace::Notes;
use crate::memory::{Question, Scope, Sense};

impl Recall {
    /// Asks for the neighbours of what was found, and lets them borrow.
    pub(super) async fn lend(
        &self,
        (scope, question): (&Scope, &Question),
        sheet: &mut Sheet,
        notes: &mut Notes,
    ) {
        if question.without.contains(&Sense::Neighbour) {
            return;
        }
        let lenders = sheet.lenders(self.config.candidates);
        if lenders.is_empty() {
            return;
        }
        let started = std::time::Instant::now();
        match self.store.beside(scope, &lenders, SPAN).await {
            Ok(beside) => sheet
                .lend(beside.into_iter().map(|one| (one.of, one.seq, one.distance.unsigned_abs()))),
            Err(error) => notes.failed(Sense::Neighbour, &error),
        }
        notes.took(Sense::Neighbour, started);
    }
}
