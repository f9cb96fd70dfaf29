//! `stitch index`: reads videos into the library.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use stitch_engine::encoder::mini;
use stitch_engine::index::{Indexer, LocaliseOptions, Report};
use stitch_engine::library::Library;
use stitch_engine::media::Decode;
use stitch_engine::progress::Progress;
use stitch_engine::summarise::PromptDomain;
use stitch_engine::summarise::chat::{Chat, ChatOptions};

use crate::failure::Failure;
use crate::setup::Setup;

/// Read videos into the library, once; run it again for new ones
#[derive(Args)]
pub struct IndexArguments {
    /// Video files, or folders to search for them
    #[arg(required = true, value_name = "PATHS")]
    paths: Vec<PathBuf>,
    /// What turns seconds of video into features: mini looks at the pictures, narration goes by what
    /// is said [default: the library's, for a new one mini]
    #[arg(long, env = "STITCH_ENCODER", value_name = "NAME")]
    encoder: Option<String>,
    /// How much of a video is decoded
    #[arg(long, value_enum, default_value_t = DecodeName::Exact)]
    decode: DecodeName,
    /// Who writes down what is said in videos without subtitles: a speech model by name or folder,
    /// `auto` for whisper-base if it is here, or `never`
    #[arg(long, env = "STITCH_SPEECH", value_name = "MODEL", default_value = "auto")]
    speech: String,
    /// The field the videos are from; only a language model's prompt depends on it
    #[arg(long, value_enum, default_value_t = Domain::Any)]
    domain: Domain,
    /// An OpenAI-compatible endpoint that summarises narration, such as http://127.0.0.1:8080/v1
    #[arg(long, env = "STITCH_LLM_URL", value_name = "URL")]
    llm_url: Option<String>,
    /// The language model's name there
    #[arg(long, env = "STITCH_LLM_MODEL", value_name = "NAME", default_value = "default")]
    llm_model: String,
    /// The key, where one is needed
    #[arg(long, env = "STITCH_LLM_KEY", value_name = "KEY", hide_env_values = true)]
    llm_key: Option<String>,
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

#[derive(Clone, Copy, ValueEnum)]
enum Domain {
    Cooking,
    Woodworking,
    Gardening,
    Any,
}

/// Runs the command.
pub fn run(arguments: &IndexArguments, setup: &Setup) -> Result<u8, Failure> {
    setup.progress.begin("loading models", 0);
    let sentences = setup.sentence()?;
    let name = arguments.encoder_for(&setup.library);
    let encoder = setup.encoder(&name, &sentences, arguments.decode.into())?;
    let library = Library::open_or_create(&setup.library, encoder.id())?;
    let chat = arguments.chat(setup);
    let listener = setup.listener_or_none(&arguments.speech)?;
    let indexer = Indexer {
        library: &library,
        encoder: encoder.as_ref(),
        sentence: &sentences.encoder,
        chat: chat.as_ref().map(|chat| (chat, arguments.domain.into())),
        speech: listener.as_ref(),
        localise: LocaliseOptions::default(),
    };
    let report = indexer.run(&arguments.paths, &setup.progress)?;
    setup.progress.finish();
    print(&report, setup);
    let nothing_usable = report.failed.len() == report.found;
    Ok(if nothing_usable { 1 } else { 0 })
}

impl IndexArguments {
    /// The encoder asked for, else the one the library was made with, else the one that sees.
    fn encoder_for(&self, library: &Path) -> String {
        let made_with = || Library::open(library).ok().map(|made| made.encoder().name.clone());
        self.encoder.clone().or_else(made_with).unwrap_or_else(|| mini::NAME.into())
    }

    fn chat(&self, setup: &Setup) -> Option<Chat> {
        let url = self.llm_url.as_ref()?;
        let mut options = ChatOptions::new(url, &self.llm_model);
        options.key = self.llm_key.clone();
        options.cache = Some(setup.cache.join("chat"));
        Some(Chat::new(options))
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

impl From<Domain> for PromptDomain {
    fn from(domain: Domain) -> Self {
        match domain {
            Domain::Cooking => Self::Cooking,
            Domain::Woodworking => Self::Woodworking,
            Domain::Gardening => Self::Gardening,
            Domain::Any => Self::Any,
        }
    }
}

fn print(report: &Report, setup: &Setup) {
    if setup.json {
        println!("{}", serde_json::json!(report));
        return;
    }
    println!(
        "{} videos found: {} indexed now ({} clips), {} known already, {} the same as another, {} \
         failed",
        report.found,
        report.indexed,
        report.clips,
        report.unchanged,
        report.duplicates,
        report.failed.len()
    );
    println!("library: {}", setup.library.display());
}
