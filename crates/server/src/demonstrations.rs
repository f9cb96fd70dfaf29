//! Demonstrations and their history in the database.

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::Serialize;
use serde::de::DeserializeOwned;
use stitch_core::procedure::Procedure;
use stitch_engine::demonstrate::{Demonstration, Wishes};

use crate::looks::Search;
use crate::store::{Store, now_ms};

/// A procedure that a demonstration was asked for.
#[derive(Clone, Debug)]
pub struct Record {
    /// Its number.
    pub id: i64,
    /// What it makes.
    pub title: String,
    /// Its steps.
    pub steps: Vec<String>,
    /// How clips are chosen.
    pub search: Search,
    /// The revision that stands; 0 before the first answer.
    pub revision: i64,
    /// When it was asked for, in milliseconds since 1970.
    pub created_ms: i64,
}

/// An answer, and what a person had decided when it was given.
#[derive(Clone, Debug)]
pub struct Revision {
    /// Its number, from 1.
    pub number: i64,
    /// What was done.
    pub action: String,
    /// What was decided.
    pub wishes: Wishes,
    /// The answer.
    pub answer: Demonstration,
    /// How long the answer took.
    pub took_ms: u64,
}

const COLUMNS: &str = "id, title, steps, options, revision, created_ms";

/// Enters a procedure; its number.
pub fn create(store: &Store, procedure: &Procedure, search: &Search) -> rusqlite::Result<i64> {
    store.write(|db| {
        db.execute(
            "INSERT INTO demonstrations (title, steps, options, created_ms) VALUES (?, ?, ?, ?)",
            params![procedure.title(), json(procedure.steps()), json(search), now_ms()],
        )?;
        Ok(db.last_insert_rowid())
    })
}

/// One by its number.
pub fn get(store: &Store, id: i64) -> rusqlite::Result<Option<Record>> {
    let find = format!("SELECT {COLUMNS} FROM demonstrations WHERE id = ?");
    store.lock().query_row(&find, [id], read).optional()
}

/// The last ones, newest first.
pub fn list(store: &Store, most: usize) -> rusqlite::Result<Vec<Record>> {
    let db = store.lock();
    let find = format!("SELECT {COLUMNS} FROM demonstrations ORDER BY id DESC LIMIT {most}");
    let mut query = db.prepare(&find)?;
    query.query_map([], read)?.collect()
}

/// Forgets one and its history; whether it was there. The choices made in it stay.
pub fn remove(store: &Store, id: i64) -> rusqlite::Result<bool> {
    store.write(|db| {
        db.execute(
            "UPDATE jobs SET status = 'cancelled' WHERE status = 'queued'
             AND work ->> 'demonstration' = ?",
            [id],
        )?;
        Ok(db.execute("DELETE FROM demonstrations WHERE id = ?", [id])? > 0)
    })
}

/// One revision.
pub fn revision(store: &Store, id: i64, number: i64) -> rusqlite::Result<Option<Revision>> {
    let find = "SELECT number, action, wishes, answer, took_ms FROM revisions
        WHERE demonstration = ? AND number = ?";
    store.lock().query_row(find, [id, number], read_revision).optional()
}

/// The last revision's number, which undone ones may follow.
pub fn last_revision(store: &Store, id: i64) -> rusqlite::Result<i64> {
    let find = "SELECT coalesce(max(number), 0) FROM revisions WHERE demonstration = ?";
    store.lock().query_row(find, [id], |row| row.get(0))
}

/// Puts a revision after the one it changes, and takes away what was undone. Choices that were made
/// are written in the same breath. False if another change came first.
pub fn add(
    store: &Store,
    id: i64,
    revision: &Revision,
    choices: &[String],
) -> rusqlite::Result<bool> {
    store.write(|db| {
        let moved = db.execute(
            "UPDATE demonstrations SET revision = ?2 WHERE id = ?1 AND revision = ?2 - 1",
            [id, revision.number],
        )?;
        if moved == 0 {
            return Ok(false);
        }
        db.execute(
            "DELETE FROM revisions WHERE demonstration = ? AND number >= ?",
            [id, revision.number],
        )?;
        insert(db, id, revision)?;
        for line in choices {
            db.execute(
                "INSERT INTO choices (demonstration, line) VALUES (?, ?)",
                params![id, line],
            )?;
        }
        Ok(true)
    })
}

fn insert(db: &Connection, id: i64, revision: &Revision) -> rusqlite::Result<usize> {
    db.execute(
        "INSERT INTO revisions VALUES (?, ?, ?, ?, ?, ?, ?)",
        params![
            id,
            revision.number,
            revision.action,
            json(&revision.wishes),
            json(&revision.answer),
            revision.took_ms as i64,
            now_ms()
        ],
    )
}

/// Goes to another revision that there is; whether it was there.
pub fn go_to(store: &Store, id: i64, number: i64) -> rusqlite::Result<bool> {
    let go = "UPDATE demonstrations SET revision = ?2 WHERE id = ?1 AND EXISTS
        (SELECT 1 FROM revisions WHERE demonstration = ?1 AND number = ?2)";
    store.write(|db| Ok(db.execute(go, [id, number])? > 0))
}

/// Every choice people made, one JSON object a line, in order.
pub fn choices(store: &Store) -> rusqlite::Result<String> {
    let db = store.lock();
    let mut query = db.prepare("SELECT line FROM choices ORDER BY id")?;
    let lines = query.query_map([], |row| row.get::<_, String>(0))?;
    lines.map(|line| line.map(|line| line + "\n")).collect()
}

fn json<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn parse<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, error.into())
    })
}

fn read(row: &Row<'_>) -> rusqlite::Result<Record> {
    Ok(Record {
        id: row.get(0)?,
        title: row.get(1)?,
        steps: parse(row, 2)?,
        search: parse(row, 3)?,
        revision: row.get(4)?,
        created_ms: row.get(5)?,
    })
}

fn read_revision(row: &Row<'_>) -> rusqlite::Result<Revision> {
    Ok(Revision {
        number: row.get(0)?,
        action: row.get(1)?,
        wishes: parse(row, 2)?,
        answer: parse(row, 3)?,
        took_ms: row.get::<_, i64>(4)?.max(0) as u64,
    })
}
