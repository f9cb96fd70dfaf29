//! Reading a model's folder: config.json and model.safetensors, with an error that names what is
//! wrong with them. Pickles are refused, never executed.

use std::fs::File;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use candle_core::{Device, Tensor};
use half::{bf16, f16};
use memmap2::Mmap;
use safetensors::tensor::{Dtype, Metadata, SafeTensorError, SafeTensors, TensorInfo};
use serde::de::DeserializeOwned;

use crate::files::FileError;

/// What is wrong with a model's files.
#[derive(Debug, thiserror::Error)]
pub enum WeightsError {
    /// A file is missing or cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The weights are a pickle, which could run any program.
    #[error("{}: this is a Python pickle, which can run any program and is never opened; save the \
        weights as safetensors instead", path.display())]
    Pickle {
        /// Which file.
        path: PathBuf,
    },
    /// The weights are not safetensors, or cut short.
    #[error("{}: not a whole safetensors file ({source}); fetch or save the model again",
        path.display())]
    NotSafetensors {
        /// Which file.
        path: PathBuf,
        /// What the reader said.
        source: SafeTensorError,
    },
    /// A tensor is missing.
    #[error("{}: the tensor `{name}` is missing; the file belongs to another kind of model",
        path.display())]
    MissingTensor {
        /// Which file.
        path: PathBuf,
        /// Which tensor.
        name: String,
    },
    /// A tensor has another shape than the config says.
    #[error("{}: the tensor `{name}` has the shape {found:?}, the config makes it {expected:?}",
        path.display())]
    WrongShape {
        /// Which file.
        path: PathBuf,
        /// Which tensor.
        name: String,
        /// What the config says.
        expected: Vec<usize>,
        /// What the file has.
        found: Vec<usize>,
    },
    /// A tensor has numbers of a kind that is not read here.
    #[error("{}: the tensor `{name}` is of {dtype}, only F32, F16 and BF16 are read",
        path.display())]
    WrongType {
        /// Which file.
        path: PathBuf,
        /// Which tensor.
        name: String,
        /// Its kind of numbers.
        dtype: String,
    },
    /// A tensor holds NaN or an infinity.
    #[error("{}: the tensor `{name}` holds a number that is not finite; its training failed, or \
        the file is damaged", path.display())]
    NotFinite {
        /// Which file.
        path: PathBuf,
        /// Which tensor.
        name: String,
    },
    /// The config (or another JSON file of the folder) cannot be understood or used.
    #[error("{}: {reason}", path.display())]
    Config {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The model's tokenizer cannot be used.
    #[error("{}: {reason}; fetch the model again", path.display())]
    Tokenizer {
        /// Which file.
        path: PathBuf,
        /// What its reader said.
        reason: String,
    },
    /// The tensor library failed.
    #[error("the tensors could not be made: {0}")]
    Tensor(#[from] candle_core::Error),
}

/// The tensors of a `model.safetensors`, read one by one as f32.
pub struct Weights {
    path: PathBuf,
    map: Bytes,
    metadata: Metadata,
    /// Where the numbers begin.
    start: usize,
}

/// A file on disk, or one that came with the program.
enum Bytes {
    Mapped(Mmap),
    Held(Vec<u8>),
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Held(bytes) => bytes,
        }
    }
}

impl Weights {
    /// The file's name in a model's folder.
    pub const FILE: &str = "model.safetensors";

    /// Opens the weights of a model's folder.
    pub fn open(folder: &Path) -> Result<Self, WeightsError> {
        Self::open_file(&folder.join(Self::FILE))
    }

    /// Opens a file of weights, whatever its name.
    pub fn open_file(path: &Path) -> Result<Self, WeightsError> {
        let path = path.to_owned();
        let pickles = ["pytorch_model.bin", "open_clip_pytorch_model.bin"];
        let pickle = pickles.iter().map(|name| path.with_file_name(name)).find(|p| p.exists());
        if let (false, Some(path)) = (path.exists(), pickle) {
            return Err(WeightsError::Pickle { path });
        }
        let file = File::open(&path).map_err(FileError::at(&path))?;
        // SAFETY: models are replaced by renaming, never written in place, so the bytes stay.
        let map = unsafe { Mmap::map(&file) }.map_err(FileError::at(&path))?;
        Self::new(path, Bytes::Mapped(map))
    }

    /// Weights in memory, called `name` in messages.
    pub fn from_bytes(name: &str, bytes: &[u8]) -> Result<Self, WeightsError> {
        Self::new(name.into(), Bytes::Held(bytes.to_vec()))
    }

    fn new(path: PathBuf, map: Bytes) -> Result<Self, WeightsError> {
        if is_pickle(&map) {
            return Err(WeightsError::Pickle { path });
        }
        match SafeTensors::read_metadata(&map) {
            Ok((header, metadata)) => Ok(Self { path, map, metadata, start: header + 8 }),
            Err(source) => Err(WeightsError::NotSafetensors { path, source }),
        }
    }

