//! An engine of the test's own, beside the machine's: started, restarted, looked at and ended here.
//! It has the machine's sandbox images, a folder and a control group, and no network.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bollard::models::ContainerSummary;
use bollard::query_parameters::{ListContainersOptionsBuilder, ListNetworksOptions};
use bollard::{API_DEFAULT_VERSION, Docker};
use tempfile::TempDir;

use crate::daemon::ROOT;
use crate::measure::row;

/// Longest wait for the engine to begin or to end, and for leftovers to go.
const PATIENCE: Duration = Duration::from_secs(60);

/// What an idle engine has.
#[derive(Debug, PartialEq, Eq)]
pub struct Leftovers {
    processes: Vec<String>,
    /// Containers that the engine itself lost: its containerd was killed while it made them, so that
    /// neither knows of them. They wait for a start that never comes, and have run nothing; no client
    /// of the engine can see or remove them.
    stillborn: Vec<String>,
    mounts: usize,
}

pub struct Engine {
    folder: TempDir,
    group: String,
    starts: AtomicUsize,
}

/// A command that root has to run.
fn as_root(program: &str) -> Command {
    let root = rustix::process::getuid().is_root();
    let mut command = Command::new(if root { program } else { "sudo" });
    if !root {
        command.args(["-n", program]);
    }
    command
}

