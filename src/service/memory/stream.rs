//! The import: drafts as they come in, answers for each batch out. What is ready is taken together; a
//! client that reads no answers is not read from any more, and one that is too fast waits.

use std::time::{Duration, Instant};

use futures::StreamExt;
use tokio::sync::mpsc::{self, Sender};
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Status, Streaming};
use tracing::Instrument;

use super::fields::Fields;
use super::{Memories, arrival, fault, read, status, tell};
use crate::admission;
use crate::memory::{Draft, Error as Fault, Receipt, Sent, Visit};
use crate::proto::memory as proto;
use crate::service::arrival::Brought;

/// Drafts that are taken together, at most.
const BATCH: usize = 256;
/// Answers that may wait for a slow reader.
const ANSWERS: usize = 2;
/// Longest pause when there is no room.
const PAUSE: Duration = Duration::from_secs(1);

type Answer = Result<proto::RememberManyResponse, Status>;

/// A draft of the stream as it was read, or what is wrong with it.
type Came = Result<(Draft, Vec<proto::ImageFile>), Vec<(String, String)>>;

/// What became of a draft.
type Became = Result<Receipt, proto::remember_many_response::Refusal>;

impl Memories {
    /// Reads drafts and answers them until either side ends.
    pub(super) fn import(
        &self,
        request: Request<Streaming<proto::RememberManyRequest>>,
    ) -> Result<impl Stream<Item = Answer> + use<>, Status> {
        let brought = arrival::brought(&request)?;
        let span = brought.span.clone();
        let (say, said) = mpsc::channel(ANSWERS);
        let (service, drafts) = (self.clone(), request.into_inner());
        let stop = self.stop.clone();
        let work = async move {
            let taken = service.take(brought, drafts, &say);
            let taken = stop.run_until_cancelled(taken).await;
            // Who is told that it went well takes all that was sent for taken.
            if let Err(status) = taken.unwrap_or_else(|| Err(fault::draining())) {
                // Nobody may be there to read it.
                drop(tokio::time::timeout(PAUSE, say.send(Err(status))).await);
            }
        };
        self.tasks.spawn(work.instrument(span));
        Ok(ReceiverStream::new(said))
    }

    async fn take(
        &self,
        brought: Brought,
        drafts: Streaming<proto::RememberManyRequest>,
        say: &Sender<Answer>,
    ) -> Result<(), Status> {
        let mut batches = drafts.ready_chunks(BATCH);
        let mut next = 0;
        loop {
            let batch = tokio::select! {
                () = say.closed() => return Ok(()),
                batch = within(brought.remaining(), batches.next()) => batch?,
            };
            let Some(batch) = batch else { return Ok(()) };
            let (mut came, mut ended) = (Vec::with_capacity(batch.len()), None);
            for draft in batch {
                match draft {
                    Ok(draft) => came.push(draft),
                    // What came before it is taken; what stands behind it is no message any more.
                    Err(status) => {
                        ended = Some(status);
                        break;
                    }
                }
            }
            if !came.is_empty() {
                let written = self.batch(&brought, came, &mut next).await?;
                if say.send(Ok(proto::RememberManyResponse { written })).await.is_err() {
                    return Ok(());
                }
            }
            if let Some(status) = ended {
                return Err(status);
            }
        }
    }

