//! Ends a run: a draft in, the answer or every reason against it out; or what is known so far.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::Builder;
use crate::evidence::check;
use crate::evidence::confidence;
use crate::evidence::draft::Draft;
use crate::evidence::refusal::Refusal;
use crate::evidence::trace::{Answer, Decision, Known, Label, Partial, Source};

/// Longest text of one known thing, in characters.
const WORDS: usize = 300;

impl Builder {
    /// Takes a draft as the answer.
    ///
    /// # Errors
    /// Each place in which it is not supported: evidence that was not retrieved, a decision that does not
    /// follow from its step, an answer that cites nothing. Places are those of the draft.
    pub fn answer(&mut self, draft: &Draft, at: Timestamp) -> Result<Answer, Vec<Refusal>> {
        let mut evidence: Vec<Label> = Vec::new();
        let step = draft.decision.as_ref().map(|claim| &claim.step);
        for label in draft.evidence.iter().chain(step) {
            if !evidence.contains(label) {
                evidence.push(label.clone());
            }
        }
        let decision = draft.decision.as_ref().map(|claim| Decision {
            value: claim.value.trim().to_owned(),
            step: claim.step.clone(),
            holds: claim.holds,
            rule: self.rule_of(&claim.step),
        });
        let mut answer = Answer {
            text: draft.answer.trim().to_owned(),
            evidence,
            decision,
            missing: draft.missing.clone(),
            unsupported: Vec::new(),
            free: draft.free,
            confidence: confidence::answer(Default::default(), (true, &self.trace.constants)),
            at: self.not_before(at),
        };
        answer.unsupported = check::unsupported(&self.trace, &answer, &self.zone);
        answer.confidence = check::confidence_of(&self.trace, &answer);
        let mut wrong = Vec::new();
        check::answer(&self.trace, &answer, "", &mut wrong);
        if !wrong.is_empty() {
            return Err(wrong);
        }
        self.trace.answer = Some(answer.clone());
        self.trace.partial = None;
        Ok(answer)
    }

    /// The rule that made a conclusion.
    fn rule_of(&self, step: &Label) -> Option<String> {
        let step = self.trace.step(step).filter(|step| check::is_rules(step))?;
        step.evidence.iter().find_map(|label| match &self.trace.item(label)?.source {
            Source::Rule { id, .. } => Some(id.clone()),
            _ => None,
        })
    }

    /// Says what is known so far, in the place of an answer.
    pub fn partial(&mut self, reason: &str, missing: Vec<String>) -> Partial {
        let cut = |text: &str| text.chars().take(WORDS).collect::<String>();
        let mut seen = BTreeSet::new();
        let items = self.trace.evidence.iter().filter(|item| !item.source.is_given());
        let items = items.map(|item| Known { id: item.id.clone(), text: cut(&item.text) });
        let steps = self.trace.steps.iter().filter(|step| step.operation.is_some());
        let steps = steps.map(|step| Known { id: step.id.clone(), text: cut(&step.text) });
        let known = items.chain(steps).filter(|one| seen.insert(one.id.clone())).collect();
        let partial = Partial { reason: reason.to_owned(), known, missing };
        self.trace.partial = Some(partial.clone());
        self.trace.answer = None;
        partial
    }
}
