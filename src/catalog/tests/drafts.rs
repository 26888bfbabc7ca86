//! References by names that schemas give themselves, and keywords of old drafts: what a validator says
//! to values under them. What cannot be read is skipped with the reason, never left unchecked.

use serde_json::{Value, json};

use super::{one, only, posting, read};
use crate::schema::tests::fits;

/// The input schema of an operation that takes one of these schemas as `body`, in a list.
fn input(version: &str, schema: &str, components: &str) -> Value {
    let list = format!("{{type: array, items: {schema}}}");
    only(&posting(version, &list, components)).draft.input_schema
}

fn given(schema: &Value, value: &Value) -> bool {
    fits(schema, &json!({ "body": [value] }))
}

const GENERIC: &str = "    AnyList:
      $id: any_list
      type: object
      required: [rows]
      properties: {rows: {type: array, items: {$dynamicRef: '#row'}}}
      $defs: {row: {$dynamicAnchor: row}}
    NumberList:
      $id: number_list
      $ref: any_list
      $defs: {row: {$dynamicAnchor: row, type: number}}
    TextList:
      $id: text_list
      $ref: any_list
      $defs: {row: {$dynamicAnchor: row, type: string}}\n";

#[test]
fn a_generic_schema_takes_the_rows_of_the_schema_that_uses_it() {
    for (name, number, text) in
        [("NumberList", true, false), ("TextList", false, true), ("AnyList", true, true)]
    {
        let reference = format!("{{$ref: '#/components/schemas/{name}'}}");
        let schema = input("3.1.0", &reference, GENERIC);
        assert_eq!(given(&schema, &json!({"rows": [1]})), number, "{name}: {schema}");
        assert_eq!(given(&schema, &json!({"rows": ["a"]})), text, "{name}: {schema}");
        assert!(!given(&schema, &json!({})), "{name}");
    }
    // Both uses in one tool are kept apart.
    let both = format!(
        "{GENERIC}    Both: {{$id: both, type: object, properties: {{n: {{$ref: number_list}}, t: {{$ref: text_list}}}}}}\n"
    );
    let schema = input("3.1.0", "{$ref: '#/components/schemas/Both'}", &both);
    assert!(given(&schema, &json!({"n": {"rows": [1]}, "t": {"rows": ["a"]}})));
    assert!(!given(&schema, &json!({"n": {"rows": ["a"]}})));
    assert!(!given(&schema, &json!({"t": {"rows": [1]}})));
}

#[test]
fn a_tree_is_as_strict_as_the_schema_that_extends_it() {
    for (anchor, reference) in [
        ("$dynamicAnchor: node", "$dynamicRef: '#node'"),
        ("$recursiveAnchor: true", "$recursiveRef: '#'"),
    ] {
        let components = format!(
            "    Tree: {{$id: 'https://shop.example/tree', {anchor}, type: object, properties: {{name: {{type: string}}, below: {{type: array, items: {{{reference}}}}}}}}}
    Strict: {{$id: 'https://shop.example/strict', {anchor}, $ref: tree, required: [name]}}\n"
        );
        let schema = input("3.1.0", "{$ref: '#/components/schemas/Strict'}", &components);
        assert!(given(&schema, &json!({"name": "a", "below": [{"name": "b"}]})), "{schema}");
        assert!(!given(&schema, &json!({"name": "a", "below": [{}]})), "{anchor}: {schema}");
        let schema = input("3.1.0", "{$ref: '#/components/schemas/Tree'}", &components);
        assert!(given(&schema, &json!({"below": [{"below": []}]})), "{anchor}");
        assert!(!given(&schema, &json!({"below": [{"name": 1}]})), "{anchor}");
    }
}

#[test]
fn references_are_read_from_the_schema_that_names_itself() {
    let components = "    Order:
      $id: https://shop.example/schemas/order.json
      type: object
      properties:
        state: {$ref: '#/$defs/state'}
        code: {$ref: '#code'}
        payer: {$ref: person.json}
        town: {$ref: 'person.json#/properties/town'}
        plain: {$ref: '#/components/schemas/Plain'}
      $defs: {state: {enum: [open, shut]}, code: {$anchor: code, type: integer}}
    Person:
      $id: https://shop.example/schemas/person.json
      type: object
      required: [town]
      properties: {town: {type: string}}
    Other: {$defs: {state: {type: integer}, code: {$anchor: code, type: string}}}
    Plain: {type: boolean}\n";
    let schema = input("3.1.0", "{$ref: 'https://shop.example/schemas/order.json'}", components);
    let whole =
        json!({"state": "open", "code": 1, "payer": {"town": "x"}, "town": "y", "plain": true});
    assert!(given(&schema, &whole), "{schema}");
    for wrong in [
        json!({"state": 1}),
        json!({"code": "a"}),
        json!({"payer": {}}),
        json!({"town": 1}),
        json!({"plain": "x"}),
    ] {
        assert!(!given(&schema, &wrong), "{wrong} fits {schema}");
    }
}

#[test]
fn a_name_in_an_example_is_no_name_of_a_schema() {
    let components = "    Thing: {type: object, example: {$id: 'https://shop.example/thing', type: string}, properties: {$id: {type: string}, next: {$ref: '#/components/schemas/Thing'}}}\n";
    let schema = input("3.1.0", "{$ref: '#/components/schemas/Thing'}", components);
    assert!(given(&schema, &json!({"$id": "a", "next": {"$id": "b"}})));
    assert!(!given(&schema, &json!({"next": {"$id": 1}})));
    let (found, report) =
        read(&posting("3.1.0", "{$ref: 'https://shop.example/thing'}", components));
    assert!(found.is_empty() && report.skipped[0].reason.contains("shop.example"), "{report:?}");
}

