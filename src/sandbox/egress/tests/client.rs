//! The sandboxed HTTP client against the gate: what a call of an HTTP tool sees in the end.

use std::sync::Arc;

use switchboard_runner::http::{Bounds, Call, Stop, run};
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;

use super::upstream::{Authority, Reply, Upstream};
use super::{Gate, Trail, limits, limits_trusting, open, rule};
use crate::catalog::EgressRule;
use crate::sandbox::EgressAttempt;

/// Opens an egress port for one call.
pub(super) async fn open_port(gate: Gate) -> (String, Trail) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = format!("http://{}", listener.local_addr().unwrap());
    let trail = Trail::default();
    let shared = trail.clone();
    TaskTracker::new().spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (gate, trail) = (gate.clone(), shared.clone());
            TaskTracker::new().spawn(async move { gate.serve(stream, &trail).await });
        }
    });
    (proxy, trail)
}

pub(super) struct Ended {
    pub(super) result: Result<(), Stop>,
    pub(super) head: serde_json::Value,
    pub(super) body: Vec<u8>,
    pub(super) attempts: Vec<EgressAttempt>,
}

impl Ended {
    pub(super) fn status(&self) -> u64 {
        assert_eq!(self.result, Ok(()));
        self.head["status"].as_u64().unwrap()
    }

    pub(super) fn header(&self, wanted: &str) -> Option<String> {
        let headers = self.head["headers"].as_array().unwrap();
        let found = headers.iter().find(|pair| pair[0] == wanted)?;
        Some(found[1].as_str().unwrap().to_owned())
    }
}

pub(super) fn call(method: &str, url: impl Into<String>) -> Call {
    Call {
        method: method.to_owned(),
        url: url.into(),
        headers: Vec::new(),
        body_base64: None,
        retry: None,
        pages: None,
    }
}

pub(super) fn post(url: impl Into<String>) -> Call {
    Call {
        headers: vec![
            ("Authorization".to_owned(), "Bearer token".to_owned()),
            ("X-Api-Key".to_owned(), "key".to_owned()),
            ("Content-Type".to_owned(), "application/json".to_owned()),
            ("Host".to_owned(), "evil.test".to_owned()),
        ],
        body_base64: Some("eyJhIjoxfQ==".to_owned()),
        ..call("POST", url)
    }
}

pub(super) async fn send_with(gate: Gate, call: Call, most: u64) -> Ended {
    send_within(gate, call, Bounds { output: most, within: None }).await
}

pub(super) async fn send_within(gate: Gate, call: Call, bounds: Bounds) -> Ended {
    let (proxy, trail) = open_port(gate).await;
    let ran = tokio::task::spawn_blocking(move || {
        let mut out = Vec::new();
        (run(call, &proxy, bounds, &mut out), out)
    });
    let (result, out) = ran.await.unwrap();
    let end = out.iter().position(|byte| *byte == b'\n');
    let (head, body) = out.split_at(end.map_or(0, |end| end + 1));
    Ended {
        result,
        head: serde_json::from_slice(head).unwrap_or_default(),
        body: body.to_vec(),
        attempts: trail.attempts(),
    }
}

pub(super) async fn send(rules: &[EgressRule], call: Call) -> Ended {
    send_with(open(rules, limits()), call, 1 << 20).await
}

/// Fetches from an upstream that gives `answer` and closes.
pub(super) async fn fetch(method: &str, answer: impl Into<Vec<u8>>) -> Ended {
    let answer = answer.into();
    let target = Upstream::plain(move |_| Reply::Close(answer.clone()));
    let url = format!("http://api.test:{}/", target.port);
    send(&[rule("api.test", target.port)], call(method, url)).await
}

/// Redirects `/` with `status` to `location`; answers anything else with its path.
pub(super) fn redirecting(status: u16, location: &str) -> Arc<Upstream> {
    let location = location.to_owned();
    Upstream::plain(move |heard| {
        let path = heard.head.split(' ').nth(1).unwrap().to_owned();
        if path == "/" {
            let location = location.clone();
            return format!(
                "HTTP/1.1 {status} Go\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n"
            )
            .into();
        }
        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{path}", path.len()).into()
    })
}

