//! `mini`, the encoder that comes with the program: a small image tower, and a head over the
//! sentence model, trained into one space by `recipes/mini`.

use std::path::Path;
use std::sync::Arc;

use candle_core::{Device, Tensor};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use stitch_core::features::Features;

use super::pictures::Picture;
use super::tower::{ImageTower, TextTower};
use super::wants::{Filter, Fit, Wants};
use super::{EncoderError, EncoderId, TwoTowers};
use crate::files::{FileError, hex};
use crate::models::weights::{Weights, WeightsError};
use crate::onnx::{Graph, Input, Runtime};
use crate::sentence::SentenceEncoder;

/// Pictures looked at in a second.
const FPS: u32 = 8;

/// The files of a trained `mini`.
pub struct Files {
    config: Vec<u8>,
    image: Vec<u8>,
    text: Vec<u8>,
}

/// config.json, as far as it matters here.
#[derive(Deserialize)]
struct Config {
    name: String,
    dim: usize,
    image: ImageConfig,
    text: TextConfig,
}

#[derive(Deserialize)]
struct ImageConfig {
    input: String,
    output: String,
    size: u32,
}

#[derive(Deserialize)]
struct TextConfig {
    input_dim: usize,
}

impl Files {
    /// Those that come with the program.
    pub fn shipped() -> Self {
        Self {
            config: include_bytes!("../../../../models/mini/config.json").to_vec(),
            image: include_bytes!("../../../../models/mini/image.onnx").to_vec(),
            text: include_bytes!("../../../../models/mini/text_projection.safetensors").to_vec(),
        }
    }

    /// Those of a folder: a `mini` that someone trained.
    pub fn read(folder: &Path) -> Result<Self, FileError> {
        let read = |name: &str| {
            let path = folder.join(name);
            std::fs::read(&path).map_err(FileError::at(path))
        };
        let (config, image) = (read("config.json")?, read("image.onnx")?);
        Ok(Self { config, image, text: read("text_projection.safetensors")? })
    }

    /// What tells these weights, on top of these of the sentence model, from any others.
    fn hash(&self, sentence_weights: &str) -> String {
        let mut hash = Sha256::new();
        for bytes in [&self.config, &self.image, &self.text] {
            hash.update(bytes);
        }
        hash.update(sentence_weights);
        hex(&hash.finalize())
    }
}

/// The name of the encoder that comes with the program.
pub const NAME: &str = "mini";

/// The encoder in these files, over a sentence model whose weights have this SHA-256.
pub fn load(
    files: Files,
    runtime: &Runtime,
    sentences: Arc<SentenceEncoder>,
    sentence_weights: &str,
) -> Result<TwoTowers, EncoderError> {
    let config: Config = serde_json::from_slice(&files.config).map_err(|error| {
        WeightsError::Config { path: "mini/config.json".into(), reason: error.to_string() }
    })?;
    let id =
        EncoderId { name: config.name, dim: config.dim, weights: files.hash(sentence_weights) };
    let text = Head::load(&files.text, (config.text.input_dim, config.dim), sentences)?;
    let image = Eye::load(files.image, runtime, &config.image, config.dim)?;
    Ok(TwoTowers::new(id, Box::new(image), Box::new(text)))
}

/// The image tower: the graph normalises the bytes itself.
struct Eye {
    graph: Graph,
    input: String,
    output: String,
    wants: Wants,
    dim: usize,
}

impl Eye {
    fn load(
        bytes: Vec<u8>,
        runtime: &Runtime,
        config: &ImageConfig,
        dim: usize,
    ) -> Result<Self, EncoderError> {
        let (width, height) = (config.size, config.size);
        let (fit, filter) = (Fit::Squash, Filter::Bilinear);
        Ok(Self {
            graph: Graph::from_bytes(runtime, "mini's image tower", bytes)?,
            input: config.input.clone(),
            output: config.output.clone(),
            wants: Wants { width, height, fit, filter, fps: FPS, frames: 1 },
            dim,
        })
    }
}

