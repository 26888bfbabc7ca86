//! A real daemon in a folder of its own, and the clients that talk to it.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;
use switchboard::proto::tools::call_event::Event;
use switchboard::proto::tools::tool_service_client::ToolServiceClient;
use switchboard::proto::tools::{CallEvent, CallRequest, Reply};
use tempfile::TempDir;
use tokio_stream::StreamExt;
use tonic::transport::{Channel, Endpoint};
use tonic::{Status, Streaming};

pub(crate) const ROOT: &str = env!("CARGO_MANIFEST_DIR");
pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_switchboard");
/// Longer than anything takes on a busy machine; a wait that reaches it has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the daemon wrote to standard error so far.
#[derive(Clone, Default)]
struct Log(Arc<(Mutex<Vec<String>>, Condvar)>);

impl Log {
    fn follow(&self, child: &mut Child) {
        let (log, lines) = (self.clone(), BufReader::new(child.stderr.take().unwrap()).lines());
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                log.0.0.lock().unwrap().push(line);
                log.0.1.notify_all();
            }
            log.0.0.lock().unwrap().push("(end of the log)".into());
            log.0.1.notify_all();
        });
    }

    /// Waits until a line from `skip` on contains `text`; gives the line.
    fn wait(&self, skip: usize, text: &str) -> String {
        let (lines, changed) = &*self.0;
        let mut lines = lines.lock().unwrap();
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(line) = lines.iter().skip(skip).find(|line| line.contains(text)) {
                return line.clone();
            }
            let over = lines.last().is_some_and(|line| line == "(end of the log)");
            let left = end.saturating_duration_since(Instant::now());
            assert!(!over && !left.is_zero(), "`{text}` was not logged: {lines:#?}");
            lines = changed.wait_timeout(lines, left).unwrap().0;
        }
    }

    fn lines(&self) -> Vec<String> {
        self.0.0.lock().unwrap().clone()
    }
}

/// How a daemon is set up before it starts.
pub(crate) struct Setup {
    pub(crate) folder: TempDir,
    config: String,
    environment: Vec<(String, String)>,
    pub(crate) instance: String,
}

impl Setup {
    /// The policies of the repository, and those of the tests beside them.
    pub(crate) fn new() -> Self {
        Self::of(&["policies", "tests/fixtures/policies"])
    }

    /// The policies in these folders of the repository, later ones over earlier ones.
    pub(crate) fn of(folders: &[&str]) -> Self {
        let folder = TempDir::new().unwrap();
        let policies = folder.path().join("policies");
        for name in folders {
            copy(&Path::new(ROOT).join(name), &policies);
        }
        let instance = format!("test-{}", uuid::Uuid::new_v4().simple());
        Self { folder, config: String::new(), environment: Vec::new(), instance }
    }

    /// Adds tables to the configuration file.
    pub(crate) fn config(mut self, toml: &str) -> Self {
        self.config.push_str(toml);
        self.config.push('\n');
        self
    }

    /// Gives the daemon an environment variable.
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn policies(&self) -> PathBuf {
        self.folder.path().join("policies")
    }

    /// Writes a file below the policies folder.
    pub(crate) fn policy(self, name: &str, text: &str) -> Self {
        std::fs::write(self.policies().join(name), text).unwrap();
        self
    }

    /// Replaces text in a file below the policies folder.
    pub(crate) fn edit(self, name: &str, from: &str, to: &str) -> Self {
        let path = self.policies().join(name);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{name} has no `{from}`");
        std::fs::write(path, text.replace(from, to)).unwrap();
        self
    }

    pub(crate) fn write_config(&self) -> PathBuf {
        let mut text = String::new();
        writeln!(
            text,
            "[server]\nsocket = \"daemon.sock\"\ntcp = \"127.0.0.1:0\"\nmetrics = \"127.0.0.1:0\"\n\
             health = \"127.0.0.1:0\"\n\
             [policies]\nfolder = \"policies\"\n[ledger]\npath = \"ledger.db\"\n\
             [sandbox]\ninstance = \"{}\"\nimages = \"{ROOT}/target/images.toml\"\n\
             [telemetry]\nlog = \"info\"\nlog_format = \"json\"",
            self.instance
        )
        .unwrap();
        // Tables given by a test are merged, so that no table stands twice.
        let mut config: toml::Table = text.parse().unwrap();
        merge(&mut config, self.config.parse().unwrap());
        let path = self.folder.path().join("switchboard.toml");
        std::fs::write(&path, config.to_string()).unwrap();
        path
    }

