//! The CLIP family from its published folders: CLIP, SigLIP and SigLIP2 in Hugging Face's form,
//! MobileCLIP in OpenCLIP's; safetensors, tokenizer and image preprocessing included.

mod preparation;
pub mod open_clip;

use std::path::Path;

use stitch_core::features::Features;
use stitch_nn::clip::config::ClipConfig;
use stitch_nn::clip::image::ImageEncoder;
use stitch_nn::clip::text::TextEncoder;

use self::preparation::Preparation;
use super::spec::FrameSpec;
use super::{EncoderError, EncoderId, ImageTower, TextTower, Towers, TwoTowers};
use crate::models::{NnError, Store, Weights, hash_of};

/// An image network with the frames it takes.
struct Images<F> {
    spec: FrameSpec,
    dim: usize,
    forward: F,
}

impl<F> ImageTower for Images<F>
where
    F: Fn(&[&[u8]]) -> Vec<f32> + Send + Sync,
{
    fn spec(&self) -> &FrameSpec {
        &self.spec
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn encode(&self, frames: &[&[u8]]) -> Result<Features, EncoderError> {
        Ok(Features::new(self.dim, (self.forward)(frames))?)
    }
}

impl TextTower for TextEncoder {
    fn encode(&self, texts: &[&str]) -> Result<Features, EncoderError> {
        Ok(Features::new(self.dim(), TextEncoder::encode(self, texts)?)?)
    }
}

/// The encoder of a folder in Hugging Face's form.
pub fn load(
    folder: &Path,
    name: &str,
    towers: Towers,
    _: &Store,
) -> Result<TwoTowers, EncoderError> {
    let (config, family) = ClipConfig::read(folder)?;
    let weights = Weights::open(folder)?;
    let (sizes, text) = (config.image(family), config.text(family));
    let mut image: Option<Box<dyn ImageTower>> = None;
    if towers == Towers::Both {
        if sizes.dim != text.dim {
            let reason = format!("pictures have {} numbers, texts {}", sizes.dim, text.dim);
            return Err(NnError::Config { path: folder.join("config.json"), reason }.into());
        }
        let Preparation { spec, colours } = Preparation::read(folder, family, sizes.image)?;
        let encoder = ImageEncoder::load(&weights, family, &sizes, colours)?;
        let forward = move |frames: &[&[u8]]| encoder.forward(frames);
        image = Some(Box::new(Images { spec, dim: sizes.dim, forward }));
    }
    let encoder = TextEncoder::load(folder, weights, family, &text)?;
    let weights = hash_of(folder, Weights::FILE)?;
    let id = EncoderId { name: name.into(), dim: text.dim, weights };
    Ok(TwoTowers::new(id, image, Box::new(encoder)))
}
