//! What is masked, and what is left alone.

use serde_json::{Value, json};

use super::super::mask::{MASK, Masker, mask_text};

/// No cut.
const ALL: usize = usize::MAX;

/// A key that belongs to nobody, made here so that no scanner finds it in this file.
fn key(prefix: &str, length: usize) -> String {
    format!("{prefix}{}", "aB3".repeat(length).get(..length).unwrap())
}

#[test]
fn personal_numbers_and_keys_are_masked_and_the_rest_is_kept() {
    for (text, expected) in [
        ("身份证11010119000101009X，已核".to_owned(), "身份证[masked]，已核"),
        ("身份证号：11010119000101017x".to_owned(), "身份证号：[masked]"),
        ("id=110101190001010014;".to_owned(), "id=[masked];"),
        ("110101 19000101 009X".to_owned(), "[masked]"),
        ("4111 1111 1111 1111 12/30, code 7".to_owned(), "[masked] 12/30, code 7"),
        ("call 13800138000 now".to_owned(), "call [masked] now"),
        ("+8613800138000".to_owned(), "+[masked]"),
        ("card 4111 1111 1111 1111.".to_owned(), "card [masked]."),
        ("5555-5555-5555-4444".to_owned(), "[masked]"),
        (format!("use {} here", key("sk-", 40)), "use [masked] here"),
        (format!("({})", key("ghp_", 36)), "([masked])"),
        (format!("Bearer {}.{}", key("eyJ", 40), key("x", 20)), "Bearer [masked]"),
        (
            format!("a\n-----BEGIN {0}-----\nMII\n-----END {0}-----\nb", "RSA PRIVATE KEY"),
            "a\n[masked]\nb",
        ),
    ] {
        assert_eq!(mask_text(&text), expected, "{text}");
    }
}

#[test]
fn harmless_numbers_and_words_are_left_alone() {
    for text in [
        "commit 5d41c0ffee1234567890abcdef0123456789abcd",
        "uuid 550e8400-e29b-41d4-a716-446655440000",
        "unix 1764410400 and 1764410400123",
        "image tag 2.0.14.7",
        "PO7654321 for part Z98765",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "192.168.1.10 in a network diagram",
        "ISBN 9787302511625",
        "快递单号 SF1234567890123",
        "110101190001010013",
        "110101190013010014",
        "order 211010119000101009X7",
        "1101011900010100144a2b",
        "sk-short",
        "--- -- - a-b \u{0} é",
        "",
    ] {
        assert_eq!(mask_text(text), text);
    }
}

#[test]
fn annotated_and_named_arguments_are_masked() {
    let schema = json!({ "type": "object", "properties": {
        "pin": { "type": "string", "writeOnly": true },
        "pins": { "type": "array", "items": { "type": "string", "format": "password" } },
        "code": { "$ref": "#/$defs/code" },
        "users": { "type": "array", "items": { "type": "object", "properties": {
            "pin": { "type": "integer", "format": "password" }, "name": { "type": "string" } } } },
    }, "$defs": { "code": { "type": "string", "format": "password" } } });
    let mut tool = crate::ledger::tests::mask::tool(schema);
    tool.aliases.insert("p".into(), "pin".into());
    let masker = Masker::of_tool(Some(&tool));
    let arguments = r#"{"pin":"1","p":"2","pins":["8",null],"code":"3","n":1.50,"users":[{"pin":4,"name":"x"}],
        "api_key":"5","dbPassword":"6","tokens":7,"Authorization":{"a":1}}"#;
    let masked: Value = serde_json::from_str(&masker.json(arguments, ALL)).unwrap();
    let expected: Value = serde_json::from_str(
        &r#"{"pin":"@","p":"@","pins":["@",null],"code":"@","n":1.50,"users":[{"pin":"@","name":"x"}],
        "api_key":"@","dbPassword":"@","tokens":7,"Authorization":"@"}"#
            .replace('@', MASK),
    )
    .unwrap();
    assert_eq!(masked, expected);
    assert_eq!(masker.at("/pin", "\"1\""), format!("\"{MASK}\""));
    assert_eq!(masker.at("/users/0/pin", "4"), format!("\"{MASK}\""));
    assert_eq!(masker.at("/users/0/name", "\"x\""), "\"x\"");
}

#[test]
fn spelling_is_kept_unless_it_hides_something() {
    let masker = Masker::of_tool(None);
    for text in ["{ \"a\" : 1.0, \"b\": \"x \\\" y\\\\\", \"c\": [ ] }", "not json 12", ""] {
        assert_eq!(masker.json(text, ALL), text);
    }
    let hidden = r#"{"a":{"password":"x"},"a":1}"#;
    assert_eq!(masker.json(hidden, ALL), r#"{"a":1}"#);
    assert_eq!(masker.json("call 13800138000, broken", ALL), "call [masked], broken");
    assert_eq!(masker.json("[13800138000]", ALL), r#"["[masked]"]"#);
}

#[test]
fn long_texts_of_one_token_are_read_once() {
    for piece in ["a-", "1-", "-", "a.", "1 ", "sk-", "-----BEGIN ", "eyJ.", "."] {
        let text = piece.repeat((256 << 10) / piece.len());
        let masked = mask_text(&text);
        let is_key = piece == "sk-" || piece == "eyJ.";
        assert_eq!(masked.starts_with(MASK), is_key, "{piece}");
        assert!(is_key || masked == text, "{piece}");
    }
}

#[test]
fn secrets_at_the_cut_are_masked_as_a_whole() {
    let secret = key("sk-", 40);
    for keep in 1..60 {
        for before in [0, 1, 20, 50] {
            let text = format!("{}{secret} and more", "é ".repeat(before));
            let whole = mask_text(&text);
            let json = Value::String(text.clone()).to_string();
            for (masked, whole) in [
                (Masker::of_tool(None).json(&text, keep), whole.clone()),
                (Masker::of_tool(None).json(&json, keep), Value::String(whole).to_string()),
            ] {
                let kept = keep.min(whole.len());
                assert_eq!(masked.as_bytes().get(..kept), whole.as_bytes().get(..kept), "{masked}");
            }
        }
    }
    let arguments = json!({ "a": "x".repeat(90), "b": ["y".repeat(9), { "c": 1 }], "d": secret });
    let text = arguments.to_string();
    let whole = Masker::of_tool(None).json(&text, ALL);
    for keep in 1..whole.len() {
        let masked = Masker::of_tool(None).json(&text, keep);
        assert_eq!(masked.get(..keep), whole.get(..keep));
    }
}

fn tool(schema: Value) -> crate::catalog::Tool {
    let tool = crate::policy::sample(schema);
    (*tool).clone()
}
