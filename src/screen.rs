//! Finds text that gives instructions to a model: text from outside in, [`Finding`]s out. It is a
//! filter and no proof, so what it does not find stays untrusted too. It changes and drops nothing.

mod atoms;
mod bids;
mod keys;
mod laws;
mod patterns;
mod phrases;
mod sought;
#[cfg(test)]
mod tests;
mod views;

use serde::{Deserialize, Serialize};

use sought::Sought;
use views::View;

/// Text is looked at up to this many bytes; more of it is not.
pub const MOST_BYTES: usize = 512 << 10;
/// Score of text that people do not see.
const HIDDEN: f32 = 0.95;
/// Weight of marks that stand in nothing but a chat template; tags also stand in text about them.
const TEMPLATE: u32 = 90;
/// Longest excerpt in characters.
const EXCERPT: usize = 120;

/// A place that reads like an instruction to a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What kind of instruction it is.
    pub rule: Rule,
    /// How the text had to be read for it to show.
    pub reading: Reading,
    /// The text that was found, as it was read, at most 120 characters on one line.
    pub excerpt: String,
}

/// Kinds of instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// Asks to drop or ignore instructions that were given before.
    Override,
    /// Gives the reader another role or other rules.
    Role,
    /// Orders a behaviour for later, such as a tool call before every answer.
    Standing,
    /// Asks to keep something from the user.
    Concealment,
    /// Asks to send secrets, files or the conversation away.
    Exfiltration,
    /// Imitates the marks of a chat template or a tool call.
    Markup,
    /// Characters that a person does not see and a model reads.
    Hidden,
    /// Dictates what is to be said to a question.
    Answer,
    /// Speaks to the reader as to a model.
    Address,
    /// Orders a tool call.
    Tool,
    /// Orders what the reader is to remember.
    Memory,
    /// Claims to stand above other instructions, or to come from someone who does.
    Authority,
    /// Orders an action on someone's account.
    Task,
}

/// How a text was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// As it stands, look-alike letters and invisible characters evened out.
    Plain,
    /// With the spaces between single letters taken out.
    Spaced,
    /// Backwards.
    Reversed,
    /// With each letter moved by 13 places.
    Rot13,
    /// Percent-encoding, character references and escapes resolved.
    Unescaped,
    /// Decoded from base64 or hexadecimal digits.
    Decoded,
}

/// From which score on a text is taken to order something.
pub const ORDERS: f32 = 0.5;

/// What a whole text comes to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Screened {
    /// Each rule once, at its first place.
    pub findings: Vec<Finding>,
    /// How much the heaviest place reads like an order to a model, 0 to 1.
    pub score: f32,
    /// Whether it is written so that people do not see it, or imitates a chat template: nobody does
    /// that by accident.
    pub outright: bool,
}

/// Looks at one text. Each rule is reported once, at its first place.
pub fn screen(text: &str) -> Vec<Finding> {
    weigh(text, ORDERS).findings
}

/// Looks at one text and weighs what it finds. What is found by sentence is told where it comes to
/// `least` or more.
pub fn weigh(text: &str, least: f32) -> Screened {
    let text = text.get(..text.floor_char_boundary(MOST_BYTES)).unwrap_or(text);
    let mut whole = Screened::default();
    if let Some(excerpt) = views::hidden(text) {
        let finding = Finding { rule: Rule::Hidden, reading: Reading::Plain, excerpt };
        whole = Screened { findings: vec![finding], score: HIDDEN, outright: true };
    }
    views::each(text, &mut |view: View<'_>| whole.add(view, least));
    whole
}

impl Screened {
    /// Takes in what another piece of the same text comes to.
    pub fn join(&mut self, other: Self) {
        for finding in other.findings {
            if self.findings.iter().all(|known| known.rule != finding.rule) {
                self.findings.push(finding);
            }
        }
        self.score = self.score.max(other.score);
        self.outright |= other.outright;
    }

    fn add(&mut self, view: View<'_>, least: f32) {
        let sought = Sought::new(view.text);
        let known = patterns::hits(&sought, view.reading);
        let (heaviest, score) = laws::find(sought, &known);
        let told = heaviest.iter().filter(|_| score >= least);
        for hit in known.iter().chain(told) {
            if self.findings.iter().all(|known| known.rule != hit.rule) {
                let excerpt = excerpt(view.text, hit.range.clone());
                self.findings.push(Finding { rule: hit.rule, reading: view.reading, excerpt });
            }
        }
        let covert = match view.reading {
            Reading::Plain | Reading::Unescaped => false,
            Reading::Decoded => true,
            // Text without Latin letters reads the same in these ways.
            Reading::Spaced | Reading::Reversed | Reading::Rot13 => self.score < ORDERS,
        };
        let template = known.iter().any(|hit| hit.rule == Rule::Markup && hit.weight >= TEMPLATE);
        self.outright |= template || (covert && score >= ORDERS);
        self.score = self.score.max(score);
    }
}

fn excerpt(text: &str, range: std::ops::Range<usize>) -> String {
    text.get(range)
        .unwrap_or_default()
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(EXCERPT)
        .collect()
}
