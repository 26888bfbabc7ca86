//! The time of one run: when it is over, put off by the time in which calls wait for a person. Calls that
//! wait side by side put it off once, as after a restart, when it is counted from the events.

use std::time::{Duration, Instant};

/// The time of a run.
#[derive(Debug)]
pub(super) struct Clock {
    /// When it is over, as far as nothing waits.
    end: Instant,
    /// Calls that wait.
    waiting: usize,
    /// Since when there are any.
    since: Instant,
}

impl Clock {
    /// One that is over then.
    pub(super) fn new(end: Instant) -> Self {
        Self { end, waiting: 0, since: end }
    }

    /// When it is over, if nothing waits from now on.
    pub(super) fn end(&self, now: Instant) -> Instant {
        self.end + self.waited(now)
    }

    /// A call begins to wait.
    pub(super) fn stop(&mut self, now: Instant) {
        if self.waiting == 0 {
            self.since = now;
        }
        self.waiting += 1;
    }

    /// A call waits no more.
    pub(super) fn go_on(&mut self, now: Instant) {
        if self.waiting == 1 {
            self.end += self.waited(now);
        }
        self.waiting = self.waiting.saturating_sub(1);
    }

    fn waited(&self, now: Instant) -> Duration {
        match self.waiting {
            0 => Duration::ZERO,
            _ => now.saturating_duration_since(self.since),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Clock, Duration, Instant};

    #[test]
    fn calls_that_wait_side_by_side_put_the_end_off_once() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let mut clock = Clock::new(at(300));
        clock.stop(at(10));
        clock.stop(at(20));
        assert_eq!(clock.end(at(110)), at(400), "no time passes while one waits");
        clock.go_on(at(110));
        clock.go_on(at(210));
        assert_eq!(clock.end(at(250)), at(500), "200 s passed in which one waited");
        clock.stop(at(260));
        clock.go_on(at(270));
        assert_eq!(clock.end(at(280)), at(510));
    }
}
