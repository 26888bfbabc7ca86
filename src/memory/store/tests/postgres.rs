//! The shared store on a real server: how it is reached, and how daemons share it.

mod daemons;
mod link;
mod proxy;

use std::path::PathBuf;
use std::sync::Arc;

use super::super::{Config, Error, PostgresConfig, Sslmode, Store, open};
use super::kit::Fresh;

/// The server of the tests, and a schema on it that goes when this does.
pub(super) struct Server {
    pub(super) config: PostgresConfig,
    home: tempfile::TempDir,
    password: String,
}

/// The URL of the server, with its password.
fn url() -> url::Url {
    let named = std::env::var_os("SWITCHBOARD_TEST_POSTGRES");
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/postgres/url");
    let text = named
        .map(|url| url.into_string().unwrap())
        .or_else(|| std::fs::read_to_string(file).ok())
        .expect("no PostgreSQL server for the tests: run `tests/postgres.sh start`");
    text.trim().parse().unwrap()
}

impl Server {
    pub(super) fn new() -> Self {
        let mut url = url();
        let password = url.password().unwrap_or_default().to_owned();
        url.set_password(None).unwrap();
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("password");
        std::fs::write(&file, format!("{password}\n")).unwrap();
        let config = PostgresConfig {
            url: url.to_string(),
            password_file: Some(file),
            sslmode: Sslmode::Disable,
            schema: format!("test_{}", uuid::Uuid::now_v7().simple()),
            ..PostgresConfig::default()
        };
        Self { config, home, password }
    }

    /// Another daemon on the same schema.
    pub(super) async fn store(&self) -> Arc<dyn Store> {
        self.store_with(|_| {}).await.unwrap()
    }

    pub(super) async fn store_with(
        &self,
        edit: impl FnOnce(&mut PostgresConfig),
    ) -> Result<Arc<dyn Store>, Error> {
        let mut config = self.config.clone();
        edit(&mut config);
        open(&Config::Postgresql(config)).await
    }

    /// Runs statements beside the store, on a connection that stays open until what is given is dropped.
    pub(super) async fn held(&self, statements: &str) -> tokio::task::JoinSet<()> {
        let (client, connection) =
            tokio_postgres::connect(url().as_str(), tokio_postgres::NoTls).await.unwrap();
        let mut line = tokio::task::JoinSet::new();
        line.spawn(async move { drop(connection.await) });
        client.batch_execute(statements).await.unwrap();
        line.spawn(async move {
            let _client = client;
            std::future::pending::<()>().await;
        });
        line
    }

    /// Runs statements beside the store.
    pub(super) async fn run(&self, statements: &str) {
        run(&url(), statements).await;
    }
}

async fn run(url: &url::Url, statements: &str) {
    let (client, connection) =
        tokio_postgres::connect(url.as_str(), tokio_postgres::NoTls).await.unwrap();
    tokio::pin!(connection);
    tokio::select! {
        done = client.batch_execute(statements) => done.unwrap(),
        ended = &mut connection => ended.unwrap(),
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let statement = format!(
            "SET lock_timeout = '5s'; DROP SCHEMA IF EXISTS {} CASCADE",
            self.config.schema
        );
        let drop = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(run(&url(), &statement));
        };
        // A runtime cannot wait inside another.
        let _failed = std::thread::spawn(drop).join();
    }
}

pub(super) async fn postgresql() -> Fresh {
    let server = Server::new();
    let store = server.store().await;
    Fresh { store, _home: Box::new(server) }
}
