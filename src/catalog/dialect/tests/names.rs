//! Names of tools and of arguments: taken by the provider, reversible, never shared.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::json;

use super::{Dialect, export, member, members, restore, schema, with};
use crate::catalog::dialect::exported_name;
use crate::schema::tests::tool;

#[test]
fn a_name_that_the_provider_takes_is_its_own() {
    for name in ["repos__get", "ListOrders", "a-b_c", "x_1a2b3c4d", "dot", "dotted"] {
        for dialect in Dialect::ALL {
            assert_eq!(exported_name(name, dialect), name);
        }
    }
    assert_eq!(exported_name("text.stats", Dialect::Gemini), "text.stats");
}

#[test]
fn a_dot_is_spelled_where_the_provider_takes_none() {
    assert_eq!(exported_name("text.stats", Dialect::Openai), "text_dot_stats");
    assert_eq!(exported_name("text.stats", Dialect::Anthropic), "text_dot_stats");
    let own = exported_name("text_dot_stats", Dialect::Openai);
    assert!(own.starts_with("text_dot_stats_x"), "{own}");
}

#[test]
fn names_that_differ_stay_apart_in_every_dialect() {
    let long = "a".repeat(60);
    let names = [
        "a.b",
        "a_dot_b",
        "a_b",
        "a-b",
        "a..b",
        "._dot.b",
        "a._dot.b",
        "a..dot_b",
        ".a",
        "-a",
        "1a",
        "_a",
        "a_xaaaaaaaaaa",
        &format!("{long}.b"),
        &format!("{long}.c"),
        &format!("{long}_b"),
    ];
    for dialect in Dialect::ALL {
        let exported: BTreeSet<_> = names.iter().map(|name| exported_name(name, dialect)).collect();
        assert_eq!(exported.len(), names.len(), "{dialect} {exported:?}");
    }
}

proptest! {
    #[test]
    fn any_two_names_of_tools_stay_apart(
        one in "[a.b_dotx-]{1,20}|[A-Za-z0-9_.-]{55,64}",
        other in "[a.b_dotx-]{1,20}|[A-Za-z0-9_.-]{55,64}",
    ) {
        for dialect in Dialect::ALL {
            let (a, b) = (exported_name(&one, dialect), exported_name(&other, dialect));
            prop_assert_eq!(one == other, a == b);
            // Exported again it is a stranger: no tool of that name answers to it.
            if a != one {
                prop_assert_ne!(exported_name(&a, dialect), a.clone());
            }
            prop_assert!(!a.is_empty() && a.len() <= 64);
        }
    }
}

const ODD: [&str; 10] = [
    "filter[name]",
    "filter.name",
    "$top",
    "@odata.context",
    "StartTime",
    "StartTime<",
    "StartTime>",
    "include[]",
    "名称",
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
];

#[test]
fn keys_that_the_provider_refuses_are_renamed_and_told() {
    let properties: BTreeMap<&str, _> = ODD
        .iter()
        .map(|name| (*name, json!({"type": "string", "description": "A filter."})))
        .collect();
    let tool = with(json!(properties));
    for dialect in [Dialect::Anthropic, Dialect::Gemini] {
        assert_eq!(members(&tool, dialect).len(), ODD.len());
        for name in ODD {
            let (key, schema) = member(&tool, dialect, name);
            let kept = matches!(name, "filter.name" | "StartTime");
            assert_eq!(key == name, kept, "{name} {key}");
            if !kept {
                assert!(schema["description"].as_str().unwrap().contains(name), "{schema}");
            }
        }
        let (from, _) = member(&tool, dialect, "StartTime<");
        let (to, _) = member(&tool, dialect, "StartTime>");
        let written = json!({from: "2026-01-01", to: "2026-02-01"});
        let meant = json!({"StartTime<": "2026-01-01", "StartTime>": "2026-02-01"});
        assert_eq!(restore(&tool, dialect, written), meant);
    }
    assert_eq!(
        members(&tool, Dialect::Openai).keys().map(String::as_str).collect::<BTreeSet<_>>(),
        ODD.into()
    );
}

