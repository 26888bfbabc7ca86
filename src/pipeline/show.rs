//! The last step of a call: what is recorded whole is shown as its caller wants it. A recorded reply
//! in, the one that leaves out.

use std::sync::Arc;

use super::Recorded;
use crate::call::Call;
use crate::catalog::Tool;
use crate::normalize;

/// Bytes of a reply beyond which its view is made where it holds nobody up.
const INLINE: usize = 64 << 10;

pub(super) async fn show(recorded: Recorded, call: &Call, tool: Option<Arc<Tool>>) -> Recorded {
    let made = |reply: normalize::Reply| Recorded { json: reply.to_json(), reply };
    if recorded.json.len() < INLINE {
        let view = normalize::view(&recorded.reply, tool.as_deref(), call);
        return view.map_or(recorded, made);
    }
    let whole = Arc::new(recorded);
    let (shared, wish) = (Arc::clone(&whole), call.clone());
    let view = move || normalize::view(&shared.reply, tool.as_deref(), &wish).map(made);
    match tokio::task::spawn_blocking(view).await {
        Ok(Some(view)) => view,
        Ok(None) => Arc::unwrap_or_clone(whole),
        Err(error) => {
            tracing::error!(call_id = %call.id, panicked = error.is_panic(), "a view failed");
            Arc::unwrap_or_clone(whole)
        }
    }
}
