//! Hosts that take JSON Schema: references, lists, patterns, roots, and single types for local servers.

use serde_json::{Value, json};

use super::{Dialect, export_well, lost, members, restore, schema, with};
use crate::schema::tests::tool;

const FORMS: [Dialect; 3] = [Dialect::Openai, Dialect::Anthropic, Dialect::Plain];

#[test]
fn each_provider_has_its_own_object() {
    let tool = with(json!({"a": {"type": "string"}}));
    let openai = export_well(&tool, Dialect::Openai).definition;
    assert_eq!(openai["type"], "function");
    assert!(openai["function"].get("strict").is_none());
    let plain = export_well(&tool, Dialect::Plain).definition;
    assert_eq!(plain["function"]["name"], "probe");
    assert!(plain["function"].get("strict").is_none());
    let anthropic = export_well(&tool, Dialect::Anthropic).definition;
    assert_eq!(anthropic["input_schema"]["properties"]["a"]["type"], "string");
    let gemini = export_well(&tool, Dialect::Gemini).definition;
    assert_eq!(gemini["parameters"]["type"], "OBJECT");
}

#[test]
fn references_lead_somewhere_wherever_they_led_before() {
    let tool = tool(json!({
        "type": "object",
        "properties": {
            "stops": {"type": "array", "items": {"type": "object", "required": ["city"], "properties": {
                "city": {"type": "string"},
                "detours": {"type": "array", "items": {"$ref": "#/properties/stops/items"}}}}},
            "again": {"$ref": "#/$defs/odd%20name~1x"}, "whole": {"$ref": "#"},
        },
        "$defs": {"odd name/x": {"type": "object", "properties": {"n": {"$ref": "#/$defs/odd%20name~1x"}}}},
    }));
    for dialect in Dialect::ALL {
        let export = export_well(&tool, dialect);
        if dialect != Dialect::Gemini {
            let text = export.definition.to_string();
            assert!(text.contains("#/$defs/items") && text.contains("\"$ref\":\"#\""), "{text}");
        }
    }
}

#[test]
fn every_list_has_items_and_the_call_is_not_narrowed() {
    let tool = with(json!({
        "rows": {"type": "array"}, "m": {"type": "array", "items": {"type": "array"}},
        "t": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]},
        "u": {"type": "array", "items": [{"type": "string"}, {"type": "integer"}]},
        "v": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": false},
        "z": {"type": "array", "items": true}, "n": {"type": ["array", "null"]},
    }));
    for dialect in [Dialect::Openai, Dialect::Plain] {
        let seen = members(&tool, dialect);
        for name in ["rows", "t", "u", "z"] {
            assert_eq!(seen[name]["items"], json!({}), "{name}");
        }
        assert_eq!(seen["m"]["items"]["items"], json!({}));
        assert_eq!(seen["v"]["items"], json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}));
        for name in ["t", "u", "v"] {
            assert!(seen[name]["description"].as_str().unwrap().contains("1: string, 2: integer"));
        }
    }
    let gemini = members(&tool, Dialect::Gemini);
    for name in ["t", "u", "v"] {
        let types: Vec<&Value> = gemini[name]["items"]["anyOf"]
            .as_array()
            .unwrap()
            .iter()
            .map(|part| &part["type"])
            .collect();
        assert_eq!(types, ["STRING", "INTEGER"]);
        assert!(gemini[name]["description"].as_str().unwrap().contains("1: string, 2: integer"));
    }
    assert_eq!(members(&tool, Dialect::Anthropic)["t"]["prefixItems"].as_array().unwrap().len(), 2);
    let call = json!({"rows": [1, "a", {"b": 2}, "3"], "t": ["x", 1]});
    for dialect in Dialect::ALL {
        assert_eq!(restore(&tool, dialect, call.clone()), call);
    }
}

#[test]
fn patterns_that_the_engine_of_the_provider_refuses_are_told() {
    let kept =
        ["^(?!tmp).*$", "^[<(?]+$", "^[0-9]{4}$", "^\\d+\\.\\w$", "(?:a|b)c", "(?<=x)y", "^\\/a$"];
    let dropped =
        ["^[^\\p{Cc}]{1,20}$", "^\\u{48}+$", "(?<=x*)y", "(", "^(?<year>\\d{4})$", "\\cA", "a++"];
    for dialect in [Dialect::Openai, Dialect::Anthropic, Dialect::OpenaiStrict] {
        for pattern in kept {
            let tool = with(json!({"x": {"type": "string", "pattern": pattern}}));
            assert_eq!(members(&tool, dialect)["x"]["pattern"], pattern);
        }
        for pattern in dropped {
            let tool = with(json!({"x": {"type": "string", "pattern": pattern}}));
            let export = export_well(&tool, dialect);
            let x = &schema(&export)["properties"]["x"];
            assert!(x.get("pattern").is_none(), "{pattern}");
            let shown = Value::from(pattern).to_string();
            assert!(x["description"].as_str().unwrap().contains(&shown), "{x}");
            assert!(lost(&export, "/properties/x"));
        }
    }
    for pattern in ["^(?!tmp).*$", "(?<=x)y", "^(\\w)\\1$"] {
        let tool = with(json!({"x": {"type": "string", "pattern": pattern}}));
        assert!(members(&tool, Dialect::Gemini)["x"].get("pattern").is_none(), "{pattern}");
    }
}

