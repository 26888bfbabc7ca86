//! The tool's side of one connection: heads come in here, and the gate's own answers go out. It
//! decides nothing.

use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::time::timeout;

use super::body::{Fault, Sink, Source};
use super::dial::Refusal;
use super::head::{self, Asked, Malformed};
use super::limits::GateLimits;
use super::trail::{Meter, printable};

/// A head from the tool, or what is wrong with it.
pub(super) type Parsed = Result<Asked, Malformed>;

/// The tool's side of one connection.
#[derive(Debug)]
pub(super) struct Tool<S> {
    pub(super) source: Source<ReadHalf<S>>,
    pub(super) sink: Sink<WriteHalf<S>>,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Tool<S> {
    pub(super) fn new(stream: S, idle: Duration) -> Self {
        let (from, to) = tokio::io::split(stream);
        Self {
            source: Source::new(from, idle, Fault::Tool),
            sink: Sink::new(to, idle, Fault::Tool),
        }
    }

    /// The next head; `None` when the tool has no more to ask.
    pub(super) async fn read_head(&mut self, limits: &GateLimits) -> Option<Parsed> {
        loop {
            match head::parse_asked(&mut self.source.buffer) {
                Ok(Some(asked)) => return Some(Ok(asked)),
                Ok(None) => {}
                Err(malformed) => return Some(Err(malformed)),
            }
            if self.source.buffer.len() > limits.head_bytes {
                return Some(Err(Malformed { status: 431, reason: "the head is too long" }));
            }
            match self.source.fill().await {
                Ok(0) | Err(_) if self.source.buffer.is_empty() => return None,
                Ok(0) | Err(_) => {
                    return Some(Err(Malformed { status: 400, reason: "the head broke off" }));
                }
                Ok(_) => {}
            }
        }
    }

    /// Records a refusal and tells the tool.
    pub(super) async fn refuse(
        &mut self,
        (name, refusal): (String, Refusal),
        meter: &Meter,
        blank: bool,
    ) {
        let name = printable(&name);
        match refusal {
            Refusal::Denied(why) => {
                count("denied");
                meter.deny(&why);
                let line = format!("egress to `{name}` denied: {why}");
                self.answer(403, "denied", &line, blank).await;
            }
            Refusal::Failed(why) => {
                count("failed");
                meter.fail(&why);
                let line = format!("egress to `{name}` failed: {why}");
                self.answer(502, "failed", &line, blank).await;
            }
        }
    }

    /// Gives an answer of the gate's own, the last one on this connection.
    pub(super) async fn answer(&mut self, status: u16, mark: &str, line: &str, blank: bool) {
        let mut own = BytesMut::new();
        head::write_own(status, mark, line, blank, &mut own);
        self.sink.buffer.unsplit(own);
        self.finish().await;
    }

    /// Writes what waits and ends. What the tool is still sending is read for a moment, because
    /// a connection closed over unread bytes can lose the answer.
    pub(super) async fn finish(&mut self) {
        const MOMENT: Duration = Duration::from_secs(1);
        const MOST: u64 = 1 << 20;
        if self.sink.flush().await.is_err() || self.sink.io.shutdown().await.is_err() {
            return;
        }
        let mut rest = (&mut self.source.io).take(MOST);
        let mut nowhere = tokio::io::sink();
        let drain = tokio::io::copy(&mut rest, &mut nowhere);
        // Both a tool that never stops and one that broke off are done with.
        drop(timeout(MOMENT, drain).await);
    }
}

/// Counts one decided attempt in the metrics.
pub(super) fn count(outcome: &'static str) {
    metrics::counter!("switchboard_sandbox_egress_attempts_total", "outcome" => outcome)
        .increment(1);
}
