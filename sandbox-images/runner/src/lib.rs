//! The frames that the daemon and the runner exchange; both sides compile this one definition.
//!
//! The runner is PID 1 of a sandbox. On start it writes one line of JSON, a [`Ready`], to its
//! standard output. From then on stdin and stdout carry one yamux connection; the daemon is the
//! yamux client. The daemon opens one stream a call; the runner opens one stream for each
//! connection that a tool makes to its egress port. Every message on a call stream is a frame:
//! one byte of [`Kind`], four bytes of big-endian payload length, the payload.
//!
//! The daemon keeps its half of a call stream open until the result has come: closing or dropping
//! the stream before cancels the call. The end of stdin ends the sandbox. PID 1 runs as root with
//! the capabilities SETUID, SETGID and KILL, and tools as users between 10001
//! and 65535 without any.
//!
//! A call with files (only in the `call` tier) sends TAKE frames between the request and the first
//! STDIN, and gets GIVE frames between the last output and the result. Both carry the contents of
//! all files one after the other; the lengths stand in the request and in the report.

pub mod chunked;
pub mod file;
pub mod http;
mod unheard;

use serde::{Deserialize, Serialize};

pub use file::{Given, Refused, Taken};
pub use unheard::Unheard;

/// Version of this protocol; the daemon refuses a runner that announces another one.
pub const PROTOCOL: u32 = 2;
/// Largest payload of one frame, in bytes. A longer one is a protocol error.
pub const MAX_FRAME: usize = 1 << 20;
/// Bytes before the payload of a frame: kind and length.
pub const HEADER: usize = 5;

/// What a frame carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Daemon to runner, first frame of a call stream: a [`Request`] as JSON.
    Request = 1,
    /// Daemon to runner: bytes for the tool's standard input.
    Stdin = 2,
    /// Daemon to runner: the tool's standard input ends here; no payload.
    StdinEnd = 3,
    /// Runner to daemon: the tool was started; no payload.
    Started = 4,
    /// Runner to daemon: bytes the tool wrote to its standard output.
    Stdout = 5,
    /// Runner to daemon: bytes the tool wrote to its standard error.
    Stderr = 6,
    /// Runner to daemon, last frame of a call stream: a [`Report`] as JSON.
    Result = 7,
    /// Runner to daemon, first frame of an egress stream: an [`Open`] as JSON. Raw bytes follow.
    Open = 8,
    /// Daemon to runner: bytes of the call's files, in the order of [`Request::take`].
    Take = 9,
    /// Runner to daemon: bytes of the files that the tool gives, in the order of [`Report::given`].
    Give = 10,
}

impl Kind {
    /// The kind written as `byte`, if there is one.
    pub fn from_byte(byte: u8) -> Option<Self> {
        [
            Self::Request,
            Self::Stdin,
            Self::StdinEnd,
            Self::Started,
            Self::Stdout,
            Self::Stderr,
            Self::Result,
            Self::Open,
            Self::Take,
            Self::Give,
        ]
        .into_iter()
        .find(|kind| *kind as u8 == byte)
    }
}

/// Announced once by the runner, before the yamux connection starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ready {
    /// [`PROTOCOL`] of the runner.
    pub protocol: u32,
    /// The limits that the runner reads back from its own cgroup.
    pub limits: CgroupLimits,
    /// Bytes of the scratch file system, `/tmp`.
    pub scratch_bytes: Option<u64>,
    /// Files that fit on it; `None` where it does not count them.
    pub scratch_files: Option<u64>,
    /// Whether a seccomp filter is in force; `None` where the kernel does not say.
    pub seccomp: Option<bool>,
}

/// Limits as the container's own cgroup shows them; `None` where the file cannot be read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CgroupLimits {
    /// Bytes of memory.
    pub memory_bytes: Option<u64>,
    /// Bytes of memory and swap together (version 1), or of memory plus swap (version 2).
    pub memory_and_swap_bytes: Option<u64>,
    /// Number of processes and threads.
    pub processes: Option<u64>,
    /// Processor time in thousandths of one core.
    pub cpu_millis: Option<u64>,
}

