//! Checking every file and row of a library, and repairing what can be made again.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use serde::Serialize;
use stitch_core::clip::VideoId;

use super::error::RESTORE;
use super::store::ready_feature_files;
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
    /// How it was repaired.
    pub repaired: Option<String>,
    #[serde(skip)]
    part: Part,
}

#[derive(Debug)]
enum Part {
    Database,
    Pool,
    Calibration,
    /// The file of the video itself, which is not ours.
    Source,
    /// Rows or features of a video: indexing it makes them again.
    Video(Box<VideoRecord>),
    /// An older version wrote no checksum of this video's features.
    NoChecksum(u32),
    /// A run that was killed has left the file.
    Leftover,
}

impl Damage {
    fn of(path: &Path, reason: impl Into<String>, part: Part) -> Self {
        Self { video: None, path: path.into(), reason: reason.into(), repaired: None, part }
    }

    /// Whether it is still there; a checksum that an older version did not write is no damage.
    pub fn is_left(&self) -> bool {
        self.repaired.is_none() && !matches!(self.part, Part::NoChecksum(_))
    }
}

const PAGE_IS_DAMAGED: &str = "restore a backup made by `stitch library backup`, or remove the file, which \
                               loses jobs and demonstrations";
const FILE_IS_GONE: &str = "its file is gone; bring it back and index it again";

impl Library {
    /// All damage: of the databases, of the rows and features of every video that is ready, and of the pool.
    pub fn verify(&self) -> Result<Vec<Damage>, LibraryError> {
        let mut found = self.verify_database()?;
        if !found.is_empty() {
            return Ok(found); // what the rows say cannot be trusted
        }
        found.extend(self.verify_page()?);
        found.extend(self.calibration().err().map(|error| {
            Damage::of(&self.calibration_file(), error.to_string(), Part::Calibration)
        }));
        for video in self.videos()?.into_iter().filter(|v| v.status == VideoStatus::Ready) {
            found.extend(self.verify_if_same(&video)?);
        }
        found.extend(features::pools(&self.folder).into_iter().filter_map(verify_pool));
        Ok(found)
    }

    /// Repairs what can be made again and removes what killed runs have left. No other process writes
    /// between finding a damage and repairing it.
    pub fn verify_and_repair(&self) -> Result<Vec<Damage>, LibraryError> {
        let _lock = self.lock_writer()?;
        let mut found = self.verify()?;
        // Damaged rows do not say which files are used.
        if !found.iter().any(|damage| matches!(damage.part, Part::Database | Part::Video(_))) {
            let ready = self.read(ready_feature_files)?;
            let unused = features::leftovers(&self.folder, &ready);
            let leftover = |file: &PathBuf| Damage::of(file, "nothing uses it", Part::Leftover);
            found.extend(unused.iter().map(leftover));
        }
        found.iter_mut().try_for_each(|damage| self.repair(damage))?;
        self.store_checksums(&mut found)?;
        Ok(found)
    }

    fn repair(&self, damage: &mut Damage) -> Result<(), LibraryError> {
        damage.repaired = match &damage.part {
            Part::Pool => {
                remove(&damage.path)?;
                Some("removed; the next query makes it again from the features".into())
            }
            Part::Leftover => {
                remove(&damage.path)?;
                Some("removed".into())
            }
            Part::Video(record) if record.path.is_file() => {
                self.reset(VideoId(record.id))?;
                let (path, library) = (record.path.display(), self.folder.display());
                let again = format!("`stitch index '{path}' --library '{library}'`");
                Some(format!("marked; {again} indexes the video again"))
            }
            Part::Video(record) => {
                self.fail(
                    record,
                    &format!("what was indexed of it is damaged and {FILE_IS_GONE}"),
                )?;
                damage.reason += &format!("; {FILE_IS_GONE}");
                None
            }
            Part::Database | Part::Calibration | Part::Source | Part::NoChecksum(_) => None,
        };
        Ok(())
    }

    /// In one transaction: a library of format 2 may have thousands of videos.
    fn store_checksums(&self, found: &mut [Damage]) -> Result<(), LibraryError> {
        let mut checksums = Vec::new();
        for damage in found {
            if let Part::NoChecksum(video) = damage.part {
                let bytes = std::fs::read(&damage.path).map_err(FileError::at(&damage.path))?;
                checksums.push((video, checksum::sha256(&bytes)));
                damage.repaired = Some("its checksum is stored now".into());
            }
        }
        let sql = "UPDATE videos SET features_sha256 = ? WHERE id = ?";
        self.write(|database| {
            checksums.iter().try_for_each(|(video, sha256)| {
                database.execute(sql, rusqlite::params![sha256, video])?;
                checksum::store(database, *video)
            })
        })
    }

