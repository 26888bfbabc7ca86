//! Why a call did not run, or why a container could not be had. A tool that ran and failed is not
//! here: that is an [`Outcome`](super::Outcome).

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
    #[error("every sandbox is in use: {reason}")]
    Busy {
        /// Which bound was met.
        reason: String,
        /// When one should be free.
        retry_after: Duration,
    },
    /// The caller's deadline passed before the tool could start.
    #[error("the deadline passed before the tool could start")]
    Deadline,
    /// The checked arguments do not give what the tool's target needs.
    #[error("argument `{pointer}` cannot be handed to the tool: {reason}")]
    Argument {
        /// JSON Pointer of the argument; empty for all of them.
        pointer: String,
        /// What is wrong.
        reason: String,
    },
}

impl Error {
    /// The failure as a reply shows it.
    pub fn failure(&self) -> Failure {
        let mut failure = Failure::new(self.code(), self.line());
        failure.retry_after = self.retry_after();
        if let Self::Argument { pointer, .. } = self {
            failure.details = json!({ "pointer": pointer });
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
            | Self::NoContainer { .. }
            | Self::Busy { .. } => Code::SandboxUnavailable,
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
