//! Tells how large a scratch file system of the sandbox is, and whether one is full.

use rustix::fs::statfs;

/// Where sandboxes have scratch space, besides the working directory.
const PLACES: [&str; 3] = ["/tmp", "/dev/shm", "/var/tmp"];
/// Only file systems in memory are scratch; any other belongs to the host.
const TMPFS: i64 = 0x0102_1994;

/// What fits on a file system in memory; `None` where it has no such limit, or is on a disk.
#[derive(Debug, Default)]
pub(crate) struct Size {
    pub(crate) bytes: Option<u64>,
    pub(crate) files: Option<u64>,
}

impl Size {
    pub(crate) fn of(place: &str) -> Self {
        let Some(stat) = statfs(place).ok().filter(|stat| stat.f_type == TMPFS) else {
            return Self::default();
        };
        let block = u64::try_from(stat.f_bsize).unwrap_or_default();
        let bytes = stat.f_blocks.checked_mul(block).filter(|bytes| *bytes > 0);
        Self { bytes, files: Some(stat.f_files).filter(|files| *files > 0) }
    }
}

/// Whether one has no free block or no free inode.
pub(crate) fn is_full(cwd: &str) -> bool {
    PLACES.into_iter().chain([cwd]).any(|place| {
        statfs(place).is_ok_and(|stat| {
            stat.f_type == TMPFS
                && (stat.f_blocks > 0 && stat.f_bavail == 0
                    || stat.f_files > 0 && stat.f_ffree == 0)
        })
    })
}
