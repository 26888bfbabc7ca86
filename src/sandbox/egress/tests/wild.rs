//! Upstreams as they are in the wild, seen by the sandboxed client through the gate: compressed and
//! lying bodies, refusals that pass, results in pages.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_runner::http::{Bounds, Call, Follow, Pages, Retry, Stop};

use super::client::{Ended, call, fetch, post, send, send_with, send_within};
use super::upstream::{Reply, Upstream};
use super::{limits, open, rule};

/// What `hello, compressed world` is in each coding.
const CODED: [(&str, &str); 5] = [
    ("br", "1b1600f82541c8ca72904d80c9122eea484e3fe81d"),
    ("zstd", "28b52ffd0458b9000068656c6c6f2c20636f6d7072657373656420776f726c6400371116"),
    ("deflate", "789ccb48cdc9c9d75148cecf2d284a2d2e4e4d5128cf2fca49010068b208de"),
    ("deflate", "cb48cdc9c9d75148cecf2d284a2d2e4e4d5128cf2fca490100"),
    (
        "gzip",
        "1f8b0800000000000003cb48cdc9c9d75148cecf2d284a2d2e4e4d5128cf2fca490100089e343517000000",
    ),
];
/// 8 MiB of zeros in brotli.
const BOMB: &str = "9bffff7ff82700e2b14020f7fe0f";
/// A zstd frame with a window of 128 MiB.
const WIDE: &str = "28b52ffd008845000010000001003f012c";

