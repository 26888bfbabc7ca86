//! The table `memory.recall` of the configuration.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Bytes of a question's text, at most.
pub(super) const TEXT: usize = 32 * 1024;
/// Hits of one question, at most.
pub(in crate::memory) const MOST: usize = 200;
/// Bytes of the conversation before a question, at most.
pub(super) const TURNS: usize = 256 * 1024;
/// So many times as many candidates are weighed in full as hits are wanted (M4).
pub(super) const OVERSAMPLING: usize = 3;

/// How questions are answered.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Candidates that each layer brings, at least; default 300. Neighbours need many: a turn whose
    /// answer stands beside the question's words comes up by those words' own turn.
    pub candidates: usize,
    /// Longest time that a vector of the question may take; default 2 s. After it, recall does without.
    #[serde(with = "crate::config::duration")]
    pub embed_timeout: Duration,
    /// Time in which half of the bonus for being new is gone, which is 5 % of a score at most; default
    /// 180 days.
    #[serde(with = "crate::config::duration")]
    pub half_life: Duration,
    /// Whether it is noted when a unit was given out; default true.
    pub touch: bool,
    /// What looks at the first hits once more; default nothing does.
    pub rerank: Rerank,
    /// An endpoint that reranks; needed for `rerank = "endpoint"`.
    pub rerank_endpoint: Option<Endpoint>,
    /// A small model that makes a question complete by the conversation before it, behind OpenAI's
    /// `/v1/chat/completions`; default none.
    pub rewrite: Option<Endpoint>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            candidates: 300,
            embed_timeout: Duration::from_secs(2),
            half_life: Duration::from_secs(180 * 24 * 60 * 60),
            touch: true,
            rerank: Rerank::None,
            rerank_endpoint: None,
            rewrite: None,
        }
    }
}

/// What looks at the first hits once more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rerank {
    /// Nothing.
    #[default]
    None,
    /// The words and the vector of the conversation before the question, in this process.
    Conversation,
    /// An endpoint.
    Endpoint,
}

/// An HTTP endpoint of a model.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    /// The whole URL, such as `https://api.example/v1/rerank`; HTTP only at loopback addresses unless
    /// `allow_plain`. It holds no user name and no password.
    pub url: String,
    /// Permits plain HTTP beyond loopback addresses, where texts and key can be read on the way.
    #[serde(default)]
    pub allow_plain: bool,
    /// The model's name there.
    pub model: String,
    /// File with the key, read again when it changes; default none.
    #[serde(default)]
    pub key_file: Option<PathBuf>,
    /// Environment variable of the daemon with the key; default none.
    #[serde(default)]
    pub key_env: Option<String>,
    /// Longest that it may take; default 1.5 s. After it, recall goes on without.
    #[serde(default = "timeout", with = "crate::config::duration")]
    pub timeout: Duration,
}

const fn timeout() -> Duration {
    Duration::from_millis(1500)
}
