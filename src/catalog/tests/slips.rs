//! Keywords that are written in another type than they have: taken as meant, left out, or in the way of
//! their operation, and told of each time.

use serde_json::{Value, json};

use super::{argument, one, only, posting, read, send};

fn notes(text: &str) -> String {
    let (_, report) = read(text);
    assert_eq!(report.imported.len(), 1, "{report:#?}");
    format!("{:?}", report.imported[0].adapted)
}

fn with_parameters(version: &str, parameters: &str) -> String {
    one(version, "GET /x", &format!("summary: Lists things\nparameters: {parameters}"))
}

#[test]
fn parameters_in_a_mapping_are_the_parameters_that_it_can_only_mean() {
    for written in [
        "{name: q, in: query, required: true, schema: {type: string}}",
        "{q: {in: query, required: true, schema: {type: string}}}",
        "{any: {name: q, in: query, required: true, schema: {type: string}}}",
    ] {
        let text = with_parameters("3.0.3", written);
        let schema = only(&text).draft.input_schema;
        assert_eq!(schema["required"], json!(["q"]), "{written}");
        assert!(send(&text, &json!({"q": "a"})).url.ends_with("?q=a"));
        assert!(notes(&text).contains("#/paths/~1x/get/parameters\""), "{}", notes(&text));
    }
    let shared = with_parameters("3.0.3", "{$ref: '#/x-shared'}");
    let shared = format!(
        "{shared}x-shared: [{{name: q, in: query, required: 'true', schema: {{type: string}}}}]\n"
    );
    assert_eq!(only(&shared).draft.input_schema["required"], json!(["q"]));
    // Wherever it is referred to, and not so often that the document grows without end.
    let second = "  /y:\n    get: {operationId: two, parameters: {$ref: '#/x-shared'}}\n";
    let both = shared.replacen("x-shared:", &format!("{second}x-shared:"), 1);
    let (found, report) = read(&both);
    assert_eq!(found.len(), 2, "{report:?}");
    for one in &found {
        assert_eq!(one.draft.input_schema["required"], json!(["q"]), "{}", one.operation);
    }
    let long = (0..900).map(|n| format!("{{name: q{n}, in: query, schema: {{type: string}}}}, "));
    let long = long.collect::<String>();
    let many = (0..200).map(|n| {
        format!("  /y{n}:\n    get: {{operationId: o{n}, parameters: {{$ref: '#/x-shared'}}}}\n")
    });
    let many = both.replacen(second, &many.collect::<String>(), 1);
    let (found, report) = read(&many.replacen("x-shared: [", &format!("x-shared: [{long}"), 1));
    assert!(!found.is_empty() && found.len() + report.skipped.len() == 201, "{}", found.len());
    assert!(report.skipped[0].reason.contains("long list"), "{:?}", report.skipped[0]);
    for written in ["{q: {schema: {type: string}}}", "q", "7"] {
        let (found, report) = read(&with_parameters("3.0.3", written));
        assert!(found.is_empty());
        assert!(report.skipped[0].reason.contains("no list of parameters"), "{report:?}");
    }
}

#[test]
fn parameters_of_a_path_in_a_mapping_are_told_of_in_its_operations() {
    let text = "openapi: 3.1.0\ninfo: {title: T, version: '1'}\npaths:\n  /x:\n    parameters: {name: q, in: query, required: 'yes', schema: {type: string}}\n    get: {operationId: op, summary: S}\n";
    assert_eq!(only(text).draft.input_schema["required"], json!(["q"]));
    let said = notes(text);
    assert!(said.contains("/parameters\"") && said.contains("/parameters/0/required"), "{said}");
}

#[test]
fn booleans_written_as_text_are_booleans() {
    let text = with_parameters(
        "3.0.3",
        "[{name: f, in: query, required: 'true', explode: 'false', schema: {type: array, items: {type: string}}}]",
    );
    assert_eq!(only(&text).draft.input_schema["required"], json!(["f"]));
    assert!(send(&text, &json!({"f": ["1", "2"]})).url.ends_with("?f=1,2"));
    let said = notes(&text);
    for key in ["parameters/0/required", "parameters/0/explode"] {
        assert!(said.contains(key), "{said}");
    }
    let odd = with_parameters("3.0.3", "[{name: f, in: query, required: [a], explode: maybe}]");
    assert!(notes(&odd).matches("neither true nor false; left out").count() == 2);
    let (schema, said) = argument("3.0.3", "{type: string, nullable: 'true'}");
    assert_eq!(schema["type"], json!(["string", "null"]));
    assert!(said[0].contains("nullable"));
    let (schema, said) = argument("3.0.3", "{type: integer, minimum: 1, exclusiveMinimum: 'true'}");
    assert_eq!(schema["exclusiveMinimum"], json!(1));
    assert_eq!(said.len(), 1);
}

