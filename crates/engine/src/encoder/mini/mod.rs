//! `mini`, the encoder that comes with the program: an ensemble of two small image towers, and for
//! each a head of the sentence model, trained into one space by `recipes/mini`.

mod images;
mod texts;

use std::sync::Arc;

use serde::Deserialize;
use sha2::{Digest, Sha256};

use self::images::Images;
use self::texts::Texts;
use super::{EncoderError, EncoderId, TwoTowers};
use crate::files::hex;
use crate::models::NnError;
use crate::onnx::Runtime;
use crate::sentence::SentenceEncoder;

pub const NAME: &str = "mini";

/// The image towers' files.
const IMAGES: [&str; 2] = ["image1.onnx", "image2.onnx"];

/// The files of a trained `mini`.
struct Files {
    config: Vec<u8>,
    images: [Vec<u8>; IMAGES.len()],
    text: Vec<u8>,
}

/// The fields of config.json that matter here.
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
    fn shipped() -> Self {
        Self {
            config: include_bytes!("../../../../../models/mini/config.json").to_vec(),
            images: [
                include_bytes!("../../../../../models/mini/image1.onnx").to_vec(),
                include_bytes!("../../../../../models/mini/image2.onnx").to_vec(),
            ],
            text: include_bytes!("../../../../../models/mini/text_projection.safetensors").to_vec(),
        }
    }

    /// Identifies these weights on top of those of the sentence model.
    fn hash(&self, sentence_weights: &str) -> String {
        let mut hash = Sha256::new();
        hash.update(&self.config);
        self.images.iter().for_each(|image| hash.update(image));
        hash.update(&self.text);
        hash.update(sentence_weights);
        hex(&hash.finalize())
    }
}

/// The encoder over a sentence model whose weights have this SHA-256.
pub fn load(
    runtime: &Runtime,
    sentences: Arc<SentenceEncoder>,
    sentence_weights: &str,
) -> Result<TwoTowers, EncoderError> {
    let files = Files::shipped();
    let config: Config = serde_json::from_slice(&files.config).map_err(|error| {
        NnError::Config { path: "mini/config.json".into(), reason: error.to_string() }
    })?;
    let id =
        EncoderId { name: config.name, dim: config.dim, weights: files.hash(sentence_weights) };
    let text = Texts::load(&files.text, (config.text.input_dim, config.dim), sentences)?;
    let image = Images::load(files.images, runtime, &config.image, config.dim)?;
    Ok(TwoTowers::new(id, Some(Box::new(image)), Box::new(text)))
}
