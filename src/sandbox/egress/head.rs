//! Heads of HTTP/1 messages. Bytes in, a head that has one meaning out, or the reason to refuse
//! it; heads are written anew from what was understood, so nobody downstream reads them otherwise.

use bytes::{Buf, BufMut, BytesMut};

use super::body::Framing;
use super::keyring::{self, Key};
use super::rules::{Host, Target};
use crate::sandbox::veil::Veil;

/// Marks the gate's own answers; an upstream cannot send it.
pub(super) const MARK: &str = "x-switchboard-egress";
const MOST_HEADERS: usize = 128;

type Headers = Vec<(String, Vec<u8>)>;

/// A malformed head: the status to answer and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Malformed {
    pub(super) status: u16,
    pub(super) reason: &'static str,
}

fn bad(reason: &'static str) -> Malformed {
    Malformed { status: 400, reason }
}

/// Scheme of a forwarded URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Scheme {
    Http,
    Https,
}

impl Scheme {
    /// The port that a URL without one means.
    pub(super) fn port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

/// Where a tool wants to go; the authority is as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Goal {
    /// `CONNECT authority`.
    Tunnel(String),
    /// `METHOD scheme://authority/path`.
    Forward { scheme: Scheme, authority: String, path: String },
}

impl Goal {
    /// The authority as it was written.
    pub(super) fn authority(&self) -> String {
        match self {
            Self::Tunnel(authority) | Self::Forward { authority, .. } => authority.clone(),
        }
    }
}

/// Head of a message from the tool.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) method: String,
    pub(super) goal: Goal,
    pub(super) framing: Framing,
    /// Whether the tool can be sent another answer on this connection.
    pub(super) keep: bool,
    /// HTTP/1.1, so that it understands chunks and interim answers.
    pub(super) modern: bool,
    headers: Headers,
}

/// Reads the head of a message from the tool; `None` when more bytes are needed.
pub(super) fn parse_asked(buffer: &mut BytesMut) -> Result<Option<Asked>, Malformed> {
    let mut slots = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut parsed = httparse::Request::new(&mut slots);
    let length = match parsed.parse(buffer) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(error) => return Err(refuse(error)),
    };
    let raw = buffer.get(..length).unwrap_or_default();
    check_line_ends(raw)?;
    let headers = copy(parsed.headers);
    let modern = parsed.version == Some(1);
    let method = parsed.method.unwrap_or_default().to_owned();
    let goal = parse_goal(&method, parsed.path.unwrap_or_default())?;
    let hosts = values(&headers, "host").count();
    if hosts > 1 || (modern && hosts == 0) {
        return Err(bad("there must be exactly one host header"));
    }
    let framing = parse_framing(&headers, modern).map_err(bad)?;
    if matches!(goal, Goal::Tunnel(_)) && framing.is_some() {
        return Err(bad("a CONNECT has no body"));
    }
    let tokens = connection_tokens(&headers);
    let vital = ["host", "content-length", "transfer-encoding"];
    if tokens.iter().any(|token| vital.contains(&token.as_str())) {
        return Err(bad("the connection header names a header of the message"));
    }
    let keep = modern && !tokens.iter().any(|token| token == "close");
    buffer.advance(length);
    Ok(Some(Asked {
        method,
        goal,
        framing: framing.unwrap_or(Framing::None),
        keep,
        modern,
        headers,
    }))
}

impl Asked {
    /// Whether it logs its connection in, which must then serve nobody else.
    pub(super) fn claims_connection(&self) -> bool {
        values(&self.headers, "authorization").any(is_of_connection)
    }

    /// Whether sending it twice does the same as once, and it can be sent twice.
    pub(super) fn repeatable(&self) -> bool {
        let safe = matches!(self.method.as_str(), "GET" | "HEAD" | "OPTIONS");
        safe && self.framing == Framing::None
    }

    /// Writes the head for the upstream, whose host header is `target`'s name. `keys` take the
    /// place of what the tool wrote there. With `guarded`, the answer is asked for whole and
    /// uncompressed, so that nothing can hide in it.
    pub(super) fn write(&self, to: &Sent<'_>, out: &mut BytesMut) {
        let Sent { scheme, target, path, keys, guarded } = *to;
        let path = keyring::write_path(path, keys);
        for part in [&self.method, " ", &path, " HTTP/1.1\r\nHost: "] {
            out.put_slice(part.as_bytes());
        }
        out.put_slice(target.host.to_string().as_bytes());
        if target.port != scheme.port() {
            out.put_slice(format!(":{}", target.port).as_bytes());
        }
        out.put_slice(b"\r\n");
        const GUARDED: [&str; 3] = ["accept-encoding", "range", "if-range"];
        let guard = |name: &str| GUARDED.iter().any(|own| name.eq_ignore_ascii_case(own));
        let dropped = |name: &str| {
            name.eq_ignore_ascii_case("host")
                || is_length(name)
                || guarded && guard(name)
                || keys.iter().any(|key| key.replaces_header(name))
        };
        write_headers(&self.headers, dropped, out);
        if guarded {
            out.put_slice(b"Accept-Encoding: identity\r\n");
        }
        for key in keys {
            key.write_header(&self.headers, out);
        }
        match self.framing {
            Framing::Length(length) => write_length(length, out),
            Framing::Chunked => out.put_slice(b"Transfer-Encoding: chunked\r\n"),
            Framing::None | Framing::Close => {}
        }
        out.put_slice(b"\r\n");
    }
}

