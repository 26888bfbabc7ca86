//! Names that no argument may set: the keys of security schemes, and the operator's secrets. A pair as
//! it will be sent in; a refusal out when a server could read one of these names in it.

use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};
use url::Url;

use super::{HttpTarget, Place};
use crate::catalog::error::Error;
use crate::catalog::secret::{Placement, Secret};

/// Decodings after which a name is taken as it is: some servers decode twice.
const DECODINGS: usize = 3;

/// The key of a security scheme, which is no argument of the tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// Which part of the request carries it.
    pub place: Place,
    /// Name on the wire.
    pub name: String,
    /// Name of the scheme.
    pub scheme: String,
}

/// Who sets a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Setter<'k> {
    Scheme(&'k str),
    Secret(&'k str),
}

/// The names that are taken in one request.
#[derive(Debug, Default)]
pub(super) struct Guard<'k> {
    taken: Vec<(Place, &'k str, Setter<'k>)>,
}

impl<'k> Guard<'k> {
    /// The keys of a target's schemes, and the secrets that are bound to its server.
    pub(super) fn new(target: &'k HttpTarget, secrets: &'k [Secret]) -> Self {
        let key = |key: &'k Key| (key.place, key.name.as_str(), Setter::Scheme(&key.scheme));
        let mut taken: Vec<_> = target.keys.iter().map(key).collect();
        for secret in bound(target, secrets) {
            let setter = Setter::Secret(&secret.name);
            match &secret.place {
                Placement::Query(name) => taken.push((Place::Query, name, setter)),
                Placement::Header { name, prefix } if name.eq_ignore_ascii_case("cookie") => {
                    let names = prefix.split(';').filter_map(|one| one.split_once('='));
                    taken.extend(names.map(|(name, _)| (Place::Cookie, name.trim(), setter)));
                }
                // Arguments have no part in the names of headers.
                Placement::Header { .. } | Placement::Basic { .. } => {}
            }
        }
        Self { taken }
    }

    /// Refuses pairs in which a server could read a name that is taken; `own` is the name that the
    /// argument's author gave it, as it is sent.
    pub(super) fn check(
        &self,
        (place, own): (Place, &str),
        argument: &str,
        pairs: &[String],
    ) -> Result<(), Error> {
        if self.taken.is_empty() {
            return Ok(());
        }
        for pair in pairs {
            // Some servers part pairs at `;` as well.
            for (at, piece) in pair.split(['&', ';']).enumerate() {
                let name = piece.split('=').next().unwrap_or_default();
                if at > 0 || fold(name) != fold(own) {
                    self.check_name((place, name), argument, false)?;
                }
            }
        }
        Ok(())
    }

    /// Refuses the name of a form's field when the query has it: servers put both together.
    /// `declared` says that the document has it, which then offers a scheme's key on purpose.
    pub(super) fn check_field(
        &self,
        name: &str,
        argument: &str,
        declared: bool,
    ) -> Result<(), Error> {
        self.check_name((Place::Query, name), argument, declared)
    }

    fn check_name(
        &self,
        (place, name): (Place, &str),
        argument: &str,
        declared: bool,
    ) -> Result<(), Error> {
        let name = fold(name);
        let same = |(at, taken, setter): &&(Place, &str, Setter<'_>)| {
            let counts = !declared || matches!(setter, Setter::Secret(_));
            *at == place && counts && fold(taken) == name
        };
        let Some((_, taken, setter)) = self.taken.iter().find(same) else {
            return Ok(());
        };
        let who = match setter {
            Setter::Scheme(scheme) => format!("as the key of security scheme `{scheme}`"),
            Setter::Secret(secret) => format!("as secret `{secret}`"),
        };
        let reason = format!(
            "may not set `{taken}` ({}), which is the operator's, {who}; leave it out",
            place.as_str()
        );
        Err(Error::argument(argument, reason))
    }
}

/// The secrets of a profile that a target's server gets.
pub(in crate::catalog) fn bound<'s>(
    target: &HttpTarget,
    secrets: &'s [Secret],
) -> impl Iterator<Item = &'s Secret> {
    // Nobody else's secrets are a reason to parse a URL.
    let url = (!secrets.is_empty()).then(|| Url::parse(&target.server).ok()).flatten();
    let place = url.and_then(|url| {
        let host = url.host_str()?.trim_matches(['[', ']']).to_owned();
        Some((host, url.port_or_known_default()?))
    });
    secrets.iter().filter(move |secret| {
        let here = |(host, port): &(String, u16)| {
            secret.hosts.iter().any(|bound| bound.host == *host && bound.port == *port)
        };
        place.as_ref().is_some_and(here)
    })
}

/// Whether servers may take two names of the same place for one.
pub(crate) fn is_same(place: Place, one: &str, two: &str) -> bool {
    match place {
        Place::Header => {
            let plain = |name: &str| name.to_ascii_lowercase().replace('_', "-");
            plain(one) == plain(two)
        }
        Place::Path | Place::Query | Place::Cookie => fold(one) == fold(two),
    }
}

/// A name as the most generous server reads it: decoded, without case and white space, `a.b` and `a b`
/// as `a_b`, and without what follows in brackets or after a NUL.
fn fold(name: &str) -> String {
    let mut name = name.to_owned();
    for _ in 0..DECODINGS {
        let decoded = percent_decode_str(&name).decode_utf8_lossy().into_owned();
        if decoded == name {
            break;
        }
        name = decoded;
    }
    let name = name.split('\0').next().unwrap_or_default().replace('+', " ");
    let name = name.trim();
    let closes = |at: &usize| *at > 0 && name.get(*at..).is_some_and(|rest| rest.contains(']'));
    let end = name.find('[').filter(closes).unwrap_or(name.len());
    let base = name.get(..end).unwrap_or(name).trim_end();
    // A bracket that is never closed is no bracket.
    base.to_lowercase().replace([' ', '.', '['], "_")
}
