//! The tables of `library.db`, and how older ones become current.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior, params};

use super::{LibraryError, checksum};
use crate::encoder::EncoderId;
use crate::files::{FileError, folder_of, sync_folder, temporary};

/// The version of the format; stored in the database's header.
const VERSION: i64 = 4;

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

/// From version 2 on. `state` is one row: a number that every write increases, the highest id ever given
/// to a video, and the checksum of `encoder`. `sha256` is of all rows of a video, `features_sha256` of its
/// feature file: null where version 2 wrote it. `sentence_model` has at most one row; programs before this
/// version made it when they first needed it.
const FROM_2: &str = "
    ALTER TABLE videos ADD COLUMN features_sha256 TEXT;
    ALTER TABLE videos ADD COLUMN sha256 TEXT;
    CREATE TABLE state (
        generation INTEGER NOT NULL, last_video INTEGER NOT NULL, encoder_sha256 TEXT NOT NULL
    );
    CREATE TABLE IF NOT EXISTS sentence_model (weights TEXT NOT NULL);
";

/// The videos that are not ready, of which there are few. Programs before this one did not make it.
const INDEX: &str =
    "CREATE INDEX IF NOT EXISTS videos_not_ready ON videos (status) WHERE status <> 'ready'";

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
        upgrade(&database)?;
        // Here, where nobody else has it open: the mode cannot change beside a reader.
        database.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))
    };
    make().map_err(|source| LibraryError::Database { file: file.into(), source })?;
    let named = std::fs::rename(&making, file).and_then(|()| sync_folder(folder_of(file)));
    Ok(named.map_err(FileError::at(file))?)
}

/// Opens the database, for reading only where it cannot be written.
pub(super) fn open(file: &Path) -> Result<Connection, LibraryError> {
    let failed = |source| LibraryError::Database { file: file.into(), source };
    let mut database = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_WRITE)
        .and_then(set_up)
        .or_else(|error| if is_refused(&error) { read_only(file) } else { Err(error) })
        .map_err(failed)?;
    let is_read_only = database.is_readonly("main").map_err(failed)?;
    if matches!(version(&database).map_err(failed)?, 2 | 3) && !is_read_only {
        migrate(&mut database).map_err(failed)?;
    }
    match version(&database).map_err(failed)? {
        3 | VERSION if is_read_only => Ok(database), // their tables are the same
        VERSION => database.execute_batch(INDEX).map(|()| database).map_err(failed),
        found => Err(LibraryError::OtherVersion { file: file.into(), found, expected: VERSION }),
    }
}

fn version(database: &Connection) -> rusqlite::Result<i64> {
    database.query_row("PRAGMA user_version", [], |row| row.get(0))
}

fn migrate(database: &mut Connection) -> rusqlite::Result<()> {
    let transaction = database.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have been faster.
    match version(&transaction)? {
        2 => upgrade(&transaction)?,
        3 => transaction.pragma_update(None, "user_version", VERSION)?,
        _ => {}
    }
    transaction.commit()
}

/// From version 2 to 4. Version 4 added to feature files what clips look like, and changed no table: the number
/// keeps programs that do not know it from replacing the pool by one without.
fn upgrade(database: &Connection) -> rusqlite::Result<()> {
    database.execute_batch(FROM_2)?;
    database.execute(
        "INSERT INTO state SELECT 0, coalesce(max(id), 0), ? FROM videos",
        [checksum::of_encoder(database)?],
    )?;
    let ready: Vec<u32> = database
        .prepare("SELECT id FROM videos WHERE status = 'ready'")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    ready.into_iter().try_for_each(|video| checksum::store(database, video))?;
    database.pragma_update(None, "user_version", VERSION)
}

const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Readers continue while one connection writes; writers wait for each other.
fn set_up(database: Connection) -> rusqlite::Result<Connection> {
    database.busy_timeout(BUSY_TIMEOUT)?;
    database.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    database.execute_batch("PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL;")?;
    Ok(database)
}