/// Where a head is sent, and what is added to it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sent<'a> {
    pub(super) scheme: Scheme,
    pub(super) target: &'a Target,
    pub(super) path: &'a str,
    pub(super) keys: &'a [&'a Key],
    pub(super) guarded: bool,
}

/// Head of a message from the upstream.
#[derive(Debug, Clone)]
pub(super) struct Answered {
    pub(super) status: u16,
    pub(super) framing: Framing,
    /// Whether the upstream can be asked again on this connection.
    pub(super) keep: bool,
    reason: String,
    /// Whether a length stands for the body that a GET would have had.
    length_of_absent: bool,
    headers: Headers,
}

/// Reads the head of an answer to `method`; `None` when more bytes are needed.
pub(super) fn parse_answered(
    buffer: &mut BytesMut,
    method: &str,
) -> Result<Option<Answered>, &'static str> {
    let mut slots = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut parsed = httparse::Response::new(&mut slots);
    let length = match parsed.parse(buffer) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(_malformed) => return Err("the answer is no HTTP/1 message"),
    };
    let headers = copy(parsed.headers);
    let modern = parsed.version == Some(1);
    let status = parsed.code.unwrap_or_default();
    let reason = parsed.reason.unwrap_or_default().to_owned();
    let absent = method == "HEAD" || matches!(status, 204 | 304 | 100..=199);
    let framing = match parse_framing(&headers, modern) {
        _ if absent => Framing::None,
        // It has no content, so its end need not be told.
        Ok(None) if status == 205 => Framing::None,
        Ok(framing) => framing.unwrap_or(Framing::Close),
        Err(why) => return Err(why),
    };
    let tokens = connection_tokens(&headers);
    let says = |word: &str| tokens.iter().any(|token| token == word);
    let keep = framing != Framing::Close
        // What it may send all the same must reach nobody else.
        && status != 205
        && !says("close")
        && (modern || says("keep-alive"))
        && !values(&headers, "www-authenticate").any(is_of_connection);
    buffer.advance(length);
    Ok(Some(Answered {
        status,
        framing,
        keep,
        reason,
        length_of_absent: absent && (method == "HEAD" || status == 304),
        headers,
    }))
}

impl Answered {
    /// Masks secret values wherever an upstream can write.
    pub(super) fn cover(&mut self, veil: &Veil) {
        veil.mask_text(&mut self.reason);
        for (name, value) in &mut self.headers {
            veil.mask_text(name);
            veil.mask(value);
        }
    }

    /// Why nothing in its body could be masked; `None` when all can.
    pub(super) fn opaque(&self) -> Option<&'static str> {
        let plain = |coding: &[u8]| {
            coding
                .split(|byte| *byte == b',')
                .all(|one| one.trim_ascii().eq_ignore_ascii_case(b"identity"))
        };
        let coded = !values(&self.headers, "content-encoding").all(plain);
        match self.status {
            206 => Some("it gave a part in place of the whole, in which a secret could hide"),
            _ if coded && self.framing != Framing::None => {
                Some("it compressed the answer unasked, in which a secret could hide")
            }
            _ => None,
        }
    }

    /// Writes the head for the tool. `chunk`: the body follows in chunks.
    pub(super) fn write(&self, chunk: bool, close: bool, out: &mut BytesMut) {
        out.put_slice(format!("HTTP/1.1 {} {}\r\n", self.status, self.reason).as_bytes());
        let length_stays = self.length_of_absent;
        let dropped =
            |name: &str| name.eq_ignore_ascii_case(MARK) || (is_length(name) && !length_stays);
        write_headers(&self.headers, dropped, out);
        match self.framing {
            Framing::Length(length) => write_length(length, out),
            Framing::None | Framing::Chunked | Framing::Close => {}
        }
        if chunk {
            out.put_slice(b"Transfer-Encoding: chunked\r\n");
        }
        if close {
            out.put_slice(b"Connection: close\r\n");
        }
        out.put_slice(b"\r\n");
    }
}

fn refuse(error: httparse::Error) -> Malformed {
    match error {
        httparse::Error::TooManyHeaders => {
            Malformed { status: 431, reason: "there are too many headers" }
        }
        httparse::Error::Version => {
            Malformed { status: 505, reason: "the protocol is not HTTP/1.0 or HTTP/1.1" }
        }
        httparse::Error::HeaderName
        | httparse::Error::HeaderValue
        | httparse::Error::NewLine
        | httparse::Error::Status
        | httparse::Error::Token => bad("the message is malformed"),
    }
}

// httparse takes a bare LF for a line end; other parsers on the way may not.
fn check_line_ends(raw: &[u8]) -> Result<(), Malformed> {
    let mut before = 0;
    for byte in raw {
        if *byte == b'\n' && before != b'\r' {
            return Err(bad("a line does not end in CRLF"));
        }
        before = *byte;
    }
    Ok(())
}

