//! Feature files: per video, and the pool of all of them, as safetensors of f16 rows.
//!
//! The pool's name contains a hash of its contents, so that an outdated pool is never read.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use half::f16;
use half::slice::HalfFloatSliceExt;
use memmap2::Mmap;
use safetensors::tensor::{Dtype, SafeTensorError, SafeTensors, TensorView};
use sha2::{Digest, Sha256};
use stitch_core::clip::Clip;
use stitch_core::features::Features;
use stitch_core::pool::{Agreement, Pool};

use super::LibraryError;
use crate::files::{FileError, hex, write_whole};
use crate::footage::{self, Footage};

/// The tensor of [`Footage`].
const FOOTAGE: &str = "footage";
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
    pub footage: Footage,
    pub agreement: Agreement,
}

pub(super) fn write(folder: &Path, content: &str, f: &VideoFeatures) -> Result<(), LibraryError> {
    let file = path(folder, content);
    let features = [("seconds", &f.seconds), ("text", &f.text), ("clip", &f.clip)];
    write_tensors(&file, &features, Some(&f.footage), f.agreement)
}

pub(super) fn read(folder: &Path, content: &str) -> Result<VideoFeatures, LibraryError> {
    let file = path(folder, content);
    let tensors = Tensors::open(&file)?;
    Ok(VideoFeatures {
        seconds: tensors.features("seconds")?,
        text: tensors.features("text")?,
        clip: tensors.features("clip")?,
        footage: tensors.footage()?,
        agreement: tensors.agreement(),
    })
}

pub(super) fn footage(folder: &Path, content: &str) -> Result<Footage, LibraryError> {
    Tensors::open(&path(folder, content))?.footage()
}

pub(super) fn forget(folder: &Path, content: &str) {
    let _ = std::fs::remove_file(path(folder, content));
}

/// The pool of these clips; its file is written again when the clips have changed.
pub(super) fn pool(
    folder: &Path,
    dim: usize,
    clips: Vec<Clip>,
    contents: &[(String, usize)],
) -> Result<Pool, LibraryError> {
    if clips.is_empty() {
        return Err(LibraryError::Empty { folder: folder.into() });
    }
    let file = folder.join(format!("pool-{}.safetensors", digest(&clips, contents)));
    let Gathered { text, clip, agreement } = match Tensors::open(&file) {
        Ok(tensors) => Gathered {
            text: tensors.features("text")?,
            clip: tensors.features("clip")?,
            agreement: tensors.agreement(),
        },
        Err(_) => gather(folder, dim, contents, &file)?,
    };
    Ok(Pool::new(clips, text, clip).map_err(|e| damaged(&file, e))?.agreeing(agreement))
}

/// The rows of all videos.
struct Gathered {
    text: Features,
    clip: Features,
    agreement: Agreement,
}

/// Reads every video's rows and writes them to one file. A disk that cannot be written is no error.
fn gather(
    folder: &Path,
    dim: usize,
    contents: &[(String, usize)],
    file: &Path,
) -> Result<Gathered, LibraryError> {
    let mut rows: Option<Gathered> = None;
    for (content, count) in contents {
        let video = read(folder, content)?;
        check(folder, content, dim, *count, &video)?;
        let all = rows.get_or_insert_with(|| Gathered {
            text: Features::empty(video.text.dim()),
            clip: Features::empty(video.clip.dim()),
            agreement: Agreement::default(),
        });
        video.text.rows().for_each(|row| all.text.push(row));
        video.clip.rows().for_each(|row| all.clip.push(row));
        all.agreement = all.agreement + video.agreement;
    }
    let all = rows.ok_or_else(|| LibraryError::Empty { folder: folder.into() })?;
    match write_tensors(file, &[("text", &all.text), ("clip", &all.clip)], None, all.agreement) {
        Ok(()) => forget_other_pools(folder, file),
        Err(error) => tracing::debug!(%error, "the pool is not kept"),
    }
    // The next run reads them in half precision; use the same now.
    Ok(Gathered { text: halved(&all.text), clip: halved(&all.clip), ..all })
}

