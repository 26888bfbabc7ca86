//! Who is at the other end: a [`Peer`], as connection and metadata show it, in; the [`Caller`] whom
//! that proves out, or why it proves nobody. Admits nothing.

mod certificates;
mod jwt;
mod tokens;
#[cfg(test)]
mod tests;

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use arc_swap::ArcSwap;
use serde::{Deserialize, Serialize};

use super::{Config, Error};
use crate::config::Stamp;
use certificates::Certificate;
use jwt::Jwt;
use tokens::Tokens;

pub use certificates::names;
pub use tokens::{NewToken, mint};

/// Role of a caller on this machine who shows no token.
const LOCAL: &str = "local";
/// Role of every other caller.
const REMOTE: &str = "remote";
/// Tenant of a caller for whom none is named.
const TENANT: &str = "default";

/// How callers beyond the local socket are known.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rules {
    /// Whether a loopback TCP connection without any proof is the caller `loopback`. Default: yes,
    /// until tokens, JWTs or certificates are configured.
    pub open_loopback: Option<bool>,
    /// TOML file with hashed bearer tokens; default none.
    pub tokens: Option<PathBuf>,
    /// How signed tokens are checked; default not at all.
    pub jwt: Option<jwt::Config>,
    /// Names of client certificates, and what their holders are called. Empty: every certificate
    /// of the client CA is a caller under its own name.
    pub certificates: Vec<Certificate>,
}

/// What a local user is called.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct User {
    /// Numeric user id, as the kernel reports it for the socket's peer.
    pub uid: Option<u32>,
    /// Numeric group id of the peer; for users who have no entry of their own.
    pub gid: Option<u32>,
    /// Caller name; default `uid:N`.
    pub name: Option<String>,
    /// Tenant; default `default`.
    pub tenant: Option<String>,
    /// Roles beside `local`.
    #[serde(default)]
    pub roles: Vec<String>,
}

/// The other end of a connection, as the transport knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Link {
    /// A process on this machine, over the Unix socket.
    Unix {
        /// Its user id, from the kernel.
        uid: u32,
        /// Its group id, from the kernel.
        gid: u32,
    },
    /// A TCP connection in the clear.
    Tcp(SocketAddr),
    /// A TLS connection, with the names that the client's certificate proves; empty without one.
    Tls(Vec<String>),
    /// This daemon itself, or a test of it.
    Inside,
}

/// Who may be calling: the connection, and what the call's metadata bring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// The connection.
    pub link: Link,
    /// The `authorization` of the call, as it came.
    pub authorization: Option<String>,
}

impl Peer {
    /// What there is to prove who it is, in words, without any secret.
    pub fn proof(&self) -> String {
        let token = self.authorization.as_deref().map(|shown| match bearer(shown) {
            Ok(token) if jwt::looks_like_one(token) => "signed token",
            Ok(_) | Err(_) => "bearer token",
        });
        match (&self.link, token) {
            (Link::Unix { uid, gid }, None) => format!("socket peer uid {uid} gid {gid}"),
            (Link::Unix { uid, .. }, Some(token)) => format!("{token}, from socket peer uid {uid}"),
            (Link::Tcp(from), Some(token)) => format!("{token}, from {}", from.ip()),
            (Link::Tcp(from), None) => format!("connection from {}", from.ip()),
            (Link::Tls(_), Some(token)) => format!("{token}, over TLS"),
            (Link::Tls(names), None) => {
                format!("certificate of {}", names.first().map_or("nobody", String::as_str))
            }
            (Link::Inside, _) => "the daemon itself".to_owned(),
        }
    }
}

impl From<Link> for Peer {
    fn from(link: Link) -> Self {
        Self { link, authorization: None }
    }
}

/// Who sent a call.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Caller {
    /// Stable name, for example `uid:1000`, `loopback` or `spiffe://prod/planner`.
    pub name: String,
    /// The tenant whose data the caller may touch; scopes cache and duplicates.
    pub tenant: String,
    /// Roles that policies can name.
    pub roles: Vec<String>,
}

/// Whether a name is one that only this machine's own callers have.
fn is_reserved(name: &str) -> bool {
    name.starts_with("uid:") || name == "loopback" || name == "switchboard"
}

