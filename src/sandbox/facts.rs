//! What `doctor` wants to know of the engine: asks it directly, without pools, and makes one
//! container to read the limits back.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use switchboard_runner::CgroupLimits;
use tokio::sync::{Notify, Semaphore, mpsc};
use tokio_util::task::TaskTracker;

use super::engine::{Engine, filters};
use super::member::{Registry, Yard};
use super::recipe::{Images, Owner, Recipe};
use super::teardown::Reaper;
use super::{Config, Error};

/// What was found out about the engine. A field that could not be found out says why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EngineFacts {
    /// The endpoint that was asked.
    pub endpoint: String,
    /// The API version in use.
    pub api: Result<String, String>,
    /// The engine's own version.
    pub engine: Option<String>,
    /// The host's control group version: `1` or `2`.
    pub cgroup: Option<String>,
    /// Whether the engine filters system calls; `None` when it did not say.
    pub seccomp: Option<bool>,
    /// The runtimes that profiles can name.
    pub runtimes: Vec<String>,
    /// Each image of the images file.
    pub images: Result<Vec<ImageFact>, String>,
    /// The limits that a probe container read back, once they equal what was asked for.
    pub limits: Result<String, NoLimits>,
}

/// Why no limits were read back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum NoLimits {
    /// The engine made a container without them.
    Unenforced(String),
    /// There was no container to try them with.
    Untried(String),
}

/// One image of the images file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ImageFact {
    /// Its name in profiles.
    pub name: String,
    /// The id in the images file.
    pub id: String,
    /// Whether the engine has that very image.
    pub present: bool,
    /// Whether its reference names that very image; it need not, but a difference is a surprise.
    pub reference_matches: bool,
}

/// Looks at the engine. Makes and removes one container; leaves nothing.
pub async fn inspect_engine(config: &Config) -> EngineFacts {
    let engine = Arc::new(Engine::new(config.engine.clone(), config.engine_timeout()));
    let api = match engine.connect().await {
        Ok(docker) => {
            engine.rise(docker);
            engine.version().map_err(|error| error.line())
        }
        Err(error) => {
            engine.fall(error.line());
            Err(error.line())
        }
    };
    let info = engine.info().await.ok();
    let images = Images::read(&config.images);
    let limits = match &images {
        Ok(images) if api.is_ok() => probe(config, &engine, images).await,
        Ok(_) => Err(NoLimits::Untried("the engine does not answer".to_owned())),
        Err(error) => Err(NoLimits::Untried(error.line())),
    };
    let mut runtimes: Vec<String> = info
        .as_ref()
        .and_then(|info| info.runtimes.as_ref())
        .map(|runtimes| runtimes.keys().cloned().collect())
        .unwrap_or_default();
    runtimes.sort();
    EngineFacts {
        endpoint: config.engine.clone(),
        api,
        engine: info.as_ref().and_then(|info| info.server_version.clone()),
        cgroup: info
            .as_ref()
            .and_then(|info| info.cgroup_version)
            .map(|version| version.to_string()),
        seccomp: info.as_ref().map(filters),
        runtimes,
        images: match images {
            Ok(images) => Ok(look_up(&engine, &images).await),
            Err(error) => Err(error.line()),
        },
        limits,
    }
}

async fn look_up(engine: &Engine, images: &Images) -> Vec<ImageFact> {
    let mut facts = Vec::new();
    for (name, image) in &images.image {
        let by_id = engine.image(&image.id).await;
        let by_reference = engine.image(&image.reference).await;
        facts.push(ImageFact {
            name: name.clone(),
            id: image.id.clone(),
            present: matches!(by_id, Ok(Some(_))),
            reference_matches: matches!(by_reference, Ok(Some(id)) if id == image.id),
        });
    }
    facts.sort_by(|a, b| a.name.cmp(&b.name));
    facts
}

/// Starts one container and compares its limits.
async fn probe(config: &Config, engine: &Arc<Engine>, images: &Images) -> Result<String, NoLimits> {
    let untried = |reason: &str| NoLimits::Untried(reason.to_owned());
    let facts = look_up(engine, images).await;
    let found = facts.iter().find(|image| image.present);
    let name = &found.ok_or_else(|| untried("the engine has none of the images"))?.name;
    let recipe = Recipe::probe(name, images).map_err(|error| untried(&error.line()))?;
    let (waste, queue) = mpsc::unbounded_channel();
    let registry = Registry::new(waste);
    let owner = Owner {
        instance: format!("{}-doctor", config.instance),
        boot: uuid::Uuid::new_v4().simple().to_string(),
        lifetime: Duration::from_secs(60),
    };
    let yard = Yard {
        engine: Arc::clone(engine),
        registry: Arc::clone(&registry),
        owner: owner.clone(),
        tasks: TaskTracker::new(),
    };
    let permit = Arc::new(Semaphore::new(1)).acquire_owned().await;
    let permit = permit.map_err(|error| untried(&error.to_string()))?;
    let made = yard.launch(Arc::new(recipe), permit).await;
    let verdict = match &made {
        Ok(member) => Ok(describe(&member.limits)),
        Err(error @ Error::Unenforced { .. }) => Err(NoLimits::Unenforced(error.line())),
        Err(error) => Err(NoLimits::Untried(error.line())),
    };
    drop(made);
    let reaper = Reaper::new(Arc::clone(engine), registry, owner);
    let queue = tokio::sync::Mutex::new(queue);
    let changed = Notify::new();
    tokio::select! {
        () = reaper.work(&queue, &changed) => {}
        () = reaper.drain(config.engine_timeout()) => {}
    }
    verdict
}

fn describe(limits: &CgroupLimits) -> String {
    let show = |value: Option<u64>| value.map_or_else(|| "?".to_owned(), |value| value.to_string());
    format!(
        "memory {} bytes, with swap {} bytes, {} processes, {} thousandths of a core",
        show(limits.memory_bytes),
        show(limits.memory_and_swap_bytes),
        show(limits.processes),
        show(limits.cpu_millis),
    )
}

/// The ids of the images that were built, by name; empty when the images file cannot be read, which
/// readiness and `doctor` tell.
pub fn images(config: &Config) -> BTreeMap<String, String> {
    let images = Images::read(&config.images).unwrap_or_default();
    images.image.into_iter().map(|(name, image)| (name, image.id)).collect()
}
