//! The pace at which the reserve is refilled: a bucket of tokens that fills somewhat faster than
//! calls arrive, so that making containers takes no more of the machine from the calls than it must.

use std::time::{Duration, Instant};

/// Containers made for each call that arrives, so that the reserve gains on the demand.
const GAIN: f64 = 1.5;
/// Containers a second when no calls arrive.
const IDLE: f64 = 2.0;
/// Tokens that the bucket holds.
const DEPTH: f64 = 1.0;

/// A bucket of tokens; each is leave to make one container.
#[derive(Debug)]
pub(in crate::sandbox) struct Pace {
    tokens: f64,
    at: Instant,
}

impl Pace {
    pub(in crate::sandbox) const fn new(at: Instant) -> Self {
        Self { tokens: DEPTH, at }
    }

    /// Takes a token while `arrivals` calls a second arrive; else the time until there is one.
    pub(in crate::sandbox) fn take(&mut self, arrivals: f64, now: Instant) -> Result<(), Duration> {
        let rate = (arrivals * GAIN).max(IDLE);
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.tokens = (self.tokens + passed * rate).min(DEPTH);
        self.at = now;
        if self.tokens >= 1.0 {
            self.tokens -= 1.0;
            return Ok(());
        }
        Err(Duration::from_secs_f64((1.0 - self.tokens) / rate))
    }
}
