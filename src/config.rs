//! The daemon's configuration file: TOML, one table a room, every key with a default. Reads and
//! checks it; each room documents its own table.

mod claim;
mod database;
mod stamp;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{admission, approval, ledger, memory, model, pipeline, reason, sandbox, telemetry};

pub use claim::{Unclaimed, beside, claim};
pub use database::{Form, database};
pub use stamp::{Look, Stamp};

/// The whole configuration. Relative paths are relative to the file's folder.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Where to listen and how to stop.
    pub server: Server,
    /// Folder with tools, OpenAPI sources, sandbox profiles and Cedar policies.
    pub policies: Policies,
    /// Identity, rates and in-flight limits.
    pub admission: admission::Config,
    /// Calls that wait for a person.
    pub approvals: approval::Config,
    /// Cache, idempotency and duplicate detection.
    pub replies: pipeline::RepliesConfig,
    /// The engine and its containers.
    pub sandbox: sandbox::Config,
    /// The durable record.
    pub ledger: ledger::Config,
    /// What agents remember.
    pub memory: memory::Config,
    /// The models that reason, and what may be spent on them.
    pub models: model::Config,
    /// How questions are answered, and inside which limits.
    pub reason: reason::Config,
    /// Logs and traces.
    pub telemetry: telemetry::Config,
}

/// Where the policies folder is.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Policies {
    /// The folder; default `/etc/switchboard/policies`.
    pub folder: PathBuf,
    /// Folder for what is worked out of the policies folder, so that the next start is fast; default
    /// the ledger's path with `.catalog` added. Only the daemon's user may write it.
    pub cache: Option<PathBuf>,
    /// A folder with a candidate policy set, `cedar/*.cedar`, that decides beside the active one
    /// without effect; default none.
    pub shadow: Option<PathBuf>,
}

impl Default for Policies {
    fn default() -> Self {
        Self { folder: "/etc/switchboard/policies".into(), cache: None, shadow: None }
    }
}

impl Policies {
    /// Gives the cache its place beside the ledger, where none is named.
    fn place(&mut self, ledger: &Path) {
        self.cache.get_or_insert_with(|| beside(ledger, ".catalog"));
    }
}

/// Where to listen and how to stop.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Server {
    /// Unix socket for gRPC; default `/run/switchboard/switchboard.sock`, empty for none.
    pub socket: PathBuf,
    /// Mode of the socket in octal digits; default `0660`. A mode that lets everyone in needs
    /// `allow_world_socket = true`.
    pub socket_mode: String,
    /// Permits a socket that every user of the machine may use.
    pub allow_world_socket: bool,
    /// Address for gRPC over TCP, for example `127.0.0.1:7431`; default none. Port 0 takes a free
    /// one. An address beyond loopback needs `tls`, and callers who prove who they are.
    pub tcp: Option<SocketAddr>,
    /// TLS for `tcp`; default none.
    pub tls: Option<Tls>,
    /// Address for `/healthz`, `/readyz` and `/metrics` over HTTP; default `127.0.0.1:9431`. Port 0
    /// takes a free one.
    pub metrics: Option<SocketAddr>,
    /// Address of a listener that serves grpc.health.v1 only, for probes from outside; default none.
    pub health: Option<SocketAddr>,
    /// How long running calls may go on after SIGTERM; default 10 s.
    #[serde(with = "duration")]
    pub drain_grace: Duration,
    /// File to which the bound addresses are written as JSON once the daemon serves; default none.
    pub ready_file: Option<PathBuf>,
}

impl Default for Server {
    fn default() -> Self {
        Self {
            socket: "/run/switchboard/switchboard.sock".into(),
            socket_mode: "0660".into(),
            allow_world_socket: false,
            tcp: None,
            tls: None,
            metrics: Some(SocketAddr::from(([127, 0, 0, 1], 9431))),
            health: None,
            drain_grace: Duration::from_secs(10),
            ready_file: None,
        }
    }
}

/// TLS for the TCP listener. The files are read again when they change.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// PEM file with the certificate and those between it and the root.
    pub certificate: PathBuf,
    /// PEM file with its private key.
    pub key: PathBuf,
    /// PEM file with the roots that sign client certificates; default none, so that clients show
    /// tokens.
    pub client_ca: Option<PathBuf>,
    /// Whether a client without a certificate may connect, to show a token instead; default false.
    #[serde(default)]
    pub client_optional: bool,
}

impl Tls {
    /// Its files.
    pub fn files(&self) -> Vec<PathBuf> {
        let own = [&self.certificate, &self.key];
        own.into_iter().chain(&self.client_ca).cloned().collect()
    }
}

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file could not be read.
    #[error("cannot read the configuration `{path}`: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The file is not the TOML that is expected.
    #[error("the configuration `{path}` is wrong: {message}")]
    Parse {
        /// The file.
        path: PathBuf,
        /// Line, key and reason.
        message: String,
    },
    /// A value is out of the question.
    #[error("the configuration key `{key}` is wrong: {message}")]
    Value {
        /// The key.
        key: &'static str,
        /// What is wrong and how to mend it.
        message: String,
    },
}

