//! What a sandboxed call leaves behind: the verdict, the output, the figures. No behaviour.

use std::time::Duration;

use bytes::Bytes;
use serde::Serialize;
pub use switchboard_runner::Refused;

use super::Killer;
use crate::catalog::Limits;

/// What happened in the sandbox.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The verdict.
    pub end: End,
    /// Who ended the tool; `None` when it ended by itself or was lost.
    pub killed: Option<Killer>,
    /// Standard output up to the cap (for an HTTP tool: empty).
    pub stdout: Bytes,
    /// Standard error up to the cap.
    pub stderr: Bytes,
    /// The upstream's answer, for an HTTP tool that got one.
    pub http: Option<HttpAnswer>,
    /// The files that the call wanted, in its order.
    pub files: Vec<GivenFile>,
    /// Bytes written to standard output before any cap.
    pub stdout_bytes: u64,
    /// Bytes written to standard error before any cap.
    pub stderr_bytes: u64,
    /// Processes killed by the kernel for want of memory, the tool itself or a child.
    pub oom_kills: u64,
    /// Each attempt to connect.
    pub egress: Vec<EgressAttempt>,
    /// Whether a started container was waiting.
    pub pool: PoolUse,
    /// Waiting for a container.
    pub queue: Duration,
    /// From container in hand to the end of the tool, less the tool's own time.
    pub sandbox: Duration,
    /// The tool's own wall time.
    pub tool: Duration,
    /// The tool's processor time.
    pub cpu: Duration,
    /// The tool's peak resident memory in bytes.
    pub peak_memory: u64,
    /// Id of the image that ran.
    pub image_digest: String,
    /// Id of the container.
    pub container: String,
    /// The limits that were enforced.
    pub limits: Limits,
}

/// One file that a call wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenFile {
    /// Its name.
    pub name: String,
    /// Its content, or why there is none.
    pub content: Result<Bytes, Refused>,
}

/// Distinct verdicts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// The tool exited with this code.
    Exited(i32),
    /// This signal ended it, and neither a limit nor we sent it.
    Signaled(i32),
    /// The program could not be started.
    NotStarted(String),
    /// The wall time passed.
    Timeout,
    /// The memory limit ended it.
    OutOfMemory,
    /// The process limit ended it.
    ProcessLimit,
    /// It wrote too much.
    OutputLimit,
    /// It filled its scratch disk.
    DiskLimit,
    /// The caller gave up or cancelled.
    Cancelled,
    /// The container or the engine went away under it.
    Lost(String),
}

/// Whether a started container was waiting for the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PoolUse {
    /// One was ready.
    Hit,
    /// One became ready while the call waited.
    Waited,
    /// One was made for the call.
    Cold,
}

/// One attempt of a tool to connect somewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EgressAttempt {
    /// Host as the tool named it.
    pub host: String,
    /// Port.
    pub port: u16,
    /// The address connected to; `None` when none was.
    pub address: Option<String>,
    /// Whether it was allowed.
    pub allowed: bool,
    /// Why not, or what went wrong; empty for a good one.
    pub reason: String,
    /// Names of the secrets that were sent with it.
    pub secrets: Vec<String>,
    /// Status of the upstream's answer; `None` when there was none, or nobody could read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Microseconds from the first byte of the attempt to its end.
    pub duration_us: u64,
    /// Bytes sent by the tool.
    pub sent: u64,
    /// Bytes received by the tool.
    pub received: u64,
}

/// The upstream's answer to an HTTP tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpAnswer {
    /// Status code.
    pub status: u16,
    /// Header names in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// The body, decompressed, up to the output cap.
    pub body: Bytes,
    /// What came behind the first page, for a tool that fetches pages.
    pub pages: Option<MorePages>,
}

/// Further pages of an upstream's answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MorePages {
    /// Their bodies, in order.
    pub bodies: Vec<Bytes>,
    /// Why there is no further one, as the client says; empty when it was ended before it could.
    pub end: String,
    /// Where the next one lies, when that is known and it was not fetched.
    pub next: Option<String>,
    /// The status of the answer in its place.
    pub status: Option<u16>,
    /// Whole seconds after which that answer says to try again.
    pub retry_after: Option<u64>,
}
