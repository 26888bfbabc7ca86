//! A call between its arrival and its reply: a task of its own, which the caller's going away
//! cancels but does not tear down, so that its container is removed and its record is made.

use std::sync::Arc;

use tokio::sync::mpsc::{Receiver, Sender};
use tokio::task::JoinHandle;
use tokio_stream::{Stream, StreamExt};
use tokio_util::sync::DropGuard;
use tonic::{Request, Status};
use tracing::Instrument;

use super::{Tools, arrival, status, wire};
use crate::admission::Caller;
use crate::call::{Call, CallId, Code, Event};
use crate::ledger::Page;
use crate::pipeline::{Entered, Recorded};
use crate::proto::tools as proto;

/// Bytes of a message, or of its files, that are read at once.
const INLINE: usize = 64 << 10;

/// A call that arrived: what it is and who sent it.
pub(super) struct Arrived {
    pub(super) call: Call,
    pub(super) caller: Caller,
    pub(super) span: tracing::Span,
}

/// A call that runs in a task of its own. Dropping it cancels the call, which still gets its record.
pub(super) struct Underway {
    id: CallId,
    reply: JoinHandle<Recorded>,
    _cancel: DropGuard,
}

impl Underway {
    pub(super) async fn reply(self) -> Result<Recorded, Status> {
        self.reply.await.map_err(|error| {
            // What a panic says may repeat the call.
            let panicked = error.is_panic();
            tracing::error!(call_id = %self.id, panicked, "a call's task ended without a reply");
            status::internal(self.id.as_str())
        })
    }
}

impl Tools {
    pub(super) async fn arrive(
        &self,
        request: Request<proto::CallRequest>,
    ) -> Result<Arrived, Status> {
        let brought = arrival::brought(&request)?;
        let mut call = read(request.into_inner()).await?;
        brought.mark(&mut call);
        Ok(Arrived { call, caller: brought.caller, span: brought.span })
    }

    /// Starts a call under an id that no other call has or had.
    pub(super) async fn start(
        &self,
        arrived: Arrived,
        events: Option<Sender<Event>>,
    ) -> Result<Underway, Status> {
        let entered = self.enter("call_id", &arrived.call, &arrived.caller).await?;
        Ok(self.run(arrived, entered, events))
    }

    /// Takes the id of a call, which stands in `field` of the request.
    pub(super) async fn enter(
        &self,
        field: &str,
        call: &Call,
        caller: &Caller,
    ) -> Result<Entered, Status> {
        let used = |when: &str| status::malformed(&[(field, format!("{when}; make a new one"))]);
        let entered = self.pipeline.enter(&call.id, caller);
        let entered = entered.ok_or_else(|| used("is that of a running call"))?;
        if call.named && self.page(call.id.as_str(), 0, 0).await?.is_some() {
            return Err(used("was used before"));
        }
        Ok(entered)
    }

    /// Runs a call whose id was taken.
    pub(super) fn run(
        &self,
        arrived: Arrived,
        entered: Entered,
        events: Option<Sender<Event>>,
    ) -> Underway {
        let Arrived { call, caller, span } = arrived;
        let (id, cancel) = (call.id.clone(), entered.cancel_on_drop());
        let pipeline = Arc::clone(&self.pipeline);
        let run = async move { pipeline.call(call, entered, &caller, events).await };
        Underway { id, reply: self.tasks.spawn(run.instrument(span)), _cancel: cancel }
    }

    /// Ends a call of its sender, if it still runs.
    pub(super) async fn end(
        &self,
        request: Request<proto::CancelRequest>,
    ) -> Result<proto::CancelResponse, Status> {
        let caller = arrival::caller(&request)?;
        let id = wire::named("call_id", request.into_inner().call_id)?;
        let cancelled = self.pipeline.cancel(&id, &caller);
        if !cancelled {
            self.recorded(&id, &caller, 0, 0).await?;
        }
        Ok(proto::CancelResponse { cancelled })
    }

    async fn page(&self, id: &str, offset: u64, limit: u32) -> Result<Option<Page>, Status> {
        let found = self.pipeline.ledger().result(id, offset, limit).await;
        found.map_err(|error| status::unavailable(Code::LedgerUnavailable, &error.to_string()))
    }

    /// A piece of the recorded reply of a call that this caller made.
    pub(super) async fn recorded(
        &self,
        id: &str,
        caller: &Caller,
        offset: u64,
        limit: u32,
    ) -> Result<Page, Status> {
        self.page(id, offset, limit)
            .await?
            .filter(|page| page.caller == caller.name && page.tenant == caller.tenant)
            .ok_or_else(|| {
                status::not_found("UNKNOWN_CALL", &format!("you made no call with the id `{id}`"))
            })
    }
}

/// A call from its wire form.
async fn read(wire: proto::CallRequest) -> Result<Call, Status> {
    let bytes = wire.files.iter().map(|file| file.content.len()).sum();
    large("a call", bytes, || wire::call(wire)).await
}

/// Reads `what`, which has so many bytes. Many are read, or hashed, where it holds nobody up.
pub(super) async fn large<T: Send + 'static>(
    what: &str,
    bytes: usize,
    read: impl FnOnce() -> Result<T, Status> + Send + 'static,
) -> Result<T, Status> {
    if bytes < INLINE {
        return read();
    }
    tokio::task::spawn_blocking(read).await.unwrap_or_else(|error| {
        tracing::error!(panicked = error.is_panic(), "{what} could not be read");
        Err(status::internal(""))
    })
}

pub(super) fn answer(recorded: &Recorded) -> Result<proto::Reply, Status> {
    let wire = wire::reply(recorded);
    status::of_reply(&recorded.reply, &wire).map_or(Ok(wire), Err)
}

fn event(event: proto::call_event::Event) -> proto::CallEvent {
    proto::CallEvent { event: Some(event) }
}

fn progress(from: Event) -> proto::CallEvent {
    use proto::call_event::output::Stream;
    use proto::call_event::{Event as Wire, Output, Started, Waiting};
    event(match from {
        Event::Waiting(approval_id) => Wire::Waiting(Waiting { approval_id }),
        Event::Started => Wire::Started(Started {}),
        Event::Stdout(data) => {
            Wire::Output(Output { stream: Stream::Stdout.into(), data: data.to_vec() })
        }
        Event::Stderr(data) => {
            Wire::Output(Output { stream: Stream::Stderr.into(), data: data.to_vec() })
        }
    })
}

/// Accepted, then what the tool says, then the reply.
pub(super) fn events(
    underway: Underway,
    said: Receiver<Event>,
) -> impl Stream<Item = Result<proto::CallEvent, Status>> {
    let accepted = proto::call_event::Accepted { call_id: underway.id.to_string() };
    let first = event(proto::call_event::Event::Accepted(accepted));
    let last = async {
        let wire = answer(&underway.reply().await?)?;
        Ok(event(proto::call_event::Event::Reply(wire)))
    };
    tokio_stream::once(Ok(first))
        .chain(tokio_stream::wrappers::ReceiverStream::new(said).map(progress).map(Ok))
        .chain(futures::stream::once(last))
}
