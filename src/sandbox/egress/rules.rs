//! Who may be reached: host, port and networks. What a tool wrote in, a [`Target`] and the
//! [`Rule`] that allows it out, compared only after both went through the same normalisation.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use crate::catalog::{EgressRule, Network, special};

/// A host in the one spelling that is compared and dialled.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Host {
    /// Lower-case A-labels without a trailing dot.
    Name(String),
    /// An address, however it was written.
    Address(IpAddr),
}

impl Host {
    /// Reads a host as a browser would (case, trailing dot, IDN, every spelling of an IPv4
    /// address), but refuses percent-encoding, zones and characters that no host name has.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        if let Some(inner) = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')) {
            let address: Ipv6Addr = inner.parse().map_err(|_bad| "it is no IPv6 address")?;
            return Ok(Self::Address(IpAddr::V6(address).to_canonical()));
        }
        if text.is_empty() || text.len() > 512 {
            return Err("the host is empty or too long");
        }
        if text.contains(['%', '\\', '@', ':', '*']) {
            return Err("the host has a character that no host name has");
        }
        match url::Host::parse(text).map_err(|_bad| "it is no host name")? {
            url::Host::Ipv4(address) => Ok(Self::Address(IpAddr::V4(address))),
            url::Host::Ipv6(address) => Ok(Self::Address(IpAddr::V6(address).to_canonical())),
            url::Host::Domain(name) => {
                let name = name.strip_suffix('.').unwrap_or(&name).to_ascii_lowercase();
                if name.len() <= 253 && name.split('.').all(is_label) {
                    Ok(Self::Name(name))
                } else {
                    Err("it is no host name")
                }
            }
        }
    }

    /// Reads a host as profiles write it: an IPv6 address stands without brackets.
    pub(super) fn of_rule(text: &str) -> Result<Self, &'static str> {
        match text.parse::<Ipv6Addr>() {
            Ok(v6) => Ok(Self::Address(IpAddr::V6(v6).to_canonical())),
            Err(_other) => Self::parse(text),
        }
    }
}

fn is_label(label: &str) -> bool {
    (1..=63).contains(&label.len())
        && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(IpAddr::V4(address)) => write!(f, "{address}"),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

/// Host and port.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Target {
    pub(super) host: Host,
    pub(super) port: u16,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl Target {
    /// Reads the authority of a URL, or of CONNECT when there is no default port.
    pub(super) fn parse(authority: &str, default_port: Option<u16>) -> Result<Self, &'static str> {
        if authority.contains('@') {
            return Err("user information in an address is never sent");
        }
        let (host, port) = split_port(authority);
        let port = match (port, default_port) {
            (None | Some(""), Some(default)) => default,
            (None | Some(""), None) => return Err("the port is missing"),
            (Some(digits), _) => parse_port(digits).ok_or("it is no port")?,
        };
        Ok(Self { host: Host::parse(host)?, port })
    }
}

/// Splits `host:port` without judging either; brackets stay on the host.
pub(super) fn split_port(authority: &str) -> (&str, Option<&str>) {
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        Some(_) | None => (authority, None),
    }
}

fn parse_port(digits: &str) -> Option<u16> {
    let plain = digits.len() <= 5 && digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse().ok().filter(|port| plain && *port != 0)
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Pattern {
    Exact(Host),
    /// `.domain`; matches exactly one label before it.
    Below(String),
}

/// One permission, ready to compare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rule {
    pattern: Pattern,
    port: u16,
    networks: Vec<Network>,
}

impl Rule {
    fn parse(rule: &EgressRule) -> Result<Self, &'static str> {
        let pattern = match rule.host.strip_prefix("*.") {
            None => Pattern::Exact(Host::of_rule(&rule.host)?),
            Some(domain) => match Host::parse(domain)? {
                Host::Name(name) => Pattern::Below(format!(".{name}")),
                Host::Address(_) => return Err("a wildcard cannot stand before an address"),
            },
        };
        let networks = rule.networks.iter().map(|text| Network::parse(text));
        Ok(Self {
            pattern,
            port: rule.port,
            networks: networks
                .collect::<Option<_>>()
                .ok_or("a network is not a CIDR such as `10.0.0.0/8`")?,
        })
    }

    fn names(&self, target: &Target) -> bool {
        let host = match (&self.pattern, &target.host) {
            (Pattern::Exact(exact), host) => exact == host,
            (Pattern::Below(suffix), Host::Name(name)) => name
                .strip_suffix(suffix.as_str())
                .is_some_and(|label| !label.is_empty() && !label.contains('.')),
            (Pattern::Below(_), Host::Address(_)) => false,
        };
        host && self.port == target.port
    }
}

/// All permissions of one sandbox profile.
#[derive(Debug, Clone, Default)]
pub(super) struct Rules(Vec<Rule>);

impl Rules {
    /// Takes the usable rules; one that cannot be read allows nothing, and the log names it.
    pub(super) fn new(rules: &[EgressRule]) -> Self {
        let usable = rules.iter().filter_map(|rule| {
            Rule::parse(rule)
                .inspect_err(|why| {
                    tracing::warn!(host = %rule.host, port = rule.port, "egress rule left out: {why}");
                })
                .ok()
        });
        Self(usable.collect())
    }

    /// The rules that name `target`. Refuses when there is none, before any name is resolved.
    pub(super) fn find(&self, target: &Target) -> Result<Vec<&Rule>, String> {
        let found: Vec<_> = self.0.iter().filter(|rule| rule.names(target)).collect();
        if !found.is_empty() {
            return Ok(found);
        }
        Err(match &target.host {
            Host::Name(_) => "no egress rule allows it".to_owned(),
            Host::Address(address) => match special(*address) {
                Some(kind) => format!("no egress rule allows it; internal address ({kind})"),
                None => "no egress rule allows it; an address needs a rule of its own".to_owned(),
            },
        })
    }
}

/// Whether a connection to `address` is inside what `rules` allow; the reason when it is not.
pub(super) fn check_address(rules: &[&Rule], address: IpAddr) -> Result<(), String> {
    let address = address.to_canonical();
    let Some(kind) = special(address) else {
        return Ok(());
    };
    let named = |rule: &&Rule| rule.networks.iter().any(|n| n.contains(address));
    if rules.iter().any(named) {
        return Ok(());
    }
    Err(format!("internal address `{address}` ({kind}); no egress rule names its network"))
}
