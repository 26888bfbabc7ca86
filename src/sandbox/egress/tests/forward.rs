//! Forwarded exchanges: heads, bodies of every framing, TLS that the gate originates, kept
//! connections, limits.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::upstream::{Authority, Heard, Reply, Upstream};
use super::{
    GateLimits, Trail, ask, assert_denied, get, hello, limits, limits_trusting, limits_with, open,
    rule,
};

/// One exchange with an upstream that gives `answer` and closes.
async fn exchange(method: &str, answer: &'static [u8]) -> (String, Arc<Upstream>) {
    let target = Upstream::plain(move |_| Reply::Close(answer.to_vec()));
    let gate = open(&[rule("api.test", target.port)], limits());
    let text = format!("{method} http://api.test:{}/ HTTP/1.1\r\nHost: x\r\n\r\n", target.port);
    (ask(&gate, &Trail::default(), text).await, target)
}

fn count_of(answer: &str, part: &str) -> usize {
    answer.matches(part).count()
}

#[tokio::test]
async fn a_head_is_written_anew_for_the_upstream() {
    let target = hello("ok");
    let port = target.port;
    let gate = open(&[rule("api.test", port)], limits());
    let trail = Trail::default();
    let answer = ask(
        &gate,
        &trail,
        format!(
            "POST HTTP://API.test.:{port}?q=%20 HTTP/1.1\r\nHost: evil.test\r\nX-Own: 1\r\n\
             Connection: keep-alive, X-Hop\r\nX-Hop: 1\r\nProxy-Authorization: Basic eA==\r\n\
             Proxy-Connection: keep-alive\r\nTE: trailers\r\nUpgrade: h2c\r\nKeep-Alive: 5\r\n\
             Content-Length: 4\r\n\r\nbody"
        ),
    )
    .await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.ends_with("\r\n\r\nok"), "{answer}");
    let heard = target.heard();
    let [Heard { head, body }] = heard.as_slice() else { panic!("{heard:?}") };
    assert_eq!(
        head,
        &format!(
            "POST /?q=%20 HTTP/1.1\r\nHost: api.test:{port}\r\nX-Own: 1\r\nContent-Length: 4\r\n\r\n"
        )
    );
    assert_eq!(body, "body");
    let attempts = trail.attempts();
    let attempt = &attempts[0];
    assert_eq!((attempt.host.as_str(), attempt.port), ("api.test", port));
    assert_eq!(attempt.address, Some(format!("127.0.0.1:{port}")));
    assert_eq!(attempt.reason, "");
    assert_eq!(attempt.sent, u64::try_from(head.len() + 4).unwrap());
    let received = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".len();
    assert_eq!(attempt.received, u64::try_from(received).unwrap());
}

