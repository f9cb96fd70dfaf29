//! What commands work with: folders, models and the library, opened when first needed.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use clap::builder::PossibleValuesParser;
use serde::Serialize;
use stitch_engine::demonstrate::Demonstrator;
use stitch_engine::encoder::{Encoder, EncoderModels, onnx_fallback};
use stitch_engine::files::FileError;
use stitch_engine::library::Library;
use stitch_engine::media::Decode;
use stitch_engine::models::{ModelError, Store, hash_of, hub};
use stitch_engine::progress::Progress;
use stitch_engine::recipe::{self, Labeller, Reading};
use stitch_engine::scorer::{Scorer, ScorerModels};
use stitch_engine::scorers;
use stitch_engine::sentence::SentenceEncoder;
use stitch_engine::summarise::chat::Chat;

use crate::failure::Failure;
use crate::progress::ProgressOutput;

/// The options of every command.
#[derive(Args, Clone)]
#[command(next_help_heading = "Common")]
pub struct Common {
    /// The folder of the library [default: ~/.local/share/stitch/library]
    #[arg(long, global = true, env = "STITCH_LIBRARY", value_name = "DIR")]
    pub library: Option<PathBuf>,
    /// Print results and progress as lines of JSON
    #[arg(long, global = true)]
    pub json: bool,
    /// Print no progress
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// Print a detailed log
    #[arg(long, short, global = true)]
    pub verbose: bool,
}

/// The method that ranks candidates.
#[derive(Args, Default)]
#[command(next_help_heading = "Search")]
pub struct ScorerArguments {
    /// The method that decides between candidates: the search's own score (similarity), the evaluator, or the
    /// sum of both (blend) [default: similarity]
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(scorers::names()))]
    pub scorer: Option<String>,
}

pub struct Setup {
    /// Whether results are printed as JSON.
    json: bool,
    pub progress: ProgressOutput,
    /// The folder of the library.
    pub library: PathBuf,
    models: PathBuf,
    pub sentence_model: String,
    /// Holds files that can be recomputed.
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

/// The open library and the models of a query.
pub struct Session {
    pub library: Library,
    pub encoder: Box<dyn Encoder>,
    pub sentences: Sentences,
    pub scorer: Box<dyn Scorer>,
    /// Translates procedures.
    pub chat: Option<Chat>,
}

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
}

impl Setup {
    /// All folders are under STITCH_HOME if it is set, else in the XDG base directories.
    pub fn new(common: &Common) -> Self {
        let home = std::env::var_os("STITCH_HOME").map(PathBuf::from);
        let base = |variable: &str, default: &str| match &home {
            Some(home) => home.clone(),
            None => xdg_folder(variable, default).join("stitch"),
        };
        let cache = base("XDG_CACHE_HOME", ".cache");
        let data = base("XDG_DATA_HOME", ".local/share");
        Self {
            json: common.json,
            progress: ProgressOutput::new(common.json, common.quiet),
            library: common.library.clone().unwrap_or_else(|| data.join("library")),
            models: cache.join("models"),
            sentence_model: std::env::var("STITCH_SENTENCE_MODEL")
                .unwrap_or_else(|_| SentenceEncoder::MODEL.into()),
            cache: cache.join("cache"),
        }
    }

    /// Prints a result: as one line of JSON with --json, else by `print_text`.
    pub fn print(&self, json: impl Serialize, print_text: impl FnOnce()) {
        self.print_all(&[json], print_text);
    }

    /// Prints results: each as a line of JSON with --json, else all by `print_text`.
    pub fn print_all<T: Serialize>(&self, results: &[T], print_text: impl FnOnce()) {
        self.progress.finish();
        results.iter().for_each(|result| self.print_json(result));
        if !self.json {
            print_text();
        }
    }

    /// Prints a line of JSON with --json, else nothing, so that the progress bar stays.
    pub fn print_json(&self, result: impl Serialize) {
        if self.json {
            println!("{}", serde_json::json!(result));
        }
    }

    pub fn store(&self) -> Store {
        Store::new(&self.models)
    }

    /// The cache of encoded cuts.
    pub fn cuts_folder(&self) -> PathBuf {
        self.cache.join("cuts")
    }

