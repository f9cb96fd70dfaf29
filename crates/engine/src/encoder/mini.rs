//! `mini`, the encoder that comes with the program: a small image tower, and a head over the
//! sentence model, trained into one space by `recipes/mini`.

use std::path::Path;
use std::sync::Arc;

use candle_core::{Device, Tensor};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use stitch_core::features::Features;

use super::tower::{Filter, Fit, ImageTower, TextTower, Wants};
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
    let text = Head::load(&files.text, config.text.input_dim, config.dim, sentences)?;
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
        let (width, height) = (self.wants.width as usize, self.wants.height as usize);
        let mut planes = Vec::with_capacity(pictures.len() * self.wants.bytes());
        for picture in pictures {
            for channel in 0..3 {
                planes.extend(picture.iter().skip(channel).step_by(3));
            }
        }
        let shape = [pictures.len(), 3, height, width];
        let input = [(self.input.as_str(), Input::Bytes(&shape, &planes))];
        Ok(Features::new(self.dim, self.graph.run(&input, &self.output)?.data)?)
    }
}

/// The text tower: normalise(linear(x) + down(gelu(up(x)))), where x is the sentence's vector.
struct Head {
    sentences: Arc<SentenceEncoder>,
    linear: Affine,
    up: Affine,
    down: Tensor,
}

struct Affine {
    weight: Tensor,
    bias: Tensor,
}

impl Affine {
    fn load(weights: &Weights, name: &str, from: usize, to: usize) -> Result<Self, WeightsError> {
        let bias = weights.tensor(&format!("{name}.bias"), &[to], &Device::Cpu)?;
        Ok(Self { weight: matrix(weights, name, from, to)?, bias })
    }

    fn forward(&self, x: &Tensor) -> candle_core::Result<Tensor> {
        x.matmul(&self.weight)?.broadcast_add(&self.bias)
    }
}

fn matrix(weights: &Weights, name: &str, from: usize, to: usize) -> Result<Tensor, WeightsError> {
    let weight = weights.tensor(&format!("{name}.weight"), &[to, from], &Device::Cpu)?;
    Ok(weight.t()?.contiguous()?)
}

impl Head {
    fn load(
        bytes: &[u8],
        from: usize,
        to: usize,
        sentences: Arc<SentenceEncoder>,
    ) -> Result<Self, EncoderError> {
        let weights = Weights::from_bytes("mini/text_projection.safetensors", bytes)?;
        let hidden = weights.shape("up.bias")?.first().copied().unwrap_or(0);
        Ok(Self {
            sentences,
            linear: Affine::load(&weights, "linear", from, to)?,
            up: Affine::load(&weights, "up", from, hidden)?,
            down: matrix(&weights, "down", hidden, to)?,
        })
    }

    fn project(&self, rows: &Features) -> candle_core::Result<Vec<f32>> {
        let shape = (rows.len(), rows.dim());
        let x = Tensor::from_slice(rows.as_slice(), shape, &Device::Cpu)?;
        let deep = self.up.forward(&x)?.gelu_erf()?.matmul(&self.down)?;
        (self.linear.forward(&x)? + deep)?.flatten_all()?.to_vec1()
    }
}

impl TextTower for Head {
    fn read(&self, texts: &[&str]) -> Result<Features, EncoderError> {
        let dim = self.linear.bias.elem_count();
        if texts.is_empty() {
            return Ok(Features::empty(dim));
        }
        let rows = self.sentences.encode(texts)?;
        let data = self.project(&rows).map_err(WeightsError::from)?;
        Ok(Features::new(dim, data)?)
    }
}
