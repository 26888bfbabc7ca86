//! Forms: what is refused is recorded with the part that caused it, answered from elsewhere or in another
//! form, and not tried again for a while.

use super::server::{Act, chat, fail, say};
use super::*;

const WHOLE: &str = "stream = false";

fn no_tools() -> Act {
    fail(
        400,
        &json!({ "error": { "message": "Invalid schema for function 'get_weather': In context=('properties', 'city'), 'minLength' is not permitted.",
            "type": "invalid_request_error", "param": "tools[0].function.parameters", "code": "invalid_function_parameters" } }),
    )
}

#[tokio::test]
async fn a_refused_schema_is_answered_from_the_next_and_recorded_with_its_part() {
    let (first, second) =
        (Server::start(vec![no_tools()]).await, Server::start(vec![say(&chat("Rain."))]).await);
    let models =
        open(&config(&[("one", &first, "openai", WHOLE), ("two", &second, "openai", WHOLE)]));
    let said = ask(&models, &weather()).await.unwrap();
    assert_eq!(outcomes(&said.tried), ["one refused", "two ok"]);
    let refused = &said.tried[0];
    assert_eq!(refused.part, "/tools/0/function/parameters/properties/city/minLength");
    assert_eq!((refused.status, refused.form), (Some(400), Form::Native));
    assert!(refused.message.contains("not permitted"), "{refused}");
}

#[tokio::test]
async fn a_refused_schema_is_tried_in_a_simpler_form_before_a_lower_one() {
    let call = "{\"tool_call\": {\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}}";
    let server = Server::start(vec![no_tools(), no_tools(), say(&chat(call))]).await;
    let models = one(&server, "openai", WHOLE);
    let said = ask(&models, &weather()).await.unwrap();
    assert_eq!(outcomes(&said.tried), ["only refused", "only refused", "only ok"]);
    assert_eq!((said.form, said.text.as_str()), (Form::Schema, call));
    let bodies = server.bodies();
    let simple = json!({
        "type": "object", "required": ["city"],
        "properties": { "city": { "type": "string" }, "days": { "type": "integer" } }
    });
    assert_eq!(bodies[1]["tools"][0]["function"]["parameters"], simple);
    assert_eq!(bodies[2].get("tools"), None);
    let turn = &bodies[2]["response_format"]["json_schema"]["schema"]["anyOf"];
    let called = &turn[0]["properties"]["tool_call"]["properties"];
    assert_eq!(called["name"]["enum"], json!(["get_weather"]));
    assert_eq!(called["arguments"], simple);
    // What the schema does not say stands in words.
    let system = bodies[2]["messages"][0]["content"].as_str().unwrap();
    assert!(system.starts_with("Be brief.\n\nYou can call these tools"), "{system}");
    assert!(system.contains("\"minLength\":1"), "{system}");
    let said = ask(&models, &weather()).await.unwrap();
    assert_eq!((outcomes(&said.tried), said.form), (vec!["only ok".to_owned()], Form::Schema));
}

fn called() -> Prompt {
    Prompt { must_call: true, shape: Some(shape()), ..weather() }
}

#[tokio::test]
async fn a_turn_that_has_to_be_a_call_is_bound_to_one() {
    for (provider, place, wanted) in [
        ("openai", "/tool_choice", json!("required")),
        ("anthropic", "/tool_choice", json!({ "type": "any" })),
        ("gemini", "/toolConfig/functionCallingConfig/mode", json!("ANY")),
        ("ollama", "/tool_choice", Value::Null),
    ] {
        let server = Server::start(vec![fail(500, &json!("no"))]).await;
        let models = one(&server, provider, "stream = false\nretries = 0");
        ask(&models, &called()).await.unwrap_err();
        ask(&models, &Prompt { must_call: false, ..called() }).await.unwrap_err();
        let bodies = server.bodies();
        let told = |at: usize| bodies[at].pointer(place).cloned().unwrap_or_default();
        assert_eq!((told(0), told(1)), (wanted, Value::Null), "{provider}");
    }
    for form in ["schema", "json", "text"] {
        let server = Server::start(vec![say(&chat("{}"))]).await;
        let keys = format!("stream = false\nform = \"{form}\"");
        ask(&one(&server, "openai", &keys), &called()).await.unwrap();
        let body = &server.bodies()[0];
        let schema = &body["response_format"]["json_schema"]["schema"];
        assert_eq!(schema["required"] == json!(["tool_call"]), form == "schema", "{body:#}");
        let system = body["messages"][0]["content"].as_str().unwrap();
        assert!(system.contains("To call a tool") && !system.contains("final"), "{system}");
    }
}

