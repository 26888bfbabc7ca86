//! One endpoint, opened: where it is asked, what it costs, and what was learnt of it, which is forgotten
//! after a while, as servers are mended.

mod schemas;

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::task::TaskTracker;

use super::Error;
use super::blame::What;
use super::config::{Endpoint, Form, Forms, Provider, place};
use super::money::{Currency, Price};
use super::prompt::Prompt;
use super::wire::Manner;
use crate::outward::{Address, Outlet, Wrong};
use schemas::Schemas;

/// How long it is remembered what an endpoint refused.
const REMEMBERED: Duration = Duration::from_secs(600);
/// How long one that failed is asked after all others, where it does not say so itself.
const REST: Duration = Duration::from_secs(10);
/// The longest rest that an endpoint can ask for.
const LONGEST_REST: Duration = Duration::from_secs(600);
/// The version of Anthropic's messages.
const VERSION: &str = "2023-06-01";

/// One endpoint.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) name: String,
    pub(super) endpoint: Endpoint,
    pub(super) outlet: Outlet,
    pub(super) price: Price,
    learnt: Mutex<Learnt>,
}

/// What an endpoint refuses.
#[derive(Debug, Clone, Copy)]
pub(super) struct Refusal<'a> {
    pub(super) what: What,
    /// Whether it is for a schema, and not for the form as such.
    pub(super) schema: bool,
    /// JSON Pointer into the body; empty where nothing tells it.
    pub(super) part: &'a str,
}

/// What was found out about an endpoint.
#[derive(Debug, Default)]
struct Learnt {
    /// The form to begin with where there are tools, and where there is only a shape.
    tools: Option<(Form, Instant)>,
    shape: Option<(Form, Instant)>,
    cold: Option<Instant>,
    renamed: Option<Instant>,
    uncounted: Option<Instant>,
    unforced: Option<Instant>,
    /// How schemas are sent that it refused, whatever the forms above are.
    schemas: Schemas,
    rests: Option<Instant>,
}

impl Line {
    /// Checks an endpoint of the configuration.
    pub(super) fn open(
        name: &str,
        endpoint: &Endpoint,
        currency: Currency,
        tasks: &TaskTracker,
    ) -> Result<Self, Error> {
        let wrong = |key: &str, reason: String| Error::Config {
            key: format!("endpoints.{name}.{key}"),
            reason,
        };
        check(endpoint).map_err(|(key, reason)| wrong(key, reason.to_owned()))?;
        let url = place(endpoint).map_err(|why| wrong("url", why))?;
        let address = Address {
            url: &url,
            allow_plain: endpoint.allow_plain,
            key_file: endpoint.key_file.as_deref(),
            key_env: endpoint.key_env.as_deref(),
        };
        let outlet = Outlet::open(&address, tasks).map_err(|fault| match fault {
            Wrong::Url(why) => wrong("url", why),
            Wrong::Key(why) => wrong("key_file", why),
        })?;
        let outlet = match endpoint.provider {
            Provider::Openai | Provider::Ollama => outlet,
            Provider::Anthropic => outlet.key_in("x-api-key").also("anthropic-version", VERSION),
            Provider::Gemini => outlet.key_in("x-goog-api-key"),
        };
        let price = |key, text: &str| {
            Price::parse(text, "0", currency).map(drop).map_err(|why| wrong(key, why))
        };
        price("price_in", &endpoint.price_in)?;
        price("price_out", &endpoint.price_out)?;
        let price = Price::parse(&endpoint.price_in, &endpoint.price_out, currency);
        Ok(Self {
            name: name.to_owned(),
            endpoint: endpoint.clone(),
            outlet,
            price: price.map_err(|why| wrong("price_in", why))?,
            learnt: Mutex::default(),
        })
    }

    /// How it is asked first, by what is known of it.
    pub(super) fn manner(&self, prompt: &Prompt) -> Manner {
        let learnt = self.learnt.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let holds = |until: Option<Instant>| until.is_some_and(|until| until > now);
        let floor = if prompt.tools.is_empty() { learnt.shape } else { learnt.tools };
        let floor = floor.filter(|(_, until)| *until > now).map(|(form, _)| form);
        let first = self.endpoint.form.first();
        let (form, simple) = learnt.schemas.way(prompt, now);
        let form = form.max(first);
        Manner {
            form: floor.map_or(form, |floor| floor.max(form)),
            simple,
            cold: holds(learnt.cold),
            renamed: holds(learnt.renamed),
            uncounted: holds(learnt.uncounted),
            unforced: holds(learnt.unforced),
        }
    }

