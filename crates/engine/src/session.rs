//! The folders that stitch uses on this machine, and what a query works with, loaded from them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

use crate::demonstrate::{DemonstrateError, Demonstrator, Stock};
use crate::encoder::{Encoder, EncoderError, EncoderModels, onnx_fallback};
use crate::library::{Library, LibraryError};
use crate::listen::{ListenError, Listener};
use crate::media::Decode;
use crate::models::{ModelError, Store, hash_of, hub};
use crate::progress::Progress;
use crate::scorer::{Scorer, ScorerError, ScorerModels};
use crate::scorers;
use crate::screen_text::ScreenTextReader;
use crate::sentence::{SentenceEncoder, SentenceError};
use crate::summarise::chat::Chat;

/// Folders and models of this machine, as the environment names them.
#[derive(Clone, Debug)]
pub struct Home {
    /// The library that is used where none is named.
    pub library: PathBuf,
    models: PathBuf,
    /// A folder, or a model of the store by its name or its `owner/name`.
    pub sentence_model: String,
    /// Holds files that can be recomputed.
    pub cache: PathBuf,
}

/// The sentence encoder and the hash of its weights.
#[derive(Clone)]
pub struct Sentences {
    pub encoder: Arc<SentenceEncoder>,
    pub weights: String,
}

impl Sentences {
    /// What encoders are loaded from.
    pub fn encoder_models<'a>(&'a self, store: &'a Store, decode: Decode) -> EncoderModels<'a> {
        EncoderModels { store, sentence: &self.encoder, sentence_weights: &self.weights, decode }
    }
}

/// The open library and the models of a query.
pub struct Session {
    pub library: Library,
    pub encoder: Box<dyn Encoder>,
    pub sentences: Sentences,
    pub scorer: Box<dyn Scorer>,
    /// Translates procedures.
    pub chat: Option<Chat>,
}

/// A clip that a search found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FoundClip {
    pub clip: u32,
    pub video: u32,
    pub path: PathBuf,
    pub title: String,
    pub start_ms: u64,
    pub end_ms: u64,
    /// The step in the words of its video.
    pub text: String,
    pub probability: f32,
    pub text_similarity: Option<f32>,
    pub clip_similarity: Option<f32>,
}

