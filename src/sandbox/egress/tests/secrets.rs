//! Secrets at the gate: which messages get them, and that no answer brings them back.

use std::net::IpAddr;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::upstream::{Authority, Reply, Upstream};
use super::{
    EgressAttempt, EgressRule, Gate, GateLimits, Keyring, Trail, ask, limits, limits_with,
    open_with, public_rule, rule,
};
use crate::catalog::{HostPort, Origin, Placement, Secret};
use crate::sandbox::secrets::Hidden;

const VALUE: &str = "s3cr3t/va+lue==\"<1>";

fn header(name: &str, prefix: &str) -> Placement {
    Placement::Header { name: name.to_owned(), prefix: prefix.to_owned() }
}

fn secret(place: Placement, host: &str, port: u16) -> Secret {
    Secret {
        name: "orders_key".to_owned(),
        from: Origin::Env("NONE".to_owned()),
        hosts: vec![HostPort { host: host.to_owned(), port }],
        place,
        plain_http: false,
    }
}

fn keyring(secrets: &[Secret]) -> Keyring {
    let values: Vec<_> =
        secrets.iter().map(|_| Arc::new(Hidden::new(VALUE.as_bytes().to_vec()))).collect();
    Keyring::new(secrets, &values)
}

/// A gate to one upstream on loopback, called `api.test`, that gets the secret in `place`.
fn gate(upstream: &Upstream, place: Placement) -> Gate {
    let port = upstream.port;
    let rules = [rule("api.test", port), rule("other.test", port)];
    open_with(&rules, &limits(), keyring(&[secret(place, "api.test", port)]))
}

fn echo() -> Arc<Upstream> {
    Upstream::plain(|_| "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".into())
}

async fn send(gate: &Gate, url: &str, headers: &str) -> (String, Vec<EgressAttempt>) {
    let trail = Trail::default();
    let head = format!("GET {url} HTTP/1.1\r\nHost: x\r\n{headers}\r\n");
    let answer = ask(gate, &trail, head).await;
    (answer, trail.attempts())
}

fn count(text: &str, part: &str) -> usize {
    text.to_ascii_lowercase().matches(&part.to_ascii_lowercase()).count()
}

#[tokio::test]
async fn a_header_of_the_same_name_is_replaced_and_never_doubled() {
    let upstream = echo();
    let gate = gate(&upstream, header("X-Api-Key", "Token "));
    let url = format!("http://api.test:{}/a", upstream.port);
    let tools_own = "X-API-KEY: mine\r\nx_api_key: mine too\r\nX-Other: stays\r\n";
    let (answer, attempts) = send(&gate, &url, tools_own).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let head = &upstream.heard()[0].head;
    assert_eq!(count(head, &format!("\r\nX-Api-Key: Token {VALUE}\r\n")), 1, "{head}");
    assert_eq!((count(head, "mine"), count(head, "x-other: stays")), (0, 1), "{head}");
    assert_eq!(attempts[0].secrets, ["orders_key"]);
    assert!(attempts[0].duration_us > 0);
    assert!(!format!("{attempts:?}").contains(VALUE));
}

#[tokio::test]
async fn a_secret_in_a_cookie_stands_beside_the_tools_own_cookies() {
    let upstream = echo();
    let gate = gate(&upstream, header("Cookie", "sid="));
    let url = format!("http://api.test:{}/a", upstream.port);
    for (own, sent) in [
        ("", String::new()),
        ("cookie: lang=zh; theme=dark,big\r\n", "; lang=zh; theme=dark,big".to_owned()),
        ("Cookie: sid=evil;lang=zh\r\nCOOKIE: sid =worse; a\r\n", "; lang=zh; a".to_owned()),
        ("Cookie: ; \r\n", String::new()),
    ] {
        send(&gate, &url, own).await;
        let head = upstream.heard().pop().unwrap().head;
        assert_eq!(count(&head, "\r\ncookie:"), 1, "{head}");
        assert!(head.contains(&format!("\r\nCookie: sid={VALUE}{sent}\r\n")), "{head}");
    }
}

