//! What a validator says to arguments of imported operations: recursion of every kind, bounds, shared
//! schemas and patterns, against the whole schema and never a cut one.

use serde_json::{Value, json};

use super::{argument, one, only, posting, read};
use crate::schema::tests::fits;

fn input(version: &str, schema: &str, components: &str) -> Value {
    only(&posting(version, schema, components)).draft.input_schema
}

#[test]
fn lists_of_themselves_are_checked_at_every_depth() {
    let schema = input(
        "3.0.3",
        "{$ref: '#/components/schemas/Section'}",
        "    Section: {type: object, required: [title], properties: {title: {type: string}, parts: {type: array, items: {$ref: '#/components/schemas/Section'}}}}\n",
    );
    let nested = |last: Value| json!({"title": "a", "parts": [{"title": "b", "parts": [last]}]});
    assert!(fits(&schema, &nested(json!({"title": "c"}))));
    assert!(!fits(&schema, &nested(json!({"title": 7}))));
}

#[test]
fn recursion_through_unions_and_maps_is_checked_and_imported_the_same_each_time() {
    let import = || {
        input(
            "3.0.3",
            "{$ref: '#/components/schemas/Cond'}",
            "    Cond: {oneOf: [{$ref: '#/components/schemas/Leaf'}, {$ref: '#/components/schemas/Group'}]}
    Leaf: {type: object, required: [field], properties: {field: {type: string}}, additionalProperties: false}
    Group: {type: object, required: [byName], properties: {byName: {type: object, additionalProperties: {$ref: '#/components/schemas/Cond'}}}, additionalProperties: false}\n",
        )
    };
    let schema = import();
    assert!(fits(&schema, &json!({"byName": {"x": {"byName": {"y": {"field": "age"}}}}})));
    assert!(!fits(&schema, &json!({"byName": {"x": {"colour": "red"}}})));
    for _ in 0..10 {
        assert_eq!(import().to_string(), schema.to_string());
    }
}

#[test]
fn schemas_that_double_at_each_step_are_checked_whole() {
    let mut components = String::new();
    for level in 0..25 {
        let next = level + 1;
        components.push_str(&format!("    L{level}: {{type: object, properties: {{a: {{$ref: '#/components/schemas/L{next}'}}, b: {{$ref: '#/components/schemas/L{next}'}}}}}}\n"));
    }
    components.push_str("    L25: {type: string}\n");
    let schema = input("3.0.3", "{$ref: '#/components/schemas/L0'}", &components);
    assert!(schema.to_string().len() < 16 << 10);
    let mut value = json!("end");
    let mut wrong = json!(7);
    for level in 0..25 {
        let name = if level % 2 == 0 { "a" } else { "b" };
        value = json!({ name: value });
        wrong = json!({ name: wrong });
    }
    assert!(fits(&schema, &value) && !fits(&schema, &wrong), "25 levels down");
}

#[test]
fn bounds_hold_as_their_version_means_them() {
    for (version, bound) in [
        ("3.0.3", "minimum: 0, exclusiveMinimum: true, maximum: 10, exclusiveMaximum: false"),
        ("3.1.0", "exclusiveMinimum: 0, maximum: 10"),
        ("3.1.0", "minimum: 0, exclusiveMinimum: true, maximum: 10"),
        ("3.0.2", "exclusiveMinimum: 0, maximum: 10"),
    ] {
        let schema = format!("{{type: object, properties: {{rate: {{type: number, {bound}}}}}}}");
        let schema = input(version, &schema, "    X: {type: string}\n");
        let given = |rate: Value| fits(&schema, &json!({ "rate": rate }));
        assert!(!given(json!(0)) && given(json!(0.1)) && given(json!(10)) && !given(json!(10.5)));
    }
}

#[test]
fn null_is_no_object_where_only_a_reference_could_allow_it() {
    let address =
        "    Addr: {type: object, required: [city], properties: {city: {type: string}}}\n";
    for home in [
        "{$ref: '#/components/schemas/Addr', nullable: true, description: new home}",
        "{nullable: true, allOf: [{$ref: '#/components/schemas/Addr'}]}",
        "{type: object, nullable: true, allOf: [{$ref: '#/components/schemas/Addr'}]}",
    ] {
        let schema = format!("{{type: object, properties: {{home: {home}}}}}");
        let schema = input("3.0.3", &schema, address);
        let given = |home: Value| fits(&schema, &json!({ "home": home }));
        assert!(!given(Value::Null) && !given(json!({})) && given(json!({"city": "x"})), "{home}");
    }
}

#[test]
fn members_that_the_server_makes_are_refused_also_in_lists_and_through_all_of() {
    let schema = input(
        "3.1.0",
        "{type: array, items: {$ref: '#/components/schemas/Pet'}}",
        "    Base: {type: object, required: [id], properties: {id: {type: integer, readOnly: true}}}
    Pet: {allOf: [{$ref: '#/components/schemas/Base'}, {type: object, required: [name, secret], properties: {name: {type: string}, secret: {type: string, writeOnly: true}}}]}\n",
    );
    let given = |pet: Value| fits(&schema, &json!({ "body": [pet] }));
    assert!(given(json!({"name": "Mimi", "secret": "s"})));
    assert!(!given(json!({"id": 9, "name": "Mimi", "secret": "s"})));
    assert!(!given(json!({"name": "Mimi"})));
}

