//! Beginnings and ends under attack: a daemon killed at any moment, an engine that hangs or is full,
//! calls cancelled at random, a caller that does not read.

use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use serde_json::json;
use switchboard::proto::tools::CancelRequest;
use switchboard::proto::tools::call_event::Event;
use tokio::time::sleep;
use tokio_stream::StreamExt;

use crate::daemon::{Daemon, code, eventually, parsed, request};
use crate::host::{processes, resident_kib};
use crate::requests::Scene;
use crate::site::{Engine, Runtime, arguments};
use crate::trial::Finding;
use crate::wire::{Mode, Wire};

/// Moments after a call was sent, at which the daemon is killed, in milliseconds.
const MOMENTS: [u64; 4] = [0, 10, 60, 400];
/// Calls that are cancelled at a random moment; the chaos bench makes thousands.
const CANCELLED: usize = 100;
const SLEEP: &str = "import time; time.sleep(60)";

fn sleeper() -> switchboard::proto::tools::CallRequest {
    request("attack", &arguments(SLEEP, "", &json!({})).to_string())
}

/// A daemon killed at several moments of a call leaves nothing, and its successor serves.
pub(crate) async fn deaths(scene: Scene<'_>) {
    let Scene { site, finding, .. } = scene;
    let mut daemon = site.engine.setup().start().await;
    let mut longest = Duration::ZERO;
    for moment in MOMENTS {
        let mut client = daemon.client().await;
        let call = async move { drop(client.call(sleeper()).await) };
        let kill = async {
            sleep(Duration::from_millis(moment)).await;
            daemon.signal("KILL");
        };
        tokio::join!(call, kill);
        daemon.wait();
        let begun = Instant::now();
        let instance = daemon.setup.instance.clone();
        let ids = site.engine.containers(&instance);
        eventually("the killed daemon's containers are gone", || async {
            site.engine.containers(&instance).is_empty()
        })
        .await;
        longest = longest.max(begun.elapsed());
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        eventually("and their processes", || async { processes(&ids).is_empty() }).await;
        daemon = daemon.restart().await;
        let here = answers(&daemon).await;
        finding.check(here, || format!("no answer after a death at {moment} ms"));
    }
    finding.saw(format!("daemon killed {} times, all gone in {longest:.1?}", MOMENTS.len()));
    finding.check(longest < Duration::from_secs(10), || format!("orphans for {longest:?}"));
    drop(daemon);
    engine(&site.engine, finding).await;
}

async fn answers(daemon: &Daemon) -> bool {
    let given = arguments("print('here')", "", &json!({}));
    daemon
        .try_call(request("attack", &given.to_string()))
        .await
        .is_ok_and(|reply| parsed(&reply)["data"] == "here\n")
}

/// An engine that is stopped, and one whose disk is full: calls end in bounded time, and go on after.
async fn engine(engine: &Engine, finding: &mut Finding) {
    let wire = Wire::lay(&engine.endpoint);
    let sandbox = format!("{}\nengine_timeout_ms = 2000\nqueue_wait_ms = 2000", wire.line());
    let daemon = engine.setup_with(&sandbox).start().await;
    let mut stream = daemon.running(sleeper()).await;
    wire.set(Mode::Frozen);
    let begun = Instant::now();
    let mut last = String::new();
    while let Some(event) = stream.next().await {
        match event {
            Ok(event) => {
                if let Some(Event::Reply(reply)) = event.event {
                    last = code(&parsed(&reply)).to_owned();
                }
            }
            Err(status) => last = crate::site::Run::refused(&status)["error"]["code"].to_string(),
        }
    }
    let took = begun.elapsed();
    finding.saw(format!("engine stopped: {last} after {took:.1?}"));
    finding.check(took < Duration::from_secs(5), || format!("a stopped engine held it {took:?}"));
    wire.set(Mode::Full);
    let begun = Instant::now();
    eventually("a full engine is told", || async {
        let given = arguments("print('here')", "", &json!({}));
        daemon.try_call(request("attack", &given.to_string())).await.is_err()
    })
    .await;
    let took = begun.elapsed();
    finding.check(took < Duration::from_secs(20), || format!("a full engine held it {took:?}"));
    wire.set(Mode::Open);
    eventually("calls succeed again", || answers(&daemon)).await;
    let instance = daemon.setup.instance.clone();
    drop(daemon);
    eventually("nothing is left", || async { engine.containers(&instance).is_empty() }).await;
}

