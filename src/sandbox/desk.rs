//! Tells apart the connections that the calls of one container open: a nonce and a stream in, the
//! call's gate serves it, and the call's trail keeps every attempt.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use super::EgressAttempt;
use super::egress::{Gate, GateLimits, Pass, Trail};

/// The calls of one container that may connect somewhere.
#[derive(Debug, Default)]
pub(super) struct Desk {
    lines: Mutex<HashMap<String, Line>>,
    /// A gate keeps connections to upstreams for the next call. All calls of a container have one
    /// scope, so they may share it, until the profile or the value of a secret changes.
    gate: Mutex<Option<(Pass, Gate)>>,
}

/// The connections of one call.
#[derive(Debug, Clone)]
struct Line {
    gate: Gate,
    trail: Trail,
    stop: CancellationToken,
}

/// Keeps a call's line open; dropping it cuts what is still connected.
#[derive(Debug)]
pub(super) struct Seat<'desk> {
    desk: &'desk Desk,
    nonce: String,
    line: Line,
}

impl Desk {
    /// Opens a line for the call with this nonce.
    pub(super) fn seat(&self, nonce: &str, pass: Pass, limits: &GateLimits) -> Seat<'_> {
        let gate = match &mut *lock(&self.gate) {
            Some((last, gate)) if *last == pass => gate.clone(),
            place => {
                let gate = Gate::new(&pass, limits);
                *place = Some((pass, gate.clone()));
                gate
            }
        };
        let line = Line { gate, trail: Trail::default(), stop: CancellationToken::new() };
        lock(&self.lines).insert(nonce.to_owned(), line.clone());
        Seat { desk: self, nonce: nonce.to_owned(), line }
    }

    /// Serves one connection of the call with this nonce, until it or the call ends.
    pub(super) async fn serve<S>(&self, nonce: &str, stream: S)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send,
    {
        let line = lock(&self.lines).get(nonce).cloned();
        let Some(Line { gate, trail, stop }) = line else {
            tracing::warn!("sandbox opened a stream for a call that is over");
            return;
        };
        stop.run_until_cancelled(gate.serve(stream, &trail)).await;
    }
}

impl Seat<'_> {
    /// Where every attempt of the call is kept, also when the call is dropped.
    pub(super) fn trail(&self) -> Trail {
        self.line.trail.clone()
    }

    /// Every attempt of the call. What is still connected is cut.
    pub(super) fn close(self) -> Vec<EgressAttempt> {
        self.line.stop.cancel();
        self.line.trail.attempts()
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        lock(&self.desk.lines).remove(&self.nonce);
        self.line.stop.cancel();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
