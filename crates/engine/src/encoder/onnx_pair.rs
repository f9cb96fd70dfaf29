//! Any pair of ONNX graphs that encode images and texts into one space, described by `encoder.toml`
//! (docs/src/formats.md has an example with every key). What the graphs say themselves need not be in it.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use sha2::{Digest, Sha256};
use stitch_core::features::Features;
use stitch_nn::clip::normalize::Normalize;
use stitch_nn::clip::text::{Cleaning, ClipTokenizer, Padding};
use stitch_nn::onnx::{Graph, Input, Output, Port, Runtime};

use super::tower::{FrameSpec, ImageTower, Seen, TextTower, Towers, plane};
use super::{EncoderId, Result, TwoTowers};
use crate::files::{FileError, hex};
use crate::media::frames::{Filter, Fit};
use crate::models::NnError;

/// The description's name in a folder.
pub const FILE: &str = "encoder.toml";

/// The names that exporters give to inputs and outputs.
const IMAGE_INPUTS: [&str; 2] = ["pixel_values", "image"];
const IMAGE_OUTPUTS: [&str; 3] = ["image_embeds", "image_features", "pooler_output"];
const TEXT_INPUTS: [&str; 2] = ["input_ids", "text"];
const TEXT_OUTPUTS: [&str; 3] = ["text_embeds", "text_features", "pooler_output"];
const MASK: &str = "attention_mask";

/// What graphs are called with. None is what the graph says.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairDescription {
    pub dim: Option<usize>,
    pub image: Option<ImageDescription>,
    pub text: TextDescription,
}

