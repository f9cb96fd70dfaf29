//! CLIP, SigLIP and SigLIP2 from folders in Hugging Face's form: safetensors, tokenizer and image
//! preprocessing.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use stitch_core::features::Features;
use stitch_nn::clip::config::{ClipConfig, Family, OPENAI_MEAN, OPENAI_STD};
use stitch_nn::clip::image::ImageEncoder;
use stitch_nn::clip::normalize::Normalize;
use stitch_nn::clip::text::TextEncoder;

use super::{EncoderId, FrameSpec, ImageTower, Result, Seen, TextTower, Towers, TwoTowers};
use crate::media::frames::{Filter, Fit};
use crate::models::weights::read_json;
use crate::models::{NnError, Weights, hash_of};

/// Frames encoded per second: these towers are large, and actions change slower.
const FPS: u32 = 2;

/// An image encoder with the frames it takes.
struct Images {
    spec: FrameSpec,
    encoder: ImageEncoder,
}

impl ImageTower for Images {
    fn spec(&self) -> &FrameSpec {
        &self.spec
    }

    fn encode(&self, frames: &[&[u8]]) -> Result<Seen> {
        Ok(Features::new(self.spec.dim, self.encoder.forward(frames))?.into())
    }
}

impl TextTower for TextEncoder {
    fn encode(&self, texts: &[&str]) -> Result<Features> {
        Ok(Features::new(self.dim(), TextEncoder::encode(self, texts)?)?)
    }
}

/// The encoder of a folder in Hugging Face's form.
pub fn load(folder: &Path, name: &str, towers: Towers) -> Result<TwoTowers> {
    let (config, family) = ClipConfig::read(folder)?;
    let weights = Weights::open(folder)?;
    let (sizes, text) = (config.image(family), config.text(family));
    let mut image: Option<Box<dyn ImageTower>> = None;
    if towers == Towers::Both {
        if sizes.dim != text.dim {
            let reason = format!("pictures have {} numbers, texts {}", sizes.dim, text.dim);
            return Err(NnError::Config { path: folder.join("config.json"), reason }.into());
        }
        let side = sizes.image;
        let prepared = preprocessing(folder, family)?;
        if let Some(found) = prepared.sides.iter().find(|found| **found != side as u64)
            && family != Family::Siglip2
        {
            let reason = format!(
                "it makes pictures of {found}, but config.json says {side}; pictures are scaled to the \
                 tower's size only"
            );
            return Err(NnError::Config { path: folder.join(PREPROCESSOR), reason }.into());
        }
        let Preprocessing { fit, filter, mean, std, .. } = prepared;
        let spec = FrameSpec::single((side as u32, side as u32), fit, filter, FPS, sizes.dim);
        let normalize = Normalize::new(1.0 / 255.0, mean, std);
        let encoder = ImageEncoder::load(&weights, family, &sizes, normalize)?;
        image = Some(Box::new(Images { spec, encoder }));
    }
    let encoder = TextEncoder::load(folder, weights, family, &text)?;
    let weights = hash_of(folder, Weights::FILE)?;
    let id = EncoderId { name: name.into(), dim: text.dim, weights };
    Ok(TwoTowers::new(id, image, Box::new(encoder)))
}

/// The fields of preprocessor_config.json that matter here.
#[derive(Deserialize)]
struct Processor {
    size: Option<Value>,
    crop_size: Option<Value>,
    do_center_crop: Option<bool>,
    do_rescale: Option<bool>,
    do_normalize: Option<bool>,
    rescale_factor: Option<f64>,
    image_mean: Option<[f64; 3]>,
    image_std: Option<[f64; 3]>,
    resample: Option<u8>,
}

/// Newer folders keep everything in one file.
#[derive(Deserialize)]
struct Processors {
    image_processor: Processor,
}

/// How frames and colours are prepared.
pub struct Preprocessing {
    /// Every length that is named: of the scaled picture, and of what is cut out of it.
    pub sides: Vec<u64>,
    pub fit: Fit,
    pub filter: Filter,
    /// Of colours between 0 and 1.
    pub mean: [f64; 3],
    pub std: [f64; 3],
}

pub const PREPROCESSOR: &str = "preprocessor_config.json";

/// What a folder says of it.
pub fn preprocessing(folder: &Path, family: Family) -> Result<Preprocessing, NnError> {
    let processor: Processor = if folder.join(PREPROCESSOR).exists() {
        read_json(folder, PREPROCESSOR)?
    } else {
        read_json::<Processors>(folder, "processor_config.json")?.image_processor
    };
    let clip = family == Family::Clip;
    let crops = processor.do_center_crop.unwrap_or(clip);
    let found = [processor.size.as_ref(), processor.crop_size.as_ref().filter(|_| crops)];
    let sides = found.into_iter().flatten().flat_map(lengths).collect();
    let filter = match processor.resample.unwrap_or(3) {
        2 => Filter::Bilinear,
        3 => Filter::Bicubic,
        other => {
            let reason = format!("resample {other}; 2 (bilinear) and 3 (bicubic) are known");
            return Err(NnError::Config { path: folder.join(PREPROCESSOR), reason });
        }
    };
    let keeps_shape = processor.size.as_ref().is_some_and(|s| s.get("shortest_edge").is_some());
    let fit = if crops && (keeps_shape || clip) { Fit::Crop } else { Fit::Squash };
    let factor = match processor.do_rescale {
        Some(false) => 1.0,
        _ => processor.rescale_factor.unwrap_or(1.0 / 255.0),
    };
    let usual = if clip { (OPENAI_MEAN, OPENAI_STD) } else { ([0.5; 3], [0.5; 3]) };
    let (mean, std) = match processor.do_normalize {
        Some(false) => ([0.0; 3], [1.0; 3]),
        _ => (processor.image_mean.unwrap_or(usual.0), processor.image_std.unwrap_or(usual.1)),
    };
    // On the scale of 0 to 1 whatever the file scales bytes by.
    let scaled = |values: [f64; 3]| values.map(|value| value / (255.0 * factor));
    Ok(Preprocessing { sides, fit, filter, mean: scaled(mean), std: scaled(std) })
}

/// The lengths in `224`, `{"shortest_edge": 224}` or `{"height": 224, "width": 224}`.
fn lengths(size: &Value) -> Vec<u64> {
    match size {
        Value::Number(number) => number.as_u64().into_iter().collect(),
        Value::Object(sides) => sides.values().filter_map(Value::as_u64).collect(),
        _ => Vec::new(),
    }
}
