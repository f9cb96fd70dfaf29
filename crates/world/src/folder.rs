//! The folder a library is made in: its manifest, its lock, and how files are written into it.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use stitch_engine::files::{FileError, write_whole};

use crate::settings::{Settings, WorldError};

const MANIFEST: &str = "world.json";
const LOCK: &str = ".world.lock";
/// What names of unfinished files begin with, here and in [`stitch_engine::files`].
pub const WRITING: &str = ".writing-";

/// world.json: what a folder was made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Of this format and of everything that decides pixels.
    version: u32,
    settings: Settings,
    form: Form,
}

/// What is kept of a library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// Videos with speech.
    Spoken,
    /// Videos without sound.
    Silent,
    /// Single frames, this many of each shot.
    Frames(usize),
}

impl Manifest {
    pub fn new(settings: Settings, form: Form) -> Self {
        Self { version: 1, settings, form }
    }

    /// Whether the files that `was` describes can be kept: the same settings, or fewer videos.
    fn extends(&self, was: &Self) -> bool {
        let grown = Settings { videos: self.settings.videos, ..was.settings };
        let same = Self { settings: grown, ..was.clone() };
        *self == same && self.settings.videos >= was.settings.videos
    }

    fn describe(&self) -> String {
        let Settings { tasks, seed, videos, width, height } = self.settings;
        let form = match self.form {
            Form::Spoken => "with speech".to_owned(),
            Form::Silent => "without speech".to_owned(),
            Form::Frames(per_step) => format!("{per_step} frames a step"),
        };
        let tasks = format!("{tasks:?}").to_lowercase();
        format!("{tasks} tasks, seed {seed}, {videos} videos, {width}x{height}, {form}")
    }
}

/// A folder that is locked until this is dropped.
pub struct Folder {
    path: PathBuf,
    _lock: File,
}

impl Folder {
    /// Locks a folder for this manifest: an empty one, one that is not there yet, one that an earlier
    /// run with the same settings left, or with `force` any library.
    pub fn open(path: &Path, manifest: &Manifest, force: bool) -> Result<Self, WorldError> {
        if path.is_file() {
            return Err(WorldError::NotAFolder { path: path.to_owned() });
        }
        std::fs::create_dir_all(path).map_err(FileError::at(path))?;
        let was = read_manifest(path)?;
        if was.is_none() && !is_empty(path)? {
            return Err(WorldError::Foreign { folder: path.to_owned() });
        }
        let folder = Self { path: path.to_owned(), _lock: lock(path)? };
        match was {
            Some(was) if !manifest.extends(&was) && !force => {
                let (was, asked) = (was.describe(), manifest.describe());
                return Err(WorldError::Different { folder: folder.path, was, asked });
            }
            Some(_) if force => folder.clear()?,
            _ => folder.remove(|name| name.starts_with(WRITING))?,
        }
        folder.write_json(MANIFEST, manifest)?;
        Ok(folder)
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), FileError> {
        let path = self.join(name);
        let json = serde_json::to_vec_pretty(value).map_err(std::io::Error::from);
        write_whole(&path, &json.map_err(FileError::at(&path))?)
    }

    pub fn write_json_lines(&self, name: &str, values: &[impl Serialize]) -> Result<(), FileError> {
        let path = self.join(name);
        let mut text = String::new();
        for value in values {
            let line = serde_json::to_string(value).map_err(std::io::Error::from);
            text += &line.map_err(FileError::at(&path))?;
            text.push('\n');
        }
        write_whole(&path, text.as_bytes())
    }

    /// Removes every file of a library, and nothing else.
    fn clear(&self) -> Result<(), FileError> {
        let endings = [".mp4", ".srt", ".info.json", ".frames"];
        let names = ["truth.json", "procedures.jsonl", "frames.jsonl", "videos.jsonl", MANIFEST];
        self.remove(|name| {
            name.starts_with(WRITING)
                || names.contains(&name)
                || endings.iter().any(|ending| name.ends_with(ending))
        })
    }

