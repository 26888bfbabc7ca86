//! Arguments of which some places are not known yet: what is refused at once stays wrong whatever
//! comes, and what may come right is not refused.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{kinds, tool, violations};
use crate::call::{Call, Dialect};
use crate::catalog::{Tool, exported_keys};
use crate::schema::{Error, Schemas, unknown};

fn partly(tool: Tool, arguments: &Value) -> Result<(), Error> {
    let tool = Arc::new(tool);
    let (schemas, problems) = Schemas::compile(&[Arc::clone(&tool)]);
    assert_eq!(problems, []);
    schemas.check_partly(&tool, &Call::new("probe", "{}"), arguments)
}

/// `ok`, or the kinds of the violations.
fn outcome(schema: &Value, arguments: &Value) -> String {
    partly(tool(schema.clone()), arguments)
        .map_or_else(|error| kinds(&error).join(" "), |()| "ok".to_owned())
}

#[test]
fn what_is_known_is_checked_and_what_is_not_is_left_open() {
    let hole = unknown();
    let schema = json!({
        "type": "object", "required": ["id", "mode"], "additionalProperties": false,
        "properties": {
            "id": {"type": "integer", "minimum": 1},
            "mode": {"enum": ["fast", "slow"]},
            "tags": {"type": "array", "items": {"type": "string", "format": "uuid"}, "maxItems": 2},
            "at": {"type": "object", "required": ["x"], "properties": {"x": {"type": "number"}}},
        },
    });
    for (arguments, expected) in [
        (json!({"id": hole, "mode": "fast"}), "ok"),
        (json!({"id": hole, "mode": hole, "tags": [hole, hole], "at": {"x": hole}}), "ok"),
        (json!({"id": hole, "mode": "fast", "tags": hole, "at": hole}), "ok"),
        (hole.clone(), "ok"),
        (json!({"id": hole, "mode": " FAST", "tags": hole}), "ok"),
        (json!({"ID": hole, "mode": "slow"}), "ok"),
        (json!({"id": "7", "mode": hole}), "ok"),
        (json!({"arguments": {"id": hole, "mode": "fast"}}), "ok"),
        (json!({"id": hole}), "required"),
        (json!({"id": hole, "mode": "quick"}), "enum"),
        (json!({"id": 0, "mode": hole}), "minimum"),
        (json!({"id": hole, "mode": "fast", "hue": hole}), "additionalProperties"),
        (json!({"id": hole, "mode": "fast", "tags": [hole, hole, hole]}), "maxItems"),
        (json!({"id": hole, "mode": "fast", "at": {"y": hole}}), "required"),
        (json!({"id": hole, "mode": "fast", "at": [hole]}), "type"),
        (json!({"id": hole, "mode": "fast", "tags": {"0": hole}}), "type"),
        (json!({"id": hole, "Id": hole, "mode": "fast"}), "conflict"),
        (json!([hole]), "type"),
    ] {
        assert_eq!(outcome(&schema, &arguments), expected, "{arguments}");
    }
}

#[test]
fn what_depends_on_a_place_that_is_not_known_is_left_open() {
    let hole = unknown();
    let union = json!({"type": "object", "properties": {"v": {"oneOf": [
        {"type": "object", "properties": {"kind": {"const": "a"}, "x": {"type": "integer"}},
            "required": ["kind", "x"]},
        {"type": "object", "properties": {"kind": {"const": "b"}, "x": {"type": "boolean"}},
            "required": ["kind", "x"]},
    ]}, "w": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}});
    let condition = json!({"type": "object",
        "properties": {"kind": {"type": "string"}, "x": {"type": "integer"}},
        "if": {"properties": {"kind": {"const": "a"}}}, "then": {"required": ["x"]},
        "else": {"properties": {"x": {"maximum": 5}}}});
    for (schema, arguments, expected) in [
        (&union, json!({"v": {"kind": hole, "x": true}}), "ok"),
        (&union, json!({"v": {"kind": hole, "x": true}, "w": [1]}), "type"),
        (&condition, json!({"kind": hole}), "ok"),
        (&condition, json!({"kind": hole, "x": 9}), "ok"),
        (&condition, json!({"kind": hole, "x": []}), "type"),
    ] {
        assert_eq!(outcome(schema, &arguments), expected, "{arguments}");
    }
}

