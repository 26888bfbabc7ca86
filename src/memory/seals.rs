//! Keys that make placeholders the same in every unit of a tenant: the daemon's key file and a tenant in,
//! that tenant's key out. Makes the file where there is none; redacts nothing.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use ring::hmac;
use zeroize::Zeroizing;

use super::store::Error;

/// Bytes of the key.
const BYTES: usize = 32;
/// More than the key's file holds.
const LONGEST: u64 = 4096;
/// Permissions that the file must not give: writing to the group, anything to others.
const FORBIDDEN: u32 = 0o027;
/// What the tenants' keys are made for.
const PURPOSE: &[u8] = b"switchboard memory placeholders 1\0";

/// The keys, from a file that is read, or made, when the first is needed.
pub struct Seals {
    path: PathBuf,
    key: Mutex<Option<hmac::Key>>,
}

/// The key of one tenant.
pub(super) struct Seal(Zeroizing<Vec<u8>>);

impl Seal {
    /// Its bytes.
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Seals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seals").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Seals {
    /// Keys from this file.
    pub const fn new(path: PathBuf) -> Self {
        Self { path, key: Mutex::new(None) }
    }

    /// The key of a tenant; an error where the file can neither be read nor made.
    pub(super) fn of_tenant(&self, tenant: &str) -> Result<Seal, Error> {
        let mut held = self.key.lock().unwrap_or_else(PoisonError::into_inner);
        let key = match &mut *held {
            Some(key) => key,
            none => none.insert(self.open().map_err(|reason| Error::Open {
                place: self.path.display().to_string(),
                reason: format!("it keeps the key of placeholders: {reason}"),
            })?),
        };
        let mut context = hmac::Context::with_key(key);
        context.update(PURPOSE);
        context.update(tenant.as_bytes());
        Ok(Seal(Zeroizing::new(context.sign().as_ref().to_vec())))
    }

    fn open(&self) -> Result<hmac::Key, String> {
        let bytes = match File::open(&self.path) {
            Ok(file) => read(file)?,
            Err(error) if error.kind() == ErrorKind::NotFound => self.make()?,
            Err(error) => return Err(error.to_string()),
        };
        Ok(hmac::Key::new(hmac::HMAC_SHA256, &bytes))
    }

    /// Makes the file; one that another daemon made at the same moment counts.
    fn make(&self) -> Result<Zeroizing<Vec<u8>>, String> {
        let mut bytes = Zeroizing::new(vec![0; BYTES]);
        rustix::rand::getrandom(&mut bytes[..], rustix::rand::GetRandomFlags::empty())
            .map_err(|error| error.to_string())?;
        let text = Zeroizing::new(hex::encode(&bytes[..]));
        // Under its name there is the whole key or none, and none is overwritten.
        let mut fresh = self.path.as_os_str().to_owned();
        fresh.push(format!(".{}", uuid::Uuid::now_v7()));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let written = options.open(&fresh).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        });
        let linked = written.and_then(|()| fs::hard_link(&fresh, &self.path));
        let cleared = fs::remove_file(&fresh);
        match linked {
            Ok(()) => cleared.map(|()| bytes).map_err(|error| error.to_string()),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                File::open(&self.path).map_err(|error| error.to_string()).and_then(read)
            }
            Err(error) => Err(error.to_string()),
        }
    }
}

fn read(file: File) -> Result<Zeroizing<Vec<u8>>, String> {
    let told = |error: io::Error| error.to_string();
    if file.metadata().map_err(told)?.permissions().mode() & FORBIDDEN != 0 {
        return Err("others can read it, or its group can write it: chmod 600".to_owned());
    }
    let mut text = Zeroizing::new(String::new());
    file.take(LONGEST).read_to_string(&mut text).map_err(told)?;
    let bytes = hex::decode(text.trim()).map(Zeroizing::new);
    let bytes = bytes.ok().filter(|bytes| bytes.len() == BYTES);
    bytes.ok_or_else(|| format!("it does not hold {BYTES} bytes in hex"))
}