#[test]
fn grammars_get_explicit_classes_and_anchored_patterns() {
    let spelled = |pattern: &str| {
        let tool = with(json!({"x": {"type": "string", "pattern": pattern}}));
        members(&tool, Dialect::Plain)["x"].get("pattern").cloned()
    };
    assert_eq!(spelled("^\\d{3}-\\w+$"), Some(json!("^[0-9]{3}-[A-Za-z0-9_]+$")));
    assert_eq!(spelled("^[\\d.]+(?:a|b)$"), Some(json!("^[0-9.]+(a|b)$")));
    for pattern in ["\\d+", "^\\d+", "^(?!a).*$", "^\\bx$", "^[\\D]$", "^a\\$"] {
        assert_eq!(spelled(pattern), None, "{pattern}");
    }
}

#[test]
fn local_servers_get_one_type_for_each_place() {
    let tool = tool(json!({
        "type": "object", "required": ["tz", "id"],
        "properties": {
            "tz": {"type": ["string", "null"]}, "id": {"type": ["integer", "string"]},
            "x": {"anyOf": [{"type": "string"}, {"type": "integer"}]}, "e": {"type": ["null", "string"], "enum": [null, "a"]},
            "rows": {"type": "array", "items": {"type": ["integer", "null"]}},
        },
    }));
    let export = export_well(&tool, Dialect::Plain);
    let made = schema(&export);
    assert_eq!(made["properties"]["tz"]["type"], "string");
    assert_eq!(made["required"], json!(["id"]));
    assert_eq!(made["properties"]["id"]["anyOf"], json!([{"type": "integer"}, {"type": "string"}]));
    assert_eq!(made["properties"]["e"], json!({"type": "string", "enum": ["a"]}));
    assert!(lost(&export, "/properties/tz"));
    // What is required and was left out meant null.
    assert_eq!(restore(&tool, Dialect::Plain, json!({"id": 1})), json!({"id": 1, "tz": null}));
    let call = json!({"tz": "utc", "id": "1"});
    assert_eq!(restore(&tool, Dialect::Plain, call.clone()), call);
}

#[test]
fn alternatives_at_the_root_become_one_object() {
    let tool = tool(json!({
        "type": "object", "required": ["to"], "properties": {"to": {"type": "string"}},
        "oneOf": [
            {"required": ["kind", "text"], "properties": {"kind": {"const": "mail"}, "text": {"type": "string"}}},
            {"$ref": "#/$defs/call"},
        ],
        "not": {"required": ["cc"]},
        "$defs": {"call": {"type": "object", "required": ["kind", "number"],
            "properties": {"kind": {"const": "call"}, "number": {"type": "integer"}, "text": {"type": "integer"}}}},
    }));
    for dialect in FORMS {
        let export = export_well(&tool, dialect);
        let made = schema(&export);
        assert_eq!(made["properties"]["kind"]["enum"], json!(["mail", "call"]));
        assert_eq!(
            made["properties"]["text"]["anyOf"],
            json!([{"type": "string"}, {"type": "integer"}])
        );
        assert_eq!(made["required"], json!(["to", "kind"]));
        let told = made["description"].as_str().unwrap();
        assert!(
            told.contains("`kind` = \"mail\" with `text`; or `kind` = \"call\" with `number`"),
            "{told}"
        );
        assert!(lost(&export, "/oneOf") && lost(&export, "/not"));
        let call = json!({"to": "a", "kind": "mail", "text": "hi"});
        assert_eq!(restore(&tool, dialect, call.clone()), call);
    }
}

#[test]
fn a_root_that_refers_or_is_made_of_parts_is_one_object() {
    let parts = json!({"a": {"type": "object", "required": ["x"], "properties": {"x": {"type": "string"}}},
        "b": {"properties": {"y": {"type": "integer"}, "next": {"$ref": "#/$defs/a"}}}});
    for root in [
        json!({"type": "object", "allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}], "$defs": parts}),
        json!({"type": "object", "$ref": "#/$defs/a", "properties": {"y": {"type": "integer"}}, "$defs": parts}),
    ] {
        for dialect in Dialect::ALL {
            let made = schema(&export_well(&tool(root.clone()), dialect));
            let mut names: Vec<&String> = made["properties"].as_object().unwrap().keys().collect();
            names.sort();
            assert!(names.iter().any(|name| *name == "x") && names.iter().any(|name| *name == "y"));
            assert_eq!(made["required"], json!(["x"]));
        }
    }
}

#[test]
fn a_long_description_is_cut_where_the_provider_says_so() {
    let mut tool = with(json!({}));
    tool.description = "长".repeat(2000);
    let openai = export_well(&tool, Dialect::Openai);
    assert_eq!(
        openai.definition["function"]["description"].as_str().unwrap().chars().count(),
        1024
    );
    assert!(openai.losses.iter().any(|loss| loss.keyword == "description"));
    let anthropic = export_well(&tool, Dialect::Anthropic);
    assert_eq!(anthropic.definition["description"].as_str().unwrap().chars().count(), 2000);
}

#[test]
fn marks_and_unknown_keywords_stay_at_home() {
    let tool = with(
        json!({"k": {"type": "string", "x-sensitive": true, "$comment": "c", "$id": "i", "xml": {}}}),
    );
    for dialect in Dialect::ALL {
        let text = export_well(&tool, dialect).definition.to_string();
        for word in ["x-sensitive", "$comment", "$id", "xml"] {
            assert!(!text.contains(word), "{dialect} {text}");
        }
    }
}