    /// Starts the daemon and waits until it is ready.
    pub(crate) async fn start(self) -> Daemon {
        let daemon = self.start_unready().await;
        daemon.until_ready().await;
        daemon
    }

    /// Starts the daemon and waits until it serves, ready or not.
    pub(crate) async fn start_unready(self) -> Daemon {
        let config = self.write_config();
        let mut child = spawn(&config, &self.environment);
        let log = Log::default();
        log.follow(&mut child);
        let bound = bound(&log, 0);
        Daemon { setup: self, child, log, bound }
    }

    /// Starts a daemon that is expected to refuse; gives its exit code and what it said.
    pub(crate) fn refuse(self) -> (i32, String) {
        let config = self.write_config();
        let output =
            Command::new(BINARY).arg("serve").arg("--config").arg(config).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    }
}

/// Gives each person (name, tenant, role) a token, in the file `tokens.toml` of a folder.
pub(crate) fn tokens(
    folder: &Path,
    people: &[(&'static str, &str, &str)],
) -> Vec<(&'static str, String)> {
    let (mut file, mut tokens) = (String::new(), Vec::new());
    for (name, tenant, role) in people {
        let made = Command::new(BINARY)
            .args(["token", name, "--tenant", tenant, "--role", role])
            .output()
            .unwrap();
        file.push_str(&String::from_utf8(made.stdout).unwrap());
        let told = String::from_utf8(made.stderr).unwrap();
        tokens.push((*name, told.lines().last().unwrap().to_owned()));
    }
    std::fs::write(folder.join("tokens.toml"), file).unwrap();
    tokens
}

fn merge(into: &mut toml::Table, from: toml::Table) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(toml::Value::Table(known)), toml::Value::Table(more)) => merge(known, more),
            (_, value) => drop(into.insert(key, value)),
        }
    }
}

