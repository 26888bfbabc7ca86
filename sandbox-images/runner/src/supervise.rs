//! PID 1: announces itself, then serves one multiplexed connection over its stdin and stdout until
//! a last call has ended, or the daemon is gone. In every case all other processes die with it.

use std::io;
use std::process::ExitCode;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use futures::future::poll_fn;
use rustix::process::{DumpableBehavior, getpid, set_child_subreaper, set_dumpable_behavior};
use switchboard_runner::{PROTOCOL, Ready};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::{LocalSet, spawn_local};
use tokio::time::timeout;
use yamux::{Connection, Mode, Stream};

use crate::cgroup::Cgroup;
use crate::launch::Launcher;
use crate::link::{self, Buffered};
use crate::reap::Reaper;
use crate::users::Users;
use crate::{call, disk, kill};

/// The tool's writable place.
const SCRATCH: &str = "/tmp";
/// Longest wait for the daemon to take the last bytes.
const FLUSH: Duration = Duration::from_secs(30);

/// What the calls of one sandbox share.
pub(crate) struct Host {
    pub(crate) cgroup: Cgroup,
    pub(crate) reaper: Rc<Reaper>,
    pub(crate) launcher: Launcher,
    pub(crate) users: Users,
    pub(crate) opens: mpsc::UnboundedSender<oneshot::Sender<Stream>>,
    pub(crate) finish: Notify,
}

/// Runs as PID 1.
pub(crate) fn main() -> ExitCode {
    let outcome = set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .and_then(|()| set_child_subreaper(Some(getpid())))
        .map_err(io::Error::from)
        .and_then(|()| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            LocalSet::new().block_on(&runtime, supervise())
        });
    kill::all();
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

async fn supervise() -> io::Result<()> {
    let reaper = Reaper::start()?;
    let (opens, wanted) = mpsc::unbounded_channel();
    let host = Rc::new(Host {
        cgroup: Cgroup::open(),
        launcher: Launcher::new(Rc::clone(&reaper)),
        reaper,
        users: Users::new(),
        opens,
        finish: Notify::new(),
    });
    host.launcher.prepare();
    announce(&host.cgroup)?;
    let connection = Connection::new(link::open()?, yamux::Config::default(), Mode::Server);
    tokio::select! {
        result = drive(connection, wanted, &host) => result,
        () = host.reaper.terminated() => Ok(()),
    }
}

fn announce(cgroup: &Cgroup) -> io::Result<()> {
    let scratch = disk::Size::of(SCRATCH);
    let ready = Ready {
        protocol: PROTOCOL,
        limits: cgroup.limits(),
        scratch_bytes: scratch.bytes,
        scratch_files: scratch.files,
        seccomp: filtered(),
    };
    let mut line = serde_json::to_vec(&ready)?;
    line.push(b'\n');
    let mut rest = line.as_slice();
    while !rest.is_empty() {
        let written = rustix::io::write(rustix::stdio::stdout(), rest)?;
        rest = rest.get(written..).unwrap_or_default();
    }
    Ok(())
}

/// Whether the kernel filters this process's system calls.
fn filtered() -> Option<bool> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mode = status.lines().find_map(|line| line.strip_prefix("Seccomp:"))?;
    Some(mode.trim() == "2")
}

/// Keeps the connection going: the streams only move while it is polled.
async fn drive(
    mut connection: Connection<Buffered>,
    mut wanted: mpsc::UnboundedReceiver<oneshot::Sender<Stream>>,
    host: &Rc<Host>,
) -> io::Result<()> {
    let mut waiting: Option<oneshot::Sender<Stream>> = None;
    let serve = poll_fn(|cx| {
        loop {
            if waiting.is_none()
                && let Poll::Ready(Some(next)) = wanted.poll_recv(cx)
            {
                waiting = Some(next);
            }
            if waiting.is_some()
                && let Poll::Ready(opened) = connection.poll_new_outbound(cx)
            {
                // Without a stream the sender is dropped, which tells the one who waits.
                if let (Some(sender), Ok(stream)) = (waiting.take(), opened) {
                    drop(sender.send(stream));
                }
                continue;
            }
            match connection.poll_next_inbound(cx) {
                Poll::Ready(Some(Ok(stream))) => {
                    drop(spawn_local(call::serve(stream, Rc::clone(host))));
                }
                Poll::Ready(Some(Err(_)) | None) => return Poll::Ready(()),
                Poll::Pending => return Poll::Pending,
            }
        }
    });
    let finished = tokio::select! {
        biased;
        () = host.finish.notified() => true,
        () = serve => false,
    };
    if finished {
        kill::all();
        timeout(FLUSH, poll_fn(|cx| connection.poll_close(cx))).await.ok();
    }
    Ok(())
}
