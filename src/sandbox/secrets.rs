//! Values of secrets: read from the daemon's environment and files, kept where nothing prints them,
//! read again when they change. A profile in, its [`Keyring`] out; who gets what is the gate's.

use std::collections::HashMap;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use zeroize::Zeroizing;

use super::Error;
use super::egress::Keyring;
use crate::catalog::{Origin, Profile, Secret};
use crate::config::Look;

/// Longest value in bytes; headers of common servers end at 8 KiB.
const LONGEST: usize = 8 << 10;
/// Longest wait of a call for values.
const PATIENCE: Duration = Duration::from_secs(2);
/// Threads that read values for calls.
const READERS: usize = 4;
/// Shorter ones cannot be told apart from ordinary text, so they could not be masked in answers.
const SHORTEST: usize = 8;

/// A value. It can be neither printed nor serialised, and is wiped when it is dropped.
pub(super) struct Hidden(Zeroizing<Vec<u8>>);

impl Hidden {
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        Self(Zeroizing::new(bytes))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// A value as it was last read well.
struct Held {
    value: Arc<Hidden>,
    /// Of the file that it was read from; `None` to have it read again.
    look: Option<Look>,
}

/// The values of one profile, made into what the gate needs.
struct Ring {
    secrets: Vec<Secret>,
    values: Vec<Arc<Hidden>>,
    keyring: Arc<Keyring>,
}

/// All values that are in use.
pub(super) struct Vault {
    shelves: Mutex<Shelves>,
    none: Arc<Keyring>,
    /// What was lacking when that was last looked at.
    lacking: Mutex<Vec<String>>,
    /// Calls that read values at once: threads that hang are few.
    readers: Arc<Semaphore>,
}

impl Default for Vault {
    fn default() -> Self {
        Self {
            shelves: Mutex::default(),
            none: Arc::default(),
            lacking: Mutex::default(),
            readers: Arc::new(Semaphore::new(READERS)),
        }
    }
}

#[derive(Default)]
struct Shelves {
    held: HashMap<Origin, Held>,
    rings: HashMap<String, Ring>,
    /// Profiles with a value that was never read, and why.
    lacking: HashMap<String, (Arc<Profile>, String)>,
    /// What was said in the log last of each source, so that it is said once.
    complaints: HashMap<Origin, String>,
}

impl fmt::Debug for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Vault")
    }
}

impl Vault {
    fn open(&self) -> MutexGuard<'_, Shelves> {
        self.shelves.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The keyring of a profile for a call, without holding up other calls: a file on a share that
    /// hangs costs one of a few threads, and the calls that need it a bounded wait.
    pub(super) async fn fetch(
        self: &Arc<Self>,
        profile: &Arc<Profile>,
    ) -> Result<Arc<Keyring>, Error> {
        if profile.secrets.is_empty() {
            return Ok(Arc::clone(&self.none));
        }
        let (vault, wanted) = (Arc::clone(self), Arc::clone(profile));
        let read = async {
            let place = Arc::clone(&self.readers).acquire_owned().await.ok()?;
            let read = tokio::task::spawn_blocking(move || {
                let _place = place;
                vault.keyring(&wanted)
            });
            read.await.ok()
        };
        let read = tokio::time::timeout(PATIENCE, read).await.ok().flatten();
        read.unwrap_or_else(|| {
            let reason = format!(
                "those of profile `{}` could not be read within {} s; look at where they are kept",
                profile.name,
                PATIENCE.as_secs()
            );
            Err(Error::Config { key: "secrets", reason })
        })
    }

    /// The keyring of a profile. A file that changed is read again; where that fails, the value that
    /// was read last stays in use and the log says so. An error only where there never was one.
    pub(super) fn keyring(&self, profile: &Arc<Profile>) -> Result<Arc<Keyring>, Error> {
        if profile.secrets.is_empty() {
            return Ok(Arc::clone(&self.none));
        }
        self.open().ring(profile).map_err(|reason| Error::Config { key: "secrets", reason })
    }

    /// Reads all values anew, and forgets those that none of `profiles` has.
    pub(super) fn furnish(&self, profiles: &[Arc<Profile>]) {
        let mut shelves = self.open();
        let wanted = |origin: &Origin| {
            profiles.iter().any(|p| p.secrets.iter().any(|secret| secret.from == *origin))
        };
        shelves.held.retain(|origin, _| wanted(origin));
        shelves.complaints.retain(|origin, _| wanted(origin));
        shelves.rings.retain(|name, _| profiles.iter().any(|profile| profile.name == *name));
        shelves.lacking.clear();
        for held in shelves.held.values_mut() {
            held.look = None;
        }
        for profile in profiles.iter().filter(|profile| !profile.secrets.is_empty()) {
            // What could not be read is kept in `lacking`.
            drop(shelves.ring(profile));
        }
    }

    /// Tries again what could not be read, and tells what still cannot.
    pub(super) fn lacking(&self) -> Vec<String> {
        let mut known = self.lacking.lock().unwrap_or_else(PoisonError::into_inner);
        // While a call reads a value, what was known before holds.
        let Ok(mut shelves) = self.shelves.try_lock() else { return known.clone() };
        let open: Vec<_> =
            shelves.lacking.values().map(|(profile, _)| Arc::clone(profile)).collect();
        for profile in open {
            drop(shelves.ring(&profile));
        }
        let line = |(profile, reason): &(Arc<Profile>, String)| {
            format!("profile `{}`: {reason}", profile.name)
        };
        let mut lines: Vec<String> = shelves.lacking.values().map(line).collect();
        lines.sort();
        known.clone_from(&lines);
        lines
    }
}

