//! The engine itself, without Switchboard: the peer of the sandbox benches. It makes containers from
//! the very body that the daemon sent, read back from one of the daemon's waiting containers.

use std::collections::HashMap;
use std::process::Command;
use std::time::{Duration, Instant};

use bollard::Docker;
use bollard::models::{ContainerCreateBody, ContainerSummary};
use bollard::query_parameters::{
    ListContainersOptionsBuilder, RemoveContainerOptionsBuilder, StartContainerOptions,
};
use futures::StreamExt;

use crate::daemon::{Daemon, ROOT};
use crate::stage::{MEMORY_MIB, READY};

const LABEL: &str = "switchboard.bench";

/// A connection to the engine, and the mark of what this bench makes.
pub struct Engine {
    docker: Docker,
    mark: String,
}

impl Engine {
    pub fn new() -> Self {
        let docker = Docker::connect_with_unix_defaults().unwrap();
        Self { docker, mark: format!("bench-{}", uuid::Uuid::new_v4().simple()) }
    }

    async fn list(&self, label: &str) -> Vec<ContainerSummary> {
        let filters = HashMap::from([("label".to_owned(), vec![label.to_owned()])]);
        let options = ListContainersOptionsBuilder::default().all(true).filters(&filters).build();
        self.docker.list_containers(Some(options)).await.unwrap()
    }

    /// Containers of a daemon, in any state.
    pub async fn count(&self, daemon: &Daemon) -> usize {
        self.list(&format!("switchboard.instance={}", daemon.setup.instance)).await.len()
    }

    /// The create body of the bench's own pool.
    pub async fn body(&self, daemon: &Daemon) -> ContainerCreateBody {
        let label = format!("switchboard.instance={}", daemon.setup.instance);
        for found in self.list(&label).await {
            let id = found.id.unwrap();
            let made = self.docker.inspect_container(&id, None).await.unwrap();
            let host = made.host_config.unwrap();
            if host.memory == Some(MEMORY_MIB << 20) {
                let config = serde_json::to_value(made.config.unwrap()).unwrap();
                let mut body: ContainerCreateBody = serde_json::from_value(config).unwrap();
                body.labels = Some(HashMap::from([(LABEL.to_owned(), self.mark.clone())]));
                body.host_config = Some(host);
                return body;
            }
        }
        panic!("the bench's pool has no container");
    }

    /// Creates, starts and removes `count` containers, `at_once` at a time; gives the time it took.
    pub async fn churn(
        &self,
        body: &ContainerCreateBody,
        count: usize,
        at_once: usize,
    ) -> Duration {
        let begun = Instant::now();
        let made = futures::stream::iter(0..count).map(|_| self.one(body));
        made.buffer_unordered(at_once).collect::<()>().await;
        begun.elapsed()
    }

    async fn one(&self, body: &ContainerCreateBody) {
        let id = self.docker.create_container(None, body.clone()).await.unwrap().id;
        let none: Option<StartContainerOptions> = None;
        let started = self.docker.start_container(&id, none).await;
        let force = RemoveContainerOptionsBuilder::default().force(true).v(true).build();
        self.docker.remove_container(&id, Some(force)).await.unwrap();
        started.unwrap();
    }

    /// The engine's own command line: the same image, limits and program; gives the time it took.
    pub fn run(&self, script: &str) -> Duration {
        let label = format!("{LABEL}={}", self.mark);
        let memory = format!("{MEMORY_MIB}m");
        let begun = Instant::now();
        let output = Command::new("docker")
            .args(["run", "--rm", "--network=none", "--read-only", "--cap-drop=ALL"])
            .args(["--log-driver=none", "--security-opt=no-new-privileges", "--pids-limit=25"])
            .args(["--memory", &memory, "--memory-swap", &memory, "--label", &label])
            .args(["--tmpfs=/tmp:size=4m", "--entrypoint=sh", &image(), "-c", script])
            .output()
            .unwrap();
        let took = begun.elapsed();
        assert!(output.status.success(), "{output:?}");
        took
    }

    /// What is left of this bench's own containers.
    pub async fn left(&self) -> usize {
        self.list(&format!("{LABEL}={}", self.mark)).await.len()
    }
}

fn image() -> String {
    let path = format!("{ROOT}/target/images.toml");
    let images: toml::Table = std::fs::read_to_string(path).unwrap().parse().unwrap();
    images["image"]["shell"]["id"].as_str().unwrap().to_owned()
}

/// A value of the daemon's metrics, the sum over lines that begin with `name` and contain `label`.
pub async fn metric(daemon: &Daemon, name: &str, label: &str) -> f64 {
    let text = daemon.metrics().await;
    let lines = text.lines().filter(|line| line.starts_with(name) && line.contains(label));
    lines.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum()
}

/// Waits until the daemon's pools are full, and nothing is being made or removed.
pub async fn settle(engine: &Engine, daemon: &Daemon, ready: usize) {
    assert!(ready >= READY);
    let state = async |state: &str| {
        let label = format!("state=\"{state}\"");
        metric(daemon, "switchboard_sandbox_containers", &label).await
    };
    let end = Instant::now() + Duration::from_secs(120);
    loop {
        let moving = state("starting").await + state("teardown").await + state("in_use").await;
        let (waiting, all) = (state("ready").await, engine.count(daemon).await);
        if moving == 0.0 && waiting == ready as f64 && all == ready {
            return;
        }
        assert!(
            Instant::now() < end,
            "{moving} moving, {waiting} ready, {all} in all, not {ready}"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Containers that the daemon has made so far.
pub async fn made(daemon: &Daemon) -> f64 {
    metric(daemon, "switchboard_sandbox_create_seconds_count", "").await
}

/// How many containers wait once the daemon has filled its pools.
pub async fn filled(engine: &Engine, daemon: &Daemon) -> usize {
    let mut last = 0;
    loop {
        tokio::time::sleep(Duration::from_secs(3)).await;
        let now = engine.count(daemon).await;
        if now == last {
            return now;
        }
        last = now;
    }
}
