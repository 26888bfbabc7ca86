//! How calls end: by themselves, by a limit, by the daemon.

use std::time::Duration;

use switchboard_runner::{Exit, Kind, Stopped, frame};

use futures::io::{AsyncReadExt, AsyncWriteExt};

use crate::harness::{Sandbox, collect, namespace, shell};

#[tokio::test]
async fn a_tool_that_ends_by_itself_is_reported_with_its_output() {
    let mut sandbox = namespace().await;
    let ran = sandbox.call(&shell("echo out; echo err >&2; exit 3"), b"").await;
    assert!(ran.started);
    assert_eq!((ran.stdout.as_slice(), ran.stderr.as_slice()), (&b"out\n"[..], &b"err\n"[..]));
    let report = ran.report();
    assert_eq!((&report.exit, report.stopped), (&Exit::Code(3), None));
    assert_eq!((report.stdout_bytes, report.stderr_bytes), (4, 4));
    assert_eq!(report.nonce, "n-1");
    assert!(report.wall_us > 0 && report.cpu_us > 0 && report.peak_bytes > 100_000, "{report:?}");
    assert!(sandbox.gone().await.success());
}

#[tokio::test]
async fn a_program_that_cannot_start_differs_from_one_that_exits_127() {
    let sandbox = namespace().await;
    let mut request = shell("nosuchcommand");
    request.last = false;
    assert_eq!(sandbox.call(&request, b"").await.report().exit, Exit::Code(127));
    for (argv, cwd, names) in [
        (vec!["nosuchcommand"], "/", "nosuchcommand"),
        (vec!["/etc/passwd"], "/", "/etc/passwd"),
        (vec![], "/", "empty"),
        (vec!["/bin/true"], "/no/such/folder", "/no/such/folder"),
    ] {
        request.argv = argv.into_iter().map(String::from).collect();
        request.cwd = cwd.into();
        let ran = sandbox.call(&request, b"").await;
        assert!(!ran.started, "{ran:?}");
        let Exit::NotStarted(why) = &ran.report().exit else { panic!("{:?}", ran.report()) };
        assert!(why.contains(names), "{why}");
    }
}

#[tokio::test]
async fn a_background_server_does_not_hold_the_answer() {
    for last in [true, false] {
        let sandbox = namespace().await;
        let mut request = shell("(sleep 60; echo late) & echo now; exit 0");
        request.last = last;
        let ran = sandbox.call(&request, b"").await;
        assert_eq!(ran.report().exit, Exit::Code(0));
        assert_eq!(ran.text(), "now\n");
        assert!(ran.elapsed < Duration::from_secs(5), "{:?}", ran.elapsed);
    }
}

#[tokio::test]
async fn nothing_outlives_a_call_of_a_worker() {
    let sandbox = namespace().await;
    let mut request = shell(
        "setsid setsid sh -c 'while :; do sleep 1; done' & (setsid sleep 61 &) ; sleep 0.2; echo $(id -u)",
    );
    request.last = false;
    let ran = sandbox.call(&request, b"").await;
    let user = number(&ran.text());
    assert!((10_001..65_536).contains(&user), "{user}");
    let ran = sandbox.call(&listing(), b"").await;
    assert_eq!(ran.text(), "", "only the listing itself runs as a tool");
}

fn number(text: &str) -> u32 {
    text.trim().parse().unwrap()
}

/// Lists processes of tools, other than those that list.
fn listing() -> switchboard_runner::Request {
    let mut request = shell(
        "ps -eo uid=,comm= | awk '$1 > 10000 && $1 < 65536' | sed 's/^ *//' | grep -Ev ' (sh|ps|awk|mawk|gawk|sed|grep)$'; true",
    );
    request.last = false;
    request
}

#[tokio::test]
async fn concurrent_calls_of_a_worker_have_different_users_and_do_not_end_each_other() {
    let sandbox = namespace().await;
    let mut slow = shell("sleep 0.5; id -u");
    slow.last = false;
    let mut quick = shell("id -u; setsid sleep 60 &");
    quick.last = false;
    let (slow, quick) =
        futures::future::join(sandbox.call(&slow, b""), sandbox.call(&quick, b"")).await;
    assert_eq!(slow.report().exit, Exit::Code(0));
    let users = [number(&slow.text()), number(&quick.text())];
    assert_eq!(users[0].abs_diff(users[1]), 1, "{users:?}");
}

#[tokio::test]
async fn the_wall_time_ends_whatever_a_tool_does_against_it() {
    for script in [
        "kill -STOP 0; sleep 60",
        "trap '' TERM INT HUP; while :; do :; done",
        "setsid sh -c 'trap \"\" TERM; while :; do sleep 0.1; done' & sleep 60",
        "while :; do printf x; done",
    ] {
        let sandbox = namespace().await;
        let mut request = shell(script);
        request.wall_ms = 300;
        request.output_bytes = 1 << 40;
        let ran = sandbox.call(&request, b"").await;
        assert_eq!(ran.report().stopped, Some(Stopped::Wall), "{script}");
        assert_eq!(ran.report().exit, Exit::Signal(9), "{script}");
        assert!(ran.elapsed >= Duration::from_millis(300), "{script}: {:?}", ran.elapsed);
        assert!(ran.elapsed < Duration::from_secs(3), "{script}: {:?}", ran.elapsed);
    }
}

