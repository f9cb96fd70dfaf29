//! Search-space reduction: the share of truths among the first K candidates, for the greedy covers, the
//! exact K best, random clips and the edited nearest neighbour. A sequence that is as right as the truth by
//! the annotations counts as the truth.

use std::collections::{BTreeMap, HashMap, HashSet};

use rand::SeedableRng;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use stitch_core::clip::{ClipId, VideoId};
use stitch_core::cover::{Sequence, greedy, k_best};
use stitch_core::map::{Match, StepMap};
use stitch_core::pool::Pool;
use stitch_engine::calibration::Calibration;
use stitch_engine::demonstrate::Options;
use stitch_engine::progress::Progress;

use crate::collection::{Collection, Instance};
use crate::suite::distractors::Distractors;
use crate::suite::metrics::{Estimate, count_ratio};
use crate::suite::ranks::Clusters;
use crate::suite::test_set::TestSet;
use crate::suite::{MeasureError, par_map};

/// The values of K.
const CANDIDATES: [usize; 9] = [1, 2, 5, 10, 20, 50, 100, 200, 400];

/// A clip may be a candidate if it is this likely, relative to the likeliest clip of its step. Chosen by
/// hand; of the same size as the thresholds of the calibrations, which decide about gaps and nothing else.
const MIN_RELATIVE_PROBABILITY: f32 = 0.4;

/// The methods of making candidates, in the order of tables.
pub const WAYS: [&str; 4] = ["greedy cover", "exact K-best", "edited nearest neighbour", "random"];

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Capture {
    /// Of which procedures: `mixed` or `whole videos`.
    pub of: String,
    pub procedures: usize,
    /// K of each point.
    pub candidates: Vec<usize>,
    /// For each method the share of truths at each point.
    pub curves: BTreeMap<String, Vec<Estimate>>,
}

impl Capture {
    /// The share of truths of a method among so many candidates.
    pub fn at(&self, way: &str, candidates: usize) -> Option<Estimate> {
        let at = self.candidates.iter().position(|found| *found == candidates)?;
        self.curves.get(way)?.get(at).copied()
    }
}

/// The curves of the measured procedures of a set; `of` names them.
pub fn capture(
    set: &TestSet,
    of: &str,
    seed: u64,
    progress: &dyn Progress,
) -> Result<Capture, MeasureError> {
    let calibration = Calibration::of(&set.encoder.name);
    let distractors = Distractors::new(&set.collection, calibration, seed);
    let measured = set.measured();
    let one = |at: &usize| {
        let instance = &set.collection.instances[*at];
        let map = distractors.step_map(instance)?.within(-MIN_RELATIVE_PROBABILITY.ln());
        let captured = captured(instance, &map, &set.collection, seed ^ *at as u64);
        Ok((set.source(instance), captured))
    };
    let captured = par_map(&format!("capturing {of}"), &measured, progress, one)?;
    Ok(curves(of, &captured, seed))
}

/// For each method and each K whether the truth is among the candidates. The greedy covers for K are not
/// the first K of a longer list, so they are made for each K.
type Captured = Vec<Vec<bool>>;

fn captured(instance: &Instance, map: &StepMap, collection: &Collection, seed: u64) -> Captured {
    let (pool, costs) = (&collection.pool, Options::default().k_best);
    let right = |clips: &[ClipId]| collection.is_found(&instance.truth, clips);
    let whole = |found: Sequence| found.0.into_iter().collect::<Option<Vec<ClipId>>>();
    let among = |found: Vec<Sequence>| found.into_iter().filter_map(whole).any(|c| right(&c));
    let covers = CANDIDATES.map(|count| among(greedy(map, pool, count, &costs))).to_vec();
    let most = CANDIDATES[CANDIDATES.len() - 1];
    let best = k_best(map, pool, most, &costs).into_iter();
    let best = best.map(whole).position(|clips| clips.is_some_and(|clips| right(&clips)));
    let nearest = nearest_edited(map, pool, most).iter().position(|clips| right(clips));
    let random = random_clips(map, most, seed).iter().position(|clips| right(clips));
    let within = |place: Option<usize>| {
        CANDIDATES.map(|count| place.is_some_and(|place| place < count)).to_vec()
    };
    vec![covers, within(best), within(nearest), within(random)]
}

