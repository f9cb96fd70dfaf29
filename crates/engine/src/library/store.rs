//! Videos, sentences and clips in the database.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};
use stitch_core::clip::{Clip, Span, VideoId};

use super::features::{self, FeatureFile};
use super::{Indexed, Library, LibraryError, checksum};
use crate::transcript::Sentence;

/// A video file as it was found on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// Its absolute path.
    pub path: PathBuf,
    /// What identifies its bytes.
    pub content: String,
    pub bytes: u64,
    /// Since 1970.
    pub modified_ms: i64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Video {
    pub title: String,
    pub uploader: Option<String>,
    pub url: Option<String>,
    pub licence: Option<String>,
    pub length_ms: u64,
    pub width: u32,
    pub height: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum VideoStatus {
    Pending,
    Ready,
    Failed(String),
    /// The same bytes as another video of the library.
    Duplicate(String),
}

/// A video of the library.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VideoRecord {
    pub id: u32,
    pub path: PathBuf,
    /// What identifies its bytes.
    pub content: String,
    pub status: VideoStatus,
    #[serde(flatten)]
    pub video: Video,
    pub narration_by: Option<String>,
    pub steps_by: Option<String>,
    pub clips: u32,
}

impl VideoRecord {
    /// As a library enters the file, without its number.
    pub fn pending(file: &Found) -> Self {
        Self {
            id: 0,
            path: file.path.clone(),
            content: file.content.clone(),
            status: VideoStatus::Pending,
            video: Video { title: title_of(&file.path), ..Video::default() },
            narration_by: None,
            steps_by: None,
            clips: 0,
        }
    }
}

/// The title of a video that is not indexed yet.
fn title_of(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// What a library knows of a video beside its features.
pub struct KnownVideo {
    pub record: VideoRecord,
    pub sentences: Vec<Sentence>,
    pub clips: Vec<Clip>,
    /// In milliseconds.
    pub shots: Vec<u64>,
}

/// How indexing one video ended.
pub enum Outcome {
    Ready(Video, Box<Indexed>),
    Failed(String),
}

/// A video that no segment has.
pub(super) struct LooseVideo {
    pub id: u32,
    /// Of its rows in the database.
    pub sha256: String,
    pub file: FeatureFile,
    pub clips: Vec<Clip>,
}

/// Counts over the library; `seconds` of video.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stats {
    pub videos: u64,
    pub ready: u64,
    pub failed: u64,
    pub duplicates: u64,
    pub pending: u64,
    pub seconds: u64,
    pub sentences: u64,
    pub clips: u64,
}

/// Clips have positions from 0 on; counting a million takes longer than a query.
const COLUMNS: &str = "id, path, content, status, reason, title, uploader, url, licence, \
    length_ms, width, height, narration_by, steps_by, \
    (SELECT coalesce(max(position) + 1, 0) FROM clips WHERE clips.video = videos.id)";

const CLIPS: &str =
    "SELECT video, start_ms, end_ms, text FROM clips WHERE video = ? ORDER BY position";

const FEATURE_FILES: &str = "SELECT content, features_sha256, \
    (SELECT coalesce(max(position) + 1, 0) FROM clips WHERE video = id) FROM videos";

impl Library {
    /// Enters files that are new or changed, in this order; those that failed before become pending
    /// again. Ids are assigned here, before any work, so that a resumed run ends like an unbroken
    /// one.
    pub fn enter(&self, found: &[Found]) -> Result<(), LibraryError> {
        self.write(|database| {
            found.iter().try_for_each(|file| enter_one(database, file))?;
            choose_originals(database, found)
        })
    }

    /// Those of the files that are to be indexed.
    pub fn pending(&self, found: &[Found]) -> Result<Vec<VideoRecord>, LibraryError> {
        self.write(|database| choose_originals(database, found))?;
        let sql = format!(
            "SELECT {COLUMNS} FROM videos WHERE status = 'pending'
             AND path IN (SELECT value FROM json_each(?)) ORDER BY id"
        );
        self.rows(&sql, [paths(found)], read_video)
    }

