//! Compositions as generators write them: closed parts beside others, and branches that overlap.

use jsonschema::validator_for;
use serde_json::{Value, json};

use super::{argument, only, posting, read};

fn post(schema: &str, components: &str) -> String {
    posting("3.0.3", schema, components)
}

fn takes(schema: &Value, value: &Value) -> bool {
    let schema = json!({ "type": "object", "properties": { "x": schema }, "required": ["x"] });
    let schema = validator_for(&schema).unwrap();
    schema.is_valid(&json!({ "x": value }))
}

const SHAPE: &str = "    Base: {type: object, required: [kind], properties: {kind: {type: string}}, additionalProperties: false}
    Shape:
      allOf: [{$ref: '#/components/schemas/Base'}]
      properties: {size: {type: integer}}
      additionalProperties: false\n";

#[test]
fn closed_parts_of_a_body_are_read_as_all_members_together() {
    let (found, report) = read(&post("{$ref: '#/components/schemas/Shape'}", SHAPE));
    let schema = &found[0].draft.input_schema;
    assert_eq!(schema["required"], json!(["kind"]));
    assert_eq!(schema["additionalProperties"], json!(false));
    assert_eq!(schema["properties"]["size"], json!({"type": "integer"}));
    let notes = format!("{:?}", report.imported[0].adapted);
    assert!(notes.contains("additionalProperties: false"), "{notes}");
}

#[test]
fn closed_parts_inside_a_schema_are_closed_as_a_whole() {
    let text = post(
        "{type: object, properties: {x: {type: array, items: {$ref: '#/components/schemas/Shape'}}}}",
        SHAPE,
    );
    let schema = only(&text).draft.input_schema;
    let validator = validator_for(&schema).unwrap();
    let fits = |item: Value| validator.is_valid(&json!({ "x": [item] }));
    assert!(fits(json!({"kind": "round", "size": 3})));
    assert!(!fits(json!({"size": 3})));
    assert!(!fits(json!({"kind": "round", "other": 3})));
}

#[test]
fn a_closed_part_alone_stays_as_it_is_written() {
    let (schema, notes) = argument(
        "3.0.3",
        "{allOf: [{type: object, properties: {a: {type: string}}, additionalProperties: false}]}",
    );
    assert_eq!(schema["allOf"][0]["additionalProperties"], json!(false));
    assert_eq!(schema.get("unevaluatedProperties"), None);
    assert!(notes.is_empty(), "{notes:?}");
}

#[test]
fn own_members_beside_closed_branches_are_allowed() {
    let branch = |name: &str| {
        format!(
            "{{type: object, required: [{name}], properties: {{{name}: {{type: string}}}}, additionalProperties: false}}"
        )
    };
    let (schema, notes) = argument(
        "3.1.0",
        &format!(
            "{{properties: {{id: {{type: integer}}}}, oneOf: [{}, {}]}}",
            branch("a"),
            branch("b")
        ),
    );
    assert!(takes(&schema, &json!({"id": 1, "a": "x"})), "{schema}");
    assert!(!takes(&schema, &json!({"id": 1, "c": "x"})), "{schema}");
    assert_eq!(notes.len(), 1, "{notes:?}");
}

#[test]
fn branches_that_overlap_are_no_longer_exclusive() {
    let cases = [
        ("{oneOf: [{type: integer}, {type: number}]}", json!(5)),
        ("{oneOf: [{type: string}, {type: string, format: date}]}", json!("2024-01-01")),
        (
            "{oneOf: [{type: object, properties: {a: {type: string}}}, {type: object, properties: {b: {type: string}}}]}",
            json!({"a": "x"}),
        ),
        (
            "{oneOf: [{type: object, required: [a, b]}, {type: object, required: [a]}]}",
            json!({"a": 1, "b": 2}),
        ),
        ("{oneOf: [{}, {type: string}]}", json!("x")),
        ("{oneOf: [{type: string, nullable: true}, {type: integer, nullable: true}]}", Value::Null),
        ("{oneOf: [{type: string, enum: [a, b]}, {type: string, enum: [b, c]}]}", json!("b")),
    ];
    for (source, value) in cases {
        let (schema, notes) = argument("3.0.3", source);
        assert!(schema.get("oneOf").is_none(), "{source}: {schema}");
        assert!(takes(&schema, &value), "{source}: {schema}");
        assert!(notes.iter().any(|note| note.contains("/oneOf")), "{source}: {notes:?}");
    }
}

#[test]
fn branches_that_are_apart_stay_exclusive() {
    let cases = [
        "{oneOf: [{type: integer}, {type: string}]}",
        "{oneOf: [{type: string, enum: [a]}, {type: string, enum: [b]}]}",
        "{type: object, oneOf: [{required: [id]}, {required: [name]}]}",
        "{oneOf: [{type: integer, maximum: 3}, {type: integer, minimum: 4}]}",
        "{oneOf: [{type: object, required: [k], properties: {k: {enum: [a]}}}, {type: object, required: [k], properties: {k: {enum: [b]}}}]}",
        "{oneOf: [{type: object, required: [v], properties: {v: {type: string}}}, {type: object, required: [v], properties: {v: {type: integer}}}]}",
        "{oneOf: [{type: object, required: [a]}, {type: object, properties: {b: {}}, additionalProperties: false}]}",
    ];
    for source in cases {
        let (schema, notes) = argument("3.0.3", source);
        assert!(schema["oneOf"].is_array(), "{source}: {schema}");
        assert!(notes.is_empty(), "{source}: {notes:?}");
    }
}

#[test]
fn what_is_demanded_but_not_declared_becomes_an_argument() {
    let (found, report) = read(&post(
        "{type: object, required: [ghost, a], properties: {a: {type: string}}}",
        "    None: {}\n",
    ));
    let schema = &found[0].draft.input_schema;
    assert_eq!(schema["properties"]["ghost"], json!({}));
    assert_eq!(schema["required"], json!(["a", "ghost"]));
    assert!(format!("{:?}", report.imported[0].adapted).contains("`ghost`"));
    let (schema, notes) = argument(
        "3.0.3",
        "{type: object, required: [ghost], properties: {a: {type: string}}, additionalProperties: false}",
    );
    assert!(takes(&schema, &json!({"ghost": 1})));
    assert_eq!(notes.len(), 1, "{notes:?}");
}