#[test]
fn text_of_a_call_that_looks_so_by_chance_is_only_checked_later() {
    let schema = json!({"type": "object", "properties": {"v": {"type": "integer"}}});
    assert_eq!(outcome(&schema, &json!({"v": unknown()})), "ok");
    assert_eq!(outcome(&schema, &json!({"v": "not known yet"})), "type");
}

#[test]
fn what_is_wrong_is_told_under_the_names_that_the_model_knows() {
    let own = tool(json!({"type": "object", "properties": {"of[a]": {"type": "integer"}}}));
    let key = exported_keys(&own, Dialect::Anthropic)["of[a]"].clone();
    let (schemas, _) = Schemas::compile(&[Arc::new(own.clone())]);
    let call = Call { dialect: Some(Dialect::Anthropic), ..Call::new("probe", "{}") };
    let refused =
        schemas.check_partly(&own, &call, &json!({key.clone(): [unknown()]})).unwrap_err();
    let told = violations(&refused).remove(0);
    assert_eq!(told.pointer, format!("/{key}"));
    assert!(told.message.contains(&key) && !told.message.contains("of[a]"), "{told:?}");
}

/// Values of several types, some of them fit for the schema below.
fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        (-3_i64..12).prop_map(Value::from),
        prop_oneof!["a", "b", "7", "true", ""].prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::btree_map("[abk]", inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn what_fits_in_the_end_is_never_refused_before(
        members in proptest::collection::btree_map("[abcdk]", values(), 0..5),
        open in proptest::collection::vec(any::<prop::sample::Index>(), 0..4),
    ) {
        let schema = json!({
            "type": "object", "required": ["a"],
            "properties": {
                "a": {"type": ["integer", "object"], "minimum": 0, "properties": {"k": {"type": "string"}}},
                "b": {"type": "array", "items": {"type": "integer"}, "maxItems": 2},
                "c": {"anyOf": [{"type": "string", "enum": ["a", "b"]}, {"type": "boolean"},
                    {"type": "object", "properties": {"k": {"const": "a"}}, "required": ["k"]}]},
                "d": {"not": {"type": "null"}},
            },
            "if": {"properties": {"d": {"const": true}}}, "then": {"required": ["b"]},
            "maxProperties": 4,
        });
        let whole = Value::Object(members.into_iter().collect());
        let tool = Arc::new(tool(schema));
        let (schemas, _) = Schemas::compile(&[Arc::clone(&tool)]);
        // Any places, at any depth, are opened.
        let mut part = whole.clone();
        for index in open {
            let places = places(&part);
            let place = &places[index.index(places.len())];
            *part.pointer_mut(place).unwrap() = unknown();
        }
        let fits = schemas.check_text(&tool, &whole.to_string()).is_ok();
        let refused = schemas.check_partly(&tool, &Call::new("probe", "{}"), &part);
        prop_assert!(!fits || refused.is_ok(), "{} as {}: {:?}", whole, part, refused);
    }
}

fn places(value: &Value) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut todo = vec![(String::new(), value)];
    while let Some((place, value)) = todo.pop() {
        let inner: Vec<(String, &Value)> = match value {
            Value::Array(items) => {
                items.iter().enumerate().map(|(at, item)| (format!("{place}/{at}"), item)).collect()
            }
            Value::Object(map) => {
                map.iter().map(|(key, item)| (format!("{place}/{key}"), item)).collect()
            }
            _ => Vec::new(),
        };
        found.extend(inner.iter().map(|(place, _)| place.clone()));
        todo.extend(inner);
    }
    found
}