#[test]
fn patterns_end_soon_and_those_that_cannot_hold_are_told() {
    let patterns = ["^(?!admin).+$", "^(a+)+$", "(", "^(\\\\w)\\\\1$"];
    let properties: String = patterns
        .iter()
        .enumerate()
        .map(|(place, pattern)| format!("p{place}: {{type: string, pattern: \"{pattern}\"}}, "))
        .collect();
    let text = one(
        "3.0.3",
        "POST /x",
        &format!(
            "summary: Adds one thing\nrequestBody: {{content: {{application/json: {{schema: {{type: object, properties: {{{properties}}}}}}}}}}}"
        ),
    );
    let (found, report) = read(&text);
    let schema = &found[0].draft.input_schema;
    let long = format!("{}!", "a".repeat(10_000));
    for (value, at, wanted) in [
        ("root", "p0", true),
        ("administrator", "p0", false),
        (long.as_str(), "p1", false),
        ("aaaa", "p1", true),
        ("x", "p2", true),
        ("aa", "p3", true),
    ] {
        assert_eq!(fits(schema, &json!({ at: value })), wanted, "{at}");
    }
    let told: Vec<&str> =
        report.imported[0].adapted.iter().map(|note| note.message.as_str()).collect();
    assert_eq!(
        told.iter().filter(|text| text.contains("cannot be enforced")).count(),
        2,
        "{told:?}"
    );
}

#[test]
fn each_value_of_an_enum_is_mended_by_itself_from_its_spelling() {
    let cases = [
        ("{type: string, enum: [1.10, 1.9, latest]}", json!(["1.10", "1.9", "latest"])),
        ("{type: string, enum: [1.10, 2.0]}", json!(["1.10", "2.0"])),
        ("{type: string, enum: [true, off, 1.50, 007]}", json!(["true", "off", "1.50", "007"])),
        ("{type: integer, enum: ['1', 2]}", json!([1, 2])),
        ("{type: boolean, enum: ['true', false]}", json!([true, false])),
    ];
    for (source, wanted) in cases {
        let (schema, notes) = argument("3.0.3", source);
        assert_eq!(schema["enum"], wanted, "{source}");
        assert_eq!(notes.len(), 1, "{source}: {notes:?}");
    }
    let (schema, notes) = argument("3.0.3", "{type: integer, enum: [1, two]}");
    assert_eq!(schema["enum"], json!([1]));
    assert!(notes[0].contains("its type excludes"), "{notes:?}");
}

#[test]
fn numbers_that_json_does_not_have_cost_their_keyword_only() {
    for bound in [".inf", "-.inf", ".nan"] {
        let (schema, notes) = argument("3.0.3", &format!("{{type: number, maximum: {bound}}}"));
        assert_eq!(schema, json!({"type": "number"}));
        assert!(notes[0].contains(bound), "{notes:?}");
    }
}

#[test]
fn types_of_other_languages_are_read_as_meant() {
    let cases = [
        ("int", json!({"type": "integer"})),
        ("long", json!({"type": "integer"})),
        ("String", json!({"type": "string"})),
        ("double", json!({"type": "number"})),
        ("bool", json!({"type": "boolean"})),
        ("date", json!({"type": "string", "format": "date"})),
    ];
    for (name, wanted) in cases {
        let (schema, notes) = argument("3.0.3", &format!("{{type: {name}}}"));
        let same = wanted.as_object().unwrap().iter().all(|(key, value)| schema[key] == *value);
        assert!(same, "{name}: {schema}");
        assert_eq!(notes.len(), 1, "{notes:?}");
    }
    let (schema, notes) = argument("3.0.3", "{type: any}");
    assert_eq!(schema, json!({}));
    assert_eq!(notes.len(), 1);
}

