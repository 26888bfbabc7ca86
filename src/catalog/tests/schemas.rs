//! From schemas of a document to JSON Schema 2020-12.

use serde_json::json;

use super::{Settings, argument, one, only, read, read_with};

const COMPONENTS: &str = "components:\n  schemas:\n";

#[test]
fn nullable_needs_a_type_beside_it() {
    assert_eq!(
        argument("3.0.3", "{type: string, nullable: true}").0,
        json!({"type": ["string", "null"]})
    );
    assert_eq!(argument("3.0.3", "{nullable: true}").0, json!({}));
    let (schema, _) = argument("3.0.3", "{type: string, nullable: true, enum: [a, null]}");
    assert_eq!(schema, json!({"type": ["string", "null"], "enum": ["a", null]}));
    let (schema, notes) = argument("3.1.0", "{type: string, nullable: true}");
    assert_eq!(schema, json!({"type": "string"}));
    assert!(notes[0].contains("/schema/nullable"), "{notes:?}");
}

#[test]
fn what_stands_beside_a_reference_counts_from_3_1_on() {
    let document = |version: &str| {
        let operation = "parameters: [{name: x, in: query, schema: {$ref: '#/components/schemas/Addr', nullable: true, description: new home}}]";
        let head = one(version, "GET /x", operation);
        format!(
            "{head}{COMPONENTS}    Addr: {{type: object, required: [city], properties: {{city: {{type: string}}}}}}\n"
        )
    };
    for version in ["3.0.3", "3.1.0"] {
        let schema = only(&document(version)).draft.input_schema;
        let x = &schema["properties"]["x"];
        assert_eq!(x, &json!({"$ref": "#/$defs/Addr", "description": "new home"}));
        assert_eq!(schema["$defs"]["Addr"]["required"], json!(["city"]));
    }
}

#[test]
fn exclusive_bounds_become_numbers() {
    let (schema, notes) = argument(
        "3.0.3",
        "{type: number, minimum: 0, exclusiveMinimum: true, maximum: 10, exclusiveMaximum: false}",
    );
    assert_eq!(schema, json!({"type": "number", "maximum": 10, "exclusiveMinimum": 0}));
    assert!(notes.is_empty());
    assert_eq!(
        argument("3.0.3", "{type: number, exclusiveMinimum: true}").0,
        json!({"type": "number"})
    );
}

#[test]
fn keywords_of_the_other_version_are_understood_with_a_note() {
    let cases = [
        (
            "3.1.0",
            "{type: number, minimum: 0, exclusiveMinimum: true}",
            json!({"type": "number", "exclusiveMinimum": 0}),
            "exclusiveMinimum",
        ),
        (
            "3.0.2",
            "{type: number, exclusiveMinimum: 0}",
            json!({"type": "number", "exclusiveMinimum": 0}),
            "exclusiveMinimum",
        ),
        ("3.0.2", "{type: [string, 'null']}", json!({"type": ["string", "null"]}), "type"),
    ];
    for (version, schema, wanted, keyword) in cases {
        let (got, notes) = argument(version, schema);
        assert_eq!(got, wanted);
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(notes[0].contains(&format!("/schema/{keyword}")), "{notes:?}");
    }
}

#[test]
fn read_only_members_are_neither_offered_nor_demanded() {
    let operation = "requestBody: {required: true, content: {application/json: {schema: {type: array, items: {$ref: '#/components/schemas/Pet'}}}}}";
    let document = format!(
        "{}{COMPONENTS}    Base: {{type: object, required: [id], properties: {{id: {{type: integer, readOnly: true}}}}}}
    Pet:
      allOf:
        - {{$ref: '#/components/schemas/Base'}}
        - type: object
          required: [name, secret, id]
          properties: {{name: {{type: string}}, secret: {{type: string, writeOnly: true}}}}\n",
        one("3.0.3", "POST /pets", operation)
    );
    let schema = only(&document).draft.input_schema;
    let base = &schema["$defs"]["Base"];
    assert_eq!(base["properties"], json!({}));
    assert!(base.get("required").is_none());
    assert_eq!(base["propertyNames"], json!({"not": {"enum": ["id"]}}));
}

