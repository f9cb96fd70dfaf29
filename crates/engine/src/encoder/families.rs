//! The encoders by name: the built-in ones, and the families of model folders.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::tower::Towers;
use super::{Encoder, EncoderError, Narration, Precomputed, TwoTowers, clip, mini, onnx_pair};
use crate::media::Decode;
use crate::models::{Store, hub};
use crate::onnx;
use crate::sentence::SentenceEncoder;

/// A family of encoders in model folders.
struct Family {
    /// The file by which its folders are recognised.
    file: &'static str,
    load: fn(&Path, &str, Towers, &Store) -> Result<TwoTowers, EncoderError>,
}

/// In the order of trying; a folder that none recognises is tried as the last.
static FAMILIES: [Family; 3] = [
    Family { file: onnx_pair::FILE, load: onnx_pair::load },
    Family { file: clip::open_clip::CONFIG, load: clip::open_clip::load },
    Family { file: "config.json", load: clip::load },
];

/// The encoder in a model's folder, called `name`.
pub fn load_folder(
    folder: &Path,
    name: &str,
    towers: Towers,
    store: &Store,
) -> Result<TwoTowers, EncoderError> {
    let [.., last] = &FAMILIES;
    let family = FAMILIES.iter().find(|family| folder.join(family.file).is_file());
    (family.unwrap_or(last).load)(folder, name, towers, store)
}

/// What encoders are loaded from.
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
    pub fn load(&self, name: &str) -> Result<Box<dyn Encoder>, EncoderError> {
        match name.strip_prefix(Precomputed::PREFIX) {
            Some(texts) => Ok(Box::new(Precomputed::new(None, self.load_texts(texts)?)?)),
            None => self.load_towers(name, Towers::Both),
        }
    }

    /// The encoder called `name`, for texts only.
    pub fn load_texts(&self, name: &str) -> Result<Box<dyn Encoder>, EncoderError> {
        self.load_towers(name, Towers::Text)
    }

    fn load_towers(&self, name: &str, towers: Towers) -> Result<Box<dyn Encoder>, EncoderError> {
        let (sentence, weights) = (self.sentence.clone(), self.sentence_weights);
        let loaded = match name {
            Narration::NAME => return Ok(Box::new(Narration::new(sentence, weights.into()))),
            mini::NAME => mini::load(&onnx::find(self.store)?, sentence, weights)?,
            _ => {
                let (name, folder) = self.folder_of(name)?;
                load_folder(&folder, &name, towers, self.store)?
            }
        };
        Ok(Box::new(loaded.with_decode(self.decode)))
    }

    fn folder_of(&self, wanted: &str) -> Result<(String, PathBuf), EncoderError> {
        let path = Path::new(wanted);
        if path.is_dir() {
            let folder = path.canonicalize().unwrap_or_else(|_| path.to_owned());
            return Ok((folder.display().to_string(), folder));
        }
        let name = wanted.to_owned();
        match self.store.path(&hub::folder_name(wanted)) {
            Ok(folder) => Ok((name, folder)),
            Err(_) if hub::is_name(wanted) => Err(EncoderError::NotPulled { name }),
            Err(_) => Err(EncoderError::Unknown { name }),
        }
    }
}
