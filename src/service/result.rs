//! GetResult: a recorded reply read again, as bytes of its line or a value of it by JSON Pointer.
//! Also how a reply tells on the wire where it comes from and how much of it is shown.

use serde_json::Value;
use tokio::sync::Semaphore;
use tonic::{Request, Status};

use super::{Tools, arrival, status, wire};
use crate::ledger::Page;
use crate::normalize::{self, Ask, Origin, Unread, View};
use crate::proto::tools as proto;
use crate::tokens;

/// Bytes of one page.
const PAGE_BYTES: u32 = 1 << 20;
/// Replies that are taken apart at once: each is in memory as a whole.
static READERS: Semaphore = Semaphore::const_new(2);

impl Tools {
    /// One page of a reply that this caller's call got.
    pub(super) async fn result(
        &self,
        request: Request<proto::GetResultRequest>,
    ) -> Result<proto::GetResultResponse, Status> {
        let caller = arrival::caller(&request)?;
        let asked = request.into_inner();
        let id = wire::named("call_id", asked.call_id.clone())?;
        // The longest character has four bytes.
        let limit = if asked.limit == 0 { PAGE_BYTES } else { asked.limit.clamp(4, PAGE_BYTES) };
        let Some(ask) = ask(&asked, limit)? else {
            let page = self.recorded(&id, &caller, asked.offset, limit).await?;
            return bytes(page, asked.offset);
        };
        // Whose it is, before anything of it is read.
        self.recorded(&id, &caller, 0, 0).await?;
        let permit = READERS.acquire().await.map_err(|_closed| status::internal(&id))?;
        let whole = self.recorded(&id, &caller, 0, u32::MAX).await?;
        // The permit is held until the work is done, also when nobody waits for it any more.
        let work = move || {
            let _permit = permit;
            read(&whole.bytes, &ask)
        };
        let read = tokio::task::spawn_blocking(work).await;
        let read = read.map_err(|error| {
            tracing::error!(call_id = %id, panicked = error.is_panic(), "a result cannot be read");
            status::internal(&id)
        })?;
        read.map_err(|Unread { field, message }| status::malformed(&[(field, message)]))
    }
}

/// What is asked of a value; `None` where bytes of the line are.
fn ask(asked: &proto::GetResultRequest, limit: u32) -> Result<Option<Ask>, Status> {
    let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let Some(pointer) = asked.pointer.clone() else {
        let stray = [
            ("first", asked.first > 0),
            ("count", asked.count > 0),
            ("max_tokens", asked.max_tokens > 0),
            ("decode", asked.decode),
        ];
        let stray = stray.into_iter().filter(|(_, given)| *given);
        let stray: Vec<_> = stray.map(|(field, _)| (field, "needs a pointer".to_owned())).collect();
        return if stray.is_empty() { Ok(None) } else { Err(status::malformed(&stray)) };
    };
    if asked.offset > 0 {
        let message = "counts bytes of the line; with a pointer, give `first`".to_owned();
        return Err(status::malformed(&[("offset", message)]));
    }
    Ok(Some(Ask {
        pointer,
        first: size(asked.first),
        count: size(asked.count),
        bytes: size(limit.into()),
        max_tokens: asked.max_tokens,
        decode: asked.decode,
    }))
}

fn read(line: &[u8], ask: &Ask) -> Result<proto::GetResultResponse, Unread> {
    let reply: Value = serde_json::from_slice(line).unwrap_or_default();
    let page = normalize::page(&reply, ask)?;
    let origin = reply.pointer("/metadata/origin").cloned();
    let origin = origin.and_then(|origin| serde_json::from_value::<Origin>(origin).ok());
    let wide = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    Ok(proto::GetResultResponse {
        tokens: wide(tokens::count(&page.json)),
        json: page.json,
        total_bytes: wide(page.total_bytes),
        next_offset: 0,
        total: wide(page.total),
        next_first: wide(page.next_first),
        origin: origin.as_ref().map(self::origin),
        content: page.content,
        media_type: page.media_type,
    })
}

/// One page of a recorded line, which begins at `offset`. Never splits a character.
fn bytes(page: Page, offset: u64) -> Result<proto::GetResultResponse, Status> {
    let wrong = |what: &str| status::malformed(&[("offset", what.to_owned())]);
    if offset > page.total {
        return Err(wrong("lies beyond the end"));
    }
    let json = String::from_utf8(page.bytes).or_else(|cut| {
        let whole = cut.utf8_error().valid_up_to();
        let mut bytes = cut.into_bytes();
        bytes.truncate(whole);
        let text = String::from_utf8(bytes).ok().filter(|text| !text.is_empty());
        text.ok_or_else(|| wrong("is not 0 or a next_offset"))
    })?;
    let end = offset.saturating_add(u64::try_from(json.len()).unwrap_or(u64::MAX));
    Ok(proto::GetResultResponse {
        json,
        total_bytes: page.total,
        next_offset: if end >= page.total { 0 } else { end },
        ..Default::default()
    })
}

pub(super) fn origin(origin: &Origin) -> proto::Origin {
    proto::Origin {
        tool: origin.tool.clone(),
        source: origin.source.clone(),
        hosts: origin.hosts.clone(),
    }
}

pub(super) fn view(view: &View) -> proto::View {
    let wide = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    proto::View {
        summary: view.summary,
        left_out: view.left_out,
        handles: view.handles,
        tokens: wide(view.tokens),
        full_tokens: wide(view.full_tokens),
        full_bytes: wide(view.full_bytes),
        unmatched: view.unmatched.clone(),
    }
}
