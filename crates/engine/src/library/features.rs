//! Feature files of videos, as safetensors of f16 rows. Their checksums are in the database, those of the pool's
//! segments in the segments' names.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use half::f16;
use half::slice::HalfFloatSliceExt;
use memmap2::Mmap;
use safetensors::tensor::{Dtype, SafeTensorError, SafeTensors, TensorView};
use stitch_core::features::Features;
use stitch_core::pool::{Agreement, Moment};

use super::{LibraryError, checksum};
use crate::encoder::appearance;
use crate::files::{FileError, UNFINISHED, write_whole};
use crate::footage::{self, Footage};

/// The tensor of [`Footage`].
const FOOTAGE: &str = "footage";
/// The tensor of the clips' moments.
pub(super) const APPEARANCE: &str = "appearance";
/// What the name of a pool begins with.
const POOL: &str = "pool-";
const ENDING: &str = ".safetensors";
/// The folder of the videos' files.
const FOLDER: &str = "features";
/// After which a temporary file is a leftover: readers write pools without a lock.
const UNFINISHED_AGE: Duration = Duration::from_secs(24 * 60 * 60);
/// The metadata key of [`Agreement`].
const AGREEMENT: &str = "words that suit their own clip";

/// The features of one video.
#[derive(Clone, Debug, PartialEq)]
pub struct VideoFeatures {
    /// F_M's feature of each second.
    pub seconds: Features,
    pub text: Features,
    /// F_M's features of the clips.
    pub clip: Features,
    /// For each clip a row for every [`Moment`]; zeros if an older version wrote the file.
    pub appearance: Features,
    pub footage: Footage,
    pub agreement: Agreement,
}

/// The features of a video as the database knows them.
#[derive(Debug, PartialEq)]
pub(super) struct FeatureFile {
    /// What identifies the bytes of the video.
    pub content: String,
    /// None if an older version wrote the file.
    pub sha256: Option<String>,
    /// Rows that it must have.
    pub clips: usize,
}

impl FeatureFile {
    pub fn path(&self, folder: &Path) -> PathBuf {
        path(folder, &self.content)
    }
}

