//! Secrets as a sandbox profile binds them: where a value is read, which hosts get it, and in which
//! part of a message. A `[secrets.NAME]` table in, a checked [`Secret`] out. No value is read here.

use std::path::{Component, PathBuf};

use serde::{Deserialize, Serialize};

use super::EgressRule;
use super::file::Fault;
use super::http::is_header_name;

/// Secrets of one profile, at most: each costs time on every byte that comes back.
const MOST: usize = 16;

/// A secret and where it may go. Its value is read by the sandbox room.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Secret {
    /// Its name in the profile, the only thing of it that is ever recorded.
    pub name: String,
    /// Where the value is read.
    pub from: Origin,
    /// The only hosts that get it.
    pub hosts: Vec<HostPort>,
    /// Where in a message it stands.
    pub place: Placement,
    /// Allows plain HTTP to an internal network that an egress rule names; loopback is always
    /// allowed, a public address never.
    pub plain_http: bool,
}

/// Where the value of a secret is read.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// An environment variable of the daemon.
    Env(String),
    /// A file, such as a mounted Kubernetes secret; a line break at its end does not count.
    File(PathBuf),
}

/// An exact host and port.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct HostPort {
    /// Name or address, lower case, without brackets.
    pub host: String,
    /// Port.
    pub port: u16,
}

/// Where in a message a secret stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Placement {
    /// The header of this name.
    Header {
        /// Name of the header.
        name: String,
        /// What stands before the value, for example `Bearer ` with its space.
        prefix: String,
    },
    /// The query parameter of this name.
    Query(String),
    /// The password of HTTP basic authentication.
    Basic {
        /// The user's name.
        user: String,
    },
}

impl Placement {
    /// The header that it takes; `None` for a query parameter.
    pub fn header(&self) -> Option<&str> {
        match self {
            Self::Header { name, .. } => Some(name),
            Self::Basic { .. } => Some("authorization"),
            Self::Query(_) => None,
        }
    }

    /// Two secrets of one host must differ in this.
    fn slot(&self) -> String {
        match self {
            Self::Query(name) => format!("query {}", name.to_ascii_lowercase()),
            Self::Header { name, .. } => {
                format!("header {}", name.to_ascii_lowercase().replace('_', "-"))
            }
            Self::Basic { .. } => "header authorization".to_owned(),
        }
    }
}

/// A secret as it stands in its file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SecretFile {
    from: Origin,
    hosts: Vec<String>,
    header: Option<HeaderFile>,
    query: Option<String>,
    basic: Option<BasicFile>,
    #[serde(default)]
    plain_http: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct HeaderFile {
    name: String,
    #[serde(default)]
    prefix: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BasicFile {
    user: String,
}

/// Checks all secrets of a profile against its egress rules.
pub(super) fn check(
    files: impl IntoIterator<Item = (String, SecretFile)>,
    rules: &[EgressRule],
) -> Result<Vec<Secret>, Fault> {
    let mut secrets: Vec<Secret> = Vec::new();
    for (name, file) in files {
        let secret = secret(name, file, rules)?;
        let rival = secrets.iter().find(|other| {
            other.place.slot() == secret.place.slot()
                && other.hosts.iter().any(|host| secret.hosts.contains(host))
        });
        if let Some(rival) = rival {
            let message = format!(
                "takes the same place at the same host as `{}`; a message carries one of them",
                rival.name
            );
            return Err(fault(&secret.name, "", &message));
        }
        secrets.push(secret);
    }
    if secrets.len() > MOST {
        return Err(Fault::new("secrets", format!("are more than {MOST}; split the profile")));
    }
    Ok(secrets)
}

fn fault(name: &str, key: &str, message: &str) -> Fault {
    let dot = if key.is_empty() { "" } else { "." };
    Fault::new(format!("secrets.{name}{dot}{key}"), message)
}

fn secret(name: String, file: SecretFile, rules: &[EgressRule]) -> Result<Secret, Fault> {
    let fail = |key: &str, message: &str| fault(&name, key, message);
    let word = |text: &str| {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
        (1..=64).contains(&text.len()) && text.bytes().all(plain)
    };
    if !word(&name) {
        return Err(fail("", "is no name; take 1 to 64 letters, digits, `_` or `-`"));
    }
    check_origin(&file.from).map_err(|message| fail("from", message))?;
    if file.hosts.is_empty() {
        return Err(fail("hosts", "is empty; name each host that gets it, as `host:port`"));
    }
    let hosts = file.hosts.iter().map(|text| host(text, rules));
    let hosts = hosts.collect::<Result<_, _>>().map_err(|message| fail("hosts", &message))?;
    let place = match (file.header, file.query, file.basic) {
        (Some(HeaderFile { name, prefix }), None, None) => Placement::Header { name, prefix },
        (None, Some(name), None) => Placement::Query(name),
        (None, None, Some(BasicFile { user })) => Placement::Basic { user },
        _ => return Err(fail("", "needs exactly one of `header`, `query` and `basic`")),
    };
    check_place(&place).map_err(|(key, message)| fail(key, message))?;
    Ok(Secret { name, from: file.from, hosts, place, plain_http: file.plain_http })
}

fn check_origin(from: &Origin) -> Result<(), &'static str> {
    match from {
        Origin::Env(name) => {
            let letter = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
            let first = name.bytes().next().is_some_and(|b| !b.is_ascii_digit());
            (first && name.bytes().all(letter))
                .then_some(())
                .ok_or("names no environment variable; take letters, digits and `_`")
        }
        Origin::File(path) => {
            let upward = path.components().any(|part| part == Component::ParentDir);
            (path.is_absolute() && !upward)
                .then_some(())
                .ok_or("names no file; write an absolute path without `..`")
        }
    }
}