#[tokio::test]
async fn who_cannot_be_bound_to_a_call_is_asked_without_that() {
    let no = json!({ "error": { "message": "tool_choice 'required' is not supported", "param": "tool_choice" } });
    let server = Server::start(vec![fail(400, &no), say(&chat("Rain."))]).await;
    let models = one(&server, "openai", WHOLE);
    let said = ask(&models, &called()).await.unwrap();
    assert_eq!(
        (outcomes(&said.tried), said.form),
        (vec!["only refused".into(), "only ok".into()], Form::Native)
    );
    ask(&models, &called()).await.unwrap();
    let bodies = server.bodies();
    let bound: Vec<bool> = bodies.iter().map(|body| body.get("tool_choice").is_some()).collect();
    assert_eq!(bound, [true, false, false], "it is remembered");
}

/// A prompt with other tools.
fn others(names: &[&str]) -> Prompt {
    let offer = |name: &&str| Offer::Own {
        name: (*name).to_owned(),
        description: String::new(),
        schema: json!({ "type": "object", "properties": { "at": { "type": "string", "maxLength": 9 } } }),
    };
    Prompt { tools: names.iter().map(offer).collect(), ..question("When?") }
}

#[tokio::test]
async fn a_refused_schema_costs_no_other_tools_their_form() {
    let server = Server::start(vec![no_tools(), say(&chat("Rain."))]).await;
    let models = one(&server, "openai", WHOLE);
    let bounded = |at: usize, tool: usize| {
        let body = &server.bodies()[at]["tools"][tool]["function"]["parameters"];
        body.to_string().contains("Length")
    };
    ask(&models, &weather()).await.unwrap();
    assert!(!bounded(1, 0));
    // Other tools are told as ever; the refused one is not, whatever it is offered with.
    let said = ask(&models, &others(&["clock"])).await.unwrap();
    assert_eq!((said.tried.len(), said.form), (1, Form::Native));
    assert!(bounded(2, 0));
    let mut both = others(&["clock"]);
    both.tools.extend(weather().tools);
    let said = ask(&models, &both).await.unwrap();
    assert_eq!((said.tried.len(), said.form), (1, Form::Native));
    assert!(!bounded(3, 1));
}

#[tokio::test]
async fn a_form_that_is_refused_as_such_is_not_tried_again_for_any_tool() {
    let refused = fail(400, &json!({ "error": "m does not support tools" }));
    let server =
        Server::start(vec![refused, say(&chat("{\"final\": {\"answer\": \"Rain.\"}}"))]).await;
    let models = one(&server, "openai", WHOLE);
    let said = ask(&models, &weather()).await.unwrap();
    assert_eq!(
        (outcomes(&said.tried), said.form),
        (vec!["only refused".to_owned(), "only ok".to_owned()], Form::Schema)
    );
    let said = ask(&models, &others(&["clock"])).await.unwrap();
    assert_eq!((said.tried.len(), said.form), (1, Form::Schema));
    // What was sent there is whole.
    let body = server.bodies()[2]["response_format"].to_string();
    assert!(body.contains("maxLength"), "{body}");
}