    /// Takes one batch, and numbers its answers.
    async fn batch(
        &self,
        brought: &Brought,
        came: Vec<proto::RememberManyRequest>,
        next: &mut u64,
    ) -> Result<Vec<proto::remember_many_response::Written>, Status> {
        use proto::remember_many_response::Written;
        use proto::remember_many_response::written::Outcome;
        let visit = self.admit(brought).await?;
        let came: Vec<Came> = came.into_iter().map(read_one).collect();
        let service = self.clone();
        // Once it is begun it is brought to its end and recorded, also when the client goes away.
        let task = self.tasks.spawn(
            async move { Box::pin(service.remember_all(&visit, came)).await }
                .instrument(brought.span.clone()),
        );
        let became = task.await.unwrap_or_else(|error| {
            tracing::error!(panicked = error.is_panic(), "a batch of drafts ended early");
            Err(status::internal(""))
        })?;
        let numbered = became.into_iter().map(|one| {
            let index = *next;
            *next += 1;
            let outcome = match one {
                Ok(receipt) => Outcome::Receipt(tell::receipt(receipt)),
                Err(refusal) => Outcome::Refusal(refusal),
            };
            Written { index, outcome: Some(outcome) }
        });
        Ok(numbered.collect())
    }

    /// A place inside the limits for one batch; waits for it rather than refusing.
    async fn admit(&self, brought: &Brought) -> Result<Visit, Status> {
        loop {
            match self.pipeline.welcome(&brought.caller) {
                Ok(entrance) => {
                    return Ok(Visit { received: Instant::now(), ..brought.visit(entrance) });
                }
                Err(
                    error @ (admission::Error::Rate { .. } | admission::Error::InFlight { .. }),
                ) => {
                    let pause = error.failure().retry_after.unwrap_or(PAUSE).min(PAUSE);
                    within(brought.remaining(), tokio::time::sleep(pause)).await?;
                }
                Err(error) => return Err(status::of_admission(&error)),
            }
        }
    }

    /// What became of each draft. One that cannot be taken is refused in its place; a memory that does
    /// not answer ends it all.
    async fn remember_all(&self, visit: &Visit, came: Vec<Came>) -> Result<Vec<Became>, Status> {
        let mut slots: Vec<Option<Became>> = Vec::with_capacity(came.len());
        let mut drafts = Vec::with_capacity(came.len());
        for one in came {
            let read = match one {
                Ok((draft, images)) => Box::pin(self.images.read(visit, draft, images)).await,
                Err(wrong) => Err(wrong),
            };
            match read {
                Ok((draft, notes)) => {
                    slots.push(None);
                    drafts.push(Sent { draft, notes });
                }
                Err(wrong) => slots.push(Some(Err(fault::malformed(&wrong)))),
            }
        }
        while !drafts.is_empty() {
            let answered = self.desk.remember(visit, drafts.clone(), None).await;
            let written = answered.map_err(|error| fault::of_memory(&error))?.answer;
            let (mut again, mut pause) = (Vec::new(), None);
            let mut open = slots.iter_mut().filter(|slot| slot.is_none());
            for (sent, outcome) in drafts.into_iter().zip(written) {
                let Some(slot) = open.next() else { break };
                match outcome {
                    Ok(receipt) => *slot = Some(Ok(receipt)),
                    Err(Fault::Busy { retry_after, .. }) => {
                        again.push(sent);
                        pause = Some(retry_after);
                    }
                    Err(fault @ Fault::Store(_)) => return Err(fault::of_fault(&fault)),
                    Err(fault) => *slot = Some(Err(fault::refusal(&fault))),
                }
            }
            drafts = again;
            if let Some(pause) = pause {
                within(visit.remaining(), tokio::time::sleep(pause.min(PAUSE))).await?;
            }
        }
        slots.into_iter().map(|slot| slot.ok_or_else(|| status::internal(""))).collect()
    }
}

fn read_one(wire: proto::RememberManyRequest) -> Came {
    let mut fields = Fields::default();
    match read::draft(wire.draft, &mut fields) {
        Some(draft) if fields.is_empty() => Ok((draft, wire.images)),
        _ => Err(fields.into_list()),
    }
}

/// What comes by the deadline.
async fn within<T>(
    remaining: Option<Duration>,
    work: impl Future<Output = T>,
) -> Result<T, Status> {
    match remaining {
        None => Ok(work.await),
        Some(remaining) => {
            tokio::time::timeout(remaining, work).await.map_err(|_late| fault::late())
        }
    }
}
