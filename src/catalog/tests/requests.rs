//! From arguments to the bytes on the wire.

use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{body, header, one, only, refuse, send};
use crate::catalog::HttpTarget;

fn path_of(template: &str, parameter: &str, argument: &Value) -> String {
    let name = parameter.split(',').next().unwrap().trim_start_matches("name: ");
    let text = one(
        "3.0.3",
        &format!("GET {template}"),
        &format!("parameters: [{{{parameter}, in: path, required: true}}]"),
    );
    let url = send(&text, &json!({ name: argument })).url;
    url.strip_prefix("https://api.example/v1").unwrap().to_owned()
}

#[test]
fn path_styles_write_what_the_style_table_says() {
    let list = "schema: {type: array, items: {type: string}}";
    let object = "schema: {type: object}";
    let cases = [
        (format!("name: p, {list}"), json!(["a/b", "c"]), "/r/a%2Fb,c"),
        (format!("name: p, style: label, {list}"), json!([3, 4]), "/r/.3,4"),
        (format!("name: p, style: label, explode: true, {list}"), json!([3, 4]), "/r/.3.4"),
        ("name: p, style: matrix, schema: {type: integer}".to_owned(), json!(5), "/r/;p=5"),
        (format!("name: p, style: matrix, {list}"), json!([3, 4]), "/r/;p=3,4"),
        (format!("name: p, style: matrix, explode: true, {list}"), json!([3, 4]), "/r/;p=3;p=4"),
        (format!("name: p, explode: true, {object}"), json!({"R": 1, "G": 2}), "/r/R=1,G=2"),
        (format!("name: p, {object}"), json!({"R": 1, "G": 2}), "/r/R,1,G,2"),
        (
            format!("name: p, style: matrix, explode: true, {object}"),
            json!({"R": 1, "G": 2}),
            "/r/;R=1;G=2",
        ),
    ];
    for (parameter, value, wire) in cases {
        assert_eq!(path_of("/r/{p}", &parameter, &value), wire, "{parameter}");
    }
}

#[test]
fn path_values_never_leave_their_segment() {
    let text = one(
        "3.0.3",
        "DELETE /orgs/{org}/projects/{project}",
        "parameters: [{name: org, in: path, required: true, schema: {type: string}}, {name: project, in: path, required: true, schema: {type: string}}]",
    );
    for bad in ["..", ".", ""] {
        let why = refuse(&text, &json!({"org": "acme", "project": bad}));
        assert!(why.contains("`project`"), "{why}");
    }
    let url = |value: &str| send(&text, &json!({"org": "acme", "project": value})).url;
    let base = "https://api.example/v1/orgs/acme/projects/";
    assert_eq!(url("%2e%2e"), format!("{base}%252e%252e"));
    assert_eq!(url("..%2F.."), format!("{base}..%252F.."));
    assert_eq!(url("..."), format!("{base}..."));
    assert_eq!(url("v1..2"), format!("{base}v1..2"));
    assert_eq!(url("a?b#c"), format!("{base}a%3Fb%23c"));
    assert_eq!(url("a\\..\\b"), format!("{base}a%5C..%5Cb"));
}

#[test]
fn dots_that_two_placeholders_make_together_are_refused() {
    let text = one(
        "3.0.3",
        "GET /f/{a}{b}/g",
        "parameters: [{name: a, in: path, required: true, schema: {type: string}}, {name: b, in: path, required: true, schema: {type: string}}]",
    );
    assert!(refuse(&text, &json!({"a": ".", "b": "."})).contains("change the path"));
    assert!(send(&text, &json!({"a": ".", "b": "x"})).url.ends_with("/f/.x/g"));
}

#[test]
fn deep_objects_are_written_with_brackets() {
    for explode in ["", "explode: true,"] {
        let text = one(
            "3.0.3",
            "GET /x",
            &format!(
                "parameters: [{{name: filter, in: query, style: deepObject, {explode} schema: {{type: object}}}}]"
            ),
        );
        let url = send(&text, &json!({"filter": {"status": "open", "owner": "li wei"}})).url;
        let query = "filter%5Bstatus%5D=open&filter%5Bowner%5D=li%20wei";
        assert_eq!(url, format!("https://api.example/v1/x?{query}"));
        let url = send(&text, &json!({"filter": {"ids": [1, 2]}})).url;
        assert!(url.ends_with("?filter%5Bids%5D%5B0%5D=1&filter%5Bids%5D%5B1%5D=2"), "{url}");
        assert_eq!(send(&text, &json!({"filter": {}})).url, "https://api.example/v1/x");
    }
}

