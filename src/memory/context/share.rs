//! Who gets how much of a budget, and how instructions and working memory are made to fit theirs.

use serde::{Deserialize, Serialize};

use super::{Counter, Error, Material, cut, envelope};

/// Tokens for the breaks between parts and lists.
pub(super) const BREAKS: usize = 8;
/// Tokens of the break behind a text.
const GAP: usize = 3;
/// Tokens of the line that says how many texts are missing.
const MISSING: usize = 16;
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

/// One text of a part.
#[derive(Debug)]
struct Text {
    label: &'static str,
    text: String,
    /// Whether it was said outside, and stands in an envelope.
    outside: bool,
}

/// A part made of several texts under their labels.
#[derive(Debug)]
pub(super) struct Piece {
    /// In the order in which they stand.
    texts: Vec<Text>,
    /// The order in which they get room.
    first: Vec<usize>,
    nonce: String,
}

impl Piece {
    /// Instructions, then tools in their order.
    pub(super) fn instructions(material: &Material, nonce: &str) -> Self {
        let own = |label, text: &String| Text { label, text: text.clone(), outside: false };
        let mut texts = vec![own("# Instructions", &material.instructions)];
        texts.extend(material.tools.iter().map(|tool| own("# Tool", tool)));
        let mut piece = Self::new(texts, nonce);
        piece.first = (0..piece.texts.len()).collect();
        piece
    }

    /// Results, the last two turns, the question at the end. The question gets room first, then the
    /// turns and the results, the newest of each first.
    pub(super) fn working(material: &Material, nonce: &str) -> Self {
        let text =
            |label, outside| move |text: &String| Text { label, text: text.clone(), outside };
        let mut texts: Vec<Text> =
            material.results.iter().map(text("# Tool result", true)).collect();
        let turns = material.turns.iter().rev().take(TURNS).rev();
        texts.extend(turns.map(text("# Turn", false)));
        texts.push(text("# Question", false)(&material.question));
        // What stands last is the question, before it the newest turn, and so on.
        let mut piece = Self::new(texts, nonce);
        piece.first = (0..piece.texts.len()).rev().collect();
        piece
    }

    fn new(mut texts: Vec<Text>, nonce: &str) -> Self {
        texts.retain(|one| !one.text.trim().is_empty());
        Self { texts, first: Vec::new(), nonce: nonce.to_owned() }
    }

    /// Whether any of it was said outside.
    pub(super) fn is_outside(&self) -> bool {
        self.texts.iter().any(|one| one.outside)
    }

    /// Tokens of all of it.
    pub(super) fn wanted(&self, counter: &Counter) -> usize {
        self.texts.iter().map(|one| counter.count(&self.show(one, &one.text)) + GAP).sum()
    }

    fn show(&self, one: &Text, text: &str) -> String {
        let text = match one.outside {
            true => &envelope::wrap("origin=tool", text, Some(&self.nonce)),
            false => text,
        };
        format!("{}\n{text}", one.label)
    }

    /// One text in its frame, shortened until it fits, and what it costs.
    fn squeeze(&self, one: &Text, room: usize, counter: &Counter) -> Option<(String, usize)> {
        let frame = counter.count(&self.show(one, "")) + GAP;
        let mut inside = room.saturating_sub(frame);
        // A text in its frame can cost a little more than both apart.
        for _ in 0..4 {
            let text = cut::middle(&one.text, inside, counter);
            if text.is_empty() {
                return None;
            }
            let shown = self.show(one, &text);
            let cost = counter.count(&shown) + GAP;
            if cost <= room {
                return Some((shown, cost));
            }
            inside = inside.saturating_sub(cost - room);
        }
        None
    }

    /// As much of it as fits: whole texts; one that does not fit loses its middle, with a mark; how
    /// many have no room at all is said.
    pub(super) fn fit(&self, tokens: usize, counter: &Counter) -> String {
        let mut kept: Vec<Option<String>> = vec![None; self.texts.len()];
        let reserve = if self.wanted(counter) > tokens { MISSING } else { 0 };
        let mut room = tokens.saturating_sub(reserve);
        for at in &self.first {
            let Some(one) = self.texts.get(*at) else { continue };
            let Some((shown, cost)) = self.squeeze(one, room, counter) else { continue };
            room -= cost;
            if let Some(slot) = kept.get_mut(*at) {
                *slot = Some(shown);
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
