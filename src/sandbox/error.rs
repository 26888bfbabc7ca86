//! Why a call did not run, or why a container could not be had. A tool that ran and failed is not
//! here: that is an [`Outcome`](super::Outcome).

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use crate::call::{Code, Failure};

/// Why a call did not run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The configuration cannot be used.
    #[error("sandbox setting `{key}` cannot be used: {reason}")]
    Config {
        /// Name of the setting.
        key: &'static str,
        /// What is wrong and how to mend it.
        reason: String,
    },
    /// The images file cannot be read.
    #[error(
        "images file `{}` cannot be read: {reason}; run `sandbox-images/build.sh`",
        path.display()
    )]
    Images {
        /// Where it should be.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A profile names an image that was never built, or that the engine does not have.
    #[error("image `{image}` is missing ({reason}); run `sandbox-images/build.sh`")]
    ImageMissing {
        /// Name in the profile.
        image: String,
        /// Who misses it.
        reason: String,
    },
    /// The engine does not answer.
    #[error("container engine `{endpoint}` does not answer: {reason}")]
    EngineAbsent {
        /// Where it was looked for.
        endpoint: String,
        /// What happened.
        reason: String,
    },
    /// The engine answered with an error.
    #[error("container engine failed to {step}")]
    Engine {
        /// What was asked of it.
        step: &'static str,
        /// Its answer.
        #[source]
        source: bollard::errors::Error,
    },
    /// The engine did not answer in time.
    #[error("container engine did not {step} within {} ms", bound.as_millis())]
    Slow {
        /// What was asked of it.
        step: &'static str,
        /// The bound.
        bound: Duration,
    },
    /// The engine does not enforce a limit, so nothing may run.
    #[error("container engine does not enforce {limit}: {reason}")]
    Unenforced {
        /// Which limit.
        limit: &'static str,
        /// Asked for and found, or the engine's warning.
        reason: String,
    },
    /// PID 1 of a container did not speak as agreed.
    #[error("the sandbox runner did not start as agreed: {reason}; rebuild the images")]
    Runner {
        /// What came instead.
        reason: String,
    },
    /// A container could not be had; the cause says why.
    #[error("no sandbox could be started: {cause}")]
    NoContainer {
        /// When the next attempt is due.
        retry_after: Option<Duration>,
        /// Why the last attempt failed.
        #[source]
        cause: Arc<Error>,
    },
    /// Every container is in use, and the wait would be too long.
    #[error("every sandbox is in use: {lack}")]
    Busy {
        /// Which bound was met.
        lack: Lack,
        /// When one should be free.
        retry_after: Duration,
    },
    /// The caller's deadline passed before the tool could start.
    #[error("the deadline passed before the tool could start")]
    Deadline,
    /// The checked arguments do not give what the tool's target needs.
    #[error("{} cannot be handed to the tool: {reason}", which(pointer))]
    Argument {
        /// JSON Pointer of the argument; empty for all of them.
        pointer: String,
        /// What is wrong.
        reason: String,
    },
}

fn which(pointer: &str) -> String {
    match pointer {
        "" => "what the arguments make".to_owned(),
        pointer => format!("argument `{pointer}`"),
    }
}

/// Which bound a call met that found no sandbox for itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lack {
    /// The queue of its pool is full.
    Full {
        /// Calls in it.
        waiting: usize,
    },
    /// It had to leave the full queue to a caller that has fewer calls in it.
    Share {
        /// Calls in it.
        waiting: usize,
    },
    /// The wait would outlast it.
    Late {
        /// Calls before it.
        ahead: usize,
        /// The wait that is expected.
        wait: Duration,
        /// The wait that it has time for.
        patience: Duration,
    },
    /// It waited as long as it could.
    Unserved {
        /// How long that was.
        patience: Duration,
    },
    /// The daemon stops.
    Stopping,
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full { waiting } => write!(f, "{waiting} calls wait already"),
            Self::Share { waiting } => {
                write!(f, "{waiting} calls wait, most of them of this caller, and another one came")
            }
            Self::Late { ahead, wait, patience } => write!(
                f,
                "{ahead} calls wait already, about {} ms, and this one has {} ms",
                wait.as_millis(),
                patience.as_millis()
            ),
            Self::Unserved { patience } => {
                write!(f, "none became free within {} ms", patience.as_millis())
            }
            Self::Stopping => f.write_str("the daemon is stopping"),
        }
    }
}

