//! A context for a model under a budget of tokens: instructions, working memory and what was recalled
//! in, one text out, each part within its share. Nothing is cut without a mark, and what is not trusted
//! stands in an envelope that its own text cannot close. Recalls nothing itself.

mod counter;
mod cut;
mod envelope;
mod recalled;
mod share;

use serde::{Deserialize, Serialize};

pub use counter::Counter;
pub use share::Shares;

use super::{Recalled, Recollection};
use std::path::PathBuf;

/// Tokens of a context that names no number.
const BUDGET: usize = 8000;
/// Fewest that a context can have: labels and marks take some.
const LEAST: usize = 128;
/// Most.
const MOST: usize = 1_000_000;

/// How contexts are put together: the table `memory.context`.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Parts of the budget.
    pub shares: Shares,
    /// Trust below which a unit stands in an envelope, 0 to 100; default 60. What a tool, a file or a
    /// web page said always does.
    pub trusted: u8,
    /// Tokenizer file of the model that reads the contexts, as `tokenizer.json` or `.tiktoken`; default
    /// none. Without it tokens are estimated for OpenAI's `o200k_base`: within 15 % of the true number
    /// for pieces of 300 tokens and more.
    pub tokenizer: Option<PathBuf>,
}

impl Default for Config {
    fn default() -> Self {
        Self { shares: Shares::default(), trusted: 60, tokenizer: None }
    }
}

/// What goes into a context beside what was recalled.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Material {
    /// What the model is told to do.
    pub instructions: String,
    /// Its tools, each as one text, most important first.
    pub tools: Vec<String>,
    /// What is asked.
    pub question: String,
    /// The turns before it, oldest first; the last two are used.
    pub turns: Vec<String>,
    /// Results of tools of the running work, oldest first.
    pub results: Vec<String>,
}

/// A context.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Assembled {
    /// The whole text: what the marks mean, where there are any, then the parts.
    pub text: String,
    /// Its tokens, as the counter counts.
    pub tokens: usize,
    /// Its parts, in order.
    pub parts: Vec<Part>,
    /// What of the recalled units is in it, best first.
    pub units: Vec<Used>,
    /// The mark that ends each envelope; known to nobody before.
    pub nonce: String,
}

/// A part of a context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Part {
    /// `instructions`, `recalled` or `working`.
    pub name: &'static str,
    /// Its text.
    pub text: String,
    /// Its tokens.
    pub tokens: usize,
    /// What its share allowed, with what others left over.
    pub granted: usize,
    /// What it would take whole.
    pub wanted: usize,
}

/// What became of a recalled unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Used {
    /// Its evidence id.
    pub evidence: String,
    /// How much of it there is.
    pub form: Detail,
    /// Whether it stands in an envelope.
    pub enveloped: bool,
}

/// How much of a unit a context has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Detail {
    /// All of it.
    Whole,
    /// The passages that were found, and its value; marked.
    Passages,
    /// Its key and its value; marked.
    Value,
    /// The same, cut at the end; marked.
    Cut,
    /// Nothing: it did not fit.
    Left,
}

/// Why there is no context.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The budget cannot be kept.
    #[error("the budget of `{0}` tokens cannot be kept: {LEAST} to {MOST}")]
    Budget(usize),
    /// A value of the configuration is out of the question.
    #[error("the configuration key `{key}` is wrong: {reason}")]
    Config {
        /// The key, with its tables.
        key: &'static str,
        /// What is wrong and how to mend it.
        reason: String,
    },
}

/// Whether a text holds a piece of a context, which is nothing new.
pub(super) fn is_copied(text: &str) -> bool {
    envelope::is_copied(text)
}

/// Puts contexts together.
#[derive(Debug)]
pub struct Context {
    config: Config,
    counter: Counter,
}

impl Context {
    /// Reads the tokenizer, where there is one.
    pub fn new(config: Config) -> Result<Self, Error> {
        config.shares.check()?;
        if config.trusted > 100 {
            return Err(Error::Config {
                key: "memory.context.trusted",
                reason: format!("`{}` is above 100", config.trusted),
            });
        }
        let counter = Counter::open(config.tokenizer.as_deref())?;
        Ok(Self { config, counter })
    }

    /// Whether a unit stands in an envelope, since what it says is not trusted.
    pub fn envelops(&self, hit: &Recollection) -> bool {
        envelope::is_needed(hit, &self.config)
    }

    /// One context of at most `tokens`; 0 for 8000.
    ///
    /// The budget is 15 % instructions and tools, 45 % working memory, 40 % recalled units. What a part
    /// does not need goes to the working memory, then to the recalled units, then to the instructions.
    pub fn assemble(
        &self,
        tokens: usize,
        material: &Material,
        recalled: &Recalled,
    ) -> Result<Assembled, Error> {
        let tokens = if tokens == 0 { BUDGET } else { tokens };
        if !(LEAST..=MOST).contains(&tokens) {
            return Err(Error::Budget(tokens));
        }
        let nonce = envelope::nonce(material, recalled);
        let instructions = share::Piece::instructions(material, &nonce);
        let working = share::Piece::working(material, &nonce);
        let units = recalled::units(recalled, (&self.config, &nonce), &self.counter);
        let wanted = [
            instructions.wanted(&self.counter),
            working.wanted(&self.counter),
            recalled::wanted(&units),
        ];
        let outside = working.is_outside() || units.iter().any(recalled::Unit::is_outside);
        let rule = if outside { envelope::RULE } else { "" };
        let reserved = share::BREAKS + self.counter.count(rule);
        let granted = self.config.shares.grant(tokens.saturating_sub(reserved), wanted);
        let [first, middle, last] = granted;
        let (found, used) = recalled::fit(units, last, &self.counter);
        let texts = [
            ("instructions", instructions.fit(first, &self.counter), first, wanted[0]),
            ("recalled", found, last, wanted[2]),
            ("working", working.fit(middle, &self.counter), middle, wanted[1]),
        ];
        let parts: Vec<Part> = texts
            .into_iter()
            .filter(|(_, text, _, _)| !text.is_empty())
            .map(|(name, text, granted, wanted)| Part {
                name,
                tokens: self.counter.count(&text),
                text,
                granted,
                wanted,
            })
            .collect();
        let texts = parts.iter().map(|part| part.text.as_str());
        let texts = Some(rule).filter(|rule| !rule.is_empty()).into_iter().chain(texts);
        let text = texts.collect::<Vec<_>>().join("\n\n");
        Ok(Assembled { tokens: self.counter.count(&text), text, parts, units: used, nonce })
    }
}

#[cfg(test)]
mod tests;
