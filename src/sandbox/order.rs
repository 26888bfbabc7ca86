//! What to run, worked out from an authorized call: [`Order`]. Fills the argument placeholders of a
//! command and builds the HTTP client's input; never a shell.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Buf, Bytes};
use serde::Deserialize;
use serde_json::Value;

use super::pool::Who;
use super::{Error, HttpAnswer, MorePages};
use crate::call::{File, digest_of};
use crate::catalog::{self, Command, HttpRequest, Profile, Resolved, Stdin, Target, Tool};
use crate::policy::Authorized;

const HOME: &str = "/tmp";
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Bytes of one element of a command line, with the NUL at its end; the kernel takes no more.
const ELEMENT: usize = 128 << 10;
const CLIENT: [&str; 3] = ["/runner", "http", "--max-output"];

/// One thing to run in a sandbox.
#[derive(Debug, Clone)]
pub(super) struct Order {
    pub(super) profile: Arc<Profile>,
    /// Calls of the worker tier with equal scopes may share a container.
    pub(super) scope: Scope,
    /// Whose share of a pool it takes.
    pub(super) who: Who,
    pub(super) argv: Vec<String>,
    pub(super) env: Vec<(String, String)>,
    pub(super) stdin: Vec<u8>,
    /// Files that the tool finds in its folder.
    pub(super) files: Vec<File>,
    /// Names of the files that are collected when it has ended.
    pub(super) wanted: Vec<String>,
    /// Bytes of those together, at most.
    pub(super) wanted_bytes: u64,
    /// Standard output is an HTTP answer, in this form.
    pub(super) answer: Option<Form>,
    /// When the caller stops waiting.
    pub(super) deadline: Option<Instant>,
}

/// In which form the HTTP client gives an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A head line, and the body until the end.
    Single,
    /// For each page a head line that tells its length, and its body; at last a line of its own.
    Pages,
}

/// Who may share a container of the worker tier: calls of one tool source for one tenant.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Scope {
    pub(super) source: String,
    pub(super) tenant: String,
}

impl Order {
    /// The order for an authorized call.
    pub(super) fn new(authorized: &Authorized) -> Result<Self, Error> {
        let checked = &authorized.checked;
        let resolved = &checked.resolved;
        let tool: &Tool = &resolved.tool;
        let arguments = &checked.arguments;
        let call = &resolved.admitted.call;
        let (argv, env, stdin, answer) = match &tool.target {
            Target::Command(command) => (
                fill(&command.argv, &arguments.value)?,
                environment(&command.env),
                input(command, &arguments.value)?,
                None,
            ),
            Target::Http(target) => {
                let mut request = target
                    .request(&arguments.value, &tool.profile.secrets)
                    .map_err(|error| unsent(&error))?;
                if let Some(name) = &target.manner.key_header {
                    add_key(&mut request, name, resolved);
                }
                let stdin = serde_json::to_vec(&request)
                    .map_err(|error| refused("", &error.to_string()))?;
                let cap = tool.profile.limits.output.to_string();
                let argv = CLIENT.map(str::to_owned).into_iter().chain([cap]).collect();
                let form = if request.pages.is_some() { Form::Pages } else { Form::Single };
                (argv, environment(&BTreeMap::new()), stdin, Some(form))
            }
        };
        let wanted = tool.files.wanted(&call.output_files).to_vec();
        Ok(Self {
            profile: Arc::clone(&tool.profile),
            scope: Scope {
                source: tool.source.clone(),
                tenant: resolved.admitted.caller.tenant.clone(),
            },
            who: Who::new((
                resolved.admitted.caller.tenant.clone(),
                resolved.admitted.caller.name.clone(),
            )),
            argv,
            env,
            stdin,
            files: call.files.clone(),
            // A call that wants no files leaves no time for them.
            wanted_bytes: match (wanted.is_empty(), &tool.files.give) {
                (false, Some(give)) => give.bytes,
                (true, _) | (_, None) => 0,
            },
            wanted,
            answer,
            deadline: call.deadline,
        })
    }

    /// The command line; the HTTP client is told how long it has.
    pub(super) fn argv_within(&self, wall: Duration) -> Vec<String> {
        let mut argv = self.argv.clone();
        if self.answer.is_some() {
            argv.extend(["--within".to_owned(), wall.as_millis().to_string()]);
        }
        argv
    }
}

/// Adds the header that makes a repeat safe: equal for the attempts of a call, and for calls of one
/// caller that have the same key of their own.
fn add_key(request: &mut HttpRequest, name: &str, resolved: &Resolved) {
    if request.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name)) {
        return;
    }
    let call = &resolved.admitted.call;
    let caller = &resolved.admitted.caller;
    let value = match &call.idempotency_key {
        Some(key) => {
            let parts = ["key", &caller.tenant, &caller.name, &resolved.tool.name, key];
            let mut text = hex::encode(digest_of(parts));
            text.truncate(32);
            text
        }
        None => call.id.to_string(),
    };
    request.headers.push((name.to_owned(), value));
}

