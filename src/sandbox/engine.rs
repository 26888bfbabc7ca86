//! The Docker engine's API, each request with a bound of its own. Knows whether the engine answers;
//! knows nothing of pools or calls.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::Duration;

use bollard::container::AttachContainerResults;
use bollard::errors::Error as Fault;
use bollard::models::{ContainerCreateBody, ContainerSummary, SystemInfo};
use bollard::query_parameters::{
    AttachContainerOptionsBuilder, CreateContainerOptionsBuilder, EventsOptionsBuilder,
    InspectContainerOptions, ListContainersOptionsBuilder, RemoveContainerOptionsBuilder,
    StartContainerOptions,
};
use bollard::{API_DEFAULT_VERSION, ClientVersion, Docker};
use futures::StreamExt;

use super::Error;
use super::abilities::Abilities;
use super::recipe::{LABEL_INSTANCE, unix_seconds};

/// First API version with private cgroup namespaces (engine 20.10).
const OLDEST_API: (usize, usize) = (1, 41);
const PING: Duration = Duration::from_secs(2);
/// Longest wait for the engine's word on a container that ended.
const FATE: Duration = Duration::from_secs(1);
/// How long after its end the engine may still say that a container was out of memory.
const AFTERWARDS: Duration = Duration::from_millis(250);

/// A Docker engine that may or may not be there.
#[derive(Debug)]
pub(super) struct Engine {
    endpoint: String,
    bound: Duration,
    state: RwLock<State>,
    /// Ids of images that were looked at and declare no volume.
    plain: Mutex<HashSet<String>>,
}

/// What came of a removal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Removed {
    /// There is no such container any more.
    Gone,
    /// The engine is at it.
    Going,
}

#[derive(Debug)]
enum State {
    Up(Docker),
    Down(String),
}

impl Engine {
    pub(super) fn new(endpoint: String, bound: Duration) -> Self {
        let state = RwLock::new(State::Down("not asked yet".to_owned()));
        Self { endpoint, bound, state, plain: Mutex::default() }
    }

    /// Connects, and takes the newest API version that both sides speak. Does not mark it up.
    pub(super) async fn connect(&self) -> Result<Docker, Error> {
        let docker = dial(&self.endpoint, self.bound)?;
        let docker = self
            .within("answer", self.bound, docker.negotiate_version())
            .await
            .map_err(|error| self.absent(&error.line()))?;
        let ClientVersion { major_version, minor_version } = docker.client_version();
        if (major_version, minor_version) < OLDEST_API {
            return Err(self.absent(&format!(
                "it speaks API {major_version}.{minor_version}, and 1.41 (engine 20.10) is needed"
            )));
        }
        Ok(docker)
    }

    /// Marks the engine as answering.
    pub(super) fn rise(&self, docker: Docker) {
        self.set(State::Up(docker));
    }

    /// Marks the engine as not answering.
    pub(super) fn fall(&self, reason: String) {
        self.set(State::Down(reason));
    }

    fn set(&self, state: State) {
        *self.state.write().unwrap_or_else(|e| e.into_inner()) = state;
    }

    /// The client, or why there is none.
    pub(super) fn client(&self) -> Result<Docker, Error> {
        match &*self.state.read().unwrap_or_else(|e| e.into_inner()) {
            State::Up(docker) => Ok(docker.clone()),
            State::Down(reason) => Err(self.absent(reason)),
        }
    }

    fn absent(&self, reason: &str) -> Error {
        Error::EngineAbsent { endpoint: self.endpoint.clone(), reason: reason.to_owned() }
    }

    /// Asks for a sign of life.
    pub(super) async fn ping(&self) -> Result<(), Error> {
        let docker = self.client()?;
        self.within("answer", PING.min(self.bound), docker.ping()).await.map(drop)
    }

