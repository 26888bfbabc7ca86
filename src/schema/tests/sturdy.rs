//! Promises that hold for any input.

use std::sync::{Arc, LazyLock};

use proptest::prelude::*;
use serde_json::{Map, Number, Value, json};

use super::tool;
use crate::catalog::Tool;
use crate::schema::{Bounds, Schemas, canonical, read};

fn schema() -> Value {
    json!({
        "type": "object",
        "required": ["n"],
        "properties": {
            "n": {"type": "integer"},
            "flag": {"type": "boolean"},
            "status": {"enum": ["open", "closed"]},
            "tags": {"type": "array", "items": {"type": "string"}},
            "limit": {"type": "integer", "default": 20},
            "sub": {"$ref": "#/$defs/sub"},
            "mix": {"anyOf": [{"type": "number"}, {"type": "null"}, {"$ref": "#/$defs/sub"}]},
        },
        "$defs": {"sub": {"type": "object", "additionalProperties": false,
            "properties": {"n": {"type": "integer"}, "sub": {"$ref": "#/$defs/sub"}}}},
    })
}

static COMPILED: LazyLock<(Arc<Tool>, Schemas, jsonschema::Validator)> = LazyLock::new(|| {
    let tool = Arc::new(tool(schema()));
    let (schemas, problems) = Schemas::compile(&[Arc::clone(&tool)]);
    assert_eq!(problems, []);
    let plain = jsonschema::draft202012::new(&schema()).unwrap();
    (tool, schemas, plain)
});

fn number() -> impl Strategy<Value = Value> {
    "-?(0|[1-9][0-9]{0,25})(\\.[0-9]{1,3})?([eE][+-]?[0-9]{1,2})?"
        .prop_map(|text| Value::Number(text.parse::<Number>().unwrap()))
}

fn value() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        Just("12".to_owned()),
        Just("true".to_owned()),
        Just("Open".to_owned()),
        Just("{\"n\":\"1\"}".to_owned()),
        Just("[1]".to_owned()),
        Just(String::new()),
        ".{0,6}",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        number(),
        text.prop_map(Value::String),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            members(inner),
        ]
    })
}

fn members(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    const NAMES: [&str; 11] =
        ["n", "N", "flag", "status", "tags", "limit", "Limit", "sub", "Sub", "mix", "other"];
    prop::collection::vec((prop::sample::select(&NAMES[..]), inner), 0..6).prop_map(|pairs| {
        let pairs = pairs.into_iter().map(|(name, value)| (name.to_owned(), value));
        Value::Object(pairs.collect::<Map<_, _>>())
    })
}

fn whole() -> impl Strategy<Value = Value> {
    "-?(0|[1-9][0-9]{0,25})(\\.0{1,3})?([eE]\\+?[0-5]?[0-9])?"
        .prop_map(|text| Value::Number(text.parse::<Number>().unwrap()))
}

fn sub() -> impl Strategy<Value = Value> {
    let leaf = whole().prop_map(|n| json!({"n": n}));
    leaf.prop_recursive(3, 8, 1, |inner| inner.prop_map(|sub| json!({"sub": sub})))
}