impl ImageTower for Eye {
    fn wants(&self) -> &Wants {
        &self.wants
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn see(&self, pictures: &[&[u8]]) -> Result<Features, EncoderError> {
        self.run(pictures, (self.wants.width, self.wants.height))
    }

    /// Squashed and in its own shape, as the tower was taught, and each as in a mirror.
    fn looks(&self, still: &Picture) -> Vec<Picture> {
        let square = (self.wants.width, self.wants.height);
        let own = own_shape(f64::from(still.width) / f64::from(still.height), square.0);
        let shaped = [square, own].map(|(w, h)| still.resized(w, h, self.wants.filter));
        shaped.into_iter().flat_map(|look| [look.mirrored(), look]).collect()
    }

    fn see_looks(&self, looks: &[Picture]) -> Result<Features, EncoderError> {
        let mut rows = Features::empty(self.dim);
        for look in looks {
            let seen = self.run(&[&look.rgb], (look.width, look.height))?;
            seen.rows().for_each(|row| rows.push(row));
        }
        Ok(rows)
    }
}

impl Eye {
    /// A row for each picture of this shape.
    fn run(
        &self,
        pictures: &[&[u8]],
        (width, height): (u32, u32),
    ) -> Result<Features, EncoderError> {
        let mut planes = Vec::with_capacity(pictures.iter().map(|picture| picture.len()).sum());
        for picture in pictures {
            for channel in 0..3 {
                planes.extend(picture.iter().skip(channel).step_by(3));
            }
        }
        let shape = [pictures.len(), 3, height as usize, width as usize];
        let input = [(self.input.as_str(), Input::Bytes(&shape, &planes))];
        Ok(Features::new(self.dim, self.graph.run(&input, &self.output)?.data)?)
    }
}

/// The shape nearest to this among those of about the usual area that the graph takes.
/// Sides are multiples of 32, the area within 15 % of the square's.
fn own_shape(aspect: f64, side: u32) -> (u32, u32) {
    const STEP: u32 = 32;
    let area = f64::from(side * side);
    let sides = || (side * 5 / 8 / STEP * STEP..=side * 13 / 8).step_by(STEP as usize);
    let shapes = sides().flat_map(|width| sides().map(move |height| (width, height)));
    let near = |(w, h): &(u32, u32)| (f64::from(w * h) / area - 1.0).abs() <= 0.15;
    let apart = |(w, h): (u32, u32)| (f64::from(w) / f64::from(h) / aspect).ln().abs();
    let nearest = shapes.filter(near).min_by(|a, b| apart(*a).total_cmp(&apart(*b)));
    nearest.unwrap_or((side, side))
}

/// The text tower: the sentence's vector, projected.
struct Head {
    sentences: Arc<SentenceEncoder>,
    projection: Projection,
}

impl Head {
    fn load(
        bytes: &[u8],
        (from, to): (usize, usize),
        sentences: Arc<SentenceEncoder>,
    ) -> Result<Self, EncoderError> {
        if sentences.dim() != from {
            let reason = format!(
                "its text tower was trained on sentence vectors of {from} numbers, the sentence \
                 model here makes {}; use `{}`",
                sentences.dim(),
                SentenceEncoder::MODEL
            );
            return Err(WeightsError::Config { path: "mini/config.json".into(), reason }.into());
        }
        Ok(Self { sentences, projection: Projection::load(bytes, from, to)? })
    }
}

impl TextTower for Head {
    fn read(&self, texts: &[&str]) -> Result<Features, EncoderError> {
        if texts.is_empty() {
            return Ok(Features::empty(self.projection.dim()));
        }
        let data = self.projection.forward(&self.sentences.encode(texts)?);
        Ok(Features::new(self.projection.dim(), data.map_err(WeightsError::from)?)?)
    }
}

/// linear(x) + down(gelu(up(x)))
struct Projection {
    linear: (Tensor, Tensor),
    up: (Tensor, Tensor),
    down: Tensor,
}

impl Projection {
    fn load(bytes: &[u8], from: usize, to: usize) -> Result<Self, WeightsError> {
        let weights = Weights::from_bytes("mini/text_projection.safetensors", bytes)?;
        let hidden = weights.shape("up.bias")?.first().copied().unwrap_or(0);
        let matrix = |name: &str, from, to| {
            let weight = weights.tensor(&format!("{name}.weight"), &[to, from], &Device::Cpu)?;
            Ok::<_, WeightsError>(weight.t()?.contiguous()?)
        };
        let bias = |name: &str, to| weights.tensor(&format!("{name}.bias"), &[to], &Device::Cpu);
        Ok(Self {
            linear: (matrix("linear", from, to)?, bias("linear", to)?),
            up: (matrix("up", from, hidden)?, bias("up", hidden)?),
            down: matrix("down", hidden, to)?,
        })
    }

    fn dim(&self) -> usize {
        self.linear.1.elem_count()
    }

    fn forward(&self, rows: &Features) -> candle_core::Result<Vec<f32>> {
        let x = Tensor::from_slice(rows.as_slice(), (rows.len(), rows.dim()), &Device::Cpu)?;
        let affine = |(weight, bias): &(Tensor, Tensor)| x.matmul(weight)?.broadcast_add(bias);
        let deep = affine(&self.up)?.gelu_erf()?.matmul(&self.down)?;
        (affine(&self.linear)? + deep)?.flatten_all()?.to_vec1()
    }
}

#[cfg(test)]
mod tests {
    use stitch_core::features::similarity;

    use super::*;

    #[test]
    fn shapes_of_about_the_same_area() {
        assert_eq!(own_shape(1.0, 256), (256, 256));
        assert_eq!(own_shape(16.0 / 9.0, 256), (352, 192));
        assert_eq!(own_shape(3.0 / 4.0, 256), (224, 288));
        assert_eq!(own_shape(100.0, 256), (416, 160));
        assert_eq!(own_shape(0.01, 256), (160, 416));
    }

    #[derive(Deserialize)]
    struct Golden {
        text_features: Vec<f32>,
    }

    #[test]
    fn the_text_head_gives_what_training_left() {
        let golden = include_bytes!("../../../../models/mini/golden.json");
        let golden: Golden = serde_json::from_slice(golden).unwrap();
        let projection = Projection::load(&Files::shipped().text, 768, 384).unwrap();
        let x = Features::new(768, (1..=768).map(|i| (i as f32).sin()).collect()).unwrap();
        let found = Features::new(384, projection.forward(&x).unwrap()).unwrap();
        assert!(similarity(found.row(0), &golden.text_features) > 0.9999);
    }

    #[test]
    fn a_head_that_is_cut_short_or_lacks_a_part_is_refused() {
        let text = Files::shipped().text;
        assert!(Projection::load(&text[..text.len() - 8], 768, 384).is_err());
        assert!(Projection::load(&text, 512, 384).is_err());
        assert!(Projection::load(b"\x80\x02}q\x00.", 768, 384).is_err(), "a pickle");
    }
}