/// Calls cancelled at random moments: one verdict each, and the pool is what it was.
pub(crate) async fn cancels(scene: Scene<'_>) {
    let Scene { site, finding, .. } = scene;
    let client = site.daemon.client().await;
    let chance = RandomState::new();
    let (mut ids, mut cancelled, mut other) = (Vec::new(), 0, Vec::new());
    let calls = if site.runtime() == Runtime::Runc { CANCELLED } else { CANCELLED / 5 };
    for turn in 0..calls {
        let id = uuid::Uuid::new_v4().to_string();
        let mut call = sleeper();
        call.call_id.clone_from(&id);
        let (mut caller, mut canceller) = (client.clone(), client.clone());
        let moment = Duration::from_micros(chance.hash_one(turn) % 60_000);
        let call = async {
            if turn % 2 == 0 {
                // Dropped by the caller.
                return tokio::time::timeout(moment, caller.call(call)).await.is_err();
            }
            caller.call(call).await.is_err()
        };
        let cancel = async {
            sleep(moment).await;
            if turn % 2 == 0 {
                return;
            }
            loop {
                let asked = CancelRequest { call_id: id.clone() };
                match canceller.cancel(asked).await {
                    Ok(answer) if answer.get_ref().cancelled => break,
                    // It has not arrived yet.
                    _ => sleep(Duration::from_millis(2)).await,
                }
            }
        };
        tokio::join!(call, cancel);
        ids.push((id, turn % 2 == 1));
    }
    for (id, arrived) in ids {
        // One that its caller dropped before it had left leaves no record.
        if arrived {
            eventually("it is recorded", || async { !site.record(&id).is_null() }).await;
        }
        match site.record(&id)["code"].as_str() {
            Some("CANCELLED") => cancelled += 1,
            None if !arrived => {}
            code => other.push(format!("{code:?}")),
        }
    }
    finding.saw(format!("{calls} cancelled, {cancelled} of them recorded, each once"));
    finding.check(other.is_empty(), || format!("other verdicts: {other:?}"));
    let instance = &site.daemon.setup.instance;
    // The most that the pools of the suite's profiles wait with.
    eventually("the pool is what it was", || async {
        site.engine.containers(instance).len() <= 16
    })
    .await;
}

/// A caller that does not read while a tool floods: the daemon keeps what the cap allows, no more.
pub(crate) async fn slow_reader(scene: Scene<'_>) {
    let Scene { site, finding, .. } = scene;
    let before = resident_kib(site.daemon.pid());
    let given = arguments("import os\nwhile True: os.write(1, b'y' * 65536)", "", &json!({}));
    let call = request("attack.loud", &given.to_string());
    let mut stream = site.daemon.client().await.call_stream(call).await.unwrap().into_inner();
    sleep(Duration::from_secs(2)).await;
    let grown = resident_kib(site.daemon.pid()).saturating_sub(before);
    let (mut bytes, mut last) = (0, String::new());
    while let Some(event) = stream.next().await {
        match event.unwrap().event.unwrap() {
            Event::Output(piece) => bytes += piece.data.len(),
            Event::Reply(reply) => last = code(&parsed(&reply)).to_owned(),
            Event::Accepted(_) | Event::Started(_) | Event::Waiting(_) => {}
        }
    }
    finding.saw(format!("{last} after {bytes} bytes, daemon +{grown} KiB"));
    let ended = ["OUTPUT_LIMIT", "TOOL_TIMEOUT"].contains(&last.as_str());
    finding.check(ended, || format!("it ended in {last}"));
    finding.check(bytes <= 8 << 20, || format!("{bytes} bytes came through a cap of 8 MiB"));
    // What is kept for the reply, and once more for the one who does not read.
    finding.check(grown < 32 << 10, || format!("the daemon grew by {grown} KiB"));
}
