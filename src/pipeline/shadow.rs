//! A candidate policy set beside the active one: each call that is decided is put aside for it, asked
//! while the tool runs or when the record is made, and the difference is counted and recorded. It
//! never changes what becomes of a call, and without a candidate it does nothing.

use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::Poll;

use serde_json::Value;

use super::Snapshot;
use crate::admission::Caller;
use crate::call::{FileFacts, Session};
use crate::catalog::Tool;
use crate::policy::{Flip, Policies, Question, Said};
use crate::schema::Checked;

impl Snapshot {
    /// Adds the candidate in `folder`, checked against this very catalog. One that cannot be used is
    /// left out until the next load, and the log and the metrics say so.
    #[must_use]
    pub fn shadowed_by(mut self, folder: Option<&Path>) -> Self {
        let Some(folder) = folder else { return self };
        let outcome = match load(folder, self.catalog.tools()) {
            Ok(candidate) => {
                for warning in candidate.warnings() {
                    tracing::warn!("candidate: {warning}");
                }
                let version = candidate.version();
                tracing::info!(version, "a candidate policy set decides beside the active one");
                self.candidate = Some(Arc::new(candidate));
                "loaded"
            }
            Err(error) => {
                let folder = folder.display();
                tracing::error!(%folder, %error, "the candidate policy set was not taken");
                "refused"
            }
        };
        metrics::counter!("switchboard_shadow_loads_total", "outcome" => outcome).increment(1);
        let decides = if self.candidate.is_some() { 1.0 } else { 0.0 };
        metrics::gauge!("switchboard_shadow_candidate").set(decides);
        self
    }
}

fn load(folder: &Path, tools: &[Arc<Tool>]) -> Result<Policies, String> {
    // Without any file the set would deny every call, which is hardly what is to be tried.
    if !folder.join("cedar").is_dir() {
        return Err("there is no folder `cedar` in it".to_owned());
    }
    Policies::load(folder, tools).map_err(|error| error.to_string())
}

/// A call as the candidate will be asked about it.
#[derive(Debug)]
pub(super) struct Aside {
    candidate: Arc<Policies>,
    caller: Caller,
    tool: Arc<Tool>,
    input: Value,
    conversation: String,
    session: Session,
    files: Vec<FileFacts>,
    /// What the active set said.
    from: Said,
    flip: OnceLock<Option<Flip>>,
}

impl Aside {
    /// Puts a call aside before it is decided; `None` without a candidate.
    pub(super) fn of(checked: &Checked, snapshot: &Snapshot) -> Option<Self> {
        let candidate = Arc::clone(snapshot.candidate.as_ref()?);
        let admitted = &checked.resolved.admitted;
        Some(Self {
            candidate,
            caller: admitted.caller.clone(),
            tool: Arc::clone(&checked.resolved.tool),
            input: checked.arguments.value.clone(),
            conversation: admitted.call.conversation.clone(),
            session: admitted.call.session.clone(),
            files: admitted.call.files.iter().map(|file| file.facts.clone()).collect(),
            from: Said::Error,
            flip: OnceLock::new(),
        })
    }

    /// Notes what the active set said.
    pub(super) fn decided(mut self, said: Said) -> Arc<Self> {
        self.from = said;
        Arc::new(self)
    }

    /// Asks the candidate, once; `None` when it says the same.
    pub(super) fn flip(&self) -> Option<&Flip> {
        let flip = self.flip.get_or_init(|| {
            let flip = self.candidate.flip(
                &Question {
                    caller: &self.caller,
                    tool: &self.tool,
                    input: &self.input,
                    conversation: &self.conversation,
                    session: &self.session,
                    files: self.files.iter().collect(),
                },
                self.from,
            );
            metrics::counter!("switchboard_shadow_decisions_total").increment(1);
            if let Some(Flip { from, outcome, .. }) = &flip {
                let (from, to) = (from.as_str(), outcome.as_str());
                metrics::counter!("switchboard_policy_flips_total", "from" => from, "to" => to)
                    .increment(1);
            }
            flip
        });
        flip.as_ref()
    }
}

/// Waits for a reply. The candidate is asked once the wait has begun, so that its time is the tool's
/// too.
pub(super) async fn beside<T>(
    mut reply: Pin<&mut impl Future<Output = T>>,
    aside: Option<Arc<Aside>>,
) -> T {
    if let Some(aside) = aside {
        if let Poll::Ready(reply) = futures::poll!(reply.as_mut()) {
            return reply;
        }
        aside.flip();
    }
    reply.await
}

#[cfg(test)]
mod tests;
