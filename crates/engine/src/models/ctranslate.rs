//! Converts Whisper from CTranslate2's files (`model.bin`, its own `config.json`) to those of the hub:
//! `config.json`, and `model.safetensors` with the hub's names in 16 bits.
//!
//! The file is a list of named arrays: version, kind, revision, count, then for each its name,
//! shape, type, length and bytes; at the end aliases. Every length is checked before it is used, and
//! the conversion is deterministic.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use half::f16;
use memmap2::Mmap;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{ModelError, Result};
use crate::files::{self, FileError};

const VERSION: u32 = 6;

#[derive(Deserialize)]
struct Config {
    #[serde(default)]
    alignment_heads: Vec<(usize, usize)>,
    #[serde(default)]
    suppress_ids: Vec<u32>,
    #[serde(default)]
    suppress_ids_begin: Vec<u32>,
}

/// Converts `model.bin` and `config.json` of `from` to the hub's files in `to`.
pub fn convert(from: &Path, to: &Path) -> Result<()> {
    let path = from.join("model.bin");
    let file = File::open(&path).map_err(FileError::at(&path))?;
    // SAFETY: the file lies in a locked working folder and is not written while it is read.
    let bytes = unsafe { Mmap::map(&file) }.map_err(FileError::at(&path))?;
    let arrays = read(&bytes).map_err(broken(&path))?;
    let path = from.join("config.json");
    let text = std::fs::read(&path).map_err(FileError::at(&path))?;
    let config: Config = serde_json::from_slice(&text).map_err(|e| broken(&path)(e.to_string()))?;
    let tensors = named(&arrays).map_err(broken(&path))?;
    let config = hub_config(&arrays, &config).map_err(broken(&path))?;
    files::write_whole(&to.join("config.json"), format!("{config:#}\n").as_bytes())?;
    files::write_whole_with(&to.join("model.safetensors"), |out| write(&tensors, out))?;
    Ok(())
}

fn broken(path: &Path) -> impl FnOnce(String) -> ModelError {
    let what = path.display().to_string();
    move |reason| ModelError::Archive { what, reason }
}

struct Array<'a> {
    shape: Vec<usize>,
    /// CTranslate2's number for the type: 0 is f32, 1 i8, 2 i16, 3 i32, 4 f16, 5 bf16.
    kind: u8,
    bytes: &'a [u8],
}

type Arrays<'a> = BTreeMap<String, Array<'a>>;

fn read(bytes: &[u8]) -> Result<Arrays<'_>, String> {
    let mut file = Reader { bytes, at: 0 };
    let version = file.number::<4>()?;
    if version != VERSION {
        return Err(format!("is of version {version}, only {VERSION} is understood"));
    }
    let kind = file.text()?;
    if kind != "WhisperSpec" {
        return Err(format!("holds a {kind}, no Whisper"));
    }
    let _revision = file.number::<4>()?;
    let mut arrays = Arrays::new();
    for _ in 0..file.number::<4>()? {
        let (name, array) = file.array()?;
        arrays.insert(name, array);
    }
    for _ in 0..file.number::<4>()? {
        let (other, name) = (file.text()?, file.text()?);
        if !arrays.contains_key(&name) {
            return Err(format!("calls `{other}` what is not there: `{name}`"));
        }
    }
    if file.at == bytes.len() { Ok(arrays) } else { Err("has more bytes than arrays".into()) }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], String> {
        let end = self.at.checked_add(count).filter(|end| *end <= self.bytes.len());
        let end = end.ok_or_else(|| format!("ends at byte {}, too early", self.bytes.len()))?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn number<const N: usize>(&mut self) -> Result<u32, String> {
        self.take(N).map(little_endian)
    }

    /// A length of 16 bits, then so many bytes, the last of which is 0.
    fn text(&mut self) -> Result<String, String> {
        let length = self.number::<2>()? as usize;
        let bytes = self.take(length)?;
        let text = std::str::from_utf8(bytes.strip_suffix(b"\0").unwrap_or(bytes));
        text.map(str::to_owned).map_err(|e| format!("has a name that is no text: {e}"))
    }

    fn array(&mut self) -> Result<(String, Array<'a>), String> {
        let name = self.text()?;
        let rank = self.number::<1>()?;
        let shape: Vec<usize> =
            (0..rank).map(|_| Ok(self.number::<4>()? as usize)).collect::<Result<_, String>>()?;
        let kind = self.number::<1>()? as u8;
        let length = self.number::<4>()? as usize;
        let size = [4, 1, 2, 4, 2, 2].get(usize::from(kind)).copied();
        let count = shape.iter().try_fold(1usize, |product, side| product.checked_mul(*side));
        let expected = count.zip(size).and_then(|(count, size)| count.checked_mul(size));
        if expected != Some(length) {
            return Err(format!("`{name}` of {shape:?} and type {kind} has {length} bytes"));
        }
        Ok((name, Array { shape, kind, bytes: self.take(length)? }))
    }
}

