//! `page.db`: what people did with the page and what is still to be done, beside the library.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::Connection;

/// The version of the format; stored in the database's header.
const VERSION: i64 = 2;

/// What brings a database of version 1 to version 2. `without` held scores that nothing showed.
const FROM_1: &str = "ALTER TABLE revisions DROP COLUMN without;";

const TABLES: &str = "
    CREATE TABLE jobs (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        kind TEXT NOT NULL CHECK (kind IN ('index', 'make', 'render')),
        work TEXT NOT NULL,
        status TEXT NOT NULL CHECK (status IN ('queued', 'running', 'done', 'failed', 'cancelled')),
        stage TEXT NOT NULL DEFAULT '',
        done INTEGER NOT NULL DEFAULT 0,
        total INTEGER NOT NULL DEFAULT 0,
        message TEXT,
        warnings TEXT NOT NULL DEFAULT '[]',
        runs INTEGER NOT NULL DEFAULT 0,
        created_ms INTEGER NOT NULL
    );
    CREATE INDEX jobs_status ON jobs (status, kind);
    CREATE TABLE demonstrations (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        title TEXT NOT NULL,
        steps TEXT NOT NULL,
        options TEXT NOT NULL,
        revision INTEGER NOT NULL DEFAULT 0,
        created_ms INTEGER NOT NULL
    );
    CREATE TABLE revisions (
        demonstration INTEGER NOT NULL REFERENCES demonstrations ON DELETE CASCADE,
        number INTEGER NOT NULL,
        action TEXT NOT NULL,
        wishes TEXT NOT NULL,
        answer TEXT NOT NULL,
        took_ms INTEGER NOT NULL,
        created_ms INTEGER NOT NULL,
        PRIMARY KEY (demonstration, number)
    ) WITHOUT ROWID;
    CREATE TABLE choices (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        demonstration INTEGER NOT NULL,
        line TEXT NOT NULL
    );
";

/// The open database.
pub struct Store(Mutex<Connection>);

impl Store {
    /// Opens it, or makes it where there is none.
    pub fn open(file: &Path) -> rusqlite::Result<Self> {
        let mut database = Connection::open(file)?;
        database.busy_timeout(std::time::Duration::from_secs(10))?;
        database.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
        database.execute_batch("PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL;")?;
        let found: i64 = database.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        let change = match found {
            0 => TABLES,
            1 => FROM_1,
            _ => return Ok(Self(Mutex::new(database))),
        };
        let transaction = database.transaction()?;
        transaction.execute_batch(change)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
        transaction.commit()?;
        Ok(Self(Mutex::new(database)))
    }

    /// The connection, for one thing after the other.
    pub fn lock(&self) -> MutexGuard<'_, Connection> {
        // A panic elsewhere leaves the connection as SQLite last saw it: whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Work that is done wholly or not at all.
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

/// Milliseconds since 1970.
pub fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as i64
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
            let store = Store::open(&file).unwrap();
            let kept = store.lock().query_row("SELECT * FROM revisions", [], |row| {
                Ok((
                    row.get::<_, String>("answer")?,
                    row.get::<_, i64>("took_ms")?,
                    row.as_ref().column_count(),
                ))
            });
            assert_eq!(kept.unwrap(), ("answer".into(), 5, 7));
        }
    }
}
