//! Tokens of a text: by the tokenizer of the model that reads it where one is configured, else by an
//! estimate.

use std::path::Path;

use kitoken::Kitoken;

use super::Error;

/// Counts tokens.
pub struct Counter {
    tokenizer: Option<Box<Kitoken>>,
}

impl std::fmt::Debug for Counter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Counter").field("exact", &self.tokenizer.is_some()).finish()
    }
}

impl Counter {
    /// Reads a tokenizer file; without one, [`crate::tokens::count`] is used.
    pub fn open(path: Option<&Path>) -> Result<Self, Error> {
        let Some(path) = path else { return Ok(Self { tokenizer: None }) };
        let tokenizer = Kitoken::from_file(path).map_err(|error| Error::Config {
            key: "memory.context.tokenizer",
            reason: format!("`{}` cannot be read as a tokenizer: {error}", path.display()),
        })?;
        Ok(Self { tokenizer: Some(Box::new(tokenizer)) })
    }

    /// Tokens of a text; where the tokenizer cannot take it, the estimate.
    pub fn count(&self, text: &str) -> usize {
        let exact = |tokenizer: &Kitoken| Some(tokenizer.encode(text, false).ok()?.len());
        let exact = self.tokenizer.as_deref().and_then(exact);
        exact.unwrap_or_else(|| crate::tokens::count(text))
    }
}
