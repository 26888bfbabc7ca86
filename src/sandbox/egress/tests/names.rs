//! Names at a hostile name server.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::server::{A, NameServer, Record, Said, of_kind};
use super::upstream::Upstream;
use super::{EgressAttempt, EgressRule, GateLimits, Trail, ask, hello, open, rule};

fn limits(server: &NameServer) -> GateLimits {
    GateLimits { name_servers: vec![server.address], connect_ms: 3000, ..GateLimits::default() }
}

async fn get(rules: &[EgressRule], limits: GateLimits, url: &str) -> (String, Vec<EgressAttempt>) {
    let (gate, trail) = (open(rules, limits), Trail::default());
    let answer = ask(&gate, &trail, format!("GET {url} HTTP/1.1\r\nHost: x\r\n\r\n")).await;
    (answer, trail.attempts())
}

/// A rule under which only 127.0.0.2 may be reached; 127.0.0.1 stands for what is internal.
fn narrow(host: &str, port: u16) -> EgressRule {
    EgressRule { networks: vec!["127.0.0.2/32".to_owned()], ..rule(host, port) }
}

/// One port at 127.0.0.1, which must not be reached, and at 127.0.0.2, which may.
fn pair() -> (Arc<Upstream>, Arc<Upstream>) {
    let internal = hello("internal");
    let open = Upstream::at(&format!("127.0.0.2:{}", internal.port), |_| {
        "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nopen".into()
    });
    (internal, open)
}

fn internal() -> IpAddr {
    "127.0.0.1".parse().unwrap()
}

#[tokio::test]
async fn a_listed_server_is_asked_for_exactly_the_name() {
    let server = NameServer::fixed(&["127.0.0.1"]);
    let target = hello("ok");
    let url = format!("http://API.Test.:{}/", target.port);
    let (answer, _) = get(&[rule("api.test", target.port)], limits(&server), &url).await;
    assert!(answer.ends_with("\r\n\r\nok"), "{answer}");
    let mut asked = server.asked();
    asked.sort();
    asked.dedup();
    assert_eq!(asked, ["api.test 1", "api.test 28"], "no search list, no other name");
}

