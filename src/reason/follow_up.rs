//! What earlier runs leave for the next question: their summaries, at most three, in the prompt and for
//! the rules, so that a question such as "and if it were 8,000?" is decided again and not remembered.

use std::collections::BTreeSet;

use super::drive::{Drive, one_line};
use super::event::{Event, Kept};
use super::{Inner, RunId};
use crate::admission::Caller;
use crate::call::Taint;
use crate::evidence::{Answer, Decision, Operand, Summary};

/// How many earlier runs a run is told of.
const EARLIER: usize = 3;
/// Longest question of an earlier run in a prompt, in characters.
const QUESTION: usize = 300;
/// Longest value of an earlier comparison in a prompt, in characters.
const VALUE: usize = 60;

impl Inner {
    /// The summaries of the runs that a run follows up, latest first.
    pub(super) async fn earlier<'k>(
        &self,
        events: impl IntoIterator<Item = &'k Kept>,
    ) -> Vec<Summary> {
        let first = events.into_iter().next();
        let previous = first.and_then(|kept| match &kept.event {
            Event::Started(started) => started.previous.clone(),
            _ => None,
        });
        match previous {
            Some(previous) => self.left_by(&previous).await,
            None => Vec::new(),
        }
    }

    /// What a run left; where it ended without an answer, what the runs before it left for it. That they are
    /// of the same caller was checked when the one after each began.
    pub(super) async fn left_by(&self, run: &RunId) -> Vec<Summary> {
        let mut previous = Some(run.clone());
        for _ in 0..EARLIER {
            let Some(run) = previous.take() else { break };
            let events = match self.store.whole(&run).await {
                Ok(events) => events,
                Err(error) => {
                    tracing::warn!(%run, %error, "what an earlier run left cannot be read");
                    return Vec::new();
                }
            };
            if let Some(Kept { event: Event::Started(started), .. }) = events.first() {
                previous.clone_from(&started.previous);
            }
            if let Some(Event::Answer(answered)) = events.into_iter().next_back().map(|k| k.event) {
                return answered.follow_ups;
            }
        }
        Vec::new()
    }
}

impl Inner {
    /// What the runs that a run follows up have read, all the way back. What they left stands in its
    /// prompt, and so it is as tainted as they are; where that cannot be told, as one that read what nobody
    /// searched.
    pub(super) async fn brought(
        &self,
        previous: Option<&RunId>,
        caller: &Caller,
    ) -> BTreeSet<Taint> {
        let (mut taint, mut previous) = (BTreeSet::new(), previous.cloned());
        for _ in 0..EARLIER {
            let Some(run) = previous.take() else { break };
            let ledger = self.pipeline.ledger();
            match ledger.session(&caller.name, &caller.tenant, run.as_str()).await {
                Ok(session) => taint.extend(session.taint),
                Err(error) => {
                    tracing::warn!(%run, %error, "what an earlier run read cannot be told");
                    taint.insert(Taint::Unsearched);
                }
            }
            let events = self.store.whole(&run).await.unwrap_or_else(|error| {
                tracing::warn!(%run, %error, "what an earlier run recalled cannot be told");
                Vec::new()
            });
            if events.is_empty() {
                taint.insert(Taint::Unsearched);
            }
            for kept in events {
                match kept.event {
                    Event::Recalled(recalled) => taint.extend(recalled.taint),
                    // It knows what those before it brought; one of an older version does not.
                    Event::Started(earlier) => match earlier.brought {
                        Some(brought) => taint.extend(brought),
                        None => previous = earlier.previous,
                    },
                    _ => {}
                }
            }
        }
        taint
    }
}

impl Drive {
    /// The earlier questions in words, each one text, oldest first.
    pub(super) fn earlier_words(&self) -> Vec<String> {
        self.earlier.iter().rev().map(words).collect()
    }

    /// What this run leaves: its own summary, then those before it.
    pub(super) fn summaries(&self, answer: &Answer) -> Vec<Summary> {
        self.proof().leaves(answer)
    }
}

/// A summary in words. What was decided then is told as such, and is no evidence.
fn words(summary: &Summary) -> String {
    let question: String = summary.question.chars().take(QUESTION).collect();
    let mut text = format!("Earlier question: {question}");
    if let Some(Decision { value, rule, .. }) = &summary.decision {
        text.push_str(&format!("\nDecided then: {value}"));
        if let Some(rule) = rule {
            text.push_str(&format!(" by rule `{rule}`"));
        }
    }
    let operands: Vec<String> = summary.operands.iter().map(spelled).collect();
    if !operands.is_empty() {
        text.push_str(&format!("\nCompared then: {}", operands.join(", ")));
    }
    text
}

fn spelled(operand: &Operand) -> String {
    let value = if operand.spelled.is_empty() {
        operand.value.to_string()
    } else {
        operand.spelled.clone()
    };
    // It can come from outside: a value in one line, and nothing that reads like a text.
    let value: String = one_line(&value).chars().take(VALUE).collect();
    if operand.name.is_empty() { value } else { format!("{} = {value}", operand.name) }
}
