//! K-best: the objective of the exact programme, as a scorer.
//!
//! Ours, without training: the mean similarity of steps and clips, less a price for every change of
//! source and for every step back in time within a source. The two prices are searched on held-out
//! questions.

use stitch_core::cover::{Sequence, source_changes, steps_back};
use stitch_core::pool::Pool;
use stitch_engine::scorer::Query;

use super::step_similarity;
use super::weighted::Measures;

pub struct KBest;

impl Measures for KBest {
    const NAME: &str = "k-best";
    const COUNT: usize = 3;

    fn measure(&self, query: &Query, pool: &Pool, candidates: &[Sequence]) -> Vec<Vec<f32>> {
        let one = |candidate: &Sequence| {
            let steps = candidate.0.len().max(1) as f32;
            let changes = source_changes(candidate, pool) as f32 / steps;
            let back = steps_back(candidate, pool) as f32 / steps;
            vec![step_similarity(query, pool, candidate), -changes, -back]
        };
        candidates.iter().map(one).collect()
    }
}
