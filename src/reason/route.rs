//! What a question needs, before anything is done for it: a rule decides it, or a small model says
//! whether memory and tools are needed at all and writes the question anew for the memory. Without that
//! model every question gets the whole loop.

use serde::Deserialize;
use serde_json::json;

use super::drive::{Drive, Halt};
use super::event::{Route, Routed, Spent};
use super::rules::Decider;
use crate::model::{Prompt, Role, Said, Turn, Who};
use crate::{mask, schema};

/// Tools that the small model is told of, and characters of each.
const TOOLS: usize = 24;
const WORDS: usize = 80;
/// Tokens of its answer.
const ANSWER: u32 = 200;
/// Begins why a question is routed so, where the small model said it.
const SAID: &str = "the small model: ";
/// Longest rewritten question, in characters.
const REWRITTEN: usize = 1000;

const RULES: &str = "You decide what is needed to answer a question. Answer with one JSON object: \
     `needs` is `none` for small talk and thanks only, `memory` if stored knowledge, cases or rules \
     suffice, `tools` if only current data of a tool can answer, `both` otherwise or if you are not \
     sure; `query` is the question as a full sentence for a search, in its own language, with every \
     name, number, unit and date as it is, and with what earlier questions add to it.";

/// What the small model answers.
#[derive(Debug, Deserialize)]
struct Verdict {
    needs: String,
    #[serde(default)]
    query: String,
}

impl Drive {
    /// How the question is answered.
    pub(super) async fn route(&self) -> Result<Routed, Halt> {
        if self.lead().is_some() {
            let why = "it was put to an orchestrator, which makes a plan".to_owned();
            return Ok(Routed { route: Route::Plan, why, ..Routed::default() });
        }
        match self.decider() {
            Ok(Some(Decider::Rule(rule, _))) => {
                let why = "a declared rule is for this question".to_owned();
                let rule = rule.rule.id.clone();
                return Ok(Routed { route: Route::Rule, rule, why, ..Routed::default() });
            }
            Ok(Some(Decider::Again(_))) => {
                let why = "it changes a value of an earlier comparison, which code makes again";
                let (route, why) = (Route::Comparison, why.to_owned());
                return Ok(Routed { route, why, ..Routed::default() });
            }
            Ok(None) => {}
            Err(why) => self.unfit(&why).await?,
        }
        let agent = self.log.story(|story| story.started.agent.clone());
        if !agent.is_empty() {
            let why = format!("`{agent}` has the tools and collections that it declares");
            return Ok(Routed { why, ..Routed::default() });
        }
        if !self.inner.models.serves(Role::Router) {
            let why =
                "no small model decides, so that memory and tools are both at hand".to_owned();
            return Ok(Routed { why, ..Routed::default() });
        }
        let slot = self.routing_slot();
        if let Some(slot) = &slot
            && let Some(routed) = self.routed_before(slot).await
        {
            return Ok(routed);
        }
        let prompt = self.routing();
        let who = Who::Role(Role::Router);
        let asked = self.inner.models.ask(who, &prompt, &self.purse, None);
        let Some(said) = self.inner.closing().run_until_cancelled(asked).await else {
            return Err(Halt::Closing);
        };
        Ok(match said {
            Ok(said) => {
                let routed = self.routed(&said);
                if let Some(slot) = slot.filter(|_| routed.why.starts_with(SAID)) {
                    self.keep_routing(&slot, &routed);
                }
                routed
            }
            Err(failed) => Routed {
                why: format!("the small model did not say: {}", mask::text(&failed.to_string())),
                spent: Some(Spent { tried: failed.tried().to_vec(), ..Spent::default() }),
                ..Routed::default()
            },
        })
    }

    /// What the small model is asked.
    fn routing(&self) -> Prompt {
        let snapshot = self.inner.pipeline.snapshot();
        let (tools, _) = snapshot.tools_for(&self.visitor.caller);
        let shown = tools.iter().take(TOOLS).map(|tool| {
            let words: String = tool.description.chars().take(WORDS).collect();
            format!("- {}: {}", tool.name, words.lines().next().unwrap_or_default())
        });
        let shown: Vec<String> = shown.collect();
        let mut parts = Vec::new();
        if !shown.is_empty() {
            parts.push(format!("Tools:\n{}", shown.join("\n")));
        }
        parts.extend(self.earlier_words());
        parts.push(format!("Question: {}", self.question));
        Prompt {
            system: RULES.to_owned(),
            turns: vec![Turn::User(parts.join("\n\n"))],
            shape: Some(json!({
                "type": "object",
                "properties": {
                    "needs": { "type": "string", "enum": ["none", "memory", "tools", "both"] },
                    "query": { "type": "string" },
                },
                "required": ["needs", "query"],
                "additionalProperties": false,
            })),
            max_output: Some(ANSWER),
            by: Some(self.end()),
            ..Prompt::default()
        }
    }

    /// Its answer; what cannot be read is as if it had not been asked.
    fn routed(&self, said: &Said) -> Routed {
        let spent = Spent::of(said);
        let text = said.text.trim().trim_start_matches("```json").trim_matches('`').trim();
        let read = serde_json::from_str::<Verdict>(text).ok().or_else(|| {
            let mended = schema::from_notation(text)?;
            serde_json::from_str(&mended).ok()
        });
        let (route, why) = match read.as_ref().map(|verdict| verdict.needs.as_str()) {
            Some("none") => (Route::Direct, "neither memory nor tools"),
            Some("memory") => (Route::Memory, "the memory alone"),
            Some("tools") => (Route::Tools, "tools alone"),
            Some("both") => (Route::Loop, "memory and tools"),
            _ => (Route::Loop, ""),
        };
        let query = read.map(|verdict| verdict.query).unwrap_or_default();
        let query: String = query.trim().chars().take(REWRITTEN).collect();
        // A rewritten question that lost a number would find something else.
        let kept = numbers(&self.question).all(|number| query.contains(number));
        let rewritten = if kept && query != self.question { query } else { String::new() };
        let why = match why {
            "" => "the small model's answer cannot be read".to_owned(),
            why => format!("{SAID}{why}"),
        };
        Routed { route, rewritten, rule: String::new(), why, spent: Some(spent) }
    }
}

/// The runs of digits of a text.
fn numbers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_digit()).filter(|run| !run.is_empty())
}
