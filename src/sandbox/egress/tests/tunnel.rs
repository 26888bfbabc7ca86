//! CONNECT tunnels, with a real TLS client at one end and a real TLS server at the other.

use std::sync::Arc;

use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::upstream::{Authority, Upstream};
use super::{
    EgressAttempt, Gate, GateLimits, Trail, ask, assert_denied, hello, limits, open, public_rule,
    rule,
};

fn client(authority: &Authority, sni: bool) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(authority.file()).unwrap()).unwrap();
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.enable_sni = sni;
    TlsConnector::from(Arc::new(config))
}

fn server(authority: &Authority, name: &str) -> Arc<Upstream> {
    Upstream::tls(authority, name, |_| "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".into())
}

/// Opens a tunnel and waits for the gate's 200.
async fn connect(tool: &mut DuplexStream, authority: &str) {
    let text = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n");
    tool.write_all(text.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(tool.read_u8().await.unwrap());
    }
    assert!(head.starts_with(b"HTTP/1.1 200 "), "{head:?}");
}

/// Fetches through a tunnel to `authority`, asking TLS for `name`.
async fn fetch(
    gate: &Gate,
    connector: TlsConnector,
    authority: &str,
    name: &str,
) -> (std::io::Result<String>, Vec<EgressAttempt>) {
    let trail = Trail::default();
    let (mut tool, stream) = tokio::io::duplex(64 * 1024);
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let talk = async {
        connect(&mut tool, authority).await;
        let mut tls = connector.connect(name, tool).await?;
        tls.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await?;
        let mut answer = [0; 40];
        tls.read_exact(&mut answer).await?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    };
    let (_, answer) = tokio::join!(gate.serve(stream, &trail), talk);
    (answer, trail.attempts())
}

#[tokio::test]
async fn tls_to_the_named_host_passes_and_is_counted() {
    let authority = Authority::new();
    let target = server(&authority, "api.test");
    let gate = open(&[rule("api.test", target.port)], limits());
    for name in ["api.test", "API.Test."] {
        let named = format!("{name}:{}", target.port);
        let (answer, attempts) = fetch(&gate, client(&authority, true), &named, "api.test").await;
        assert!(answer.unwrap().starts_with("HTTP/1.1 200 OK"));
        let attempt = &attempts[0];
        assert!(attempt.allowed, "{attempt:?}");
        assert_eq!(attempt.host, "api.test");
        assert_eq!(attempt.address, Some(format!("127.0.0.1:{}", target.port)));
        // At least a hello each way; never the CONNECT itself, which is the gate's.
        assert!(attempt.sent > 150 && attempt.received > 500, "{attempt:?}");
    }
}

#[tokio::test]
async fn tls_to_another_name_or_to_none_is_refused() {
    let authority = Authority::new();
    let target = server(&authority, "evil.test");
    let port = target.port;
    let gate = open(&[rule("api.test", port), rule("127.0.0.1", port)], limits());
    let named = format!("api.test:{port}");
    for (sni, name, authority_text, reason) in [
        (true, "evil.test", named.clone(), "asks for `evil.test`"),
        (true, "sub.api.test", named.clone(), "asks for `sub.api.test`"),
        (false, "api.test", named, "names no server"),
        (true, "evil.test", format!("127.0.0.1:{port}"), "asks for `evil.test`"),
    ] {
        let connector = client(&authority, sni);
        let (answer, attempts) = fetch(&gate, connector, &authority_text, name).await;
        answer.unwrap_err();
        assert!(!attempts[0].allowed);
        assert!(attempts[0].reason.contains(reason), "{:?}", attempts[0]);
        assert_eq!(attempts[0].sent, 0, "the upstream was told nothing");
    }
    assert!(target.heard().is_empty());
}

#[tokio::test]
async fn an_address_with_a_rule_of_its_own_needs_no_name() {
    let authority = Authority::new();
    let target = server(&authority, "127.0.0.1");
    let named = format!("127.0.0.1:{}", target.port);
    let gate = open(&[rule("127.0.0.1", target.port)], limits());
    let (answer, _) = fetch(&gate, client(&authority, true), &named, "127.0.0.1").await;
    assert!(answer.unwrap().starts_with("HTTP/1.1 200 OK"));
}

