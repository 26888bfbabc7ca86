//! What a container is made from: the key of its pool and the exact create body. Nothing of a call
//! is in either: argv, environment, files and names travel in the call's own frames.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bollard::models::{
    ContainerCreateBody, HealthConfig, HostConfig, HostConfigCgroupnsModeEnum, HostConfigLogConfig,
    ResourcesUlimits,
};
use serde::Deserialize;
use switchboard_runner::{CgroupLimits, Ready};

use super::cgroup::Group;
use super::{Error, seccomp};
use crate::catalog::{Limits, Profile, Runtime, Seccomp, Tier, Unread, worker_calls};

/// Processes and threads that the runner itself keeps, added to the tool's process limit.
pub(super) const RUNNER_PROCESSES: u32 = 1;
/// Threads of the host that gVisor keeps in the container's group beside the guest's own: those of the
/// emulated kernel and of its file server. 42 were counted before a tool starts.
const SENTRY_THREADS: u32 = 96;
/// Threads of the host for each process or thread of the guest; 5 to 7 were counted.
const SENTRY_EACH: u32 = 8;
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
            // One that an image brings along would run as root beside the tool.
            healthcheck: Some(HealthConfig {
                test: Some(vec!["NONE".to_owned()]),
                ..Default::default()
            }),
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
                format!("seccomp={}", seccomp::spell(&self.seccomp, self.key.runtime)),
            ]),
            privileged: Some(false),
            memory: Some(memory),
            memory_swap: Some(memory),
            pids_limit: Some(i64::from(self.host_processes())),
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

    /// What the engine is told to allow: processes and threads of the host.
    fn host_processes(&self) -> u32 {
        match self.key.runtime {
            Runtime::Runc | Runtime::Kata => self.key.processes.saturating_add(RUNNER_PROCESSES),
            Runtime::Runsc => {
                SENTRY_THREADS.saturating_add(self.key.processes.saturating_mul(SENTRY_EACH))
            }
        }
    }

    /// Whether the operator takes this wall for standing where nothing shows it.
    pub(super) fn accepts(&self, unread: Unread) -> bool {
        self.key.unread.contains(&unread)
    }

    /// Processes that the runner itself must hold the tool to. A kernel of the sandbox's own counts a
    /// user's processes in this sandbox alone; the host's would count those of every sandbox.
    pub(super) fn guest_processes(&self) -> Option<u64> {
        (self.key.runtime != Runtime::Runc).then(|| u64::from(self.key.processes))
    }

    /// Bytes of address space that the runner itself must hold each process to.
    pub(super) fn guest_memory(&self) -> Option<u64> {
        self.accepts(Unread::Memory).then_some(self.key.memory)
    }

    /// What the runner could not read inside is taken from the container's group on the host: gVisor
    /// shows its guests no group, and is held by one itself.
    pub(super) fn complete(&self, mut ready: Ready, group: Option<&Group>) -> Ready {
        let guest = ready.limits.clone();
        if self.key.runtime == Runtime::Runsc
            && guest == CgroupLimits::default()
            && let Some(group) = group
        {
            ready.limits = group.limits();
        }
        ready
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

    /// Compares what was read back with what was asked for. A wall that reads otherwise refuses, and
    /// so does one that cannot be read, unless the profile accepts that.
    pub(super) fn verify(&self, found: &Ready) -> Result<(), Error> {
        let limits = &found.limits;
        // The kernel keeps sizes in whole pages.
        let memory = self.key.memory / PAGE * PAGE;
        let disk = self.key.disk.div_ceil(PAGE) * PAGE;
        let processes = u64::from(self.host_processes());
        let cpus = u64::from(self.key.cpu_millis);
        let (seccomp, filtered) = (1, found.seccomp.map(u64::from));
        let walls = [
            ("the memory limit", memory, limits.memory_bytes, Some(Unread::Memory)),
            ("the swap limit", memory, limits.memory_and_swap_bytes, Some(Unread::Memory)),
            ("the process limit", processes, limits.processes, Some(Unread::Processes)),
            ("the processor limit", cpus, limits.cpu_millis, Some(Unread::Cpus)),
            ("the disk limit", disk, found.scratch_bytes, None),
            (
                "the limit of files on the disk",
                self.key.inodes,
                found.scratch_files,
                Some(Unread::Inodes),
            ),
            ("the seccomp profile", seccomp, filtered, Some(Unread::Seccomp)),
        ];
        for (limit, asked, found, unread) in walls {
            let reason = match found {
                Some(value) if value == asked => continue,
                Some(value) => format!("asked for {asked}, the container has {value}"),
                None if unread.is_some_and(|unread| self.accepts(unread)) => continue,
                None => format!("asked for {asked}, and nothing shows what the container has"),
            };
            return Err(Error::Unenforced { limit, reason });
        }
        Ok(())
    }
}

/// Seconds since the Unix epoch.
pub(super) fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The engine's name of a runtime; `None` for its default.
pub(super) fn runtime(runtime: Runtime) -> Option<String> {
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