    fn verify_database(&self) -> Result<Vec<Damage>, LibraryError> {
        let reasons = self.read(|database| {
            let mut reasons = integrity(database)?;
            let state = "SELECT encoder_sha256, generation, last_video FROM state";
            let (stored, _, _): (String, i64, i64) =
                database.query_row(state, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
            if stored != checksum::of_encoder(database)? {
                reasons.push("the name of the encoder has changed since it was written".into());
            }
            Ok(reasons)
        })?;
        Ok(in_database(&self.folder.join("library.db"), &reasons, RESTORE))
    }

    fn verify_page(&self) -> Result<Vec<Damage>, LibraryError> {
        let file = self.folder.join("page/page.db");
        if !file.is_file() {
            return Ok(Vec::new());
        }
        let reasons = schema::recovered(&file).and_then(|database| integrity(&database));
        let reasons = reasons.unwrap_or_else(|error| vec![error.to_string()]);
        Ok(in_database(&file, &reasons, PAGE_IS_DAMAGED))
    }

    /// Nothing of a video that another process has removed or changed meanwhile.
    fn verify_if_same(&self, video: &VideoRecord) -> Result<Vec<Damage>, LibraryError> {
        let found = self.verify_video(video);
        match self.video(VideoId(video.id)) {
            Ok(now) if now == *video => found,
            Ok(_) | Err(LibraryError::NoSuchVideo { .. }) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    fn verify_video(&self, video: &VideoRecord) -> Result<Vec<Damage>, LibraryError> {
        let damage = |path: &Path, reason: String, part| Damage {
            video: Some(video.id),
            ..Damage::of(path, reason, part)
        };
        let mut found = Vec::new();
        let file = self.feature_file(VideoId(video.id))?;
        let path = file.path(&self.folder);
        if let Some(reason) = self.damaged_rows(video)? {
            found.push(damage(&video.path, reason, Part::Video(Box::new(video.clone()))));
        } else if let Err(e) = features::read_checked(&self.folder, self.encoder.dim, &file) {
            found.push(damage(&path, reason(e), Part::Video(Box::new(video.clone()))));
        } else if file.sha256.is_none() {
            let reason = "an older version wrote it without a checksum, which `--repair` stores";
            found.push(damage(&path, reason.into(), Part::NoChecksum(video.id)));
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
}

fn verify_pool(path: PathBuf) -> Option<Damage> {
    let reason = reason(features::check_pool(&path).err()?);
    // A query of another process may have replaced it meanwhile.
    path.exists().then(|| Damage::of(&path, reason, Part::Pool))
}

/// A query of another process may have removed a pool meanwhile.
fn remove(file: &Path) -> Result<(), FileError> {
    match std::fs::remove_file(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(FileError::at(file)),
    }
}

/// What is wrong with a file, without its name and what to do.
fn reason(error: LibraryError) -> String {
    match error {
        LibraryError::Features { reason, .. } => reason,
        LibraryError::File(error) => error.source.to_string(),
        error => error.to_string(),
    }
}

fn in_database(file: &Path, reasons: &[String], what_to_do: &str) -> Vec<Damage> {
    let damage = |reason| Damage::of(file, format!("{reason}; {what_to_do}"), Part::Database);
    reasons.iter().map(damage).collect()
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

#[cfg(test)]
mod tests {
    use super::super::Found;
    use super::*;
    use crate::encoder::EncoderId;

    #[test]
    fn a_video_that_was_removed_meanwhile_is_not_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let encoder = EncoderId { name: "fake".into(), dim: 2, weights: "none".into() };
        let library = Library::open_or_create(folder.path(), &encoder).unwrap();
        let path = folder.path().join("soup.mp4");
        let found = Found { path, content: "abc".into(), bytes: 1, modified_ms: 1 };
        library.enter(&[found]).unwrap();
        let listed = library.find("soup.mp4").unwrap();
        assert!(!library.verify_if_same(&listed).unwrap().is_empty(), "it has no features");
        library.remove(&listed).unwrap();
        assert!(library.verify_if_same(&listed).unwrap().is_empty());
    }
}
