//! Beginnings and ends: cancelled calls, deadlines, killed daemons, drains, reloads.

use std::time::{Duration, Instant};

use serde_json::json;
use switchboard::proto::tools::call_event::Event;
use switchboard::proto::tools::{CallRequest, CancelRequest};
use tokio_stream::StreamExt;
use tonic::Request;

use crate::daemon::{Setup, code, containers, eventually, parsed, request};

fn sh(script: &str) -> CallRequest {
    request("probe.slow", &json!({ "script": script }).to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_tells_of_the_start_and_the_output_before_the_reply() {
    let daemon = Setup::new().start().await;
    let stream = daemon.client().await.call_stream(sh("echo one; echo two >&2")).await.unwrap();
    let events: Vec<_> =
        stream.into_inner().map(|event| event.unwrap().event.unwrap()).collect().await;
    assert!(matches!(events.first(), Some(Event::Accepted(_))), "{events:#?}");
    assert!(matches!(events.get(1), Some(Event::Started(_))), "{events:#?}");
    let mut output = Vec::new();
    for event in &events {
        if let Event::Output(piece) = event {
            output.extend_from_slice(&piece.data);
        }
    }
    let output = String::from_utf8(output).unwrap();
    assert!(output.contains("one") && output.contains("two"), "{output}");
    let Some(Event::Reply(reply)) = events.last() else { panic!("no reply: {events:#?}") };
    assert_eq!(parsed(reply)["data"], "one\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_call_ends_its_tool_and_is_recorded() {
    let daemon = Setup::new().start().await;
    let id = uuid::Uuid::new_v4().to_string();
    let call = CallRequest { call_id: id.clone(), ..sh("sleep 20") };
    let mut stream = daemon.client().await.call_stream(call).await.unwrap().into_inner();
    while !matches!(stream.next().await.unwrap().unwrap().event, Some(Event::Started(_))) {}
    let begun = Instant::now();
    let cancelled = daemon.client().await.cancel(CancelRequest { call_id: id.clone() }).await;
    assert!(cancelled.unwrap().into_inner().cancelled);
    let status = loop {
        match stream.next().await.unwrap() {
            Ok(_) => {}
            Err(status) => break status,
        }
    };
    assert_eq!(status.code(), tonic::Code::Cancelled);
    assert!(begun.elapsed() < Duration::from_secs(5));
    recorded(&daemon, &id, "CANCELLED").await;
}

async fn recorded(daemon: &crate::daemon::Daemon, id: &str, expected: &str) {
    eventually("the call is recorded", || async {
        let asked = switchboard::proto::tools::GetResultRequest {
            call_id: id.to_owned(),
            ..Default::default()
        };
        match daemon.client().await.get_result(asked).await {
            Ok(found) => {
                let reply: serde_json::Value =
                    serde_json::from_str(&found.into_inner().json).unwrap();
                assert_eq!(code(&reply), expected);
                true
            }
            Err(_) => false,
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_goes_away_takes_its_container_along() {
    let daemon = Setup::new().start().await;
    let id = uuid::Uuid::new_v4().to_string();
    let call = CallRequest { call_id: id.clone(), ..sh("sleep 20") };
    let mut stream = daemon.client().await.call_stream(call).await.unwrap().into_inner();
    while !matches!(stream.next().await.unwrap().unwrap().event, Some(Event::Started(_))) {}
    drop(stream);
    recorded(&daemon, &id, "CANCELLED").await;
    eventually("no tool sleeps on", || async { !host_runs("sleep 20") }).await;
}

/// Whether a process with exactly this command line runs anywhere on the machine.
fn host_runs(command: &str) -> bool {
    std::fs::read_dir("/proc").unwrap().any(|entry| {
        let line = std::fs::read(entry.unwrap().path().join("cmdline")).unwrap_or_default();
        line.strip_suffix(b"\0").unwrap_or_default() == command.replace(' ', "\0").as_bytes()
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn the_effective_limit_is_the_least_of_all() {
    let daemon = Setup::new().start().await;
    let mut short = Request::new(sh("sleep 21"));
    short.set_timeout(Duration::from_secs(1));
    let begun = Instant::now();
    let status = daemon.client().await.call(short).await.unwrap_err();
    assert!(matches!(status.code(), tonic::Code::DeadlineExceeded | tonic::Code::Cancelled));
    assert!(begun.elapsed() < Duration::from_secs(3));
    eventually("no tool sleeps on", || async { !host_runs("sleep 21") }).await;

    let mut long = Request::new(request("probe.sh", "{\"script\":\"sleep 22\"}"));
    long.set_timeout(Duration::from_secs(60));
    let reply = daemon.client().await.call(long).await.unwrap().into_inner().reply.unwrap();
    assert_eq!(code(&parsed(&reply)), "TOOL_TIMEOUT");

    let mut huge = Request::new(request("text.stats", "{\"text\":\"x\"}"));
    huge.metadata_mut().insert("grpc-timeout", "99999999H".parse().unwrap());
    let reply = daemon.client().await.call(huge).await.unwrap().into_inner().reply.unwrap();
    assert_eq!(code(&parsed(&reply)), "SUCCESS");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_daemon_leaves_nothing_and_its_successor_serves_with_the_ledger_whole() {
    let mut daemon = Setup::new().config("[sandbox]\ncapacity = 64").start().await;
    let before = daemon.try_call(request("text.stats", "{\"text\":\"before\"}")).await.unwrap();
    let client = daemon.client().await;
    let calls = futures::future::join_all((0..50).map(|n| {
        let mut client = client.clone();
        async move { client.call(sh(&format!("sleep 2{n:02}"))).await }
    }));
    let killed = async {
        eventually("some calls run", || async {
            (0..50).filter(|n| host_runs(&format!("sleep 2{n:02}"))).count() >= 8
        })
        .await;
        daemon.signal("KILL");
        daemon.wait();
        Instant::now()
    };
    let (outcomes, died) = tokio::join!(calls, killed);
    assert!(outcomes.iter().all(Result::is_err), "a dead daemon answers nothing");
    let instance = daemon.setup.instance.clone();
    eventually("no container is left without any daemon", || async {
        containers(&instance).is_empty()
    })
    .await;
    assert!(died.elapsed() < Duration::from_secs(10), "{:?}", died.elapsed());

    let daemon = daemon.restart().await;
    let asked = switchboard::proto::tools::GetResultRequest {
        call_id: before.metadata.unwrap().call_id,
        ..Default::default()
    };
    let found = daemon.client().await.get_result(asked).await.unwrap().into_inner();
    assert_eq!(found.json, before.json);
    assert_eq!(code(&daemon.call("text.stats", &json!({ "text": "after" })).await), "SUCCESS");
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_lets_running_calls_end_takes_no_new_ones_and_removes_every_container() {
    let mut daemon = Setup::new().start().await;
    let mut stream =
        daemon.client().await.call_stream(sh("sleep 1; echo finished")).await.unwrap().into_inner();
    while !matches!(stream.next().await.unwrap().unwrap().event, Some(Event::Started(_))) {}
    let mut late = daemon.client().await;
    daemon.signal("TERM");
    daemon.log_line(0, "draining");
    eventually("new calls are refused", || {
        let mut late = late.clone();
        async move {
            late.call(request("no.such", "{}"))
                .await
                .is_err_and(|s| s.code() == tonic::Code::Unavailable)
        }
    })
    .await;
    let mut last = None;
    while let Some(Ok(event)) = stream.next().await {
        last = event.event;
    }
    let Some(Event::Reply(reply)) = last else { panic!("no reply: {last:?}") };
    assert_eq!(parsed(&reply)["data"], "finished\n");
    assert_eq!(daemon.wait(), Some(0));
    assert!(daemon.containers().is_empty());
    assert!(!daemon.folder().join("daemon.sock").exists());
    drop(late.cancel(CancelRequest::default()).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_outlives_the_grace_is_cancelled() {
    let mut daemon = Setup::new().config("[server]\ndrain_grace = \"500ms\"").start().await;
    let mut stream = daemon.client().await.call_stream(sh("sleep 23")).await.unwrap().into_inner();
    while !matches!(stream.next().await.unwrap().unwrap().event, Some(Event::Started(_))) {}
    daemon.signal("TERM");
    assert_eq!(daemon.wait(), Some(0));
    assert!(daemon.containers().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn two_daemons_on_one_engine_leave_each_other_alone() {
    let one = Setup::new().start().await;
    let mut two = Setup::new().start().await;
    let running = one.try_call(sh("sleep 4; echo mine"));
    let restarts = async {
        for _ in 0..2 {
            two.signal("KILL");
            two.wait();
            two = two.restart().await;
        }
        two
    };
    let (reply, two) = tokio::join!(running, restarts);
    assert_eq!(parsed(&reply.unwrap())["data"], "mine\n");
    assert_eq!(code(&two.call("text.stats", &json!({ "text": "x" })).await), "SUCCESS");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_catalog_takes_effect_and_a_broken_one_keeps_the_last_good_state() {
    let daemon = Setup::new().start().await;
    let manifest = daemon.setup.policies().join("tools/probe-sh.toml");
    let good = std::fs::read_to_string(&manifest).unwrap();
    let skip = daemon.logged();
    std::fs::write(&manifest, good.replace("Runs a shell script.", "Runs a script anew.")).unwrap();
    daemon.log_line(skip, "in force");
    let asked = || switchboard::proto::tools::GetToolRequest { name: "probe.sh".into() };
    let tool = daemon.client().await.get_tool(asked()).await.unwrap().into_inner();
    assert!(tool.description.starts_with("Runs a script anew."), "{}", tool.description);

    let skip = daemon.logged();
    std::fs::write(&manifest, "name = ").unwrap();
    daemon.log_line(skip, "tools/probe-sh.toml");
    let tool = daemon.client().await.get_tool(asked()).await.unwrap().into_inner();
    assert!(tool.description.starts_with("Runs a script anew."), "the last good state stays");

    let skip = daemon.logged();
    std::fs::write(daemon.setup.policies().join("cedar/broken.cedar"), "permit (").unwrap();
    let line = daemon.log_line(skip, "broken.cedar");
    assert!(line.contains("last good state stays"), "{line}");
    assert_eq!(code(&daemon.call("text.stats", &json!({ "text": "x" })).await), "SUCCESS");

    std::fs::remove_file(daemon.setup.policies().join("cedar/broken.cedar")).unwrap();
    std::fs::write(&manifest, good).unwrap();
    let skip = daemon.logged();
    daemon.signal("HUP");
    daemon.log_line(skip, "in force");
}
