//! Checking every file and row of a library, and repairing what can be made again.

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use serde::Serialize;
use stitch_core::clip::VideoId;

use super::{Library, LibraryError, VideoRecord, VideoStatus, checksum, features, schema};
use crate::files::FileError;

/// Something in a library that is not as it was written.
#[derive(Debug, Serialize)]
pub struct Damage {
    /// The id of the video that it is about.
    pub video: Option<u32>,
    pub path: PathBuf,
    #[serde(rename = "damage")]
    pub reason: String,
    #[serde(skip)]
    part: Part,
}

#[derive(Debug)]
enum Part {
    Database,
    Pool,
    /// The file of the video itself, which is not ours.
    Source,
    /// Rows or features of a video: indexing it makes them again.
    Video(Box<VideoRecord>),
    /// An older version wrote no checksum of the features.
    NoChecksum,
}

impl Library {
    /// All damage: of the databases, of the rows and features of every video that is ready, and of the pool.
    pub fn verify(&self) -> Result<Vec<Damage>, LibraryError> {
        let mut found = self.verify_database()?;
        if !found.is_empty() {
            return Ok(found); // what the rows say cannot be trusted
        }
        found.extend(self.verify_page()?);
        for video in self.videos()?.into_iter().filter(|v| v.status == VideoStatus::Ready) {
            let damage = self.verify_video(&video)?;
            // Another process may have changed it meanwhile.
            if !damage.is_empty() && self.video(VideoId(video.id)).is_ok_and(|now| now == video) {
                found.extend(damage);
            }
        }
        found.extend(features::pools(&self.folder).into_iter().filter_map(verify_pool));
        Ok(found)
    }

    /// Repairs one damage and says how; none if it cannot be repaired.
    pub fn repair(&self, damage: &Damage) -> Result<Option<String>, LibraryError> {
        let _lock = self.lock_writer()?;
        match (&damage.part, damage.video) {
            (Part::Pool, _) => {
                std::fs::remove_file(&damage.path).map_err(FileError::at(&damage.path))?;
                Ok(Some("removed; the next query makes it again from the features".into()))
            }
            (Part::Video(record), _) if record.path.is_file() => {
                self.reset(VideoId(record.id))?;
                let path = record.path.display();
                Ok(Some(format!("marked; `stitch index '{path}'` indexes the video again")))
            }
            (Part::Video(record), _) => {
                let reason = "what was indexed of it is damaged and its file is gone; bring the file \
                              back and index it again";
                self.fail(record, reason)?;
                Ok(None)
            }
            (Part::NoChecksum, Some(video)) => {
                self.store_checksum(VideoId(video))?;
                Ok(Some("its checksum is stored now".into()))
            }
            _ => Ok(None),
        }
    }

    fn verify_database(&self) -> Result<Vec<Damage>, LibraryError> {
        let reasons = self.read(|database| {
            let mut reasons = integrity(database)?;
            let state =
                "SELECT encoder_sha256, last_video >= (SELECT coalesce(max(id), 0) FROM videos)
                         FROM state";
            let (encoder, counted): (String, bool) =
                database.query_row(state, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
            if encoder != checksum::of_encoder(database)? {
                reasons.push("the name of the encoder has changed since it was written".into());
            }
            if !counted {
                reasons.push("a video has a higher id than was ever given".into());
            }
            Ok(reasons)
        })?;
        Ok(in_database(&self.folder.join("library.db"), reasons))
    }

    fn verify_page(&self) -> Result<Vec<Damage>, LibraryError> {
        let file = self.folder.join("page/page.db");
        if !file.is_file() {
            return Ok(Vec::new());
        }
        let reasons = schema::read_only(&file).and_then(|database| integrity(&database));
        Ok(in_database(&file, reasons.unwrap_or_else(|error| vec![error.to_string()])))
    }

    fn verify_video(&self, video: &VideoRecord) -> Result<Vec<Damage>, LibraryError> {
        let damage = |path: &Path, reason: String, part| Damage {
            video: Some(video.id),
            path: path.into(),
            reason,
            part,
        };
        let mut found = Vec::new();
        let file = self.feature_file(VideoId(video.id))?;
        let path = file.path(&self.folder);
        if let Some(reason) = self.damaged_rows(video)? {
            found.push(damage(&video.path, reason, Part::Video(Box::new(video.clone()))));
        } else if let Err(e) = features::read_checked(&self.folder, self.encoder.dim, &file) {
            found.push(damage(&path, reason(e), Part::Video(Box::new(video.clone()))));
        } else if file.sha256.is_none() {
            let reason = "an older version wrote it, without a checksum".into();
            found.push(damage(&path, reason, Part::NoChecksum));
        }
        if !video.path.is_file() {
            let reason = "its file is gone; bring it back, or `stitch library remove` it".into();
            found.push(damage(&video.path, reason, Part::Source));
        }
        Ok(found)
    }

    fn damaged_rows(&self, video: &VideoRecord) -> Result<Option<String>, LibraryError> {
        let sql = "SELECT sha256 FROM videos WHERE id = ?";
        let intact = self.read(|database| {
            let _snapshot = database.unchecked_transaction()?;
            let stored: Option<String> = database.query_row(sql, [video.id], |row| row.get(0))?;
            Ok(stored == Some(checksum::of_video(database, video.id)?))
        })?;
        Ok((!intact).then(|| "its rows in library.db have changed since they were written".into()))
    }

    fn store_checksum(&self, video: VideoId) -> Result<(), LibraryError> {
        let path = self.feature_file(video)?.path(&self.folder);
        let bytes = std::fs::read(&path).map_err(FileError::at(&path))?;
        let sha256 = checksum::sha256(&bytes);
        self.write(|database| {
            let sql = "UPDATE videos SET features_sha256 = ? WHERE id = ?";
            database.execute(sql, rusqlite::params![sha256, video.0])?;
            checksum::store(database, video.0)
        })
    }
}

fn verify_pool(path: PathBuf) -> Option<Damage> {
    let reason = reason(features::check_pool(&path).err()?);
    // A query of another process may have replaced it meanwhile.
    path.exists().then_some(Damage { video: None, path, reason, part: Part::Pool })
}

/// What is wrong with a file, without its name and what to do.
fn reason(error: LibraryError) -> String {
    match error {
        LibraryError::Features { reason, .. } => reason,
        LibraryError::File(error) => error.source.to_string(),
        error => error.to_string(),
    }
}

fn in_database(file: &Path, reasons: Vec<String>) -> Vec<Damage> {
    let damage = |reason| Damage { video: None, path: file.into(), reason, part: Part::Database };
    reasons.into_iter().map(damage).collect()
}

/// What SQLite finds wrong with pages, indexes, constraints and references.
fn integrity(database: &Connection) -> rusqlite::Result<Vec<String>> {
    let first_column = |sql: &str| {
        let mut statement = database.prepare(sql)?;
        let rows = statement.query_map([], |row| row.get::<_, String>(0))?;
        rows.collect::<rusqlite::Result<Vec<_>>>()
    };
    let mut reasons = first_column("PRAGMA integrity_check")?;
    reasons.retain(|reason| reason != "ok");
    let orphans = first_column("PRAGMA foreign_key_check")?;
    reasons.extend(orphans.iter().map(|table| format!("a row of {table} belongs to nothing")));
    Ok(reasons)
}
