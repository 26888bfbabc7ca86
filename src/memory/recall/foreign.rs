//! Passages in another script than the question: they cannot share its words, so that the vector, by
//! which alone they can be found, speaks for both. What only vectors found in, the same weighed again
//! out. Asks the store for the texts of the likeliest of them, and for nothing else.

use std::collections::HashSet;

use super::Recall;
use super::fuse::{Candidate, Sheet};
use super::trace::Notes;
use crate::memory::{Question, Sense, THRESHOLD};

/// How much more a similarity across scripts says. A question and its answer in two scripts are less
/// alike than two in one, and have no words in common that could make up for it; measured on tickets and
/// manuals in Chinese and English.
const ACROSS: f64 = 1.4;
/// Passages that are looked at: what stands further behind by its vector is no answer in any script.
const LOOKED: usize = 128;
/// Letters of alphabets from which on a question has a script; a part number has none.
const FEW: usize = 4;
/// Letters of an alphabet that say as much as one character of a script without spaces.
const DENSE: usize = 3;

/// Scripts that share no words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Script {
    Latin,
    /// Without spaces: Chinese, Japanese, Thai.
    Dense,
    /// Any other alphabet.
    Other,
}

/// The script of most of a text; `None` where it has too few letters to tell.
pub(super) fn script(text: &str) -> Option<Script> {
    let (mut latin, mut dense, mut other) = (0, 0, 0);
    for one in text.chars().filter(|one| one.is_alphabetic()) {
        match one {
            '\0'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' => latin += 1,
            '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' => dense += 1,
            '\u{3005}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{20000}'..='\u{3ffff}' => {
                dense += DENSE;
            }
            _ => other += 1,
        }
    }
    if latin + dense + other < FEW && dense == 0 {
        return None;
    }
    Some(match (dense > latin.max(other), other > latin) {
        (true, _) => Script::Dense,
        (false, true) => Script::Other,
        (false, false) => Script::Latin,
    })
}

impl Recall {
    /// Weighs again what is in another script than the question.
    pub(super) async fn across(&self, question: &Question, sheet: &mut Sheet, notes: &mut Notes) {
        let Some(own) = script(&question.text) else { return };
        let chunks = likeliest(sheet);
        if chunks.is_empty() {
            return;
        }
        let texts = match self.store.texts(&chunks).await {
            Ok(texts) => texts,
            Err(error) => return notes.failed(Sense::Vector, &error),
        };
        let threshold = f64::from(question.threshold.unwrap_or(THRESHOLD));
        let foreign: HashSet<i64> = (chunks.iter().zip(&texts))
            .filter(|(_, text)| script(text).is_some_and(|script| script != own))
            .map(|((seq, _), _)| *seq)
            .collect();
        for candidate in sheet.candidates().filter(|one| foreign.contains(&one.seq)) {
            raise(candidate, threshold);
        }
    }
}

/// The best of what vectors found and words did not.
fn likeliest(sheet: &mut Sheet) -> Vec<(i64, u32)> {
    let mut found: Vec<(f64, i64, u32)> = sheet
        .candidates()
        .filter(|one| one.of(Sense::Words).is_none())
        .filter_map(|one| {
            let vector = one.of(Sense::Vector)?;
            Some((vector.even, one.seq, one.chunks.first()?.0))
        })
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    found.truncate(LOOKED);
    found.into_iter().map(|(_, seq, ordinal)| (seq, ordinal)).collect()
}

fn raise(candidate: &mut Candidate, threshold: f64) {
    let Some(score) = candidate.scores.iter_mut().find(|one| one.sense == Sense::Vector) else {
        return;
    };
    let even = (score.even * ACROSS).min(1.0);
    if score.even > 0.0 {
        score.adds *= even / score.even;
    }
    score.even = even;
    if even >= threshold {
        candidate.withheld.clear();
    }
}
