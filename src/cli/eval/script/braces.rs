//! What stands in double braces in a scripted answer is looked up in the question to the model, so that the
//! answer is made of what the model was told: `{{cite:TEXT}}` is the label of the evidence with that text,
//! `{{found:REGEX}}` what the last match of an expression holds in its first group. Where labels are written in
//! other ways, `{{label:TEXT}}` is the last one before a text, `{{behind:TEXT}}` the first one behind it, and
//! `{{pack:TEXT}}` the last of a judge's packs before it.

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
        Some(("label", text)) => near(text, told, |before, _| labels(before, 'E').last()),
        Some(("behind", text)) => near(text, told, |_, behind| labels(behind, 'E').next()),
        Some(("pack", text)) => near(text, told, |before, _| labels(before, 'P').last()),
        _ => Err(format!(
            "`{asked}` is none of `cite:TEXT`, `found:REGEX`, `label:TEXT`, `behind:TEXT`, `pack:TEXT`"
        )),
    }
}

/// The label (E1, E2 and so on) of the evidence in which `text` stands first: the last one that is given out
/// before it, as `evidence=E1` or `"evidence":"E1"`.
fn cite(text: &str, told: &str) -> Option<String> {
    let (before, _) = told.split_once(text)?;
    let label = Regex::new(r#"evidence"?\s*[=:]\s*\[?"?(E[1-9][0-9]{0,3})\b"#).ok()?;
    label.captures_iter(before).last()?.get(1).map(|label| label.as_str().to_owned())
}

/// A label that is looked for in what stands before the first place of a text, and behind it.
fn near<'t>(
    text: &str,
    told: &'t str,
    find: impl FnOnce(&'t str, &'t str) -> Option<&'t str>,
) -> Result<String, String> {
    let found = told.split_once(text).and_then(|(before, behind)| find(before, behind));
    found
        .map(str::to_owned)
        .ok_or_else(|| format!("no label stands beside `{text}` in the question"))
}

/// The labels in a text: a letter with a number, as a word.
fn labels(text: &str, letter: char) -> impl Iterator<Item = &str> {
    text.match_indices(letter).filter_map(move |(at, _)| {
        let rest = text.get(at + 1..)?;
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let alone = !text.get(..at)?.ends_with(|one: char| one.is_alphanumeric())
            && !rest.get(digits..)?.starts_with(|one: char| one.is_alphanumeric() || one == '-');
        (digits > 0 && alone).then(|| text.get(at..=at + digits)).flatten()
    })
}
