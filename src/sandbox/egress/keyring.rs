//! Which secrets go to which upstream, and how. A target in, the keys bound to it out; each knows
//! its place in a message and over which connections it may travel.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::{BufMut, BytesMut};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use zeroize::Zeroizing;

use super::head::Scheme;
use super::rules::{Host, Target};
use crate::catalog::{Place, Placement, Secret, is_same, special};
use crate::sandbox::secrets::Hidden;
use crate::sandbox::veil::Veil;

/// What must be escaped in a query: all but RFC 3986's unreserved characters.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The secrets of one profile, with their values.
#[derive(Debug, Default)]
pub(crate) struct Keyring {
    keys: Vec<Key>,
    /// Masks every value in what comes back; `None` where there is none.
    veil: Option<Arc<Veil>>,
}

/// One secret, ready to be added.
pub(super) struct Key {
    secret: Secret,
    hosts: Vec<Target>,
    /// The value of the header, or of the query parameter as it is written there.
    written: Hidden,
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Key({})", self.secret.name)
    }
}

impl Keyring {
    /// The keyring of `secrets`, whose values are `values`, one by one.
    pub(crate) fn new(secrets: &[Secret], values: &[Arc<Hidden>]) -> Self {
        if secrets.is_empty() {
            return Self::default();
        }
        let keys: Vec<Key> =
            secrets.iter().zip(values).map(|(secret, value)| Key::new(secret, value)).collect();
        let logins = keys.iter().filter_map(Key::login);
        let logins: Vec<Hidden> = logins.collect();
        let veil = Veil::new(values.iter().map(Arc::as_ref), logins.iter());
        Self { keys, veil: Some(Arc::new(veil)) }
    }

    /// The keys that are bound to `target`.
    pub(super) fn bound(&self, target: &Target) -> Vec<&Key> {
        self.keys.iter().filter(|key| key.hosts.contains(target)).collect()
    }

    /// What masks every value.
    pub(crate) const fn veil(&self) -> Option<&Arc<Veil>> {
        self.veil.as_ref()
    }
}

impl Key {
    fn new(secret: &Secret, value: &Hidden) -> Self {
        let target = |bound: &crate::catalog::HostPort| {
            let host = Host::of_rule(&bound.host).ok()?;
            Some(Target { host, port: bound.port })
        };
        let written = match &secret.place {
            Placement::Header { prefix, .. } => [prefix.as_bytes(), value.bytes()].concat(),
            Placement::Query(_) => percent_encode(value.bytes(), RESERVED).to_string().into_bytes(),
            Placement::Basic { user } => {
                let login = [user.as_bytes(), b":", value.bytes()].concat();
                let login = Zeroizing::new(login);
                let text = Zeroizing::new(STANDARD.encode(&*login));
                [b"Basic ", text.as_bytes()].concat()
            }
        };
        Self {
            secret: secret.clone(),
            // A host that cannot be read is bound to nothing.
            hosts: secret.hosts.iter().filter_map(target).collect(),
            written: Hidden::new(written),
        }
    }

    /// The base64 text of a login.
    fn login(&self) -> Option<Hidden> {
        let basic = matches!(self.secret.place, Placement::Basic { .. });
        let text = self.written.bytes().strip_prefix(b"Basic ").filter(|_| basic)?;
        let end = text.iter().rposition(|byte| *byte != b'=').map_or(0, |last| last + 1);
        Some(Hidden::new(text.get(..end).unwrap_or_default().to_vec()))
    }

    pub(super) fn name(&self) -> &str {
        &self.secret.name
    }

    /// Whether it may travel over this connection; the reason when it may not.
    pub(super) fn check(&self, scheme: Scheme, address: SocketAddr) -> Result<(), String> {
        let ip = address.ip().to_canonical();
        let safe = scheme == Scheme::Https
            || ip.is_loopback()
            || self.secret.plain_http && special(ip).is_some();
        if safe {
            return Ok(());
        }
        let name = &self.secret.name;
        Err(if special(ip).is_some() {
            format!(
                "secret `{name}` is not sent over plain HTTP to `{ip}`; ask for an https:// address, \
                 or set `plain_http = true` for it in the profile"
            )
        } else {
            format!("secret `{name}` is never sent over plain HTTP; ask for an https:// address")
        })
    }

    /// Whether it takes the place of the tool's own header of this name, or of one that servers take
    /// for the same.
    pub(super) fn replaces_header(&self, name: &str) -> bool {
        self.secret.place.header().is_some_and(|own| is_same(Place::Header, own, name))
    }

    /// Writes its header, when it is one. A secret in a cookie stands before the tool's own cookies, in
    /// the place of those of its name.
    pub(super) fn write_header(&self, tools: &[(String, Vec<u8>)], out: &mut BytesMut) {
        let Some(name) = self.secret.place.header() else { return };
        let written = self.written.bytes();
        for piece in [name.as_bytes(), b": ", written] {
            out.put_slice(piece);
        }
        if name.eq_ignore_ascii_case("cookie") {
            let taken: Vec<_> = cookies(written).map(cookie_name).collect();
            let is_taken = |name: &str| taken.iter().any(|own| is_same(Place::Cookie, own, name));
            let tools = tools.iter().filter(|(name, _)| self.replaces_header(name));
            for cookie in tools.flat_map(|(_, value)| cookies(value)) {
                if !is_taken(&cookie_name(cookie)) {
                    out.put_slice(b"; ");
                    out.put_slice(cookie);
                }
            }
        }
        out.put_slice(b"\r\n");
    }

    /// The path with its query parameter, when it is one, in place of the tool's own of that name.
    fn write_query(&self, path: &str) -> Option<String> {
        let Placement::Query(own) = &self.secret.place else {
            return None;
        };
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let kept = query.split('&').map(|piece| {
            let parts = piece.split(';').filter(|part| !part.is_empty() && !is_named(part, own));
            parts.collect::<Vec<_>>().join(";")
        });
        let kept = kept.filter(|piece| !piece.is_empty()).collect::<Vec<_>>().join("&");
        let and = if kept.is_empty() { "" } else { "&" };
        let name = percent_encode(own.as_bytes(), RESERVED);
        let value = String::from_utf8_lossy(self.written.bytes());
        Some(format!("{path}?{kept}{and}{name}={value}"))
    }
}

/// The cookies of a header's value.
fn cookies(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b';').map(<[u8]>::trim_ascii).filter(|cookie| !cookie.is_empty())
}

fn cookie_name(cookie: &[u8]) -> Cow<'_, str> {
    let name = cookie.split(|byte| *byte == b'=').next().unwrap_or_default();
    String::from_utf8_lossy(name.trim_ascii())
}

fn is_named(part: &str, name: &str) -> bool {
    is_same(Place::Query, part.split('=').next().unwrap_or_default(), name)
}

/// The path as it is sent, with every key that stands in the query.
pub(super) fn write_path(path: &str, keys: &[&Key]) -> Zeroizing<String> {
    let mut path = Zeroizing::new(path.to_owned());
    for key in keys {
        if let Some(written) = key.write_query(&path) {
            path = Zeroizing::new(written);
        }
    }
    path
}
