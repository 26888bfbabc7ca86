//! The runner's own stdin and stdout as one asynchronous byte stream, whatever kind of file they
//! are (pipe, socket, terminal). Knows nothing of what the bytes mean.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures::io::{AsyncRead, AsyncWrite, BufReader, BufWriter};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use tokio::io::{AsyncRead as _, AsyncWrite as _, ReadBuf};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::time::{Sleep, sleep};

/// How often a writer that cannot make progress looks whether the daemon is still there.
const LOOK: Duration = Duration::from_secs(1);

/// Stdin and stdout, buffered: the multiplexer reads and writes in small pieces.
pub(crate) type Buffered = BufReader<BufWriter<Link>>;

/// Stdin and stdout.
pub(crate) struct Link {
    input: Receiver,
    output: Sender,
    stuck: Option<Pin<Box<Sleep>>>,
}

/// Opens the link; fails for files that cannot be waited for.
pub(crate) fn open() -> io::Result<Buffered> {
    // Unchecked: the waiting is the same for pipes, sockets and terminals.
    let link = Link {
        input: Receiver::from_owned_fd_unchecked(prepare(rustix::stdio::stdin())?)?,
        output: Sender::from_owned_fd_unchecked(prepare(rustix::stdio::stdout())?)?,
        stuck: None,
    };
    Ok(BufReader::with_capacity(16 << 10, BufWriter::with_capacity(32 << 10, link)))
}

fn prepare(fd: impl AsFd) -> io::Result<OwnedFd> {
    let own = fd.as_fd().try_clone_to_owned()?;
    fcntl_setfl(&own, fcntl_getfl(&own)? | OFlags::NONBLOCK)?;
    Ok(own)
}

impl Link {
    /// While output is stuck the multiplexer stops reading, so it would miss the end of stdin.
    fn poll_hangup(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let sleep = self.stuck.get_or_insert_with(|| Box::pin(sleep(LOOK)));
            ready!(sleep.as_mut().poll(cx));
            self.stuck = None;
            let mut fds = [PollFd::new(&self.input, PollFlags::RDHUP)];
            let gone = PollFlags::HUP | PollFlags::RDHUP | PollFlags::ERR;
            let now = rustix::event::Timespec::default();
            if poll(&mut fds, Some(&now)).is_err()
                || fds.iter().any(|fd| fd.revents().intersects(gone))
            {
                return Poll::Ready(());
            }
        }
    }
}

impl AsyncRead for Link {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let mut buf = ReadBuf::new(buf);
        ready!(Pin::new(&mut self.input).poll_read(cx, &mut buf))?;
        Poll::Ready(Ok(buf.filled().len()))
    }
}

impl AsyncWrite for Link {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(written) = Pin::new(&mut self.output).poll_write(cx, buf) {
            self.stuck = None;
            return Poll::Ready(written);
        }
        ready!(self.poll_hangup(cx));
        Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
