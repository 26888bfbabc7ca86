//! The table `[models]` of the configuration: which models there are, which of them does what, and what
//! a tenant may spend.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use url::Url;

use super::money::Currency;
use crate::call::Dialect;
use crate::config::{beside, duration};
use crate::native;

/// The models, and what may be spent on them.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The endpoints by their names, as `[models.endpoints.NAME]`; default none.
    pub endpoints: BTreeMap<String, Endpoint>,
    /// The endpoints of each role in the order in which they are asked; default none.
    pub roles: BTreeMap<Role, Vec<String>>,
    /// The currency of all prices and of all budgets, three capital letters; default `USD`. One for all,
    /// as currencies do not convert.
    pub currency: Currency,
    /// What each tenant may spend in a day; default no limit.
    pub tenant: Allowance,
    /// What single tenants may spend in a day instead, by their names.
    pub tenants: BTreeMap<String, Allowance>,
    /// File in which it is kept what tenants spent; default the ledger's path with `.spending` added.
    pub spending: Option<PathBuf>,
}

/// What a tenant may spend in one day, which ends at midnight UTC.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Allowance {
    /// Tokens, those read and those written together; default no limit.
    pub tokens: Option<u64>,
    /// Money as decimal text such as `12.50`; default no limit.
    pub money: Option<String>,
}

/// One model at one place.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    /// Whose messages it speaks.
    pub provider: Provider,
    /// Its URL, without user name and password; HTTP at loopback addresses only. The path of the
    /// provider's chat is added where it is not there: `/chat/completions`, `/v1/messages`,
    /// `/models/MODEL:generateContent`, `/api/chat`.
    pub url: String,
    /// The model's name there.
    pub model: String,
    /// Permits HTTP anywhere; default false.
    #[serde(default)]
    pub allow_plain: bool,
    /// File with the key, read anew at each use.
    #[serde(default)]
    pub key_file: Option<PathBuf>,
    /// Environment variable with the key.
    #[serde(default)]
    pub key_env: Option<String>,
    /// How long one attempt may take in all; default 60 s.
    #[serde(with = "duration", default = "timeout")]
    pub timeout: Duration,
    /// How long it may be silent, before the first piece of its answer and between two; default 30 s.
    /// Without `stream` only `timeout` counts.
    #[serde(with = "duration", default = "first_token_timeout")]
    pub first_token_timeout: Duration,
    /// Further attempts where what is wrong may pass; default 2.
    #[serde(default = "retries")]
    pub retries: u32,
    /// How it is asked for calls and for JSON; default `auto`.
    #[serde(default)]
    pub form: Forms,
    /// Whether it answers in pieces; default true.
    #[serde(default = "stream")]
    pub stream: bool,
    /// In which dialect it is told of tools and of shapes; default the one of its provider.
    /// `openai-strict` binds a model of `OpenAI` itself by strict mode.
    #[serde(default)]
    pub dialect: Option<Dialect>,
    /// Price of a million tokens that it reads, as decimal text; default 0.
    #[serde(default = "free")]
    pub price_in: String,
    /// Price of a million tokens that it writes, as decimal text; default 0.
    #[serde(default = "free")]
    pub price_out: String,
    /// Most tokens of an answer; default 1024.
    #[serde(default = "max_output")]
    pub max_output: u32,
    /// Tokens of prompt and answer together that it can hold; default 8192.
    #[serde(default = "context")]
    pub context: u32,
    /// How freely it chooses its words, from 0 to 2; default 0.
    #[serde(default)]
    pub temperature: f64,
}

const fn timeout() -> Duration {
    Duration::from_secs(60)
}

const fn first_token_timeout() -> Duration {
    Duration::from_secs(30)
}

const fn retries() -> u32 {
    2
}

const fn stream() -> bool {
    true
}

fn free() -> String {
    "0".to_owned()
}

const fn max_output() -> u32 {
    1024
}

const fn context() -> u32 {
    8192
}

/// Whose messages an endpoint speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Provider {
    /// `OpenAI` chat completions, and the many servers that speak the same.
    Openai,
    /// Anthropic messages.
    Anthropic,
    /// Gemini `generateContent`.
    Gemini,
    /// Ollama chat.
    Ollama,
}

impl Provider {
    /// Whose messages it reads and writes.
    pub const fn native(self) -> native::Provider {
        match self {
            Self::Openai => native::Provider::OpenaiChat,
            Self::Anthropic => native::Provider::Anthropic,
            Self::Gemini => native::Provider::Gemini,
            Self::Ollama => native::Provider::Ollama,
        }
    }

    /// The dialect in which it is told of tools.
    pub const fn dialect(self) -> Dialect {
        match self {
            Self::Openai => Dialect::Openai,
            Self::Anthropic => Dialect::Anthropic,
            Self::Gemini => Dialect::Gemini,
            Self::Ollama => Dialect::Plain,
        }
    }
}