fn is_refused(error: &rusqlite::Error) -> bool {
    use ErrorCode::*;
    matches!(error.sqlite_error_code(), Some(ReadOnly | CannotOpen | PermissionDenied))
}

/// Opens a database for reading. `immutable` takes no locks and does not see the write-ahead log, so it is
/// only for a folder that nothing can be written to and that has no log.
pub(super) fn read_only(file: &Path) -> rusqlite::Result<Connection> {
    let path = file.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let open = |options: &str| {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let database = Connection::open_with_flags(format!("file:{path}{options}"), flags)?;
        database.busy_timeout(BUSY_TIMEOUT)?;
        version(&database)?; // opens the log
        Ok(database)
    };
    open("").or_else(|error| if can_change(file) { Err(error) } else { open("?immutable=1") })
}

/// Opens a database for reading. Where it can be written, SQLite first undoes what a killed process left unfinished.
pub(super) fn recovered(file: &Path) -> rusqlite::Result<Connection> {
    let opened = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_WRITE);
    let recovered = opened.and_then(|database| {
        database.busy_timeout(BUSY_TIMEOUT)?;
        version(&database)?;
        Ok(database)
    });
    recovered.or_else(|error| if is_refused(&error) { read_only(file) } else { Err(error) })
}

fn can_change(file: &Path) -> bool {
    file.with_extension("db-wal").exists() || temporary(folder_of(file), "").is_ok()
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

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use stitch_core::features::Features;

    use super::super::{Library, VideoFeatures, features};
    use super::*;

    /// A library of version 2 with one video of one clip.
    fn version_2(folder: &Path) -> PathBuf {
        let rows = Features::new(2, vec![0.6, 0.8]).unwrap();
        let written = VideoFeatures {
            seconds: rows.clone(),
            text: rows.clone(),
            clip: rows,
            appearance: Features::new(128, vec![0.5; 3 * 128]).unwrap(),
            footage: Default::default(),
            agreement: Default::default(),
        };
        std::fs::create_dir(folder.join("features")).unwrap();
        features::write(folder, "abc", &written.to_bytes().unwrap()).unwrap();
        let video = folder.join("soup.mp4");
        std::fs::write(&video, "soup").unwrap();
        let file = folder.join("library.db");
        let database = Connection::open(&file).unwrap();
        database.execute_batch(TABLES).unwrap();
        let insert = "INSERT INTO videos (id, path, content, bytes, modified_ms, status, title)
                      VALUES (4, ?, 'abc', 4, 5, 'ready', 'Soup')";
        database.execute(insert, [video.to_str().unwrap()]).unwrap();
        database
            .execute_batch(
                "INSERT INTO encoder VALUES ('fake', 2, 'none');
                 INSERT INTO clips VALUES (4, 0, 0, 1000, 'chop the onion');
                 PRAGMA user_version = 2;",
            )
            .unwrap();
        file
    }

    #[test]
    fn a_library_of_version_2_keeps_its_videos_and_gets_checksums() {
        let folder = tempfile::tempdir().unwrap();
        version_2(folder.path());
        let pool = folder.path().join(format!("pool-{}.safetensors", "0a".repeat(12)));
        std::fs::write(&pool, "rows").unwrap();
        for without_checksum in [1, 0] {
            let library = Library::open(folder.path()).unwrap();
            let found = library.verify().unwrap();
            assert_eq!(found.len(), without_checksum, "{found:?}");
            assert!(found.iter().all(|note| !note.is_left()), "{found:?}");
            let repaired = library.verify_and_repair().unwrap();
            assert!(repaired.iter().all(|note| note.repaired.is_some()), "{repaired:?}");
        }
        let library = Library::open(folder.path()).unwrap();
        assert_eq!(library.videos().unwrap()[0].video.title, "Soup");
        assert_eq!(library.pool().unwrap().clips()[0].text, "chop the onion");
        assert!(!pool.exists(), "the query has replaced it");
        library.check_sentence_model("any").unwrap();
        library.remove(&library.find("4").unwrap()).unwrap();
        let found = super::super::Found {
            path: folder.path().join("tea.mp4"),
            content: "def".into(),
            bytes: 1,
            modified_ms: 1,
        };
        library.enter(&[found]).unwrap();
        assert_eq!(library.find("tea.mp4").unwrap().id, 5);
    }

    /// Takes the appearance out of the feature file, as version 3 wrote it.
    fn without_appearance(folder: &Path) {
        let file = folder.join("features/abc.safetensors");
        let bytes = std::fs::read(&file).unwrap();
        let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        let old = tensors.tensors().into_iter().filter(|(name, _)| name != "appearance");
        std::fs::write(&file, safetensors::serialize(old, None).unwrap()).unwrap();
    }

    #[test]
    fn a_library_of_version_3_works_and_its_clips_have_no_appearance() {
        use stitch_core::clip::ClipId;
        use stitch_core::pool::Moment;
        let folder = tempfile::tempdir().unwrap();
        let file = version_2(folder.path());
        without_appearance(folder.path());
        drop(Library::open(folder.path()).unwrap());
        let set = |version: i64| {
            let database = Connection::open(&file).unwrap();
            database.pragma_update(None, "user_version", version).unwrap();
        };
        set(3);
        let library = Library::open(folder.path()).unwrap();
        assert_eq!(version(&Connection::open(&file).unwrap()), Ok(VERSION));
        for _ in ["made", "read"] {
            let pool = library.pool().unwrap();
            assert_eq!(pool.clips()[0].text, "chop the onion");
            assert_eq!(pool.appearance(ClipId(0), Moment::Last), None);
        }
        assert!(library.verify().unwrap().iter().all(|note| !note.is_left()));
    }

    #[test]
    fn libraries_of_other_versions_are_refused_with_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let file = version_2(folder.path());
        for (version, says) in [(VERSION + 1, "update this one"), (1, "into a new folder")] {
            let database = Connection::open(&file).unwrap();
            database.pragma_update(None, "user_version", version).unwrap();
            drop(database);
            let error = Library::open(folder.path()).err().unwrap().to_string();
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn a_database_can_change_where_files_can_be_written_or_a_log_is() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        assert!(can_change(&folder.path().join("library.db")));
        assert!(!can_change(&folder.path().join("gone/library.db")));
        std::fs::write(folder.path().join("library.db-wal"), "log").unwrap();
        let set = |mode| std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(mode));
        set(0o555).unwrap();
        assert!(can_change(&folder.path().join("library.db")));
        set(0o755).unwrap();
    }

    #[test]
    fn a_database_that_a_killed_process_left_is_recovered() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("page.db");
        let writer = Connection::open(&file).unwrap();
        let begun = "CREATE TABLE t (x); INSERT INTO t VALUES (1); PRAGMA cache_size = 1; BEGIN;
                     INSERT INTO t SELECT zeroblob(9000) FROM (VALUES (1), (2), (3), (4), (5), (6));";
        writer.execute_batch(begun).unwrap();
        // As the files are at this moment, without the process.
        let left = tempfile::tempdir().unwrap();
        for name in ["page.db", "page.db-journal"] {
            std::fs::copy(folder.path().join(name), left.path().join(name)).unwrap();
        }
        let left = left.path().join("page.db");
        assert!(read_only(&left).is_err(), "a journal must be played back");
        let database = recovered(&left).unwrap();
        let count = database.query_row("SELECT count(*) FROM t", [], |row| row.get::<_, i64>(0));
        assert_eq!(count, Ok(1));
    }

    #[test]
    fn a_reader_sees_what_a_living_writer_has_committed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("library.db");
        let writer = set_up(Connection::open(&file).unwrap()).unwrap();
        writer.execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (1);").unwrap();
        let reader = read_only(&file).unwrap();
        let count = || reader.query_row("SELECT count(*) FROM t", [], |row| row.get::<_, i64>(0));
        assert_eq!(count(), Ok(1), "this is in the write-ahead log only");
        writer.execute("INSERT INTO t VALUES (2)", []).unwrap();
        assert_eq!(count(), Ok(2));
    }
}