pub(crate) fn spawn(config: &Path, environment: &[(String, String)]) -> Child {
    Command::new(BINARY)
        .arg("serve")
        .arg("--config")
        .arg(config)
        .envs(environment.iter().cloned())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn bound(log: &Log, skip: usize) -> Value {
    let line: Value = serde_json::from_str(&log.wait(skip, "\"serving\"")).unwrap();
    serde_json::from_str(line["fields"]["text"].as_str().unwrap()).unwrap()
}

pub(crate) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// A daemon that serves.
pub(crate) struct Daemon {
    pub(crate) setup: Setup,
    child: Child,
    log: Log,
    bound: Value,
}

impl Daemon {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn folder(&self) -> &Path {
        self.setup.folder.path()
    }

    /// The path of its configuration, as `--config` takes it.
    pub(crate) fn config(&self) -> String {
        self.folder().join("switchboard.toml").display().to_string()
    }

    pub(crate) fn address(&self, listener: &str) -> SocketAddr {
        self.bound[listener].as_str().unwrap().parse().unwrap()
    }

    pub(crate) fn socket(&self) -> String {
        format!("unix://{}", self.folder().join("daemon.sock").display())
    }

    async fn until_ready(&self) {
        let url = format!("http://{}/readyz", self.address("metrics"));
        let told = Mutex::new(String::new());
        let ready = || async {
            let (status, text) = http(&url).await;
            *told.lock().unwrap() = text;
            status == 200
        };
        let waited = tokio::time::timeout(PATIENCE, until(ready)).await;
        assert!(waited.is_ok(), "not ready: {}", told.lock().unwrap());
    }

    pub(crate) async fn channel(&self) -> Channel {
        let url = format!("http://{}", self.address("tcp"));
        Endpoint::from_shared(url).unwrap().connect().await.unwrap()
    }

    pub(crate) async fn client(&self) -> ToolServiceClient<Channel> {
        ToolServiceClient::new(self.channel().await).max_decoding_message_size(usize::MAX)
    }

    /// One call that has to come back as a reply.
    pub(crate) async fn call(&self, tool: &str, arguments: &Value) -> Value {
        parsed(&self.try_call(request(tool, &arguments.to_string())).await.unwrap())
    }

    /// Starts a call, and waits until its tool runs; what comes after that is in the stream.
    pub(crate) async fn running(&self, call: CallRequest) -> Streaming<CallEvent> {
        let mut stream = self.client().await.call_stream(call).await.unwrap().into_inner();
        while !matches!(stream.next().await.unwrap().unwrap().event, Some(Event::Started(_))) {}
        stream
    }

    pub(crate) async fn try_call(&self, request: CallRequest) -> Result<Reply, Status> {
        Ok(self.client().await.call(request).await?.into_inner().reply.unwrap())
    }

    /// Runs the command line against this daemon.
    pub(crate) fn cli(&self, arguments: &[&str]) -> Output {
        Command::new(BINARY)
            .args(arguments)
            .env("SWITCHBOARD_ENDPOINT", self.socket())
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    pub(crate) async fn metrics(&self) -> String {
        http(&format!("http://{}/metrics", self.address("metrics"))).await.1
    }

    /// How many lines were logged so far.
    pub(crate) fn logged(&self) -> usize {
        self.log_lines().len()
    }

    /// What was logged so far.
    pub(crate) fn log_lines(&self) -> Vec<String> {
        self.log.lines()
    }

    /// Everything that was logged so far.
    pub(crate) fn log(&self) -> String {
        self.log.0.0.lock().unwrap().join("\n")
    }

    /// Waits for a log line, from line `skip` on.
    pub(crate) fn log_line(&self, skip: usize, text: &str) -> String {
        self.log.wait(skip, text)
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.pid().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }

    /// Waits for the end of the process; gives its exit code, or `None` after a signal.
    pub(crate) fn wait(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    /// Starts the daemon again in the same folder, after it has ended, and waits until it is ready.
    pub(crate) async fn restart(self) -> Self {
        let daemon = self.restart_unready().await;
        daemon.until_ready().await;
        daemon
    }

    /// The same, and waits until it serves, ready or not.
    pub(crate) async fn restart_unready(mut self) -> Self {
        let config = self.folder().join("switchboard.toml");
        self.child = spawn(&config, &self.setup.environment);
        self.log = Log::default();
        self.log.follow(&mut self.child);
        self.bound = bound(&self.log, 0);
        self
    }

    /// The containers of this instance, in any state.
    pub(crate) fn containers(&self) -> Vec<String> {
        containers(&self.setup.instance)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended already; then there is nothing to signal.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

pub(crate) fn containers(instance: &str) -> Vec<String> {
    let label = format!("label=switchboard.instance={instance}");
    let output = Command::new("docker")
        .args(["ps", "--all", "--quiet", "--no-trunc", "--filter", &label])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// The status that a stream ends with.
pub(crate) async fn failure(mut stream: Streaming<CallEvent>) -> Status {
    loop {
        if let Err(status) = stream.next().await.unwrap() {
            break status;
        }
    }
}

pub(crate) fn request(tool: &str, arguments: &str) -> CallRequest {
    CallRequest {
        tool_name: tool.to_owned(),
        arguments_json: arguments.to_owned(),
        ..Default::default()
    }
}

pub(crate) fn parsed(reply: &Reply) -> Value {
    serde_json::from_str(&reply.json).unwrap()
}

/// Every line of the output as JSON.
pub(crate) fn lines(output: &Output) -> Vec<Value> {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub(crate) fn code(reply: &Value) -> &str {
    reply["error"]["code"].as_str().unwrap_or("SUCCESS")
}

/// Whether a process with exactly this command line runs anywhere on the machine.
pub(crate) fn host_runs(command: &str) -> bool {
    std::fs::read_dir("/proc").unwrap().any(|entry| {
        let line = std::fs::read(entry.unwrap().path().join("cmdline")).unwrap_or_default();
        line.strip_suffix(b"\0").unwrap_or_default() == command.replace(' ', "\0").as_bytes()
    })
}

/// Waits until a condition holds, or fails the test.
pub(crate) async fn eventually<F: Future<Output = bool>>(what: &str, condition: impl FnMut() -> F) {
    let waited = tokio::time::timeout(PATIENCE, until(condition)).await;
    assert!(waited.is_ok(), "never: {what}");
}

async fn until<F: Future<Output = bool>>(mut condition: impl FnMut() -> F) {
    let mut tick = tokio::time::interval(Duration::from_millis(20));
    while !condition().await {
        tick.tick().await;
    }
}

/// A small HTTP GET: status and body.
pub(crate) async fn http(url: &str) -> (u16, String) {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let Ok(mut stream) = tokio::net::TcpStream::connect(host).await else {
        return (0, String::new());
    };
    let head = format!("GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    let mut answer = Vec::new();
    if stream.write_all(head.as_bytes()).await.is_err()
        || stream.read_to_end(&mut answer).await.is_err()
    {
        return (0, String::new());
    }
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    (status, answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default())
}