    /// Creates a container under `name`. A warning is an error: it says that part of the body was
    /// not honoured. (A stock engine on cgroup v1 or v2 gives none for our body.) The caller removes
    /// what was created.
    pub(super) async fn create(
        &self,
        name: &str,
        body: ContainerCreateBody,
    ) -> Result<String, Error> {
        let docker = self.client()?;
        self.require_plain(&docker, body.image.as_deref().unwrap_or_default()).await?;
        let options = CreateContainerOptionsBuilder::default().name(name).build();
        let made = self
            .within("create a container", self.bound, docker.create_container(Some(options), body))
            .await?;
        if made.warnings.is_empty() {
            return Ok(made.id);
        }
        Err(Error::Unenforced {
            limit: "the create request as sent",
            reason: made.warnings.join("; "),
        })
    }

    /// Refuses an image that declares volumes: each is a writable folder on the engine's own disk,
    /// which no limit bounds and no create body can take away. Looks at an image once.
    async fn require_plain(&self, docker: &Docker, image: &str) -> Result<(), Error> {
        if self.plain.lock().unwrap_or_else(PoisonError::into_inner).contains(image) {
            return Ok(());
        }
        let found =
            self.within("look up an image", self.bound, docker.inspect_image(image)).await?;
        let volumes = found.config.and_then(|config| config.volumes).unwrap_or_default();
        if volumes.is_empty() {
            self.plain.lock().unwrap_or_else(PoisonError::into_inner).insert(image.to_owned());
            return Ok(());
        }
        Err(Error::Unenforced {
            limit: "the read-only root",
            reason: format!("the image `{image}` declares volumes; build it without"),
        })
    }

    /// Attaches to standard input, output and error.
    pub(super) async fn attach(&self, id: &str) -> Result<AttachContainerResults, Error> {
        let docker = self.client()?;
        let options = AttachContainerOptionsBuilder::default()
            .stream(true)
            .stdin(true)
            .stdout(true)
            .stderr(true)
            .build();
        self.within("attach to a container", self.bound, docker.attach_container(id, Some(options)))
            .await
    }

    /// Starts a container.
    pub(super) async fn start(&self, id: &str) -> Result<(), Error> {
        let docker = self.client()?;
        let none: Option<StartContainerOptions> = None;
        self.within("start a container", self.bound, docker.start_container(id, none)).await
    }

    /// The number of a container's first process on the engine's host.
    pub(super) async fn pid(&self, id: &str) -> Option<i32> {
        let docker = self.client().ok()?;
        let none: Option<InspectContainerOptions> = None;
        let asked = docker.inspect_container(id, none);
        let found = self.within("describe a container", self.bound, asked).await.ok()?;
        i32::try_from(found.state?.pid?).ok().filter(|pid| *pid > 0)
    }

    /// Whether the kernel ended a process of a container that is gone for want of memory, from the
    /// engine's log of events.
    pub(super) async fn starved(&self, id: &str) -> bool {
        let Ok(docker) = self.client() else { return false };
        let filters = HashMap::from([
            ("container".to_owned(), vec![id.to_owned()]),
            ("event".to_owned(), vec!["oom".to_owned(), "die".to_owned()]),
        ]);
        let until = unix_seconds().saturating_add(FATE.as_secs()).to_string();
        let options =
            EventsOptionsBuilder::default().since("0").until(&until).filters(&filters).build();
        let mut events = Box::pin(docker.events(Some(options)));
        let mut patience = FATE;
        // Which of the two the engine hears first is a matter of chance.
        while let Ok(Some(Ok(event))) = tokio::time::timeout(patience, events.next()).await {
            match event.action.as_deref() {
                Some("oom") => return true,
                _ => patience = AFTERWARDS,
            }
        }
        false
    }

    /// Removes a container, running or not, with its anonymous volumes. One that is gone or going
    /// counts as removed.
    pub(super) async fn remove(&self, id: &str) -> Result<Removed, Error> {
        let docker = self.client()?;
        let options = RemoveContainerOptionsBuilder::default().force(true).v(true).build();
        let removed = self
            .within("remove a container", self.bound, docker.remove_container(id, Some(options)))
            .await;
        match removed {
            Ok(()) => Ok(Removed::Gone),
            Err(Error::Engine { source, .. }) if status(&source) == Some(404) => Ok(Removed::Gone),
            Err(Error::Engine { source, .. }) if is_going(&source) => Ok(Removed::Going),
            Err(error) => Err(error),
        }
    }

