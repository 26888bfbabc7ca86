//! Reads the sandbox's own cgroup, version 1 or 2: the limits once, the counters for each call.
//! Never writes.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use switchboard_runner::CgroupLimits;

const ROOT: &str = "/sys/fs/cgroup";
/// Version 1 writes "no limit" as the largest multiple of a page.
const UNLIMITED: u64 = 1 << 62;

/// Counters of the whole sandbox since its start.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counters {
    pub(crate) oom_kills: u64,
    pub(crate) forks_refused: u64,
}

/// Open counter files; one that does not exist counts nothing.
#[derive(Debug)]
pub(crate) struct Cgroup {
    memory: Option<File>,
    forks: Option<File>,
    tasks: Option<File>,
}

impl Cgroup {
    /// Opens what there is.
    pub(crate) fn open() -> Self {
        let open = |names: [&str; 2]| {
            names.iter().find_map(|name| File::open(format!("{ROOT}/{name}")).ok())
        };
        Self {
            memory: open(["memory.events", "memory/memory.oom_control"]),
            forks: open(["pids.events", "pids/pids.events"]),
            tasks: open(["pids.current", "pids/pids.current"]),
        }
    }

    /// The counters now.
    pub(crate) fn counters(&self) -> Counters {
        Counters {
            oom_kills: keyed(self.memory.as_ref(), "oom_kill").unwrap_or_default(),
            forks_refused: keyed(self.forks.as_ref(), "max").unwrap_or_default(),
        }
    }

    /// Number of processes and threads now.
    pub(crate) fn tasks(&self) -> Option<u64> {
        content(self.tasks.as_ref())?.trim().parse().ok()
    }

    /// The limits that are in force; one that is not set is `None` like one that cannot be read.
    pub(crate) fn limits(&self) -> CgroupLimits {
        let memory = number("memory.max").or_else(|| number("memory/memory.limit_in_bytes"));
        let swap = number("memory.swap.max").zip(memory).map(|(swap, memory)| swap + memory);
        CgroupLimits {
            memory_bytes: memory,
            memory_and_swap_bytes: swap.or_else(|| number("memory/memory.memsw.limit_in_bytes")),
            processes: number("pids.max").or_else(|| number("pids/pids.max")),
            cpu_millis: cpu_unified().or_else(cpu_legacy),
        }
    }
}

fn cpu_unified() -> Option<u64> {
    let text = read("cpu.max")?;
    let mut words = text.split_whitespace();
    let quota: u64 = words.next()?.parse().ok()?;
    let period: u64 = words.next()?.parse().ok()?;
    quota.checked_mul(1000)?.checked_div(period)
}

fn cpu_legacy() -> Option<u64> {
    let folder = ["cpu", "cpu,cpuacct"]
        .into_iter()
        .find(|name| fs::exists(format!("{ROOT}/{name}/cpu.cfs_quota_us")).unwrap_or_default())?;
    let quota = number(&format!("{folder}/cpu.cfs_quota_us"))?;
    quota.checked_mul(1000)?.checked_div(number(&format!("{folder}/cpu.cfs_period_us"))?)
}

fn read(name: &str) -> Option<String> {
    fs::read_to_string(format!("{ROOT}/{name}")).ok()
}

fn number(name: &str) -> Option<u64> {
    read(name)?.trim().parse().ok().filter(|value| *value < UNLIMITED)
}

fn content(file: Option<&File>) -> Option<String> {
    let mut buffer = [0; 512];
    let count = file?.read_at(&mut buffer, 0).ok()?;
    String::from_utf8(buffer.get(..count)?.to_vec()).ok()
}

fn keyed(file: Option<&File>, key: &str) -> Option<u64> {
    content(file)?.lines().find_map(|line| {
        let (name, value) = line.split_once(' ')?;
        if name == key { value.trim().parse().ok() } else { None }
    })
}
