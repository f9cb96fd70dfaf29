//! `stitch index`: reads videos into the library, or a share of them into shards.

use std::path::PathBuf;

use clap::Args;
use stitch_core::format::count;
use stitch_engine::encoder::precomputed::{About, Folder};
use stitch_engine::encoder::{Encoder, Precomputed, mini};
use stitch_engine::index::{self, Indexer, Report, VideoList};
use stitch_engine::library::Library;
use stitch_engine::media::Decode;
use stitch_engine::shards::{self, FetchCache, Made, Shards, Share, Worker};

use crate::failure::Failure;
use crate::options::{
    Choices, DomainArguments, LanguageModelArguments, OptionalSpeechArguments, ScreenTextArguments,
    choice,
};
use crate::setup::{Sentences, Setup};

/// Index videos into the library; run it again to add new ones
#[derive(Args)]
pub struct IndexArguments {
    /// Video files, or folders to search for them; with --out also URLs in buckets
    #[arg(required_unless_present_any = ["annotations", "from"], value_name = "PATHS")]
    paths: Vec<PathBuf>,
    /// The encoder of frames: mini; narration, which uses speech only; or the folder of a CLIP,
    /// SigLIP or ONNX model, or its name or owner/name once pulled [default: the library's, or mini
    /// for a new library]
    #[arg(long, env = "STITCH_ENCODER", value_name = "NAME")]
    encoder: Option<String>,
    /// A library of another encoder: narration, steps and spans of the same videos are copied from
    /// it, and only features are computed; without PATHS all of its videos are taken
    #[arg(long, value_name = "LIBRARY", conflicts_with = "features")]
    from: Option<PathBuf>,
    /// Precomputed features instead of an encoder: NAME.npy (npz, h5, safetensors) for the video
    /// NAME.mp4, or one file with an array per video; features.toml in the folder may set rate, dim
    /// and key
    #[arg(long, value_name = "DIR", requires = "text_encoder")]
    features: Option<PathBuf>,
    /// Rows of the features per second
    #[arg(long, value_name = "ROWS", requires = "features")]
    feature_rate: Option<f64>,
    /// The name of the array in files that hold several
    #[arg(long, value_name = "NAME", requires = "features")]
    feature_key: Option<String>,
    /// The text encoder of the features' embedding space: mini, or the folder of a CLIP or SigLIP
    /// model or of an ONNX text tower with its encoder.toml
    #[arg(long, value_name = "PATH", requires = "features")]
    text_encoder: Option<String>,
    /// A list of videos that have features but no files (videos.jsonl: video, duration, steps with
    /// text, start, end)
    #[arg(long, value_name = "FILE", requires = "features")]
    annotations: Option<PathBuf>,
    /// Which frames are decoded
    #[arg(long, value_parser = choice(&DECODE), default_value = "exact")]
    decode: Decode,
    /// Write a shard for each video to this folder or bucket (s3://, gs://, az://) instead of the library;
    /// `stitch library merge` makes a library of them
    #[arg(long, value_name = "URL", conflicts_with_all = ["from", "annotations"])]
    out: Option<String>,
    /// Index every N-th video from the I-th on; N workers, each with another I, index all
    #[arg(long, value_name = "I/N", requires = "out")]
    shard: Option<Share>,
    /// Gigabytes that copies of videos in buckets may take while they are indexed
    #[arg(long, value_name = "GB", default_value_t = 10, requires = "out")]
    fetch_budget: u32,
    #[command(flatten)]
    speech: OptionalSpeechArguments,
    #[command(flatten)]
    screen_text: ScreenTextArguments,
    /// The spoken language, such as `en` or `de` [default: detected in each video]
    #[arg(long, value_name = "CODE")]
    language: Option<String>,
    #[command(flatten)]
    chat: LanguageModelArguments,
    #[command(flatten)]
    domain: DomainArguments,
}

const DECODE: Choices<Decode, 3> = [
    ("exact", "All frames", Decode::Exact),
    ("fast", "All frames but those that no other frame refers to", Decode::Fast),
    ("keyframes", "Key frames only, for a first look at a large library", Decode::Keyframes),
];