    /// Records how indexing a video ended; its features reach the disk first.
    pub fn record(&self, record: &VideoRecord, outcome: &Outcome) -> Result<(), LibraryError> {
        match outcome {
            Outcome::Ready(video, indexed) => {
                self.import(record, video, indexed, &indexed.features.to_bytes()?)
            }
            Outcome::Failed(reason) => self.fail(record, reason),
        }
    }

    /// The same for a video that is ready, whose features another process has made bytes of.
    pub fn import(
        &self,
        record: &VideoRecord,
        video: &Video,
        indexed: &Indexed,
        features: &[u8],
    ) -> Result<(), LibraryError> {
        let rows = (&indexed.features.text, &indexed.features.clip);
        let file = features::path(&self.folder, &record.content);
        features::check_rows(&file, rows, self.encoder.dim, indexed.clips.len())?;
        let sha256 = features::write(&self.folder, &record.content, features)?;
        self.write(|database| write_ready(database, record.id, video, indexed, &sha256))
    }

    pub(super) fn fail(&self, record: &VideoRecord, reason: &str) -> Result<(), LibraryError> {
        self.write(|database| write_failed(database, &record.path.to_string_lossy(), reason))
    }

    /// A number that rises with every change, also by other processes.
    pub fn generation(&self) -> Result<i64, LibraryError> {
        let sql = "SELECT generation FROM state";
        self.read(|database| database.query_row(sql, [], |row| row.get(0)))
    }

    /// Raises the generation for a change beside the database.
    pub(super) fn touch(&self) -> Result<(), LibraryError> {
        // A row that gets its old value counts as changed.
        let sql = "UPDATE state SET generation = generation";
        self.write(|database| database.execute(sql, []).map(drop))
    }

    /// The weights of the sentence model that the texts were encoded with; none in libraries of before.
    pub(super) fn sentence_model(&self) -> Result<Option<String>, LibraryError> {
        let sql = "SELECT weights FROM sentence_model";
        self.read(|database| database.query_row(sql, [], |row| row.get(0)).optional())
    }

    /// Stores the sentence model of a library in which nothing is ready. With which one the texts of an older
    /// library were encoded, nobody knows.
    pub(super) fn store_sentence_model(&self, weights: &str) -> Result<(), LibraryError> {
        let sql =
            "INSERT INTO sentence_model SELECT ? WHERE NOT EXISTS (SELECT 1 FROM sentence_model)
                   AND NOT EXISTS (SELECT 1 FROM videos WHERE status = 'ready')";
        self.write(|database| database.execute(sql, [weights]).map(drop))
    }

    pub fn videos(&self) -> Result<Vec<VideoRecord>, LibraryError> {
        self.rows(&format!("SELECT {COLUMNS} FROM videos ORDER BY id"), [], read_video)
    }

    pub fn video(&self, id: VideoId) -> Result<VideoRecord, LibraryError> {
        let find = format!("SELECT {COLUMNS} FROM videos WHERE id = ?");
        self.read(|database| database.query_row(&find, [id.0], read_video).optional())?
            .ok_or_else(|| LibraryError::NoSuchVideo { wanted: id.0.to_string() })
    }

    /// The video of these bytes that is ready, with what was found out about it.
    pub fn known(&self, content: &str) -> Result<Option<KnownVideo>, LibraryError> {
        let find = format!("SELECT {COLUMNS} FROM videos WHERE content = ? AND status = 'ready'");
        let found =
            self.read(|database| database.query_row(&find, [content], read_video).optional())?;
        let Some(record) = found else { return Ok(None) };
        let id = VideoId(record.id);
        Ok(Some(KnownVideo {
            sentences: self.sentences(id)?,
            clips: self.clips(id)?,
            shots: self.shots(id)?,
            record,
        }))
    }

