//! Questions that change one value of an earlier one ("and if it were 8,000?"): the question and the
//! summaries of earlier turns in, what is to be decided again out. The earlier answer plays no part.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::rule::Rules;
use super::trace::Summary;

/// What is to be decided again.
#[derive(Debug, Clone, PartialEq)]
pub enum FollowUp {
    /// The rule decides: start a plan for it with the values that are given.
    Rule {
        /// The rule's id.
        rule: String,
        /// The instant that it is asked for: the earlier one, unless the new question names another.
        as_of: Timestamp,
        /// Facts that the question gives, by name, as they are spelled: the changed one from the new
        /// question, the others from the earlier one.
        given: BTreeMap<String, Given>,
        /// The summary that it follows.
        summary: Box<Summary>,
    },
    /// No rule decided: the comparison is made again.
    Comparison {
        /// Which operand is changed: 0 for the left one.
        side: usize,
        /// Its new value, as it is spelled in the question.
        spelled: String,
        /// The unit that it takes from the earlier value where it has none.
        unit: String,
        /// The summary that it follows.
        summary: Box<Summary>,
    },
}

/// A value that a question gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// As it is spelled.
    pub spelled: String,
    /// The question that spells it: the new one, or an earlier one by its run.
    pub run: Option<String>,
}
