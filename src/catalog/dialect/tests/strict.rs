//! Strict mode: what can be said in it is, what cannot is exported without, and nothing is narrowed.

use serde_json::{Value, json};

use super::{Dialect, Export, export_well, lost, restore, schema, with};
use crate::catalog::Tool;
use crate::schema::tests::tool;

fn strict(tool: &Tool) -> (Export, bool) {
    let export = export_well(tool, Dialect::OpenaiStrict);
    let strict = export.definition["function"]["strict"].as_bool().unwrap();
    (export, strict)
}

fn is_strict(schema: Value) -> bool {
    strict(&tool(schema)).1
}

#[test]
fn every_object_is_closed_and_optional_members_take_null() {
    let tool = tool(json!({
        "type": "object", "required": ["ward"],
        "properties": {
            "ward": {"type": "string"},
            "beds": {"type": "integer", "minimum": 1, "description": "How many"},
            "lamp": {"type": "object", "properties": {"hue": {"type": "string", "enum": ["r", "g"]}}},
            "shifts": {"type": "array", "items": {"type": "object", "required": ["who"],
                "properties": {"who": {"type": "string"}, "until": {"type": "string", "format": "time"}}}},
            "mode": {"const": "fast"},
        },
    }));
    let (export, strict) = strict(&tool);
    assert!(strict);
    let made = schema(&export);
    let members = &made["properties"];
    assert_eq!(made["required"], json!(["ward", "beds", "lamp", "shifts", "mode"]));
    assert_eq!(members["ward"]["type"], "string");
    assert_eq!(members["beds"]["type"], json!(["integer", "null"]));
    assert_eq!(members["beds"]["description"], "How many");
    assert_eq!(members["lamp"]["type"], json!(["object", "null"]));
    assert_eq!(members["lamp"]["properties"]["hue"]["enum"], json!(["r", "g", null]));
    assert_eq!(members["lamp"]["properties"]["hue"]["type"], json!(["string", "null"]));
    assert_eq!(members["shifts"]["items"]["properties"]["who"]["type"], "string");
    assert_eq!(
        members["shifts"]["items"]["properties"]["until"]["type"],
        json!(["string", "null"])
    );
    assert_eq!(members["mode"]["enum"], json!(["fast", null]));
    let back = restore(
        &tool,
        Dialect::OpenaiStrict,
        json!({
            "ward": "7b", "beds": null, "lamp": {"hue": null}, "mode": null,
            "shifts": [{"who": "ann", "until": null}],
        }),
    );
    assert_eq!(back, json!({"ward": "7b", "lamp": {}, "shifts": [{"who": "ann"}]}));
}

#[test]
fn null_that_the_own_schema_takes_stays_and_leaving_out_has_its_own_sign() {
    let tool = tool(json!({
        "type": "object", "required": ["must"],
        "properties": {
            "must": {"type": ["string", "null"]}, "due": {"type": ["string", "null"]},
            "rank": {"type": ["integer", "null"]}, "team": {"anyOf": [{"$ref": "#/$defs/t"}, {"type": "null"}]},
        },
        "$defs": {"t": {"type": "object", "properties": {"id": {"type": "integer"}}}},
    }));
    let (export, strict) = strict(&tool);
    assert!(strict);
    assert!(lost(&export, "/properties/due") && lost(&export, "/properties/rank"));
    assert!(!lost(&export, "/properties/must"));
    let call = json!({"must": null, "due": null, "rank": null, "team": null});
    assert_eq!(restore(&tool, Dialect::OpenaiStrict, call.clone()), call);
    let call = json!({"must": null, "due": "__omit__", "rank": "__omit__", "team": {"id": null}});
    assert_eq!(restore(&tool, Dialect::OpenaiStrict, call), json!({"must": null, "team": {}}));
}

#[test]
fn what_strict_mode_cannot_say_is_exported_without_it_and_nothing_is_closed() {
    let map = tool(json!({
        "type": "object", "required": ["labels"],
        "properties": {
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "extra": {"type": "object"}, "note": {"type": "string"},
        },
    }));
    let (export, strict) = strict(&map);
    assert!(!strict);
    let members = &schema(&export)["properties"];
    assert_eq!(members["labels"]["additionalProperties"], json!({"type": "string"}));
    assert_eq!(members["extra"], json!({"type": "object"}));
    let loss = export.losses.iter().find(|loss| loss.pointer == "/properties/labels").unwrap();
    assert!(loss.message.contains("`probe`"), "{loss:?}");
    // Nulls are no sign of absence then.
    let call = json!({"labels": {}, "note": null});
    assert_eq!(restore(&map, Dialect::OpenaiStrict, call.clone()), call);

    let text = json!({"type": "string"});
    for odd in [
        json!({"type": "object", "patternProperties": {"^a": text}}),
        json!({"allOf": [{"type": "object", "properties": {"a": text}}, {"properties": {"b": text}}]}),
        json!({"type": "array", "prefixItems": [text, text]}),
        json!({"type": "array", "items": [text, text]}),
        json!({"type": "array"}),
        json!({"type": "string", "not": {"const": "x"}}),
        json!({"type": "object", "properties": {"a": text}, "if": {"required": ["a"]}, "then": {}}),
        json!({"type": "object", "properties": {"a": text}, "dependentRequired": {"a": ["b"]}}),
        json!({"type": "object", "properties": {"a": text}, "additionalProperties": true}),
        json!({"type": "object", "properties": {"a": text}, "anyOf": [{"required": ["a"]}]}),
        json!({"description": "anything"}),
        json!(true),
        json!({"type": "string", "enum": []}),
        json!({"enum": [{"a": 1}]}),
    ] {
        assert!(!is_strict(json!({"type": "object", "properties": {"x": odd}})), "{odd}");
        let nested =
            json!({"type": "array", "items": {"type": "object", "properties": {"x": odd}}});
        assert!(!is_strict(json!({"type": "object", "properties": {"rows": nested}})), "{odd}");
    }
}

