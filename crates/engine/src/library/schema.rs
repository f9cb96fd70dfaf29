//! The tables of `library.db`.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, params};

use super::LibraryError;
use crate::encoder::EncoderId;

/// The version of the format; stored in the database's header.
const VERSION: i64 = 2;

const TABLES: &str = "
    CREATE TABLE encoder (name TEXT NOT NULL, dim INTEGER NOT NULL, weights TEXT NOT NULL);
    CREATE TABLE videos (
        id INTEGER PRIMARY KEY,
        path TEXT NOT NULL UNIQUE,
        content TEXT NOT NULL,
        bytes INTEGER NOT NULL,
        modified_ms INTEGER NOT NULL,
        status TEXT NOT NULL CHECK (status IN ('pending', 'ready', 'failed', 'duplicate')),
        reason TEXT,
        length_ms INTEGER, width INTEGER, height INTEGER,
        title TEXT NOT NULL, uploader TEXT, url TEXT, licence TEXT,
        narration_by TEXT, steps_by TEXT
    );
    CREATE INDEX videos_content ON videos (content);
    CREATE TABLE sentences (
        video INTEGER NOT NULL REFERENCES videos ON DELETE CASCADE,
        position INTEGER NOT NULL, start_ms INTEGER NOT NULL, end_ms INTEGER NOT NULL,
        text TEXT NOT NULL, PRIMARY KEY (video, position)
    ) WITHOUT ROWID;
    CREATE TABLE clips (
        video INTEGER NOT NULL REFERENCES videos ON DELETE CASCADE,
        position INTEGER NOT NULL, start_ms INTEGER NOT NULL, end_ms INTEGER NOT NULL,
        text TEXT NOT NULL, PRIMARY KEY (video, position)
    ) WITHOUT ROWID;
    CREATE TABLE shots (
        video INTEGER NOT NULL REFERENCES videos ON DELETE CASCADE,
        start_ms INTEGER NOT NULL, PRIMARY KEY (video, start_ms)
    ) WITHOUT ROWID;
";

/// Creates the database under another name first, so that a killed run leaves none.
pub(super) fn create(file: &Path, encoder: &EncoderId) -> Result<(), LibraryError> {
    let making = file.with_extension("making");
    let _ = std::fs::remove_file(&making);
    let make = || {
        let database = Connection::open(&making)?;
        database.execute_batch(TABLES)?;
        database.execute(
            "INSERT INTO encoder VALUES (?, ?, ?)",
            params![encoder.name, encoder.dim as i64, encoder.weights],
        )?;
        database.pragma_update(None, "user_version", VERSION)
    };
    make().map_err(|source| LibraryError::Database { file: file.into(), source })?;
    std::fs::rename(&making, file).map_err(crate::files::FileError::at(file))?;
    Ok(())
}

/// Opens the database, for reading only where the folder cannot be written.
pub(super) fn open(file: &Path) -> Result<Connection, LibraryError> {
    let failed = |source| LibraryError::Database { file: file.into(), source };
    let database = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_WRITE)
        .and_then(set_up)
        .or_else(|_| read_only(file))
        .map_err(failed)?;
    let found: i64 =
        database.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(failed)?;
    if found != VERSION {
        return Err(LibraryError::OtherVersion { file: file.into(), found, expected: VERSION });
    }
    Ok(database)
}

/// Readers continue while one connection writes; writers wait for each other.
fn set_up(database: Connection) -> rusqlite::Result<Connection> {
    database.busy_timeout(std::time::Duration::from_secs(10))?;
    database.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    database.execute_batch("PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL;")?;
    Ok(database)
}

/// For a read-only disk, where the write-ahead log cannot be opened.
fn read_only(file: &Path) -> rusqlite::Result<Connection> {
    let path = file.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(format!("file:{path}?immutable=1"), flags)
}

pub(super) fn encoder(database: &Connection, file: &Path) -> Result<EncoderId, LibraryError> {
    let read = |row: &rusqlite::Row<'_>| {
        let dim: i64 = row.get(1)?;
        Ok(EncoderId { name: row.get(0)?, dim: dim.max(1) as usize, weights: row.get(2)? })
    };
    database
        .query_row("SELECT name, dim, weights FROM encoder", [], read)
        .map_err(|source| LibraryError::Database { file: file.into(), source })
}