    /// One video by its number, its path, or a file name or title that only one video has.
    pub fn find(&self, wanted: &str) -> Result<VideoRecord, LibraryError> {
        let named = |video: &VideoRecord| {
            wanted.parse() == Ok(video.id)
                || video.path.as_path() == Path::new(wanted)
                || video.path.file_name().is_some_and(|name| name == wanted)
                || video.video.title == wanted
        };
        let mut matching = self.videos()?.into_iter().filter(named);
        match (matching.next(), matching.next()) {
            (Some(video), None) => Ok(video),
            _ => Err(LibraryError::NoSuchVideo { wanted: wanted.into() }),
        }
    }

    pub fn sentences(&self, video: VideoId) -> Result<Vec<Sentence>, LibraryError> {
        let sql = "SELECT video, start_ms, end_ms, text FROM sentences WHERE video = ?
                   ORDER BY position";
        self.rows(sql, [video.0], read_sentence)
    }

    /// The sentences that contain all of these words or beginnings of words, by video and time.
    pub fn heard(&self, words: &str, max: usize) -> Result<Vec<(VideoId, Sentence)>, LibraryError> {
        let words: Vec<String> = words.split_whitespace().map(like).take(MAX_WORDS).collect();
        if words.is_empty() {
            return Ok(Vec::new());
        }
        let each = vec!["' ' || text LIKE ? ESCAPE '\\'"; words.len()].join(" AND ");
        let sql = format!(
            "SELECT video, start_ms, end_ms, text FROM sentences
             WHERE {each} ORDER BY video, position LIMIT {max}"
        );
        let sentence = |row: &Row<'_>| Ok((VideoId(row.get(0)?), read_sentence(row)?));
        self.rows(&sql, rusqlite::params_from_iter(&words), sentence)
    }

    /// Where shots begin in a video, in milliseconds; empty if its encoder decodes no frames.
    pub fn shots(&self, video: VideoId) -> Result<Vec<u64>, LibraryError> {
        let sql = "SELECT start_ms FROM shots WHERE video = ? ORDER BY start_ms";
        self.rows(sql, [video.0], |row| number(row, 0))
    }

    /// The clips of a video, in order.
    pub fn clips(&self, video: VideoId) -> Result<Vec<Clip>, LibraryError> {
        self.rows(CLIPS, [video.0], read_clip)
    }

    /// Where a shot or a clip begins in a video, in milliseconds.
    pub fn boundaries(&self, video: VideoId) -> Result<Vec<u64>, LibraryError> {
        let sql = "SELECT start_ms FROM shots WHERE video = ?1
                   UNION SELECT start_ms FROM clips WHERE video = ?1 ORDER BY start_ms";
        self.rows(sql, [video.0], |row| number(row, 0))
    }

    pub(super) fn feature_file(&self, video: VideoId) -> Result<FeatureFile, LibraryError> {
        let find = format!("{FEATURE_FILES} WHERE id = ?");
        self.read(|database| database.query_row(&find, [video.0], read_feature_file).optional())?
            .ok_or_else(|| LibraryError::NoSuchVideo { wanted: video.0.to_string() })
    }

