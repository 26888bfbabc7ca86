//! Hosts in every spelling, rules, and which addresses count as public.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::super::rules::{Host, Target};
use super::{
    EgressRule, Trail, Upstream, ask, assert_denied, get, hello, limits_with, open, public_rule,
    rule,
};
use crate::catalog::{Network, special};

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn every_spelling_of_an_address_is_read_as_that_address() {
    for (spelling, means) in [
        ("2130706433", "127.0.0.1"),
        ("0x7f000001", "127.0.0.1"),
        ("0x7F.1", "127.0.0.1"),
        ("0177.0.0.1", "127.0.0.1"),
        ("017700000001", "127.0.0.1"),
        ("127.1", "127.0.0.1"),
        ("127.0.0.1.", "127.0.0.1"),
        ("[::ffff:127.0.0.1]", "127.0.0.1"),
        ("[::ffff:7f00:1]", "127.0.0.1"),
        ("①②⑦.0.0.1", "127.0.0.1"),
        ("127。0。0。1", "127.0.0.1"),
        ("[64:ff9b::7f00:1]", "64:ff9b::7f00:1"),
        ("[::]", "::"),
        ("0", "0.0.0.0"),
        ("[0:0:0:0:0:0:0:1]", "::1"),
    ] {
        assert_eq!(Host::parse(spelling), Ok(Host::Address(address(means))), "{spelling}");
    }
}

#[test]
fn names_are_compared_in_one_spelling() {
    for (spelling, means) in [
        ("API.GOOD.TEST", "api.good.test"),
        ("api.good.test.", "api.good.test"),
        ("bücher.test", "xn--bcher-kva.test"),
        ("XN--BCHER-KVA.test", "xn--bcher-kva.test"),
        ("a_b.test", "a_b.test"),
    ] {
        let name = Host::Name(means.to_owned());
        assert_eq!(Host::parse(spelling), Ok(name), "{spelling}");
    }
}

#[test]
fn what_is_no_host_is_refused() {
    let long = "a".repeat(64);
    for text in [
        "",
        ".",
        "..",
        "a..b",
        ".a",
        "a.test..",
        "127.0.0.1..",
        "1.2.3.4.5",
        "256.0.0.1",
        "a%2eb",
        "%31%32%37.0.0.1",
        "[fe80::1%25eth0]",
        "[fe80::1%eth0]",
        "[::1",
        "::1",
        "a\\b",
        "a b",
        "*.good.test",
        "a@b",
        "a/b",
        &long,
    ] {
        assert!(Host::parse(text).is_err(), "{text}");
    }
}

#[test]
fn ports_are_plain_numbers() {
    let parse = |text| Target::parse(text, None).map(|target| target.port);
    assert_eq!(parse("a.test:443"), Ok(443));
    assert_eq!(parse("[::1]:443"), Ok(443));
    for text in [
        "a.test",
        "a.test:",
        "a.test:0",
        "a.test:65536",
        "a.test:+80",
        "a.test: 80",
        "a.test:80:80",
        "a.test:000080",
        "[::1]",
        "a@b.test:80",
    ] {
        assert!(parse(text).is_err(), "{text}");
    }
    assert_eq!(Target::parse("a.test", Some(80)).map(|t| t.port), Ok(80));
}

#[test]
fn only_global_addresses_are_public() {
    for text in [
        "0.0.0.0",
        "10.1.2.3",
        "100.64.0.1",
        "100.100.100.200",
        "127.8.9.1",
        "168.63.129.16",
        "169.254.169.254",
        "169.254.1.1",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.1",
        "192.0.2.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.51.100.1",
        "203.0.113.7",
        "224.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:10.0.0.1",
        "::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::1",
        "100::1",
        "2001:0:1::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "2002:808:808::1",
        "3fff::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fec0::1",
        "ff02::1",
        "4000::1",
        "2606:4700::5efe:7f00:1",
        "2606:4700::200:5efe:808:808",
        "::ffff:0:7f00:1",
    ] {
        assert!(special(address(text)).is_some(), "{text}");
    }
    for text in [
        "8.8.8.8",
        "172.32.0.1",
        "100.128.0.1",
        "2606:4700::1111",
        "::ffff:8.8.8.8",
        "64:ff9b::808:808",
    ] {
        assert_eq!(special(address(text)), None, "{text}");
    }
}

#[test]
fn networks_hold_what_their_prefix_says() {
    let holds = |network: &str, text: &str| {
        Network::parse(network).is_some_and(|network| network.contains(address(text)))
    };
    assert!(holds("127.0.0.0/8", "127.255.0.1"));
    assert!(!holds("127.0.0.0/8", "128.0.0.1"));
    assert!(holds("0.0.0.0/0", "10.0.0.1"));
    assert!(!holds("0.0.0.0/0", "::1"));
    assert!(holds("10.1.2.3", "10.1.2.3"));
    assert!(!holds("10.1.2.3", "10.1.2.4"));
    assert!(holds("fd00::/8", "fd12::1"));
    assert!(!holds("fd00::/8", "fc00::1"));
    for text in ["", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/+8", "::/129", "a/8"] {
        assert_eq!(Network::parse(text), None, "{text}");
    }
}

