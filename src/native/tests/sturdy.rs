//! Promises that hold for any input.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::messages::message;
use super::{PROVIDERS, Provider, Reading, assemble, reading};
use crate::native::read;

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i32>().prop_map(Value::from),
        "[ -~é你😀\\n\\t\"'`{}\\[\\]<>|:,\\\\]{0,16}".prop_map(Value::String),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            object(inner),
        ]
    })
}

fn object(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    prop::collection::btree_map("[a-z]{1,6}", inner, 0..4).prop_map(|map| json!(map))
}

/// The ways in which a call is wrapped, each to be read as the call itself.
fn wrapped(way: usize, name: &str, arguments: &Value) -> String {
    let call = json!({"name": name, "arguments": arguments});
    match way {
        0 => call.to_string(),
        1 => format!("```json\n{call:#}\n```"),
        2 => format!("Let me see.\n\n{call}"),
        3 => format!("Let me see.\n\n~~~~json\n{call}\n~~~~\n\nDone."),
        4 => format!("<tool_call>\n{call}\n</tool_call>"),
        5 => format!("[TOOL_CALLS] [{call}]"),
        6 => format!("[TOOL_CALLS]{name}[ARGS]{arguments}"),
        7 => format!("<|python_tag|>{}", json!({"name": name, "parameters": arguments})),
        8 => json!({"tool": name, "args": arguments}).to_string(),
        9 => json!({"tool_call": call}).to_string(),
        10 => json!({"tool_calls": [{"type": "function", "function": call}]}).to_string(),
        11 => json!({"action": name, "action_input": arguments}).to_string(),
        12 => Value::String(call.to_string()).to_string(),
        13 => format!("<function={name}>{arguments}</function>"),
        14 => format!("Use {{this}} and `that`: {call}"),
        _ => format!("<think>{{\"name\":\"ls\"}}</think>\n{call}"),
    }
}

/// The same value in Python notation.
fn python(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => {
            let text = text.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n");
            format!("'{text}'")
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(python).collect::<Vec<_>>().join(", "))
        }
        Value::Object(map) => {
            let members = map.iter().map(|(key, value)| format!("'{key}': {}", python(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
    }
}

fn arguments_of(text: &str) -> Option<Value> {
    match reading(text) {
        Reading::Calls(calls) if calls.len() == 1 && calls[0].name == "note" => {
            serde_json::from_str(&calls[0].arguments).ok()
        }
        _ => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read(text in ".{0,200}") {
        drop(reading(&text));
        for provider in PROVIDERS {
            drop(read(provider, &text));
            drop(assemble(provider, text.as_bytes()));
        }
    }

    #[test]
    fn text_like_calls_is_read(
        pieces in prop::collection::vec(prop::sample::select(&[
            "{", "}", "[", "]", "\"", "'", ":", ",", "\\", "`", "```", "```json\n", "\n", "~~~", "<tool_call>",
            "</tool_call>", "[TOOL_CALLS]", "[ARGS]", "<function=ls>", "</function>", "<|python_tag|>",
            "\"name\"", "\"arguments\"", "\"tool\"", "\"ls\"", "ls", "{}", "null", "é", "<think>", "</think>",
            "> ", "<parameter=a>", "</parameter>", "functools[", "(", ")", "final", "\"action\"", " ",
        ][..]), 0..40)
    ) {
        drop(reading(&pieces.concat()));
    }

    #[test]
    fn any_bytes_are_no_harm_as_a_stream(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for provider in PROVIDERS {
            drop(assemble(provider, &bytes));
        }
    }

    #[test]
    fn json_of_any_shape_is_no_harm_as_a_message(value in value()) {
        let text = value.to_string();
        for provider in PROVIDERS {
            drop(read(provider, &text));
            drop(assemble(provider, format!("data: {text}\n\n").as_bytes()));
        }
    }

    #[test]
    fn a_wrapped_call_is_the_call(way in 0usize..16, arguments in object(value())) {
        let text = wrapped(way, "note", &arguments);
        prop_assert_eq!(arguments_of(&text), Some(arguments), "{}", text);
    }

    #[test]
    fn a_call_in_python_notation_is_the_call(arguments in object(value())) {
        // A raw tab is no escape that both notations have in common.
        let text = python(&json!({"name": "note", "arguments": arguments}));
        prop_assert_eq!(arguments_of(&text), Some(arguments), "{}", text);
    }

    #[test]
    fn a_call_that_is_cut_off_anywhere_does_not_run(
        way in 0usize..16, arguments in object(value()), part in 0usize..1000
    ) {
        let text = wrapped(way, "note", &arguments);
        let json = arguments.to_string();
        // Up to the last bracket of the arguments nothing is whole.
        let last = text.rfind('}').unwrap();
        let ends: Vec<usize> = (0..last).filter(|end| text.is_char_boundary(*end)).collect();
        let cut = text.get(..ends[ends.len() * part / 1000]).unwrap();
        if let Reading::Calls(calls) = reading(cut) {
            // Only marked forms, of which the arguments are the last part, are whole before their end.
            prop_assert!(calls.iter().all(|call| call.arguments == json), "{}", cut);
        }
    }

    #[test]
    fn prose_never_yields_a_call(text in "([A-Za-z,.{}\\[\\]'\"`:;()<>|/-]{1,12}[ \\n]){0,40}") {
        prop_assert!(!matches!(reading(&text), Reading::Calls(_)), "{}", text);
    }

    #[test]
    fn calls_of_every_provider_come_back_as_they_were(
        arguments in prop::collection::vec(object(value()), 1..4)
    ) {
        let ids: Vec<String> = (0..arguments.len()).map(|id| format!("id{id}")).collect();
        let asked: Vec<_> = ids.iter().zip(&arguments)
            .map(|(id, arguments)| (id.as_str(), "note", arguments.clone())).collect();
        for provider in PROVIDERS {
            let turn = read(provider, &message(provider, &asked).to_string()).unwrap();
            for ((id, name, arguments), call) in asked.iter().zip(&turn.calls) {
                prop_assert_eq!((call.id.as_str(), call.name.as_str()), (*id, *name));
                let read: Value = serde_json::from_str(&call.arguments).unwrap();
                prop_assert_eq!(&read, arguments);
            }
        }
    }
}

#[test]
fn depth_is_no_harm_in_messages_and_streams() {
    let deep =
        |open: &str, close: &str| format!("{}{}", open.repeat(100_000), close.repeat(100_000));
    let started = std::time::Instant::now();
    for (open, close) in [("[", "]"), ("{\"a\":", ""), ("\"", "\"")] {
        let bomb = deep(open, close);
        for provider in PROVIDERS {
            drop(read(provider, &bomb));
            drop(assemble(provider, format!("data: {bomb}\n\n").as_bytes()));
            drop(assemble(provider, bomb.as_bytes()));
        }
    }
    // A bomb among the arguments is that call's own affair.
    let bomb = deep("[", "]");
    let whole = message(Provider::Anthropic, &[("a", "ls", json!("HERE")), ("b", "ls", json!({}))]);
    let whole = whole.to_string().replace("\"HERE\"", &format!("{{\"v\":{bomb}}}"));
    let turn = read(Provider::Anthropic, &whole).unwrap();
    assert_eq!((turn.calls.len(), turn.calls[1].arguments.as_str()), (2, "{}"));
    assert!(started.elapsed() < std::time::Duration::from_secs(20), "{:?}", started.elapsed());
}
