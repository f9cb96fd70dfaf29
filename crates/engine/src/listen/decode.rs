//! Beam search over a batch of windows, by the rules of Whisper's own decoder: a window whose text
//! repeats itself or is unlikely is decoded again at higher temperatures.

use rayon::prelude::*;
use stitch_core::random::SplitMix64;
use stitch_nn::whisper::{CrossCache, SelfCache, Whisper};

use super::sampling::{forbid_tokens, log_sum_exp, sample, top_tokens};
use super::vocabulary::Vocabulary;
use crate::progress::{Progress, Stopped};

/// Tried in this order until a text is good enough. This and the thresholds below are Whisper's.
const TEMPERATURES: [f32; 6] = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0];
/// A text that can be compressed more repeats itself.
const MAX_COMPRESSION_RATIO: f32 = 2.4;
/// Of a token in a good text.
const MIN_MEAN_LOG_PROB: f32 = -1.0;
/// From this probability on nobody speaks, unless the text is likely all the same.
const NO_SPEECH_PROB: f32 = 0.6;

/// Tokens nearly as likely as the chosen one, and their log probability less that of the chosen one.
pub type Alternatives = Vec<(u32, f32)>;

#[derive(Clone, Debug, Default)]
pub struct Text {
    /// Text and times, without prompt and end.
    pub tokens: Vec<u32>,
    /// Of each token; none where it was sampled.
    pub alternatives: Vec<Alternatives>,
    pub mean_log_prob: f32,
    pub no_speech_prob: f32,
    pub compression_ratio: f32,
}

impl Text {
    pub fn is_silence(&self) -> bool {
        self.no_speech_prob > NO_SPEECH_PROB && self.mean_log_prob < MIN_MEAN_LOG_PROB
    }

    fn repeats(&self) -> bool {
        self.compression_ratio > MAX_COMPRESSION_RATIO
    }

    fn is_good(&self) -> bool {
        self.is_silence() || !self.repeats() && self.mean_log_prob >= MIN_MEAN_LOG_PROB
    }

    /// Not repeating itself first, then the likelier.
    fn is_better_than(&self, other: &Self) -> bool {
        (!self.repeats(), self.mean_log_prob) > (!other.repeats(), other.mean_log_prob)
    }
}

/// A model at work on one file.
pub struct Decoder<'a> {
    pub network: &'a Whisper,
    pub vocabulary: &'a Vocabulary,
    /// Tokens of words that the speaker may use.
    pub hint: &'a [u32],
    pub beam_size: usize,
}