#[test]
fn query_lists_follow_style_and_explode() {
    let query = |parameter: &str, value: Value| {
        let text =
            one("3.0.3", "GET /x", &format!("parameters: [{{name: a, in: query, {parameter}}}]"));
        let url = send(&text, &json!({ "a": value })).url;
        url.split_once('?').map(|(_, query)| query.to_owned()).unwrap_or_default()
    };
    let list = "schema: {type: array}";
    assert_eq!(query(list, json!(["x", "y"])), "a=x&a=y");
    assert_eq!(query(&format!("explode: false, {list}"), json!(["x,1", "y"])), "a=x%2C1,y");
    assert_eq!(query(&format!("style: pipeDelimited, {list}"), json!(["x", "y"])), "a=x%7Cy");
    assert_eq!(query(&format!("style: spaceDelimited, {list}"), json!(["x", "y"])), "a=x%20y");
    assert_eq!(query("schema: {type: object}", json!({"R": 1, "G": 2})), "R=1&G=2");
    assert_eq!(query(list, json!([])), "");
    assert_eq!(query("schema: {type: string}", Value::Null), "");
    assert_eq!(
        query("allowReserved: true, schema: {type: string}", json!("a/b&c=d#e")),
        "a=a/b%26c=d%23e"
    );
    assert_eq!(
        query("content: {application/json: {schema: {type: object}}}", json!({"k": [1]})),
        "a=%7B%22k%22%3A%5B1%5D%7D"
    );
}

#[test]
fn nesting_that_a_style_cannot_carry_is_refused() {
    let text = one("3.0.3", "GET /x", "parameters: [{name: a, in: query, schema: {type: array}}]");
    let why = refuse(&text, &json!({"a": [[1]]}));
    assert!(why.contains("`a`") && why.contains("query"), "{why}");
}

#[test]
fn cookies_share_one_header_and_cannot_add_another() {
    let text = one(
        "3.0.3",
        "GET /x",
        "parameters: [{name: lang, in: cookie, schema: {type: string}}, {name: theme, in: cookie, explode: false, schema: {type: array}}]",
    );
    let request = send(&text, &json!({"lang": "zh", "theme": ["dark", "big"]}));
    assert_eq!(header(&request, "cookie"), Some("lang=zh; theme=dark,big"));
    let request = send(&text, &json!({"lang": "zh; sid=evil"}));
    assert_eq!(header(&request, "cookie"), Some("lang=zh%3B%20sid%3Devil"));
}

#[test]
fn headers_take_no_line_break() {
    let text =
        one("3.0.3", "GET /x", "parameters: [{name: X-Trace, in: header, schema: {type: string}}]");
    assert_eq!(header(&send(&text, &json!({"X-Trace": "a b"})), "X-Trace"), Some("a b"));
    for bad in ["a\r\nHost: evil", "a\nb", "\0", "é"] {
        assert!(refuse(&text, &json!({"X-Trace": bad})).contains("header"), "{bad:?}");
    }
}

#[test]
fn headers_that_frame_a_request_are_no_arguments() {
    let found = only(&one(
        "3.0.3",
        "GET /x",
        "parameters: [{name: Host, in: header, schema: {type: string}}, {name: content-LENGTH, in: header, schema: {type: string}}]",
    ));
    assert_eq!(found.draft.input_schema["properties"], json!({}));
}

