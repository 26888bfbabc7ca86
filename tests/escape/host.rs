//! What a call leaves on the machine: processes, containers, mounts, networks. Looked at from outside,
//! never through the daemon.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::site::{Run, Site};

/// After so long, what is there counts as left.
const PATIENCE: Duration = Duration::from_secs(15);

/// The machine before a probe.
pub(crate) struct Before {
    networks: BTreeSet<String>,
    /// Root of each waiting container.
    roots: HashMap<String, String>,
}

impl Before {
    pub(crate) fn look(site: &Site) -> Self {
        let ids = site.engine.containers(&site.daemon.setup.instance);
        let mut roots = HashMap::new();
        if !ids.is_empty() {
            let mut arguments =
                vec!["inspect", "--format", "{{.Id}} {{index .GraphDriver.Data \"MergedDir\"}}"];
            arguments.extend(ids.iter().map(String::as_str));
            // One that ends meanwhile is not there to be inspected.
            let output = site.engine.docker(&arguments);
            let text = String::from_utf8(output.stdout).unwrap();
            let pairs = text.lines().filter_map(|line| line.split_once(' '));
            roots.extend(pairs.map(|(id, root)| (id.to_owned(), root.to_owned())));
        }
        Self { networks: networks(site), roots }
    }

    /// What is left of these runs; empty when nothing is.
    pub(crate) async fn left(&self, site: &Site, runs: &[Run]) -> Vec<String> {
        let ids: Vec<&str> = runs.iter().filter_map(Run::container).collect();
        let end = Instant::now() + PATIENCE;
        let mut tick = tokio::time::interval(Duration::from_millis(25));
        loop {
            tick.tick().await;
            let left = self.found(site, &ids);
            if left.is_empty() || Instant::now() > end {
                return left;
            }
        }
    }

    fn found(&self, site: &Site, ids: &[&str]) -> Vec<String> {
        let mut left = Vec::new();
        let all = site.engine.containers(&site.daemon.setup.instance);
        left.extend(
            all.iter().filter(|id| ids.contains(&id.as_str())).map(|id| format!("container {id}")),
        );
        left.extend(processes(ids).iter().map(ToString::to_string));
        let mounts = std::fs::read_to_string("/proc/1/mountinfo").unwrap();
        for id in ids {
            let root = self.roots.get(*id).map_or(*id, String::as_str);
            if mounts.contains(id) || mounts.contains(root) {
                left.push(format!("a mount of {id}"));
            }
        }
        let new: Vec<String> = networks(site).difference(&self.networks).cloned().collect();
        left.extend(new.iter().map(|id| format!("network {id}")));
        left
    }
}

fn networks(site: &Site) -> BTreeSet<String> {
    site.engine.lines(&["network", "ls", "--quiet", "--no-trunc"]).into_iter().collect()
}

/// A process on the host.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) line: String,
}

impl std::fmt::Display for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "process {} ({})", self.pid, self.line)
    }
}

/// Processes that belong to one of these containers, by their control group or command line (that of
/// gVisor's own processes names the container).
pub(crate) fn processes(ids: &[&str]) -> Vec<Process> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().into_string().unwrap_or_default().parse::<u32>() else {
            continue;
        };
        let groups = std::fs::read_to_string(entry.path().join("cgroup")).unwrap_or_default();
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if ids.iter().any(|id| groups.contains(id) || line.contains(id)) {
            found.push(Process { pid, line });
        }
    }
    found
}

/// Processes in a container's control group.
pub(crate) fn members(id: &str) -> Vec<Process> {
    let mut found = processes(&[id]);
    found.retain(|process| groups(process.pid).contains(id));
    found
}

fn groups(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default()
}

/// A container's folder of `controller` on the host.
fn folder(id: &str, controller: &str) -> Option<PathBuf> {
    let groups = groups(members(id).first()?.pid);
    let find = |wanted: &str| {
        groups.lines().find_map(|line| {
            let (_, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            let found = controllers.split(',').any(|one| one == wanted);
            found.then(|| PathBuf::from(format!("/sys/fs/cgroup/{controllers}{path}")))
        })
    };
    find(controller).or_else(|| find(""))
}

/// The file in which the host counts a container's processes and threads.
pub(crate) fn task_counter(id: &str) -> Option<PathBuf> {
    Some(folder(id, "pids")?.join("pids.current"))
}

/// Processor time that a container has used, in microseconds, as the host counts it.
pub(crate) fn cpu_us(id: &str) -> Option<u64> {
    let folder = folder(id, "cpuacct")?;
    if let Ok(text) = std::fs::read_to_string(folder.join("cpuacct.usage")) {
        return text.trim().parse::<u64>().ok().map(|nanos| nanos / 1000);
    }
    let stat = std::fs::read_to_string(folder.join("cpu.stat")).ok()?;
    stat.lines().find_map(|line| line.strip_prefix("usage_usec ")?.parse().ok())
}

/// Resident memory of a process in KiB.
pub(crate) fn resident_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
