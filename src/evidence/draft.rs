//! A model's final words: JSON or prose in, a draft of the answer out. Whether it stands is decided by
//! the builder, not here.

use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

use super::trace::Label;

/// Most labels of one draft.
const LABELS: usize = 64;

/// An answer as it is proposed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Draft {
    /// In words.
    pub answer: String,
    /// The evidence and steps that it names.
    pub evidence: Vec<Label>,
    /// What it decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Claim>,
    /// What could not be found out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Whether it may be without evidence: small talk, decided before by the router and never by the
    /// model, so that it is not read from its words.
    #[serde(skip)]
    pub free: bool,
}

/// A decision as it is claimed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The decision in a word.
    pub value: String,
    /// The comparison or inference that it follows from.
    pub step: Label,
    /// Whether that step holds.
    pub holds: bool,
}

/// `[E1]`, `[E1, S2]`, `【E1】`.
static MARK: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"[\[【(（]\s*((?:Q|[ES]\d{1,4})(?:\s*[,，、;]\s*(?:Q|[ES]\d{1,4}))*)\s*[\]】)）]")
        .ok()
});

impl Draft {
    /// Reads `{"answer", "evidence", "decision", "missing"}`, with or without `{"final": ...}` around it.
    /// Labels in the words count as cited too.
    ///
    /// # Errors
    /// What the JSON lacks.
    pub fn from_json(value: &serde_json::Value) -> Result<Self, String> {
        let inner = value.get("final").unwrap_or(value);
        let mut draft: Self = serde_json::from_value(inner.clone())
            .map_err(|wrong| format!("the final answer cannot be read: {wrong}"))?;
        if draft.answer.trim().is_empty() {
            return Err("the final answer has no words: put them into `answer`".to_owned());
        }
        for label in marks(&draft.answer) {
            draft.cite(label);
        }
        draft.evidence.truncate(LABELS);
        Ok(draft)
    }

    /// Reads prose in which `[E1]` marks what supports it.
    pub fn from_prose(text: &str) -> Self {
        let mut draft = Self { answer: text.trim().to_owned(), ..Self::default() };
        for label in marks(text) {
            draft.cite(label);
        }
        draft.evidence.truncate(LABELS);
        draft
    }

    fn cite(&mut self, label: Label) {
        if !self.evidence.contains(&label) {
            self.evidence.push(label);
        }
    }
}

/// The labels that a text cites, in order.
pub(super) fn marks(text: &str) -> Vec<Label> {
    let Some(form) = MARK.as_ref() else { return Vec::new() };
    let groups = form.captures_iter(text).filter_map(|found| found.get(1));
    groups.flat_map(|group| group.as_str().split([',', '，', '、', ';']).map(Label::new)).collect()
}

/// A text without its marks, whose numbers are no values.
pub(super) fn unmarked(text: &str) -> String {
    MARK.as_ref().map_or_else(|| text.to_owned(), |form| form.replace_all(text, " ").into_owned())
}