/// What a model is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Decides whether memory and tools are needed, and writes the question anew; small and fast.
    Router,
    /// Reasons, calls and answers.
    Reasoner,
    /// Settles what contradicts.
    Judge,
    /// Says what an image shows; its first endpoint stands in for `[memory.vision]` where there is none.
    Vision,
}

impl Role {
    /// Its name in the configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Router => "router",
            Self::Reasoner => "reasoner",
            Self::Judge => "judge",
            Self::Vision => "vision",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How an endpoint is asked, by its configuration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Forms {
    /// In the first of the forms that it does not refuse.
    #[default]
    Auto,
    /// As [`Form::Native`] only.
    Native,
    /// As [`Form::Schema`] only.
    Schema,
    /// As [`Form::Json`] only.
    Json,
    /// As [`Form::Text`] only.
    Text,
}

/// How a model was asked for calls and for JSON, the strictest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// The provider's own tools; a shape as a JSON Schema that binds it.
    Native,
    /// Tools told in the text, and one JSON object a turn by a JSON Schema that binds it.
    Schema,
    /// The same, bound to be JSON only; the schema is told in the text.
    Json,
    /// The same, and nothing binds it.
    Text,
}

impl Forms {
    /// The form that is tried first.
    pub(super) const fn first(self) -> Form {
        match self {
            Self::Auto | Self::Native => Form::Native,
            Self::Schema => Form::Schema,
            Self::Json => Form::Json,
            Self::Text => Form::Text,
        }
    }
}

impl Form {
    /// The next form to try where this one is refused.
    pub(super) const fn lower(self) -> Option<Self> {
        match self {
            Self::Native => Some(Self::Schema),
            Self::Schema => Some(Self::Json),
            Self::Json => Some(Self::Text),
            Self::Text => None,
        }
    }

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Schema => "schema",
            Self::Json => "json",
            Self::Text => "text",
        }
    }
}

impl Config {
    /// Gives the file of what was spent its place beside the ledger, where none is named.
    pub fn place(&mut self, ledger: &Path) {
        self.spending.get_or_insert_with(|| beside(ledger, ".spending"));
    }

    /// The URL and the endpoint of the role that looks at images, for those who speak chat completions.
    pub fn eyes(&self) -> Result<Option<(String, &Endpoint)>, String> {
        let Some(name) = self.roles.get(&Role::Vision).and_then(|names| names.first()) else {
            return Ok(None);
        };
        let eyes = self.endpoints.get(name);
        let eyes = eyes.ok_or_else(|| format!("there is no endpoint `{name}`"))?;
        if eyes.provider != Provider::Openai {
            return Err(format!(
                "`{name}` is no endpoint of provider `openai`: images are shown as its chat takes them"
            ));
        }
        Ok(Some((place(eyes)?, eyes)))
    }

    /// Relative paths, for the file's folder to be put before.
    pub fn paths(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let keys = self.endpoints.values_mut().filter_map(|one| one.key_file.as_mut());
        keys.chain(&mut self.spending)
    }
}

/// The URL with the path of the provider's chat.
pub(super) fn place(endpoint: &Endpoint) -> Result<String, String> {
    // What is wrong with it is said without it: it may hold a password.
    let mut url = Url::parse(&endpoint.url).map_err(|error| format!("it is no URL: {error}"))?;
    let path = url.path().trim_end_matches('/').to_owned();
    let with = |ends: &[&str], add: &str| {
        let there = ends.iter().any(|end| path.ends_with(end));
        if there { path.clone() } else { format!("{path}{add}") }
    };
    let path = match endpoint.provider {
        Provider::Openai => with(&["/chat/completions"], "/chat/completions"),
        Provider::Anthropic if path.ends_with("/v1") => format!("{path}/messages"),
        Provider::Anthropic => with(&["/messages"], "/v1/messages"),
        Provider::Ollama if path.ends_with("/api") => format!("{path}/chat"),
        Provider::Ollama => with(&["/api/chat"], "/api/chat"),
        Provider::Gemini => {
            let model = path.rsplit_once(':').map_or(path.as_str(), |(model, _)| model);
            let named = model.contains("/models/");
            let model =
                if named { model.to_owned() } else { format!("{path}/models/{}", endpoint.model) };
            let verb = if endpoint.stream { "streamGenerateContent" } else { "generateContent" };
            format!("{model}:{verb}")
        }
    };
    url.set_path(&path);
    if endpoint.provider == Provider::Gemini && endpoint.stream {
        let others: Vec<(String, String)> =
            url.query_pairs().into_owned().filter(|(key, _)| key != "alt").collect();
        url.query_pairs_mut().clear().extend_pairs(others).append_pair("alt", "sse");
    }
    Ok(url.to_string())
}
