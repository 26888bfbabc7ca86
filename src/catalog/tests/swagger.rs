//! Swagger 2.0: its parameters, bodies, servers and answers as they arrive at the server.

use serde_json::json;

use super::{Settings, body, header, only, read, read_with, refuse, send};
use crate::catalog::openapi::ServerSettings;

/// A document at `old.example` with these paths and definitions, in YAML.
fn document(rest: &str) -> String {
    format!(
        "swagger: '2.0'\ninfo: {{title: Old, version: '1'}}\nhost: old.example\nbasePath: /v1\n\
         schemes: [http, https, wss]\nconsumes: [application/json]\nproduces: [application/json]\n{rest}"
    )
}

fn post(parameters: &str, more: &str) -> String {
    document(&format!(
        "paths: {{/x: {{post: {{operationId: op, parameters: {parameters}{more}}}}}}}\n"
    ))
}

#[test]
fn lists_are_written_by_their_collection_format() {
    let text = document(
        "paths: {'/find/{key}': {get: {operationId: find, parameters: [
  {name: key, in: path, required: true, type: array, items: {type: string}},
  {name: ids, in: query, type: array, items: {type: integer}},
  {name: tags, in: query, type: array, items: {type: string}, collectionFormat: multi},
  {name: cols, in: query, type: array, items: {type: string}, collectionFormat: pipes},
  {name: words, in: query, type: array, items: {type: string}, collectionFormat: ssv},
  {name: cells, in: query, type: array, items: {type: string}, collectionFormat: tsv},
  {name: X-Kinds, in: header, type: array, items: {type: string}, collectionFormat: pipes}],
  responses: {200: {description: ok}}}}}\n",
    );
    let (found, report) = read_with(&text, &Settings::default());
    assert_eq!((report.openapi.as_str(), report.operations), ("2.0", 1));
    assert!(report.remarks[0].message.contains("Swagger 2.0"), "{:?}", report.remarks);
    let arguments = json!({"key": ["a/b", "c"], "ids": [1, 2], "tags": ["a", "b"],
        "cols": ["x", "y"], "words": ["p", "q"], "cells": ["r", "s"], "X-Kinds": ["m", "n"]});
    let request = found[0].draft.target.request(&arguments, &[]).unwrap();
    assert_eq!(
        request.url,
        "https://old.example/v1/find/a%2Fb,c?ids=1,2&tags=a&tags=b&cols=x%7Cy&words=p%20q&cells=r%09s"
    );
    assert_eq!(header(&request, "X-Kinds"), Some("m|n"));
}