impl Caller {
    fn new(name: String, tenant: Option<&String>, origin: &str, roles: &[String]) -> Self {
        let mut all = vec![origin.to_owned()];
        all.extend(roles.iter().filter(|role| *role != LOCAL && *role != REMOTE).cloned());
        Self { name, tenant: tenant.cloned().unwrap_or_else(|| TENANT.to_owned()), roles: all }
    }
}

/// Why a peer is nobody. Each is one value of the metric and of the status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unproven {
    /// Nothing that could be checked.
    #[error(
        "no proof of identity came; send `authorization: Bearer TOKEN` or a client certificate"
    )]
    Missing,
    /// The metadata is not `Bearer TOKEN`.
    #[error("the `authorization` is not `Bearer` and one token")]
    Malformed,
    /// No such token, or a signature that does not fit.
    #[error("the token is not known here")]
    Unknown,
    /// Past its time.
    #[error("the token has expired; get a new one")]
    Expired,
    /// Before its time.
    #[error("the token is not valid yet; compare the clocks")]
    Early,
    /// Made for somebody else, or by somebody else.
    #[error("the token's issuer or audience is another one")]
    Foreign,
    /// Unsigned, or signed by a method that is not allowed.
    #[error("the token is not signed by an allowed algorithm")]
    Algorithm,
    /// Used before, where each token may be used once.
    #[error("the token was used before; get a new one")]
    Replayed,
    /// A certificate that no rule names.
    #[error("the client certificate has no name that is known here")]
    Certificate,
}

impl Unproven {
    /// The reason in metrics and in the status.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "CREDENTIALS_MISSING",
            Self::Malformed => "CREDENTIALS_MALFORMED",
            Self::Unknown => "TOKEN_UNKNOWN",
            Self::Expired => "TOKEN_EXPIRED",
            Self::Early => "TOKEN_NOT_YET_VALID",
            Self::Foreign => "TOKEN_FOREIGN",
            Self::Algorithm => "TOKEN_ALGORITHM",
            Self::Replayed => "TOKEN_REPLAYED",
            Self::Certificate => "CERTIFICATE_UNKNOWN",
        }
    }
}

/// Knows callers by what they show.
#[derive(Debug)]
pub(super) struct Identity {
    users: Vec<User>,
    rules: Rules,
    read: ArcSwap<Files>,
    stamp: Stamp,
    used: jwt::Used,
}

/// What was read from the files of the rules.
#[derive(Debug, Default)]
struct Files {
    tokens: Option<Arc<Tokens>>,
    jwt: Option<Arc<Jwt>>,
}

impl Files {
    /// Reads each file by itself, so that a broken one holds back no revocation in the other; what
    /// cannot be read stays as it was in `old`.
    fn read(rules: &Rules, old: &Self) -> (Self, Result<(), Error>) {
        let mut fault = Ok(());
        let tokens = rules.tokens.as_deref().map(Tokens::read).transpose();
        let tokens = newest(tokens, old.tokens.as_ref(), &mut fault);
        let jwt = rules.jwt.as_ref().map(Jwt::read).transpose();
        let jwt = newest(jwt, old.jwt.as_ref(), &mut fault);
        (Self { tokens, jwt }, fault)
    }
}

/// What was read; where that failed, notes why and keeps what there was.
fn newest<T>(
    read: Result<Option<T>, Error>,
    old: Option<&Arc<T>>,
    fault: &mut Result<(), Error>,
) -> Option<Arc<T>> {
    match read {
        Ok(read) => read.map(Arc::new),
        Err(error) => {
            *fault = Err(error);
            old.cloned()
        }
    }
}

impl Rules {
    /// Whether callers can prove who they are without a certificate.
    pub fn has_tokens(&self) -> bool {
        self.tokens.is_some() || self.jwt.is_some()
    }

    /// Refuses what would silently do nothing.
    fn check(&self, users: &[User]) -> Result<(), Error> {
        let wrong = |key, reason: String| Err(Error::Setting { key, reason });
        if users.iter().any(|user| user.uid.is_none() && user.gid.is_none()) {
            return wrong("admission.users", "an entry has neither uid nor gid".to_owned());
        }
        let odd = |san: &str| san.is_empty() || (san.contains('*') && !certificates::is_below(san));
        if let Some(odd) = self.certificates.iter().find(|one| odd(&one.san)) {
            let reason = format!(
                "the san `{}` matches nothing; write a whole name, or a URI that ends in `/*`",
                odd.san
            );
            return wrong("admission.identity.certificates", reason);
        }
        Ok(())
    }

