//! From the start of the process to a served call and to a full pool, with the images present; the
//! size of the binary, and the memory of a daemon that has nothing to do.

use std::time::Instant;

use crate::daemon::{BINARY, Setup, eventually, http, request};
use crate::measure::{Samples, figure, resident, row};

const STARTS: usize = 6;

pub async fn run() {
    let (mut serving, mut ready, mut idle) =
        (Samples::default(), Samples::default(), Samples::default());
    for _ in 0..STARTS {
        let setup = Setup::new();
        let begun = Instant::now();
        let daemon = setup.start_unready().await;
        let call = request("probe.echo", r#"{"count":1}"#);
        assert!(daemon.client().await.validate(call).await.unwrap().into_inner().valid);
        serving.time(begun.elapsed());
        let url = format!("http://{}/readyz", daemon.address("metrics"));
        eventually("the daemon is ready", || async { http(&url).await.0 == 200 }).await;
        ready.time(begun.elapsed());
        idle.add(resident(daemon.pid()));
    }
    row("start.starts", STARTS, "starts");
    figure("start.serving_least", serving.least(), "ms");
    figure("start.serving", serving.median(), "ms");
    figure("start.ready_least", ready.least(), "ms");
    figure("start.ready", ready.median(), "ms");
    figure("start.resident", idle.median(), "MiB");
    let bytes = std::fs::metadata(BINARY).unwrap().len();
    figure("start.binary", bytes as f64 / 1_048_576.0, "MiB");
}