/// The number that up to four bytes make.
fn little_endian(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

/// A tensor of the hub's file: a few rows of an array.
struct Tensor {
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

/// The tensors under the hub's names. Stacked projections are split.
fn named(arrays: &Arrays) -> Result<BTreeMap<String, Tensor>, String> {
    let mut tensors = BTreeMap::new();
    for (name, array) in arrays {
        let Some(targets) = hub_names(name) else { continue };
        let parts = targets.len();
        let rows = array.shape.first().copied().unwrap_or(0);
        if rows % parts != 0 {
            return Err(format!("`{name}` has {rows} rows, not a multiple of {parts}"));
        }
        let numbers = in_16_bits(array).ok_or_else(|| format!("`{name}` is quantised"))?;
        let mut shape = array.shape.clone();
        if let Some(first) = shape.first_mut() {
            *first = rows / parts;
        }
        let length = numbers.len() / parts;
        for (i, target) in targets.into_iter().enumerate() {
            // Keys have no bias in Whisper; the stacked projection has zeros there.
            if !target.ends_with("k_proj.bias") {
                let bytes = numbers[i * length..(i + 1) * length].to_vec();
                tensors.insert(target, Tensor { shape: shape.clone(), bytes });
            }
        }
    }
    Ok(tensors)
}

/// The numbers as little-endian f16; none if they are quantised.
fn in_16_bits(array: &Array) -> Option<Vec<u8>> {
    match array.kind {
        4 => Some(array.bytes.to_vec()),
        0 => {
            let numbers = array.bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b));
            Some(numbers.flat_map(|x| f16::from_f32(x).to_le_bytes()).collect())
        }
        _ => None,
    }
}

/// The hub's names for the parts of an array; none for what the hub does not have.
fn hub_names(name: &str) -> Option<Vec<String>> {
    let (half, rest) = name.split_once('/')?;
    let one = |name: &str| Some(vec![format!("model.{half}.{name}")]);
    let end = |end: &str| match end {
        "gamma" => "weight".to_owned(),
        "beta" => "bias".to_owned(),
        other => other.to_owned(),
    };
    let parts: Vec<&str> = rest.split('/').collect();
    match parts.as_slice() {
        ["embeddings", "weight"] => one("embed_tokens.weight"),
        ["position_encodings", "encodings"] => one("embed_positions.weight"),
        ["layer_norm", last] => one(&format!("layer_norm.{}", end(last))),
        [conv @ ("conv1" | "conv2"), last] => one(&format!("{conv}.{last}")),
        [layer, block, part, last] => {
            let number = layer.strip_prefix("layer_")?;
            let names = layer_names(block, part)?;
            let full = |name: &&str| format!("model.{half}.layers.{number}.{name}.{}", end(last));
            Some(names.iter().map(full).collect())
        }
        _ => None,
    }
}

fn layer_names(block: &str, part: &str) -> Option<&'static [&'static str]> {
    Some(match (block, part) {
        ("self_attention", "layer_norm") => &["self_attn_layer_norm"],
        ("self_attention", "linear_0") => {
            &["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"]
        }
        ("self_attention", "linear_1") => &["self_attn.out_proj"],
        ("attention", "layer_norm") => &["encoder_attn_layer_norm"],
        ("attention", "linear_0") => &["encoder_attn.q_proj"],
        ("attention", "linear_1") => &["encoder_attn.k_proj", "encoder_attn.v_proj"],
        ("attention", "linear_2") => &["encoder_attn.out_proj"],
        ("ffn", "layer_norm") => &["final_layer_norm"],
        ("ffn", "linear_0") => &["fc1"],
        ("ffn", "linear_1") => &["fc2"],
        _ => return None,
    })
}