impl Engine {
    pub async fn start() -> Self {
        let folder = tempfile::Builder::new().prefix("chaos-").tempdir().unwrap();
        let group = format!("/switchboard-chaos-{}", std::process::id());
        let engine = Self { folder, group, starts: AtomicUsize::new(0) };
        engine.launch().await;
        engine.load();
        engine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn endpoint(&self) -> String {
        format!("unix://{}", self.path("engine.sock").display())
    }

    pub fn client(&self) -> Docker {
        Docker::connect_with_unix(&self.endpoint(), 30, API_DEFAULT_VERSION).unwrap()
    }

    async fn launch(&self) {
        let file = self.path("log");
        let log = std::fs::OpenOptions::new().create(true).append(true).open(file).unwrap();
        let mut command = as_root("dockerd");
        command.arg("--host").arg(self.endpoint());
        for (option, name) in
            [("--data-root", "data"), ("--exec-root", "exec"), ("--pidfile", "engine.pid")]
        {
            command.arg(option).arg(self.path(name));
        }
        command
            .args(["--bridge=none", "--iptables=false", "--ip-forward=false", "--ip-masq=false"])
            .args(["--shutdown-timeout=2", "--log-level=warn", "--cgroup-parent", &self.group])
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log);
        let mut child = command.spawn().unwrap();
        self.starts.fetch_add(1, Ordering::Relaxed);
        let end = Instant::now() + PATIENCE;
        while !self.answers().await {
            let over = child.try_wait().unwrap();
            assert!(over.is_none() && Instant::now() < end, "dockerd: {over:?}\n{}", self.log());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        // Its end is seen by its process id; the parent only has to take note of it.
        std::thread::spawn(move || child.wait());
    }

    async fn answers(&self) -> bool {
        let socket = self.path("engine.sock");
        // The client refuses to be made before there is a socket.
        socket.exists() && self.client().ping().await.is_ok()
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    /// Copies the sandbox images that the calls need from the machine's engine.
    fn load(&self) {
        let text = std::fs::read_to_string(format!("{ROOT}/target/images.toml")).unwrap();
        let images: toml::Table = text.parse().unwrap();
        let id = |name: &str| images["image"][name]["id"].as_str().unwrap().to_owned();
        let mut save = Command::new("docker")
            .args(["save", &id("shell"), &id("runner")])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let load = Command::new("docker")
            .args(["--host", &self.endpoint(), "load", "--quiet"])
            .stdin(save.stdout.take().unwrap())
            .output()
            .unwrap();
        assert!(save.wait().unwrap().success() && load.status.success(), "{load:?}");
    }

    /// Ends the engine with a signal and starts it again at once.
    pub async fn restart(&self, signal: &str) {
        self.end(signal).await;
        self.launch().await;
    }

    async fn end(&self, signal: &str) {
        self.strike("engine.pid", signal).await;
        // It ends with the engine, but a dead one that nobody has taken note of passes for alive.
        self.strike("exec/containerd/containerd.pid", "KILL").await;
    }

    /// Ends the process of a file, and removes the file.
    async fn strike(&self, file: &str, signal: &str) {
        let file = self.path(file);
        let Ok(pid) = std::fs::read_to_string(&file) else { return };
        let pid = pid.trim();
        drop(as_root("kill").args(["-s", signal, pid]).output());
        let end = Instant::now() + PATIENCE;
        while is_alive(pid) {
            assert!(Instant::now() < end, "{pid} does not end\n{}", self.log());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert!(as_root("rm").arg("-f").arg(&file).status().unwrap().success());
    }

    /// The containers of a daemon, in any state; `None` while the engine does not answer.
    pub async fn list(&self, docker: &Docker, instance: &str) -> Option<Vec<ContainerSummary>> {
        let label = format!("switchboard.instance={instance}");
        let filters = HashMap::from([("label".to_owned(), vec![label])]);
        let options = ListContainersOptionsBuilder::default().all(true).filters(&filters).build();
        docker.list_containers(Some(options)).await.ok()
    }

    /// What the machine has of this engine's containers.
    pub fn leftovers(&self) -> Leftovers {
        let folder = self.folder.path().display().to_string();
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        let found = processes(|line, groups| {
            groups.contains(&self.group) || line.contains("shim") && line.contains(&folder)
        });
        let waits = |process: &&Process| process.line.trim() == "runc init";
        let parents: Vec<u32> = found.iter().filter(waits).map(|process| process.parent).collect();
        let (stillborn, processes): (Vec<Process>, Vec<Process>) =
            found.into_iter().partition(|process| waits(&process) || parents.contains(&process.id));
        let lines = |all: Vec<Process>| all.into_iter().map(|process| process.line).collect();
        Leftovers {
            processes: lines(processes),
            stillborn: lines(stillborn),
            mounts: mounts.lines().filter(|line| line.contains(&folder)).count(),
        }
    }

    /// Waits until nothing is left; gives how much is.
    pub async fn empty(&self, before: &Leftovers, instance: &str) -> usize {
        let (docker, end) = (self.client(), Instant::now() + Duration::from_secs(5));
        loop {
            let all = ListContainersOptionsBuilder::default().all(true).build();
            let containers = docker.list_containers(Some(all)).await.unwrap().len();
            let none: Option<ListNetworksOptions> = None;
            let networks = docker.list_networks(none).await.unwrap();
            let networks = networks.iter().filter(|network| {
                !["none", "host", "bridge"].contains(&network.name.as_deref().unwrap_or_default())
            });
            let networks = networks.count();
            let now = self.leftovers();
            let janitors = processes(|line, _| line.contains("janitor") && line.contains(instance));
            let (processes, mounts) =
                (now.processes.len() + janitors.len(), now.mounts.abs_diff(before.mounts));
            let left = containers + networks + processes + mounts;
            if left == 0 || Instant::now() > end {
                row("chaos.containers_left", containers, "containers");
                row("chaos.processes_left", processes, "processes");
                row("chaos.mounts_left", mounts, "mounts");
                row("chaos.networks_left", networks, "networks");
                row("chaos.lost_by_the_engine", now.stillborn.len(), "processes");
                if left > 0 {
                    eprintln!("chaos: left over: {now:?}, janitors {janitors:?}");
                }
                return left;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Ends the engine and removes what it had.
    pub async fn stop(&self) {
        self.end("TERM").await;
        self.clear();
    }

    fn clear(&self) {
        for controller in std::fs::read_dir("/sys/fs/cgroup").unwrap() {
            let group = controller.unwrap().path().join(self.group.trim_start_matches('/'));
            if group.is_dir() {
                let mut remove = as_root("find");
                remove.arg(&group).args(["-depth", "-type", "d", "-exec", "rmdir", "{}", ";"]);
                drop(remove.output());
            }
        }
        // An engine that was killed leaves its folder mounted on itself.
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        let folder = self.folder.path().display().to_string();
        let mounts = mounts.lines().filter_map(|line| line.split(' ').nth(4));
        for mount in
            mounts.filter(|mount| mount.starts_with(&folder)).collect::<Vec<_>>().iter().rev()
        {
            drop(as_root("umount").arg(mount).output());
        }
        for folder in ["data", "exec"] {
            let folder = self.path(folder);
            drop(as_root("rm").args(["-rf", "--one-file-system"]).arg(folder).output());
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // After a failure; a good end has removed the file.
        if let Ok(pid) = std::fs::read_to_string(self.path("engine.pid")) {
            drop(as_root("kill").args(["-s", "TERM", pid.trim()]).output());
            let end = Instant::now() + PATIENCE;
            while is_alive(pid.trim()) && Instant::now() < end {
                std::thread::sleep(Duration::from_millis(50));
            }
            self.clear();
        }
    }
}

/// Whether a process runs; one that has ended and waits to be taken note of does not.
fn is_alive(pid: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.lines().any(|line| line.starts_with("State:") && !line.contains(['Z', 'X']))
}

/// A process of the machine.
#[derive(Debug)]
struct Process {
    id: u32,
    parent: u32,
    line: String,
}

/// The processes that `is` picks by command line and control groups.
fn processes(is: impl Fn(&str, &str) -> bool) -> Vec<Process> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap() {
        let path = entry.unwrap().path();
        // What ends meanwhile is no leftover.
        let Ok(line) = std::fs::read(path.join("cmdline")) else { continue };
        let Ok(groups) = std::fs::read_to_string(path.join("cgroup")) else { continue };
        let Ok(state) = std::fs::read_to_string(path.join("stat")) else { continue };
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        // Behind the name, which may have spaces of its own: the state, then the parent.
        let behind = state.rsplit(')').next().unwrap_or_default();
        let parent = behind.split_whitespace().nth(1).and_then(|number| number.parse().ok());
        let id = path.file_name().and_then(|name| name.to_str()?.parse().ok());
        if let (Some(id), Some(parent), true) = (id, parent, is(&line, &groups)) {
            found.push(Process { id, parent, line });
        }
    }
    found
}
