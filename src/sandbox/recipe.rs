//! What a container is made from: the key of its pool and the exact create body. Nothing of a call
//! is in either: argv, environment, files and names travel in the call's own frames.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bollard::models::{
    ContainerCreateBody, HostConfig, HostConfigCgroupnsModeEnum, HostConfigLogConfig,
    ResourcesUlimits,
};
use serde::Deserialize;
use switchboard_runner::CgroupLimits;

use super::{Error, seccomp};
use crate::catalog::{Limits, Profile, Runtime, Seccomp, Tier, Unread, worker_calls};

/// Processes and threads that the runner itself keeps, added to the tool's process limit.
pub(super) const RUNNER_PROCESSES: u32 = 1;
/// Label with the daemon instance that owns a container.
pub(super) const LABEL_INSTANCE: &str = "switchboard.instance";
/// Label with the boot of that daemon.
pub(super) const LABEL_BOOT: &str = "switchboard.boot";
/// Label with the Unix time in seconds after which the container is left over.
pub(super) const LABEL_DEADLINE: &str = "switchboard.deadline";
const LABEL_POOL: &str = "switchboard.pool";
const LABEL_CREATED: &str = "switchboard.created";
const SHM_BYTES: i64 = 1 << 20;
const PAGE: u64 = 4096;

/// Containers with equal keys are interchangeable until a call reaches them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) image: String,
    pub(super) runtime: Runtime,
    pub(super) tier: Tier,
    memory: u64,
    cpu_millis: u32,
    processes: u32,
    disk: u64,
    inodes: u64,
    /// Digest of the seccomp profile.
    seccomp: Arc<str>,
    /// What need not be read back.
    unread: Vec<Unread>,
}

/// How to make a container of one pool.
#[derive(Debug, Clone)]
pub(super) struct Recipe {
    pub(super) key: Key,
    /// Name of the image, for messages and the pool's label.
    pub(super) name: String,
    seccomp: Arc<Seccomp>,
}

/// Whose container it is.
#[derive(Debug, Clone)]
pub(super) struct Owner {
    pub(super) instance: String,
    pub(super) boot: String,
    /// How long a container may live at most.
    pub(super) lifetime: Duration,
}

impl Recipe {
    /// The recipe for `profile`, with its image resolved to an id.
    pub(super) fn new(profile: &Profile, images: &Images) -> Result<Self, Error> {
        let image = images.id(&profile.image)?;
        let Limits { memory, cpu_millis, processes, disk, inodes, .. } = profile.limits;
        Ok(Self {
            key: Key {
                image,
                runtime: profile.runtime,
                tier: profile.tier,
                memory,
                cpu_millis,
                processes,
                disk,
                inodes,
                seccomp: Arc::clone(&profile.seccomp.digest),
                unread: profile.accept_unread.clone(),
            },
            name: profile.image.clone(),
            seccomp: Arc::clone(&profile.seccomp),
        })
    }

    /// A small container of the image `name`, to try the engine with.
    pub(super) fn probe(name: &str, images: &Images) -> Result<Self, Error> {
        let seccomp = Arc::new(Seccomp::built_in());
        Ok(Self {
            key: Key {
                image: images.id(name)?,
                runtime: Runtime::Runc,
                tier: Tier::Call,
                memory: 64 << 20,
                cpu_millis: 500,
                processes: 16,
                disk: 1 << 20,
                inodes: 64,
                seccomp: Arc::clone(&seccomp.digest),
                unread: Vec::new(),
            },
            name: name.to_owned(),
            seccomp,
        })
    }

    /// Calls at once in one container of the worker tier, at most `wished`: as many as the process
    /// limit can hold.
    pub(super) fn places(&self, wished: u32) -> usize {
        let calls = wished.min(worker_calls(self.key.processes)).max(1);
        usize::try_from(calls).unwrap_or(1)
    }

    /// The body of the create request.
    pub(super) fn body(&self, owner: &Owner) -> ContainerCreateBody {
        ContainerCreateBody {
            image: Some(self.key.image.clone()),
            entrypoint: Some(vec!["/runner".to_owned()]),
            cmd: Some(Vec::new()),
            user: Some("0:0".to_owned()),
            working_dir: Some("/".to_owned()),
            hostname: Some("sandbox".to_owned()),
            attach_stdin: Some(true),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            open_stdin: Some(true),
            stdin_once: Some(true),
            tty: Some(false),
            network_disabled: Some(true),
            labels: Some(self.labels(owner)),
            host_config: Some(self.host()),
            ..Default::default()
        }
    }