#[tokio::test]
async fn what_is_not_tls_is_refused() {
    let target = hello("no");
    let port = target.port;
    let gate = open(&[rule("api.test", port)], limits());
    for first in [
        &b"GET / HTTP/1.1\r\nHost: api.test\r\n\r\n"[..],
        b"SSH-2.0-x\r\n",
        b"\x16\x03\x01\x00\x05\x02\x00\x00\x01\x00",
        b"",
    ] {
        let trail = Trail::default();
        let head = format!("CONNECT api.test:{port} HTTP/1.1\r\nHost: x\r\n\r\n");
        let answer = ask(&gate, &trail, [head.as_bytes(), first].concat()).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        let attempts = trail.attempts();
        assert!(!attempts[0].allowed, "{attempts:?}");
        assert!(attempts[0].reason.contains("TLS"), "{attempts:?}");
    }
    assert!(target.heard().is_empty());
}

#[tokio::test]
async fn tunnels_are_refused_before_anything_is_dialled() {
    let target = hello("no");
    let port = target.port;
    let rules = [public_rule("internal.test", port), rule("api.test", port)];
    let gate = open(&rules, limits());
    for authority in [
        format!("api.test.evil.test:{port}"),
        "api.test:8443".to_owned(),
        "api.test".to_owned(),
        format!("user@api.test:{port}"),
        format!("internal.test:{port}"),
        format!("2130706433:{port}"),
        format!("[::ffff:127.0.0.1]:{port}"),
        format!("::1:{port}"),
        format!("https://api.test:{port}"),
    ] {
        let trail = Trail::default();
        let text = format!("CONNECT {authority} HTTP/1.1\r\nHost: x\r\n\r\n");
        let answer = ask(&gate, &trail, text).await;
        assert_denied(&answer, &trail.attempts());
    }
    assert_eq!(target.connections(), 0);
}

#[tokio::test]
async fn a_tunnel_at_rest_is_closed() {
    let authority = Authority::new();
    let target = server(&authority, "api.test");
    let rules = [rule("api.test", target.port)];
    let gate = open(&rules, GateLimits { idle_ms: 200, connect_ms: 200, ..limits() });
    let trail = Trail::default();
    let (mut tool, stream) = tokio::io::duplex(64 * 1024);
    let name = ServerName::try_from("api.test").unwrap();
    let talk = async {
        connect(&mut tool, &format!("api.test:{}", target.port)).await;
        let mut tls = client(&authority, true).connect(name, tool).await.unwrap();
        // Nobody says anything: the gate must end it, not we.
        assert!(tls.read_u8().await.is_err());
    };
    tokio::join!(gate.serve(stream, &trail), talk);
    assert_eq!(trail.attempts()[0].reason, "nothing moved for 200 ms");

    // Nor does it wait for a hello for ever.
    let trail = Trail::default();
    let (mut tool, stream) = tokio::io::duplex(64 * 1024);
    let talk = async {
        connect(&mut tool, &format!("api.test:{}", target.port)).await;
        let mut alert = Vec::new();
        tool.read_to_end(&mut alert).await.unwrap();
        alert
    };
    let (_, alert) = tokio::join!(gate.serve(stream, &trail), talk);
    assert_eq!(alert, [21, 3, 3, 0, 2, 2, 49]);
    assert!(!trail.attempts()[0].allowed);
}

#[tokio::test]
async fn bytes_through_tunnels_are_limited() {
    let authority = Authority::new();
    let target = server(&authority, "api.test");
    let limits = GateLimits { received_bytes: 300, ..limits() };
    let gate = open(&[rule("api.test", target.port)], limits);
    let named = format!("api.test:{}", target.port);
    let (answer, attempts) = fetch(&gate, client(&authority, true), &named, "api.test").await;
    answer.unwrap_err();
    assert_eq!(attempts[0].reason, "more than 300 bytes received in one call");
}
