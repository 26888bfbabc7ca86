//! Collects every process that ends: those that were started here with what they used, and orphans
//! that PID 1 inherits.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::rc::Rc;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use rustix::process::{Pid, WaitOptions, test_kill_process, waitpid};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Notify, oneshot};
use tokio::task::spawn_local;
use wait4::{ResUse, Wait4};

/// How a process ended, and what it used with the children it waited for.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) cpu_us: u64,
    pub(crate) peak_bytes: u64,
}

/// A process whose end somebody waits for.
#[derive(Debug)]
enum Watched {
    Child(Child),
    /// Made by the spawner and inherited.
    Adopted,
}

/// The one place that waits for processes.
#[derive(Debug, Default)]
pub(crate) struct Reaper {
    children: RefCell<HashMap<i32, (Watched, oneshot::Sender<Ended>)>>,
    terminate: Notify,
}

impl Reaper {
    /// Starts to listen for ended processes and for a request to terminate.
    pub(crate) fn start() -> io::Result<Rc<Self>> {
        let reaper = Rc::new(Self::default());
        let mut ended = signal(SignalKind::child())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let own = Rc::clone(&reaper);
        drop(spawn_local(async move {
            loop {
                tokio::select! {
                    Some(()) = ended.recv() => own.reap(),
                    Some(()) = terminate.recv() => own.terminate.notify_one(),
                    else => return,
                }
            }
        }));
        Ok(reaper)
    }

    /// Takes charge of a process that the spawner made and that has not been collected.
    pub(crate) fn adopt(&self, pid: Pid) -> oneshot::Receiver<Ended> {
        let (sender, receiver) = oneshot::channel();
        // One that is gone already drops the sender, which says so.
        if test_kill_process(pid).is_ok() {
            let number = pid.as_raw_nonzero().get();
            self.children.borrow_mut().insert(number, (Watched::Adopted, sender));
        }
        receiver
    }

    /// Takes charge of a child; the receiver hears when it has ended.
    pub(crate) fn watch(&self, child: Child) -> (Option<Pid>, oneshot::Receiver<Ended>) {
        let (sender, receiver) = oneshot::channel();
        let pid = i32::try_from(child.id()).unwrap_or_default();
        self.children.borrow_mut().insert(pid, (Watched::Child(child), sender));
        (Pid::from_raw(pid), receiver)
    }

    /// Number of children that were started here and not collected yet.
    pub(crate) fn watched(&self) -> usize {
        self.children.borrow().len()
    }

    /// Returns once SIGTERM came.
    pub(crate) async fn terminated(&self) {
        self.terminate.notified().await;
    }

    fn reap(&self) {
        let look = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        // Looks before it collects: only our own children are collected with what they used.
        while let Some(pid) = waitid(Id::All, look).ok().and_then(|status| status.pid()) {
            let known = self.children.borrow_mut().remove(&pid.as_raw());
            match known {
                Some((Watched::Child(mut child), sender)) => {
                    if let Ok(Some(used)) = child.try_wait4() {
                        drop(sender.send(ended(&used)));
                    }
                }
                Some((Watched::Adopted, sender)) => {
                    if let Some(ended) = collect(pid.as_raw()) {
                        drop(sender.send(ended));
                    }
                }
                None => {
                    waitpid(Pid::from_raw(pid.as_raw()), WaitOptions::NOHANG).ok();
                }
            }
        }
    }
}

fn ended(used: &ResUse) -> Ended {
    let cpu = used.rusage.utime + used.rusage.stime;
    Ended {
        status: used.status,
        cpu_us: u64::try_from(cpu.as_micros()).unwrap_or(u64::MAX),
        peak_bytes: used.rusage.maxrss,
    }
}

/// Collects a process that std did not start. The difference of what all collected ones have used is
/// what this one did; the peak is that of the largest so far.
fn collect(pid: i32) -> Option<Ended> {
    let before = children_cpu_us();
    let (_, status) = waitpid(Pid::from_raw(pid), WaitOptions::NOHANG).ok()??;
    let peak = getrusage(UsageWho::RUSAGE_CHILDREN).map_or(0, |usage| usage.max_rss());
    Some(Ended {
        status: ExitStatus::from_raw(status.as_raw()),
        cpu_us: children_cpu_us().saturating_sub(before),
        peak_bytes: u64::try_from(peak).unwrap_or_default().saturating_mul(1024),
    })
}

fn children_cpu_us() -> u64 {
    getrusage(UsageWho::RUSAGE_CHILDREN).map_or(0, |usage| {
        let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
        u64::try_from(micros).unwrap_or_default()
    })
}
