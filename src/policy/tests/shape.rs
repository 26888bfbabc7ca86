//! Which part of a JSON Schema Cedar can read, and which values it gets.

use proptest::prelude::*;

use super::super::number::{decimal, long};
use super::super::shape::Shape;
use super::*;

fn print(schema: &Value) -> String {
    let mut out = String::new();
    Shape::of_schema(schema).print(&mut out);
    out.replace("__cedar::", "")
}

/// The type of one optional property `x`; empty when it is not readable.
fn print_one(schema: &Value) -> String {
    let all = print(&json!({ "type": "object", "properties": { "x": schema } }));
    all.trim_start_matches(r#"{ "x"?: "#).trim_end_matches(" }").replace("{}", "")
}

#[test]
fn json_types_have_documented_cedar_types() {
    for (schema, expected) in [
        (json!({ "type": "string" }), "String"),
        (json!({ "type": "string", "enum": ["a", "b"] }), "String"),
        (json!({ "enum": ["a", "b"] }), "String"),
        (json!({ "const": 7 }), "Long"),
        (json!({ "type": "boolean" }), "Bool"),
        (json!({ "type": "integer", "minimum": 1 }), "Long"),
        (json!({ "type": "number" }), "decimal"),
        (json!({ "type": ["integer", "null"] }), "Long"),
        (json!({ "type": "array", "items": { "type": "integer" } }), "Set<Long>"),
        (json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] }), "String"),
        (json!({ "oneOf": [{ "const": "a" }, { "const": "b" }] }), "String"),
        (json!({ "allOf": [{ "type": "string" }, { "minLength": 1 }] }), "String"),
        (
            json!({ "type": "object", "required": ["a"], "properties": { "a": { "type": "string" } } }),
            r#"{ "a": String"#,
        ),
        (json!({}), ""),
        (json!(true), ""),
        (json!({ "type": ["string", "integer"] }), ""),
        (json!({ "anyOf": [{ "type": "string" }, { "type": "integer" }] }), ""),
        (json!({ "type": "array" }), ""),
        (json!({ "type": "array", "prefixItems": [{ "type": "string" }] }), ""),
        (json!({ "$ref": "#/nowhere" }), ""),
        (json!({ "type": "null" }), ""),
    ] {
        assert_eq!(print_one(&schema), expected, "{schema}");
    }
}

#[test]
fn only_what_is_always_there_is_a_required_attribute() {
    assert_eq!(
        print(&json!({ "type": "object", "required": ["a", "b"], "properties": {
            "a": { "type": "string" },
            "b": { "type": ["string", "null"] },
            "c": { "type": "string", "default": "x" },
        }})),
        r#"{ "a": String, "b"?: String, "c"?: String }"#
    );
}

#[test]
fn references_and_all_of_are_followed() {
    assert_eq!(
        print(&json!({
            "allOf": [{ "$ref": "#/$defs/base" }, { "required": ["b"], "properties": { "b": { "type": "integer" } } }],
            "$defs": { "base": { "type": "object", "required": ["a"], "properties": { "a": { "$ref": "#/$defs/text" } } },
                       "text": { "type": "string" } }
        })),
        r#"{ "a": String, "b": Long }"#
    );
}

