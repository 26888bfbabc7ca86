//! The verdict on one call: the runner's raw report in, one [`End`] out. Pure; reads no clock and
//! no engine.

use switchboard_runner::{Exit, Report, Stopped};

use super::End;

const SIGKILL: i32 = 9;
const SIGXFSZ: i32 = 25;

/// Decides how a call ended.
///
/// What the runner stopped is named by its reason. A tool that succeeded succeeded, whatever its
/// children met: the counters stand beside the verdict. A tool that failed is put down to the
/// limit that the kernel says was hit, memory before processes before disk. The kernel's counters
/// belong to the container; where several calls share it (`shared`), a want of memory must show
/// in this tool's own end. A refused allocation (Python's `MemoryError` on an absurd size) leaves
/// no kernel trace, and `memory.failcnt` also counts harmless cache reclaim: it stays a plain exit.
pub(super) fn judge(report: &Report, shared: bool) -> End {
    match report.stopped {
        Some(Stopped::Wall) => return End::Timeout,
        Some(Stopped::Output) => return End::OutputLimit,
        Some(Stopped::Cancelled) => return End::Cancelled,
        None => {}
    }
    let own = match &report.exit {
        Exit::NotStarted(reason) => return End::NotStarted(reason.clone()),
        Exit::Code(0) => return End::Exited(0),
        Exit::Code(code) => End::Exited(*code),
        Exit::Signal(signal) => End::Signaled(*signal),
    };
    let killed = matches!(
        own,
        End::Signaled(SIGKILL) | End::Exited(137 /* a shell whose child was killed */)
    );
    if report.oom_kills > 0 && (killed || !shared) {
        return End::OutOfMemory;
    }
    if own == End::Signaled(SIGXFSZ) {
        return End::DiskLimit;
    }
    if shared {
        return own;
    }
    if report.forks_refused > 0 {
        return End::ProcessLimit;
    }
    if report.disk_full {
        return End::DiskLimit;
    }
    own
}

/// The verdict's name in metrics.
pub(super) const fn label(end: &End) -> &'static str {
    match end {
        End::Exited(0) => "success",
        End::Exited(_) => "exited",
        End::Signaled(_) => "signaled",
        End::NotStarted(_) => "not_started",
        End::Timeout => "timeout",
        End::OutOfMemory => "out_of_memory",
        End::ProcessLimit => "process_limit",
        End::OutputLimit => "output_limit",
        End::DiskLimit => "disk_limit",
        End::Cancelled => "cancelled",
        End::Lost(_) => "lost",
    }
}