/// The videos that show the most steps, then the most likely ones; each with its best clips, and with
/// the best clip of any other video for the steps it does not show.
fn nearest_edited(map: &StepMap, pool: &Pool, most: usize) -> Vec<Vec<ClipId>> {
    let mut own: HashMap<VideoId, Vec<Option<Match>>> = HashMap::new();
    for (step, matches) in map.steps.iter().enumerate() {
        for found in matches {
            let video = pool.clip(found.clip).video;
            let shown = own.entry(video).or_insert_with(|| vec![None; map.steps.len()]);
            shown[step].get_or_insert(*found); // the best comes first
        }
    }
    let key = |shown: &[Option<Match>]| {
        let sum: f32 = shown.iter().flatten().map(|found| found.log_prob).sum();
        (shown.iter().flatten().count(), sum)
    };
    let mut videos: Vec<(VideoId, Vec<Option<Match>>)> = own.into_iter().collect();
    videos.sort_by(|(a, x), (b, y)| {
        let (x, y) = (key(x), key(y));
        y.0.cmp(&x.0).then(y.1.total_cmp(&x.1)).then(a.cmp(b))
    });
    let edited = |(_, shown): (VideoId, Vec<Option<Match>>)| -> Option<Vec<ClipId>> {
        let steps = shown.iter().zip(&map.steps);
        steps.map(|(own, all)| own.or_else(|| all.first().copied()).map(|m| m.clip)).collect()
    };
    videos.into_iter().take(most).filter_map(edited).collect()
}

/// For each step a random one of its matches; distinct sequences.
fn random_clips(map: &StepMap, most: usize, seed: u64) -> Vec<Vec<ClipId>> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut seen = HashSet::new();
    let mut draw = |_| -> Option<Vec<ClipId>> {
        map.steps.iter().map(|all| all.choose(&mut random).map(|found| found.clip)).collect()
    };
    let drawn = (0..4 * most).filter_map(&mut draw);
    drawn.filter(|clips| seen.insert(clips.clone())).take(most).collect()
}

fn curves(of: &str, captured: &[(VideoId, Captured)], seed: u64) -> Capture {
    let Clusters(clusters) = Clusters::of(captured.iter().map(|(source, _)| *source));
    let point = |way: usize, at: usize| {
        let hit = |row: &&usize| captured[**row].1[way][at];
        let counts = |rows: &Vec<usize>| (rows.iter().filter(hit).count(), rows.len());
        count_ratio(&clusters, counts, 2000, seed)
    };
    let curve = |way: usize| (0..CANDIDATES.len()).map(|at| point(way, at)).collect();
    let curves = WAYS.iter().enumerate().map(|(way, name)| ((*name).to_owned(), curve(way)));
    Capture {
        of: of.into(),
        procedures: captured.len(),
        candidates: CANDIDATES.to_vec(),
        curves: curves.collect(),
    }
}

#[cfg(test)]
mod tests {
    use stitch_engine::progress::Silent;

    use super::*;
    use crate::suite::fixture::{Made, test_set};

    #[test]
    fn whole_videos_are_always_captured_and_chance_is_not() {
        let set = test_set(&Made { tasks: 4, videos: 6, steps: 4, seed: 1 });
        let found = capture(&set, "whole videos", 1, &Silent).unwrap();
        let share = |way: &str, count: usize| found.at(way, count).unwrap().value;
        assert_eq!(share("greedy cover", 100), 1.0);
        assert!(share("random", 100) < 0.5);
        for way in WAYS.iter().skip(1) {
            let curve = &found.curves[*way];
            assert!(curve.is_sorted_by(|a, b| a.value <= b.value), "{way}");
        }
    }
}
