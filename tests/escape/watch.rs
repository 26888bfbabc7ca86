//! What is watched from outside while an attacking program runs: other calls, the daemon, its log, the
//! image, the devices of the network.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::json;
use switchboard::proto::tools::call_event::Event;
use tokio_stream::StreamExt;

use crate::daemon::{parsed, request};
use crate::host::{cpu_us, members, resident_kib, task_counter};
use crate::requests::Scene;
use crate::site::{Runtime, Site, arguments};

/// Calls beside an attack.
const CALLS: usize = 6;
/// Tries to see other calls unhindered: a busy machine hinders them too.
const ROUNDS: usize = 3;
/// A call that is quicker than this is not held back by anything.
const QUICK: f64 = 20.0;

/// Median of the milliseconds that an ordinary call takes, of those that need not wait for a container.
async fn usual_call(site: &Site) -> f64 {
    let mut times = Vec::new();
    let mut tick = tokio::time::interval(Duration::from_millis(250));
    for _ in 0..CALLS {
        tick.tick().await;
        let run = site.attack("attack", "pass", "").await;
        if run.reply["metadata"]["pool"] == "hit" {
            times.push(run.reply["metadata"]["latency_ms"].as_f64().unwrap());
        }
    }
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::INFINITY)
}

/// Waits until a sandbox of those that waited holds a bomb; gives its tasks as the host counts them.
async fn until_full(counters: &[PathBuf]) -> usize {
    let count = |file: &PathBuf| -> Option<usize> {
        std::fs::read_to_string(file).ok()?.trim().parse().ok()
    };
    let mut tick = tokio::time::interval(Duration::from_millis(20));
    let end = Instant::now() + Duration::from_secs(3);
    loop {
        tick.tick().await;
        let most = counters.iter().filter_map(count).max().unwrap_or_default();
        if most >= 20 || Instant::now() > end {
            return most;
        }
    }
}

/// A fork bomb stays inside its limit and does not slow other calls down.
pub(crate) async fn neighbours(scene: Scene<'_>) {
    let Scene { site, program, finding, runs, .. } = scene;
    let mut told = Vec::new();
    for _ in 0..ROUNDS {
        let alone = usual_call(site).await;
        let ids = site.engine.containers(&site.daemon.setup.instance);
        let counters: Vec<_> = ids.iter().filter_map(|id| task_counter(id)).collect();
        let bomb = site.attack("attack", &program.unwrap().code, "bomb");
        let beside = async {
            let most = until_full(&counters).await;
            (usual_call(site).await, most)
        };
        let (run, (time, most)) = tokio::join!(bomb, beside);
        runs.push(run);
        if site.runtime() == Runtime::Runc {
            finding.check((20..=25).contains(&most), || format!("the host saw {most} tasks"));
        }
        if time < (2.0 * alone).max(QUICK) {
            let line = format!("another call {time:.0} ms beside it, {alone:.0} ms alone");
            finding.saw(format!("{line}; {most} tasks on the host"));
            return;
        }
        told.push(format!("{time:.1} ms beside the bomb, {alone:.1} ms without"));
    }
    finding.fault(format!("another call takes {}", told.join("; ")));
}

/// The processor limit holds as the host counts it.
pub(crate) async fn processor(scene: Scene<'_>) {
    let Scene { site, program, finding, runs, .. } = scene;
    let spin = site.attack("attack", &program.unwrap().code, "spin");
    let watched = async {
        let used = || {
            let ids = site.engine.containers(&site.daemon.setup.instance);
            let pairs = ids.into_iter().filter_map(|id| Some((id.clone(), cpu_us(&id)?)));
            (Instant::now(), pairs.collect::<HashMap<_, _>>())
        };
        tokio::time::sleep(Duration::from_millis(500)).await;
        let (begun, before) = used();
        tokio::time::sleep(Duration::from_millis(1000)).await;
        let (ended, after) = used();
        let most = after.iter().filter_map(|(id, now)| Some(now - before.get(id)?)).max();
        Duration::from_micros(most.unwrap_or_default()).as_secs_f64()
            / (ended - begun).as_secs_f64()
    };
    let (run, cores) = tokio::join!(spin, watched);
    finding.saw(format!("{cores:.2} cores as the host counts"));
    finding.check((0.01..=1.05).contains(&cores), || format!("it had {cores:.2} cores, 1 allowed"));
    runs.push(run);
}

/// A flood arrives up to its cap and not a byte more, and does not stay in the daemon's memory.
pub(crate) async fn flood(scene: Scene<'_>) {
    let Scene { site, program, finding, .. } = scene;
    let before = resident_kib(site.daemon.pid());
    for case in ["lines", "line", "bytes", "stderr"] {
        let given = arguments(&program.unwrap().code, case, &site.input).to_string();
        let stream = site.daemon.client().await.call_stream(request("attack", &given)).await;
        let (mut stream, mut bytes, mut told) = (stream.unwrap().into_inner(), 0, None);
        while let Some(event) = stream.next().await {
            match event.unwrap().event.unwrap() {
                Event::Output(piece) => bytes += piece.data.len(),
                Event::Reply(reply) => told = Some(parsed(&reply)),
                Event::Accepted(_) | Event::Started(_) | Event::Waiting(_) => {}
            }
        }
        let code = crate::daemon::code(told.as_ref().unwrap()).to_owned();
        // Under gVisor single bytes come so slowly that the wall time may be first.
        let slow = case == "bytes" && site.runtime() == Runtime::Runsc && code == "TOOL_TIMEOUT";
        let exact = bytes == 64 << 10 || slow && bytes < 64 << 10;
        finding.check(exact, || format!("{case}: {bytes} bytes arrived, not 65536"));
        finding.check(slow || code == "OUTPUT_LIMIT", || format!("{case}: it ended in {code}"));
    }
    let grown = resident_kib(site.daemon.pid()).saturating_sub(before);
    finding.saw(format!("65536 bytes each, daemon +{grown} KiB"));
    finding.check(grown < 8 << 10, || format!("the daemon grew by {grown} KiB"));
}