#[tokio::test]
async fn a_query_parameter_of_the_same_name_is_replaced_however_it_is_written() {
    let upstream = echo();
    let gate = gate(&upstream, Placement::Query("api key".to_owned()));
    let written = "api%20key=s3cr3t%2Fva%2Blue%3D%3D%22%3C1%3E";
    for (path, sent) in [
        ("/a", format!("/a?{written}")),
        ("/a?", format!("/a?{written}")),
        ("/a?b=1&c", format!("/a?b=1&c&{written}")),
        ("/a?api+key=x&b=1&api%20key=y", format!("/a?b=1&{written}")),
        ("/a?API%20KEY=x&b;api+key=z;c=2", format!("/a?b;c=2&{written}")),
        // Other spellings that servers read as the same name.
        ("/a?api_key=x&api.key[]=y&api%255Fkey=z&b=1", format!("/a?b=1&{written}")),
        ("/a?%61pi%20key", format!("/a?{written}")),
        ("?b=1", format!("/?b=1&{written}")),
    ] {
        let url = format!("http://api.test:{}{path}", upstream.port);
        send(&gate, &url, "").await;
        let head = upstream.heard().pop().unwrap().head;
        assert_eq!(head.split(' ').nth(1), Some(sent.as_str()), "{path}");
    }
}

#[tokio::test]
async fn basic_authentication_carries_the_value_as_its_password() {
    let upstream = echo();
    let gate = gate(&upstream, Placement::Basic { user: "shop".to_owned() });
    let url = format!("http://api.test:{}/", upstream.port);
    send(&gate, &url, "authorization: Bearer mine\r\n").await;
    let head = &upstream.heard()[0].head;
    let login = STANDARD.encode(format!("shop:{VALUE}"));
    assert!(head.contains(&format!("\r\nauthorization: Basic {login}\r\n")), "{head}");
    assert_eq!(count(head, "authorization"), 1, "{head}");
}

