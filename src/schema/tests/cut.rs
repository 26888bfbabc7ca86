//! JSON text in place of an object or an array: one that ends too early is told so, at its own place,
//! whatever the dialect.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{tool, violations};
use crate::call::Dialect;
use crate::catalog::{Repair, Tool};
use crate::schema::{Error, Schemas};

fn schema() -> Value {
    let inner = json!({"type": "object", "properties": {
        "at": {"type": "object", "properties": {"x": {"type": "number"}}},
        "tags": {"type": "array", "items": {"type": "string"}},
        "word": {"type": "string"},
    }});
    json!({"type": "object", "additionalProperties": false, "properties": {
        "of": inner,
        "all": {"type": "array", "items": inner},
        "maybe": {"type": ["object", "null"]},
        "either": {"anyOf": [{"enum": ["auto"]}, {"type": "object", "properties": {"k": {}}}, {"type": "null"}]},
        "text": {"type": "string"},
        "any": {},
        "many": {"type": ["string", "array"]},
    }})
}

fn check(dialect: Option<Dialect>, given: &Value) -> Result<String, Error> {
    let tool = tool(schema());
    let (schemas, _) = Schemas::compile(&[Arc::new(tool.clone())]);
    schemas.check_in(dialect, &tool, &given.to_string()).map(|done| done.canonical)
}

/// Every dialect, and none.
fn dialects() -> impl Iterator<Item = Option<Dialect>> {
    Dialect::ALL.into_iter().map(Some).chain([None])
}

#[test]
fn text_of_an_object_or_an_array_that_is_cut_off_is_refused_as_truncated() {
    let whole = json!({"at": {"x": 12.5}, "tags": ["a", "b"], "word": "c"}).to_string();
    for dialect in dialects() {
        for end in 1..whole.len() {
            let given = json!({"of": whole.get(..end), "text": "x"});
            let found = violations(&check(dialect, &given).unwrap_err());
            assert_eq!(found.len(), 1, "{dialect:?} {given}: {found:#?}");
            assert_eq!((found[0].kind.as_str(), found[0].pointer.as_str()), ("truncated", "/of"));
            let message = &found[0].message;
            assert!(
                message.contains("ends too early") && message.contains("send it again, complete"),
                "{message}"
            );
        }
        assert!(check(dialect, &json!({ "of": whole })).is_ok(), "{dialect:?}");
    }
}

#[test]
fn what_is_cut_is_found_at_any_depth() {
    let cut = r#"{"x": 1"#;
    let inner = json!({"at": cut}).to_string();
    for dialect in dialects() {
        for (given, pointer) in [
            (json!({"all": [{}, {"at": cut}]}), "/all/1/at"),
            (json!({"all": [{}, {"tags": "[\"a\", \"b"}]}), "/all/1/tags"),
            (json!({"all": "[{\"word\": \"a\"}, {\"wo"}), "/all"),
            (json!({"maybe": " {\"a\": tru"}), "/maybe"),
            (json!({"either": "{\"k\": [1"}), "/either"),
            (json!({"of": inner}), "/of/at"),
            (json!({"all": json!([{"at": cut}]).to_string()}), "/all/0/at"),
        ] {
            let found = violations(&check(dialect, &given).unwrap_err());
            let told: Vec<_> =
                found.iter().map(|one| (one.kind.as_str(), one.pointer.as_str())).collect();
            assert_eq!(told, [("truncated", pointer)], "{dialect:?} {given}");
        }
    }
}

#[test]
fn text_that_may_be_text_stays_and_other_faults_keep_their_names() {
    for dialect in dialects() {
        let cut = "[1, {\"a\": ";
        let given = json!({"text": cut, "any": cut, "many": cut});
        assert_eq!(
            check(dialect, &given).unwrap(),
            json!({"any": cut, "many": cut, "text": cut}).to_string()
        );
        for (text, pointer) in
            [("step one", "/of"), ("{\"a\":1} and more", "/of"), ("[1, 2", "/of"), ("{a: 1", "/of")]
        {
            let found = violations(&check(dialect, &json!({ "of": text })).unwrap_err());
            assert_eq!(
                (found[0].kind.as_str(), found[0].pointer.as_str()),
                ("type", pointer),
                "{text}"
            );
        }
    }
}

#[test]
fn the_arguments_in_an_envelope_are_told_to_be_cut_too() {
    let cut = r#"{"text": "a", "any": [1"#;
    let given = json!({"name": "probe", "arguments": cut});
    let twice = json!({"name": "probe", "arguments": Value::from(cut).to_string()});
    for given in [given, twice] {
        let found = violations(&check(None, &given).unwrap_err());
        assert_eq!(found[0].kind, "truncated", "{found:#?}");
    }
}

#[test]
fn a_secret_that_is_cut_off_is_not_repeated() {
    let schema =
        json!({"type": "object", "properties": {"key": {"type": "object", "writeOnly": true}}});
    let tool = Tool { repair: Repair::Off, ..tool(schema) };
    let (schemas, _) = Schemas::compile(&[Arc::new(tool.clone())]);
    let given = json!({"key": "{\"pin\": \"4711"}).to_string();
    let refused = schemas.check_text(&tool, &given).unwrap_err().failure();
    assert_eq!(refused.details["violations"][0]["kind"], "truncated");
    let told = format!("{} {}", refused.message, refused.details);
    assert!(!told.contains("4711"), "{told}");
}