#[tokio::test]
async fn a_grammar_that_a_server_cannot_make_of_a_shape_is_made_of_a_simpler_one() {
    let shape = json!({
        "type": "object", "required": ["id"], "additionalProperties": false,
        "properties": {
            "id": { "type": "string", "pattern": "[A-Z]+", "description": "The id." },
            "pattern": { "type": "string", "enum": ["a", "b"] },
            "list": { "type": "array", "minItems": 1, "items": { "$ref": "#/$defs/one" } }
        },
        "$defs": { "one": { "type": "integer", "minimum": 3 } }
    });
    let grammar = || {
        fail(
            400,
            &json!({ "error": { "code": 400, "message": "failed to parse grammar",
            "type": "invalid_request_error" } }),
        )
    };
    let prompt = Prompt { shape: Some(shape.clone()), ..question("Which?") };
    for keys in [WHOLE, "stream = false\nform = \"schema\""] {
        let server = Server::start(vec![grammar(), say(&chat("{\"id\": \"A\"}"))]).await;
        let said = ask(&one(&server, "openai", keys), &prompt).await.unwrap();
        assert_eq!(outcomes(&said.tried), ["only refused", "only ok"], "{keys}");
        let bodies = server.bodies();
        let told = |at: usize| bodies[at]["response_format"]["json_schema"]["schema"].clone();
        assert_eq!(told(0), shape);
        let simple = json!({
            "type": "object", "required": ["id"], "additionalProperties": false,
            "properties": {
                "id": { "type": "string", "description": "The id." },
                "pattern": { "type": "string", "enum": ["a", "b"] },
                "list": { "type": "array", "items": { "$ref": "#/$defs/one" } }
            },
            "$defs": { "one": { "type": "integer" } }
        });
        assert_eq!(told(1), simple);
        let words = bodies[1]["messages"][0]["content"].as_str().unwrap();
        assert!(words.contains("[A-Z]+"), "{words}");
        assert_eq!(bodies[0]["messages"][0]["role"], "user");
    }
    // Where nothing can be left out, it is not tried twice.
    let server = Server::start(vec![grammar(), say(&chat("{}"))]).await;
    let prompt = Prompt { shape: Some(super::shape()), ..question("Which?") };
    let said = ask(&one(&server, "openai", WHOLE), &prompt).await.unwrap();
    assert_eq!((said.tried.len(), said.form), (2, Form::Json));
}

#[tokio::test]
async fn forms_go_down_to_plain_text() {
    let refuse = |word: &str| {
        fail(422, &json!({ "error": { "message": format!("{word} is not supported") } }))
    };
    let acts = vec![
        refuse("tools"),
        refuse("response_format json_schema"),
        refuse("response_format json_object"),
        say(&chat("{\"final\": {\"answer\": \"Rain.\"}}")),
    ];
    let server = Server::start(acts).await;
    let said = ask(&one(&server, "openai", WHOLE), &weather()).await.unwrap();
    let forms: Vec<Form> = said.tried.iter().map(|one| one.form).collect();
    assert_eq!(forms, [Form::Native, Form::Schema, Form::Json, Form::Text]);
    let parts: Vec<&str> = said.tried.iter().map(|one| one.part.as_str()).collect();
    assert_eq!(parts, ["/tools", "/response_format", "/response_format", ""]);
    let bodies = server.bodies();
    assert_eq!(bodies[2]["response_format"], json!({ "type": "json_object" }));
    assert_eq!(bodies[3].get("response_format"), None);
}

#[tokio::test]
async fn a_form_that_is_set_is_the_only_one() {
    let server = Server::start(vec![no_tools()]).await;
    let failed = ask(&one(&server, "openai", "form = \"native\""), &weather()).await.unwrap_err();
    assert_eq!(outcomes(failed.tried()), ["only refused", "only refused"]);
    assert!(failed.tried().iter().all(|one| one.form == Form::Native), "{failed}");
    let server = Server::start(vec![say(&chat("{}"))]).await;
    let said = ask(&one(&server, "ollama", "form = \"json\"\nstream = false"), &weather()).await;
    assert!(said.is_err(), "an answer of another provider");
    let body = &server.bodies()[0];
    assert_eq!((&body["format"], body.get("tools")), (&json!("json"), None));
}

#[tokio::test]
async fn a_detail_that_is_refused_is_left_out_at_once_and_from_then_on() {
    let refuse = |param: &str, message: &str| {
        fail(400, &json!({ "error": { "message": message, "param": param } }))
    };
    let acts = vec![
        refuse("temperature", "Unsupported value: 'temperature' does not support 0"),
        refuse("max_tokens", "'max_tokens' is not supported. Use 'max_completion_tokens' instead."),
        say(&chat("4")),
    ];
    let server = Server::start(acts).await;
    let models = one(&server, "openai", WHOLE);
    let said = ask(&models, &question("2 + 2?")).await.unwrap();
    assert_eq!(outcomes(&said.tried), ["only refused", "only refused", "only ok"]);
    assert_eq!(said.tried[0].part, "/temperature");
    ask(&models, &question("3 + 3?")).await.unwrap();
    let bodies = server.bodies();
    for body in &bodies[2..] {
        assert_eq!((body.get("temperature"), body.get("max_tokens")), (None, None));
        assert_eq!(body["max_completion_tokens"], 1024);
    }
}

