//! Checksums: of files, and of what the database holds of a video.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Params};
use sha2::{Digest, Sha256};

use crate::files::hex;

/// Every row of a video, without its checksum.
const ROWS: [&str; 4] = [
    "SELECT id, path, content, bytes, modified_ms, status, reason, length_ms, width, height, title,
     uploader, url, licence, narration_by, steps_by, features_sha256 FROM videos WHERE id = ?",
    "SELECT position, start_ms, end_ms, text FROM sentences WHERE video = ? ORDER BY position",
    "SELECT position, start_ms, end_ms, text FROM clips WHERE video = ? ORDER BY position",
    "SELECT start_ms FROM shots WHERE video = ? ORDER BY start_ms",
];

pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

pub(super) fn of_video(database: &Connection, video: u32) -> rusqlite::Result<String> {
    let mut hash = Sha256::new();
    for sql in ROWS {
        add_rows(&mut hash, database, sql, [video])?;
    }
    Ok(hex(&hash.finalize()))
}

pub(super) fn of_encoder(database: &Connection) -> rusqlite::Result<String> {
    let mut hash = Sha256::new();
    add_rows(&mut hash, database, "SELECT name, dim, weights FROM encoder", [])?;
    Ok(hex(&hash.finalize()))
}

/// Stores the checksum of a video's rows. A video that is ready has one; its rows never change while it is.
pub(super) fn store(database: &Connection, video: u32) -> rusqlite::Result<()> {
    let sha256 = of_video(database, video)?;
    let sql = "UPDATE videos SET sha256 = ? WHERE id = ?";
    database.execute(sql, rusqlite::params![sha256, video]).map(drop)
}

fn add_rows(
    hash: &mut Sha256,
    database: &Connection,
    sql: &str,
    parameters: impl Params,
) -> rusqlite::Result<()> {
    let mut statement = database.prepare_cached(sql)?;
    let columns = statement.column_count();
    let mut rows = statement.query(parameters)?;
    while let Some(row) = rows.next()? {
        for column in 0..columns {
            add_value(hash, row.get_ref(column)?);
        }
    }
    hash.update([u8::MAX]); // tells the rows of one table from those of the next
    Ok(())
}

fn add_value(hash: &mut Sha256, value: ValueRef<'_>) {
    let (kind, bytes) = match value {
        ValueRef::Null => (0, Vec::new()),
        ValueRef::Integer(number) => (1, number.to_le_bytes().to_vec()),
        ValueRef::Real(number) => (2, number.to_le_bytes().to_vec()),
        ValueRef::Text(text) => (3, text.to_vec()),
        ValueRef::Blob(bytes) => (4, bytes.to_vec()),
    };
    hash.update([kind]);
    hash.update((bytes.len() as u64).to_le_bytes());
    hash.update(bytes);
}
