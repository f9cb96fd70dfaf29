//! Feature rows from npy, npz, HDF5 and safetensors files. Pickles are refused, never executed.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::path::Path;

use half::f16;
use hdf5_reader::{Datatype, Hdf5File};
use npyz::{DType, NpyFile, Order};
use zip::ZipArchive;

use super::{Result, unusable};
use crate::files::FileError;
use crate::models::Weights;

pub const ENDINGS: [&str; 5] = ["npy", "npz", "h5", "hdf5", "safetensors"];

/// Limit of one array: two days at ten rows of 1,024 floats a second.
const MAX_BYTES: u64 = 8 << 30;
/// How many times the size of its file an array may have when it is expanded: features of real videos hardly shrink, and a file of
/// a few kilobytes must not fill the memory.
const MAX_RATIO: u64 = 100;
/// Records nest so deep in the header of an npy file, `{[((`; the time to read it grows exponentially with the depth.
const MAX_NESTING: usize = 4;

#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    pub dim: usize,
    pub data: Vec<f32>,
}

impl Rows {
    pub fn count(&self) -> usize {
        self.data.len() / self.dim
    }
}

/// The array of this name in the file, or the only one there is.
pub fn read(path: &Path, key: Option<&str>) -> Result<Rows> {
    let array = match ending(path).as_str() {
        "npy" => read_npy(path),
        "npz" => read_npz(path, key),
        "h5" | "hdf5" => read_hdf5(path, key),
        "safetensors" => read_safetensors(path, key),
        _ => {
            let reason = format!(
                "features are read from {}; pickles (.pt, .pkl) can run any program and are never \
                 opened, save the array with numpy.save",
                ENDINGS.join(", ")
            );
            Err(unusable(path, reason))
        }
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
    fn rows(self, path: &Path) -> Result<Rows> {
        let long: Vec<usize> = self.shape.iter().copied().filter(|length| *length != 1).collect();
        let dim = match (long.as_slice(), self.shape.last()) {
            ([_, dim] | [dim], _) if *dim > 0 => *dim,
            ([], Some(1)) => 1,
            _ => {
                let reason = format!("the shape {:?} is not that of rows", self.shape);
                return Err(unusable(path, reason));
            }
        };
        match self.data.iter().position(|x| !x.is_finite()) {
            Some(at) => {
                Err(unusable(path, format!("row {} holds a number that is not finite", at / dim)))
            }
            None => Ok(Rows { dim, data: self.data }),
        }
    }
}

fn read_npy(path: &Path) -> Result<Array> {
    let file = File::open(path).map_err(FileError::at(path))?;
    let length = file.metadata().map_err(FileError::at(path))?.len();
    npy(BufReader::new(file), length).map_err(|reason| unusable(path, reason))
}

/// An npy stream of at most so many bytes.
fn npy(mut reader: impl Read, length: u64) -> Result<Array, String> {
    let incomplete = |error: io::Error| format!("not a whole npy file ({error})");
    let mut start = Vec::new();
    reader.by_ref().take(12).read_to_end(&mut start).map_err(incomplete)?;
    let header = header_length(&start);
    if header > length {
        return Err(incomplete(io::ErrorKind::UnexpectedEof.into()));
    }
    reader.by_ref().take(header).read_to_end(&mut start).map_err(incomplete)?;
    if nesting(&start) > MAX_NESTING {
        return Err("its header nests too deep".into());
    }
    let file = NpyFile::new(io::Cursor::new(start).chain(reader)).map_err(incomplete)?;
    if file.header().uses_pickled_array() {
        return Err("it holds Python objects, which are never opened; save plain numbers".into());
    }
    let DType::Plain(kind) = file.dtype() else {
        return Err("it holds records, not numbers".into());
    };
    let kind = kind.to_string();
    let kind = kind.trim_matches('\'');
    let size = match kind.trim_start_matches(['<', '>']) {
        "f2" => 2,
        "f4" => 4,
        "f8" => 8,
        _ => return Err(format!("its numbers are of the kind {kind}; f2, f4 and f8 are read")),
    };
    let shape: Vec<usize> = file.shape().iter().map(|length| *length as usize).collect();
    let by_columns = file.order() == Order::Fortran;
    let wanted = bytes_of(&shape, size).filter(|wanted| *wanted <= length.min(MAX_BYTES));
    let wanted = wanted.ok_or_else(|| format!("it is too short for its shape {shape:?}"))?;
    let mut bytes = Vec::new();
    file.into_inner().take(wanted).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 != wanted {
        return Err(format!("it ends after {} of {wanted} bytes", bytes.len()));
    }
    let data = floats(&bytes, size, kind.starts_with('>'));
    Ok(Array { data: if by_columns { transposed(&data, &shape) } else { data }, shape })
}

/// How deep brackets are open at most.
fn nesting(header: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0usize, 0);
    for byte in header {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// What the first bytes of an npy file say, for which memory is reserved when it is read.
fn header_length(start: &[u8]) -> u64 {
    match *start {
        [_, _, _, _, _, _, 1, _, a, b, ..] => u16::from_le_bytes([a, b]).into(),
        [_, _, _, _, _, _, _, _, a, b, c, d] => u32::from_le_bytes([a, b, c, d]).into(),
        _ => 0,
    }
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

fn floats(bytes: &[u8], size: u64, big_endian: bool) -> Vec<f32> {
    fn each<const N: usize>(bytes: &[u8], of: impl Fn([u8; N]) -> f32) -> Vec<f32> {
        bytes.as_chunks().0.iter().map(|number| of(*number)).collect()
    }
    match (size, big_endian) {
        (2, false) => each(bytes, |number| f16::from_le_bytes(number).to_f32()),
        (2, true) => each(bytes, |number| f16::from_be_bytes(number).to_f32()),
        (4, false) => each(bytes, f32::from_le_bytes),
        (4, true) => each(bytes, f32::from_be_bytes),
        (_, false) => each(bytes, |number| f64::from_le_bytes(number) as f32),
        (_, true) => each(bytes, |number| f64::from_be_bytes(number) as f32),
    }
}

fn read_npz(path: &Path, key: Option<&str>) -> Result<Array> {
    let file = File::open(path).map_err(FileError::at(path))?;
    let stored = file.metadata().map_err(FileError::at(path))?.len();
    let wrong = |reason: String| unusable(path, reason);
    let mut archive = ZipArchive::new(BufReader::new(file))
        .map_err(|error| wrong(format!("not a whole npz file ({error})")))?;
    let chosen = choose(&member_names(&archive), key).map_err(wrong)?;
    let name = format!("{chosen}.npy");
    let name = if archive.index_for_name(&name).is_some() { name } else { chosen };
    let member = archive.by_name(&name).map_err(|error| wrong(error.to_string()))?;
    let length = expanded(member.size(), stored).map_err(wrong)?;
    npy(member, length).map_err(|reason| wrong(format!("{name}: {reason}")))
}

/// The size, unless it is out of all proportion to that of the file, the one size that is sure.
fn expanded(size: u64, stored: u64) -> Result<u64, String> {
    match size <= stored.saturating_mul(MAX_RATIO) {
        true => Ok(size),
        false => {
            Err(format!("{stored} bytes say they expand to {size}; save the array uncompressed"))
        }
    }
}

fn member_names(archive: &ZipArchive<impl Read + Seek>) -> Vec<String> {
    let names = archive.file_names().flatten();
    names.map(|name| name.strip_suffix(".npy").unwrap_or(&name).to_owned()).collect()
}

/// The name given, else the only one, else a usual one.
fn choose(names: &[String], key: Option<&str>) -> Result<String, String> {
    let usual = ["features", "feats", "feature", "arr_0", "data"];
    let chosen = match (key, names) {
        (Some(key), _) => names.iter().find(|name| *name == key),
        (None, [only]) => Some(only),
        (None, _) => names.iter().find(|name| usual.contains(&name.as_str())),
    };
    let (count, list) = (names.len(), names[..names.len().min(8)].join(", "));
    chosen.cloned().ok_or_else(|| match key {
        Some(key) => format!("there is no array `{key}`; there are: {list}"),
        None => format!("it holds {count} arrays ({list}); say which by `key` in features.toml"),
    })
}

fn read_hdf5(path: &Path, key: Option<&str>) -> Result<Array> {
    let wrong =
        |error: hdf5_reader::error::Error| unusable(path, format!("not readable HDF5 ({error})"));
    // Opened here first, so that a missing file is reported as such.
    let stored =
        File::open(path).and_then(|file| file.metadata()).map_err(FileError::at(path))?.len();
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
    expanded(bytes_of(&shape, size).unwrap_or(u64::MAX), stored)
        .map_err(|reason| unusable(path, format!("`{chosen}`: {reason}")))?;
    let bytes = dataset.read_raw_bytes().map_err(wrong)?;
    if Some(bytes.len() as u64) != bytes_of(&shape, size) {
        return Err(unusable(path, format!("`{chosen}` is too short for its shape {shape:?}")));
    }
    Ok(Array { data: floats(&bytes, size, big), shape })
}

fn read_safetensors(path: &Path, key: Option<&str>) -> Result<Array> {
    let weights = Weights::open_file(path)?;
    let chosen = choose(&weights.names(), key).map_err(|reason| unusable(path, reason))?;
    let shape = weights.shape(&chosen)?.to_vec();
    Ok(Array { data: weights.tensor(&chosen, &shape)?, shape })
}

/// The names of the arrays in a file that can hold several.
pub fn names(path: &Path) -> Vec<String> {
    match ending(path).as_str() {
        "npz" => {
            let archive = File::open(path).ok().and_then(|file| ZipArchive::new(file).ok());
            archive.map_or_else(Vec::new, |archive| member_names(&archive))
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