/// The config that the hub's programs read, from the shapes of the arrays.
fn hub_config(arrays: &Arrays, config: &Config) -> Result<Value, String> {
    let shape = |name: &str, axis: usize| {
        let found = arrays.get(name).and_then(|array| array.shape.get(axis));
        found.copied().ok_or_else(|| format!("`{name}` is missing"))
    };
    let heads = |half: &str| {
        let name = format!("{half}/num_heads");
        let bytes = arrays.get(&name).map(|array| array.bytes);
        let bytes = bytes.filter(|bytes| (1..=4).contains(&bytes.len()));
        bytes.map(little_endian).ok_or_else(|| format!("`{name}` is missing"))
    };
    let layers = |half: &str| {
        let norm = |i: &usize| format!("{half}/layer_{i}/ffn/layer_norm/gamma");
        (0..).take_while(|i| arrays.contains_key(&norm(i))).count()
    };
    let vocabulary = shape("decoder/embeddings/weight", 0)?;
    let multilingual = vocabulary >= 51865;
    Ok(json!({
        "architectures": ["WhisperForConditionalGeneration"],
        "model_type": "whisper",
        "activation_function": "gelu",
        "d_model": shape("encoder/conv1/weight", 0)?,
        "num_mel_bins": shape("encoder/conv1/weight", 1)?,
        "encoder_layers": layers("encoder"),
        "encoder_attention_heads": heads("encoder")?,
        "encoder_ffn_dim": shape("encoder/layer_0/ffn/linear_0/weight", 0)?,
        "decoder_layers": layers("decoder"),
        "decoder_attention_heads": heads("decoder")?,
        "decoder_ffn_dim": shape("decoder/layer_0/ffn/linear_0/weight", 0)?,
        "max_source_positions": shape("encoder/position_encodings/encodings", 0)?,
        "max_target_positions": shape("decoder/position_encodings/encodings", 0)?,
        "vocab_size": vocabulary,
        "scale_embedding": false,
        "decoder_start_token_id": if multilingual { 50258 } else { 50257 },
        "bos_token_id": if multilingual { 50257 } else { 50256 },
        "eos_token_id": if multilingual { 50257 } else { 50256 },
        "pad_token_id": if multilingual { 50257 } else { 50256 },
        "suppress_tokens": config.suppress_ids,
        "begin_suppress_tokens": config.suppress_ids_begin,
        "alignment_heads": config.alignment_heads,
        "torch_dtype": "float16",
    }))
}