#[test]
fn keys_inside_are_renamed_alike_and_so_is_what_names_them() {
    let tool = with(json!({"rows": {"type": "array", "items": {
        "type": "object", "required": ["$id"],
        "properties": {"$id": {"type": "string"}, "a b": {"$ref": "#/$defs/part"}},
        "dependentRequired": {"a b": ["$id"]}, "dependentSchemas": {"a b": {"required": ["$id"]}},
    }}}));
    let mut tool = tool;
    tool.input_schema["$defs"] =
        json!({"part": {"type": "object", "properties": {"c/d": {"type": "integer"}}}});
    let export = super::export_well(&tool, Dialect::Anthropic);
    let text = export.definition.to_string();
    let inner = schema(&export)["properties"]["rows"]["items"].clone();
    let id = inner["required"][0].as_str().unwrap();
    assert!(inner["properties"][id].is_object());
    let other = inner["dependentRequired"].as_object().unwrap().keys().next().unwrap();
    assert!(inner["properties"][other].is_object());
    assert_eq!(inner["dependentRequired"][other], json!([id]));
    assert_eq!(inner["dependentSchemas"][other]["required"], json!([id]));
    let part = text.split("\"c_d").nth(1).unwrap();
    let key = format!("c_d{}", part.split('"').next().unwrap());
    let written = json!({"rows": [{id: "1", other: {key: 3}}, {"$id": "2"}]});
    let meant = json!({"rows": [{"$id": "1", "a b": {"c/d": 3}}, {"$id": "2"}]});
    assert_eq!(restore(&tool, Dialect::Anthropic, written), meant);
}

#[test]
fn a_key_really_called_as_another_is_exported_keeps_its_meaning() {
    let made = member(&with(json!({"a b": {}})), Dialect::Anthropic, "a b").0;
    let both = with(json!({"a b": {"type": "string"}, made.clone(): {"type": "string"}}));
    let (other, _) = member(&both, Dialect::Anthropic, "a b");
    assert_ne!(other, made);
    let call = json!({made.clone(): "mine", other: "odd"});
    assert_eq!(
        restore(&both, Dialect::Anthropic, call),
        json!({made.clone(): "mine", "a b": "odd"})
    );
    // In a map every key is its own.
    let map = with(
        json!({"a b": {}, "map": {"type": "object", "additionalProperties": {"type": "string"}}}),
    );
    let call = json!({"map": {made: "x"}});
    assert_eq!(restore(&map, Dialect::Anthropic, call.clone()), call);
}

#[test]
fn the_order_of_members_survives() {
    let tool = with(json!({"b c": {}, "a": {}, "z": {}}));
    let (key, _) = member(&tool, Dialect::Anthropic, "b c");
    let back = restore(&tool, Dialect::Anthropic, json!({"z": 1, key: 2, "a": 3}));
    assert_eq!(back.to_string(), r#"{"z":1,"b c":2,"a":3}"#);
}

#[test]
fn an_export_is_a_function_of_the_tool() {
    let tool = tool(json!({
        "type": "object", "required": ["n"],
        "properties": {
            "n": {"type": "integer", "enum": [1, 2], "exclusiveMinimum": 0},
            "part": {"$ref": "#/$defs/part"}, "o p": {"type": ["string", "null"]},
        },
        "$defs": {"part": {"type": "object", "properties": {"next": {"$ref": "#/$defs/part"}}}},
    }));
    let first: Vec<String> =
        Dialect::ALL.iter().map(|dialect| export(&tool, *dialect).definition.to_string()).collect();
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..50)
            .map(|turn| {
                let (tool, first) = (&tool, &first);
                scope.spawn(move || {
                    for step in 0..Dialect::ALL.len() {
                        let at = (turn + step) % Dialect::ALL.len();
                        let again = export(tool, Dialect::ALL[at]).definition.to_string();
                        assert_eq!(again, first[at]);
                    }
                })
            })
            .collect();
        runs.into_iter().for_each(|run| run.join().unwrap());
    });
}