    /// The videos that are ready, as of one moment: where `stored` says that they are, by id, and the others with their
    /// clips.
    pub(super) fn ready_videos<T>(
        &self,
        stored: impl Fn(u32, &str) -> Option<T>,
    ) -> Result<(BTreeMap<u32, T>, Vec<LooseVideo>), LibraryError> {
        self.read(|database| {
            let _snapshot = database.unchecked_transaction()?;
            let (mut found, mut loose) = (BTreeMap::new(), Vec::new());
            let sql = "SELECT id, coalesce(sha256, '') FROM videos WHERE status = 'ready'";
            let mut statement = database.prepare_cached(sql)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let (id, sha256): (u32, String) = (row.get(0)?, row.get(1)?);
                match stored(id, &sha256) {
                    Some(place) => drop(found.insert(id, place)),
                    None => loose.push(read_loose(database, id, sha256)?),
                }
            }
            loose.sort_by_key(|video: &LooseVideo| video.id);
            Ok((found, loose))
        })
    }

    /// Deletes a video's record, clips and features; a copy of it is to be indexed instead.
    pub fn remove(&self, video: &VideoRecord) -> Result<(), LibraryError> {
        let _lock = self.lock_writer()?;
        let is_used = self.write(|database| {
            database.execute("DELETE FROM videos WHERE id = ?", [video.id])?;
            choose_originals(database, &[])?;
            let ready = "SELECT 1 FROM videos WHERE content = ? AND status = 'ready'";
            database.prepare(ready)?.exists([&video.content])
        })?;
        if !is_used {
            features::forget(&self.folder, &video.content);
        }
        Ok(())
    }

    /// Marks a video to be indexed again.
    pub(super) fn reset(&self, video: VideoId) -> Result<(), LibraryError> {
        self.write(|database| {
            database.execute("DELETE FROM clips WHERE video = ?", [video.0])?;
            database.execute("UPDATE videos SET status = 'pending' WHERE id = ?", [video.0])?;
            Ok(())
        })
    }

    pub fn stats(&self) -> Result<Stats, LibraryError> {
        let sql = "SELECT count(*), count(*) FILTER (WHERE status = 'ready'),
                   count(*) FILTER (WHERE status = 'failed'),
                   count(*) FILTER (WHERE status = 'duplicate'),
                   count(*) FILTER (WHERE status = 'pending'),
                   coalesce(sum(length_ms), 0) / 1000,
                   (SELECT count(*) FROM sentences), (SELECT count(*) FROM clips) FROM videos";
        let stats = |row: &Row<'_>| {
            Ok(Stats {
                videos: number(row, 0)?,
                ready: number(row, 1)?,
                failed: number(row, 2)?,
                duplicates: number(row, 3)?,
                pending: number(row, 4)?,
                seconds: number(row, 5)?,
                sentences: number(row, 6)?,
                clips: number(row, 7)?,
            })
        };
        self.read(|database| database.query_row(sql, [], stats))
    }

    pub(super) fn rows<T>(
        &self,
        sql: &str,
        params: impl rusqlite::Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, LibraryError> {
        self.read(|database| database.prepare_cached(sql)?.query_map(params, read)?.collect())
    }

    pub(super) fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, LibraryError> {
        work(&self.connection()).map_err(|source| self.database_error(source))
    }

    pub(super) fn write<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, LibraryError> {
        let mut database = self.connection();
        let attempt = || {
            let transaction =
                database.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
            let before = transaction.total_changes();
            let done = work(&transaction)?;
            if transaction.total_changes() > before {
                transaction.execute("UPDATE state SET generation = generation + 1", [])?;
            }
            transaction.commit()?;
            Ok(done)
        };
        attempt().map_err(|source| self.database_error(source))
    }

    fn connection(&self) -> std::sync::MutexGuard<'_, Connection> {
        // A panic elsewhere leaves the connection consistent.
        self.database.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn database_error(&self, source: rusqlite::Error) -> LibraryError {
        LibraryError::Database { file: self.folder.join("library.db"), source }
    }
}

/// Words of a search; more are ignored.
const MAX_WORDS: usize = 8;

/// A LIKE pattern for a word that begins so.
fn like(word: &str) -> String {
    let plain = word.replace('\\', r"\\").replace('%', r"\%").replace('_', r"\_");
    format!("% {plain}%")
}