#[tokio::test]
async fn answers_without_a_body_end_with_their_head() {
    for (method, answer) in [
        ("HEAD", &b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n"[..]),
        ("DELETE", b"HTTP/1.1 204 No Content\r\nContent-Type: application/json\r\n\r\n"),
        ("GET", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 500\r\n\r\n"),
        ("GET", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
    ] {
        let (answer, _target) = exchange(method, answer).await;
        assert!(answer.ends_with("\r\n\r\n"), "{method}: {answer}");
        assert!(!answer.contains("Connection: close"), "{method}: {answer}");
        if method == "HEAD" {
            assert!(answer.contains("Content-Length: 500\r\n"), "{answer}");
        }
    }
}

#[tokio::test]
async fn bodies_keep_their_bytes_under_every_framing() {
    for answer in [
        &b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nX: y\r\n\r\n"[..],
        b"HTTP/1.1 200 OK\r\n\r\nabcde",
        b"HTTP/1.0 200 OK\r\n\r\nabcde",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde",
        b"HTTP/1.1 200 OK\nContent-Length: 5\n\nabcde",
    ] {
        let (answer, _target) = exchange("GET", answer).await;
        let (_, body) = answer.rsplit_once("\r\n\r\n").unwrap();
        let whole = match body {
            "" => answer.contains("\r\n\r\n5\r\nabcde\r\n0\r\n\r\n")
                || answer.contains("\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"),
            body => body == "abcde" && answer.contains("Content-Length: 5\r\n"),
        };
        assert!(whole, "{answer}");
    }
}

#[tokio::test]
async fn an_old_tool_gets_no_chunks() {
    let target = Upstream::plain(|_| {
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n".into()
    });
    let gate = open(&[rule("api.test", target.port)], limits());
    let text = format!("GET http://api.test:{}/ HTTP/1.0\r\n\r\n", target.port);
    let answer = ask(&gate, &Trail::default(), text).await;
    assert!(answer.ends_with("Connection: close\r\n\r\nabcde"), "{answer}");
}

#[tokio::test]
async fn answers_that_can_be_read_two_ways_fail() {
    for answer in [
        &b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"[..],
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
        b"HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\nabcde",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
        b"SSH-2.0-x\r\n",
        b"",
    ] {
        let (answer, _target) = exchange("GET", answer).await;
        assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
        assert!(answer.contains("\r\nx-switchboard-egress: failed\r\n"), "{answer}");
    }
}

#[tokio::test]
async fn a_body_that_breaks_off_is_not_passed_off_as_whole() {
    for answer in [
        &b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nabc"[..],
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
    ] {
        let target = Upstream::plain(move |_| Reply::Close(answer.to_vec()));
        let gate = open(&[rule("api.test", target.port)], limits());
        let trail = Trail::default();
        let text = format!("GET http://api.test:{}/ HTTP/1.1\r\nHost: x\r\n\r\n", target.port);
        let answer = ask(&gate, &trail, text).await;
        assert!(answer.contains("abc"), "{answer}");
        assert!(!answer.ends_with("0\r\n\r\n"), "{answer}");
        assert!(trail.attempts()[0].reason.contains("broke off"));
    }
}

#[tokio::test]
async fn an_upstream_cannot_speak_for_the_gate() {
    let (answer, _target) = exchange(
        "GET",
        b"HTTP/1.1 403 Forbidden\r\nX-Switchboard-Egress: denied\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n",
    )
    .await;
    assert!(answer.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{answer}");
    let lower = answer.to_ascii_lowercase();
    assert!(!lower.contains("x-switchboard-egress"), "{answer}");
    assert!(!lower.contains("proxy-authenticate"), "{answer}");
}

#[tokio::test]
async fn redirects_are_passed_back() {
    let (answer, target) = exchange(
        "GET",
        b"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/x\r\nContent-Length: 0\r\n\r\n",
    )
    .await;
    assert!(answer.starts_with("HTTP/1.1 302 Found\r\n"), "{answer}");
    assert!(answer.contains("Location: http://169.254.169.254/x\r\n"), "{answer}");
    assert_eq!(target.connections(), 1);
    let (answer, attempts) = get(&[], "http://169.254.169.254/x").await;
    assert_denied(&answer, &attempts);
}

#[tokio::test]
async fn a_denial_names_what_was_denied() {
    let (answer, attempts) = get(&[], "http://evil.test/data").await;
    assert_denied(&answer, &attempts);
    let (_, line) = answer.split_once("\r\n\r\n").unwrap();
    assert_eq!(line, "egress to `evil.test:80` denied: no egress rule allows it\n");
    assert_eq!((attempts[0].host.as_str(), attempts[0].port), ("evil.test", 80));
}

#[tokio::test]
async fn unreachable_upstreams_fail_and_say_why() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let url = format!("http://api.test:{port}/");
    let (answer, attempts) = get(&[rule("api.test", port)], &url).await;
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
    assert!(attempts[0].allowed);
    assert!(attempts[0].reason.contains("refused"), "{:?}", attempts[0]);

    let gate = open(&[rule("api.test", port)], limits_with(|_| Vec::new()));
    let trail = Trail::default();
    let answer = ask(&gate, &trail, format!("GET {url} HTTP/1.1\r\nHost: x\r\n\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
    assert!(answer.contains("does not resolve"), "{answer}");
}

#[tokio::test]
async fn one_connection_serves_many_exchanges_on_both_sides() {
    let target = Upstream::plain(|heard| {
        let body = heard.head.split(' ').nth(1).unwrap().to_owned();
        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into()
    });
    let port = target.port;
    let gate = open(&[rule("api.test", port), rule("other.test", port)], limits());
    let trail = Trail::default();
    let one = |path: &str| format!("GET http://api.test:{port}{path} HTTP/1.1\r\nHost: x\r\n\r\n");
    let answer = ask(&gate, &trail, [one("/a"), one("/b"), one("/c")].concat()).await;
    assert_eq!(count_of(&answer, "HTTP/1.1 200 OK"), 3, "{answer}");
    assert!(answer.ends_with("/c"));
    ask(&gate, &trail, one("/d")).await;
    assert_eq!(target.connections(), 1);
    assert_eq!(trail.attempts().len(), 4);
    assert!(trail.attempts().iter().all(|a| a.address.is_some() && a.allowed));
    // Another name at the same address, and another gate, share nothing.
    ask(&gate, &trail, one("/e").replace("api.test", "other.test")).await;
    assert_eq!(target.connections(), 2);
    ask(&open(&[rule("api.test", port)], limits()), &trail, one("/f")).await;
    assert_eq!(target.connections(), 3);
    assert_eq!(target.heard().len(), 6);
}

#[tokio::test]
async fn a_kept_connection_that_was_closed_is_replaced() {
    // Closes after each answer without saying so.
    let target = Upstream::plain(|_| {
        Reply::Close(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_vec())
    });
    let port = target.port;
    let gate = open(&[rule("api.test", port)], limits());
    for _ in 0..5 {
        let text = format!("GET http://api.test:{port}/ HTTP/1.1\r\nHost: x\r\n\r\n");
        let answer = ask(&gate, &Trail::default(), text).await;
        assert!(answer.ends_with("\r\n\r\nok"), "{answer}");
    }
    assert_eq!(target.heard().len(), 5, "nothing was sent twice");
}

#[tokio::test]
async fn a_connection_with_unasked_bytes_is_not_used_again() {
    let target = Upstream::plain(|_| {
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
            .into()
    });
    let port = target.port;
    let gate = open(&[rule("api.test", port)], limits());
    for _ in 0..3 {
        let text = format!("GET http://api.test:{port}/ HTTP/1.1\r\nHost: x\r\n\r\n");
        let answer = ask(&gate, &Trail::default(), text).await;
        assert!(answer.ends_with("\r\n\r\nok"), "{answer}");
    }
    assert_eq!(target.connections(), 3);
}

#[tokio::test]
async fn a_connection_that_was_logged_in_serves_nobody_else() {
    let target = Upstream::plain(|heard| {
        let offer = if heard.has("/closed") { "WWW-Authenticate: NTLM\r\n" } else { "" };
        format!("HTTP/1.1 200 OK\r\n{offer}Content-Length: 0\r\n\r\n").into()
    });
    let port = target.port;
    let gate = open(&[rule("api.test", port)], limits());
    for (path, login, connections) in [
        ("/", "Negotiate YII=", 1),
        ("/closed", "Bearer x", 2),
        ("/", "Bearer x", 3),
        ("/", "Bearer y", 3),
    ] {
        let text = format!(
            "GET http://api.test:{port}{path} HTTP/1.1\r\nHost: x\r\nAuthorization: {login}\r\n\r\n"
        );
        ask(&gate, &Trail::default(), text).await;
        assert_eq!(target.connections(), connections, "{path} {login}");
    }
}

#[tokio::test]
async fn the_gate_originates_tls_and_checks_the_name() {
    let authority = Authority::new();
    let target = Upstream::tls(&authority, "api.test", |_| {
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".into()
    });
    let port = target.port;
    let rules = [rule("api.test", port), rule("other.test", port)];
    let gate = open(&rules, limits_trusting(authority.file()));
    let trail = Trail::default();
    let fetch = |host: &str| format!("GET https://{host}:{port}/ HTTP/1.1\r\nHost: x\r\n\r\n");
    for _ in 0..2 {
        let answer = ask(&gate, &trail, fetch("api.test")).await;
        assert!(answer.ends_with("\r\n\r\nok"), "{answer}");
    }
    assert_eq!(target.connections(), 1, "the second exchange reused the first one's TLS");
    assert!(target.heard()[0].has(&format!("\r\nhost: api.test:{port}\r\n")));
    // The certificate is for another name.
    let answer = ask(&gate, &trail, fetch("other.test")).await;
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
    // Nobody vouches for the certificate.
    let stranger = Authority::new();
    let gate = open(&rules, limits_trusting(stranger.file()));
    let answer = ask(&gate, &trail, fetch("api.test")).await;
    assert!(answer.contains("TLS failed"), "{answer}");
    assert_eq!(target.heard().len(), 2);
}

#[tokio::test]
async fn a_certificate_out_of_its_time_or_another_protocol_is_refused() {
    let authority = Authority::new();
    let ok = |_: &super::upstream::Heard| "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".into();
    let speaking = |protocols: &[&str]| {
        let protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        Upstream::tls_speaking(&authority, "api.test", protocols, ok)
    };
    for (target, reason) in [
        (Upstream::tls_in(&authority, "api.test", 2001, ok), Some("xpired")),
        (Upstream::tls_in(&authority, "api.test", 2999, ok), Some("NotValidYet")),
        (speaking(&["h2"]), Some("TLS failed")),
        (speaking(&["h2", "http/1.1"]), None),
        (speaking(&[]), None),
    ] {
        let url = format!("https://api.test:{}/", target.port);
        let trail = Trail::default();
        let gate = open(&[rule("api.test", target.port)], limits_trusting(authority.file()));
        let answer = ask(&gate, &trail, format!("GET {url} HTTP/1.1\r\nHost: x\r\n\r\n")).await;
        match reason {
            None => assert!(answer.ends_with("\r\n\r\nok"), "{answer}"),
            Some(reason) => {
                assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
                let attempt = &trail.attempts()[0];
                let told = attempt.reason.replace(' ', "").contains(&reason.replace(' ', ""));
                assert!(told || attempt.reason.contains("not valid yet"), "{attempt:?}");
                assert!(target.heard().is_empty());
            }
        }
    }
}

#[tokio::test]
async fn a_profile_tightens_the_limits_and_never_widens_them() {
    let target = hello("a long enough answer");
    let own = crate::catalog::EgressLimits {
        attempts: Some(1),
        received: Some(1 << 40),
        ..Default::default()
    };
    let limits = limits().tightened(&own);
    assert_eq!((limits.attempts, limits.received_bytes), (1, 64 << 20));
    let gate = open(&[rule("api.test", target.port)], limits);
    let trail = Trail::default();
    let head = format!("GET http://api.test:{}/ HTTP/1.1\r\nHost: x\r\n\r\n", target.port);
    let answer = ask(&gate, &trail, head.repeat(2)).await;
    assert!(answer.contains("more than 1 attempts"), "{answer}");
    assert_eq!(target.heard().len(), 1);
}

#[tokio::test]
async fn an_early_answer_arrives_while_the_tool_still_sends() {
    // Answers on the head alone, and reads none of the body.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let gate = open(&[rule("api.test", port)], limits());
    let trail = Trail::default();
    let (mut tool, stream) = tokio::io::duplex(1024);
    let upstream = async {
        let (mut peer, _) = listener.accept().await.unwrap();
        let mut first = [0; 16];
        peer.read_exact(&mut first).await.unwrap();
        let answer = b"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig";
        peer.write_all(answer).await.unwrap();
        // Holds the connection until the gate lets go of it.
        while peer.read(&mut [0; 1 << 16]).await.is_ok_and(|read| read > 0) {}
    };
    let talk = async {
        let head = format!(
            "POST http://api.test:{port}/ HTTP/1.1\r\nHost: x\r\nContent-Length: 50000000\r\n\r\n"
        );
        tool.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        tool.read_to_string(&mut answer).await.unwrap();
        answer
    };
    let (_, _, answer) = tokio::join!(gate.serve(stream, &trail), upstream, talk);
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert!(answer.contains("Connection: close\r\n"), "{answer}");
}

#[tokio::test]
async fn an_answer_flows_while_its_question_is_still_sent() {
    // Sends back what it reads, as it reads it; either side waiting for the other would block.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let gate = open(&[rule("api.test", port)], limits());
    let trail = Trail::default();
    let (tool, stream) = tokio::io::duplex(1024);
    let size: usize = 8 << 20;
    let upstream = async {
        let (mut peer, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(peer.read_u8().await.unwrap());
        }
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n");
        peer.write_all(answer.as_bytes()).await.unwrap();
        let (from, mut to) = peer.split();
        let mut body = from.take(u64::try_from(size).unwrap());
        tokio::io::copy(&mut body, &mut to).await.unwrap();
    };
    let (mut from, mut to) = tokio::io::split(tool);
    let send = async {
        let head = format!(
            "POST http://api.test:{port}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {size}\r\n\r\n"
        );
        to.write_all(head.as_bytes()).await.unwrap();
        to.write_all(&vec![b'x'; size]).await.unwrap();
    };
    let receive = async {
        let mut answer = Vec::new();
        from.read_to_end(&mut answer).await.unwrap();
        answer.len()
    };
    let ended = tokio::join!(gate.serve(stream, &trail), upstream, send, receive);
    assert!(ended.3 > size);
}

#[tokio::test]
async fn bytes_of_a_call_are_limited_in_both_directions() {
    let target = Upstream::plain(|_| {
        Reply::Close([&b"HTTP/1.1 200 OK\r\n\r\n"[..], &[b'x'; 5000]].concat())
    });
    let port = target.port;
    let limits = GateLimits { sent_bytes: 1000, received_bytes: 3000, ..limits() };
    let gate = open(&[rule("api.test", port)], limits);
    let trail = Trail::default();
    let text = format!("GET http://api.test:{port}/ HTTP/1.1\r\nHost: x\r\n\r\n");
    let answer = ask(&gate, &trail, text).await;
    assert!(answer.len() < 4000 && !answer.ends_with("0\r\n\r\n"));
    let attempts = trail.attempts();
    assert_eq!(attempts[0].reason, "more than 3000 bytes received in one call");
    let text = format!(
        "POST http://api.test:{port}/ HTTP/1.1\r\nHost: x\r\nContent-Length: 2000\r\n\r\n{}",
        "x".repeat(2000)
    );
    let trail = Trail::default();
    let answer = ask(&gate, &trail, text).await;
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
    assert_eq!(trail.attempts()[0].reason, "more than 1000 bytes sent in one call");
}

#[tokio::test]
async fn attempts_of_a_call_are_limited_and_the_record_stays_bounded() {
    let limits = GateLimits { attempts: 3, ..limits() };
    let gate = open(&[], limits);
    let trail = Trail::default();
    let mut last = String::new();
    for _ in 0..10 {
        last = ask(&gate, &trail, "GET http://evil.test/ HTTP/1.1\r\nHost: x\r\n\r\n").await;
    }
    assert!(last.starts_with("HTTP/1.1 429 "), "{last}");
    let attempts = trail.attempts();
    assert_eq!(attempts.len(), 4);
    assert!(attempts[3].reason.contains("more than 3 attempts"));
    // The next call begins anew.
    let text = "GET http://evil.test/ HTTP/1.1\r\nHost: x\r\n\r\n";
    let answer = ask(&gate, &Trail::default(), text).await;
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
}

#[tokio::test]
async fn connections_of_a_call_are_limited_while_they_are_open() {
    let limits = GateLimits { connections: 1, ..limits() };
    let gate = open(&[], limits);
    let trail = Trail::default();
    let (held, stream) = tokio::io::duplex(1024);
    let mut first = std::pin::pin!(gate.serve(stream, &trail));
    assert!(futures::poll!(&mut first).is_pending());
    let answer = ask(&gate, &trail, "GET http://a.test/ HTTP/1.1\r\nHost: x\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 429 "), "{answer}");
    drop(held);
    first.await;
    let answer = ask(&gate, &trail, "GET http://a.test/ HTTP/1.1\r\nHost: x\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
}

#[tokio::test]
async fn silence_and_slow_drips_end_by_the_clock() {
    let silent = Upstream::plain(|_| Reply::Keep(Vec::new()));
    let port = silent.port;
    let gate = open(&[rule("api.test", port)], GateLimits { idle_ms: 50, ..limits() });
    let trail = Trail::default();
    let text = format!("GET http://api.test:{port}/ HTTP/1.1\r\nHost: x\r\n\r\n");
    let answer = ask(&gate, &trail, &text).await;
    assert!(answer.contains("nothing arrived for 50 ms"), "{answer}");

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let gate = open(&[rule("api.test", port)], GateLimits { total_ms: 300, ..limits() });
    let drip = async {
        let (mut peer, _) = listener.accept().await.unwrap();
        let mut beat = tokio::time::interval(std::time::Duration::from_millis(20));
        peer.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
        while peer.write_all(b"x").await.is_ok() {
            beat.tick().await;
        }
    };
    let trail = Trail::default();
    let text = format!("GET http://api.test:{port}/ HTTP/1.1\r\nHost: x\r\n\r\n");
    let (_, answer) = tokio::join!(drip, ask(&gate, &trail, text));
    assert!(!answer.ends_with("0\r\n\r\n"));
    let attempts = trail.attempts();
    assert_eq!(attempts[0].reason, "cut off after 300 ms");
    assert!(attempts[0].received > 20, "{attempts:?}");
}

#[tokio::test]
async fn a_call_cut_short_still_has_its_record() {
    let reached = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&reached);
    let target = Upstream::plain(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        Reply::Keep(Vec::new())
    });
    let port = target.port;
    let gate = open(&[rule("api.test", port)], limits());
    let trail = Trail::default();
    let (mut tool, stream) = tokio::io::duplex(1024);
    let text = format!("GET http://api.test:{port}/ HTTP/1.1\r\nHost: x\r\n\r\n");
    tool.write_all(text.as_bytes()).await.unwrap();
    {
        let mut serve = std::pin::pin!(gate.serve(stream, &trail));
        while reached.load(Ordering::SeqCst) == 0 {
            assert!(futures::poll!(&mut serve).is_pending());
            tokio::task::yield_now().await;
        }
    }
    let attempts = trail.attempts();
    assert!(attempts[0].allowed && attempts[0].sent > 0, "{attempts:?}");
    assert_eq!(attempts[0].received, 0);
}
