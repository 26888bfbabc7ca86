//! What a model is told in words, where its provider does not tell it: the tools, and the form of its
//! answer.

use serde_json::{Value, json};

use super::super::config::Form;
use super::super::prompt::Prompt;
use super::tools::Told;

/// The words for a prompt in a form; none where the provider says it all. `loose` is whether what binds the
/// answer lets through more than its shape does.
pub(super) fn write(prompt: &Prompt, (form, loose): (Form, bool), told: &[Told]) -> String {
    let shape = prompt.shape.as_ref();
    match (form, told, shape) {
        (Form::Native | Form::Schema, [], _) if !loose => String::new(),
        (_, [], None) | (Form::Native, _, None) => String::new(),
        (_, [], Some(shape)) => format!(
            "Answer with one JSON object and nothing else: no prose, no code fence. It fits this \
             JSON Schema:\n{shape}"
        ),
        (Form::Native, ..) if prompt.must_call => String::new(),
        (Form::Native, _, Some(shape)) => format!(
            "Call tools as you need them. When you know the final answer, call none, and answer \
             with one JSON object and nothing else: {{\"final\": ANSWER}}, where ANSWER fits this \
             JSON Schema:\n{shape}"
        ),
        (Form::Schema | Form::Json | Form::Text, told, shape) => {
            spoken(told, (shape, prompt.must_call))
        }
    }
}

/// The schema of a final answer where none was asked for.
pub(super) fn prose() -> Value {
    json!({
        "type": "object", "properties": { "answer": { "type": "string" } },
        "required": ["answer"], "additionalProperties": false
    })
}

fn spoken(told: &[Told], (shape, must_call): (Option<&Value>, bool)) -> String {
    let mut words = "You can call these tools, one in each line:\n".to_owned();
    for tool in told {
        let none = json!({ "type": "object", "properties": {} });
        let parameters = tool.parameters().unwrap_or(&none);
        let line = json!({
            "name": tool.name, "description": tool.description(), "arguments": parameters
        });
        words.push_str(&line.to_string());
        words.push('\n');
    }
    words.push_str(
        "\nAnswer with exactly one JSON object and nothing else: no prose, no code fence.\n\
         To call a tool: {\"tool_call\": {\"name\": \"NAME\", \"arguments\": {..}}}\n",
    );
    if must_call {
        return words;
    }
    words.push_str(&match shape {
        None => "When you know the final answer: {\"final\": {\"answer\": \"..\"}}".to_owned(),
        Some(shape) => format!(
            "When you know the final answer: {{\"final\": ANSWER}}, where ANSWER fits this JSON \
             Schema:\n{shape}"
        ),
    });
    words
}
