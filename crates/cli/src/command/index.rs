//! `stitch index`: reads videos into the library.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use stitch_core::format::count;
use stitch_engine::encoder::precomputed::{About, Folder};
use stitch_engine::encoder::{Encoder, Precomputed, mini};
use stitch_engine::index::{Indexer, Report, VideoList};
use stitch_engine::library::Library;
use stitch_engine::listen::Listener;
use stitch_engine::media::Decode;
use stitch_engine::progress::Progress;

use crate::chat::{ChatArguments, Domain};
use crate::failure::Failure;
use crate::setup::{Sentences, Setup};

/// Read videos into the library, once; run it again for new ones
#[derive(Args)]
pub struct IndexArguments {
    /// Video files, or folders to search for them
    #[arg(required_unless_present = "annotations", value_name = "PATHS")]
    paths: Vec<PathBuf>,
    /// What turns seconds of video into features: mini looks at the pictures, narration goes by what
    /// is said; or the folder of a CLIP, SigLIP, MobileCLIP or ONNX model, or its owner/name once
    /// pulled [default: the library's, for a new one mini]
    #[arg(long, env = "STITCH_ENCODER", value_name = "NAME")]
    encoder: Option<String>,
    /// Features computed elsewhere, instead of looking: NAME.npy (npz, h5, safetensors) for the
    /// video NAME.mp4, or one file with an array per video; features.toml there may say rate, dim
    /// and key
    #[arg(long, value_name = "DIR", requires = "text_encoder")]
    features: Option<PathBuf>,
    /// Rows of such features per second
    #[arg(long, value_name = "ROWS", requires = "features")]
    feature_rate: Option<f64>,
    /// The array's name in files that hold several
    #[arg(long, value_name = "NAME", requires = "features")]
    feature_key: Option<String>,
    /// Who reads texts into the space of such features: mini, or the folder of a CLIP, SigLIP or
    /// MobileCLIP model or of an ONNX text tower with its encoder.toml
    #[arg(long, value_name = "PATH", requires = "features")]
    text_encoder: Option<String>,
    /// A list of videos (videos.jsonl: video, duration, steps with text, start, end) that are known
    /// by such features alone, without files of their own
    #[arg(long, value_name = "FILE", requires = "features")]
    annotations: Option<PathBuf>,
    /// How much of a video is decoded
    #[arg(long, value_enum, default_value_t = DecodeName::Exact)]
    decode: DecodeName,
    /// Who writes down what is said in videos without subtitles: a speech model by name or folder,
    /// `auto` for whisper-base if it is here, or `never`
    #[arg(long, env = "STITCH_SPEECH", value_name = "MODEL", default_value = "auto")]
    speech: String,
    /// The language that is spoken, as `en` or `de` [default: detected in each video]
    #[arg(long, value_name = "CODE")]
    language: Option<String>,
    /// The field the videos are from; only a language model's prompt depends on it
    #[arg(long, value_enum, default_value_t = Domain::Any)]
    domain: Domain,
    #[command(flatten)]
    chat: ChatArguments,
}

#[derive(Clone, Copy, ValueEnum)]
enum DecodeName {
    /// Every frame
    Exact,
    /// Without frames that nobody refers to
    Fast,
    /// Key frames alone: for a first look at a large library
    Keyframes,
}

/// Runs the command.
pub fn run(arguments: &IndexArguments, setup: &Setup) -> Result<u8, Failure> {
    setup.progress.begin("loading models", 0);
    let sentences = setup.sentence()?;
    let folder = arguments.feature_folder()?;
    let encoder = arguments.encoder(folder.clone(), setup, &sentences)?;
    let library = Library::open_or_create(&setup.library, encoder.id())?;
    let chat = arguments.chat.chat(setup);
    let list = arguments.list(folder.as_ref(), setup)?;
    let listener = setup.listener_or_none(&arguments.speech)?;
    let listener = listening_for(listener, arguments.language.as_deref())?;
    let indexer = Indexer {
        library: &library,
        encoder: encoder.as_ref(),
        sentence: &sentences.encoder,
        chat: chat.as_ref().map(|chat| (chat, arguments.domain.into())),
        speech: listener.as_ref(),
        list: list.as_ref(),
    };
    let report = indexer.run(&arguments.paths, &setup.progress)?;
    setup.progress.finish();
    print(&report, setup);
    let nothing_usable = report.failed.len() == report.found;
    Ok(if nothing_usable { 1 } else { 0 })
}

/// The speech model, told which language to expect where somebody said so.
fn listening_for(
    listener: Option<Listener>,
    language: Option<&str>,
) -> Result<Option<Listener>, Failure> {
    match (listener, language) {
        (Some(listener), Some(language)) => Ok(Some(listener.in_language(language)?)),
        (listener, _) => Ok(listener),
    }
}

impl IndexArguments {
    /// The features that were computed elsewhere.
    fn feature_folder(&self) -> Result<Option<Folder>, Failure> {
        let Some(folder) = &self.features else { return Ok(None) };
        let key = self.feature_key.clone();
        Ok(Some(Folder::open(folder, &About { rate: self.feature_rate, dim: None, key })?))
    }

    /// F_M: what was asked for, or the features with their text tower.
    fn encoder(
        &self,
        folder: Option<Folder>,
        setup: &Setup,
        sentences: &Sentences,
    ) -> Result<Box<dyn Encoder>, Failure> {
        match (folder, &self.text_encoder) {
            (Some(folder), Some(reader)) => {
                let store = setup.store();
                let texts = sentences.encoder_models(&store, Decode::Exact).load_texts(reader)?;
                Ok(Box::new(Precomputed::new(Some(folder), texts)?))
            }
            _ => setup.encoder(&self.encoder_for(&setup.library), sentences, self.decode.into()),
        }
    }

    fn list(&self, folder: Option<&Folder>, setup: &Setup) -> Result<Option<VideoList>, Failure> {
        let (Some(list), Some(folder)) = (&self.annotations, folder) else { return Ok(None) };
        Ok(Some(VideoList::read(list, folder, &setup.progress)?))
    }

    /// The encoder asked for, else the one the library was made with, else the one that sees.
    fn encoder_for(&self, library: &Path) -> String {
        let made_with = || Library::open(library).ok().map(|made| made.encoder().name.clone());
        self.encoder.clone().or_else(made_with).unwrap_or_else(|| mini::NAME.into())
    }
}

impl From<DecodeName> for Decode {
    fn from(name: DecodeName) -> Self {
        match name {
            DecodeName::Exact => Self::Exact,
            DecodeName::Fast => Self::Fast,
            DecodeName::Keyframes => Self::Keyframes,
        }
    }
}

fn print(report: &Report, setup: &Setup) {
    if setup.json {
        println!("{}", serde_json::json!(report));
        return;
    }
    println!(
        "{} found: {} indexed now ({}), {} known already, {} the same as another, {} \
         failed",
        count(report.found, "video"),
        report.indexed,
        count(report.clips, "clip"),
        report.unchanged,
        report.duplicates,
        report.failed.len()
    );
    println!("library: {}", setup.library.display());
}
