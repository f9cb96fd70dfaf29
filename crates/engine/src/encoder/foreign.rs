//! Any pair of ONNX graphs that see and read into one space, described by an `encoder.toml`.
//!
//! ```toml
//! dim = 512                      # the length of a vector
//!
//! [image]
//! file = "vision.onnx"
//! input = "pixel_values"
//! output = "image_embeds"
//! width = 224
//! height = 224
//! frames = 8                     # pictures of one clip; 1 for a tower of pictures
//! fps = 8                        # pictures looked at in a second
//! layout = "NTCHW"               # NCHW for pictures; NTCHW or NCTHW for clips
//! fit = "crop"                   # or "squash"
//! filter = "bicubic"             # or "bilinear"
//! mean = [0.485, 0.456, 0.406]   # of colours between 0 and 1; left out: no shift
//! std = [0.229, 0.224, 0.225]    # left out: no scale
//! values = "floats"              # or "bytes": whole bytes, normalised inside the graph
//! batch = 4                      # the most clips at once; 1 for a graph of a fixed batch
//!
//! [text]
//! file = "text.onnx"
//! input = "input_ids"
//! mask = "attention_mask"        # left out: the graph takes none
//! output = "text_embeds"
//! tokenizer = "tokenizer.json"
//! longest = 77                   # the most tokens
//! fill = true                    # short texts are filled up to `longest`
//! pad = 0                        # with this token
//! lowercase = false
//! batch = 16
//! ```

use std::path::{Path, PathBuf};

use serde::Deserialize;
use sha2::{Digest, Sha256};
use stitch_core::features::Features;
use stitch_nn::clip::normalize::Normalize;
use stitch_nn::clip::text::{Cleaning, ClipTokenizer, Padding};

use super::tower::{ImageTower, TextTower};
use super::wants::{Filter, Fit, Wants};
use super::{EncoderError, EncoderId, TwoTowers};
use crate::files::{FileError, hex};
use crate::models::NnError;
use crate::onnx::{Graph, Input, Output, Runtime};

