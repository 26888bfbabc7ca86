//! What a manifest or source says of sending again and of pages.

use super::policies::Policies;
use crate::catalog::{Follow, Manner, Retry, Target};

const MANIFEST: &str = "description = 'Lists orders'
risk = 'read'
profile = 'plain'
input_schema = { type = 'object', properties = { n = { type = 'integer' } } }
http = { method = 'METHOD', url = 'https://api.example/orders' }
";

fn folder() -> Policies {
    let policies = Policies::new();
    policies.write("sandbox/plain.toml", "image = 'python'\n");
    policies
}

/// The manner and the idempotency of a manifest with these lines, or what is wrong.
fn read(method: &str, lines: &str) -> Result<(Manner, bool), String> {
    let policies = folder();
    let text = MANIFEST.replace("METHOD", method);
    policies.write("tools/t.toml", &format!("{text}{lines}"));
    let catalog = policies.load();
    if let Some(problem) = catalog.problems().first() {
        return Err(format!("{}: {}", problem.place, problem.message));
    }
    let tool = &catalog.tools()[0];
    let Target::Http(target) = &tool.target else { panic!("{tool:?}") };
    Ok(((*target.manner).clone(), tool.idempotent))
}

#[test]
fn nothing_is_sent_twice_that_no_file_says_so_of() {
    let (manner, idempotent) = read("GET", "").unwrap();
    assert!(manner.is_plain() && idempotent);
    let rule = Retry { attempts: 3, backoff_ms: 200, longest_ms: 2000 };
    let retry = "[retry]\nattempts = 3\n";
    assert_eq!(read("GET", retry).unwrap().0.retry, Some(rule));
    for (method, lines, sent_again) in [
        ("POST", "", false),
        ("DELETE", "", false),
        ("PUT", "idempotent = true\n", true),
        ("GET", "idempotent = false\n", false),
    ] {
        let (manner, _) = read(method, &format!("{lines}{retry}")).unwrap();
        assert_eq!(manner.retry.is_some(), sent_again, "{method} {lines}");
    }
    let keyed =
        "[retry]\nattempts = 2\nbackoff = '50ms'\nlongest = '1s'\nkey_header = 'Idempotency-Key'\n";
    let (manner, _) = read("POST", keyed).unwrap();
    assert_eq!(manner.retry, Some(Retry { attempts: 2, backoff_ms: 50, longest_ms: 1000 }));
    assert_eq!(manner.key_header.as_deref(), Some("Idempotency-Key"));
    assert_eq!(read("GET", "[retry]\nattempts = 1\n").unwrap().0.retry, None);
}

#[test]
fn pages_name_one_way_to_the_next() {
    for (lines, next) in [
        ("link = true", Follow::Link),
        ("url = '/links/next'", Follow::Url("/links/next".to_owned())),
        (
            "cursor = '/next'\nquery = 'after'",
            Follow::Cursor { pointer: "/next".to_owned(), query: "after".to_owned() },
        ),
        ("number = 'page'", Follow::Number { query: "page".to_owned(), first: 1 }),
        ("number = 'page'\nfirst = 0", Follow::Number { query: "page".to_owned(), first: 0 }),
    ] {
        let (manner, _) = read("GET", &format!("[pages]\n{lines}\n")).unwrap();
        let pages = manner.pages.unwrap();
        assert_eq!((pages.next, pages.max_pages, pages.max_items), (next, 10, 1000), "{lines}");
        assert_eq!(pages.items, "");
    }
}

#[test]
fn what_cannot_be_is_refused_with_its_place() {
    for (method, lines, part) in [
        ("GET", "[retry]\nattempts = 0\n", "retry.attempts: is 0; 1 to 5"),
        ("GET", "[retry]\nattempts = 50\n", "retry.attempts"),
        ("GET", "[retry]\nattempts = 2\nbackoff = '0ms'\n", "retry.backoff"),
        ("GET", "[retry]\nattempts = 2\nlongest = '2h'\n", "retry.longest"),
        ("GET", "[retry]\nattempts = 2\nkey_header = 'a b'\n", "retry.key_header"),
        ("GET", "[retry]\nattempts = 2\nkey_header = 'Authorization'\n", "retry.key_header"),
        ("GET", "[retry]\nattempts = 2\ntries = 2\n", "tries"),
        ("POST", "[pages]\nlink = true\n", "pages: are fetched by GET"),
        ("GET", "[pages]\n", "name one of"),
        ("GET", "[pages]\nlink = true\nurl = '/next'\n", "name one of"),
        ("GET", "[pages]\nurl = 'next'\n", "pages.url: `next` is no JSON Pointer"),
        ("GET", "[pages]\ncursor = '/next'\n", "pages.query"),
        ("GET", "[pages]\nlink = true\nquery = 'x'\n", "pages.query"),
        ("GET", "[pages]\nlink = true\nfirst = 2\n", "pages.first"),
        ("GET", "[pages]\nlink = true\nitems = 'x'\n", "pages.items"),
        ("GET", "[pages]\nlink = true\nmax_pages = 0\n", "pages.max_pages"),
        ("GET", "[pages]\nlink = true\nmax_items = 0\n", "pages.max_items"),
    ] {
        let why = read(method, lines).unwrap_err();
        assert!(why.contains(part), "{lines}: {why}");
    }
    let policies = folder();
    let command = "description = 'd'\nrisk = 'read'\nprofile = 'plain'\n\
        input_schema = { type = 'object' }\ncommand = { argv = ['true'] }\n[retry]\nattempts = 2\n";
    policies.write("tools/t.toml", command);
    assert!(policies.load().problems()[0].message.contains("is run once"));
}

#[test]
fn a_source_says_it_for_all_and_for_each_operation() {
    let policies = folder();
    let operation =
        |id: &str| format!("{{operationId: {id}, responses: {{'200': {{description: ok}}}}}}");
    let document = format!(
        "openapi: 3.0.3\ninfo: {{title: T, version: '1'}}\nservers: [{{url: 'https://a.example'}}]\n\
         paths:\n  /x: {{get: {}, post: {}, put: {}}}\n",
        operation("list"),
        operation("make"),
        operation("set")
    );
    policies.write("openapi/shop.yaml", &document);
    let source = "document = 'openapi/shop.yaml'\nprofile = 'plain'\nretry = { attempts = 3 }\n";
    let more = "[operations.list]\npages = { link = true }\nretry = { attempts = 2 }\n";
    policies.write("openapi/shop.toml", &format!("{source}{more}"));
    let catalog = policies.load();
    assert_eq!(catalog.problems(), []);
    let manner = |name: &str| match &catalog.get(name).unwrap().target {
        Target::Http(target) => (*target.manner).clone(),
        Target::Command(_) => panic!("{name}"),
    };
    let attempts = |name: &str| manner(name).retry.map(|retry| retry.attempts);
    assert_eq!(["list", "set", "make"].map(attempts), [Some(2), Some(3), None]);
    assert!(manner("list").pages.is_some() && manner("set").pages.is_none());
    let wrong = more.replace("list", "make");
    policies.write("openapi/shop.toml", &format!("{source}{wrong}"));
    let problems = policies.load().problems().to_vec();
    assert_eq!(problems[0].place, "operations.make.pages");
}
