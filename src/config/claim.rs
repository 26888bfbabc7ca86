//! A file of one daemon alone: a path in; folder and file made where they are missing and closed to
//! others, and the lock on them, out. What is in the file is its room's business.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Why a file cannot be claimed.
#[derive(Debug)]
pub enum Unclaimed {
    /// Another process has the lock.
    InUse,
    /// The system refused.
    Refused(io::Error),
}

impl From<io::Error> for Unclaimed {
    fn from(error: io::Error) -> Self {
        Self::Refused(error)
    }
}

/// Makes the folder (mode 0700) and the file (mode 0600) where they are missing, and takes the lock
/// beside it. The lock ends when what is returned is dropped, or with the process.
pub fn claim(path: &Path) -> Result<File, Unclaimed> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let lock = private().create(true).truncate(false).open(beside(path, ".lock"))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(Unclaimed::InUse),
        Err(TryLockError::Error(source)) => return Err(Unclaimed::Refused(source)),
    }
    match private().create_new(true).open(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error.into()),
        // The mode of a file would close a folder to everybody.
        Ok(_) | Err(_) if !fs::metadata(path)?.is_file() => {
            let error = io::Error::new(io::ErrorKind::InvalidInput, "it is there and is no file");
            return Err(error.into());
        }
        Ok(_) | Err(_) => fs::set_permissions(path, Permissions::from_mode(0o600))?,
    }
    Ok(lock)
}

/// The path with `end` added to its name.
pub fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    options
}
