//! preprocessor_config.json: image preprocessing of models in Hugging Face's form.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use stitch_nn::clip::config::{Family, OPENAI_MEAN, OPENAI_STD};
use stitch_nn::clip::normalize::Normalize;

use crate::encoder::spec::FrameSpec;
use crate::media::frames::{Filter, Fit};
use crate::models::NnError;
use crate::models::weights::read_json;

/// Frames encoded per second: these towers are large, and actions change slower.
const FPS: u32 = 2;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Preparation {
    pub spec: FrameSpec,
    pub colours: Normalize,
}

/// The fields of preprocessor_config.json that matter here.
#[derive(Clone, Debug, Default, Deserialize)]
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

impl Preparation {
    /// For a tower that takes square pictures of this size.
    pub fn read(folder: &Path, family: Family, size: usize) -> Result<Self, NnError> {
        let name = "preprocessor_config.json";
        let processor: Processor = if folder.join(name).exists() {
            read_json(folder, name)?
        } else {
            read_json::<Processors>(folder, "processor_config.json")?.image_processor
        };
        let wrong = |reason: String| NnError::Config { path: folder.join(name), reason };
        let clip = family == Family::Clip;
        let crops = processor.do_center_crop.unwrap_or(clip);
        let found = [processor.size.as_ref(), processor.crop_size.as_ref().filter(|_| crops)];
        for found in found.into_iter().flatten().flat_map(lengths) {
            if family != Family::Siglip2 && found != size as u64 {
                return Err(wrong(format!(
                    "it makes pictures of {found}, but config.json says {size}; pictures are scaled \
                     to the tower's size only"
                )));
            }
        }
        let filter = match processor.resample.unwrap_or(3) {
            2 => Filter::Bilinear,
            3 => Filter::Bicubic,
            other => {
                let reason = format!("resample {other}; 2 (bilinear) and 3 (bicubic) are known");
                return Err(wrong(reason));
            }
        };
        let keeps_shape = processor.size.as_ref().is_some_and(|s| s.get("shortest_edge").is_some());
        let fit = if crops && (keeps_shape || clip) { Fit::Crop } else { Fit::Squash };
        let side = size as u32;
        let spec = FrameSpec::single((side, side), fit, filter, FPS);
        Ok(processor.preparation(spec, clip))
    }
}

impl Processor {
    fn preparation(&self, spec: FrameSpec, clip: bool) -> Preparation {
        let factor = match self.do_rescale {
            Some(false) => 1.0,
            _ => self.rescale_factor.unwrap_or(1.0 / 255.0),
        };
        let (mean, std) = if clip { (OPENAI_MEAN, OPENAI_STD) } else { ([0.5; 3], [0.5; 3]) };
        let colours = match self.do_normalize {
            Some(false) => Normalize::new(factor, [0.0; 3], [1.0; 3]),
            _ => {
                let (mean, std) = (self.image_mean.unwrap_or(mean), self.image_std.unwrap_or(std));
                Normalize::new(factor, mean, std)
            }
        };
        Preparation { spec, colours }
    }
}

/// The lengths in `224`, `{"shortest_edge": 224}` or `{"height": 224, "width": 224}`.
fn lengths(size: &Value) -> Vec<u64> {
    match size {
        Value::Number(number) => number.as_u64().into_iter().collect(),
        Value::Object(sides) => sides.values().filter_map(Value::as_u64).collect(),
        _ => Vec::new(),
    }
}
