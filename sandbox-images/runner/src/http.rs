//! `runner http`: the client of HTTP tools, one process a call. A [`Call`] as JSON on standard
//! input and the egress port in `HTTP_PROXY` in; one line of JSON with status and headers and then
//! the body on standard output. TLS, rules and secrets are the gate's; it knows none of them.

mod answer;
mod coding;
mod location;
mod pages;
mod retry;
#[cfg(test)]
mod tests;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use answer::{Answer, read_answer};
use location::{Next, Url};
pub use pages::{Follow, Pages, next_link};
use retry::{Patience, is_passing};
pub use retry::{Retry, retry_after};

/// Redirects that are followed, at most.
pub const MOST_REDIRECTS: usize = 5;
/// Exit code where redirects lead to no answer.
pub const ASTRAY: u8 = 6;
/// Bytes of standard output, head line included, unless `--max-output` says otherwise.
pub const DEFAULT_OUTPUT: u64 = 1 << 20;
/// Bytes of the output limit that are left for standard error.
const RESERVE: u64 = 1024;
/// A body up to this size is written before the answer is read; the gate and the kernel hold it.
const SMALL_BODY: usize = 32 * 1024;

/// What is to be sent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// Upper-case method.
    pub method: String,
    /// Absolute `http` or `https` URL, percent-encoded.
    pub url: String,
    /// Header names and values. Host, framing and hop-by-hop headers are left out.
    pub headers: Vec<(String, String)>,
    /// The body in base64; `None` for none.
    pub body_base64: Option<String>,
    /// Whether and how it may be sent again; `None` for once.
    #[serde(default)]
    pub retry: Option<Retry>,
    /// How to fetch further pages; `None` for the first alone.
    #[serde(default)]
    pub pages: Option<Pages>,
}

/// What a call may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes of standard output in all.
    pub output: u64,
    /// Time until the call is ended from outside; no pause and no page is begun that would not fit.
    pub within: Option<Duration>,
}

/// Why there is no complete answer; the message is one line for standard error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// Exit 2: the input cannot be sent as it is.
    Usage(String),
    /// Exit 3: the gate denied it.
    Denied(String),
    /// Exit 4: no answer, or one that broke off.
    Failed(String),
    /// Exit [`ASTRAY`]: a redirect leads where nothing can be fetched, or there are too many.
    Astray(String),
    /// Exit 5: the body is longer than the output limit; what fits was written.
    Cut(String),
}

impl Stop {
    fn exit(&self) -> (u8, &str) {
        match self {
            Self::Usage(why) => (2, why),
            Self::Denied(why) => (3, why),
            Self::Failed(why) => (4, why),
            Self::Cut(why) => (5, why),
            Self::Astray(why) => (ASTRAY, why),
        }
    }
}

/// Runs the mode; `runner http [--max-output BYTES] [--within MILLISECONDS]`. Exits 0 whatever the HTTP status.
pub fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(2).collect();
    let proxy = std::env::var_os("HTTP_PROXY");
    serve(&arguments, proxy.as_deref().and_then(OsStr::to_str).unwrap_or_default())
}

/// Runs the mode in this process, with the arguments after `http` and the value of `HTTP_PROXY`.
pub fn serve(arguments: &[OsString], proxy: &str) -> ExitCode {
    match run_process(arguments, proxy) {
        Ok(()) => ExitCode::SUCCESS,
        Err(stop) => {
            let (code, why) = stop.exit();
            let line = format!("{}\n", why.replace(['\r', '\n'], " "));
            // Without standard error there is only the exit code left to speak.
            drop(io::stderr().write_all(line.as_bytes()));
            ExitCode::from(code)
        }
    }
}

fn run_process(arguments: &[OsString], proxy: &str) -> Result<(), Stop> {
    let usage = "usage: runner http [--max-output BYTES] [--within MILLISECONDS] < call.json";
    let bounds = read_bounds(arguments).ok_or_else(|| Stop::Usage(usage.to_owned()))?;
    let mut text = Vec::new();
    io::stdin()
        .lock()
        .read_to_end(&mut text)
        .map_err(|error| Stop::Usage(format!("standard input cannot be read: {error}")))?;
    let call = serde_json::from_slice(&text)
        .map_err(|error| Stop::Usage(format!("standard input is no call: {error}")))?;
    // Standard output as std gives it is cut at every line feed; a body is not made of lines.
    let mut out = io::stdout()
        .as_fd()
        .try_clone_to_owned()
        .map(File::from)
        .map_err(|error| Stop::Usage(format!("there is no standard output: {error}")))?;
    run(call, proxy, bounds, &mut out)
}