#[test]
fn alternatives_at_the_root_are_no_strict_mode() {
    let branch = |name: &str| json!({"type": "object", "required": [name], "properties": {name: {"type": "string"}}});
    let union = json!({"type": "object", "anyOf": [branch("email"), branch("phone")]});
    let (export, strict) = strict(&tool(union));
    assert!(!strict);
    let made = schema(&export);
    assert!(made["properties"]["email"].is_object() && made["properties"]["phone"].is_object());
    assert!(export.definition["function"]["description"].is_string());
    assert!(made["description"].as_str().unwrap().contains("`email`; or `phone`"));
}

#[test]
fn recursion_stays_strict_by_references_with_nothing_beside_them() {
    let tree = tool(json!({
        "type": "object", "required": ["title"],
        "properties": {"title": {"type": "string"}, "parts": {"$ref": "#/$defs/list", "description": "Inside"}},
        "$defs": {
            "list": {"type": "array", "items": {"$ref": "#/$defs/section"}},
            "section": {"type": "object", "required": ["title"], "properties": {
                "title": {"type": "string"}, "parts": {"$ref": "#/$defs/list"}}},
        },
    }));
    let (export, strict) = strict(&tree);
    assert!(strict);
    assert_eq!(schema(&export)["properties"]["parts"]["description"], "Inside");
    let written =
        json!({"title": "a", "parts": [{"title": "b", "parts": [{"title": "c", "parts": null}]}]});
    let meant = json!({"title": "a", "parts": [{"title": "b", "parts": [{"title": "c"}]}]});
    assert_eq!(restore(&tree, Dialect::OpenaiStrict, written), meant);
    let itself = json!({"type": "object", "required": ["n"], "properties": {
        "n": {"type": "integer"}, "next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}});
    assert!(is_strict(itself));
}

#[test]
fn the_published_limits_hold() {
    let nest = |levels: usize| {
        (1..levels).fold(
            json!({"type": "object", "properties": {"x": {"type": "string"}}}),
            |inner, _| json!({"type": "object", "properties": {"x": inner}}),
        )
    };
    assert!(is_strict(nest(10)) && !is_strict(nest(11)));
    let mut whole = nest(9);
    whole["properties"]["again"] = json!({"$ref": "#"});
    assert!(is_strict(whole), "a recursive schema counts once");
    let wide = |count: usize| {
        let members: serde_json::Map<String, Value> =
            (0..count).map(|index| (format!("m{index}"), json!({"type": "boolean"}))).collect();
        json!({"type": "object", "properties": members})
    };
    assert!(is_strict(wide(5000)) && !is_strict(wide(5001)));
    let listing = |count: usize, length: usize| {
        let values: Vec<String> = (0..count).map(|index| format!("{index:0length$}")).collect();
        json!({"type": "object", "properties": {"x": {"type": "string", "enum": values}}})
    };
    assert!(is_strict(listing(1000, 5)) && !is_strict(listing(1001, 5)));
    assert!(is_strict(listing(250, 200)) && !is_strict(listing(251, 60)));
    assert!(!is_strict(listing(200, 700)), "120,000 characters");
}

#[test]
fn a_schema_that_only_wraps_another_is_that_one() {
    let tool = tool(json!({
        "type": "object", "required": ["at"],
        "properties": {"at": {"description": "Where", "allOf": [{"$ref": "#/$defs/place"}]}},
        "$defs": {"place": {"type": "object", "required": ["x"], "properties": {"x": {"type": "number"}}}},
    }));
    let (export, strict) = strict(&tool);
    assert!(strict);
    assert_eq!(schema(&export)["properties"]["at"]["description"], "Where");
}

#[test]
fn words_take_the_place_of_keywords_that_strict_mode_does_not_know() {
    let tool = with(json!({
        "code": {"type": "string", "minLength": 2, "maxLength": 5, "format": "iban", "default": "AB"},
        "tags": {"type": "array", "uniqueItems": true, "maxItems": 3, "items": {"type": "string"}},
    }));
    let (export, strict) = strict(&tool);
    assert!(strict);
    let members = &schema(&export)["properties"];
    let told = members["code"]["description"].as_str().unwrap();
    for word in ["2", "5", "iban", "AB"] {
        assert!(told.contains(word), "{told}");
    }
    assert_eq!(members["tags"]["maxItems"], 3);
    assert!(members["tags"]["description"].as_str().unwrap().contains("differ"));
    assert!(lost(&export, "/properties/code"));
}
