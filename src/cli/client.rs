//! The connection to a daemon.

use std::time::Duration;

use clap::Args;
use tonic::transport::{Channel, Endpoint};

use super::Failed;
use crate::proto::tools::tool_service_client::ToolServiceClient;

/// Where the daemon is.
#[derive(Debug, Args)]
pub(super) struct Where {
    /// `unix:///path/to/socket` or `http://127.0.0.1:PORT`.
    #[arg(
        long,
        env = "SWITCHBOARD_ENDPOINT",
        default_value = "unix:///run/switchboard/switchboard.sock"
    )]
    endpoint: String,
}

impl Where {
    /// Connects, or says that no daemon answers.
    pub(super) async fn connect(&self) -> Result<Channel, Failed> {
        let endpoint = Endpoint::from_shared(self.endpoint.clone())
            .map_err(|e| Failed::usage(format!("the endpoint `{}` is wrong: {e}", self.endpoint)))?
            .connect_timeout(Duration::from_secs(5));
        endpoint.connect().await.map_err(|error| {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            Failed::no_daemon(format!(
                "no daemon answers at `{}`: {}; start one with `switchboard serve`",
                self.endpoint,
                cause.unwrap_or_else(|| error.to_string())
            ))
        })
    }

    /// Connects to the tool service.
    pub(super) async fn tools(&self) -> Result<ToolServiceClient<Channel>, Failed> {
        let client = ToolServiceClient::new(self.connect().await?);
        Ok(client.max_decoding_message_size(usize::MAX))
    }
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