    /// Every container of `instance`, in any state.
    pub(super) async fn list(&self, instance: &str) -> Result<Vec<ContainerSummary>, Error> {
        let docker = self.client()?;
        self.list_by(&docker, instance).await
    }

    /// The same over a connection that is not marked up yet.
    pub(super) async fn list_by(
        &self,
        docker: &Docker,
        instance: &str,
    ) -> Result<Vec<ContainerSummary>, Error> {
        let label = format!("{LABEL_INSTANCE}={instance}");
        let filters = HashMap::from([("label".to_owned(), vec![label])]);
        let options = ListContainersOptionsBuilder::default().all(true).filters(&filters).build();
        self.within("list containers", self.bound, docker.list_containers(Some(options))).await
    }

    /// The engine's description of itself.
    pub(super) async fn info(&self) -> Result<SystemInfo, Error> {
        let docker = self.client()?;
        self.within("describe itself", self.bound, docker.info()).await
    }

    /// The id of an image, or `None` when the engine has no such image.
    pub(super) async fn image(&self, name: &str) -> Result<Option<String>, Error> {
        let docker = self.client()?;
        let found = self.within("look up an image", self.bound, docker.inspect_image(name)).await;
        match found {
            Ok(image) => Ok(image.id),
            Err(Error::Engine { source, .. }) if status(&source) == Some(404) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// What the engine can enforce. Refuses one that cannot filter system calls: it would take the
    /// profile and ignore it.
    pub(super) async fn examine(&self, docker: &Docker) -> Result<Abilities, Error> {
        let info = self.within("describe itself", self.bound, docker.info()).await?;
        if filters(&info) {
            return Ok(Abilities::of(&info));
        }
        Err(Error::Unenforced {
            limit: "the seccomp profile",
            reason: "its `info` does not name seccomp; use an engine and a kernel that have it"
                .to_owned(),
        })
    }

    /// Whether the endpoint is on this host, so that a process number may mean something here.
    pub(super) fn is_local(&self) -> bool {
        self.endpoint.starts_with("unix://")
    }

    /// The version of the API in use.
    pub(super) fn version(&self) -> Result<String, Error> {
        self.client().map(|docker| docker.client_version().to_string())
    }

    async fn within<T>(
        &self,
        step: &'static str,
        bound: Duration,
        request: impl Future<Output = Result<T, Fault>>,
    ) -> Result<T, Error> {
        match tokio::time::timeout(bound, request).await {
            Ok(answer) => answer.map_err(|source| Error::Engine { step, source }),
            Err(_elapsed) => Err(Error::Slow { step, bound }),
        }
    }
}

/// Whether the engine filters system calls.
pub(super) fn filters(info: &SystemInfo) -> bool {
    let options = info.security_options.iter().flatten();
    options.flat_map(|option| option.split(',')).any(|part| part == "name=seccomp")
}

/// Whether the engine says that there is no such image or container.
pub(super) fn is_absent(error: &Error) -> bool {
    matches!(error, Error::Engine { source, .. } if status(source) == Some(404))
}

/// The engine removes a container that has exited by itself, and says so when asked again.
fn is_going(fault: &Fault) -> bool {
    status(fault) == Some(409) && fault.to_string().contains("already in progress")
}

fn status(fault: &Fault) -> Option<u16> {
    match fault {
        Fault::DockerResponseServerError { status_code, .. } => Some(*status_code),
        _ => None,
    }
}

fn dial(endpoint: &str, bound: Duration) -> Result<Docker, Error> {
    // Ours is the bound that counts; the client's own only has to be longer.
    let seconds = bound.as_secs().saturating_add(5);
    let dialled = if endpoint.starts_with("unix://") {
        Docker::connect_with_unix(endpoint, seconds, API_DEFAULT_VERSION)
    } else if endpoint.starts_with("tcp://") || endpoint.starts_with("http://") {
        Docker::connect_with_http(endpoint, seconds, API_DEFAULT_VERSION)
    } else {
        return Err(Error::Config {
            key: "engine",
            reason: format!("`{endpoint}` begins with neither `unix://` nor `tcp://`"),
        });
    };
    dialled.map_err(|fault| Error::EngineAbsent {
        endpoint: endpoint.to_owned(),
        reason: fault.to_string(),
    })
}