/// Enters a file as pending if it is new, its bytes changed or it failed. A file of the same bytes that
/// is gone fails, so that this one can take its place.
fn enter_one(database: &Connection, file: &Found) -> rusqlite::Result<()> {
    let path = file.path.to_string_lossy();
    let copies = "SELECT path FROM videos WHERE content = ? AND path <> ?
                  AND status IN ('ready', 'pending')";
    let read = |row: &Row<'_>| row.get::<_, String>(0);
    let copies: Vec<String> = database
        .prepare_cached(copies)?
        .query_map([&*file.content, &*path], read)?
        .collect::<Result<_, _>>()?;
    for copy in copies.iter().filter(|copy| !Path::new(copy).exists()) {
        write_failed(database, copy, "its file is gone; a copy of it is used instead")?;
    }
    let title = title_of(&file.path);
    // An id is never given twice, so that a saved demonstration never points at another video.
    database.execute(
        "INSERT INTO videos (id, path, content, bytes, modified_ms, status, title)
         VALUES (
             (SELECT max(last_video, coalesce((SELECT max(id) FROM videos), 0)) + 1 FROM state),
             ?1, ?2, ?3, ?4, 'pending', ?5)
         ON CONFLICT (path) DO UPDATE SET content = ?2, bytes = ?3, modified_ms = ?4,
         status = 'pending', reason = NULL WHERE content <> ?2 OR status = 'failed'",
        params![path, file.content, file.bytes as i64, file.modified_ms, title],
    )?;
    let given = "UPDATE state SET last_video = (SELECT max(id) FROM videos)
                 WHERE last_video < (SELECT max(id) FROM videos)";
    database.execute(given, []).map(drop)
}

/// Of videos with the same bytes one is indexed and the others are its duplicates: the first that is
/// ready, else the first of the found files, which are indexed now, else the first. Where it failed, the
/// next one is tried: it may have subtitles. Only videos that are not ready are looked at, by an index of them,
/// which SQLite takes where a condition says `status <> 'ready'`.
fn choose_originals(database: &Connection, found: &[Found]) -> rusqlite::Result<()> {
    let paths = paths(found);
    database.execute(
        "UPDATE videos SET status = 'pending', reason = NULL
         WHERE status = 'duplicate' AND status <> 'ready'
         AND NOT EXISTS (SELECT 1 FROM videos AS other
              WHERE other.content = videos.content AND other.status = 'ready')
         AND (path IN (SELECT value FROM json_each(?))
              OR content NOT IN (SELECT content FROM videos
                  WHERE status = 'pending' AND status <> 'ready'))",
        [&paths],
    )?;
    database.execute(
        "UPDATE videos SET status = 'duplicate', reason = original.path FROM
         (SELECT content, path, min(id + 4294967296 * (status <> 'ready')
             * (1 + (path NOT IN (SELECT value FROM json_each(?)))))
          FROM videos WHERE status IN ('ready', 'pending') AND content IN
             (SELECT content FROM videos WHERE status <> 'ready')
          GROUP BY content) AS original
         WHERE original.content = videos.content AND original.path <> videos.path
         AND status <> 'failed' AND (status <> 'duplicate' OR reason IS NOT original.path)",
        [&paths],
    )?;
    for table in ["sentences", "clips", "shots"] {
        let unused = "SELECT id FROM videos WHERE status <> 'ready'";
        database.execute(&format!("DELETE FROM {table} WHERE video IN ({unused})"), [])?;
    }
    Ok(())
}

/// As a JSON list.
fn paths(found: &[Found]) -> String {
    let paths: Vec<_> = found.iter().map(|file| file.path.to_string_lossy()).collect();
    serde_json::json!(paths).to_string()
}

fn write_ready(
    database: &Connection,
    id: u32,
    video: &Video,
    indexed: &Indexed,
    features_sha256: &str,
) -> rusqlite::Result<()> {
    database.execute(
        "UPDATE videos SET status = 'ready', reason = NULL, title = ?2, uploader = ?3, url = ?4,
         licence = ?5, length_ms = ?6, width = ?7, height = ?8, narration_by = ?9, steps_by = ?10,
         features_sha256 = ?11 WHERE id = ?1",
        params![
            id,
            video.title,
            video.uploader,
            video.url,
            video.licence,
            video.length_ms as i64,
            video.width,
            video.height,
            indexed.narration_by,
            indexed.steps_by,
            features_sha256
        ],
    )?;
    for table in ["sentences", "clips", "shots"] {
        database.execute(&format!("DELETE FROM {table} WHERE video = ?"), [id])?;
    }
    let sentences = indexed.sentences.iter().map(|s| (s.start_ms, s.end_ms, &s.text));
    insert_texts(database, "sentences", id, sentences)?;
    let clips = indexed.clips.iter().map(|clip| (clip.span.start(), clip.span.end(), &clip.text));
    insert_texts(database, "clips", id, clips)?;
    let mut shot = database.prepare("INSERT OR IGNORE INTO shots VALUES (?, ?)")?;
    indexed
        .shots
        .iter()
        .try_for_each(|start| shot.execute(params![id, *start as i64]).map(drop))?;
    checksum::store(database, id)
}