    fn remove(&self, chosen: impl Fn(&str) -> bool) -> Result<(), FileError> {
        for entry in std::fs::read_dir(&self.path).map_err(FileError::at(&self.path))? {
            let path = entry.map_err(FileError::at(&self.path))?.path();
            if path.file_name().and_then(|name| name.to_str()).is_some_and(&chosen) {
                let removed = if path.is_dir() {
                    std::fs::remove_dir_all(&path)
                } else {
                    std::fs::remove_file(&path)
                };
                removed.map_err(FileError::at(path))?;
            }
        }
        Ok(())
    }
}

/// The manifest of a folder, if it has one. A folder whose manifest cannot be read is not a library's.
fn read_manifest(folder: &Path) -> Result<Option<Manifest>, WorldError> {
    let path = folder.join(MANIFEST);
    match std::fs::read(&path) {
        Ok(bytes) => match serde_json::from_slice(&bytes) {
            Ok(manifest) => Ok(Some(manifest)),
            Err(_) => Err(WorldError::Foreign { folder: folder.to_owned() }),
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(FileError::at(path)(error).into()),
    }
}

/// Whether the folder holds nothing but what a run that was killed at its start leaves.
fn is_empty(folder: &Path) -> Result<bool, FileError> {
    for entry in std::fs::read_dir(folder).map_err(FileError::at(folder))? {
        let name = entry.map_err(FileError::at(folder))?.file_name();
        if name != LOCK && !name.to_string_lossy().starts_with(WRITING) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Locks the folder against a second run; the system unlocks it however this one ends.
fn lock(folder: &Path) -> Result<File, WorldError> {
    let path = folder.join(LOCK);
    let file = File::create(&path).map_err(FileError::at(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(WorldError::Busy { folder: folder.to_owned() }),
        Err(TryLockError::Error(error)) => Err(FileError::at(path)(error).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPOKEN: Manifest =
        Manifest { version: 1, settings: Settings::DEFAULT, form: Form::Spoken };

    fn names(folder: &Path) -> Vec<String> {
        let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name();
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| name(entry).to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_foreign_folder_is_left_alone_even_by_force() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("thesis.doc"), "x").unwrap();
        for force in [false, true] {
            let taken = Folder::open(folder.path(), &SPOKEN, force);
            assert!(matches!(taken, Err(WorldError::Foreign { .. })));
        }
        assert_eq!(names(folder.path()), ["thesis.doc"]);
        std::fs::write(folder.path().join(MANIFEST), "{\"mine\":1}").unwrap();
        assert!(matches!(
            Folder::open(folder.path(), &SPOKEN, true),
            Err(WorldError::Foreign { .. })
        ));
    }

    #[test]
    fn the_same_and_a_larger_library_go_on_another_needs_force() {
        let folder = tempfile::tempdir().unwrap();
        drop(Folder::open(folder.path(), &SPOKEN, false).unwrap());
        std::fs::write(folder.path().join("a.mp4"), "x").unwrap();
        std::fs::write(folder.path().join("notes.txt"), "x").unwrap();
        std::fs::write(folder.path().join(".writing-abc.mp4"), "x").unwrap();
        let mut larger = SPOKEN;
        larger.settings.videos = 48;
        drop(Folder::open(folder.path(), &larger, false).unwrap());
        assert_eq!(names(folder.path()), [".world.lock", "a.mp4", "notes.txt", "world.json"]);

        let refused = Folder::open(folder.path(), &SPOKEN, false).err().unwrap().to_string();
        assert!(refused.contains("48 videos") && refused.contains("--force"), "{refused}");
        drop(Folder::open(folder.path(), &SPOKEN, true).unwrap());
        assert_eq!(names(folder.path()), [".world.lock", "notes.txt", "world.json"]);
    }

    #[test]
    fn a_file_is_no_folder() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let taken = Folder::open(file.path(), &SPOKEN, true);
        assert!(matches!(taken, Err(WorldError::NotAFolder { .. })));
    }

    #[test]
    fn two_runs_do_not_share_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let first = Folder::open(folder.path(), &SPOKEN, false).unwrap();
        let second = Folder::open(folder.path(), &SPOKEN, false);
        assert!(matches!(second, Err(WorldError::Busy { .. })));
        drop(first);
        assert!(Folder::open(folder.path(), &SPOKEN, false).is_ok());
    }
}
