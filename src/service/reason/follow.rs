//! A run's events as a stream for one client: to the run's end, to the client's deadline, or to the end of
//! the daemon. Tells where the run may go on, and ends it only for a client that wanted that.

use std::time::Duration;

use futures::StreamExt;
use tokio::sync::mpsc::{self, OwnedPermit, Sender};
use tokio::time::Instant;
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;
use tracing::Instrument;

use super::arrival::Brought;
use super::{Place, Reasons, fault, status, tell};
use crate::proto::reason as proto;
use crate::reason::{Kept, RunId, Visitor};

/// Events that may wait for a slow client; it is told the others from the disk.
const WAITING: usize = 16;
/// A stream of this age ends; its client resumes, and proves itself again.
const OLDEST: Duration = Duration::from_secs(15 * 60);

/// How a client wants to be told.
#[derive(Debug, Clone, Copy)]
pub(super) struct Manner {
    /// Whether the run ends with the stream.
    pub(super) cancel_on_drop: bool,
    /// Whether each event comes as JSON too.
    pub(super) with_json: bool,
}

type Told = Result<proto::RunEvent, Status>;

/// How a stream ended.
enum End {
    /// With the run.
    Run,
    /// The client is gone.
    Dropped,
    /// The client's time is over.
    Late,
    /// For a reason of ours.
    Ours(Box<Status>),
}

impl Reasons {
    /// Tells a run's events behind the last one that is known.
    pub(super) fn follow(
        &self,
        brought: &Brought,
        (run, after): Place,
        manner: Manner,
    ) -> Result<impl Stream<Item = Told> + use<>, Status> {
        let visitor = brought.visitor();
        let events = self.front.follow(&visitor, &run, after);
        let events = events.map_err(|error| fault::of_reason(&error))?;
        let (say, said) = mpsc::channel(WAITING + 1);
        // The place of the status, which a client that reads slowly is told too.
        let last = say.clone().try_reserve_owned().map_err(|_full| status::internal(""))?;
        let (service, now) = (self.clone(), Instant::now());
        let until = brought.remaining().map(|remaining| now + remaining);
        let work = async move {
            let times = (until, now + OLDEST);
            let end = service.tell(Box::pin(events), &say, (times, manner)).await;
            drop(say);
            service.end(end, last, (&visitor, &run, manner)).await;
        };
        // Not among the calls: a drain ends it, and does not wait for its client to read.
        self.streams.spawn(work.instrument(brought.span.clone()));
        Ok(ReceiverStream::new(said))
    }

    async fn tell(
        &self,
        mut events: impl Stream<Item = Result<Kept, crate::reason::Error>> + Unpin,
        say: &Sender<Told>,
        ((until, oldest), manner): ((Option<Instant>, Instant), Manner),
    ) -> End {
        let late = async {
            match until {
                Some(until) => tokio::time::sleep_until(until).await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(late);
        loop {
            let event = tokio::select! {
                biased;
                () = say.closed() => return End::Dropped,
                () = &mut late => return End::Late,
                event = events.next() => event,
                () = self.stop.cancelled() => return End::Ours(Box::new(fault::draining())),
                () = tokio::time::sleep_until(oldest) => {
                    return End::Ours(Box::new(fault::over()));
                }
            };
            let told = match event {
                None => return End::Run,
                Some(Err(error)) => return End::Ours(Box::new(fault::of_run(&error))),
                Some(Ok(kept)) => tell::event(kept, manner.with_json),
            };
            tokio::select! {
                biased;
                sent = say.send(Ok(told)) => if sent.is_err() { return End::Dropped },
                () = &mut late => return End::Late,
                () = self.stop.cancelled() => return End::Ours(Box::new(fault::draining())),
                // A client that reads nothing holds nothing either.
                () = tokio::time::sleep_until(oldest) => {
                    return End::Ours(Box::new(fault::over()));
                }
            }
        }
    }

    /// Says why the stream ends, and ends the run where its client wanted that.
    async fn end(
        &self,
        end: End,
        last: OwnedPermit<Told>,
        (visitor, run, manner): (&Visitor, &RunId, Manner),
    ) {
        let status = match end {
            End::Run => return,
            End::Dropped => None,
            End::Late => Some(fault::late()),
            End::Ours(status) => return drop(last.send(Err(*status))),
        };
        if manner.cancel_on_drop
            && let Err(error) = self.front.cancel(visitor, run).await
        {
            tracing::warn!(%run, %error, "the run of a client that went away goes on");
        }
        if let Some(status) = status {
            // Nobody may be there to read it.
            drop(last.send(Err(status)));
        }
    }
}
