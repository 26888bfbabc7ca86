//! The last step of a call: what is recorded whole is shown as its caller wants it. A recorded reply
//! in, the one that leaves out.

use std::sync::Arc;

use serde_json::Value;

use super::{Pipeline, Recorded};
use crate::admission::Caller;
use crate::call::Call;
use crate::catalog::Tool;
use crate::normalize::{self, Reply};

/// Bytes of a reply beyond which its view is made where it holds nobody up.
const INLINE: usize = 64 << 10;
/// Bytes of all replies of a batch without their files. Clients allow 32 MiB for a message, as the proto
/// file says; the rest is for what is not data.
const ROOM: usize = 24 << 20;
/// Tokens of data that a reply shows for which there is no room, and bytes that it takes then at most.
const BEGINNING: u32 = 4096;
const BEGUN: usize = 256 << 10;

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

impl Recorded {
    /// Bytes of the reply on the wire, where its data stands twice.
    fn weight(&self) -> usize {
        self.json.len().saturating_mul(2)
    }

    /// The reply with the beginning of its data; `None` where that is no less.
    fn begun(&self, tool: Option<&Tool>, call: &Call) -> Option<Self> {
        let mut whole = Reply { data: self.data().clone(), ..self.reply.clone() };
        whole.metadata.view = None;
        let wish = Call { max_tokens: BEGINNING, ..call.clone() };
        let shown = Self::new(normalize::view(&whole, tool, &wish)?);
        (shown.weight() < self.weight()).then_some(shown)
    }
}

impl Pipeline {
    /// The replies to the calls of a batch within what one answer can have: the longest, of about equal
    /// ones the last, show only the beginning of their data, as with `max_tokens`. The ledger has the whole.
    pub async fn share(
        &self,
        calls: &[Call],
        caller: &Caller,
        mut replies: Vec<Option<Recorded>>,
    ) -> Vec<Option<Recorded>> {
        let weights = replies.iter().map(|reply| reply.as_ref().map_or(0, Recorded::weight));
        let snapshot = self.snapshot.load_full();
        for at in surplus(&weights.collect::<Vec<_>>(), ROOM) {
            let (Some(call), Some(slot)) = (calls.get(at), replies.get_mut(at)) else { continue };
            let Some(reply) = slot.take() else { continue };
            let tool = snapshot.catalog.named(call, &|tool| snapshot.shows(caller, tool));
            let (reply, wish) = (Arc::new(reply), call.clone());
            let shared = Arc::clone(&reply);
            let shorten = move || shared.begun(tool.as_deref(), &wish);
            let shown = tokio::task::spawn_blocking(shorten).await.unwrap_or_else(|error| {
                tracing::error!(call_id = %call.id, panicked = error.is_panic(), "a view failed");
                None
            });
            *slot = Some(shown.unwrap_or_else(|| Arc::unwrap_or_clone(reply)));
        }
        replies
    }
}

/// Which of these have to be shortened for all to have no more than `room`: the longest, of about
/// equal ones the last.
fn surplus(weights: &[usize], room: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..weights.len()).collect();
    let weight = |at: usize| weights.get(at).copied().unwrap_or_default();
    // Replies of equal data differ by some digits of their metadata.
    order.sort_by_key(|at| std::cmp::Reverse((weight(*at) / BEGUN, *at)));
    let mut total = weights.iter().fold(0_usize, |sum, weight| sum.saturating_add(*weight));
    let mut longest = Vec::new();
    for at in order {
        if total <= room || weight(at) <= BEGUN {
            break;
        }
        total = total.saturating_sub(weight(at)).saturating_add(BEGUN);
        longest.push(at);
    }
    longest
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

#[cfg(test)]
mod tests {
    use super::{BEGUN, surplus};

    #[test]
    fn the_longest_replies_are_shortened_until_all_fit() {
        let (room, none): (_, &[usize]) = (10 * BEGUN, &[]);
        assert_eq!(surplus(&[], room), none);
        assert_eq!(surplus(&[4 * BEGUN, 6 * BEGUN], room), none);
        assert_eq!(surplus(&[4 * BEGUN, 7 * BEGUN], room), [1]);
        assert_eq!(surplus(&[5 * BEGUN, BEGUN, 5 * BEGUN], room), [2], "the last of equal ones");
        assert_eq!(
            surplus(&[5 * BEGUN + 9, BEGUN, 5 * BEGUN], room),
            [2],
            "or of about equal ones"
        );
        assert_eq!(surplus(&[9 * BEGUN, 8 * BEGUN, 7 * BEGUN], room), [0, 1]);
        assert_eq!(surplus(&[BEGUN; 20], room), none, "the short ones stay as they are");
    }
}
