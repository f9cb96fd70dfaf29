//! One file being transcribed.

use std::collections::VecDeque;

use stitch_nn::vad::{BLOCK_SAMPLES, VoiceActivity};
use stitch_nn::whisper::CrossCache;
use stitch_nn::whisper::mel::VTLN_WARPS;

use super::decode::{Decoder, Text};
use super::segments::{self, Utterance};
use super::windows::{Window, WindowPacker};
use super::word_times::word_times;
use super::{Listened, Listener, Result, UncertainWord};
use crate::media::AudioReader;
use crate::media::audio::{AudioEnd, SPEECH_RATE};
use crate::progress::Progress;
use crate::transcript::{self, Sentence};

/// Blocks of sound that are read at once: two seconds.
const BLOCKS_PER_READ: usize = 64;
/// Larger batches of windows would not be faster.
const MAX_BATCH_WINDOWS: usize = 8;
/// Of the encoder outputs of a batch.
const MAX_BATCH_BYTES: usize = 150 << 20;
/// As in Whisper's own decoder.
const BEAM_SIZE: usize = 5;
/// Windows by which the VTLN warp of a file is chosen.
const VTLN_WINDOWS: usize = 2;
/// From this mean log probability of a token on, no warp but the first is tried.
const CLEAR_SPEECH_LOG_PROB: f32 = -0.2;
/// By how much another warp must raise the mean log probability of a token.
const MIN_VTLN_GAIN: f32 = 0.02;
/// Speech after the last text of a window, in samples, that is decoded once more.
const MIN_TRAILING_SAMPLES: u64 = SPEECH_RATE as u64 * 12 / 10;

pub struct Transcription<'a> {
    listener: &'a Listener,
    hint: Vec<u32>,
    batch: usize,
    waiting: VecDeque<Window>,
    language: Option<u32>,
    /// The index of the file's warp among `VTLN_WARPS`, once it is chosen.
    vtln_warp: Option<usize>,
    utterances: Vec<Utterance>,
    /// Each with its time, where these are asked for.
    words: Option<Vec<Sentence>>,
    /// In samples.
    speech: u64,
}

impl<'a> Transcription<'a> {
    pub fn new(listener: &'a Listener, hint: &str) -> Self {
        let window_bytes = listener.network.cross_cache_bytes().max(1);
        Self {
            listener,
            hint: listener.vocabulary.hint(hint),
            batch: (MAX_BATCH_BYTES / window_bytes).clamp(1, MAX_BATCH_WINDOWS),
            waiting: VecDeque::new(),
            language: listener.language,
            vtln_warp: None,
            utterances: Vec::new(),
            words: None,
            speech: 0,
        }
    }

    pub fn with_word_times(listener: &'a Listener) -> Self {
        Self { words: Some(Vec::new()), ..Self::new(listener, "") }
    }

    /// All words, in order.
    pub fn words(self) -> Vec<Sentence> {
        let mut words = self.words.unwrap_or_default();
        words.sort_by_key(|word| word.start_ms);
        words
    }

    /// Reads the sound to its end, decoding windows as soon as there are enough for a batch.
    pub fn run(&mut self, mut sound: AudioReader, progress: &dyn Progress) -> Result<AudioEnd> {
        let (mut vad, mut packer) = (VoiceActivity::default(), WindowPacker::default());
        let mut samples = vec![0.0; BLOCKS_PER_READ * BLOCK_SAMPLES];
        let mut reads = 0;
        loop {
            let count = sound.read(&mut samples, progress)?;
            let heard = &samples[..count];
            self.enter(packer.push(heard, &vad.forward(heard)), progress)?;
            if count < samples.len() {
                break;
            }
            reads += 1;
            progress.advance(if reads % 125 == 0 { 8 } else { 2 }); // 256 s in 125 reads
        }
        self.enter(packer.finish(), progress)?;
        while !self.waiting.is_empty() {
            self.decode_batch(progress)?;
        }
        Ok(sound.finish(progress)?)
    }

    fn enter(&mut self, windows: Vec<Window>, progress: &dyn Progress) -> Result<()> {
        self.speech += windows.iter().map(Window::speech_samples).sum::<u64>();
        self.waiting.extend(windows);
        while self.waiting.len() >= self.batch {
            self.decode_batch(progress)?;
        }
        Ok(())
    }