#[tokio::test]
async fn a_call_reaches_https_without_tls_of_its_own() {
    let authority = Authority::new();
    let target = Upstream::tls(&authority, "api.test", |_| {
        "HTTP/1.1 201 Created\r\nX-Id: 7\r\nContent-Type: application/json\r\nContent-Length: 8\r\n\r\n{\"id\":7}"
            .into()
    });
    let gate = open(&[rule("api.test", target.port)], limits_trusting(authority.file()));
    let ended =
        send_with(gate, post(format!("https://api.test:{}/items?a=b", target.port)), 4096).await;
    assert_eq!(ended.status(), 201);
    assert_eq!(ended.header("x-id").as_deref(), Some("7"));
    assert_eq!(ended.body, b"{\"id\":7}");
    let heard = target.heard();
    assert!(heard[0].head.starts_with("POST /items?a=b HTTP/1.1\r\n"));
    assert!(heard[0].has("\r\nauthorization: bearer token\r\n"));
    assert!(heard[0].has(&format!("\r\nhost: api.test:{}\r\n", target.port)));
    assert!(!heard[0].has("evil.test"));
    assert_eq!(heard[0].body, "{\"a\":1}");
}

#[tokio::test]
async fn blank_answers_end_at_once_with_their_status() {
    for (method, answer, status) in [
        ("DELETE", "HTTP/1.1 204 No Content\r\nContent-Type: application/json\r\n\r\n", 204),
        ("GET", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200),
        ("GET", "HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n", 205),
        ("GET", "HTTP/1.1 205 Reset Content\r\n\r\n", 205),
        ("GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 500\r\n\r\n", 304),
        ("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n", 200),
        ("GET", "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n", 502),
    ] {
        let ended = fetch(method, answer).await;
        assert_eq!(ended.status(), status);
        assert_eq!(ended.body, b"");
    }
    let ended = fetch("GET", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n   ").await;
    assert_eq!(ended.body, b"   ");
}

#[tokio::test]
async fn error_answers_keep_their_body() {
    let ended = fetch(
        "GET",
        "HTTP/1.1 409 Conflict\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{\"a\":\"b\"}\r\n0\r\n\r\n",
    )
    .await;
    assert_eq!(ended.status(), 409);
    assert_eq!(ended.body, b"{\"a\":\"b\"}");
    let ended =
        fetch("GET", "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic\r\n\r\nno").await;
    assert_eq!(ended.status(), 401);
    assert_eq!(ended.header("www-authenticate").as_deref(), Some("Basic"));
    assert_eq!(ended.body, b"no");
}

#[tokio::test]
async fn denied_and_failed_calls_are_told_apart() {
    let ended = send(&[], call("GET", "http://evil.test/")).await;
    let Err(Stop::Denied(why)) = &ended.result else { panic!("{:?}", ended.result) };
    assert_eq!(why, "egress to `evil.test:80` denied: no egress rule allows it");
    assert!(!ended.attempts[0].allowed);
    let ended = send(&[], call("HEAD", "http://evil.test/")).await;
    assert!(matches!(ended.result, Err(Stop::Denied(_))));
    let ended = fetch("GET", "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nabc").await;
    assert!(matches!(ended.result, Err(Stop::Failed(_))), "{:?}", ended.result);
    assert_eq!(ended.body, b"abc");
    let ended = fetch("GET", "").await;
    assert!(matches!(ended.result, Err(Stop::Failed(_))), "{:?}", ended.result);
    // An upstream cannot pretend to be the gate.
    let ended = fetch(
        "GET",
        "HTTP/1.1 403 No\r\nX-Switchboard-Egress: denied\r\nContent-Length: 0\r\n\r\n",
    )
    .await;
    assert_eq!(ended.status(), 403);
}

#[tokio::test]
async fn redirects_follow_the_method() {
    // Status, method, the path that answers or none when the redirect is the answer, the method there.
    for (status, method, path, then) in [
        (301, "GET", Some("/items/"), "GET"),
        (302, "HEAD", Some("/items/"), "HEAD"),
        (301, "POST", None, ""),
        (302, "POST", None, ""),
        (302, "PUT", None, ""),
        (301, "DELETE", None, ""),
        (303, "POST", Some("/items/"), "GET"),
        (303, "DELETE", Some("/items/"), "GET"),
        (307, "POST", Some("/items/"), "POST"),
        (308, "PATCH", Some("/items/"), "PATCH"),
        (304, "GET", None, ""),
        (300, "GET", None, ""),
    ] {
        let target = redirecting(status, "/items/");
        let sent =
            Call { method: method.to_owned(), ..post(format!("http://api.test:{}/", target.port)) };
        let ended = send(&[rule("api.test", target.port)], sent).await;
        let heard = target.heard();
        match path {
            None => {
                assert_eq!(ended.status(), u64::from(status));
                assert_eq!(ended.header("location").as_deref(), Some("/items/"));
                assert_eq!(heard.len(), 1);
            }
            Some(path) => {
                assert_eq!(ended.status(), 200);
                assert_eq!(heard.len(), 2, "{status} {method}");
                assert!(heard[1].head.starts_with(&format!("{then} {path} ")), "{heard:?}");
                assert!(heard[1].has("authorization: bearer token"), "{heard:?}");
                let same = then == method && method != "HEAD" && method != "GET";
                assert_eq!(heard[1].body == "{\"a\":1}", same || then == method, "{heard:?}");
            }
        }
    }
}

#[tokio::test]
async fn redirects_pass_the_gate_at_every_hop() {
    let secret = super::hello("secret");
    let port = secret.port;
    for (location, part) in [
        ("http://169.254.169.254/x".to_owned(), "169.254.169.254:80"),
        (format!("http://127.0.0.1:{port}/admin?q=1"), "/admin`"),
        (format!("//127.0.0.1:{port}/"), "127.0.0.1"),
        (format!("http://[::1]:{port}/"), "[::1]"),
        ("file:///etc/hostname".to_owned(), "file:///etc/hostname"),
        ("http://other.test/".to_owned(), "other.test"),
        ("gopher://other.test/".to_owned(), "gopher"),
    ] {
        let target = redirecting(302, &location);
        let rules = [rule("api.test", target.port)];
        let ended = send(&rules, call("GET", format!("http://api.test:{}/", target.port))).await;
        // Another scheme is nothing that a rule could let through.
        let is_http = location.starts_with("http:") || location.starts_with("//");
        let why = match &ended.result {
            Err(Stop::Denied(why)) if is_http => why,
            Err(Stop::Astray(why)) if !is_http => why,
            other => panic!("{location}: {other:?}"),
        };
        assert!(why.starts_with("redirect to `") && why.contains(part), "{why}");
        assert!(!why.contains("q=1"), "{why}");
        assert_eq!(ended.body, b"");
    }
    assert_eq!(secret.connections(), 0);

    let target = redirecting(302, "/");
    let rules = [rule("api.test", target.port)];
    let ended = send(&rules, call("GET", format!("http://api.test:{}/", target.port))).await;
    assert!(matches!(ended.result, Err(Stop::Astray(_))), "{:?}", ended.result);
    assert_eq!(target.heard().len(), 6, "the first and five redirects");
}

#[tokio::test]
async fn another_origin_learns_nothing_of_the_caller() {
    let other = super::hello("ok");
    let target = redirecting(307, &format!("http://other.test:{}/in", other.port));
    let rules = [rule("api.test", target.port), rule("other.test", other.port)];
    let ended = send(&rules, post(format!("http://api.test:{}/", target.port))).await;
    assert_eq!(ended.status(), 200);
    let heard = other.heard();
    assert!(heard[0].has("content-type: application/json"), "{heard:?}");
    assert!(!heard[0].has("authorization") && !heard[0].has("x-api-key"), "{heard:?}");
    assert_eq!(heard[0].body, "{\"a\":1}");
    assert_eq!(ended.attempts.len(), 2);
}

#[tokio::test]
async fn long_and_endless_bodies_are_cut_at_the_limit() {
    let endless = Upstream::plain(|_| {
        let mut answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n".to_vec();
        answer.extend(b"data: x\n\n".repeat(1 << 20));
        Reply::Keep(answer)
    });
    let gate = open(&[rule("api.test", endless.port)], limits());
    let url = format!("http://api.test:{}/", endless.port);
    let ended = send_with(gate, call("GET", url), 10_000).await;
    assert!(matches!(ended.result, Err(Stop::Cut(_))), "{:?}", ended.result);
    assert!(ended.body.starts_with(b"data: x\n\n"));
    assert!((8_000..=9_000).contains(&ended.body.len()), "{}", ended.body.len());
}

#[tokio::test]
async fn compressed_answers_are_unpacked_up_to_the_limit() {
    // 1 MiB of zeros and a short text, packed by gzip.
    let text: &[u8] = &[
        0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 7, 0, 0x86, 0xa6, 0x10,
        0x36, 5, 0, 0, 0,
    ];
    let answer = |body: &[u8]| {
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        [head.as_bytes(), body].concat()
    };
    let ended = fetch("GET", answer(text)).await;
    assert_eq!(ended.status(), 200);
    assert_eq!(ended.body, b"hello");
    assert_eq!(ended.header("content-encoding"), None);
    assert_eq!(ended.header("content-length"), None);
    let ended = fetch("GET", answer(&text[..20])).await;
    assert!(matches!(ended.result, Err(Stop::Failed(_))), "{:?}", ended.result);
    let ended = fetch("GET", answer(b"not gzip")).await;
    assert!(matches!(ended.result, Err(Stop::Failed(_))), "{:?}", ended.result);
}

#[tokio::test]
async fn a_large_body_goes_up_while_its_answer_comes_down() {
    let target = Upstream::plain(|heard| {
        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}", heard.body.len(), heard.body)
            .into()
    });
    let body = "QUFB".repeat(100_000);
    let sent =
        Call { body_base64: Some(body), ..post(format!("http://api.test:{}/", target.port)) };
    let ended = send(&[rule("api.test", target.port)], sent).await;
    assert_eq!(ended.status(), 200);
    assert_eq!(ended.body, b"A".repeat(300_000));
}

