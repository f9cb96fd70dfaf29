//! Sound packed into windows that the model takes at once: speech is kept, longer silences are left
//! out, and a window ends in silence wherever there is one within its time.

use std::ops::Range;

use stitch_nn::vad::BLOCK_SAMPLES as BLOCK;
use stitch_nn::whisper::mel::WINDOW_SAMPLES as WINDOW;

/// Speech begins at this VAD probability. The values of this file were chosen by hand.
const SPEECH_START_PROB: f32 = 0.45;
/// Speech ends below this VAD probability.
const SPEECH_END_PROB: f32 = 0.3;
/// Half a second; less silence does not end speech.
const MIN_SILENCE_BLOCKS: usize = 16;
/// Kept around speech, so that no soft beginning or end is lost.
const PADDING_BLOCKS: usize = 8;
/// Less is no speech but a noise.
const MIN_SPEECH_BLOCKS: usize = 5;
/// 27 seconds; longer speech is cut.
const MAX_SPEECH_BLOCKS: usize = 27 * 16_000 / BLOCK;

/// A part of a window and where it lies in the file, in samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowPart {
    pub in_window: usize,
    pub in_file: u64,
    pub length: usize,
}

/// Up to thirty seconds of sound with speech in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Window {
    pub samples: Vec<f32>,
    pub parts: Vec<WindowPart>,
    /// Where somebody speaks, in samples of the file, in order.
    pub speech: Vec<Range<u64>>,
}

impl Window {
    pub fn in_file(&self, place: usize) -> u64 {
        let held = self.parts.iter().rev().find(|part| part.in_window <= place);
        let Some(part) = held.or(self.parts.first()) else { return 0 };
        part.in_file + place.saturating_sub(part.in_window).min(part.length) as u64
    }

    pub fn speech_samples(&self) -> u64 {
        self.speech.iter().map(|span| span.end - span.start).sum()
    }

    /// What is left of the window from a place on.
    pub fn rest(&self, place: usize) -> Self {
        let mut rest = Self::default();
        for WindowPart { in_window, in_file, length } in &self.parts {
            let skipped = place.saturating_sub(*in_window).min(*length);
            if skipped < *length {
                let range = in_window + skipped..in_window + length;
                rest.append(&self.samples[range], in_file + skipped as u64);
            }
        }
        let start = self.in_file(place);
        let left = self.speech.iter().filter(|speech| speech.end > start);
        rest.speech = left.map(|speech| speech.start.max(start)..speech.end).collect();
        rest
    }

    fn append(&mut self, samples: &[f32], in_file: u64) {
        let (in_window, length) = (self.samples.len(), samples.len());
        self.parts.push(WindowPart { in_window, in_file, length });
        self.samples.extend_from_slice(samples);
    }
}

/// Packs sound that comes bit by bit; holds no more than a window and a span of speech.
#[derive(Default)]
pub struct WindowPacker {
    detector: SpeechDetector,
    /// Sound that may still be needed, from the block `tail_at` on.
    tail: Vec<f32>,
    tail_at: usize,
    /// The block up to which sound has been put into windows.
    taken: usize,
    window: Window,
}

impl WindowPacker {
    /// Takes the next whole blocks with their VAD probabilities; returns the windows that are full.
    pub fn push(&mut self, samples: &[f32], probabilities: &[f32]) -> Vec<Window> {
        self.tail.extend_from_slice(samples);
        let mut full = Vec::new();
        for probability in probabilities {
            if let Some(span) = self.detector.push(*probability) {
                full.extend(self.take(span));
            }
        }
        self.forget();
        full
    }

    pub fn finish(mut self) -> Vec<Window> {
        let last = self.detector.finish();
        let mut full: Vec<Window> = last.and_then(|span| self.take(span)).into_iter().collect();
        if !self.window.samples.is_empty() {
            full.push(self.window);
        }
        full
    }

