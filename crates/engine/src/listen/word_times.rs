//! When each word of a window is said: dynamic time warping of the decoder's attention to the sound, as
//! openai-whisper does it.

use std::ops::Range;

use super::Listener;
use super::windows::Window;
use crate::media::audio::SPEECH_RATE;
use crate::transcript::Sentence;

/// Samples of a position of the encoder's output: 20 ms.
const POSITION_SAMPLES: usize = SPEECH_RATE / 50;
/// Positions of the median filter, as in openai-whisper.
const MEDIAN_WIDTH: usize = 7;

/// The words of a window's text, in the file's times. Each lasts until the next begins.
pub fn word_times(
    listener: &Listener,
    language: Option<u32>,
    window: &Window,
    warp: usize,
    tokens: &[u32],
) -> Vec<Sentence> {
    let Listener { network, vocabulary, log_mel, .. } = listener;
    let said: Vec<u32> = tokens.iter().copied().filter(|token| *token < vocabulary.end).collect();
    let positions = window.samples.len().div_ceil(POSITION_SAMPLES);
    if said.is_empty() || positions == 0 {
        return Vec::new();
    }
    let prompt = vocabulary.untimed_prompt(language);
    let line: Vec<u32> = prompt.iter().chain(&said).copied().chain([vocabulary.end]).collect();
    let line = &line[..line.len().min(network.config.max_target_positions)];
    let cache = network.cross_cache(&log_mel.forward(&window.samples, warp));
    let attention = network.attention(line, &cache);
    let attention = Attention { values: &attention, tokens: line.len(), positions };
    let heads = network.config.decoder_layers * network.config.decoder_attention_heads;
    // Row i attends to where token i + 1 is said: the rows from the last of the prompt on say the text.
    let rows = prompt.len() - 1..line.len() - 1;
    let starts = warp_path(&attention.similarity(heads, rows), positions);
    let words = grouped(&said, |token| vocabulary.begins_word(token));
    let in_ms = |sample: u64| sample * 1000 / SPEECH_RATE as u64;
    let start = |token: usize| {
        let position = starts.get(token).map_or(positions, |position| *position);
        window.in_file(position * POSITION_SAMPLES)
    };
    // A word that seems to begin in silence begins with the speech after it.
    let spoken = |sample: u64| {
        let next = window.speech.iter().find(|speech| speech.end > sample);
        next.map_or(sample, |speech| speech.start.max(sample))
    };
    let word = |range: &Range<usize>| {
        let (start_ms, end_ms) = (in_ms(spoken(start(range.start))), in_ms(start(range.end)));
        let text = vocabulary.text(&said[range.clone()]).trim().to_owned();
        Sentence { start_ms, end_ms: end_ms.max(start_ms), text }
    };
    words.iter().map(word).filter(|word| !word.text.is_empty()).collect()
}

/// The ranges of tokens that make a word each.
fn grouped(tokens: &[u32], begins: impl Fn(u32) -> bool) -> Vec<Range<usize>> {
    let starts = (0..tokens.len()).filter(|at| *at == 0 || begins(tokens[*at]));
    let mut bounds: Vec<usize> = starts.collect();
    bounds.push(tokens.len());
    bounds.windows(2).map(|two| two[0]..two[1]).collect()
}

/// Weights \[tokens, layers · heads, all positions\], of which the first `positions` hold sound.
struct Attention<'a> {
    values: &'a [f32],
    tokens: usize,
    positions: usize,
}