impl Decoder<'_> {
    /// The language that is likeliest over all windows.
    pub fn language(&self, windows: &[&CrossCache]) -> Option<u32> {
        let mut beams = self.beams(windows, 1, 0.0);
        let first = self.decode(&mut beams, Some(self.vocabulary.start));
        let languages = &self.vocabulary.languages;
        let mut sums = vec![0.0f32; languages.len()];
        for logits in first.chunks_exact(self.vocabulary.count) {
            let own: Vec<f32> = languages.iter().map(|(id, _)| logits[*id as usize]).collect();
            let total = log_sum_exp(&own);
            sums.iter_mut().zip(&own).for_each(|(sum, x)| *sum += (x - total).exp());
        }
        let best = sums.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1))?;
        Some(languages[best.0].0)
    }

    /// The best text for each window.
    pub fn texts(
        &self,
        windows: &[&CrossCache],
        language: Option<u32>,
        progress: &dyn Progress,
    ) -> Result<Vec<Text>, Stopped> {
        let mut best: Vec<Option<Text>> = vec![None; windows.len()];
        for temperature in TEMPERATURES {
            let is_open = |i: &usize| best[*i].as_ref().is_none_or(|text| !text.is_good());
            let open: Vec<usize> = (0..windows.len()).filter(is_open).collect();
            if open.is_empty() {
                break;
            }
            let windows: Vec<&CrossCache> = open.iter().map(|i| windows[*i]).collect();
            let texts = self.texts_at(&windows, language, temperature, progress)?;
            for (i, text) in open.into_iter().zip(texts) {
                if best[i].as_ref().is_none_or(|best| text.is_better_than(best)) {
                    best[i] = Some(text);
                }
            }
        }
        Ok(best.into_iter().map(Option::unwrap_or_default).collect())
    }

    fn texts_at(
        &self,
        windows: &[&CrossCache],
        language: Option<u32>,
        temperature: f32,
        progress: &dyn Progress,
    ) -> Result<Vec<Text>, Stopped> {
        let size = if temperature > 0.0 { 1 } else { self.beam_size };
        let mut beams = self.beams(windows, size, temperature);
        let mut logits = Vec::new();
        for token in self.vocabulary.prompt(self.hint, language) {
            logits = self.decode(&mut beams, Some(token));
            if token == self.vocabulary.start {
                self.note_no_speech(&mut beams, &logits);
            }
        }
        let mut done: Vec<Beam> = Vec::new();
        for _ in 0..self.network.config.max_target_positions / 2 {
            progress.check()?;
            self.extend(&mut beams, logits);
            let has_ended = |beam: &Beam| beam.has_ended(self.vocabulary);
            let (ended, open): (Vec<Beam>, Vec<Beam>) = beams.into_iter().partition(has_ended);
            done.extend(ended);
            beams = open;
            if beams.is_empty() {
                break;
            }
            logits = self.decode(&mut beams, None);
        }
        done.extend(beams);
        done.sort_by_key(|beam| beam.window);
        Ok(done.into_iter().map(|beam| self.text(beam)).collect())
    }

    fn beams<'h>(
        &self,
        windows: &[&'h CrossCache],
        size: usize,
        temperature: f32,
    ) -> Vec<Beam<'h>> {
        let beam = |(window, cross): (usize, &&'h CrossCache)| Beam {
            window,
            cross,
            open: vec![Hypothesis { cache: self.network.self_cache(), ..Hypothesis::default() }],
            ended: Vec::new(),
            size,
            no_speech_prob: 0.0,
            temperature,
            random: SplitMix64::new((window as u64) << 8 | (temperature * 10.0) as u64),
        };
        windows.iter().enumerate().map(beam).collect()
    }

    /// Feeds every hypothesis this token, or its own last; the logits of what follows.
    fn decode(&self, beams: &mut [Beam], token: Option<u32>) -> Vec<f32> {
        let cross: Vec<_> = beams.iter().map(|beam| (beam.cross, beam.open.len())).collect();
        let mut next = Vec::new();
        let mut caches = Vec::new();
        for hypothesis in beams.iter_mut().flat_map(|beam| &mut beam.open) {
            let last = hypothesis.tokens.last().copied();
            next.push(token.or(last).unwrap_or(self.vocabulary.start));
            caches.push(&mut hypothesis.cache);
        }
        let x = self.network.decode(&next, &mut caches, &cross);
        self.network.logits(&x)
    }

    fn note_no_speech(&self, beams: &mut [Beam], logits: &[f32]) {
        let Some(no_speech) = self.vocabulary.no_speech else { return };
        for (beam, logits) in beams.iter_mut().zip(logits.chunks_exact(self.vocabulary.count)) {
            beam.no_speech_prob = (logits[no_speech as usize] - log_sum_exp(logits)).exp();
        }
    }

    /// Chooses what follows in every window.
    fn extend(&self, beams: &mut [Beam], mut logits: Vec<f32>) {
        let mut rest = logits.as_mut_slice();
        let mut work = Vec::new();
        for beam in beams {
            let (own, others) = rest.split_at_mut(beam.open.len() * self.vocabulary.count);
            work.push((beam, own));
            rest = others;
        }
        work.into_par_iter().for_each(|(beam, logits)| beam.extend(logits, self.vocabulary));
    }

    fn text(&self, mut beam: Beam) -> Text {
        beam.ended.append(&mut beam.open);
        let mean = |of: &Hypothesis| of.log_prob / (of.tokens.len() + 1) as f32;
        let best = beam.ended.into_iter().max_by(|a, b| mean(a).total_cmp(&mean(b)));
        let Some(best) = best else { return Text::default() };
        let ratio = compression_ratio(&self.vocabulary.text(&best.tokens));
        // Cut off in a loop, it repeats itself whatever its length.
        let least =
            if loops(&best.tokens, self.vocabulary) { 2.0 * MAX_COMPRESSION_RATIO } else { 0.0 };
        Text {
            mean_log_prob: mean(&best),
            no_speech_prob: beam.no_speech_prob,
            compression_ratio: ratio.max(least),
            tokens: best.tokens,
            alternatives: best.alternatives,
        }
    }
}

/// A text in the making.
#[derive(Clone, Default)]
struct Hypothesis {
    cache: SelfCache,
    tokens: Vec<u32>,
    alternatives: Vec<Alternatives>,
    log_prob: f32,
}

/// The hypotheses of one window.
struct Beam<'a> {
    window: usize,
    cross: &'a CrossCache,
    open: Vec<Hypothesis>,
    ended: Vec<Hypothesis>,
    size: usize,
    no_speech_prob: f32,
    temperature: f32,
    random: SplitMix64,
}

/// A hypothesis with one more token.
struct Extension {
    parent: usize,
    token: u32,
    log_prob: f32,
    alternatives: Alternatives,
}

