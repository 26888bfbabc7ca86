//! Why the daemon does not start.

use crate::{admission, approval, ledger, policy, sandbox, telemetry};

/// Why the daemon does not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Logs, traces or metrics.
    #[error(transparent)]
    Telemetry(#[from] telemetry::Error),
    /// Who callers are.
    #[error(transparent)]
    Admission(#[from] admission::Error),
    /// Certificate, key or client roots.
    #[error("cannot use `{path}` for server.tls: {reason}")]
    Tls {
        /// The file.
        path: std::path::PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The ledger.
    #[error(transparent)]
    Ledger(#[from] ledger::Error),
    /// The approvals.
    #[error(transparent)]
    Approval(#[from] approval::Error),
    /// The policies.
    #[error(transparent)]
    Policy(#[from] policy::Error),
    /// The sandbox.
    #[error(transparent)]
    Sandbox(#[from] sandbox::Error),
    /// A listener.
    #[error("cannot listen on `{at}`: {source}")]
    Listen {
        /// Address or path.
        at: String,
        /// The cause.
        source: std::io::Error,
    },
    /// Something of the operating system.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// The cause.
        source: std::io::Error,
    },
    /// gRPC.
    #[error("the gRPC server ended: {0}")]
    Grpc(#[from] tonic::transport::Error),
    /// Reflection.
    #[error("the descriptors cannot be served: {0}")]
    Reflection(#[from] tonic_reflection::server::Error),
}
