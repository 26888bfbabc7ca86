//! Beginnings and ends: cancelled calls, deadlines, killed daemons, drains, reloads.

use std::time::{Duration, Instant};

use serde_json::json;
use switchboard::proto::tools::call_event::Event;
use switchboard::proto::tools::tool_service_client::ToolServiceClient;
use switchboard::proto::tools::{CallRequest, CancelRequest};
use tokio_stream::StreamExt;
use tonic::Request;
use tonic::transport::Endpoint;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use crate::daemon::{Setup, code, containers, eventually, host_runs, http, parsed, request, spawn};

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
    let mut stream = daemon.running(call).await;
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
    // The suite's engine is on this host, so the daemon sees the containers' control groups.
    assert_eq!(run_of(&daemon, &id)["killed_by"], "cgroup");
    let metrics = daemon.metrics().await;
    assert!(metrics.contains("switchboard_sandbox_kills_total{by=\"cgroup\"} 1"), "{metrics}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_record_says_who_ended_a_tool() {
    let daemon = Setup::new().start().await;
    let ran = async |script: &str| {
        let id = uuid::Uuid::new_v4().to_string();
        let mut call = request("probe.sh", &json!({ "script": script }).to_string());
        call.call_id.clone_from(&id);
        let reply = parsed(&daemon.try_call(call).await.unwrap());
        (code(&reply).to_owned(), run_of(&daemon, &id)["killed_by"].clone())
    };
    assert_eq!(ran("exit 3").await.1, serde_json::Value::Null);
    let (end, by) = ran("yes").await;
    assert_eq!((end.as_str(), by), ("OUTPUT_LIMIT", json!("runner")));
    let (end, by) = ran("trap '' TERM; while :; do :; done").await;
    assert_eq!(end, "TOOL_TIMEOUT");
    // A busy machine may make the runner late for its own deadline; then the daemon acts.
    assert!([json!("runner"), json!("cgroup")].contains(&by), "{by}");
}