impl Attention<'_> {
    /// \[rows, positions\]: the mean over the heads of the upper layers, each normalised over the tokens and
    /// smoothed over time.
    fn similarity(&self, heads: usize, rows: Range<usize>) -> Vec<f32> {
        let width = self.values.len() / self.tokens / heads;
        let mut sum = vec![0.0; rows.len() * self.positions];
        for head in heads / 2..heads {
            let row = |token: usize| {
                &self.values[(token * heads + head) * width..][..self.positions.min(width)]
            };
            let (means, deviations): (Vec<f32>, Vec<f32>) = (0..self.positions.min(width))
                .map(|at| moments(rows.clone().map(|t| row(t)[at])))
                .unzip();
            for (i, token) in rows.clone().enumerate() {
                let scaled: Vec<f32> = (row(token).iter().zip(&means).zip(&deviations))
                    .map(|((x, mean), deviation)| (x - mean) / deviation.max(1e-9))
                    .collect();
                let out = &mut sum[i * self.positions..];
                median_filtered(&scaled).zip(out).for_each(|(x, out)| *out += x);
            }
        }
        sum
    }
}

/// Mean and standard deviation.
fn moments(values: impl Iterator<Item = f32> + Clone) -> (f32, f32) {
    let count = values.clone().count().max(1) as f32;
    let mean = values.clone().sum::<f32>() / count;
    (mean, (values.map(|x| (x - mean).powi(2)).sum::<f32>() / count).sqrt())
}

/// Each value's median with its neighbours.
fn median_filtered(values: &[f32]) -> impl Iterator<Item = f32> {
    let half = MEDIAN_WIDTH / 2;
    (0..values.len()).map(move |at| {
        let mut near = values[at.saturating_sub(half)..values.len().min(at + half + 1)].to_vec();
        near.sort_by(f32::total_cmp);
        near[near.len() / 2]
    })
}

/// The position where each row begins on the path through \[rows, positions\] with the greatest sum that
/// never goes back.
fn warp_path(similarity: &[f32], positions: usize) -> Vec<usize> {
    let rows = similarity.len() / positions;
    let mut best = similarity.to_vec();
    // from the position before, the row above, or both; of equals the last
    let mut from = vec![[0usize; 2]; similarity.len()];
    for at in 1..similarity.len() {
        let (row, position) = (at / positions, at % positions);
        let before = [[0, 1], [1, 0], [1, 1]].into_iter();
        let inside = before.filter(|[up, left]| row >= *up && position >= *left);
        let score = |[up, left]: [usize; 2]| best[at - up * positions - left];
        if let Some(step) = inside.max_by(|a, b| score(*a).total_cmp(&score(*b))) {
            best[at] += score(step);
            from[at] = step;
        }
    }
    let mut starts = vec![0; rows];
    let mut at = similarity.len().saturating_sub(1);
    while at > 0 {
        starts[at / positions] = at % positions;
        let [up, left] = from[at];
        at -= up * positions + left;
    }
    starts[0] = 0;
    starts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_begin_with_the_tokens_that_say_so() {
        assert_eq!(grouped(&[5, 1, 6, 6, 1], |token| token > 4), [0..2, 2..3, 3..5]);
        assert_eq!(grouped(&[1, 1], |_| false).len(), 1);
    }

    #[test]
    fn single_peaks_are_removed_and_edges_are_kept() {
        let filtered: Vec<f32> =
            median_filtered(&[0.0, 0.0, 9.0, 0.0, 0.0, 5.0, 5.0, 5.0, 5.0, 5.0]).collect();
        assert_eq!(filtered[2], 0.0);
        assert_eq!(filtered[9], 5.0);
    }

    proptest! {
        /// Rows that attend to one stretch each begin where it does.
        #[test]
        fn the_path_follows_the_attention(lengths in prop::collection::vec(2usize..9, 1..8)) {
            let positions: usize = lengths.iter().sum();
            let mut similarity = vec![0.0; lengths.len() * positions];
            let mut starts = Vec::new();
            let mut at = 0;
            for (row, length) in lengths.iter().enumerate() {
                starts.push(at);
                similarity[row * positions + at..row * positions + at + length].fill(1.0);
                at += length;
            }
            prop_assert_eq!(warp_path(&similarity, positions), starts);
        }
    }
}
