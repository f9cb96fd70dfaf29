//! Reading a model's folder: config.json and model.safetensors, with an error that names what is
//! wrong with them. Pickles are refused, never executed.

use std::fmt::Display;
use std::fs::File;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use half::{bf16, f16};
use memmap2::Mmap;
use safetensors::tensor::{Dtype, Metadata, SafeTensors, TensorInfo};
use serde::de::DeserializeOwned;

use crate::error::{FileError, NnError, Result};

/// The tensors of a `model.safetensors`, read one by one as f32.
pub struct Weights {
    path: PathBuf,
    /// A file on disk, or one that came with the program.
    bytes: Box<dyn Deref<Target = [u8]> + Send + Sync>,
    metadata: Metadata,
    /// Where the data of the tensors begins.
    start: usize,
}

impl Weights {
    /// The file's name in a model's folder.
    pub const FILE: &str = "model.safetensors";

    /// Opens the weights of a model's folder.
    pub fn open(folder: &Path) -> Result<Self> {
        Self::open_file(&folder.join(Self::FILE))
    }

    /// Opens a file of weights, whatever its name.
    pub fn open_file(path: &Path) -> Result<Self> {
        let path = path.to_owned();
        let pickles = ["pytorch_model.bin", "open_clip_pytorch_model.bin"];
        let pickle = pickles.iter().map(|name| path.with_file_name(name)).find(|p| p.exists());
        if let (false, Some(path)) = (path.exists(), pickle) {
            return Err(NnError::Pickle { path });
        }
        let file = File::open(&path).map_err(FileError::at(&path))?;
        // SAFETY: what this program writes is replaced by renaming, so the bytes stay. A file of the user that
        // somebody else changes meanwhile gives other numbers or ends the program (SECURITY.md).
        let map = unsafe { Mmap::map(&file) }.map_err(FileError::at(&path))?;
        Self::new(path, Box::new(map))
    }

    /// Weights in memory, called `name` in messages.
    pub fn from_bytes(name: &str, bytes: &[u8]) -> Result<Self> {
        Self::new(name.into(), Box::new(bytes.to_vec()))
    }

    fn new(path: PathBuf, bytes: Box<dyn Deref<Target = [u8]> + Send + Sync>) -> Result<Self> {
        if is_pickle(&bytes) {
            return Err(NnError::Pickle { path });
        }
        match SafeTensors::read_metadata(&bytes) {
            Ok((header, metadata)) => Ok(Self { path, bytes, metadata, start: header + 8 }),
            Err(source) => Err(NnError::NotSafetensors { path, source }),
        }
    }

    pub fn shape(&self, name: &str) -> Result<&[usize]> {
        Ok(&self.info(name)?.shape)
    }

    fn info(&self, name: &str) -> Result<&TensorInfo> {
        self.metadata
            .info(name)
            .ok_or_else(|| NnError::MissingTensor { path: self.path.clone(), name: name.into() })
    }

    /// One tensor as f32, row after row; an error if it has another shape or a value is not finite.
    pub fn tensor(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        let info = self.checked(name, shape)?;
        let values = self.as_f32(name, self.bytes(info), info.dtype)?;
        if values.iter().any(|x| !x.is_finite()) {
            return Err(NnError::NotFinite { path: self.path.clone(), name: name.into() });
        }
        Ok(values)
    }

    /// That there is a tensor of this shape, without reading it.
    pub fn check(&self, name: &str, shape: &[usize]) -> Result<()> {
        self.checked(name, shape).map(|_| ())
    }

    fn checked(&self, name: &str, shape: &[usize]) -> Result<&TensorInfo> {
        let info = self.info(name)?;
        if info.shape == shape {
            return Ok(info);
        }
        let (path, name) = (self.path.clone(), name.to_owned());
        let (expected, found) = (shape.to_vec(), info.shape.clone());
        Err(NnError::WrongShape { path, name, expected, found })
    }