#[tokio::test]
async fn nothing_is_asked_for_what_no_rule_lists() {
    let server = NameServer::fixed(&["127.0.0.1"]);
    let rules = [rule("api.good.test", 80), rule("*.files.good.test", 80)];
    let gate = open(&rules, limits(&server));
    for host in [
        "evil.test",
        "c2VjcmV0.evil.test",
        "c2VjcmV0.good.test",
        "c2VjcmV0.api.good.test",
        "a.c2VjcmV0.files.good.test",
        "api.good.test.evil.test",
        "api.good.test:81",
        "api.good.test@evil.test",
        "8.8.8.8",
        "127.0.0.11",
        "dns.google",
    ] {
        let trail = Trail::default();
        ask(&gate, &trail, format!("GET http://{host}/ HTTP/1.1\r\nHost: x\r\n\r\n")).await;
        assert!(!trail.attempts()[0].allowed, "{host}");
        let trail = Trail::default();
        let authority = if host.contains(':') { host.to_owned() } else { format!("{host}:443") };
        ask(&gate, &trail, format!("CONNECT {authority} HTTP/1.1\r\nHost: x\r\n\r\n")).await;
        assert!(!trail.attempts()[0].allowed, "{host}");
    }
    assert_eq!(server.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn an_answer_that_changes_is_checked_again() {
    let (internal_one, open_one) = pair();
    let asked = AtomicUsize::new(0);
    let server = NameServer::start(move |name, kind| {
        let turn = if kind == A { asked.fetch_add(1, Ordering::SeqCst) } else { 0 };
        let address = if turn == 0 { "127.0.0.2" } else { "127.0.0.1" };
        Said::Records(of_kind(name, &[address.parse().unwrap()], kind))
    });
    let rules = [narrow("rebind.test", open_one.port)];
    let gate = open(&rules, limits(&server));
    let url = format!("http://rebind.test:{}/", open_one.port);
    let head = format!("GET {url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    let trail = Trail::default();
    let answer = ask(&gate, &trail, &head).await;
    assert!(answer.ends_with("open"), "{answer}");
    // A new gate has no kept connection; its resolver asks again.
    let gate = open(&rules, GateLimits { names: Arc::default(), ..limits(&server) });
    let answer = ask(&gate, &trail, &head).await;
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    assert!(trail.attempts()[1].reason.contains("internal address `127.0.0.1`"));
    assert_eq!((internal_one.connections(), open_one.connections()), (0, 1));
}

#[tokio::test]
async fn of_a_mixed_answer_only_what_is_allowed_is_dialled() {
    let (internal_one, open_one) = pair();
    let port = open_one.port;
    let six = Upstream::at(&format!("[::1]:{port}"), |_| "HTTP/1.1 200 OK\r\n\r\n".into());
    let url = format!("http://mixed.test:{port}/");
    for addresses in [
        &["127.0.0.1", "127.0.0.2", "::1"][..],
        &["127.0.0.2", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1"],
    ] {
        let server = NameServer::fixed(addresses);
        let (answer, attempts) = get(&[narrow("mixed.test", port)], limits(&server), &url).await;
        assert!(answer.ends_with("open"), "{answer}");
        assert_eq!(attempts[0].address, Some(format!("127.0.0.2:{port}")));
    }
    for addresses in [
        &["127.0.0.1", "::1"][..],
        &["169.254.169.254", "fd00:ec2::254", "100.100.100.200"],
        &["::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::1"],
    ] {
        let server = NameServer::fixed(addresses);
        let (answer, attempts) = get(&[narrow("mixed.test", port)], limits(&server), &url).await;
        assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
        assert!(attempts[0].reason.contains("internal address"), "{attempts:?}");
    }
    assert_eq!((internal_one.connections(), six.connections()), (0, 0));
}

#[tokio::test]
async fn a_chain_of_aliases_that_ends_inside_is_refused() {
    let target = hello("internal");
    let port = target.port;
    let url = format!("http://start.test:{port}/");
    for length in [1, 5, 40] {
        // All in one answer.
        let whole = NameServer::start(move |name, kind| {
            let step = |n: usize| if n == 0 { name.to_owned() } else { format!("c{n}.test") };
            let mut records: Vec<Record> =
                (0..length).map(|n| Record::Alias(step(n), step(n + 1))).collect();
            records.extend(of_kind(&step(length), &[internal()], kind));
            Said::Records(records)
        });
        // One link an answer, so that the gate has to ask again for each.
        let links = NameServer::start(move |name, kind| {
            let place = name.trim_start_matches('c').split('.').next().unwrap();
            let place: usize = place.parse().unwrap_or(0);
            Said::Records(if place == length {
                of_kind(name, &[internal()], kind)
            } else {
                vec![Record::Alias(name.to_owned(), format!("c{}.test", place + 1))]
            })
        });
        for server in [whole, links] {
            let rules = [narrow("start.test", port)];
            let (answer, attempts) = get(&rules, limits(&server), &url).await;
            // A chain that is too long has no address at all.
            assert!(answer.starts_with("HTTP/1.1 403 ") || answer.starts_with("HTTP/1.1 502 "));
            assert_eq!(attempts[0].address, None, "{attempts:?}");
            assert!(server.asked().len() < 64, "{} questions", server.asked().len());
        }
    }
    assert_eq!(target.connections(), 0);
}

#[tokio::test]
async fn a_loop_of_aliases_ends() {
    let server = NameServer::start(|name, _| {
        let other = if name == "a.test" { "b.test" } else { "a.test" };
        Said::Records(vec![Record::Alias(name.to_owned(), other.to_owned())])
    });
    let (answer, _) = get(&[rule("a.test", 80)], limits(&server), "http://a.test/").await;
    assert!(answer.starts_with("HTTP/1.1 502 ") && answer.contains("does not resolve"), "{answer}");
    assert!(server.asked().len() < 64);
}

#[tokio::test]
async fn answers_that_are_empty_cut_or_missing_fail_and_say_why() {
    let target = hello("ok");
    let port = target.port;
    let url = format!("http://api.test:{port}/");
    for said in [Said::Records(Vec::new()), Said::CutOff, Said::Silence] {
        let silent = matches!(said, Said::Silence);
        let server = NameServer::start(move |_, _| said.clone());
        let limits = GateLimits { connect_ms: 400, ..limits(&server) };
        let began = Instant::now();
        let (answer, attempts) = get(&[rule("api.test", port)], limits, &url).await;
        assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
        assert!(attempts[0].reason.contains("does not resolve"), "{attempts:?}");
        assert!(attempts[0].allowed && attempts[0].address.is_none(), "{attempts:?}");
        assert!(!silent || began.elapsed() < Duration::from_secs(10));
    }
    assert_eq!(target.connections(), 0);
    // A cut answer is asked for again over TCP, and checked like any other.
    for (address, reached) in [("127.0.0.1", false), ("127.0.0.2", true)] {
        let (internal_one, open_one) = pair();
        let address: IpAddr = address.parse().unwrap();
        let server =
            NameServer::start(move |name, kind| Said::Cut(of_kind(name, &[address], kind)));
        let url = format!("http://api.test:{}/", open_one.port);
        let rules = [narrow("api.test", open_one.port)];
        let (answer, _) = get(&rules, limits(&server), &url).await;
        assert_eq!(answer.ends_with("open"), reached, "{answer}");
        assert_eq!(internal_one.connections(), 0);
    }
}

#[tokio::test]
async fn an_answer_under_another_id_or_name_is_not_taken() {
    let (internal_one, open_one) = pair();
    let port = open_one.port;
    let server = NameServer::start(|name, kind| {
        Said::Spoofed(
            of_kind(name, &["127.0.0.1".parse().unwrap()], kind),
            of_kind(name, &["127.0.0.2".parse().unwrap()], kind),
        )
    });
    let rules = [rule("api.test", port)];
    let url = format!("http://api.test:{port}/");
    let (answer, attempts) = get(&rules, limits(&server), &url).await;
    // The rule allows both addresses, so only the check of the answer tells them apart.
    assert_ne!(attempts[0].address, Some(format!("127.0.0.1:{port}")), "{answer}");
    assert_eq!(internal_one.connections(), 0);
}