impl VideoFeatures {
    /// The bytes of a feature file.
    pub fn to_bytes(&self) -> Result<Vec<u8>, LibraryError> {
        let features = [
            ("seconds", &self.seconds),
            ("text", &self.text),
            ("clip", &self.clip),
            (APPEARANCE, &self.appearance),
        ];
        serialize(&features, &self.footage, self.agreement)
            .map_err(|error| damaged(Path::new(FOLDER), error))
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<Self, LibraryError> {
        Tensors { file: FOLDER.into(), bytes: Box::new(bytes) }.video_features()
    }
}

/// Writes the bytes of a feature file; returns their checksum.
pub(super) fn write(folder: &Path, content: &str, bytes: &[u8]) -> Result<String, LibraryError> {
    write_whole(&path(folder, content), bytes)?;
    Ok(checksum::sha256(bytes))
}

pub(super) fn read(folder: &Path, of: &FeatureFile) -> Result<VideoFeatures, LibraryError> {
    let tensors = Tensors::open(&of.path(folder))?;
    let features = tensors.video_features()?;
    // Last: what cannot be parsed says more about its damage.
    tensors.check(of.sha256.as_deref())?;
    Ok(features)
}

/// Without comparing the checksum: a query reads this of many videos, and a part of each file.
pub(super) fn footage(folder: &Path, content: &str) -> Result<Footage, LibraryError> {
    Tensors::open(&path(folder, content))?.footage()
}

pub(super) fn forget(folder: &Path, content: &str) {
    let _ = std::fs::remove_file(path(folder, content));
}

/// An error unless the bytes of a pool have the checksum of its name.
pub(super) fn check_pool(file: &Path) -> Result<(), LibraryError> {
    Tensors::open(file)?.check(checksum_in_name(&file_name(file)))
}

/// None in the pools of format 2, which the next query replaces.
fn checksum_in_name(pool: &str) -> Option<&str> {
    let last = pool.strip_suffix(ENDING)?.rsplit('-').next()?;
    let is_sha256 = last.len() == 64 && last.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_sha256.then_some(last)
}

pub(super) fn segment_name(sha256: &str) -> String {
    format!("{POOL}{sha256}{ENDING}")
}

/// Older versions wrote the whole pool to one file of a longer name.
pub(super) fn is_segment(pool: &Path) -> bool {
    let name = file_name(pool);
    checksum_in_name(&name).is_some_and(|sha256| segment_name(sha256) == name)
}

/// The pool files of a library.
pub(super) fn pools(folder: &Path) -> Vec<PathBuf> {
    let mut files = files_in(folder);
    files.retain(|file| file_name(file).starts_with(POOL) && file_name(file).ends_with(ENDING));
    files
}

/// Files that a run which was killed has left: features that no ready video has, and temporary files that
/// are too old for somebody to be writing them.
pub(super) fn leftovers(folder: &Path, ready: &[FeatureFile]) -> Vec<PathBuf> {
    let used: HashSet<PathBuf> = ready.iter().map(|file| file.path(folder)).collect();
    let features = folder.join(FOLDER);
    let is_old = |file: &Path| {
        let modified = file.metadata().and_then(|metadata| metadata.modified());
        modified.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > UNFINISHED_AGE))
    };
    let is_left = |file: &PathBuf| match file_name(file) {
        name if name.starts_with(UNFINISHED) => is_old(file),
        name => file.starts_with(&features) && name.ends_with(ENDING) && !used.contains(file),
    };
    files_in(folder).into_iter().chain(files_in(&features)).filter(is_left).collect()
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn file_name(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// An error unless the features are those of the clips, in this library's dimension.
pub(super) fn read_checked(
    folder: &Path,
    dim: usize,
    of: &FeatureFile,
) -> Result<VideoFeatures, LibraryError> {
    let video = read(folder, of)?;
    check_rows(&of.path(folder), (&video.text, &video.clip), dim, of.clips)?;
    Ok(video)
}

pub(super) fn check_rows(
    file: &Path,
    (text, clip): (&Features, &Features),
    dim: usize,
    clips: usize,
) -> Result<(), LibraryError> {
    let reason = if clip.dim() != dim {
        format!("its rows have {} numbers, the library's encoder makes {dim}", clip.dim())
    } else if text.len() != clips || clip.len() != clips {
        format!("it has {} rows for {clips} clips", clip.len())
    } else {
        return Ok(());
    };
    Err(damaged(file, reason))
}

pub(super) fn damaged(file: &Path, reason: impl ToString) -> LibraryError {
    LibraryError::Features { file: file.into(), reason: reason.to_string() }
}

/// Inside of the folder, whatever a library or a shard of others says.
pub(super) fn path(folder: &Path, content: &str) -> PathBuf {
    let name = content.replace(['/', '\\'], "_");
    folder.join(FOLDER).join(format!("{name}{ENDING}"))
}

fn serialize(
    tensors: &[(&str, &Features)],
    footage: &Footage,
    agreement: Agreement,
) -> Result<Vec<u8>, SafeTensorError> {
    let bytes: Vec<Vec<u8>> = tensors.iter().map(|(_, features)| half_bytes(features)).collect();
    let rows = tensors.iter().zip(&bytes).map(|((name, features), bytes)| {
        let shape = vec![features.len(), features.dim()];
        Ok((*name, TensorView::new(Dtype::F16, shape, bytes)?))
    });
    let shape = vec![footage.seconds(), footage::GRID_CELLS];
    let looks = TensorView::new(Dtype::U8, shape, footage.as_slice()).map(|view| (FOOTAGE, view));
    let views = rows.chain([looks]).collect::<Result<Vec<_>, _>>()?;
    let Agreement { suits, of } = agreement;
    let about = HashMap::from([(AGREEMENT.to_owned(), format!("{suits} of {of}"))]);
    safetensors::serialize(views, Some(about))
}

pub(super) fn half_bytes(features: &Features) -> Vec<u8> {
    let mut halves = vec![f16::ZERO; features.as_slice().len()];
    halves.convert_from_f32_slice(features.as_slice());
    halves.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// The bytes of a safetensors file, memory-mapped where it is one; `file` is for messages.
pub(super) struct Tensors<'a> {
    file: PathBuf,
    bytes: Box<dyn AsRef<[u8]> + Send + Sync + 'a>,
}

impl Tensors<'_> {
    pub fn open(file: &Path) -> Result<Self, LibraryError> {
        let opened = File::open(file).map_err(|error| match error.kind() {
            ErrorKind::NotFound => damaged(file, "it is missing"),
            _ => FileError::at(file)(error).into(),
        })?;
        // Safety: feature files are replaced by renaming, never changed in place.
        let map = unsafe { Mmap::map(&opened) }.map_err(FileError::at(file))?;
        Ok(Self { file: file.into(), bytes: Box::new(map) })
    }

    pub fn bytes(&self) -> &[u8] {
        (*self.bytes).as_ref()
    }

    fn video_features(&self) -> Result<VideoFeatures, LibraryError> {
        let clip = self.features("clip")?;
        Ok(VideoFeatures {
            seconds: self.features("seconds")?,
            text: self.features("text")?,
            appearance: self.appearance(clip.len())?,
            clip,
            footage: self.footage()?,
            agreement: self.agreement(),
        })
    }

    pub fn check(&self, sha256: Option<&str>) -> Result<(), LibraryError> {
        match sha256.is_none_or(|sha256| sha256 == checksum::sha256(self.bytes())) {
            true => Ok(()),
            false => Err(damaged(&self.file, "its bytes have changed since it was written")),
        }
    }

    pub fn tensors(&self) -> Result<SafeTensors<'_>, LibraryError> {
        SafeTensors::deserialize(self.bytes()).map_err(|error| damaged(&self.file, error))
    }

    /// Empty in files of older versions.
    fn footage(&self) -> Result<Footage, LibraryError> {
        let tensors = self.tensors()?;
        let Ok(tensor) = tensors.tensor(FOOTAGE) else { return Ok(Footage::default()) };
        match (tensor.dtype(), tensor.shape()) {
            (Dtype::U8, &[_, footage::GRID_CELLS]) => Ok(Footage::new(tensor.data().to_vec())),
            _ => Err(damaged(&self.file, format!("`{FOOTAGE}` is not a matrix of bytes"))),
        }
    }

    /// Zeros in files of older versions.
    fn appearance(&self, clips: usize) -> Result<Features, LibraryError> {
        let rows = clips * Moment::ALL.len();
        let found = match self.tensors()?.tensor(APPEARANCE) {
            Ok(_) => self.features(APPEARANCE)?,
            Err(_) => Features::zeros(appearance::DIM, rows),
        };
        match (found.len(), found.dim()) == (rows, appearance::DIM) {
            true => Ok(found),
            false => Err(damaged(&self.file, format!("`{APPEARANCE}` is not of {clips} clips"))),
        }
    }

    /// Of no pairs in files of older versions.
    fn agreement(&self) -> Agreement {
        let read = || {
            let (_, about) = SafeTensors::read_metadata(self.bytes()).ok()?;
            let (suits, of) = about.metadata().as_ref()?.get(AGREEMENT)?.split_once(" of ")?;
            Some(Agreement { suits: suits.parse().ok()?, of: of.parse().ok()? })
        };
        read().unwrap_or_default()
    }

    fn features(&self, name: &str) -> Result<Features, LibraryError> {
        let tensors = self.tensors()?;
        let tensor = tensors.tensor(name).map_err(|error| damaged(&self.file, error))?;
        let (Dtype::F16, &[_, dim]) = (tensor.dtype(), tensor.shape()) else {
            return Err(damaged(&self.file, format!("`{name}` is not a matrix of f16")));
        };
        let (pairs, _) = tensor.data().as_chunks();
        let halves: Vec<f16> = pairs.iter().map(|pair| f16::from_le_bytes(*pair)).collect();
        Features::new(dim, halves.to_f32_vec()).map_err(|error| damaged(&self.file, error))
    }
}
