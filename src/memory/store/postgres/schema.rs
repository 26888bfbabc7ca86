//! The tables of the shared store: made, or brought up to date step by step, in one transaction under a
//! lock, so that daemons that start together do it once. Moves no data but its own.

use deadpool_postgres::{Object, Transaction};

use super::Error;

/// Names the lock of setting up among all advisory locks of a database.
const LOCK: i64 = 0x5357_4d45_4d00;

/// Each step brings the tables from one version to the next; never changed once it was released.
const STEPS: [&str; 4] = [
    include_str!("tables.sql"),
    include_str!("spaces.sql"),
    include_str!("owned.sql"),
    include_str!("numbers.sql"),
];

/// Refuses what would have to be quoted.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let starts = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    if starts && name.len() <= 48 && name.chars().all(plain) && !name.starts_with("pg_") {
        return Ok(());
    }
    Err(format!("`memory.store.schema` `{name}` is not 1 to 48 lower-case letters, digits and `_`"))
}

/// Sees to extension, schema and tables; gives the schema that the extension is in.
pub(super) async fn prepare(client: &mut Object, schema: &str) -> Result<String, Error> {
    let step = client.transaction().await?;
    match set_up(&step, schema).await {
        Ok(extension) => {
            step.commit().await?;
            Ok(extension)
        }
        Err(error) => {
            // At once: until then every other daemon's setting up waits.
            step.rollback().await?;
            Err(error)
        }
    }
}

async fn set_up(step: &Transaction<'_>, schema: &str) -> Result<String, Error> {
    step.batch_execute("SET LOCAL statement_timeout = 0; SET LOCAL client_min_messages = warning")
        .await?;
    step.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await?;
    check_server(step).await?;
    let extension = extension(step).await?;
    let there = "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)";
    if !step.query_one(there, &[&schema]).await?.try_get::<_, bool>(0)? {
        step.batch_execute(&format!("CREATE SCHEMA {schema}")).await?;
    }
    step.batch_execute(&format!("SET LOCAL search_path = {schema}, {extension}")).await?;
    bring_up(step, schema).await?;
    Ok(extension)
}

/// Takes the steps that the tables have not taken yet.
async fn bring_up(step: &Transaction<'_>, schema: &str) -> Result<(), Error> {
    let there = "SELECT to_regclass($1) IS NOT NULL";
    let meta = format!("{schema}.meta");
    let version = if step.query_one(there, &[&meta]).await?.try_get::<_, bool>(0)? {
        step.query_one("SELECT version FROM meta", &[]).await?.try_get::<_, i32>(0)?
    } else {
        0
    };
    let done = usize::try_from(version).unwrap_or(usize::MAX);
    if done > STEPS.len() {
        return Err(Error::Engine(format!(
            "its tables are of version {version}, newer than this daemon's {}: use a newer daemon",
            STEPS.len()
        )));
    }
    for (from, tables) in STEPS.iter().enumerate().skip(done) {
        step.batch_execute(tables).await?;
        let version = i32::try_from(from + 1).unwrap_or(i32::MAX);
        step.execute("UPDATE meta SET version = $1", &[&version]).await?;
    }
    Ok(())
}

async fn check_server(step: &Transaction<'_>) -> Result<(), Error> {
    let asked = "SELECT current_setting('server_encoding'), \
                 current_setting('server_version_num')::int";
    let row = step.query_one(asked, &[]).await?;
    let (encoding, version): (String, i32) = (row.try_get(0)?, row.try_get(1)?);
    if encoding != "UTF8" {
        return Err(Error::Engine(format!("its database is in {encoding}: make one in UTF8")));
    }
    if version < 140_000 {
        return Err(Error::Engine("it is older than PostgreSQL 14".to_owned()));
    }
    Ok(())
}

/// The schema that pgvector is in; installs it where that is allowed.
async fn extension(step: &Transaction<'_>) -> Result<String, Error> {
    let asked = "SELECT quote_ident(n.nspname), e.extversion FROM pg_extension e \
                 JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'";
    if step.query_opt(asked, &[]).await?.is_none() {
        let made = step.batch_execute("CREATE EXTENSION vector SCHEMA public").await;
        made.map_err(|error| {
            let why = Error::from(error);
            Error::Engine(format!(
                "pgvector cannot be set up ({why}): install it on the server, and let an \
                 administrator run `CREATE EXTENSION vector` in this database"
            ))
        })?;
    }
    let row = step.query_one(asked, &[]).await?;
    let (schema, version): (String, String) = (row.try_get(0)?, row.try_get(1)?);
    let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    if (parts.next(), parts.next()) < (Some(0), Some(8)) {
        return Err(Error::Engine(format!(
            "its pgvector is {version}: 0.8 or newer searches on under a filter; update it"
        )));
    }
    Ok(schema)
}
