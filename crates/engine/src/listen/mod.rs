//! Speech into sentences with times, by Whisper in this process.
//!
//! The sound comes as a stream, a small network tells where somebody speaks, speech is packed into
//! windows of thirty seconds that end in silence, and several windows are written down side by side.

mod cutting;
mod tokens;
mod rules;
mod decode;
mod segments;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use cutting::{Cutter, Window};
use decode::{Decoder, Text};
use segments::Caption;
use stitch_nn::vad::{BLOCK_SAMPLES, VoiceActivity};
use stitch_nn::whisper::mel::{LogMel, VTLN_WARPS};
use stitch_nn::whisper::{CrossCache, Whisper, WhisperConfig};
use tokens::Tokens;

use crate::media::sound::{Ending, HEARD_RATE};
use crate::media::{Hearing, MediaError};
use crate::models::{NnError, weights};
use crate::progress::{Progress, Stopped};
use crate::transcript::{self, Cue, Kind, Transcript};

/// Blocks of sound that are looked at together: two seconds.
const GLANCE: usize = 64;
/// Most windows side by side, and the memory that they may take: more would not be faster.
const SIDE_BY_SIDE: usize = 8;
const MEMORY: usize = 150 << 20;
/// Lines that are written for each window, of which the best is kept.
const LINES: usize = 5;
/// Windows by which it is told what throat a voice is of.
const TRIED: usize = 2;
/// A voice whose words are likelier than this is of the usual kind: the mean logarithm of a token.
const CLEAR: f32 = -0.2;
/// By how much likelier its words must be where it is taken for one of another kind.
const CLEARER: f32 = 0.02;
/// Speech after the last text of a window, in samples, that is listened to once more.
const LEFT_OUT: u64 = HEARD_RATE as u64 * 12 / 10;

/// Why there is no transcript.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The model's folder is not what it should be.
    #[error(transparent)]
    Weights(#[from] NnError),
    /// The model's tokenizer cannot be used.
    #[error("{}: {reason}; fetch the model again", path.display())]
    Tokenizer {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The model does not know the language that was asked for.
    #[error(
        "the speech model {model} does not know the language `{wanted}`; it knows {known}. \
        Leave the language out to have it detected"
    )]
    Language {
        /// What was asked for.
        wanted: String,
        /// Which model.
        model: String,
        /// The languages that it knows.
        known: String,
    },
    /// ffmpeg failed.
    #[error(transparent)]
    Media(#[from] MediaError),
    /// The system gave no threads.
    #[error("no threads to listen with: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
    /// The work was asked to stop.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// A word that was perhaps another.
#[derive(Clone, Debug, PartialEq)]
pub struct Unclear {
    /// Which one, counted over all words of the transcript.
    pub place: usize,
    /// As it was written down.
    pub heard: String,
    /// What else it may have been, and by how much less likely: natural logarithms.
    pub others: Vec<(String, f32)>,
}

/// What a file's sound holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Listened {
    /// What is said; nothing where nobody speaks.
    pub transcript: Option<Transcript>,
    /// The words of it that were perhaps others.
    pub unclear: Vec<Unclear>,
    /// The language that was detected or asked for; nothing where nobody speaks.
    pub language: Option<String>,
    /// How long the sound is, in milliseconds.
    pub length_ms: u64,
    /// For how long somebody speaks, in milliseconds.
    pub speech_ms: u64,
    /// What ffmpeg complained of while it decoded, if it did.
    pub damage: Option<String>,
}

/// A speech model.
pub struct Listener {
    name: String,
    network: Whisper,
    tokens: Tokens,
    spectrum: LogMel,
    /// The language that is spoken, where somebody said so.
    language: Option<u32>,
    /// Threads of its own: a thread of the callers' that waits here must not begin with another
    /// video meanwhile, or every video of a library would be listened to at once.
    threads: rayon::ThreadPool,
    /// Held by whoever listens: one file keeps all cores busy, two would take twice the memory.
    turn: Mutex<()>,
}

impl Listener {
    /// The model that is pulled where none is named.
    pub const MODEL: &str = "whisper-base";

    /// Loads a Whisper of any size from a folder in the hub's layout.
    pub fn load(folder: &Path) -> Result<Self, ListenError> {
        let mut config = WhisperConfig::read(folder)?;
        generation_config(folder, &mut config)?;
        let tokens = Tokens::load(folder, &config)?;
        let name = folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned();
        let spectrum = LogMel::new(config.num_mel_bins);
        let network = Whisper::load(folder, config)?;
        let threads = rayon::ThreadPoolBuilder::new().build()?;
        let (language, turn) = (None, Mutex::new(()));
        Ok(Self { name, network, tokens, spectrum, language, threads, turn })
    }