/// One call: which program to start, with what, and inside which limits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Repeated in the [`Report`] and in each [`Open`]; the tool never sees it.
    pub nonce: String,
    /// Program and arguments. `argv[0]` is looked up in `PATH` of `env`.
    pub argv: Vec<String>,
    /// The whole environment of the tool.
    pub env: Vec<(String, String)>,
    /// Working directory.
    pub cwd: String,
    /// Wall time, in milliseconds, after which the tool is killed.
    pub wall_ms: u64,
    /// Bytes of standard output and standard error together after which the tool is killed.
    pub output_bytes: u64,
    /// Open files (RLIMIT_NOFILE).
    pub open_files: u64,
    /// Largest file the tool may write (RLIMIT_FSIZE), in bytes.
    pub file_bytes: u64,
    /// Processes and threads of the tool's user (RLIMIT_NPROC). Only for a kernel of the sandbox's own.
    pub processes: Option<u64>,
    /// Address space of each process (RLIMIT_AS), in bytes.
    pub memory_bytes: Option<u64>,
    /// Opens a loopback port for this call and names it in HTTP_PROXY and its kin.
    pub egress: bool,
    /// Exits after this call. Set in the `call` tier, clear in the `worker` tier.
    pub last: bool,
    /// Files that are written to the folder `in` of the working directory before the tool starts.
    pub take: Vec<Taken>,
    /// Names of the files that are read from the folder `out` of the working directory when the tool
    /// and all it started have ended. The folders are there only when a file goes that way.
    pub give: Vec<String>,
    /// Bytes of all files together that are given at most.
    pub give_bytes: u64,
}

/// What ended the tool before it ended by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stopped {
    /// The wall time had passed.
    Wall,
    /// More output than allowed.
    Output,
    /// The daemon closed the call stream.
    Cancelled,
}

/// How the tool's own process ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// It exited with this code.
    Code(i32),
    /// A signal ended it.
    Signal(i32),
    /// It never started: what failed, and why.
    NotStarted(String),
}

/// The last word on one call: raw facts, from which the daemon decides the verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// The nonce of the [`Request`].
    pub nonce: String,
    /// How the tool's own process ended.
    pub exit: Exit,
    /// Set when the runner ended it.
    pub stopped: Option<Stopped>,
    /// Microseconds from start to end of the tool.
    pub wall_us: u64,
    /// Microseconds of processor time, user and system together.
    pub cpu_us: u64,
    /// Peak resident memory of the largest process, in bytes; in the worker tier of the largest that
    /// any call has had so far.
    pub peak_bytes: u64,
    /// Bytes the tool wrote to standard output, before any cap.
    pub stdout_bytes: u64,
    /// Bytes the tool wrote to standard error, before any cap.
    pub stderr_bytes: u64,
    /// Processes that the kernel killed for want of memory during the call (cgroup counter).
    pub oom_kills: u64,
    /// Forks that the process limit refused during the call (cgroup counter).
    pub forks_refused: u64,
    /// Whether a writable file system had no free block or no free inode at the end.
    pub disk_full: bool,
    /// What came of each file of [`Request::give`], in that order.
    pub given: Vec<Given>,
}

/// Names the call on whose behalf an egress stream was opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Open {
    /// The nonce of the [`Request`].
    pub nonce: String,
}

/// Builds one frame.
pub fn frame(kind: Kind, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
    let mut bytes = Vec::with_capacity(HEADER + payload.len());
    bytes.push(kind as u8);
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// Why a header is not one of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadHeader {
    /// The first byte names no [`Kind`].
    Kind(u8),
    /// The payload would be longer than [`MAX_FRAME`].
    Length(u32),
}

/// Reads the header of a frame: its kind and the length of its payload.
pub fn parse_header(header: [u8; HEADER]) -> Result<(Kind, usize), BadHeader> {
    let [kind, length @ ..] = header;
    let length = u32::from_be_bytes(length);
    let kind = Kind::from_byte(kind).ok_or(BadHeader::Kind(kind))?;
    match usize::try_from(length) {
        Ok(size) if size <= MAX_FRAME => Ok((kind, size)),
        Ok(_) | Err(_) => Err(BadHeader::Length(length)),
    }
}
