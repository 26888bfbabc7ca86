//! One call as it arrived, and the stable codes with which a reply can fail. Shared by all rooms;
//! everything else lives in the room that makes it.

mod dialect;
mod digest;
mod event;
mod file;
mod member;
mod session;

use std::collections::BTreeSet;
use std::fmt;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use dialect::{Dialect, NoDialect};
pub use digest::digest_of;
pub use event::Event;
pub use file::{BadName, File, FileFacts, MAX_FILES, MAX_FILES_BYTES, check_names, is_file_name};
pub use member::Member;
pub use session::{Session, Taint};

/// Names one call for ever: a UUID of version 7, so that ids sort by time.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CallId(String);

impl CallId {
    /// Makes a new id.
    pub fn generate() -> Self {
        Self(uuid::Uuid::now_v7().to_string())
    }

    /// An id that a caller made; `None` when it is not a UUID in its usual form.
    pub fn parse(text: &str) -> Option<Self> {
        let id = uuid::Uuid::try_parse(text).ok()?.to_string();
        (id == text).then_some(Self(id))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A fault of a call that lies in the message that it came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Withheld {
    /// Whether the message was cut off.
    pub is_cut: bool,
    /// What is wrong, and what to send instead.
    pub why: String,
}

/// A tool call as the caller sent it; nothing in it has been checked.
#[derive(Debug, Clone)]
pub struct Call {
    /// Made on arrival, or by the caller.
    pub id: CallId,
    /// Whether the caller made the id.
    pub named: bool,
    /// The tool's name as the caller wrote it.
    pub tool: String,
    /// The arguments as JSON text, exactly as they came.
    pub arguments_json: String,
    /// The arguments as a model wrote them, where those of a batch had to be read out of another notation
    /// than JSON before results could be put in.
    pub written: Option<String>,
    /// In whose terms the name and the arguments are written; `None` for the tool's own.
    pub dialect: Option<Dialect>,
    /// Why the call may not run, whatever its arguments are; known before it was sent on.
    pub withheld: Option<Withheld>,
    /// Files that the tool can read.
    pub files: Vec<File>,
    /// Names of the files that the caller wants back.
    pub output_files: Vec<String>,
    /// Groups the calls of one conversation or run; empty when the caller named none.
    pub conversation: String,
    /// What that conversation had come to when the call was admitted; nothing before that.
    pub session: Session,
    /// What its arguments bring along from the results of other calls; nothing outside a batch.
    pub taint: BTreeSet<Taint>,
    /// Its place in a batch.
    pub member: Option<Member>,
    /// Set when the caller wants an equal call answered from the first one's reply.
    pub idempotency_key: Option<String>,
    /// The approval that the caller says this call has.
    pub approval: Option<String>,
    /// Whether the call waits for a person where it needs one.
    pub attends: bool,
    /// Tokens that the data of its reply may take; 0 for no bound.
    pub max_tokens: u32,
    /// Whether the reply has the whole result, whatever the tool's summary says.
    pub full: bool,
    /// When the caller stops waiting.
    pub deadline: Option<Instant>,
    /// When the call arrived.
    pub received: Instant,
    /// How its caller proved who it is, in words for the record; empty where nobody asked.
    pub proof: String,
}

impl Call {
    /// A call that arrives now.
    pub fn new(tool: impl Into<String>, arguments_json: impl Into<String>) -> Self {
        Self {
            id: CallId::generate(),
            named: false,
            tool: tool.into(),
            arguments_json: arguments_json.into(),
            written: None,
            dialect: None,
            withheld: None,
            files: Vec::new(),
            output_files: Vec::new(),
            conversation: String::new(),
            session: Session::default(),
            taint: BTreeSet::new(),
            member: None,
            idempotency_key: None,
            approval: None,
            attends: false,
            max_tokens: 0,
            full: false,
            deadline: None,
            received: Instant::now(),
            proof: String::new(),
        }
    }

    /// What the call's files add to its identity; empty without any.
    pub fn files_digest(&self) -> String {
        file::digest(&self.files, &self.output_files)
    }

    /// Time left until the deadline; `None` without one, zero once it has passed.
    pub fn remaining(&self) -> Option<Duration> {
        self.deadline.map(|at| at.saturating_duration_since(Instant::now()))
    }
}

/// Stable error codes of a reply. Each is documented in `proto/switchboard/tools/v1/tools.proto`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[expect(missing_docs, reason = "each code is documented once, in the proto file")]
pub enum Code {
    UnknownTool,
    SchemaValidationError,
    PolicyDenied,
    ApprovalRequired,
    ApprovalRejected,
    RateLimited,
    ToolTimeout,
    ToolOutOfMemory,
    ProcessLimit,
    OutputLimit,
    DiskLimit,
    EgressDenied,
    ExecutionError,
    UpstreamError,
    OutputSchemaError,
    SandboxUnavailable,
    Cancelled,
    DeadlineExceeded,
    DuplicateCall,
    LedgerUnavailable,
    Draining,
    Skipped,
    Internal,
}

impl Code {
    /// Every code, in the order of the proto file.
    pub const ALL: [Self; 23] = [
        Self::UnknownTool,
        Self::SchemaValidationError,
        Self::PolicyDenied,
        Self::ApprovalRequired,
        Self::ApprovalRejected,
        Self::RateLimited,
        Self::ToolTimeout,
        Self::ToolOutOfMemory,
        Self::ProcessLimit,
        Self::OutputLimit,
        Self::DiskLimit,
        Self::EgressDenied,
        Self::ExecutionError,
        Self::UpstreamError,
        Self::OutputSchemaError,
        Self::SandboxUnavailable,
        Self::Cancelled,
        Self::DeadlineExceeded,
        Self::DuplicateCall,
        Self::LedgerUnavailable,
        Self::Draining,
        Self::Skipped,
        Self::Internal,
    ];

    /// The code as it stands in a reply.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UnknownTool => "UNKNOWN_TOOL",
            Self::SchemaValidationError => "SCHEMA_VALIDATION_ERROR",
            Self::PolicyDenied => "POLICY_DENIED",
            Self::ApprovalRequired => "APPROVAL_REQUIRED",
            Self::ApprovalRejected => "APPROVAL_REJECTED",
            Self::RateLimited => "RATE_LIMITED",
            Self::ToolTimeout => "TOOL_TIMEOUT",
            Self::ToolOutOfMemory => "TOOL_OUT_OF_MEMORY",
            Self::ProcessLimit => "PROCESS_LIMIT",
            Self::OutputLimit => "OUTPUT_LIMIT",
            Self::DiskLimit => "DISK_LIMIT",
            Self::EgressDenied => "EGRESS_DENIED",
            Self::ExecutionError => "EXECUTION_ERROR",
            Self::UpstreamError => "UPSTREAM_ERROR",
            Self::OutputSchemaError => "OUTPUT_SCHEMA_ERROR",
            Self::SandboxUnavailable => "SANDBOX_UNAVAILABLE",
            Self::Cancelled => "CANCELLED",
            Self::DeadlineExceeded => "DEADLINE_EXCEEDED",
            Self::DuplicateCall => "DUPLICATE_CALL",
            Self::LedgerUnavailable => "LEDGER_UNAVAILABLE",
            Self::Draining => "DRAINING",
            Self::Skipped => "SKIPPED",
            Self::Internal => "INTERNAL",
        }
    }

    /// Whether the same call, unchanged, may succeed when it is sent again.
    pub const fn retryable(self) -> bool {
        matches!(
            self,
            Self::RateLimited
                | Self::SandboxUnavailable
                | Self::DeadlineExceeded
                | Self::Draining
                | Self::Internal
        )
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What each room's error can say of itself, so that one place can turn any of them into a reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// The stable code.
    pub code: Code,
    /// One line for a person or a model: lower case, no full stop, user input in backticks.
    pub message: String,
    /// Machine-readable particulars; an object, or null when there are none.
    pub details: Value,
    /// How long to wait before the same call can succeed, where that is known.
    pub retry_after: Option<Duration>,
}

impl Failure {
    /// A failure without particulars.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), details: Value::Null, retry_after: None }
    }

    /// Adds particulars.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = details;
        self
    }
}