#[test]
fn recursion_ends_and_width_is_bounded() {
    let tree = json!({ "$ref": "#/$defs/node", "$defs": { "node": { "type": "object", "properties": {
        "name": { "type": "string" }, "left": { "$ref": "#/$defs/node" }, "right": { "$ref": "#/$defs/node" },
        "self": { "allOf": [{ "$ref": "#/$defs/loop" }] } },
    }, "loop": { "$ref": "#/$defs/loop" } } });
    let text = print(&tree);
    assert!(text.contains(r#""left""#) && text.len() < 20_000, "{}", text.len());
    let wide: serde_json::Map<String, Value> =
        (0..5000).map(|index| (format!("p{index:04}"), json!({ "type": "string" }))).collect();
    let text = print(&json!({ "type": "object", "properties": wide }));
    assert_eq!(text.matches("String").count(), 256);
}

#[test]
fn any_property_name_can_be_asked() {
    let names =
        ["plain", "with space", "quo\"te", "back\\slash", "tab\t", "名字", "in", "\u{202e}"];
    let properties: serde_json::Map<String, Value> =
        names.iter().map(|name| ((*name).to_owned(), json!({ "type": "string" }))).collect();
    let schema = json!({ "type": "object", "required": names, "properties": properties });
    let tool = tool("odd.names", Risk::Read, schema);
    for name in names {
        let mut quoted = String::new();
        super::super::shape::quote(name, &mut quoted);
        let text = format!(
            "permit (principal, action, resource) when {{ context.input[{quoted}] == \"yes\" }};"
        );
        let policies = load(&policy("p", &text), std::slice::from_ref(&tool));
        let mut arguments: Value =
            names.iter().map(|name| ((*name).to_owned(), json!("no"))).collect();
        assert!(decide(&policies, &tool, &arguments.to_string()).is_err(), "{name}");
        arguments[name] = json!("yes");
        assert!(decide(&policies, &tool, &arguments.to_string()).is_ok(), "{name}");
    }
}

#[test]
fn values_reach_policies_as_they_are() {
    let schema = json!({ "type": "object", "required": ["b", "n", "t", "s", "d", "o"], "properties": {
        "b": { "type": "boolean" }, "n": { "type": "integer" }, "t": { "type": "string" },
        "s": { "type": "array", "items": { "type": ["integer", "null"] } }, "d": { "type": "number" },
        "o": { "type": "object", "properties": { "in": { "type": "string" } } },
    }});
    let tool = tool("all.types", Risk::Read, schema);
    let arguments =
        r#"{"b":true,"n":1.0e1,"t":"x\ny","s":[1,2,2],"d":-12.50,"o":{"in":"deep","free":1}}"#;
    for (condition, permitted) in [
        ("context.input.b", true),
        ("context.input.n == 10", true),
        (r#"context.input.t == "x\ny""#, true),
        ("context.input.s == [2, 1]", true),
        (r#"context.input.d == decimal("-12.5")"#, true),
        (r#"context.input.o has "in" && context.input.o["in"] == "deep""#, true),
        ("context.input.s.contains(3)", false),
    ] {
        let text = format!("permit (principal, action, resource) when {{ {condition} }};");
        let policies = load(&policy("p", &text), std::slice::from_ref(&tool));
        assert_eq!(decide(&policies, &tool, arguments).is_ok(), permitted, "{condition}");
    }
    let text = "permit (principal, action, resource) unless { context.input.s.contains(3) };";
    let policies = load(&policy("p", text), std::slice::from_ref(&tool));
    let null = arguments.replace("[1,2,2]", "[1,null]");
    assert!(decide(&policies, &tool, &null).is_err(), "a null in a set hides nothing");
}

#[test]
fn numbers_convert_exactly_or_not_at_all() {
    for (text, expected) in [
        ("0", Some(0)),
        ("-0.0", Some(0)),
        ("1.0", Some(1)),
        ("1e3", Some(1000)),
        ("1200e-2", Some(12)),
        ("0.5e1", Some(5)),
        ("9223372036854775807", Some(i64::MAX)),
        ("-9223372036854775808", Some(i64::MIN)),
        ("9223372036854775808", None),
        ("1.5", None),
        ("1e400", None),
        ("1e-400", None),
        ("0e99999999999999999999", Some(0)),
        ("1e99999999999999999999", None),
    ] {
        assert_eq!(long(text), expected, "{text}");
    }
    for (text, expected) in [
        ("5", Some("5.0000")),
        ("-0.25", Some("-0.2500")),
        ("1.2345", Some("1.2345")),
        ("1.23450", Some("1.2345")),
        ("1.23456", None),
        ("922337203685477.5807", Some("922337203685477.5807")),
        ("922337203685477.5808", None),
    ] {
        assert_eq!(decimal(text).as_deref(), expected, "{text}");
    }
}

proptest! {
    #[test]
    fn any_integer_is_read_back(value: i128, zeros in 0_usize..4) {
        let text = format!("{value}.{}", "0".repeat(zeros + 1));
        prop_assert_eq!(long(&text), i64::try_from(value).ok());
    }

    #[test]
    fn any_decimal_is_read_back(value: i64) {
        let text = decimal(&format!("{value}e-4")).unwrap();
        let (whole, places) = text.trim_start_matches('-').split_once('.').unwrap();
        prop_assert_eq!(format!("{whole}{places}").parse::<u64>().unwrap(), value.unsigned_abs());
        prop_assert_eq!(text.starts_with('-'), value < 0);
    }
}
