//! Connections to the server: a bounded pool, one connection more whose lock tells other daemons that
//! this one lives, and what the server's refusals mean here.

use std::collections::HashMap;
use std::time::Duration;

use deadpool_postgres::{
    Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime, Timeouts,
};
use tokio::sync::Mutex;
use tokio_postgres::config::{Host, SslMode};

use super::{Config, Error, Sslmode, password, schema, tls};

/// Longest wait for an idle connection to show that it works.
const CHECK: Duration = Duration::from_secs(2);
/// How long a silent connection is left before it is probed.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// What the other files reach the server through.
pub(super) struct Link {
    pool: Pool,
    /// Of one connection, for the claims.
    claims: Pool,
    keeper: Mutex<Option<Keeper>>,
    /// By model, the first version that had a chunk without a vector when it was last asked.
    bare: std::sync::Mutex<HashMap<String, i64>>,
    /// By model, chunks that are passed over.
    passed: std::sync::Mutex<HashMap<String, Vec<(i64, i32)>>>,
    place: String,
    schema: String,
    exact: u32,
    patience: Duration,
}

/// The connection that holds this daemon's lock, and the daemon's number.
struct Keeper {
    client: Object,
    number: i32,
}

impl Link {
    /// Connects once, sets the schema up, and makes the pool.
    pub(super) async fn open(config: &Config) -> Result<Self, Error> {
        let (mut server, place) = server(config)?;
        let open = |reason: String| Error::Open { place: place.clone(), reason };
        let tls = tls::make(config).map_err(open)?;
        let pool = |server: &tokio_postgres::Config, size: usize| {
            let recycling_method = RecyclingMethod::Verified;
            let manager = Manager::from_config(
                server.clone(),
                tls.clone(),
                ManagerConfig { recycling_method },
            );
            let waits = Timeouts {
                wait: Some(config.wait),
                create: Some(config.connect_timeout),
                recycle: Some(CHECK),
            };
            let built = Pool::builder(manager).max_size(size.max(1)).timeouts(waits);
            built.runtime(Runtime::Tokio1).build().map_err(|error| open(error.to_string()))
        };
        let first = pool(&server, 1)?;
        let mut client = first.get().await.map_err(|error| refused(error, &place))?;
        let extension =
            schema::prepare(&mut client, &config.schema).await.map_err(|error| match error {
                Error::Engine(reason) => open(reason),
                other => other,
            })?;
        first.close();
        let limit = config.statement_timeout.as_millis();
        let own = format!(
            "-c search_path={},{extension} -c statement_timeout={limit} -c jit=off",
            config.schema
        );
        let options =
            server.get_options().map_or_else(|| own.clone(), |old| format!("{old} {own}"));
        server.options(options);
        Ok(Self {
            pool: pool(&server, config.connections)?,
            claims: pool(&server, 1)?,
            keeper: Mutex::new(None),
            bare: std::sync::Mutex::default(),
            passed: std::sync::Mutex::default(),
            schema: config.schema.clone(),
            exact: config.exact,
            patience: config.wait + config.connect_timeout + 2 * config.statement_timeout,
            place,
        })
    }

    /// The server, without its password.
    pub(super) fn place(&self) -> &str {
        &self.place
    }

    /// The schema that holds the memory.
    pub(super) fn schema(&self) -> &str {
        &self.schema
    }

    /// Chunks in scope up to which vectors are compared one by one.
    pub(super) fn exact(&self) -> i64 {
        i64::from(self.exact)
    }

    /// Where to begin to look for chunks without a vector of a model.
    pub(super) fn first_bare(&self, model: &str) -> i64 {
        self.bare.lock().ok().and_then(|bare| bare.get(model).copied()).unwrap_or_default()
    }

    /// Notes where to begin the next time.
    pub(super) fn set_first_bare(&self, model: &str, seq: i64) {
        if let Ok(mut bare) = self.bare.lock() {
            bare.insert(model.to_owned(), seq);
        }
    }

    /// Chunks that are passed over for a model.
    pub(super) fn passed(&self, model: &str) -> Vec<(i64, i32)> {
        self.passed.lock().ok().and_then(|passed| passed.get(model).cloned()).unwrap_or_default()
    }

    /// Passes over more of them.
    pub(super) fn pass_over(&self, model: &str, chunks: &[(i64, u32)]) {
        if let Ok(mut passed) = self.passed.lock() {
            let place = |of: &(i64, u32)| (of.0, i32::try_from(of.1).unwrap_or(i32::MAX));
            passed.entry(model.to_owned()).or_default().extend(chunks.iter().map(place));
        }
    }

    /// Longest time for one answer.
    pub(super) fn patience(&self) -> Duration {
        self.patience
    }

    /// A connection that works, or why there is none.
    pub(super) async fn client(&self) -> Result<Object, Error> {
        self.pool.get().await.map_err(|error| match error {
            PoolError::Timeout(deadpool_postgres::TimeoutType::Wait) => Error::Busy(format!(
                "all {} connections to its server are in use: ask again, or raise \
                 `memory.store.connections`",
                self.pool.status().max_size
            )),
            other => other.into(),
        })
    }