pub fn run(arguments: &IndexArguments, setup: &Setup) -> Result<u8, Failure> {
    if arguments.out.is_none() && arguments.paths.iter().any(|path| shards::is_url(path)) {
        return Err(Failure::new(
            "videos in a bucket are indexed into shards; add --out URL, then run `stitch library merge URL`",
        ));
    }
    let from = arguments.from.as_deref().map(Library::open).transpose()?;
    let sentences = setup.load_sentences()?;
    let features = arguments.features()?;
    let encoder = arguments.load_encoder(features.clone(), setup, &sentences)?;
    let chat = arguments.chat.chat(setup);
    let annotations = arguments.annotations.as_ref().zip(features.as_ref());
    let list = annotations.map(|(list, features)| VideoList::read(list, features, &setup.progress));
    let list = list.transpose()?;
    let mut speech = arguments.speech.load(setup)?;
    if let Some(language) = &arguments.language {
        speech = speech.map(|speech| speech.in_language(language)).transpose()?;
    }
    let screen_text = arguments.screen_text.load(setup)?;
    let paths = match &from {
        Some(from) if arguments.paths.is_empty() => index::files_of(from, &setup.progress)?,
        _ => arguments.paths.clone(),
    };
    let indexer = Indexer {
        encoder: encoder.as_ref(),
        sentence: &sentences.encoder,
        chat: chat.as_ref().map(|chat| (chat, arguments.domain.domain)),
        speech: speech.as_ref(),
        screen_text: screen_text.as_ref(),
        list: list.as_ref(),
        from: from.as_ref(),
    };
    let (report, place) = match &arguments.out {
        Some(url) => {
            let made = Made {
                encoder: encoder.id().clone(),
                sentence_model: sentences.weights.clone(),
                options: arguments.made_with(&indexer),
            };
            let shards = Shards::open(url)?;
            let cache = FetchCache {
                folder: setup.home.cache.join("fetched"),
                bytes: u64::from(arguments.fetch_budget) * 1_000_000_000,
            };
            let worker = Worker { indexer: &indexer, made, shards: &shards, cache };
            let share = arguments.shard.unwrap_or(Share::ALL);
            (worker.run(&paths, share, &setup.progress)?, format!("shards: {url}"))
        }
        None => {
            let library = Library::open_or_create(&setup.library, encoder.id())?;
            library.fix_sentence_model(&sentences.weights)?;
            let report = indexer.run(&library, &paths, &setup.progress)?;
            (report, format!("library: {}", setup.library.display()))
        }
    };
    print(&report, &place, setup);
    let all_failed = report.found > 0 && report.failed.len() == report.found;
    Ok(if all_failed { 1 } else { 0 })
}

fn print(report: &Report, place: &str, setup: &Setup) {
    setup.print(report, || {
        println!(
            "{} found: {} indexed now ({}), {} unchanged, {} duplicates, {} failed",
            count(report.found, "video"),
            report.indexed,
            count(report.clips, "clip"),
            report.unchanged,
            report.duplicates,
            report.failed.len()
        );
        println!("{place}");
    });
}

impl IndexArguments {
    /// What the clips of a video depend on besides its file and the models of features.
    fn made_with(&self, indexer: &Indexer<'_>) -> String {
        let speech = indexer.speech.map(|speech| &*speech.name);
        let chat = indexer.chat.map(|(chat, _)| (chat.model(), self.domain.domain));
        let made = format!("{:?} {speech:?} {:?} {chat:?}", self.decode, self.language);
        match indexer.screen_text {
            Some(reader) => format!("{made} {}", reader.name),
            None => made,
        }
    }

    fn features(&self) -> Result<Option<Folder>, Failure> {
        let Some(folder) = &self.features else { return Ok(None) };
        let key = self.feature_key.clone();
        Ok(Some(Folder::open(folder, &About { rate: self.feature_rate, dim: None, key })?))
    }

    /// The precomputed features with their text encoder, else the given encoder, else the library's.
    fn load_encoder(
        &self,
        features: Option<Folder>,
        setup: &Setup,
        sentences: &Sentences,
    ) -> Result<Box<dyn Encoder>, Failure> {
        if let (Some(features), Some(text)) = (features, &self.text_encoder) {
            let store = setup.store();
            let texts = sentences.encoder_models(&store, Decode::Exact).load_texts(text)?;
            return Ok(Box::new(Precomputed::new(Some(features), texts)?));
        }
        // What a worker writes does not depend on the library of its machine.
        let of_library = || self.out.is_none().then(|| setup.library_encoder()).flatten();
        let name = self.encoder.clone().or_else(of_library);
        setup.load_encoder(name.as_deref().unwrap_or(mini::NAME), sentences, self.decode)
    }
}
