//! What is done when the daemon was killed: removes the containers of one boot, also those that
//! were created and never started, which no end of a stream can end. Runs in a process of its own.

use std::time::{Duration, Instant};

use super::engine::Engine;
use super::teardown::{is_of, name_of};
use super::{Config, Sandbox};

/// The engine may still be making a container that the dead daemon asked for.
const QUIET: Duration = Duration::from_secs(3);
/// After this the rest is left to the next daemon's sweep.
const LONGEST: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(100);

impl Sandbox {
    /// Names this start of the daemon; every container of it carries it as a label.
    pub fn boot(&self) -> &str {
        &self.hub.yard.owner.boot
    }
}

/// Removes every container of `boot` until none has been there for three seconds. Gives up after a
/// minute; what is left then goes at the next start.
pub async fn clear(config: &Config, boot: &str) {
    let engine = Engine::new(config.engine.clone(), config.engine_timeout());
    let (begun, mut seen) = (Instant::now(), Instant::now());
    while seen.elapsed() < QUIET && begun.elapsed() < LONGEST {
        if !pass(&engine, config, boot).await {
            seen = Instant::now();
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Removes what is there; true when there was nothing.
async fn pass(engine: &Engine, config: &Config, boot: &str) -> bool {
    if engine.client().is_err() {
        match engine.connect().await {
            Ok(docker) => engine.rise(docker),
            Err(_) => return false,
        }
    }
    let Ok(found) = engine.list(&config.instance).await else {
        engine.fall("it did not answer".to_owned());
        return false;
    };
    let names: Vec<String> =
        found.iter().filter(|container| is_of(container, boot)).map(name_of).collect();
    for name in &names {
        if let Err(error) = engine.remove(name).await {
            tracing::warn!(container = name, error = %error.line(), "not removed yet");
        }
    }
    names.is_empty()
}
