//! Tools of an OpenAPI document: a request from a sandbox, through the gate, to a real server.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::FutureExt;
use serde_json::{Value, json};
use switchboard::proto::tools::tool_service_client::ToolServiceClient;
use switchboard::proto::tools::{CallRequest, CancelRequest, ListToolsRequest};
use tokio::sync::Notify;

use crate::daemon::{BINARY, Daemon, Setup, code, http, request};

/// The order service of the quickstart, on a free port.
struct Orders {
    child: Child,
    port: String,
}

impl Orders {
    fn start() -> Self {
        let program = Path::new(BINARY).parent().unwrap().join("examples/orders");
        let mut child = Command::new(program)
            .arg("0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().rsplit(':').next().unwrap().to_owned();
        Self { child, port }
    }

    fn setup(&self) -> Setup {
        Setup::new().edit("openapi/orders.openapi.yaml", "18080", &self.port).edit(
            "sandbox/orders.toml",
            "18080",
            &self.port,
        )
    }
}

impl Drop for Orders {
    fn drop(&mut self) {
        // It may have ended already; then there is nothing to signal.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

async fn list(daemon: &Daemon, arguments: Value) -> Value {
    daemon.call("listCustomerOrders", &arguments).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_of_a_document_is_a_tool() {
    let orders = Orders::start();
    let daemon = orders.setup().start().await;
    let reply = list(&daemon, json!({ "customer_id": "C-1001", "limit": 5 })).await;
    assert_eq!(code(&reply), "SUCCESS", "{reply:#}");
    assert_eq!(reply["data"]["orders"].as_array().unwrap().len(), 5);
    assert_eq!(reply["metadata"]["http_status"], 200);
    assert_eq!(reply["metadata"]["egress"][0]["allowed"], true, "{reply:#}");

    let reply = list(&daemon, json!({ "customerId": "C-1001", "limit": "5" })).await;
    assert_eq!(reply["data"]["orders"].as_array().unwrap().len(), 5, "{reply:#}");
    assert_eq!(reply["metadata"]["repairs"].as_array().unwrap().len(), 2, "{reply:#}");

    let reply = list(&daemon, json!({ "customer_id": "C-1001", "status": "sent" })).await;
    assert_eq!(code(&reply), "SCHEMA_VALIDATION_ERROR");
    assert!(reply["error"].to_string().contains("shipped"), "{reply:#}");

    let reply = daemon.call("getOrder", &json!({ "order_id": "ORD-99999" })).await;
    assert_eq!(code(&reply), "UPSTREAM_ERROR", "{reply:#}");
    assert_eq!(reply["metadata"]["http_status"], 404);
    assert!(reply["data"].is_object(), "the answer's body is kept: {reply:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_value_never_leaves_its_segment() {
    let orders = Orders::start();
    let daemon = orders.setup().start().await;
    for id in ["../customers/C-1001/orders", "ORD-10001/history", "ORD-10001?x=1", "..", "a%2fb"] {
        let reply = daemon.call("getOrder", &json!({ "order_id": id })).await;
        let refused = ["SCHEMA_VALIDATION_ERROR", "UPSTREAM_ERROR"].contains(&code(&reply));
        assert!(refused && reply["data"]["orders"].is_null(), "{id}: {reply:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_no_rule_allows_is_refused_and_recorded() {
    let orders = Orders::start();
    let daemon = orders.setup().edit("sandbox/orders.toml", &orders.port, "1").start().await;
    let reply = list(&daemon, json!({ "customer_id": "C-1001" })).await;
    assert_eq!(code(&reply), "EGRESS_DENIED", "{reply:#}");
    assert_eq!(reply["metadata"]["egress"][0]["allowed"], false);

    let script = "import urllib.request as r\nresult = r.urlopen('http://example.com/').status";
    let reply = daemon.call("python.run", &json!({ "code": script })).await;
    assert_eq!(code(&reply), "EGRESS_DENIED", "{reply:#}");
    let config = daemon.config();
    let line = ["ledger", "search", "--code", "EGRESS_DENIED", "--json", "--config", &config];
    let output = daemon.cli(&line);
    let told = String::from_utf8(output.stdout).unwrap();
    assert_eq!(told.lines().count(), 2, "{told}");
    assert!(told.contains("example.com"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_cut_short_is_recorded_with_its_container_and_its_attempts() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = silent.local_addr().unwrap().port().to_string();
    let daemon = Setup::new()
        .edit("openapi/orders.openapi.yaml", "18080", &port)
        .edit("sandbox/orders.toml", "18080", &port)
        .start()
        .await;
    let id = uuid::Uuid::new_v4().to_string();
    let arguments = json!({ "customer_id": "C-1001" }).to_string();
    let call = CallRequest { call_id: id.clone(), ..request("listCustomerOrders", &arguments) };
    let (mut caller, mut other) = (daemon.client().await, daemon.client().await);
    let cancel = async {
        let connection = silent.accept().await.unwrap();
        other.cancel(CancelRequest { call_id: id.clone() }).await.unwrap();
        connection
    };
    let (status, _connection) = tokio::join!(caller.call(call), cancel);
    assert_eq!(status.unwrap_err().code(), tonic::Code::Cancelled);
    let config = daemon.config();
    let line = ["ledger", "search", "--code", "CANCELLED", "--json", "--config", &config];
    let told = String::from_utf8(daemon.cli(&line).stdout).unwrap();
    let entry: Value = serde_json::from_str(told.lines().next().unwrap()).unwrap();
    let text = entry.to_string();
    let attempt = &entry["facts"]["run"]["egress"][0];
    assert_eq!(
        (&attempt["host"], attempt["port"].to_string()),
        (&json!("127.0.0.1"), port),
        "{text}"
    );
    assert!(text.contains("\"container\"") && text.contains("sha256:"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_down_is_an_error_of_the_upstream() {
    let orders = Orders::start();
    let daemon = orders.setup().start().await;
    drop(orders);
    let reply = list(&daemon, json!({ "customer_id": "C-1001" })).await;
    assert_eq!(code(&reply), "UPSTREAM_ERROR", "{reply:#}");
}

/// A document as large services publish them: many operations over a few shared schemas.
fn large_document(operations: usize) -> Value {
    let mut paths = serde_json::Map::new();
    for n in 0..operations / 3 {
        let body = json!({ "content": { "application/json": {
            "schema": { "$ref": format!("#/components/schemas/Thing{}", n % 40) } } } });
        let id = json!({ "name": "id", "in": "path", "required": true,
            "schema": { "type": "string", "maxLength": 64 } });
        let page = json!({ "name": "page", "in": "query",
            "schema": { "type": "integer", "minimum": 1, "maximum": 1000 } });
        let answers = json!({ "200": { "description": "ok" } });
        let operation = |verb: &str| format!("{verb}Thing{n}");
        paths.insert(
            format!("/area{n}/things"),
            json!({
            "get": { "operationId": operation("list"), "summary": format!("Lists things {n}."),
                "parameters": [page], "responses": answers },
            "post": { "operationId": operation("create"), "summary": format!("Makes thing {n}."),
                "requestBody": body, "responses": answers } }),
        );
        paths.insert(
            format!("/area{n}/things/{{id}}"),
            json!({
            "get": { "operationId": operation("get"), "summary": format!("Gives thing {n}."),
                "parameters": [id], "responses": answers } }),
        );
    }
    let thing = |n: usize| {
        json!({ "type": "object", "required": ["name"], "properties": {
        "name": { "type": "string", "minLength": 1 },
        "kind": { "type": "string", "enum": ["a", "b", format!("kind-{n}")] },
        "next": { "$ref": format!("#/components/schemas/Thing{}", n / 4 * 4 + (n + 1) % 4) },
        "parts": { "type": "array", "items": { "$ref": format!("#/components/schemas/Thing{n}") } } } })
    };
    let things = (0..40).map(|n| (format!("Thing{n}"), thing(n)));
    json!({ "openapi": "3.0.3", "info": { "title": "Large", "version": "1" },
        "servers": [{ "url": "http://127.0.0.1:1" }], "paths": paths,
        "components": { "schemas": things.collect::<serde_json::Map<_, _>>() } })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_document_is_imported_whole_while_the_daemon_answers() {
    const OPERATIONS: usize = 1500;
    let daemon = Setup::new().start().await;
    let mut client = daemon.client().await;
    let listed = async |client: &mut ToolServiceClient<_>, prefix: &str| {
        let mut asked =
            ListToolsRequest { page_size: 400, name_prefix: prefix.into(), ..Default::default() };
        let mut names = BTreeSet::new();
        loop {
            let page = client.list_tools(asked.clone()).await.unwrap().into_inner();
            for tool in page.tools {
                assert!(tool.input_schema_json.len() < 256 << 10, "{} is too large", tool.name);
                assert!(names.insert(tool.name), "a tool is listed twice");
            }
            asked.page_token = page.next_page_token;
            if asked.page_token.is_empty() {
                return names;
            }
        }
    };
    let before = listed(&mut client, "").await;
    let folder = daemon.setup.policies().join("openapi");
    let document = large_document(OPERATIONS);
    std::fs::write(folder.join("large.json"), document.to_string()).unwrap();
    let skip = daemon.logged();
    let source = "document = \"openapi/large.json\"\nprofile = \"orders\"\n";
    std::fs::write(folder.join("large.toml"), source).unwrap();

    let (url, mut slowest) =
        (format!("http://{}/healthz", daemon.address("metrics")), Duration::ZERO);
    let expected = format!("\"tools\":{}", before.len() + 1 + OPERATIONS);
    let mut answered = async |end: &Notify| {
        let mut tick = tokio::time::interval(Duration::from_millis(20));
        while end.notified().now_or_never().is_none() {
            tick.tick().await;
            let asked = Instant::now();
            assert_eq!(http(&url).await.0, 200);
            slowest = slowest.max(asked.elapsed());
        }
    };
    let (daemon, end) = (Arc::new(daemon), Notify::new());
    let follower = Arc::clone(&daemon);
    let loaded = async {
        let line = tokio::task::spawn_blocking(move || follower.log_line(skip, &expected)).await;
        end.notify_one();
        line.unwrap()
    };
    let (loaded, ()) = tokio::join!(loaded, answered(&end));
    assert!(loaded.contains("in force"), "{loaded}");
    assert!(slowest < Duration::from_secs(1), "health took {slowest:?} during the import");

    let after = listed(&mut client, "").await;
    let new: Vec<_> = after.difference(&before).collect();
    // Those that change something need a person; they are listed, since one may approve them.
    assert_eq!(new.len(), OPERATIONS, "{:?}", new.first());
    assert!(after.is_superset(&before));
    let reply = daemon.call("getThing7", &json!({ "id": 5 })).await;
    assert_eq!(code(&reply), "EGRESS_DENIED", "it is called like any other: {reply:#}");
    let reply = daemon.call("listThing7", &json!({ "page": 1001 })).await;
    assert_eq!(code(&reply), "SCHEMA_VALIDATION_ERROR", "{reply:#}");
}

/// A server that answers by the path: what it heard is kept.
struct Wild {
    port: u16,
    heads: Arc<Mutex<Vec<String>>>,
}

/// What the server does with one connection, once it has the head of a message.
type Act = fn(&str, &mut TcpStream, usize) -> std::io::Result<()>;

impl Wild {
    fn start(act: Act) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heads: Arc<Mutex<Vec<String>>> = Arc::default();
        let heard = Arc::clone(&heads);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (mut stream, heard) = (stream.unwrap(), Arc::clone(&heard));
                std::thread::spawn(move || {
                    let (mut head, mut byte) = (Vec::new(), [0]);
                    while !head.ends_with(b"\r\n\r\n") {
                        if !stream.read(&mut byte).is_ok_and(|read| read == 1) {
                            return;
                        }
                        head.push(byte[0]);
                    }
                    let head = String::from_utf8_lossy(&head).into_owned();
                    let count = {
                        let mut heads = heard.lock().unwrap();
                        heads.push(head.clone());
                        heads.len()
                    };
                    // A client that goes away is what some of the tests want.
                    drop(act(&head, &mut stream, count));
                });
            }
        });
        Self { port, heads }
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }

    /// A daemon with a tool `wild` that asks this server, and these lines in its manifest.
    async fn daemon(&self, method: &str, lines: &str) -> Daemon {
        let port = self.port.to_string();
        let manifest = format!(
            "description = 'Asks a server of the tests.'\nrisk = 'read'\nprofile = 'orders'\n\
             input_schema = {{ type = 'object', properties = {{ n = {{ type = 'integer' }} }} }}\n\
             http = {{ method = '{method}', url = 'http://127.0.0.1:{port}/wild' }}\n{lines}\n"
        );
        Setup::new()
            .policy("tools/wild.toml", &manifest)
            .edit("sandbox/orders.toml", "18080", &port)
            .start()
            .await
    }
}

fn respond(stream: &mut TcpStream, head: &str, body: &str) -> std::io::Result<()> {
    let length = body.len();
    write!(stream, "HTTP/1.1 {head}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_sent_again_with_the_same_key_where_its_source_says_so() {
    let wild = Wild::start(|_, stream, count| match count {
        1 => respond(stream, "503 Busy\r\nRetry-After: 0", "{\"try\":\"later\"}"),
        // Closed before a byte of an answer.
        2 => Ok(()),
        _ => respond(stream, "201 Created\r\nContent-Type: application/json", "{\"id\":7}"),
    });
    let retry = "[retry]\nattempts = 4\nbackoff = '5ms'\nkey_header = 'Idempotency-Key'";
    let daemon = wild.daemon("POST", retry).await;
    let reply = daemon.call("wild", &json!({ "n": 1 })).await;
    assert_eq!(code(&reply), "SUCCESS", "{reply:#}");
    assert_eq!((&reply["data"]["id"], &reply["metadata"]["http_status"]), (&json!(7), &json!(201)));
    let keys: BTreeSet<String> = wild
        .heads()
        .iter()
        .map(|head| {
            let head = head.to_lowercase();
            let (_, rest) = head.split_once("idempotency-key: ").unwrap();
            rest.split("\r\n").next().unwrap().to_owned()
        })
        .collect();
    let id = reply["metadata"]["call_id"].as_str().unwrap();
    assert_eq!((wild.heads().len(), keys), (3, BTreeSet::from([id.to_owned()])));
    let tried = reply["metadata"]["egress"].as_array().unwrap();
    let statuses: Vec<&Value> = tried.iter().map(|attempt| &attempt["status"]).collect();
    assert_eq!(statuses, [&json!(503), &Value::Null, &json!(201)], "{reply:#}");

    let config = daemon.config();
    let shown = daemon.cli(&["ledger", "show", "--json", "--config", &config, id]);
    let entry: Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(entry["facts"]["run"]["egress"].as_array().unwrap().len(), 3, "{entry:#}");
    assert_eq!(entry["facts"]["run"]["egress"][0]["status"], 503);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_word_of_its_source_a_call_is_sent_once() {
    let wild = Wild::start(|_, stream, _| respond(stream, "503 Busy\r\nRetry-After: 0", ""));
    let daemon = wild.daemon("POST", "[retry]\nattempts = 5").await;
    let reply = daemon.call("wild", &json!({})).await;
    assert_eq!((code(&reply), wild.heads().len()), ("UPSTREAM_ERROR", 1), "no key, not idempotent");
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_are_fetched_where_the_source_says_so() {
    let wild = Wild::start(|head, stream, _| {
        let page: u32 = match head.split_once("page=") {
            Some((_, rest)) => rest.split([' ', '&']).next().unwrap().parse().unwrap(),
            None => 1,
        };
        let next = format!("/wild?n=5&page={}", page + 1);
        let body = json!({"rows": [page * 10, page * 10 + 1], "next": next}).to_string();
        respond(stream, "200 OK\r\nContent-Type: application/json", &body)
    });
    let pages = "[pages]\nurl = '/next'\nitems = '/rows'\nmax_pages = 3";
    let daemon = wild.daemon("GET", pages).await;
    let reply = daemon.call("wild", &json!({ "n": 5 })).await;
    assert_eq!(code(&reply), "SUCCESS", "{reply:#}");
    assert_eq!(reply["data"]["rows"], json!([10, 11, 20, 21, 30, 31]));
    let metadata = &reply["metadata"];
    assert_eq!((&metadata["pages"], &metadata["output_truncated"]), (&json!(3), &json!(true)));
    assert_eq!(metadata["notes"][0]["kind"], "more_pages", "{reply:#}");
    let next = format!("http://127.0.0.1:{}/wild?n=5&page=4", wild.port);
    assert_eq!((&metadata["next_link"], wild.heads().len()), (&json!(next), 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_without_end_gives_what_came_until_the_limit() {
    let wild = Wild::start(|head, stream, _| {
        if head.contains("n=2") {
            write!(stream, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n[")?;
        } else if head.contains("n=1") {
            write!(stream, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")?;
        } else {
            write!(stream, "HTTP/1.1 200 OK\r\n\r\n")?;
            // Silence, until the other side is gone.
            return stream.read(&mut [0]).map(drop);
        }
        loop {
            let piece = if head.contains("n=2") { "1," } else { "data: tick\n\n" };
            stream.write_all(piece.as_bytes())?;
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    let daemon = wild.daemon("GET", "").await;
    let daemon_ref = &daemon;
    let ask = |n: u64| async move { daemon_ref.call("wild", &json!({ "n": n })).await };
    let (events, drip, silence) = tokio::join!(ask(1), ask(2), ask(3));
    for reply in [&events, &drip, &silence] {
        assert_eq!(code(reply), "TOOL_TIMEOUT", "{reply:#}");
        assert_eq!(reply["metadata"]["http_status"], 200, "{reply:#}");
        assert_eq!(reply["metadata"]["output_truncated"], true);
    }
    assert!(events["data"].as_array().unwrap().len() > 5, "{events:#}");
    assert_eq!(events["data"][0]["data"], "tick");
    assert!(drip["data"].as_str().unwrap().starts_with("[1,1,"), "{drip:#}");
    assert!(silence["data"].is_null());
    // Nothing is held on to: far more calls than there are places go through.
    let more = futures::future::join_all((0..6).map(|_| ask(1))).await;
    assert!(more.iter().all(|reply| code(reply) == "TOOL_TIMEOUT"), "{more:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_breaks_off_is_an_error_with_what_came() {
    let wild = Wild::start(|_, stream, _| {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nContent-Length: 500";
        write!(stream, "{head}\r\n\r\n{{\"n\":1}}\n{{\"n\":2}}\n{{\"n\"")
    });
    let daemon = wild.daemon("GET", "").await;
    let reply = daemon.call("wild", &json!({})).await;
    assert_eq!(code(&reply), "UPSTREAM_ERROR", "{reply:#}");
    assert_eq!(reply["data"], json!([{"n": 1}, {"n": 2}]));
    assert!(reply["error"]["message"].as_str().unwrap().contains("broke off"), "{reply:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_was_read_and_then_lost_is_not_to_be_sent_again() {
    // Closed without a byte of an answer.
    let wild = Wild::start(|_, _, _| Ok(()));
    let port = wild.port.to_string();
    let tool = |risk: &str| {
        format!(
            "description = 'Asks a server of the tests.'\nrisk = '{risk}'\nprofile = 'orders'\n\
             input_schema = {{ type = 'object' }}\n\
             http = {{ method = 'POST', url = 'http://127.0.0.1:{port}/wild' }}\n"
        )
    };
    let daemon = Setup::new()
        .policy("tools/wild.toml", &tool("read"))
        .policy("tools/once.toml", &tool("write"))
        .edit("sandbox/orders.toml", "18080", &port)
        .start()
        .await;
    let once = daemon.call("once", &json!({})).await;
    assert_eq!((code(&once), wild.heads().len()), ("UPSTREAM_ERROR", 1), "{once:#}");
    assert_eq!(once["error"]["retryable"], false);
    assert_eq!(once["error"]["details"]["may_have_run"], true);
    let twice = daemon.call("wild", &json!({})).await;
    assert_eq!((code(&twice), &twice["error"]["retryable"]), ("UPSTREAM_ERROR", &json!(true)));
    // What was never sent can be.
    let daemon = Setup::new()
        .policy("tools/once.toml", &tool("write").replace(&port, "1"))
        .edit("sandbox/orders.toml", "18080", "1")
        .start()
        .await;
    let down = daemon.call("once", &json!({})).await;
    assert_eq!((code(&down), &down["error"]["retryable"]), ("UPSTREAM_ERROR", &json!(true)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_that_leads_nowhere_is_named() {
    let wild = Wild::start(|head, stream, _| {
        let place = if head.contains("n=1") { "file:///etc/hostname" } else { "/wild?n=2" };
        respond(stream, &format!("302 Found\r\nLocation: {place}"), "")
    });
    let daemon = wild.daemon("GET", "").await;
    for (n, sent, words) in [
        (
            1,
            1,
            "redirect to `file:///etc/hostname` refused: it is neither http nor https".to_owned(),
        ),
        (
            2,
            7,
            format!("more than 5 redirects; the last led to `http://127.0.0.1:{}/wild`", wild.port),
        ),
    ] {
        let reply = daemon.call("wild", &json!({ "n": n })).await;
        assert_eq!((code(&reply), wild.heads().len()), ("UPSTREAM_ERROR", sent), "{reply:#}");
        assert!(reply["error"]["message"].as_str().unwrap().contains(&words), "{reply:#}");
        assert_eq!(
            (&reply["error"]["details"]["reason"], &reply["error"]["retryable"]),
            (&json!(words), &json!(false))
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_cached_unless_the_upstream_forbids_it() {
    let wild = Wild::start(|head, stream, count| {
        let word = if head.contains("n=1") { "no-store" } else { "max-age=0" };
        let head = format!("200 OK\r\nContent-Type: application/json\r\nCache-Control: {word}");
        respond(stream, &head, &format!("{{\"count\":{count}}}"))
    });
    let daemon = wild.daemon("GET", "cache_ttl = '5m'").await;
    for (n, counts) in [(1, [1, 2]), (2, [3, 3])] {
        for count in counts {
            let reply = daemon.call("wild", &json!({ "n": n })).await;
            assert_eq!(reply["data"]["count"], count, "{reply:#}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_page_that_is_too_long_is_told_with_what_came() {
    let wild = Wild::start(|_, stream, _| {
        let body = format!("{{\"rows\":[\"{}\"]}}", "x".repeat(3 << 20));
        respond(stream, "200 OK\r\nContent-Type: application/json", &body)
    });
    let daemon = wild.daemon("GET", "[pages]\nlink = true\nitems = '/rows'").await;
    let reply = daemon.call("wild", &json!({})).await;
    assert_eq!(code(&reply), "OUTPUT_LIMIT", "{}", reply["error"]);
    assert_eq!(reply["metadata"]["http_status"], 200);
    assert!(reply["data"].as_str().unwrap().starts_with("{\"rows\":[\"xxx"));
}

/// An operation with an API key and a free object in its query.
const FINDER: &str = "openapi: 3.1.0
info: {title: Finder, version: '1'}
security: [{gate: []}]
paths:
  /find:
    get:
      operationId: find
      summary: Finds things by any of their fields.
      parameters:
        - {name: api_key, in: query, required: true, schema: {type: string}}
        - {name: filter, in: query, schema: {type: object, additionalProperties: {type: string}}}
components: {securitySchemes: {gate: {type: apiKey, in: query, name: api_key}}}
";

#[tokio::test(flavor = "multi_thread")]
async fn no_member_of_a_free_object_is_sent_as_the_key_of_the_api() {
    let wild = Wild::start(|_, stream, _| {
        respond(stream, "200 OK\r\nContent-Type: application/json", "{\"found\":1}")
    });
    let port = wild.port.to_string();
    let source = format!(
        "document = 'openapi/finder.yaml'\nprofile = 'orders'\nserver = 'http://127.0.0.1:{port}'\n"
    );
    let daemon = Setup::new()
        .policy("openapi/finder.yaml", FINDER)
        .policy("openapi/finder.toml", &source)
        .edit("sandbox/orders.toml", "18080", &port)
        .start()
        .await;
    for name in ["api_key", "API%5Fkey", "api_key[]"] {
        let arguments = json!({ "filter": { name: "mine" } });
        let reply = daemon.call("find", &arguments).await;
        assert_eq!(code(&reply), "SCHEMA_VALIDATION_ERROR", "{reply:#}");
        let violation = &reply["error"]["details"]["violations"][0];
        assert_eq!(violation["pointer"], "/filter", "{reply:#}");
        assert!(violation["message"].as_str().unwrap().contains("`api_key`"), "{reply:#}");
        let asked = request("find", &arguments.to_string());
        let told = daemon.client().await.validate(asked).await.unwrap().into_inner();
        assert!(!told.valid, "it is told before the call: {told:#?}");
    }
    assert_eq!(wild.heads(), Vec::<String>::new());
    let reply = daemon.call("find", &json!({ "filter": { "colour": "red" } })).await;
    assert_eq!(reply["data"]["found"], 1, "{reply:#}");
    assert!(wild.heads()[0].starts_with("GET /find?colour=red "), "{:?}", wild.heads());
}