#[test]
fn a_body_parameter_is_the_body_whatever_its_name() {
    let pet = "[{name: pet, in: body, required: true, schema: {$ref: '#/definitions/Pet'}}]";
    let text = post(pet, ", responses: {201: {description: ok, schema: {type: object}}}")
        + "definitions: {Pet: {type: object, required: [n], properties: {n: {type: string}, age: {type: integer, x-nullable: true}}}}\n";
    let found = only(&text);
    let schema = &found.draft.input_schema;
    assert_eq!(schema["required"], json!(["n"]));
    assert_eq!(schema["properties"]["age"]["type"], json!(["integer", "null"]));
    let request = found.draft.target.request(&json!({"n": "Mimi"}), &[]).unwrap();
    assert_eq!(body(&request), r#"{"n":"Mimi"}"#);
    assert_eq!(header(&request, "content-type"), Some("application/json"));
    assert_eq!(header(&request, "accept"), Some("application/json"));
}

#[test]
fn a_body_parameter_of_the_path_and_one_by_reference_count_too() {
    let text = document(
        "paths: {/x: {parameters: [{$ref: '#/parameters/item'}], post: {operationId: op}, put: {operationId: other, parameters: [{name: other, in: body, schema: {type: array, items: {type: string}}}]}}}\nparameters: {item: {name: item, in: body, required: true, schema: {type: object, properties: {a: {type: integer}}}}}\n",
    );
    let (found, report) = read(&text);
    assert_eq!(found.len(), 2, "{report:#?}");
    let put = found.iter().find(|one| one.name == "other").unwrap();
    let post = found.iter().find(|one| one.name == "op").unwrap();
    assert_eq!(body(&post.draft.target.request(&json!({"a": 1}), &[]).unwrap()), r#"{"a":1}"#);
    assert_eq!(body(&put.draft.target.request(&json!({"body": ["z"]}), &[]).unwrap()), r#"["z"]"#);
}

#[test]
fn form_parameters_make_a_form_and_a_file_makes_it_multipart() {
    let fields = "[{name: a, in: formData, type: string, required: true}, {name: tags, in: formData, type: array, items: {type: string}, collectionFormat: multi}, {name: few, in: formData, type: array, items: {type: string}}]";
    let form = ", consumes: [application/x-www-form-urlencoded, application/json]";
    let arguments = json!({"a": "b c", "tags": ["x", "y"], "few": ["1", "2"]});
    let request = send(&post(fields, form), &arguments);
    assert_eq!(body(&request), "a=b%20c&tags=x&tags=y&few=1,2");
    assert_eq!(header(&request, "content-type"), Some("application/x-www-form-urlencoded"));

    let file = "[{name: f, in: formData, type: file, required: true}, {name: few, in: formData, type: array, items: {type: string}}]";
    let request = send(&post(file, form), &json!({"f": "aGk=", "few": ["1", "2"]}));
    assert!(header(&request, "content-type").unwrap().starts_with("multipart/form-data"));
    let text = body(&request);
    assert!(text.contains("name=\"f\"; filename=\"f\"\r\n") && text.contains("\r\n\r\nhi\r\n"));
    assert!(text.contains("\r\n\r\n1,2\r\n"), "one part, as its collectionFormat says: {text}");
}

#[test]
fn what_vendors_write_wrongly_is_adapted_and_told() {
    let odd = "[{name: a, in: formData, type: [string, 'null']}]";
    let (found, report) = read(&post(odd, ", consumes: [application/json]"));
    assert_eq!(found[0].draft.input_schema["properties"]["a"]["type"], json!(["string", "null"]));
    let told = |text: &str| report.imported[0].adapted.iter().any(|n| n.message.contains(text));
    assert!(told("does not name `application/x-www-form-urlencoded`") && told("is a list"));

    let text = document(
        "paths: {/x: {get: {operationId: op, parameters: [{name: q, in: formData, type: string}, {name: b, in: body, schema: {type: object}}]}}}\n",
    );
    let (found, report) = read(&text);
    let request = found[0].draft.target.request(&json!({"q": "1"}), &[]).unwrap();
    assert!(request.url.ends_with("/x?q=1") && request.body_base64.is_none());
    assert_eq!(report.imported[0].adapted.iter().filter(|n| n.message.contains("GET")).count(), 2);
}

#[test]
fn a_place_in_a_report_is_one_of_the_document() {
    let (_, report) = read(&post(
        "[{name: b, in: body, schema: {$ref: '#/definitions/Lost'}}]",
        ", summary: Adds one thing",
    ));
    assert_eq!(report.skipped[0].place, "#/paths/~1x/post/parameters/0/schema");
    assert!(report.skipped[0].reason.contains("#/definitions/Lost"), "{report:?}");
}

#[test]
fn host_and_schemes_make_the_server_and_neither_is_guessed() {
    let paths =
        "paths: {/a: {get: {operationId: a}}, /b: {get: {operationId: b, schemes: [http]}}}\n";
    let (found, _) = read_with(&document(paths), &Settings::default());
    let servers: Vec<&str> = found.iter().map(|one| one.draft.target.server.as_str()).collect();
    assert_eq!(servers, ["https://old.example/v1", "http://old.example/v1"]);
    let bare =
        format!("swagger: '2.0'\ninfo: {{title: T, version: '1'}}\nbasePath: /api/\n{paths}");
    let (found, report) = read_with(&bare, &Settings::default());
    assert!(found.is_empty() && report.skipped.len() == 2);
    assert!(report.skipped[0].reason.contains("set `server`"), "{report:?}");
    let location = Some("https://gw.example/docs/swagger.json".to_owned());
    let servers = ServerSettings { location, ..ServerSettings::default() };
    let (found, _) = read_with(&bare, &Settings { servers, ..Settings::default() });
    assert_eq!(found[0].draft.target.server, "https://gw.example/api");
}

#[test]
fn numeric_codes_and_files_in_answers_are_no_hindrance() {
    let text = "swagger: 2.0\ninfo: {title: T, version: 1}\nhost: a.example\nschemes: [https]\npaths:\n  /x:\n    get:\n      operationId: op\n      produces: [application/pdf]\n      responses:\n        200: {description: ok, schema: {type: file}}\n        404: {description: no}\n";
    let (found, report) = read_with(text, &Settings { responses: true, ..Settings::default() });
    assert_eq!(found.len(), 1, "{report:?}");
    assert!(found[0].draft.output_schema.is_none());
}

#[test]
fn a_discriminator_of_plain_text_tells_the_extensions_apart() {
    let text = post("[{name: pet, in: body, required: true, schema: {$ref: '#/definitions/Pet'}}]", "")
        + "definitions:
  Pet: {type: object, discriminator: kind, required: [kind], properties: {kind: {type: string}}}
  Cat: {allOf: [{$ref: '#/definitions/Pet'}, {type: object, required: [claws], properties: {claws: {type: integer}}}]}
  Dog: {allOf: [{$ref: '#/definitions/Pet'}, {type: object, required: [bark], properties: {bark: {type: string}}}]}\n";
    let schema = only(&text).draft.input_schema;
    assert_eq!(schema["oneOf"].as_array().unwrap().len(), 3, "two kinds and the base: {schema:#}");
    assert_eq!(schema["oneOf"][0]["allOf"][1]["properties"]["kind"]["enum"], json!(["Cat"]));
    assert_eq!(schema["$defs"]["Cat"]["allOf"][0]["$ref"], "#/$defs/Pet.own");
}

#[test]
fn lists_inside_lists_are_written_with_the_separators_of_each() {
    let text = |inner: &str| {
        format!(
            "swagger: '2.0'\ninfo: {{title: T, version: '1'}}\npaths:\n  /x:\n    get: {{operationId: op, summary: S, parameters: [{{name: g, in: query, type: array, {inner}}}]}}\n"
        )
    };
    let cells = "items: {type: array, items: {type: string}}";
    for (inner, wanted, held) in [
        (format!("collectionFormat: ssv, {cells}"), "?g=1,2%203", [",", " "]),
        (format!("collectionFormat: multi, {cells}"), "?g=1,2&g=3", [",", ","]),
        (
            "items: {type: array, collectionFormat: pipes, items: {type: string}}".to_owned(),
            "?g=1%7C2,3",
            ["|", ","],
        ),
    ] {
        let text = text(&inner);
        let url = send(&text, &json!({"g": [["1", "2"], ["3"]]})).url;
        assert!(url.ends_with(wanted), "{url}");
        assert_eq!(read(&text).1.imported[0].adapted, []);
        for between in held {
            let said = refuse(&text, &json!({"g": [[format!("a{between}b")]]}));
            assert!(said.contains("no item may hold"), "{said}");
        }
    }
    let same = text(&format!("collectionFormat: csv, {cells}"));
    let (_, report) = read(&same);
    assert!(report.imported[0].adapted[0].message.contains("told apart"), "{report:#?}");
    refuse(&same, &json!({"g": [["1"]]}));
}
