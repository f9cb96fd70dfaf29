//! What commands work with: folders, models and the library, opened when first needed.

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;
use serde::Serialize;
use stitch_engine::encoder::Encoder;
use stitch_engine::files::FileError;
use stitch_engine::library::Library;
use stitch_engine::media::Decode;
use stitch_engine::models::Store;
use stitch_engine::progress::Progress;
use stitch_engine::recipe::{self, Labeller, Reading};
use stitch_engine::scorer::Scorer;
use stitch_engine::scorers;
pub use stitch_engine::session::{Home, Sentences, Session};

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
    pub home: Home,
}

impl Setup {
    pub fn new(common: &Common) -> Self {
        let home = Home::from_environment();
        Self {
            json: common.json,
            progress: ProgressOutput::new(common.json, common.quiet),
            library: common.library.clone().unwrap_or_else(|| home.library.clone()),
            home,
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
        self.home.store()
    }

    /// The cache of encoded cuts.
    pub fn cuts_folder(&self) -> PathBuf {
        self.home.cuts_folder()
    }

    pub fn load_sentences(&self) -> Result<Sentences, Failure> {
        self.progress.begin("loading models", 0);
        Ok(self.home.load_sentences()?)
    }

    /// Loads an encoder by name or folder.
    pub fn load_encoder(
        &self,
        name: &str,
        sentences: &Sentences,
        decode: Decode,
    ) -> Result<Box<dyn Encoder>, Failure> {
        Ok(self.home.load_encoder(name, sentences, decode, &self.progress)?)
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
        Ok(self.home.open_library(&self.library, sentences, &self.progress)?)
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
        let scorer = scorer.scorer.as_deref();
        Ok(self.home.open(&self.library, sentences, scorer, &self.progress)?)
    }

    /// A scorer by name, or the best one for the encoder.
    pub fn load_scorer(
        &self,
        wanted: &ScorerArguments,
        encoder: &dyn Encoder,
    ) -> Result<Box<dyn Scorer>, Failure> {
        Ok(self.home.load_scorer(wanted.scorer.as_deref(), encoder)?)
    }
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