impl Beam<'_> {
    /// Whether enough hypotheses have ended, or the best repeats itself.
    fn has_ended(&self, vocabulary: &Vocabulary) -> bool {
        self.ended.len() >= self.size
            || self.open.first().is_none_or(|best| loops(&best.tokens, vocabulary))
    }

    /// Goes on with the likeliest hypotheses; those that end are put aside.
    fn extend(&mut self, logits: &mut [f32], vocabulary: &Vocabulary) {
        let mut next: Vec<Extension> = Vec::new();
        let rows = logits.chunks_exact_mut(vocabulary.count);
        for (parent, (hypothesis, logits)) in self.open.iter().zip(rows).enumerate() {
            forbid_tokens(logits, &hypothesis.tokens, vocabulary);
            let own: Vec<(u32, f32)> = match self.temperature > 0.0 {
                true => sample(logits, self.temperature, &mut self.random).into_iter().collect(),
                false => top_tokens(logits, self.size + 1),
            };
            next.extend(own.iter().map(|&(token, log_prob)| Extension {
                parent,
                token,
                log_prob: hypothesis.log_prob + log_prob,
                alternatives: alternatives((token, log_prob), &own),
            }));
        }
        next.sort_by(|a, b| b.log_prob.total_cmp(&a.log_prob));
        let mut open = Vec::new();
        for extension in next {
            if open.len() == self.size {
                break;
            } else if extension.token == vocabulary.end {
                let Hypothesis { tokens, alternatives, .. } = &self.open[extension.parent];
                let (tokens, alternatives) = (tokens.clone(), alternatives.clone());
                let (cache, log_prob) = (SelfCache::default(), extension.log_prob);
                self.ended.push(Hypothesis { cache, tokens, alternatives, log_prob });
            } else {
                open.push(extension);
            }
        }
        self.open = extended(std::mem::take(&mut self.open), open);
    }
}

/// The hypotheses that go on, each from its parent; a cache is copied only for a second child.
fn extended(parents: Vec<Hypothesis>, extensions: Vec<Extension>) -> Vec<Hypothesis> {
    let mut parents: Vec<Option<Hypothesis>> = parents.into_iter().map(Some).collect();
    let mut children = Vec::with_capacity(extensions.len());
    let mut extensions = extensions.into_iter();
    while let Some(Extension { parent, token, log_prob, alternatives }) = extensions.next() {
        let again = extensions.as_slice().iter().any(|other| other.parent == parent);
        let child = if again { parents[parent].clone() } else { parents[parent].take() };
        if let Some(mut child) = child {
            child.tokens.push(token);
            child.alternatives.push(alternatives);
            child.log_prob = log_prob;
            children.push(child);
        }
    }
    children
}

/// The choices that a token was preferred to.
fn alternatives((chosen, own): (u32, f32), choices: &[(u32, f32)]) -> Alternatives {
    let others = choices.iter().filter(|(token, _)| *token != chosen);
    others.map(|(token, log_prob)| (*token, log_prob - own)).collect()
}

/// Whether the text has begun to repeat the same few tokens.
fn loops(tokens: &[u32], vocabulary: &Vocabulary) -> bool {
    let said: Vec<u32> =
        tokens.iter().rev().filter(|t| **t < vocabulary.end).take(96).copied().collect();
    (1..=16).any(|period| {
        let length = (5 * period).max(16);
        said.len() >= length && (period..length).all(|i| said[i] == said[i - period])
    })
}

/// How many times shorter a text is when repetitions become references of three bytes, as in LZ77.
fn compression_ratio(text: &str) -> f32 {
    const MIN_MATCH_BYTES: usize = 4;
    let bytes = text.as_bytes();
    let (mut at, mut cost) = (0, 0);
    while at < bytes.len() {
        let longest = (0..at).map(|from| common(bytes, from, at)).max().unwrap_or(0);
        let (step, price) = if longest >= MIN_MATCH_BYTES { (longest, 3) } else { (1, 1) };
        at += step;
        cost += price;
    }
    // zlib's overhead, which keeps short texts from looking repeated.
    bytes.len() as f32 / (cost + 8) as f32
}

fn common(bytes: &[u8], a: usize, b: usize) -> usize {
    bytes[a..].iter().zip(&bytes[b..]).take_while(|(x, y)| x == y).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_text_is_told_from_plain_text() {
        let plain = "So go on and roughly chop the tomato with a sharp knife. Go ahead and take the \
                     onion and chop it finely, then put both in the bowl.";
        assert!(compression_ratio(plain) < 1.6, "{}", compression_ratio(plain));
        let again = "Thank you for watching. ".repeat(8);
        assert!(compression_ratio(&again) > MAX_COMPRESSION_RATIO, "{}", compression_ratio(&again));
        assert_eq!(compression_ratio(""), 0.0);
    }

    #[test]
    fn likely_text_in_doubtful_silence_is_kept() {
        let text = Text { no_speech_prob: 0.9, mean_log_prob: -0.2, ..Text::default() };
        assert!(!text.is_silence() && text.is_good());
        let text = Text { no_speech_prob: 0.9, mean_log_prob: -1.4, ..Text::default() };
        assert!(text.is_silence() && text.is_good());
        let text = Text { compression_ratio: 3.0, mean_log_prob: -0.1, ..Text::default() };
        assert!(!text.is_good());
    }
}
