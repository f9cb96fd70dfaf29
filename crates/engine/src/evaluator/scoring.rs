//! F_R over many candidates: what several of them share is computed once.

use std::collections::HashMap;

use rayon::prelude::*;
use stitch_core::clip::ClipId;
use stitch_core::cover::Sequence;
use stitch_core::features::Features;
use stitch_core::pool::Pool;

use super::Evaluator;
use super::input::{Inputs, Relation, relations};
use super::prior::{Prior, SequenceStats};
use crate::scorer::{Query, Scorer, ScorerError, Scores};

/// Rows of one matrix product: enough to amortise packing the weights, few enough that all cores have
/// work.
const ROWS_PER_PASS: usize = 1152;

/// Of a candidate that shows nothing.
const EMPTY_LOG_ODDS: f32 = -1e3;

/// A step with a clip, at its place in a sequence.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Token {
    place: usize,
    step: usize,
    clip: ClipId,
    relation: Relation,
}

/// The distinct tokens of the candidates, and the sequences as indices of these tokens.
#[derive(Default)]
struct Shared {
    numbers: HashMap<Token, usize>,
    tokens: Vec<Token>,
    windows: HashMap<Vec<usize>, usize>,
    sequences: Vec<Vec<usize>>,
}

impl Shared {
    /// The sequences that stand for a candidate: its shown steps, or windows of them that overlap
    /// by half where they are too many for one pass. Gaps are left out.
    fn add(&mut self, Sequence(clips): &Sequence, with: &Evaluator, pool: &Pool) -> Vec<usize> {
        let most = with.config.max_steps;
        let shown = clips.iter().enumerate();
        let shown: Vec<_> = shown.filter_map(|(i, clip)| Some((i, (*clip)?))).collect();
        let starts = window_starts(shown.len(), most).into_iter();
        let windows = starts.map(|start| &shown[start..shown.len().min(start + most)]);
        windows.map(|window| self.add_window(window, with, pool)).collect()
    }

    fn add_window(&mut self, window: &[(usize, ClipId)], with: &Evaluator, pool: &Pool) -> usize {
        let clips: Vec<ClipId> = window.iter().map(|(_, clip)| *clip).collect();
        let used = |relation| if with.config.channels.source { relation } else { Relation::First };
        let relations = relations(&clips, pool).into_iter().map(used);
        let places = window.iter().zip(relations).enumerate();
        let tokens = places.map(|(place, (&(step, clip), relation))| {
            self.token(Token { place, step, clip, relation })
        });
        let tokens: Vec<usize> = tokens.collect();
        let next = self.sequences.len();
        *self.windows.entry(tokens).or_insert_with_key(|tokens| {
            self.sequences.push(tokens.clone());
            next
        })
    }

    fn token(&mut self, token: Token) -> usize {
        *self.numbers.entry(token).or_insert_with(|| {
            self.tokens.push(token);
            self.tokens.len() // 0 is the CLS token
        })
    }

    /// Sequences by number, about [`ROWS_PER_PASS`] rows of them together, and all cores busy.
    fn chunks(&self) -> Vec<std::ops::Range<usize>> {
        let rows: usize = self.sequences.iter().map(|sequence| 1 + sequence.len()).sum();
        let fair = rows.div_ceil(rayon::current_num_threads());
        let most = rows.div_ceil(rows.div_ceil(ROWS_PER_PASS).max(1)).min(fair).max(1);
        let (mut chunks, mut start, mut held) = (Vec::new(), 0, 0);
        for (number, sequence) in self.sequences.iter().enumerate() {
            held += 1 + sequence.len();
            if held >= most || number + 1 == self.sequences.len() {
                chunks.push(start..number + 1);
                (start, held) = (number + 1, 0);
            }
        }
        chunks
    }
}

