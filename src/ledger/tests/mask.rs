//! What is masked, and what is left alone.

use serde_json::{Value, json};

use super::super::mask::Masker;
use super::super::{MASK, mask_text};

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
        "code": { "$ref": "#/$defs/code" },
        "users": { "type": "array", "items": { "type": "object", "properties": {
            "pin": { "type": "integer", "format": "password" }, "name": { "type": "string" } } } },
    }, "$defs": { "code": { "type": "string", "format": "password" } } });
    let mut tool = crate::ledger::tests::mask::tool(schema);
    tool.aliases.insert("p".into(), "pin".into());
    let masker = Masker::of_tool(Some(&tool));
    let arguments = r#"{"pin":"1","p":"2","code":"3","n":1.50,"users":[{"pin":4,"name":"x"}],
        "api_key":"5","dbPassword":"6","tokens":7,"Authorization":{"a":1}}"#;
    let masked: Value = serde_json::from_str(&masker.json(arguments)).unwrap();
    let expected: Value = serde_json::from_str(
        &r#"{"pin":"@","p":"@","code":"@","n":1.50,"users":[{"pin":"@","name":"x"}],
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
        assert_eq!(masker.json(text), text);
    }
    let hidden = r#"{"a":{"password":"x"},"a":1}"#;
    assert_eq!(masker.json(hidden), r#"{"a":1}"#);
    assert_eq!(masker.json("call 13800138000, broken"), "call [masked], broken");
    assert_eq!(masker.json("[13800138000]"), r#"["[masked]"]"#);
}

fn tool(schema: Value) -> crate::catalog::Tool {
    let tool = crate::policy::sample(schema);
    (*tool).clone()
}