#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error("the text is empty; describe what the clips should show")]
    EmptyText,
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error(transparent)]
    Sentence(#[from] SentenceError),
    #[error(transparent)]
    Encoder(#[from] EncoderError),
    #[error(transparent)]
    Speech(#[from] ListenError),
    #[error(transparent)]
    Scorer(#[from] ScorerError),
    #[error(transparent)]
    Library(#[from] LibraryError),
    #[error(transparent)]
    Demonstrate(#[from] DemonstrateError),
}

type Result<T, E = SessionError> = std::result::Result<T, E>;

impl Session {
    pub fn demonstrator(&self) -> Demonstrator<'_> {
        Demonstrator {
            library: &self.library,
            encoder: self.encoder.as_ref(),
            sentence: &self.sentences.encoder,
            sentence_weights: &self.sentences.weights,
            scorer: self.scorer.as_ref(),
            chat: self.chat.as_ref(),
        }
    }

    /// The clips of the stock that are most likely to show what the text says, best first.
    pub fn search(&self, stock: &Stock, text: &str, number: usize) -> Result<Vec<FoundClip>> {
        let text = text.trim();
        if text.is_empty() {
            return Err(SessionError::EmptyText);
        }
        let (library, encoder) = (&self.library, self.encoder.as_ref());
        let found = stock.search(library, text, number, encoder, &self.sentences.encoder)?;
        let describe = |found: &stitch_core::map::Match| {
            let clip = stock.pool.clip(found.clip);
            let video = library.video(clip.video)?;
            Ok(FoundClip {
                clip: found.clip.0,
                video: video.id,
                path: video.path,
                title: video.video.title,
                start_ms: clip.span.start(),
                end_ms: clip.span.end(),
                text: clip.text.clone(),
                probability: found.probability(),
                text_similarity: found.evidence.text,
                clip_similarity: found.evidence.clip,
            })
        };
        found.iter().map(describe).collect()
    }
}

impl Home {
    /// All folders are under STITCH_HOME if it is set, else in the XDG base directories.
    pub fn from_environment() -> Self {
        let home = std::env::var_os("STITCH_HOME").map(PathBuf::from);
        let base = |variable: &str, default: &str| match &home {
            Some(home) => home.clone(),
            None => xdg_folder(variable, default).join("stitch"),
        };
        let cache = base("XDG_CACHE_HOME", ".cache");
        Self {
            library: base("XDG_DATA_HOME", ".local/share").join("library"),
            models: cache.join("models"),
            sentence_model: std::env::var("STITCH_SENTENCE_MODEL")
                .unwrap_or_else(|_| SentenceEncoder::MODEL.into()),
            cache: cache.join("cache"),
        }
    }

    pub fn store(&self) -> Store {
        Store::new(&self.models)
    }

    /// The cache of encoded cuts.
    pub fn cuts_folder(&self) -> PathBuf {
        self.cache.join("cuts")
    }

    pub fn load_sentences(&self) -> Result<Sentences> {
        let folder = self.sentence_folder()?;
        let weights = hash_of(&folder, "model.safetensors")?;
        Ok(Sentences { encoder: Arc::new(SentenceEncoder::load(&folder)?), weights })
    }

    pub fn sentence_folder(&self) -> Result<PathBuf, ModelError> {
        let given = &self.sentence_model;
        if is_path(given) && (Path::new(given).is_dir() || !hub::is_name(given)) {
            return Ok(given.into());
        }
        self.store().path(&hub::folder_name(given))
    }

    /// Loads an encoder by name or folder.
    pub fn load_encoder(
        &self,
        name: &str,
        sentences: &Sentences,
        decode: Decode,
        progress: &dyn Progress,
    ) -> Result<Box<dyn Encoder>> {
        let loaded = sentences.encoder_models(&self.store(), decode).load(name)?;
        if let Some(reason) = onnx_fallback() {
            progress.warn(&reason);
        }
        Ok(loaded)
    }

    /// Loads a speech model by name or folder.
    pub fn load_speech(&self, name: &str) -> Result<Listener> {
        let folder = if is_path(name) { PathBuf::from(name) } else { self.store().path(name)? };
        Ok(Listener::load(&folder)?)
    }

    /// The same where speech may stay unheard: `auto` is the default model if it is installed, `never` none.
    pub fn load_optional_speech(&self, name: &str) -> Result<Option<Listener>> {
        match name {
            "never" => Ok(None),
            "auto" => match self.store().path(Listener::MODEL) {
                Err(ModelError::NotInstalled { .. }) => Ok(None),
                folder => Ok(Some(Listener::load(&folder?)?)),
            },
            name => self.load_speech(name).map(Some),
        }
    }

    /// The reader of text on the screen, as [`Self::load_optional_speech`] names its model.
    pub fn load_screen_text(&self, name: &str) -> Result<Option<ScreenTextReader>> {
        let folder = match name {
            "never" => return Ok(None),
            "auto" => match self.store().path(ScreenTextReader::MODEL) {
                Err(ModelError::NotInstalled { .. }) => return Ok(None),
                folder => folder?,
            },
            name if is_path(name) => name.into(),
            name => self.store().path(name)?,
        };
        Ok(Some(ScreenTextReader::load(&folder, &self.store())?))
    }

    /// A library, and the encoder that it was made with. A calibration that cannot be used is a warning.
    pub fn open_library(
        &self,
        folder: &Path,
        sentences: &Sentences,
        progress: &dyn Progress,
    ) -> Result<(Library, Box<dyn Encoder>)> {
        let library = Library::open(folder)?;
        let name = &library.encoder().name;
        let encoder = self.load_encoder(name, sentences, Decode::Exact, progress)?;
        library.check_encoder(encoder.id())?;
        library.check_sentence_model(&sentences.weights)?;
        check_calibration(&library, progress);
        Ok((library, encoder))
    }

    pub fn open(
        &self,
        folder: &Path,
        sentences: Sentences,
        scorer: Option<&str>,
        progress: &dyn Progress,
    ) -> Result<Session> {
        let (library, encoder) = self.open_library(folder, &sentences, progress)?;
        let scorer = self.load_scorer(scorer, encoder.as_ref())?;
        Ok(Session { library, encoder, sentences, scorer, chat: None })
    }

    /// A scorer by name, or the best one for the encoder.
    pub fn load_scorer(
        &self,
        name: Option<&str>,
        encoder: &dyn Encoder,
    ) -> Result<Box<dyn Scorer>> {
        let models = ScorerModels { store: &self.store(), encoder: encoder.id() };
        Ok(scorers::load(name, &models)?)
    }
}

/// Warns of a calibration that cannot be used.
pub fn check_calibration(library: &Library, progress: &dyn Progress) {
    if let Err(error) = library.calibration() {
        progress.warn(&error.to_string());
    }
}

fn is_path(name: &str) -> bool {
    name.contains(std::path::MAIN_SEPARATOR)
}

/// A folder of the XDG base directories.
fn xdg_folder(variable: &str, default: &str) -> PathBuf {
    let set = std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_else(|| ".".into()));
    set.unwrap_or_else(|| home().join(default))
}
