//! `switchboard health`: grpc.health.v1 from the command line, for exec probes.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use super::client::Where;
use super::{Failed, print};

#[derive(Debug, Args)]
pub(super) struct Options {
    /// What to ask for: empty for readiness, `liveness` for the process alone.
    #[arg(long, default_value = "")]
    service: String,
    #[command(flatten)]
    at: Where,
}

pub(super) async fn run(options: Options) -> Result<ExitCode, Failed> {
    let mut client = HealthClient::new(options.at.connect().await?);
    let request = HealthCheckRequest { service: options.service };
    let answer = tokio::time::timeout(Duration::from_secs(1), client.check(request))
        .await
        .map_err(|_late| Failed::no_daemon("the daemon did not answer within 1 s"))?
        .map_err(|status| Failed::answer(status.message()))?;
    let status = answer.into_inner().status();
    print::text(status.as_str_name())?;
    match status {
        ServingStatus::Serving => Ok(ExitCode::SUCCESS),
        ServingStatus::Unknown | ServingStatus::NotServing | ServingStatus::ServiceUnknown => {
            Ok(ExitCode::from(1))
        }
    }
}