#[test]
fn members_that_are_read_only_in_text_are_hidden_all_the_same() {
    let text = posting(
        "3.0.3",
        "{type: object, properties: {id: {type: string, readOnly: 'true'}, a: {type: string}}}",
        "    N: {}\n",
    );
    let schema = only(&text).draft.input_schema;
    assert_eq!(schema["properties"], json!({"a": {"type": "string"}}));
}

#[test]
fn one_required_name_is_a_list_of_it_wherever_it_stands() {
    let inline = "{type: object, properties: {a: {type: string}}, required: a}";
    for schema in
        [inline, "{$ref: '#/components/schemas/N'}", "{allOf: [{$ref: '#/components/schemas/N'}]}"]
    {
        let text = posting("3.0.3", schema, &format!("    N: {inline}\n"));
        assert_eq!(only(&text).draft.input_schema["required"], json!(["a"]), "{schema}");
        assert!(notes(&text).contains("no list of names; taken as"), "{}", notes(&text));
    }
    let nested = format!("{{type: object, properties: {{in: {inline}}}}}");
    let text = posting("3.1.0", &nested, "    N: {}\n");
    assert_eq!(only(&text).draft.input_schema["properties"]["in"]["required"], json!(["a"]));
    assert!(notes(&text).contains("properties/in/required"));
}

#[test]
fn names_in_a_list_that_are_no_text_are_told_of() {
    let (schema, said) =
        argument("3.1.0", "{type: object, required: [1, {a: b}], properties: {'1': {}}}");
    assert_eq!(schema["required"], json!(["1"]));
    assert!(said[0].contains("required"), "{said:?}");
}

#[test]
fn keywords_that_have_no_reading_are_left_out_with_a_note() {
    for (keyword, place) in [
        ("properties: [a, b]", "properties"),
        ("properties: a", "properties"),
        ("patternProperties: [a]", "patternProperties"),
        ("dependentRequired: [a]", "dependentRequired"),
        ("dependentRequired: {a: {b: c}}", "dependentRequired"),
        ("description: [a]", "description"),
        ("uniqueItems: [a]", "uniqueItems"),
        ("deprecated: {}", "deprecated"),
        ("examples: 5", "examples"),
        ("discriminator: [a]", "discriminator"),
        ("discriminator: {mapping: {}}", "discriminator"),
        ("title: {a: b}", "title"),
        ("required: 5", "required"),
        ("anyOf: 5", "anyOf"),
    ] {
        let (schema, said) = argument("3.1.0", &format!("{{maxProperties: 3, {keyword}}}"));
        assert_eq!(schema["maxProperties"], 3);
        assert!(said.iter().any(|note| note.contains(&format!("schema/{place}: "))), "{said:?}");
    }
    let text = posting("3.0.3", "{type: object, properties: [a, b]}", "    N: {}\n");
    assert!(notes(&text).contains("properties"), "{}", notes(&text));
}

#[test]
fn keywords_that_have_one_reading_are_taken_so_with_a_note() {
    for (keyword, key, meant) in [
        ("format: 5", "format", json!("5")),
        ("minLength: '3'", "minLength", json!(3)),
        ("additionalProperties: 'false'", "additionalProperties", json!(false)),
        ("allOf: {maxLength: 3}", "allOf", json!([{"maxLength": 3}])),
        ("dependentRequired: {a: b}", "dependentRequired", json!({"a": ["b"]})),
        ("uniqueItems: 'True'", "uniqueItems", json!(true)),
        ("description: 2024", "description", json!("2024")),
    ] {
        let (schema, said) = argument("3.1.0", &format!("{{{keyword}}}"));
        assert_eq!(schema[key], meant, "{keyword}");
        assert!(said.iter().any(|note| note.contains(key)), "{keyword}: {said:?}");
    }
}