/// Reads `host:port`; it must be exact, and something that the profile allows.
fn host(text: &str, rules: &[EgressRule]) -> Result<HostPort, String> {
    let parsed = text.rsplit_once(':').and_then(|(host, port)| {
        let digits = port.bytes().all(|b| b.is_ascii_digit());
        Some((host, port.parse::<u16>().ok().filter(|port| digits && *port != 0)?))
    });
    let Some((host, port)) = parsed else {
        return Err(format!(
            "`{text}` is no host and port; write for example `api.example.com:443`"
        ));
    };
    let bare = host.trim_start_matches('[').trim_end_matches([']', '.']).to_ascii_lowercase();
    if bare.contains('*') {
        return Err(format!("`{text}` is a pattern; a secret is bound to exact hosts"));
    }
    if !rules.iter().any(|rule| rule.port == port && rule.names(&bare)) {
        return Err(format!(
            "`{text}` is not allowed by any egress rule of this profile; add one for exactly it, or \
             leave it out"
        ));
    }
    Ok(HostPort { host: bare, port })
}

type Wrong = (&'static str, &'static str);

fn check_place(place: &Placement) -> Result<(), Wrong> {
    // Headers that say where a message goes, where it ends or what the gate itself decides.
    const TAKEN: [&str; 13] = [
        "host",
        "content-length",
        "transfer-encoding",
        "connection",
        "keep-alive",
        "te",
        "trailer",
        "upgrade",
        "expect",
        "range",
        "if-range",
        "accept-encoding",
        "x-switchboard-egress",
    ];
    let printable = |text: &str| text.bytes().all(|b| (0x20..0x7f).contains(&b));
    match place {
        Placement::Header { name, prefix } => {
            let lower = name.to_ascii_lowercase().replace('_', "-");
            if !is_header_name(name) {
                return Err(("header", "has a name that no header can have"));
            }
            if TAKEN.contains(&lower.as_str()) || lower.starts_with("proxy-") {
                return Err(("header", "names a header that the gate itself decides"));
            }
            if !printable(prefix) || prefix.starts_with(' ') {
                return Err(("header", "has a prefix that is not plain printable ASCII"));
            }
            let login = prefix.trim().to_ascii_lowercase();
            if ["ntlm", "negotiate"].contains(&login.as_str()) {
                return Err((
                    "header",
                    "logs in a whole connection (NTLM, Negotiate), which is \
                                       not supported; take a token or `basic`",
                ));
            }
            Ok(())
        }
        Placement::Query(name) if name.is_empty() || !printable(name) => {
            Err(("query", "is no parameter name of printable ASCII"))
        }
        Placement::Basic { user } if user.contains(':') || user.chars().any(char::is_control) => {
            Err(("basic", "has a user with `:` or control characters, which basic forbids"))
        }
        Placement::Query(_) | Placement::Basic { .. } => Ok(()),
    }
}
