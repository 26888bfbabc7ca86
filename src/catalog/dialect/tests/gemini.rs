//! Gemini's subset: one type for each place, texts in enums, nothing beside `anyOf`, no references.

use serde_json::{Value, json};

use super::{Dialect, export_well, lost, members, restore, schema, with};
use crate::catalog::Tool;
use crate::schema::tests::tool;

fn seen(tool: &Tool) -> serde_json::Map<String, Value> {
    members(tool, Dialect::Gemini)
}

#[test]
fn null_among_types_is_nullable_wherever_it_stands() {
    let seen = seen(&with(json!({
        "one": {"type": ["string", "null"]}, "two": {"type": ["null", "integer"]},
        "mixed": {"type": ["integer", "string"], "enum": [1, "auto"]},
        "inner": {"type": ["object", "null"], "properties": {"k": {"type": "string"}}},
        "none": {"type": ["null"]}, "word": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "three": {"type": ["null", "boolean", "string"]},
    })));
    assert_eq!(seen["one"], json!({"type": "STRING", "nullable": true}));
    assert_eq!(seen["two"], json!({"type": "INTEGER", "nullable": true}));
    assert_eq!(seen["inner"]["type"], "OBJECT");
    assert_eq!(seen["inner"]["nullable"], true);
    assert_eq!(seen["inner"]["properties"]["k"], json!({"type": "STRING"}));
    assert_eq!(
        (&seen["none"]["type"], &seen["none"]["nullable"]),
        (&json!("STRING"), &json!(true))
    );
    assert_eq!(seen["word"], json!({"type": "STRING", "nullable": true}));
    assert_eq!(seen["mixed"]["anyOf"].as_array().unwrap().len(), 2);
    let three = seen["three"]["anyOf"].as_array().unwrap();
    assert!(three.iter().all(|part| part["nullable"] == true), "{three:?}");
}

#[test]
fn calls_of_types_in_lists_come_back_as_they_were_meant() {
    let tool = with(json!({
        "n": {"type": ["null", "integer"]}, "c": {"type": ["integer", "string"], "enum": [1, "auto"]},
        "size": {"type": "integer", "enum": [2, 4]},
    }));
    for call in [json!({"c": "auto"}), json!({"c": 1}), json!({"n": null}), json!({"size": 4})] {
        assert_eq!(restore(&tool, Dialect::Gemini, call.clone()), call);
    }
    assert_eq!(
        restore(&tool, Dialect::Gemini, json!({"size": "4", "n": "12"})),
        json!({"size": 4, "n": 12})
    );
    assert_eq!(restore(&tool, Dialect::Gemini, json!({"c": "1"})), json!({"c": 1}));
    // A text stays one where the tool takes it.
    let tool = with(json!({
        "c": {"enum": [1, "1", true, "auto"]}, "any": {"type": ["integer", "string"]},
        "of": {"anyOf": [{"enum": [1]}, {"type": "string"}]},
    }));
    for call in [json!({"c": "1"}), json!({"c": "2"}), json!({"any": "1"}), json!({"of": "1"})] {
        assert_eq!(restore(&tool, Dialect::Gemini, call.clone()), call);
    }
    assert_eq!(restore(&tool, Dialect::Gemini, json!({"c": "true"})), json!({"c": true}));
}

#[test]
fn a_text_is_the_one_listed_value_that_it_denotes() {
    let back = |listed: Value, text: &str| {
        let tool = with(json!({"v": {"enum": listed}}));
        restore(&tool, Dialect::Gemini, json!({ "v": text }))["v"].clone()
    };
    let mixed = || json!([1, 2.5, true, "a"]);
    for (listed, text, meant) in [
        (mixed(), "2.5", json!(2.5)),
        (mixed(), "2.50", json!(2.5)),
        (mixed(), "25e-1", json!(2.5)),
        (mixed(), " 1.0 ", json!(1)),
        (mixed(), "True", json!(true)),
        (mixed(), "a", json!("a")),
        (json!([100, 1000]), "1e3", json!(1000)),
        (json!([100, 1000]), "100.0", json!(100)),
        (json!([1000.0, "auto"]), "1000", serde_json::from_str("1000.0").unwrap()),
        // What no floating point tells apart.
        (
            json!([9_007_199_254_740_993_u64, "no"]),
            "9007199254740993.0",
            json!(9_007_199_254_740_993_u64),
        ),
        (json!([9_007_199_254_740_993_u64, "no"]), "9007199254740992", json!("9007199254740992")),
        // The very text comes first.
        (json!([1, "1"]), "1", json!("1")),
        (json!([1, "1.0"]), "1.0", json!("1.0")),
        (json!([1, "1.0"]), "1", json!(1)),
        (json!([true, "true"]), "true", json!("true")),
        // Two could be meant, or none.
        (json!([1, "1.0"]), "1.00", json!("1.00")),
        (json!([true, "TRUE"]), "True", json!("True")),
        (mixed(), "2", json!("2")),
        (mixed(), "01", json!("01")),
        (mixed(), "1 2", json!("1 2")),
        (mixed(), "", json!("")),
        (mixed(), "1e99999999999", json!("1e99999999999")),
    ] {
        assert_eq!(back(listed.clone(), text), meant, "`{text}` of {listed}");
    }
    let tool = with(json!({
        "one": {"const": 7}, "of": {"anyOf": [{"enum": [1, "x"]}, {"type": "object", "properties": {"k": {}}}]},
        "all": {"type": "array", "items": {"$ref": "#/$defs/size"}},
    }));
    let mut tool = tool;
    tool.input_schema["$defs"] = json!({"size": {"enum": [10, "auto"]}});
    assert_eq!(
        restore(&tool, Dialect::Gemini, json!({"one": "7.0", "of": "1e0", "all": ["1e1", "auto"]})),
        json!({"one": 7, "of": 1, "all": [10, "auto"]})
    );
}