impl Lack {
    const fn code(&self) -> Code {
        match self {
            Self::Full { .. } | Self::Share { .. } | Self::Late { .. } => Code::RateLimited,
            // Nothing was free for long: that may be the engine's fault.
            Self::Unserved { .. } => Code::SandboxUnavailable,
            Self::Stopping => Code::Draining,
        }
    }

    const fn cause(&self) -> &'static str {
        match self {
            Self::Full { .. } => "queue_full",
            Self::Share { .. } => "share",
            Self::Late { .. } => "too_late",
            Self::Unserved { .. } => "unserved",
            Self::Stopping => "stopping",
        }
    }
}

impl Error {
    /// Why a call was refused, in one word for the metrics.
    pub(super) const fn cause(&self) -> &'static str {
        match self {
            Self::Busy { lack, .. } => lack.cause(),
            Self::EngineAbsent { .. } | Self::Engine { .. } | Self::Slow { .. } => "engine",
            Self::NoContainer { .. } | Self::Unenforced { .. } | Self::Runner { .. } => "launch",
            Self::Config { .. } | Self::Images { .. } | Self::ImageMissing { .. } => "setup",
            Self::Deadline => "deadline",
            Self::Argument { .. } => "argument",
        }
    }

    /// The failure as a reply shows it.
    pub fn failure(&self) -> Failure {
        let mut failure = Failure::new(self.code(), self.line());
        failure.retry_after = self.retry_after();
        match self {
            Self::Argument { pointer, .. } => {
                let violation = json!({
                    "pointer": pointer,
                    "kind": "request",
                    "message": failure.message,
                    "expected": null,
                    "got": null,
                });
                failure.details = json!({
                    "pointer": pointer,
                    "violations": [violation],
                    "total": 1,
                    "repairs": [],
                });
            }
            Self::Busy { lack, .. } => failure.details = json!({ "cause": lack.cause() }),
            _ => {}
        }
        failure
    }

    /// Whether another attempt of the same kind cannot succeed until somebody mends something.
    pub(super) const fn is_lasting(&self) -> bool {
        matches!(
            self,
            Self::Config { .. }
                | Self::Images { .. }
                | Self::ImageMissing { .. }
                | Self::Unenforced { .. }
        )
    }

    /// The error and its causes in one line.
    pub(super) fn line(&self) -> String {
        let mut line = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            let text = error.to_string();
            if !line.contains(&text) {
                line.push_str(": ");
                line.push_str(&text);
            }
            cause = error.source();
        }
        line
    }

    fn code(&self) -> Code {
        match self {
            Self::Deadline => Code::DeadlineExceeded,
            Self::Argument { .. } => Code::SchemaValidationError,
            Self::Config { .. }
            | Self::Images { .. }
            | Self::ImageMissing { .. }
            | Self::EngineAbsent { .. }
            | Self::Engine { .. }
            | Self::Slow { .. }
            | Self::Unenforced { .. }
            | Self::Runner { .. }
            | Self::NoContainer { .. } => Code::SandboxUnavailable,
            Self::Busy { lack, .. } => lack.code(),
        }
    }

    fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Busy { retry_after, .. } => Some(*retry_after),
            Self::NoContainer { retry_after, cause, .. } => {
                retry_after.or_else(|| cause.retry_after())
            }
            Self::EngineAbsent { .. } | Self::Slow { .. } | Self::Engine { .. } => {
                Some(Duration::from_secs(1))
            }
            Self::Config { .. }
            | Self::Images { .. }
            | Self::ImageMissing { .. }
            | Self::Unenforced { .. }
            | Self::Runner { .. }
            | Self::Deadline
            | Self::Argument { .. } => None,
        }
    }
}
