//! Between policy and sandbox: may this call be answered from a reply that is there already, or is
//! it the same call over again. Only an authorized call gets here, so nothing leaks by a cache.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use moka::Expiry;
use moka::future::Cache;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::CallError;
use crate::approval::Wanted;
use crate::call::{Call, Code, Failure, digest_of};
use crate::config::duration;
use crate::normalize::Reply;
use crate::policy::Authorized;

/// Cache, idempotency and duplicate detection.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Bytes of replies kept in memory; default 64 MiB (67108864).
    pub bytes: u64,
    /// How long a reply is kept for its idempotency key; default 10 min.
    #[serde(with = "duration")]
    pub idempotency: Duration,
    /// How long a conversation that makes no call is remembered for loop protection; default 1 h.
    #[serde(with = "duration")]
    pub conversation: Duration,
    /// Calls remembered for loop protection over all conversations; default 100000.
    pub remembered: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            bytes: 64 << 20,
            idempotency: Duration::from_secs(600),
            conversation: Duration::from_secs(3600),
            remembered: 100_000,
        }
    }
}

/// A reply that can be given again.
#[derive(Debug, Clone)]
struct Kept {
    reply: Arc<Reply>,
    bytes: u32,
    identity: Arc<str>,
    made: Instant,
    ttl: Duration,
}

struct ByTtl;

impl Expiry<String, Kept> for ByTtl {
    fn expire_after_create(&self, _: &String, kept: &Kept, _: Instant) -> Option<Duration> {
        Some(kept.ttl)
    }
}

/// Where a call's reply may come from, beside its tool.
#[derive(Debug)]
pub(super) struct Question {
    identity: Arc<str>,
    idempotency_slot: Option<String>,
    cache_slot: Option<(String, Duration)>,
    /// Set when the call counts for the loop protection of its conversation.
    pub(super) visit: Option<String>,
}

/// Under which name, and for how long, a reply is kept.
struct Keep {
    slot: String,
    ttl: Duration,
    identity: Arc<str>,
    /// Whether a reply of a tool that ran and failed is kept too.
    errors: bool,
}

/// Why there is no reply to keep, and whose fault that was.
#[derive(Debug)]
struct Missed {
    identity: Arc<str>,
    outcome: Result<Arc<Reply>, Failure>,
}

/// Replies that are kept, and calls that were made.
#[derive(Debug)]
pub(super) struct Replies {
    kept: Cache<String, Kept>,
    made: moka::sync::Cache<String, String>,
    idempotency: Duration,
}

