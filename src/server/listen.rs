//! The listeners: Unix socket, loopback TCP, and a port for health alone.

use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use metrics_exporter_prometheus::PrometheusHandle;
use serde::Serialize;
use tokio::net::{TcpListener, UnixListener};
use tokio_stream::wrappers::UnixListenerStream;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Server as Grpc;
use tonic::transport::server::{Router, TcpIncoming};

use super::health::Health;
use super::tls::Sessions;
use super::{Daemon, Error, http, memory, reason};
use crate::config::Server;
use crate::proto;
use crate::proto::memory::memory_service_server::MemoryServiceServer;
use crate::proto::policy::policy_service_server::PolicyServiceServer;
use crate::proto::reason::reason_service_server::ReasonServiceServer;
use crate::proto::tools::tool_service_server::ToolServiceServer;
use crate::service::{Door, Policies, Tools};

/// Bytes of one message: the files of a call, and more arguments than a reply refuses as too long.
const MESSAGE_BYTES: usize = 32 << 20;
/// Bytes that a client may send ahead of what is read: in one stream, and in all of a connection. The second
/// also bounds how much room frames of a few bytes take, half of it at 256 bytes each: it must hold some
/// streams of short messages that nobody reads at the moment, else their connection is ended as a flood.
const STREAM_WINDOW: u32 = 256 << 10;
const CONNECTION_WINDOW: u32 = 8 << 20;
/// A connection whose client does not answer a ping is closed after these two together, and its
/// calls are cancelled. Clients may ping as often as they like.
const PING_EVERY: Duration = Duration::from_secs(30);
const PING_ANSWER: Duration = Duration::from_secs(10);
/// A connection of this age takes no new calls; its client connects again, and proves itself again.
const OLDEST: Duration = Duration::from_secs(15 * 60);

/// Where the daemon listens; written to `server.ready_file` once it serves.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Bound {
    /// The Unix socket.
    pub socket: Option<PathBuf>,
    /// gRPC over TCP.
    pub tcp: Option<SocketAddr>,
    /// `/healthz`, `/readyz`, `/metrics`.
    pub metrics: Option<SocketAddr>,
    /// grpc.health.v1 only.
    pub health: Option<SocketAddr>,
    /// Process id.
    pub pid: u32,
}

impl Bound {
    /// Tells the log, and the ready file where one is named, that the daemon serves.
    pub(super) fn announce(&self, config: &Server) -> Result<(), Error> {
        let text = serde_json::to_string(self).unwrap_or_default();
        tracing::info!(%text, "serving");
        let Some(path) = &config.ready_file else {
            return Ok(());
        };
        let system = |source| Error::System { what: "cannot write server.ready_file", source };
        let draft = path.with_extension("draft");
        std::fs::write(&draft, text).map_err(system)?;
        std::fs::rename(draft, path).map_err(system)
    }
}

/// Bound listeners that do not serve yet.
pub(super) struct Listeners {
    socket: Option<UnixListener>,
    tcp: Option<TcpListener>,
    tls: Option<Sessions>,
    health: Option<TcpListener>,
    metrics: Option<TcpListener>,
    bound: Bound,
}

/// The socket file that this daemon made.
#[derive(Debug)]
pub(super) struct Made {
    path: PathBuf,
    inode: (u64, u64),
}

impl Made {
    fn find(path: &Path) -> std::io::Result<Self> {
        Ok(Self { path: path.to_owned(), inode: inode(path)? })
    }

    /// Removes it, unless another one has taken its place.
    pub(super) fn remove(&self) {
        if inode(&self.path).ok() == Some(self.inode)
            && let Err(error) = std::fs::remove_file(&self.path)
        {
            tracing::warn!(%error, socket = %self.path.display(), "the socket stays behind");
        }
    }
}

fn inode(path: &Path) -> std::io::Result<(u64, u64)> {
    std::fs::symlink_metadata(path).map(|found| (found.dev(), found.ino()))
}

/// Binds everything that the configuration names, or nothing.
pub(super) async fn bind(config: &Server) -> Result<Listeners, Error> {
    let tls = config.tls.as_ref().map(Sessions::new).transpose()?;
    let socket = match config.socket.as_os_str().is_empty() {
        true => None,
        false => Some(bind_socket(config).await?),
    };
    let (tcp, metrics, health) =
        (tcp(config.tcp).await?, tcp(config.metrics).await?, tcp(config.health).await?);
    let bound = Bound {
        socket: socket.as_ref().map(|_| config.socket.clone()),
        tcp: address(tcp.as_ref()),
        metrics: address(metrics.as_ref()),
        health: address(health.as_ref()),
        pid: std::process::id(),
    };
    Ok(Listeners { socket, tcp, tls, health, metrics, bound })
}

fn address(listener: Option<&TcpListener>) -> Option<SocketAddr> {
    listener.and_then(|listener| listener.local_addr().ok())
}

async fn tcp(at: Option<SocketAddr>) -> Result<Option<TcpListener>, Error> {
    let Some(at) = at else { return Ok(None) };
    let bound = TcpListener::bind(at).await;
    bound.map(Some).map_err(|source| Error::Listen { at: at.to_string(), source })
}