fn read_bounds(arguments: &[OsString]) -> Option<Bounds> {
    let mut bounds = Bounds { output: DEFAULT_OUTPUT, within: None };
    for pair in arguments.chunks(2) {
        let [flag, number] = pair else { return None };
        let number = number.to_str()?.parse().ok()?;
        match flag.to_str()? {
            "--max-output" => bounds.output = number,
            "--within" => bounds.within = Some(Duration::from_millis(number)),
            _ => return None,
        }
    }
    Some(bounds)
}

/// Sends `call` by way of `proxy` (`http://host:port`) and writes the answer to `out`, within
/// `bounds`.
///
/// Redirects are followed [`MOST_REDIRECTS`] times, each hop through the gate: 303 as GET (HEAD
/// stays), 307 and 308 with method and body, 301 and 302 for GET and HEAD only. Any other redirect
/// is the answer. To another origin go only the headers that tell nothing of the caller.
///
/// With [`Call::retry`] a hop is sent again when the upstream gave no byte of an answer, or answered
/// 429, 502, 503 or 504; `Retry-After` is honoured where the time allows.
pub fn run(call: Call, proxy: &str, bounds: Bounds, out: &mut impl Write) -> Result<(), Stop> {
    let address = proxy
        .strip_prefix("http://")
        .map(|rest| rest.trim_end_matches('/'))
        .filter(|address| !address.is_empty())
        .ok_or_else(|| Stop::Usage("`HTTP_PROXY` names no egress port".to_owned()))?;
    let mut courier = Courier { address, patience: Patience::new(call.retry, bounds.within) };
    let pages = call.pages.clone();
    let mut hop = Hop::new(call)?;
    match pages {
        Some(pages) => pages::walk(&mut courier, hop, &pages, (bounds.output, out)),
        None => courier.fetch(&mut hop)?.write(bounds.output.saturating_sub(RESERVE), out),
    }
}

/// Carries requests to the gate, and again where that is declared.
#[derive(Debug)]
struct Courier<'a> {
    address: &'a str,
    patience: Patience,
}

impl Courier<'_> {
    /// The answer at the end of the redirects.
    fn fetch(&mut self, hop: &mut Hop) -> Result<Answer, Stop> {
        for redirects in 0..=MOST_REDIRECTS {
            let answer = self.send(hop);
            let answer =
                answer.map_err(|stop| if redirects > 0 { hop.name(stop) } else { stop })?;
            let Some(next) = answer.redirect() else { return Ok(answer) };
            let method = match (answer.status, hop.method.as_str()) {
                (303, "HEAD") | (301 | 302, "HEAD") => "HEAD",
                (303, _) | (301 | 302, "GET") => "GET",
                (307 | 308, method) => method,
                _ => return Ok(answer),
            }
            .to_owned();
            match hop.url.join(&next) {
                Next::Url(url) => {
                    // The key that makes a repeat safe stays at the origin it was meant for.
                    if !hop.url.is_same_origin(&url) {
                        self.patience.give_up();
                    }
                    hop.turn(url, method)?;
                }
                Next::Foreign => {
                    let shown = next.split_whitespace().next().unwrap_or_default();
                    let shown = shown.chars().take(200).collect::<String>();
                    return Err(Stop::Astray(format!(
                        "redirect to `{shown}` refused: it is neither http nor https"
                    )));
                }
                Next::Malformed => return Ok(answer),
            }
        }
        Err(Stop::Astray(format!(
            "more than {MOST_REDIRECTS} redirects; the last led to `{}`",
            hop.url.without_query()
        )))
    }

    /// One hop, as often as it may be sent.
    fn send(&mut self, hop: &Hop) -> Result<Answer, Stop> {
        loop {
            let mut answer = hop.send(self.address)?;
            let mark = answer.mark();
            let asked = match &mark {
                Some(mark) if mark.denied => None,
                Some(_) => Some(None),
                None => is_passing(answer.status).then(|| answer.retry_after()),
            };
            let Some(pause) = asked.and_then(|asked| self.patience.pause(asked)) else {
                return match mark {
                    Some(mark) if mark.denied => Err(Stop::Denied(mark.line)),
                    Some(mark) => Err(Stop::Failed(mark.line)),
                    None => Ok(answer),
                };
            };
            drop(answer);
            std::thread::sleep(pause);
        }
    }
}

/// One request on its way.
#[derive(Debug)]
struct Hop {
    method: String,
    url: Url,
    headers: Vec<(String, String)>,
    body: Option<Arc<[u8]>>,
}