/// Writes safetensors by hand, so that the bytes never depend on a library's version.
fn write(tensors: &BTreeMap<String, Tensor>, out: &mut File) -> io::Result<()> {
    let mut header = serde_json::Map::new();
    let mut at = 0;
    for (name, tensor) in tensors {
        let end = at + tensor.bytes.len();
        let about = json!({"dtype": "F16", "shape": tensor.shape, "data_offsets": [at, end]});
        header.insert(name.clone(), about);
        at = end;
    }
    let mut header = serde_json::to_vec(&header)?;
    header.resize(header.len().next_multiple_of(8), b' ');
    let mut out = io::BufWriter::new(out);
    out.write_all(&(header.len() as u64).to_le_bytes())?;
    out.write_all(&header)?;
    for tensor in tensors.values() {
        out.write_all(&tensor.bytes)?;
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A file with one layer each of a Whisper of width 4.
    fn small() -> Vec<u8> {
        let mut arrays: Vec<(String, Vec<u32>, u8)> = Vec::new();
        let mut add = |name: &str, shape: &[u32], kind: u8| {
            arrays.push((name.to_owned(), shape.to_vec(), kind));
        };
        add("encoder/conv1/weight", &[4, 80, 3], 4);
        add("encoder/position_encodings/encodings", &[6, 4], 4);
        add("encoder/layer_0/self_attention/linear_0/weight", &[12, 4], 4);
        add("encoder/layer_0/self_attention/linear_0/bias", &[12], 4);
        add("encoder/layer_0/ffn/layer_norm/gamma", &[4], 4);
        add("encoder/layer_0/ffn/linear_0/weight", &[8, 4], 0);
        add("decoder/embeddings/weight", &[10, 4], 4);
        add("decoder/position_encodings/encodings", &[5, 4], 4);
        add("decoder/layer_0/attention/linear_1/weight", &[8, 4], 4);
        add("decoder/layer_0/ffn/layer_norm/gamma", &[4], 4);
        add("decoder/layer_0/ffn/linear_0/weight", &[8, 4], 4);
        add("encoder/num_heads", &[], 2);
        add("decoder/num_heads", &[], 2);
        let mut file = Vec::new();
        let text = |file: &mut Vec<u8>, text: &str| {
            file.extend((text.len() as u16 + 1).to_le_bytes());
            file.extend(text.bytes());
            file.push(0);
        };
        file.extend(6u32.to_le_bytes());
        text(&mut file, "WhisperSpec");
        file.extend(3u32.to_le_bytes());
        file.extend((arrays.len() as u32).to_le_bytes());
        for (name, shape, kind) in arrays {
            text(&mut file, &name);
            file.push(shape.len() as u8);
            shape.iter().for_each(|side| file.extend(side.to_le_bytes()));
            let length = shape.iter().product::<u32>() * [4, 1, 2, 4, 2, 2][usize::from(kind)];
            file.push(kind);
            file.extend(length.to_le_bytes());
            file.extend((0..length).map(|i| if i % 2 == 0 { (i / 2 % 120) as u8 } else { 0 }));
        }
        file.extend(1u32.to_le_bytes());
        text(&mut file, "decoder/projection/weight");
        text(&mut file, "decoder/embeddings/weight");
        file
    }

    fn converted(model: &[u8]) -> Result<(Vec<u8>, String), ModelError> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("model.bin"), model).unwrap();
        std::fs::write(folder.path().join("config.json"), r#"{"suppress_ids":[1]}"#).unwrap();
        let out = folder.path().join("out");
        std::fs::create_dir(&out).unwrap();
        convert(folder.path(), &out)?;
        let config = std::fs::read_to_string(out.join("config.json")).unwrap();
        Ok((std::fs::read(out.join("model.safetensors")).unwrap(), config))
    }

    #[test]
    fn stacked_products_are_taken_apart_and_renamed() {
        let (bytes, config) = converted(&small()).unwrap();
        let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        let k = tensors.tensor("model.encoder.layers.0.self_attn.k_proj.weight").unwrap();
        assert_eq!((k.shape(), k.data()[0]), (&[4, 4][..], 16));
        assert!(tensors.tensor("model.encoder.layers.0.self_attn.k_proj.bias").is_err());
        let fc1 = tensors.tensor("model.encoder.layers.0.fc1.weight").unwrap();
        assert_eq!((fc1.shape(), fc1.dtype()), (&[8, 4][..], safetensors::Dtype::F16));
        assert!(tensors.tensor("model.decoder.layers.0.encoder_attn.v_proj.weight").is_ok());
        let config: Value = serde_json::from_str(&config).unwrap();
        assert_eq!((&config["d_model"], &config["vocab_size"]), (&json!(4), &json!(10)));
        assert_eq!(config["suppress_tokens"], json!([1]));
    }

    #[test]
    fn a_file_cut_anywhere_or_of_another_kind_is_refused() {
        let whole = small();
        for end in (0..whole.len()).step_by(7) {
            assert!(converted(&whole[..end]).is_err(), "{end}");
        }
        let mut longer = whole.clone();
        longer.push(0);
        let mut newer = whole;
        newer[0] = 7;
        for (file, said) in [(longer, "more bytes"), (newer, "version 7")] {
            let error = converted(&file).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }

    proptest! {
        #[test]
        fn damage_anywhere_is_read_or_refused(at in 0usize..2000, byte: u8) {
            let mut file = small();
            let at = at % file.len();
            file[at] = byte;
            let _ = converted(&file);
        }
    }
}