    /// The model's name, which is its folder's.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Listens for one language (`en`, `de`, `pt-BR`) instead of detecting it in each file.
    pub fn in_language(mut self, wanted: &str) -> Result<Self, ListenError> {
        let lower = wanted.trim().to_lowercase();
        let code = lower.split(['-', '_']).next().unwrap_or_default();
        let found = self.tokens.languages.iter().find(|(_, name)| name == code);
        // A model for English alone has no names of languages.
        let only_english = self.tokens.languages.is_empty() && code == "en";
        if found.is_none() && !only_english {
            let (wanted, model) = (wanted.to_owned(), self.name.clone());
            return Err(ListenError::Language { wanted, model, known: self.tokens.known() });
        }
        self.language = found.map(|(id, _)| *id);
        Ok(self)
    }

    /// Listens to the first sound of a file. Damaged sound is used as far as it can be decoded. The
    /// hint holds words that may be said, such as the title, or nothing.
    pub fn listen(
        &self,
        path: &Path,
        hint: &str,
        progress: &dyn Progress,
    ) -> Result<Listened, ListenError> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let work = || {
            let mut session = Session::new(self, hint);
            let ending = session.run(Hearing::open(path)?, progress)?;
            Ok(session.finish(ending))
        };
        std::thread::scope(|scope| {
            let listening = scope.spawn(|| self.threads.install(work));
            listening.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

/// Newer folders keep the forbidden tokens in a file of their own.
fn generation_config(folder: &Path, config: &mut WhisperConfig) -> Result<(), NnError> {
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

/// One file being listened to.
struct Session<'a> {
    listener: &'a Listener,
    hint: Vec<u32>,
    side_by_side: usize,
    waiting: VecDeque<Window>,
    language: Option<u32>,
    /// Which of the throats the voice is of, once that is known.
    throat: Option<usize>,
    captions: Vec<Caption>,
    speech: u64,
}

impl<'a> Session<'a> {
    fn new(listener: &'a Listener, hint: &str) -> Self {
        let side_by_side =
            (MEMORY / listener.network.cross_cache_bytes().max(1)).clamp(1, SIDE_BY_SIDE);
        Self {
            listener,
            hint: listener.tokens.hint(hint),
            side_by_side,
            waiting: VecDeque::new(),
            language: listener.language,
            throat: None,
            captions: Vec::new(),
            speech: 0,
        }
    }

    /// Takes in the sound to its end, writing windows down as soon as there are enough.
    fn run(&mut self, mut sound: Hearing, progress: &dyn Progress) -> Result<Ending, ListenError> {
        let (mut voice, mut cutter) = (VoiceActivity::new(), Cutter::default());
        let mut samples = vec![0.0; GLANCE * BLOCK_SAMPLES];
        let mut seconds = 0;
        loop {
            progress.check()?;
            let count = sound.read(&mut samples)?;
            let heard = &samples[..count];
            self.enter(cutter.push(heard, &voice.forward(heard)), progress)?;
            if count < samples.len() {
                break;
            }
            seconds += 1;
            progress.advance(if seconds % 125 == 0 { 8 } else { 2 }); // 256 s in 125 glances
        }
        self.enter(cutter.finish(), progress)?;
        while !self.waiting.is_empty() {
            self.write_down(progress)?;
        }
        Ok(sound.finish(progress)?)
    }

    fn enter(&mut self, windows: Vec<Window>, progress: &dyn Progress) -> Result<(), ListenError> {
        for window in &windows {
            self.speech += window.speech.iter().map(|part| part.end - part.start).sum::<u64>();
        }
        self.waiting.extend(windows);
        while self.waiting.len() >= self.side_by_side {
            self.write_down(progress)?;
        }
        Ok(())
    }

    /// Writes down the first windows that wait.
    fn write_down(&mut self, progress: &dyn Progress) -> Result<(), ListenError> {
        let most = if self.throat.is_none() { TRIED } else { self.side_by_side };
        let count = self.waiting.len().min(most).min(self.side_by_side);
        let windows: Vec<Window> = self.waiting.drain(..count).collect();
        let texts = match self.throat {
            Some(throat) => self.texts(&windows, throat, progress)?,
            None => {
                let (throat, texts) = likeliest(|throat| self.texts(&windows, throat, progress))?;
                // Where nothing is said, nothing is known of who says it.
                self.throat = (!texts.iter().all(|text| text.tokens.is_empty())).then_some(throat);
                texts
            }
        };
        windows.iter().zip(&texts).for_each(|(window, text)| self.keep(window, text));
        Ok(())
    }

    /// The texts of windows, heard as one of the throats is.
    fn texts(
        &mut self,
        windows: &[Window],
        throat: usize,
        progress: &dyn Progress,
    ) -> Result<Vec<Text>, ListenError> {
        let Listener { network, tokens, spectrum, .. } = self.listener;
        let mut heard = Vec::with_capacity(windows.len());
        for window in windows {
            progress.check()?;
            heard.push(network.cross_cache(&spectrum.forward(&window.samples, throat)));
        }
        let heard: Vec<&CrossCache> = heard.iter().collect();
        let decoder = Decoder { network, tokens, hint: &self.hint, lines: LINES };
        if self.language.is_none() {
            self.language = decoder.language(&heard).map(|(language, _)| language);
        }
        Ok(decoder.texts(&heard, self.language, progress)?)
    }

    /// Keeps what a window says; speech after its last text waits to be listened to once more.
    fn keep(&mut self, window: &Window, text: &Text) {
        if text.is_silence() {
            return;
        }
        let tokens = &self.listener.tokens;
        let segments = segments::segments(text, tokens, window.samples.len());
        self.captions.extend(segments::captions(&segments, window, tokens));
        let Some(last) = segments.last() else { return };
        let rest = window.rest(last.range.end);
        let left: u64 = rest.speech.iter().map(|part| part.end - part.start).sum();
        if left >= LEFT_OUT && last.range.end > HEARD_RATE {
            self.waiting.push_front(rest);
        }
    }

    fn finish(mut self, ending: Ending) -> Listened {
        self.captions.sort_by_key(|caption| caption.cue.start_ms);
        let unclear = unclear(&self.captions);
        let cues: Vec<Cue> = self.captions.into_iter().map(|caption| caption.cue).collect();
        let languages = self.listener.tokens.languages.iter();
        let mut named = languages.filter(|(id, _)| Some(*id) == self.language);
        let language = named.next_back().map(|(_, name)| name.clone());
        let language = language.or_else(|| self.language.is_none().then(|| "en".into()));
        let spoken = language.clone().filter(|_| self.speech > 0);
        let in_ms = |samples: u64| samples * 1000 / HEARD_RATE as u64;
        Listened {
            // Nothing said is the only thing that can be wrong with cues of our own.
            transcript: transcript::from_cues(cues, Kind::Speech, language).ok(),
            unclear,
            language: spoken,
            length_ms: in_ms(ending.samples),
            speech_ms: in_ms(self.speech),
            damage: ending.complaint,
        }
    }
}

/// The throat by which a voice is understood best, and what it says; only the usual one is tried where
/// that is clear.
fn likeliest<E>(
    mut texts_of: impl FnMut(usize) -> Result<Vec<Text>, E>,
) -> Result<(usize, Vec<Text>), E> {
    let mut best = (0, texts_of(0)?);
    let others = if likelihood(&best.1) < CLEAR { 1..VTLN_WARPS.len() } else { 0..0 };
    for throat in others {
        let texts = texts_of(throat)?;
        if likelihood(&texts) > likelihood(&best.1) + CLEARER {
            best = (throat, texts);
        }
    }
    Ok(best)
}

/// The mean log-likelihood of a token in all texts.
fn likelihood(texts: &[Text]) -> f32 {
    let tokens: usize = texts.iter().map(|text| text.tokens.len()).sum();
    let sum: f32 = texts.iter().map(|text| text.likelihood * text.tokens.len() as f32).sum();
    sum / tokens.max(1) as f32
}

/// The words of captions, in order, that were perhaps others.
fn unclear(captions: &[Caption]) -> Vec<Unclear> {
    let words = captions.iter().flat_map(|caption| {
        let said = caption.cue.lines.iter().flat_map(|line| line.text.split_whitespace());
        said.zip(&caption.others)
    });
    let mut unclear = Vec::new();
    for (place, (heard, others)) in words.enumerate().filter(|(_, (_, o))| !o.is_empty()) {
        unclear.push(Unclear { place, heard: heard.to_owned(), others: others.clone() });
    }
    unclear
}

#[cfg(test)]
mod tests;
