//! One call: a request comes in on a stream, a tool runs, its output and a report go out. Ends the
//! tool at its limits, and everything that the tool left behind.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use rustix::process::Pid;
use switchboard_runner::{Exit, Given, Kind, Refused, Report, Request, Stopped};
use tokio::net::unix::pipe;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};
use yamux::Stream;

use crate::disk;
use crate::files::{self, Folder};
use crate::input::feed;
use crate::kill;
use crate::launch::{Control, Helper, Plan};
use crate::output::{Output, Pumped};
use crate::port::Port;
use crate::reap::Ended;
use crate::supervise::Host;
use crate::wire::Wire;

/// Serves one call stream. A stream that does not start with a request is reset.
pub(crate) async fn serve(stream: Stream, host: Rc<Host>) {
    let wire = Wire::new(stream);
    let mut payload = Vec::new();
    let Ok(Some(Kind::Request)) = wire.receive(&mut payload).await else {
        return;
    };
    let Ok(request) = serde_json::from_slice::<Request>(&payload) else {
        return;
    };
    drop(payload);
    let report = run(&wire, &host, &request).await;
    if let Ok(text) = serde_json::to_vec(&report)
        && wire.send(Kind::Result, &text).await.is_ok()
    {
        wire.close().await.ok();
    }
    if request.last {
        host.finish.notify_one();
    } else {
        host.launcher.refill().await;
    }
}

/// What is known of the tool when it has ended.
struct Outcome {
    exit: Exit,
    stopped: Option<Stopped>,
    used: Option<Ended>,
    wall: Duration,
    seen: (u64, u64),
    disk_full: bool,
    /// The tool's user had as many processes as it may when the tool ended.
    crowded: bool,
    given: Vec<Given>,
}

async fn run(wire: &Wire, host: &Host, request: &Request) -> Report {
    let before = host.cgroup.counters();
    let user = host.users.lend();
    let outcome = match serve_tool(wire, host, request, user.id()).await {
        Ok(outcome) => outcome,
        Err(message) => Outcome {
            exit: Exit::NotStarted(message),
            stopped: None,
            used: None,
            wall: Duration::ZERO,
            seen: (0, 0),
            disk_full: false,
            crowded: false,
            given: files::give_none(request, &Refused::Ended),
        },
    };
    let after = host.cgroup.counters();
    let refused = after.forks_refused.saturating_sub(before.forks_refused);
    Report {
        nonce: request.nonce.clone(),
        exit: outcome.exit,
        stopped: outcome.stopped,
        wall_us: u64::try_from(outcome.wall.as_micros()).unwrap_or(u64::MAX),
        cpu_us: outcome.used.as_ref().map_or(0, |used| used.cpu_us),
        peak_bytes: outcome.used.as_ref().map_or(0, |used| used.peak_bytes),
        stdout_bytes: outcome.seen.0,
        stderr_bytes: outcome.seen.1,
        oom_kills: after.oom_kills.saturating_sub(before.oom_kills),
        forks_refused: refused.max(u64::from(outcome.crowded)),
        disk_full: outcome.disk_full,
        given: outcome.given,
    }
}

/// Files in, the tool from its start to its end, files out.
async fn serve_tool(
    wire: &Wire,
    host: &Host,
    request: &Request,
    user: u32,
) -> Result<Outcome, String> {
    let folder = files::take(wire, request).await?;
    let (helper, plan, port) = start(host, request, user).await?;
    let mut outcome = attend(wire, host, request, Tool { helper, plan }).await;
    drop(port);
    if let Some(folder) = &folder {
        outcome.given = give(wire, request, folder, (&outcome, user)).await;
    }
    Ok(outcome)
}

/// The files of a tool that ended by itself, and of which nothing is left that could change them.
async fn give(
    wire: &Wire,
    request: &Request,
    folder: &Folder,
    (outcome, user): (&Outcome, u32),
) -> Vec<Given> {
    if outcome.stopped.is_some() || matches!(outcome.exit, Exit::NotStarted(_)) {
        return files::give_none(request, &Refused::Ended);
    }
    if !kill::all_gone().await {
        let why = "processes of the tool are left and could not be ended";
        return files::give_none(request, &Refused::Unreadable(why.into()));
    }
    let given = files::give(wire, folder, request, user).await;
    given.unwrap_or_else(|_gone| files::give_none(request, &Refused::Ended))
}

struct Tool {
    helper: Helper,
    plan: Plan,
}

async fn start(
    host: &Host,
    request: &Request,
    user: u32,
) -> Result<(Helper, Plan, Option<Port>), String> {
    let port = if request.egress {
        let opened = Port::open(host.opens.clone(), &request.nonce).await;
        Some(opened.map_err(|error| format!("cannot open the egress port: {error}"))?)
    } else {
        None
    };
    let helper =
        host.launcher.take().await.map_err(|error| format!("cannot start a process: {error}"))?;
    let plan = Plan {
        argv: request.argv.clone(),
        env: environment(request, port.as_ref()),
        cwd: request.cwd.clone(),
        open_files: request.open_files,
        file_bytes: request.file_bytes,
        processes: request.processes,
        memory_bytes: request.memory_bytes,
        user,
    };
    Ok((helper, plan, port))
}