    /// This daemon's number among those that share the schema. While its connection lives the server
    /// holds a lock on the number; when the daemon dies, however it dies, the lock is gone.
    pub(super) async fn number(&self) -> Result<i32, Error> {
        let mut keeper = self.keeper.lock().await;
        if let Some(keeper) = keeper.as_ref()
            && !keeper.client.is_closed()
            && keeper.client.simple_query("").await.is_ok()
        {
            return Ok(keeper.number);
        }
        *keeper = None;
        let client = self.claims.get().await?;
        let row = client.query_one("SELECT nextval('daemons')::int", &[]).await?;
        let number: i32 = row.try_get(0)?;
        let lock = "SELECT pg_advisory_lock(hashtext($1), $2)";
        client.execute(lock, &[&self.schema, &number]).await?;
        *keeper = Some(Keeper { client, number });
        Ok(number)
    }

    /// Whether the server answers at all, on the connection that no question waits for.
    pub(super) async fn answers(&self) -> bool {
        tokio::time::timeout(CHECK, self.number()).await.is_ok_and(|number| number.is_ok())
    }

    /// Ends all connections once they are free.
    pub(super) fn close(&self) -> Result<(), Error> {
        if self.pool.is_closed() {
            return Err(Error::Closed);
        }
        self.pool.close();
        self.claims.close();
        if let Ok(mut keeper) = self.keeper.try_lock() {
            *keeper = None;
        }
        Ok(())
    }
}

/// The server as the client library takes it, and its name for messages.
fn server(config: &Config) -> Result<(tokio_postgres::Config, String), Error> {
    let fail = |place: &str, reason: &str| {
        Err(Error::Open { place: place.to_owned(), reason: reason.to_owned() })
    };
    // What cannot be read is not repeated: it can hold a password all the same.
    let Ok(mut server) = config.url.parse::<tokio_postgres::Config>() else {
        return fail(
            "postgresql",
            "`memory.store.url` is no address of a server: give \
             `postgres://user@host:5432/database`; `sslmode` is a key of its own",
        );
    };
    let place = told(&server);
    if server.get_password().is_some() {
        return fail(
            &place,
            "`memory.store.url` holds a password: put it into a file, name that in `password_file`",
        );
    }
    if server.get_hosts().is_empty() {
        return fail(&place, "`memory.store.url` names no host");
    }
    if let Err(reason) = schema::check_name(&config.schema) {
        return fail(&place, &reason);
    }
    match password::read(config) {
        Ok(Some(password)) => drop(server.password(password.as_slice())),
        Ok(None) => {}
        Err(reason) => return fail(&place, &reason),
    }
    let local = server.get_hosts().iter().all(|host| matches!(host, Host::Unix(_)));
    let mode = if local || config.sslmode == Sslmode::Disable {
        SslMode::Disable
    } else {
        SslMode::Require
    };
    server.ssl_mode(mode).connect_timeout(config.connect_timeout).keepalives_idle(KEEPALIVE);
    if server.get_application_name().is_none() {
        server.application_name("switchboard");
    }
    Ok((server, place))
}

/// User, hosts and database; nothing else.
fn told(server: &tokio_postgres::Config) -> String {
    let ports = server.get_ports();
    let hosts: Vec<String> = server
        .get_hosts()
        .iter()
        .enumerate()
        .map(|(at, host)| {
            let port = ports.get(at).or_else(|| ports.first()).copied().unwrap_or(5432);
            match host {
                Host::Tcp(name) => format!("{name}:{port}"),
                Host::Unix(path) => path.display().to_string(),
            }
        })
        .collect();
    let user = server.get_user().map(|user| format!("{user}@")).unwrap_or_default();
    format!("postgres://{user}{}/{}", hosts.join(","), server.get_dbname().unwrap_or_default())
}

/// Why the first connection failed.
fn refused(error: PoolError, place: &str) -> Error {
    let reason = match Error::from(error) {
        Error::Down(reason) | Error::Engine(reason) => reason,
        other => return other,
    };
    Error::Open { place: place.to_owned(), reason }
}

impl From<PoolError> for Error {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Closed => Self::Closed,
            PoolError::Backend(error) => error.into(),
            PoolError::Timeout(_) => Self::Down("it does not take a connection in time".to_owned()),
            other @ (PoolError::NoRuntimeSpecified | PoolError::PostCreateHook(_)) => {
                Self::Engine(other.to_string())
            }
        }
    }
}

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        let Some(refusal) = error.as_db_error() else {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            let whole = error.to_string();
            let said = match cause {
                Some(cause) if !whole.contains(&cause) => format!("{whole}: {cause}"),
                _ => whole,
            };
            // What the client cannot encode or decode is ours, all else is the line's.
            return if said.contains("serializ") || said.contains("column") {
                Self::Engine(said)
            } else {
                Self::Down(said)
            };
        };
        // Its message only: the detail can repeat what was to be stored.
        let said = refusal.message().to_owned();
        match refusal.code().code() {
            "53100" | "53200" => Self::Full(said),
            "25006" => Self::Full(format!("{said}: the server is a standby or read only")),
            "XX001" | "XX002" => Self::Damaged { place: "postgresql".to_owned(), reason: said },
            "57014" => Self::Engine(format!("{said}: see `memory.store.statement_timeout`")),
            code if code.starts_with("08") || code.starts_with("57P") || code == "53300" => {
                Self::Down(said)
            }
            _ => Self::Engine(said),
        }
    }
}
