//! Has an orchestrator's plan made, checked and made again with the reasons, and takes a plan up again
//! from the events of its run. Carries nothing out.

use super::course::Crew;
use super::{AGAIN, Board, Note, Plan, Staff};
use crate::mask;
use crate::model::{Failed, Prompt, Role, Said, Turn, Who};
use crate::reason::drive::{Drive, Halt};
use crate::reason::errand::{Errand, Outcome};
use crate::reason::event::{Event, Kept, Planned, Spent};
use crate::reason::refusal::lines;

/// Longest text of a plan that the record repeats, in characters.
const SHOWN: usize = 4000;
/// Longest plan that a model is shown again, in characters.
const AGAIN_SHOWN: usize = 16_000;

/// What the events of a run say of its plan.
#[derive(Default)]
pub(super) struct Past {
    pub(super) board: Option<Board>,
    /// The last plan that was refused, and why.
    refused: Option<(String, Vec<String>)>,
    attempts: usize,
}

impl Drive {
    /// What happened before a restart.
    pub(super) fn past(&self) -> Past {
        let mut past = Past::default();
        for kept in self.log.events() {
            let Kept { task, event, .. } = &*kept;
            match (event, &mut past.board) {
                (Event::Planned(planned), _) if planned.refusals.is_empty() => {
                    past.board = serde_json::from_value(planned.plan.clone()).ok().map(Board::new);
                }
                (Event::Planned(planned), _) => {
                    past.attempts += 1;
                    let text = match &planned.plan {
                        serde_json::Value::String(text) => text.clone(),
                        other => other.to_string(),
                    };
                    past.refused = Some((text, planned.refusals.clone()));
                }
                (Event::Message(told), Some(board)) => {
                    if let Ok(note) = serde_json::from_value::<Note>(told.message.clone()) {
                        board.take(task, note);
                    }
                }
                (Event::Ruling(ruled), Some(board)) => {
                    if let Ok(ruling) = serde_json::from_value(ruled.ruling.clone()) {
                        board.rule(ruling);
                    }
                }
                _ => {}
            }
        }
        past
    }

    /// Has the plan made until one can be run, or the run's outcome where none can.
    pub(super) async fn planned(
        &self,
        crew: &Crew,
        past: Past,
    ) -> Result<Result<Plan, Box<Outcome>>, Halt> {
        let staff = Staff { agents: &crew.agents, lead: &crew.lead, tools: &crew.tools };
        let (mut refused, mut attempts) = (past.refused, past.attempts);
        while attempts <= AGAIN {
            self.open()?;
            let mut asked = vec![self.question.clone()];
            asked.extend(self.earlier_words());
            if let Some((plan, reasons)) = &refused {
                let (plan, mend) = (shown(plan, AGAIN_SHOWN), Plan::mend(reasons));
                asked.push(format!("Your last plan was:\n{plan}\n\n{mend}"));
            }
            let prompt = Prompt {
                system: Plan::instructions(staff),
                turns: vec![Turn::User(asked.join("\n\n"))],
                shape: Some(Plan::shape(staff)),
                by: Some(self.end()),
                ..Prompt::default()
            };
            let said = match self.put(crew.lead.model(), &prompt).await? {
                Ok(said) => said,
                Err(failed) => {
                    let outcome = self.unanswered(&Errand::default(), &failed).await?;
                    return Ok(Err(Box::new(outcome)));
                }
            };
            attempts += 1;
            let read = Plan::read(&said.text);
            let refusals = match &read {
                Ok(plan) => plan.check(staff),
                Err(refusals) => refusals.clone(),
            };
            let plan = match &read {
                Ok(plan) => serde_json::to_value(plan).unwrap_or_default(),
                Err(_) => said.text.chars().take(SHOWN).collect::<String>().into(),
            };
            let reasons: Vec<String> = refusals.iter().map(ToString::to_string).collect();
            let spent = Some(Spent::of(&said));
            let text = plan.to_string();
            // Kept as the question is: without what is sensitive.
            let plan = serde_json::from_str(&mask::json(&text)).unwrap_or(plan);
            self.add("", Event::Planned(Planned { plan, refusals: reasons.clone(), spent }))
                .await?;
            match read {
                Ok(plan) if refusals.is_empty() => return Ok(Ok(plan)),
                _ => refused = Some((text, reasons)),
            }
        }
        let reasons = refused.map(|(_, reasons)| lines(&reasons)).unwrap_or_default();
        let why = format!("no plan of {attempts} could be run; of the last one:\n{reasons}");
        Ok(Err(Box::new(self.at_limit("model", "PLAN_REFUSED", &why))))
    }

    /// Asks a model, unless the daemon ends.
    pub(super) async fn put(
        &self,
        model: &str,
        prompt: &Prompt,
    ) -> Result<Result<Said, Failed>, Halt> {
        let asked = self.inner.models.ask(who(model), prompt, &self.purse, None);
        self.inner.closing().run_until_cancelled(asked).await.ok_or(Halt::Closing)
    }
}

/// The beginning of a text, with a mark where it is not the whole.
fn shown(text: &str, most: usize) -> std::borrow::Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}… (shortened)", text.get(..end).unwrap_or_default()).into(),
        None => text.into(),
    }
}

/// Whom the `model` of an agent names.
pub(in crate::reason) fn who(model: &str) -> Who<'_> {
    match model {
        "router" => Who::Role(Role::Router),
        "reasoner" => Who::Role(Role::Reasoner),
        "judge" => Who::Role(Role::Judge),
        "vision" => Who::Role(Role::Vision),
        endpoint => Who::Endpoint(endpoint),
    }
}
