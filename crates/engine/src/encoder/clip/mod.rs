//! The CLIP family from its published folders: CLIP, SigLIP and SigLIP2 in Hugging Face's form,
//! MobileCLIP in OpenCLIP's; safetensors, tokenizer and picture preparation included.

mod preparation;
mod mobile;

use std::path::Path;

use stitch_core::features::Features;
use stitch_nn::clip::config::ClipConfig;
use stitch_nn::clip::image::ImageEncoder;
use stitch_nn::clip::mobileclip::MobileImageEncoder;
use stitch_nn::clip::text::TextEncoder;

use self::preparation::Preparation;
use super::wants::Wants;
use super::{EncoderError, EncoderId, ImageTower, TextTower, TwoTowers};
use crate::models::{NnError, Weights, hash_of};

/// An image encoder, with the pictures it takes.
struct Images<E> {
    encoder: E,
    wants: Wants,
}

impl ImageTower for Images<ImageEncoder> {
    fn wants(&self) -> &Wants {
        &self.wants
    }

    fn dim(&self) -> usize {
        self.encoder.dim()
    }

    fn see(&self, pictures: &[&[u8]]) -> Result<Features, EncoderError> {
        Ok(Features::new(self.dim(), self.encoder.forward(pictures))?)
    }
}

impl ImageTower for Images<MobileImageEncoder> {
    fn wants(&self) -> &Wants {
        &self.wants
    }

    fn dim(&self) -> usize {
        self.encoder.dim()
    }

    fn see(&self, pictures: &[&[u8]]) -> Result<Features, EncoderError> {
        Ok(Features::new(self.dim(), self.encoder.forward(pictures))?)
    }
}

impl TextTower for TextEncoder {
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
    let (config, family) = ClipConfig::read(folder)?;
    let weights = Weights::open(folder)?;
    let (image, text) = (config.image(family), config.text(family));
    if image.dim != text.dim {
        let reason = format!("pictures have {} numbers, texts {}", image.dim, text.dim);
        return Err(NnError::Config { path: folder.join("config.json"), reason }.into());
    }
    let preparation = Preparation::read(folder, family, image.image)?;
    let images = ImageEncoder::load(&weights, family, image, preparation.colours)?;
    let text = TextEncoder::load(folder, weights, family, &text)?;
    let weights = hash_of(folder, Weights::FILE)?;
    let id = EncoderId { name: name.into(), dim: image.dim, weights };
    Ok(TwoTowers::new(
        id,
        Box::new(Images { encoder: images, wants: preparation.wants }),
        Box::new(text),
    ))
}

/// The side that reads alone, its vectors' length and the hash of its weights: for features whose
/// pictures were seen elsewhere.
pub fn load_text(folder: &Path) -> Result<(Box<dyn TextTower>, usize, String), EncoderError> {
    if mobile::is_one(folder) {
        return mobile::load_text(folder);
    }
    let (config, family) = ClipConfig::read(folder)?;
    let config = config.text(family);
    let text = TextEncoder::load(folder, Weights::open(folder)?, family, &config)?;
    Ok((Box::new(text), config.dim, hash_of(folder, Weights::FILE)?))
}
