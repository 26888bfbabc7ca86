//! Documents that say something in an unusual way: read as meant, with a note, or refused.

use serde_json::{Value, json};

use super::{header, one, only, read, read_with, refuse, send};
use crate::catalog::openapi::Settings;

fn notes(text: &str) -> String {
    let (_, report) = read(text);
    format!("{:?}", report.imported[0].adapted)
}

const HEAD: &str = "openapi: 3.0.3\ninfo: {title: T, version: '1'}\n";

#[test]
fn members_of_a_spread_object_cannot_stand_for_another_parameter() {
    let text = one(
        "3.0.3",
        "GET /x",
        "parameters: [{name: limit, in: query, schema: {type: integer}}, {name: o, in: query, schema: {type: object, additionalProperties: {type: string}}}]",
    );
    let said = refuse(&text, &json!({"limit": 5, "o": {"limit": "9"}}));
    assert!(said.contains("`limit`"), "{said}");
    refuse(&text, &json!({"o": {"limit": "9"}}));
    let sent = send(&text, &json!({"limit": 5, "o": {"a": "9"}}));
    assert!(sent.url.ends_with("?limit=5&a=9"), "{}", sent.url);
    assert!(notes(&text).contains("is refused"), "{}", notes(&text));
}

#[test]
fn operations_that_share_an_id_are_reported_and_named_apart() {
    let text = format!(
        "{HEAD}paths: {{/a: {{get: {{operationId: go}}}}, /b: {{get: {{operationId: go}}}}}}\n"
    );
    let (found, report) = read(&text);
    assert_eq!(found.len(), 2);
    assert_ne!(found[0].name, found[1].name);
    assert!(found.iter().all(|one| one.name != "go"));
    for one in &report.imported {
        assert!(format!("{:?}", one.adapted).contains("several operations"));
    }
}

#[test]
fn what_a_security_scheme_needs_is_reported_and_its_key_is_no_argument() {
    for (place, name) in [("query", "api_key"), ("header", "X-Key")] {
        let text = format!(
            "{HEAD}security: [{{k: []}}]
paths:
  /a:
    get:
      operationId: a
      parameters: [{{name: {name}, in: {place}, required: true, schema: {{type: string}}}}]
  /b: {{get: {{operationId: b, security: []}}}}
components: {{securitySchemes: {{k: {{type: apiKey, in: {place}, name: {name}}}}}}}\n"
        );
        let (found, report) = read(&text);
        assert_eq!(found[0].draft.input_schema["properties"], json!({}));
        let needs = report.imported[0].needs.as_ref().unwrap();
        assert!(needs.message.contains(name) && needs.message.contains("[secrets.k]"));
        assert!(format!("{:?}", report.imported[0].adapted).contains(name));
        assert_eq!(report.imported[1].needs, None);
        let settings = Settings { keys: true, ..Settings::default() };
        let mut settings = settings;
        settings.servers.server = Some("https://api.example".to_owned());
        let (found, _) = read_with(&text, &settings);
        assert_eq!(found[0].draft.input_schema["required"], json!([name]));
    }
}

#[test]
fn deprecated_operations_say_so() {
    let text = one("3.0.3", "GET /x", "summary: Old\ndeprecated: true");
    assert_eq!(only(&text).draft.description, "Deprecated. Old");
    assert!(notes(&text).contains("is deprecated"));
}

#[test]
fn placeholders_of_other_routers_are_read_as_the_declared_parameter() {
    for written in ["{id:[0-9]+}", "{id:[0-9]{3}}", "{id*}", "{ id }"] {
        let text = format!(
            "{HEAD}paths: {{'/x/{written}': {{get: {{operationId: a, parameters: [{{name: id, in: path, required: true, schema: {{type: integer}}}}]}}}}}}\n"
        );
        let found = only(&text);
        assert_eq!(found.draft.input_schema["properties"]["id"]["type"], json!("integer"));
        let sent = found.draft.target.request(&json!({"id": 123}), &[]).unwrap();
        assert!(sent.url.ends_with("/x/123"), "{}", sent.url);
        assert!(notes(&text).contains("is taken as"));
    }
    for written in ["{}", "{+id}", "{?q}", "{{id}}"] {
        let (found, report) =
            read(&format!("{HEAD}paths: {{'/x/{written}': {{get: {{operationId: a}}}}}}\n"));
        assert!(found.is_empty(), "{written}");
        assert!(report.skipped[0].reason.contains("placeholder"), "{report:?}");
    }
}

