//! The gate against real listeners on loopback, plain and in TLS, reached by names that only the
//! tests' own resolver knows.

mod client;
mod forward;
mod framing;
mod names;
mod rules;
mod secrets;
mod server;
mod tunnel;
mod upstream;
mod wild;

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::names::Resolver;
use super::{Gate, GateLimits, Keyring, Pass, Trail};
use crate::catalog::{EgressLimits, EgressRule};
use crate::sandbox::EgressAttempt;
use upstream::Upstream;

/// A rule for a host that may lie on loopback.
fn rule(host: &str, port: u16) -> EgressRule {
    EgressRule { host: host.to_owned(), port, networks: vec!["127.0.0.0/8".to_owned()] }
}

/// A rule that names no network.
fn public_rule(host: &str, port: u16) -> EgressRule {
    EgressRule { networks: Vec::new(), ..rule(host, port) }
}

/// Limits under which every name is at 127.0.0.1.
fn limits() -> GateLimits {
    limits_with(|_| vec![IpAddr::V4(Ipv4Addr::LOCALHOST)])
}

fn limits_with(answer: impl Fn(&str) -> Vec<IpAddr> + Send + Sync + 'static) -> GateLimits {
    let names = Arc::new(OnceLock::from(Ok(Resolver::fixed(answer))));
    GateLimits { names, ..GateLimits::default() }
}

/// A gate with these rules and no secrets.
#[expect(clippy::needless_pass_by_value, reason = "most tests make the limits in place")]
fn open(rules: &[EgressRule], limits: GateLimits) -> Gate {
    open_with(rules, &limits, Keyring::default())
}

fn open_with(rules: &[EgressRule], limits: &GateLimits, keyring: Keyring) -> Gate {
    let pass = Pass {
        rules: rules.to_vec(),
        tighter: EgressLimits::default(),
        keyring: Arc::new(keyring),
    };
    Gate::new(&pass, limits)
}

fn limits_trusting(ca: PathBuf) -> GateLimits {
    GateLimits { extra_ca: Some(ca), ..limits() }
}

/// Sends `bytes` through the gate and gives all that comes back.
async fn ask(gate: &Gate, trail: &Trail, bytes: impl AsRef<[u8]>) -> String {
    let (mut tool, stream) = tokio::io::duplex(64 * 1024);
    let talk = async {
        tool.write_all(bytes.as_ref()).await.unwrap();
        tool.shutdown().await.unwrap();
        let mut answer = Vec::new();
        tool.read_to_end(&mut answer).await.unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    };
    tokio::join!(gate.serve(stream, trail), talk).1
}

/// Fetches one URL through a gate with these rules.
async fn get(rules: &[EgressRule], url: &str) -> (String, Vec<EgressAttempt>) {
    let trail = Trail::default();
    let gate = open(rules, limits());
    let answer = ask(&gate, &trail, format!("GET {url} HTTP/1.1\r\nHost: x\r\n\r\n")).await;
    (answer, trail.attempts())
}

/// Answers 200 with `body` to everything.
fn hello(body: &'static str) -> Arc<Upstream> {
    Upstream::plain(move |_| {
        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into()
    })
}

#[track_caller]
fn assert_denied(answer: &str, attempts: &[EgressAttempt]) {
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    assert!(answer.contains("\r\nx-switchboard-egress: denied\r\n"), "{answer}");
    let last = attempts.last().unwrap();
    assert!(!last.allowed && !last.reason.is_empty(), "{last:?}");
    assert_eq!(last.address, None);
}
