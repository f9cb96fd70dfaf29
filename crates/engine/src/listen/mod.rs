//! Speech into sentences with times, by Whisper in this process.
//!
//! The sound comes as a stream, a small network (VAD) tells where somebody speaks, speech is packed
//! into windows of thirty seconds that end in silence, and several windows are decoded as a batch.

mod windows;
mod vocabulary;
mod sampling;
mod decode;
mod segments;
mod word_times;
mod session;

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use session::Transcription;
use stitch_nn::whisper::mel::LogMel;
use stitch_nn::whisper::{Whisper, WhisperConfig};
use vocabulary::Vocabulary;

use crate::media::{AudioReader, MediaError};
use crate::models::{NnError, weights};
use crate::progress::{Progress, Stopped};
use crate::transcript::Sentence;

type Result<T, E = ListenError> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    #[error(transparent)]
    Weights(#[from] NnError),
    #[error(
        "the speech model {model} does not know the language `{wanted}`; it knows {known}. \
        Leave the language out to have it detected"
    )]
    Language { wanted: String, model: String, known: String },
    #[error(transparent)]
    Media(MediaError),
    #[error("no threads to listen with: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl From<MediaError> for ListenError {
    fn from(error: MediaError) -> Self {
        match error {
            MediaError::Stopped(stopped) => Self::Stopped(stopped),
            other => Self::Media(other),
        }
    }
}

/// A word with alternatives that the decoder found nearly as likely.
#[derive(Clone, Debug, PartialEq)]
pub struct UncertainWord {
    /// Its index among all words of the transcript.
    pub index: usize,
    pub word: String,
    /// Other words, and their log probability less that of `word`.
    pub alternatives: Vec<(String, f32)>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Listened {
    /// Empty where nobody speaks.
    pub sentences: Vec<Sentence>,
    pub uncertain: Vec<UncertainWord>,
    /// The language that was detected or asked for; none where nobody speaks.
    pub language: Option<String>,
    pub length_ms: u64,
    pub speech_ms: u64,
    /// What ffmpeg complained of while it decoded, if it did.
    pub damage: Option<String>,
}

pub struct Listener {
    pub name: String,
    network: Whisper,
    vocabulary: Vocabulary,
    log_mel: LogMel,
    /// The language to expect; none to detect it.
    language: Option<u32>,
    /// Threads of its own: a thread of the callers' that waits here must not begin with another
    /// video meanwhile, or every video of a library would be listened to at once.
    threads: rayon::ThreadPool,
    /// One file keeps all cores busy, two would take twice the memory.
    turn: Mutex<()>,
}

impl Listener {
    /// The model that is used where none is named.
    pub const MODEL: &str = "whisper-base";

    /// Loads a Whisper of any size from a folder in the hub's layout.
    pub fn load(folder: &Path) -> Result<Self> {
        let mut config = WhisperConfig::read(folder)?;
        read_generation_config(folder, &mut config)?;
        let vocabulary = Vocabulary::load(folder, &config)?;
        let name = folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned();
        let log_mel = LogMel::new(config.num_mel_bins);
        let network = Whisper::load(folder, config)?;
        let threads = rayon::ThreadPoolBuilder::new().build()?;
        let (language, turn) = (None, Mutex::new(()));
        Ok(Self { name, network, vocabulary, log_mel, language, threads, turn })
    }

    /// Listens for one language (`en`, `de`, `pt-BR`) instead of detecting it in each file.
    pub fn in_language(mut self, wanted: &str) -> Result<Self> {
        let lower = wanted.trim().to_lowercase();
        let code = lower.split(['-', '_']).next().unwrap_or_default();
        let languages = &self.vocabulary.languages;
        let found = languages.iter().find(|(_, name)| name == code);
        // A model for English alone has no names of languages.
        let only_english = languages.is_empty() && code == "en";
        if found.is_none() && !only_english {
            let (wanted, model) = (wanted.to_owned(), self.name.clone());
            let known = self.vocabulary.language_names();
            return Err(ListenError::Language { wanted, model, known });
        }
        self.language = found.map(|(id, _)| *id);
        Ok(self)
    }

    /// Listens to the first audio stream of a file. Damaged sound is used as far as it can be decoded.
    /// `hint` holds words that may be said, such as the title; it may be empty.
    pub fn listen(&self, path: &Path, hint: &str, progress: &dyn Progress) -> Result<Listened> {
        self.in_turn(|| {
            let mut session = Transcription::new(self, hint);
            let end = session.run(AudioReader::speech(path)?, progress)?;
            Ok(session.finish(end))
        })
    }

    /// The words of a file, each with its time, which takes about twice as long as [`Self::listen`].
    pub fn words(&self, path: &Path, progress: &dyn Progress) -> Result<Vec<Sentence>> {
        self.in_turn(|| {
            let mut session = Transcription::with_word_times(self);
            session.run(AudioReader::speech(path)?, progress)?;
            Ok(session.words())
        })
    }

    /// Runs the work on the listener's own threads, one work at a time.
    fn in_turn<T: Send>(&self, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        std::thread::scope(|scope| {
            let listening = scope.spawn(|| self.threads.install(work));
            listening.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

/// Newer folders keep the suppressed tokens in a file of their own.
fn read_generation_config(folder: &Path, config: &mut WhisperConfig) -> Result<(), NnError> {
    #[derive(serde::Deserialize)]
    struct Generation {
        suppress_tokens: Option<Vec<i64>>,
        begin_suppress_tokens: Option<Vec<i64>>,
    }
    let name = "generation_config.json";
    if config.suppress_tokens.is_none() && folder.join(name).exists() {
        let generation: Generation = weights::read_json(folder, name)?;
        config.suppress_tokens = generation.suppress_tokens;
        config.begin_suppress_tokens = generation.begin_suppress_tokens;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