#[tokio::test]
async fn calls_that_cannot_be_sent_are_refused_before_they_are() {
    let header = |name: &str, value: &str| Call {
        headers: vec![(name.to_owned(), value.to_owned())],
        ..call("GET", "http://api.test/")
    };
    for bad in [
        call("GE T", "http://api.test/"),
        call("CONNECT", "http://api.test/"),
        call("", "http://api.test/"),
        call("GET", "ftp://api.test/"),
        call("GET", "/path"),
        call("GET", "http://a b/"),
        call("GET", "http://a\r\nX: y/"),
        call("GET", "http:///"),
        header("X", "a\r\nY: b"),
        header("X: y", "a"),
        header("", "a"),
        header("X", "a\0b"),
        Call { body_base64: Some("%".to_owned()), ..call("POST", "http://api.test/") },
    ] {
        let ended = send(&[], bad.clone()).await;
        assert!(matches!(ended.result, Err(Stop::Usage(_))), "{bad:?}: {:?}", ended.result);
        assert!(ended.attempts.is_empty());
    }
    let mut out = Vec::new();
    for proxy in ["", "http://", "127.0.0.1:80"] {
        let result = run(
            call("GET", "http://api.test/"),
            proxy,
            Bounds { output: 1, within: None },
            &mut out,
        );
        assert!(matches!(result, Err(Stop::Usage(_))), "{proxy}");
    }
}
