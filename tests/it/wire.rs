//! What the transport promises: sockets, health, reflection, pages, metrics, exit codes.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use switchboard::proto::tools::{GetResultRequest, ListToolsRequest};
use tokio_stream::StreamExt;
use tonic::Code;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;
use tonic_reflection::pb::v1::{ServerReflectionRequest, ServerReflectionResponse};

use crate::daemon::{Setup, http, request};

#[tokio::test(flavor = "multi_thread")]
async fn health_tells_readiness_and_liveness_apart() {
    let mut daemon = Setup::new().start().await;
    let mut client = HealthClient::new(daemon.channel().await);
    for name in ["", "switchboard.tools.v1.ToolService", "liveness"] {
        let asked = HealthCheckRequest { service: name.to_owned() };
        let status = client.check(asked).await.unwrap().into_inner().status();
        assert_eq!(status, ServingStatus::Serving, "{name}");
    }
    let unknown = HealthCheckRequest { service: "nope".to_owned() };
    assert_eq!(client.check(unknown).await.unwrap_err().code(), Code::NotFound);

    let url = format!("http://{}", daemon.address("health"));
    let alone = tonic::transport::Endpoint::from_shared(url).unwrap().connect().await.unwrap();
    let mut tools = switchboard::proto::tools::tool_service_client::ToolServiceClient::new(alone);
    let refused = tools.call(request("text.stats", "{}")).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unimplemented, "the health port serves no calls");

    let asked = HealthCheckRequest { service: String::new() };
    let mut watch = client.watch(asked).await.unwrap().into_inner();
    let first = watch.next().await.unwrap().unwrap().status();
    assert_eq!(first, ServingStatus::Serving, "the current state comes at once");
    daemon.signal("TERM");
    let second = watch.next().await.unwrap().unwrap().status();
    assert_eq!(second, ServingStatus::NotServing, "and each change");
    assert_eq!(daemon.wait(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn reflection_describes_the_service_to_old_and_new_clients() {
    let daemon = Setup::new().start().await;
    let asked = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let mut client = ServerReflectionClient::new(daemon.channel().await);
    let answers = client.server_reflection_info(tokio_stream::once(asked)).await.unwrap();
    let answer: ServerReflectionResponse = answers.into_inner().next().await.unwrap().unwrap();
    let Some(MessageResponse::ListServicesResponse(list)) = answer.message_response else {
        panic!("no list of services");
    };
    let names: Vec<_> = list.service.iter().map(|service| service.name.as_str()).collect();
    for name in [
        "switchboard.tools.v1.ToolService",
        "grpc.health.v1.Health",
        "grpc.reflection.v1.ServerReflection",
    ] {
        assert!(names.contains(&name), "{names:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_socket_has_its_mode_and_is_taken_over_only_from_the_dead() {
    let mut daemon = Setup::new().config("[server]\nsocket_mode = \"0600\"").start().await;
    let socket = daemon.folder().join("daemon.sock");
    let mode = |path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&socket), 0o600);
    let again = std::process::Command::new(crate::daemon::BINARY)
        .args(["serve", "--config"])
        .arg(daemon.folder().join("switchboard.toml"))
        .output()
        .unwrap();
    assert_eq!(again.status.code(), Some(1));
    let told = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(told.contains("another daemon"), "{told}");
    daemon.signal("KILL");
    daemon.wait();
    let daemon = daemon.restart().await;
    assert_eq!(mode(&socket), 0o600);
    assert_eq!(daemon.cli(&["health"]).status.code(), Some(0));
}

/// Asks for the health of a daemon as a user who owns nothing.
fn health_as_nobody(folder: &std::path::Path) -> std::process::Output {
    // The program itself may lie where that user cannot go.
    let program = folder.join("switchboard");
    std::fs::copy(crate::daemon::BINARY, &program).unwrap();
    let root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
    let line = ["sudo", "--non-interactive"].into_iter().skip(if root { 2 } else { 0 });
    let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let line: Vec<_> = line.chain(nobody).collect();
    std::process::Command::new(line[0])
        .args(&line[1..])
        .arg(program)
        .args(["health", "--endpoint"])
        .arg(format!("unix://{}", folder.join("daemon.sock").display()))
        .output()
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn another_user_cannot_connect_to_the_socket_unless_the_operator_says_so() {
    for (config, open) in
        [("", false), ("[server]\nsocket_mode = \"0666\"\nallow_world_socket = true", true)]
    {
        let setup = Setup::new().config(config);
        // Only the mode of the socket itself may stand in the way.
        let passable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(setup.folder.path(), passable).unwrap();
        let daemon = setup.start().await;
        let socket = daemon.folder().join("daemon.sock");
        let mode = std::fs::metadata(&socket).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, if open { 0o666 } else { 0o660 });
        let output = health_as_nobody(daemon.folder());
        if open {
            assert_eq!(output.status.code(), Some(0), "{output:?}");
        } else {
            assert_eq!(output.status.code(), Some(3), "a stranger could connect: {output:?}");
            let told = String::from_utf8(output.stderr).unwrap();
            assert!(told.contains("no daemon answers") && told.contains("ermission"), "{told}");
        }
        assert_eq!(daemon.cli(&["health"]).status.code(), Some(0), "its owner can");
    }
    let world = Setup::new().config("[server]\nsocket_mode = \"0666\"");
    let (code, told) = world.refuse();
    assert_eq!(code, 2, "{told}");
    assert!(told.contains("allow_world_socket"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn readiness_says_why_not_while_the_process_is_alive() {
    let setup = Setup::new().config("[sandbox]\nengine = \"unix:///nonexistent/docker.sock\"");
    let daemon = setup.start_unready().await;
    let url = format!("http://{}", daemon.address("metrics"));
    let (status, told) = http(&format!("{url}/readyz")).await;
    assert_eq!(status, 503, "{told}");
    assert!(told.contains("engine") || told.contains("docker.sock"), "no reason: `{told}`");
    assert_eq!(http(&format!("{url}/healthz")).await, (200, "ok\n".to_owned()));
    assert_eq!(http(&format!("{url}/metrics")).await.0, 200);
    let mut health = HealthClient::new(daemon.channel().await);
    for (name, expected) in [("", ServingStatus::NotServing), ("liveness", ServingStatus::Serving)]
    {
        let asked = HealthCheckRequest { service: name.to_owned() };
        assert_eq!(health.check(asked).await.unwrap().into_inner().status(), expected, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_are_listed_in_pages_and_results_read_in_pages() {
    let daemon = Setup::new().start().await;
    let mut client = daemon.client().await;
    let all = client.list_tools(ListToolsRequest::default()).await.unwrap().into_inner();
    let mut names = Vec::new();
    let mut asked = ListToolsRequest { page_size: 2, ..Default::default() };
    loop {
        let page = client.list_tools(asked.clone()).await.unwrap().into_inner();
        assert!(page.tools.len() <= 2);
        names.extend(page.tools.into_iter().map(|tool| tool.name));
        asked.page_token = page.next_page_token;
        if asked.page_token.is_empty() {
            break;
        }
    }
    assert_eq!(names, all.tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>());

    let text = "{\"text\":\"ääää\"}";
    let reply = daemon.try_call(request("probe.cat", text)).await.unwrap();
    let id = reply.metadata.unwrap().call_id;
    let (mut read, mut offset) = (String::new(), 0);
    loop {
        let asked =
            GetResultRequest { call_id: id.clone(), offset, limit: 7, ..Default::default() };
        let page = client.get_result(asked).await.unwrap().into_inner();
        assert_eq!(page.total_bytes, reply.json.len() as u64);
        read.push_str(&page.json);
        offset = page.next_offset;
        if offset == 0 {
            break;
        }
    }
    assert_eq!(read, reply.json);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_tells_success_error_usage_and_absence_apart() {
    let daemon = Setup::new().start().await;
    assert_eq!(daemon.cli(&["call", "text.stats", "{\"text\":\"a\"}"]).status.code(), Some(0));
    assert_eq!(daemon.cli(&["call", "no.such"]).status.code(), Some(1));
    assert_eq!(daemon.cli(&["call", ""]).status.code(), Some(2));
    assert_eq!(daemon.cli(&["call"]).status.code(), Some(2));
    let absent = daemon.cli(&["call", "text.stats", "{}", "--endpoint", "http://127.0.0.1:1"]);
    assert_eq!(absent.status.code(), Some(3), "{absent:?}");
    let listed = daemon.cli(&["tools", "list", "--json"]);
    let first = String::from_utf8(listed.stdout).unwrap();
    let first: serde_json::Value = serde_json::from_str(first.lines().next().unwrap()).unwrap();
    assert!(first["input_schema"].is_object(), "{first:#}");
    assert!(daemon.cli(&["completions", "bash"]).status.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_metrics_count_calls_by_tool_and_code() {
    let daemon = Setup::new().start().await;
    daemon.try_call(request("text.stats", "{\"text\":\"a\"}")).await.unwrap();
    daemon.try_call(request("text.stats", "{}")).await.unwrap();
    let metrics = daemon.metrics().await;
    let counted = |tool: &str, code: &str| {
        metrics.lines().any(|line| {
            line.starts_with("switchboard_calls_total{")
                && line.contains(&format!("tool=\"{tool}\""))
                && line.contains(&format!("code=\"{code}\""))
                && line.ends_with(" 1")
        })
    };
    assert!(counted("text.stats", "SUCCESS"), "{metrics}");
    assert!(counted("text.stats", "SCHEMA_VALIDATION_ERROR"), "{metrics}");
    assert!(metrics.contains("switchboard_stage_seconds_bucket{stage=\"check\""), "{metrics}");
    let url = format!("http://{}", daemon.address("metrics"));
    assert_eq!(http(&format!("{url}/healthz")).await.0, 200);
    assert_eq!(http(&format!("{url}/readyz")).await.0, 200);
}
