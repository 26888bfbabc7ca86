//! Notices that files changed since they were read: paths in, a changed mark out. Asks the file
//! system at most once in a while, so that it may stand on the path of a call.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long an answer holds.
const PAUSE: Duration = Duration::from_secs(5);

type Look = Vec<Option<(u64, u64, i64, i64)>>;

/// What some files looked like when they were last seen.
#[derive(Debug)]
pub struct Stamp {
    files: Vec<PathBuf>,
    seen: Mutex<(Instant, Look)>,
}

impl Stamp {
    /// Looks at the files as they are now.
    pub fn new(files: Vec<PathBuf>) -> Self {
        let seen = Mutex::new((Instant::now(), look(&files)));
        Self { files, seen }
    }

    /// Whether one has changed since the last time that this was true. False for five seconds after
    /// each look.
    pub fn changed(&self) -> bool {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if self.files.is_empty() || seen.0.elapsed() < PAUSE {
            return false;
        }
        let now = look(&self.files);
        let changed = now != seen.1;
        *seen = (Instant::now(), now);
        changed
    }
}

fn look(files: &[PathBuf]) -> Look {
    let each = |path: &PathBuf| {
        let found = std::fs::metadata(path).ok()?;
        Some((found.ino(), found.size(), found.mtime(), found.mtime_nsec()))
    };
    files.iter().map(each).collect()
}
