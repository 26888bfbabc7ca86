//! What a tool can and cannot do in its container, and what its reply makes of how it ended.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use switchboard::proto::tools::call_event::Event;
use switchboard::proto::tools::call_event::output::Stream;
use tokio_stream::StreamExt;
use tonic::Code;

use crate::daemon::{Daemon, Setup, code, eventually, failure, parsed, request};

async fn sh(daemon: &Daemon, script: &str) -> Value {
    daemon.call("probe.sh", &json!({ "script": script })).await
}

async fn python(daemon: &Daemon, script: &str) -> Value {
    daemon.call("probe.python", &json!({ "script": script })).await
}

#[tokio::test(flavor = "multi_thread")]
async fn how_a_program_ends_and_what_it_prints_are_judged_apart() {
    let daemon = Setup::new().start().await;
    let reply = sh(&daemon, "echo '{\"n\":0}'; exit 1").await;
    assert_eq!(code(&reply), "EXECUTION_ERROR");
    assert_eq!(reply["metadata"]["exit_code"], 1);
    assert_eq!(reply["data"], json!({ "n": 0 }), "a failed tool keeps its data");

    let reply = sh(&daemon, "echo warn >&2; echo '{\"n\":1}'").await;
    assert_eq!(code(&reply), "SUCCESS", "words on standard error are no failure: {reply:#}");
    assert_eq!(reply["data"], json!({ "n": 1 }));
    assert_eq!(reply["metadata"]["stderr"], "warn");

    let reply = sh(&daemon, "true").await;
    assert_eq!(code(&reply), "SUCCESS", "silence is no failure: {reply:#}");
    assert_eq!(reply["data"], Value::Null);

    let reply = daemon.call("probe.absent", &json!({})).await;
    assert_eq!(code(&reply), "SANDBOX_UNAVAILABLE", "{reply:#}");
    assert_eq!(reply["error"]["retryable"], false, "a missing program does not come by waiting");

    let reply = sh(&daemon, "nosuchcommand").await;
    assert_eq!(code(&reply), "EXECUTION_ERROR");
    assert_eq!(reply["error"]["details"]["exit_code"], 127);
    let reply = sh(&daemon, "exit 255").await;
    assert_eq!(code(&reply), "EXECUTION_ERROR");
    assert_eq!(reply["error"]["details"]["exit_code"], 255);
    assert_eq!(reply["error"]["retryable"], false);

    let reply = sh(&daemon, "echo '{\"ok\":false}'").await;
    assert_eq!(code(&reply), "SUCCESS", "content is not interpreted: {reply:#}");
    assert_eq!(reply["data"], json!({ "ok": false }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_that_the_kernel_kills_is_told_and_does_not_fail_its_parent() {
    let daemon = Setup::new().start().await;
    let script = "sh -c 'head -c 300000000 /dev/zero | tail'; echo child=$?; exit 0";
    let reply = sh(&daemon, script).await;
    assert_eq!(code(&reply), "SUCCESS", "{reply:#}");
    assert_eq!(reply["data"], "child=137\n", "{reply:#}");
    assert!(reply["metadata"]["oom_kills"].as_u64().unwrap() >= 1, "{reply:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_that_is_killed_from_outside_is_neither_slow_nor_too_large() {
    let daemon = Setup::new().start().await;
    let call = request("probe.slow", "{\"script\":\"sleep 24\"}");
    let stream = daemon.running(call).await;
    let all = daemon.containers();
    let killed = std::process::Command::new("docker").arg("kill").args(&all).output().unwrap();
    assert!(!killed.stdout.is_empty(), "{killed:?}");
    let status = failure(stream).await;
    assert_eq!(status.code(), Code::Unavailable, "{status:?}");
    let details = tonic_types::StatusExt::get_error_details(&status);
    assert_eq!(details.error_info().unwrap().reason, "SANDBOX_UNAVAILABLE");
    eventually("the pool is filled again", || async {
        let call = request("probe.sh", "{\"script\":\"echo again\"}");
        daemon.try_call(call).await.is_ok_and(|reply| parsed(&reply)["data"] == "again\n")
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_call_that_may_have_changed_something_is_not_one_to_send_again() {
    let daemon = Setup::new().start().await;
    let call = request("python.run", "{\"code\":\"import time; time.sleep(2.9)\"}");
    let mut stream = daemon.running(call).await;
    let all = daemon.containers();
    let killed = std::process::Command::new("docker").arg("kill").args(&all).output().unwrap();
    assert!(!killed.stdout.is_empty(), "{killed:?}");
    let mut last = None;
    while let Some(event) = stream.next().await {
        // Clients of gRPC send again after UNAVAILABLE by themselves, as ours are told to.
        last = event.unwrap().event;
    }
    let Some(Event::Reply(reply)) = last else { panic!("no reply: {last:?}") };
    let reply = parsed(&reply);
    assert_eq!(code(&reply), "SANDBOX_UNAVAILABLE");
    assert_eq!(reply["error"]["retryable"], false);
    assert_eq!(reply["error"]["details"]["may_have_run"], true);
}

fn resident_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_is_cut_at_its_limit_while_other_calls_are_answered() {
    let daemon = Setup::new().start().await;
    sh(&daemon, "yes").await;
    let before = resident_kib(daemon.pid());
    for script in [
        "yes & yes >&2 & wait",
        "cat /dev/zero",
        "yes >&2",
        "while :; do printf xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done",
    ] {
        let begun = Instant::now();
        let other = json!({ "text": format!("beside {script}") });
        let (flood, quick) = tokio::join!(sh(&daemon, script), daemon.call("text.stats", &other));
        assert_eq!(code(&flood), "OUTPUT_LIMIT", "{script}: {:#}", flood["error"]);
        assert_eq!(flood["metadata"]["output_truncated"], true, "{script}");
        assert!(begun.elapsed() < Duration::from_secs(7), "{script}: {:?}", begun.elapsed());
        assert_eq!(code(&quick), "SUCCESS", "{quick:#}");
        let waited = quick["metadata"]["latency_ms"].as_f64().unwrap();
        assert!(waited < 2000.0, "beside `{script}` another call took {waited} ms");
    }
    let grown = resident_kib(daemon.pid()).saturating_sub(before);
    assert!(grown < 20 << 10, "the daemon grew by {grown} KiB");
}

#[tokio::test(flavor = "multi_thread")]
async fn characters_that_are_split_between_reads_arrive_whole() {
    let daemon = Setup::new().start().await;
    let script = "import os, sys, threading\n\
        text = ('\u{4f60}\u{597d}' * 20000 + '\u{1f469}\u{200d}\u{1f4bb}' * 5000).encode()\n\
        def write(out):\n    \
            for at in range(100): os.write(out, text[at:at + 1])\n    \
            rest = memoryview(text)[100:]\n    \
            while rest: rest = rest[os.write(out, rest[:4099]):]\n\
        other = threading.Thread(target=write, args=(2,))\n\
        other.start(); write(1); other.join()";
    let expected = "\u{4f60}\u{597d}".repeat(20000) + &"\u{1f469}\u{200d}\u{1f4bb}".repeat(5000);
    for _ in 0..3 {
        let call = request("probe.python", &json!({ "script": script }).to_string());
        let mut stream = daemon.client().await.call_stream(call).await.unwrap().into_inner();
        let (mut out, mut err, mut reply) = (Vec::new(), Vec::new(), None);
        while let Some(event) = stream.next().await {
            match event.unwrap().event.unwrap() {
                Event::Output(piece) if piece.stream() == Stream::Stdout => out.extend(piece.data),
                Event::Output(piece) => err.extend(piece.data),
                Event::Reply(last) => reply = Some(parsed(&last)),
                Event::Accepted(_) | Event::Started(_) | Event::Waiting(_) => {}
            }
        }
        let reply = reply.unwrap();
        assert_eq!(code(&reply), "SUCCESS", "{}", reply["error"]);
        assert!(reply["data"].as_str().unwrap() == expected, "the reply is not what was printed");
        assert!(out == expected.as_bytes(), "standard output is not what was printed");
        assert!(err == expected.as_bytes(), "standard error is not what was printed");
        let tail = reply["metadata"]["stderr"].as_str().unwrap();
        assert!(tail.trim_start_matches('\u{fffd}').chars().all(|c| expected.contains(c)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn standard_input_is_at_its_end_and_nothing_is_a_terminal() {
    let daemon = Setup::new().start().await;
    let ends_at_once = |reply: &Value| {
        let took = reply["metadata"]["tool_ms"].as_f64().unwrap();
        assert!(took < 1500.0, "took {took} ms: {reply:#}");
    };
    let reply = sh(&daemon, "cat").await;
    assert_eq!((code(&reply), &reply["data"]), ("SUCCESS", &Value::Null), "{reply:#}");
    ends_at_once(&reply);
    let reply = sh(&daemon, "read x; echo got:$x").await;
    assert_eq!(reply["data"], "got:\n", "{reply:#}");
    ends_at_once(&reply);
    let reply = python(&daemon, "print(len(input()))").await;
    assert_eq!(code(&reply), "EXECUTION_ERROR");
    assert_eq!(reply["metadata"]["exit_code"], 1);
    assert!(reply["metadata"]["stderr"].as_str().unwrap().contains("EOFError"), "{reply:#}");
    let reply =
        python(&daemon, "import os, json; print(json.dumps([os.isatty(n) for n in (0, 1, 2)]))");
    assert_eq!(reply.await["data"], json!([false, false, false]));
    let text = "first line\n\tsecond \u{0} line without end";
    let reply =
        daemon.call("python.run", &json!({ "code": "result = input", "input": text })).await;
    assert_eq!(reply["data"], text, "{reply:#}");
}

/// Accepts connections from anywhere and counts them.
async fn trap() -> (u16, Arc<AtomicUsize>) {
    let listener = tokio::net::TcpListener::bind("0.0.0.0:0").await.unwrap();
    let (port, caught) = (listener.local_addr().unwrap().port(), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&caught);
    tokio_util::task::TaskTracker::new().spawn(async move {
        while listener.accept().await.is_ok() {
            count.fetch_add(1, Ordering::SeqCst);
        }
    });
    (port, caught)
}

/// Tries every way out that it knows, and tells of each what came of it and how long it took.
const WAYS_OUT: &str = r#"
import socket, time, urllib.request

def tcp(host, port, family=socket.AF_INET):
    with socket.socket(family, socket.SOCK_STREAM) as s:
        s.settimeout(1)
        s.connect((host, port))

def udp(host, port):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(1)
        s.sendto(b"\0\0\1\0\0\1\0\0\0\0\0\0\4data\7example\3org\0\0\1\0\1", (host, port))

def icmp():
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)

host, trap, daemon = input["host"], input["trap"], input["daemon"]
tries = {
    "dns lookup": lambda: socket.getaddrinfo("data.example.org", 80),
    "docker host": lambda: socket.getaddrinfo("host.docker.internal", 80),
    "udp 53": lambda: udp("8.8.8.8", 53),
    "internet": lambda: tcp("192.0.2.10", 443),
    "ipv6": lambda: tcp("2001:db8::10", 443, socket.AF_INET6),
    "metadata service": lambda: tcp("169.254.169.254", 80),
    "this machine": lambda: tcp(host, trap),
    "own daemon": lambda: tcp("127.0.0.1", daemon),
    "own daemon from outside": lambda: tcp(host, daemon),
    "raw": icmp,
    "proxy to daemon": lambda: urllib.request.urlopen(f"http://127.0.0.1:{daemon}/", timeout=1),
    "proxy to trap": lambda: urllib.request.urlopen(f"http://{host}:{trap}/", timeout=1),
}
result = {}
for name, attempt in tries.items():
    begun = time.monotonic()
    try:
        attempt()
        said = "REACHED"
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
    result[name] = [said, time.monotonic() - begun]
"#;

/// The address of this machine that others see; loopback where it has no other.
async fn own_address() -> IpAddr {
    let socket = tokio::net::UdpSocket::bind("0.0.0.0:0").await.unwrap();
    // Nothing is sent: the kernel only chooses the address that it would send from.
    match socket.connect("192.0.2.1:9").await {
        Ok(()) => socket.local_addr().unwrap().ip(),
        Err(_) => IpAddr::from([127, 0, 0, 1]),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_without_a_network_reaches_nothing_by_any_way() {
    let daemon = Setup::new().start().await;
    let (trap, caught) = trap().await;
    let host = own_address().await;
    assert!(tokio::net::TcpStream::connect((host, trap)).await.is_ok(), "{host}");
    eventually("the trap works", || async { caught.load(Ordering::SeqCst) == 1 }).await;

    let port = daemon.address("tcp").port();
    let input = json!({ "host": host.to_string(), "trap": trap, "daemon": port });
    let reply = daemon.call("python.run", &json!({ "code": WAYS_OUT, "input": input })).await;
    assert_eq!(code(&reply), "SUCCESS", "{reply:#}");
    let tries = reply["data"].as_object().unwrap();
    assert_eq!(tries.len(), 12);
    for (way, outcome) in tries {
        assert_ne!(outcome[0], "REACHED", "{way}");
        assert!(outcome[1].as_f64().unwrap() < 1.0, "{way}: {outcome}");
    }
    assert_eq!(caught.load(Ordering::SeqCst), 1, "something left the sandbox: {reply:#}");
    let attempts = reply["metadata"]["egress"].as_array().unwrap();
    assert!(attempts.iter().all(|attempt| attempt["allowed"] == false), "{attempts:#?}");
    assert_eq!(attempts.len(), 2, "what asks the gate is recorded: {attempts:#?}");
}

/// The bytes of a member's value in a reply: what a parser might make equal stays apart.
fn spelled<'r>(reply: &'r str, member: &str) -> &'r str {
    let rest = reply.split_once(&format!("\"{member}\":")).unwrap().1;
    rest.split([',', '}']).next().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_keep_their_digits_on_the_way_in_and_out() {
    let daemon = Setup::new().start().await;
    let big = "1208925819614629174706176";
    let code_text = "assert type(input) is int and input == 2**80; result = input";
    let arguments = format!("{{\"code\":\"{code_text}\",\"input\":{big}}}");
    let reply = daemon.try_call(request("python.run", &arguments)).await.unwrap();
    assert_eq!(code(&parsed(&reply)), "SUCCESS", "{}", reply.json);
    assert_eq!(spelled(&reply.json, "data"), big, "{}", reply.json);
    assert_eq!(parsed(&reply)["metadata"]["repairs"], json!([]));

    for number in [
        big,
        "-9223372036854775809",
        "18446744073709551616",
        "1.10",
        "0.1000",
        "0.30000000000000004",
    ] {
        let arguments = format!("{{\"value\":{number},\"number\":{number}}}");
        let reply = daemon.try_call(request("probe.mirror", &arguments)).await.unwrap();
        assert_eq!(code(&parsed(&reply)), "SUCCESS", "{}", reply.json);
        assert_eq!(spelled(&reply.json, "value"), number, "{}", reply.json);
        assert_eq!(spelled(&reply.json, "number"), number, "{}", reply.json);
        let nested = format!("{{\"value\":{{\"deep\":[{number}]}},\"number\":1}}");
        let reply = daemon.try_call(request("probe.mirror", &nested)).await.unwrap();
        assert!(reply.json.contains(&format!("[{number}]")), "{}", reply.json);
    }
    let arguments = format!("{{\"value\":null,\"integer\":{big}}}");
    let reply = daemon.try_call(request("probe.mirror", &arguments)).await.unwrap();
    assert_eq!(spelled(&reply.json, "integer"), big, "{}", reply.json);
    // Arguments given as text are repaired without losing a digit.
    let arguments = format!("{{\"value\":null,\"integer\":\"{big}\",\"number\":\"1.10\"}}");
    let reply = daemon.try_call(request("probe.mirror", &arguments)).await.unwrap();
    assert_eq!(spelled(&reply.json, "integer"), big, "{}", reply.json);
    assert_eq!(spelled(&reply.json, "number"), "1.10", "{}", reply.json);
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_cannot_be_served_in_time_are_refused_at_once_with_a_delay() {
    let daemon = Setup::new().start().await;
    let client = daemon.client().await;
    let calls = (0..60).map(|_| {
        let mut client = client.clone();
        async move {
            let mut call = tonic::Request::new(request("probe.slow", "{\"script\":\"sleep 1\"}"));
            call.set_timeout(Duration::from_millis(1500));
            let begun = Instant::now();
            (client.call(call).await, begun.elapsed())
        }
    });
    let mut refused = 0;
    for (answer, took) in futures::future::join_all(calls).await {
        let Err(status) = answer else { continue };
        if status.code() != Code::ResourceExhausted {
            continue;
        }
        refused += 1;
        let details = tonic_types::StatusExt::get_error_details(&status);
        assert_eq!(details.error_info().unwrap().reason, "RATE_LIMITED");
        let delay = details.retry_info().unwrap().retry_delay.unwrap();
        assert!(delay > Duration::from_millis(100), "{delay:?}");
        assert!(took < Duration::from_millis(1400), "it did not wait in vain: {took:?}");
    }
    assert!(refused >= 20, "{refused} of 60");
    let metrics = daemon.metrics().await;
    for line in [
        "switchboard_sandbox_refusals_total{cause=\"too_late\"}",
        "switchboard_sandbox_pool_total{use=\"hit\"}",
        "switchboard_sandbox_pool_queue{pool=\"shell\"}",
        "switchboard_sandbox_pool_refill_rate{pool=\"shell\"}",
    ] {
        assert!(metrics.contains(line), "no `{line}`:\n{metrics}");
    }
}