    /// Remembers what was refused; how to ask instead, if there is another way. `simpler` is asked whether
    /// the same can be asked with simpler schemas.
    pub(super) fn learn(
        &self,
        refusal: &Refusal<'_>,
        manner: Manner,
        prompt: &Prompt,
        simpler: impl FnOnce() -> bool,
    ) -> Option<Manner> {
        let until = Instant::now() + REMEMBERED;
        let mut learnt = self.learnt.lock().unwrap_or_else(PoisonError::into_inner);
        match refusal.what {
            What::Temperature if !manner.cold => {
                learnt.cold = Some(until);
                Some(Manner { cold: true, ..manner })
            }
            What::Bound if !manner.renamed => {
                learnt.renamed = Some(until);
                Some(Manner { renamed: true, ..manner })
            }
            What::Counted if !manner.uncounted => {
                learnt.uncounted = Some(until);
                Some(Manner { uncounted: true, ..manner })
            }
            What::Choice if !manner.unforced => {
                learnt.unforced = Some(until);
                Some(Manner { unforced: true, ..manner })
            }
            What::Tools | What::Shape => {
                // Below these two no schema is sent that could be refused.
                let schema = refusal.schema && matches!(manner.form, Form::Native | Form::Schema);
                // In other forms what stands at the place of a tool is the shape of the answer.
                let part = if manner.form == Form::Native { refusal.part } else { "" };
                let manner = match schema && !manner.simple && simpler() {
                    true => Manner { simple: true, ..manner },
                    false => Manner { form: self.lower(manner.form, prompt)?, ..manner },
                };
                let is_bare = prompt.tools.is_empty();
                if schema {
                    let way = (manner.form, manner.simple);
                    learnt.schemas.add(prompt, part, way, until);
                } else if is_bare {
                    learnt.shape = Some((manner.form, until));
                } else {
                    learnt.tools = Some((manner.form, until));
                }
                Some(manner)
            }
            _ => None,
        }
    }

    /// The form below one, where others than the one of the configuration may be tried.
    fn lower(&self, form: Form, prompt: &Prompt) -> Option<Form> {
        let lower = form.lower().filter(|_| self.endpoint.form == Forms::Auto)?;
        // Without tools the first two are one.
        let is_one = prompt.tools.is_empty() && lower == Form::Schema;
        Some(if is_one { Form::Json } else { lower })
    }

    /// Lets it be asked after the others for a while.
    pub(super) fn rest(&self, told: Option<Duration>) {
        let rest = told.unwrap_or(REST).min(LONGEST_REST);
        let mut learnt = self.learnt.lock().unwrap_or_else(PoisonError::into_inner);
        learnt.rests = Some(Instant::now() + rest);
    }

    /// It answered.
    pub(super) fn wake(&self) {
        self.learnt.lock().unwrap_or_else(PoisonError::into_inner).rests = None;
    }

    pub(super) fn is_resting(&self) -> bool {
        let learnt = self.learnt.lock().unwrap_or_else(PoisonError::into_inner);
        learnt.rests.is_some_and(|until| until > Instant::now())
    }
}

/// Values that no endpoint can do with.
fn check(endpoint: &Endpoint) -> Result<(), (&'static str, &'static str)> {
    if endpoint.model.trim().is_empty() {
        return Err(("model", "it is empty: name the model as its host does"));
    }
    if endpoint.timeout.is_zero() {
        return Err(("timeout", "it is 0: give it a time such as `60s`"));
    }
    if endpoint.first_token_timeout.is_zero() {
        return Err(("first_token_timeout", "it is 0: give it a time such as `30s`"));
    }
    if endpoint.max_output == 0 {
        return Err(("max_output", "it is 0, so that nothing could be answered"));
    }
    if endpoint.context <= endpoint.max_output {
        return Err(("context", "it must be more than `max_output`"));
    }
    if !(0.0..=2.0).contains(&endpoint.temperature) {
        return Err(("temperature", "it must be from 0 to 2"));
    }
    if endpoint.retries > 10 {
        return Err(("retries", "it must be at most 10"));
    }
    Ok(())
}
