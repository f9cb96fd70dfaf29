//! Feature rows from npy, npz, HDF5 and safetensors files. Pickles are refused, never executed.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use half::f16;
use hdf5_reader::{Datatype, Hdf5File};
use npyz::{DType, NpyFile, Order};

use super::PrecomputedError;
use crate::files::FileError;
use crate::models::Weights;

pub const ENDINGS: [&str; 5] = ["npy", "npz", "h5", "hdf5", "safetensors"];

/// Limit of one array: two days at ten rows of 1,024 floats a second.
const MAX_BYTES: u64 = 8 << 30;

#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    pub dim: usize,
    pub data: Vec<f32>,
}

/// The array of this name in the file, or the only one there is.
pub fn read(path: &Path, key: Option<&str>) -> Result<Rows, PrecomputedError> {
    let array = match ending(path).as_str() {
        "npy" => read_npy(path),
        "npz" => read_npz(path, key),
        "h5" | "hdf5" => read_hdf5(path, key),
        "safetensors" => read_safetensors(path, key),
        _ => Err(unusable(
            path,
            format!(
                "features are read from {}; pickles (.pt, .pkl) can run any program and are never \
                 opened, save the array with numpy.save",
                ENDINGS.join(", ")
            ),
        )),
    }?;
    array.rows(path)
}

pub fn ending(path: &Path) -> String {
    path.extension().unwrap_or_default().to_string_lossy().to_lowercase()
}

struct Array {
    shape: Vec<usize>,
    data: Vec<f32>,
}

impl Array {
    /// Dimensions of length 1 are ignored; two must be left, or one for a single row.
    fn rows(self, path: &Path) -> Result<Rows, PrecomputedError> {
        let long: Vec<usize> = self.shape.iter().copied().filter(|length| *length != 1).collect();
        let dim = match (long.as_slice(), self.shape.last()) {
            ([_, dim] | [dim], _) if *dim > 0 => *dim,
            ([], Some(1)) => 1,
            _ => {
                let reason = format!("the shape {:?} is not that of rows", self.shape);
                return Err(unusable(path, reason));
            }
        };
        if let Some(at) = self.data.iter().position(|x| !x.is_finite()) {
            let reason = format!("row {} holds a number that is not finite", at / dim);
            return Err(unusable(path, reason));
        }
        Ok(Rows { dim, data: self.data })
    }
}

fn unusable(path: &Path, reason: impl ToString) -> PrecomputedError {
    PrecomputedError::Unusable { path: path.into(), reason: reason.to_string() }
}

fn read_npy(path: &Path) -> Result<Array, PrecomputedError> {
    let file = File::open(path).map_err(FileError::at(path))?;
    let length = file.metadata().map_err(FileError::at(path))?.len();
    npy(BufReader::new(file), length).map_err(|reason| unusable(path, reason))
}

/// An npy stream of at most so many bytes.
fn npy(reader: impl Read, length: u64) -> Result<Array, String> {
    let file = NpyFile::new(reader).map_err(|error| format!("not a whole npy file ({error})"))?;
    if file.header().uses_pickled_array() {
        return Err("it holds Python objects, which are never opened; save plain numbers".into());
    }
    let DType::Plain(kind) = file.dtype() else {
        return Err("it holds records, not numbers".into());
    };
    let kind = kind.to_string();
    let shape: Vec<usize> = file.shape().iter().map(|length| *length as usize).collect();
    let across = file.order() == Order::Fortran;
    let (size, big) = match kind.trim_matches('\'') {
        "<f2" => (2, false),
        ">f2" => (2, true),
        "<f4" => (4, false),
        ">f4" => (4, true),
        "<f8" => (8, false),
        ">f8" => (8, true),
        other => {
            return Err(format!("its numbers are of the kind {other}; f2, f4 and f8 are read"));
        }
    };
    let wanted = bytes_of(&shape, size).filter(|wanted| *wanted <= length.min(MAX_BYTES));
    let Some(wanted) = wanted else {
        return Err(format!("it is too short for its shape {shape:?}"));
    };
    let mut bytes = Vec::new();
    file.into_inner().take(wanted).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 != wanted {
        return Err(format!("it ends after {} of {wanted} bytes", bytes.len()));
    }
    let data = floats(&bytes, size, big);
    Ok(Array { data: if across { transposed(&data, &shape) } else { data }, shape })
}

fn bytes_of(shape: &[usize], size: u64) -> Option<u64> {
    shape.iter().try_fold(size, |product, length| product.checked_mul(*length as u64))
}

/// Column-major to row-major.
fn transposed(data: &[f32], shape: &[usize]) -> Vec<f32> {
    let long: Vec<usize> = shape.iter().copied().filter(|length| *length != 1).collect();
    let [rows, dim] = long[..] else { return data.to_vec() };
    (0..rows * dim).map(|i| data[i % dim * rows + i / dim]).collect()
}