impl Config {
    /// Reads the file and makes its paths absolute.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| Error::Read { path: path.into(), source })?;
        let mut config: Self = toml::from_str(&text)
            .map_err(|e| Error::Parse { path: path.into(), message: e.to_string() })?;
        let folder = std::path::absolute(path)
            .map_err(|source| Error::Read { path: path.into(), source })?
            .parent()
            .map(Path::to_path_buf)
            .unwrap_or_default();
        config.anchor(&folder);
        config.sandbox.name_instance(&config.ledger.path);
        config.approvals.place(&config.ledger.path);
        config.policies.place(&config.ledger.path);
        config.memory.place(&config.ledger.path);
        config.models.place(&config.ledger.path);
        config.reason.place(&config.ledger.path);
        config.lend_eyes()?;
        config.server.check(&config.admission.identity)?;
        Ok(config)
    }

    /// Lets the memory look at images by the model of the role `vision`, where it names none itself.
    fn lend_eyes(&mut self) -> Result<(), Error> {
        if self.memory.vision.is_some() {
            return Ok(());
        }
        let wrong = |message| Error::Value { key: "models.roles.vision", message };
        let eyes = self.models.eyes().map_err(wrong)?;
        self.memory.vision = eyes.map(|(url, eyes)| memory::recall::Endpoint {
            url,
            allow_plain: eyes.allow_plain,
            model: eyes.model.clone(),
            key_file: eyes.key_file.clone(),
            key_env: eyes.key_env.clone(),
            timeout: eyes.timeout,
        });
        Ok(())
    }

    fn anchor(&mut self, folder: &Path) {
        let paths = [
            &mut self.policies.folder,
            &mut self.server.socket,
            &mut self.sandbox.images,
            &mut self.ledger.path,
        ];
        let identity = &mut self.admission.identity;
        let named = [
            &mut self.policies.shadow,
            &mut self.policies.cache,
            &mut self.server.ready_file,
            &mut self.sandbox.gate.extra_ca,
            &mut identity.tokens,
            &mut self.ledger.key,
            &mut self.ledger.checkpoints,
            &mut self.approvals.path,
        ];
        if let Some(originals) = &mut self.ledger.originals {
            originals.key = folder.join(&originals.key);
        }
        if let Some(jwt) = &mut identity.jwt {
            jwt.jwks = folder.join(&jwt.jwks);
        }
        if let Some(tls) = &mut self.server.tls {
            tls.certificate = folder.join(&tls.certificate);
            tls.key = folder.join(&tls.key);
            tls.client_ca = tls.client_ca.as_ref().map(|path| folder.join(path));
        }
        let named = named.into_iter().flatten().chain(self.memory.paths());
        let named = named.chain(self.models.paths()).chain(&mut self.reason.path);
        for path in paths.into_iter().chain(named) {
            if !path.as_os_str().is_empty() {
                *path = folder.join(&*path);
            }
        }
    }
}

impl Server {
    /// The socket's mode as a number.
    pub fn mode(&self) -> Result<u32, Error> {
        u32::from_str_radix(&self.socket_mode, 8).ok().filter(|mode| *mode <= 0o777).ok_or_else(
            || Error::Value {
                key: "server.socket_mode",
                message: format!("`{}` is not an octal mode such as 0660", self.socket_mode),
            },
        )
    }

    /// Whether every caller over TCP proves who it is.
    fn proves(&self, identity: &admission::IdentityRules) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.client_ca.is_some() || identity.has_tokens())
    }

    /// Refuses settings that would silently do nothing.
    fn check_tls(&self, identity: &admission::IdentityRules) -> Result<(), Error> {
        let wrong = |key, message: &str| Err(Error::Value { key, message: message.into() });
        let client_ca = self.tls.as_ref().and_then(|tls| tls.client_ca.as_ref());
        match &self.tls {
            Some(_) if self.tcp.is_none() => {
                wrong("server.tls", "needs server.tcp, the address that it is for")
            }
            Some(tls) if tls.client_optional && client_ca.is_none() => wrong(
                "server.tls.client_optional",
                "needs client_ca; without it there are no client certificates",
            ),
            _ if !identity.certificates.is_empty() && client_ca.is_none() => wrong(
                "admission.identity.certificates",
                "needs server.tls.client_ca, which client certificates are checked with",
            ),
            Some(_) if identity.open_loopback == Some(true) => {
                wrong("admission.identity.open_loopback", "cannot be true with server.tls")
            }
            Some(_) | None => Ok(()),
        }
    }

    fn check(&self, identity: &admission::IdentityRules) -> Result<(), Error> {
        self.check_tls(identity)?;
        if self.mode()? & 0o007 != 0 && !self.allow_world_socket {
            return Err(Error::Value {
                key: "server.socket_mode",
                message: format!(
                    "`{}` lets every user of the machine run tools; take 0660 and a group, or set \
                     server.allow_world_socket = true",
                    self.socket_mode
                ),
            });
        }
        match self.tcp {
            Some(address) if !address.ip().is_loopback() && !self.proves(identity) => {
                Err(Error::Value {
                    key: "server.tcp",
                    message: format!(
                        "`{address}` can be reached from outside and callers would prove nothing; \
                         give server.tls, and in it client_ca, or tokens in admission.identity; or \
                         listen on 127.0.0.1"
                    ),
                })
            }
            None if self.socket.as_os_str().is_empty() => Err(Error::Value {
                key: "server.socket",
                message: "neither a socket nor a TCP address is given".into(),
            }),
            Some(_) | None => Ok(()),
        }
    }
}

/// Durations in configuration files: `3s`, `500ms`, `5m`, `1h 30m`.
pub mod duration {
    use std::time::Duration;

    use jiff::SignedDuration;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    /// Reads a duration.
    pub fn parse(text: &str) -> Result<Duration, String> {
        let signed: SignedDuration = text
            .parse()
            .map_err(|_unread| format!("`{text}` is not a duration such as 3s or 5m"))?;
        signed.try_into().map_err(|_negative| format!("`{text}` is negative"))
    }

    /// Reads a duration from a string.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        parse(&String::deserialize(from)?).map_err(D::Error::custom)
    }

    /// Writes a duration as a string.
    pub fn serialize<S: Serializer>(duration: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&format_args!("{duration:?}"))
    }
}

#[cfg(test)]
mod tests;
