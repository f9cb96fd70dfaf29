//! MobileCLIP and MobileCLIP2 from folders in OpenCLIP's form.

use std::path::Path;

use serde::Deserialize;
use stitch_nn::clip::colours::Colours;
use stitch_nn::clip::config::{OPENAI_MEAN, OPENAI_STD};
pub use stitch_nn::clip::mobile::CONFIG;
use stitch_nn::clip::mobile::{ModelConfig, Viewer, WEIGHTS, reader, wrong};

use super::{Images, Preparation};
use crate::encoder::{EncoderError, EncoderId, FrameSpec, ImageTower, Towers, TwoTowers};
use crate::media::frames::{Filter, Fit};
use crate::models::hash_of;
use crate::models::weights::{Weights, WeightsError, read_json};

/// Frames encoded per second. Chosen by hand.
const FPS: u32 = 4;

/// The fields of open_clip_config.json that matter here.
#[derive(Deserialize)]
struct Config {
    model_cfg: ModelConfig,
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
        let network = Viewer::load(folder, &weights, model, colours)?;
        let network = move |frames: &[&[u8]]| network.encode(frames);
        image = Some(Box::new(Images { spec, dim, network }));
    }
    let reader = reader(folder, weights, model)?;
    let id = EncoderId { name: name.into(), dim, weights: hash_of(folder, WEIGHTS)? };
    Ok(TwoTowers::new(id, image, Box::new(reader)))
}

impl Config {
    fn preparation(&self, folder: &Path) -> Result<Preparation, WeightsError> {
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
        Ok(Preparation { spec, colours: Colours::new(1.0 / 255.0, mean, std) })
    }
}
