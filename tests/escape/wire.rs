//! A way to the real engine that can be frozen, and that refuses creates when told to; it keeps what
//! was asked of the engine. Bytes in, bytes out.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

/// What the wire does with bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Open,
    /// Nothing moves, as with an engine that is stopped.
    Frozen,
    /// Creates are answered as by an engine whose disk is full.
    Full,
}

type Asked = Arc<Mutex<Vec<u8>>>;

/// The way.
#[derive(Debug, Clone)]
pub(crate) struct Wire {
    pub(crate) folder: Arc<TempDir>,
    mode: watch::Sender<Mode>,
    far: PathBuf,
    /// What was sent on each connection.
    asked: Arc<Mutex<Vec<Asked>>>,
}

const FULL: &[u8] = b"HTTP/1.1 500 Internal Server Error\r\ncontent-type: application/json\r\n\
    content-length: 38\r\nconnection: close\r\n\r\n{\"message\":\"no space left on device\"}\r\n";
const SOCKET: &str = "engine.sock";
/// Bytes that are kept of one connection; a create takes less.
const KEPT: usize = 1 << 18;

impl Wire {
    /// Lays the way from a socket of its own to the engine's at `far`.
    pub(crate) fn lay(far: &str) -> Self {
        let folder = Arc::new(TempDir::new().unwrap());
        let listener = UnixListener::bind(folder.path().join(SOCKET)).unwrap();
        let far = PathBuf::from(far.strip_prefix("unix://").unwrap());
        let mode = watch::Sender::new(Mode::Open);
        let wire = Self { folder, mode, far, asked: Arc::default() };
        TaskTracker::new().spawn(wire.clone().run(listener));
        wire
    }

    /// The line of a configuration that leads here.
    pub(crate) fn line(&self) -> String {
        format!("engine = \"unix://{}\"", self.folder.path().join(SOCKET).display())
    }

    pub(crate) fn set(&self, mode: Mode) {
        self.mode.send_replace(mode);
    }

    /// The first lines of all requests so far.
    pub(crate) fn lines(&self) -> Vec<String> {
        let asked = self.asked.lock().unwrap();
        let first = |bytes: &Asked| {
            let bytes = bytes.lock().unwrap();
            String::from_utf8_lossy(&bytes).lines().next().unwrap_or_default().to_owned()
        };
        asked.iter().map(first).collect()
    }

    /// The body of each create so far.
    pub(crate) fn creates(&self) -> Vec<Value> {
        let asked = self.asked.lock().unwrap();
        let body = |bytes: &Asked| {
            let bytes = bytes.lock().unwrap();
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let (head, body) = text.split_once("\r\n\r\n")?;
            head.contains("/containers/create").then(|| serde_json::from_str(body).unwrap())
        };
        asked.iter().filter_map(body).collect()
    }

    async fn run(self, listener: UnixListener) {
        while let Ok((near, _)) = listener.accept().await {
            TaskTracker::new().spawn(self.clone().carry(near));
        }
    }

    async fn carry(self, near: UnixStream) {
        let asked = Asked::default();
        self.asked.lock().unwrap().push(Arc::clone(&asked));
        let far = UnixStream::connect(&self.far).await.unwrap();
        let (mut from_near, mut to_near) = near.into_split();
        let (from_far, to_far) = far.into_split();
        let mut first = vec![0; 65536];
        let read = from_near.read(&mut first).await.unwrap_or_default();
        first.truncate(read);
        let create = String::from_utf8_lossy(&first).contains("/containers/create");
        if create && *self.mode.borrow() == Mode::Full {
            drop(to_near.write_all(FULL).await);
            return;
        }
        asked.lock().unwrap().extend_from_slice(&first);
        let (up, down) = (self.mode.subscribe(), self.mode.subscribe());
        tokio::join!(
            pump(first, from_near, to_far, up, Some(asked)),
            pump(Vec::new(), from_far, to_near, down, None)
        );
    }
}

/// Moves bytes one way until either end is gone.
async fn pump(
    mut held: Vec<u8>,
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut mode: watch::Receiver<Mode>,
    asked: Option<Asked>,
) {
    let mut buffer = vec![0; 65536];
    loop {
        if mode.wait_for(|mode| *mode != Mode::Frozen).await.is_err()
            || to.write_all(&held).await.is_err()
        {
            return;
        }
        match from.read(&mut buffer).await {
            Ok(0) | Err(_) => break,
            Ok(read) => held = buffer[..read].to_vec(),
        }
        if let Some(asked) = &asked {
            let mut asked = asked.lock().unwrap();
            let room = KEPT.saturating_sub(asked.len()).min(held.len());
            asked.extend_from_slice(&held[..room]);
        }
    }
    drop(to.shutdown().await);
}