#[tokio::test]
async fn internal_addresses_are_refused_in_every_spelling() {
    let target = hello("secret");
    let port = target.port;
    // Names lead to loopback, as the tests' resolver says; the rules name no network.
    let rules = [
        public_rule("localhost", port),
        public_rule("127.0.0.1.nip.test", port),
        public_rule("127.0.0.1", port),
        public_rule("::1", port),
    ];
    for host in [
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "127.1",
        "127.0.0.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "localhost.",
        "LOCALHOST",
        "127.0.0.1.nip.test",
        "0.0.0.0",
        "[::]",
        "100.100.100.200",
        "①②⑦.0.0.1",
        "169.254.169.254",
        "[fd00:ec2::254]",
    ] {
        let (answer, attempts) = get(&rules, &format!("http://{host}:{port}/")).await;
        assert_denied(&answer, &attempts);
        let reason = &attempts[0].reason;
        assert!(reason.contains("internal address"), "{host}: {reason}");
    }
    let (answer, attempts) = get(&rules, "http://[fe80::1%25eth0]/").await;
    assert_denied(&answer, &attempts);
    assert_eq!(target.connections(), 0);
}

#[tokio::test]
async fn hosts_match_exactly_and_wildcards_match_one_label() {
    let target = hello("ok");
    let port = target.port;
    let rules = [rule("api.good.test", port), rule("*.files.good.test", port)];
    for (authority, allowed) in [
        ("api.good.test:{}@evil.test", false),
        ("api.good.test@evil.test:{}", false),
        ("user:pass@api.good.test:{}", false),
        ("api.good.test.evil.test:{}", false),
        ("evilapi.good.test:{}", false),
        ("good.test:{}", false),
        ("evil.test\\@api.good.test:{}", false),
        ("files.good.test:{}", false),
        ("a.files.good.test:{}", true),
        ("a.b.files.good.test:{}", false),
        (".files.good.test:{}", false),
        ("xfiles.good.test:{}", false),
        ("API.GOOD.TEST.:{}", true),
        ("api.good.test", false),
        ("api.good.test:8443", false),
        ("evil.test:{}/#@api.good.test", false),
    ] {
        let authority = authority.replace("{}", &port.to_string());
        let (answer, attempts) = get(&rules, &format!("http://{authority}/")).await;
        assert_eq!(answer.starts_with("HTTP/1.1 200"), allowed, "{authority}: {answer}");
        assert_eq!(attempts.len(), 1);
        assert_eq!(attempts[0].allowed, allowed, "{authority}");
    }
    assert_eq!(target.connections(), 2);
}

#[tokio::test]
async fn a_rule_that_cannot_be_read_allows_nothing() {
    let target = hello("no");
    let port = target.port;
    let broken = EgressRule { networks: vec!["127.0.0.0/99".to_owned()], ..rule("api.test", port) };
    let rules = [broken, rule("*.127.0.0.1", port), rule("*", port), rule("", port)];
    let (answer, attempts) = get(&rules, &format!("http://api.test:{port}/")).await;
    assert_denied(&answer, &attempts);
    let (answer, attempts) = get(&[], &format!("http://api.test:{port}/")).await;
    assert_denied(&answer, &attempts);
    assert_eq!(target.connections(), 0);
}

#[tokio::test]
async fn a_denied_name_is_never_resolved() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let limits = limits_with(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        vec![address("127.0.0.1")]
    });
    let gate = open(&[rule("api.test", 80), rule("*.files.test", 80)], limits);
    let trail = Trail::default();
    for url in ["http://c2VjcmV0.api.test/", "http://c2VjcmV0.evil.test/", "http://x.y.files.test/"]
    {
        ask(&gate, &trail, format!("GET {url} HTTP/1.1\r\nHost: x\r\n\r\n")).await;
        ask(&gate, &trail, "CONNECT data.evil.test:443 HTTP/1.1\r\nHost: x\r\n\r\n").await;
    }
    assert_eq!(asked.load(Ordering::SeqCst), 0);
    assert_eq!(trail.attempts().len(), 6);
}

#[tokio::test]
async fn a_name_that_changes_its_answer_gains_nothing() {
    let allowed = Upstream::at("127.0.0.2:0", |_| {
        super::upstream::Reply::Close(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_vec())
    });
    let port = allowed.port;
    let secret = Upstream::at(&format!("127.0.0.3:{port}"), |_| "HTTP/1.1 200 OK\r\n\r\n".into());
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let limits = limits_with(move |_| match count.fetch_add(1, Ordering::SeqCst) {
        0 => vec![address("127.0.0.2")],
        1 => vec![address("127.0.0.3")],
        _ => vec![address("127.0.0.3"), address("127.0.0.2")],
    });
    let only =
        EgressRule { networks: vec!["127.0.0.2/32".to_owned()], ..rule("rebind.test", port) };
    let gate = open(&[only], limits);
    let trail = Trail::default();
    let url = format!("GET http://rebind.test:{port}/ HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(ask(&gate, &trail, &url).await.starts_with("HTTP/1.1 200"));
    assert_eq!(asked.load(Ordering::SeqCst), 1, "checked and dialled from one answer");
    let answer = ask(&gate, &trail, &url).await;
    assert_denied(&answer, &trail.attempts());
    // Of a mixed answer only the allowed address is dialled.
    assert!(ask(&gate, &trail, &url).await.starts_with("HTTP/1.1 200"));
    assert_eq!(secret.connections(), 0);
    assert_eq!(allowed.connections(), 2);
}
