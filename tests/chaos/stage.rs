//! What the calls need: policies with two profiles and two tools, and a server that a tool reaches.

use axum::Router;
use axum::extract::Request;
use switchboard::proto::tools::tool_service_client::ToolServiceClient;
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;
use tonic::transport::{Channel, Endpoint};

use crate::daemon::{Setup, eventually};
use crate::engine::Engine;
use crate::shell;

/// For calls that are to reach their wall time. What is not meant to has a wall that it does not
/// reach on a busy machine either, and is otherwise equal, so that the containers are the same.
const SHELL: &str = r#"
image = "shell"
tier = "call"
[limits]
wall = "2s"
memory = "64MiB"
processes = 24
output = "64KiB"
disk = "4MiB"
[pool]
min = 4
max = 12
"#;

const REACH: &str = r#"
image = "runner"
tier = "call"
[limits]
wall = "5s"
memory = "64MiB"
processes = 24
output = "64KiB"
disk = "1MiB"
[pool]
min = 1
max = 3
[[egress]]
host = "127.0.0.1"
port = PORT
networks = ["127.0.0.0/8"]
"#;

const GET: &str = r#"
name = "chaos.get"
description = "Gets a word back from a server. For the calls under fire."
profile = "reach"
risk = "read"
[input_schema]
type = "object"
required = ["word"]
additionalProperties = false
properties.word = { type = "string", description = "The word." }
[http]
method = "GET"
url = "http://127.0.0.1:PORT/{word}"
"#;

/// The folder of the daemon, and how to reach it.
pub struct Stage {
    pub setup: Setup,
}

impl Stage {
    pub async fn set(engine: &Engine, tasks: &TaskTracker) -> Self {
        let port = serve(tasks).await.to_string();
        let setup = Setup::new();
        for folder in ["tools", "openapi", "sandbox"] {
            let folder = setup.policies().join(folder);
            std::fs::remove_dir_all(&folder).unwrap();
            std::fs::create_dir(&folder).unwrap();
        }
        std::fs::remove_file(setup.policies().join("cedar/probe.cedar")).unwrap();
        let sandbox =
            format!("[sandbox]\nengine = \"{}\"\nqueue_wait_ms = 20000", engine.endpoint());
        let setup = setup
            .config(&sandbox)
            .config("[telemetry]\nlog = \"warn\"")
            .policy("sandbox/shell.toml", SHELL)
            .policy("sandbox/patient.toml", &SHELL.replace("2s", "20s"))
            .policy("sandbox/reach.toml", &REACH.replace("PORT", &port))
            .policy("tools/sh.toml", &shell::tool("chaos.sh", "shell"))
            .policy("tools/patient.toml", &shell::tool("chaos.patient", "patient"))
            .policy("tools/get.toml", &GET.replace("PORT", &port));
        Self { setup }
    }

    /// Waits until the first daemon listens.
    pub async fn listening(&self) {
        let socket = self.setup.folder.path().join("daemon.sock");
        let listens = || async { tokio::net::UnixStream::connect(&socket).await.is_ok() };
        eventually("the daemon listens", listens).await;
    }

    /// A client that connects when it is used, and again whenever it has to.
    pub fn client(&self) -> ToolServiceClient<Channel> {
        let socket = format!("unix://{}", self.setup.folder.path().join("daemon.sock").display());
        ToolServiceClient::new(Endpoint::from_shared(socket).unwrap().connect_lazy())
    }
}

/// A server that answers with the path it was asked for.
async fn serve(tasks: &TaskTracker) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let echo = |request: Request| async move { request.uri().path().to_owned() };
    let router = Router::new().fallback(echo);
    tasks.spawn(async move { axum::serve(listener, router).await });
    port
}
