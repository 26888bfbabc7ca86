//! Who gets how much of a budget, and how instructions and working memory are made to fit theirs.

use serde::{Deserialize, Serialize};

use super::{Counter, Error, Material, cut};

/// Tokens for the breaks between parts and lists.
pub(super) const BREAKS: usize = 8;
/// Turns of the conversation that are working memory (M7).
const TURNS: usize = 2;

/// Parts of a budget in percent; 100 together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Shares {
    /// Instructions and tools; default 15.
    pub instructions: u8,
    /// Question, last two turns, results of tools; default 45.
    pub working: u8,
    /// Recalled units; default 40.
    pub recalled: u8,
}

impl Default for Shares {
    fn default() -> Self {
        Self { instructions: 15, working: 45, recalled: 40 }
    }
}

impl Shares {
    pub(super) fn check(self) -> Result<(), Error> {
        let all = [self.instructions, self.working, self.recalled];
        let sum: u32 = all.into_iter().map(u32::from).sum();
        if sum == 100 {
            return Ok(());
        }
        Err(Error::Config {
            key: "memory.context.shares",
            reason: format!("the shares are {sum} together: make them 100"),
        })
    }

    /// Tokens of instructions, working memory and recalled units, of what each would take whole. What
    /// is left over goes to the working memory first, then to the recalled units, then to the
    /// instructions.
    pub(super) fn grant(self, tokens: usize, wanted: [usize; 3]) -> [usize; 3] {
        let part = |share: u8| tokens * usize::from(share) / 100;
        let [first, middle, last] = wanted;
        let mut granted = [
            first.min(part(self.instructions)),
            middle.min(part(self.working)),
            last.min(part(self.recalled)),
        ];
        let mut spare = tokens.saturating_sub(granted.iter().sum());
        for place in [1, 2, 0] {
            if let (Some(granted), Some(wanted)) = (granted.get_mut(place), wanted.get(place)) {
                let more = wanted.saturating_sub(*granted).min(spare);
                *granted += more;
                spare -= more;
            }
        }
        granted
    }
}

/// A part made of several texts under their labels.
#[derive(Debug)]
pub(super) struct Piece {
    /// Label and text, in the order in which they stand.
    texts: Vec<(&'static str, String)>,
    /// The order in which they get room.
    first: Vec<usize>,
}

impl Piece {
    /// Instructions, then tools in their order.
    pub(super) fn instructions(material: &Material) -> Self {
        let mut texts = vec![("# Instructions", material.instructions.clone())];
        texts.extend(material.tools.iter().map(|tool| ("# Tool", tool.clone())));
        Self::new(texts, |_| 0)
    }

    /// Results, the last two turns, the question at the end. The question gets room first, then the
    /// turns and the results, the newest of each first.
    pub(super) fn working(material: &Material) -> Self {
        let mut texts: Vec<(&'static str, String)> =
            material.results.iter().map(|one| ("# Tool result", one.clone())).collect();
        let turns = material.turns.iter().rev().take(TURNS).rev();
        texts.extend(turns.map(|one| ("# Turn", one.clone())));
        texts.push(("# Question", material.question.clone()));
        Self::new(texts, |label| match label {
            "# Question" => 0,
            "# Turn" => 1,
            _ => 2,
        })
    }

    fn new(texts: Vec<(&'static str, String)>, class: fn(&str) -> u8) -> Self {
        let texts: Vec<(&'static str, String)> =
            texts.into_iter().filter(|(_, text)| !text.trim().is_empty()).collect();
        let mut first: Vec<usize> = (0..texts.len()).collect();
        let of = |at: &usize| texts.get(*at).map_or(u8::MAX, |(label, _)| class(label));
        let ordered = first.iter().any(|at| of(at) > 0);
        first.sort_by_key(|at| (of(at), if ordered { usize::MAX - at } else { *at }));
        Self { texts, first }
    }

    /// Tokens of all of it.
    pub(super) fn wanted(&self, counter: &Counter) -> usize {
        self.texts.iter().map(|(label, text)| cost(label, text, counter)).sum()
    }

    /// As much of it as fits: whole texts; one that does not fit loses its middle, with a mark; what
    /// has no room at all is named by its number.
    pub(super) fn fit(&self, tokens: usize, counter: &Counter) -> String {
        let mut kept: Vec<Option<String>> = vec![None; self.texts.len()];
        // Room for the line that says what is missing.
        let reserve = if self.wanted(counter) > tokens { 16 } else { 0 };
        let mut room = tokens.saturating_sub(reserve);
        for at in &self.first {
            let Some((label, text)) = self.texts.get(*at) else { continue };
            let overhead = cost(label, "", counter);
            let shown = cut::middle(text, room.saturating_sub(overhead), counter);
            if shown.is_empty() {
                continue;
            }
            room = room.saturating_sub(cost(label, &shown, counter));
            if let Some(slot) = kept.get_mut(*at) {
                *slot = Some(format!("{label}\n{shown}"));
            }
        }
        let missing = kept.iter().filter(|one| one.is_none()).count();
        let mut lines: Vec<String> = kept.into_iter().flatten().collect();
        if missing > 0 && tokens > reserve {
            lines.insert(0, format!("[{missing} texts left out]"));
        }
        lines.join("\n\n")
    }
}

/// Tokens of a text under its label, the break behind it included.
fn cost(label: &str, text: &str, counter: &Counter) -> usize {
    counter.count(label) + counter.count(text) + 3
}