fn environment(request: &Request, port: Option<&Port>) -> Vec<(String, String)> {
    let mut env = request.env.clone();
    if let Some(url) = port.map(Port::url) {
        let names = ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"];
        env.retain(|(name, _)| !name.eq_ignore_ascii_case("no_proxy") && !names.contains(&&**name));
        env.extend(names.map(|name| (name.into(), url.clone())));
        env.extend(["no_proxy", "NO_PROXY"].map(|name| (name.into(), String::new())));
    }
    env
}

/// From the plan to the end of the tool and of all it left.
async fn attend(wire: &Wire, host: &Host, request: &Request, tool: Tool) -> Outcome {
    let Tool { helper: Helper { pid, ended, stdin, stdout, stderr, control }, plan } = tool;
    let begun = Instant::now();
    let mut output = Output::new(stdout, stderr, request.output_bytes);
    let lines = Lines { pid, ended, stdin, control };
    let (launched, used, mut stopped) = watch(wire, request, &plan, lines, &mut output).await;
    let wall = begun.elapsed();
    let disk_full = disk::is_full(&request.cwd);
    let crowded = request.processes.is_some_and(|most| kill::count(plan.user) >= most);
    clear(host, request, pid, plan.user).await;
    // A daemon that is gone needs no output, and the report says what was seen.
    output.drain(wire).await.ok();
    if stopped.is_none() && output.is_over() {
        stopped = Some(Stopped::Output);
    }
    let exit = exit(launched, used.as_ref());
    let given = Vec::new();
    Outcome { exit, stopped, used, wall, seen: output.seen(), disk_full, crowded, given }
}

/// What connects to a helper, besides its output.
struct Lines {
    pid: Option<Pid>,
    ended: oneshot::Receiver<Ended>,
    stdin: pipe::Sender,
    control: Control,
}

type Watched = (Result<(), String>, Option<Ended>, Option<Stopped>);

/// Launches the tool and keeps everything moving until its own process has ended.
async fn watch(
    wire: &Wire,
    request: &Request,
    plan: &Plan,
    lines: Lines,
    output: &mut Output,
) -> Watched {
    let mut ended = lines.ended;
    let mut launch = pin!(lines.control.launch(plan));
    let mut feed = pin!(feed(wire, lines.stdin));
    let mut deadline = pin!(sleep(Duration::from_millis(request.wall_ms)));
    let (mut launched, mut feeding, mut pumping) = (None, true, false);
    let mut stopped = None;
    let used = loop {
        // In this order: output that never ends must not hide the rest.
        let stop = tokio::select! {
            biased;
            end = &mut ended => break end.ok(),
            () = &mut deadline, if stopped.is_none() => Some(Stopped::Wall),
            result = &mut launch, if launched.is_none() => {
                pumping = result.is_ok();
                output.announce(pumping);
                launched = Some(result);
                None
            }
            () = &mut feed, if feeding => {
                feeding = false;
                Some(Stopped::Cancelled)
            }
            pumped = output.pump(wire), if pumping => {
                pumping = false;
                verdict(&pumped)
            }
        };
        if stopped.is_none() && stop.is_some() {
            stopped = stop;
            end(request, lines.pid);
        }
    };
    let launched = match launched {
        Some(result) => result,
        None => {
            let result = launch.await;
            output.announce(result.is_ok());
            result
        }
    };
    (launched, used, stopped)
}

fn verdict(pumped: &io::Result<Pumped>) -> Option<Stopped> {
    match pumped {
        Ok(Pumped::Dry) => None,
        Ok(Pumped::Over) => Some(Stopped::Output),
        Err(_) => Some(Stopped::Cancelled),
    }
}

fn exit(launched: Result<(), String>, used: Option<&Ended>) -> Exit {
    match (launched, used.map(|used| used.status)) {
        (Err(message), _) => Exit::NotStarted(message),
        (Ok(()), None) => Exit::NotStarted("its process was lost".into()),
        (Ok(()), Some(status)) => match status.code() {
            Some(code) => Exit::Code(code),
            None => Exit::Signal(status.signal().unwrap_or_default()),
        },
    }
}

/// Ends a running tool.
fn end(request: &Request, pid: Option<Pid>) {
    if request.last {
        kill::all();
    }
    if let Some(pid) = pid {
        kill::group(pid);
    }
}

/// Ends what a tool left behind. A tool can leave its session, but not its user.
async fn clear(host: &Host, request: &Request, pid: Option<Pid>, user: u32) {
    if request.last && kill::is_first() {
        kill::all();
        return;
    }
    if let Some(pid) = pid {
        kill::remains(pid);
    }
    let ours = u64::try_from(host.reaper.watched()).unwrap_or(u64::MAX).saturating_add(1);
    if !kill::is_first() || host.cgroup.tasks().is_none_or(|tasks| tasks > ours) {
        kill::user(user).await;
    }
}
