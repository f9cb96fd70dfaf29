//! Recipe2Video (Udhayanan et al., WACV 2023): hand-made measures, weighed.
//!
//! Faithful: its three groups of measures (cross-modal relevance in both directions of retrieval,
//! information coverage, temporal consistency with "abrupt information gain"), and weights that are
//! searched on held-out data. Adapted: there is no public code, and its measures are of pictures and
//! videos found on the web for a recipe. Relevance is the cosine of step and clip, and how surely the
//! clip finds its own step among the recipe's. Coverage is the share of the step's words, rare ones
//! counting more, that the clip's narration has, and that the texts have which its picture finds among
//! those of the training part. Consistency is the mean similarity of consecutive clips; abruptness is
//! the largest jump between two.

use std::collections::{HashMap, HashSet};

use rayon::prelude::*;
use stitch_core::clip::ClipId;
use stitch_core::cover::Sequence;
use stitch_core::features::{Features, similarity};
use stitch_core::pool::Pool;
use stitch_core::words::stems;
use stitch_engine::scorer::Query;

use super::weighted::Measures;
use super::{Training, mean, shown, step_similarity};

// Chosen by hand.
/// Texts that are retrieved for a picture,
const RETRIEVED: usize = 5;
/// from at most so many.
const MAX_BANK: usize = 2000;
/// Of the softmax over a recipe's steps.
const TEMPERATURE: f32 = 0.05;

pub struct Recipe2Video {
    /// Inverse document frequency of words.
    idf: HashMap<String, f32>,
    unknown_idf: f32,
    /// For each clip the words of its narration, and those of the texts retrieved for its picture.
    narration: Vec<HashSet<String>>,
    retrieved: Vec<HashSet<String>>,
}

impl Recipe2Video {
    pub fn new(training: &Training<'_>) -> Self {
        let (words, rows) = bank(training);
        let mut counts: HashMap<String, f32> = HashMap::new();
        words.iter().flatten().for_each(|word| *counts.entry(word.clone()).or_default() += 1.0);
        let all = words.len() as f32 + 1.0;
        let idf = counts.into_iter().map(|(word, count)| (word, (all / count).ln())).collect();
        let pool = training.pool;
        let narration = pool.clips().iter().map(|clip| stems(&clip.text)).collect();
        let features = pool.clip_features();
        let clips = (0..pool.len()).into_par_iter();
        let retrieved = clips.map(|row| retrieve(&features.row(row), &rows, &words)).collect();
        Self { idf, unknown_idf: all.ln(), narration, retrieved }
    }

    /// The log-probability of the clip's own step, and how much of the step narration and picture cover.
    fn of_clip(
        &self,
        query: &Query,
        pool: &Pool,
        words: &HashSet<String>,
        step: usize,
        clip: ClipId,
    ) -> [f32; 3] {
        let covered = |by: &[HashSet<String>]| {
            by.get(clip.row()).map_or(0.0, |found| self.coverage(words, found))
        };
        [step_log_prob(query, pool, step, clip), covered(&self.narration), covered(&self.retrieved)]
    }

    /// The share of the step's words, weighted by idf, that are among these.
    fn coverage(&self, step: &HashSet<String>, words: &HashSet<String>) -> f32 {
        let weight = |word: &String| self.idf.get(word).copied().unwrap_or(self.unknown_idf);
        let all: f32 = step.iter().map(weight).sum();
        let covered: f32 = step.intersection(words).map(weight).sum();
        if all > 0.0 { covered / all } else { 0.0 }
    }
}

/// Texts of the training part, as words and as features.
fn bank(training: &Training<'_>) -> (Vec<HashSet<String>>, Features) {
    let dim = training.pool.clip_features().dim();
    let all: usize = training.instances.iter().map(|instance| instance.texts.len()).sum();
    let every = all.div_ceil(MAX_BANK).max(1);
    let steps = training.instances.iter().flat_map(|i| i.texts.iter().zip(i.clip.rows()));
    let (mut words, mut rows) = (Vec::new(), Features::empty(dim));
    for (text, row) in steps.step_by(every).filter(|(_, row)| row.len() == dim) {
        words.push(stems(text));
        rows.push(row);
    }
    (words, rows)
}

/// The words of the texts that are most similar to a picture.
fn retrieve(picture: &[f32], rows: &Features, words: &[HashSet<String>]) -> HashSet<String> {
    let mut all: Vec<(f32, usize)> =
        rows.rows().map(|row| similarity(picture, row)).zip(0..).collect();
    let most = RETRIEVED.min(all.len());
    if most < all.len() {
        all.select_nth_unstable_by(most, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    }
    all[..most].iter().flat_map(|(_, at)| words[*at].iter().cloned()).collect()
}

/// The log-probability of a clip's own step among all of the recipe's.
fn step_log_prob(query: &Query, pool: &Pool, own: usize, clip: ClipId) -> f32 {
    let row = pool.clip_features().row(clip.row());
    let value = |step: usize| similarity(query.clip.row(step), &row) / TEMPERATURE;
    let values: Vec<f32> = (0..query.clip.len()).map(value).collect();
    let most = values.iter().copied().fold(f32::MIN, f32::max);
    let sum: f32 = values.iter().map(|value| (value - most).exp()).sum();
    values[own] - most - sum.ln()
}

impl Measures for Recipe2Video {
    const NAME: &str = "recipe2video";
    const COUNT: usize = 6;

    fn measure(&self, query: &Query, pool: &Pool, candidates: &[Sequence]) -> Vec<Vec<f32>> {
        let words: Vec<HashSet<String>> = query.texts.iter().map(|text| stems(text)).collect();
        let mut known: HashMap<(usize, usize), [f32; 3]> = HashMap::new();
        let mut one = |candidate: &Sequence| {
            let mut sums = [0.0; 3];
            for (step, clip) in shown(candidate) {
                let of = || self.of_clip(query, pool, &words[step], step, clip);
                let found = known.entry((step, clip.row())).or_insert_with(of);
                sums.iter_mut().zip(found).for_each(|(sum, x)| *sum += *x);
            }
            let [log_prob, narration, retrieved] =
                sums.map(|sum| sum / candidate.0.len().max(1) as f32);
            let alike = alike(pool, candidate);
            let relevance = step_similarity(query, pool, candidate);
            let abrupt = alike.iter().copied().fold(1.0, f32::min);
            vec![relevance, log_prob, narration, retrieved, mean(alike.into_iter()), abrupt]
        };
        candidates.iter().map(&mut one).collect()
    }
}

fn alike(pool: &Pool, candidate: &Sequence) -> Vec<f32> {
    let row = |clip: ClipId| pool.clip_features().row(clip.row());
    let pairs = shown(candidate).zip(shown(candidate).skip(1));
    pairs.map(|((_, a), (_, b))| similarity(&row(a), &row(b))).collect()
}
