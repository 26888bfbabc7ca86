//! What an orchestrator's model is asked: agents, tools and claims in, the words and the JSON Schema of
//! the plan that it is to make out.

use std::fmt;

use serde_json::{Value, json};

use super::{Plan, Staff};
use crate::reason::agent::Agent;
use crate::reason::refusal::lines;

/// Most tools that are named for one agent.
const TOOLS: usize = 24;

impl Plan {
    /// What the model is told: who there is, what a plan is, and what keeps one from being run.
    pub(crate) fn instructions(staff: Staff<'_>) -> String {
        let Staff { agents, lead, .. } = staff;
        let team: Vec<String> = agents.team(lead).map(|one| introduce(one, staff)).collect();
        let claims: Vec<String> = lead
            .claims
            .iter()
            .map(|(name, claim)| {
                let unit =
                    claim.unit.as_deref().map_or_else(String::new, |unit| format!(" in {unit}"));
                let form = claim.form.as_str();
                format!("- `{name}` ({form}{unit}): {}", claim.description.trim())
            })
            .collect();
        let claims = if claims.is_empty() {
            String::new()
        } else {
            let list = claims.join("\n");
            format!(
                "\n\nClaims that tasks can be asked to state in `output.claims`, with the scope they \
                 hold for in `output.scope`. Where two tasks state one claim of one scope, the values \
                 are compared and a contradiction is settled:\n{list}"
            )
        };
        format!(
            "{}\n\nYou do not answer the question yourself: you plan who finds out what. Answer with \
             one JSON object and nothing else:\n{}\n\nRules of a plan: 1 to {} tasks. Each `id` is \
             there once. `needs` lists the tasks that must have ended before; tasks that need nothing \
             of each other run at the same time. `inputs` takes a value out of the result of a needed \
             task by JSON Pointer (\"\" for all of it), and the goal names it as {{name}}. The task in \
             `answer` gives the answer, and depends on all others. `tools` narrows the tools of the \
             agent; leave it out for all of them.\n\nAgents:\n{}{claims}",
            lead.instructions.trim(),
            example(staff),
            lead.most_tasks(),
            team.join("\n"),
        )
    }

    /// What the model is told of a plan that was refused.
    pub(crate) fn mend(refusals: &[impl fmt::Display]) -> String {
        format!(
            "The plan cannot be run. Each line is one fault, with its code, its place as a JSON Pointer \
             and how to mend it:\n{}\nWrite the whole plan again, with every fault mended.",
            lines(refusals)
        )
    }

    /// JSON Schema of a plan of this orchestrator.
    pub(crate) fn shape(staff: Staff<'_>) -> Value {
        let agents: Vec<&str> =
            staff.agents.team(staff.lead).map(|one| one.name.as_str()).collect();
        let text = json!({ "type": "string" });
        let texts = json!({ "type": "array", "items": text });
        json!({
            "type": "object",
            "required": ["tasks", "answer"],
            "additionalProperties": false,
            "properties": {
                "tasks": {
                    "type": "array",
                    "minItems": 1,
                    "maxItems": staff.lead.most_tasks(),
                    "items": {
                        "type": "object",
                        "required": ["id", "agent", "goal"],
                        "additionalProperties": false,
                        "properties": {
                            "id": text,
                            "agent": { "type": "string", "enum": agents },
                            "goal": text,
                            "needs": texts,
                            "inputs": {
                                "type": "object",
                                "additionalProperties": {
                                    "type": "object",
                                    "required": ["from"],
                                    "additionalProperties": false,
                                    "properties": { "from": text, "place": text },
                                },
                            },
                            "tools": texts,
                            "output": {
                                "type": "object",
                                "additionalProperties": false,
                                "properties": {
                                    "schema": { "type": "object" },
                                    "claims": texts,
                                    "scope": { "type": "object", "additionalProperties": text },
                                },
                            },
                        },
                    },
                },
                "answer": text,
            },
        })
    }
}

/// One agent, and which of the caller's tools it has.
fn introduce(agent: &Agent, staff: Staff<'_>) -> String {
    let own: Vec<&str> =
        staff.tools.iter().map(String::as_str).filter(|tool| agent.may_use(tool)).collect();
    let more = match own.len().saturating_sub(TOOLS) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let own: Vec<&str> = own.into_iter().take(TOOLS).collect();
    let tools = if own.is_empty() {
        "no tools".to_owned()
    } else {
        format!("tools `{}`{more}", own.join("`, `"))
    };
    let memory = match agent.memory.collections.as_slice() {
        [] => "no memory".to_owned(),
        collections => format!("memory `{}`", collections.join("`, `")),
    };
    format!("- `{}`: {} ({tools}; {memory})", agent.name, agent.description.trim())
}

/// A plan made of the agents at hand, so that its form is seen.
fn example(staff: Staff<'_>) -> String {
    let Staff { agents, lead, .. } = staff;
    let mut workers = agents.team(lead).filter(|one| one.name != lead.name);
    let first = workers.next().map_or(lead.name.as_str(), |one| one.name.as_str());
    let second = workers.next().map_or(first, |one| one.name.as_str());
    let plan = json!({
        "tasks": [
            { "id": "find", "agent": first, "goal": "what is found out first" },
            {
                "id": "sum",
                "agent": second,
                "goal": "what is made of {found}",
                "needs": ["find"],
                "inputs": { "found": { "from": "find", "place": "" } },
            },
        ],
        "answer": "sum",
    });
    plan.to_string()
}