/// What a tool prints forges no line of the daemon's log.
pub(crate) async fn log(scene: Scene<'_>) {
    for line in scene.site.daemon.log_lines() {
        let parsed = serde_json::from_str::<serde_json::Value>(&line);
        let own = parsed.is_ok_and(|line| line["fields"]["message"] != "escape-forged");
        scene.finding.check(own, || format!("not the daemon's own log line: {line}"));
    }
}

/// The image is what it was, also in a container that the daemon did not make.
pub(crate) async fn image(scene: Scene<'_>) {
    let now = scene.site.engine.digest();
    scene.finding.check(scene.site.input["canary"] == now, || format!("the image has {now}"));
}

/// Two calls at once: what one sends the other must not see.
pub(crate) async fn channels(scene: Scene<'_>) {
    let Scene { site, program, finding, runs, .. } = scene;
    let code = &program.unwrap().code;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
    let moments =
        json!({ "before": now + 1.5, "send": now + 2.2, "receive": now + 3.2, "end": now + 4.4 });
    let send = arguments(code, "send", &moments);
    let receive = arguments(code, "receive", &moments);
    let (sent, received) =
        tokio::join!(site.call("attack.patient", &send), site.call("attack.patient", &receive));
    let told = received.data();
    let looks = told["looks"].as_u64().unwrap_or_default();
    finding.saw(format!("{looks} channels, none carries a bit"));
    finding.check(told["received"] == json!([]) && looks == 17, || {
        format!("received: {}", received.reply)
    });
    finding.check(sent.code() == "SUCCESS", || format!("the sender: {}", sent.reply));
    runs.extend([sent, received]);
}

/// A sandbox has a loopback device of its own and nothing else, and nothing came of the tries.
pub(crate) async fn network(scene: Scene<'_>) {
    let Scene { site, finding, .. } = scene;
    let reached = site.canary.reached();
    finding.check(reached == 0, || format!("the service of the host was reached {reached} times"));
    let mut tick = tokio::time::interval(Duration::from_millis(250));
    let mut wrong = vec!["no process of a waiting sandbox was found".to_owned()];
    for _ in 0..20 {
        tick.tick().await;
        // One that is just being started has not gone to its own place yet.
        wrong = astray(site);
        if wrong.is_empty() {
            break;
        }
    }
    finding.saw("on the host's side: lo alone, 0 bytes");
    finding.faults.extend(wrong);
}

/// What is not as it should be with the networks of waiting sandboxes.
fn astray(site: &Site) -> Vec<String> {
    let machine = std::env::var(crate::INSIDE).unwrap();
    let ids = site.engine.containers(&site.daemon.setup.instance);
    let running: Vec<_> = ids.iter().flat_map(|id| members(id)).collect();
    let mut wrong = Vec::new();
    if running.is_empty() {
        wrong.push("no process of a waiting sandbox was found".to_owned());
    }
    for process in running {
        let folder = format!("/proc/{}", process.pid);
        let Ok(space) = std::fs::read_link(format!("{folder}/ns/net")) else { continue };
        if space.as_os_str() == &*machine {
            wrong.push(format!("{process} is in the host's network"));
        }
        let table = std::fs::read_to_string(format!("{folder}/net/dev")).unwrap_or_default();
        let device = |line: &str| line.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
        let others = table.lines().skip(2).map(device).filter(|device| device != "lo: 0");
        wrong.extend(others.map(|device| format!("{process} has {device} bytes")));
    }
    wrong
}

/// Of all that a program gave, the fine file came and nothing else; names that lead elsewhere are
/// refused before anything runs.
pub(crate) async fn files(scene: Scene<'_>) {
    let Scene { site, program, finding, runs, .. } = scene;
    let run = runs.first().unwrap();
    let kinds = run.reply["error"]["details"]["files"].as_array().cloned().unwrap_or_default();
    for name in ["link", "outside", "hard", "fifo", "socket", "folder", "device"] {
        let refused = kinds.iter().any(|file| file["name"] == name && file["reason"] != "");
        finding.check(refused, || format!("`{name}` is not among the refused: {kinds:?}"));
    }
    // It is one or the other at the end, and is never followed.
    let text = run.reply.to_string();
    finding.check(!text.contains("root:"), || "a file from outside was read".to_owned());
    for name in ["../etc/passwd", "/etc/passwd", "..", "a/b", ".hidden", "a\0b", "-rf", ""] {
        let given = arguments(&program.unwrap().code, "", &site.input).to_string();
        let mut call = request("attack.files", &given);
        call.output_files = vec![name.to_owned()];
        let answer = site.daemon.try_call(call).await;
        let refused = match &answer {
            Ok(reply) => crate::daemon::code(&parsed(reply)) == "SCHEMA_VALIDATION_ERROR",
            Err(status) => status.code() == tonic::Code::InvalidArgument,
        };
        finding.check(refused, || format!("the name {name:?} gave {answer:?}"));
    }
    finding.saw(format!("{} kinds of files refused, 8 names", kinds.len()));
}
