//! Any pair of ONNX graphs that encode images and texts into one space, described by `encoder.toml`
//! (docs/src/formats.md has an example with every key).

use std::path::{Path, PathBuf};

use serde::Deserialize;
use sha2::{Digest, Sha256};
use stitch_core::features::Features;
use stitch_nn::clip::normalize::Normalize;
use stitch_nn::clip::text::{Cleaning, ClipTokenizer, Padding};
use stitch_nn::onnx::{Graph, Input, Output, Runtime};

use super::tower::{FrameSpec, ImageTower, TextTower, Towers, plane};
use super::{EncoderId, Result, TwoTowers};
use crate::files::{FileError, hex};
use crate::media::frames::{Filter, Fit};
use crate::models::NnError;

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
    #[serde(default = "number::<_, 1>")]
    frames: usize,
    #[serde(default = "number::<_, 2>")]
    fps: u32,
    #[serde(default)]
    layout: Layout,
    #[serde(default)]
    fit: Fit,
    #[serde(default)]
    filter: Filter,
    #[serde(default)]
    mean: [f64; 3],
    #[serde(default = "ones")]
    std: [f64; 3],
    #[serde(default)]
    values: Values,
    #[serde(default = "number::<_, 4>")]
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
    #[serde(default = "number::<_, 16>")]
    batch: usize,
}

fn number<T: From<u8>, const N: u8>() -> T {
    T::from(N)
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

/// The encoder of a folder. Its graphs are run once, so that a wrong description is an error before
/// any video is decoded.
pub fn load(folder: &Path, name: &str, towers: Towers, runtime: Runtime) -> Result<TwoTowers> {
    let path = folder.join(FILE);
    let text = std::fs::read_to_string(&path).map_err(FileError::at(&path))?;
    let description: Description =
        toml::from_str(&text).map_err(|error| wrong(folder, error.to_string()))?;
    let dim = description.dim;
    if !(1..=1 << 20).contains(&dim) {
        return Err(wrong(folder, format!("dim = {dim} is no length of a vector")).into());
    }
    let hash = Sha256::new_with_prefix(text);
    let mut loader = Loader { folder, dim, runtime, hash };
    let mut image: Option<Box<dyn ImageTower>> = None;
    if towers == Towers::Both {
        let Some(described) = description.image else {
            return Err(wrong(folder, "it has no [image]: it can read but not see".into()).into());
        };
        image = Some(Box::new(Images::load(&mut loader, described)?));
    }
    let text = Texts::load(&mut loader, description.text)?;
    let id = EncoderId { name: name.into(), dim, weights: hex(&loader.hash.finalize()) };
    Ok(TwoTowers::new(id, image, Box::new(text)))
}

fn wrong(folder: &Path, reason: String) -> NnError {
    NnError::Config { path: folder.join(FILE), reason }
}

/// Loads graphs; their bytes go into the hash.
struct Loader<'a> {
    folder: &'a Path,
    dim: usize,
    runtime: Runtime,
    hash: Sha256,
}

impl Loader<'_> {
    fn graph(&mut self, what: &'static str, file: &Path) -> Result<RowGraph> {
        let path = self.folder.join(file);
        let bytes = std::fs::read(&path).map_err(FileError::at(&path))?;
        self.hash.update(&bytes);
        let graph = Graph::from_bytes(&self.runtime, &path.display().to_string(), bytes)?;
        Ok(RowGraph { folder: self.folder.into(), what, dim: self.dim, graph })
    }
}

/// A graph whose output has rows of `dim` numbers.
struct RowGraph {
    folder: PathBuf,
    what: &'static str,
    dim: usize,
    graph: Graph,
}

impl RowGraph {
    /// The `count` rows of an output.
    fn run(&self, inputs: &[(&str, Input)], output: &str, count: usize) -> Result<Features> {
        let Output { shape, data } = self.graph.run(inputs, output)?;
        let Self { what, dim, .. } = *self;
        if data.len() != count * dim || shape.last() != Some(&dim) {
            let found = format!(
                "the {what} graph makes the shape {shape:?} of {count}, not [{count}, {dim}] as \
                 `dim` says"
            );
            return Err(wrong(&self.folder, found).into());
        }
        Ok(Features::new(dim, data)?)
    }
}

struct Images {
    graph: RowGraph,
    description: ImageDescription,
    spec: FrameSpec,
    colours: Normalize,
}

impl Images {
    fn load(loader: &mut Loader, description: ImageDescription) -> Result<Self> {
        description.check().map_err(|reason| wrong(loader.folder, reason))?;
        let ImageDescription { width, height, fit, filter, fps, frames, batch, .. } = description;
        let images = Self {
            graph: loader.graph("image", &description.file)?,
            spec: FrameSpec { width, height, fit, filter, fps, frames, clips: frames > 1, batch },
            colours: Normalize::new(1.0 / 255.0, description.mean, description.std),
            description,
        };
        let black = vec![0; images.spec.bytes()];
        images.encode(&vec![black.as_slice(); images.spec.frames])?;
        Ok(images)
    }