    fn files(&self) -> Vec<PathBuf> {
        self.tokens.iter().chain(self.jwt.iter().map(|jwt| &jwt.jwks)).cloned().collect()
    }

    fn opens_loopback(&self) -> bool {
        self.open_loopback.unwrap_or_else(|| !self.has_tokens() && self.certificates.is_empty())
    }
}

impl Identity {
    pub(super) fn new(config: &Config) -> Result<Self, Error> {
        config.identity.check(&config.users)?;
        // Before the files are read: what changes meanwhile shows as changed.
        let stamp = Stamp::new(config.identity.files());
        let (read, fault) = Files::read(&config.identity, &Files::default());
        fault?;
        Ok(Self {
            stamp,
            read: ArcSwap::from_pointee(read),
            users: config.users.clone(),
            rules: config.identity.clone(),
            used: jwt::Used::default(),
        })
    }

    /// Reads the files again; what was read before stays when one is broken.
    pub(super) fn reload(&self) -> Result<(), Error> {
        let (read, fault) = Files::read(&self.rules, &self.read.load());
        self.read.store(read.into());
        fault
    }

    /// The caller that the peer proves to be. A token counts before the connection, and one that
    /// does not hold is refused wherever it comes from.
    pub(super) fn identify(&self, peer: &Peer) -> Result<Caller, Unproven> {
        if let Some(authorization) = &peer.authorization {
            let token = bearer(authorization)?;
            return match &peer.link {
                Link::Tcp(from) if !is_loopback(from.ip()) => Err(Unproven::Missing),
                Link::Unix { .. } | Link::Tcp(_) | Link::Tls(_) | Link::Inside => self.token(token),
            };
        }
        match &peer.link {
            Link::Unix { uid, gid } => Ok(self.user(*uid, *gid)),
            Link::Tcp(from) if self.rules.opens_loopback() && is_loopback(from.ip()) => {
                Ok(Caller::new("loopback".to_owned(), None, LOCAL, &[]))
            }
            Link::Tls(names) if !names.is_empty() => {
                certificates::find(&self.rules.certificates, names).ok_or(Unproven::Certificate)
            }
            Link::Tcp(_) | Link::Tls(_) => Err(Unproven::Missing),
            Link::Inside => Ok(Caller::new("switchboard".to_owned(), None, LOCAL, &[])),
        }
    }

    fn user(&self, uid: u32, gid: u32) -> Caller {
        let user =
            self.users.iter().find(|user| user.uid == Some(uid)).or_else(|| {
                self.users.iter().find(|user| user.uid.is_none() && user.gid == Some(gid))
            });
        let own = format!("uid:{uid}");
        match user {
            Some(user) => {
                let name = user.name.clone().unwrap_or(own);
                Caller::new(name, user.tenant.as_ref(), LOCAL, &user.roles)
            }
            None => Caller::new(own, None, LOCAL, &[]),
        }
    }

    fn token(&self, token: &str) -> Result<Caller, Unproven> {
        if let Err(error) = self.stamp.refresh(|| self.reload()) {
            tracing::error!(%error, "tokens and keys were not taken; those from before stay in force");
        }
        let files = self.read.load();
        if let Some(tokens) = &files.tokens
            && let Some(known) = tokens.find(token)
        {
            return known;
        }
        match &files.jwt {
            Some(jwt) if jwt::looks_like_one(token) => jwt.check(token, &self.used),
            Some(_) | None => Err(Unproven::Unknown),
        }
    }
}

fn bearer(authorization: &str) -> Result<&str, Unproven> {
    let (scheme, token) = authorization.trim().split_once(' ').ok_or(Unproven::Malformed)?;
    let token = token.trim();
    let plain = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    (scheme.eq_ignore_ascii_case("bearer") && plain).then_some(token).ok_or(Unproven::Malformed)
}

fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}