#[tokio::test]
async fn another_host_or_port_gets_nothing() {
    let (upstream, second) = (echo(), echo());
    let port = upstream.port;
    let rules = [rule("api.test", port), rule("*.api.test", port), rule("api.test", second.port)];
    let bound = secret(header("Authorization", "Bearer "), "api.test", port);
    let gate = open_with(&rules, &limits(), keyring(&[bound]));
    for url in [format!("http://sub.api.test:{port}/"), format!("http://api.test:{}/", second.port)]
    {
        let (answer, attempts) = send(&gate, &url, "Authorization: mine\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        assert!(attempts[0].secrets.is_empty(), "{attempts:?}");
    }
    for heard in upstream.heard().into_iter().chain(second.heard()) {
        assert!(heard.head.contains("Authorization: mine") && !heard.head.contains(VALUE));
    }
    // The same host in another spelling is the same host.
    let (_, attempts) = send(&gate, &format!("http://API.Test.:{port}/"), "").await;
    assert_eq!(attempts[0].secrets, ["orders_key"]);
}

#[tokio::test]
async fn a_redirect_is_passed_back_and_the_next_host_gets_nothing() {
    let upstream = Upstream::plain(|heard| {
        let key = heard.head.split("Bearer ").nth(1).and_then(|rest| rest.split("\r\n").next());
        let place = format!("http://other.test/?stolen={}", key.unwrap_or("nothing"));
        format!("HTTP/1.1 302 Found\r\nLocation: {place}\r\nContent-Length: 0\r\n\r\n").into()
    });
    let gate = gate(&upstream, header("Authorization", "Bearer "));
    let (answer, _) = send(&gate, &format!("http://api.test:{}/", upstream.port), "").await;
    let stars = "*".repeat(VALUE.len());
    assert!(answer.contains(&format!("stolen={stars}\r\n")), "{answer}");
    let (_, attempts) = send(&gate, &format!("http://other.test:{}/", upstream.port), "").await;
    assert!(attempts[0].secrets.is_empty());
    assert!(!upstream.heard()[1].head.contains(VALUE));
}

#[tokio::test]
async fn a_tunnel_to_a_bound_host_is_refused_and_says_how_to_do_it() {
    let upstream = echo();
    let gate = gate(&upstream, header("Authorization", "Bearer "));
    let trail = Trail::default();
    let head = format!("CONNECT api.test:{} HTTP/1.1\r\nHost: x\r\n\r\n", upstream.port);
    let answer = ask(&gate, &trail, head).await;
    super::assert_denied(&answer, &trail.attempts());
    assert!(answer.contains("`orders_key`") && answer.contains("in place of CONNECT"), "{answer}");
    assert_eq!(upstream.connections(), 0);
}

#[tokio::test]
async fn plain_http_carries_no_secret_beyond_loopback() {
    let (private, shared): (IpAddr, IpAddr) =
        ("127.0.0.1".parse().unwrap(), "10.1.2.3".parse().unwrap());
    let bound = |plain| Secret { plain_http: plain, ..secret(header("K", ""), "api.test", 80) };
    let ring = |plain| keyring(&[bound(plain)]);
    let check = |ring: &Keyring, address: IpAddr| {
        let target = super::super::rules::Target::parse("api.test:80", None).unwrap();
        let keys = ring.bound(&target);
        keys[0].check(super::super::head::Scheme::Http, (address, 80).into())
    };
    assert_eq!(check(&ring(false), private), Ok(()));
    assert_eq!(check(&ring(false), "::ffff:127.0.0.1".parse().unwrap()), Ok(()));
    assert!(check(&ring(false), shared).unwrap_err().contains("plain_http"));
    assert_eq!(check(&ring(true), shared), Ok(()));
    for public in ["8.8.8.8", "2606:4700::1111"] {
        let told = check(&ring(true), public.parse().unwrap()).unwrap_err();
        assert!(told.contains("never sent over plain HTTP"), "{told}");
    }
}

/// Answers with `answer`, in which `{}` stands for the value in some spelling.
async fn reflect(answer: &'static [u8], spelling: &str) -> String {
    let text = String::from_utf8(answer.to_vec()).unwrap().replace("{}", spelling);
    let upstream = Upstream::plain(move |_| Reply::Close(text.clone().into_bytes()));
    let gate = gate(&upstream, header("Authorization", "Bearer "));
    send(&gate, &format!("http://api.test:{}/", upstream.port), "").await.0
}

#[tokio::test]
async fn nothing_that_an_upstream_sends_brings_the_value_back() {
    for spelling in [VALUE, "s3cr3t%2Fva%2Blue%3D%3D%22%3C1%3E", &STANDARD.encode(VALUE)] {
        for answer in [
            &b"HTTP/1.1 200 {}\r\nContent-Length: 0\r\n\r\n"[..],
            b"HTTP/1.1 200 OK\r\nX-Echo: a {} b\r\nSet-Cookie: k={}\r\nContent-Length: 0\r\n\r\n",
            b"HTTP/1.1 103 Early\r\nLink: {}\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
            b"HTTP/1.1 500 No\r\n\r\nbad key {} given, {}",
            b"HTTP/1.1 401 No\r\nWWW-Authenticate: x error=\"{}\"\r\n\r\n",
        ] {
            let got = reflect(answer, spelling).await;
            assert!(got.starts_with("HTTP/1.1 "), "{got}");
            assert!(got.contains("*****"), "{got}");
            assert!(!got.contains(spelling), "{got}");
        }
    }
    let named = "HTTP/1.1 200 OK\r\nX-s3cr3t-value: 1\r\nContent-Length: 0\r\n\r\n";
    let upstream = Upstream::plain(move |_| named.into());
    let values = [Arc::new(Hidden::new(b"s3cr3t-value".to_vec()))];
    let bound = [secret(header("K", ""), "api.test", upstream.port)];
    let gate =
        open_with(&[rule("api.test", upstream.port)], &limits(), Keyring::new(&bound, &values));
    let (got, _) = send(&gate, &format!("http://api.test:{}/", upstream.port), "").await;
    assert!(got.contains("\r\nX-************: 1\r\n"), "{got}");
}

#[tokio::test]
async fn chunks_and_trailers_hide_nothing_and_the_framing_stays() {
    let mut chunked = String::from("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    for byte in format!("<{VALUE}>").chars() {
        chunked.push_str(&format!("1\r\n{byte}\r\n"));
    }
    chunked.push_str(&format!("0\r\nX-Trailer: {VALUE}\r\n\r\n"));
    let upstream = Upstream::plain(move |_| chunked.clone().into());
    let gate = gate(&upstream, header("Authorization", "Bearer "));
    let (got, attempts) = send(&gate, &format!("http://api.test:{}/", upstream.port), "").await;
    assert!(!got.contains("X-Trailer") && got.ends_with("\r\n0\r\n\r\n"), "{got}");
    let stars = got.bytes().filter(|byte| *byte == b'*').count();
    assert_eq!(stars, VALUE.len(), "{got}");
    assert_eq!(attempts[0].reason, "");

    let body = format!("{}{VALUE}{}", "a".repeat(70_000), "b".repeat(70_000));
    let length = body.len();
    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}");
    let upstream = Upstream::plain(move |_| answer.clone().into());
    let gate = gate_of(&upstream);
    let (got, _) = send(&gate, &format!("http://api.test:{}/", upstream.port), "").await;
    let (head, got) = got.split_once("\r\n\r\n").unwrap();
    assert!(head.contains(&format!("Content-Length: {length}")), "{head}");
    assert_eq!(got, body.replace(VALUE, &"*".repeat(VALUE.len())));
}