/// Replaces each element that is exactly `{/pointer}` by the argument there.
pub(super) fn fill(argv: &[String], arguments: &Value) -> Result<Vec<String>, Error> {
    argv.iter()
        .map(|element| {
            let Some(pointer) = placeholder(element) else {
                return Ok(element.clone());
            };
            let text = text_at(arguments, pointer)?;
            if text.contains('\0') {
                return Err(refused(pointer, "a command line cannot carry a NUL character"));
            }
            if text.len() >= ELEMENT {
                let reason = format!(
                    "it has {} bytes, and a command line carries fewer than {ELEMENT} in one argument",
                    text.len()
                );
                return Err(refused(pointer, &reason));
            }
            Ok(text)
        })
        .collect()
}

fn placeholder(element: &str) -> Option<&str> {
    let pointer = element.strip_prefix('{')?.strip_suffix('}')?;
    pointer.starts_with('/').then_some(pointer)
}

/// The argument at `pointer`: a string as it is, anything else as JSON text.
fn text_at(arguments: &Value, pointer: &str) -> Result<String, Error> {
    match arguments.pointer(pointer) {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(value) => Ok(value.to_string()),
        // Leaving the element out would shift those after it.
        None => Err(refused(pointer, "the tool needs it, and it was not given")),
    }
}

fn input(command: &Command, arguments: &Value) -> Result<Vec<u8>, Error> {
    Ok(match &command.stdin {
        // As the caller spelled it: the canonical text may write a big integer with an exponent.
        Stdin::Json => arguments.to_string().into_bytes(),
        Stdin::None => Vec::new(),
        Stdin::Pointer(pointer) => text_at(arguments, pointer)?.into_bytes(),
    })
}

/// The whole environment of a tool; what the manifest says wins.
pub(super) fn environment(own: &BTreeMap<String, String>) -> Vec<(String, String)> {
    let mut env: BTreeMap<String, String> =
        [("PATH", PATH), ("HOME", HOME), ("TMPDIR", HOME), ("LANG", "C.UTF-8")]
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
    env.extend(own.iter().map(|(name, value)| (name.clone(), value.clone())));
    env.into_iter().collect()
}

fn refused(pointer: &str, reason: &str) -> Error {
    Error::Argument { pointer: pointer.to_owned(), reason: reason.to_owned() }
}

/// Why arguments make no request that may be sent.
fn unsent(error: &catalog::Error) -> Error {
    match error {
        catalog::Error::Argument { pointer, reason, .. } => refused(pointer, reason),
        other => refused("", &other.to_string()),
    }
}

#[derive(Deserialize)]
struct Head {
    status: u16,
    headers: Vec<(String, String)>,
    /// Bytes of the body, where another page can follow.
    #[serde(default)]
    bytes: usize,
}

#[derive(Deserialize)]
struct Last {
    end: String,
    next: Option<String>,
    status: Option<u16>,
    retry_after: Option<u64>,
}

/// The first line of what is left, without its end.
fn take_line(rest: &mut Bytes) -> Option<Bytes> {
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let line = rest.split_to(end);
    rest.advance(1);
    Some(line)
}

/// Reads what the HTTP client wrote: one line of JSON with status and headers, then the body. What an
/// end from outside cut off is missing.
pub(super) fn parse_answer(mut stdout: Bytes, form: Form) -> Option<HttpAnswer> {
    let line = take_line(&mut stdout)?;
    let Head { status, headers, bytes } = serde_json::from_slice(&line).ok()?;
    let lower = |(name, value): (String, String)| (name.to_ascii_lowercase(), value);
    let headers = headers.into_iter().map(lower).collect();
    if form == Form::Single {
        return Some(HttpAnswer { status, headers, body: stdout, pages: None });
    }
    let body = stdout.split_to(bytes.min(stdout.len()));
    let mut more = MorePages::default();
    while let Some(line) = take_line(&mut stdout) {
        match serde_json::from_slice::<Last>(&line) {
            Ok(last) => {
                (more.end, more.next) = (last.end, last.next);
                (more.status, more.retry_after) = (last.status, last.retry_after);
            }
            Err(_) => match serde_json::from_slice::<Head>(&line) {
                Ok(head) if head.bytes <= stdout.len() => {
                    more.bodies.push(stdout.split_to(head.bytes));
                }
                Ok(_) | Err(_) => break,
            },
        }
    }
    Some(HttpAnswer { status, headers, body, pages: Some(more) })
}