    /// Whether there is such a tensor.
    pub fn has(&self, name: &str) -> bool {
        self.metadata.info(name).is_some()
    }

    /// The shape of a tensor.
    pub fn shape(&self, name: &str) -> Result<&[usize], WeightsError> {
        let info = self.metadata.info(name).ok_or_else(|| WeightsError::MissingTensor {
            path: self.path.clone(),
            name: name.into(),
        })?;
        Ok(&info.shape)
    }

    /// One tensor as f32 on a device; its shape and its numbers are checked.
    pub fn tensor(
        &self,
        name: &str,
        shape: &[usize],
        device: &Device,
    ) -> Result<Tensor, WeightsError> {
        Ok(Tensor::from_vec(self.numbers(name, shape)?, shape, device)?)
    }

    /// The numbers of one tensor as f32, row after row; shape and numbers are checked.
    pub fn numbers(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, WeightsError> {
        let (path, name) = (self.path.clone(), name.to_owned());
        let Some(info) = self.metadata.info(&name) else {
            return Err(WeightsError::MissingTensor { path, name });
        };
        if info.shape != shape {
            let (expected, found) = (shape.to_vec(), info.shape.clone());
            return Err(WeightsError::WrongShape { path, name, expected, found });
        }
        let Some(numbers) = as_f32(self.bytes(info), info.dtype) else {
            return Err(WeightsError::WrongType { path, name, dtype: format!("{:?}", info.dtype) });
        };
        if numbers.iter().any(|x| !x.is_finite()) {
            return Err(WeightsError::NotFinite { path, name });
        }
        Ok(numbers)
    }

    /// That there is a tensor of this shape, without reading it.
    pub fn check(&self, name: &str, shape: &[usize]) -> Result<(), WeightsError> {
        let found = self.shape(name)?;
        if found == shape {
            return Ok(());
        }
        let (path, name) = (self.path.clone(), name.to_owned());
        let (expected, found) = (shape.to_vec(), found.to_vec());
        Err(WeightsError::WrongShape { path, name, expected, found })
    }

    /// Some rows of a tensor of two dimensions, without reading the others.
    pub fn rows(
        &self,
        name: &str,
        shape: &[usize; 2],
        rows: &[u32],
    ) -> Result<Vec<f32>, WeightsError> {
        self.check(name, shape)?;
        let fail = |reason: String| WeightsError::Config { path: self.path.clone(), reason };
        let Some(info) = self.metadata.info(name) else { return Ok(Vec::new()) };
        let bytes = self.bytes(info);
        let length = bytes.len() / shape[0].max(1);
        let mut numbers = Vec::with_capacity(rows.len() * shape[1]);
        for row in rows {
            let start = *row as usize * length;
            let row = bytes.get(start..start + length).ok_or_else(|| {
                fail(format!("`{name}` has no row {row}: the tokenizer is of another model"))
            })?;
            let row = as_f32(row, info.dtype).ok_or_else(|| WeightsError::WrongType {
                path: self.path.clone(),
                name: name.into(),
                dtype: format!("{:?}", info.dtype),
            })?;
            numbers.extend(row);
        }
        Ok(numbers)
    }

    /// What the file's head says under this name, beside its tensors.
    pub fn told(&self, name: &str) -> Option<&str> {
        self.metadata.metadata().as_ref()?.get(name).map(String::as_str)
    }

    /// The names of all tensors, sorted.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.metadata.tensors().into_keys().collect();
        names.sort();
        names
    }

    /// `read_metadata` has found every tensor to lie inside the file.
    fn bytes(&self, info: &TensorInfo) -> &[u8] {
        let (from, to) = info.data_offsets;
        &self.map[self.start + from..self.start + to]
    }
}

/// A zip (PyTorch's newer files) or a pickle of protocol 2 and later.
fn is_pickle(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04")
        || matches!(bytes, [0x80, 2..=5, rest @ ..] if rest.first() != Some(&0))
}

fn as_f32(bytes: &[u8], dtype: Dtype) -> Option<Vec<f32>> {
    let pairs = bytes.as_chunks::<2>().0;
    match dtype {
        Dtype::F32 => Some(bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect()),
        Dtype::F16 => Some(pairs.iter().map(|b| f16::from_le_bytes(*b).to_f32()).collect()),
        Dtype::BF16 => Some(pairs.iter().map(|b| bf16::from_le_bytes(*b).to_f32()).collect()),
        _ => None,
    }
}

/// Reads a JSON file of a model's folder.
pub fn read_json<T: DeserializeOwned>(folder: &Path, name: &str) -> Result<T, WeightsError> {
    let path = folder.join(name);
    let bytes = std::fs::read(&path).map_err(FileError::at(&path))?;
    serde_json::from_slice(&bytes)
        .map_err(|error| WeightsError::Config { path, reason: error.to_string() })
}