#[test]
fn definitions_of_an_old_draft_are_found_where_they_stand() {
    for version in ["3.0.3", "3.1.0"] {
        let components = "    Order:
      $schema: http://json-schema.org/draft-04/schema#
      id: https://shop.example/order#
      type: object
      properties:
        lines: {type: array, items: {$ref: '#/definitions/line'}}
        total: {$ref: '#money'}
        payer: {$ref: 'https://shop.example/person'}
      definitions:
        line: {type: object, required: [sku], properties: {sku: {type: string}, up: {$ref: '#/definitions/line'}}}
        money: {id: '#money', type: integer}
    Person: {id: 'https://shop.example/person', type: object, required: [name]}\n";
        let schema = input(version, "{$ref: '#/components/schemas/Order'}", components);
        let whole = json!({"lines": [{"sku": "a"}], "total": 5, "payer": {"name": "x"}});
        assert!(given(&schema, &whole), "{version}: {schema}");
        for wrong in [
            json!({"lines": [{}]}),
            json!({"lines": [{"sku": "a", "up": {}}]}),
            json!({"total": "5"}),
            json!({"payer": {}}),
        ] {
            assert!(!given(&schema, &wrong), "{version}: {wrong} fits {schema}");
        }
    }
}

#[test]
fn a_reference_that_could_be_two_is_a_reason_and_no_guess() {
    let twice = "    A: {id: 'https://shop.example/a', type: string}
    B: {id: 'https://shop.example/a', type: integer}
    C: {$dynamicAnchor: node, type: string}
    D: {$dynamicAnchor: node, type: integer}\n";
    for (reference, why) in [
        ("{$ref: 'https://shop.example/a'}", "shop.example"),
        ("{$ref: '#/definitions/none'}", "points at nothing"),
        ("{$dynamicRef: '#node'}", "2 schemas bear"),
        ("{$recursiveRef: '#/components/schemas/A'}", "leads to no schema"),
    ] {
        let (found, report) = read(&posting("3.1.0", reference, twice));
        assert!(found.is_empty(), "{reference}");
        assert!(report.skipped[0].reason.contains(why), "{:?}", report.skipped);
    }
}

#[test]
fn what_stands_beside_the_reference_of_a_body_counts() {
    let components = "    Base: {type: object, required: [a], properties: {a: {type: string}, b: {type: integer}}}\n";
    let beside =
        "{$ref: '#/components/schemas/Base', required: [b], properties: {c: {type: boolean}}}";
    let flat = only(&posting("3.1.0", beside, components)).draft.input_schema;
    assert!(fits(&flat, &json!({"a": "x", "b": 1, "c": true})), "{flat}");
    for wrong in [json!({"a": "x"}), json!({"b": 1}), json!({"a": "x", "b": 1, "c": "no"})] {
        assert!(!fits(&flat, &wrong), "{wrong} fits {flat}");
    }
    let beside = "{$ref: '#/components/schemas/Base', minProperties: 2}";
    let whole = only(&posting("3.1.0", beside, components)).draft.input_schema;
    assert!(fits(&whole, &json!({"a": "x", "b": 1})), "{whole}");
    assert!(!fits(&whole, &json!({"a": "x"})), "{whole}");
    // 3.0 heeds nothing there.
    let old = only(&posting("3.0.3", beside, components)).draft.input_schema;
    assert!(fits(&old, &json!({"a": "x"})), "{old}");
}

#[test]
fn a_closed_schema_takes_what_stands_beside_the_reference_to_it() {
    let components = "    Closed: {type: object, additionalProperties: false, required: [a], properties: {a: {type: string}}}
    More: {$ref: '#/components/schemas/Closed', required: [b], properties: {b: {type: integer}}}\n";
    for schema in [
        "{$ref: '#/components/schemas/More'}",
        "{$ref: '#/components/schemas/Closed', required: [b], properties: {b: {type: integer}}}",
        "{allOf: [{$ref: '#/components/schemas/Closed', required: [b]}, {properties: {b: {type: integer}}}]}",
        "{allOf: [{$ref: '#/components/schemas/More'}, {properties: {c: {type: integer}}}]}",
    ] {
        let input = input("3.1.0", schema, components);
        assert!(given(&input, &json!({"a": "x", "b": 1})), "{schema}: {input}");
        for wrong in [
            json!({"a": "x"}),
            json!({"b": 1}),
            json!({"a": "x", "b": "1"}),
            json!({"a": "x", "b": 1, "z": 1}),
        ] {
            assert!(!given(&input, &wrong), "{wrong} fits {schema}: {input}");
        }
    }
}

#[test]
fn what_draft_3_forbids_is_refused() {
    let text = one(
        "3.0.3",
        "GET /x",
        "summary: Finds\nparameters: [{name: v, in: query, schema: {disallow: [string, {type: integer, minimum: 5}]}}]",
    );
    let schema = only(&text).draft.input_schema;
    assert!(fits(&schema, &json!({"v": 1})) && fits(&schema, &json!({"v": true})));
    assert!(!fits(&schema, &json!({"v": "a"})) && !fits(&schema, &json!({"v": 5})));
    assert!(format!("{:?}", read(&text).1.imported[0].adapted).contains("taken as `not`"));
}
