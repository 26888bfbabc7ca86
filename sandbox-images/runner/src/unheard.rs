//! The writing half of a link to a runner that may have ended: bytes in, and those that it takes no more
//! are dropped, so that its last words, which stand in the reading half, are still read. That the link is
//! over is told by the reading half alone.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::AsyncWrite;

/// A writer that goes on where nobody listens any more.
#[derive(Debug)]
pub struct Unheard<W> {
    writer: W,
    gone: bool,
}

impl<W> Unheard<W> {
    /// Around the writing half.
    pub const fn new(writer: W) -> Self {
        Self { writer, gone: false }
    }
}

/// Whether the other side has closed its end.
fn is_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected)
}

impl<W: AsyncWrite + Unpin> Unheard<W> {
    /// What came of an operation, or `deaf` once the other side is gone.
    fn settle<T>(&mut self, done: Poll<io::Result<T>>, deaf: T) -> Poll<io::Result<T>> {
        match done {
            Poll::Ready(Err(error)) if is_gone(&error) => {
                self.gone = true;
                Poll::Ready(Ok(deaf))
            }
            done => done,
        }
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for Unheard<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.gone {
            return Poll::Ready(Ok(bytes.len()));
        }
        let done = Pin::new(&mut self.writer).poll_write(cx, bytes);
        self.settle(done, bytes.len())
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.gone {
            return Poll::Ready(Ok(()));
        }
        let done = Pin::new(&mut self.writer).poll_flush(cx);
        self.settle(done, ())
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.gone {
            return Poll::Ready(Ok(()));
        }
        let done = Pin::new(&mut self.writer).poll_shutdown(cx);
        self.settle(done, ())
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn what_was_said_last_is_read_though_nobody_takes_what_is_sent() {
        let (daemon, runner) = tokio::net::UnixStream::pair().unwrap();
        let (mut words, writer) = daemon.into_split();
        let mut writer = Unheard::new(writer);
        let mut runner = runner;
        runner.write_all(b"the result").await.unwrap();
        drop(runner);
        writer.write_all(&[b'a'; 1 << 20]).await.unwrap();
        writer.flush().await.unwrap();
        let mut last = String::new();
        words.read_to_string(&mut last).await.unwrap();
        assert_eq!(last, "the result");
    }
}
