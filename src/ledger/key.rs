//! The Ed25519 key that signs a ledger's checkpoints, and its public half, with which a reviewer
//! checks them. Makes the key's file when there is none; knows nothing of records.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{PrivatePkcs8KeyDer, SubjectPublicKeyInfoDer};
use serde::{Serialize, Serializer};
use zeroize::Zeroizing;

use super::Error;

/// What stands before the 32 bytes of a private key in PKCS #8 (RFC 8410).
const PKCS8: [u8; 16] = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
/// What stands before the 32 bytes of a public key in its X.509 form (RFC 8410).
const SPKI: [u8; 12] = [0x30, 0x2a, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 3, 0x21, 0];
/// Permissions that a private key must not give: writing to the group, anything to others.
const FORBIDDEN: u32 = 0o027;
/// More than any key file holds.
const MAX_BYTES: u64 = 16 << 10;

/// The half of a ledger's key that everybody may know.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PublicKey([u8; 32]);

impl PublicKey {
    /// Reads 64 hex digits, or PEM as [`PublicKey::to_pem`] and OpenSSL write it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Ok(bytes) = hex::decode(text) {
            let key = bytes.try_into().map(Self);
            return key.map_err(|_length| "a public key has 64 hex digits".to_owned());
        }
        let der = SubjectPublicKeyInfoDer::from_pem_slice(text.as_bytes())
            .map_err(|_no_pem| "neither 64 hex digits nor a public key in PEM".to_owned())?;
        let bytes = der.strip_prefix(&SPKI).and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or_else(|| "the key in the PEM is not of Ed25519".to_owned())
    }

    /// The key in PEM, for other programs.
    pub fn to_pem(&self) -> String {
        pem("PUBLIC KEY", &SPKI, &self.0)
    }

    /// Whether the key's owner signed the message.
    pub(super) fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, self.0).verify(message, signature).is_ok()
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for PublicKey {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// The whole key.
pub(super) struct Key {
    pair: Ed25519KeyPair,
    public: PublicKey,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("public", &self.public).finish_non_exhaustive()
    }
}

impl Key {
    /// Reads the key from its file. Makes it, with mode 0600, when there is no file and the ledger
    /// has no key yet; `known` is the one that it has.
    pub(super) fn open(path: &Path, known: Option<PublicKey>) -> Result<Self, Error> {
        let wrong = |reason: &str| Error::Key { path: path.to_owned(), reason: reason.to_owned() };
        let key = match fs::File::open(path) {
            Ok(file) => Self::read(path, file)?,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                if known.is_some() {
                    return Err(wrong(
                        "it is missing: put it back, or move the ledger away with it",
                    ));
                }
                Self::make(path)?
            }
            Err(source) => return Err(unopened(path)(source)),
        };
        match known {
            Some(known) if known != key.public => Err(wrong(&format!(
                "its public half is {}, and the ledger is signed with {known}: put the old key back",
                key.public
            ))),
            Some(_) | None => Ok(key),
        }
    }

    fn read(path: &Path, file: fs::File) -> Result<Self, Error> {
        let wrong = |reason: &str| Error::Key { path: path.to_owned(), reason: reason.to_owned() };
        let mode = file.metadata().map_err(unopened(path))?.permissions().mode();
        if mode & FORBIDDEN != 0 {
            return Err(wrong("others can read it, or its group can write it: chmod 600"));
        }
        let mut text = Zeroizing::new(Vec::new());
        file.take(MAX_BYTES).read_to_end(&mut text).map_err(unopened(path))?;
        let der = PrivatePkcs8KeyDer::from_pem_slice(&text)
            .map_err(|_no_pem| wrong("it is no private key in PEM"))?;
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(der.secret_pkcs8_der());
        Self::of_pair(pair).ok_or_else(|| wrong("it is no key of Ed25519"))
    }

    fn make(path: &Path) -> Result<Self, Error> {
        let mut seed = Zeroizing::new([0; 32]);
        rustix::rand::getrandom(&mut seed[..], rustix::rand::GetRandomFlags::empty())
            .map_err(|error| unopened(path)(error.into()))?;
        let text = Zeroizing::new(pem("PRIVATE KEY", &PKCS8, &seed[..]));
        // Under its name there is the whole key or none.
        let mut fresh = path.as_os_str().to_owned();
        fresh.push(".new");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        options
            .open(&fresh)
            .and_then(|mut file| {
                file.write_all(text.as_bytes())?;
                file.sync_all()
            })
            .and_then(|()| fs::rename(&fresh, path))
            .map_err(unopened(path))?;
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed[..]);
        Self::of_pair(pair).ok_or_else(|| Error::Key {
            path: path.to_owned(),
            reason: "it cannot be used".to_owned(),
        })
    }

    fn of_pair(pair: Result<Ed25519KeyPair, ring::error::KeyRejected>) -> Option<Self> {
        let pair = pair.ok()?;
        let public = PublicKey(pair.public_key().as_ref().try_into().ok()?);
        Some(Self { pair, public })
    }

    pub(super) const fn public(&self) -> PublicKey {
        self.public
    }

    pub(super) fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.pair.sign(message).as_ref().to_vec()
    }
}

fn unopened(path: &Path) -> impl Fn(std::io::Error) -> Error {
    move |source| Error::Open { path: path.to_owned(), source: Arc::new(source) }
}

fn pem(label: &str, head: &[u8], body: &[u8]) -> String {
    let der = Zeroizing::new([head, body].concat());
    // Short enough for one line of 64 characters.
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", STANDARD.encode(&der[..]))
}
