//! Secrets end to end: the real daemon, a real sandbox, and an upstream in TLS that gives back all
//! that it gets.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::StreamExt;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use serde_json::{Value, json};
use switchboard::proto::tools::call_event::Event;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::daemon::{BINARY, Daemon, Setup, code, eventually, http, parsed, request};

const KEY: &str = "live-key/4eC39HqLyjWDarjtT1zdp7dc";
const QUERY: &str = "query-key+9a8b7c6d5e4f";

/// Says back the head of every message, in its headers and its body.
struct Echo {
    port: u16,
    heads: Mutex<Vec<String>>,
    connections: AtomicUsize,
    folder: tempfile::TempDir,
}

impl Echo {
    fn start() -> Arc<Self> {
        let folder = tempfile::TempDir::new().unwrap();
        let tls = certify(folder.path());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let echo = Arc::new(Self {
            port: listener.local_addr().unwrap().port(),
            heads: Mutex::default(),
            connections: AtomicUsize::new(0),
            folder,
        });
        let shared = Arc::clone(&echo);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (shared, tls) = (Arc::clone(&shared), Arc::clone(&tls));
                shared.connections.fetch_add(1, Ordering::SeqCst);
                let session = ServerConnection::new(tls).unwrap();
                let stream = StreamOwned::new(session, stream.unwrap());
                std::thread::spawn(move || shared.talk(stream));
            }
        });
        echo
    }

    fn talk(&self, mut stream: impl Read + Write) {
        let mut head = Vec::new();
        let mut byte = [0];
        while stream.read(&mut byte).is_ok_and(|read| read == 1) {
            head.push(byte[0]);
            if !head.ends_with(b"\r\n\r\n") {
                continue;
            }
            let text = String::from_utf8_lossy(&std::mem::take(&mut head)).into_owned();
            self.heads.lock().unwrap().push(text.clone());
            let find = |name: &str| text.lines().find(|l| l.to_lowercase().starts_with(name));
            let login = find("authorization:").unwrap_or_default();
            let heard = format!("{text} {}", STANDARD.encode(&text));
            let body = json!({ "customer_id": heard, "total": 0, "orders": [] }).to_string();
            let answer = format!(
                "HTTP/1.1 200 OK\r\nX-Echo: {login}\r\nLink: <https://x.test/?{login}>; rel=\"next\"\
                 \r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            );
            if stream.write_all(answer.as_bytes()).is_err() || stream.flush().is_err() {
                return;
            }
        }
    }

    fn last(&self) -> String {
        self.heads.lock().unwrap().last().cloned().unwrap_or_default()
    }

    /// The daemon's setup, with `secrets` in the profile of the order tools.
    fn setup(&self, secrets: &str) -> Setup {
        let port = self.port.to_string();
        let config = format!(
            "[sandbox.gate]\nextra_ca = \"{}\"\n[telemetry]\nlog = \"trace\"",
            self.folder.path().join("ca.pem").display()
        );
        let setup = Setup::new()
            .config(&config)
            .edit("openapi/orders.openapi.yaml", "http://127.0.0.1:18080", &self.url())
            .edit("sandbox/orders.toml", "18080", &port);
        let path = setup.policies().join("sandbox/orders.toml");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(path, format!("{text}\n{}", secrets.replace("PORT", &port))).unwrap();
        setup
    }

    fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }
}

/// A certificate for 127.0.0.1, and the authority's beside it as `ca.pem`.
fn certify(folder: &Path) -> Arc<ServerConfig> {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let authority = params.self_signed(&key).unwrap();
    std::fs::write(folder.join("ca.pem"), authority.pem()).unwrap();
    let issuer = Issuer::new(params, key);
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &issuer).unwrap();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    Arc::new(config)
}

const FROM_ENV: &str = "[secrets.orders_key]\nfrom = { env = \"ORDERS_KEY\" }\n\
    hosts = [\"127.0.0.1:PORT\"]\nheader = { name = \"Authorization\", prefix = \"Bearer \" }\n";

fn from_file(path: &Path) -> String {
    FROM_ENV.replace("env = \"ORDERS_KEY\"", &format!("file = \"{}\"", path.display()))
}

async fn list(daemon: &Daemon) -> Value {
    daemon.call("listCustomerOrders", &json!({ "customer_id": "C-1001" })).await
}

/// The values, plain and as they may be written.
fn traces() -> Vec<String> {
    let spelled = |value: &str| {
        [
            value.to_owned(),
            value.replace('/', "%2F").replace('+', "%2B"),
            value.replace('/', "\\/"),
            hex::encode(value),
            STANDARD.encode(value).trim_end_matches('=').chars().take(30).collect(),
        ]
    };
    spelled(KEY).into_iter().chain(spelled(QUERY)).collect()
}

