//! One stream of the connection as frames in and out. Both directions can be used at the same time.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;

use futures::future::poll_fn;
use futures::io::{AsyncRead, AsyncWrite};
use switchboard_runner::{HEADER, Kind, frame, parse_header};
use yamux::Stream;

/// A stream that carries frames.
pub(crate) struct Wire(RefCell<Stream>);

impl Wire {
    pub(crate) fn new(stream: Stream) -> Self {
        Self(RefCell::new(stream))
    }

    /// Whether the daemon has given the stream up.
    pub(crate) fn is_closed(&self) -> bool {
        self.0.borrow().is_closed()
    }

    /// Writes some bytes; drops nothing when the future is dropped.
    pub(crate) async fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        poll_fn(|cx| Pin::new(&mut *self.0.borrow_mut()).poll_write(cx, bytes)).await
    }

    /// Writes a whole frame.
    pub(crate) async fn send(&self, kind: Kind, payload: &[u8]) -> io::Result<()> {
        let bytes = frame(kind, payload);
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let written = self.write(rest).await?;
            rest = rest.get(written..).unwrap_or_default();
        }
        Ok(())
    }

    /// Says that no more frames follow.
    pub(crate) async fn close(&self) -> io::Result<()> {
        poll_fn(|cx| Pin::new(&mut *self.0.borrow_mut()).poll_close(cx)).await
    }

    /// Reads the next frame into `payload`; `None` at the end of the stream.
    pub(crate) async fn receive(&self, payload: &mut Vec<u8>) -> io::Result<Option<Kind>> {
        let mut header = [0; HEADER];
        if !self.fill(&mut header).await? {
            return Ok(None);
        }
        let (kind, length) =
            parse_header(header).map_err(|bad| io::Error::other(format!("bad frame {bad:?}")))?;
        payload.resize(length, 0);
        Ok(self.fill(payload).await?.then_some(kind))
    }

    async fn fill(&self, buffer: &mut [u8]) -> io::Result<bool> {
        let mut rest = buffer;
        while !rest.is_empty() {
            let read =
                poll_fn(|cx| Pin::new(&mut *self.0.borrow_mut()).poll_read(cx, rest)).await?;
            if read == 0 {
                return Ok(false);
            }
            rest = rest.get_mut(read..).unwrap_or_default();
        }
        Ok(true)
    }
}
