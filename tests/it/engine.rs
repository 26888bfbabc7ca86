//! Engines that hang, vanish in the middle of a call, or lack an image.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::net::{UnixListener, UnixStream};
use tokio_util::sync::CancellationToken;
use tonic::Code;

use crate::daemon::{Setup, code, eventually, failure, http, parsed, request};

/// A way to the real engine that can be cut.
struct Wire {
    path: PathBuf,
    cut: CancellationToken,
}

impl Wire {
    fn lay(path: &Path) -> Self {
        let (listener, cut) = (UnixListener::bind(path).unwrap(), CancellationToken::new());
        let stop = cut.clone();
        tokio::spawn(stop.clone().run_until_cancelled_owned(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                let stop = stop.clone();
                tokio::spawn(stop.run_until_cancelled_owned(async move {
                    let mut far = UnixStream::connect("/var/run/docker.sock").await.unwrap();
                    // Either side may hang up at any time.
                    drop(tokio::io::copy_bidirectional(&mut near, &mut far).await);
                }));
            }
        }));
        Self { path: path.to_owned(), cut }
    }

    fn cut(self) -> PathBuf {
        self.cut.cancel();
        std::fs::remove_file(&self.path).unwrap();
        self.path
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_vanishes_ends_the_call_and_is_found_again() {
    let setup = Setup::new();
    let path = setup.folder.path().join("engine.sock");
    let wire = Wire::lay(&path);
    let daemon =
        setup.config(&format!("[sandbox]\nengine = \"unix://{}\"", path.display())).start().await;
    let call = request("probe.slow", &json!({ "script": "sleep 25" }).to_string());
    let stream = daemon.running(call).await;
    let begun = Instant::now();
    let path = wire.cut();
    let status = failure(stream).await;
    assert_eq!(status.code(), Code::Unavailable, "{status:?}");
    let details = tonic_types::StatusExt::get_error_details(&status);
    assert_eq!(details.error_info().unwrap().reason, "SANDBOX_UNAVAILABLE");
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    eventually("readiness tells it", || async { daemon.cli(&["health"]).status.code() == Some(1) })
        .await;

    let _wire = Wire::lay(&path);
    eventually("calls succeed again", || async {
        let call = request("probe.sh", "{\"script\":\"echo back\"}");
        daemon.try_call(call).await.is_ok_and(|reply| parsed(&reply)["data"] == "back\n")
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_hangs_costs_a_bounded_time() {
    let setup = Setup::new();
    let path = setup.folder.path().join("hung.sock");
    let _hung = UnixListener::bind(&path).unwrap();
    let config = format!(
        "[sandbox]\nengine = \"unix://{}\"\nengine_timeout_ms = 500\nqueue_wait_ms = 2000",
        path.display()
    );
    let mut daemon = setup.config(&config).start_unready().await;
    let begun = Instant::now();
    let call = request("text.stats", "{\"text\":\"x\"}");
    let status = daemon.try_call(call).await.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable, "{status:?}");
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    let reply = daemon.call("no.such", &json!({})).await;
    assert_eq!(code(&reply), "UNKNOWN_TOOL", "what needs no engine goes on");
    daemon.signal("TERM");
    assert_eq!(daemon.wait(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_image_is_named_and_spares_the_other_tools() {
    let daemon = Setup::new()
        .edit("sandbox/slow.toml", "image = \"shell\"", "image = \"absent\"")
        .start_unready()
        .await;
    let status = daemon.try_call(request("probe.slow", "{\"script\":\"true\"}")).await.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable);
    assert!(status.message().contains("absent"), "{status:?}");
    let config = daemon.config();
    let doctor = daemon.cli(&["doctor", "--config", &config]);
    let told = String::from_utf8(doctor.stdout).unwrap();
    assert!(told.contains("absent"), "{told}");
    eventually("another tool runs", || async {
        let call = request("probe.sh", "{\"script\":\"echo here\"}");
        daemon.try_call(call).await.is_ok_and(|reply| parsed(&reply)["data"] == "here\n")
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_profile_that_the_engine_cannot_enforce_is_told_at_once_and_not_taken_later() {
    let kata = "image = \"shell\"\nruntime = \"kata\"";
    let setup = Setup::new().edit("sandbox/slow.toml", "image = \"shell\"", kata);
    let daemon = setup.start_unready().await;
    let url = format!("http://{}/readyz", daemon.address("metrics"));
    eventually("readiness says what the engine lacks", || async {
        let (status, told) = http(&url).await;
        status == 503 && told.contains("profile `slow`: the engine has no runtime `kata`; it has")
    })
    .await;
    // It is mended, and then broken again: what was mended stays.
    let path = daemon.setup.policies().join("sandbox/slow.toml");
    let broken = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, broken.replace(kata, "image = \"shell\"")).unwrap();
    eventually("all is well", || async { http(&url).await.0 == 200 }).await;
    let skip = daemon.logged();
    std::fs::write(&path, broken).unwrap();
    let line = daemon.log_line(skip, "the last good state of this file stays in use");
    assert!(line.contains("sandbox/slow.toml") && line.contains("`kata`"), "{line}");
    let reply = daemon.call("probe.slow", &json!({ "script": "echo still" })).await;
    assert_eq!(reply["data"], "still\n", "{reply}");
}
