//! URLs as far as redirects need them. A base and a `Location` in, where it leads out; whether one
//! may go there is the gate's business.

use std::fmt;

/// An absolute URL: lower-case scheme, authority as written, path and query percent-encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Url {
    secure: bool,
    authority: String,
    /// Starts with a slash; without a fragment.
    path: String,
}

/// Where a `Location` leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Next {
    Url(Url),
    /// A scheme that is neither `http` nor `https`.
    Foreign,
    /// Nothing that can be understood.
    Malformed,
}

impl Url {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        let secure = match scheme.to_ascii_lowercase().as_str() {
            "http" => false,
            "https" => true,
            _ => return None,
        };
        Self::from_parts(secure, rest)
    }

    fn from_parts(secure: bool, rest: &str) -> Option<Self> {
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at_checked(end)?;
        let plain = |c: char| !c.is_control() && !c.is_whitespace();
        if authority.is_empty() || !authority.chars().all(plain) {
            return None;
        }
        Some(Self { secure, authority: authority.to_owned(), path: clean(path) })
    }

    /// Resolves a `Location` against this URL (RFC 3986, section 5).
    pub(super) fn join(&self, location: &str) -> Next {
        let location = location.trim_matches([' ', '\t']);
        if location.chars().any(char::is_control) {
            return Next::Malformed;
        }
        if let Some(scheme) = scheme_of(location) {
            let known = ["http", "https"].iter().any(|s| scheme.eq_ignore_ascii_case(s));
            return match Self::parse(location) {
                Some(url) => Next::Url(url),
                None if known => Next::Malformed,
                None => Next::Foreign,
            };
        }
        if let Some(rest) = location.strip_prefix("//") {
            return Self::from_parts(self.secure, rest).map_or(Next::Malformed, Next::Url);
        }
        let (path, query) = self.path.split_once('?').unwrap_or((&self.path, ""));
        let joined = match location.chars().next() {
            None | Some('#') if query.is_empty() => path.to_owned(),
            None | Some('#') => format!("{path}?{query}"),
            Some('/') => location.to_owned(),
            Some('?') => format!("{path}{location}"),
            Some(_) => {
                let (folder, _) = path.rsplit_once('/').unwrap_or(("", ""));
                format!("{folder}/{location}")
            }
        };
        Next::Url(Self { path: clean(&joined), ..self.clone() })
    }

    /// The value of the last parameter of this name in the query, as it is written.
    pub(super) fn query(&self, name: &str) -> Option<&str> {
        let (_, query) = self.path.split_once('?')?;
        let name = encode_part(name);
        query.split('&').rev().find_map(|pair| match pair.split_once('=') {
            Some((key, value)) if key == name => Some(value),
            _ => None,
        })
    }

    /// This URL with one parameter of the query set, in the place of others of its name.
    pub(super) fn with_query(&self, name: &str, value: &str) -> Self {
        let (path, query) = self.path.split_once('?').unwrap_or((&self.path, ""));
        let name = encode_part(name);
        let other = |pair: &&str| pair.split('=').next() != Some(&name) && !pair.is_empty();
        let mut pairs: Vec<String> = query.split('&').filter(other).map(str::to_owned).collect();
        pairs.push(format!("{name}={}", encode_part(value)));
        Self { path: format!("{path}?{}", pairs.join("&")), ..self.clone() }
    }

    pub(super) fn authority(&self) -> &str {
        &self.authority
    }

    pub(super) fn is_secure(&self) -> bool {
        self.secure
    }

    /// Whether both have the same scheme, host and port.
    pub(super) fn is_same_origin(&self, other: &Self) -> bool {
        self.secure == other.secure && self.host_and_port() == other.host_and_port()
    }

    fn host_and_port(&self) -> String {
        let lower = self.authority.to_ascii_lowercase();
        let usual = if self.secure { ":443" } else { ":80" };
        lower.strip_suffix(usual).unwrap_or(&lower).to_owned()
    }

    /// For messages: a query can carry what should not be repeated.
    pub(super) fn without_query(&self) -> String {
        let (path, _) = self.path.split_once('?').unwrap_or((&self.path, ""));
        format!("{}://{}{path}", self.scheme(), self.authority)
    }

    fn scheme(&self) -> &str {
        if self.secure { "https" } else { "http" }
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme(), self.authority, self.path)
    }
}

fn scheme_of(location: &str) -> Option<&str> {
    let (scheme, _) = location.split_once(':')?;
    let mut bytes = scheme.bytes();
    let first = bytes.next().is_some_and(|b| b.is_ascii_alphabetic());
    let rest = bytes.all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    (first && rest).then_some(scheme)
}

/// Drops the fragment and dot segments, and percent-encodes what cannot stand in a URL.
fn clean(path_and_query: &str) -> String {
    let (kept, _) = path_and_query.split_once('#').unwrap_or((path_and_query, ""));
    let (path, query) = match kept.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (kept, None),
    };
    let mut segments: Vec<&str> = Vec::new();
    let mut rest = path.strip_prefix('/').unwrap_or(path).split('/').peekable();
    while let Some(segment) = rest.next() {
        let last = rest.peek().is_none();
        match segment {
            "." => {}
            ".." => drop(segments.pop()),
            _ => segments.push(segment),
        }
        if last && matches!(segment, "." | "..") {
            segments.push("");
        }
    }
    let mut clean = format!("/{}", segments.join("/"));
    if let Some(query) = query {
        clean.push('?');
        clean.push_str(query);
    }
    clean.bytes().map(encode).collect()
}

/// A name or value of a query parameter.
fn encode_part(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let part = |byte: u8| {
        if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    text.bytes().map(part).collect()
}

fn encode(byte: u8) -> String {
    if (0x21..0x7f).contains(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
}
