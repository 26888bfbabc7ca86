//! What a model should read of a result that is kept whole: a reply and its call's wishes in, the
//! reply as it is shown out. The rules stand in the proto file under LONG RESULTS.

mod binary;
mod page;
mod part;
mod prune;
mod shorten;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use super::{Form, Reply, Status};
use crate::call::Call;
use crate::catalog::Tool;
use crate::tokens;

pub use page::{Ask, Page, Unread, page};

use part::Part;

/// Fewer tokens cannot say what was left out.
const LEAST_TOKENS: u32 = 32;

/// What a reply shows of a result that is kept whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// Whether data holds only what the tool's `summary_fields` select.
    pub summary: bool,
    /// Markers in data for what was left out to keep within the call's tokens.
    pub left_out: u32,
    /// Handles in data for binary content.
    pub handles: u32,
    /// Tokens of data, estimated.
    pub tokens: usize,
    /// Tokens of the whole result, estimated.
    pub full_tokens: usize,
    /// Bytes of the whole result as JSON text.
    pub full_bytes: usize,
    /// Expressions of `summary_fields` that match nothing in this result. Absent when there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmatched: Vec<String>,
}

/// The tokens that a wish allows; `None` for no bound.
fn budget(wish: u32) -> Option<usize> {
    (wish > 0).then(|| usize::try_from(wish.max(LEAST_TOKENS)).unwrap_or(usize::MAX))
}

/// The reply as `call` wants to see it; `None` when that is the whole.
pub fn view(reply: &Reply, tool: Option<&Tool>, call: &Call) -> Option<Reply> {
    let budget = budget(call.max_tokens);
    if call.full && budget.is_none() {
        return None;
    }
    let data = &reply.data;
    let fields = tool.map(|tool| tool.summary_fields.as_slice()).unwrap_or_default();
    let summed_up = !call.full
        && reply.status == Status::Success
        && !fields.is_empty()
        && (data.is_object() || data.is_array());
    let (pruned, unmatched) =
        if summed_up { prune::prune(data, fields) } else { (None, Vec::new()) };
    let summary = pruned.is_some();
    let mut part = pruned.unwrap_or(Part::Whole(data));
    let handles = if call.full {
        0
    } else {
        let bytes = reply.metadata.data_form == Some(Form::Bytes);
        let schema = tool.and_then(|tool| tool.output_schema.as_ref());
        binary::replace(&mut part, &binary::Known { schema, bytes })
    };
    let untouched = !summary && handles == 0 && unmatched.is_empty();
    if untouched && budget.is_none() {
        return None;
    }
    let full = data.to_string();
    let full_tokens = tokens::count(&full);
    let fits = budget.is_none_or(|budget| full_tokens <= budget);
    if untouched && fits {
        return None;
    }
    let (shown, left_out) = shorten::fit(&part, "/data", budget);
    let view = View {
        summary,
        left_out,
        handles,
        tokens: tokens::count(&shown.to_string()),
        full_tokens,
        full_bytes: full.len(),
        unmatched,
    };
    let mut metadata = reply.metadata.clone();
    metadata.view = Some(view);
    Some(Reply {
        tool_name: reply.tool_name.clone(),
        status: reply.status,
        data: shown,
        error: reply.error.clone(),
        metadata,
        files: reply.files.clone(),
    })
}
