//! Whether what a run answered may be given again, and how long. What is known of the run in, a time or
//! the reason against it out.

use std::time::Duration;

use jiff::Timestamp;

use crate::catalog::Risk;

/// What is known of a run that has an answer.
#[derive(Debug, Clone, Default)]
pub(in crate::reason) struct Worth {
    /// It was at a limit.
    pub(in crate::reason) partial: bool,
    /// It has no answer, or a call, a layer of the memory or a worker of it failed.
    pub(in crate::reason) failed: bool,
    /// Something from outside, or something that reads like an instruction, came into it.
    pub(in crate::reason) tainted: bool,
    /// It waited for a person, whose approval was for that once.
    pub(in crate::reason) attended: bool,
    /// The tools that it called.
    pub(in crate::reason) used: Vec<Used>,
    /// When the first of its evidence holds no longer.
    pub(in crate::reason) until: Option<Timestamp>,
}

/// A tool that a run called.
#[derive(Debug, Clone)]
pub(in crate::reason) struct Used {
    /// Its name.
    pub(in crate::reason) tool: String,
    /// What it can do.
    pub(in crate::reason) risk: Risk,
    /// How long its result may be given again; `None` for never.
    pub(in crate::reason) ttl: Option<Duration>,
    /// How old the result was that the run got.
    pub(in crate::reason) age: Duration,
}

/// Why an answer is not kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in crate::reason) enum Unfit {
    /// It says what is missing.
    #[error("it is a part of an answer")]
    Partial,
    /// Something did not work.
    #[error("something in its run failed")]
    Failed,
    /// It came in touch with what is not trusted.
    #[error("its run was tainted")]
    Tainted,
    /// A person approved it for once.
    #[error("a person approved a call of its run, for that once")]
    Attended,
    /// Given again it would not do what it says.
    #[error("its run called `{0}`, which does more than read")]
    Writes(String),
    /// A tool's result may not be given again.
    #[error("its run called `{0}`, whose results are not kept")]
    Uncacheable(String),
    /// What it rests on holds no longer.
    #[error("what it rests on is too old")]
    Over,
}

impl Worth {
    /// How long the answer may be given again, at most `ttl`.
    pub(in crate::reason) fn life(&self, ttl: Duration) -> Result<Duration, Unfit> {
        self.life_at(ttl, Timestamp::now())
    }

    pub(super) fn life_at(&self, ttl: Duration, now: Timestamp) -> Result<Duration, Unfit> {
        let against = [
            (self.failed, Unfit::Failed),
            (self.partial, Unfit::Partial),
            (self.tainted, Unfit::Tainted),
            (self.attended, Unfit::Attended),
        ];
        if let Some((_, unfit)) = against.into_iter().find(|(is, _)| *is) {
            return Err(unfit);
        }
        let mut life = ttl;
        for used in &self.used {
            if used.risk != Risk::Read {
                return Err(Unfit::Writes(used.tool.clone()));
            }
            let ttl = used.ttl.ok_or_else(|| Unfit::Uncacheable(used.tool.clone()))?;
            life = life.min(ttl.saturating_sub(used.age));
        }
        if let Some(until) = self.until {
            // What is in the past is no time at all.
            let left = Duration::try_from(until.duration_since(now)).unwrap_or_default();
            life = life.min(left);
        }
        if life.is_zero() { Err(Unfit::Over) } else { Ok(life) }
    }
}