/// A tree of objects without a cycle, `levels` deep, each with a sentence and `width` members of the next.
fn wide(levels: usize, width: usize) -> Tool {
    let mut defs = serde_json::Map::new();
    for level in 0..levels {
        let next = json!({"$ref": format!("#/$defs/level{}", level + 1)});
        let members = (0..width).map(|number| (format!("m{level}_{number}"), next.clone()));
        let mut members: serde_json::Map<String, Value> = members.collect();
        members.insert(
            "say".to_owned(),
            json!({"type": "string", "description": "What to say of it. ".repeat(20)}),
        );
        let object = json!({"type": "object", "required": ["say"], "properties": members});
        defs.insert(format!("level{level}"), object);
    }
    defs.insert(format!("level{levels}"), json!({"type": "integer"}));
    tool(json!({
        "type": "object", "properties": {"top": {"$ref": "#/$defs/level0"}, "n": {"type": "integer"}}, "$defs": defs,
    }))
}

#[test]
fn an_export_ends_at_a_number_of_bytes_and_says_where() {
    let tool = wide(4, 6);
    assert!(tool.input_schema.to_string().len() < 8192);
    let export = export_well(&tool, Dialect::Gemini);
    let size = schema(&export).to_string().len();
    assert!((4096..=128 << 10).contains(&size), "{size}");
    let loss = export.losses.iter().find(|loss| loss.message.contains("JSON text")).unwrap();
    assert!(loss.pointer.starts_with("/properties/top/properties/m0_"), "{loss:?}");
    assert!(loss.message.contains("too much"), "{loss:?}");
    // The place is told with its shape, and takes it as text.
    let steps = loss.pointer.split('/').skip(1);
    let place = format!("/{}", steps.collect::<Vec<_>>().join("/"));
    let told = &schema(&export).pointer(&place).cloned().unwrap();
    assert_eq!(told["type"], "STRING");
    let words = told["description"].as_str().unwrap();
    assert!(words.contains("`say` (string, required)"), "{words}");
    // The way back knows every level.
    let deep = json!({"say": "d", "m3_0": 4, "m3_1": 5});
    let meant =
        json!({"top": {"say": "a", "m0_0": {"say": "b", "m1_0": {"say": "c", "m2_0": deep}}}});
    let mut cut = meant.clone();
    for place in ["/top/m0_0/m1_0/m2_0", "/top/m0_0/m1_0", "/top/m0_0", "/top"] {
        let inner = cut.pointer_mut(place).unwrap();
        *inner = inner.to_string().into();
        assert_eq!(restore(&tool, Dialect::Gemini, cut.clone()), meant, "text at {place}");
    }
}

#[test]
fn long_words_of_alternatives_within_alternatives_are_not_multiplied() {
    let words = "Tells at length what this is for. ".repeat(20);
    let mut defs = serde_json::Map::new();
    for level in 0..4 {
        let next = match level {
            0 => json!({"type": "string", "description": words}),
            _ => json!({"$ref": format!("#/$defs/part{}", level - 1)}),
        };
        let branches: Vec<Value> = (0..8)
            .map(|number| json!({"type": "object", "properties": {format!("k{number}"): next}, "description": words}))
            .collect();
        defs.insert(format!("part{level}"), json!({"description": words, "anyOf": branches}));
    }
    let tool = tool(
        json!({"type": "object", "properties": {"of": {"$ref": "#/$defs/part3"}}, "$defs": defs}),
    );
    let size = schema(&export_well(&tool, Dialect::Gemini)).to_string().len();
    assert!(size <= 128 << 10, "{size}");
}