impl PairDescription {
    /// The text of an encoder.toml; the error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let description: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        match description.dim.filter(|dim| !(1..=1 << 20).contains(dim)) {
            Some(dim) => Err(format!("dim = {dim} is no length of a vector")),
            None => Ok(description),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageDescription {
    pub file: PathBuf,
    input: Option<String>,
    output: Option<String>,
    pub width: Option<u32>,
    pub height: Option<u32>,
    #[serde(default = "number::<_, 1>")]
    frames: usize,
    #[serde(default = "number::<_, 2>")]
    fps: u32,
    #[serde(default)]
    layout: Layout,
    #[serde(default)]
    pub fit: Fit,
    #[serde(default)]
    pub filter: Filter,
    #[serde(default)]
    pub mean: [f64; 3],
    #[serde(default = "ones")]
    pub std: [f64; 3],
    #[serde(default)]
    values: Values,
    #[serde(default = "number::<_, 4>")]
    batch: usize,
}

impl ImageDescription {
    /// The rest as where encoder.toml does not say it.
    pub fn of(file: PathBuf) -> Self {
        Self {
            file,
            input: None,
            output: None,
            width: None,
            height: None,
            frames: 1,
            fps: number::<_, 2>(),
            layout: Layout::default(),
            fit: Fit::default(),
            filter: Filter::default(),
            mean: [0.0; 3],
            std: ones(),
            values: Values::default(),
            batch: number::<_, 4>(),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextDescription {
    pub file: PathBuf,
    input: Option<String>,
    mask: Option<String>,
    output: Option<String>,
    pub tokenizer: PathBuf,
    pub longest: Option<usize>,
    #[serde(default)]
    pub fill: bool,
    #[serde(default)]
    pub pad: u32,
    /// Instead of `pad`, if the tokenizer has it.
    #[serde(skip)]
    pub pad_token: Option<String>,
    #[serde(skip)]
    pub pads_left: bool,
    #[serde(default)]
    lowercase: bool,
    /// Instead of `lowercase`.
    #[serde(skip)]
    pub cleaning: Option<Cleaning>,
    #[serde(default = "number::<_, 16>")]
    batch: usize,
}

impl TextDescription {
    /// The rest as where encoder.toml does not say it.
    pub fn of(file: PathBuf, tokenizer: PathBuf) -> Self {
        Self {
            file,
            input: None,
            mask: None,
            output: None,
            tokenizer,
            longest: None,
            fill: false,
            pad: 0,
            pad_token: None,
            pads_left: false,
            lowercase: false,
            cleaning: None,
            batch: number::<_, 16>(),
        }
    }
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

/// The encoder of a folder with an encoder.toml.
pub fn load(folder: &Path, name: &str, towers: Towers, runtime: Runtime) -> Result<TwoTowers> {
    let path = folder.join(FILE);
    let text = std::fs::read_to_string(&path).map_err(FileError::at(&path))?;
    let description = PairDescription::parse(&text).map_err(|reason| wrong(folder, reason))?;
    open((folder, name), towers, runtime, description, text.as_bytes())
}

/// The encoder of a description, whose text goes into the hash. Its graphs are run once, so that a
/// wrong description is an error before any video is decoded.
pub fn open(
    (folder, name): (&Path, &str),
    towers: Towers,
    runtime: Runtime,
    description: PairDescription,
    described_by: &[u8],
) -> Result<TwoTowers> {
    let hash = Sha256::new_with_prefix(described_by);
    let mut loader = Loader { folder, dim: description.dim, runtime, hash };
    let mut image: Option<Box<dyn ImageTower>> = None;
    if towers == Towers::Both {
        let Some(described) = description.image else {
            return Err(wrong(folder, "it has no [image]: it can read but not see".into()).into());
        };
        image = Some(Box::new(Images::load(&mut loader, described)?));
    }
    let text = Texts::load(&mut loader, description.text)?;
    let dim = text.graph.dim;
    if let Some(seen) = image.as_ref().map(|image| image.spec().dim).filter(|seen| *seen != dim) {
        let reason = format!("pictures have {seen} numbers, texts {dim}: no space of both");
        return Err(wrong(folder, reason).into());
    }
    let id = EncoderId { name: name.into(), dim, weights: hex(&loader.hash.finalize()) };
    Ok(TwoTowers::new(id, image, Box::new(text)))
}

pub fn wrong(folder: &Path, reason: String) -> NnError {
    NnError::Config { path: folder.join(FILE), reason }
}

/// What neither the description nor the graph says.
fn unsaid(folder: &Path, write: &str) -> NnError {
    wrong(folder, format!("the graph leaves it open; write {write} here"))
}

/// Loads graphs; their bytes go into the hash.
struct Loader<'a> {
    folder: &'a Path,
    dim: Option<usize>,
    runtime: Runtime,
    hash: Sha256,
}

impl Loader<'_> {
    fn graph(
        &mut self,
        what: &'static str,
        file: &Path,
        (output, usual): (Option<&str>, &[&str]),
    ) -> Result<RowGraph> {
        let path = self.folder.join(file);
        self.hash.update(std::fs::read(&path).map_err(FileError::at(&path))?);
        // Exporters keep large weights in a file beside the graph.
        for ending in ["_data", ".data"] {
            let mut beside = path.clone().into_os_string();
            beside.push(ending);
            let beside = PathBuf::from(beside);
            if beside.is_file() {
                self.hash.update(std::fs::read(&beside).map_err(FileError::at(&beside))?);
            }
        }
        let graph = Graph::from_file(&self.runtime, &path)?;
        let Port { name, shape } = graph.output(output, usual)?;
        let last = shape.last().and_then(|dim| usize::try_from(*dim).ok()).filter(|dim| *dim > 0);
        let dim = self.dim.or(last).ok_or_else(|| unsaid(self.folder, "`dim = NUMBER`"))?;
        let output = name.clone();
        Ok(RowGraph { folder: self.folder.into(), what, dim, output, graph })
    }
}

/// A graph whose output has rows of `dim` numbers.
struct RowGraph {
    folder: PathBuf,
    what: &'static str,
    dim: usize,
    output: String,
    graph: Graph,
}

impl RowGraph {
    fn run(&self, inputs: &[(&str, Input)], count: usize) -> Result<Features> {
        let Output { shape, data } = self.graph.run(inputs, &self.output)?;
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
    input: String,
    layout: Layout,
    values: Values,
    spec: FrameSpec,
    colours: Normalize,
}

impl Images {
    fn load(loader: &mut Loader, description: ImageDescription) -> Result<Self> {
        let ImageDescription { fit, filter, fps, frames, batch, layout, values, .. } = description;
        let output = (description.output.as_deref(), &IMAGE_OUTPUTS[..]);
        let graph = loader.graph("image", &description.file, output)?;
        let input = graph.graph.input(description.input.as_deref(), &IMAGE_INPUTS)?.clone();
        // Height and width are the last two in every layout.
        let fixed = |from_end: usize| {
            let side = input.shape.len().checked_sub(from_end).and_then(|at| input.fixed(at));
            side.and_then(|side| u32::try_from(side).ok())
        };
        let size = description.width.or(fixed(1)).zip(description.height.or(fixed(2)));
        let (width, height) =
            size.ok_or_else(|| unsaid(loader.folder, "`width` and `height` under [image]"))?;
        description.check((width, height)).map_err(|reason| wrong(loader.folder, reason))?;
        // A batch that the graph fixes is a batch of one in every known export.
        let batch = if input.fixed(0) == Some(1) { 1 } else { batch };
        let (clips, dim) = (frames > 1, graph.dim);
        let images = Self {
            graph,
            input: input.name,
            layout,
            values,
            spec: FrameSpec { width, height, fit, filter, fps, frames, clips, batch, dim },
            colours: Normalize::new(1.0 / 255.0, description.mean, description.std),
        };
        let black = vec![0; images.spec.bytes()];
        images.encode(&vec![black.as_slice(); images.spec.frames])?;
        Ok(images)
    }

    /// The dimensions of `count` clips.
    fn shape(&self, count: usize) -> Vec<usize> {
        let FrameSpec { width, height, frames, .. } = self.spec;
        let (width, height) = (width as usize, height as usize);
        match self.layout {
            Layout::Nchw => vec![count, 3, height, width],
            Layout::Ntchw => vec![count, frames, 3, height, width],
            Layout::Ncthw => vec![count, 3, frames, height, width],
        }
    }

    /// Picture and colour of each plane, in the graph's order.
    fn planes<'a>(&self, pictures: &[&'a [u8]]) -> Vec<(&'a [u8], usize)> {
        let mut planes = Vec::new();
        for clip in pictures.chunks_exact(self.spec.frames) {
            match self.layout {
                Layout::Ncthw => (0..3).for_each(|c| planes.extend(clip.iter().map(|p| (*p, c)))),
                _ => clip.iter().for_each(|p| planes.extend((0..3).map(|c| (*p, c)))),
            }
        }
        planes
    }

    fn encode_batch(&self, pictures: &[&[u8]]) -> Result<Features> {
        let count = pictures.len() / self.spec.frames;
        let (shape, planes) = (self.shape(count), self.planes(pictures));
        let input = self.input.as_str();
        match self.values {
            Values::Bytes => {
                let bytes: Vec<u8> =
                    planes.iter().flat_map(|(picture, c)| plane(picture, *c)).copied().collect();
                self.graph.run(&[(input, Input::Bytes(&shape, &bytes))], count)
            }
            Values::Floats => {
                let plane = |(picture, c): &(&[u8], usize)| self.colours.plane(picture, *c);
                let floats: Vec<f32> = planes.iter().flat_map(plane).collect();
                self.graph.run(&[(input, Input::Floats(&shape, &floats))], count)
            }
        }
    }
}

impl ImageDescription {
    fn check(&self, (width, height): (u32, u32)) -> Result<(), String> {
        let size = |side: u32| (1..=4096).contains(&side);
        if !size(width) || !size(height) {
            return Err(format!("a picture of {width} x {height}"));
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

    fn encode(&self, frames: &[&[u8]]) -> Result<Seen> {
        let mut all = Features::empty(self.spec.dim);
        for batch in frames.chunks(self.spec.batch * self.spec.frames) {
            self.encode_batch(batch)?.rows().for_each(|row| all.push(row));
        }
        Ok(all.into())
    }
}

struct Texts {
    graph: RowGraph,
    tokenizer: ClipTokenizer,
    input: String,
    mask: Option<String>,
    padding: Option<Padding>,
    batch: usize,
}

impl Texts {
    fn load(loader: &mut Loader, description: TextDescription) -> Result<Self> {
        let output = (description.output.as_deref(), &TEXT_OUTPUTS[..]);
        let graph = loader.graph("text", &description.file, output)?;
        let input = graph.graph.input(description.input.as_deref(), &TEXT_INPUTS)?.clone();
        let has_mask = || graph.graph.input(Some(MASK), &[]).is_ok().then(|| MASK.to_owned());
        let longest = description.longest.or(input.fixed(1));
        let longest =
            longest.ok_or_else(|| unsaid(loader.folder, "`longest = TOKENS` under [text]"))?;
        if !(1..100_000).contains(&longest) || description.batch == 0 {
            return Err(wrong(loader.folder, "longest and batch must be 1 or more".into()).into());
        }
        let usual = if description.lowercase { Cleaning::Lowercase } else { Cleaning::None };
        let cleaning = description.cleaning.unwrap_or(usual);
        let tokenizer = loader.folder.join(&description.tokenizer);
        let tokenizer = ClipTokenizer::read(tokenizer, longest, cleaning, None)?;
        let token = description.pad_token.and_then(|token| tokenizer.token(&token));
        let (token, left) = (token.unwrap_or(description.pad), description.pads_left);
        let padding = Padding { length: longest, token, left };
        let is_filled = description.fill || input.fixed(1).is_some();
        let texts = Self {
            mask: description.mask.or_else(has_mask),
            graph,
            tokenizer,
            padding: is_filled.then_some(padding),
            batch: if input.fixed(0) == Some(1) { 1 } else { description.batch },
            input: input.name,
        };
        texts.encode(&["a"])?;
        Ok(texts)
    }

    /// Tokens, and 1 for each that is of the text.
    fn padded(&self, tokens: &[u32]) -> (Vec<i64>, Vec<i64>) {
        let ids: Vec<i64> = tokens.iter().map(|id| i64::from(*id)).collect();
        let used = vec![1; ids.len()];
        match &self.padding {
            Some(padding) => (padding.pad(ids, padding.token.into()), padding.pad(used, 0)),
            None => (ids, used),
        }
    }

    /// Texts of equal length.
    fn encode_batch(&self, texts: &[&Vec<u32>]) -> Result<Features> {
        let (ids, used): (Vec<_>, Vec<_>) = texts.iter().map(|text| self.padded(text)).unzip();
        let shape = [texts.len(), ids.first().map_or(0, Vec::len)];
        let (ids, used) = (ids.concat(), used.concat());
        let mut inputs = vec![(self.input.as_str(), Input::Integers(&shape, &ids))];
        let mask = self.mask.as_deref();
        inputs.extend(mask.map(|mask| (mask, Input::Integers(&shape, &used))));
        self.graph.run(&inputs, texts.len())
    }
}

impl TextTower for Texts {
    fn encode(&self, texts: &[&str]) -> Result<Features> {
        let tokens: Vec<Vec<u32>> = self.tokenizer.encode(texts)?;
        let mut order: Vec<usize> = (0..tokens.len()).collect();
        order.sort_by_key(|&text| tokens[text].len());
        let is_padded = self.padding.is_some();
        let is_equal = |a: &usize, b: &usize| is_padded || tokens[*a].len() == tokens[*b].len();
        let dim = self.graph.dim;
        let mut data = vec![0.0; texts.len() * dim];
        for same in order.chunk_by(is_equal) {
            for together in same.chunks(self.batch) {
                let of: Vec<&Vec<u32>> = together.iter().map(|text| &tokens[*text]).collect();
                for (row, text) in self.encode_batch(&of)?.rows().zip(together) {
                    data[text * dim..][..dim].copy_from_slice(row);
                }
            }
        }
        Ok(Features::new(dim, data)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::Manifest;

    #[test]
    fn descriptions_of_the_manifest_are_read() {
        let encoders = Manifest::shipped().encoders.iter();
        let descriptions: Vec<&String> = encoders.filter_map(|e| e.description.as_ref()).collect();
        assert!(!descriptions.is_empty());
        for text in descriptions {
            let read: PairDescription = toml::from_str(text).unwrap();
            let image = read.image.unwrap();
            image.check((image.width.unwrap(), image.height.unwrap())).unwrap();
        }
    }
}
