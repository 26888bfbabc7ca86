//! Decides by a rule once its facts are known: comparisons by code, one conclusion, the words of the
//! outcome.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::fact;
use super::plan::{Plan, Stuck};
use crate::evidence::builder::Builder;
use crate::evidence::draft::{Claim, Draft};
use crate::evidence::trace::{Combine, Label, Operand, Step};
use crate::evidence::unit;
use crate::evidence::value::Value;

impl Plan {
    /// Decides. The draft is handed to [`Builder::answer`], which checks it like any other.
    ///
    /// # Errors
    /// [`Stuck`], where a fact is not known yet or two values cannot be compared.
    pub fn decide(&self, builder: &mut Builder, at: Timestamp) -> Result<Draft, Stuck> {
        let rule = &self.rule.rule;
        let (combine, comparisons) = match rule.decide.any.is_empty() {
            true => (Combine::All, &rule.decide.all),
            false => (Combine::Any, &rule.decide.any),
        };
        let mut compared: Vec<Step> = Vec::new();
        for one in comparisons {
            let (left, right) = (self.operand_of(&one.left)?, self.operand_of(&one.right)?);
            let grown = builder
                .compare_operands(left, one.operator, right, at)
                .map_err(|wrong| self.refused(wrong))?;
            compared.push(grown.step);
        }
        let premises: Vec<Label> = compared.iter().map(|step| step.id.clone()).collect();
        let mut evidence: Vec<Label> = vec![self.label.clone()];
        for label in compared.iter().flat_map(|step| &step.evidence) {
            if !evidence.contains(label) {
                evidence.push(label.clone());
            }
        }
        let text = format!("rule `{}`: {}", rule.id, rule.description);
        let step = builder.combine(combine, vec![self.label.clone()], premises, (text, at)).step;
        let holds = step.result == Some(Value::of(true));
        let outcome = if holds { &rule.then } else { &rule.otherwise };
        let claim = Claim { value: outcome.decision.clone(), step: step.id, holds };
        let words = outcome.words(&builder.trace().question);
        let answer = fact::fill(words, &|name| self.word(builder, name));
        let answer = answer.unwrap_or_else(|| words.to_owned());
        Ok(Draft { answer, evidence, decision: Some(claim), ..Draft::default() })
    }

    fn operand_of(&self, name: &str) -> Result<Operand, Stuck> {
        let found = self.known.get(name).cloned();
        found.ok_or_else(|| self.missing(name, "it was not read yet: read it first"))
    }

    /// A hole of an answer.
    fn word(&self, builder: &Builder, name: &str) -> Option<String> {
        if name == "as_of" {
            let zone = builder.zone().clone();
            return Some(builder.trace().as_of.to_zoned_datetime(zone).date().to_string());
        }
        let is_chinese = fact::is_chinese(&builder.trace().question);
        self.known.get(name).map(|operand| match &operand.value {
            Value::Quantity { number, unit } => {
                let name = unit::find(unit).map(|unit| unit.spoken(*number, is_chinese));
                format!("{number} {}", name.as_ref().unwrap_or(unit))
            }
            value => value.to_string(),
        })
    }

    /// The facts that are known, by name.
    pub const fn known(&self) -> &BTreeMap<String, Operand> {
        &self.known
    }
}