#[test]
fn bodies_servers_and_texts_of_the_wrong_type_are_told_of() {
    let text = one(
        "3.0.3",
        "POST /x",
        "summary: 7\ndeprecated: 'yes'\nservers: {url: 'https://b.example'}\ntags: a\nresponses: []\nrequestBody: {required: 'true', content: {application/x-www-form-urlencoded: {schema: {type: object, properties: {a: {type: array, items: {type: string}}}}, encoding: {a: {explode: 'false'}}}}}",
    );
    let found = only(&text);
    assert_eq!(found.draft.description, "Deprecated. 7");
    assert!(found.draft.target.body.as_ref().unwrap().required);
    assert_eq!(super::body(&send(&text, &json!({"a": ["1", "2"]}))), "a=1,2");
    let said = notes(&text);
    for key in [
        "summary",
        "deprecated",
        "servers",
        "tags",
        "responses",
        "requestBody/required",
        "encoding/a/explode",
    ] {
        assert!(said.contains(&format!("{key}\"")), "{key}: {said}");
    }
    let (found, report) =
        read(&one("3.0.3", "POST /x", "requestBody: {content: [application/json]}"));
    assert!(found.is_empty() && report.skipped[0].reason.contains("media types"), "{report:?}");
}

#[test]
fn swagger_lists_of_one_are_lists() {
    let text = "swagger: '2.0'\ninfo: {title: T, version: '1'}\nhost: a.example\nschemes: https\nconsumes: text/plain\npaths:\n  /x:\n    post: {operationId: op, summary: S, parameters: [{name: b, in: body, required: 'true', schema: {type: string}}]}\n";
    let body = only(text).draft.target.body.unwrap();
    assert_eq!((body.media.as_str(), body.required), ("text/plain", true));
    assert!(notes(text).contains("consumes"));
}

#[test]
fn a_path_that_holds_no_operations_is_skipped_by_name() {
    let text = "openapi: 3.0.3\ninfo: {title: T, version: '1'}\npaths: {/l: [], /m: null, /n: {get: {operationId: n}}}\n";
    let (found, report) = read(text);
    assert_eq!((found.len(), report.operations), (1, 2));
    assert_eq!(
        (report.skipped[0].operation.as_str(), report.skipped[0].place.as_str()),
        ("/l", "#/paths/~1l")
    );
}

#[test]
fn what_no_operation_uses_is_a_remark_on_the_document() {
    let text = posting("3.0.3", "{type: string}", "    N: {type: object, required: a}\n");
    let (_, report) = read(&text);
    assert_eq!(report.imported[0].adapted, []);
    assert_eq!(report.remarks[0].place, "#/components/schemas/N/required");
}

#[test]
fn properties_and_values_that_are_named_as_keywords_are_none() {
    let text = posting(
        "3.1.0",
        "{type: object, properties: {required: {type: string}, explode: {const: {required: a}}, parameters: {default: {required: b}}}, example: {required: c}, x-own: {required: d}}",
        "    required: {type: string}\n",
    );
    let (found, report) = read(&text);
    assert_eq!(report.imported[0].adapted, []);
    assert_eq!(report.remarks, []);
    assert!(
        found[0].draft.input_schema["properties"]["explode"]["const"] == json!({"required": "a"})
    );
}

#[test]
fn other_files_are_read_by_what_refers_to_them() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "a.yaml",
        "openapi: 3.0.3\ninfo: {title: T, version: '1'}\nservers: [{url: 'https://a.example'}]\npaths: {/x: {$ref: 'b.yaml#/x'}}\n",
    );
    write(
        "b.yaml",
        "x:\n  post:\n    operationId: op\n    summary: S\n    parameters: {$ref: 'b.yaml#/q'}\n    requestBody: {content: {application/json: {schema: {$ref: 'b.yaml#/N'}}}}\nq: {name: q, in: query, required: 'true', schema: {type: string}}\nN: {type: object, required: a, properties: {a: {}}}\n",
    );
    let origin = crate::catalog::openapi::Origin::File(folder.path().join("a.yaml"));
    let read =
        crate::catalog::openapi::read(&origin, &crate::catalog::openapi::Settings::default());
    let required: &Value = &read.found[0].draft.input_schema["required"];
    assert_eq!(*required, json!(["q", "a"]));
    let said = format!("{:?}", read.report.imported[0].adapted);
    assert!(said.contains("b.yaml#/q/required") && said.contains("b.yaml#/N/required"), "{said}");
}
