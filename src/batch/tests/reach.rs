//! What a schema says of a place.

use serde_json::json;

use super::super::reach::types_at;

#[test]
fn the_types_of_a_place_are_what_the_schema_allows() {
    let schema = json!({
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "maybe": {"type": ["string", "null"]},
            "any": {},
            "kind": {"enum": ["a", "b"]},
            "one": {"const": {"x": 1}},
            "never": false,
            "ref": {"$ref": "#/$defs/node"},
            "union": {"anyOf": [{"type": "string"}, {"type": "object", "required": ["x"],
                "properties": {"x": {"type": "boolean"}}, "additionalProperties": false}]},
            "all": {"allOf": [{"type": ["string", "number"]}, {"type": ["number", "boolean"]}]},
            "tuple": {"type": "array", "prefixItems": [{"type": "string"}], "items": false},
            "short": {"type": "array", "maxItems": 2},
            "map": {"type": "object", "additionalProperties": {"type": "number"}},
            "pattern": {"type": "object", "patternProperties": {"^x": {"type": "string"}},
                "additionalProperties": false},
        },
        "additionalProperties": false,
        "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"},
            "value": {"type": "string"}}}},
    });
    let at = |pointer: &str| types_at(&schema, pointer).to_string();
    for (pointer, types) in [
        ("", "object"),
        ("/id", "integer"),
        ("/maybe", "null or string"),
        ("/any/x/0", "null or boolean or number or string or array or object"),
        ("/kind", "string"),
        ("/one/x", "integer"),
        ("/one/y", ""),
        ("/never", ""),
        ("/missing", ""),
        ("/id/x", ""),
        ("/ref/next/next/next/value", "string"),
        ("/ref/next/value/x", ""),
        ("/union", "string or object"),
        ("/union/x", "boolean"),
        ("/union/y", ""),
        ("/all", "number"),
        ("/tuple/0", "string"),
        ("/tuple/1", ""),
        ("/tuple/-", ""),
        ("/short/1/x", "null or boolean or number or string or array or object"),
        ("/short/2", ""),
        ("/map/whatever", "number"),
        ("/pattern/xyz", "null or boolean or number or string or array or object"),
    ] {
        assert_eq!(at(pointer), types, "{pointer}");
    }
}

#[test]
fn schemas_without_an_end_or_of_great_width_are_taken_for_possible() {
    let endless = json!({"$ref": "#"});
    assert!(!types_at(&endless, "/a/b").is_empty());
    let branch = json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}, {"$ref": "#"}]});
    assert!(!types_at(&branch, "/a").is_empty());
}
