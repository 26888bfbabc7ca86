//! What one call did at the gate. Connections write here as they go, so that a call cut short
//! still knows every attempt and byte; [`Trail::attempts`] gives the record.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::GateLimits;
use crate::sandbox::EgressAttempt;

/// The record and the running totals of one call. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trail(Arc<Totals>);

#[derive(Debug, Default)]
struct Totals {
    entries: Mutex<Vec<Arc<Entry>>>,
    sent: AtomicU64,
    received: AtomicU64,
    open: AtomicUsize,
}

#[derive(Debug)]
struct Entry {
    host: String,
    port: u16,
    begun: Instant,
    fate: Mutex<Fate>,
    sent: AtomicU64,
    received: AtomicU64,
}

#[derive(Debug, Clone, Default)]
struct Fate {
    address: Option<String>,
    allowed: bool,
    reason: String,
    secrets: Vec<String>,
    status: Option<u16>,
    /// How long it took; `None` while it goes on.
    took: Option<Duration>,
}

fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Trail {
    /// Every attempt so far, in the order of arrival; can be asked at any time, and again.
    pub(crate) fn attempts(&self) -> Vec<EgressAttempt> {
        let entries = hold(&self.0.entries);
        let attempt = |entry: &Arc<Entry>| {
            let fate = hold(&entry.fate).clone();
            EgressAttempt {
                host: entry.host.clone(),
                port: entry.port,
                address: fate.address,
                allowed: fate.allowed,
                reason: fate.reason,
                secrets: fate.secrets,
                status: fate.status,
                duration_us: micros(fate.took.unwrap_or_else(|| entry.begun.elapsed())),
                sent: entry.sent.load(Ordering::Relaxed),
                received: entry.received.load(Ordering::Relaxed),
            }
        };
        entries.iter().map(attempt).collect()
    }

    /// Counts one connection for as long as the guard lives; `None` when too many are open.
    pub(super) fn open(&self, most: usize) -> Option<OpenGuard> {
        let before = self.0.open.fetch_add(1, Ordering::Relaxed);
        let guard = OpenGuard(Arc::clone(&self.0));
        (before < most).then_some(guard)
    }

    /// Starts an entry. It is refused until [`Meter::permit`] says otherwise. `None` when the
    /// call has used up its attempts; the one attempt too many is recorded.
    pub(super) fn begin(&self, host: &str, port: u16, limits: &GateLimits) -> Option<Meter> {
        let mut entries = hold(&self.0.entries);
        let most = limits.attempts;
        if entries.len() > most {
            return None;
        }
        let full = entries.len() == most;
        let reason = if full {
            format!("more than {most} attempts in one call; later ones are not listed")
        } else {
            "ended before it was decided".to_owned()
        };
        let entry = Arc::new(Entry {
            host: printable(host),
            port,
            begun: Instant::now(),
            fate: Mutex::new(Fate { reason, ..Fate::default() }),
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
        });
        if full {
            hold(&entry.fate).took = Some(Duration::ZERO);
        }
        entries.push(Arc::clone(&entry));
        (!full).then(|| Meter {
            totals: Arc::clone(&self.0),
            entry,
            most_sent: limits.sent_bytes,
            most_received: limits.received_bytes,
        })
    }
}

/// One open connection of a call.
#[derive(Debug)]
pub(super) struct OpenGuard(Arc<Totals>);

impl Drop for OpenGuard {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Writes one entry of the trail and counts its bytes against the limits of the call.
#[derive(Debug)]
pub(super) struct Meter {
    totals: Arc<Totals>,
    entry: Arc<Entry>,
    most_sent: u64,
    most_received: u64,
}

/// Direction of bytes, seen from the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Sent,
    Received,
}

impl Meter {
    /// The attempt was allowed.
    pub(super) fn permit(&self) {
        let mut fate = hold(&self.entry.fate);
        fate.allowed = true;
        fate.reason.clear();
    }

    /// A connection stands, or the last one does no longer.
    pub(super) fn connected(&self, address: Option<SocketAddr>) {
        hold(&self.entry.fate).address = address.map(|address| address.to_string());
    }

    /// The attempt was refused, then or later.
    pub(super) fn deny(&self, reason: &str) {
        let mut fate = hold(&self.entry.fate);
        fate.allowed = false;
        reason.clone_into(&mut fate.reason);
    }

    /// It was allowed but went wrong.
    pub(super) fn fail(&self, reason: &str) {
        reason.clone_into(&mut hold(&self.entry.fate).reason);
    }

    /// The upstream answered with this status.
    pub(super) fn answered(&self, status: u16) {
        hold(&self.entry.fate).status = Some(status);
    }

    /// These secrets are sent with it.
    pub(super) fn used<'n>(&self, names: impl Iterator<Item = &'n str>) {
        let mut fate = hold(&self.entry.fate);
        for name in names {
            if !fate.secrets.iter().any(|known| known == name) {
                fate.secrets.push(name.to_owned());
            }
        }
    }

    /// Counts bytes; the reason to stop when the call has used up its share.
    pub(super) fn count(&self, way: Way, bytes: usize) -> Result<(), String> {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let (entry, total, most, verb) = match way {
            Way::Sent => (&self.entry.sent, &self.totals.sent, self.most_sent, "sent"),
            Way::Received => {
                (&self.entry.received, &self.totals.received, self.most_received, "received")
            }
        };
        entry.fetch_add(bytes, Ordering::Relaxed);
        let before = total.fetch_add(bytes, Ordering::Relaxed);
        if before.saturating_add(bytes) > most {
            return Err(format!("more than {most} bytes {verb} in one call"));
        }
        Ok(())
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        hold(&self.entry.fate).took = Some(self.entry.begun.elapsed());
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// Keeps what a tool wrote short and on one line.
pub(super) fn printable(text: &str) -> String {
    text.chars().take(255).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