/// What the ledger says of a call's run.
fn run_of(daemon: &crate::daemon::Daemon, id: &str) -> serde_json::Value {
    let config = daemon.config();
    let output = daemon.cli(&["ledger", "search", "--json", "--config", &config]);
    let text = String::from_utf8(output.stdout).unwrap();
    let mut records = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let found = records.find(|record: &serde_json::Value| record["call_id"] == id);
    found.unwrap()["facts"]["run"].clone()
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
    let stream = daemon.running(call).await;
    drop(stream);
    recorded(&daemon, &id, "CANCELLED").await;
    eventually("no tool sleeps on", || async { !host_runs("sleep 20") }).await;
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
    let mut daemon =
        Setup::new().config("[sandbox]\ncapacity = 64\nqueue_wait_ms = 60000").start().await;
    let before = daemon.try_call(request("text.stats", "{\"text\":\"before\"}")).await.unwrap();
    let client = daemon.client().await;
    let calls = futures::future::join_all((0..50).map(|n| {
        let mut client = client.clone();
        async move { client.call(sh(&format!("sleep 2{n:02}"))).await }
    }));
    let killed = async {
        eventually("all calls run", || async {
            (0..50).filter(|n| host_runs(&format!("sleep 2{n:02}"))).count() >= 50
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
    assert!(died.elapsed() < Duration::from_secs(5), "{:?}", died.elapsed());

    let daemon = daemon.restart().await;
    let asked = switchboard::proto::tools::GetResultRequest {
        call_id: before.metadata.unwrap().call_id,
        ..Default::default()
    };
    let found = daemon.client().await.get_result(asked).await.unwrap().into_inner();
    assert_eq!(found.json, before.json);
    assert_eq!(code(&daemon.call("text.stats", &json!({ "text": "after" })).await), "SUCCESS");
    let config = daemon.config();
    let verified = daemon.cli(&["ledger", "verify", "--json", "--config", &config]);
    assert_eq!(verified.status.code(), Some(0), "{verified:?}");
    let verified: serde_json::Value = serde_json::from_slice(&verified.stdout).unwrap();
    assert_eq!(verified["damage"], json!([]));
    assert!(verified["records"].as_u64().unwrap() >= 2, "{verified}");
    assert_eq!(verified["records"], verified["head"], "none is missing");
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_lets_running_calls_end_takes_no_new_ones_and_removes_every_container() {
    let mut daemon = Setup::new().start().await;
    let mut stream = daemon.running(sh("sleep 1; echo finished")).await;
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
    let _stream = daemon.running(sh("sleep 23")).await;
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
    let asked = || switchboard::proto::tools::GetToolRequest {
        name: "probe.sh".into(),
        ..Default::default()
    };
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

    let skip = daemon.logged();
    std::fs::remove_file(daemon.setup.policies().join("cedar/broken.cedar")).unwrap();
    std::fs::write(&manifest, good).unwrap();
    daemon.log_line(skip, "in force");
}

#[tokio::test(flavor = "multi_thread")]
async fn sighup_alone_reloads() {
    let setup = Setup::new();
    // The watcher sees the link, but not what happens to the file that it leads to.
    let manifest = setup.policies().join("tools/probe-sh.toml");
    let target = setup.folder.path().join("elsewhere.toml");
    std::fs::rename(&manifest, &target).unwrap();
    std::os::unix::fs::symlink(&target, &manifest).unwrap();
    let daemon = setup.start().await;
    let description = async || {
        let asked = switchboard::proto::tools::GetToolRequest {
            name: "probe.sh".into(),
            ..Default::default()
        };
        daemon.client().await.get_tool(asked).await.unwrap().into_inner().description
    };
    let text = std::fs::read_to_string(&target).unwrap();
    std::fs::write(&target, text.replace("Runs a shell script.", "Runs it after a signal."))
        .unwrap();
    assert!(description().await.starts_with("Runs a shell script."), "nobody has said anything");
    let skip = daemon.logged();
    daemon.signal("HUP");
    daemon.log_line(skip, "in force");
    assert!(description().await.starts_with("Runs it after a signal."));
}

#[tokio::test(flavor = "multi_thread")]
async fn draining_is_unready_but_alive() {
    let mut daemon = Setup::new().start().await;
    let mut stream = daemon.running(sh("sleep 2; echo finished")).await;
    let url = format!("http://{}", daemon.address("metrics"));
    daemon.signal("TERM");
    eventually("readiness tells it", || async { http(&format!("{url}/readyz")).await.0 == 503 })
        .await;
    assert!(http(&format!("{url}/readyz")).await.1.contains("draining"));
    assert_eq!(http(&format!("{url}/healthz")).await.0, 200);
    let mut health = HealthClient::new(daemon.channel().await);
    for (name, expected) in [
        ("", ServingStatus::NotServing),
        ("switchboard.tools.v1.ToolService", ServingStatus::NotServing),
        ("liveness", ServingStatus::Serving),
    ] {
        let asked = HealthCheckRequest { service: name.to_owned() };
        assert_eq!(health.check(asked).await.unwrap().into_inner().status(), expected, "{name}");
    }
    let mut last = None;
    while let Some(Ok(event)) = stream.next().await {
        last = event.event;
    }
    let Some(Event::Reply(reply)) = last else { panic!("no reply: {last:?}") };
    assert_eq!(parsed(&reply)["data"], "finished\n", "all this was asked while the call ran");
    drop((health, stream));
    assert_eq!(daemon.wait(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_of_a_millisecond_starts_nothing() {
    let daemon = Setup::new().start().await;
    let pool = std::collections::BTreeSet::from_iter(daemon.containers());
    let config = daemon.config();
    let records = || {
        let output = daemon.cli(&["ledger", "search", "--json", "--config", &config]);
        let text = String::from_utf8(output.stdout).unwrap();
        let parse = |line| serde_json::from_str::<serde_json::Value>(line).unwrap();
        text.lines().map(parse).collect::<Vec<_>>()
    };
    let mut client = daemon.client().await;
    // The time may be over before the call has left this process; then nothing is recorded.
    eventually("late calls are recorded", || {
        let mut call = Request::new(sh("sleep 27"));
        call.metadata_mut().insert("grpc-timeout", "1m".parse().unwrap());
        let (mut client, known) = (client.clone(), records().len());
        async move {
            let status = client.call(call).await.unwrap_err();
            let late = [tonic::Code::DeadlineExceeded, tonic::Code::Cancelled];
            assert!(late.contains(&status.code()), "{status:?}");
            known >= 5
        }
    })
    .await;
    for record in records() {
        let code = record["code"].as_str().unwrap();
        assert!(["DEADLINE_EXCEEDED", "CANCELLED"].contains(&code), "{record:#}");
        assert_eq!(record["facts"]["run"], serde_json::Value::Null, "nothing may run: {record:#}");
    }
    assert!(!host_runs("sleep 27"));
    let now = std::collections::BTreeSet::from_iter(daemon.containers());
    assert!(now.is_superset(&pool), "no container of the pool was used up");
    let reply = client.call(sh("echo alive")).await.unwrap().into_inner().reply.unwrap();
    assert_eq!(parsed(&reply)["data"], "alive\n");
}

fn open_files(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count()
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelled_calls_leave_no_container_and_no_open_file() {
    let daemon = Setup::new().config("[admission]\nin_flight_per_caller = 1").start().await;
    let client = daemon.client().await;
    let cancelled = async |turn: usize| {
        let id = uuid::Uuid::new_v4().to_string();
        let call = CallRequest { call_id: id.clone(), ..sh("sleep 28") };
        let mut stream = client.clone().call_stream(call).await.unwrap().into_inner();
        match turn % 4 {
            // At once, while it may still wait for its container.
            0 => drop(stream),
            1 => {
                while !matches!(
                    stream.next().await.unwrap().unwrap().event,
                    Some(Event::Started(_))
                ) {}
                drop(stream);
            }
            _ => {
                while !matches!(
                    stream.next().await.unwrap().unwrap().event,
                    Some(Event::Started(_))
                ) {}
                client.clone().cancel(CancelRequest { call_id: id.clone() }).await.unwrap();
                while let Some(Ok(_)) = stream.next().await {}
            }
        }
        // With room for one call only, the next one is let in when this one has given it back.
        recorded(&daemon, &id, "CANCELLED").await;
    };
    for turn in 0..4 {
        cancelled(turn).await;
    }
    eventually("no tool sleeps on", || async { !host_runs("sleep 28") }).await;
    let files = open_files(daemon.pid());
    for turn in 0..20 {
        cancelled(turn).await;
    }
    eventually("no tool sleeps on", || async { !host_runs("sleep 28") }).await;
    eventually("only the pool is left", || async {
        let ready = "switchboard_sandbox_containers{state=\"ready\"} ";
        let metrics = daemon.metrics().await;
        let ready = metrics.lines().find_map(|line| line.strip_prefix(ready)).unwrap();
        daemon.containers().len().to_string() == ready
    })
    .await;
    eventually("no file stays open", || async { open_files(daemon.pid()) <= files + 8 }).await;
    let reply = client.clone().call(sh("echo alive")).await.unwrap().into_inner().reply.unwrap();
    assert_eq!(parsed(&reply)["data"], "alive\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_channel_over_the_socket_outlives_restarts_of_the_daemon() {
    let mut daemon = Setup::new().start().await;
    let channel = Endpoint::from_shared(daemon.socket()).unwrap().connect().await.unwrap();
    let client = ToolServiceClient::new(channel);
    for signal in ["TERM", "KILL", "TERM"] {
        let call = || request("probe.cat", "{\"text\":\"here\"}");
        let reply = client.clone().call(call()).await.unwrap().into_inner().reply.unwrap();
        assert_eq!(parsed(&reply)["data"], "here");
        daemon.signal(signal);
        daemon.wait();
        let status = client.clone().call(call()).await.unwrap_err();
        assert!(is_unreachable(&status), "{status:?}");
        daemon = daemon.restart().await;
        eventually("a call that is tried again succeeds", || async {
            match client.clone().call(call()).await {
                Ok(_) => true,
                Err(status) => {
                    assert!(is_unreachable(&status), "{status:?}");
                    false
                }
            }
        })
        .await;
    }
}

/// Whether a client says that no daemon answered: as UNAVAILABLE, or, where its request met a dying
/// connection, with the transport's own error behind it, which it tells as UNKNOWN or CANCELLED.
fn is_unreachable(status: &tonic::Status) -> bool {
    let source = std::error::Error::source(status);
    status.code() == tonic::Code::Unavailable
        || source.is_some_and(|source| source.is::<tonic::transport::Error>())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_during_the_start_ends_it_in_a_drain() {
    for signal in ["TERM", "INT"] {
        let setup = Setup::new();
        let config = setup.write_config();
        let socket = setup.folder.path().join("daemon.sock");
        let mut child = spawn(&config, &[]);
        // It listens before it reads its policies and looks for the engine, and after it has
        // registered for signals.
        eventually("the socket is there", || async { socket.exists() }).await;
        let pid = child.id().to_string();
        let sent = std::process::Command::new("kill").args(["-s", signal, &pid]).status();
        assert!(sent.unwrap().success());
        let status = tokio::task::spawn_blocking(move || child.wait().unwrap()).await.unwrap();
        assert_eq!(status.code(), Some(0), "{signal}: {status:?}");
        assert!(containers(&setup.instance).is_empty(), "{signal}");
        assert!(!socket.exists(), "{signal}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_that_fails_leaves_no_container() {
    // The policies are read after the sandbox has started; the ready file is written last, when
    // containers are being made.
    let broken = Setup::new().policy("cedar/broken.cedar", "permit (");
    let nowhere = Setup::new().config("[server]\nready_file = \"no/such/folder/ready\"");
    for setup in [broken, nowhere] {
        let instance = setup.instance.clone();
        let (code, said) = tokio::task::spawn_blocking(|| setup.refuse()).await.unwrap();
        assert_eq!(code, 1, "{said}");
        assert!(containers(&instance).is_empty(), "{said}");
    }
}
