//! The job queue: jobs are kept in the database, run one of each kind at a time, report their progress and
//! continue after a restart.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};
use stitch_engine::progress::Progress;
use tokio::sync::broadcast;
use utoipa::ToSchema;

use crate::database::{Database, from_json, from_name, now_ms, to_json, to_name};
use crate::error::{ApiError, Result};
use crate::options::VideoOptions;

/// What a job does; kept as JSON in the database.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Task {
    Index { folder: String },
    Make { demonstration: i64 },
    Render { demonstration: i64, revision: i64, options: VideoOptions },
}

/// Each kind has its own worker thread, so that a search never waits for a render
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum JobKind {
    /// Reads videos into the library
    Index,
    /// Finds the clips of a demonstration
    Make,
    /// Renders the video of a demonstration
    Render,
}

impl JobKind {
    pub const ALL: [Self; 3] = [Self::Index, Self::Make, Self::Render];
}

impl Task {
    pub fn kind(&self) -> JobKind {
        match self {
            Self::Index { .. } => JobKind::Index,
            Self::Make { .. } => JobKind::Make,
            Self::Render { .. } => JobKind::Render,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum JobStatus {
    Queued,
    Running,
    Done,
    Failed,
    Cancelled,
}

impl JobStatus {
    /// Whether the job has ended.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Cancelled)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Job {
    pub id: i64,
    pub kind: JobKind,
    pub status: JobStatus,
    /// The current stage, in words
    pub stage: String,
    /// Units of the stage that are done
    pub done: u64,
    /// Units of the stage; 0 if unknown
    pub total: u64,
    /// The reason of the failure, or the result
    pub message: Option<String>,
    pub warnings: Vec<String>,
    /// The demonstration that it finds or renders
    pub demonstration: Option<i64>,
    /// The folder that it indexes
    pub folder: Option<String>,
    /// How often it was started, but for runs that stopped with the server; more than once after a crash
    pub runs: i64,
    /// None if another version wrote it in another format.
    #[serde(skip)]
    #[schema(ignore)]
    pub task: Option<Task>,
}

const COLUMNS: &str = "id, kind, work, status, stage, done, total, message, warnings, runs";

/// Runs in which a job may crash the server.
const MAX_RUNS: i64 = 2;
const CRASHED: &str = "the server ended twice while this job ran; make sure that there is enough memory and start it again, \
    or run `stitch index` or `stitch make` to see what happens";
const EVICTED: &str = "the video was removed to stay within the render budget; render it again";

/// Chosen by hand: a subscriber that falls this far behind reads the job's state instead.
const EVENT_BUFFER: usize = 256;

pub struct JobQueue {
    database: Arc<Database>,
    /// Jobs that may be queued or running.
    max_jobs: usize,
    events: broadcast::Sender<Job>,
    running: Mutex<HashMap<i64, Job>>,
    cancelled: Mutex<HashSet<i64>>,
    stopping: Mutex<bool>,
    wake: Condvar,
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl JobQueue {
    /// Opens the queue; jobs that were running when the server last ended are queued again, unless that has
    /// happened to them before: a job that ends the server would end it at every start.
    pub fn open(database: Arc<Database>, max_jobs: usize) -> rusqlite::Result<Self> {
        database.write(|db| {
            db.execute(
                "UPDATE jobs SET status = 'failed', message = ? WHERE status = 'running' AND runs >= ?",
                params![CRASHED, MAX_RUNS],
            )?;
            db.execute("UPDATE jobs SET status = 'queued' WHERE status = 'running'", [])
        })?;
        Ok(Self {
            database,
            max_jobs,
            events: broadcast::channel(EVENT_BUFFER).0,
            running: Mutex::default(),
            cancelled: Mutex::default(),
            stopping: Mutex::default(),
            wake: Condvar::new(),
        })
    }

    /// Adds a job and wakes its worker.
    pub fn enqueue(&self, task: &Task) -> Result<Job> {
        let added = self.database.write(|db| {
            let unfinished: i64 = db.query_row(
                "SELECT count(*) FROM jobs WHERE status IN ('queued', 'running')",
                [],
                |row| row.get(0),
            )?;
            if unfinished >= self.max_jobs as i64 {
                return Ok(None);
            }
            db.execute(
                "INSERT INTO jobs (kind, work, status, created_ms) VALUES (?, ?, 'queued', ?)",
                params![to_name(&task.kind()), to_json(task), now_ms()],
            )?;
            find(db, db.last_insert_rowid())
        })?;
        let job = added.ok_or_else(|| {
            let error = format!("{} jobs are queued already; try again later", self.max_jobs);
            ApiError::new(StatusCode::TOO_MANY_REQUESTS, error)
        })?;
        self.publish(&job);
        self.wake.notify_all();
        Ok(job)
    }

    /// Takes the next job of a kind out of the queue.
    pub fn claim(&self, kind: JobKind) -> rusqlite::Result<Option<Job>> {
        let claimed = self.database.write(|db| {
            let take = "UPDATE jobs SET status = 'running', runs = runs + 1, message = NULL
                WHERE id = (SELECT id FROM jobs WHERE status = 'queued' AND kind = ?
                            ORDER BY id LIMIT 1) RETURNING id";
            let id: Option<i64> =
                db.query_row(take, [to_name(&kind)], |row| row.get(0)).optional()?;
            id.map_or(Ok(None), |id| find(db, id))
        })?;
        if let Some(job) = &claimed {
            lock(&self.running).insert(job.id, job.clone());
            self.publish(job);
        }
        Ok(claimed)
    }

    /// Waits until there may be a job; false once the server stops.
    pub fn wait(&self) -> bool {
        let stopping = lock(&self.stopping);
        if *stopping {
            return false;
        }
        let waited = self.wake.wait_timeout(stopping, Duration::from_secs(5));
        !*waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Asks all jobs to stop at a safe point.
    pub fn stop(&self) {
        *lock(&self.stopping) = true;
        self.wake.notify_all();
    }

    /// Records how a job ended.
    pub fn end(&self, id: i64, status: JobStatus, message: Option<String>) -> rusqlite::Result<()> {
        let last = lock(&self.running).remove(&id);
        lock(&self.cancelled).remove(&id);
        let ended = self.database.write(|db| {
            db.execute(
                "UPDATE jobs SET status = ?1, message = ?2, runs = runs - (?1 = 'queued') WHERE id = ?3",
                params![to_name(&status), message, id],
            )?;
            if let Some(Job { stage, done, total, warnings, .. }) = &last {
                db.execute(
                    "UPDATE jobs SET stage = ?, done = ?, total = ?, warnings = ? WHERE id = ?",
                    params![stage, *done as i64, *total as i64, to_json(warnings), id],
                )?;
            }
            find(db, id)
        })?;
        ended.iter().for_each(|job| self.publish(job));
        Ok(())
    }

    /// Records that the video of a render job was removed.
    pub fn evict(&self, id: i64) -> rusqlite::Result<()> {
        let update =
            "UPDATE jobs SET status = 'failed', message = ? WHERE id = ? AND kind = 'render'
            AND status = 'done'";
        self.database.write(|db| db.execute(update, params![EVICTED, id]))?;
        Ok(())
    }

    /// Cancels a job: at once if it is queued, at the next safe point if it runs.
    pub fn cancel(&self, id: i64) -> Result<Job> {
        self.database.write(|db| {
            db.execute(
                "UPDATE jobs SET status = 'cancelled' WHERE id = ? AND status = 'queued'",
                [id],
            )
        })?;
        let job = self.get(id)?;
        if job.status == JobStatus::Running {
            lock(&self.cancelled).insert(id);
        } else {
            self.publish(&job);
        }
        Ok(job)
    }

    pub fn get(&self, id: i64) -> Result<Job> {
        let found = find(&self.database.lock(), id)?.ok_or_else(|| ApiError::not_found("job"))?;
        Ok(self.with_progress(found))
    }

    /// The last `limit` jobs, newest first.
    pub fn list(&self, limit: usize) -> rusqlite::Result<Vec<Job>> {
        let database = self.database.lock();
        let mut query = database
            .prepare(&format!("SELECT {COLUMNS} FROM jobs ORDER BY id DESC LIMIT {limit}"))?;
        let jobs = query.query_map([], read)?;
        jobs.map(|job| Ok(self.with_progress(job?))).collect()
    }

    pub fn newest(&self, kind: JobKind, demonstration: i64) -> rusqlite::Result<Option<Job>> {
        let find = format!(
            "SELECT {COLUMNS} FROM jobs WHERE kind = ? AND work ->> 'demonstration' = ?
             ORDER BY id DESC LIMIT 1"
        );
        let parameters = params![to_name(&kind), demonstration];
        let found = self.database.lock().query_row(&find, parameters, read).optional()?;
        Ok(found.map(|job| self.with_progress(job)))
    }

    /// All further changes of jobs.
    pub fn subscribe(&self) -> broadcast::Receiver<Job> {
        self.events.subscribe()
    }

    /// The progress of a running job is newer in memory than in the database.
    fn with_progress(&self, job: Job) -> Job {
        lock(&self.running).get(&job.id).cloned().unwrap_or(job)
    }

    fn publish(&self, job: &Job) {
        let _ = self.events.send(job.clone()); // fails if there is no subscriber
    }
}

fn find(db: &Connection, id: i64) -> rusqlite::Result<Option<Job>> {
    db.query_row(&format!("SELECT {COLUMNS} FROM jobs WHERE id = ?"), [id], read).optional()
}

fn read(row: &Row<'_>) -> rusqlite::Result<Job> {
    let count = |column| row.get::<_, i64>(column).map(|n| n.max(0) as u64);
    let task: Option<Task> = from_json(row, 2).ok();
    let (demonstration, folder) = match &task {
        Some(Task::Index { folder }) => (None, Some(folder.clone())),
        Some(Task::Make { demonstration } | Task::Render { demonstration, .. }) => {
            (Some(*demonstration), None)
        }
        None => (None, None),
    };
    let kind = task.as_ref().map_or(JobKind::Index, Task::kind);
    // What another version wrote must not hide the other jobs.
    Ok(Job {
        id: row.get(0)?,
        kind: from_name(row, 1).unwrap_or(kind),
        status: from_name(row, 3).unwrap_or(JobStatus::Failed),
        stage: row.get(4)?,
        done: count(5)?,
        total: count(6)?,
        message: row.get(7)?,
        warnings: from_json(row, 8).unwrap_or_default(),
        runs: row.get(9)?,
        demonstration,
        folder,
        task,
    })
}

/// Publishes a job's progress. It is saved when the job ends: an interrupted job starts again anyway.
pub struct JobProgress<'a> {
    pub queue: &'a JobQueue,
    pub job: i64,
}

/// Warnings saved per job; chosen by hand.
const MAX_WARNINGS: usize = 200;

impl JobProgress<'_> {
    /// Whether this job was cancelled, which is not the same as a server that stops.
    pub fn cancelled(&self) -> bool {
        lock(&self.queue.cancelled).contains(&self.job)
    }

    fn update(&self, change: impl FnOnce(&mut Job)) {
        if let Some(job) = lock(&self.queue.running).get_mut(&self.job) {
            change(job);
            self.queue.publish(job);
        }
    }
}

impl Progress for JobProgress<'_> {
    fn begin(&self, stage: &str, total: u64) {
        self.update(|job| {
            (job.stage, job.done, job.total) = (stage.to_owned(), 0, total);
        });
    }

    fn advance(&self, units: u64) {
        self.update(|job| job.done += units);
    }

    fn warn(&self, message: &str) {
        self.update(|job| {
            if job.warnings.len() < MAX_WARNINGS {
                job.warnings.push(message.to_owned());
            }
        });
    }

    fn stopped(&self) -> bool {
        self.cancelled() || *lock(&self.queue.stopping)
    }
}
