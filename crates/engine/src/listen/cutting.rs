//! Sound cut into windows that the recogniser takes at once: speech is kept, longer silences are
//! left out, and a cut falls into silence wherever there is one within the time.

use std::ops::Range;

use stitch_nn::vad::BLOCK_SAMPLES as BLOCK;
use stitch_nn::whisper::mel::WINDOW_SAMPLES as WINDOW;

/// From this share of speech on somebody speaks.
const SPEAKS: f32 = 0.45;
/// Below this share a speaker has stopped.
const STOPS: f32 = 0.3;
/// Blocks of silence that end a stretch of speech: half a second.
const SILENCE: usize = 16;
/// Blocks of sound kept around speech, so that no soft beginning or end is lost.
const AROUND: usize = 8;
/// Fewer blocks are no speech but a noise.
const SHORTEST: usize = 5;
/// Speech without silence is cut after so many blocks: 27 seconds.
const LONGEST: usize = 27 * 16_000 / BLOCK;

/// A stretch of a window and where it lies in the file, in samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Its place in the window.
    pub from: usize,
    /// Its place in the file.
    pub at: u64,
    /// How long it is.
    pub length: usize,
}

/// Up to thirty seconds of sound with speech in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Window {
    /// The sound.
    pub samples: Vec<f32>,
    /// Where it is from, in order.
    pub pieces: Vec<Piece>,
    /// Where somebody speaks, in samples of the file, in order.
    pub speech: Vec<Range<u64>>,
}

impl Window {
    /// Where a place of the window lies in the file.
    pub fn in_file(&self, place: usize) -> u64 {
        let held = self.pieces.iter().rev().find(|piece| piece.from <= place);
        let Some(piece) = held.or(self.pieces.first()) else { return 0 };
        piece.at + place.saturating_sub(piece.from).min(piece.length) as u64
    }

    /// What is left of the window from a place on.
    pub fn rest(&self, place: usize) -> Self {
        let mut rest = Self::default();
        for piece in &self.pieces {
            let skipped = place.saturating_sub(piece.from).min(piece.length);
            if skipped < piece.length {
                let range = piece.from + skipped..piece.from + piece.length;
                rest.append(&self.samples[range], piece.at + skipped as u64);
            }
        }
        let start = self.in_file(place);
        let left = self.speech.iter().filter(|speech| speech.end > start);
        rest.speech = left.map(|speech| speech.start.max(start)..speech.end).collect();
        rest
    }

    fn append(&mut self, samples: &[f32], at: u64) {
        self.pieces.push(Piece { from: self.samples.len(), at, length: samples.len() });
        self.samples.extend_from_slice(samples);
    }
}

/// Cuts sound that comes bit by bit; holds no more than a window and a stretch of speech.
#[derive(Default)]
pub struct Cutter {
    spans: Spans,
    /// Sound that may still be needed, from the block `tail_at` on.
    tail: Vec<f32>,
    tail_at: usize,
    /// The block up to which sound has been put into windows.
    taken: usize,
    window: Window,
}

impl Cutter {
    /// Takes the next whole blocks with their shares of speech; the windows that are full now.
    pub fn push(&mut self, samples: &[f32], shares: &[f32]) -> Vec<Window> {
        self.tail.extend_from_slice(samples);
        let mut full = Vec::new();
        for share in shares {
            if let Some(span) = self.spans.push(*share) {
                full.extend(self.take(span));
            }
        }
        self.forget();
        full
    }

    /// The windows that are left at the end of the sound.
    pub fn finish(mut self) -> Vec<Window> {
        let last = self.spans.finish();
        let mut full: Vec<Window> = last.and_then(|span| self.take(span)).into_iter().collect();
        if !self.window.samples.is_empty() {
            full.push(self.window);
        }
        full
    }

