//! All that an answer hangs on beside its question, and the two names under which it is kept for that
//! question: one for equal questions, one for those that differ in nothing that counts.

use std::time::Duration;

use jiff::Timestamp;
use unicode_normalization::UnicodeNormalization;

use super::alike;
use crate::admission::Caller;
use crate::call::digest_of;

/// What holds at some time of the day changes at its quarter hours, in every zone there is.
const QUARTER: Duration = Duration::from_secs(15 * 60);
/// Bytes of a question beyond which only equal ones are looked for.
const LONGEST: usize = 2048;

/// What has to be equal for an answer to be given again.
#[derive(Debug, Clone, Copy)]
pub(in crate::reason) struct Setting<'s> {
    /// Who asks, with its tenant and roles.
    pub(in crate::reason) caller: &'s Caller,
    /// Who answers; empty for the default agent.
    pub(in crate::reason) agent: &'s str,
    /// Digest of the catalog, the policies, the rules and the agents in force. The models change with the
    /// daemon alone, and what is kept is gone with it.
    pub(in crate::reason) version: &'s str,
    /// How the memory stands, as `Desk::mark` told before it was asked; empty for what does not hang on
    /// it.
    pub(in crate::reason) memory: &'s str,
    /// Collections to look into; empty for all.
    pub(in crate::reason) collections: &'s [String],
    /// The date that is asked about; empty for now.
    pub(in crate::reason) as_of: &'s str,
    /// The run that the question follows up; empty for none.
    pub(in crate::reason) previous: &'s str,
}

/// Where what is found for one question in one setting is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::reason) struct Slot {
    /// The name that it has with equal questions.
    pub(super) equal: [u8; 32],
    /// The name that it has with questions that may be nearly equal; `None` for a long one.
    pub(super) alike: Option<[u8; 32]>,
    /// The question, in one spelling.
    pub(super) text: String,
}

impl Setting<'_> {
    /// The slot of a question.
    pub(super) fn slot(&self, question: &str) -> Slot {
        self.slot_at(question, Timestamp::now())
    }

    pub(super) fn slot_at(&self, question: &str, now: Timestamp) -> Slot {
        let setting = self.digest(now);
        let text = spelled(question);
        let alike = (text.len() <= LONGEST).then(|| {
            let read = alike::Signature::read(&text);
            digest_of([setting.as_str(), "alike", &read.key()])
        });
        Slot { equal: digest_of([setting.as_str(), "equal", &text]), alike, text }
    }

    fn digest(&self, now: Timestamp) -> String {
        let mut collections = self.collections.to_vec();
        collections.sort_unstable();
        collections.dedup();
        let mut roles = self.caller.roles.clone();
        roles.sort_unstable();
        let quarter = match self.as_of {
            "" => (now.as_second() / QUARTER.as_secs().cast_signed()).to_string(),
            _ => String::new(),
        };
        let whole = |names: &[String]| hex::encode(digest_of(names));
        let (collections, roles) = (whole(&collections), whole(&roles));
        let parts = [
            self.caller.tenant.as_str(),
            &self.caller.name,
            &roles,
            self.agent,
            self.version,
            self.memory,
            &collections,
            self.as_of,
            self.previous,
            &quarter,
        ];
        hex::encode(digest_of(parts))
    }
}

/// A question in one spelling: compatibility forms and white space evened out, without marks at its end.
/// Letter case stays: it can tell a name.
fn spelled(question: &str) -> String {
    let plain: String = question.nfkc().collect();
    let words: Vec<&str> = plain.split_whitespace().collect();
    let whole = words.join(" ");
    let end = |one: char| matches!(one, '?' | '!' | '.' | '\u{3002}' | '\u{2026}' | ' ');
    let bare = whole.trim_end_matches(end);
    if bare.is_empty() { whole } else { bare.to_owned() }
}
