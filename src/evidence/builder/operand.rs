//! Finds the value that one side of a comparison names: a label and a spelling in, an operand out.

use super::{Builder, Pick};
use crate::evidence::check;
use crate::evidence::derive::{Derived, How};
use crate::evidence::refusal::{Reason, Refusal};
use crate::evidence::trace::{Label, Operand};
use crate::evidence::value::Value;

impl Builder {
    /// The operand that is named.
    ///
    /// # Errors
    /// Where the evidence is not there, does not hold, or does not state the value.
    pub(in crate::evidence) fn operand(
        &self,
        pick: &Pick,
        place: &str,
    ) -> Result<Operand, Refusal> {
        if self.trace.item(&pick.evidence).is_none() {
            return Err(self.unknown(&pick.evidence, &format!("{place}/evidence")));
        }
        check::operand_of(&self.trace, pick, place)
    }

    /// An operand that is worked out of others.
    ///
    /// # Errors
    /// Where they do not go together.
    pub(in crate::evidence) fn derived(
        &self,
        name: &str,
        how: How,
        of: Vec<Operand>,
    ) -> Result<Operand, Refusal> {
        let mut operand = Operand {
            name: name.to_owned(),
            evidence: None::<Label>,
            fact: None,
            spelled: String::new(),
            unit: String::new(),
            kind: None,
            value: Value::of(false),
            derived: Some(Derived { how, of }),
        };
        operand.value = check::value_of(&self.trace, &operand, "/derived")?;
        Ok(operand)
    }

    /// Why a label names nothing here.
    pub(super) fn unknown(&self, label: &Label, place: &str) -> Refusal {
        let known: Vec<&str> =
            self.trace.evidence.iter().map(|item| item.id.as_str()).take(20).collect();
        let message = format!(
            "`{label}` is no evidence of this run: cite what was found, {}",
            known.join(", ")
        );
        Refusal::new(Reason::NotRetrieved, place, message)
    }
}
