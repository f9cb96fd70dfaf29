//! MobileCLIP and MobileCLIP2 from folders in OpenCLIP's form.

use std::path::Path;

use serde::Deserialize;
use stitch_nn::clip::config::{OPENAI_MEAN, OPENAI_STD};
pub use stitch_nn::clip::mobileclip::CONFIG;
use stitch_nn::clip::mobileclip::{MobileClipConfig, WEIGHTS, image_encoder, text_encoder, wrong};
use stitch_nn::clip::normalize::Normalize;

use super::{Images, Preparation};
use crate::encoder::{EncoderError, EncoderId, FrameSpec, ImageTower, Towers, TwoTowers};
use crate::media::frames::{Filter, Fit};
use crate::models::weights::{Weights, read_json};
use crate::models::{NnError, hash_of};

/// Frames encoded per second. Chosen by hand.
const FPS: u32 = 4;

/// The fields of open_clip_config.json that matter here.
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

pub fn load(folder: &Path, name: &str, towers: Towers) -> Result<TwoTowers, EncoderError> {
    let config: Config = read_json(folder, CONFIG)?;
    let (model, dim) = (&config.model_cfg, config.model_cfg.embed_dim);
    let weights = Weights::open_file(&folder.join(WEIGHTS))?;
    let mut image: Option<Box<dyn ImageTower>> = None;
    if towers == Towers::Both {
        let Preparation { spec, colours } = config.preparation(folder)?;
        let encoder = image_encoder(folder, &weights, model, colours)?;
        let forward = move |frames: &[&[u8]]| encoder.forward(frames);
        image = Some(Box::new(Images { spec, dim, forward }));
    }
    let text = text_encoder(folder, weights, model)?;
    let id = EncoderId { name: name.into(), dim, weights: hash_of(folder, WEIGHTS)? };
    Ok(TwoTowers::new(id, image, Box::new(text)))
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
        let spec = FrameSpec::single((side, side), fit, filter, FPS);
        let mean = self.preprocess_cfg.mean.unwrap_or(OPENAI_MEAN);
        let std = self.preprocess_cfg.std.unwrap_or(OPENAI_STD);
        Ok(Preparation { spec, colours: Normalize::new(1.0 / 255.0, mean, std) })
    }
}