fn coded(coding: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

#[tokio::test]
async fn every_usual_coding_is_undone_and_none_is_asked_for() {
    for (coding, body) in CODED {
        let ended = fetch("GET", coded(coding, &hex::decode(body).unwrap())).await;
        assert_eq!(ended.status(), 200, "{coding}");
        assert_eq!(ended.body, b"hello, compressed world", "{coding}");
        assert_eq!(ended.header("content-encoding"), None);
        let empty = fetch("GET", coded(coding, b"")).await;
        assert_eq!((empty.status(), empty.body.len()), (200, 0), "{coding}");
    }
    let target = super::hello("ok");
    let url = format!("http://api.test:{}/", target.port);
    send(&[rule("api.test", target.port)], call("GET", url)).await;
    assert!(target.heard()[0].has("\r\naccept-encoding: identity\r\n"));
}

#[tokio::test]
async fn a_bomb_is_cut_at_the_limit() {
    let gzip = {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        std::io::Write::write_all(&mut packed, &vec![0; 8 << 20]).unwrap();
        packed.finish().unwrap()
    };
    for (coding, body) in [("gzip", gzip), ("br", hex::decode(BOMB).unwrap())] {
        assert!(body.len() < 10_000);
        let answer = coded(coding, &body);
        let target = Upstream::plain(move |_| Reply::Close(answer.clone()));
        let gate = open(&[rule("api.test", target.port)], limits());
        let url = format!("http://api.test:{}/", target.port);
        let ended = send_with(gate, call("GET", url), 100_000).await;
        assert!(matches!(ended.result, Err(Stop::Cut(_))), "{coding}: {:?}", ended.result);
        assert!((90_000..100_000).contains(&ended.body.len()), "{}", ended.body.len());
    }
}

#[tokio::test]
async fn a_coding_that_is_a_lie_or_not_understood_is_told() {
    let plain = b"{\"a\":1}";
    for (coding, body) in [
        ("gzip", plain.to_vec()),
        ("br", b"\xff\xff\xff\xff".to_vec()),
        ("zstd", plain.to_vec()),
        ("zstd", hex::decode(WIDE).unwrap()),
        ("gzip, gzip", hex::decode(CODED[4].1).unwrap()),
        ("br, gzip", hex::decode(CODED[4].1).unwrap()),
        ("gzip\r\nContent-Encoding: gzip", hex::decode(CODED[4].1).unwrap()),
        ("compress", plain.to_vec()),
        ("gzip", hex::decode(CODED[4].1.get(..60).unwrap()).unwrap()),
    ] {
        let ended = fetch("GET", coded(coding, &body)).await;
        assert!(matches!(ended.result, Err(Stop::Failed(_))), "{coding}: {:?}", ended.result);
        assert!(ended.body.len() < 30, "{coding}");
    }
    for coding in ["identity", "", "utf-8", "none"] {
        let ended = fetch("GET", coded(coding, plain)).await;
        assert_eq!((ended.status(), &ended.body[..]), (200, &plain[..]), "{coding}");
    }
}

#[tokio::test]
async fn chunks_of_any_size_are_put_together() {
    let body: String = (0..3000).map(|n| format!("1\r\n{}\r\n", n % 10)).collect();
    let answer = format!(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{body}4\r\nlast\r\n0\r\n\r\n"
    );
    let ended = fetch("GET", answer.clone()).await;
    assert_eq!((ended.status(), ended.body.len()), (200, 3004));
    assert!(ended.body.starts_with(b"0123456789012") && ended.body.ends_with(b"last"));
    let broken = fetch("GET", answer.replace("4\r\nlast", "zz\r\nlast")).await;
    assert!(matches!(broken.result, Err(Stop::Failed(_))), "{:?}", broken.result);
    assert!(ended.body.starts_with(&broken.body) && broken.body.len() > 1000, "what came is kept");
}

/// Gives these answers in turn, the last one for ever.
fn answering(answers: &[&str]) -> Arc<Upstream> {
    let answers: Vec<String> = answers.iter().map(|&answer| answer.to_owned()).collect();
    let given = AtomicUsize::new(0);
    Upstream::plain(move |_| {
        let at = given.fetch_add(1, Ordering::SeqCst).min(answers.len() - 1);
        Reply::Close(answers[at].clone().into_bytes())
    })
}

fn plain(status: u16, more: &str) -> String {
    format!("HTTP/1.1 {status} X\r\n{more}Content-Length: 2\r\n\r\n{:02}", status % 100)
}

fn retrying(target: &Upstream, attempts: u32) -> Call {
    let retry = Retry { attempts, backoff_ms: 2, longest_ms: 5 };
    Call { retry: Some(retry), ..post(format!("http://api.test:{}/", target.port)) }
}

async fn try_with(target: &Upstream, call: Call, within: Option<u64>) -> Ended {
    let gate = open(&[rule("api.test", target.port)], limits());
    let within = within.map(Duration::from_millis);
    send_within(gate, call, Bounds { output: 1 << 20, within }).await
}

#[tokio::test]
async fn what_passes_is_tried_again_as_often_as_declared() {
    let busy = plain(503, "");
    for (answers, attempts, status, heard) in [
        (vec![busy.as_str(), &busy, &plain(200, "")], 3, 200, 3),
        (vec![&busy, &plain(200, "")], 1, 503, 1),
        (vec![&busy], 2, 503, 2),
        (vec![&plain(429, "Retry-After: 0\r\n"), &plain(201, "")], 2, 201, 2),
        (vec![&plain(502, ""), &plain(504, ""), &plain(204, "")], 5, 204, 3),
        // The upstream closes before a byte of an answer.
        (vec!["", &plain(200, "")], 2, 200, 2),
        (vec![&plain(500, ""), &plain(200, "")], 3, 500, 1),
        (vec![&plain(404, ""), &plain(200, "")], 3, 404, 1),
    ] {
        let target = answering(&answers);
        let ended = try_with(&target, retrying(&target, attempts), None).await;
        assert_eq!(ended.status(), status, "{answers:?}");
        assert_eq!(target.heard().len(), heard, "{answers:?}");
        assert!(target.heard().iter().all(|one| one.body == "{\"a\":1}"), "the same each time");
        assert_eq!(ended.attempts.len(), heard, "each is on the trail");
        assert_eq!(ended.attempts.last().unwrap().status.map(u64::from), Some(status));
    }
}

#[tokio::test]
async fn an_answer_that_began_is_never_asked_for_again() {
    let begun = "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nabc";
    let target = answering(&[begun, &plain(200, "")]);
    let ended = try_with(&target, retrying(&target, 5), None).await;
    assert!(matches!(ended.result, Err(Stop::Failed(_))), "{:?}", ended.result);
    assert_eq!((&ended.body[..], target.heard().len()), (&b"abc"[..], 1));

    let target = answering(&[&plain(200, "")]);
    let refused = send_within(
        open(&[], limits()),
        retrying(&target, 5),
        Bounds { output: 1 << 20, within: None },
    )
    .await;
    assert!(matches!(refused.result, Err(Stop::Denied(_))), "{:?}", refused.result);
    assert_eq!(refused.attempts.len(), 1, "a denial does not pass");
}

#[tokio::test]
async fn a_wait_that_does_not_fit_is_not_begun() {
    let far = plain(503, "Retry-After: 3600\r\n");
    let target = answering(&[&far, &plain(200, "")]);
    let ended = try_with(&target, retrying(&target, 5), Some(60_000)).await;
    assert_eq!(ended.status(), 503);
    assert_eq!(ended.header("retry-after").as_deref(), Some("3600"));
    assert_eq!(target.heard().len(), 1);
    let date =
        "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nRetry-After: Sun, 06 Nov 1994 09:49:37 GMT\r\n";
    let target = answering(&[&plain(429, date), &plain(200, "")]);
    let ended = try_with(&target, retrying(&target, 5), Some(60_000)).await;
    assert_eq!((ended.status(), target.heard().len()), (429, 1));
    let past = date.replace("09:49:37", "07:49:37");
    let target = answering(&[&plain(429, &past), &plain(200, "")]);
    let ended = try_with(&target, retrying(&target, 5), Some(60_000)).await;
    assert_eq!((ended.status(), target.heard().len()), (200, 2));
}

#[tokio::test]
async fn another_origin_is_asked_once_as_it_gets_no_key() {
    let other = answering(&[&plain(503, ""), &plain(200, "")]);
    let to = format!("Location: http://other.test:{}/in\r\n", other.port);
    let target = answering(&[&plain(307, &to)]);
    let mut keyed = retrying(&target, 5);
    keyed.headers.push(("Idempotency-Key".to_owned(), "k".to_owned()));
    let rules = [rule("api.test", target.port), rule("other.test", other.port)];
    let bounds = Bounds { output: 1 << 20, within: None };
    let ended = send_within(open(&rules, limits()), keyed, bounds).await;
    assert_eq!((ended.status(), other.heard().len()), (503, 1));
    assert!(target.heard()[0].has("idempotency-key: k"));
    assert!(!other.heard()[0].has("idempotency-key"), "{:?}", other.heard());
}

/// A list of 40 items in pages of ten, which tells of the next page in every way.
fn listing() -> Arc<Upstream> {
    Upstream::plain(|heard| {
        let target = heard.head.split(' ').nth(1).unwrap();
        let number = |name: &str| {
            let (_, rest) = target.split_once(&format!("{name}="))?;
            rest.split('&').next().unwrap().parse::<u64>().ok()
        };
        let page = number("page").or_else(|| number("after").map(|n| n / 10 + 1)).unwrap_or(1);
        let first = (page - 1) * 10;
        let items: Vec<u64> = (first..first + 10).filter(|n| *n < 40).collect();
        let more = page < 4;
        let next = format!("/list?page={}", page + 1);
        let body = json!({
            "items": items, "next": more.then_some(&next), "after": more.then_some(first + 10),
        });
        let link = if more { format!("Link: <{next}>; rel=\"next\"\r\n") } else { String::new() };
        let body = body.to_string();
        format!("HTTP/1.1 200 OK\r\n{link}Content-Length: {}\r\n\r\n{body}", body.len()).into()
    })
}

fn rule_of(next: Follow) -> Pages {
    Pages { next, items: "/items".to_owned(), max_pages: 10, max_items: 1000 }
}

/// The bodies of the pages, and the last line.
async fn walk(target: &Upstream, path: &str, pages: Pages) -> (Vec<Value>, Value) {
    let url = format!("http://api.test:{}{path}", target.port);
    let ended = try_with(target, Call { pages: Some(pages), ..call("GET", url) }, None).await;
    assert_eq!(ended.result, Ok(()));
    let (mut head, mut rest) = (ended.head, &ended.body[..]);
    let mut bodies = Vec::new();
    loop {
        if !head["end"].is_null() {
            return (bodies, head);
        }
        let (body, after) =
            rest.split_at(usize::try_from(head["bytes"].as_u64().unwrap()).unwrap());
        bodies.push(serde_json::from_slice(body).unwrap_or_default());
        let end = after.iter().position(|byte| *byte == b'\n').unwrap();
        head = serde_json::from_slice(&after[..end]).unwrap();
        rest = &after[end + 1..];
    }
}

#[tokio::test]
async fn pages_are_followed_in_each_declared_way() {
    let cursor = |query: &str| Follow::Cursor { pointer: "/after".into(), query: query.into() };
    for (path, next) in [
        ("/list", Follow::Link),
        ("/list", Follow::Url("/next".to_owned())),
        ("/list?x=1&after=0", cursor("after")),
        ("/list", cursor("after")),
        ("/list?page=1", Follow::Number { query: "page".to_owned(), first: 1 }),
        ("/list", Follow::Number { query: "page".to_owned(), first: 1 }),
    ] {
        let target = listing();
        let counts = matches!(next, Follow::Number { .. });
        let (bodies, last) = walk(&target, path, rule_of(next)).await;
        let items: Vec<u64> = bodies
            .iter()
            .flat_map(|body| body["items"].as_array().unwrap())
            .map(|item| item.as_u64().unwrap())
            .collect();
        assert_eq!(items, (0..40).collect::<Vec<_>>(), "{path}");
        assert_eq!(last, json!({"end": "last", "next": null}));
        assert_eq!(target.heard().len(), if counts { 5 } else { 4 });
    }
}

#[tokio::test]
async fn the_bounds_of_pages_hold_and_tell_where_it_would_go_on() {
    let target = listing();
    let next = format!("http://api.test:{}/list?page=3", target.port);
    let few = Pages { max_pages: 2, ..rule_of(Follow::Link) };
    let (bodies, last) = walk(&target, "/list", few).await;
    assert_eq!((bodies.len(), last), (2, json!({"end": "pages", "next": next})));
    let some = Pages { max_items: 15, ..rule_of(Follow::Link) };
    let (bodies, last) = walk(&target, "/list", some).await;
    assert_eq!((bodies.len(), last), (2, json!({"end": "items", "next": next})));

    let url = format!("http://api.test:{}/list", target.port);
    let asked = Call { pages: Some(rule_of(Follow::Link)), ..call("GET", url) };
    let gate = open(&[rule("api.test", target.port)], limits());
    let ended = send_within(gate, asked, Bounds { output: 1024 + 300, within: None }).await;
    let text = String::from_utf8(ended.body).unwrap();
    assert!(text.contains("\"end\":\"bytes\",\"next\":\"http://api.test"), "{text}");
    assert!(text.matches("\"items\"").count() >= 1, "{text}");
}

#[tokio::test]
async fn a_page_that_is_refused_tells_by_which_status_and_how_long() {
    for (more, status, wait) in [("", 500, json!(null)), ("Retry-After: 7\r\n", 429, json!(7))] {
        let target = Upstream::plain(move |heard| {
            let body = json!({"items": [1], "next": "/list?page=2"}).to_string();
            let (status, more) = match heard.head.contains("page=2") {
                true => (status, more),
                false => (200, ""),
            };
            let length = body.len();
            format!("HTTP/1.1 {status} X\r\n{more}Content-Length: {length}\r\n\r\n{body}").into()
        });
        let (bodies, last) = walk(&target, "/list", rule_of(Follow::Url("/next".to_owned()))).await;
        assert_eq!((bodies.len(), &last["end"]), (1, &json!("failed")));
        assert_eq!((&last["status"], &last["retry_after"]), (&json!(status), &wait));
    }
}

#[tokio::test]
async fn a_walk_stays_at_its_origin_and_never_goes_in_circles() {
    let other = super::hello("secret");
    let far = format!("http://api.test:{}/p2", other.port);
    for (next, end) in [
        (far.as_str(), "elsewhere"),
        ("//evil.test/p2", "elsewhere"),
        ("https://api.test.evil.test/p2", "elsewhere"),
        ("file:///etc/passwd", "elsewhere"),
        ("/list", "loop"),
        ("?", "loop"),
        ("http://", "malformed"),
        ("", "last"),
    ] {
        let body = json!({"items": [1], "next": next}).to_string();
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        let target = Upstream::plain(move |_| answer.as_str().into());
        let url = format!("http://api.test:{}/list", target.port);
        let pages = rule_of(Follow::Url("/next".to_owned()));
        let asked = Call { pages: Some(pages), ..call("GET", url) };
        let gate = open(&[rule("api.test", target.port), rule("api.test", other.port)], limits());
        let ended = send_within(gate, asked, Bounds { output: 1 << 20, within: None }).await;
        let text = String::from_utf8(ended.body).unwrap();
        assert!(text.contains(&format!("\"end\":\"{end}\"")), "{next}: {text}");
        assert!(target.heard().len() <= 2, "{next}");
    }
    assert_eq!(other.connections(), 0);

    // A cycle of two, and cursors that never end.
    let cycle = Upstream::plain(|heard| {
        let next = if heard.head.contains("/b ") { "/a" } else { "/b" };
        let body = json!({"items": [1], "next": next}).to_string();
        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into()
    });
    let (bodies, last) = walk(&cycle, "/a", rule_of(Follow::Url("/next".to_owned()))).await;
    assert_eq!((bodies.len(), &last["end"]), (2, &json!("loop")));
    let count = AtomicUsize::new(0);
    let endless = Upstream::plain(move |_| {
        let cursor = format!("c/{}&x", count.fetch_add(1, Ordering::SeqCst));
        let body = json!({"items": [1], "next": cursor}).to_string();
        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into()
    });
    let cursor = Follow::Cursor { pointer: "/next".to_owned(), query: "c".to_owned() };
    let (bodies, last) = walk(&endless, "/", rule_of(cursor)).await;
    assert_eq!((bodies.len(), &last["end"]), (10, &json!("pages")));
    assert!(endless.heard()[3].head.starts_with("GET /?c=c%2F2%26x "), "{:?}", endless.heard()[3]);
}

#[tokio::test]
async fn a_page_that_fails_keeps_those_before_it() {
    let target = Upstream::plain(|heard| {
        if heard.head.contains("page=2") {
            return "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n".into();
        }
        let body = json!({"items": [1]}).to_string();
        format!(
            "HTTP/1.1 200 OK\r\nLink: </list?page=2>; rel=next\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .into()
    });
    let (bodies, last) = walk(&target, "/list", rule_of(Follow::Link)).await;
    assert_eq!((bodies.len(), &last["end"]), (1, &json!("failed")));
    let (bodies, last) = walk(&target, "/list?page=2", rule_of(Follow::Link)).await;
    assert_eq!((bodies.len(), &last["end"]), (1, &json!("last")), "the first one's error is kept");
    let none = Pages { items: "/rows".to_owned(), ..rule_of(Follow::Link) };
    let (bodies, last) = walk(&target, "/list", none).await;
    assert_eq!((bodies.len(), &last["end"]), (1, &json!("no_items")));
}
