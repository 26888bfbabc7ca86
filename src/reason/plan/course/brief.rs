//! What an agent is given for a task: its question, what other tasks found, and nothing that is not its
//! own. What other agents found is data, each piece one JSON object.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};

use super::{Course, Job, ancestors};
use crate::evidence::{Item, Source};
use crate::reason::agent::Agent;
use crate::reason::message::{Message, Refusal, instructions, shape};
use crate::reason::plan::Task;
use crate::reason::refusal::lines;

/// Longest text of one piece that is given, in characters; of a longer one its beginning.
const PIECE: usize = 4000;

impl Course {
    pub(super) fn job(
        &self,
        (task, agent): (&Task, Arc<Agent>),
        attempt: u32,
        inputs: &BTreeMap<String, Value>,
        refusals: &[Refusal],
    ) -> Job {
        let errand = if attempt > 1 { format!("{}/{attempt}", task.id) } else { task.id.clone() };
        let is_last = self.board.plan().answer == task.id;
        let is_open = task.output.claims.is_empty() && task.output.schema.is_none();
        let mut role = vec![agent.instructions.trim().to_owned()];
        if !(is_last && is_open) {
            role.push(instructions(task, &self.crew.lead.claims));
        }
        if !refusals.is_empty() {
            role.push(format!(
                "What you gave before does not travel on:\n{}\nGive it again, with every fault mended.",
                lines(refusals)
            ));
        }
        Job {
            task: task.id.clone(),
            errand,
            question: task.goal.clone(),
            given: self.given(task, inputs),
            role: role.join("\n\n"),
            tools: self.tools(task, &agent),
            collections: self.collections(&agent),
            shape: (!is_open).then(|| shape(task)),
            agent,
        }
    }

    /// The caller's tools that the agent has and the task does not leave out.
    fn tools(&self, task: &Task, agent: &Agent) -> BTreeSet<String> {
        let named = |tool: &&String| task.tools.as_ref().is_none_or(|only| only.contains(tool));
        let own = self.crew.tools.iter().filter(|tool| agent.may_use(tool));
        own.filter(named).cloned().collect()
    }

    /// The collections of the run that the agent recalls from.
    fn collections(&self, agent: &Agent) -> Vec<String> {
        let own = |(name, layer): &&(String, _)| agent.may_recall(name, *layer);
        self.crew.shelves.iter().filter(own).map(|(name, _)| name.clone()).collect()
    }

    /// What a message is cited by: its own label as evidence, or those that it rests on.
    fn label(&self, message: &Message) -> Vec<String> {
        let is_it =
            |item: &&Item| matches!(&item.source, Source::Message { id, .. } if *id == message.id);
        match self.grounds.items.iter().find(is_it) {
            Some(item) => vec![item.id.as_str().to_owned()],
            None => message.evidence.iter().map(|one| one.as_str().to_owned()).collect(),
        }
    }

    fn given(&self, task: &Task, inputs: &BTreeMap<String, Value>) -> Vec<String> {
        let mut given: Vec<String> = inputs
            .iter()
            .map(|(name, value)| {
                let from = task.inputs.get(name).map_or("", |input| input.from.as_str());
                let ended = self.board.ended(from);
                let evidence = ended.map(|ended| ended.evidence.as_slice()).unwrap_or_default();
                let mut told = json!({
                    "input": name, "from": from, "value": value, "evidence": evidence,
                });
                let lost = ended.map(|ended| self.board.overruled(ended)).unwrap_or_default();
                if let Some(members) = told.as_object_mut().filter(|_| !lost.is_empty()) {
                    // The value may be the one that lost; the ruling below tells which holds.
                    members.insert("overruled".to_owned(), json!(lost));
                }
                piece(&told)
            })
            .collect();
        for need in &task.needs {
            let Some(ended) = self.board.ended(need) else { continue };
            if ended.messages.is_empty() && !task.inputs.values().any(|input| input.from == *need) {
                given.push(piece(&json!({
                    "from": need, "text": ended.text, "evidence": ended.evidence,
                })));
            }
            let lost = self.board.overruled(ended);
            for message in &ended.messages {
                // What lost does not travel on; the ruling below tells of it.
                if !lost.contains(&message.id.as_str()) {
                    given.push(piece(&json!({
                        "message": message.id,
                        "claim": message.claim,
                        "scope": message.scope,
                        "value": message.value.to_string(),
                        "confidence": message.confidence,
                        "evidence": self.label(message),
                    })));
                }
            }
        }
        let before = ancestors(self.board.plan(), &task.id);
        for ruling in self.board.rulings().iter().filter(|ruling| !ruling.case.is_review) {
            let mut tasks =
                ruling.case.packs.iter().filter_map(|pack| pack.message.rsplit_once('#'));
            if tasks.any(|(task, _)| before.contains(task)) {
                given.push(piece(&json!({ "ruling": ruling.told() })));
            }
        }
        given
    }
}

/// One piece, shortened with a mark.
fn piece(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(PIECE) {
        Some((end, _)) => format!("{}… (shortened)", text.get(..end).unwrap_or_default()),
        None => text,
    }
}