#[test]
fn formats_outside_the_list_are_told() {
    let tool = with(json!({
        "link": {"type": "string", "format": "uri"}, "id": {"type": "string", "format": "uuid"},
        "day": {"type": "string", "format": "date"}, "at": {"type": "string", "format": "date-time"},
        "big": {"type": "integer", "format": "int64"}, "count": {"type": "integer", "format": "uint32"},
        "blob": {"type": "string", "format": "byte"}, "odd": {"type": "string", "format": "stock-symbol"},
    }));
    let seen = seen(&tool);
    assert_eq!(seen["at"]["format"], "date-time");
    assert_eq!(seen["big"]["format"], "int64");
    let told = [
        ("link", "URI"),
        ("id", "UUID"),
        ("day", "YYYY-MM-DD"),
        ("count", "4294967295"),
        ("blob", "Base64"),
        ("odd", "stock-symbol"),
    ];
    for (name, word) in told {
        assert!(seen[name].get("format").is_none());
        assert!(seen[name]["description"].as_str().unwrap().contains(word), "{}", seen[name]);
    }
}

#[test]
fn enums_hold_texts_only() {
    let tool = with(json!({
        "size": {"type": "integer", "enum": [2, 4, 9]}, "ok": {"type": "boolean", "enum": [true]},
        "kind": {"enum": ["a", "b"]}, "free": {"type": "string", "enum": []},
        "n": {"type": "string", "enum": ["x", null], "nullable": true}, "one": {"const": 7},
        "word": {"const": "w"}, "blank": {"type": "string", "enum": ["", "b", "b"]},
    }));
    let seen = seen(&tool);
    assert_eq!(seen["size"]["type"], "INTEGER");
    for word in ["2", "4", "9"] {
        assert!(seen["size"]["description"].as_str().unwrap().contains(word));
    }
    assert!(seen["ok"]["description"].as_str().unwrap().contains("true"));
    assert_eq!(seen["kind"], json!({"type": "STRING", "enum": ["a", "b"]}));
    assert!(seen["free"].get("enum").is_none());
    assert_eq!(seen["n"], json!({"type": "STRING", "enum": ["x"], "nullable": true}));
    assert_eq!(seen["one"]["type"], "INTEGER");
    assert!(seen["one"]["description"].as_str().unwrap().contains('7'));
    assert_eq!(seen["word"]["enum"], json!(["w"]));
    assert_eq!(seen["blank"]["enum"], json!(["b"]));
    let export = export_well(&tool, Dialect::Gemini);
    assert!(lost(&export, "/properties/free") && lost(&export, "/properties/size"));
}

#[test]
fn a_map_is_json_text_and_comes_back_as_a_map() {
    let tool = with(json!({
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "any": {"type": "object"}, "either": {"type": ["string", "object"]},
    }));
    let seen = seen(&tool);
    assert_eq!(seen["labels"]["type"], "STRING");
    assert!(seen["labels"]["description"].as_str().unwrap().contains("whose members are string"));
    let written = json!({"labels": "{\"a\": \"b\"}", "any": {"x": 1}, "either": "{\"a\":1}"});
    let meant = json!({"labels": {"a": "b"}, "any": {"x": 1}, "either": "{\"a\":1}"});
    assert_eq!(restore(&tool, Dialect::Gemini, written), meant);
    // What is no JSON object stays, and is refused by the full check.
    for text in ["{\"a\":", "[1]", "\"x\"", "{\"a\":1,\"a\":2}", "7"] {
        let call = json!({"labels": text});
        assert_eq!(restore(&tool, Dialect::Gemini, call.clone()), call);
    }
    let deep = format!("{}1{}", "{\"a\":".repeat(70), "}".repeat(70));
    let call = json!({"any": deep});
    assert_eq!(restore(&tool, Dialect::Gemini, call.clone()), call);
}