    /// Some rows of a tensor \[rows, columns\], without reading the others.
    pub fn rows(&self, name: &str, shape: &[usize; 2], rows: &[u32]) -> Result<Vec<f32>> {
        let info = self.checked(name, shape)?;
        let bytes = self.bytes(info);
        let length = bytes.len() / shape[0].max(1);
        let mut values = Vec::with_capacity(rows.len() * shape[1]);
        for row in rows {
            let start = *row as usize * length;
            let bytes = bytes.get(start..start + length);
            let bytes = bytes.ok_or_else(|| self.no_row(name, *row))?;
            values.extend(self.as_f32(name, bytes, info.dtype)?);
        }
        Ok(values)
    }

    /// A token that the embedding `name` has no row for.
    pub(crate) fn no_row(&self, name: &str, row: u32) -> NnError {
        let reason = format!("`{name}` has no row {row}: the tokenizer is of another model");
        NnError::Config { path: self.path.clone(), reason }
    }

    /// The entry of this name in the metadata of the file's header.
    pub fn metadata(&self, name: &str) -> Option<&str> {
        self.metadata.metadata().as_ref()?.get(name).map(String::as_str)
    }

    /// The names of all tensors, sorted.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.metadata.tensors().into_keys().collect();
        names.sort();
        names
    }

    fn as_f32(&self, name: &str, bytes: &[u8], dtype: Dtype) -> Result<Vec<f32>> {
        let pairs = bytes.as_chunks::<2>().0;
        Ok(match dtype {
            Dtype::F32 => bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect(),
            Dtype::F16 => pairs.iter().map(|b| f16::from_le_bytes(*b).to_f32()).collect(),
            Dtype::BF16 => pairs.iter().map(|b| bf16::from_le_bytes(*b).to_f32()).collect(),
            _ => {
                let (path, dtype) = (self.path.clone(), format!("{dtype:?}"));
                return Err(NnError::WrongType { path, name: name.into(), dtype });
            }
        })
    }

    /// `read_metadata` has found every tensor to lie inside the file.
    fn bytes(&self, info: &TensorInfo) -> &[u8] {
        let (from, to) = info.data_offsets;
        &self.bytes[self.start + from..self.start + to]
    }
}

/// The tensors whose names begin with a prefix.
#[derive(Clone)]
pub struct Scope<'a> {
    weights: &'a Weights,
    /// Ends with a dot, or is empty.
    prefix: String,
}

impl Weights {
    /// The tensors below this name; all for the empty one.
    pub fn scope(&self, name: &str) -> Scope<'_> {
        let prefix = if name.is_empty() { String::new() } else { format!("{name}.") };
        Scope { weights: self, prefix }
    }
}

impl Scope<'_> {
    pub fn at(&self, part: impl Display) -> Self {
        Self { prefix: format!("{}{part}.", self.prefix), ..*self }
    }

    pub fn has(&self, name: &str) -> bool {
        self.weights.metadata.info(&format!("{}{name}", self.prefix)).is_some()
    }

    /// The length of a tensor's first dimension.
    pub fn rows(&self, name: &str) -> Result<usize> {
        let shape = self.weights.shape(&format!("{}{name}", self.prefix))?;
        Ok(shape.first().copied().unwrap_or(0))
    }

    /// As [`Weights::tensor`].
    pub fn tensor(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        self.weights.tensor(&format!("{}{name}", self.prefix), shape)
    }
}

/// A zip (PyTorch's newer files) or a pickle of protocol 2 and later.
fn is_pickle(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04")
        || matches!(bytes, [0x80, 2..=5, rest @ ..] if rest.first() != Some(&0))
}

/// Reads a JSON file of a model's folder.
pub fn read_json<T: DeserializeOwned>(folder: &Path, name: &str) -> Result<T> {
    let path = folder.join(name);
    let bytes = std::fs::read(&path).map_err(FileError::at(&path))?;
    serde_json::from_slice(&bytes)
        .map_err(|error| NnError::Config { path, reason: error.to_string() })
}