#[test]
fn read_only_members_of_a_flat_body_are_no_arguments() {
    let operation = "requestBody: {required: true, content: {application/json: {schema: {allOf: [{$ref: '#/components/schemas/Base'}, {type: object, required: [name, id], properties: {name: {type: string}}}]}}}}";
    let document = format!(
        "{}{COMPONENTS}    Base: {{type: object, required: [id], properties: {{id: {{type: integer, readOnly: true}}}}}}\n",
        one("3.0.3", "POST /pets", operation)
    );
    let schema = only(&document).draft.input_schema;
    assert_eq!(schema["required"], json!(["name"]));
    assert_eq!(schema["properties"].as_object().unwrap().len(), 1);
    assert_eq!(schema["additionalProperties"], json!(false));
}

#[test]
fn recursion_is_kept_as_definitions() {
    let operation = "requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Section'}}}}";
    let document = format!(
        "{}{COMPONENTS}    Section: {{type: object, required: [title], properties: {{title: {{type: string}}, parts: {{type: array, items: {{$ref: '#/components/schemas/Section'}}}}}}}}\n",
        one("3.0.3", "POST /sections", operation)
    );
    let schema = only(&document).draft.input_schema;
    assert_eq!(schema["required"], json!(["title"]));
    let parts = &schema["properties"]["parts"]["items"];
    assert_eq!(parts, &json!({"$ref": "#/$defs/Section"}));
    assert_eq!(schema["$defs"]["Section"]["properties"]["parts"]["items"], *parts);
}

