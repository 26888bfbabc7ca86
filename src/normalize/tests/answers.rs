//! What an upstream answers, and what becomes of it.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{code, json_of, plain, printed, reply_of};
use crate::call::Code;
use crate::catalog::{Follow, HttpTarget, Pages, Target, Tool};
use crate::normalize::{Form, Reply};
use crate::sandbox::{EgressAttempt, End, HttpAnswer, MorePages, Outcome};

fn http_tool() -> Tool {
    let mut tool = plain();
    tool.target = Target::Http(HttpTarget {
        method: "GET".to_owned(),
        server: "https://api.example".to_owned(),
        path: "/".to_owned(),
        query: String::new(),
        parameters: Vec::new(),
        headers: Vec::new(),
        body: None,
        keys: Vec::new(),
        manner: Box::default(),
    });
    tool
}

fn outcome(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Outcome {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Outcome {
        http: Some(HttpAnswer {
            status,
            headers: headers.collect(),
            body: Bytes::copy_from_slice(body),
            pages: None,
        }),
        ..printed("")
    }
}

fn answer(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Reply {
    reply_of(http_tool(), outcome(status, headers, body))
}

fn typed(content_type: &str, body: &[u8]) -> Reply {
    answer(200, &[("content-type", content_type)], body)
}

fn note_kinds(reply: &Reply) -> Vec<&str> {
    reply.metadata.notes.iter().map(|note| note.kind.as_str()).collect()
}

#[test]
fn no_content_is_a_success_without_data() {
    let json = [("content-type", "application/json")];
    for (status, headers, body) in [
        (204, &[][..], &b""[..]),
        (204, &json[..], b""),
        (200, &json[..], b""),
        (200, &json[..], b"   "),
        (205, &[][..], b""),
        (200, &json[..], b"null"),
        (200, &[("content-length", "500")][..], b""),
    ] {
        let mut tool = http_tool();
        if body != b"null" {
            tool.output_schema = Some(json!({"type": "object"}));
        }
        let reply = reply_of(tool, outcome(status, headers, body));
        assert_eq!((code(&reply), &reply.data), (None, &Value::Null), "{status}");
        assert_eq!(reply.metadata.http_status, Some(status));
    }
    let stale = answer(304, &[], b"");
    assert_eq!(code(&stale), Some(Code::UpstreamError));
    assert!(stale.error.unwrap().message.contains("304"));
}

#[test]
fn refusals_of_an_upstream_keep_their_body() {
    let json = [("content-type", "application/json; charset=utf-8")];
    let conflict = answer(409, &json, br#"{"message":"branch main is protected"}"#);
    assert_eq!(code(&conflict), Some(Code::UpstreamError));
    assert_eq!(conflict.data["message"], "branch main is protected");
    assert_eq!(conflict.metadata.http_status, Some(409));
    assert_eq!(conflict.error.unwrap().details, json!({"http_status": 409}));

    let page = "<p>trace</p>".repeat(20_000);
    let failed = answer(500, &[("content-type", "text/html")], page.as_bytes());
    assert_eq!(failed.data.as_str().map(str::len), Some(16 << 10));
    assert!(failed.metadata.output_truncated);
    assert!(!failed.error.unwrap().retryable);

    let secret = [("www-authenticate", "Bearer error=\"expired tok-123\"")];
    let refused = answer(401, &secret, b"");
    assert!(refused.error.as_ref().unwrap().message.contains("credential"));
    assert!(!refused.to_json().contains("tok-123"));
    assert_eq!(code(&answer(502, &[], b"")), Some(Code::UpstreamError));
}

#[test]
fn what_passes_soon_is_retryable() {
    for (status, again) in [
        (400, false),
        (404, false),
        (408, true),
        (429, true),
        (500, false),
        (501, false),
        (502, true),
        (503, true),
        (504, true),
    ] {
        assert_eq!(answer(status, &[], b"").error.unwrap().retryable, again, "{status}");
    }
    let busy = json_of(&answer(429, &[("retry-after", "7")], b""));
    assert_eq!(busy["metadata"]["retry_after_ms"].to_string(), "7000");
    let date = ("date", "Fri, 31 Dec 1999 23:59:29 GMT");
    let dated = answer(503, &[("retry-after", "Fri, 31 Dec 1999 23:59:59 GMT"), date], b"");
    assert_eq!(json_of(&dated)["metadata"]["retry_after_ms"].to_string(), "30000");
    assert_eq!(answer(503, &[("retry-after", "soon")], b"").metadata.retry_after_ms, None);
}

#[test]
fn redirects_are_reported_and_not_followed() {
    let moved = answer(302, &[("location", "http://169.254.169.254/")], b"");
    let error = moved.error.unwrap();
    assert_eq!(error.code, Code::UpstreamError);
    assert_eq!(error.details["location"], "http://169.254.169.254/");
}

#[test]
fn a_page_in_place_of_data_is_no_plain_success() {
    let mut tool = http_tool();
    tool.output_schema = Some(json!({"type": "object"}));
    let html = [("content-type", "text/html")];
    let login = reply_of(tool, outcome(200, &html, b"<html>log in</html>"));
    assert_eq!(code(&login), Some(Code::OutputSchemaError));
    assert_eq!(note_kinds(&login), ["unexpected_media_type"]);
    let wrong = typed("application/json", b"<html>");
    assert_eq!(code(&wrong), Some(Code::UpstreamError));
    assert_eq!(note_kinds(&wrong), ["invalid_json"]);
    assert_eq!(wrong.data, json!("<html>"));
}

#[test]
fn text_is_decoded_by_the_named_charset() {
    let json_in_gbk = b"{\"k\":\"\xc4\xe3\"}";
    for (content_type, body, data, charset) in [
        ("text/plain; charset=gbk", &b"\xc4\xe3\xba\xc3"[..], json!("你好"), "GBK"),
        ("text/plain; charset=\"Shift_JIS\"", b"\x93\xfa\x96\x7b", json!("日本"), "Shift_JIS"),
        ("text/plain", "日本".as_bytes(), json!("日本"), "UTF-8"),
        ("application/json", "{\"k\":\"日\"}".as_bytes(), json!({"k": "日"}), "UTF-8"),
        ("application/json; charset=gbk", json_in_gbk, json!({"k": "你"}), "GBK"),
        ("text/plain; charset=utf8mb4", "日本".as_bytes(), json!("日本"), "UTF-8"),
        ("text/plain; charset=utf-16le", b"\xff\xfe\x60\x4f", json!("你"), "UTF-16LE"),
        ("text/plain; charset=utf-8", "\u{feff}日".as_bytes(), json!("日"), "UTF-8"),
    ] {
        let reply = typed(content_type, body);
        assert_eq!(reply.data, data, "{content_type}");
        assert_eq!(reply.metadata.charset.as_deref(), Some(charset), "{content_type}");
        let expected: &[&str] =
            if content_type.contains("mb4") { &["unknown_charset"] } else { &[] };
        assert_eq!(note_kinds(&reply), expected, "{content_type}");
    }
}

#[test]
fn text_that_does_not_decode_is_flagged_and_not_cacheable() {
    let lost = typed("text/plain; charset=utf8mb4", b"\xc4\xe3\xba\xc3");
    assert_eq!(lost.data, json!({"base64": "xOO6ww=="}));
    assert_eq!(note_kinds(&lost), ["invalid_text", "unknown_charset"]);
    let most = typed("text/plain; charset=utf-8", b"a\xfdb\xfcc\xc3d\xf0e");
    assert_eq!(most.metadata.data_form, Some(Form::Bytes));
    assert_eq!(note_kinds(&most), ["invalid_text"]);
    assert!(most.metadata.notes[0].detail.contains("UTF-8") && !most.cacheable());
    let some = typed("text/plain; charset=utf-8", b"caf\xe9 au lait");
    assert_eq!(note_kinds(&some), ["invalid_text"]);
    assert!(!some.cacheable());
}

#[test]
fn a_document_may_name_its_own_charset() {
    let html = |head: &str, body: &[u8]| [head.as_bytes(), body].concat();
    let gbk = &b"\xc4\xe3\xba\xc3"[..];
    for (content_type, body, text, charset) in [
        ("text/html", html("<meta charset=\"gbk\">", gbk), "你好", "GBK"),
        (
            "text/html",
            html(
                "<META http-equiv=\"Content-Type\" content=\"text/html; charset=Shift_JIS\">",
                b"\x93\xfa",
            ),
            "日",
            "Shift_JIS",
        ),
        (
            "text/html",
            html("<meta http-equiv='Content-Type' content='charset=gbk'>", gbk),
            "你好",
            "GBK",
        ),
        (
            "text/html; charset=utf-8",
            html("<meta charset=gbk>", "你好".as_bytes()),
            "你好",
            "UTF-8",
        ),
        ("text/xml", html("<?xml version=\"1.0\" encoding=\"GB2312\"?>", gbk), "你好", "GBK"),
        ("text/html", html("<p>", "你好".as_bytes()), "你好", "UTF-8"),
        ("text/html", html("<!-- <meta charset=gbk> -->", "你好".as_bytes()), "你好", "UTF-8"),
        ("text/html", html("<meta charset=utf-16>", "你好".as_bytes()), "你好", "UTF-8"),
    ] {
        let reply = typed(content_type, &body);
        let data = reply.data.as_str().unwrap();
        assert!(data.ends_with(text), "{content_type} {data}");
        assert_eq!(reply.metadata.charset.as_deref(), Some(charset), "{data}");
    }
}

#[test]
fn only_a_meta_element_that_says_so_names_a_charset() {
    let gbk = &b"\xc4\xe3\xba\xc3"[..];
    for (tags, named) in [
        ("<meta name=\"x\" content=\"charset=gbk\">", false),
        ("<meta http-equiv=refresh content='1; charset=gbk'>", false),
        ("<meta data-charset=gbk title='charset=gbk'>", false),
        ("<metadata charset=gbk>", false),
        ("<meta content=\"text/html; charset=gbk\"\nHTTP-EQUIV = Content-Type />", true),
        ("<meta name=x ><meta id=a charset = 'gbk' >", true),
    ] {
        let text = if named { gbk } else { "你好".as_bytes() };
        let reply = typed("text/html", &[tags.as_bytes(), text].concat());
        assert!(reply.data.as_str().unwrap().ends_with("你好"), "{}", reply.data);
        assert_eq!(reply.metadata.charset.as_deref() == Some("GBK"), named, "{tags}");
    }
}

#[test]
fn other_media_types_are_json_only_if_compound() {
    assert_eq!(typed("text/plain", b"[1]").data, json!([1]));
    assert_eq!(typed("text/plain", b"12").data, json!("12"));
    assert_eq!(typed("application/problem+json", b"12").data, json!(12));
    assert_eq!(typed("text/html", b"{}").data, json!("{}"));
    assert_eq!(answer(200, &[], b"{\"a\":1.10}").data.to_string(), "{\"a\":1.10}");
}

/// The files of a reply, and the form of its data.
fn files(reply: &Reply) -> Vec<(&str, &str)> {
    assert_eq!((&reply.data, reply.metadata.data_form), (&Value::Null, Some(Form::File)));
    let listed: Vec<_> = reply.files.iter().map(|file| file.facts.clone()).collect();
    assert_eq!(reply.metadata.files, listed);
    let facts = reply.metadata.files.iter();
    facts.map(|facts| (facts.name.as_str(), facts.media_type.as_str())).collect()
}

#[test]
fn a_body_that_is_no_text_is_a_file_of_the_kind_that_its_bytes_show() {
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    let reply = typed("image/png", png);
    assert_eq!(files(&reply), [("body.png", "image/png")]);
    assert_eq!(&reply.files[0].content[..], png);
    assert!(!reply.to_json().contains("PNG"), "the content is in no JSON");
    assert_eq!(files(&typed("application/octet-stream", png)), [("body.png", "image/png")]);
    assert_eq!(files(&typed("image/jpeg", png)), [("body.png", "image/png")], "bytes decide");
    let unknown = b"\0\x01\xff\xfe\xfd\xfc";
    assert_eq!(files(&typed("application/x-own", unknown)), [("body.bin", "application/x-own")]);
    assert_eq!(files(&typed("x; y", unknown)), [("body.bin", "application/octet-stream")]);
    assert_eq!(files(&typed("application/pdf", b"%PDF-1.4\n")), [("body.pdf", "application/pdf")]);
    assert_eq!(typed("image/svg+xml", b"<svg/>").data, json!("<svg/>"));
}

#[test]
fn a_file_that_was_cut_is_not_given() {
    let mut cut = outcome(200, &[("content-type", "image/png")], b"\x89PNG\r\n\x1a\n\0");
    cut.end = End::OutputLimit;
    let reply = reply_of(http_tool(), cut);
    assert_eq!(code(&reply), Some(Code::OutputLimit));
    assert_eq!((reply.files.len(), note_kinds(&reply)), (0, vec!["file_absent"]));
}

#[test]
fn lines_of_json_become_an_array() {
    let good = typed("application/x-ndjson", b"{\"n\":1}\n2\n\n\"three\"");
    assert_eq!(good.data, json!([{"n": 1}, 2, "three"]));
    assert_eq!(good.metadata.data_form, Some(Form::Lines));
    let broken = typed("application/x-ndjson", b"1\n2\n{\"n\":");
    assert_eq!(broken.data, json!([1, 2]));
    assert_eq!(note_kinds(&broken), ["broken_line"]);
    assert!(broken.metadata.notes[0].detail.starts_with("line 3: "));
    assert!(!broken.cacheable());
}

#[test]
fn events_become_an_array() {
    let body = b": hello\r\nevent: a\r\nid: 1\r\ndata: x\r\ndata:y\r\n\r\ndata: {\"n\":1}\r\n\r\n: ping\r\n\r\ndata: last";
    let reply = typed("text/event-stream", body);
    assert_eq!(
        reply.data,
        json!([
            {"event": "a", "id": "1", "data": "x\ny"},
            {"event": null, "id": "1", "data": "{\"n\":1}"},
            {"event": null, "id": "1", "data": "last"},
        ])
    );
    assert_eq!(reply.metadata.data_form, Some(Form::Events));
    let mut endless =
        outcome(200, &[("content-type", "text/event-stream")], b"data: 1\n\ndata: 2\n\ndata: 3");
    endless.end = End::Timeout;
    let endless = reply_of(http_tool(), endless);
    assert_eq!(code(&endless), Some(Code::ToolTimeout));
    assert_eq!(endless.data.as_array().map(Vec::len), Some(2));
}

#[test]
fn the_next_page_is_named_and_nothing_is_fetched() {
    for (link, next) in [
        ("<https://other.test/p2>; rel=\"next\"", Some("https://other.test/p2")),
        ("</a>; rel=prev, </b>; rel=\"last next\"; title=x", Some("/b")),
        ("</a>; rel=\"prev\"", None),
        ("</a>; anchor=\"http://other.test/\"; rel=next, </b>; rel=next", Some("/b")),
        ("</a>; rel=next; anchor=\"#part\"", None),
        ("garbage", None),
    ] {
        let reply = answer(200, &[("link", link)], b"[]");
        assert_eq!(reply.metadata.next_link.as_deref(), next, "{link}");
    }
    let body = br#"{"next":"https://a.test.evil.test/p2"}"#;
    assert_eq!(typed("application/json", body).data["next"], "https://a.test.evil.test/p2");
}

fn paged(bodies: &[&str], end: &str, next: Option<&str>) -> Reply {
    paged_by(Follow::Link, bodies, end, next)
}

fn paged_by(follow: Follow, bodies: &[&str], end: &str, next: Option<&str>) -> Reply {
    let mut tool = http_tool();
    if let Target::Http(target) = &mut tool.target {
        let rule = Pages { next: follow, items: "/items".to_owned(), max_pages: 9, max_items: 90 };
        target.manner.pages = Some(rule);
    }
    let link = [("content-type", "application/json"), ("link", "</p2>; rel=next")];
    let mut outcome = outcome(200, &link, bodies[0].as_bytes());
    let later = bodies[1..].iter().map(|body| Bytes::copy_from_slice(body.as_bytes()));
    let more = MorePages {
        bodies: later.collect(),
        end: end.to_owned(),
        next: next.map(str::to_owned),
        ..MorePages::default()
    };
    outcome.http.as_mut().unwrap().pages = Some(more);
    reply_of(tool, outcome)
}

#[test]
fn the_items_of_pages_are_one_array() {
    let first = r#"{"total":3,"items":[9007199254740993]}"#;
    let all = paged(&[first, r#"{"items":[1.10,"b"],"total":3}"#], "last", None);
    assert_eq!(all.data.to_string(), r#"{"total":3,"items":[9007199254740993,1.10,"b"]}"#);
    let metadata = &all.metadata;
    assert_eq!((metadata.pages, metadata.next_link.as_deref()), (Some(2), None));
    assert!(note_kinds(&all).is_empty() && !metadata.output_truncated && all.cacheable());

    for (bodies, end, pages) in [
        (&[first, r#"{"items":[2]}"#][..], "pages", 2),
        (&[first], "elsewhere", 1),
        (&[first, "not json", r#"{"items":[2]}"#], "last", 1),
        (&[first, r#"{"rows":[2]}"#], "last", 1),
        (&[first], "", 1),
        (&[first, r#"{"items":[{"a":1,"a":2}]}"#, "[]"], "last", 2),
    ] {
        let some = paged(bodies, end, Some("https://api.example/p9"));
        assert_eq!(code(&some), None);
        assert_eq!(some.metadata.pages, Some(pages), "{bodies:?}");
        assert!(note_kinds(&some).ends_with(&["more_pages"]), "{bodies:?}");
        assert_eq!(some.metadata.next_link.as_deref(), Some("https://api.example/p9"));
        assert!(some.metadata.output_truncated && !some.cacheable());
    }
}

#[test]
fn who_goes_on_from_joined_pages_goes_on_behind_the_last() {
    for (follow, first, last) in [
        (
            Follow::Cursor { pointer: "/next".to_owned(), query: "at".to_owned() },
            r#"{"next":"b","items":[1]}"#,
            r#"{"next":"c","items":[2]}"#,
        ),
        (
            Follow::Url("/links/next".to_owned()),
            r#"{"links":{"next":"/p2"},"items":[1]}"#,
            r#"{"links":{"next":"/p3"},"items":[2]}"#,
        ),
    ] {
        let some = paged_by(follow.clone(), &[first, last], "pages", None);
        let expected = last.replace("[2]", "[1,2]");
        assert_eq!(some.data.to_string(), expected);
        let all = paged_by(follow, &[first, r#"{"items":[2]}"#], "last", None);
        // What the last page does not have was no promise of the tool's schema either.
        let bare = ["next", "/p2"].iter().all(|said| !all.data["links"].to_string().contains(said));
        assert!(bare && all.data.get("next").is_none(), "{}", all.data);
        assert!(note_kinds(&all).is_empty());
    }
}

#[test]
fn json_with_two_members_of_one_name_is_an_answer_all_the_same() {
    let json = [("content-type", "application/json")];
    let reply = reply_of(http_tool(), outcome(200, &json, b"{\"a\":1,\"b\":2,\"a\":1.10}"));
    assert_eq!((code(&reply), note_kinds(&reply)), (None, vec!["duplicate_key"]));
    assert_eq!(reply.data.to_string(), r#"{"a":1.10,"b":2}"#);
    let reserved = br#"{"a":1,"a":2,"$serde_json::private::Number":"1"}"#;
    let reply = reply_of(http_tool(), outcome(200, &json, reserved));
    assert_eq!(note_kinds(&reply), ["invalid_json"]);
}

#[test]
fn where_what_was_made_lies_is_noted() {
    for (status, body, noted) in [(201, &b""[..], true), (202, b"{}", true), (200, b"", false)] {
        let headers = [("content-type", "application/json"), ("location", "/items/7")];
        let reply = reply_of(http_tool(), outcome(status, &headers, body));
        assert_eq!(code(&reply), None);
        let found = reply.metadata.notes.iter().find(|note| note.kind == "location");
        assert_eq!(found.map(|note| note.detail.as_str()), noted.then_some("/items/7"));
    }
}

#[test]
fn an_answer_whose_end_did_not_come_is_told_and_kept() {
    let mut tool = http_tool();
    (tool.risk, tool.idempotent) = (crate::catalog::Risk::Write, false);
    let headers = [("content-type", "application/x-ndjson")];
    let mut broken = outcome(200, &headers, b"{\"n\":1}\n{\"n\":2}\n{\"n");
    broken.end = End::Exited(4);
    broken.stderr = Bytes::from_static(b"the body of the answer broke off\n");
    let reply = reply_of(tool, broken.clone());
    assert_eq!(code(&reply), Some(Code::UpstreamError));
    let error = reply.error.as_ref().unwrap();
    assert_eq!(error.details["reason"], "the body of the answer broke off");
    assert!(!error.retryable, "it may have had its effect");
    assert_eq!(reply.data, json!([{"n": 1}, {"n": 2}]));
    assert!(reply.metadata.output_truncated);
    for end in [End::Timeout, End::OutputLimit] {
        broken.end = end;
        let reply = reply_of(http_tool(), broken.clone());
        assert_eq!(reply.data, json!([{"n": 1}, {"n": 2}]));
        assert!(reply.metadata.output_truncated && reply.metadata.notes.is_empty());
    }
}

fn asking_for(media: &str) -> Tool {
    let mut tool = http_tool();
    if let Target::Http(target) = &mut tool.target {
        target.headers.push(("accept".to_owned(), media.to_owned()));
    }
    tool
}

#[test]
fn what_is_no_json_is_no_plain_success_where_json_alone_was_asked_for() {
    let page = b"<!doctype html><title>Sign in</title>";
    let html = [("content-type", "text/html; charset=utf-8")];
    let json = asking_for("application/json");
    let reply = reply_of(json.clone(), outcome(200, &html, page));
    assert_eq!(code(&reply), Some(Code::UpstreamError));
    assert_eq!(note_kinds(&reply), ["unexpected_media_type"]);
    assert!(!reply.error.unwrap().retryable);
    for (media, body) in [
        ("text/plain", &b"all is well"[..]),
        ("application/xml", b"<a/>"),
        ("image/png", b"\x89PNG\r\n\x1a\n\0"),
        ("text/csv", b"a,b\n1,2\n"),
    ] {
        let reply = reply_of(json.clone(), outcome(200, &[("content-type", media)], body));
        assert_eq!((code(&reply), note_kinds(&reply)), (None, vec!["unexpected_media_type"]));
        assert!(!reply.cacheable(), "{media}");
    }
    for (media, body) in [("text/plain", &b"{\"a\":1}"[..]), ("", b"[]"), ("text/html", b" ")] {
        let reply = reply_of(json.clone(), outcome(200, &[("content-type", media)], body));
        assert_eq!((code(&reply), note_kinds(&reply)), (None, vec![]), "{media}");
    }
    for media in ["application/json, text/html", "application/json, */*;q=0.1", "text/html"] {
        let reply = reply_of(asking_for(media), outcome(200, &html, page));
        assert_eq!((code(&reply), note_kinds(&reply)), (None, vec![]), "{media}");
    }
    assert!(note_kinds(&reply_of(http_tool(), outcome(200, &html, page))).is_empty());
}

#[test]
fn an_upstream_that_forbids_storing_is_obeyed() {
    let mut tool = http_tool();
    tool.cache_ttl = Some(std::time::Duration::from_secs(60));
    for (value, kept) in [
        ("no-store", false),
        ("max-age=60, Private", false),
        ("no-cache=\"set-cookie\"", false),
        ("max-age=0", true),
        ("public, max-age=3600, must-revalidate", true),
        ("x-no-store, no-storage", true),
    ] {
        let reply = reply_of(tool.clone(), outcome(200, &[("cache-control", value)], b"{}"));
        assert_eq!((code(&reply), reply.cacheable()), (None, kept), "{value}");
        assert_eq!(note_kinds(&reply).contains(&"not_cached"), !kept, "{value}");
    }
    let told = reply_of(http_tool(), outcome(200, &[("cache-control", "no-store")], b"{}"));
    assert!(told.metadata.notes.is_empty(), "nothing would be cached anyway");
}

/// A call that got no answer: how the client ended, what it said, and its attempts (bytes sent,
/// status).
fn unanswered(exit: i32, said: &'static str, attempts: &[(u64, Option<u16>)]) -> Outcome {
    let mut outcome = printed("");
    outcome.end = End::Exited(exit);
    outcome.stderr = Bytes::from_static(said.as_bytes());
    let attempt = |(sent, status): &(u64, Option<u16>)| EgressAttempt {
        secrets: Vec::new(),
        status: *status,
        duration_us: 1,
        host: "api.example".to_owned(),
        port: 443,
        address: None,
        allowed: true,
        reason: String::new(),
        sent: *sent,
        received: 0,
    };
    outcome.egress = attempts.iter().map(attempt).collect();
    outcome
}

fn writer() -> Tool {
    let mut tool = http_tool();
    (tool.risk, tool.idempotent) = (crate::catalog::Risk::Write, false);
    tool
}

#[test]
fn what_may_have_run_and_must_not_run_twice_is_not_retryable() {
    for (attempts, again) in [
        (&[][..], true),
        (&[(0, None)], true),
        (&[(90, None)], false),
        (&[(90, None), (0, None)], false),
        (&[(90, Some(503)), (0, None)], true),
        (&[(90, Some(429)), (90, None)], false),
        (&[(90, Some(303)), (0, None)], false),
        (&[(90, Some(504)), (0, None)], false),
    ] {
        let ended = unanswered(4, "the connection ended before an answer\n", attempts);
        let once = reply_of(writer(), ended.clone()).error.unwrap();
        assert_eq!((once.code, once.retryable), (Code::UpstreamError, again), "{attempts:?}");
        assert_eq!(once.details.get("may_have_run").is_some(), !again, "{attempts:?}");
        assert_eq!(once.details["reason"], "the connection ended before an answer");
        let mut twice = writer();
        twice.idempotent = true;
        for tool in [twice, http_tool()] {
            let error = reply_of(tool, ended.clone()).error.unwrap();
            assert!(error.retryable && error.details.get("may_have_run").is_none());
        }
    }
    for (status, again) in [(408, true), (429, true), (502, false), (503, true), (504, false)] {
        let headers = [("retry-after", "7")];
        let reply = reply_of(writer(), outcome(status, &headers, b""));
        assert_eq!(reply.metadata.retry_after_ms.is_some(), again, "{status}");
        let error = reply.error.unwrap();
        assert_eq!((error.retryable, error.details["may_have_run"] == true), (again, !again));
    }
    for end in [End::Timeout, End::Lost("gone".to_owned())] {
        let mut slow = outcome(200, &[], b"[1,");
        slow.end = end;
        let error = reply_of(writer(), slow).error.unwrap();
        assert!(!error.retryable && error.details["may_have_run"] == true, "{error:?}");
    }
}

#[test]
fn redirects_that_lead_nowhere_are_named() {
    for said in [
        "more than 5 redirects; the last led to `https://api.example/a`",
        "redirect to `file:///etc/hostname` refused: it is neither http nor https",
    ] {
        let reply = reply_of(http_tool(), unanswered(6, said, &[(90, Some(302))]));
        let error = reply.error.unwrap();
        assert_eq!((error.code, error.retryable), (Code::UpstreamError, false));
        assert!(error.message.contains(said), "{}", error.message);
        assert_eq!(error.details["reason"], said);
    }
}

#[test]
fn no_answer_is_the_fault_of_gate_or_upstream() {
    let mut denied = printed("");
    denied.end = End::Exited(1);
    denied.egress = vec![EgressAttempt {
        secrets: Vec::new(),
        status: None,
        duration_us: 1,
        host: "api.example".to_owned(),
        port: 443,
        address: None,
        allowed: false,
        reason: "no rule".to_owned(),
        sent: 0,
        received: 0,
    }];
    assert_eq!(code(&reply_of(http_tool(), denied.clone())), Some(Code::EgressDenied));
    denied.end = End::Exited(0);
    assert_eq!(code(&reply_of(http_tool(), denied.clone())), Some(Code::EgressDenied));
    denied.egress[0].allowed = true;
    denied.egress[0].reason = "connection refused".to_owned();
    let down = reply_of(http_tool(), denied);
    let error = down.error.unwrap();
    assert_eq!((error.code, error.retryable), (Code::UpstreamError, true));
    assert_eq!(error.details["reason"], "connection refused");
}
