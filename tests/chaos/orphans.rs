//! Watches which boots of the daemon have containers, to tell how long after a boot's death its last
//! one was there.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::engine::Engine;
use crate::fire::Kill;
use crate::measure::{Samples, figure, row};

/// Pause between two looks.
const LOOK: Duration = Duration::from_millis(50);
/// Longer than the janitor of a dead daemon and its successor's sweep need, each.
const BOUND: Duration = Duration::from_secs(10);

/// By boot: when a look first found none of its containers any more; `None` while there are some.
type Seen = Arc<Mutex<HashMap<String, Option<Instant>>>>;

pub struct Orphans {
    seen: Seen,
    stop: CancellationToken,
}

impl Orphans {
    pub fn watch(engine: &Arc<Engine>, instance: &str, tasks: &TaskTracker) -> Self {
        let (seen, stop) = (Seen::default(), CancellationToken::new());
        let (engine, instance) = (Arc::clone(engine), instance.to_owned());
        let (noted, stopped) = (Arc::clone(&seen), stop.clone());
        tasks.spawn(stopped.run_until_cancelled_owned(async move {
            let docker = engine.client();
            loop {
                let at = Instant::now();
                if let Some(found) = engine.list(&docker, &instance).await {
                    let boots = found.iter().filter_map(|container| {
                        container.labels.as_ref()?.get("switchboard.boot").cloned()
                    });
                    note(&noted, &boots.collect::<Vec<_>>(), at);
                }
                tokio::time::sleep(LOOK).await;
            }
        }));
        Self { seen, stop }
    }

    /// Prints how long the orphans of each death were there; gives how many deaths had some for too
    /// long.
    pub async fn report(&self, kills: &[Kill]) -> usize {
        tokio::time::sleep(2 * LOOK).await;
        self.stop.cancel();
        let seen = self.seen.lock().unwrap();
        let (mut times, mut late, mut unborn) = (Samples::default(), 0, 0);
        for Kill { at, boot } in kills {
            let Some(gone) = boot.as_ref().and_then(|boot| seen.get(boot)) else {
                unborn += 1;
                continue;
            };
            let time = gone.map(|gone| gone.saturating_duration_since(*at));
            times.time(time.unwrap_or(Duration::MAX / 4));
            if time.is_none_or(|time| time > BOUND) {
                eprintln!("chaos: orphans of boot {boot:?} were there for {time:?}");
                late += 1;
            }
        }
        row("chaos.kills_before_a_container", unborn, "kills");
        figure("chaos.orphans_p50", times.median(), "ms from the kill to the last orphan's end");
        figure("chaos.orphans_p99", times.quantile(0.99), "ms");
        figure("chaos.orphans_max", times.most(), "ms");
        late
    }
}

fn note(seen: &Seen, boots: &[String], at: Instant) {
    let mut seen = seen.lock().unwrap();
    for boot in boots {
        seen.insert(boot.clone(), None);
    }
    for (boot, gone) in seen.iter_mut() {
        if gone.is_none() && !boots.contains(boot) {
            *gone = Some(at);
        }
    }
}
