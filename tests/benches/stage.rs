//! What the benches add to the policies of the repository: a sandbox profile and a tool that runs a
//! shell script, admission wide enough to measure behind it, and the order service.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use switchboard::proto::tools::CallRequest;
use switchboard::proto::tools::Reply;
use switchboard::proto::tools::tool_service_client::ToolServiceClient;
use tonic::transport::Channel;

use crate::daemon::{Setup, request};
use crate::shell;

/// Memory limit of the bench's own profile; no other has it, so its pool is its own.
pub const MEMORY_MIB: i64 = 96;
/// Containers that wait in the bench's own pool, always.
pub const READY: usize = 8;

const PROFILE: &str = r#"
image = "shell"
tier = "call"
[limits]
wall = "20s"
memory = "96MiB"
processes = 24
output = "64KiB"
disk = "4MiB"
[pool]
min = 8
max = 8
"#;

/// Rates that no bench reaches; in-flight limits as by default.
const WIDE: &str = "[admission]\ncalls_per_second = 1000000\ncalls_per_second_per_caller = 1000000";

/// A daemon with the bench's tool beside those of the tests.
pub fn setup() -> Setup {
    Setup::new()
        .config(WIDE)
        .policy("sandbox/bench.toml", PROFILE)
        .policy("tools/bench-sh.toml", &shell::tool("bench.sh", "bench"))
}

pub type Client = ToolServiceClient<Channel>;

/// A call of the bench's tool.
pub fn script(text: &str) -> CallRequest {
    request("bench.sh", &serde_json::json!({ "script": text }).to_string())
}

/// One call that must come back as a reply.
pub async fn call(client: &mut Client, call: CallRequest) -> Reply {
    client.call(call).await.unwrap().into_inner().reply.unwrap()
}

/// The order service, ended with this.
pub struct Orders {
    child: Child,
    pub port: u16,
}

impl Orders {
    pub fn start() -> Self {
        let here = std::env::current_exe().unwrap();
        let built: PathBuf = here.parent().unwrap().parent().unwrap().join("examples/orders");
        let started = Command::new(&built).arg("0").stdout(Stdio::piped()).spawn();
        let mut child = started.unwrap_or_else(|error| {
            panic!("{}: {error}; cargo build --release --example orders", built.display())
        });
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().rsplit(':').next().unwrap().parse().unwrap();
        Self { child, port }
    }

    /// Leads the order tools of a daemon to this service.
    pub fn admit(&self, setup: Setup) -> Setup {
        let port = self.port.to_string();
        setup.edit("openapi/orders.openapi.yaml", "18080", &port).edit(
            "sandbox/orders.toml",
            "18080",
            &port,
        )
    }
}

impl Drop for Orders {
    fn drop(&mut self) {
        // It may have ended already; then there is nothing to end.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
