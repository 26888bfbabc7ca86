//! The transport to one container: the attached standard input and output in, yamux streams out.
//! Serves the connections that tools open; knows neither verdicts nor pools.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bollard::container::{AttachContainerResults, LogOutput};
use bytes::Bytes;
use futures::{Stream, StreamExt};
use switchboard_runner::{HEADER, Kind, Open, Ready, Unheard, parse_header};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::sync::{mpsc, oneshot};
use tokio_util::compat::{FuturesAsyncReadCompatExt, TokioAsyncReadCompatExt};
use tokio_util::io::StreamReader;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use super::Error;
use super::desk::Desk;

/// Longest READY line.
const READY_BYTES: u64 = 4096;
/// Longest [`Open`] frame.
const OPEN_BYTES: usize = 1024;
/// Bytes of the runner's own standard error that reach the log, for each container.
const LOG_BYTES: usize = 8192;
/// How long a connection from inside may take to say whose it is.
const OPEN_BOUND: Duration = Duration::from_secs(2);
/// Receive window of one stream; fixed, so that a container cannot grow the daemon's buffers.
const WINDOW: usize = 256 * 1024;
/// Streams of a container that runs one call: the call's, and more than the runner lets it connect.
const STREAMS_ONE: usize = 96;
/// Streams of a container that runs many.
const STREAMS_MANY: usize = 512;

trait Pipe: AsyncRead + AsyncWrite + Send {}
impl<T: AsyncRead + AsyncWrite + Send> Pipe for T {}

type Wire = std::pin::Pin<Box<dyn Pipe>>;
type Connection = yamux::Connection<tokio_util::compat::Compat<Wire>>;

/// The attached container, before the runner has spoken.
pub(super) struct Attached<R> {
    reader: R,
    input: std::pin::Pin<Box<dyn AsyncWrite + Send>>,
}

/// A live connection to a runner. Dropping it closes the container's standard input, at which the
/// runner kills everything and exits.
#[derive(Debug)]
pub(super) struct Link {
    opens: mpsc::Sender<oneshot::Sender<yamux::Stream>>,
    desk: Arc<Desk>,
    gone: CancellationToken,
    stop: CancellationToken,
    _guard: DropGuard,
}

/// Takes the attached streams apart. Must be called before the container starts.
pub(super) fn receive(
    attached: AttachContainerResults,
    container: String,
) -> Attached<impl AsyncBufReadExt + Send + Unpin + 'static> {
    let output = demultiplex(attached.output, container);
    Attached { reader: StreamReader::new(Box::pin(output)), input: attached.input }
}

impl<R: tokio::io::AsyncBufRead + Send + Unpin + 'static> Attached<R> {
    /// Reads the runner's first line.
    pub(super) async fn ready(&mut self) -> Result<Ready, Error> {
        let failed = |reason: String| Error::Runner { reason };
        let mut line = Vec::new();
        (&mut self.reader)
            .take(READY_BYTES)
            .read_until(b'\n', &mut line)
            .await
            .map_err(|error| failed(error.to_string()))?;
        if line.is_empty() {
            return Err(failed("it ended without a word".to_owned()));
        }
        let ready: Ready = serde_json::from_slice(&line)
            .map_err(|error| failed(format!("its first line is not READY ({error})")))?;
        if ready.protocol != switchboard_runner::PROTOCOL {
            return Err(failed(format!(
                "it speaks protocol {}, this daemon {}",
                ready.protocol,
                switchboard_runner::PROTOCOL
            )));
        }
        Ok(ready)
    }

    /// Begins to multiplex.
    pub(super) fn link(self, many: bool, tasks: &TaskTracker) -> Link {
        let streams = if many { STREAMS_MANY } else { STREAMS_ONE };
        let mut config = yamux::Config::default();
        config.set_max_num_streams(streams);
        config.set_max_connection_receive_window(Some(streams * WINDOW));
        // A runner can end while it is still sent input; its result stands in what it wrote before.
        let wire: Wire = Box::pin(tokio::io::join(self.reader, Unheard::new(self.input)));
        let connection = yamux::Connection::new(wire.compat(), config, yamux::Mode::Client);

        let (opens, inbox) = mpsc::channel(streams);
        let stop = CancellationToken::new();
        let gone = CancellationToken::new();
        let driver =
            Driver { connection, inbox, desk: Arc::new(Desk::default()), tasks: tasks.clone() };
        let desk = Arc::clone(&driver.desk);
        let (stopped, ended) = (stop.clone(), gone.clone().drop_guard());
        tasks.spawn(async move {
            stopped.run_until_cancelled(driver.drive()).await;
            drop(ended);
        });
        Link { opens, desk, gone, _guard: stop.clone().drop_guard(), stop }
    }
}