    fn decode_batch(&mut self, progress: &dyn Progress) -> Result<()> {
        let most = if self.vtln_warp.is_none() { VTLN_WINDOWS } else { self.batch };
        let count = self.waiting.len().min(most).min(self.batch);
        let windows: Vec<Window> = self.waiting.drain(..count).collect();
        let texts = match self.vtln_warp {
            Some(warp) => self.texts(&windows, warp, progress)?,
            None => {
                let (warp, texts) = best_warp(|warp| self.texts(&windows, warp, progress))?;
                // Where nothing is said, nothing is known of the speaker.
                let is_empty = texts.iter().all(|text| text.tokens.is_empty());
                self.vtln_warp = (!is_empty).then_some(warp);
                texts
            }
        };
        windows.iter().zip(&texts).for_each(|(window, text)| self.keep(window, text));
        Ok(())
    }

    /// The texts of windows whose spectra are warped.
    fn texts(
        &mut self,
        windows: &[Window],
        warp: usize,
        progress: &dyn Progress,
    ) -> Result<Vec<Text>> {
        let Listener { network, vocabulary, log_mel, .. } = self.listener;
        let mut caches = Vec::with_capacity(windows.len());
        for window in windows {
            progress.check()?;
            caches.push(network.cross_cache(&log_mel.forward(&window.samples, warp)));
        }
        let caches: Vec<&CrossCache> = caches.iter().collect();
        let decoder = Decoder { network, vocabulary, hint: &self.hint, beam_size: BEAM_SIZE };
        if self.language.is_none() {
            self.language = decoder.language(&caches);
        }
        Ok(decoder.texts(&caches, self.language, progress)?)
    }

    /// Keeps what a window says; speech after its last text waits to be decoded once more.
    fn keep(&mut self, window: &Window, text: &Text) {
        if text.is_silence() {
            return;
        }
        let vocabulary = &self.listener.vocabulary;
        let segments = segments::segments(text, vocabulary, window.samples.len());
        if let Some(words) = &mut self.words {
            let warp = self.vtln_warp.unwrap_or(0);
            words.extend(word_times(self.listener, self.language, window, warp, &text.tokens));
        }
        self.utterances.extend(segments::utterances(&segments, window, vocabulary));
        let Some(last) = segments.last() else { return };
        let rest = window.rest(last.range.end);
        if rest.speech_samples() >= MIN_TRAILING_SAMPLES && last.range.end > SPEECH_RATE {
            self.waiting.push_front(rest);
        }
    }

    pub fn finish(mut self, end: AudioEnd) -> Listened {
        self.utterances.sort_by_key(|utterance| utterance.caption.start_ms);
        let uncertain = uncertain_words(&self.utterances);
        let captions = self.utterances.into_iter().map(|utterance| utterance.caption).collect();
        let name = |id: u32| self.listener.vocabulary.language_name(id);
        // A model that tells no languages apart knows English.
        let language = self.language.map_or_else(|| Some("en".into()), name);
        let in_ms = |samples: u64| samples * 1000 / SPEECH_RATE as u64;
        Listened {
            sentences: transcript::from_captions(captions).0,
            uncertain,
            language: language.filter(|_| self.speech > 0),
            length_ms: in_ms(end.samples),
            speech_ms: in_ms(self.speech),
            damage: end.damage,
        }
    }
}

/// The warp (vocal tract length normalisation) under which the texts are likeliest, and the texts;
/// only the first is tried where it gives clear speech.
pub fn best_warp<E>(
    mut texts_of: impl FnMut(usize) -> Result<Vec<Text>, E>,
) -> Result<(usize, Vec<Text>), E> {
    let mut best = (0, texts_of(0)?);
    let is_clear = mean_log_prob(&best.1) >= CLEAR_SPEECH_LOG_PROB;
    for warp in if is_clear { 0..0 } else { 1..VTLN_WARPS.len() } {
        let texts = texts_of(warp)?;
        if mean_log_prob(&texts) > mean_log_prob(&best.1) + MIN_VTLN_GAIN {
            best = (warp, texts);
        }
    }
    Ok(best)
}

fn mean_log_prob(texts: &[Text]) -> f32 {
    let tokens: usize = texts.iter().map(|text| text.tokens.len()).sum();
    let sum: f32 = texts.iter().map(|text| text.mean_log_prob * text.tokens.len() as f32).sum();
    sum / tokens.max(1) as f32
}

/// The words of all utterances, in order, that have alternatives.
pub fn uncertain_words(utterances: &[Utterance]) -> Vec<UncertainWord> {
    let words = utterances.iter().flat_map(|utterance| {
        let words = utterance.caption.lines.iter().flat_map(|line| line.text.split_whitespace());
        words.zip(&utterance.alternatives)
    });
    let uncertain = words.enumerate().filter(|(_, (_, alternatives))| !alternatives.is_empty());
    let uncertain = uncertain.map(|(index, (word, alternatives))| UncertainWord {
        index,
        word: word.to_owned(),
        alternatives: alternatives.clone(),
    });
    uncertain.collect()
}
