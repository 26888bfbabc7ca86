//! How calls end: by themselves, by a limit, by the daemon.

use std::time::Duration;

use switchboard_runner::{Exit, Stopped};

use crate::harness::{namespace, shell};

#[tokio::test]
async fn a_tool_that_ends_well_is_reported_with_its_output() {
    let mut sandbox = namespace().await;
    let ran = sandbox
        .call(&shell("echo out; echo err >&2; exit 3"), b"")
        .await;
    assert!(ran.started);
    assert_eq!(ran.stdout, b"out\n");
    assert_eq!(ran.stderr, b"err\n");
    let report = ran.report();
    assert_eq!((&report.exit, report.stopped), (&Exit::Code(3), None));
    assert_eq!((report.stdout_bytes, report.stderr_bytes), (4, 4));
    assert_eq!(report.nonce, "n-1");
    assert!(sandbox.gone().await.success());
}

#[tokio::test]
async fn a_background_server_does_not_hold_the_answer() {
    let sandbox = namespace().await;
    let ran = sandbox
        .call(&shell("(sleep 60; echo late) & echo now; exit 0"), b"")
        .await;
    assert_eq!(ran.report().exit, Exit::Code(0));
    assert_eq!(ran.text(), "now\n");
    assert!(ran.elapsed < Duration::from_secs(5), "{:?}", ran.elapsed);
}

#[tokio::test]
async fn the_wall_time_ends_a_tool_that_stopped_its_own_group() {
    let sandbox = namespace().await;
    let mut request = shell("kill -STOP 0; sleep 60");
    request.wall_ms = 300;
    let ran = sandbox.call(&request, b"").await;
    assert_eq!(ran.report().stopped, Some(Stopped::Wall));
    assert_eq!(ran.report().exit, Exit::Signal(9));
    assert!(ran.elapsed < Duration::from_secs(3), "{:?}", ran.elapsed);
}
