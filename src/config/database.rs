//! A database file of one daemon alone: its path and form in, the open connection and the lock on the
//! file out, or why not, in words. How it is written to, and what its tables mean, is its room's business.

use std::fs::File;
use std::path::Path;

use rusqlite::Connection;

use super::claim::{Unclaimed, claim};

/// The form of a database file.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    /// The key of the configuration that names the path.
    pub key: &'static str,
    /// What marks a file as one of this kind.
    pub application: i64,
    /// The format that this version writes, and the only one that it reads.
    pub format: i64,
    /// What makes its tables.
    pub schema: &'static str,
}

/// Claims the file, makes it where it is missing, and opens it. Refuses what another process has, what
/// another program made, and what a newer version wrote, before anything in it is changed.
pub fn database(path: &Path, form: &Form) -> Result<(Connection, File), String> {
    let lock = claim(path).map_err(|unclaimed| match unclaimed {
        Unclaimed::InUse => {
            format!("another daemon has it: give each daemon its own `{}`", form.key)
        }
        Unclaimed::Refused(error) => error.to_string(),
    })?;
    let unread = |error: rusqlite::Error| format!("{error}: move the file away");
    let connection = Connection::open(path).map_err(unread)?;
    match marks(&connection).map_err(unread)? {
        (0, 0, 0) => create(&connection, form).map_err(unread)?,
        (application, format, _) if application == form.application => {
            if format != form.format {
                return Err(format!("format {format} is newer than this version knows"));
            }
        }
        _ => return Err("it is the database of another program".to_owned()),
    }
    Ok((connection, lock))
}

/// Whose it is, in which format, and how much there is in it.
fn marks(connection: &Connection) -> rusqlite::Result<(i64, i64, i64)> {
    let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get(0));
    let (application, format) = (number("application_id")?, number("user_version")?);
    let count = "SELECT count(*) FROM sqlite_schema";
    let things = connection.query_row(count, [], |row| row.get(0))?;
    Ok((application, format, things))
}

fn create(connection: &Connection, form: &Form) -> rusqlite::Result<()> {
    let transaction = connection.unchecked_transaction()?;
    transaction.execute_batch(form.schema)?;
    transaction.pragma_update(None, "application_id", form.application)?;
    transaction.pragma_update(None, "user_version", form.format)?;
    transaction.commit()
}

#[cfg(test)]
mod tests {
    use super::{Connection, Form, database};

    const FORM: Form = Form {
        key: "room.path",
        application: 0x5357_5454,
        format: 2,
        schema: "CREATE TABLE thing (name TEXT NOT NULL) STRICT;",
    };

    #[test]
    fn a_file_is_made_once_and_only_what_is_ours_is_taken() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("inner/own.db");
        let (own, lock) = database(&path, &FORM).unwrap();
        own.execute_batch("INSERT INTO thing VALUES ('one')").unwrap();
        let second = database(&path, &FORM).unwrap_err();
        assert_eq!(second, "another daemon has it: give each daemon its own `room.path`");
        drop((own, lock));
        let (again, lock) = database(&path, &FORM).unwrap();
        let count = |of: &Connection| {
            of.query_row("SELECT count(*) FROM thing", [], |row| row.get::<_, i64>(0)).unwrap()
        };
        assert_eq!(count(&again), 1);
        drop((again, lock));
        let newer = Form { format: 1, ..FORM };
        let refused = database(&path, &newer).unwrap_err();
        assert_eq!(refused, "format 2 is newer than this version knows");
        let other = Form { application: 7, ..FORM };
        let refused = database(&path, &other).unwrap_err();
        assert_eq!(refused, "it is the database of another program");
    }

    #[test]
    fn a_database_without_a_mark_that_has_tables_is_not_ours() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("foreign.db");
        let foreign = Connection::open(&path).unwrap();
        foreign.execute_batch("CREATE TABLE theirs (name TEXT)").unwrap();
        drop(foreign);
        let refused = database(&path, &FORM).unwrap_err();
        assert_eq!(refused, "it is the database of another program");
        let left = Connection::open(&path).unwrap();
        let names = "SELECT group_concat(name) FROM sqlite_schema";
        let names: String = left.query_row(names, [], |row| row.get(0)).unwrap();
        assert_eq!(names, "theirs", "nothing was made in it");
        std::fs::write(home.path().join("text"), "not a database, but as long as one").unwrap();
        let refused = database(&home.path().join("text"), &FORM).unwrap_err();
        assert!(refused.ends_with(": move the file away"), "{refused}");
    }

    #[test]
    fn a_folder_is_refused_and_stays_as_it_is() {
        use std::os::unix::fs::PermissionsExt;
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("runs.db");
        std::fs::create_dir(&folder).unwrap();
        let mode = || std::fs::metadata(&folder).unwrap().permissions().mode();
        let before = mode();
        let why = database(&folder, &FORM).unwrap_err();
        assert!(why.contains("is no file"), "{why}");
        assert_eq!(mode(), before);
    }
}
