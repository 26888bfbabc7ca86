//! When a call may be sent again, and after which wait: the declared rule, what an answer asks for and
//! the time that is left in; a pause out. Only what is declared is repeated; whether it may be is
//! decided by who declares it.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};

/// Time that an attempt must have before the end.
const LEAST: Duration = Duration::from_millis(100);

/// How often, and how patiently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retry {
    /// Attempts in all, the first included.
    pub attempts: u32,
    /// Milliseconds of the first pause; each later one is twice as long. A random half of it is left
    /// out, so that callers do not come back all at once.
    pub backoff_ms: u64,
    /// Milliseconds of the longest pause that is our own choice.
    pub longest_ms: u64,
}

/// The attempts of one call, over all its pages and redirects.
#[derive(Debug)]
pub(super) struct Patience {
    retry: Option<Retry>,
    made: u32,
    /// When the call ends.
    until: Option<Instant>,
}

impl Patience {
    pub(super) fn new(retry: Option<Retry>, within: Option<Duration>) -> Self {
        let until = within.and_then(|within| Instant::now().checked_add(within));
        Self { retry, made: 1, until }
    }

    /// The pause before another attempt, at least what the upstream asked for; `None` when there is
    /// none, or no time for it.
    pub(super) fn pause(&mut self, asked: Option<Duration>) -> Option<Duration> {
        let retry = self.retry.filter(|retry| self.made < retry.attempts)?;
        let doubled = retry.backoff_ms.saturating_mul(1 << (self.made - 1).min(20));
        let step = doubled.min(retry.longest_ms).max(1);
        let random = RandomState::new().build_hasher().finish() % step;
        let jitter = Duration::from_millis(step / 2 + random / 2);
        let pause = match asked {
            Some(asked) => asked.saturating_add(jitter / 4),
            None => jitter,
        };
        if !self.has(pause.saturating_add(LEAST)) {
            return None;
        }
        self.made += 1;
        Some(pause)
    }

    /// Allows no further attempt.
    pub(super) fn give_up(&mut self) {
        self.retry = None;
    }

    /// Whether so much time is left.
    pub(super) fn has(&self, time: Duration) -> bool {
        self.until.is_none_or(|until| until.saturating_duration_since(Instant::now()) > time)
    }
}

/// Whether an upstream that answers so may answer otherwise soon.
pub(super) fn is_passing(status: u16) -> bool {
    matches!(status, 429 | 502 | 503 | 504)
}

/// The wait that a `Retry-After` header asks for: seconds, or an HTTP date in any of its three forms.
/// A date is held against the answer's own `Date` where there is one, as clocks differ.
pub fn retry_after<'h>(header: impl Fn(&str) -> Option<&'h str>) -> Option<Duration> {
    let value = header("retry-after")?.trim();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::MAX)));
    }
    let until = httpdate::parse_http_date(value).ok()?;
    let date = header("date").and_then(|date| httpdate::parse_http_date(date.trim()).ok());
    let now = date.unwrap_or_else(SystemTime::now);
    Some(until.duration_since(now).unwrap_or_default())
}
