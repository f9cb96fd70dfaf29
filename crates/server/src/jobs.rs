//! Long work: kept in the database, done one of a kind at a time, told as it happens, and gone on
//! with after a restart.

use std::collections::{HashMap, HashSet};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};
use stitch_engine::progress::Progress;
use tokio::sync::broadcast;
use utoipa::ToSchema;

use crate::store::{Store, now_ms};

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Work {
    /// Read a folder of videos into the library.
    Index {
        /// The folder.
        folder: String,
    },
    /// Find the clips of a demonstration.
    Make {
        /// Its number.
        demonstration: i64,
    },
    /// Make a video of a demonstration.
    Render {
        /// Its number.
        demonstration: i64,
        /// Which of its revisions.
        revision: i64,
        /// How.
        options: crate::looks::Looks,
    },
}

/// The kinds of work; each has a thread of its own, so that a question never waits for a render.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Reads videos into the library.
    Index,
    /// Finds the clips of a demonstration.
    Make,
    /// Makes a video of a demonstration.
    Render,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Index, Self::Make, Self::Render];

    /// Its name in the database.
    pub fn name(self) -> &'static str {
        match self {
            Self::Index => "index",
            Self::Make => "make",
            Self::Render => "render",
        }
    }
}

impl Work {
    /// Of which kind it is.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Index { .. } => Kind::Index,
            Self::Make { .. } => Kind::Make,
            Self::Render { .. } => Kind::Render,
        }
    }
}

/// Where a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Waits for its turn.
    Queued,
    /// Is being done.
    Running,
    /// Ended well.
    Done,
    /// Ended badly.
    Failed,
    /// Was called off.
    Cancelled,
}

impl Status {
    /// Its name in the database.
    pub fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    fn from_name(name: &str) -> Self {
        let all = [Self::Queued, Self::Running, Self::Done, Self::Failed];
        all.into_iter().find(|status| status.name() == name).unwrap_or(Self::Cancelled)
    }

    /// Whether nothing will change any more.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Cancelled)
    }
}

/// A job as it is told.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Job {
    /// Its number.
    pub id: i64,
    /// What is done.
    pub kind: Kind,
    /// Where it stands.
    pub status: Status,
    /// What is being done now, in words.
    pub stage: String,
    /// How much of that is done.
    pub done: u64,
    /// Out of how much; 0 where nobody knows.
    pub total: u64,
    /// Why it failed, or what came of it.
    pub message: Option<String>,
    /// What went wrong on the way.
    pub warnings: Vec<String>,
    /// The demonstration it is for.
    pub demonstration: Option<i64>,
    /// The folder it reads.
    pub folder: Option<String>,
    /// How often it was begun: more than once after a restart.
    pub runs: i64,
    /// What exactly is to be done.
    #[serde(skip)]
    #[schema(ignore)]
    pub work: Option<Work>,
}

const COLUMNS: &str = "id, kind, work, status, stage, done, total, message, warnings, runs";

/// The queue, and who listens to it.
pub struct Jobs {
    events: broadcast::Sender<Job>,
    running: Mutex<HashMap<i64, Job>>,
    called_off: Mutex<HashSet<i64>>,
    stopping: Mutex<bool>,
    bell: Condvar,
}

