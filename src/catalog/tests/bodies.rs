//! Bodies that are neither JSON nor a plain form: by media type, and part by part.

use serde_json::json;

use super::{body, header, one, only, read, send};

fn document(content: &str) -> String {
    one(
        "3.0.3",
        "POST /x",
        &format!("summary: Sends one thing\nrequestBody: {{required: true, content: {content}}}"),
    )
}

#[test]
fn bytes_and_texts_of_any_type_are_sent_as_they_are() {
    for (content, argument, sent) in [
        ("{image/png: {schema: {type: string, format: binary}}}", "aGk=", "hi"),
        ("{application/pdf: {}}", "aGk=", "hi"),
        ("{application/zip: {schema: {}}}", "aGk=", "hi"),
        ("{application/octet-stream: {}}", "aGk=", "hi"),
        // `byte` is base64 text on the wire too.
        ("{image/jpeg: {schema: {type: string, format: byte}}}", "aGk=", "aGk="),
        ("{text/csv: {schema: {type: string}}}", "a,b", "a,b"),
        ("{application/xml: {schema: {type: string}}}", "<a/>", "<a/>"),
        ("{application/x-ndjson: {schema: {type: string}}}", "{}\n{}\n", "{}\n{}\n"),
        ("{application/json: {schema: {type: string}}}", "a", "\"a\""),
    ] {
        let request = send(&document(content), &json!({"body": argument}));
        assert_eq!(body(&request), sent, "{content}");
        let media = content.trim_start_matches('{').split(':').next().unwrap();
        assert_eq!(header(&request, "content-type"), Some(media), "{content}");
    }
}

#[test]
fn a_type_that_cannot_be_made_costs_its_own_operation_and_is_named() {
    for content in [
        "{application/xml: {schema: {type: object}}}",
        "{image/*: {schema: {type: string, format: binary}}}",
        "{multipart/mixed: {schema: {type: string}}}",
        "{text/html: {}}",
        "{}",
    ] {
        let text = format!("{}  /y:\n    get: {{operationId: other}}\n", document(content));
        let (found, report) = read(&text);
        assert_eq!((found.len(), report.skipped.len()), (1, 1), "{content}: {report:#?}");
        assert_eq!(report.skipped[0].place, "#/paths/~1x/post/requestBody", "{content}");
    }
}

#[test]
fn the_choice_does_not_depend_on_the_order_of_the_document() {
    let keys = ["text/csv", "application/xml", "application/yaml", "image/png"];
    let schema = "{schema: {type: string}}";
    let mut sent = std::collections::BTreeSet::new();
    for turn in 0..keys.len() {
        let mut keys = keys;
        keys.rotate_left(turn);
        let content = keys.map(|key| format!("{key}: {schema}")).join(", ");
        let request = send(&document(&format!("{{{content}}}")), &json!({"body": "a"}));
        sent.insert(header(&request, "content-type").unwrap().to_owned());
    }
    assert_eq!(sent, ["application/xml".to_owned()].into());
}

#[test]
fn a_part_has_the_content_type_that_its_encoding_names() {
    let text = document(
        "{multipart/form-data: {schema: {type: object, required: [file], properties: {
          file: {type: string, format: binary}, photos: {type: array, items: {type: string, format: binary}},
          meta: {type: object, properties: {k: {type: integer}}}, note: {type: string}, json: {type: string}, few: {type: array, items: {type: string}}}},
          encoding: {file: {contentType: 'image/*, image/png, image/jpeg'}, photos: {contentType: 'image/*'}, meta: {contentType: application/vnd.a+json}, note: {contentType: text/markdown}, json: {contentType: application/json}, few: {style: form, explode: false}}}}",
    );
    let request = send(
        &text,
        &json!({"file": "aGk=", "photos": ["aGk=", "aGk="], "meta": {"k": 1}, "note": "# a",
            "json": "b", "few": ["x", "y"]}),
    );
    let sent = body(&request);
    for part in [
        "name=\"file\"; filename=\"file\"\r\nContent-Type: image/png\r\n\r\nhi\r\n",
        "name=\"photos\"; filename=\"photos\"\r\nContent-Type: application/octet-stream\r\n\r\nhi\r\n",
        "name=\"meta\"\r\nContent-Type: application/vnd.a+json\r\n\r\n{\"k\":1}\r\n",
        "name=\"note\"\r\nContent-Type: text/markdown\r\n\r\n# a\r\n",
        "name=\"json\"\r\nContent-Type: application/json\r\n\r\n\"b\"\r\n",
        "name=\"few\"\r\n\r\nx,y\r\n",
    ] {
        assert!(sent.contains(part), "{part} in {sent}");
    }
    assert_eq!(sent.matches("; name=\"photos\"").count(), 2);
}

