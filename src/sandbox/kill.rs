//! Ends a container at once, past the engine, where this process can see the container's processes.
//! An id in, the means that worked out. Removes nothing: that stays the engine's.

use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use metrics::counter;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::Serialize;

use super::cgroup::{Counters, Fate, Group};

/// Who ended a tool that did not end by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Killer {
    /// The first process of its sandbox.
    Runner,
    /// The daemon, through the container's control group.
    Cgroup,
    /// The daemon, through a descriptor of the container's first process.
    Pidfd,
    /// The engine, which was asked to remove the container.
    Engine,
}

impl Killer {
    /// Its name in records and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Runner => "runner",
            Self::Cgroup => "cgroup",
            Self::Pidfd => "pidfd",
            Self::Engine => "engine",
        }
    }

    pub(super) fn count(self) -> Self {
        counter!("switchboard_sandbox_kills_total", "by" => self.as_str()).increment(1);
        self
    }
}

/// What this process has of a container besides the engine's word.
#[derive(Debug, Default)]
pub(super) struct Handle {
    group: Option<Group>,
    init: Option<Init>,
}

impl Handle {
    /// Looks for the container's control group; costs a few looks at files.
    pub(super) fn of(id: &str) -> Self {
        Self { group: Group::of(id), init: None }
    }

    /// With the number of the container's first process, as the engine tells it.
    pub(super) fn of_process(id: &str, pid: i32) -> Self {
        let group = inside(pid, id).and_then(|path| {
            let path = path.strip_prefix("/").unwrap_or(&path).to_owned();
            Group::at(Path::new("/sys/fs/cgroup"), &path, id)
        });
        Self { group, init: Init::open(pid, id) }
    }

    pub(super) const fn group(&self) -> Option<&Group> {
        self.group.as_ref()
    }

    /// What the kernel counted; `None` where it cannot be seen, and once the container is gone.
    pub(super) fn counters(&self) -> Option<Counters> {
        self.group.as_ref()?.counters()
    }

    /// Kills all of the container. Without means of its own it is left to the engine.
    pub(super) fn kill(&self) -> Killer {
        let killer = match self.group.as_ref().map(Group::kill) {
            Some(Fate::Killed) => Killer::Cgroup,
            // The runner was not too late after all: only its word was.
            Some(Fate::Dead) => Killer::Runner,
            Some(Fate::Unreached) | None if self.init.as_ref().is_some_and(Init::kill) => {
                Killer::Pidfd
            }
            Some(Fate::Unreached) | None => Killer::Engine,
        };
        killer.count()
    }
}

/// A process of a container, held so that its number can never come to mean another one. Killing the
/// first process of a PID namespace ends all of them.
#[derive(Debug)]
pub(super) struct Init(OwnedFd);

impl Init {
    /// Opens process `pid`, if it belongs to the container `id`.
    pub(super) fn open(pid: i32, id: &str) -> Option<Self> {
        let process = Pid::from_raw(pid)?;
        let held = pidfd_open(process, PidfdFlags::empty()).ok()?;
        // The number is looked at after the process is held. Had the process ended meanwhile and its
        // number gone to another of the same container, no harm would be done.
        inside(pid, id)?;
        Some(Self(held))
    }

    pub(super) fn kill(&self) -> bool {
        pidfd_send_signal(&self.0, Signal::KILL).is_ok()
    }
}

/// The path of a process in its control groups that names the container.
fn inside(pid: i32, id: &str) -> Option<PathBuf> {
    let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    let path = |line: &str| line.splitn(3, ':').nth(2).map(PathBuf::from);
    text.lines().filter_map(path).find(|path| names(path, id))
}

fn names(path: &Path, id: &str) -> bool {
    !id.is_empty()
        && path.components().any(|part| {
            let part = part.as_os_str().to_string_lossy();
            part == id || part == format!("docker-{id}.scope")
        })
}