fn gate_of(upstream: &Upstream) -> Gate {
    gate(upstream, header("Authorization", "Bearer "))
}

#[tokio::test]
async fn compression_and_parts_are_not_asked_for_and_not_taken() {
    for (answer, told) in [
        ("200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nxx", "compressed"),
        ("200 OK\r\nContent-Encoding: identity, br\r\n\r\nxx", "compressed"),
        ("206 Partial\r\nContent-Range: bytes 0-1/9\r\nContent-Length: 2\r\n\r\nxx", "a part"),
    ] {
        let upstream = Upstream::plain(move |_| Reply::Close(format!("HTTP/1.1 {answer}").into()));
        let gate = gate_of(&upstream);
        let asked = "Accept-Encoding: gzip\r\nRange: bytes=0-1\r\nIf-Range: \"a\"\r\n";
        let url = format!("http://api.test:{}/", upstream.port);
        let (got, attempts) = send(&gate, &url, asked).await;
        assert!(got.starts_with("HTTP/1.1 502 ") && got.contains(told), "{got}");
        assert!(attempts[0].reason.contains("a secret could hide"), "{attempts:?}");
        let head = upstream.heard()[0].head.to_ascii_lowercase();
        assert!(head.contains("\r\naccept-encoding: identity\r\n"), "{head}");
        assert!(!head.contains("gzip") && !head.contains("range"), "{head}");
    }
}

#[tokio::test]
async fn tls_that_the_gate_cannot_trust_carries_no_secret() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let upstream = Upstream::tls(&stranger, "api.test", |_| "HTTP/1.1 200 OK\r\n\r\n".into());
    let port = upstream.port;
    let limits = GateLimits { extra_ca: Some(authority.file()), ..limits() };
    let bound = [secret(header("Authorization", "Bearer "), "api.test", port)];
    let gate = open_with(&[rule("api.test", port)], &limits, keyring(&bound));
    let (got, attempts) = send(&gate, &format!("https://api.test:{port}/"), "").await;
    assert!(got.starts_with("HTTP/1.1 502 "), "{got}");
    assert!(attempts[0].secrets.is_empty() && upstream.heard().is_empty(), "{attempts:?}");
}

#[tokio::test]
async fn a_refused_address_carries_no_secret() {
    let upstream = echo();
    let port = upstream.port;
    let rules: [EgressRule; 1] = [public_rule("api.test", port)];
    let limits = limits_with(|_| vec!["127.0.0.1".parse().unwrap()]);
    let gate = open_with(&rules, &limits, keyring(&[secret(header("K", ""), "api.test", port)]));
    let (got, attempts) = send(&gate, &format!("http://api.test:{port}/"), "").await;
    assert!(got.starts_with("HTTP/1.1 403 "), "{got}");
    assert!(attempts[0].secrets.is_empty());
    assert_eq!(upstream.connections(), 0);
}
