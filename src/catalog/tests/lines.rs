//! Where operations and their arguments stand in a document's text.

use crate::catalog::Lines;

const YAML: &str = "\
openapi: 3.1.0
paths:
  /orders/{id}:
    parameters:
      - in: path
        name: id
    get: &read
      parameters:
        - {name: name, in: query}
    head: *read
    post:
      requestBody:
        content:
          application/json:
            schema:
              properties:
                note: {type: string}
                lines:
                  properties: {note: {type: string}}
  '/a/b':
    put: {}
components:
  schemas:
    paths: {/orders/{id}: {get: {}}}
";

#[test]
fn lines_are_those_of_the_argument_else_of_the_operation_else_of_the_path() {
    let lines = Lines::of(YAML);
    for (operation, argument, line) in [
        ("/paths/~1orders~1{id}/get", "", Some(7)),
        ("/paths/~1orders~1{id}/get", "name", Some(9)),
        ("/paths/~1orders~1{id}/get", "id", Some(6)),
        ("/paths/~1orders~1{id}/get", "other", Some(7)),
        ("/paths/~1orders~1{id}/head", "name", Some(10)),
        ("/paths/~1orders~1{id}/post", "note", Some(17)),
        ("/paths/~1orders~1{id}/post", "lines", Some(18)),
        ("/paths/~1orders~1{id}/delete", "", Some(3)),
        ("/paths/~1a~1b/put", "x", Some(21)),
        ("/paths/~1a/put", "", None),
    ] {
        assert_eq!(lines.find(operation, argument), line, "{operation} {argument}");
    }
}

#[test]
fn lines_of_json_are_found_as_those_of_yaml() {
    let text = "{\n\t\"paths\": {\n\t\t\"/a\": {\n\t\t\t\"get\": {\n\t\t\t\t\"parameters\": [\n\
                {\"in\": \"query\",\n\"name\": \"q\"}]}}}}";
    let lines = Lines::of(text);
    assert_eq!(lines.find("/paths/~1a/get", ""), Some(4));
    assert_eq!(lines.find("/paths/~1a/get", "q"), Some(7));
}

#[test]
fn of_a_text_that_breaks_off_the_lines_before_are_known() {
    let lines = Lines::of("paths:\n  /a:\n    get: {}\n  /b: [\n");
    assert_eq!(lines.find("/paths/~1a/get", ""), Some(3));
    assert_eq!(lines.find("/paths/~1c/get", ""), None);
    let lines = Lines::of("a: &a x\npaths:\n  *a : y\n  /b:\n    get: {}\n");
    assert_eq!(lines.find("/paths/~1b/get", ""), Some(5));
}
