//! JSON, schemas and cuts: what is masked where it stands.

use serde_json::{Value, json};

use super::*;

#[test]
fn marks_of_schemas_and_names_mask_values_wherever_they_stand() {
    let schema = json!({ "type": "object", "properties": {
        "pin": { "type": "string", "x-sensitive": true },
        "old": { "type": "string", "writeOnly": true },
        "pins": { "type": "array", "items": { "type": "string", "format": "password" } },
        "code": { "$ref": "#/$defs/code" },
        "anchored": { "$ref": "#here" },
        "union": { "anyOf": [{ "type": "integer" }, { "allOf": [{ "$ref": "#/$defs/code" }] }] },
        "pair": { "prefixItems": [{}, { "x-sensitive": true }], "items": {} },
        "map": { "type": "object", "additionalProperties": { "x-sensitive": true } },
        "by": { "patternProperties": { "^k": { "x-sensitive": true } } },
        "users": { "type": "array", "items": { "type": "object", "properties": {
            "ssn": { "type": "integer", "x-sensitive": true }, "name": { "type": "string" } } } },
        "whole": { "x-sensitive": true, "type": "object" },
        "plain": { "x-sensitive": false, "type": "string" },
        "meant": { "x-sensitive": "yes" },
        "parent": { "$ref": "#" },
    }, "$defs": { "code": { "type": "string", "x-sensitive": true },
        "other": { "$anchor": "here", "x-sensitive": true } } });
    let marks = Marks::of(&schema);
    let aliases = [("p".to_owned(), "pin".to_owned())].into();
    let masker = Masker::new(&schema, &marks).with_aliases(&aliases);
    let arguments = r#"{"pin":"1","p":"2","old":true,"pins":["8",null],"code":"3","anchored":"4","n":1.50,
        "union":5,"pair":["a","b","c"],"map":{"x":"6"},"by":{"k":1},"users":[{"ssn":4,"name":"x"}],
        "whole":{"a":[1]},"plain":"seen","meant":7,"parent":{"pin":"8","parent":{"code":"9"}},
        "Pin":"misspelt","arguments":{"pin":"10","input":"{\"pin\":\"11\",\"n\":1}"},
        "api_key":"5","dbPassword":"6","tokens":7,"Authorization":{"a":1},"13800138000":"tel"}"#;
    let expected = r#"{"pin":"@","p":"@","old":"@","pins":["@",null],"code":"@","anchored":"@","n":1.50,
        "union":"@","pair":["a","@","c"],"map":{"x":"@"},"by":{"k":"@"},"users":[{"ssn":"@","name":"x"}],
        "whole":"@","plain":"seen","meant":"@","parent":{"pin":"@","parent":{"code":"@"}},
        "Pin":"@","arguments":{"pin":"@","input":"{\"pin\":\"@\",\"n\":1}"},
        "api_key":"@","dbPassword":"@","tokens":7,"Authorization":"@","@":"tel"}"#
        .replace('@', MASK);
    let masked: Value = serde_json::from_str(&masker.json(arguments, ALL)).unwrap();
    assert_eq!(masked, serde_json::from_str::<Value>(&expected).unwrap());
    let again = masker.json(&masked.to_string(), ALL);
    assert_eq!(again, masked.to_string(), "masked twice");

    for (pointer, secret) in [
        ("/pin", true),
        ("/p", true),
        ("/users/0/ssn", true),
        ("/users/0/name", false),
        ("/whole/a/0", true),
        ("/pair/1", true),
        ("/pair/0", false),
        ("/elsewhere/password", true),
    ] {
        assert_eq!(masker.is_secret_at(pointer), secret, "{pointer}");
    }
    assert_eq!(masker.at("/pin", "\"1\""), format!("\"{MASK}\""));
    assert_eq!(masker.at("/users/0/name", "\"x\""), "\"x\"");
    assert_eq!(masker.at("/users", r#"[{"ssn":1}]"#), format!(r#"[{{"ssn":"{MASK}"}}]"#));
    assert_eq!(masker.at("", r#"{"pin":"cut o…"#), format!("\"{MASK}\""));
    assert_eq!(masker.json(r#"{"pin": "884"#, ALL), MASK, "broken JSON may hold anything");

    let whole = json!({ "type": "object", "x-sensitive": true });
    let marks = Marks::of(&whole);
    assert_eq!(Masker::new(&whole, &marks).json(r#"{"a":1}"#, ALL), format!("\"{MASK}\""));
}

#[test]
fn schema_without_marks_costs_nothing_and_masks_nothing() {
    let schema = json!({ "properties": { "pin": { "$ref": "https://elsewhere.example/pin" } } });
    let marks = Marks::of(&schema);
    assert!(!marks.is_some());
    assert_eq!(Masker::new(&schema, &marks).json(r#"{"pin":"1"}"#, ALL), r#"{"pin":"1"}"#);
}

#[test]
fn marked_places_of_a_value_are_told_once_for_all_items() {
    let schema = json!({ "type": "object", "properties": {
        "rows": { "items": { "properties": { "ssn": { "x-sensitive": true }, "n": {} } } },
        "map": { "additionalProperties": { "x-sensitive": true } },
        "a/b": { "x-sensitive": true },
        "gone": { "x-sensitive": true },
    } });
    let marks = Marks::of(&schema);
    let masker = Masker::new(&schema, &marks);
    let mut value = json!({
        "rows": [{ "ssn": 1, "n": 2 }, { "ssn": 3, "n": 4 }], "map": { "x": 1, "y": 2 }, "a/b": 5,
    });
    let places = masker.marked(&value, "/data").unwrap();
    assert_eq!(places, ["/data/rows/*/ssn", "/data/map/*", "/data/a~1b"]);
    let mut reply = json!({ "data": value.take() });
    cover(&mut reply, places.iter().map(String::as_str));
    let expected = json!({ "data": {
        "rows": [{ "ssn": MASK, "n": 2 }, { "ssn": MASK, "n": 4 }],
        "map": { "x": MASK, "y": MASK }, "a/b": MASK,
    } });
    assert_eq!(reply, expected);
}

#[test]
fn known_secrets_are_found_wherever_they_are_repeated() {
    let long = "x".repeat(80) + "tail";
    let secrets = Secrets::new(vec!["hunter22".into(), "884".into(), "a \"b\" c".into(), long]);
    assert_eq!(
        secrets.mask("`/pin` must be at most 884, but is the string `884` or hunter22"),
        format!("`/pin` must be at most 884, but is the string `{MASK}` or {MASK}")
    );
    assert_eq!(secrets.mask(r#"from "a \"b\" c""#), format!(r#"from "{MASK}""#));
    let cut = format!("is the string `{}…`, which", "x".repeat(60));
    assert_eq!(secrets.mask(&cut), format!("is the string `{MASK}`, which"));
    let value = json!({ "a": ["no", "is hunter22!"], "b/c": "hunter22", "n": 884, "d": "x8841" });
    assert_eq!(secrets.places(&value).unwrap(), ["/a/1", "/b~1c"]);
    assert!(secrets.places(&json!(vec!["hunter22"; 100])).is_none(), "too many to tell");
    let many = json!({ "password": (0..99).map(|n| format!("{n}")).collect::<Vec<_>>() });
    let many = Masker::default().secrets(&many.to_string());
    assert!(many.places(&json!("any")).is_none() && !many.is_empty(), "too many to look for");
    assert_eq!(many.mask("any message"), MASK);
    assert_eq!(
        Masker::default().secrets(r#"{"password":"a1"}"#).mask("is `a1`"),
        format!("is `{MASK}`")
    );
}

#[test]
fn spelling_is_kept_unless_it_hides_something() {
    let masker = Masker::default();
    for text in ["{ \"a\" : 1.0, \"b\": \"x \\\" y\\\\\", \"c\": [ ] }", "not json 12", ""] {
        assert_eq!(masker.json(text, ALL), text);
    }
    let hidden = r#"{"a":{"password":"x"},"a":1}"#;
    assert_eq!(masker.json(hidden, ALL), r#"{"a":1}"#);
    assert_eq!(masker.json("call 13800138000, broken", ALL), "call [masked], broken");
    assert_eq!(masker.json("[13800138000, 5]", ALL), r#"["[masked]",5]"#);
    let names = r#"{"13800138000":1,"13900139000":2}"#;
    assert_eq!(masker.json(names, ALL), r#"{"[masked]":1,"[masked] 2":2}"#);
}

#[test]
fn secrets_at_the_cut_are_masked_as_a_whole() {
    let secret = key("sk-", 40);
    for keep in 1..60 {
        for before in [0, 1, 20, 50] {
            let text = format!("{}{secret} and more", "é ".repeat(before));
            let whole = super::text(&text).into_owned();
            let json = Value::String(text.clone()).to_string();
            for (masked, whole) in [
                (Masker::default().json(&text, keep), whole.clone()),
                (Masker::default().json(&json, keep), Value::String(whole).to_string()),
            ] {
                let kept = keep.min(whole.len());
                assert_eq!(masked.as_bytes().get(..kept), whole.as_bytes().get(..kept), "{masked}");
            }
        }
    }
    let inner = json!({ "password": "abc", "n": [1, 2] }).to_string();
    let arguments = json!({ "a": "x".repeat(90), "b": ["y".repeat(9), { "c": 1 }], "d": secret,
        "e": inner, "f": "{\"n\": [1,  2]}", "g": "{\"n\": [1,  2]}", "h": "end" });
    let text = arguments.to_string();
    let whole = Masker::default().json(&text, ALL);
    for keep in 1..whole.len() {
        let masked = Masker::default().json(&text, keep);
        assert_eq!(masked.get(..keep), whole.get(..keep), "{keep}");
    }
}
