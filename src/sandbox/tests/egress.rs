//! The way out, from a tool in a real container to a listener of the test.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;

use super::live::{Room, config, order, profile};
use crate::catalog::{EgressRule, HttpRequest, Profile, Tier};
use crate::sandbox::End;
use crate::sandbox::order::Form;

/// Fetches an address through the proxy that the environment names, and says what came.
const FETCH: &str = "
import sys, urllib.request, urllib.error
try:
    print(urllib.request.urlopen(sys.argv[1], timeout=5).read().decode())
except urllib.error.HTTPError as error:
    print('refused', error.code)
";
/// Ignores the proxy.
const DIRECT: &str = "
import socket, sys
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=3)
    print('connected')
except OSError as error:
    print('no way', error.errno)
";

async fn serve(tasks: &TaskTracker) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let router = Router::new().route("/", get(|| async { "hello from outside" }));
    tasks.spawn(async move { axum::serve(listener, router).await });
    port
}

fn boxed(tier: Tier, egress: Option<Vec<EgressRule>>) -> Arc<Profile> {
    let mut profile = profile("python");
    profile.tier = tier;
    profile.egress = egress;
    Arc::new(profile)
}

fn rule(port: u16) -> EgressRule {
    EgressRule { host: "127.0.0.1".to_owned(), port, networks: vec!["127.0.0.0/8".to_owned()] }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_allowed_host_is_reached_and_every_attempt_is_recorded() {
    let outside = TaskTracker::new();
    let (open, shut) = (serve(&outside).await, serve(&outside).await);
    for tier in [Tier::Call, Tier::Worker] {
        let profile = boxed(tier, Some(vec![rule(open)]));
        let room = Room::with(config(), &[&profile]).await;
        let fetch = |port: u16| {
            let url = format!("http://127.0.0.1:{port}/");
            room.run(order(&profile, &["python3", "-c", FETCH, &url]))
        };
        let good = fetch(open).await;
        assert_eq!(good.stdout, "hello from outside\n", "{good:?}");
        let [attempt] = &good.egress[..] else { panic!("{:?}", good.egress) };
        assert!(attempt.allowed && attempt.received > 0, "{attempt:?}");
        assert_eq!((attempt.host.as_str(), attempt.port), ("127.0.0.1", open));

        let denied = fetch(shut).await;
        assert!(denied.stdout.starts_with(b"refused 4"), "{denied:?}");
        let [attempt] = &denied.egress[..] else { panic!("{:?}", denied.egress) };
        assert!(!attempt.allowed && attempt.address.is_none(), "{attempt:?}");
        assert_eq!(attempt.port, shut);
        room.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_rules_nothing_opens_and_around_the_gate_there_is_no_way() {
    let outside = TaskTracker::new();
    let port = serve(&outside).await.to_string();
    let none = boxed(Tier::Call, None);
    let empty = boxed(Tier::Call, Some(Vec::new()));
    let room = Room::with(config(), &[&none, &empty]).await;
    let look = "import os; print([n for n in os.environ if 'PROXY' in n.upper()])";
    let seen = room.run(order(&none, &["python3", "-c", look])).await;
    assert_eq!(seen.stdout, "[]\n");
    let url = format!("http://127.0.0.1:{port}/");
    let refused = room.run(order(&empty, &["python3", "-c", FETCH, &url])).await;
    assert!(refused.stdout.starts_with(b"refused 4"), "{refused:?}");
    assert_eq!(refused.egress.len(), 1);
    for host in ["127.0.0.1", "172.17.0.1", "192.0.2.10", "169.254.169.254", "2001:db8::10"] {
        let outcome = room.run(order(&none, &["python3", "-c", DIRECT, host, &port])).await;
        assert_eq!(outcome.end, End::Exited(0));
        assert!(outcome.stdout.starts_with(b"no way"), "{host}: {outcome:?}");
        assert!(outcome.tool < Duration::from_secs(2), "{host}");
    }
    room.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_http_tool_brings_back_status_headers_and_body() {
    let outside = TaskTracker::new();
    let port = serve(&outside).await;
    let mut http = profile("runner");
    http.tier = Tier::Worker;
    http.egress = Some(vec![rule(port)]);
    let http = Arc::new(http);
    let room = Room::with(config(), &[&http]).await;
    let send = |path: &str, port: u16| {
        let request = HttpRequest {
            method: "GET".to_owned(),
            url: format!("http://127.0.0.1:{port}{path}"),
            headers: Vec::new(),
            body_base64: None,
            retry: None,
            pages: None,
        };
        let mut call = order(&http, &["/runner", "http"]);
        call.answer = Some(Form::Single);
        call.stdin = serde_json::to_vec(&request).unwrap();
        room.run(call)
    };
    let good = send("/", port).await;
    let answer = good.http.as_ref().unwrap_or_else(|| panic!("{good:?}"));
    assert_eq!(answer.status, 200);
    assert_eq!(answer.body, "hello from outside");
    assert!(answer.headers.iter().any(|(name, _)| name == "content-type"));
    assert!(good.stdout.is_empty());
    assert_eq!(good.egress.len(), 1);

    let missing = send("/nowhere", port).await;
    assert_eq!(missing.http.map(|answer| answer.status), Some(404));

    let denied = send("/", 1).await;
    assert_eq!(denied.end, End::Exited(3), "{denied:?}");
    assert!(denied.http.is_none());
    assert!(!denied.egress[0].allowed);
    room.close().await;
}
