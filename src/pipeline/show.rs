//! The last step of a call: what is recorded whole is shown as its caller wants it. A recorded reply
//! in, the one that leaves out.

use std::sync::Arc;

use serde_json::Value;

use super::Recorded;
use crate::call::Call;
use crate::catalog::Tool;
use crate::normalize::{self, Reply};

/// Bytes of a reply beyond which its view is made where it holds nobody up.
const INLINE: usize = 64 << 10;

impl Recorded {
    pub(super) fn new(reply: Reply) -> Self {
        Self { json: reply.to_json(), reply, whole: None }
    }

    /// The whole data, whatever the reply shows of it, of a call of a batch.
    pub fn data(&self) -> &Value {
        self.whole.as_ref().unwrap_or(&self.reply.data)
    }

    /// This one in the place of `whole`, to whose data other calls of a batch may refer.
    fn of(self, whole: Self, call: &Call) -> Self {
        Self { whole: call.member.is_some().then_some(whole.reply.data), ..self }
    }
}

pub(super) async fn show(recorded: Recorded, call: &Call, tool: Option<Arc<Tool>>) -> Recorded {
    if recorded.json.len() < INLINE {
        return match normalize::view(&recorded.reply, tool.as_deref(), call) {
            Some(view) => Recorded::new(view).of(recorded, call),
            None => recorded,
        };
    }
    let whole = Arc::new(recorded);
    let (shared, wish) = (Arc::clone(&whole), call.clone());
    let view = move || {
        let view = normalize::view(&shared.reply, tool.as_deref(), &wish)?;
        Some(Recorded::new(view))
    };
    match tokio::task::spawn_blocking(view).await {
        Ok(Some(view)) => view.of(Arc::unwrap_or_clone(whole), call),
        Ok(None) => Arc::unwrap_or_clone(whole),
        Err(error) => {
            tracing::error!(call_id = %call.id, panicked = error.is_panic(), "a view failed");
            Arc::unwrap_or_clone(whole)
        }
    }
}