#[tokio::test]
async fn a_server_error_that_is_a_refusal_is_one() {
    let jinja = fail(500, &json!({ "error": { "message": "tools param requires --jinja flag" } }));
    let server = Server::start(vec![jinja, say(&chat("{}"))]).await;
    let said = ask(&one(&server, "openai", WHOLE), &weather()).await.unwrap();
    assert_eq!(outcomes(&said.tried), ["only refused", "only ok"]);
    assert_eq!((said.tried[0].part.as_str(), said.form), ("/tools", Form::Schema));
}

#[tokio::test]
async fn a_wrong_key_is_no_refused_form() {
    let wrong =
        fail(401, &json!({ "error": { "message": "no access to tools", "param": "tools" } }));
    let server = Server::start(vec![wrong]).await;
    let failed = ask(&one(&server, "openai", WHOLE), &weather()).await.unwrap_err();
    assert_eq!(outcomes(failed.tried()), ["only refused"]);
    assert_eq!(failed.tried()[0].part, "");
}

#[tokio::test]
async fn tools_in_words_bind_each_provider_as_it_can() {
    let shaped = Prompt { shape: Some(shape()), ..weather() };
    for (provider, place) in [
        ("anthropic", "/tools/0/input_schema/properties/final/properties/answer/type"),
        ("gemini", "/generationConfig/responseSchema/properties/final/properties/answer/type"),
        ("ollama", "/format/anyOf/1/properties/final/properties/answer/type"),
    ] {
        let server = Server::start(vec![fail(404, &json!({}))]).await;
        let keys = "stream = false\nform = \"schema\"";
        ask(&one(&server, provider, keys), &shaped).await.unwrap_err();
        let body = &server.bodies()[0];
        let found = body.pointer(place).and_then(Value::as_str).map(str::to_lowercase);
        assert_eq!(found.as_deref(), Some("string"), "{provider}: {body}");
    }
}

#[tokio::test]
async fn strict_mode_binds_where_it_is_asked_for_and_its_nulls_are_taken_out() {
    let shape = json!({ "type": "object", "required": ["answer"], "properties": {
        "answer": { "type": "string" }, "unit": { "type": "string" } } , "additionalProperties": false });
    let prompt = Prompt { shape: Some(shape), ..question("How far?") };
    let server = Server::start(vec![say(&chat("{\"answer\": \"4\", \"unit\": null}"))]).await;
    let keys = "stream = false\ndialect = \"openai-strict\"";
    let said = ask(&one(&server, "openai", keys), &prompt).await.unwrap();
    assert_eq!(said.text, "{\"answer\":\"4\"}");
    let told = &server.bodies()[0]["response_format"]["json_schema"];
    assert_eq!(
        (&told["strict"], &told["schema"]["required"]),
        (&json!(true), &json!(["answer", "unit"]))
    );
}

#[tokio::test]
async fn a_provider_of_another_dialect_takes_over_with_its_own_schema_and_calls() {
    let answer = json!({ "type": "message", "stop_reason": "tool_use", "content": [
        { "type": "tool_use", "id": "t1", "name": "get_weather", "input": { "city": "Oslo" } }] });
    let (first, second) =
        (Server::start(vec![no_tools()]).await, Server::start(vec![say(&answer)]).await);
    let models =
        open(&config(&[("one", &first, "openai", WHOLE), ("two", &second, "anthropic", WHOLE)]));
    let said = ask(&models, &weather()).await.unwrap();
    assert_eq!(outcomes(&said.tried), ["one refused", "two ok"]);
    assert_eq!((said.form, said.dialect), (Form::Native, crate::call::Dialect::Anthropic));
    assert_eq!(said.calls[0].arguments, "{\"city\":\"Oslo\"}");
    assert_eq!(second.bodies()[0]["tools"][0]["input_schema"]["required"], json!(["city"]));
}