#[test]
fn items_of_a_header_hold_no_comma() {
    let text = one(
        "3.0.3",
        "GET /x",
        "parameters: [{name: X-L, in: header, schema: {type: array, items: {type: string}}}]",
    );
    let said = refuse(&text, &json!({"X-L": ["a,b", "c"]}));
    assert!(said.contains("no item may hold `,`"), "{said}");
    let sent = send(&text, &json!({"X-L": ["a", "c"]}));
    assert_eq!(header(&sent, "X-L"), Some("a,c"));
}

#[test]
fn names_of_headers_have_no_case() {
    let text = format!(
        "{HEAD}paths:
  /x:
    parameters: [{{name: X-Tenant, in: header, required: true, schema: {{type: string}}}}]
    get: {{operationId: a, parameters: [{{name: x-tenant, in: header, schema: {{type: integer}}}}]}}\n"
    );
    let schema = only(&text).draft.input_schema;
    assert_eq!(schema["properties"], json!({"x-tenant": {"type": "integer"}}));
    assert_eq!(schema.get("required"), None);
}

#[test]
fn the_first_server_that_can_be_used_is_taken() {
    let text = format!(
        "{HEAD}servers: [{{url: 'ws://a.example/'}}, {{url: 'https://b.example/v1'}}]
paths: {{/x: {{get: {{operationId: a}}}}}}\n"
    );
    let (found, _) = read_with(&text, &Settings::default());
    assert_eq!(found[0].draft.target.server, "https://b.example/v1");
}

#[test]
fn parameters_named_twice_and_methods_in_capitals_are_noted() {
    let text = one(
        "3.0.3",
        "GET /x",
        "parameters: [{name: q, in: query, schema: {type: string}}, {name: q, in: query, schema: {type: integer}}]",
    );
    assert!(notes(&text).contains("twice"));
    let text = format!(
        "{HEAD}paths: {{/x: {{GET: {{operationId: a}}, get: {{operationId: b}}, POST: {{operationId: c}}}}}}\n"
    );
    let (found, report) = read(&text);
    let ids: Vec<&str> = found.iter().map(|one| one.operation.as_str()).collect();
    assert_eq!(ids, ["b", "c"]);
    assert_eq!(report.skipped[0].operation, "GET /x");
}

#[test]
fn escapes_in_a_reserved_value_stay() {
    let text = one(
        "3.0.3",
        "GET /x",
        "parameters: [{name: r, in: query, allowReserved: true, schema: {type: string}}]",
    );
    let sent = send(&text, &json!({"r": "a%2Fb 5% /c"}));
    assert!(sent.url.ends_with("?r=a%2Fb%205%25%20/c"), "{}", sent.url);
}

#[test]
fn documents_in_utf_16_are_read() {
    let text = one("3.0.3", "GET /x", "summary: \u{dc}bersicht");
    for order in [u16::to_le_bytes, u16::to_be_bytes] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("document.yaml");
        let units: Vec<u16> = "\u{feff}".encode_utf16().chain(text.encode_utf16()).collect();
        std::fs::write(&path, units.into_iter().flat_map(order).collect::<Vec<u8>>()).unwrap();
        let text = crate::catalog::file::read_text(&path).unwrap();
        let value: Value = crate::catalog::openapi::value(&text).unwrap();
        assert_eq!(value["paths"]["/x"]["get"]["summary"], "\u{dc}bersicht");
    }
}