#[test]
fn keywords_of_old_drafts_are_converted() {
    let cases = [
        (
            "{type: array, items: [{type: string}], additionalItems: false}",
            json!({"type": "array", "prefixItems": [{"type": "string"}], "items": false}),
        ),
        (
            "{type: object, dependencies: {a: [b], c: d, e: {required: [f]}}}",
            json!({"type": "object", "dependentRequired": {"a": ["b"], "c": ["d"]},
                   "dependentSchemas": {"e": {"required": ["f"]}}}),
        ),
        ("{type: integer, divisibleBy: 5}", json!({"type": "integer", "multipleOf": 5})),
        (
            "{type: object, properties: {a: {type: string, required: true}, b: {type: string}}}",
            json!({"type": "object", "required": ["a"],
                   "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}),
        ),
    ];
    for (source, wanted) in cases {
        let (schema, notes) = argument("3.1.0", source);
        assert_eq!(schema, wanted, "{source}");
        assert!(!notes.is_empty(), "{source}");
    }
}

#[test]
fn patterns_between_slashes_are_read_as_meant_or_left_out() {
    let (schema, notes) = argument("3.0.3", "{type: string, pattern: '/^[a-z]+$/'}");
    assert_eq!(schema["pattern"], json!("^[a-z]+$"));
    assert_eq!(notes.len(), 1);
    let (schema, notes) = argument("3.0.3", "{type: string, pattern: '/^[a-z]+$/i'}");
    assert_eq!(schema, json!({"type": "string"}));
    assert_eq!(notes.len(), 1);
    let (schema, notes) = argument("3.0.3", "{type: string, pattern: '/api/'}");
    assert_eq!(schema["pattern"], json!("/api/"));
    assert!(notes.is_empty());
}

#[test]
fn what_aliases_and_merge_keys_may_repeat_depends_on_the_text() {
    use crate::catalog::openapi::value;
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..8 {
        let items = vec![format!("*a{}", level - 1); 10].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{items}]\n"));
    }
    assert!(value(&bomb).unwrap_err().message.contains("repeat more than"));
    let mut chain = "m0: &m0 {k: 1}\n".to_owned();
    for link in 1..1_000 {
        chain.push_str(&format!("m{link}: &m{link} {{<<: *m{}, z{link}: 1}}\n", link - 1));
    }
    assert!(value(&chain).unwrap_err().message.contains("repeat more than"));
    let short: String = chain.lines().take(150).map(|line| format!("{line}\n")).collect();
    assert_eq!(value(&short).unwrap()["m149"]["k"], json!(1));
}

#[test]
fn merge_keys_give_what_is_not_there_yet() {
    use crate::catalog::openapi::value;
    let text = "a: &a {x: 1, y: 2}\nb: &b {y: 3, z: 4}\nc: {<<: [*a, *b], x: 5}\nd: {'<<': 1}\n";
    let read = value(text).unwrap();
    assert_eq!(read["c"], json!({"x": 5, "y": 2, "z": 4}));
    assert_eq!(read["d"], json!({"<<": 1}));
}

#[test]
fn bounds_beyond_a_float_are_held_against_defaults_exactly() {
    let schema = |default: &str| {
        let bounds =
            format!("{{type: integer, maximum: 18446744073709551616, default: {default}}}");
        argument("3.0.3", &bounds)
    };
    let (kept, notes) = schema("18446744073709551616");
    assert_eq!(kept["default"].to_string(), "18446744073709551616");
    assert_eq!(kept["maximum"].to_string(), "18446744073709551616");
    assert!(notes.is_empty(), "{notes:?}");
    let (left, notes) = schema("18446744073709551617");
    assert_eq!(left["default"], serde_json::Value::Null);
    assert!(notes[0].contains("does not fit"), "{notes:?}");
}

#[test]
fn numbers_with_leading_zeros_are_the_number_for_a_number_and_as_written_for_a_text() {
    for (schema, key, wanted) in [
        ("{type: integer, default: 010}", "default", json!(10)),
        ("{type: integer, default: -007}", "default", json!(-7)),
        ("{type: number, enum: [00, 010, 2]}", "enum", json!([0, 10, 2])),
        ("{type: integer, maximum: 0100}", "maximum", json!(100)),
        ("{type: integer, const: 08}", "const", json!(8)),
        ("{type: string, maxLength: 010}", "maxLength", json!(10)),
        ("{type: string, default: 0777}", "default", json!("0777")),
        ("{type: string, enum: [0777, 010]}", "enum", json!(["0777", "010"])),
    ] {
        let (made, _) = argument("3.1.0", schema);
        assert_eq!(made[key], wanted, "{schema}");
    }
}

#[test]
fn numbers_that_stand_for_texts_keep_the_spelling_of_their_author() {
    let (schema, notes) =
        argument("3.0.3", "{type: string, enum: [0o17, .5, +1, 1e3, 0x1F, 1.10, 12:30:45]}");
    assert_eq!(schema["enum"], json!(["0o17", ".5", "+1", "1e3", "0x1F", "1.10", "12:30:45"]));
    assert!(notes[0].contains("`0o17`, `.5`, `+1`, `1e3`, `0x1F`, `1.10`"), "{notes:?}");
    let (schema, notes) = argument("3.1.0", "{type: string, default: 0x1F, const: +1, title: 1e3}");
    assert_eq!((&schema["const"], &schema["title"]), (&json!("+1"), &json!("1e3")));
    assert_eq!(schema["default"], "0x1F");
    assert_eq!(notes.len(), 3, "{notes:?}");
    let (schema, notes) = argument("3.1.0", "{type: integer, enum: [0o17, +1, 0x1F]}");
    assert_eq!(schema["enum"], json!([15, 1, 31]));
    assert_eq!(notes, [] as [String; 0]);
}
