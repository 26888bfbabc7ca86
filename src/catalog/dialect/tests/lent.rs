//! Alternatives at the root, which every export shows as one object: a model gives null for the members
//! of those that it did not choose.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{Dialect, restore};
use crate::schema::tests::tool;

fn both(schema: &Value, written: &Value) -> Value {
    let tool = tool(schema.clone());
    let back = restore(&tool, Dialect::OpenaiStrict, written.clone());
    for dialect in Dialect::ALL {
        assert_eq!(restore(&tool, dialect, written.clone()), back, "{dialect}");
    }
    back
}

#[test]
fn null_for_a_member_of_another_alternative_says_that_it_is_not_given() {
    let branch = |name: &str, schema: Value| json!({"type": "object", "required": [name], "properties": {name: schema}, "additionalProperties": false});
    let by =
        [branch("mail", json!({"type": "string"})), branch("number", json!({"type": "integer"}))];
    for keyword in ["oneOf", "anyOf"] {
        let plain = json!({"type": "object", keyword: by});
        let part = json!({"type": "object", "allOf": [{keyword: by}]});
        let target =
            json!({"$ref": "#/$defs/by", "$defs": {"by": {"type": "object", keyword: by}}});
        let nested = json!({"type": "object", "oneOf": [{keyword: by}, branch("else", json!({"type": "boolean"}))]});
        for schema in [plain, part, target, nested] {
            let written = json!({"mail": null, "number": 5});
            assert_eq!(both(&schema, &written), json!({"number": 5}), "{schema}");
            let written = json!({"mail": "a@b.example", "number": null});
            assert_eq!(both(&schema, &written), json!({"mail": "a@b.example"}), "{schema}");
            let two = json!({"mail": "a@b.example", "number": 5});
            assert_eq!(both(&schema, &two), two, "what was given is not taken away");
        }
    }
}

#[test]
fn null_that_some_alternative_could_mean_stays() {
    let open = json!({"type": "object", "oneOf": [
        {"required": ["a"], "properties": {"a": {"type": "string"}}},
        {"required": ["b"], "properties": {"b": {"type": "integer"}}},
    ]});
    let nullable = json!({"type": "object", "oneOf": [
        {"required": ["a"], "properties": {"a": {"type": ["string", "null"]}}, "additionalProperties": false},
        {"required": ["b"], "properties": {"b": {"type": "integer"}}, "additionalProperties": false},
    ]});
    let own = json!({"type": "object", "properties": {"a": {"type": "string"}}, "anyOf": [
        {"required": ["b"], "properties": {"b": {"type": "integer"}}},
    ]});
    for schema in [open, nullable, own] {
        let tool = tool(schema.clone());
        let written = json!({"a": null, "b": 5});
        assert_eq!(restore(&tool, Dialect::Anthropic, written.clone()), written, "{schema}");
    }
}

#[test]
fn an_exported_key_of_another_alternative_is_known_under_its_own_name() {
    let schema = json!({"type": "object", "oneOf": [
        {"properties": {"of[a]": {"type": "string"}}, "additionalProperties": false, "required": ["of[a]"]},
        {"properties": {"b": {"type": "integer"}}, "additionalProperties": false},
    ]});
    let tool = tool(schema);
    let key = &crate::catalog::exported_keys(&tool, Dialect::Anthropic)["of[a]"];
    let written = json!({key: null, "b": 5});
    assert_eq!(restore(&tool, Dialect::Anthropic, written), json!({"b": 5}));
}

/// A member: its name, and what its schema is.
fn members() -> impl Strategy<Value = Map<String, Value>> {
    let kind = prop_oneof![
        Just(json!({"type": "string"})),
        Just(json!({"type": ["integer", "null"]})),
        Just(json!({"enum": ["x", null]})),
        Just(json!({"type": "integer"})),
        Just(json!({})),
    ];
    prop::collection::btree_map("[a-d]", kind, 0..4).prop_map(|map| map.into_iter().collect())
}

/// An object, or alternatives of such.
fn object() -> impl Strategy<Value = Value> {
    let closing = prop_oneof![
        Just(None),
        Just(Some("additionalProperties")),
        Just(Some("unevaluatedProperties")),
    ];
    let leaf = (members(), closing, any::<bool>()).prop_map(|(members, closing, needs)| {
        let names: Vec<&String> = members.keys().filter(|_| needs).collect();
        let mut map = json!({"type": "object", "required": names, "properties": members});
        if let Some(keyword) = closing {
            map[keyword] = false.into();
        }
        map
    });
    leaf.prop_recursive(2, 8, 3, |inner| {
        let groups = prop::collection::vec(inner, 1..4);
        let keyword = prop_oneof![Just("anyOf"), Just("oneOf"), Just("allOf")];
        (groups, keyword, members(), any::<bool>()).prop_map(|(all, keyword, members, closed)| {
            let mut map = json!({"type": "object", "properties": members, keyword: all});
            if closed {
                map["unevaluatedProperties"] = false.into();
            }
            map
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None, cases: 1024, ..ProptestConfig::default()
    })]

    #[test]
    fn a_call_that_is_valid_as_it_stands_stays_as_it_is(
        schema in object(),
        given in prop::collection::btree_map("[a-e]", prop_oneof![
            Just(json!(null)), Just(json!("x")), Just(json!(1)),
        ], 0..5),
    ) {
        let written = Value::Object(given.into_iter().collect());
        let full = jsonschema::draft202012::new(&schema).unwrap();
        let tool = tool(schema);
        for dialect in [Dialect::Openai, Dialect::Anthropic, Dialect::Gemini] {
            let back = restore(&tool, dialect, written.clone());
            if full.is_valid(&written) {
                prop_assert_eq!(&back, &written, "{}", dialect);
            }
            // Nothing but null is ever taken away.
            for (name, member) in written.as_object().unwrap() {
                prop_assert!(member.is_null() || back.get(name) == Some(member), "{}", dialect);
            }
        }
    }
}
