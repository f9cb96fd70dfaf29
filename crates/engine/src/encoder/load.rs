//! Encoders by name: the built-in ones, and those in model folders.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use stitch_nn::onnx::{Provider, Runtime};

use super::{Encoder, EncoderError, Narration, Precomputed, Result, Towers, TwoTowers};
use super::{clip, mini, onnx_layout, onnx_pair};
use crate::media::Decode;
use crate::models::{ModelError, NnError, Store, Weights, hub};
use crate::sentence::SentenceEncoder;

/// The config of a folder in OpenCLIP's form.
const OPEN_CLIP: &str = "open_clip_config.json";

/// ONNX Runtime, from where the variable ORT_DYLIB_PATH says, else from the store. It computes on what
/// STITCH_ONNX_PROVIDER says.
pub fn onnx_runtime(store: &Store) -> Result<Runtime> {
    let library = match std::env::var_os("ORT_DYLIB_PATH").filter(|path| !path.is_empty()) {
        Some(path) => path.into(),
        None => store.path(Runtime::MODEL).map_err(EncoderError::NoRuntime)?.join(Runtime::LIBRARY),
    };
    Ok(Runtime::load(&library, provider()?)?)
}

/// The wanted provider; none if it is left to the library.
fn provider() -> Result<Option<Provider>> {
    let given = std::env::var("STITCH_ONNX_PROVIDER").unwrap_or_default();
    if given.is_empty() || given == "auto" {
        return Ok(None);
    }
    let known = Provider::ALL.into_iter().find(|provider| provider.name() == given);
    known.map(Some).ok_or(EncoderError::UnknownProvider { given })
}

/// Why graphs do not run on what STITCH_ONNX_PROVIDER says; none if they do, or none was loaded.
pub fn onnx_fallback() -> Option<String> {
    Runtime::fallback()
}

/// The encoder in a model's folder, called `name`. Its files say which kind it is.
pub fn load_folder(folder: &Path, name: &str, towers: Towers, store: &Store) -> Result<TwoTowers> {
    let has = |file: &str| folder.join(file).is_file();
    if has(onnx_pair::FILE) {
        onnx_pair::load(folder, name, towers, onnx_runtime(store)?)
    } else if let Some(graphs) = onnx_layout::graphs(folder).filter(|_| !has(Weights::FILE)) {
        onnx_layout::load(folder, &graphs, name, towers, onnx_runtime(store)?)
    } else if has(OPEN_CLIP) && !has(Weights::FILE) {
        let reason = "models in OpenCLIP's form, such as MobileCLIP, are not read; export both towers \
                      to ONNX and describe them in an encoder.toml beside the graphs";
        Err(NnError::Config { path: folder.join(OPEN_CLIP), reason: reason.into() }.into())
    } else {
        clip::load(folder, name, towers)
    }
}

#[derive(Clone, Copy)]
pub struct EncoderModels<'a> {
    pub store: &'a Store,
    pub sentence: &'a Arc<SentenceEncoder>,
    /// The SHA-256 of the sentence model's weights.
    pub sentence_weights: &'a str,
    pub decode: Decode,
}

impl EncoderModels<'_> {
    /// The encoder called `name`: `mini`, `narration`, `features:` and the encoder of the texts, or a
    /// model by its folder, by `owner/name`, or by its name in the store.
    pub fn load(&self, name: &str) -> Result<Box<dyn Encoder>> {
        match name.strip_prefix(Precomputed::PREFIX) {
            Some(texts) => Ok(Box::new(Precomputed::new(None, self.load_texts(texts)?)?)),
            None => self.load_towers(name, Towers::Both),
        }
    }

    pub fn load_texts(&self, name: &str) -> Result<Box<dyn Encoder>> {
        self.load_towers(name, Towers::Text)
    }

    fn load_towers(&self, name: &str, towers: Towers) -> Result<Box<dyn Encoder>> {
        let (sentence, weights) = (self.sentence.clone(), self.sentence_weights);
        let mut loaded = match name {
            Narration::NAME => return Ok(Box::new(Narration::new(sentence, weights.into()))),
            mini::NAME => {
                let sees = towers == Towers::Both;
                let runtime = sees.then(|| onnx_runtime(self.store)).transpose()?;
                mini::load(runtime.as_ref(), sentence, weights)?
            }
            _ => {
                let (name, folder) = self.folder_of(name)?;
                load_folder(&folder, &name, towers, self.store)?
            }
        };
        loaded.decode = self.decode;
        Ok(Box::new(loaded))
    }

    fn folder_of(&self, wanted: &str) -> Result<(String, PathBuf)> {
        let path = Path::new(wanted);
        // A folder that happens to have the short name of an encoder is named as `./clip`.
        let is_short = !hub::is_name(wanted) && self.store.is_of_hub(wanted);
        if path.is_dir() && !is_short {
            let folder = path.canonicalize().unwrap_or_else(|_| path.to_owned());
            return Ok((folder.display().to_string(), folder));
        }
        let name = wanted.to_owned();
        match self.store.path(&hub::folder_name(wanted)) {
            Ok(folder) => Ok((name, folder)),
            Err(error @ ModelError::Damaged { .. }) => Err(error.into()),
            Err(_) if self.store.is_of_hub(wanted) => Err(EncoderError::NotPulled { name }),
            Err(_) => Err(EncoderError::Unknown { name }),
        }
    }
}
