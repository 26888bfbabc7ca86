//! Tells whether a scratch file system of the sandbox is full.

use rustix::fs::statfs;

/// Where sandboxes have scratch space, besides the working directory.
const PLACES: [&str; 3] = ["/tmp", "/dev/shm", "/var/tmp"];
/// Only file systems in memory are scratch; any other belongs to the host.
const TMPFS: i64 = 0x0102_1994;

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
