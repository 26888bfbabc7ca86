//! Watches which boots of the daemon have containers, to tell how long after a boot's death its last
//! one was there.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bollard::models::ContainerSummary;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::engine::Engine;
use crate::fire::Kill;
use crate::measure::{Samples, figure, row};

/// Pause between two looks.
const LOOK: Duration = Duration::from_millis(50);
/// Longer than the janitor of a dead daemon and its successor's sweep need, each.
const BOUND: Duration = Duration::from_secs(10);

/// What was seen of one boot.
#[derive(Debug)]
struct Boot {
    /// When a look first found none of its containers any more; `None` while there are some.
    gone: Option<Instant>,
    /// The containers that the last look found, in words.
    last: Vec<String>,
    /// Looks that found some.
    looks: usize,
}

type Seen = Arc<Mutex<HashMap<String, Boot>>>;

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
                    note(&noted, &found, at);
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
            let Some(seen) = boot.as_ref().and_then(|boot| seen.get(boot)) else {
                unborn += 1;
                continue;
            };
            let time = seen.gone.map(|gone| gone.saturating_duration_since(*at));
            times.time(time.unwrap_or(Duration::MAX / 4));
            if time.is_none_or(|time| time > BOUND) {
                let Boot { last, looks, .. } = seen;
                eprintln!(
                    "chaos: orphans of boot {boot:?} were there for {time:?}, {looks} looks long: \
                     {last:?}"
                );
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

fn note(seen: &Seen, found: &[ContainerSummary], at: Instant) {
    let mut now: HashMap<String, Vec<String>> = HashMap::new();
    for container in found {
        let labels = container.labels.as_ref();
        if let Some(boot) = labels.and_then(|labels| labels.get("switchboard.boot")) {
            let words =
                format!("{:?} {:?} {:?}", container.names, container.state, container.status);
            now.entry(boot.clone()).or_default().push(words);
        }
    }
    let mut seen = seen.lock().unwrap();
    for (boot, known) in seen.iter_mut() {
        if known.gone.is_none() && !now.contains_key(boot) {
            known.gone = Some(at);
        }
    }
    for (boot, last) in now {
        let looks = seen.get(&boot).map_or(0, |known| known.looks) + 1;
        seen.insert(boot, Boot { gone: None, last, looks });
    }
}
