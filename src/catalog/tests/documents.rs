//! Documents as a whole: versions, servers, files, and what is wrong with them.

use std::fs;

use super::{one, read, read_with};
use crate::catalog::openapi::{self, Origin, Read, Settings};

fn error(text: &str) -> String {
    let (found, report) = read(text);
    assert!(found.is_empty());
    let error = report.error.expect("an error");
    format!("{} {}", error.place, error.message)
}

#[test]
fn documents_of_another_kind_are_refused_with_the_mend() {
    assert!(error("swagger: '1.2'\ninfo: {title: Old, version: '1'}\n").contains("`1.2`"));
    assert!(error("").contains("empty"));
    assert!(error("   \n").contains("empty"));
    assert!(error("[1, 2]").contains("no object"));
    assert!(error("{\"a\": 1}").contains("no key `openapi`"));
    assert!(error("openapi: 4.0.0").contains("`4.0.0`"));
    assert!(error("hello").contains("no object"));
}

#[test]
fn broken_text_names_its_line() {
    assert!(error("{\"openapi\": \"3.0.0\",\n \"paths\": {,}}").contains("line 2"));
    assert!(error("openapi: 3.0.0\npaths:\n  a: [1\n  b: 2\n").contains("line "));
}

#[test]
fn duplicate_keys_are_refused_in_both_formats() {
    assert!(error("{\"openapi\": \"3.0.0\", \"openapi\": \"3.0.1\"}").contains("duplicate"));
    assert!(error("openapi: 3.0.0\nopenapi: 3.0.1\n").contains("uplicate"));
}

#[test]
fn yaml_is_read_by_the_core_schema() {
    let text = one(
        "3.0.3",
        "GET /x",
        "parameters: [{name: x, in: query, schema: {type: string, enum: [on, off, no, yes, 2024-01-02, 0755]}}]\nresponses: {200: {description: ok, content: {application/json: {}}}}",
    );
    let (found, _) = read(&text);
    let listed = &found[0].draft.input_schema["properties"]["x"]["enum"];
    assert_eq!(listed, &serde_json::json!(["on", "off", "no", "yes", "2024-01-02", "0755"]));
    assert_eq!(
        found[0].draft.target.headers,
        [("accept".to_owned(), "application/json".to_owned())]
    );
}

#[test]
fn alias_bombs_end_early() {
    let mut text = String::from("openapi: 3.0.0\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let below = level - 1;
        let items = vec![format!("*a{below}"); 10].join(", ");
        text.push_str(&format!("a{level}: &a{level} [{items}]\n"));
    }
    assert!(error(&text).contains("is not YAML"));
}

#[test]
fn what_is_left_empty_counts_as_absent_and_what_is_no_operation_is_skipped() {
    let text = "openapi: 3.0.3\ninfo: {title: T, version: '1'}\npaths:
  /a: {post: {operationId: a, summary: Adds a thing, parameters: , requestBody: , tags: }}
  /b: {post: {operationId: b, requestBody: {content: {application/json: {schema: {type: object, properties: {x: , y: {type: array, items: }}}}}}}}
  /c: {get: just text, put: }
  /d:\n";
    let (found, report) = read(text);
    assert_eq!(found.len(), 2, "{report:#?}");
    assert_eq!(report.imported[0].adapted, []);
    assert_eq!(found[1].draft.input_schema["properties"]["x"], serde_json::json!({}));
    assert!(report.imported[1].adapted.iter().any(|note| note.message.contains("is empty")));
    assert_eq!(report.skipped[0].reason, "is not an operation");
    assert_eq!(report.operations, 3);
}

#[test]
fn documents_without_operations_say_so() {
    let (found, report) = read(
        "openapi: 3.1.0\ninfo: {title: Hooks, version: '1'}\nwebhooks: {newPet: {post: {operationId: newPet}}}\n",
    );
    assert!(found.is_empty() && report.error.is_none());
    assert_eq!((report.operations, report.ignored), (0, 1));
}

