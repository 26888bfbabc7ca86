//! The dialects of model hosts: in which one's terms a tool is described and a call is written. What
//! each means is in `catalog/dialect`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How one kind of model host describes tools and writes calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dialect {
    /// `OpenAI` and hosts that take its shape, without strict mode.
    Openai,
    /// `OpenAI` with strict mode for each tool that can be written in it.
    OpenaiStrict,
    /// The Messages API of Anthropic.
    Anthropic,
    /// `functionDeclarations` of Gemini, with its own subset of schemas.
    Gemini,
    /// Ollama and other local servers: the shape of `OpenAI`, schemas that simple parsers read.
    Plain,
}

/// A dialect that there is not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no dialect; there are openai, openai-strict, anthropic, gemini and plain")]
pub struct NoDialect(String);

impl Dialect {
    /// Every dialect.
    pub const ALL: [Self; 5] =
        [Self::Openai, Self::OpenaiStrict, Self::Anthropic, Self::Gemini, Self::Plain];

    /// The name of the dialect.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Openai => "openai",
            Self::OpenaiStrict => "openai-strict",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Plain => "plain",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Dialect {
    type Err = NoDialect;

    fn from_str(text: &str) -> Result<Self, NoDialect> {
        Self::ALL
            .into_iter()
            .find(|dialect| dialect.as_str() == text)
            .ok_or_else(|| NoDialect(text.chars().take(40).collect()))
    }
}
