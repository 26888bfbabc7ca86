//! The table `memory.embedder` of the configuration: what makes vectors, and how.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What makes vectors of texts.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Which of the two below, or none; default `local`.
    pub kind: Kind,
    /// The model in this process.
    pub local: Local,
    /// An endpoint; needed for the kind `endpoint`.
    pub endpoint: Option<Endpoint>,
}

/// Kinds of embedders.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A model in this process, from a folder.
    #[default]
    Local,
    /// An endpoint that speaks OpenAI's `/v1/embeddings`.
    Endpoint,
    /// None: recall does without vectors.
    None,
}

/// A model in this process.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Local {
    /// Folder with `model.onnx`, `tokenizer.json` and `model.toml`; default
    /// `/usr/share/switchboard/model`. `deploy/model.sh` obtains the default model.
    pub folder: PathBuf,
    /// Threads that make vectors, each with texts of its own; default the number of cores, at
    /// most 4. As many again are there for questions, which go first.
    pub threads: Option<usize>,
}

impl Default for Local {
    fn default() -> Self {
        Self { folder: "/usr/share/switchboard/model".into(), threads: None }
    }
}

/// An endpoint that speaks OpenAI's `/v1/embeddings`.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    /// The whole URL, such as `https://api.example/v1/embeddings`; HTTP only at loopback addresses
    /// unless `allow_plain`. It holds no user name and no password.
    pub url: String,
    /// Permits plain HTTP beyond loopback addresses, where texts and key can be read on the way.
    #[serde(default)]
    pub allow_plain: bool,
    /// The model's name there.
    pub model: String,
    /// Numbers in its vectors.
    pub dimensions: usize,
    /// Whether to ask for so many dimensions, which only some models permit; default false.
    #[serde(default)]
    pub send_dimensions: bool,
    /// File with the key, read again when it changes; default none.
    #[serde(default)]
    pub key_file: Option<PathBuf>,
    /// Environment variable of the daemon with the key; default none.
    #[serde(default)]
    pub key_env: Option<String>,
    /// Longest that one batch may take with all attempts; default 30 s.
    #[serde(default = "timeout", with = "crate::config::duration")]
    pub timeout: Duration,
    /// Attempts of one batch, with growing pauses, for what passes: 408, 429, 5xx, a lost connection;
    /// default 4.
    #[serde(default = "attempts")]
    pub attempts: usize,
    /// Most texts in one request; default 64.
    #[serde(default = "batch")]
    pub batch: usize,
    /// Put before questions; default nothing.
    #[serde(default)]
    pub prefix_query: String,
    /// Put before passages; default nothing.
    #[serde(default)]
    pub prefix_passage: String,
    /// Pairs of a cosine and the score that it stands for, both rising, between which is interpolated;
    /// default `[[0, 0], [1, 1]]`: the cosine itself. `0.35` is the score where a text begins to be
    /// about a question.
    #[serde(default)]
    pub calibration: Vec<[f32; 2]>,
}

const fn timeout() -> Duration {
    Duration::from_secs(30)
}

const fn attempts() -> usize {
    4
}

const fn batch() -> usize {
    64
}