/// An error unless the features are those of `count` clips in this library's dimension.
pub(super) fn check(
    folder: &Path,
    content: &str,
    dim: usize,
    count: usize,
    video: &VideoFeatures,
) -> Result<(), LibraryError> {
    let reason = if video.clip.dim() != dim {
        format!("its rows have {} numbers, the library's encoder makes {dim}", video.clip.dim())
    } else if video.text.len() != count || video.clip.len() != count {
        format!("it has {} rows for {count} clips", video.clip.len())
    } else {
        return Ok(());
    };
    Err(damaged(&path(folder, content), reason))
}

fn damaged(file: &Path, reason: impl ToString) -> LibraryError {
    LibraryError::Features { file: file.into(), reason: reason.to_string() }
}

fn halved(features: &Features) -> Features {
    let mut out = Features::empty(features.dim());
    for row in features.rows() {
        let row: Vec<f32> = row.iter().map(|x| f16::from_f32(*x).to_f32()).collect();
        out.push(&row);
    }
    out
}

/// A hash of the videos' content and of every clip.
fn digest(clips: &[Clip], contents: &[(String, usize)]) -> String {
    let mut hash = Sha256::new();
    for (content, count) in contents {
        hash.update(content);
        hash.update((*count as u64).to_le_bytes());
    }
    for clip in clips {
        hash.update(clip.span.start().to_le_bytes());
        hash.update(clip.span.end().to_le_bytes());
        hash.update(&clip.text);
        hash.update([0]);
    }
    hex(&hash.finalize()[..12])
}

fn forget_other_pools(folder: &Path, keep: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("pool-") && name.ends_with(".safetensors") && path != keep {
            let _ = std::fs::remove_file(&path);
        }
    }
}

fn path(folder: &Path, content: &str) -> PathBuf {
    folder.join("features").join(format!("{content}.safetensors"))
}

fn write_tensors(
    file: &Path,
    tensors: &[(&str, &Features)],
    footage: Option<&Footage>,
    agreement: Agreement,
) -> Result<(), LibraryError> {
    let bytes: Vec<Vec<u8>> = tensors.iter().map(|(_, features)| half_bytes(features)).collect();
    let wrong = |error: SafeTensorError| damaged(file, error);
    let rows = tensors.iter().zip(&bytes).map(|((name, features), bytes)| {
        let shape = vec![features.len(), features.dim()];
        Ok((*name, TensorView::new(Dtype::F16, shape, bytes)?))
    });
    let looks = footage.map(|footage| {
        let shape = vec![footage.seconds(), footage::GRID_CELLS];
        Ok((FOOTAGE, TensorView::new(Dtype::U8, shape, footage.as_slice())?))
    });
    let views = rows.chain(looks).collect::<Result<Vec<_>, _>>().map_err(wrong)?;
    let Agreement { suits, of } = agreement;
    let about = HashMap::from([(AGREEMENT.to_owned(), format!("{suits} of {of}"))]);
    let all = safetensors::serialize(views, Some(about)).map_err(wrong)?;
    Ok(write_whole(file, &all)?)
}

fn half_bytes(features: &Features) -> Vec<u8> {
    let mut halves = vec![f16::ZERO; features.as_slice().len()];
    halves.convert_from_f32_slice(features.as_slice());
    halves.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// A safetensors file, memory-mapped.
struct Tensors {
    file: PathBuf,
    map: Mmap,
}

impl Tensors {
    fn open(file: &Path) -> Result<Self, LibraryError> {
        let opened = File::open(file).map_err(FileError::at(file))?;
        // Safety: feature files are replaced by renaming, never changed in place.
        let map = unsafe { Mmap::map(&opened) }.map_err(FileError::at(file))?;
        Ok(Self { file: file.into(), map })
    }

    fn tensors(&self) -> Result<SafeTensors<'_>, LibraryError> {
        SafeTensors::deserialize(&self.map).map_err(|error| damaged(&self.file, error))
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

    /// Of no pairs in files of older versions.
    fn agreement(&self) -> Agreement {
        let read = || {
            let (_, about) = SafeTensors::read_metadata(&self.map).ok()?;
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