/// Arguments that fit the schema.
fn fitting() -> impl Strategy<Value = Value> {
    let some = |inner: BoxedStrategy<Value>| prop::option::of(inner);
    (
        whole(),
        some(any::<bool>().prop_map(Value::Bool).boxed()),
        some(prop_oneof![Just(json!("open")), Just(json!("closed"))].boxed()),
        some(prop::collection::vec(".{0,6}", 0..4).prop_map(|tags| json!(tags)).boxed()),
        some(whole().boxed()),
        some(sub().boxed()),
        some(prop_oneof![number(), Just(Value::Null), sub()].boxed()),
        some(value().boxed()),
    )
        .prop_map(|(n, flag, status, tags, limit, sub, mix, other)| {
            let names = ["flag", "status", "tags", "limit", "sub", "mix", "other"];
            let members = names.iter().zip([flag, status, tags, limit, sub, mix, other]);
            let mut map = Map::new();
            map.insert("n".to_owned(), n);
            for (name, member) in members {
                map.extend(member.map(|member| ((*name).to_owned(), member)));
            }
            Value::Object(map)
        })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_answered(text in ".{0,200}") {
        let (tool, schemas, _) = &*COMPILED;
        drop(schemas.check_text(tool, &text));
    }

    #[test]
    fn text_like_json_is_answered(text in "[\\[\\]{}\",:0-9a-fnulr\\\\ .-]{0,60}") {
        let (tool, schemas, _) = &*COMPILED;
        drop(schemas.check_text(tool, &text));
    }

    #[test]
    fn strict_reading_agrees_with_serde_json(value in value()) {
        let text = value.to_string();
        let bounds = Bounds { bytes: text.len(), depth: 64 };
        let read = read(&text, bounds).unwrap();
        prop_assert_eq!(read.to_string(), text);
    }

    #[test]
    fn canonical_text_is_its_own_canonical_text(value in value()) {
        let text = canonical(&value);
        let bounds = Bounds { bytes: text.len(), depth: 64 };
        prop_assert_eq!(canonical(&read(&text, bounds).unwrap()), text);
    }

    #[test]
    fn what_passes_fits_and_passes_again_unchanged(value in members(value())) {
        let (tool, schemas, plain) = &*COMPILED;
        if let Ok(done) = schemas.check_text(tool, &value.to_string()) {
            prop_assert!(plain.is_valid(&done.value), "{}", done.value);
            let again = schemas.check_text(tool, &done.value.to_string()).unwrap();
            prop_assert_eq!(&again.value, &done.value);
            prop_assert_eq!(again.repairs, vec![]);
        }
    }

    #[test]
    fn a_value_that_fits_is_not_converted(value in fitting()) {
        let (tool, schemas, plain) = &*COMPILED;
        prop_assert!(plain.is_valid(&value), "{}", value);
        let done = schemas.check_text(tool, &value.to_string()).unwrap();
        for change in &done.repairs {
            prop_assert!(
                ["default", "integer"].contains(&change.kind.as_str()),
                "{} became {} by {:?}", value, done.value, change
            );
        }
        if value.get("limit").is_some() {
            prop_assert_eq!(canonical(&value), done.canonical);
        }
    }
}

/// Twenty alternatives in each of which the same twenty can stand again.
fn nested_alternatives() -> Value {
    let branches: Vec<Value> = (0..20)
        .map(|n| {
            json!({"type": "object", "required": [format!("k{n}")], "properties": {
                "a": {"type": "integer"}, "next": {"$ref": "#/$defs/any"}}})
        })
        .collect();
    json!({"type": "object",
        "properties": {"v": {"type": "array", "items": {"$ref": "#/$defs/any"}}},
        "$defs": {"any": {"anyOf": branches}}})
}

#[test]
fn nested_alternatives_cost_a_bounded_time() {
    let tool = Arc::new(tool(nested_alternatives()));
    let (schemas, problems) = Schemas::compile(&[Arc::clone(&tool)]);
    assert_eq!(problems, []);
    let nested =
        |levels: usize| format!("{}1{}", r#"{"a":"1","next":"#.repeat(levels), "}".repeat(levels));
    let wide = vec![r#"{"a":"1"}"#; 20_000].join(",");
    for items in [nested(3), nested(60), wide] {
        let started = std::time::Instant::now();
        let error = schemas.check_text(&tool, &format!(r#"{{"v":[{items}]}}"#)).unwrap_err();
        assert!(!super::violations(&error).is_empty());
        // Unbounded, three levels take minutes in a debug build.
        assert!(started.elapsed() < std::time::Duration::from_secs(20));
    }
}

#[test]
fn a_large_catalog_has_its_broken_schemas_named_and_its_validators_on_first_use() {
    let named = |number: usize, schema: Value| {
        Arc::new(Tool {
            name: format!("tool{number}"),
            digest: format!("digest{number}"),
            ..tool(schema)
        })
    };
    let good = json!({"type": "object", "properties": {"v": {"type": "integer"}}});
    let bad = json!({"type": "object", "properties": {"v": {"$ref": "#/nowhere"}}});
    let mut tools: Vec<Arc<Tool>> = (0..600).map(|number| named(number, good.clone())).collect();
    tools.insert(300, named(600, bad));
    let (schemas, problems) = Schemas::compile(&tools);
    assert_eq!(problems.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["tool600"]);
    // The same from what was remembered, where nothing was compiled yet.
    for schemas in [schemas, Schemas::trust(&tools)] {
        for place in [0, 299, 301, 600] {
            assert!(schemas.check_text(&tools[place], "{\"v\":1}").is_ok());
            assert!(schemas.check_text(&tools[place], "{\"v\":[]}").is_err());
        }
        // One that cannot be made refuses its calls, whatever was said of it.
        let refused = schemas.check_text(&tools[300], "{\"v\":1}").unwrap_err();
        assert_eq!(refused.failure().code, crate::call::Code::Internal);
    }
}
