//! The CLIP family from its published folders: CLIP, SigLIP and SigLIP2 in Hugging Face's form,
//! MobileCLIP in OpenCLIP's; safetensors, tokenizer and picture preparation included.

mod preparation;
mod mobile;

use std::path::Path;

use stitch_core::features::Features;
use stitch_nn::TensorError;
use stitch_nn::clip::config::Config;
use stitch_nn::clip::image::Viewer;
use stitch_nn::clip::mobile::Viewer as MobileViewer;
use stitch_nn::clip::text::Reader;

use self::preparation::Preparation;
use super::wants::Wants;
use super::{EncoderError, EncoderId, ImageTower, TextTower, TwoTowers};
use crate::models::{Weights, WeightsError, hash_of};

/// A network that sees, with the pictures it takes.
struct Images<V> {
    viewer: V,
    wants: Wants,
}

impl ImageTower for Images<Viewer> {
    fn wants(&self) -> &Wants {
        &self.wants
    }

    fn dim(&self) -> usize {
        self.viewer.dim()
    }

    fn see(&self, pictures: &[&[u8]]) -> Result<Features, EncoderError> {
        features(self.dim(), self.viewer.encode(pictures))
    }
}

impl ImageTower for Images<MobileViewer> {
    fn wants(&self) -> &Wants {
        &self.wants
    }

    fn dim(&self) -> usize {
        self.viewer.dim()
    }

    fn see(&self, pictures: &[&[u8]]) -> Result<Features, EncoderError> {
        features(self.dim(), self.viewer.encode(pictures))
    }
}

fn features(dim: usize, rows: Result<Vec<f32>, TensorError>) -> Result<Features, EncoderError> {
    Ok(Features::new(dim, rows.map_err(WeightsError::from)?)?)
}

impl TextTower for Reader {
    fn read(&self, texts: &[&str]) -> Result<Features, EncoderError> {
        Ok(Features::new(self.dim(), self.encode(texts)?)?)
    }
}

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
    let viewer = Viewer::load(&weights, family, image, preparation.colours)?;
    let reader = Reader::load(folder, weights, family, &text)?;
    let weights = hash_of(folder, Weights::FILE)?;
    let id = EncoderId { name: name.into(), dim: image.dim, weights };
    Ok(TwoTowers::new(id, Box::new(Images { viewer, wants: preparation.wants }), Box::new(reader)))
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
