//! What stands in double braces in a scripted answer is looked up in the question to the model, so that the
//! answer is made of what the model was told: `{{cite:TEXT}}` is the label of the evidence with that text,
//! `{{found:REGEX}}` what the last match of an expression holds in its first group.

use regex::Regex;
use serde_json::Value;

/// The beginning and the end of what is looked up.
const OPEN: &str = "{{";
const CLOSE: &str = "}}";

/// A value in which every text is filled from `told`, the question to the model.
pub(in crate::cli::eval) fn fill(value: &Value, told: &str) -> Result<Value, String> {
    Ok(match value {
        Value::String(text) => Value::String(words(text, told)?),
        Value::Array(items) => {
            Value::Array(items.iter().map(|item| fill(item, told)).collect::<Result<_, _>>()?)
        }
        Value::Object(members) => {
            let filled = members.iter().map(|(key, item)| Ok((key.clone(), fill(item, told)?)));
            Value::Object(filled.collect::<Result<_, String>>()?)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    })
}

fn words(text: &str, told: &str) -> Result<String, String> {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, from)) = rest.split_once(OPEN) {
        let Some((inner, after)) = closed(from) else {
            return Err(format!("`{OPEN}` in `{text}` has no `{CLOSE}`"));
        };
        out.push_str(before);
        out.push_str(&look(inner, told)?);
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

/// What stands before the end, and behind it. Of several braces the last two are the end: an expression may
/// have one of its own before them.
fn closed(text: &str) -> Option<(&str, &str)> {
    let from = text.find(CLOSE)?;
    let braces = text.get(from..)?.bytes().take_while(|byte| *byte == b'}').count();
    let end = from + braces;
    Some((text.get(..end - CLOSE.len())?, text.get(end..)?))
}

fn look(asked: &str, told: &str) -> Result<String, String> {
    match asked.split_once(':') {
        Some(("cite", text)) => cite(text, told)
            .ok_or_else(|| format!("no labelled evidence in the question has the text `{text}`")),
        Some(("found", pattern)) => {
            let pattern = Regex::new(pattern).map_err(|error| error.to_string())?;
            let last = pattern.captures_iter(told).last();
            let group = last.and_then(|found| found.get(1).or_else(|| found.get(0)));
            let group = group.map(|group| group.as_str().to_owned());
            group.ok_or_else(|| format!("`{pattern}` is not found in the question"))
        }
        _ => Err(format!("`{asked}` is neither `cite:TEXT` nor `found:REGEX`")),
    }
}

/// The label (E1, E2 and so on) of the evidence in which `text` stands first: the last one that is given out
/// before it, as `evidence=E1` or `"evidence":"E1"`.
fn cite(text: &str, told: &str) -> Option<String> {
    let (before, _) = told.split_once(text)?;
    let label = Regex::new(r#"evidence"?\s*[=:]\s*\[?"?(E[1-9][0-9]{0,3})\b"#).ok()?;
    label.captures_iter(before).last()?.get(1).map(|label| label.as_str().to_owned())
}