#[test]
fn a_content_type_of_a_document_cannot_forge_a_part() {
    let text = document(
        "{multipart/form-data: {schema: {type: object, properties: {a: {type: string}}}, encoding: {a: {contentType: \"text/plain\\r\\nX: y/z\"}}}}",
    );
    assert!(!body(&send(&text, &json!({"a": "b"}))).contains("X: y"));
}

#[test]
fn a_form_may_leave_reserved_characters_and_write_json() {
    let text = document(
        "{application/x-www-form-urlencoded: {schema: {type: object, properties: {url: {type: string}, plain: {type: string}, list: {type: array, items: {type: integer}}}}, encoding: {url: {allowReserved: true}, list: {contentType: application/json}}}}",
    );
    let request = send(&text, &json!({"url": "https://a/b?c&d", "plain": "a/b", "list": [1, 2]}));
    assert_eq!(body(&request), "url=https://a/b?c%26d&plain=a%2Fb&list=%5B1%2C2%5D");
}

#[test]
fn parameters_with_a_media_type_are_written_by_it() {
    let text = one(
        "3.0.3",
        "GET /x",
        "parameters: [{name: f, in: query, content: {application/json; charset=utf-8: {schema: {type: object, properties: {a: {type: array, items: {type: integer}}}}}}}]",
    );
    let request = send(&text, &json!({"f": {"a": [1]}}));
    assert!(request.url.ends_with("?f=%7B%22a%22%3A%5B1%5D%7D"), "{}", request.url);
    assert_eq!(only(&text).draft.input_schema["properties"]["f"]["type"], "object");
}

#[test]
fn a_form_that_is_no_object_is_skipped_with_the_reason() {
    let text = one(
        "3.0.3",
        "POST /x",
        "requestBody: {content: {application/x-www-form-urlencoded: {schema: {type: array, items: {type: string}}}}}",
    );
    let (found, report) = super::read(&text);
    assert!(found.is_empty());
    assert!(report.skipped[0].reason.contains("no object"), "{report:?}");
}

#[test]
fn a_form_of_any_members_takes_objects_only() {
    for schema in ["{additionalProperties: {type: string}}", "{}"] {
        let operation = format!(
            "requestBody: {{required: true, content: {{application/x-www-form-urlencoded: {{schema: {schema}}}}}}}"
        );
        let found = only(&one("3.0.3", "POST /x", &operation));
        assert_eq!(found.draft.input_schema["properties"]["body"]["type"], json!("object"));
        let sent = found.draft.target.request(&json!({"body": {"a": "x y"}}), &[]).unwrap();
        assert_eq!(body(&sent), "a=x%20y");
        assert!(found.draft.target.request(&json!({"body": ["x"]}), &[]).is_err());
    }
}

#[test]
fn every_spelling_of_json_is_a_json_body() {
    for (media, wanted) in [
        ("text/json", "text/json"),
        ("application/*+json", "application/json"),
        ("application/x-json", "application/x-json"),
        ("application/hal+json", "application/hal+json"),
    ] {
        let operation = format!(
            "requestBody: {{required: true, content: {{'{media}': {{schema: {{type: object, properties: {{n: {{type: integer}}}}}}}}}}}}"
        );
        let sent = send(&one("3.0.3", "POST /x", &operation), &json!({"n": 1}));
        assert_eq!(header(&sent, "content-type"), Some(wanted));
        assert_eq!(body(&sent), r#"{"n":1}"#);
    }
}