fn floats(bytes: &[u8], size: u64, big: bool) -> Vec<f32> {
    let number = |chunk: &[u8]| {
        let mut chunk = chunk.to_vec();
        if big {
            chunk.reverse();
        }
        match chunk[..] {
            [a, b] => f16::from_le_bytes([a, b]).to_f32(),
            [a, b, c, d] => f32::from_le_bytes([a, b, c, d]),
            _ => chunk.try_into().map_or(0.0, |eight| f64::from_le_bytes(eight) as f32),
        }
    };
    if (size, big) == (4, false) {
        return bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
    }
    bytes.chunks_exact(size as usize).map(number).collect()
}

fn read_npz(path: &Path, key: Option<&str>) -> Result<Array, PrecomputedError> {
    let file = File::open(path).map_err(FileError::at(path))?;
    let wrong = |reason: String| unusable(path, reason);
    let mut archive = zip::ZipArchive::new(BufReader::new(file))
        .map_err(|error| wrong(format!("not a whole npz file ({error})")))?;
    let names: Vec<String> = archive.file_names().flatten().map(Cow::into_owned).collect();
    let plain = |name: &String| name.strip_suffix(".npy").unwrap_or(name).to_owned();
    let chosen = choose(&names.iter().map(plain).collect::<Vec<_>>(), key).map_err(wrong)?;
    let name = names.iter().find(|name| plain(name) == chosen).map_or("", |name| name);
    let member = archive.by_name(name).map_err(|error| wrong(error.to_string()))?;
    let length = member.size();
    npy(member, length).map_err(|reason| unusable(path, format!("{name}: {reason}")))
}

/// The name given, else the only one, else a usual one.
fn choose(names: &[String], key: Option<&str>) -> Result<String, String> {
    let usual = ["features", "feats", "feature", "arr_0", "data"];
    let chosen = match (key, names) {
        (Some(key), _) => names.iter().find(|name| *name == key),
        (None, [only]) => Some(only),
        (None, _) => names.iter().find(|name| usual.contains(&name.as_str())),
    };
    let list = || names[..names.len().min(8)].join(", ");
    match (chosen, key) {
        (Some(name), _) => Ok(name.clone()),
        (None, Some(key)) => Err(format!("there is no array `{key}`; there are: {}", list())),
        (None, None) => Err(format!(
            "it holds {} arrays ({}); say which by `key` in features.toml",
            names.len(),
            list()
        )),
    }
}

fn read_hdf5(path: &Path, key: Option<&str>) -> Result<Array, PrecomputedError> {
    let wrong =
        |error: hdf5_reader::error::Error| unusable(path, format!("not readable HDF5 ({error})"));
    // Opened here first, so that a missing file is reported as such.
    File::open(path).map_err(FileError::at(path))?;
    let file = Hdf5File::open(path).map_err(wrong)?;
    let (_, names) = file.root_group().and_then(|root| root.member_names()).map_err(wrong)?;
    let chosen = match key {
        Some(key) if key.contains('/') => key.to_owned(),
        key => choose(&names, key).map_err(|reason| unusable(path, reason))?,
    };
    let dataset = file.dataset(&chosen).map_err(wrong)?;
    let Datatype::FloatingPoint { size, byte_order } = dataset.dtype() else {
        return Err(unusable(path, format!("`{chosen}` does not hold floats")));
    };
    let (size, big) = (u64::from(*size), format!("{byte_order:?}").starts_with("Big"));
    let shape: Vec<usize> = dataset.shape().iter().map(|length| *length as usize).collect();
    if !matches!(size, 2 | 4 | 8) || bytes_of(&shape, size).is_none_or(|bytes| bytes > MAX_BYTES) {
        return Err(unusable(path, format!("`{chosen}` of {shape:?} numbers of {size} bytes")));
    }
    let bytes = dataset.read_raw_bytes().map_err(wrong)?;
    if Some(bytes.len() as u64) != bytes_of(&shape, size) {
        return Err(unusable(path, format!("`{chosen}` is too short for its shape {shape:?}")));
    }
    Ok(Array { data: floats(&bytes, size, big), shape })
}

fn read_safetensors(path: &Path, key: Option<&str>) -> Result<Array, PrecomputedError> {
    let weights = Weights::open_file(path)?;
    let chosen = choose(&weights.names(), key).map_err(|reason| unusable(path, reason))?;
    let shape = weights.shape(&chosen)?.to_vec();
    Ok(Array { data: weights.tensor(&chosen, &shape)?, shape })
}

/// The names of the arrays in a file that can hold several.
pub fn names(path: &Path) -> Vec<String> {
    match ending(path).as_str() {
        "npz" => {
            let archive = File::open(path).ok().and_then(|file| zip::ZipArchive::new(file).ok());
            let names = archive.iter().flat_map(|archive| archive.file_names()).flatten();
            names.map(|name| name.strip_suffix(".npy").unwrap_or(&name).to_owned()).collect()
        }
        "h5" | "hdf5" => {
            let root = Hdf5File::open(path).and_then(|file| file.root_group());
            root.and_then(|root| root.member_names())
                .map_or_else(|_| Vec::new(), |(_, names)| names)
        }
        "safetensors" => Weights::open_file(path).map_or_else(|_| Vec::new(), |w| w.names()),
        _ => Vec::new(),
    }
}
