//! What a validator says to arguments of imported operations: recursion of every kind, bounds, shared
//! schemas and patterns, against the whole schema and never a cut one.

use serde_json::{Value, json};

use super::{one, only, read};
use crate::schema::tests::fits;

fn input(version: &str, schema: &str, components: &str) -> Value {
    let operation = format!(
        "summary: Adds one thing\nrequestBody: {{required: true, content: {{application/json: {{schema: {schema}}}}}}}"
    );
    let text =
        format!("{}components:\n  schemas:\n{components}", one(version, "POST /x", &operation));
    only(&text).draft.input_schema
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