fn copy(headers: &[httparse::Header<'_>]) -> Headers {
    let own = |h: &httparse::Header<'_>| (h.name.to_owned(), h.value.to_vec());
    headers.iter().map(own).collect()
}

fn parse_goal(method: &str, target: &str) -> Result<Goal, Malformed> {
    if method == "CONNECT" {
        return Ok(Goal::Tunnel(target.to_owned()));
    }
    let (scheme, rest) =
        target.split_once("://").ok_or_else(|| bad("this is a proxy: it needs an absolute URL"))?;
    let scheme = match scheme.to_ascii_lowercase().as_str() {
        "http" => Scheme::Http,
        "https" => Scheme::Https,
        _ => return Err(bad("the URL is neither http nor https")),
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end).unwrap_or((rest, ""));
    if path.contains('#') {
        return Err(bad("the URL has a fragment, which is never sent"));
    }
    if !path.bytes().all(|byte| (0x21..0x7f).contains(&byte)) {
        return Err(bad("the URL has a character that must be percent-encoded"));
    }
    let slash = if path.starts_with('/') { "" } else { "/" };
    Ok(Goal::Forward { scheme, authority: authority.to_owned(), path: format!("{slash}{path}") })
}

/// The one framing that a message states; `None` when it states none.
fn parse_framing(headers: &Headers, modern: bool) -> Result<Option<Framing>, &'static str> {
    let lengths: Vec<_> = values(headers, "content-length").collect();
    let codings: Vec<_> = values(headers, "transfer-encoding").collect();
    match (lengths.as_slice(), codings.as_slice()) {
        ([], []) => Ok(None),
        ([length], []) => parse_length(length)
            .map(|length| Some(Framing::Length(length)))
            .ok_or("the content length is no number"),
        ([], [coding]) if modern && coding.eq_ignore_ascii_case(b"chunked") => {
            Ok(Some(Framing::Chunked))
        }
        ([], _) => Err("the transfer coding is not exactly `chunked`"),
        (_, []) => Err("there is more than one content length"),
        (_, _) => Err("there are both a content length and a transfer coding"),
    }
}

fn parse_length(value: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(value).ok()?;
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten()
}

fn values<'a>(headers: &'a Headers, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
    headers
        .iter()
        .filter(move |(other, _)| other.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.as_slice())
}

fn connection_tokens(headers: &Headers) -> Vec<String> {
    values(headers, "connection")
        .flat_map(|value| value.split(|byte| *byte == b','))
        .map(|token| String::from_utf8_lossy(token.trim_ascii()).to_ascii_lowercase())
        .collect()
}

/// NTLM and Negotiate log in a connection, not a message.
fn is_of_connection(login: &[u8]) -> bool {
    let login = login.trim_ascii_start().to_ascii_lowercase();
    login.starts_with(b"ntlm") || login.starts_with(b"negotiate")
}

fn is_length(name: &str) -> bool {
    name.eq_ignore_ascii_case("content-length")
}

/// Writes the headers that travel on; those of one hop stay behind.
fn write_headers(headers: &Headers, dropped: impl Fn(&str) -> bool, out: &mut BytesMut) {
    const HOP: [&str; 8] = [
        "connection",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "http2-settings",
        "proxy-connection",
    ];
    let tokens = connection_tokens(headers);
    for (name, value) in headers {
        let lower = name.to_ascii_lowercase();
        let hop = HOP.contains(&lower.as_str()) || lower.starts_with("proxy-");
        if hop || tokens.contains(&lower) || dropped(name) {
            continue;
        }
        out.put_slice(name.as_bytes());
        out.put_slice(b": ");
        out.put_slice(value);
        out.put_slice(b"\r\n");
    }
}

fn write_length(length: u64, out: &mut BytesMut) {
    out.put_slice(format!("Content-Length: {length}\r\n").as_bytes());
}

/// An answer of the gate itself.
pub(super) fn write_own(status: u16, mark: &str, line: &str, blank: bool, out: &mut BytesMut) {
    let reason = match status {
        400 => "Bad Request",
        403 => "Forbidden",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        505 => "HTTP Version Not Supported",
        _ => "Bad Gateway",
    };
    let length = line.len() + 1;
    out.put_slice(
        format!(
            "HTTP/1.1 {status} {reason}\r\n{MARK}: {mark}\r\nContent-Type: text/plain; \
             charset=utf-8\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
        )
        .as_bytes(),
    );
    if !blank {
        out.put_slice(line.as_bytes());
        out.put_slice(b"\n");
    }
}

/// The server name that TLS checks for `host`.
pub(super) fn server_name(
    host: &Host,
) -> Result<rustls_pki_types::ServerName<'static>, &'static str> {
    match host {
        Host::Name(name) => rustls_pki_types::ServerName::try_from(name.clone())
            .map_err(|_bad| "the host cannot stand in a certificate"),
        Host::Address(address) => Ok(rustls_pki_types::ServerName::from(*address)),
    }
}
