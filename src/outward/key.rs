//! The key of an endpoint: where it is kept in, the header that carries it out. Nothing prints it.

use std::fmt;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use hyper::header::HeaderValue;
use tokio_util::task::TaskTracker;
use zeroize::Zeroizing;

/// Longest key in bytes.
const LONGEST: usize = 8 << 10;

/// Where the key is.
pub(super) enum Key {
    None,
    /// From the environment, which does not change; or why there is none.
    Held(Result<Zeroizing<Vec<u8>>, String>),
    /// In a file, which is read each time, so that a new key needs no restart.
    File(PathBuf),
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

/// A key as it is sent.
pub(super) struct Sent {
    key: Zeroizing<Vec<u8>>,
}

impl Key {
    /// Where the key is; it need not be there yet.
    pub(super) fn open(file: Option<&Path>, variable: Option<&str>) -> Result<Self, String> {
        match (file, variable) {
            (None, None) => Ok(Self::None),
            (Some(_), Some(_)) => {
                Err("both `key_file` and `key_env` are there; keep one".to_owned())
            }
            (Some(file), None) => Ok(Self::File(file.to_owned())),
            (None, Some(name)) => Ok(Self::Held(from_environment(name))),
        }
    }

    /// Checks that it is there now, and can be sent. Blocks for as long as reading a small file takes.
    pub(super) fn check(&self) -> Result<(), String> {
        match self {
            Self::None => Ok(()),
            Self::Held(key) => key.as_ref().map(drop).map_err(Clone::clone),
            Self::File(path) => read(path).map(drop),
        }
    }

    /// The key as it is now; a file is read on `tasks`.
    pub(super) async fn read(&self, tasks: &TaskTracker) -> Result<Option<Sent>, String> {
        let key = match self {
            Self::None => return Ok(None),
            Self::Held(key) => key.clone()?,
            Self::File(path) => {
                let path = path.clone();
                let read = tasks.spawn_blocking(move || read(&path)).await;
                read.map_err(|error| error.to_string())??
            }
        };
        Ok(Some(Sent { key }))
    }
}

impl Sent {
    /// The value of the header that carries it, which prints as `Sensitive`.
    pub(super) fn header(&self, before: &str) -> Option<HeaderValue> {
        let text = Zeroizing::new([before.as_bytes(), &self.key].concat());
        let mut value = HeaderValue::from_bytes(&text).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// A text without the key, should it repeat it.
    pub(super) fn strike(&self, text: &str) -> String {
        match std::str::from_utf8(&self.key) {
            Ok(key) => text.replace(key, "[key]"),
            Err(_) => text.to_owned(),
        }
    }
}

fn from_environment(name: &str) -> Result<Zeroizing<Vec<u8>>, String> {
    // The name is said by the configuration.
    let value = std::env::var_os(name).ok_or_else(|| {
        format!("the environment variable `{name}` is not set; set it for the daemon")
    })?;
    let key = Zeroizing::new(value.as_bytes().to_vec());
    check(key).map_err(|why| format!("environment variable `{name}` {why}"))
}

fn read(path: &Path) -> Result<Zeroizing<Vec<u8>>, String> {
    let fail = |why: &str| format!("key file `{}` {why}", path.display());
    let unread = |error: std::io::Error| fail(&format!("cannot be read: {error}"));
    // A pipe in its place does not block.
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let mut options = std::fs::OpenOptions::new();
    let file = options.read(true).custom_flags(flags).open(path).map_err(unread)?;
    let mut key = Zeroizing::new(Vec::with_capacity(LONGEST + 2));
    let most = u64::try_from(LONGEST).unwrap_or(u64::MAX).saturating_add(2);
    file.take(most).read_to_end(&mut key).map_err(unread)?;
    while key.last().is_some_and(|byte| b"\r\n".contains(byte)) {
        key.pop();
    }
    check(key).map_err(|why| fail(&why))
}

fn check(key: Zeroizing<Vec<u8>>) -> Result<Zeroizing<Vec<u8>>, String> {
    if key.is_empty() {
        return Err("is empty; write the key into it".to_owned());
    }
    if key.len() > LONGEST {
        return Err(format!("is longer than {LONGEST} bytes"));
    }
    if key.iter().any(|byte| !(0x21..0x7f).contains(byte)) {
        return Err(
            "has spaces, line breaks or characters beyond ASCII; write the bare key".to_owned()
        );
    }
    Ok(key)
}