impl Hop {
    fn new(call: Call) -> Result<Self, Stop> {
        let usage = |why: String| Stop::Usage(why);
        if !is_token(&call.method) || call.method == "CONNECT" {
            return Err(usage(format!("`{}` is no method", call.method)));
        }
        for (name, value) in &call.headers {
            let plain = |byte: u8| byte == b'\t' || !byte.is_ascii_control();
            if !is_token(name) || !value.bytes().all(plain) {
                return Err(usage(format!("header `{name}` cannot be sent")));
            }
        }
        let url = Url::parse(&call.url)
            .ok_or_else(|| usage(format!("`{}` is no http or https URL", call.url)))?;
        let body = call.body_base64.map(|text| STANDARD.decode(text));
        let body = body
            .transpose()
            .map_err(|error| usage(format!("the body is not in base64: {error}")))?;
        let mut headers = call.headers;
        headers.retain(|(name, _)| !is_ours(name));
        Ok(Self { method: call.method, url, headers, body: body.map(Arc::from) })
    }

    /// Goes on to `url` as a redirect demands.
    fn turn(&mut self, url: Url, method: String) -> Result<(), Stop> {
        if method != self.method {
            self.body = None;
            let of_body = |name: &str| name.to_ascii_lowercase().starts_with("content-");
            self.headers.retain(|(name, _)| !of_body(name));
            self.method = method;
        }
        if !self.url.is_same_origin(&url) {
            const HARMLESS: [&str; 6] = [
                "accept",
                "accept-language",
                "content-encoding",
                "content-language",
                "content-type",
                "user-agent",
            ];
            self.headers.retain(|(name, _)| HARMLESS.iter().any(|h| name.eq_ignore_ascii_case(h)));
            if self.body.is_some() && self.url.is_secure() && !url.is_secure() {
                return Err(Stop::Astray(format!(
                    "redirect to `{}` refused: it would send the body without TLS",
                    url.without_query()
                )));
            }
        }
        self.url = url;
        Ok(())
    }

    fn name(&self, stop: Stop) -> Stop {
        let name = |why: String| format!("redirect to `{}`: {why}", self.url.without_query());
        match stop {
            Stop::Denied(why) => Stop::Denied(name(why)),
            Stop::Failed(why) => Stop::Failed(name(why)),
            Stop::Usage(_) | Stop::Cut(_) | Stop::Astray(_) => stop,
        }
    }

    fn write_head(&self) -> Vec<u8> {
        let mut head = format!(
            "{} {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n",
            self.method,
            self.url,
            self.url.authority()
        );
        let mut put = |name: &str, value: &str| {
            for part in [name, ": ", value, "\r\n"] {
                head.push_str(part);
            }
        };
        for (name, value) in &self.headers {
            put(name, value);
        }
        let has = |name: &str| self.headers.iter().any(|(n, _)| n.eq_ignore_ascii_case(name));
        if !has("accept-encoding") {
            put("Accept-Encoding", "identity");
        }
        if !has("user-agent") {
            put("User-Agent", concat!("switchboard/", env!("CARGO_PKG_VERSION")));
        }
        if !has("accept") {
            put("Accept", "*/*");
        }
        let usual = matches!(self.method.as_str(), "POST" | "PUT" | "PATCH");
        if let Some(length) =
            self.body.as_ref().map(|body| body.len()).or_else(|| usual.then_some(0))
        {
            put("Content-Length", &length.to_string());
        }
        head.push_str("\r\n");
        head.into_bytes()
    }

    fn send(&self, proxy: &str) -> Result<Answer, Stop> {
        let failed = |error: io::Error| Stop::Failed(format!("the egress port failed: {error}"));
        let mut stream = TcpStream::connect(proxy).map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        let mut bytes = self.write_head();
        let body = self.body.as_deref().unwrap_or_default();
        if body.len() <= SMALL_BODY {
            bytes.extend_from_slice(body);
            stream.write_all(&bytes).map_err(failed)?;
            return read_answer(stream, &self.method);
        }
        // An upstream may answer before it has read everything, and read on only once its answer
        // is read. The thread ends with the connection, at the latest with the process.
        let mut writer = stream.try_clone().map_err(failed)?;
        let body = self.body.clone();
        std::thread::spawn(move || {
            let body = body.as_deref().unwrap_or_default();
            // When the upload breaks off, the answer or its absence tells why.
            drop(writer.write_all(&bytes).and_then(|()| writer.write_all(body)));
        });
        read_answer(stream, &self.method)
    }
}

fn is_token(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(allowed)
}

/// Headers that this client or the gate sets.
fn is_ours(name: &str) -> bool {
    const OURS: [&str; 9] = [
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    ];
    let name = name.to_ascii_lowercase();
    OURS.contains(&name.as_str()) || name.starts_with("proxy-")
}