    /// Puts a span of speech into the window; returns the window before it, if that is full.
    fn take(&mut self, span: SpeechSpan) -> Option<Window> {
        let from =
            span.blocks.start.saturating_sub(PADDING_BLOCKS).max(self.taken).max(self.tail_at);
        let to = if span.is_cut { span.blocks.end } else { span.blocks.end + PADDING_BLOCKS };
        let inside = |block: usize| ((block - self.tail_at) * BLOCK).min(self.tail.len());
        let range = inside(from)..inside(to.max(from));
        let before = match self.window.samples.len() + range.len() > WINDOW {
            true => Some(std::mem::take(&mut self.window)),
            false => None,
        };
        self.window.append(&self.tail[range], (from * BLOCK) as u64);
        let speech = (span.blocks.start * BLOCK) as u64..(span.blocks.end * BLOCK) as u64;
        self.window.speech.push(speech);
        self.taken = to;
        before
    }

    fn forget(&mut self) {
        let needed = self.detector.earliest().saturating_sub(PADDING_BLOCKS).max(self.tail_at);
        let count = ((needed - self.tail_at) * BLOCK).min(self.tail.len());
        self.tail.drain(..count);
        self.tail_at += count / BLOCK;
    }
}

/// A span of speech, in blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SpeechSpan {
    blocks: Range<usize>,
    /// Whether speech goes on after it.
    is_cut: bool,
}

/// Finds spans of speech in VAD probabilities that come one by one.
#[derive(Default)]
struct SpeechDetector {
    now: usize,
    open: Option<OpenSpan>,
    /// Since when nobody speaks in the open span.
    silent: Option<usize>,
}

/// A span of speech that has not ended.
struct OpenSpan {
    start: usize,
    /// Of its blocks.
    probabilities: Vec<f32>,
    /// Whether it goes on from a cut: then it is speech however short it is.
    goes_on: bool,
}

impl OpenSpan {
    /// The span up to a block, unless it is only a noise.
    fn ended(self, end: usize) -> Option<SpeechSpan> {
        let shortest = if self.goes_on { 1 } else { MIN_SPEECH_BLOCKS };
        let blocks = self.start..end;
        (blocks.len() >= shortest).then_some(SpeechSpan { blocks, is_cut: false })
    }
}

impl SpeechDetector {
    fn push(&mut self, probability: f32) -> Option<SpeechSpan> {
        let block = self.now;
        self.now += 1;
        let Some(open) = &mut self.open else {
            if probability >= SPEECH_START_PROB {
                let probabilities = vec![probability];
                self.open = Some(OpenSpan { start: block, probabilities, goes_on: false });
            }
            return None;
        };
        open.probabilities.push(probability);
        self.silent = match self.silent {
            _ if probability >= SPEECH_START_PROB => None,
            None if probability < SPEECH_END_PROB => Some(block),
            silent => silent,
        };
        match self.silent {
            Some(silent) if self.now - silent >= MIN_SILENCE_BLOCKS => {
                self.silent = None;
                self.open.take()?.ended(silent)
            }
            _ if open.probabilities.len() >= MAX_SPEECH_BLOCKS => self.cut(),
            _ => None,
        }
    }

    /// Cuts the open span where speech is least likely, in its second half.
    fn cut(&mut self) -> Option<SpeechSpan> {
        let OpenSpan { start, probabilities, .. } = self.open.take()?;
        let around = |i: &usize| {
            let near = &probabilities[i.saturating_sub(2)..(i + 3).min(probabilities.len())];
            near.iter().sum::<f32>() / near.len() as f32
        };
        let half = probabilities.len() / 2;
        let place = (half..probabilities.len()).min_by(|a, b| around(a).total_cmp(&around(b)))?;
        let end = start + place;
        let probabilities = probabilities[place..].to_vec();
        self.open = Some(OpenSpan { start: end, probabilities, goes_on: true });
        self.silent = self.silent.map(|silent| silent.max(end));
        Some(SpeechSpan { blocks: start..end, is_cut: true })
    }

    fn finish(&mut self) -> Option<SpeechSpan> {
        self.open.take()?.ended(self.silent.unwrap_or(self.now))
    }

