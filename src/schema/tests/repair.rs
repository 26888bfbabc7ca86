//! What is repaired, what is left alone and what is refused.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{check, check_tool, kinds, one, outcome, tool};
use crate::catalog::Repair;
use crate::schema::{Arguments, Schemas};

fn repairs(done: &Arguments) -> Vec<(&str, &str, &str, &str)> {
    done.repairs
        .iter()
        .map(|one| (one.kind.as_str(), one.pointer.as_str(), one.from.as_str(), one.to.as_str()))
        .collect()
}

#[test]
fn types_are_converted_by_json_rules_only() {
    let integer = || json!({"type": "integer"});
    let strings = || json!({"type": "array", "items": {"type": "string"}});
    for (schema, given, expected) in [
        (integer(), r#""12""#, "12"),
        (integer(), r#""012""#, "refused: type"),
        (integer(), r#""12.0""#, "12"),
        (integer(), r#""12.5""#, "refused: type"),
        (integer(), r#""1e2""#, "100"),
        (integer(), r#""12abc""#, "refused: type"),
        (integer(), "true", "refused: type"),
        (integer(), "\"\u{ff11}\u{ff12}\"", "refused: type"),
        (integer(), r#"" 12 ""#, "12"),
        (integer(), r#""-0""#, "0"),
        (integer(), r#""9007199254740993""#, "9007199254740993"),
        (json!({"type": "number"}), r#""1,234""#, "refused: type"),
        (json!({"type": "number"}), r#""1.10""#, "1.10"),
        (json!({"type": "number"}), r#""NaN""#, "refused: type"),
        (json!({"type": "boolean"}), r#""false""#, "false"),
        (json!({"type": "boolean"}), r#""no""#, "refused: type"),
        (json!({"type": "boolean"}), r#""True""#, "refused: type"),
        (json!({"type": "boolean"}), "0", "refused: type"),
        (json!({"type": "string"}), "12", r#""12""#),
        (json!({"type": "string"}), "1.10", r#""1.10""#),
        (json!({"type": "string"}), r#""007""#, r#""007""#),
        (json!({"type": "string"}), "1e3", "refused: type"),
        (json!({"type": "string"}), "true", "refused: type"),
        (strings(), r#""a""#, "refused: type"),
        (json!({"type": ["string", "integer"]}), r#""12""#, r#""12""#),
        (json!({"type": ["integer", "null"]}), r#""12""#, "12"),
        (json!({"enum": [1, 2]}), r#""2""#, "2"),
        (json!({"type": "integer", "maximum": 5}), r#""12""#, "refused: type"),
    ] {
        let mut schema = one(schema);
        schema["required"] = json!(["v"]);
        let got = outcome(schema.clone(), &format!(r#"{{"v":{given}}}"#));
        let expected = match expected.strip_prefix("refused") {
            Some(_) => expected.to_owned(),
            None => format!(r#"{{"v":{expected}}}"#),
        };
        assert_eq!(got, expected, "{schema} given {given}");
    }
}

#[test]
fn integers_may_be_spelled_as_fractions_of_zero() {
    let schema = || {
        json!({"type": "object", "properties": {
            "n": {"type": "integer", "maximum": 100},
            "f": {"type": "number", "format": "float"},
        }})
    };
    for (given, expected) in [
        (r#"{"n":5.0}"#, r#"{"n":5}"#),
        (r#"{"n":1e2}"#, r#"{"n":100}"#),
        (r#"{"n":3.7}"#, "refused: type"),
        (r#"{"n":1e400}"#, "refused: maximum"),
        (r#"{"n":-0.0}"#, r#"{"n":0}"#),
        (r#"{"f":10}"#, r#"{"f":10}"#),
        (r#"{"f":1.50}"#, r#"{"f":1.50}"#),
    ] {
        assert_eq!(outcome(schema(), given), expected, "{given}");
    }
    assert_eq!(outcome(one(json!({"type": "integer"})), r#"{"v":1e400}"#), "refused: integer");
    let nullable = json!({"anyOf": [{"type": "integer"}, {"type": "null"}]});
    assert_eq!(outcome(one(nullable), r#"{"v":7.0}"#), r#"{"v":7}"#);
}

#[test]
fn a_converted_value_is_listed_with_both_spellings() {
    let done = check(one(json!({"type": "integer"})), r#"{"v":"12.0"}"#).unwrap();
    assert_eq!(repairs(&done), [("type", "/v", r#""12.0""#, "12")]);
    assert_eq!(done.canonical, r#"{"v":12}"#);
}

#[test]
fn arguments_encoded_twice_are_opened() {
    let schema = || json!({"type": "object", "required": ["shop"]});
    for (given, opened) in [
        (r#"{"shop":"A店"}"#, 0),
        (r#""{\"shop\":\"A店\"}""#, 1),
        (r#""\"{\\\"shop\\\":\\\"A店\\\"}\"""#, 2),
    ] {
        let done = check(schema(), given).unwrap();
        assert_eq!(done.canonical, r#"{"shop":"A店"}"#);
        assert_eq!(done.repairs.len(), opened);
        assert!(done.repairs.iter().all(|one| one.kind == "decode" && one.pointer.is_empty()));
    }
    let thrice =
        Value::String(Value::String(Value::String("{}".to_owned()).to_string()).to_string());
    assert!(check(json!({"type": "object"}), &thrice.to_string()).is_err());
}

#[test]
fn json_text_is_decoded_only_where_text_is_not_allowed() {
    let schema = || {
        json!({"type": "object", "properties": {
            "plan": {"type": "array", "items": {"type": "object"}},
            "opts": {"type": "object"},
            "comment": {"type": "string"},
            "any": {},
            "mix": {"anyOf": [{"type": "string"}, {"type": "array"}]},
        }})
    };
    let untouched = [
        r#"{"comment":"[todo]: {\"x\":1} see below"}"#,
        r#"{"comment":"[1,2]"}"#,
        r#"{"any":"[1]","mix":"[1]"}"#,
    ];
    for text in untouched {
        let done = check(schema(), text).unwrap();
        assert_eq!((done.value.to_string().as_str(), done.repairs.len()), (text, 0));
    }
    let given = r#"{"plan":"[{\"step\":\"a\"}]","opts":"{\"x\":1}"}"#;
    assert_eq!(outcome(schema(), given), r#"{"plan":[{"step":"a"}],"opts":{"x":1}}"#);
    assert_eq!(outcome(schema(), r#"{"plan":"[1,2] trailing"}"#), "refused: type");
    assert_eq!(outcome(schema(), r#"{"plan":"step one"}"#), "refused: type");
}

#[test]
fn what_was_decoded_is_repaired_in_turn() {
    let schema = one(json!({"type": "array", "items": {
        "type": "object", "properties": {"count": {"type": "integer"}}, "additionalProperties": false,
    }}));
    let done = check(schema, r#"{"v":"[{\"Count\":\"3\"}]"}"#).unwrap();
    assert_eq!(done.canonical, r#"{"v":[{"count":3}]}"#);
    let kinds: Vec<&str> = done.repairs.iter().map(|one| one.kind.as_str()).collect();
    assert_eq!(kinds, ["decode", "rename", "type"]);
}

#[test]
fn names_that_differ_in_case_or_separators_are_renamed() {
    let schema = || {
        json!({"type": "object", "properties": {"customer_id": {"type": "integer"}, "b": {}},
            "required": ["customer_id"]})
    };
    for name in ["CustomerID", "customerId", "customer-id", "CUSTOMER_ID", "customer id"] {
        let done = check(schema(), &format!(r#"{{"{name}":"7","b":1}}"#)).unwrap();
        assert_eq!(done.value.to_string(), r#"{"customer_id":7,"b":1}"#);
        assert_eq!(done.repairs[0].kind, "rename");
        assert_eq!(done.repairs[0].pointer, "/customer_id");
    }
    assert_eq!(outcome(schema(), r#"{"customerId":1,"customer_id":2}"#), "refused: conflict");
    assert_eq!(outcome(schema(), r#"{"customerId":1,"Customer_Id":2}"#), "refused: conflict");
}

#[test]
fn a_declared_alias_is_renamed_and_a_real_name_is_not() {
    let aliased = || {
        let schema = json!({"type": "object", "properties": {
            "query": {"type": "string"}, "q2": {"type": "string"}}, "additionalProperties": true});
        let mut tool = tool(schema);
        tool.aliases.insert("q".to_owned(), "query".to_owned());
        tool.aliases.insert("q2".to_owned(), "query".to_owned());
        tool
    };
    let done = check_tool(aliased(), r#"{"q":"x","q2":"y"}"#).unwrap();
    assert_eq!(done.canonical, r#"{"q2":"y","query":"x"}"#);
    let error = check_tool(aliased(), r#"{"q":"x","query":"y"}"#).unwrap_err();
    assert_eq!(kinds(&error), ["conflict"]);
}

#[test]
fn extra_members_that_are_welcome_keep_their_names() {
    let map = one(json!({"type": "object", "properties": {"id": {"type": "integer"}},
        "additionalProperties": {"type": "integer"}}));
    assert_eq!(outcome(map, r#"{"v":{"ID":1,"id":2}}"#), r#"{"v":{"ID":1,"id":2}}"#);
    let patterned = one(json!({"type": "object", "properties": {"ab": {}},
        "patternProperties": {"^A": {"type": "integer"}}}));
    assert_eq!(outcome(patterned, r#"{"v":{"AB":"5"}}"#), r#"{"v":{"AB":5}}"#);
}

#[test]
fn two_names_for_one_property_are_a_conflict_even_if_extras_are_allowed() {
    let schema = || {
        json!({"properties": {"amount": {"type": "integer"},
            "repo": {"type": "string", "default": "prod/main"}, "opts": {"type": "object"}}})
    };
    for (given, expected) in [
        (r#"{"amount":"5000","repo":"sandbox/a"}"#, r#"{"amount":5000,"repo":"sandbox/a"}"#),
        (r#"{"Amount":5000,"amount":5,"repo":"sandbox/a"}"#, "refused: conflict"),
        (r#"{"amount":5}"#, r#"{"amount":5,"repo":"prod/main"}"#),
        (r#"{"amount":5,"Repo":"prod/x","repo":"sandbox/a"}"#, "refused: conflict"),
        (r#"{"amount":5,"repo":"\"prod/x\""}"#, r#"{"amount":5,"repo":"\"prod/x\""}"#),
        (r#"{"amount":1e3,"repo":"sandbox/a"}"#, r#"{"amount":1000,"repo":"sandbox/a"}"#),
    ] {
        assert_eq!(outcome(schema(), given), expected, "{given}");
    }
}

#[test]
fn defaults_fill_gaps_and_never_overwrite() {
    let schema = || {
        json!({"type": "object", "properties": {
            "count": {"type": "integer", "minimum": 1, "default": "20"},
            "dry": {"type": "boolean", "default": "false"},
            "sort": {"type": "string", "enum": ["asc", "desc"], "default": "up"},
            "page": {"type": "integer", "default": 1},
            "none": {"type": ["string", "null"], "default": null},
            "sub": {"type": "object", "properties": {"deep": {"$ref": "#/$defs/deep"}}},
        }, "$defs": {"deep": {"type": "integer", "default": 9}}})
    };
    for (given, expected) in [
        ("{}", r#"{"page":1}"#),
        (r#"{"page":0}"#, r#"{"page":0}"#),
        (r#"{"page":null}"#, "{}"),
        (r#"{"page":""}"#, "{}"),
        (r#"{"page":2,"sub":{}}"#, r#"{"page":2,"sub":{"deep":9}}"#),
    ] {
        assert_eq!(outcome(schema(), given), expected, "{given}");
    }
    let done = check(schema(), "{}").unwrap();
    assert_eq!(repairs(&done), [("default", "/page", "", "1")]);
}

#[test]
fn a_default_is_settled_but_gets_no_defaults_of_its_own() {
    let schema = json!({"type": "object", "properties": {"tree": {"$ref": "#/$defs/tree"},
            "n": {"type": "integer", "default": 20.0}},
        "$defs": {"tree": {"type": "object", "default": {}, "properties": {
            "left": {"$ref": "#/$defs/tree"}, "right": {"$ref": "#/$defs/tree"}}}}});
    assert_eq!(outcome(schema.clone(), "{}"), r#"{"tree":{},"n":20}"#);
    assert_eq!(
        outcome(schema, r#"{"n":1,"tree":{"left":{}}}"#),
        r#"{"n":1,"tree":{"left":{"left":{},"right":{}},"right":{}}}"#
    );
    let fat = json!({"type": "object", "properties": {"v": {"type": "array", "items": {
        "type": "object", "properties": {"x": {"default": "y".repeat(100_000)}}}}}});
    assert_eq!(
        outcome(fat, r#"{"v":[{},{},{},{},{},{},{},{},{},{},{},{}]}"#),
        "refused: size size"
    );
}

#[test]
fn a_default_that_breaks_a_rule_between_properties_is_not_given() {
    let schema = json!({"type": "object", "properties": {
        "a": {"type": "integer", "default": 1}, "b": {"type": "integer"}},
        "not": {"required": ["a", "b"]}});
    assert_eq!(outcome(schema.clone(), r#"{"b":2}"#), r#"{"b":2}"#);
    assert_eq!(outcome(schema, "{}"), r#"{"a":1}"#);
}

#[test]
fn empty_text_and_null_are_dropped_only_where_nothing_can_be_meant() {
    let schema = || {
        json!({"type": "object", "required": ["ns", "note"], "properties": {
            "ns": {"type": "string", "minLength": 1},
            "note": {"type": "string"},
            "assignee": {"type": "integer"},
            "since": {"type": "string", "format": "date-time"},
            "label": {"type": "string", "pattern": "^[a-z]+=[a-z]+$"},
            "comment": {"type": "string"},
        }})
    };
    let given = r#"{"ns":"shop-a","note":"","assignee":"","since":"","label":"","comment":""}"#;
    assert_eq!(outcome(schema(), given), r#"{"ns":"shop-a","note":"","comment":""}"#);
    assert_eq!(outcome(schema(), r#"{"ns":"","note":"x"}"#), "refused: minLength");
    let given = r#"{"ns":"a","note":"x","assignee":null}"#;
    assert_eq!(outcome(schema(), given), r#"{"ns":"a","note":"x"}"#);
    assert_eq!(outcome(schema(), r#"{"ns":"a","note":null}"#), "refused: type");
}

#[test]
fn listed_values_match_beyond_case_and_space_only_when_one_does() {
    let schema = |options: Value| one(json!({"type": "string", "enum": options}));
    assert_eq!(outcome(schema(json!(["open", "closed"])), r#"{"v":" Open "}"#), r#"{"v":"open"}"#);
    assert_eq!(outcome(schema(json!(["a", "A"])), r#"{"v":" a "}"#), "refused: enum");
    assert_eq!(outcome(schema(json!(["open"])), r#"{"v":"opened"}"#), "refused: enum");
}

#[test]
fn an_envelope_is_opened_only_when_the_plain_reading_fails() {
    let alias = || {
        let mut tool = tool(json!({"type": "object", "required": ["name", "arguments"],
            "properties": {"name": {"type": "string"}, "arguments": {"type": "object"},
                "input": {"type": "string"}}}));
        tool.name = "create_alias".to_owned();
        tool
    };
    for text in [
        r#"{"name":"ll","arguments":{"cmd":"ls"}}"#,
        r#"{"name":"create_alias","arguments":{"name":"ll","arguments":{"cmd":"ls"}}}"#,
        r#"{"input":"x","name":"a","arguments":{}}"#,
    ] {
        let done = check_tool(alias(), text).unwrap();
        assert_eq!((done.value.to_string().as_str(), done.repairs.len()), (text, 0));
    }
    let search =
        || json!({"type": "object", "required": ["q"], "properties": {"q": {"type": "string"}}});
    for text in [
        r#"{"name":"probe","arguments":{"q":"x"}}"#,
        r#"{"input":{"q":"x"}}"#,
        r#"{"parameters":"{\"q\":\"x\"}"}"#,
    ] {
        let done = check(search(), text).unwrap();
        assert_eq!(done.canonical, r#"{"q":"x"}"#);
        assert_eq!(done.repairs[0].kind, "unwrap");
    }
    for text in [
        r#"{"name":"other","arguments":{"q":"x"}}"#,
        r#"{"arguments":{"x":1}}"#,
        r#"{"arguments":{"q":"x"},"extra":1}"#,
    ] {
        assert_eq!(outcome(search(), text), "refused: required", "{text}");
    }
}

#[test]
fn repairs_reach_through_references_and_all_of() {
    let schema = json!({
        "type": "object",
        "allOf": [{"$ref": "#/$defs/paged"}],
        "properties": {"items": {"type": "array", "items": {"$ref": "#/$defs/item"}}},
        "$defs": {
            "paged": {"properties": {"limit": {"type": "integer"}}},
            "item": {"type": "object", "properties": {
                "n": {"type": "integer"}, "next": {"$ref": "#/$defs/item"}}},
        },
    });
    let given = r#"{"limit":"5","items":[{"n":"1","next":{"n":"2","next":{"N":3.0}}}]}"#;
    assert_eq!(
        outcome(schema, given),
        r#"{"limit":5,"items":[{"n":1,"next":{"n":2,"next":{"n":3}}}]}"#
    );
}

#[test]
fn alternatives_are_repaired_only_when_one_can_be_meant() {
    let either = |keyword: &str, left: Value, right: Value| one(json!({ keyword: [left, right] }));
    let circle = || {
        json!({"type": "object", "required": ["kind", "radius"], "additionalProperties": false,
            "properties": {"kind": {"const": "circle"}, "radius": {"type": "number"}}})
    };
    let square = || {
        json!({"type": "object", "required": ["kind", "side"], "additionalProperties": false,
            "properties": {"kind": {"const": "square"}, "side": {"type": "number"},
                "round": {"type": "boolean", "default": false}}})
    };
    for (schema, given, expected) in [
        (
            either("oneOf", circle(), square()),
            r#"{"v":{"kind":"circle","Radius":"2"}}"#,
            r#"{"v":{"kind":"circle","radius":2}}"#,
        ),
        (
            either("anyOf", circle(), square()),
            r#"{"v":{"kind":"square","side":1}}"#,
            r#"{"v":{"kind":"square","side":1,"round":false}}"#,
        ),
        (
            either("anyOf", json!({"type": "integer"}), json!({"type": "null"})),
            r#"{"v":"12"}"#,
            r#"{"v":12}"#,
        ),
        (
            either("anyOf", json!({"type": "integer"}), json!({"type": "number"})),
            r#"{"v":"12"}"#,
            r#"{"v":12}"#,
        ),
        (
            either(
                "anyOf",
                json!({"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}),
                json!({"type": "object", "properties": {"x": {"type": "boolean"}}, "required": ["x"]}),
            ),
            r#"{"v":{"x":"1"}}"#,
            r#"{"v":{"x":1}}"#,
        ),
        (
            either(
                "anyOf",
                json!({"type": "object", "properties": {"ab": {"type": "integer"}}, "required": ["ab"]}),
                json!({"type": "object", "properties": {"a_b": {"type": "integer"}}, "required": ["a_b"]}),
            ),
            r#"{"v":{"AB":1}}"#,
            "refused: required",
        ),
    ] {
        assert_eq!(outcome(schema.clone(), given), expected, "{schema}");
    }
}

#[test]
fn repair_off_changes_nothing() {
    let strict = || {
        let mut tool = tool(one(json!({"type": "integer", "default": 3})));
        tool.repair = Repair::Off;
        tool
    };
    assert_eq!(check_tool(strict(), "{}").unwrap().canonical, "{}");
    assert_eq!(check_tool(strict(), r#"{"v":5.0}"#).unwrap().value.to_string(), r#"{"v":5.0}"#);
    assert_eq!(kinds(&check_tool(strict(), r#"{"v":"5"}"#).unwrap_err()), ["type"]);
    assert_eq!(kinds(&check_tool(strict(), r#""{}""#).unwrap_err()), ["type"]);
}

#[test]
fn secrets_are_not_listed() {
    let schema = || {
        json!({"type": "object", "properties": {
            "pin": {"type": "string", "format": "password", "maxLength": 9}, "opts": {"type": "object"}}})
    };
    let done = check(schema(), r#"{"pin":12345}"#).unwrap();
    assert_eq!(repairs(&done), [("type", "/pin", r#""***""#, r#""***""#)]);
    let done = check(schema(), r#""{\"pin\":\"hunter2\"}""#).unwrap();
    assert!(!format!("{:?}", done.repairs).contains("hunter2"));
    let error = check(schema(), r#"{"pin":"hunter2-and-more"}"#).unwrap_err().failure();
    assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
}

#[test]
fn many_changes_are_made_and_the_rest_is_counted() {
    let schema = one(json!({"type": "array", "items": {"type": "integer"}}));
    let floats = vec!["1.0"; 1000].join(",");
    let done = check(schema, &format!(r#"{{"v":[{floats}]}}"#)).unwrap();
    assert_eq!(done.canonical.matches(".0").count(), 0);
    assert_eq!(done.repairs.len(), 257);
    assert_eq!((done.repairs[256].kind.as_str(), done.repairs[256].to.as_str()), ("more", "744"));
}

#[test]
fn cache_identity_follows_the_meaning() {
    let schema = || {
        json!({"type": "object", "properties": {"n": {"type": "integer"},
            "limit": {"type": "integer", "default": 20}, "x": {"type": ["integer", "null"]}, "id": {}}})
    };
    let identity = |text: &str| check(schema(), text).unwrap().digest;
    for (left, right) in [
        (r#"{"n":1,"x":2}"#, r#"{"x":2,"n":1}"#),
        (r#"{"n":"12"}"#, r#"{"n":12}"#),
        (r#"{"n":1.0}"#, r#"{"n":1}"#),
        ("{}", r#"{"limit":20}"#),
    ] {
        assert_eq!(identity(left), identity(right), "{left} {right}");
    }
    for (left, right) in
        [(r#"{"id":9007199254740993}"#, r#"{"id":9007199254740992}"#), (r#"{"x":null}"#, "{}")]
    {
        assert_ne!(identity(left), identity(right), "{left} {right}");
    }
}

#[test]
fn a_reload_keeps_what_did_not_change() {
    let old = Arc::new(tool(one(json!({"type": "integer"}))));
    let new = Arc::new(tool(one(json!({"type": "string"}))));
    let (first, _) = Schemas::compile(&[Arc::clone(&old)]);
    let (second, problems) = Schemas::compile_reusing(&[Arc::clone(&new)], &first);
    assert_eq!(problems, []);
    assert!(second.check_text(&new, r#"{"v":"x"}"#).is_ok());
    let gone = second.check_text(&old, r#"{"v":1}"#).unwrap_err().failure();
    assert_eq!(gone.code, crate::call::Code::Internal);
}

#[test]
fn other_notations_are_read_as_the_json_they_mean() {
    let any = || json!({"type": "object"});
    for (given, expected) in [
        (
            r"{'city': 'Xi\'an', 'days': 3, 'dry': True, 'note': None}",
            r#"{"city":"Xi'an","days":3,"dry":true,"note":null}"#,
        ),
        (r#"{'msg': 'He said "True" and None'}"#, r#"{"msg":"He said \"True\" and None"}"#),
        ("{'tags': ('a', 'b'),}", r#"{"tags":["a","b"]}"#),
        ("{'one': (1,), 'none': ()}", r#"{"one":[1],"none":[]}"#),
        (r"{'x': '\x41\u4f60'}", r#"{"x":"A你"}"#),
        ("{\"text\":\"line1\nline2\tend\"}", r#"{"text":"line1\nline2\tend"}"#),
        (r#"{"range": \n[10, 20]\n}"#, r#"{"range":[10,20]}"#),
    ] {
        let done = check(any(), given).unwrap();
        assert_eq!(done.value.to_string(), expected, "{given}");
        assert_eq!(done.repairs[0].kind, "notation");
    }
    for given in [
        "{'a', 'b'}",
        "{'x': __import__('os').getcwd()}",
        "{'n': 1_000}",
        "{'n': 0x1F}",
        "{'c': 2j}",
        "{'b': b'x'}",
        "{'x': (1)}",
        r"{'x': '\N{BULLET}'}",
        "{'x': 'y",
        "{'x': [1, 2",
        "{'a': 1, 'a': 2}",
        r#"{"re":"\d+"}"#,
        r#"{"sql":"select "a", b from t","n":1}"#,
        r#"{"scene":"x"yz"w"}"#,
        "{'x': NaN}",
        "{'x': 1)",
    ] {
        assert!(outcome(any(), given).starts_with("refused"), "{given}");
    }
    for given in [r#"{"msg":"it's None of True"}"#, r#"{"path":"C:\new\table"}"#] {
        let done = check(any(), given).unwrap();
        assert_eq!((done.value.to_string().as_str(), done.repairs.len()), (given, 0));
    }
}

#[test]
fn a_renamed_property_with_a_wrong_value_is_told_of_the_value() {
    let tool = tool(json!({
        "type": "object", "required": ["order_id"], "additionalProperties": false,
        "properties": {"order_id": {"type": "string", "pattern": "^ORD-[0-9]+$"}},
    }));
    let (schemas, _) = Schemas::compile(&[Arc::new(tool.clone())]);
    let refused = schemas.check_text(&tool, r#"{"orderId": "ord-1"}"#).unwrap_err();
    let details = refused.failure().details;
    let violations = details["violations"].as_array().unwrap();
    assert_eq!(violations.len(), 1, "{details:#}");
    assert_eq!(violations[0]["pointer"], "/order_id");
    assert_eq!(details["repairs"][0]["kind"], "rename");
}

/// The one violation of arguments that may be anything.
fn flaw(given: &str) -> (String, String) {
    let error = check(json!({"type": "object"}), given).unwrap_err();
    let told = super::violations(&error).remove(0);
    (told.kind, told.message)
}

#[test]
fn arguments_that_end_too_early_are_told_so_in_every_notation() {
    for given in [
        r#"{"account":"B7","amount":250"#,
        r#"{"path":"/srv","recursive":fal"#,
        r#"{"q":"ab"#,
        r#"{"ids":[1,2"#,
        r#"{"a":1,"b":"#,
        "{'account': 'B7', 'amount': 250",
        "{'path': '/srv', 'recursive': True",
        "{'q': 'ab",
        "{'ids': (1, 2",
        "{'q': 'ab\\",
        "{\"text\":\"one\ntwo",
        "{\"text\":\"one\ntwo\"",
        r#""{\"a\":1,\"b\":\"x""#,
        r#""{'a': 1, 'b': 'x""#,
    ] {
        let (kind, message) = flaw(given);
        assert_eq!(kind, "truncated", "{given}");
        assert!(message.contains("send it again, complete and shorter"), "{message}");
    }
}

#[test]
fn glued_objects_are_told_so_in_every_notation() {
    for given in [
        r#"{"to":"a","n":5}{"to":"b","n":7}"#,
        r#"{"q":"}{"}{"q":"x"}"#,
        r#"{"to":"a"} {"to":"b""#,
        "{\"to\":\"a\"}\nnull",
        "{'to': 'a', 'n': 5}{'to': 'b', 'n': 7}",
        "{'q': '}{'} {'q': 'x'}",
    ] {
        assert_eq!(flaw(given).0, "trailing", "{given}");
    }
    assert_eq!(flaw("{'a': 1, 'a': 2}").0, "duplicate_key");
}

#[test]
fn arguments_inside_a_string_may_be_in_another_notation_too() {
    let given = Value::String("{'city': 'Rome', 'dry': True}".to_owned()).to_string();
    let done = check(json!({"type": "object"}), &given).unwrap();
    assert_eq!(done.canonical, r#"{"city":"Rome","dry":true}"#);
    let kinds: Vec<&str> = done.repairs.iter().map(|one| one.kind.as_str()).collect();
    assert_eq!(kinds, ["notation", "decode"]);
}

#[test]
fn arguments_in_a_fence_are_taken_out_of_it() {
    let any = || json!({"type": "object"});
    for given in [
        "```json\n{\"code\":\"```sh\\nls\\n```\"}\n```",
        "```\n{\"code\":\"```sh\\nls\\n```\"}\n```\n",
        "~~~~\n{'code': '```sh\\nls\\n```'}\n~~~~",
    ] {
        let done = check(any(), given).unwrap();
        assert_eq!(done.value, json!({"code": "```sh\nls\n```"}), "{given}");
        assert_eq!(done.repairs[0].kind, "notation");
    }
    for given in [
        "```json\n{\"a\":1}\n```\nand more",
        "```json\n{\"a\":1}\n```\n```json\n{\"a\":2}\n```",
        "```json\n{\"a\":1\n```",
        "```json {\"a\":1}```",
        "````json\n{\"a\":1}\n```",
    ] {
        assert!(outcome(any(), given).starts_with("refused"), "{given}");
    }
}

#[test]
fn a_text_that_denotes_one_listed_value_becomes_it() {
    let mixed =
        || json!({"type": "object", "properties": {"v": {"enum": [1, 2.5, true, "auto", "1.0"]}}});
    for (given, meant) in [
        ("\"1\"", "{\"v\":1}"),
        ("\"25e-1\"", "{\"v\":2.5}"),
        ("\"True\"", "{\"v\":true}"),
        ("\" AUTO\"", "{\"v\":\"auto\"}"),
        ("\"1.0\"", "{\"v\":\"1.0\"}"),
    ] {
        assert_eq!(outcome(mixed(), &format!("{{\"v\":{given}}}")), meant, "{given}");
    }
    for given in ["\"1.00\"", "\"2\"", "\"yes\"", "\"\\\"auto\\\"\""] {
        let error = check(mixed(), &format!("{{\"v\":{given}}}")).unwrap_err();
        let told = super::violations(&error).remove(0);
        assert_eq!(told.kind, "enum", "{given}");
        for listed in ["`1`", "`2.5`", "`true`", "`auto`", "`1.0`"] {
            assert!(told.message.contains(listed), "{}", told.message);
        }
    }
}
