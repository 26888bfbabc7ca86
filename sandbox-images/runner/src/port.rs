//! The loopback port of one call: each connection that the tool makes becomes a stream to the
//! daemon, which decides where it leads. Bytes pass unread.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;

use switchboard_runner::{Kind, Open, frame};
use tokio::io::{AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::{JoinSet, spawn_local};
use tokio_util::compat::FuturesAsyncReadCompatExt;
use yamux::Stream;

/// Connections of one call at a time; further ones wait to be accepted.
const CONNECTIONS: usize = 64;

/// An open port. Dropping it closes the port and its connections.
pub(crate) struct Port {
    address: SocketAddr,
    task: tokio::task::JoinHandle<()>,
}

impl Port {
    /// Opens a port on a number of the kernel's choice.
    pub(crate) async fn open(
        opens: mpsc::UnboundedSender<oneshot::Sender<Stream>>,
        nonce: &str,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let greeting = serde_json::to_vec(&Open { nonce: nonce.into() })?;
        let greeting: Rc<[u8]> = frame(Kind::Open, &greeting).into();
        Ok(Self { address, task: spawn_local(accept(listener, opens, greeting)) })
    }

    /// What goes into the proxy variables of the tool.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(
    listener: TcpListener,
    opens: mpsc::UnboundedSender<oneshot::Sender<Stream>>,
    greeting: Rc<[u8]>,
) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else {
            return;
        };
        let Ok((socket, _)) = listener.accept().await else {
            continue;
        };
        while connections.try_join_next().is_some() {}
        let (opens, greeting) = (opens.clone(), Rc::clone(&greeting));
        connections.spawn_local(async move {
            // The daemon's side shows what went wrong; here it only ends the connection.
            carry(socket, &opens, &greeting).await.ok();
            drop(permit);
        });
    }
}

async fn carry(
    mut socket: TcpStream,
    opens: &mpsc::UnboundedSender<oneshot::Sender<Stream>>,
    greeting: &[u8],
) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let (sender, opened) = oneshot::channel();
    if opens.send(sender).is_err() {
        return Err(io::ErrorKind::BrokenPipe.into());
    }
    let mut stream = opened.await.map_err(io::Error::other)?.compat();
    stream.write_all(greeting).await?;
    copy_bidirectional(&mut socket, &mut stream).await?;
    Ok(())
}
