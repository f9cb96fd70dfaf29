//! SQLite files shared between threads, and the schema of `page.db`: jobs, demonstrations, revisions and
//! the choices that users made.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, Row};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::ServerError;

/// The version of page.db's schema, kept in the file's header.
const VERSION: i64 = 3;

/// From version 1 to 2: `without` held scores that were never shown.
const FROM_1: &str = "ALTER TABLE revisions DROP COLUMN without;";

/// From version 2 to 3: links to share.
const FROM_2: &str = "CREATE TABLE shares (
    token TEXT PRIMARY KEY,
    demonstration INTEGER NOT NULL REFERENCES demonstrations ON DELETE CASCADE,
    job INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL
) WITHOUT ROWID;";

const TABLES: &str = include_str!("page.sql");

pub struct Database(Mutex<Connection>);

impl Database {
    /// Opens or creates a file; `migrate` brings it to the current schema in one transaction.
    pub fn open(
        file: &Path,
        migrate: fn(&Connection) -> rusqlite::Result<()>,
    ) -> Result<Self, ServerError> {
        let open = || {
            let connection = Connection::open(file)?;
            connection.busy_timeout(std::time::Duration::from_secs(10))?;
            connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
            connection.execute_batch("PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL;")?;
            let database = Self(Mutex::new(connection));
            database.write(migrate)?;
            Ok(database)
        };
        open().map_err(|source| ServerError::Database { file: file.to_owned(), source })
    }

    pub fn lock(&self) -> MutexGuard<'_, Connection> {
        // A panic elsewhere leaves the connection consistent: SQLite rolls the transaction back.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `work` in one transaction.
    pub fn write<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        let mut database = self.lock();
        let transaction =
            database.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let done = work(&transaction)?;
        transaction.commit()?;
        Ok(done)
    }
}

/// Opens or creates page.db; refuses one that a newer program wrote.
pub fn open_page(file: &Path) -> Result<Database, ServerError> {
    let database = Database::open(file, migrate_page)?;
    let found = version(&database.lock());
    match found.map_err(|source| ServerError::Database { file: file.to_owned(), source })? {
        VERSION => Ok(database),
        found => {
            let file = file.to_owned();
            Err(ServerError::NewerVersion { file, found, expected: VERSION })
        }
    }
}

fn version(database: &Connection) -> rusqlite::Result<i64> {
    database.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Brings page.db to the current schema.
fn migrate_page(database: &Connection) -> rusqlite::Result<()> {
    match version(database)? {
        0 => database.execute_batch(TABLES)?,
        1 => database.execute_batch(&[FROM_1, FROM_2].concat())?,
        2 => database.execute_batch(FROM_2)?,
        _ => return Ok(()),
    }
    database.pragma_update(None, "user_version", VERSION)
}

/// Milliseconds since 1970.
pub fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as i64
}

/// A value as a column of JSON.
pub fn to_json<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// An enum without fields as a column of text: its JSON name without quotes.
pub fn to_name(value: &impl Serialize) -> String {
    to_json(value).trim_matches('"').to_owned()
}

/// Reads a column that `to_json` wrote.
pub fn from_json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    parse(column, &row.get::<_, String>(column)?)
}

/// Reads a column that `to_name` wrote.
pub fn from_name<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    parse(column, &format!("\"{}\"", row.get::<_, String>(column)?))
}

fn parse<T: DeserializeOwned>(column: usize, text: &str) -> rusqlite::Result<T> {
    serde_json::from_str(text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, error.into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_of_version_1_keeps_its_revisions() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("page.db");
        let old =
            TABLES.replace("answer TEXT NOT NULL,", "answer TEXT NOT NULL, without TEXT NOT NULL,");
        let (before, after) = old.split_once("CREATE TABLE shares").unwrap();
        let old = format!("{before}{}", after.split_once(';').unwrap().1);
        let database = Connection::open(&file).unwrap();
        database.execute_batch(&old).unwrap();
        database
            .execute_batch(
                "INSERT INTO demonstrations VALUES (1, 'Tea', '[]', '{}', 1, 0);
                 INSERT INTO revisions VALUES (1, 1, 'found', '{}', 'answer', '[]', 5, 0);
                 PRAGMA user_version = 1;",
            )
            .unwrap();
        drop(database);
        for _ in 0..2 {
            let database = open_page(&file).unwrap();
            let kept = database.lock().query_row("SELECT * FROM revisions", [], |row| {
                Ok((
                    row.get::<_, String>("answer")?,
                    row.get::<_, i64>("took_ms")?,
                    row.as_ref().column_count(),
                ))
            });
            assert_eq!(kept.unwrap(), ("answer".into(), 5, 7));
            let shares = database
                .lock()
                .query_row("SELECT count(*) FROM shares", [], |row| row.get::<_, i64>(0));
            assert_eq!(shares.unwrap(), 0);
        }
    }

    #[test]
    fn a_database_of_a_newer_version_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("page.db");
        let newer = VERSION + 1;
        let database = open_page(&file).unwrap();
        database.lock().pragma_update(None, "user_version", newer).unwrap();
        drop(database);
        let error = open_page(&file).err().unwrap().to_string();
        assert!(error.contains("update this one"), "{error}");
    }
}