#[test]
fn a_union_of_objects_alone_is_the_whole_input() {
    let operation =
        "requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Cond'}}}}";
    let document = format!(
        "{}{COMPONENTS}    Cond: {{oneOf: [{{$ref: '#/components/schemas/Leaf'}}, {{$ref: '#/components/schemas/Group'}}]}}
    Leaf: {{type: object, required: [field], properties: {{field: {{type: string}}}}, additionalProperties: false}}
    Group: {{type: object, required: [byName], properties: {{byName: {{type: object, additionalProperties: {{$ref: '#/components/schemas/Cond'}}}}}}, additionalProperties: false}}\n",
        one("3.0.3", "POST /search", operation)
    );
    let first = only(&document).draft.input_schema.to_string();
    for _ in 0..5 {
        assert_eq!(only(&document).draft.input_schema.to_string(), first);
    }
    let found = only(&document);
    assert_eq!(found.draft.input_schema["type"], "object");
    assert_eq!(found.draft.input_schema["oneOf"].as_array().unwrap().len(), 2);
    let request =
        found.draft.target.request(&json!({"byName": {"x": {"field": "a"}}}), &[]).unwrap();
    assert_eq!(super::body(&request), r#"{"byName":{"x":{"field":"a"}}}"#);
}

#[test]
fn references_that_only_lead_to_themselves_cost_their_own_operation() {
    let document = "openapi: 3.0.3\ninfo: {title: T, version: '1'}\npaths:
  /good: {get: {operationId: good}}
  /one: {post: {operationId: one, requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/A'}}}}}}
  /two: {post: {operationId: two, requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/C'}}}}}}
  /three: {get: {operationId: three, parameters: [{name: x, in: query, schema: {$ref: '#/components/schemas/C'}}]}}
components:
  schemas:
    A: {$ref: '#/components/schemas/B'}
    B: {$ref: '#/components/schemas/A'}
    C: {allOf: [{$ref: '#/components/schemas/C'}]}\n";
    let (found, report) = read(document);
    assert_eq!(found.len(), 1);
    assert_eq!(report.skipped.len(), 3);
    for skipped in &report.skipped {
        assert!(skipped.reason.contains("reference loop without a schema"), "{skipped:?}");
    }
}

#[test]
fn shared_references_do_not_multiply() {
    let mut document = one(
        "3.0.3",
        "POST /x",
        "requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/L0'}}}}",
    );
    document.push_str(COMPONENTS);
    for level in 0..25 {
        let next = level + 1;
        document.push_str(&format!("    L{level}: {{type: object, properties: {{a: {{$ref: '#/components/schemas/L{next}'}}, b: {{$ref: '#/components/schemas/L{next}'}}}}}}\n"));
    }
    document.push_str("    L25: {type: string}\n");
    let schema = only(&document).draft.input_schema;
    assert_eq!(schema["$defs"].as_object().unwrap().len(), 24);
    assert!(schema.to_string().len() < 4_000);
}

#[test]
fn pointers_are_decoded_in_the_right_order() {
    for (reference, wanted) in
        [("Page~1Row~0v2", "p"), ("x~01y", "q"), ("List%5BOf%20Item%5D", "r")]
    {
        let operation = format!(
            "requestBody: {{required: true, content: {{application/json: {{schema: {{$ref: '#/components/schemas/{reference}'}}}}}}}}"
        );
        let document = format!(
            "{}{COMPONENTS}    'Page/Row~v2': {{type: object, required: [p], properties: {{p: {{type: string}}}}}}
    'x~1y': {{type: object, required: [q], properties: {{q: {{type: string}}}}}}
    'x/y': {{type: object, required: [wrong], properties: {{wrong: {{type: string}}}}}}
    'List[Of Item]': {{type: object, required: [r], properties: {{r: {{type: string}}}}}}\n",
            one("3.0.3", "POST /x", &operation)
        );
        assert_eq!(only(&document).draft.input_schema["required"], json!([wanted]));
    }
}

#[test]
fn defaults_that_break_their_own_schema_are_mended_or_left_out() {
    let cases = [
        ("{type: integer, minimum: 1, default: '20'}", Some(json!(20)), 1),
        ("{type: boolean, default: 'false'}", Some(json!(false)), 1),
        ("{type: string, enum: [asc, desc], default: up}", None, 1),
        ("{type: string, pattern: '^[a-z]+$', default: '7'}", None, 1),
        ("{type: integer, maximum: 5, default: 9}", None, 1),
        ("{type: integer, default: 1}", Some(json!(1)), 0),
        ("{type: string, default: ''}", Some(json!("")), 0),
    ];
    for (schema, wanted, count) in cases {
        let (got, notes) = argument("3.0.3", schema);
        assert_eq!(got.get("default"), wanted.as_ref(), "{schema}");
        assert_eq!(notes.len(), count, "{schema}: {notes:?}");
    }
}

#[test]
fn enums_of_another_type_are_taken_as_the_types_own() {
    let (schema, _) = argument("3.0.3", "{type: string, enum: [1, 2.5, true]}");
    assert_eq!(schema["enum"], json!(["1", "2.5", "true"]));
    let (schema, _) = argument("3.0.3", "{type: integer, enum: ['1', '2']}");
    assert_eq!(schema["enum"], json!([1, 2]));
    let (schema, notes) = argument("3.0.3", "{type: integer, enum: [a]}");
    assert!(schema.get("enum").is_none() && notes.len() == 1);
}

#[test]
fn patterns_are_enforced_or_reported() {
    let (schema, notes) = argument("3.0.3", "{type: string, pattern: '^(a+)+$'}");
    assert_eq!(schema["pattern"], "^(a+)+$");
    assert!(notes.is_empty());
    let (schema, notes) = argument("3.0.3", "{type: string, pattern: '^(?!admin).+$'}");
    assert_eq!(
        schema["allOf"],
        json!([{"pattern": "^.+$"}, {"not": {"type": "string", "pattern": "^(?:admin)"}}])
    );
    assert_eq!(notes.len(), 1);
    for bad in ["'('", "'^(\\w)\\1$'", "'(?<=a)b'", "'^(?=a)b|c$'"] {
        let (schema, notes) = argument("3.0.3", &format!("{{type: string, pattern: {bad}}}"));
        assert_eq!(schema, json!({"type": "string"}), "{bad}");
        assert!(notes[0].contains("/schema/pattern") && notes[0].contains("left out"), "{notes:?}");
    }
}

#[test]
fn broken_keywords_never_make_a_broken_schema() {
    let (schema, notes) = argument(
        "3.0.3",
        "{type: [string, date], required: true, maxLength: '10', minLength: -1, multipleOf: 0, enum: [], allOf: [], items: [{type: string}], example: x, xml: {}, format: byte, uniqueItems: yes}",
    );
    assert_eq!(
        schema,
        json!({"type": "string", "maxLength": 10, "prefixItems": [{"type": "string"}], "examples": ["x"], "contentEncoding": "base64", "uniqueItems": true})
    );
    assert!(notes.len() >= 8, "{notes:?}");
}

#[test]
fn an_optional_body_demands_its_members_only_together() {
    let schema = |required: &str| {
        let operation = format!(
            "requestBody: {{{required} content: {{application/json: {{schema: {{type: object, required: [a], properties: {{a: {{type: string}}, b: {{type: string}}}}}}}}}}}}"
        );
        only(&one("3.0.3", "POST /x", &operation)).draft.input_schema
    };
    let optional = schema("required: false,");
    assert!(optional.get("required").is_none());
    assert_eq!(optional["dependentRequired"], json!({"a": ["a"], "b": ["a"]}));
    assert_eq!(schema("")["required"], json!(["a"]));
    assert_eq!(schema("required: true,")["required"], json!(["a"]));
}

#[test]
fn open_bodies_stay_in_one_piece() {
    let operation = "parameters: [{name: q, in: query, schema: {type: string}}]\nrequestBody: {required: true, content: {application/json: {schema: {type: object, properties: {a: {type: string}}, additionalProperties: {type: integer}}}}}";
    let schema = only(&one("3.0.3", "POST /x", operation)).draft.input_schema;
    assert_eq!(schema["required"], json!(["body"]));
    assert_eq!(schema["properties"]["body"]["additionalProperties"], json!({"type": "integer"}));
}

#[test]
fn marks_of_sensitive_values_are_carried_over() {
    let (schema, notes) = argument("3.0.3", "{type: string, x-sensitive: true, x-other: 1}");
    assert_eq!(schema, json!({"type": "string", "x-sensitive": true}));
    assert!(notes.is_empty(), "{notes:?}");
    let (schema, notes) = argument("3.1.0", "{type: string, x-sensitive: 'yes'}");
    assert_eq!(schema, json!({"type": "string", "x-sensitive": true}));
    assert!(notes[0].contains("/schema/x-sensitive"), "{notes:?}");
    for version in ["3.0.3", "3.1.0"] {
        for beside in ["", ", x-sensitive: true"] {
            let mark = if beside.is_empty() { "x-sensitive: true, " } else { "" };
            let reference = format!("{{$ref: '#/components/schemas/Pin'{beside}}}");
            let text = format!(
                "{}{COMPONENTS}    Pin: {{{mark}type: object, properties: {{a: {{type: string}}}}}}\n",
                one(
                    version,
                    "GET /x",
                    &format!("parameters: [{{name: x, in: query, schema: {reference}}}]")
                )
            );
            let schema = only(&text).draft.input_schema;
            let marks = crate::mask::Marks::of(&schema);
            let masked = crate::mask::Masker::new(&schema, &marks).json(r#"{"x":{"a":"1"}}"#, 99);
            assert_eq!(masked, r#"{"x":"[masked]"}"#, "{version}{beside}: {schema:#}");
        }
    }
}

#[test]
fn marks_of_parameters_bodies_and_answers_are_carried_over() {
    let operation = "parameters: [{name: x, in: header, x-sensitive: true, schema: {type: string}}]\nrequestBody: {required: true, content: {application/json: {schema: {type: object, x-sensitive: true, properties: {a: {type: string}}}}}}\nresponses: {200: {description: ok, content: {application/json: {schema: {type: object, properties: {b: {type: string, x-sensitive: true}}}}}}}";
    let mut settings = Settings { responses: true, ..Settings::default() };
    settings.servers.server = Some("https://api.example".to_owned());
    let (found, report) = read_with(&one("3.0.3", "POST /x", operation), &settings);
    assert_eq!(found.len(), 1, "{report:#?}");
    let draft = &found[0].draft;
    let properties = &draft.input_schema["properties"];
    assert_eq!(properties["x"]["x-sensitive"], json!(true));
    assert_eq!(properties["body"]["x-sensitive"], json!(true), "a marked body stays whole");
    let output = draft.output_schema.as_ref().unwrap();
    assert_eq!(output["properties"]["b"]["x-sensitive"], json!(true));
}
