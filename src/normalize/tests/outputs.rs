//! What a program prints, and what becomes of it.

use bytes::Bytes;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{code, plain, printed, reply, reply_of};
use crate::call::Code;
use crate::catalog::{Target, Tool};
use crate::normalize::{Form, Status};
use crate::sandbox::End;

fn promised() -> Tool {
    let mut tool = plain();
    if let Target::Command(command) = &mut tool.target {
        command.json_output = true;
    }
    tool
}

fn assert_read(cases: &[(&'static str, Form, &str, &str)]) {
    for (stdout, form, data, logs) in cases {
        let reply = reply(printed(*stdout));
        assert_eq!(reply.metadata.data_form, Some(*form), "{stdout:?}");
        assert_eq!(reply.data.to_string(), *data, "{stdout:?}");
        assert_eq!(reply.metadata.logs, *logs, "{stdout:?}");
        assert_eq!(reply.status, Status::Success);
    }
}

#[test]
fn output_that_is_json_is_data() {
    assert_read(&[
        ("", Form::None, "null", ""),
        (" \n", Form::None, "null", ""),
        ("null\n", Form::Json, "null", ""),
        ("{\"a\":1.10,\"b\":1e3}\n", Form::Json, "{\"a\":1.10,\"b\":1e+3}", ""),
        ("12345678901234567890123", Form::Json, "12345678901234567890123", ""),
        ("{\"n\":1}\n{\"n\":2}\n", Form::Lines, "[{\"n\":1},{\"n\":2}]", ""),
        ("loading\n[warn] x\n{\"n\":1}\n", Form::Json, "{\"n\":1}", "loading\n[warn] x"),
        ("[INFO] start\n{\n \"n\": 1\n}\n", Form::Json, "{\"n\":1}", "[INFO] start"),
    ]);
}

#[test]
fn other_output_is_text() {
    assert_read(&[
        ("007", Form::Text, "\"007\"", ""),
        ("hello\n", Form::Text, "\"hello\\n\"", ""),
        ("1\n2\n", Form::Text, "\"1\\n2\\n\"", ""),
        ("{\"n\":1}\ndone\n", Form::Text, "\"{\\\"n\\\":1}\\ndone\\n\"", ""),
        ("count\n12\n", Form::Text, "\"count\\n12\\n\"", ""),
        ("{\"a\":1,\"a\":2}", Form::Text, "\"{\\\"a\\\":1,\\\"a\\\":2}\"", ""),
        ("{\"a\":NaN}", Form::Text, "\"{\\\"a\\\":NaN}\"", ""),
        ("\u{1b}[31mred\u{1b}[0m", Form::Text, "\"\\u001b[31mred\\u001b[0m\"", ""),
        ("\u{1b}[1mlog\u{1b}[0m\u{7}\n{}", Form::Json, "{}", "log\u{fffd}"),
    ]);
}

#[test]
fn bytes_that_are_no_text_are_kept() {
    let some = reply(printed(&b"caf\xe9 au lait"[..]));
    assert_eq!(some.data, json!("caf\u{fffd} au lait"));
    assert_eq!(some.metadata.notes[0].kind, "invalid_text");
    let most = reply(printed(&b"\xc4\xe3\xba\xc3"[..]));
    assert_eq!(most.data, json!({"base64": "xOO6ww=="}));
    assert_eq!(most.metadata.data_form, Some(Form::Bytes));
    let nul = reply(printed(&b"a\0b"[..]));
    assert_eq!(nul.data, json!({"base64": "YQBi"}));
}

#[test]
fn a_character_cut_by_the_cap_leaves_no_trace() {
    let all = "你好".repeat(1000);
    for kept in 1000..1006 {
        let mut outcome = printed(Bytes::copy_from_slice(&all.as_bytes()[..kept]));
        outcome.stdout_bytes = u64::try_from(all.len()).unwrap();
        outcome.end = End::OutputLimit;
        let reply = reply(outcome);
        let text = reply.data.as_str().unwrap();
        assert!(all.starts_with(text) && text.len() > kept - 3, "{kept}");
        assert!(reply.metadata.output_truncated);
        assert_eq!(reply.metadata.notes, []);
    }
}

#[test]
fn deep_output_stays_text() {
    for text in ["[".repeat(1 << 20), format!("{}{}", "[".repeat(65), "]".repeat(65))] {
        let reply = reply(printed(text.clone()));
        assert_eq!(reply.data, Value::String(text));
    }
    let fits = format!("{}{}", "[".repeat(64), "]".repeat(64));
    assert_eq!(reply(printed(fits)).metadata.data_form, Some(Form::Json));
}

#[test]
fn a_promise_of_json_is_kept_or_the_call_fails() {
    assert_eq!(reply_of(promised(), printed("{\"n\":1}")).data, json!({"n": 1}));
    let broken = reply_of(promised(), printed("log\n{\"n\":1}"));
    assert_eq!(code(&broken), Some(Code::ExecutionError));
    assert_eq!(broken.data, json!("log\n{\"n\":1}"));
    assert_eq!(code(&reply_of(promised(), printed(""))), None);
}

#[test]
fn data_that_breaks_the_output_schema_are_kept_in_an_error() {
    let mut tool = plain();
    tool.output_schema = Some(json!({"type": "object", "required": ["total"]}));
    let reply = reply_of(tool, printed("{\"sum\":1}"));
    assert_eq!(code(&reply), Some(Code::OutputSchemaError));
    assert_eq!(reply.data, json!({"sum": 1}));
    let details = &reply.error.unwrap().details;
    assert_eq!(details["violations"][0]["pointer"], "/total");
}

#[test]
fn standard_error_is_shortened_to_whole_lines_and_cleaned() {
    let mut outcome = printed("{}");
    let lines: Vec<String> = (0..1000).map(|n| format!("\u{1b}[33mline {n}\u{1b}[0m\r")).collect();
    outcome.stderr = Bytes::from(lines.join("\n"));
    outcome.stderr_bytes = u64::try_from(outcome.stderr.len()).unwrap();
    let reply = reply(outcome);
    let stderr = &reply.metadata.stderr;
    assert!(stderr.len() <= 2048 && stderr.starts_with("line "), "{stderr}");
    assert!(stderr.ends_with("line 999"), "{stderr}");
    assert!(!stderr.contains('\u{1b}'));
    assert_eq!(reply.status, Status::Success);
    assert!(!reply.metadata.output_truncated);
}

#[test]
fn long_logs_before_a_result_are_shortened_and_say_so() {
    let reply = reply(printed(format!("{}\n{{}}", "log line\n".repeat(5000))));
    assert_eq!(reply.data, json!({}));
    assert!(reply.metadata.logs.len() <= 16 << 10);
    assert!(reply.metadata.output_truncated);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_become_a_reply_that_reads_back(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let reply = reply(printed(bytes));
        let back: crate::normalize::Reply = serde_json::from_str(&reply.to_json()).unwrap();
        prop_assert_eq!(back.to_json(), reply.to_json());
    }

    #[test]
    fn text_is_never_lost(text in "[a-zé你 \\n\\[\\]{}\":,0-9]{0,80}") {
        let reply = reply(printed(text.clone()));
        if reply.metadata.data_form == Some(Form::Text) {
            prop_assert_eq!(reply.data, Value::String(text));
        }
    }
}
