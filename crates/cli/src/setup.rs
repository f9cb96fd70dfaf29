//! What commands work with, opened when first needed: folders, models, the library.

use std::fmt::Display;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use serde::Serialize;
use stitch_engine::demonstrate::Demonstrator;
use stitch_engine::encoder::{Encoder, EncoderModels};
use stitch_engine::library::Library;
use stitch_engine::listen::Listener;
use stitch_engine::media::Decode;
use stitch_engine::models::{ModelError, Store, hash_of};
use stitch_engine::progress::Progress;
use stitch_engine::scorer::{Scorer, ScorerModels};
use stitch_engine::scorers::{self, SCORERS};
use stitch_engine::sentence::SentenceEncoder;

use crate::bars::Shown;
use crate::common::Common;
use crate::failure::Failure;

/// The options of every command, and what they lead to.
pub struct Setup {
    /// Whether results are printed as JSON.
    pub json: bool,
    /// Where progress goes.
    pub progress: Shown,
    /// The library's folder.
    pub library: PathBuf,
    /// Where models are kept.
    pub models: PathBuf,
    /// The sentence model's name: STITCH_SENTENCE_MODEL where that is set.
    pub sentence_model: String,
    /// What can be made again: encoded cuts, answers of language models.
    pub cache: PathBuf,
}

/// The sentence encoder and the hash of its weights.
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

/// What a query works with, opened.
pub struct Opened {
    pub library: Library,
    pub encoder: Box<dyn Encoder>,
    pub sentences: Sentences,
    pub scorer: Box<dyn Scorer>,
}

impl Opened {
    /// The same as the query takes it.
    pub fn demonstrator(&self) -> Demonstrator<'_> {
        Demonstrator {
            library: &self.library,
            encoder: self.encoder.as_ref(),
            sentence: &self.sentences.encoder,
            sentence_weights: &self.sentences.weights,
            scorer: self.scorer.as_ref(),
        }
    }
}

impl Setup {
    /// The folders: under STITCH_HOME where that is set, else where such things belong.
    pub fn new(common: &Common) -> Self {
        let home = std::env::var_os("STITCH_HOME").map(PathBuf::from);
        let below = |variable: &str, usual: &str| match &home {
            Some(home) => home.clone(),
            None => base(variable, usual).join("stitch"),
        };
        let cache = below("XDG_CACHE_HOME", ".cache");
        let data = below("XDG_DATA_HOME", ".local/share");
        Self {
            json: common.json,
            progress: Shown::new(common.json, common.quiet),
            library: common.library.clone().unwrap_or_else(|| data.join("library")),
            models: cache.join("models"),
            sentence_model: std::env::var("STITCH_SENTENCE_MODEL")
                .unwrap_or_else(|_| SentenceEncoder::MODEL.into()),
            cache: cache.join("cache"),
        }
    }

    /// Prints a result: in words, or as a line of JSON.
    pub fn say<T: Display + Serialize>(&self, result: &T) {
        self.progress.finish();
        match self.json {
            true => println!("{}", serde_json::json!(result)),
            false => println!("{result}"),
        }
    }

    /// The models on this machine.
    pub fn store(&self) -> Store {
        Store::new(&self.models)
    }

    /// The sentence encoder, loaded, and the hash of its weights.
    pub fn sentence(&self) -> Result<Sentences, Failure> {
        let folder = self.store().path(&self.sentence_model)?;
        let weights = hash_of(&folder, "model.safetensors")?;
        Ok(Sentences { encoder: Arc::new(SentenceEncoder::load(&folder)?), weights })
    }

    /// F_M by name, decoding as much of videos as asked.
    pub fn encoder(
        &self,
        name: &str,
        sentences: &Sentences,
        decode: Decode,
    ) -> Result<Box<dyn Encoder>, Failure> {
        Ok(sentences.encoder_models(&self.store(), decode).load(name)?)
    }

    /// A speech model by name, or by the path of its folder.
    pub fn listener(&self, wanted: &str) -> Result<Listener, Failure> {
        let by_path = wanted.contains(std::path::MAIN_SEPARATOR);
        let folder = if by_path { PathBuf::from(wanted) } else { self.store().path(wanted)? };
        Ok(Listener::load(&folder)?)
    }

    /// The speech model asked for; with `auto` the usual one if it is here, with `never` none.
    pub fn listener_or_none(&self, wanted: &str) -> Result<Option<Listener>, Failure> {
        match wanted {
            "never" => Ok(None),
            "auto" => match self.store().path(Listener::MODEL) {
                Err(ModelError::NotInstalled { .. }) => Ok(None),
                folder => Ok(Some(Listener::load(&folder?)?)),
            },
            name => self.listener(name).map(Some),
        }
    }

    /// The library, and the encoder it was made with.
    pub fn open_library(
        &self,
        sentences: &Sentences,
    ) -> Result<(Library, Box<dyn Encoder>), Failure> {
        let library = Library::open(&self.library)?;
        let encoder = self.encoder(&library.encoder().name, sentences, Decode::Exact)?;
        library.check_encoder(encoder.id())?;
        Ok((library, encoder))
    }

    /// Everything a query works with; `scorer` by name, or the best there is.
    pub fn open(&self, scorer: &ScorerArguments) -> Result<Opened, Failure> {
        self.progress.begin("loading models", 0);
        let sentences = self.sentence()?;
        let (library, encoder) = self.open_library(&sentences)?;
        let scorer = self.scorer(scorer, encoder.as_ref(), &sentences)?;
        Ok(Opened { library, encoder, sentences, scorer })
    }

    /// What decides between candidates: the evaluators made for this encoder where there are any.
    pub fn scorer(
        &self,
        wanted: &ScorerArguments,
        encoder: &dyn Encoder,
        sentences: &Sentences,
    ) -> Result<Box<dyn Scorer>, Failure> {
        let with = ScorerModels {
            store: &self.store(),
            encoder: encoder.id(),
            domain: wanted.domain.as_deref(),
            sentence: &sentences.encoder,
        };
        Ok(scorers::load(wanted.scorer.as_deref(), &with)?)
    }
}

/// What decides between candidates.
#[derive(Args, Default)]
pub struct ScorerArguments {
    /// What ranks candidates [default: the evaluator where there is one for the library's encoder]
    #[arg(long, value_name = "NAME", help_heading = "Choosing",
        value_parser = SCORERS.map(|scorer| scorer.name))]
    pub scorer: Option<String>,
    /// Whose evaluator: cooking, woodworking, gardening, or what `stitch train --domain` was told
    /// [default: the one whose description is nearest to the procedure]
    #[arg(long, value_name = "NAME", help_heading = "Choosing")]
    pub domain: Option<String>,
}

/// A folder of the XDG base directories.
fn base(variable: &str, usual: &str) -> PathBuf {
    let set = std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_else(|| ".".into()));
    set.unwrap_or_else(|| home().join(usual))
}
