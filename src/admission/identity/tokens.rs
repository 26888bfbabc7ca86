//! Static bearer tokens: a TOML file with their SHA-256 hashes in, the caller of a token out. A
//! token has 256 random bits, so its plain hash tells nothing and is compared by lookup.

use std::collections::HashMap;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::{Caller, REMOTE, Unproven, is_reserved};
use crate::admission::Error;

/// What tokens of ours start with, so that a leaked one is recognised.
const PREFIX: &str = "swb_";

/// The known tokens by their hash.
#[derive(Debug)]
pub(super) struct Tokens(HashMap<[u8; 32], Entry>);

#[derive(Debug)]
struct Entry {
    caller: Caller,
    expires: Option<Timestamp>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    token: Vec<Row>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    tenant: Option<String>,
    #[serde(default)]
    roles: Vec<String>,
    sha256: String,
    expires: Option<String>,
}

/// A token that was just made, and what the file of tokens holds of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewToken {
    /// The token; shown once.
    pub token: String,
    /// Its hash in hexadecimal digits.
    pub sha256: String,
}

/// Makes a token from 32 random bytes.
pub fn mint(random: [u8; 32]) -> NewToken {
    let token = format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(random));
    NewToken { sha256: hex::encode(hash(&token)), token }
}

fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

impl Tokens {
    pub(super) fn read(path: &Path) -> Result<Self, Error> {
        let failed = |reason: String| Error::File { path: path.to_owned(), reason };
        let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
        let file: File = toml::from_str(&text).map_err(|error| failed(error.to_string()))?;
        let mut known = HashMap::new();
        for row in file.token {
            let (key, entry) = row.read().map_err(&failed)?;
            let name = entry.caller.name.clone();
            if known.insert(key, entry).is_some() {
                return Err(failed(format!("the hash of `{name}` stands there twice")));
            }
        }
        Ok(Self(known))
    }

    /// The caller of `token`; `None` when there is no such token.
    pub(super) fn find(&self, token: &str) -> Option<Result<Caller, Unproven>> {
        let entry = self.0.get(&hash(token))?;
        let late = entry.expires.is_some_and(|at| at <= Timestamp::now());
        Some(if late { Err(Unproven::Expired) } else { Ok(entry.caller.clone()) })
    }
}

impl Row {
    fn read(self) -> Result<([u8; 32], Entry), String> {
        let Self { name, tenant, roles, sha256, expires } = self;
        if name.trim().is_empty() {
            return Err("a token has no name".to_owned());
        }
        if is_reserved(&name) {
            return Err(format!("`{name}` is a name of callers on this machine; take another"));
        }
        let mut key = [0; 32];
        hex::decode_to_slice(&sha256, &mut key)
            .map_err(|_bad| format!("the sha256 of `{name}` is not 64 hex digits"))?;
        let expires = expires
            .map(|at| {
                at.parse().map_err(|_bad| {
                    format!("`{at}` of `{name}` is not a time such as 2030-01-31T00:00:00Z")
                })
            })
            .transpose()?;
        Ok((key, Entry { caller: Caller::new(name, tenant.as_ref(), REMOTE, &roles), expires }))
    }
}
