//! Discriminators, anchors and recursive references: what a validator says to values under them.

use serde_json::{Value, json};

use super::{only, posting, read, read_with};
use crate::catalog::openapi::Settings;
use crate::schema::tests::fits;

/// The input schema of an operation whose body is `schema`.
fn input(version: &str, schema: &str, components: &str) -> Value {
    only(&posting(version, schema, components)).draft.input_schema
}

const PETS: &str = "    Cat: {type: object, required: [claws], properties: {kind: {type: string}, claws: {type: integer}}}
    Dog: {type: object, required: [bark], properties: {kind: {type: string}, bark: {type: string}}}\n";

#[test]
fn branches_demand_the_value_that_the_mapping_has_for_them() {
    let schema = input(
        "3.0.3",
        "{oneOf: [{$ref: '#/components/schemas/Cat'}, {$ref: '#/components/schemas/Dog'}], discriminator: {propertyName: kind, mapping: {cat: '#/components/schemas/Cat', kitten: Cat}}}",
        PETS,
    );
    assert!(fits(&schema, &json!({"kind": "cat", "claws": 4})));
    assert!(fits(&schema, &json!({"kind": "kitten", "claws": 4})));
    assert!(fits(&schema, &json!({"kind": "Dog", "bark": "loud"})), "the implicit name");
    assert!(!fits(&schema, &json!({"kind": "Cat", "claws": 4})), "a mapped branch has no other");
    assert!(!fits(&schema, &json!({"kind": "cat", "bark": "loud"})));
    assert!(!fits(&schema, &json!({"claws": 4})), "without the discriminator");
    // Both branches fit these members; only the discriminator can tell.
    assert!(fits(&schema, &json!({"kind": "cat", "claws": 4, "bark": "x"})));
}

#[test]
fn a_branch_that_says_its_values_itself_is_believed() {
    let schema = input(
        "3.1.0",
        "{anyOf: [{$ref: '#/components/schemas/FunctionTool'}, {$ref: '#/components/schemas/Closed'}], discriminator: {propertyName: type}}",
        "    FunctionTool: {type: object, required: [type], properties: {type: {type: string, enum: [function]}}}
    Closed: {type: object, additionalProperties: false, properties: {a: {type: string}}}\n",
    );
    assert!(fits(&schema, &json!({"type": "function"})));
    assert!(!fits(&schema, &json!({"type": "FunctionTool"})));
    assert!(fits(&schema, &json!({"a": "b"})), "no other member is allowed there");
}

#[test]
fn a_base_stands_for_its_extensions_through_any_number_of_steps() {
    let schema = input(
        "3.0.3",
        "{type: array, items: {$ref: '#/components/schemas/Base'}}",
        "    Base: {type: object, discriminator: {propertyName: kind}, properties: {kind: {type: string}, id: {type: integer}}}
    Mid: {allOf: [{$ref: '#/components/schemas/Base'}, {type: object, required: [m], properties: {m: {type: string}}}]}
    Leaf: {allOf: [{$ref: '#/components/schemas/Mid'}, {type: object, required: [l], properties: {l: {type: string}}}]}\n",
    );
    let given = |value: Value| fits(&schema, &json!({"body": [value]}));
    assert!(given(json!({"kind": "Mid", "m": "1"})) && !given(json!({"kind": "Mid"})));
    assert!(given(json!({"kind": "Leaf", "m": "1", "l": "2"})));
    assert!(!given(json!({"kind": "Leaf", "m": "1"})));
    assert!(!given(json!({"kind": "Mid", "m": "1", "id": "x"})), "the base's own rules hold");
    assert!(given(json!({"id": 7})), "no kind at all is the base itself");
}

#[test]
fn too_many_extensions_are_told_and_the_base_is_checked() {
    let mut components = String::from(
        "    Base: {type: object, discriminator: {propertyName: kind}, required: [id], properties: {kind: {type: string}, id: {type: integer}}}\n",
    );
    for number in 0..80 {
        components.push_str(&format!(
            "    K{number}: {{allOf: [{{$ref: '#/components/schemas/Base'}}, {{type: object}}]}}\n"
        ));
    }
    let text =
        posting("3.0.3", "{type: array, items: {$ref: '#/components/schemas/Base'}}", &components);
    let (found, report) = read(&text);
    assert!(!fits(&found[0].draft.input_schema, &json!({"body": [{"kind": "K1"}]})));
    let told = report.imported[0].adapted.iter().any(|note| note.message.contains("more than 64"));
    assert!(told, "{report:?}");
}

#[test]
fn recursive_references_lead_to_the_schema_that_they_stand_in() {
    for recursion in ["$recursiveRef: '#'", "$dynamicRef: '#node'", "$ref: '#node'"] {
        let schema = input(
            "3.1.0",
            "{$ref: '#/components/schemas/Tree'}",
            &format!(
                "    Tree: {{type: object, $recursiveAnchor: true, $dynamicAnchor: node, required: [v], properties: {{v: {{type: integer}}, kids: {{type: array, items: {{{recursion}}}}}}}}}\n"
            ),
        );
        assert!(fits(&schema, &json!({"v": 1, "kids": [{"v": 2, "kids": [{"v": 3}]}]})));
        assert!(!fits(&schema, &json!({"v": 1, "kids": [{"v": 2, "kids": [{}]}]})), "{recursion}");
    }
}

#[test]
fn an_anchor_that_two_schemas_bear_is_not_guessed() {
    let (found, report) = read(&posting(
        "3.1.0",
        "{type: object, properties: {a: {$dynamicRef: '#item'}, b: {type: string}}}",
        "    A: {$dynamicAnchor: item, type: string}\n    B: {$dynamicAnchor: item, type: integer}\n",
    ));
    assert!(found.is_empty());
    assert!(report.skipped[0].reason.contains("2 schemas bear"), "{report:?}");
}

#[test]
fn schemas_that_reach_everything_are_cut_at_a_bound_and_the_report_says_so() {
    let mut components = String::new();
    for number in 0..400 {
        let text = "x".repeat(200);
        components.push_str(&format!(
            "    S{number}: {{type: object, required: [v], properties: {{v: {{type: integer, description: {text}}}, next: {{$ref: '#/components/schemas/S{}'}}}}}}\n",
            (number + 1) % 400
        ));
    }
    let text =
        posting("3.0.3", "{type: array, items: {$ref: '#/components/schemas/S0'}}", &components);
    let mut settings = Settings { max_schema: Some(8 << 10), ..Settings::default() };
    settings.servers.server = Some("https://a.example".to_owned());
    let (found, report) = read_with(&text, &settings);
    let schema = &found[0].draft.input_schema;
    assert!(schema.to_string().len() < 64 << 10, "{}", schema.to_string().len());
    assert!(report.imported[0].adapted[0].message.contains("max_schema"), "{report:?}");
    assert!(
        !fits(schema, &json!({"body": [{"v": 1, "next": {"v": "x"}}]})),
        "near ones are checked"
    );
    assert_eq!(read(&text).1.imported[0].adapted, [], "and all are, where there is room");
}
