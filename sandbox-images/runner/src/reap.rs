//! Collects every process that ends: those that were started here with what they used, and orphans
//! that PID 1 inherits.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::process::{Child, ExitStatus};
use std::rc::Rc;

use nix::sys::wait::{Id, WaitPidFlag, waitid};
use rustix::process::{Pid, WaitOptions, waitpid};
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

/// The one place that waits for processes.
#[derive(Debug, Default)]
pub(crate) struct Reaper {
    children: RefCell<HashMap<i32, (Child, oneshot::Sender<Ended>)>>,
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

    /// Takes charge of a child; the receiver hears when it has ended.
    pub(crate) fn watch(&self, child: Child) -> (Option<Pid>, oneshot::Receiver<Ended>) {
        let (sender, receiver) = oneshot::channel();
        let pid = i32::try_from(child.id()).unwrap_or_default();
        self.children.borrow_mut().insert(pid, (child, sender));
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
                Some((mut child, sender)) => {
                    if let Ok(Some(used)) = child.try_wait4() {
                        drop(sender.send(ended(&used)));
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
