//! What can be wrong with a JSON text, and where. Made by the strict reader.

use std::fmt;

/// What is wrong with a JSON text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlawKind {
    /// More bytes than allowed.
    TooLarge,
    /// More nested than allowed.
    TooDeep,
    /// One object names a key twice.
    DuplicateKey,
    /// The text ends too early.
    Truncated,
    /// More text after the value.
    Trailing,
    /// Not a JSON number, or one beyond any use.
    Number,
    /// A string with a bad escape, a lone surrogate or a raw control character.
    Text,
    /// A key that cannot be carried.
    ReservedKey,
    /// Anything else.
    Syntax,
}

impl FlawKind {
    /// The kind as it stands in a violation.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TooLarge => "size",
            Self::TooDeep => "depth",
            Self::DuplicateKey => "duplicate_key",
            Self::Truncated => "truncated",
            Self::Trailing => "trailing",
            Self::Number => "number",
            Self::Text => "text",
            Self::ReservedKey => "reserved_key",
            Self::Syntax => "syntax",
        }
    }
}

/// Where and why a text is not the JSON that it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// What is wrong.
    pub kind: FlawKind,
    /// JSON Pointer of the value being read.
    pub pointer: String,
    /// Bytes before the flaw.
    pub offset: usize,
    /// Line, from 1.
    pub line: usize,
    /// Character in the line, from 1.
    pub column: usize,
    /// What is wrong and how to mend it.
    pub message: String,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { message, line, column, .. } = self;
        write!(f, "{message} (line {line}, column {column})")
    }
}
