//! Demonstrations and their revisions in the database.

use rusqlite::{OptionalExtension, Row, params};
use stitch_core::procedure::Procedure;
use stitch_engine::demonstrate::{Demonstration, Wishes};

use crate::database::{Database, from_json, now_ms, to_json};
use crate::error::{ApiError, Result};
use crate::options::SearchOptions;

/// A demonstration: its procedure and the options of its search.
#[derive(Clone, Debug)]
pub struct Record {
    pub id: i64,
    pub title: String,
    pub steps: Vec<String>,
    pub search: SearchOptions,
    /// The current revision; 0 before the first search has ended.
    pub revision: i64,
}

/// One state of a demonstration. Every change adds one; undo goes back to the one before.
#[derive(Clone, Debug)]
pub struct Revision {
    /// From 1.
    pub number: i64,
    /// The change that led to it, in words.
    pub action: String,
    /// The user's decisions about steps.
    pub wishes: Wishes,
    pub answer: Demonstration,
    /// How long the search took.
    pub took_ms: u64,
}

const COLUMNS: &str = "id, title, steps, options, revision";

/// Adds a procedure and returns its id.
pub fn create(
    database: &Database,
    procedure: &Procedure,
    search: &SearchOptions,
) -> rusqlite::Result<i64> {
    database.write(|db| {
        db.execute(
            "INSERT INTO demonstrations (title, steps, options, created_ms) VALUES (?, ?, ?, ?)",
            params![procedure.title(), to_json(procedure.steps()), to_json(search), now_ms()],
        )?;
        Ok(db.last_insert_rowid())
    })
}

pub fn get(database: &Database, id: i64) -> Result<Record> {
    let find = format!("SELECT {COLUMNS} FROM demonstrations WHERE id = ?");
    let found = database.lock().query_row(&find, [id], read).optional()?;
    found.ok_or_else(|| ApiError::not_found("demonstration"))
}

pub fn current(database: &Database, id: i64) -> Result<(Record, Revision)> {
    let record = get(database, id)?;
    let revision = revision(database, id, record.revision)?;
    let revision = revision.ok_or_else(|| ApiError::conflict("the search is still running"))?;
    Ok((record, revision))
}

/// The last `limit`, newest first.
pub fn list(database: &Database, limit: usize) -> rusqlite::Result<Vec<Record>> {
    let database = database.lock();
    let find = format!("SELECT {COLUMNS} FROM demonstrations ORDER BY id DESC LIMIT {limit}");
    database.prepare(&find)?.query_map([], read)?.collect()
}

/// Deletes a demonstration with its revisions and queued jobs; whether it existed. Its choices stay.
pub fn remove(database: &Database, id: i64) -> rusqlite::Result<bool> {
    database.write(|db| {
        db.execute(
            "UPDATE jobs SET status = 'cancelled' WHERE status = 'queued'
             AND work ->> 'demonstration' = ?",
            [id],
        )?;
        Ok(db.execute("DELETE FROM demonstrations WHERE id = ?", [id])? > 0)
    })
}

pub fn revision(database: &Database, id: i64, number: i64) -> rusqlite::Result<Option<Revision>> {
    let find = "SELECT number, action, wishes, answer, took_ms FROM revisions
        WHERE demonstration = ? AND number = ?";
    database.lock().query_row(find, [id, number], read_revision).optional()
}

/// The numbers and actions of all revisions, in order.
pub fn revisions(database: &Database, id: i64) -> rusqlite::Result<Vec<(i64, String)>> {
    let find = "SELECT number, action FROM revisions WHERE demonstration = ? ORDER BY number";
    let database = database.lock();
    database.prepare(find)?.query_map([id], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

/// The highest revision; higher than the current one after an undo.
pub fn last_revision(database: &Database, id: i64) -> rusqlite::Result<i64> {
    let find = "SELECT coalesce(max(number), 0) FROM revisions WHERE demonstration = ?";
    database.lock().query_row(find, [id], |row| row.get(0))
}

/// Adds a revision after the current one, deletes those that were undone, and records the choice that
/// led to it, in one transaction. False if another change came first.
pub fn add(
    database: &Database,
    id: i64,
    revision: &Revision,
    choice: Option<&str>,
) -> rusqlite::Result<bool> {
    database.write(|db| {
        let number = revision.number;
        let moved = db.execute(
            "UPDATE demonstrations SET revision = ?2 WHERE id = ?1 AND revision = ?2 - 1",
            [id, number],
        )?;
        if moved == 0 {
            return Ok(false);
        }
        db.execute("DELETE FROM revisions WHERE demonstration = ? AND number >= ?", [id, number])?;
        let Revision { action, took_ms, .. } = revision;
        let (wishes, answer) = (to_json(&revision.wishes), to_json(&revision.answer));
        db.execute(
            "INSERT INTO revisions VALUES (?, ?, ?, ?, ?, ?, ?)",
            params![id, number, action, wishes, answer, *took_ms as i64, now_ms()],
        )?;
        if let Some(line) = choice {
            db.execute(
                "INSERT INTO choices (demonstration, line) VALUES (?, ?)",
                params![id, line],
            )?;
        }
        Ok(true)
    })
}

/// Makes another revision the current one; whether it exists.
pub fn go_to(database: &Database, id: i64, number: i64) -> rusqlite::Result<bool> {
    let go = "UPDATE demonstrations SET revision = ?2 WHERE id = ?1 AND EXISTS
        (SELECT 1 FROM revisions WHERE demonstration = ?1 AND number = ?2)";
    database.write(|db| Ok(db.execute(go, [id, number])? > 0))
}

/// All choices of users in order, as JSON lines.
pub fn choices(database: &Database) -> rusqlite::Result<String> {
    let database = database.lock();
    let mut query = database.prepare("SELECT line FROM choices ORDER BY id")?;
    let lines = query.query_map([], |row| row.get::<_, String>(0))?;
    lines.map(|line| line.map(|line| line + "\n")).collect()
}

fn read(row: &Row<'_>) -> rusqlite::Result<Record> {
    Ok(Record {
        id: row.get(0)?,
        title: row.get(1)?,
        steps: from_json(row, 2)?,
        search: from_json(row, 3)?,
        revision: row.get(4)?,
    })
}

fn read_revision(row: &Row<'_>) -> rusqlite::Result<Revision> {
    Ok(Revision {
        number: row.get(0)?,
        action: row.get(1)?,
        wishes: from_json(row, 2)?,
        answer: from_json(row, 3)?,
        took_ms: row.get::<_, i64>(4)?.max(0) as u64,
    })
}