    /// The first block of the open span, or the next block.
    fn earliest(&self) -> usize {
        self.open.as_ref().map_or(self.now, |open| open.start)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The windows of sound whose every sample is its own number, given in pieces of blocks.
    fn cut(shares: &[f32], piece: usize) -> Vec<Window> {
        let samples: Vec<f32> = (0..shares.len() * BLOCK).map(|i| i as f32).collect();
        let mut cutter = WindowPacker::default();
        let mut windows = Vec::new();
        for (samples, shares) in samples.chunks(piece * BLOCK).zip(shares.chunks(piece)) {
            windows.extend(cutter.push(samples, shares));
        }
        windows.extend(cutter.finish());
        windows
    }

    fn run(parts: &[(f32, usize)]) -> Vec<f32> {
        parts.iter().flat_map(|(share, count)| vec![*share; *count]).collect()
    }

    #[test]
    fn silence_gives_no_window_and_noise_none_either() {
        assert!(cut(&run(&[(0.1, 3000)]), 64).is_empty());
        assert!(cut(&run(&[(0.0, 50), (0.9, 3), (0.0, 50)]), 64).is_empty());
    }

    #[test]
    fn long_silences_are_left_out_and_times_lead_back() {
        let windows = cut(&run(&[(0.0, 100), (0.9, 100), (0.0, 500), (0.9, 50), (0.0, 30)]), 64);
        assert_eq!(windows.len(), 1);
        let window = &windows[0];
        assert_eq!(window.samples.len(), (116 + 66) * BLOCK);
        assert_eq!(window.in_file(0), 92 * BLOCK as u64);
        let second = 116 * BLOCK;
        assert_eq!(window.in_file(second), 692 * BLOCK as u64);
        assert_eq!(window.in_file(second - 1), 208 * BLOCK as u64 - 1);
        let block = |from: u64, to: u64| from * BLOCK as u64..to * BLOCK as u64;
        assert_eq!(window.speech, [block(100, 200), block(700, 750)]);
        let rest = window.rest(second + 10);
        assert_eq!((rest.parts.len(), rest.in_file(0)), (1, 692 * BLOCK as u64 + 10));
        assert_eq!(rest.speech, [block(700, 750)]);
    }

    #[test]
    fn speech_without_end_is_cut_at_its_weakest() {
        let windows = cut(&run(&[(0.9, 700), (0.35, 5), (0.9, 900)]), 64);
        assert_eq!(windows[0].samples.len() / BLOCK, 702);
        let lengths: usize = windows.iter().map(|window| window.samples.len()).sum();
        assert_eq!(lengths / BLOCK, 1605);
    }

    #[test]
    fn speech_that_ends_soon_after_a_cut_is_kept() {
        let windows = cut(&run(&[(0.9, MAX_SPEECH_BLOCKS - 3), (0.5, 3), (0.0, 40)]), 64);
        let lengths: usize = windows.iter().map(|window| window.samples.len()).sum();
        assert_eq!(lengths / BLOCK, MAX_SPEECH_BLOCKS + PADDING_BLOCKS);
    }

    proptest! {
        #[test]
        fn every_spoken_block_is_in_one_window_once(
            parts in proptest::collection::vec((0.0f32..1.0, 1usize..400), 0..30),
            piece in 1usize..100,
        ) {
            let shares = run(&parts);
            let windows = cut(&shares, piece);
            let mut last = -1.0;
            for window in &windows {
                prop_assert!(window.samples.len() <= WINDOW);
                for (place, sample) in window.samples.iter().enumerate() {
                    prop_assert!(*sample > last);
                    last = *sample;
                    if place % 4001 == 0 {
                        prop_assert_eq!(window.in_file(place), *sample as u64);
                    }
                }
            }
            let taken: std::collections::HashSet<u64> = windows.iter().flat_map(|w| &w.parts)
                .flat_map(|p| p.in_file / BLOCK as u64..(p.in_file + p.length as u64) / BLOCK as u64).collect();
            let mut loud = 0;
            for (block, share) in shares.iter().enumerate() {
                loud = if *share >= SPEECH_START_PROB { loud + 1 } else { 0 };
                // Runs that are long enough to be speech are all there.
                if loud >= MIN_SPEECH_BLOCKS {
                    prop_assert!(taken.contains(&(block as u64)), "{}", block);
                }
            }
        }
    }
}
