//! The control group of one container as the host shows it, where this process can see it: limits,
//! counters, and the quickest way to end all of the container. Version 1 and 2; an id in, files read.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use switchboard_runner::CgroupLimits;

use super::kill::Init;

const ROOT: &str = "/sys/fs/cgroup";
/// Version 1 writes "no limit" as the largest multiple of a page.
const UNLIMITED: u64 = 1 << 62;
/// Rounds of killing: what forks before it is frozen needs another one.
const ROUNDS: usize = 3;

/// The group of one container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    /// The container's id, which every path of its group contains.
    id: String,
    form: Form,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Form {
    /// Version 2: one folder.
    Unified(PathBuf),
    /// Version 1: a folder below each controller's.
    Legacy { root: PathBuf, inside: PathBuf },
}

/// What came of killing a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// Its processes were killed here.
    Killed,
    /// It had none any more.
    Dead,
    /// It is not for this process to kill.
    Unreached,
}

/// What the kernel counted in a group since it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counters {
    /// Processes killed for want of memory.
    pub(super) oom_kills: u64,
    /// Forks that the process limit refused.
    pub(super) forks_refused: u64,
}

impl Group {
    /// Looks where an engine with its usual settings puts the group.
    pub(super) fn of(id: &str) -> Option<Self> {
        Self::below(Path::new(ROOT), id)
    }

    pub(super) fn below(root: &Path, id: &str) -> Option<Self> {
        [format!("docker/{id}"), format!("system.slice/docker-{id}.scope")]
            .into_iter()
            .find_map(|inside| Self::at(root, Path::new(&inside), id))
    }

    /// The group at a path that the kernel gave for one of the container's processes.
    pub(super) fn at(root: &Path, inside: &Path, id: &str) -> Option<Self> {
        let unified = root.join("cgroup.controllers").exists();
        let (folder, form) = if unified {
            let folder = root.join(inside);
            (folder.clone(), Form::Unified(folder))
        } else {
            let form = Form::Legacy { root: root.to_owned(), inside: inside.to_owned() };
            (root.join("pids").join(inside), form)
        };
        folder.join("cgroup.procs").exists().then(|| Self { id: id.to_owned(), form })
    }

    fn file(&self, controller: &str, name: &str) -> PathBuf {
        match &self.form {
            Form::Unified(folder) => folder.join(name),
            Form::Legacy { root, inside } => root.join(controller).join(inside).join(name),
        }
    }

    fn number(&self, controller: &str, name: &str) -> Option<u64> {
        let text = fs::read_to_string(self.file(controller, name)).ok()?;
        text.trim().parse().ok().filter(|value| *value < UNLIMITED)
    }

    fn keyed(&self, controller: &str, name: &str, key: &str) -> Option<u64> {
        let text = fs::read_to_string(self.file(controller, name)).ok()?;
        text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse().ok())
    }

    /// The limits in force; one that is not set is `None`, like one that cannot be read.
    pub(super) fn limits(&self) -> CgroupLimits {
        match &self.form {
            Form::Unified(_) => {
                let memory = self.number("", "memory.max");
                let swap = self.number("", "memory.swap.max");
                CgroupLimits {
                    memory_bytes: memory,
                    memory_and_swap_bytes: memory.zip(swap).map(|(memory, swap)| memory + swap),
                    processes: self.number("", "pids.max"),
                    cpu_millis: self.quota(),
                }
            }
            Form::Legacy { .. } => CgroupLimits {
                memory_bytes: self.number("memory", "memory.limit_in_bytes"),
                memory_and_swap_bytes: self.number("memory", "memory.memsw.limit_in_bytes"),
                processes: self.number("pids", "pids.max"),
                cpu_millis: ["cpu", "cpu,cpuacct"].into_iter().find_map(|name| {
                    let quota = self.number(name, "cpu.cfs_quota_us")?;
                    millis(quota, self.number(name, "cpu.cfs_period_us")?)
                }),
            },
        }
    }

    fn quota(&self) -> Option<u64> {
        let text = fs::read_to_string(self.file("", "cpu.max")).ok()?;
        let mut words = text.split_whitespace().map(str::parse);
        millis(words.next()?.ok()?, words.next()?.ok()?)
    }

    /// The counters; `None` once the group is gone.
    pub(super) fn counters(&self) -> Option<Counters> {
        let oom_kills = match &self.form {
            Form::Unified(_) => self.keyed("", "memory.events", "oom_kill "),
            Form::Legacy { .. } => self.keyed("memory", "memory.oom_control", "oom_kill "),
        };
        let forks_refused = self.keyed("pids", "pids.events", "max ");
        Some(Counters { oom_kills: oom_kills?, forks_refused: forks_refused.unwrap_or_default() })
    }

    /// Kills every process of the container. Nothing is waited for: a process that is killed may end a
    /// moment later.
    pub(super) fn kill(&self) -> Fate {
        if self.is_empty() {
            return Fate::Dead;
        }
        let killed = match &self.form {
            Form::Unified(folder) => {
                fs::write(folder.join("cgroup.kill"), "1").is_ok() || self.kill_each()
            }
            Form::Legacy { .. } => {
                let state = self.file("freezer", "freezer.state");
                // What is frozen neither forks nor ends before it is thawed.
                let frozen = fs::write(&state, "FROZEN").is_ok();
                let killed = self.kill_each();
                if frozen && let Err(error) = fs::write(&state, "THAWED") {
                    tracing::warn!(%error, container = self.id, "its processes stay frozen");
                }
                killed
            }
        };
        match killed {
            true => Fate::Killed,
            false if self.is_empty() => Fate::Dead,
            false => Fate::Unreached,
        }
    }

    /// Whether no process is in it any more. A group that is gone has none.
    fn is_empty(&self) -> bool {
        match fs::read_to_string(self.file("freezer", "cgroup.procs")) {
            Ok(text) => text.trim().is_empty(),
            Err(error) => {
                let gone = [Errno::NOENT, Errno::NODEV].map(|errno| Some(errno.raw_os_error()));
                gone.contains(&error.raw_os_error())
            }
        }
    }

    fn kill_each(&self) -> bool {
        let mut killed = false;
        for _ in 0..ROUNDS {
            let Ok(text) = fs::read_to_string(self.file("freezer", "cgroup.procs")) else {
                return killed;
            };
            let found: Vec<Init> = text
                .lines()
                .filter_map(|line| Init::open(line.trim().parse().ok()?, &self.id))
                .collect();
            if found.is_empty() {
                return killed;
            }
            let before = killed;
            killed |= found.iter().filter(|process| process.kill()).count() > 0;
            if killed == before {
                return killed;
            }
        }
        killed
    }
}

fn millis(quota: u64, period: u64) -> Option<u64> {
    quota.checked_mul(1000)?.checked_div(period)
}