impl Default for Jobs {
    fn default() -> Self {
        Self {
            events: broadcast::channel(256).0,
            running: Mutex::default(),
            called_off: Mutex::default(),
            stopping: Mutex::default(),
            bell: Condvar::new(),
        }
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Jobs {
    /// Puts what was being done when the server last ended back into the queue.
    pub fn recover(&self, store: &Store) -> rusqlite::Result<usize> {
        store.write(|db| {
            db.execute("UPDATE jobs SET status = 'queued' WHERE status = 'running'", [])
        })
    }

    /// Enters a job and wakes whoever does it; none if `most` are waiting already.
    pub fn enter(&self, store: &Store, work: &Work, most: usize) -> rusqlite::Result<Option<Job>> {
        let text = serde_json::to_string(work).unwrap_or_default();
        let entered = store.write(|db| {
            let waiting: i64 = db.query_row(
                "SELECT count(*) FROM jobs WHERE status IN ('queued', 'running')",
                [],
                |row| row.get(0),
            )?;
            if waiting >= most as i64 {
                return Ok(None);
            }
            db.execute(
                "INSERT INTO jobs (kind, work, status, created_ms) VALUES (?, ?, 'queued', ?)",
                params![work.kind().name(), text, now_ms()],
            )?;
            find(db, db.last_insert_rowid())
        })?;
        if let Some(job) = &entered {
            self.tell(job.clone());
            self.bell.notify_all();
        }
        Ok(entered)
    }

    /// Takes the next job of a kind out of the queue.
    pub fn claim(&self, store: &Store, kind: Kind) -> rusqlite::Result<Option<Job>> {
        let claimed = store.write(|db| {
            let take = "UPDATE jobs SET status = 'running', runs = runs + 1, message = NULL
                WHERE id = (SELECT id FROM jobs WHERE status = 'queued' AND kind = ?
                            ORDER BY id LIMIT 1) RETURNING id";
            let id: Option<i64> = db.query_row(take, [kind.name()], |row| row.get(0)).optional()?;
            id.map_or(Ok(None), |id| find(db, id))
        })?;
        if let Some(job) = &claimed {
            held(&self.running).insert(job.id, job.clone());
            self.tell(job.clone());
        }
        Ok(claimed)
    }

    /// Waits until there may be something to do; false once the server stops.
    pub fn wait(&self) -> bool {
        let stopping = held(&self.stopping);
        if *stopping {
            return false;
        }
        let waited = self.bell.wait_timeout(stopping, Duration::from_secs(5));
        !*waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Asks everything to stop where nothing is lost.
    pub fn stop(&self) {
        *held(&self.stopping) = true;
        self.bell.notify_all();
    }

    /// Records how a job ended.
    pub fn end(
        &self,
        store: &Store,
        id: i64,
        status: Status,
        message: Option<String>,
    ) -> rusqlite::Result<()> {
        let last = held(&self.running).remove(&id);
        held(&self.called_off).remove(&id);
        store.write(|db| {
            if let Some(job) = &last {
                keep(db, job)?;
            }
            db.execute(
                "UPDATE jobs SET status = ?, message = ? WHERE id = ?",
                params![status.name(), message, id],
            )
        })?;
        if let Some(job) = find(&store.lock(), id)? {
            self.tell(job);
        }
        Ok(())
    }

    /// Calls a job off; none if there is none.
    pub fn cancel(&self, store: &Store, id: i64) -> rusqlite::Result<Option<Job>> {
        store.write(|db| {
            db.execute(
                "UPDATE jobs SET status = 'cancelled' WHERE id = ? AND status = 'queued'",
                [id],
            )
        })?;
        let job = self.get(store, id)?;
        match &job {
            Some(job) if job.status == Status::Running => {
                held(&self.called_off).insert(id);
            }
            Some(job) => self.tell(job.clone()),
            None => {}
        }
        Ok(job)
    }

    /// One job as it stands.
    pub fn get(&self, store: &Store, id: i64) -> rusqlite::Result<Option<Job>> {
        let running = held(&self.running).get(&id).cloned();
        running.map_or_else(|| find(&store.lock(), id), |job| Ok(Some(job)))
    }

    /// The last jobs, newest first.
    pub fn list(&self, store: &Store, most: usize) -> rusqlite::Result<Vec<Job>> {
        let db = store.lock();
        let mut query =
            db.prepare(&format!("SELECT {COLUMNS} FROM jobs ORDER BY id DESC LIMIT {most}"))?;
        let jobs: Vec<Job> = query.query_map([], read)?.collect::<Result<_, _>>()?;
        let running = held(&self.running);
        Ok(jobs.into_iter().map(|job| running.get(&job.id).cloned().unwrap_or(job)).collect())
    }

    /// The newest job of a demonstration that is of this kind.
    pub fn newest(
        &self,
        store: &Store,
        kind: Kind,
        demonstration: i64,
    ) -> rusqlite::Result<Option<Job>> {
        let find = format!(
            "SELECT {COLUMNS} FROM jobs WHERE kind = ? AND work ->> 'demonstration' = ?
             ORDER BY id DESC LIMIT 1"
        );
        let found =
            store.lock().query_row(&find, params![kind.name(), demonstration], read).optional()?;
        Ok(found.map(|job| held(&self.running).get(&job.id).cloned().unwrap_or(job)))
    }

    /// Everything that happens to jobs from now on.
    pub fn listen(&self) -> broadcast::Receiver<Job> {
        self.events.subscribe()
    }

    fn tell(&self, job: Job) {
        let _ = self.events.send(job); // nobody listens: nobody is told
    }

    fn change(&self, id: i64, change: impl FnOnce(&mut Job)) -> Option<Job> {
        let mut running = held(&self.running);
        let job = running.get_mut(&id)?;
        change(job);
        Some(job.clone())
    }
}

fn find(db: &Connection, id: i64) -> rusqlite::Result<Option<Job>> {
    db.query_row(&format!("SELECT {COLUMNS} FROM jobs WHERE id = ?"), [id], read).optional()
}

fn keep(db: &Connection, job: &Job) -> rusqlite::Result<usize> {
    let warnings = serde_json::to_string(&job.warnings).unwrap_or_default();
    db.execute(
        "UPDATE jobs SET stage = ?, done = ?, total = ?, warnings = ? WHERE id = ?",
        params![job.stage, job.done as i64, job.total as i64, warnings, job.id],
    )
}

fn read(row: &Row<'_>) -> rusqlite::Result<Job> {
    let count = |column| row.get::<_, i64>(column).map(|n| n.max(0) as u64);
    let (kind, work): (String, String) = (row.get(1)?, row.get(2)?);
    let (status, warnings): (String, String) = (row.get(3)?, row.get(8)?);
    let work: Option<Work> = serde_json::from_str(&work).ok();
    let (demonstration, folder) = match &work {
        Some(Work::Index { folder }) => (None, Some(folder.clone())),
        Some(Work::Make { demonstration } | Work::Render { demonstration, .. }) => {
            (Some(*demonstration), None)
        }
        None => (None, None),
    };
    Ok(Job {
        id: row.get(0)?,
        kind: Kind::ALL.into_iter().find(|k| k.name() == kind).unwrap_or(Kind::Make),
        status: Status::from_name(&status),
        stage: row.get(4)?,
        done: count(5)?,
        total: count(6)?,
        message: row.get(7)?,
        warnings: serde_json::from_str(&warnings).unwrap_or_default(),
        runs: row.get(9)?,
        demonstration,
        folder,
        work,
    })
}

/// A job's progress: told at once, kept now and then.
pub struct Watched<'a> {
    jobs: &'a Jobs,
    store: &'a Store,
    id: i64,
    kept: Mutex<Instant>,
}

/// The most warnings that are kept of a job.
const MOST_WARNINGS: usize = 200;

impl<'a> Watched<'a> {
    /// Of this job.
    pub fn new(jobs: &'a Jobs, store: &'a Store, id: i64) -> Self {
        Self { jobs, store, id, kept: Mutex::new(Instant::now()) }
    }

    /// Whether the job was called off, rather than the server stopped.
    pub fn called_off(&self) -> bool {
        held(&self.jobs.called_off).contains(&self.id)
    }

    fn update(&self, at_once: bool, change: impl FnOnce(&mut Job)) {
        let Some(job) = self.jobs.change(self.id, change) else { return };
        let mut kept = held(&self.kept);
        if at_once || kept.elapsed() > Duration::from_secs(1) {
            *kept = Instant::now();
            if let Err(error) = self.store.write(|db| keep(db, &job)) {
                tracing::warn!(%error, "a job's progress is not kept");
            }
        }
        self.jobs.tell(job);
    }
}

impl Progress for Watched<'_> {
    fn begin(&self, stage: &str, total: u64) {
        self.update(true, |job| {
            (job.stage, job.done, job.total) = (stage.to_owned(), 0, total);
        });
    }

    fn advance(&self, units: u64) {
        self.update(false, |job| job.done += units);
    }

    fn warn(&self, message: &str) {
        self.update(true, |job| {
            if job.warnings.len() < MOST_WARNINGS {
                job.warnings.push(message.to_owned());
            }
        });
    }

    fn stopped(&self) -> bool {
        self.called_off() || *held(&self.jobs.stopping)
    }
}