#[test]
fn every_operation_is_accounted_for() {
    let text = "openapi: 3.0.3\ninfo: {title: T, version: '1'}\npaths:
  /a: {get: {operationId: a, tags: [keep]}, post: {operationId: b}, trace: {operationId: t}}
  /b: {$ref: '#/nowhere'}
  /c: {get: {operationId: c, tags: [keep], parameters: [{name: x, in: query, schema: {$ref: '#/missing'}}]}}
  /d: {put: {operationId: d, tags: [keep], requestBody: {content: {application/xml: {schema: {type: object}}}}}}\n";
    let (found, report) = read(text);
    assert_eq!(found.len(), 2);
    assert_eq!(
        report.operations,
        report.imported.len() + report.skipped.len() + report.excluded.len()
    );
    assert_eq!(report.operations, 6);
    let mut settings = Settings::default();
    settings.servers.server = Some("https://a.example".to_owned());
    settings.include = toml::from_str("tags = ['keep']").unwrap();
    settings.exclude = toml::from_str("operations = ['d']").unwrap();
    let (found, report) = read_with(text, &settings);
    assert_eq!(found.len(), 1);
    assert_eq!((report.excluded.len(), report.skipped.len()), (3, 2));
}

#[test]
fn servers_come_from_the_nearest_level_with_their_variables() {
    let text = "openapi: 3.0.3\ninfo: {title: T, version: '1'}
servers: [{url: 'https://{region}.root.example/{base}/', variables: {region: {default: eu}, base: {default: v2}}}]
paths:
  /a: {get: {operationId: a}}
  /b: {servers: [{url: 'https://path.example'}], get: {operationId: b}, post: {operationId: c, servers: [{url: 'http://op.example:8080/x/'}]}}\n";
    let (found, _) = read_with(text, &Settings::default());
    let urls: Vec<String> = found
        .iter()
        .map(|one| one.draft.target.request(&serde_json::json!({}), &[]).unwrap().url)
        .collect();
    assert_eq!(
        urls,
        ["https://eu.root.example/v2/a", "https://path.example/b", "http://op.example:8080/x/b"]
    );
    let mut settings = Settings::default();
    settings.servers.variables.insert("region".to_owned(), "us".to_owned());
    let (found, _) = read_with(text, &settings);
    assert_eq!(found[0].draft.target.server, "https://us.root.example/v2");
}

#[test]
fn relative_servers_need_a_location() {
    let text = |servers: &str| {
        format!(
            "openapi: 3.0.3\ninfo: {{title: T, version: '1'}}\n{servers}\npaths: {{/items: {{get: {{operationId: a}}}}}}\n"
        )
    };
    let mut settings = Settings::default();
    settings.servers.location = Some("https://gw.example/specs/shop/openapi.json".to_owned());
    for (servers, wanted) in [
        ("servers: [{url: /shop/v2/}]", "https://gw.example/shop/v2/items"),
        ("servers: [{url: ../live}]", "https://gw.example/specs/live/items"),
        ("", "https://gw.example/items"),
    ] {
        let (found, _) = read_with(&text(servers), &settings);
        assert_eq!(found[0].draft.target.request(&serde_json::json!({}), &[]).unwrap().url, wanted);
    }
    for servers in [
        "servers: [{url: /shop}]",
        "servers: [{url: //api.example/x}]",
        "",
        "servers: [{url: 'ftp://a.example'}]",
        "servers: [{url: 'https://u:p@a.example'}]",
    ] {
        let (found, report) = read_with(&text(servers), &Settings::default());
        assert!(found.is_empty(), "{servers}");
        assert!(report.skipped[0].reason.contains("server"), "{:?}", report.skipped);
    }
}