    pub fn load_sentences(&self) -> Result<Sentences, Failure> {
        self.progress.begin("loading models", 0);
        let folder = self.sentence_folder()?;
        let weights = hash_of(&folder, "model.safetensors")?;
        Ok(Sentences { encoder: Arc::new(SentenceEncoder::load(&folder)?), weights })
    }

    /// A folder where a path is given, else a model of the store by its name or its `owner/name`.
    pub fn sentence_folder(&self) -> Result<PathBuf, ModelError> {
        let given = &self.sentence_model;
        let is_path = given.contains(std::path::MAIN_SEPARATOR);
        if is_path && (Path::new(given).is_dir() || !hub::is_name(given)) {
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
    ) -> Result<Box<dyn Encoder>, Failure> {
        let loaded = sentences.encoder_models(&self.store(), decode).load(name)?;
        if let Some(reason) = onnx_fallback() {
            self.progress.warn(&reason);
        }
        Ok(loaded)
    }

    /// The name of the encoder that the library was made with, if it exists.
    pub fn library_encoder(&self) -> Option<String> {
        Library::open(&self.library).ok().map(|library| library.encoder().name.clone())
    }

    /// The library, and the encoder that it was made with.
    pub fn open_library(
        &self,
        sentences: &Sentences,
    ) -> Result<(Library, Box<dyn Encoder>), Failure> {
        let library = Library::open(&self.library)?;
        let encoder = self.load_encoder(&library.encoder().name, sentences, Decode::Exact)?;
        library.check_encoder(encoder.id())?;
        library.check_sentence_model(&sentences.weights)?;
        self.check_calibration(&library);
        Ok((library, encoder))
    }

    /// Warns of a calibration that cannot be used.
    pub fn check_calibration(&self, library: &Library) {
        if let Err(error) = library.calibration() {
            self.progress.warn(&error.to_string());
        }
    }

    pub fn open(&self, scorer: &ScorerArguments) -> Result<Session, Failure> {
        self.open_with(self.load_sentences()?, scorer)
    }

    /// The same with a sentence model that is there already.
    pub fn open_with(
        &self,
        sentences: Sentences,
        scorer: &ScorerArguments,
    ) -> Result<Session, Failure> {
        let (library, encoder) = self.open_library(&sentences)?;
        let scorer = self.load_scorer(scorer, encoder.as_ref())?;
        Ok(Session { library, encoder, sentences, scorer, chat: None })
    }

    /// A scorer by name, or the best one for the encoder.
    pub fn load_scorer(
        &self,
        wanted: &ScorerArguments,
        encoder: &dyn Encoder,
    ) -> Result<Box<dyn Scorer>, Failure> {
        let models = ScorerModels { store: &self.store(), encoder: encoder.id() };
        Ok(scorers::load(wanted.scorer.as_deref(), &models)?)
    }
}

/// A folder of the XDG base directories.
fn xdg_folder(variable: &str, default: &str) -> PathBuf {
    let set = std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_else(|| ".".into()));
    set.unwrap_or_else(|| home().join(default))
}

/// The text of a procedure.
pub struct ProcedureText {
    /// The name's extension may decide how the text is read.
    pub name: String,
    pub bytes: Vec<u8>,
}

impl ProcedureText {
    /// What is in a file, at a web address, or in standard input if the path is `-`.
    pub fn load(path: &Path) -> Result<Self, Failure> {
        if let Some(url) = path.to_str().filter(|path| recipe::is_address(path)) {
            let (name, bytes) = recipe::download(url)?;
            return Ok(Self { name, bytes });
        }
        let mut bytes = Vec::new();
        if path == Path::new("-") {
            std::io::stdin().read_to_end(&mut bytes).map_err(FileError::at("standard input"))?;
            return Ok(Self { name: String::new(), bytes });
        }
        let bytes = std::fs::read(path).map_err(FileError::at(path))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { name, bytes })
    }

    /// Reads the procedure; by rules alone where the sentence model cannot read it.
    pub fn read(&self, sentences: Option<&Sentences>) -> Result<Reading, Failure> {
        let labeller = sentences.map(|sentences| &*sentences.encoder as &dyn Labeller);
        Ok(recipe::read_procedure(&self.name, &self.bytes, labeller)?)
    }
}

/// Loads and reads a procedure.
pub fn read_procedure(path: &Path, sentences: Option<&Sentences>) -> Result<Reading, Failure> {
    ProcedureText::load(path)?.read(sentences)
}
