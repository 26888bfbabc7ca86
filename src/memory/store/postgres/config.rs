//! Where the shared store is and how patient the daemon is with it: the keys of `[memory.store]` for
//! `kind = "postgresql"`. Connects to nothing.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::config::duration;

/// Keys of `[memory.store]` for a PostgreSQL server.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The server and the database, without a password: `postgres://user@host:5432/database`, or a Unix
    /// socket as `host=/run/postgresql user=... dbname=...`.
    pub url: String,
    /// File with the password; a line break at its end does not count. Default none.
    pub password_file: Option<PathBuf>,
    /// Environment variable with the password. Default none.
    pub password_env: Option<String>,
    /// How the connection is protected; default `verify-full`. A Unix socket needs nothing.
    pub sslmode: Sslmode,
    /// PEM file with the roots that sign the server's certificate; default those of the system.
    pub ca_file: Option<PathBuf>,
    /// Schema that holds the memory, made where it is missing; lower-case letters, digits and `_`.
    /// Default `switchboard`. Daemons with the same schema share one memory.
    pub schema: String,
    /// Connections of this daemon, at most; default 8. One more stays open for its claims.
    pub connections: usize,
    /// Longest wait for a free connection; default 5 s.
    #[serde(with = "duration")]
    pub wait: Duration,
    /// Longest wait for the server to take a connection; default 5 s.
    #[serde(with = "duration")]
    pub connect_timeout: Duration,
    /// Longest time for one statement; default 30 s. Setting up and compaction may last longer.
    #[serde(with = "duration")]
    pub statement_timeout: Duration,
    /// Chunks in scope up to which vectors are compared one by one; beyond it the index is asked. Default
    /// 20,000: some 20 ms.
    pub exact: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            url: String::new(),
            password_file: None,
            password_env: None,
            sslmode: Sslmode::VerifyFull,
            ca_file: None,
            schema: "switchboard".to_owned(),
            connections: 8,
            wait: Duration::from_secs(5),
            connect_timeout: Duration::from_secs(5),
            statement_timeout: Duration::from_secs(30),
            exact: 20_000,
        }
    }
}

/// How a connection is protected, in the words of PostgreSQL's own clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sslmode {
    /// Not at all.
    Disable,
    /// Encrypted; whoever answers is believed. Against listeners, not against impostors.
    Require,
    /// Encrypted, and the certificate must be of a known root and name the host.
    VerifyFull,
}