#[test]
fn references_are_never_fetched() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let own = format!("http://{}/x.json", listener.local_addr().unwrap());
    let references = [
        "http://169.254.169.254/latest/meta-data/",
        "file:///etc/hostname",
        "https://schemas.example/money.json#/Money",
        "//internal/x.yaml",
        "\\\\host\\share\\x.yaml",
        "/etc/hostname.json",
        own.as_str(),
    ];
    let mut text = String::from(
        "openapi: 3.0.3\ninfo: {title: T, version: '1'}\npaths:\n  /good: {get: {operationId: good}}\n",
    );
    for (index, reference) in references.iter().enumerate() {
        text.push_str(&format!("  /p{index}: {{get: {{operationId: p{index}, parameters: [{{name: x, in: query, schema: {{$ref: '{reference}'}}}}]}}}}\n"));
    }
    let (found, report) = read(&text);
    assert_eq!(found.len(), 1);
    for (skipped, reference) in report.skipped.iter().zip(references) {
        assert!(skipped.reason.contains(reference), "{skipped:?}");
    }
    assert_eq!(report.skipped.len(), references.len());
    assert!(listener.accept().is_err(), "nobody connected");
}

#[test]
fn documents_in_several_files_stay_inside_their_folder() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("in");
    fs::create_dir_all(root.join("paths")).unwrap();
    fs::write(folder.path().join("outside.yaml"), "get: {operationId: c}\n").unwrap();
    std::os::unix::fs::symlink(folder.path().join("outside.yaml"), root.join("link.yaml")).unwrap();
    let main = "openapi: 3.0.3\ninfo: {title: M, version: '1'}\nservers: [{url: 'https://m.example'}]\npaths:
  /a: {$ref: 'paths/a.yaml'}
  /b: {$ref: 'paths/b.yaml#/item'}
  /c: {$ref: '../outside.yaml'}
  /d: {$ref: 'link.yaml'}
  /e: {$ref: 'paths/b.yaml#/self'}\n";
    fs::write(root.join("main.yaml"), main).unwrap();
    fs::write(
        root.join("paths/a.yaml"),
        "get:\n  operationId: a\n  parameters: [{$ref: '../shared.yaml#/p'}]\n",
    )
    .unwrap();
    fs::write(
        root.join("paths/b.yaml"),
        "item: {get: {operationId: b}}\nself: {$ref: 'b.yaml#/self'}\n",
    )
    .unwrap();
    fs::write(
        root.join("shared.yaml"),
        "p: {name: q, in: query, schema: {$ref: 'deep.json#/$defs/q'}}\n",
    )
    .unwrap();
    fs::write(
        root.join("deep.json"),
        "{\"$defs\": {\"q\": {\"type\": \"string\", \"maxLength\": 3}}}",
    )
    .unwrap();
    let origin = Origin::File(root.join("main.yaml"));
    let Read { found, report, .. } = openapi::read(&origin, &Settings::default());
    let names: Vec<&str> = found.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["a", "b"], "{report:#?}");
    assert_eq!(found[0].draft.input_schema["properties"]["q"]["maxLength"], 3);
    // A file cannot say that it is another one that was read.
    let impostor = "$id: https://document.invalid/shared.yaml\n\
                    p: {name: q, in: query, schema: {type: integer}}\n";
    fs::write(root.join("impostor.yaml"), impostor).unwrap();
    let main = main.replacen("3.0.3", "3.1.0", 1) + "x-more: {$ref: 'impostor.yaml'}\n";
    fs::write(root.join("main.yaml"), main).unwrap();
    let again = openapi::read(&origin, &Settings::default());
    assert_eq!(again.report.openapi, "3.1.0");
    assert_eq!(again.found[0].draft.input_schema["properties"]["q"]["maxLength"], 3);
    let reasons: Vec<&str> = report.skipped.iter().map(|one| one.reason.as_str()).collect();
    assert!(
        reasons[0].contains("leaves the folder") && reasons[1].contains("symbolic link"),
        "{reasons:?}"
    );
    assert!(reasons[2].contains("loop"), "{reasons:?}");
}
