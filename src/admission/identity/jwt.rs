//! Signed tokens: the keys of a JWKS file and what tokens must say, and one token, in; its caller
//! out. Algorithms are pinned: what a token's own header says is compared, never believed.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::jwk::{Jwk, JwkSet, KeyOperations, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::{Caller, REMOTE, Unproven, is_reserved};
use crate::admission::Error;
use crate::config::duration;

/// Longest token in bytes.
const LONGEST: usize = 16 << 10;
/// Longest name of a caller or tenant in bytes.
const LONGEST_NAME: usize = 512;
/// Longest that a token which may be used once can be valid: until then it is remembered.
const LONGEST_ONCE: Duration = Duration::from_secs(24 * 3600);
/// Tokens that are remembered at most; further ones are refused until some have expired.
const MOST_USED: usize = 1 << 20;

/// How signed tokens are checked.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// File with the issuer's public keys (RFC 7517). Read again on reload.
    pub jwks: PathBuf,
    /// What `iss` must be.
    pub issuer: String,
    /// What `aud` must be, or hold.
    pub audience: String,
    /// Signature algorithms that are taken; default `["RS256", "ES256", "EdDSA"]`. Those with a
    /// shared secret are never taken.
    #[serde(default = "usual")]
    pub algorithms: Vec<String>,
    /// Claim with the caller's name; default `sub`.
    #[serde(default = "subject")]
    pub name_claim: String,
    /// Claim with the tenant; default none, so that all are of the tenant `default`.
    pub tenant_claim: Option<String>,
    /// Claim with the roles, an array or words; default none.
    pub roles_claim: Option<String>,
    /// How far the clocks may differ; default 30 s.
    #[serde(default = "leeway", with = "duration")]
    pub leeway: Duration,
    /// Whether a token may be used only once; it then needs a `jti`, and must expire within a day.
    #[serde(default)]
    pub single_use: bool,
}

fn usual() -> Vec<String> {
    ["RS256", "ES256", "EdDSA"].map(str::to_owned).to_vec()
}

fn subject() -> String {
    "sub".to_owned()
}

const fn leeway() -> Duration {
    Duration::from_secs(30)
}

/// The ids of tokens that were used, with the second in which each expires.
#[derive(Debug, Default)]
pub(super) struct Used(Mutex<Ids>);

#[derive(Debug, Default)]
struct Ids {
    /// The hash of each id, and when it expires.
    known: HashMap<[u8; 32], i64>,
    swept: i64,
}

impl Used {
    /// Notes a use, the first one only.
    fn note(&self, id: &str, expires: i64) -> Result<(), Unproven> {
        let mut used = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Timestamp::now().as_second();
        if used.known.len() >= MOST_USED && used.swept != now {
            used.swept = now;
            used.known.retain(|_, at| *at >= now);
        }
        if used.known.len() >= MOST_USED {
            tracing::error!("too many single-use tokens are remembered; none is taken for now");
            return Err(Unproven::Unknown);
        }
        let id = Sha256::digest(id.as_bytes()).into();
        match used.known.insert(id, expires) {
            None => Ok(()),
            Some(_) => Err(Unproven::Replayed),
        }
    }
}

/// Checks signed tokens.
#[derive(Debug)]
pub(super) struct Jwt {
    config: Config,
    keys: Vec<Key>,
}

struct Key {
    id: Option<String>,
    algorithms: Vec<Algorithm>,
    key: DecodingKey,
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Key").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Whether a token has the three parts of a signed one.
pub(super) fn looks_like_one(token: &str) -> bool {
    token.len() <= LONGEST && token.split('.').count() == 3
}

impl Jwt {
    pub(super) fn read(config: &Config) -> Result<Self, Error> {
        let algorithms = config.pinned()?;
        let failed = |reason: String| Error::File { path: config.jwks.clone(), reason };
        let text = std::fs::read_to_string(&config.jwks).map_err(|e| failed(e.to_string()))?;
        let set: JwkSet = serde_json::from_str(&text).map_err(|e| failed(e.to_string()))?;
        let keys: Vec<Key> = set.keys.iter().filter_map(|key| Key::new(key, &algorithms)).collect();
        if keys.is_empty() {
            return Err(failed("no key in it serves to check one of the algorithms".to_owned()));
        }
        Ok(Self { config: config.clone(), keys })
    }

    /// The caller whom the token names.
    pub(super) fn check(&self, token: &str, used: &Used) -> Result<Caller, Unproven> {
        let header = header(token).ok_or(Unproven::Malformed)?;
        // An extension that we must understand, and we know none.
        if header.contains_key("crit") {
            return Err(Unproven::Malformed);
        }
        let text = |name: &str| header.get(name).and_then(Value::as_str);
        let algorithm: Algorithm =
            text("alg").and_then(|name| name.parse().ok()).ok_or(Unproven::Algorithm)?;
        let fits = |key: &&Key| key.algorithms.contains(&algorithm);
        let mut keys = self.keys.iter().filter(fits).peekable();
        keys.peek().ok_or(Unproven::Algorithm)?;
        let id = text("kid");
        let named = |key: &&Key| id.is_none() || key.id.is_none() || key.id.as_deref() == id;
        let mut outcome = Err(Unproven::Unknown);
        for key in keys.filter(named) {
            match jsonwebtoken::decode::<Map<String, Value>>(
                token,
                &key.key,
                &self.validation(algorithm),
            ) {
                Ok(token) => return self.caller(&token.claims, used),
                Err(error) => outcome = Err(why(error.kind())),
            }
        }
        outcome
    }

