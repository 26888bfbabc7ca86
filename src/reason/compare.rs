//! The comparison that a model asks for like a tool, and that code answers: two values that stand in
//! evidence in, whether it holds out, as a step of the trace.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::drive::{Drive, Halt};
use super::errand::Errand;
use super::event::{Event, Observation, Wanted};
use super::observe::refused;
use crate::evidence::{self, Label, Operator, Pick, Step};

/// What a model is told of it.
pub(super) const DESCRIPTION: &str = "Compares two values that stand in evidence: numbers with units or currencies, dates, sets, \
     texts. Computed exactly by code. Never compare yourself: call this, and cite the step that it \
     gives.";

/// The schema of its arguments.
pub(super) fn schema() -> Value {
    let operators: Vec<&str> = Operator::ALL.iter().map(|one| one.as_str()).collect();
    let side = json!({
        "type": "object",
        "properties": {
            "evidence": { "type": "string", "description": "Label of the evidence that states the \
                 value: E1, E2, ..; Q for the question itself" },
            "value": { "type": "string", "description": "The value, spelled as it stands there, with \
                 its unit; or the name of a field of it" },
        },
        "required": ["evidence", "value"],
        "additionalProperties": false,
    });
    json!({
        "type": "object",
        "properties": {
            "left": side,
            "operator": { "type": "string", "enum": operators },
            "right": side,
        },
        "required": ["left", "operator", "right"],
        "additionalProperties": false,
    })
}

impl Drive {
    /// Compares, and keeps what came out.
    pub(super) async fn compare(
        &self,
        errand: &Errand,
        place: usize,
        wanted: &Wanted,
    ) -> Result<(), Halt> {
        let compared = match arguments(&wanted.arguments) {
            Err(why) => Err(("SCHEMA_VALIDATION_ERROR", why)),
            Ok((left, operator, right)) => {
                let now = Timestamp::now();
                let compared = self.proof().builder().compare(&left, operator, &right, now);
                compared.map_err(|refusal| (refusal.reason.as_str(), refusal.to_string()))
            }
        };
        let (code, told, step) = match compared {
            Ok(grown) => {
                let step = grown.step;
                let fresh = self.proof().fresh(&step);
                let told = json!({
                    "evidence": step.id, "status": "success",
                    "data": { "holds": holds(&step), "text": step.text },
                });
                (String::new(), told, fresh)
            }
            Err((code, why)) => (code.to_owned(), refused(code, &why), None),
        };
        self.step(&errand.task, step).await?;
        let observation = Observation {
            place: Some(place),
            tool: wanted.name.clone(),
            success: code.is_empty(),
            code,
            told,
            ..Observation::default()
        };
        self.add(&errand.task, Event::Observation(Box::new(observation))).await
    }
}

/// Whether a comparison holds, in the plain form that a model expects.
fn holds(step: &Step) -> Value {
    match step.result {
        Some(evidence::Value::Bool { holds }) => holds.into(),
        _ => Value::Null,
    }
}

/// Reads the arguments; numbers as well as texts, as models write both.
fn arguments(json: &str) -> Result<(Pick, Operator, Pick), String> {
    let value: Value = serde_json::from_str(json)
        .map_err(|error| format!("the arguments are no JSON: {error}"))?;
    let side = |name: &str| {
        let side = value.get(name).ok_or_else(|| format!("`{name}` is missing"))?;
        let text = |key: &str| match side.get(key) {
            Some(Value::String(text)) => Ok(text.clone()),
            Some(Value::Number(number)) => Ok(number.to_string()),
            Some(Value::Bool(one)) => Ok(one.to_string()),
            _ => Err(format!("`{name}.{key}` is missing, or no text")),
        };
        let evidence = text("evidence")?;
        let label = Label::new(evidence.trim_matches(['[', ']', ' ']));
        Ok::<Pick, String>(Pick::new(&label, text("value")?))
    };
    let operator = value.get("operator").and_then(Value::as_str).unwrap_or_default();
    let known = Operator::parse(operator).ok_or_else(|| {
        let all: Vec<&str> = Operator::ALL.iter().map(|one| one.as_str()).collect();
        format!("`{operator}` is no operator: take one of {}", all.join(" "))
    })?;
    Ok((side("left")?, known, side("right")?))
}