    fn host(&self) -> HostConfig {
        let memory = i64::try_from(self.key.memory).unwrap_or(i64::MAX);
        let tmp = format!(
            "rw,nosuid,nodev,size={},nr_inodes={},mode=1777",
            self.key.disk, self.key.inodes
        );
        HostConfig {
            auto_remove: Some(true),
            network_mode: Some("none".to_owned()),
            readonly_rootfs: Some(true),
            tmpfs: Some(HashMap::from([("/tmp".to_owned(), tmp)])),
            shm_size: Some(SHM_BYTES),
            cap_drop: Some(vec!["ALL".to_owned()]),
            // The runner becomes the tool's user in the child, and must still be able to kill it.
            cap_add: Some(["SETUID", "SETGID", "KILL"].map(str::to_owned).to_vec()),
            security_opt: Some(vec![
                "no-new-privileges".to_owned(),
                format!("seccomp={}", seccomp::spell(&self.seccomp)),
            ]),
            privileged: Some(false),
            memory: Some(memory),
            memory_swap: Some(memory),
            pids_limit: Some(i64::from(self.key.processes) + i64::from(RUNNER_PROCESSES)),
            nano_cpus: Some(i64::from(self.key.cpu_millis) * 1_000_000),
            log_config: Some(HostConfigLogConfig { typ: Some("none".to_owned()), config: None }),
            init: Some(false),
            ipc_mode: Some("private".to_owned()),
            cgroupns_mode: Some(HostConfigCgroupnsModeEnum::PRIVATE),
            runtime: runtime(self.key.runtime),
            ulimits: Some(vec![ResourcesUlimits {
                name: Some("core".to_owned()),
                soft: Some(0),
                hard: Some(0),
            }]),
            ..Default::default()
        }
    }

    fn labels(&self, owner: &Owner) -> HashMap<String, String> {
        let now = unix_seconds();
        let deadline = now.saturating_add(owner.lifetime.as_secs());
        [
            (LABEL_INSTANCE, owner.instance.clone()),
            (LABEL_BOOT, owner.boot.clone()),
            (LABEL_POOL, self.name.clone()),
            (LABEL_CREATED, now.to_string()),
            (LABEL_DEADLINE, deadline.to_string()),
        ]
        .into_iter()
        .map(|(label, value)| (label.to_owned(), value))
        .collect()
    }

    /// Compares what the runner read from its cgroup with what was asked for. A limit that cannot
    /// be read back counts as not enforced.
    pub(super) fn verify(&self, found: &CgroupLimits) -> Result<(), Error> {
        // The kernel keeps memory limits in whole pages.
        let memory = self.key.memory / PAGE * PAGE;
        let processes = u64::from(self.key.processes) + u64::from(RUNNER_PROCESSES);
        let limits = [
            ("the memory limit", memory, found.memory_bytes),
            ("the swap limit", memory, found.memory_and_swap_bytes),
            ("the process limit", processes, found.processes),
            ("the processor limit", u64::from(self.key.cpu_millis), found.cpu_millis),
        ];
        for (limit, asked, found) in limits {
            if found != Some(asked) {
                let found = found.map_or_else(|| "nothing".to_owned(), |value| value.to_string());
                return Err(Error::Unenforced {
                    limit,
                    reason: format!("asked for {asked}, the container reads {found}"),
                });
            }
        }
        Ok(())
    }
}

/// Seconds since the Unix epoch.
pub(super) fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn runtime(runtime: Runtime) -> Option<String> {
    match runtime {
        Runtime::Runc => None,
        Runtime::Runsc => Some("runsc".to_owned()),
        Runtime::Kata => Some("kata".to_owned()),
    }
}

/// The images that were built, from `images.toml`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub(super) struct Images {
    #[serde(default)]
    pub(super) image: HashMap<String, Image>,
}

/// One image.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Image {
    /// Repository and tag, for people.
    pub(super) reference: String,
    /// `sha256:` and 64 hex digits; the only name that is handed to the engine.
    pub(super) id: String,
}

impl Images {
    /// Reads the images file.
    pub(super) fn read(path: &Path) -> Result<Self, Error> {
        let failed = |reason: String| Error::Images { path: path.to_owned(), reason };
        let text = fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
        let images: Self = toml::from_str(&text).map_err(|error| failed(error.to_string()))?;
        for (name, image) in &images.image {
            let digits = image.id.strip_prefix("sha256:").unwrap_or_default();
            if digits.len() != 64 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return Err(failed(format!(
                    "the id of `{name}` is `{}`, not `sha256:` and 64 hex digits",
                    image.id
                )));
            }
        }
        Ok(images)
    }

    fn id(&self, name: &str) -> Result<String, Error> {
        match self.image.get(name) {
            Some(image) => Ok(image.id.clone()),
            None => Err(Error::ImageMissing {
                image: name.to_owned(),
                reason: "it is not in the images file".to_owned(),
            }),
        }
    }
}