impl Shelves {
    fn ring(&mut self, profile: &Arc<Profile>) -> Result<Arc<Keyring>, String> {
        let values: Result<Vec<_>, _> =
            profile.secrets.iter().map(|secret| self.value(&profile.name, secret)).collect();
        let values = match values {
            Ok(values) => values,
            Err(reason) => {
                let entry = (Arc::clone(profile), reason.clone());
                self.lacking.insert(profile.name.clone(), entry);
                return Err(reason);
            }
        };
        self.lacking.remove(&profile.name);
        if let Some(ring) = self.rings.get(&profile.name)
            && ring.secrets == profile.secrets
            && ring.values.iter().zip(&values).all(|(old, new)| Arc::ptr_eq(old, new))
        {
            return Ok(Arc::clone(&ring.keyring));
        }
        let keyring = Arc::new(Keyring::new(&profile.secrets, &values));
        let secrets = profile.secrets.clone();
        let ring = Ring { secrets, values, keyring: Arc::clone(&keyring) };
        self.rings.insert(profile.name.clone(), ring);
        Ok(keyring)
    }

    /// The value of a secret: as it stands now, or as it was last read.
    fn value(&mut self, profile: &str, secret: &Secret) -> Result<Arc<Hidden>, String> {
        let held = self.held.get(&secret.from);
        let known = held.and_then(|held| held.look);
        let last = held.map(|held| Arc::clone(&held.value));
        let reason = match (read(&secret.from, known), last.clone()) {
            (Ok(Some((value, look))), _) => return Ok(self.hold(&secret.from, value, look)),
            (Ok(None), Some(value)) => return Ok(value),
            (Ok(None), None) => "is not there".to_owned(),
            (Err(reason), _) => reason,
        };
        let reason = format!("secret `{}`: {reason}", secret.name);
        if self.complaints.insert(secret.from.clone(), reason.clone()).as_ref() != Some(&reason) {
            let kept = last.is_some();
            metrics::counter!("switchboard_sandbox_secret_errors_total").increment(1);
            tracing::error!(profile, last_good_value_stays = kept, "{reason}");
        }
        last.ok_or(reason)
    }

    fn hold(&mut self, origin: &Origin, value: Hidden, look: Option<Look>) -> Arc<Hidden> {
        self.complaints.remove(origin);
        let same = self.held.get_mut(origin).filter(|held| held.value.bytes() == value.bytes());
        if let Some(held) = same {
            held.look = look;
            return Arc::clone(&held.value);
        }
        let value = Arc::new(value);
        self.held.insert(origin.clone(), Held { value: Arc::clone(&value), look });
        value
    }
}

/// Reads a value; `None` when the file is still the one that `known` was taken of.
fn read(origin: &Origin, known: Option<Look>) -> Result<Option<(Hidden, Option<Look>)>, String> {
    match origin {
        Origin::Env(name) => {
            let missing = || {
                format!(
                    "environment variable `{name}` is not set; set it for the daemon and restart"
                )
            };
            // Which variables there are is said by the profiles, not by the configuration.
            let value = std::env::var_os(name).ok_or_else(missing)?;
            let value = check(Zeroizing::new(value.as_bytes().to_vec()));
            let value = value.map_err(|why| format!("environment variable `{name}` {why}"))?;
            Ok(Some((value, None)))
        }
        Origin::File(path) => {
            let fail = |why: &str| format!("file `{}` {why}", path.display());
            let unread = |error: std::io::Error| fail(&format!("cannot be read: {error}"));
            let now = Look::of(&std::fs::metadata(path).map_err(unread)?);
            if known == Some(now) {
                return Ok(None);
            }
            let (file, found) = open(path).map_err(unread)?;
            let mut text = Zeroizing::new(Vec::with_capacity(LONGEST + 3));
            let most = u64::try_from(LONGEST).unwrap_or(u64::MAX).saturating_add(3);
            file.take(most).read_to_end(&mut text).map_err(unread)?;
            let end = [&b"\r\n"[..], b"\n"].into_iter().find(|end| text.ends_with(end));
            let kept = text.len() - end.map_or(0, <[u8]>::len);
            text.truncate(kept);
            Ok(Some((check(text).map_err(|why| fail(&why))?, Some(found))))
        }
    }
}

/// Opens a regular file; a pipe in its place does not block.
fn open(path: &Path) -> std::io::Result<(File, Look)> {
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(std::io::Error::other("it is no regular file"));
    }
    Ok((file, Look::of(&found)))
}

/// Refuses what no header can carry, and what could not be found again in an answer.
fn check(mut value: Zeroizing<Vec<u8>>) -> Result<Hidden, String> {
    if value.is_empty() {
        return Err("is empty; write the value into it".to_owned());
    }
    if value.len() > LONGEST {
        return Err(format!("is longer than {LONGEST} bytes, the most that a header can carry"));
    }
    if value.iter().any(|byte| !(0x20..0x7f).contains(byte)) {
        return Err("has line breaks, control characters or characters beyond ASCII; write the \
                    bare value"
            .to_owned());
    }
    if value.first() == Some(&b' ') || value.last() == Some(&b' ') {
        return Err("begins or ends with a space; write the bare value".to_owned());
    }
    if value.len() < SHORTEST {
        return Err(format!(
            "is shorter than {SHORTEST} characters, too short to be masked in answers; make a \
             longer one"
        ));
    }
    Ok(Hidden::new(std::mem::take(&mut *value)))
}