impl Replies {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            kept: Cache::builder()
                .max_capacity(config.bytes)
                .weigher(|_, kept: &Kept| kept.bytes)
                .expire_after(ByTtl)
                .build(),
            made: moka::sync::Cache::builder()
                .max_capacity(config.remembered)
                .time_to_idle(config.conversation)
                .build(),
            idempotency: config.idempotency,
        }
    }

    /// Refuses a call that its conversation has made before, and finds where else its reply may be.
    pub(super) fn question(
        &self,
        call: &Call,
        authorized: &Authorized,
    ) -> Result<Question, CallError> {
        let tool = &authorized.checked.resolved.tool;
        let caller = &authorized.checked.resolved.admitted.caller;
        let identity = authorized.checked.identity(&authorized.decision.version);
        let idempotency_slot = slot(call, &caller.tenant, &caller.name);
        let visit = (idempotency_slot.is_none() && !call.conversation.is_empty())
            .then(|| hash(&["visit", &call.conversation, &identity]));
        if let Some(slot) = &visit {
            self.visit(call, &tool.name, slot)?;
        }
        let cache_slot = tool.cache_ttl.map(|ttl| (hash(&["cache", &identity]), ttl));
        Ok(Question { identity: identity.into(), idempotency_slot, cache_slot, visit })
    }

    /// The reply that the same call got under the same idempotency key, while its approval held: a
    /// person who approved it once is not asked again for that.
    pub(super) async fn known(&self, call: &Call, wanted: &Wanted) -> Option<Reply> {
        let kept = self.kept.get(&slot(call, &wanted.tenant, &wanted.caller)?).await?;
        (*kept.identity == *wanted.digest).then(|| kept.reply.cached(call, kept.made.elapsed()))
    }

    fn visit(&self, call: &Call, tool: &str, slot: &str) -> Result<(), CallError> {
        let entry = self.made.entry_by_ref(slot).or_insert_with(|| call.id.as_str().to_owned());
        if entry.is_fresh() {
            return Ok(());
        }
        Err(CallError::Duplicate(
            format!(
                "`{tool}` was called with these arguments in this conversation already; use that \
                 result, change the arguments, or send an idempotency key"
            ),
            json!({ "first_call_id": entry.into_value() }),
        ))
    }

    /// Answers from a kept reply, or runs and keeps the reply where that is allowed. Equal calls
    /// that come while one runs wait for that one.
    pub(super) async fn answer(
        &self,
        call: &Call,
        question: Question,
        run: impl Future<Output = Result<Reply, CallError>> + Send,
    ) -> Result<Reply, CallError> {
        let Question { identity, idempotency_slot, cache_slot, visit: _ } = question;
        let cached = async {
            match cache_slot {
                Some((slot, ttl)) => {
                    let keep = Keep { slot, ttl, identity: Arc::clone(&identity), errors: false };
                    self.once(call, keep, run).await
                }
                None => run.await,
            }
        };
        match idempotency_slot {
            Some(slot) => {
                let (ttl, identity) = (self.idempotency, Arc::clone(&identity));
                self.once(call, Keep { slot, ttl, identity, errors: true }, cached).await
            }
            None => cached.await,
        }
    }

    async fn once(
        &self,
        call: &Call,
        keep: Keep,
        run: impl Future<Output = Result<Reply, CallError>> + Send,
    ) -> Result<Reply, CallError> {
        let Keep { slot, ttl, identity, errors } = keep;
        let missed = |outcome| Missed { identity: Arc::clone(&identity), outcome };
        let mut own = None;
        let first = async {
            let reply = run.await.map_err(|error| missed(Err(error.failure())))?;
            let reply = Arc::new(reply);
            own = Some(Arc::clone(&reply));
            if !(reply.cacheable() || (errors && !again(&reply))) {
                return Err(missed(Ok(reply)));
            }
            let contents: usize = reply.files.iter().map(|file| file.content.len()).sum();
            let bytes = u32::try_from(reply.to_json().len() * 2 + contents).unwrap_or(u32::MAX);
            Ok(Kept { reply, bytes, identity: Arc::clone(&identity), made: Instant::now(), ttl })
        };
        let kept = Box::pin(self.kept.try_get_with(slot, first)).await;
        if let Some(reply) = own {
            return Ok(Arc::unwrap_or_clone(reply));
        }
        match kept.as_ref().map_err(AsRef::as_ref) {
            Ok(kept) if kept.identity != identity => Err(other_arguments()),
            Err(missed) if missed.identity != identity => Err(other_arguments()),
            Ok(kept) => Ok(kept.reply.cached(call, kept.made.elapsed())),
            Err(Missed { outcome: Ok(reply), .. }) => Ok(reply.cached(call, Duration::ZERO)),
            Err(Missed { outcome: Err(failure), .. }) => Err(CallError::Shared(failure.clone())),
        }
    }

    /// Forgets a call of a conversation when its reply says that it may be made again unchanged.
    pub(super) fn settle(&self, visit: Option<&str>, reply: &Reply) {
        if let Some(slot) = visit
            && again(reply)
        {
            self.made.invalidate(slot);
        }
    }
}

/// Whether the same call can be made again unchanged: it may succeed then, or never ran to its end.
fn again(reply: &Reply) -> bool {
    reply.error.as_ref().is_some_and(|error| error.retryable || error.code == Code::Cancelled)
}

fn other_arguments() -> CallError {
    CallError::Duplicate(
        "the idempotency key was used for another call; make a new key for each call".to_owned(),
        Value::Null,
    )
}

/// Where the reply of a call with an idempotency key is kept; keys are the caller's own.
fn slot(call: &Call, tenant: &str, caller: &str) -> Option<String> {
    let scope = format!("{tenant}\0{caller}");
    call.idempotency_key.as_deref().map(|key| hash(&["idempotency", &scope, key]))
}

fn hash(parts: &[&str]) -> String {
    hex::encode(digest_of(parts))
}

#[cfg(test)]
mod tests;