fn insert_texts<'a>(
    database: &Connection,
    table: &str,
    video: u32,
    texts: impl Iterator<Item = (u64, u64, &'a String)>,
) -> rusqlite::Result<()> {
    let mut insert = database.prepare(&format!("INSERT INTO {table} VALUES (?, ?, ?, ?, ?)"))?;
    for (position, (start, end, text)) in texts.enumerate() {
        insert.execute(params![video, position as i64, start as i64, end as i64, text])?;
    }
    Ok(())
}

fn write_failed(database: &Connection, path: &str, reason: &str) -> rusqlite::Result<()> {
    let sql = "UPDATE videos SET status = 'failed', reason = ? WHERE path = ?";
    database.execute(sql, [reason, path]).map(drop)
}

fn read_video(row: &Row<'_>) -> rusqlite::Result<VideoRecord> {
    let reason = row.get::<_, Option<String>>(4)?.unwrap_or_default();
    Ok(VideoRecord {
        id: row.get(0)?,
        path: row.get::<_, String>(1)?.into(),
        content: row.get(2)?,
        status: match row.get::<_, String>(3)?.as_str() {
            "ready" => VideoStatus::Ready,
            "failed" => VideoStatus::Failed(reason),
            "duplicate" => VideoStatus::Duplicate(reason),
            _ => VideoStatus::Pending,
        },
        video: Video {
            title: row.get(5)?,
            uploader: row.get(6)?,
            url: row.get(7)?,
            licence: row.get(8)?,
            length_ms: row.get::<_, Option<i64>>(9)?.unwrap_or(0).max(0) as u64,
            width: row.get::<_, Option<u32>>(10)?.unwrap_or(0),
            height: row.get::<_, Option<u32>>(11)?.unwrap_or(0),
        },
        narration_by: row.get(12)?,
        steps_by: row.get(13)?,
        clips: row.get(14)?,
    })
}

/// Those of the videos that are ready.
pub(super) fn ready_feature_files(database: &Connection) -> rusqlite::Result<Vec<FeatureFile>> {
    let sql = format!("{FEATURE_FILES} WHERE status = 'ready'");
    database.prepare(&sql)?.query_map([], read_feature_file)?.collect()
}

fn read_loose(database: &Connection, id: u32, sha256: String) -> rusqlite::Result<LooseVideo> {
    let file = format!("{FEATURE_FILES} WHERE id = ?");
    let file = database.prepare_cached(&file)?.query_row([id], read_feature_file)?;
    let clips =
        database.prepare_cached(CLIPS)?.query_map([id], read_clip)?.collect::<Result<_, _>>()?;
    Ok(LooseVideo { id, sha256, file, clips })
}

fn read_feature_file(row: &Row<'_>) -> rusqlite::Result<FeatureFile> {
    let (content, sha256) = (row.get(0)?, row.get(1)?);
    Ok(FeatureFile { content, sha256, clips: number(row, 2)? as usize })
}

fn read_sentence(row: &Row<'_>) -> rusqlite::Result<Sentence> {
    Ok(Sentence { start_ms: number(row, 1)?, end_ms: number(row, 2)?, text: row.get(3)? })
}

fn read_clip(row: &Row<'_>) -> rusqlite::Result<Clip> {
    let span = Span::new(number(row, 1)?, number(row, 2)?);
    let span = span.ok_or(rusqlite::Error::IntegralValueOutOfRange(2, 0))?;
    Ok(Clip { video: VideoId(row.get(0)?), span, text: row.get(3)? })
}

/// SQLite's integers are signed; none here is negative.
fn number(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(row.get::<_, i64>(column)?.max(0) as u64)
}