#[test]
fn whole_bodies_are_sent_bare() {
    let cases = [
        (
            "application/json",
            "{type: array, items: {type: string}}",
            json!(["a", "b"]),
            r#"["a","b"]"#,
        ),
        ("application/json", "{type: string}", json!("hello"), r#""hello""#),
        ("text/plain", "{type: string}", json!("hello"), "hello"),
    ];
    for (media, schema, value, wire) in cases {
        let text = one(
            "3.0.3",
            "POST /x",
            &format!("requestBody: {{required: true, content: {{{media}: {{schema: {schema}}}}}}}"),
        );
        let request = send(&text, &json!({ "body": value }));
        assert_eq!(body(&request), wire);
        assert_eq!(header(&request, "content-type"), Some(media));
    }
}

#[test]
fn a_body_argument_never_hides_a_parameter() {
    let text = one(
        "3.0.3",
        "POST /tags",
        "parameters: [{name: body, in: query, required: true, schema: {type: string}}, {name: Values, in: query, schema: {type: string}}]\nrequestBody: {required: true, content: {application/json: {schema: {title: Values, type: array}}}}",
    );
    let found = only(&text);
    let properties = found.draft.input_schema["properties"].as_object().unwrap();
    assert_eq!(properties.len(), 3);
    let name = properties.keys().nth(2).unwrap();
    assert!(properties[name]["description"].as_str().unwrap().contains("whole request body"));
    let request = send(&text, &json!({"body": "x", "Values": "y", name: [3, 4]}));
    assert_eq!(request.url, "https://api.example/v1/tags?body=x&Values=y");
    assert_eq!(body(&request), "[3,4]");
}

#[test]
fn a_name_in_several_places_becomes_several_arguments() {
    let text = one(
        "3.0.3",
        "PUT /things/{id}",
        "parameters: [{name: id, in: query, schema: {type: string}}, {name: id, in: path, required: true, schema: {type: string}}]\nrequestBody: {required: true, content: {application/json: {schema: {type: object, required: [id], properties: {id: {type: integer}, id_query: {type: string}}}}}}",
    );
    let found = only(&text);
    let schema = &found.draft.input_schema;
    assert_eq!(schema["required"], json!(["id", "id_body"]));
    let extra = schema["properties"].as_object().unwrap().keys().nth(1).unwrap().clone();
    assert_ne!(extra, "id_query");
    let request = send(&text, &json!({"id": "p", extra: "q", "id_body": 7, "id_query": "b"}));
    assert_eq!(request.url, "https://api.example/v1/things/p?id=q");
    assert_eq!(body(&request), r#"{"id":7,"id_query":"b"}"#);
}

#[test]
fn media_types_are_chosen_by_rank_and_sent_exactly() {
    let chosen = |keys: &[&str]| {
        let content: String = keys
            .iter()
            .map(|key| {
                format!(
                    "\"{key}\": {{schema: {{type: object, properties: {{a: {{type: string}}}}}}}}, "
                )
            })
            .collect();
        let text = one(
            "3.0.3",
            "PATCH /x",
            &format!("requestBody: {{required: true, content: {{{content}}}}}"),
        );
        header(&send(&text, &json!({"a": "1"})), "content-type").unwrap().to_owned()
    };
    assert_eq!(chosen(&["application/json; charset=utf-8"]), "application/json; charset=utf-8");
    assert_eq!(chosen(&["application/vnd.acme.v2+json"]), "application/vnd.acme.v2+json");
    assert_eq!(chosen(&["*/*"]), "application/json");
    assert_eq!(chosen(&["application/xml", "APPLICATION/JSON"]), "APPLICATION/JSON");
    let patches = [
        "application/apply-patch+yaml",
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
    ];
    assert_eq!(chosen(&patches), "application/merge-patch+json");
}

#[test]
fn forms_encode_each_member_by_its_own_rule() {
    let text = one(
        "3.0.3",
        "POST /x",
        "requestBody: {content: {application/x-www-form-urlencoded: {schema: {type: object, properties: {name: {type: string}, tags: {type: array, items: {type: string}}, meta: {type: object}, deep: {type: object}}}, encoding: {deep: {style: deepObject}, tags: {explode: false}}}}}",
    );
    let arguments =
        json!({"name": "a&b=c d", "tags": ["x", "y"], "meta": {"k": 1}, "deep": {"k": [2]}});
    let request = send(&text, &arguments);
    assert_eq!(
        body(&request),
        "name=a%26b%3Dc%20d&tags=x,y&meta=%7B%22k%22%3A1%7D&deep%5Bk%5D%5B0%5D=2"
    );
    assert_eq!(send(&text, &json!({})).body_base64, None);
}

#[test]
fn uploads_become_multipart_with_one_part_for_each_item() {
    let text = one(
        "3.0.3",
        "POST /upload",
        "requestBody: {required: true, content: {multipart/form-data: {schema: {type: object, required: [file], properties: {file: {type: string, format: binary}, title: {type: string}, tags: {type: array, items: {type: string}}}}}}}",
    );
    let found = only(&text);
    let file = &found.draft.input_schema["properties"]["file"];
    assert_eq!(file["contentEncoding"], "base64");
    let arguments = json!({"file": "aGk=", "title": "a\"b", "tags": ["x", "y"]});
    let request = send(&text, &arguments);
    let media = header(&request, "content-type").unwrap();
    let boundary = media.strip_prefix("multipart/form-data; boundary=").unwrap();
    let text_body = body(&request);
    let parts: Vec<&str> = text_body.split(&format!("--{boundary}")).collect();
    assert_eq!(parts.len(), 6, "{text_body}");
    assert!(parts[1].contains("filename=\"file\"") && parts[1].ends_with("\r\n\r\nhi\r\n"));
    assert!(parts[2].ends_with("\r\n\r\na\"b\r\n"));
    assert!(parts[3].ends_with("\r\n\r\nx\r\n") && parts[4].ends_with("\r\n\r\ny\r\n"));
    assert_eq!(send(&text, &arguments), request, "equal calls make equal bytes");
    assert!(refuse(&text, &json!({"file": "not base64!"})).contains("base64"));
}

#[test]
fn no_template_brace_ever_leaves() {
    let document = "openapi: 3.0.3\ninfo: {title: T, version: '1'}\npaths:
  /a/{id}: {get: {operationId: a}}
  /b: {get: {operationId: b, parameters: [{name: id, in: path, required: true, schema: {type: string}}]}}
  /c/{userId}: {get: {operationId: c, parameters: [{name: userid, in: path, required: true, schema: {type: string}}]}}
  /d/{x}/e/{x}: {get: {operationId: d, parameters: [{name: x, in: path, required: true, schema: {type: string}}]}}
  /f/{y}: {get: {operationId: f, parameters: [{name: y, in: path, required: false, schema: {type: string}}]}}
  /g/{z: {get: {operationId: g}}\n";
    let (found, report) = super::read(document);
    let urls: Vec<String> = found
        .iter()
        .map(|one| {
            let required = one.draft.input_schema["required"].as_array().cloned();
            let arguments: serde_json::Map<String, Value> = required
                .unwrap_or_default()
                .iter()
                .map(|name| (name.as_str().unwrap().to_owned(), json!("v")))
                .collect();
            one.draft.target.request(&Value::Object(arguments), &[]).unwrap().url
        })
        .collect();
    let base = "https://api.example/v1";
    let wanted = ["/a/v", "/b", "/c/v", "/d/v/e/v", "/f/v"];
    assert_eq!(urls, wanted.map(|path| format!("{base}{path}")));
    assert_eq!(report.skipped.len(), 1);
    assert!(report.skipped[0].reason.contains("brace"));
}

#[test]
fn big_numbers_keep_their_spelling() {
    let text =
        one("3.0.3", "GET /x", "parameters: [{name: n, in: query, schema: {type: integer}}]");
    let arguments: Value =
        serde_json::from_str(r#"{"n": 123456789012345678901234567890}"#).unwrap();
    assert!(send(&text, &arguments).url.ends_with("?n=123456789012345678901234567890"));
}

static SEGMENT: LazyLock<HttpTarget> = LazyLock::new(|| {
    let operation = "parameters: [{name: v, in: path, required: true, schema: {type: string}}]";
    only(&one("3.0.3", "GET /a/{v}/z", operation)).draft.target
});
static LINES: LazyLock<HttpTarget> = LazyLock::new(|| {
    let operation = "parameters: [{name: H, in: header, schema: {type: string}}, {name: c, in: cookie, schema: {type: string}}]";
    only(&one("3.0.3", "GET /x", operation)).draft.target
});

proptest! {
    #[test]
    fn any_path_value_stays_one_segment_and_reads_back(value in "\\PC{1,40}|[./%\\\\]{1,6}") {
        match SEGMENT.request(&json!({ "v": value }), &[]) {
            Ok(request) => {
                let url = url::Url::parse(&request.url).unwrap();
                let segments: Vec<&str> = url.path_segments().unwrap().collect();
                prop_assert_eq!(segments.len(), 4);
                let back = percent_encoding::percent_decode_str(segments[2]).decode_utf8().unwrap();
                prop_assert_eq!(back.as_ref(), value.as_str());
                prop_assert!(url.query().is_none() && url.fragment().is_none());
            }
            Err(_) => prop_assert!(value == "." || value == ".."),
        }
    }

    #[test]
    fn any_header_or_cookie_value_stays_one_line(value in any::<String>()) {
        if let Ok(request) = LINES.request(&json!({ "H": value, "c": value }), &[]) {
            for (_, value) in &request.headers {
                prop_assert!(!value.contains(['\r', '\n', '\0']));
            }
            let cookie = header(&request, "cookie").unwrap();
            prop_assert!(!cookie.contains([';', ',']));
        }
    }
}

#[test]
fn what_a_style_cannot_write_is_told_of_before_a_call_finds_out() {
    for (schema, style, told) in [
        ("{type: array, items: {type: array, items: {type: integer}}}", "form", true),
        ("{type: array, items: {type: object, properties: {a: {}}}}", "pipeDelimited", true),
        (
            "{type: object, properties: {a: {type: array, items: {}}, b: {type: string}}}",
            "form",
            true,
        ),
        ("{type: object, properties: {a: {type: array, items: {}}}}", "deepObject", false),
        ("{type: array, items: {type: integer}}", "form", false),
    ] {
        let text = one(
            "3.0.3",
            "GET /x",
            &format!(
                "summary: S\nparameters: [{{name: q, in: query, style: {style}, schema: {schema}}}]"
            ),
        );
        let said = format!("{:?}", super::read(&text).1.imported[0].adapted);
        assert_eq!(said.contains("is not defined for"), told, "{said}");
    }
}