    fn validation(&self, algorithm: Algorithm) -> Validation {
        let mut validation = Validation::new(algorithm);
        validation.set_required_spec_claims(&["exp", "iss", "aud"]);
        validation.set_issuer(&[&self.config.issuer]);
        validation.set_audience(&[&self.config.audience]);
        validation.validate_nbf = true;
        validation.leeway = self.config.leeway.as_secs();
        validation
    }

    fn caller(&self, claims: &Map<String, Value>, used: &Used) -> Result<Caller, Unproven> {
        let text = |name: &str| claims.get(name).and_then(Value::as_str).map(str::to_owned);
        let name = text(&self.config.name_claim)
            .filter(|name| is_plain(name) && !is_reserved(name))
            .ok_or(Unproven::Malformed)?;
        let tenant = match &self.config.tenant_claim {
            Some(claim) => {
                Some(text(claim).filter(|tenant| is_plain(tenant)).ok_or(Unproven::Malformed)?)
            }
            None => None,
        };
        let roles = match self.config.roles_claim.as_ref().and_then(|claim| claims.get(claim)) {
            Some(Value::Array(roles)) => {
                roles.iter().filter_map(Value::as_str).map(str::to_owned).collect()
            }
            Some(Value::String(words)) => words.split_whitespace().map(str::to_owned).collect(),
            _ => Vec::new(),
        };
        if self.config.single_use {
            let id = text("jti").ok_or(Unproven::Malformed)?;
            let expires = claims.get("exp").and_then(Value::as_f64).ok_or(Unproven::Malformed)?;
            let leeway = self.config.leeway.as_secs_f64();
            let now = Duration::try_from(Timestamp::now().as_duration()).unwrap_or_default();
            if expires > (now + LONGEST_ONCE).as_secs_f64() {
                return Err(Unproven::Malformed);
            }
            // Kept while the clock's leeway still lets it in.
            let until = Duration::try_from_secs_f64(expires + leeway).unwrap_or_default();
            used.note(&id, i64::try_from(until.as_secs()).unwrap_or(i64::MAX))?;
        }
        Ok(Caller::new(name, tenant.as_ref(), REMOTE, &roles))
    }
}

impl Config {
    fn pinned(&self) -> Result<Vec<Algorithm>, Error> {
        let wrong = |name: &str| Error::Setting {
            key: "admission.identity.jwt.algorithms",
            reason: format!(
                "`{name}` is none of RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, EdDSA"
            ),
        };
        if self.algorithms.is_empty() {
            return Err(wrong(""));
        }
        let pin = |name: &String| match name.parse() {
            Ok(Algorithm::HS256 | Algorithm::HS384 | Algorithm::HS512) | Err(_) => Err(wrong(name)),
            Ok(algorithm) => Ok(algorithm),
        };
        self.algorithms.iter().map(pin).collect()
    }
}

impl Key {
    /// `None` for a key that does not check signatures of a pinned algorithm.
    fn new(jwk: &Jwk, pinned: &[Algorithm]) -> Option<Self> {
        let common = &jwk.common;
        let encrypts =
            common.public_key_use.as_ref().is_some_and(|what| *what != PublicKeyUse::Signature);
        let others = common
            .key_operations
            .as_ref()
            .is_some_and(|operations| !operations.contains(&KeyOperations::Verify));
        if encrypts || others {
            return None;
        }
        let key = DecodingKey::from_jwk(jwk).ok()?;
        let stated = common.key_algorithm.map(|stated| stated.to_string());
        let algorithms: Vec<Algorithm> = pinned
            .iter()
            .copied()
            .filter(|algorithm| algorithm.family() == key.family())
            .filter(|algorithm| {
                stated.as_ref().is_none_or(|stated| stated.parse().ok() == Some(*algorithm))
            })
            .collect();
        let id = common.key_id.clone();
        (!algorithms.is_empty()).then_some(Self { id, algorithms, key })
    }
}

fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.len() <= LONGEST_NAME && !text.chars().any(char::is_control)
}

fn header(token: &str) -> Option<Map<String, Value>> {
    let first = token.split('.').next()?;
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(first).ok()?).ok()
}

fn why(kind: &ErrorKind) -> Unproven {
    match kind {
        ErrorKind::ExpiredSignature => Unproven::Expired,
        ErrorKind::ImmatureSignature => Unproven::Early,
        ErrorKind::InvalidIssuer | ErrorKind::InvalidAudience => Unproven::Foreign,
        ErrorKind::InvalidAlgorithm | ErrorKind::InvalidAlgorithmName => Unproven::Algorithm,
        ErrorKind::InvalidSignature => Unproven::Unknown,
        _ => Unproven::Malformed,
    }
}
