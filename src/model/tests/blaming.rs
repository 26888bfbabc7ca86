//! What providers say when they refuse, and the part that is found in it.

use crate::model::blame::{Blame, What, blame, is_refusal};

use super::*;

fn chat_body() -> Value {
    json!({
        "model": "m", "temperature": 0, "max_tokens": 9, "stream": true,
        "tools": [{ "type": "function", "function": { "name": "get_weather", "parameters": {
            "type": "object", "properties": { "city": { "type": "string", "minLength": 1 } } } } }],
        "response_format": { "type": "json_schema", "json_schema": { "schema": { "type": "object" } } }
    })
}

fn gemini_body() -> Value {
    json!({
        "contents": [], "generationConfig": { "temperature": 0, "responseSchema": { "type": "OBJECT" } },
        "tools": [{ "functionDeclarations": [{ "name": "get_weather", "parameters": {
            "type": "OBJECT", "properties": { "city": { "type": "STRING", "additionalProperties": false } } } }] }]
    })
}

fn told(said: &Value, body: &Value) -> (What, String) {
    let Blame { what, part, .. } = blame(said.to_string().as_bytes(), body, true);
    (what, part)
}

#[test]
fn a_parameter_that_is_named_is_found() {
    let said = |param: &str| json!({ "error": { "message": "no", "param": param } });
    for (param, what, part) in [
        ("tools[0].function.parameters", What::Tools, "/tools/0/function/parameters"),
        ("tool_choice", What::Other, ""),
        ("response_format", What::Shape, "/response_format"),
        ("temperature", What::Temperature, "/temperature"),
        ("max_tokens", What::Other, "/max_tokens"),
        ("messages", What::Other, ""),
    ] {
        assert_eq!(told(&said(param), &chat_body()), (what, part.to_owned()), "{param}");
    }
}

#[test]
fn the_paths_of_gemini_lead_into_the_body() {
    let unknown = json!({ "error": { "code": 400, "status": "INVALID_ARGUMENT",
        "message": "Invalid JSON payload received. Unknown name \"additionalProperties\" at 'tools[0].function_declarations[0].parameters.properties[0].value': Cannot find field.",
        "details": [{ "fieldViolations": [{ "field": "tools[0].function_declarations[0].parameters" }] }] } });
    let place = "/tools/0/functionDeclarations/0/parameters";
    let expected = format!("{place}/properties/city/additionalProperties");
    assert_eq!(told(&unknown, &gemini_body()), (What::Tools, expected));
    let only = json!({ "error": { "message":
        "* GenerateContentRequest.tools[0].function_declarations[0].parameters.properties[city].type: must be specified\n" } });
    let expected = format!("{place}/properties/city/type");
    assert_eq!(told(&only, &gemini_body()), (What::Tools, expected));
    let shape =
        json!({ "error": { "message": "Invalid value at 'generation_config.response_schema'" } });
    let expected = "/generationConfig/responseSchema".to_owned();
    assert_eq!(told(&shape, &gemini_body()), (What::Shape, expected));
}

#[test]
fn anthropic_names_a_place_before_its_words() {
    let body =
        json!({ "tools": [{ "name": "get_weather", "input_schema": { "type": "object" } }] });
    let said = json!({ "type": "error", "error": { "type": "invalid_request_error", "message":
        "tools.0.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12" } });
    assert_eq!(told(&said, &body), (What::Tools, "/tools/0/input_schema".to_owned()));
}

#[test]
fn other_servers_say_it_in_words() {
    for said in [
        json!({ "error": "registry.ollama.ai/library/x does not support tools" }),
        json!({ "object": "error", "message": "\"auto\" tool choice requires --enable-auto-tool-choice" }),
        json!({ "detail": "function calling is not enabled" }),
    ] {
        assert_eq!(told(&said, &chat_body()).0, What::Tools, "{said}");
    }
    let list = json!({ "detail": [{ "loc": ["body", "response_format", "json_schema"], "msg": "extra field" }] });
    assert_eq!(told(&list, &chat_body()), (What::Shape, "/response_format/json_schema".to_owned()));
    let long = json!({ "error": { "message": "This model's maximum context length is 4096 tokens; the tools and messages have 9000" } });
    assert_eq!(told(&long, &chat_body()).0, What::Other);
}

#[test]
fn a_form_that_is_refused_as_such_is_told_from_a_schema_that_is() {
    let error = |message: &str| json!({ "error": { "message": message } });
    for said in [
        "registry.ollama.ai/library/x does not support tools",
        "tools param requires --jinja flag",
        "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set",
        "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
        "This response_format type is unavailable now",
        "Failed to deserialize: response_format: unknown variant `json_schema`, expected `text`",
        "grammar is not supported by this server",
    ] {
        let said = error(said);
        let found = blame(said.to_string().as_bytes(), &chat_body(), true);
        assert!(!found.schema && found.what != What::Other, "{said}: {found:?}");
    }
    for said in [
        error("failed to parse grammar"),
        error("The provided JSON schema contains features not supported by xgrammar."),
        error(
            "Invalid schema for response_format 'answer': In context=(), 'additionalProperties' is required",
        ),
        error("JSON schema conversion failed: Pattern must start with '^' and end with '$'"),
        json!({ "error": "invalid JSON schema in format" }),
        json!({ "error": { "message": "not permitted", "param": "tools[0].function.parameters" } }),
    ] {
        let found = blame(said.to_string().as_bytes(), &chat_body(), true);
        assert!(found.schema && found.what != What::Other, "{said}: {found:?}");
    }
}

#[test]
fn what_is_no_json_is_told_as_it_is() {
    let Blame { what, part, message, .. } = blame(b"<html>bad gateway", &chat_body(), true);
    assert_eq!((what, part.as_str(), message.as_str()), (What::Other, "", "<html>bad gateway"));
    assert!(is_refusal(b"failed to parse grammar") && !is_refusal(b"out of memory"));
}

#[test]
fn nothing_that_is_said_breaks_it() {
    let body = chat_body();
    for said in [
        "",
        "'",
        "\"'`",
        "{\"error\":{\"param\":\"tools[99999999999999999999].x\"}}",
        "{\"error\":{\"param\":\"[[[...\"}}",
        "{\"error\":[1]}",
        "[]",
        "context=('",
        "\u{1f980}'\u{1f980}'",
    ] {
        blame(said.as_bytes(), &body, true);
    }
}