    /// The dimensions of `count` clips.
    fn shape(&self, count: usize) -> Vec<usize> {
        let FrameSpec { width, height, frames, .. } = self.spec;
        let (width, height) = (width as usize, height as usize);
        match self.description.layout {
            Layout::Nchw => vec![count, 3, height, width],
            Layout::Ntchw => vec![count, frames, 3, height, width],
            Layout::Ncthw => vec![count, 3, frames, height, width],
        }
    }

    /// Picture and colour of each plane, in the graph's order.
    fn planes<'a>(&self, pictures: &[&'a [u8]]) -> Vec<(&'a [u8], usize)> {
        let mut planes = Vec::new();
        for clip in pictures.chunks_exact(self.spec.frames) {
            match self.description.layout {
                Layout::Ncthw => (0..3).for_each(|c| planes.extend(clip.iter().map(|p| (*p, c)))),
                _ => clip.iter().for_each(|p| planes.extend((0..3).map(|c| (*p, c)))),
            }
        }
        planes
    }

    fn encode_batch(&self, pictures: &[&[u8]]) -> Result<Features> {
        let count = pictures.len() / self.spec.frames;
        let (shape, planes) = (self.shape(count), self.planes(pictures));
        let ImageDescription { input, output, values, .. } = &self.description;
        match values {
            Values::Bytes => {
                let bytes: Vec<u8> =
                    planes.iter().flat_map(|(picture, c)| plane(picture, *c)).copied().collect();
                self.graph.run(&[(input, Input::Bytes(&shape, &bytes))], output, count)
            }
            Values::Floats => {
                let plane = |(picture, c): &(&[u8], usize)| self.colours.plane(picture, *c);
                let floats: Vec<f32> = planes.iter().flat_map(plane).collect();
                self.graph.run(&[(input, Input::Floats(&shape, &floats))], output, count)
            }
        }
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
        if self.layout == Layout::Nchw && self.frames > 1 {
            return Err("layout NCHW has no place for several frames; NTCHW and NCTHW have".into());
        }
        Ok(())
    }
}

impl ImageTower for Images {
    fn spec(&self) -> &FrameSpec {
        &self.spec
    }

    fn dim(&self) -> usize {
        self.graph.dim
    }

    fn encode(&self, frames: &[&[u8]]) -> Result<Features> {
        let mut all = Features::empty(self.dim());
        for batch in frames.chunks(self.description.batch * self.spec.frames) {
            self.encode_batch(batch)?.rows().for_each(|row| all.push(row));
        }
        Ok(all)
    }
}

struct Texts {
    graph: RowGraph,
    tokenizer: ClipTokenizer,
    description: TextDescription,
}

impl Texts {
    fn load(loader: &mut Loader, description: TextDescription) -> Result<Self> {
        let longest = description.longest;
        if !(1..100_000).contains(&longest) || description.batch == 0 {
            return Err(wrong(loader.folder, "longest and batch must be 1 or more".into()).into());
        }
        let padding = Padding { length: longest, token: description.pad, left: false };
        let padding = description.fill.then_some(padding);
        let cleaning = if description.lowercase { Cleaning::Lowercase } else { Cleaning::None };
        let tokenizer = loader.folder.join(&description.tokenizer);
        let texts = Self {
            graph: loader.graph("text", &description.file)?,
            tokenizer: ClipTokenizer::read(tokenizer, longest, cleaning, padding)?,
            description,
        };
        texts.encode(&["a"])?;
        Ok(texts)
    }

    /// Texts of equal length.
    fn encode_batch(&self, texts: &[&Vec<u32>]) -> Result<Features> {
        let length = texts.first().map_or(0, |text| text.len());
        let TextDescription { input, mask, output, pad, fill, .. } = &self.description;
        let ids: Vec<i64> = texts.iter().copied().flatten().map(|id| i64::from(*id)).collect();
        let used = |id: &i64| i64::from(!*fill || *id != i64::from(*pad));
        let used: Vec<i64> = ids.iter().map(used).collect();
        let shape = [texts.len(), length];
        let mut inputs = vec![(input.as_str(), Input::Integers(&shape, &ids))];
        inputs.extend(mask.as_ref().map(|mask| (mask.as_str(), Input::Integers(&shape, &used))));
        self.graph.run(&inputs, output, texts.len())
    }
}

impl TextTower for Texts {
    fn encode(&self, texts: &[&str]) -> Result<Features> {
        let tokens: Vec<Vec<u32>> = self.tokenizer.encode(texts)?;
        let mut order: Vec<usize> = (0..tokens.len()).collect();
        order.sort_by_key(|&text| tokens[text].len());
        let dim = self.graph.dim;
        let mut data = vec![0.0; texts.len() * dim];
        for same in order.chunk_by(|a, b| tokens[*a].len() == tokens[*b].len()) {
            for together in same.chunks(self.description.batch) {
                let of: Vec<&Vec<u32>> = together.iter().map(|text| &tokens[*text]).collect();
                for (row, text) in self.encode_batch(&of)?.rows().zip(together) {
                    data[text * dim..][..dim].copy_from_slice(row);
                }
            }
        }
        Ok(Features::new(dim, data)?)
    }
}
