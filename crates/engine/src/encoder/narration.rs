//! The `narration` encoder: a second's feature is the embedding of what is said around it; no frames
//! are decoded.

use std::sync::Arc;

use stitch_core::features::Features;

use super::{Encoder, EncoderId, Result, Seconds, VideoInput};
use crate::progress::Progress;
use crate::sentence::SentenceEncoder;
use crate::transcript::Sentence;

/// Words count up to so far from a second's middle. People show a thing within a moment of naming it; a
/// wider window would blur one step into the next. Chosen by hand.
const WINDOW_MS: f64 = 2000.0;

/// F_M by the sentence model, for texts and seconds.
pub struct Narration {
    id: EncoderId,
    sentences: Arc<SentenceEncoder>,
}

impl Narration {
    pub const NAME: &str = "narration";

    /// On top of a sentence model whose weights have this SHA-256.
    pub fn new(sentences: Arc<SentenceEncoder>, weights: String) -> Self {
        let id = EncoderId { name: Self::NAME.into(), dim: sentences.dim(), weights };
        Self { id, sentences }
    }
}

impl Encoder for Narration {
    fn id(&self) -> &EncoderId {
        &self.id
    }

    fn encode_text(&self, texts: &[&str]) -> Result<Features> {
        Ok(self.sentences.encode(texts)?)
    }

    fn project_sentences(&self, sentences: &Features) -> Result<Option<Features>> {
        Ok(Some(sentences.clone()))
    }

    fn encode_seconds(&self, video: &VideoInput, progress: &dyn Progress) -> Result<Seconds> {
        let seconds = video.seconds()?;
        let heard = |sentence: &&Sentence| {
            sentence.start_ms < video.length_ms && !sentence.text.trim().is_empty()
        };
        let heard: Vec<&Sentence> = video.sentences.iter().filter(heard).collect();
        let texts: Vec<&str> = heard.iter().map(|sentence| sentence.text.as_str()).collect();
        progress.begin("encoding the narration", texts.len() as u64);
        let rows = self.sentences.encode_with(&texts, progress)?;
        let features = Features::new(self.id.dim, spread(&heard, &rows, seconds))?;
        Ok(Seconds::without_frames(features))
    }
}

/// Adds every sentence to the seconds around it, weighted by overlap with a triangular window.
fn spread(sentences: &[&Sentence], rows: &Features, seconds: usize) -> Vec<f32> {
    let dim = rows.dim();
    let mut sums = vec![0.0; seconds * dim];
    for (sentence, row) in sentences.iter().zip(rows.rows()) {
        let (start, end) = (sentence.start_ms as f64, sentence.end_ms as f64);
        let end = end.max(start + 1.0);
        let first = ((start - WINDOW_MS) / 1000.0).floor().max(0.0) as usize;
        let last = ((end + WINDOW_MS) / 1000.0).ceil() as usize;
        for second in first..last.min(seconds) {
            let weight = window_overlap(start, end, second as f64 * 1000.0 + 500.0);
            let sums = &mut sums[second * dim..(second + 1) * dim];
            sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += weight * x);
        }
    }
    sums
}

/// The part of a triangular window of height 1 around `middle` that lies from `start` to `end`; its
/// area in seconds.
fn window_overlap(start: f64, end: f64, middle: f64) -> f32 {
    let left_of = |at: f64| {
        let x = ((at - middle) / WINDOW_MS).clamp(-1.0, 1.0);
        WINDOW_MS * (x - x * x.abs() / 2.0)
    };
    ((left_of(end) - left_of(start)) / 1000.0) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(start_ms: u64, end_ms: u64) -> Sentence {
        Sentence { start_ms, end_ms, text: "x".into() }
    }

    fn rows() -> Features {
        Features::new(2, vec![1.0, 0.0, 0.0, 1.0]).unwrap()
    }

    #[test]
    fn a_second_is_what_is_said_around_it() {
        let (first, second) = (said(0, 4000), said(10_000, 14_000));
        let seconds = Features::new(2, spread(&[&first, &second], &rows(), 20)).unwrap();
        assert_eq!(seconds.len(), 20);
        assert_eq!(seconds.row(2), [1.0, 0.0]);
        assert_eq!(seconds.row(12), [0.0, 1.0]);
        assert_eq!(seconds.row(8), [0.0, 1.0], "the nearer one, before it begins");
        assert_eq!(seconds.row(19), [0.0, 0.0], "silence far from any speech");
    }

    #[test]
    fn the_nearer_sentence_weighs_more() {
        let (first, second) = (said(0, 5000), said(5000, 10_000));
        let seconds = Features::new(2, spread(&[&first, &second], &rows(), 10)).unwrap();
        assert!(seconds.row(4)[0] > seconds.row(4)[1]);
        assert!(seconds.row(5)[0] < seconds.row(5)[1]);
    }

    #[test]
    fn odd_times_do_no_harm() {
        let (backwards, beyond) = (said(5000, 1000), said(9_000, u64::MAX));
        let seconds = Features::new(2, spread(&[&backwards, &beyond], &rows(), 12)).unwrap();
        assert_eq!(seconds.row(5), [1.0, 0.0]);
        assert_eq!(seconds.row(11), [0.0, 1.0]);
    }

    #[test]
    fn nearness_is_an_area() {
        assert!((window_overlap(-9e9, 9e9, 0.0) - 2.0).abs() < 1e-6);
        assert!((window_overlap(0.0, 9e9, 0.0) - 1.0).abs() < 1e-6);
        assert_eq!(window_overlap(3000.0, 4000.0, 0.0), 0.0);
    }
}
