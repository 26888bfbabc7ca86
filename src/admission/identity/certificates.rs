//! Client certificates: the names that one proves, and the caller that a name stands for. The chain
//! was checked by the listener.

use rustls_pki_types::CertificateDer;
use serde::{Deserialize, Serialize};
use webpki::EndEntityCert;

use super::{Caller, REMOTE, is_reserved};

/// What the holder of a certificate is called.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    /// A subject alternative name, exactly: a URI such as `spiffe://prod/planner`, or a DNS name.
    /// A URI that ends in `/*` stands for every name below it.
    pub san: String,
    /// Caller name; default the certificate's own.
    pub name: Option<String>,
    /// Tenant; default `default`.
    pub tenant: Option<String>,
    /// Roles beside `remote`.
    #[serde(default)]
    pub roles: Vec<String>,
}

/// The names in a client's certificate, URIs first; empty when it has none or cannot be read.
pub fn names(certificate: &CertificateDer<'_>) -> Vec<String> {
    let Ok(certificate) = EndEntityCert::try_from(certificate) else {
        return Vec::new();
    };
    let uris = certificate.valid_uri_names();
    uris.chain(certificate.valid_dns_names()).map(str::to_owned).collect()
}

/// The caller that the first known of `names` stands for.
pub(super) fn find(known: &[Certificate], names: &[String]) -> Option<Caller> {
    if known.is_empty() {
        let own = names.iter().find(|name| !is_reserved(name))?;
        return Some(Caller::new(own.clone(), None, REMOTE, &[]));
    }
    names.iter().find_map(|name| {
        let found = known.iter().find(|one| one.san == *name);
        let found = found.or_else(|| known.iter().find(|one| covers(&one.san, name)))?;
        let own = found.name.clone().unwrap_or_else(|| name.clone());
        Some(Caller::new(own, found.tenant.as_ref(), REMOTE, &found.roles))
    })
}

/// Whether a pattern stands for every URI below it.
pub(super) fn is_below(pattern: &str) -> bool {
    let start = pattern.strip_suffix("/*").unwrap_or_default();
    start.contains("://") && !start.contains('*')
}

fn covers(pattern: &str, name: &str) -> bool {
    let below = pattern.strip_suffix('*').filter(|_| is_below(pattern));
    below.is_some_and(|start| name.strip_prefix(start).is_some_and(|rest| !rest.is_empty()))
}
