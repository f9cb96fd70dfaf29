//! ONNX exports in the model hub's usual layout: `vision_model.onnx` and `text_model.onnx` at the top, in
//! `onnx/` or in a folder of that, described by the JSON files that come with them.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use stitch_nn::clip::config::Family;
use stitch_nn::clip::text::TokenizerConfig;
use stitch_nn::onnx::Runtime;

use super::clip::{PREPROCESSOR, Preprocessing, preprocessing};
use super::onnx_pair::{self, ImageDescription, PairDescription, TextDescription, wrong};
use super::{Result, Towers, TwoTowers};
use crate::models::NnError;
use crate::models::weights::read_json;

const IMAGE: &str = "vision_model.onnx";
const TEXT: &str = "text_model.onnx";

/// Part of config.json.
#[derive(Default, Deserialize)]
struct Config {
    model_type: Option<String>,
    projection_dim: Option<usize>,
    #[serde(default)]
    text_config: TextPart,
}

#[derive(Default, Deserialize)]
struct TextPart {
    max_position_embeddings: Option<usize>,
    pad_token_id: Option<u32>,
}

/// The folder of the graphs, if the model's folder has this layout.
pub fn graphs(folder: &Path) -> Option<PathBuf> {
    let onnx = folder.join("onnx");
    let entries = std::fs::read_dir(&onnx).into_iter().flatten().flatten();
    let mut inside: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    inside.sort();
    let mut folders = [folder.to_owned(), onnx].into_iter().chain(inside);
    folders.find(|folder| folder.join(TEXT).is_file())
}

pub fn load(
    folder: &Path,
    graphs: &Path,
    name: &str,
    towers: Towers,
    runtime: Runtime,
) -> Result<TwoTowers> {
    let files = Files { folder, graphs };
    let config: Config = match files.folder_of("config.json") {
        Some(folder) => read_json(folder, "config.json")?,
        None => Config::default(),
    };
    let image = match towers {
        Towers::Both => Some(files.image(config.family())?),
        Towers::Text => None,
    };
    let text = files.text(&config)?;
    let description = PairDescription { dim: config.projection_dim, image, text };
    let names = ["config.json", PREPROCESSOR, "tokenizer_config.json"];
    let said = names.map(|name| {
        let folder = files.folder_of(name)?;
        std::fs::read(folder.join(name)).ok()
    });
    let said: Vec<u8> = said.into_iter().flatten().flatten().collect();
    onnx_pair::open((folder, name), towers, runtime, description, &said)
}

impl Config {
    /// Towers of other types, such as MobileCLIP, are called as CLIP's are.
    fn family(&self) -> Family {
        match self.model_type.as_deref() {
            Some("siglip") => Family::Siglip,
            Some("siglip2") => Family::Siglip2,
            _ => Family::Clip,
        }
    }

    /// The most tokens of a text; what config.json leaves out has the value of `transformers`.
    fn max_tokens(&self) -> Option<usize> {
        let usual = match self.model_type.as_deref() {
            Some("clip") => Some(77),
            Some("siglip" | "siglip2") => Some(64),
            _ => None,
        };
        self.text_config.max_position_embeddings.or(usual)
    }
}

struct Files<'a> {
    folder: &'a Path,
    graphs: &'a Path,
}

impl<'a> Files<'a> {
    /// Which of the two folders has a file: beside the graphs, or at the top.
    fn folder_of(&self, name: &str) -> Option<&'a Path> {
        [self.graphs, self.folder].into_iter().find(|folder| folder.join(name).is_file())
    }

    fn relative(&self, path: &Path) -> PathBuf {
        path.strip_prefix(self.folder).unwrap_or(path).to_owned()
    }

    fn missing(&self, name: &str, write: &str) -> NnError {
        let reason =
            format!("there is no {name} to read it from; write {write} here, or add that file");
        wrong(self.folder, reason)
    }

    fn image(&self, family: Family) -> Result<ImageDescription> {
        let file = self.graphs.join(IMAGE);
        if !file.is_file() {
            return Err(self.missing(IMAGE, "`file` under [image]").into());
        }
        let found = [PREPROCESSOR, "processor_config.json"];
        let folder = found.iter().find_map(|name| self.folder_of(name)).ok_or_else(|| {
            let write = "`width`, `height`, `fit`, `filter`, `mean` and `std` under [image]";
            self.missing(PREPROCESSOR, write)
        })?;
        let Preprocessing { sides, fit, filter, mean, std } = preprocessing(folder, family)?;
        let side = sides.first().copied();
        if sides.iter().any(|other| Some(*other) != side) {
            let reason = format!(
                "{PREPROCESSOR} names pictures of {sides:?}; they are scaled to one square size \
                 only: write `width`, `height`, `fit` and `filter` under [image] here"
            );
            return Err(wrong(self.folder, reason).into());
        }
        let side = side.and_then(|side| u32::try_from(side).ok());
        let mut image = ImageDescription::of(self.relative(&file));
        (image.width, image.height) = (side, side);
        (image.fit, image.filter) = (fit, filter);
        (image.mean, image.std) = (mean, std);
        Ok(image)
    }

    fn text(&self, config: &Config) -> Result<TextDescription> {
        let name = "tokenizer.json";
        let tokenizer = self
            .folder_of(name)
            .ok_or_else(|| self.missing(name, "`tokenizer` under [text]"))?
            .join(name);
        let said = self.folder_of("tokenizer_config.json").unwrap_or(self.folder);
        let said = TokenizerConfig::read(said)?;
        let file = self.relative(&self.graphs.join(TEXT));
        let mut text = TextDescription::of(file, self.relative(&tokenizer));
        text.longest = config.max_tokens().or(said.max_tokens());
        // Needed by SigLIP and by graphs of a fixed length; CLIP takes no notice of what follows the
        // end of a text.
        text.fill = true;
        text.pad = config.text_config.pad_token_id.unwrap_or(0);
        text.pad_token = said.pad_token().or(Some("<pad>")).map(str::to_owned);
        text.pads_left = said.pads_left();
        text.cleaning = Some(said.cleaning(config.family()));
        Ok(text)
    }
}