#[tokio::test]
async fn the_wall_time_holds_for_a_flood_that_nobody_reads() {
    let sandbox = namespace().await;
    let mut request = shell("yes");
    (request.wall_ms, request.output_bytes) = (300, 1 << 30);
    let (mut reader, _writer) = sandbox.open(&request).await.split();
    let mut first = [0; 1];
    reader.read_exact(&mut first).await.expect("the first frame");
    tokio::time::sleep(Duration::from_secs(1)).await;
    // The started frame is whole, so reading on is possible after its other four bytes.
    reader.read_exact(&mut [0; 4]).await.expect("its header");
    let report = collect(&mut reader).await;
    let report = report.report();
    assert_eq!(report.stopped, Some(Stopped::Wall));
    assert!(report.wall_us < 800_000, "{report:?}");
}

#[tokio::test]
async fn output_is_cut_at_exactly_the_cap() {
    for (script, cap) in [
        ("yes", 100_000),
        ("yes >&2", 100_001),
        ("cat /dev/zero", 1 << 20),
        ("while :; do printf x; done", 5000),
        ("yes & yes >&2 & wait", 300_000),
        ("printf 12345", 4),
        ("printf 1", 0),
    ] {
        let sandbox = namespace().await;
        let mut request = shell(script);
        request.output_bytes = cap;
        let ran = sandbox.call(&request, b"").await;
        let report = ran.report();
        assert_eq!(report.stopped, Some(Stopped::Output), "{script}");
        assert_eq!(ran.stdout.len() + ran.stderr.len(), usize::try_from(cap).unwrap(), "{script}");
        assert!(report.stdout_bytes + report.stderr_bytes > cap, "{script}: {report:?}");
    }
}

#[tokio::test]
async fn output_of_exactly_the_cap_is_no_breach() {
    let sandbox = namespace().await;
    let mut request = shell("printf 1234; printf 56 >&2");
    request.output_bytes = 6;
    let ran = sandbox.call(&request, b"").await;
    assert_eq!((&ran.report().exit, ran.report().stopped), (&Exit::Code(0), None));
    assert_eq!((ran.text().as_str(), ran.stderr.as_slice()), ("1234", &b"56"[..]));
}

#[tokio::test]
async fn a_full_scratch_disk_is_seen() {
    for script in
        ["dd if=/dev/zero of=x bs=64k count=1000", "i=0; while : > f$i; do i=$((i+1)); done"]
    {
        let sandbox = namespace().await;
        let ran = sandbox.call(&shell(script), b"").await;
        assert!(ran.report().disk_full, "{script}: {:?}", ran.report());
    }
    let sandbox = namespace().await;
    assert!(!sandbox.call(&shell("echo x > x"), b"").await.report().disk_full);
}

#[tokio::test]
async fn a_file_above_its_limit_cannot_be_written() {
    let sandbox = namespace().await;
    let mut request = shell("exec dd if=/dev/zero of=x bs=1k count=100");
    request.file_bytes = 10 << 10;
    assert_eq!(sandbox.call(&request, b"").await.report().exit, Exit::Signal(25), "SIGXFSZ");
}

#[tokio::test]
async fn a_cancelled_call_is_ended_and_the_worker_goes_on() {
    let sandbox = namespace().await;
    for (script, stdin) in [("sleep 60", 0), ("sleep 61", 400_000), ("yes", 0)] {
        let mut request = shell(script);
        (request.last, request.output_bytes) = (false, 1 << 40);
        let mut stream = sandbox.open(&request).await;
        // The runner has to end a tool even if unread input hides the end of the stream.
        for _ in 0..stdin / 50_000 {
            let piece = frame(Kind::Stdin, &[b'x'; 50_000]);
            let sent = stream.write_all(&piece);
            drop(tokio::time::timeout(Duration::from_millis(200), sent).await);
        }
        stream.read_exact(&mut [0; 5]).await.expect("it starts");
        drop(stream);
        only_listing(&sandbox).await;
    }
}

/// Waits until no tool runs but the listing.
async fn only_listing(sandbox: &Sandbox) {
    let mut seen = String::new();
    for _ in 0..100 {
        seen = sandbox.call(&listing(), b"").await.text();
        if seen.is_empty() {
            return;
        }
    }
    panic!("still there: {seen}");
}

#[tokio::test]
async fn a_daemon_that_dies_takes_everything_with_it() {
    for script in [None, Some("sleep 60"), Some("yes"), Some("setsid sleep 62 & sleep 63")] {
        let mut sandbox = namespace().await;
        if let Some(script) = script {
            let mut request = shell(script);
            request.output_bytes = 1 << 40;
            let mut stream = sandbox.open(&request).await;
            stream.read_exact(&mut [0; 5]).await.expect("it starts");
        }
        sandbox.hang_up();
        assert!(sandbox.gone().await.success(), "{script:?}");
    }
}

#[tokio::test]
async fn bytes_that_are_no_request_end_only_their_stream() {
    let sandbox = namespace().await;
    let mut request = shell("echo fine");
    request.last = false;
    for bytes in [
        frame(Kind::Stdin, b"x"),
        frame(Kind::Request, b"{}"),
        frame(Kind::Request, &[b'['; 100_000]),
        vec![99, 0, 0, 0, 0],
        vec![1, 255, 255, 255, 255],
    ] {
        let mut stream = sandbox.raw().await;
        stream.write_all(&bytes).await.expect("sent");
        assert_eq!(stream.read(&mut [0; 1]).await.unwrap_or(0), 0, "no answer");
        assert_eq!(sandbox.call(&request, b"").await.text(), "fine\n");
    }
}