/// Where windows of `most` begin so that they cover `length`, overlapping by half; none for none.
fn window_starts(length: usize, most: usize) -> Vec<usize> {
    match length {
        0 => Vec::new(),
        _ if length <= most => vec![0],
        _ => {
            let stride = most.div_ceil(2);
            let starts = (0..length - most).step_by(stride);
            starts.chain([length - most]).collect()
        }
    }
}

impl Evaluator {
    /// One logit per sequence of tokens. A token is projected once, and so are its queries, keys and
    /// values in the first layer, however many sequences contain it.
    fn shared_logits(&self, shared: &Shared, steps: &Features, pool: &Pool) -> Vec<f32> {
        let inputs = Inputs::new(self.config.channels, steps, pool);
        let mut rows = Vec::with_capacity(shared.tokens.len() * self.config.inputs());
        for token in &shared.tokens {
            inputs.push(token.step, token.clip, token.relation, &mut rows);
        }
        let places = shared.tokens.iter().map(|token| 1 + token.place);
        let tokens = self.network.tokens(&rows, places);
        let chunks = shared.chunks();
        let one = |chunk: &std::ops::Range<usize>| {
            self.network.logits_of_tokens(&shared.sequences[chunk.clone()], &tokens)
        };
        chunks.par_iter().flat_map_iter(one).collect()
    }

    /// The logit of each candidate by its shown steps alone; none for one that shows nothing. Of a procedure
    /// longer than `max_steps` it is the mean over windows. The prior is added.
    pub fn candidate_logits(
        &self,
        query: &Query,
        pool: &Pool,
        candidates: &[Sequence],
    ) -> Result<Vec<Option<f32>>, ScorerError> {
        query.check(pool, candidates, self.config.encoder.dim)?;
        let mut shared = Shared::default();
        let windows: Vec<Vec<usize>> =
            candidates.iter().map(|candidate| shared.add(candidate, self, pool)).collect();
        let all = self.shared_logits(&shared, query.clip, pool);
        let mean = |windows: &Vec<usize>| {
            let sum: f32 = windows.iter().map(|window| all[*window]).sum();
            (!windows.is_empty()).then(|| sum / windows.len() as f32)
        };
        let prior = &self.config.prior;
        let linear = |candidate: &Sequence| match *prior == Prior::default() {
            true => 0.0,
            false => prior.logit(&SequenceStats::of(query, pool, candidate)),
        };
        let both = |(candidate, windows)| mean(windows).map(|logit| logit + linear(candidate));
        Ok(candidates.iter().zip(&windows).map(both).collect())
    }
}

impl Scorer for Evaluator {
    fn name(&self) -> &str {
        "evaluator"
    }

    /// The calibrated log odds that a candidate demonstrates the procedure. Not the probability: where the
    /// evaluator is sure, many would be 1.
    fn score(&self, query: &Query, pool: &Pool, candidates: &[Sequence]) -> Scores {
        let logits = self.candidate_logits(query, pool, candidates)?;
        let log_odds = |logit| self.config.calibration.log_odds(logit);
        Ok(logits.into_iter().map(|logit| logit.map_or(EMPTY_LOG_ODDS, log_odds)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_cover_everything_and_overlap() {
        assert!(window_starts(0, 4).is_empty());
        assert_eq!(window_starts(4, 4), [0]);
        assert_eq!(window_starts(5, 4), [0, 1]);
        assert_eq!(window_starts(9, 4), [0, 2, 4, 5]);
        assert_eq!(window_starts(3, 1), [0, 1, 2]);
    }

    #[test]
    fn chunks_hold_every_sequence_once() {
        for count in [0, 1, 7, 300, 2000] {
            let sequences = (0..count).map(|i| vec![1; i % 9]).collect();
            let chunks = Shared { sequences, ..Shared::default() }.chunks();
            let all: Vec<usize> = chunks.into_iter().flatten().collect();
            assert_eq!(all, (0..count).collect::<Vec<_>>());
        }
    }
}