#[track_caller]
fn assert_clean(what: &str, text: &str) {
    for value in traces() {
        assert!(!text.contains(&value), "{what} holds `{value}`");
    }
    // At any offset in base64, as in the upstream's body.
    let letter = |c: char| c.is_ascii_alphanumeric() || c == '+' || c == '/';
    for letters in text.split(|c| !letter(c)).filter(|letters| letters.len() > 40) {
        for skip in 0..4 {
            let whole: Vec<u8> = letters.bytes().skip(skip).collect();
            let (whole, _) = whole.as_chunks::<4>();
            let bytes = STANDARD.decode(whole.concat()).unwrap();
            let decoded = String::from_utf8_lossy(&bytes);
            for value in [KEY, QUERY] {
                assert!(!decoded.contains(value), "{what} holds `{value}` in base64");
            }
        }
    }
}

fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// A policies folder in which Python, too, has the secret, and another host without it.
fn hostile(setup: Setup, echo: &Echo, other: &Echo) -> Setup {
    let rules = format!(
        "egress = [{{ host = \"127.0.0.1\", port = {}, networks = [\"127.0.0.0/8\"] }}, \
         {{ host = \"127.0.0.1\", port = {}, networks = [\"127.0.0.0/8\"] }}]\n",
        echo.port, other.port
    );
    let trusted =
        [echo, other].map(|one| std::fs::read_to_string(one.folder.path().join("ca.pem")).unwrap());
    std::fs::write(echo.folder.path().join("ca.pem"), trusted.concat()).unwrap();
    let secret = FROM_ENV.replace("PORT", &echo.port.to_string());
    let setup = setup.edit("sandbox/python.toml", "egress = []", &rules).edit(
        "sandbox/python.toml",
        "wall = \"3s\"",
        "wall = \"30s\"",
    );
    let path = setup.policies().join("sandbox/python.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(path, format!("{text}\n{secret}")).unwrap();
    setup
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_reaches_its_host_and_is_found_nowhere_else() {
    let (echo, other) = (Echo::start(), Echo::start());
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("query-key");
    std::fs::write(&file, format!("{QUERY}\n")).unwrap();
    let secrets = format!(
        "{FROM_ENV}[secrets.orders_query]\nfrom = {{ file = \"{}\" }}\n\
         hosts = [\"127.0.0.1:PORT\"]\nquery = \"api_key\"\n",
        file.display()
    );
    let setup = hostile(echo.setup(&secrets).env("ORDERS_KEY", KEY), &echo, &other);
    let daemon = setup.start().await;

    let reply = list(&daemon).await;
    assert_eq!(code(&reply), "SUCCESS", "{reply:#}");
    let head = echo.last();
    assert!(head.contains(&format!("\r\nAuthorization: Bearer {KEY}\r\n")), "{head}");
    assert!(head.contains("api_key=query-key%2B9a8b7c6d5e4f "), "{head}");
    let text = reply.to_string();
    assert!(text.contains("Bearer ****") && text.contains("api_key=****"), "{text}");
    assert_clean("the reply", &text);

    let mut stream = daemon
        .client()
        .await
        .call_stream(request("listCustomerOrders", "{\"customer_id\":\"C-1001\"}"))
        .await
        .unwrap()
        .into_inner();
    let mut events = String::new();
    while let Some(event) = stream.next().await {
        match event.unwrap().event {
            Some(Event::Reply(reply)) => events.push_str(&reply.json),
            Some(event) => events.push_str(&format!("{event:?} ")),
            None => {}
        }
    }
    assert!(events.contains("****"), "{events}");
    assert_clean("the stream", &events);

    look_everywhere(&daemon, &reply).await;
    hunt(&daemon, &echo, &other).await;
}

/// Looks for the values in all that the daemon writes, and in what its containers are.
async fn look_everywhere(daemon: &Daemon, reply: &Value) {
    let config = daemon.config();
    let id = reply["metadata"]["call_id"].as_str().unwrap();
    let shown = daemon.cli(&["ledger", "show", "--config", &config, id]);
    let shown = String::from_utf8(shown.stdout).unwrap();
    let entry: Value = serde_json::from_str(&shown).unwrap();
    let attempt = &entry["facts"]["run"]["egress"][0];
    assert_eq!(attempt["secrets"], json!(["orders_key", "orders_query"]), "{attempt:#}");
    assert!(attempt["duration_us"].as_u64().unwrap() > 0, "{attempt:#}");
    assert_eq!((&attempt["host"], &attempt["allowed"]), (&json!("127.0.0.1"), &json!(true)));
    assert!(attempt["sent"].as_u64().unwrap() > 0 && attempt["received"].as_u64().unwrap() > 0);
    assert_clean("the record", &shown);

    assert_clean("the log", &daemon.log());
    assert_clean("the metrics", &daemon.metrics().await);
    for file in std::fs::read_dir(daemon.folder()).unwrap() {
        let path = file.unwrap().path();
        if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            assert_clean(&path.display().to_string(), &String::from_utf8_lossy(&bytes));
        }
    }
    let containers = daemon.containers();
    assert!(!containers.is_empty());
    for id in containers {
        let shown = run("docker", &["inspect", &id]);
        assert_clean("docker inspect", &shown);
        let pid = run("docker", &["inspect", "--format", "{{.State.Pid}}", &id]);
        let environ = std::fs::read(format!("/proc/{}/environ", pid.trim())).unwrap_or_default();
        assert_clean("the container's environment", &String::from_utf8_lossy(&environ));
    }
}

/// A hostile tool looks for the values from inside.
async fn hunt(daemon: &Daemon, echo: &Echo, other: &Echo) {
    let script = "
import base64, glob, http.client, os, urllib.parse, urllib.request
proxy = urllib.parse.urlsplit(os.environ['HTTP_PROXY']).netloc
def ask(url, **headers):
    link = http.client.HTTPConnection(proxy, timeout=10)
    link.request('GET', url, headers=headers)
    answer = link.getresponse()
    return [answer.status, str(answer.headers), answer.read().decode(errors='replace')]
bound, free = input
seen = [
    ask(bound + '/'),
    ask(bound + '/?x=y', Range='bytes=0-20', **{'Accept-Encoding': 'gzip'}),
    ask(bound + '/', Authorization='mine', TE='trailers', Connection='authorization'),
    ask(free + '/', Authorization='mine'),
]
try:
    urllib.request.urlopen(bound, timeout=5)
    seen.append('a tunnel')
except Exception as error:
    seen.append(str(error))
seen.append(dict(os.environ))
for path in glob.glob('/proc/[0-9]*/environ') + glob.glob('/tmp/*') + glob.glob('/run/*'):
    try:
        seen.append(open(path, 'rb').read().decode(errors='replace'))
    except OSError:
        pass
# Read backwards, so that nothing outside could mask it.
result = {'found': str(seen)[::-1]}
";
    let input = json!([echo.url(), other.url()]);
    let call = daemon.call("python.run", &json!({ "code": script, "input": input })).await;
    assert_eq!(code(&call), "SUCCESS", "{call:#}");
    let found: String = call["data"]["found"].as_str().unwrap().chars().rev().collect();
    assert_clean("what the tool saw", &found);
    assert!(found.matches("Bearer ****").count() >= 3, "{found}");
    assert!(found.contains("Tunnel connection failed: 403"), "{found}");
    assert!(echo.last().contains(KEY) && !echo.last().contains("mine"), "{}", echo.last());
    let free = other.last();
    assert!(free.contains("Authorization: mine") && !free.contains(KEY), "{free}");
    let egress = call["metadata"]["egress"].as_array().unwrap();
    assert!(egress.iter().any(|one| one["reason"].as_str().unwrap().contains("inside a tunnel")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_value_is_used_by_the_next_call_and_a_broken_one_is_not() {
    let echo = Echo::start();
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("key");
    std::fs::write(&file, "the-first-value\n").unwrap();
    let daemon = echo.setup(&from_file(&file)).start().await;
    list(&daemon).await;
    list(&daemon).await;
    assert!(echo.last().contains("Bearer the-first-value\r\n"), "{}", echo.last());
    let before = echo.connections.load(Ordering::SeqCst);

    // Replaced as Kubernetes does it: by another file under the same name.
    std::fs::write(folder.path().join("new"), "the-second-value\n").unwrap();
    std::fs::rename(folder.path().join("new"), &file).unwrap();
    let reply = list(&daemon).await;
    assert!(echo.last().contains("Bearer the-second-value\r\n"), "{}", echo.last());
    assert!(!reply.to_string().contains("the-second-value"), "{reply:#}");
    let after = echo.connections.load(Ordering::SeqCst);
    assert_eq!(after, before + 1, "a kept connection does not outlive the value");

    let skip = daemon.logged();
    std::fs::write(&file, "two\nlines-in-one-file").unwrap();
    daemon.signal("HUP");
    let line = daemon.log_line(skip, "line breaks");
    assert!(line.contains("orders_key") && line.contains("last_good_value_stays\":true"), "{line}");
    assert!(!line.contains("lines-in-one-file"), "{line}");
    assert_eq!(code(&list(&daemon).await), "SUCCESS");
    assert!(echo.last().contains("Bearer the-second-value\r\n"), "{}", echo.last());
    assert_eq!(http(&format!("http://{}/readyz", daemon.address("metrics"))).await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_value_the_tools_are_not_ready_and_nothing_is_sent() {
    let echo = Echo::start();
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("key");
    let daemon = echo.setup(&from_file(&file)).start_unready().await;
    let url = format!("http://{}/readyz", daemon.address("metrics"));
    let told = Mutex::new(String::new());
    eventually("the reason is told", || async {
        let (status, text) = http(&url).await;
        *told.lock().unwrap() = text;
        let told = told.lock().unwrap();
        status == 503 && told.contains("profile `orders`: secret `orders_key`: file")
    })
    .await;
    let call = request("listCustomerOrders", "{\"customer_id\":\"C-1001\"}");
    let status = daemon.try_call(call).await.unwrap_err();
    assert_eq!(status.code(), tonic::Code::Unavailable);
    assert!(status.message().contains("secret `orders_key`"), "{status:?}");
    assert_eq!(echo.connections.load(Ordering::SeqCst), 0);
    // Tools without it are not concerned.
    let reply = daemon.call("text.stats", &json!({ "text": "a" })).await;
    assert_eq!(code(&reply), "SUCCESS", "{reply:#}");

    std::fs::write(&file, "a-value-at-last").unwrap();
    eventually("it is ready", || async { http(&url).await.0 == 200 }).await;
    assert_eq!(code(&list(&daemon).await), "SUCCESS");
    assert!(echo.last().contains("Bearer a-value-at-last\r\n"), "{}", echo.last());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_profile_whose_new_secret_cannot_be_read_stays_as_it_was() {
    let echo = Echo::start();
    let daemon = echo.setup(FROM_ENV).env("ORDERS_KEY", KEY).start().await;
    let path = daemon.setup.policies().join("sandbox/orders.toml");
    let good = std::fs::read_to_string(&path).unwrap();
    for (from, to, reason) in [
        ("ORDERS_KEY", "NOT_SET_ANYWHERE", "`NOT_SET_ANYWHERE` is not set"),
        ("hosts = [\"127.0.0.1:", "hosts = [\"evil.test:", "not allowed by any egress rule"),
        ("header = {", "cookie = {", "unknown"),
    ] {
        let skip = daemon.logged();
        std::fs::write(&path, good.replace(from, to)).unwrap();
        let line = daemon.log_line(skip, "the last good state of this file stays in use");
        assert!(line.contains(reason) && line.contains("sandbox/orders.toml"), "{line}");
        daemon.log_line(skip, "in force");
        assert_eq!(code(&list(&daemon).await), "SUCCESS");
        assert!(echo.last().contains(KEY), "{}", echo.last());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_can_forbid_by_the_name_of_a_secret() {
    let echo = Echo::start();
    let forbid = "@id(\"no-orders-key\")\n@owner(\"tests\")\nforbid (principal, action, resource)\n\
         when { context.sandbox.secrets.contains(\"orders_key\") };\n";
    let daemon = echo
        .setup(FROM_ENV)
        .env("ORDERS_KEY", KEY)
        .policy("cedar/secrets.cedar", forbid)
        .start()
        .await;
    let call = request("listCustomerOrders", "{\"customer_id\":\"C-1001\"}");
    let denied = match daemon.try_call(call).await {
        Ok(reply) => parsed(&reply).to_string(),
        Err(status) => status.message().to_owned(),
    };
    assert!(denied.contains("POLICY_DENIED") || denied.contains("no tool"), "{denied}");
    assert_eq!(echo.connections.load(Ordering::SeqCst), 0);
    let reply = daemon.call("text.stats", &json!({ "text": "a" })).await;
    assert_eq!(code(&reply), "SUCCESS", "{reply:#}");
}

#[test]
fn what_works_offline_needs_the_form_of_a_secret_and_not_its_value() {
    let echo = Echo::start();
    let setup = echo.setup(FROM_ENV);
    let folder = setup.policies().display().to_string();
    let run = |arguments: &[&str]| {
        let output = Command::new(BINARY).args(arguments).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
    };
    let arguments = "{\"customer_id\":\"C-1001\"}";
    let (exit, told) = run(&["validate", "--catalog", &folder, "listCustomerOrders", arguments]);
    assert_eq!(exit, 0, "{told}");
    let lint = ["tools", "lint", "--catalog", &folder];
    let (exit, told) = run(&lint);
    assert!(!told.contains("secret") && exit != 2, "{told}");
    let wide = FROM_ENV.replace("127.0.0.1:PORT", "*.example.com:443");
    let path = setup.policies().join("sandbox/orders.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    let (plain, _) = text.rsplit_once("[secrets.").unwrap();
    std::fs::write(&path, format!("{plain}{wide}")).unwrap();
    let (exit, told) = run(&lint);
    assert!(exit != 0 && told.contains("a secret is bound to exact hosts"), "{told}");
}