#[test]
fn recursion_is_cut_and_deeper_calls_still_come_through() {
    let tool = tool(json!({
        "type": "object", "required": ["title"],
        "properties": {"title": {"type": "string"}, "parts": {"type": "array", "items": {"$ref": "#/$defs/s"}}},
        "$defs": {"s": {"type": "object", "required": ["title"], "properties": {
            "title": {"type": "string"}, "parts": {"type": "array", "items": {"$ref": "#/$defs/s"}}}}},
    }));
    let export = export_well(&tool, Dialect::Gemini);
    let first = &schema(&export)["properties"]["parts"]["items"];
    let second = &first["properties"]["parts"]["items"];
    assert_eq!(second["properties"]["parts"]["items"]["type"], "STRING");
    assert!(!export.losses.is_empty());
    let inner = json!({"title": "d", "parts": [{"title": "e"}]});
    let written = json!({"title": "a", "parts": [{"title": "b", "parts": [{"title": "c", "parts": [inner.to_string()]}]}]});
    let meant = json!({"title": "a", "parts": [{"title": "b", "parts": [{"title": "c", "parts": [inner]}]}]});
    assert_eq!(restore(&tool, Dialect::Gemini, written), meant);
    assert_eq!(restore(&tool, Dialect::Gemini, meant.clone()), meant);
}

#[test]
fn schemas_that_are_used_often_do_not_explode() {
    let mut defs = serde_json::Map::new();
    for level in 0..20 {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        defs.insert(
            format!("d{level}"),
            json!({"type": "object", "properties": {"a": next, "b": next}}),
        );
    }
    defs.insert("d20".to_owned(), json!({"type": "string"}));
    let tool =
        tool(json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": defs}));
    for dialect in Dialect::ALL {
        let size = export_well(&tool, dialect).definition.to_string().len();
        let most = if dialect == Dialect::Gemini { 400_000 } else { 8_000 };
        assert!(size < most, "{dialect} {size}");
    }
}

#[test]
fn alternatives_and_parts_that_multiply_end() {
    for keyword in ["anyOf", "allOf", "oneOf"] {
        let mut defs = serde_json::Map::new();
        for level in 0..30 {
            let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
            defs.insert(format!("d{level}"), json!({keyword: [next, next]}));
        }
        defs.insert(
            "d30".to_owned(),
            json!({"type": "object", "properties": {"a": {"type": "integer"}}}),
        );
        let inside =
            json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": defs});
        let root = json!({"type": "object", "$ref": "#/$defs/d0", "$defs": defs});
        for tool in [tool(inside), tool(root)] {
            for dialect in Dialect::ALL {
                let size = export_well(&tool, dialect).definition.to_string().len();
                assert!(size < 2_000_000, "{keyword} {dialect} {size}");
                let call = json!({"x": {"a": 1}, "a": 2});
                assert_eq!(restore(&tool, dialect, call.clone()), call);
            }
        }
    }
}

#[test]
fn nothing_stands_beside_alternatives() {
    let tool = with(json!({
        "who": {"description": "Whom to ask", "default": "me", "oneOf": [
            {"type": "string", "description": "A name"}, {"type": "integer"}, {"type": "null"}]},
        "shape": {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}, "anyOf": [
            {"properties": {"r": {"type": "number"}}, "required": ["r"]},
            {"properties": {"w": {"type": "number"}}, "required": ["w"]}]},
        "only": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
            "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
    }));
    let seen = seen(&tool);
    let who = seen["who"]["anyOf"].as_array().unwrap();
    assert_eq!(who.len(), 2);
    assert!(
        who.iter().all(|part| part["description"].as_str().unwrap().starts_with("Whom to ask"))
    );
    assert!(who.iter().all(|part| part["nullable"] == true));
    let shape = seen["shape"]["anyOf"].as_array().unwrap();
    assert!(shape.iter().all(|part| part["properties"]["id"]["type"] == "INTEGER"));
    assert_eq!(shape[1]["properties"]["w"]["type"], "NUMBER");
    assert!(seen["only"]["description"].as_str().unwrap().contains("`a`; or `b`"));
}

#[test]
fn a_tool_without_arguments_has_no_parameters() {
    for schema in [
        json!({"type": "object"}),
        json!({"type": "object", "properties": {}, "additionalProperties": false}),
    ] {
        let export = export_well(&tool(schema), Dialect::Gemini);
        assert!(export.definition.get("parameters").is_none());
    }
}

#[test]
fn all_parts_of_a_schema_become_one() {
    let tool = with(json!({"x": {"allOf": [
        {"$ref": "#/$defs/base"},
        {"type": "object", "required": ["b"], "properties": {"b": {"type": "string"}, "a": {"minLength": 2}}},
    ]}}));
    let mut tool = tool;
    tool.input_schema["$defs"] = json!({"base": {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}});
    let x = &seen(&tool)["x"];
    assert_eq!(x["required"], json!(["a", "b"]));
    assert_eq!(x["properties"]["a"], json!({"type": "STRING", "minLength": 2}));
}
