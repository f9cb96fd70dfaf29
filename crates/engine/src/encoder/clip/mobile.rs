//! MobileCLIP and MobileCLIP2 in OpenCLIP's form.

use std::path::Path;

use serde::Deserialize;
use stitch_nn::clip::config::{OPENAI_MEAN, OPENAI_STD};
use stitch_nn::clip::mobileclip::{
    CONFIG, MobileClipConfig, MobileImageEncoder, WEIGHTS, text_encoder, wrong,
};
use stitch_nn::clip::normalize::Normalize;

use super::Images;
use super::preparation::Preparation;
use crate::encoder::tower::TextTower;
use crate::encoder::wants::{Filter, Fit, Wants};
use crate::encoder::{EncoderError, EncoderId, TwoTowers};
use crate::models::weights::{Weights, read_json};
use crate::models::{NnError, hash_of};

/// Pictures looked at in a second.
const FPS: u32 = 4;

/// open_clip_config.json, as far as it matters here.
#[derive(Deserialize)]
struct Config {
    model_cfg: MobileClipConfig,
    #[serde(default)]
    preprocess_cfg: PreprocessConfig,
}

#[derive(Default, Deserialize)]
struct PreprocessConfig {
    mean: Option<[f64; 3]>,
    std: Option<[f64; 3]>,
    interpolation: Option<String>,
    resize_mode: Option<String>,
}

/// Whether a folder is in OpenCLIP's form.
pub fn is_one(folder: &Path) -> bool {
    folder.join(CONFIG).is_file()
}

/// The encoder in such a folder.
pub fn load(folder: &Path, name: &str) -> Result<TwoTowers, EncoderError> {
    let config: Config = read_json(folder, CONFIG)?;
    let weights = Weights::open_file(&folder.join(WEIGHTS))?;
    let preparation = config.preparation(folder)?;
    let images =
        MobileImageEncoder::load(folder, &weights, &config.model_cfg, preparation.colours)?;
    let text = text_encoder(folder, weights, &config.model_cfg)?;
    let weights = hash_of(folder, WEIGHTS)?;
    let id = EncoderId { name: name.into(), dim: config.model_cfg.embed_dim, weights };
    Ok(TwoTowers::new(
        id,
        Box::new(Images { encoder: images, wants: preparation.wants }),
        Box::new(text),
    ))
}

/// The side that reads alone.
pub fn load_text(folder: &Path) -> Result<(Box<dyn TextTower>, usize, String), EncoderError> {
    let config: Config = read_json(folder, CONFIG)?;
    let weights = Weights::open_file(&folder.join(WEIGHTS))?;
    let text = text_encoder(folder, weights, &config.model_cfg)?;
    Ok((Box::new(text), config.model_cfg.embed_dim, hash_of(folder, WEIGHTS)?))
}

impl Config {
    fn preparation(&self, folder: &Path) -> Result<Preparation, NnError> {
        let side = self.model_cfg.image_size();
        let fit = match self.preprocess_cfg.resize_mode.as_deref() {
            None | Some("shortest") => Fit::Crop,
            Some("squash") => Fit::Squash,
            Some(other) => return Err(wrong(folder, format!("the resize mode `{other}`"))),
        };
        let filter = match self.preprocess_cfg.interpolation.as_deref() {
            Some("bilinear") => Filter::Bilinear,
            None | Some("bicubic") => Filter::Bicubic,
            Some(other) => return Err(wrong(folder, format!("the interpolation `{other}`"))),
        };
        let wants = Wants::pictures((side, side), fit, filter, FPS);
        let mean = self.preprocess_cfg.mean.unwrap_or(OPENAI_MEAN);
        let std = self.preprocess_cfg.std.unwrap_or(OPENAI_STD);
        Ok(Preparation { wants, colours: Normalize::new(1.0 / 255.0, mean, std) })
    }
}