/// Binds in a folder that only we can enter and moves the socket out once it has its mode, so that
/// nobody can connect a moment too early.
async fn bind_socket(config: &Server) -> Result<UnixListener, Error> {
    let path = &config.socket;
    let failed = |source| Error::Listen { at: path.display().to_string(), source };
    let mode = config.mode().map_err(|e| failed(std::io::Error::other(e.to_string())))?;
    if mode & 0o007 != 0 {
        tracing::warn!(socket = %path.display(), "every user of this machine can run tools");
    }
    refuse_live(path).await.map_err(failed)?;
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    std::fs::create_dir_all(folder).map_err(failed)?;
    let private = folder.join(format!(".switchboard-{}", std::process::id()));
    // A killed daemon with our process id left it; in a container every daemon has the same one.
    match std::fs::remove_dir_all(&private) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
        Ok(()) | Err(_) => {}
    }
    std::fs::DirBuilder::new().mode(0o700).create(&private).map_err(failed)?;
    let draft = private.join("socket");
    let moved = UnixListener::bind(&draft).and_then(|listener| {
        std::fs::set_permissions(&draft, std::fs::Permissions::from_mode(mode))?;
        std::fs::rename(&draft, path)?;
        Ok(listener)
    });
    std::fs::remove_dir_all(&private).map_err(failed)?;
    moved.map_err(failed)
}

/// Refuses to take over a socket on which somebody answers, or a path that is not a socket.
async fn refuse_live(path: &Path) -> std::io::Result<()> {
    let Ok(found) = std::fs::symlink_metadata(path) else {
        return Ok(());
    };
    if !found.file_type().is_socket() {
        return Err(std::io::Error::other("there is something else than a socket in this place"));
    }
    match tokio::net::UnixStream::connect(path).await {
        Ok(_) => Err(std::io::Error::other("another daemon answers on this socket")),
        Err(_) => Ok(()),
    }
}

impl Listeners {
    /// The socket's file, for its removal.
    pub(super) fn made(&self) -> Option<Made> {
        self.bound.socket.as_deref().and_then(|path| Made::find(path).ok())
    }

    /// Serves in tasks of the daemon until it stops; tells where.
    pub(super) fn serve(
        self,
        daemon: &Daemon,
        health: &Health,
        metrics: PrometheusHandle,
    ) -> Result<Bound, Error> {
        http::serve(daemon, self.metrics, metrics);
        if let Some(listener) = self.socket {
            let stop = daemon.stop.clone().cancelled_owned();
            let incoming = UnixListenerStream::new(listener);
            let served = router(daemon, health)?.serve_with_incoming_shutdown(incoming, stop);
            spawn(daemon, "socket", served);
        }
        if let Some(listener) = self.tcp {
            let stop = daemon.stop.clone().cancelled_owned();
            let router = router(daemon, health)?;
            if let Some(sessions) = self.tls {
                let incoming = sessions.accept(listener, &daemon.tasks, daemon.stop.clone());
                spawn(daemon, "tls", router.serve_with_incoming_shutdown(incoming, stop));
            } else {
                let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
                spawn(daemon, "tcp", router.serve_with_incoming_shutdown(incoming, stop));
            }
        }
        if let Some(listener) = self.health {
            let stop = daemon.stop.clone().cancelled_owned();
            let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
            let served = Grpc::builder()
                .add_service(health.service())
                .serve_with_incoming_shutdown(incoming, stop);
            spawn(daemon, "health", served);
        }
        Ok(self.bound)
    }
}

fn router(daemon: &Daemon, health: &Health) -> Result<Router, Error> {
    let tools = Tools::new(daemon.pipeline.clone(), daemon.calls.clone());
    let policies =
        Policies::new(daemon.pipeline.clone(), daemon.calls.clone(), daemon.stop.clone());
    let reflection = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(proto::DESCRIPTORS)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    Ok(Grpc::builder()
        // What a certificate or a mode let in does not stay in for ever when that changes.
        .max_connection_age(OLDEST)
        .http2_keepalive_interval(Some(PING_EVERY))
        .http2_keepalive_timeout(Some(PING_ANSWER))
        .max_concurrent_streams(Some(1024))
        .initial_stream_window_size(Some(STREAM_WINDOW))
        .initial_connection_window_size(Some(CONNECTION_WINDOW))
        .add_service(health.service())
        .add_service(reflection().build_v1()?)
        .add_service(reflection().build_v1alpha()?)
        .add_service(InterceptedService::new(
            ToolServiceServer::new(tools)
                .max_decoding_message_size(MESSAGE_BYTES)
                .max_encoding_message_size(usize::MAX),
            Door::new(daemon.pipeline.clone()),
        ))
        .add_service(InterceptedService::new(
            MemoryServiceServer::new(memory::service(daemon))
                .max_decoding_message_size(MESSAGE_BYTES)
                .max_encoding_message_size(usize::MAX),
            Door::new(daemon.pipeline.clone()),
        ))
        .add_service(InterceptedService::new(
            ReasonServiceServer::new(reason::service(daemon))
                .max_decoding_message_size(MESSAGE_BYTES)
                .max_encoding_message_size(usize::MAX),
            Door::new(daemon.pipeline.clone()),
        ))
        .add_service(InterceptedService::new(
            PolicyServiceServer::new(policies),
            Door::new(daemon.pipeline.clone()),
        )))
}

fn spawn(
    daemon: &Daemon,
    name: &'static str,
    served: impl Future<Output = Result<(), tonic::transport::Error>> + Send + 'static,
) {
    daemon.tasks.spawn(async move {
        if let Err(error) = served.await {
            tracing::error!(listener = name, %error, "a listener ended");
        }
    });
}

#[cfg(test)]
mod tests;
