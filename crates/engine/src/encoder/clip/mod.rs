//! The CLIP family from its published folders: CLIP, SigLIP and SigLIP2 in Hugging Face's form,
//! MobileCLIP in OpenCLIP's; safetensors, tokenizer and picture preparation included.

mod transformer;
mod config;
pub(super) mod text;
mod image;
mod convolution;
mod fastvit;
mod hybrid;
mod mobile;

use std::path::Path;

use config::{Config, Preparation};
use image::Viewer;
use text::Reader;

use super::{EncoderError, EncoderId, TextTower, TwoTowers};
use crate::models::{Weights, WeightsError, hash_of};

/// Whether a folder holds a model of the family, by its files.
pub fn is_one(folder: &Path) -> bool {
    mobile::is_one(folder) || folder.join("config.json").is_file()
}

/// The encoder in a folder, called `name`.
pub fn load(folder: &Path, name: &str) -> Result<TwoTowers, EncoderError> {
    if mobile::is_one(folder) {
        return mobile::load(folder, name);
    }
    let (config, family) = Config::read(folder)?;
    let weights = Weights::open(folder)?;
    let (image, text) = (config.image(family), config.text(family));
    if image.dim != text.dim {
        let reason = format!("pictures have {} numbers, texts {}", image.dim, text.dim);
        return Err(WeightsError::Config { path: folder.join("config.json"), reason }.into());
    }
    let preparation = Preparation::read(folder, family, image.image)?;
    let viewer = Viewer::load(&weights, family, image, preparation)?;
    let reader = Reader::load(folder, weights, family, &text)?;
    let weights = hash_of(folder, Weights::FILE)?;
    let id = EncoderId { name: name.into(), dim: image.dim, weights };
    Ok(TwoTowers::new(id, Box::new(viewer), Box::new(reader)))
}

/// The side that reads alone, its vectors' length and the hash of its weights: for features whose
/// pictures were seen elsewhere.
pub fn load_text(folder: &Path) -> Result<(Box<dyn TextTower>, usize, String), EncoderError> {
    if mobile::is_one(folder) {
        return mobile::load_text(folder);
    }
    let (config, family) = Config::read(folder)?;
    let sizes = config.text(family);
    let reader = Reader::load(folder, Weights::open(folder)?, family, &sizes)?;
    Ok((Box::new(reader), sizes.dim, hash_of(folder, Weights::FILE)?))
}