impl Link {
    /// Whether the container's standard output is still open.
    pub(super) fn is_alive(&self) -> bool {
        !self.gone.is_cancelled()
    }

    /// Ends the connection, and with it every call in the container.
    pub(super) fn cut(&self) {
        self.stop.cancel();
    }

    /// Opens a stream for one call; `None` when the container is gone.
    pub(super) async fn open(&self) -> Option<yamux::Stream> {
        let (reply, stream) = oneshot::channel();
        self.opens.send(reply).await.ok()?;
        stream.await.ok()
    }

    /// Where the connections of this container's calls are told apart.
    pub(super) fn desk(&self) -> &Desk {
        &self.desk
    }
}

#[cfg(test)]
impl Link {
    /// A link to nothing that stays alive until it is cut.
    pub(super) fn for_test() -> Self {
        let stop = CancellationToken::new();
        Self {
            opens: mpsc::channel(1).0,
            desk: Arc::default(),
            gone: stop.clone(),
            _guard: stop.clone().drop_guard(),
            stop,
        }
    }
}

struct Driver {
    connection: Connection,
    inbox: mpsc::Receiver<oneshot::Sender<yamux::Stream>>,
    desk: Arc<Desk>,
    tasks: TaskTracker,
}

impl Driver {
    async fn drive(mut self) {
        loop {
            match poll_fn(|context| self.poll(context)).await {
                Some(Ok(stream)) => self.admit(stream),
                Some(Err(error)) => {
                    tracing::debug!(%error, "sandbox connection ended");
                    return;
                }
                None => return,
            }
        }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<yamux::Result<yamux::Stream>>> {
        while let Poll::Ready(asked) = self.inbox.poll_recv(context) {
            let Some(reply) = asked else {
                return Poll::Ready(None);
            };
            // Pending means 256 streams that the runner never acknowledged; dropping `reply` tells
            // the caller that the container is of no use.
            if let Poll::Ready(Ok(stream)) = self.connection.poll_new_outbound(context) {
                drop(reply.send(stream));
            }
        }
        self.connection.poll_next_inbound(context)
    }

    /// A connection from inside: its first frame says for which call.
    fn admit(&self, stream: yamux::Stream) {
        let desk = Arc::clone(&self.desk);
        self.tasks.spawn(async move {
            let mut stream = stream.compat();
            match tokio::time::timeout(OPEN_BOUND, read_open(&mut stream)).await {
                Ok(Ok(open)) => desk.serve(&open.nonce, stream).await,
                Ok(Err(error)) => tracing::warn!(%error, "sandbox opened a stream without a name"),
                Err(_elapsed) => tracing::warn!("sandbox opened a stream and said nothing"),
            }
        });
    }
}

async fn read_open<S: AsyncRead + Unpin>(stream: &mut S) -> io::Result<Open> {
    let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let mut header = [0_u8; HEADER];
    stream.read_exact(&mut header).await?;
    let length = match parse_header(header) {
        Ok((Kind::Open, length)) if length <= OPEN_BYTES => length,
        _ => return Err(wrong("its first frame is not OPEN")),
    };
    let mut payload = vec![0_u8; length];
    stream.read_exact(&mut payload).await?;
    serde_json::from_slice(&payload).map_err(|_error| wrong("its OPEN frame is not readable"))
}

/// Standard output as bytes; standard error goes to the log, up to a bound.
fn demultiplex(
    output: impl Stream<Item = Result<LogOutput, bollard::errors::Error>> + Send + 'static,
    container: String,
) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    let mut left = LOG_BYTES;
    output.filter_map(move |item| {
        let piece = match item {
            Ok(LogOutput::StdOut { message }) => Some(Ok(message)),
            Ok(LogOutput::StdErr { message }) => {
                let shown = message.slice(..message.len().min(left));
                left -= shown.len();
                if !shown.is_empty() {
                    let text = String::from_utf8_lossy(&shown);
                    tracing::warn!(container, text = %text.escape_debug(), "sandbox runner");
                }
                None
            }
            Ok(LogOutput::StdIn { .. } | LogOutput::Console { .. }) => Some(Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the engine's stream lost its framing",
            ))),
            Err(error) => Some(Err(io::Error::other(error))),
        };
        std::future::ready(piece)
    })
}
