//! Links that show one rendered video to whoever has them, and nothing else, until they expire.

use rusqlite::{OptionalExtension, params};

use crate::database::now_ms;
use crate::demonstrations::{self, Record, Revision};
use crate::error::{ApiError, Result};
use crate::jobs::{JobKind, JobStatus, Task};
use crate::settings::random_token;
use crate::state::State;

const LONGEST_DAYS: u32 = 365;

/// What a link shows.
pub struct Shared {
    pub record: Record,
    pub revision: Revision,
    /// The job that rendered the video.
    pub job: i64,
}

/// Makes a link to the newest rendered video of a demonstration; its token, and when it expires in milliseconds since
/// 1970.
pub fn create(state: &State, demonstration: i64, days: u32) -> Result<(String, i64)> {
    if !(1..=LONGEST_DAYS).contains(&days) {
        let error = format!("a link lasts from 1 to {LONGEST_DAYS} days");
        return Err(ApiError::invalid(error));
    }
    demonstrations::get(&state.database, demonstration)?;
    let job = state.jobs.newest(JobKind::Render, demonstration)?;
    let job = job.filter(|job| job.status == JobStatus::Done);
    let job = job.ok_or_else(|| ApiError::conflict("there is no video yet; render it first"))?;
    let (token, now) = (random_token()?, now_ms());
    let expires_ms = now + i64::from(days) * 24 * 3600 * 1000;
    state.database.write(|db| {
        db.execute("DELETE FROM shares WHERE expires_ms <= ?", [now])?;
        let add = "INSERT INTO shares (token, demonstration, job, expires_ms) VALUES (?, ?, ?, ?)";
        db.execute(add, params![token, demonstration, job.id, expires_ms])
    })?;
    Ok((token, expires_ms))
}

/// Ends all links of a demonstration.
pub fn revoke(state: &State, demonstration: i64) -> Result<()> {
    let delete = "DELETE FROM shares WHERE demonstration = ?";
    state.database.write(|db| db.execute(delete, [demonstration]))?;
    Ok(())
}

/// What a token shows; the same error for one that has expired and one that never was.
pub fn open(state: &State, token: &str) -> Result<Shared> {
    let find = "SELECT demonstration, job FROM shares WHERE token = ? AND expires_ms > ?";
    let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?));
    let found = state.database.lock().query_row(find, params![token, now_ms()], read).optional()?;
    let ended = || ApiError::not_found("link any more; ask for a new one");
    let (demonstration, job) = found.ok_or_else(ended)?;
    let rendered = state.jobs.get(job)?;
    let Some(Task::Render { revision, .. }) =
        rendered.task.filter(|_| rendered.status == JobStatus::Done)
    else {
        return Err(ended());
    };
    let record = demonstrations::get(&state.database, demonstration)?;
    let revision = demonstrations::revision(&state.database, demonstration, revision)?;
    Ok(Shared { record, revision: revision.ok_or_else(ended)?, job })
}
