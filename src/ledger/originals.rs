//! Arguments as they came, for an operator who asked for them: text in, sealed bytes out, and back
//! with the same key. Each is bound to its call, so that none can stand for another.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Salt};
use rustix::rand::{GetRandomFlags, getrandom};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::Error;

/// The form of sealed bytes: this byte, the key's sign, a salt, and the text with its tag.
const FORM: u8 = 1;
const SIGN_BYTES: usize = 8;
const SALT_BYTES: usize = 32;
const KEY_BYTES: usize = 32;
/// Sets these keys apart from any others that are made of the same bytes.
const PURPOSE: &[u8] = b"switchboard original arguments";
/// More than any key file holds.
const MAX_BYTES: u64 = 4096;
/// Permissions that the key must not give: writing to the group, anything to others.
const FORBIDDEN: u32 = 0o027;

/// Seals and opens original arguments.
pub(super) struct Vault {
    key: Zeroizing<[u8; KEY_BYTES]>,
    /// Tells this key from others, and nothing else of it.
    sign: [u8; SIGN_BYTES],
}

impl fmt::Debug for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vault").finish_non_exhaustive()
    }
}

impl Vault {
    /// Reads the key: 32 bytes in hex or base64, in a file that others cannot read.
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        let wrong = |reason: &str| Error::Key { path: path.to_owned(), reason: reason.to_owned() };
        let unopened = |source| Error::Open { path: path.to_owned(), source: Arc::new(source) };
        let file = File::open(path).map_err(unopened)?;
        let mode = file.metadata().map_err(unopened)?.permissions().mode();
        if mode & FORBIDDEN != 0 {
            return Err(wrong("others can read it, or its group can write it: chmod 600"));
        }
        let mut text = Zeroizing::new(String::new());
        file.take(MAX_BYTES)
            .read_to_string(&mut text)
            .map_err(|_no_text| wrong("it is no text: write 32 random bytes in hex or base64"))?;
        let bytes = Zeroizing::new(match hex::decode(text.trim()) {
            Ok(bytes) => bytes,
            Err(_no_hex) => STANDARD.decode(text.trim()).unwrap_or_default(),
        });
        let key: [u8; KEY_BYTES] = bytes.as_slice().try_into().map_err(|_length| {
            wrong("it does not hold 32 bytes in hex or base64: `openssl rand -hex 32` makes some")
        })?;
        let digest = Sha256::new().chain_update(PURPOSE).chain_update(key).finalize();
        let mut sign = [0; SIGN_BYTES];
        sign.iter_mut().zip(digest).for_each(|(to, from)| *to = from);
        Ok(Self { key: Zeroizing::new(key), sign })
    }

    /// A key of its own for each text, so that no nonce is ever used twice with one.
    fn derive(&self, salt: &[u8]) -> Option<LessSafeKey> {
        let secret = Salt::new(HKDF_SHA256, salt).extract(&self.key[..]);
        let key = secret.expand(&[PURPOSE], &CHACHA20_POLY1305).ok()?;
        Some(LessSafeKey::new(UnboundKey::from(key)))
    }

    /// Seals the arguments of a call.
    pub(super) fn seal(&self, call_id: &str, text: &str) -> Result<Vec<u8>, Error> {
        let failed = || Error::Original("it cannot be encrypted".to_owned());
        let mut salt = [0; SALT_BYTES];
        let drawn = getrandom(&mut salt[..], GetRandomFlags::empty()).unwrap_or_default();
        let key = self.derive(&salt).filter(|_| drawn == SALT_BYTES).ok_or_else(failed)?;
        let mut sealed = text.as_bytes().to_vec();
        key.seal_in_place_append_tag(first(), Aad::from(call_id), &mut sealed)
            .map_err(|_unspecified| failed())?;
        Ok([&[FORM], &self.sign[..], &salt[..], &sealed].concat())
    }

    /// Opens the arguments of a call.
    pub(super) fn reveal(&self, call_id: &str, sealed: &[u8]) -> Result<String, Error> {
        let wrong = |reason: &str| Error::Original(reason.to_owned());
        let changed = || wrong("it was changed after it was kept, or is that of another call");
        let (form, rest) = sealed.split_first().ok_or_else(changed)?;
        let (sign, rest) = rest.split_at_checked(SIGN_BYTES).ok_or_else(changed)?;
        let (salt, text) = rest.split_at_checked(SALT_BYTES).ok_or_else(changed)?;
        if *form != FORM {
            return Err(wrong("this version does not know its form"));
        }
        if sign != self.sign {
            return Err(wrong("it was kept with another key: give that one"));
        }
        let key = self.derive(salt).ok_or_else(changed)?;
        let mut text = text.to_vec();
        let opened = key.open_in_place(first(), Aad::from(call_id), &mut text);
        let opened = opened.map_err(|_unspecified| changed())?;
        String::from_utf8(opened.to_vec()).map_err(|_no_text| changed())
    }
}

/// Each key seals one text only.
fn first() -> Nonce {
    Nonce::assume_unique_for_key([0; 12])
}