/// The description's name in a folder.
pub const FILE: &str = "encoder.toml";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    dim: usize,
    image: Option<ImageDescription>,
    text: TextDescription,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ImageDescription {
    file: PathBuf,
    input: String,
    output: String,
    width: u32,
    height: u32,
    #[serde(default = "one")]
    frames: usize,
    #[serde(default = "two")]
    fps: u32,
    #[serde(default)]
    layout: Layout,
    #[serde(default)]
    fit: FitName,
    #[serde(default)]
    filter: FilterName,
    #[serde(default)]
    mean: [f64; 3],
    #[serde(default = "ones")]
    std: [f64; 3],
    #[serde(default)]
    values: Values,
    #[serde(default = "four")]
    batch: usize,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct TextDescription {
    file: PathBuf,
    input: String,
    mask: Option<String>,
    output: String,
    tokenizer: PathBuf,
    longest: usize,
    #[serde(default)]
    fill: bool,
    #[serde(default)]
    pad: u32,
    #[serde(default)]
    lowercase: bool,
    #[serde(default = "sixteen")]
    batch: usize,
}

fn one() -> usize {
    1
}

fn two() -> u32 {
    2
}

fn four() -> usize {
    4
}

fn sixteen() -> usize {
    16
}

fn ones() -> [f64; 3] {
    [1.0; 3]
}

/// The order of a graph's dimensions: number, time, colour, height, width.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum Layout {
    #[default]
    Nchw,
    Ntchw,
    Ncthw,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Values {
    #[default]
    Floats,
    Bytes,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum FitName {
    #[default]
    Crop,
    Squash,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum FilterName {
    #[default]
    Bicubic,
    Bilinear,
}

/// Whether a folder holds such a pair.
pub fn is_one(folder: &Path) -> bool {
    folder.join(FILE).is_file()
}

/// The encoder in a folder, called `name`. Both graphs are tried once, so that a wrong description
/// is told before any video is looked at.
pub fn load(folder: &Path, name: &str, runtime: &Runtime) -> Result<TwoTowers, EncoderError> {
    let (description, mut hash) = read(folder)?;
    let dim = description.dim;
    let Some(image) = description.image else {
        return Err(wrong(folder, "it has no [image]: it can read but not see".into()).into());
    };
    let viewer = Viewer::load(folder, image, dim, runtime, &mut hash)?;
    let reader = Reader::load(folder, description.text, dim, runtime, &mut hash)?;
    let id = EncoderId { name: name.into(), dim, weights: hex(&hash.finalize()) };
    Ok(TwoTowers::new(id, Box::new(viewer), Box::new(reader)))
}

/// The side that reads alone, its vectors' length and the hash of its weights.
pub fn load_text(
    folder: &Path,
    runtime: &Runtime,
) -> Result<(Box<dyn TextTower>, usize, String), EncoderError> {
    let (description, mut hash) = read(folder)?;
    let dim = description.dim;
    let reader = Reader::load(folder, description.text, dim, runtime, &mut hash)?;
    Ok((Box::new(reader), dim, hex(&hash.finalize())))
}

fn read(folder: &Path) -> Result<(Description, Sha256), NnError> {
    let path = folder.join(FILE);
    let text = std::fs::read_to_string(&path).map_err(FileError::at(&path))?;
    let description: Description =
        toml::from_str(&text).map_err(|error| wrong(folder, error.to_string()))?;
    if !(1..=1 << 20).contains(&description.dim) {
        return Err(wrong(folder, format!("dim = {} is no length of a vector", description.dim)));
    }
    Ok((description, Sha256::new_with_prefix(text)))
}

fn wrong(folder: &Path, reason: String) -> NnError {
    NnError::Config { path: folder.join(FILE), reason }
}

/// A graph of the folder; its bytes go into the hash.
fn graph(
    folder: &Path,
    file: &Path,
    runtime: &Runtime,
    hash: &mut Sha256,
) -> Result<Graph, EncoderError> {
    let path = folder.join(file);
    let bytes = std::fs::read(&path).map_err(FileError::at(&path)).map_err(NnError::from)?;
    hash.update(&bytes);
    Ok(Graph::from_bytes(runtime, &path.display().to_string(), bytes)?)
}

/// The rows of an output, which must have `dim` numbers for each of `count`.
fn rows(
    folder: &Path,
    what: &str,
    output: Output,
    count: usize,
    dim: usize,
) -> Result<Features, EncoderError> {
    if output.data.len() != count * dim || output.shape.last() != Some(&dim) {
        let found = format!(
            "the {what} graph makes the shape {:?} of {count}, not [{count}, {dim}] as `dim` says",
            output.shape
        );
        return Err(wrong(folder, found).into());
    }
    Ok(Features::new(dim, output.data)?)
}

/// The side that sees.
struct Viewer {
    folder: PathBuf,
    graph: Graph,
    description: ImageDescription,
    wants: Wants,
    colours: Normalize,
    dim: usize,
}

impl Viewer {
    fn load(
        folder: &Path,
        description: ImageDescription,
        dim: usize,
        runtime: &Runtime,
        hash: &mut Sha256,
    ) -> Result<Self, EncoderError> {
        description.check().map_err(|reason| wrong(folder, reason))?;
        let viewer = Self {
            folder: folder.into(),
            graph: graph(folder, &description.file, runtime, hash)?,
            wants: description.wants(),
            colours: Normalize::new(1.0 / 255.0, description.mean, description.std),
            description,
            dim,
        };
        let black = vec![0; viewer.wants.bytes()];
        viewer.see(&vec![black.as_slice(); viewer.wants.frames])?;
        Ok(viewer)
    }

    /// The dimensions of `count` clips.
    fn shape(&self, count: usize) -> Vec<usize> {
        let Wants { width, height, frames, .. } = self.wants;
        let (width, height) = (width as usize, height as usize);
        match self.description.layout {
            Layout::Nchw => vec![count, 3, height, width],
            Layout::Ntchw => vec![count, frames, 3, height, width],
            Layout::Ncthw => vec![count, 3, frames, height, width],
        }
    }

    /// Picture and colour of each plane, in the graph's order.
    fn planes<'a>(&self, pictures: &'a [&'a [u8]]) -> Vec<(&'a [u8], usize)> {
        let colours_outside = self.description.layout == Layout::Ncthw;
        let of_clip = |clip: &'a [&'a [u8]]| -> Vec<(&'a [u8], usize)> {
            match colours_outside {
                true => (0..3).flat_map(|c| clip.iter().map(move |p| (*p, c))).collect(),
                false => clip.iter().flat_map(|p| (0..3).map(move |c| (*p, c))).collect(),
            }
        };
        pictures.chunks_exact(self.wants.frames).flat_map(of_clip).collect()
    }

    fn see_together(&self, pictures: &[&[u8]]) -> Result<Features, EncoderError> {
        let count = pictures.len() / self.wants.frames;
        let (shape, planes) = (self.shape(count), self.planes(pictures));
        let ImageDescription { input, output, values, .. } = &self.description;
        let found = match values {
            Values::Bytes => {
                let plane = |(picture, c): &(&[u8], usize)| -> Vec<u8> {
                    picture.iter().skip(*c).step_by(3).copied().collect()
                };
                let bytes: Vec<u8> = planes.iter().flat_map(plane).collect();
                self.graph.run(&[(input, Input::Bytes(&shape, &bytes))], output)?
            }
            Values::Floats => {
                let plane = |(picture, c): &(&[u8], usize)| self.colours.plane(picture, *c);
                let floats: Vec<f32> = planes.iter().flat_map(plane).collect();
                self.graph.run(&[(input, Input::Floats(&shape, &floats))], output)?
            }
        };
        rows(&self.folder, "image", found, count, self.dim)
    }
}

impl ImageDescription {
    fn check(&self) -> Result<(), String> {
        let size = |side: u32| (1..=4096).contains(&side);
        if !size(self.width) || !size(self.height) {
            return Err(format!("a picture of {} x {}", self.width, self.height));
        }
        if !(1..=1024).contains(&self.frames) || !(1..=120).contains(&self.fps) || self.batch == 0 {
            return Err("frames must be 1 to 1024, fps 1 to 120, batch 1 or more".into());
        }
        if self.std.iter().any(|x| *x <= 0.0 || !x.is_finite()) {
            return Err("std must be above 0".into());
        }
        match (self.layout, self.frames) {
            (Layout::Nchw, 2..) => {
                Err("layout NCHW has no place for several frames; NTCHW and NCTHW have".into())
            }
            _ => Ok(()),
        }
    }

    fn wants(&self) -> Wants {
        Wants {
            width: self.width,
            height: self.height,
            fit: match self.fit {
                FitName::Crop => Fit::Crop,
                FitName::Squash => Fit::Squash,
            },
            filter: match self.filter {
                FilterName::Bicubic => Filter::Bicubic,
                FilterName::Bilinear => Filter::Bilinear,
            },
            fps: self.fps,
            frames: self.frames,
            together: self.frames > 1,
            batch: self.batch,
        }
    }
}

impl ImageTower for Viewer {
    fn wants(&self) -> &Wants {
        &self.wants
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn see(&self, pictures: &[&[u8]]) -> Result<Features, EncoderError> {
        let mut all = Features::empty(self.dim);
        for pictures in pictures.chunks(self.description.batch * self.wants.frames) {
            self.see_together(pictures)?.rows().for_each(|row| all.push(row));
        }
        Ok(all)
    }
}

/// The side that reads.
struct Reader {
    folder: PathBuf,
    graph: Graph,
    tokenizer: ClipTokenizer,
    description: TextDescription,
    dim: usize,
}

impl Reader {
    fn load(
        folder: &Path,
        description: TextDescription,
        dim: usize,
        runtime: &Runtime,
        hash: &mut Sha256,
    ) -> Result<Self, EncoderError> {
        let longest = description.longest;
        if !(1..100_000).contains(&longest) || description.batch == 0 {
            return Err(wrong(folder, "longest and batch must be 1 or more".into()).into());
        }
        let padding = Padding { length: longest, token: description.pad, left: false };
        let padding = description.fill.then_some(padding);
        let cleaning = if description.lowercase { Cleaning::Lowercase } else { Cleaning::None };
        let tokenizer = folder.join(&description.tokenizer);
        let reader = Self {
            folder: folder.into(),
            graph: graph(folder, &description.file, runtime, hash)?,
            tokenizer: ClipTokenizer::read(tokenizer, longest, cleaning, padding)?,
            description,
            dim,
        };
        reader.read(&["a"])?;
        Ok(reader)
    }

    /// Texts of one length.
    fn read_together(&self, texts: &[&Vec<u32>]) -> Result<Features, EncoderError> {
        let length = texts.first().map_or(0, |text| text.len());
        let TextDescription { input, mask, output, pad, fill, .. } = &self.description;
        let ids: Vec<i64> =
            texts.iter().flat_map(|text| text.iter().map(|t| i64::from(*t))).collect();
        let heard: Vec<i64> =
            ids.iter().map(|id| i64::from(!*fill || *id != i64::from(*pad))).collect();
        let shape = [texts.len(), length];
        let mut inputs = vec![(input.as_str(), Input::Integers(&shape, &ids))];
        inputs.extend(mask.as_ref().map(|mask| (mask.as_str(), Input::Integers(&shape, &heard))));
        rows(&self.folder, "text", self.graph.run(&inputs, output)?, texts.len(), self.dim)
    }
}

impl TextTower for Reader {
    fn read(&self, texts: &[&str]) -> Result<Features, EncoderError> {
        let tokens: Vec<Vec<u32>> = self.tokenizer.encode(texts)?;
        let mut order: Vec<usize> = (0..tokens.len()).collect();
        order.sort_by_key(|&text| tokens[text].len());
        let mut data = vec![0.0; texts.len() * self.dim];
        for same in order.chunk_by(|a, b| tokens[*a].len() == tokens[*b].len()) {
            for together in same.chunks(self.description.batch) {
                let of: Vec<&Vec<u32>> = together.iter().map(|text| &tokens[*text]).collect();
                for (row, text) in self.read_together(&of)?.rows().zip(together) {
                    data[text * self.dim..][..self.dim].copy_from_slice(row);
                }
            }
        }
        Ok(Features::new(self.dim, data)?)
    }
}