    /// Puts a stretch of speech into the window; the window before it, if that is full.
    fn take(&mut self, span: Span) -> Option<Window> {
        let from = span.blocks.start.saturating_sub(AROUND).max(self.taken).max(self.tail_at);
        let to = if span.is_cut { span.blocks.end } else { span.blocks.end + AROUND };
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

    /// Lets go of sound that nothing can need any more.
    fn forget(&mut self) {
        let needed = self.spans.earliest().saturating_sub(AROUND).max(self.tail_at);
        let count = ((needed - self.tail_at) * BLOCK).min(self.tail.len());
        self.tail.drain(..count);
        self.tail_at += count / BLOCK;
    }
}

/// A stretch of speech, in blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Span {
    blocks: Range<usize>,
    /// Whether speech goes on after it.
    is_cut: bool,
}

/// Finds stretches of speech in shares that come one by one.
#[derive(Default)]
struct Spans {
    /// How many blocks came.
    now: usize,
    open: Option<Open>,
    /// Since when nobody speaks in the open stretch.
    silent: Option<usize>,
}

/// A stretch of speech that has not ended.
struct Open {
    start: usize,
    /// The shares of its blocks.
    shares: Vec<f32>,
    /// Whether it goes on from a cut: then it is speech however short it is.
    goes_on: bool,
}

impl Open {
    /// The stretch up to a block, unless it is only a noise.
    fn ended(self, end: usize) -> Option<Span> {
        let shortest = if self.goes_on { 1 } else { SHORTEST };
        let blocks = self.start..end;
        (blocks.len() >= shortest).then_some(Span { blocks, is_cut: false })
    }
}

impl Spans {
    fn push(&mut self, share: f32) -> Option<Span> {
        let block = self.now;
        self.now += 1;
        let Some(open) = &mut self.open else {
            if share >= SPEAKS {
                self.open = Some(Open { start: block, shares: vec![share], goes_on: false });
            }
            return None;
        };
        open.shares.push(share);
        self.silent = match self.silent {
            _ if share >= SPEAKS => None,
            None if share < STOPS => Some(block),
            silent => silent,
        };
        match self.silent {
            Some(silent) if self.now - silent >= SILENCE => {
                self.silent = None;
                self.open.take()?.ended(silent)
            }
            _ if open.shares.len() >= LONGEST => self.cut(),
            _ => None,
        }
    }

    /// Cuts an open stretch where speech is least, in its second half.
    fn cut(&mut self) -> Option<Span> {
        let Open { start, shares, .. } = self.open.take()?;
        let around = |i: &usize| {
            let near = &shares[i.saturating_sub(2)..(i + 3).min(shares.len())];
            near.iter().sum::<f32>() / near.len() as f32
        };
        let half = shares.len() / 2;
        let place = (half..shares.len()).min_by(|a, b| around(a).total_cmp(&around(b)))?;
        let end = start + place;
        self.open = Some(Open { start: end, shares: shares[place..].to_vec(), goes_on: true });
        self.silent = self.silent.map(|silent| silent.max(end));
        Some(Span { blocks: start..end, is_cut: true })
    }

    fn finish(&mut self) -> Option<Span> {
        self.open.take()?.ended(self.silent.unwrap_or(self.now))
    }

    /// The first block of the open stretch, or the next block.
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
        let mut cutter = Cutter::default();
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
        assert_eq!((rest.pieces.len(), rest.in_file(0)), (1, 692 * BLOCK as u64 + 10));
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
        let windows = cut(&run(&[(0.9, LONGEST - 3), (0.5, 3), (0.0, 40)]), 64);
        let lengths: usize = windows.iter().map(|window| window.samples.len()).sum();
        assert_eq!(lengths / BLOCK, LONGEST + AROUND);
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
            let taken: std::collections::HashSet<u64> = windows.iter().flat_map(|w| &w.pieces)
                .flat_map(|p| p.at / BLOCK as u64..(p.at + p.length as u64) / BLOCK as u64).collect();
            let mut loud = 0;
            for (block, share) in shares.iter().enumerate() {
                loud = if *share >= SPEAKS { loud + 1 } else { 0 };
                // Runs that are long enough to be speech are all there.
                if loud >= SHORTEST {
                    prop_assert!(taken.contains(&(block as u64)), "{}", block);
                }
            }
        }
    }
}
