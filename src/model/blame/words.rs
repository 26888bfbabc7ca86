//! What the words of a refusal mean: which part of the form is refused, and whether it is the form as such
//! or only the schema that was sent in it.

use super::What;

/// What is refused.
pub(super) fn what(part: &str, message: &str, native: bool) -> What {
    let words = message.to_lowercase();
    let says = |list: &[&str]| list.iter().any(|word| words.contains(word));
    let root = part.split('/').nth(1).unwrap_or_default();
    let tools = if native { What::Tools } else { What::Shape };
    match root {
        "tool_choice" | "toolConfig" if native => What::Choice,
        "tools" | "tool_choice" => tools,
        "response_format" | "format" => What::Shape,
        "max_tokens" if says(&["max_completion_tokens"]) => What::Bound,
        "temperature" => What::Temperature,
        "stream_options" => What::Counted,
        "generationConfig" | "options" if part.ends_with("temperature") => What::Temperature,
        "generationConfig" if part.contains("/response") => What::Shape,
        "" if says(&["max_completion_tokens"]) => What::Bound,
        "" if says(&["stream_options"]) => What::Counted,
        "" if says(&["context length", "context size", "context window", "too long"]) => {
            What::Other
        }
        "" if native && says(&["tool", "function", "--jinja"]) => What::Tools,
        "" if says(&["schema", "grammar", "response_format", "response format", "json mode"]) => {
            tools
        }
        _ => What::Other,
    }
}

/// Words about what stands in a schema.
const IN_SCHEMA: [&str; 14] = [
    "invalid schema",
    "schema is invalid",
    "invalid json schema",
    "invalid json_schema",
    "schema contain",
    "schema conver",
    "schema too",
    "in context=",
    "keyword",
    "feature",
    "nesting",
    "too complex",
    "too many",
    "$ref",
];
/// What becomes of a grammar that a server makes of a schema.
const OF_GRAMMAR: [&str; 6] = ["parse", "compile", "conver", "fail", "invalid", "initialize"];
/// Words about something that is not there at all.
const AS_SUCH: [&str; 15] = [
    "not support",
    "unsupported",
    "unknown name",
    "unknown variant",
    "cannot find field",
    "extra input",
    "extra field",
    "unrecognized",
    "not enabled",
    "not available",
    "unavailable",
    "not implemented",
    "disabled",
    "requires",
    "--jinja",
];

/// Whether a refusal of tools or of a shape is for what stands in a schema, and not for the form as such.
/// Where nothing tells, it is: then only what was sent is sent in another way.
pub(super) fn is_of_schema(part: &str, message: &str) -> bool {
    let words = message.to_lowercase();
    let says = |list: &[&str]| list.iter().any(|word| words.contains(word));
    let inside = ["/parameters", "/input_schema", "/json_schema/schema"];
    let below = ["/format/", "/generationConfig/responseSchema/"];
    if inside.iter().any(|place| part.contains(place))
        || below.iter().any(|place| part.starts_with(place))
        || says(&IN_SCHEMA)
    {
        return true;
    }
    (words.contains("grammar") && says(&OF_GRAMMAR)) || !says(&AS_SUCH)
}
