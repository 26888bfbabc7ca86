//! The connection to a daemon, and the proof of who calls.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Code, Request, Status};

use super::Failed;
use crate::proto::memory::memory_service_client::MemoryServiceClient;
use crate::proto::policy::policy_service_client::PolicyServiceClient;
use crate::proto::reason::reason_service_client::ReasonServiceClient;
use crate::proto::tools::tool_service_client::ToolServiceClient;

/// Where the daemon is.
#[derive(Debug, Args)]
pub(super) struct Where {
    /// `unix:///path/to/socket`, `http://127.0.0.1:PORT` or `https://HOST:PORT`.
    #[arg(
        long,
        env = "SWITCHBOARD_ENDPOINT",
        default_value = "unix:///run/switchboard/switchboard.sock"
    )]
    endpoint: String,
    /// File with a bearer token; without it the token in SWITCHBOARD_TOKEN, if there is one.
    #[arg(long, env = "SWITCHBOARD_TOKEN_FILE")]
    token_file: Option<PathBuf>,
    /// PEM file with the roots to trust for https; default the system's.
    #[arg(long, env = "SWITCHBOARD_CA")]
    ca: Option<PathBuf>,
    /// PEM file with a client certificate.
    #[arg(long, env = "SWITCHBOARD_CERTIFICATE", requires = "key")]
    certificate: Option<PathBuf>,
    /// PEM file with the certificate's private key.
    #[arg(long, env = "SWITCHBOARD_KEY", requires = "certificate")]
    key: Option<PathBuf>,
    #[arg(long, hide = true, env = "SWITCHBOARD_TOKEN", hide_env_values = true)]
    token: Option<String>,
}

/// A client of the tool service.
pub(super) type Tools = ToolServiceClient<InterceptedService<Channel, Bearer>>;

/// A client of the policy service.
pub(super) type Policies = PolicyServiceClient<InterceptedService<Channel, Bearer>>;

/// A client of the memory service.
pub(super) type Memories = MemoryServiceClient<InterceptedService<Channel, Bearer>>;

/// A client of the reasoning service.
pub(super) type Reasons = ReasonServiceClient<InterceptedService<Channel, Bearer>>;

/// Adds the token to every request.
#[derive(Debug, Clone)]
pub(super) struct Bearer(Option<MetadataValue<Ascii>>);

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(token) = &self.0 {
            request.metadata_mut().insert("authorization", token.clone());
        }
        Ok(request)
    }
}

impl Where {
    /// Connects, or says that no daemon answers.
    pub(super) async fn connect(&self) -> Result<Channel, Failed> {
        let endpoint = Endpoint::from_shared(self.endpoint.clone())
            .map_err(|e| Failed::usage(format!("the endpoint `{}` is wrong: {e}", self.endpoint)))?
            .connect_timeout(Duration::from_secs(5));
        let endpoint = match self.endpoint.starts_with("https://") {
            true => endpoint.tls_config(self.tls()?).map_err(|e| Failed::usage(chain(&e)))?,
            false => endpoint,
        };
        endpoint.connect().await.map_err(|error| {
            Failed::no_daemon(format!(
                "no daemon answers at `{}`: {}; start one with `switchboard serve`",
                self.endpoint,
                chain(&error)
            ))
        })
    }

    /// Connects to the tool service.
    pub(super) async fn tools(&self) -> Result<Tools, Failed> {
        let bearer = self.bearer()?;
        let client = ToolServiceClient::with_interceptor(self.connect().await?, bearer);
        Ok(client.max_decoding_message_size(usize::MAX))
    }

    /// Connects to the policy service.
    pub(super) async fn policies(&self) -> Result<Policies, Failed> {
        let bearer = self.bearer()?;
        Ok(PolicyServiceClient::with_interceptor(self.connect().await?, bearer))
    }

    /// Connects to the memory service.
    pub(super) async fn memories(&self) -> Result<Memories, Failed> {
        let bearer = self.bearer()?;
        let client = MemoryServiceClient::with_interceptor(self.connect().await?, bearer);
        Ok(client.max_decoding_message_size(usize::MAX))
    }

    /// Connects to the memory service as somebody else, by the file with their token.
    pub(super) async fn memories_by(&self, token: &Path) -> Result<Memories, Failed> {
        let bearer = bearer(Some(read(token)?))?;
        let client = MemoryServiceClient::with_interceptor(self.connect().await?, bearer);
        Ok(client.max_decoding_message_size(usize::MAX))
    }

    /// Connects to the reasoning service.
    pub(super) async fn reasons(&self) -> Result<Reasons, Failed> {
        let bearer = self.bearer()?;
        let client = ReasonServiceClient::with_interceptor(self.connect().await?, bearer);
        Ok(client.max_decoding_message_size(usize::MAX))
    }

    fn bearer(&self) -> Result<Bearer, Failed> {
        let token = match &self.token_file {
            Some(path) => Some(read(path)?),
            None => self.token.clone(),
        };
        bearer(token)
    }

    fn tls(&self) -> Result<ClientTlsConfig, Failed> {
        let mut tls = ClientTlsConfig::new();
        tls = match &self.ca {
            Some(path) => tls.ca_certificate(Certificate::from_pem(read(path)?)),
            None => tls.with_native_roots(),
        };
        if let (Some(certificate), Some(key)) = (&self.certificate, &self.key) {
            tls = tls.identity(Identity::from_pem(read(certificate)?, read(key)?));
        }
        Ok(tls)
    }
}

fn bearer(token: Option<String>) -> Result<Bearer, Failed> {
    let value = token.map(|token| {
        format!("Bearer {}", token.trim())
            .parse()
            .map_err(|_bad| Failed::usage("the token has characters that no token has"))
    });
    value.transpose().map(Bearer)
}

fn read(path: &Path) -> Result<String, Failed> {
    std::fs::read_to_string(path)
        .map_err(|error| Failed::usage(format!("cannot read `{}`: {error}", path.display())))
}

/// What a status means for the command line.
pub(super) fn told(status: &Status) -> Failed {
    let message = status.message();
    match status.code() {
        Code::Unavailable => Failed::no_daemon(message),
        Code::InvalidArgument => Failed::usage(message),
        _ => Failed::answer(format!("{}: {message}", status.code())),
    }
}

/// The causes of an error; the first one says only that it is a transport error.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    let causes: Vec<String> = causes.map(ToString::to_string).collect();
    if causes.is_empty() { error.to_string() } else { causes.join(": ") }
}

/// Arguments given as text, as `@file` or as `-` for standard input.
pub(super) fn arguments(given: &str) -> Result<String, Failed> {
    let wrong = |what: &str, e: std::io::Error| Failed::usage(format!("cannot read {what}: {e}"));
    match given.strip_prefix('@') {
        Some(path) => std::fs::read_to_string(path).map_err(|e| wrong(path, e)),
        None if given == "-" => {
            std::io::read_to_string(std::io::stdin()).map_err(|e| wrong("standard input", e))
        }
        None => Ok(given.to_owned()),
    }
}
