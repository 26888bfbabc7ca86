//! Notices that files changed since they were read: paths in, a call of who
//! reads them out. Asks the file
//! system at most once in a while, so that it may stand on the path of a call.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How long an answer holds.
const PAUSE: Duration = Duration::from_secs(5);

/// What tells that a file is another one, or was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    device: u64,
    inode: u64,
    length: u64,
    written: (i64, i64),
    changed: (i64, i64),
}

impl Look {
    /// The look of the file that has these metadata.
    pub fn of(found: &Metadata) -> Self {
        Self {
            device: found.dev(),
            inode: found.ino(),
            length: found.len(),
            written: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }
}

/// What some files looked like when they were last read well.
#[derive(Debug)]
pub struct Stamp {
    files: Vec<PathBuf>,
    seen: Mutex<(Instant, Vec<Option<Look>>)>,
}

impl Stamp {
    /// Looks at the files as they are now; to be called before they are read.
    pub fn new(files: Vec<PathBuf>) -> Self {
        let seen = Mutex::new((Instant::now(), look(&files)));
        Self { files, seen }
    }

    /// Calls `read` when a file has changed since it was last read well, and again until it is. Does
    /// nothing for five seconds after each look.
    pub fn refresh<E>(&self, read: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        // Whoever comes while another one looks goes on with what there is.
        let Ok(mut seen) = self.seen.try_lock() else { return Ok(()) };
        if self.files.is_empty() || seen.0.elapsed() < PAUSE {
            return Ok(());
        }
        seen.0 = Instant::now();
        let now = look(&self.files);
        if now == seen.1 {
            return Ok(());
        }
        read()?;
        seen.1 = now;
        Ok(())
    }
}

/// A file that cannot be seen has no look.
fn look(files: &[PathBuf]) -> Vec<Option<Look>> {
    files.iter().map(|path| std::fs::metadata(path).ok().map(|found| Look::of(&found))).collect()
}
