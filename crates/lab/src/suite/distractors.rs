//! Distractors: 499 other sequences of five kinds for each procedure, among which its truth is ranked.
//!
//! None equals the truth or is as right as it by the annotations, and none comes twice. Where too few of a
//! kind can be made, others fill its quota, and the shortage is counted; [`Question::alone`] gives each
//! kind without what was filled in.

use std::collections::{BTreeMap, HashSet};

use rand::seq::{IndexedRandom, SliceRandom};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use stitch_core::belief::Belief;
use stitch_core::clip::{ClipId, VideoId};
use stitch_core::cover::{KBestOptions, Sequence, greedy};
use stitch_core::features::similarity;
use stitch_core::map::{MapError, StepMap, Steps, map};
use stitch_engine::calibration::Calibration;
use stitch_engine::demonstrate::Options;
use stitch_engine::progress::Progress;

use super::{MeasureError, par_map};
use crate::collection::{Collection, Instance};
use crate::rows::grouped;

/// What makes a sequence a distractor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Covers of the search-space reduction.
    Rs,
    /// Other whole videos of the task.
    Full,
    /// The truths of other procedures.
    OtherPos,
    /// Random clips of the task.
    RandMatch,
    /// The clips most similar to each step, each chosen by itself.
    SimMatch,
}

impl Kind {
    pub const ALL: [Self; 5] =
        [Self::Rs, Self::Full, Self::OtherPos, Self::RandMatch, Self::SimMatch];

    /// How many a procedure gets; 499 in all.
    pub fn quota(self) -> usize {
        if self == Self::SimMatch { 99 } else { 100 }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Rs => "rs",
            Self::Full => "full",
            Self::OtherPos => "other-pos",
            Self::RandMatch => "rand-match",
            Self::SimMatch => "sim-match",
        }
    }
}

/// How many of a kind the truth is ranked against in [`Question::alone`].
pub const ALONE: usize = 99;

pub const DISTRACTORS: usize = 499;

/// S: clips of a step in M.
const TOP: usize = 50;

/// The most similar clips of a step from which those of [`Kind::SimMatch`] are drawn; chosen by hand.
const MOST_SIMILAR: usize = 20;

/// Draws for each distractor wanted, after which no more are tried; chosen by hand.
const MAX_DRAWS: usize = 40;

/// A procedure with its candidates.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The procedure, by its number in the collection.
    pub instance: usize,
    /// The truth first, then what each kind was asked for, then what was filled in.
    pub candidates: Vec<Sequence>,
    /// The kind of each candidate after the truth.
    pub kinds: Vec<Kind>,
    /// How many distractors are not filled in.
    pub own: usize,
}

impl Question {
    /// Distractors of a kind within its quota.
    pub fn made(&self, kind: Kind) -> usize {
        self.kinds[..self.own].iter().filter(|found| **found == kind).count()
    }

    /// The numbers of the candidates among which the truth meets this kind only: the truth and at
    /// most 99 others.
    pub fn alone(&self, kind: Kind) -> Vec<usize> {
        let own = (0..self.own).filter(|at| self.kinds[*at] == kind).take(ALONE);
        std::iter::once(0).chain(own.map(|at| at + 1)).collect()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindCounts {
    /// Of each kind, with what was filled in.
    pub distractors: BTreeMap<Kind, usize>,
    /// By how many each kind fell short of its quota.
    pub short: BTreeMap<Kind, usize>,
    /// Procedures for which fewer sequences could be made.
    pub fewer_than_499: usize,
}

impl KindCounts {
    pub fn of(questions: &[Question]) -> Self {
        let distractors = Kind::ALL.map(|kind| (kind, 0)).into();
        let mut counts = Self { distractors, ..Self::default() };
        for question in questions {
            for kind in &question.kinds {
                *counts.distractors.entry(*kind).or_default() += 1;
            }
            for kind in Kind::ALL {
                *counts.short.entry(kind).or_default() += kind.quota() - question.made(kind);
            }
            counts.fewer_than_499 += usize::from(question.kinds.len() < DISTRACTORS);
        }
        counts.short.retain(|_, short| *short > 0);
        counts
    }
}

pub struct Distractors<'a> {
    collection: &'a Collection,
    tasks: BTreeMap<&'a str, Vec<VideoId>>,
    belief: Belief,
    costs: KBestOptions,
    seed: u64,
}

impl<'a> Distractors<'a> {
    pub fn new(collection: &'a Collection, calibration: &Calibration, seed: u64) -> Self {
        let tasks = grouped(collection.videos.iter().map(|(id, video)| (video.task.as_str(), *id)));
        let (belief, costs) = (calibration.belief(), Options::default().k_best);
        Self { collection, tasks, belief, costs, seed }
    }

    pub fn questions(
        &self,
        instances: &[usize],
        progress: &dyn Progress,
    ) -> Result<Vec<Question>, MeasureError> {
        par_map("making distractors", instances, progress, |at| Ok(self.question(*at)?))
    }

    pub fn question(&self, instance: usize) -> Result<Question, MapError> {
        let mut sources = Sources::new(self, instance)?;
        let truth = &sources.instance.truth;
        let (sequences, seen) = (vec![truth.clone()], HashSet::from([truth.clone()]));
        let mut kept = Kept { collection: self.collection, sequences, kinds: Vec::new(), seen };
        for kind in Kind::ALL {
            kept.add(kind, kind.quota(), &mut sources);
        }
        let own = kept.kinds.len();
        kept.fill(&mut sources);
        let Kept { sequences, kinds, .. } = kept;
        let candidates = sequences.iter().map(|clips| Sequence::from(&clips[..])).collect();
        Ok(Question { instance, candidates, kinds, own })
    }

    /// M with the best clips of each step, however unlikely.
    pub fn step_map(&self, instance: &Instance) -> Result<StepMap, MapError> {
        let Instance { texts, text, clip, .. } = instance;
        let steps = Steps { texts, text, clip, context: None };
        map(&steps, &self.collection.pool, |_, _| true, &self.belief, TOP)
    }
}

/// The truth and the distractors of one procedure so far.
struct Kept<'a> {
    collection: &'a Collection,
    /// The truth first.
    sequences: Vec<Vec<ClipId>>,
    kinds: Vec<Kind>,
    seen: HashSet<Vec<ClipId>>,
}

impl Kept<'_> {
    /// Keeps the first `most` of a kind that are new and not as right as the truth.
    fn add(&mut self, kind: Kind, most: usize, sources: &mut Sources<'_>) {
        // The truth may be among the sequences, and those of the first round come again when filling.
        let known = 1 + self.kinds.iter().filter(|found| **found == kind).count();
        let end = self.kinds.len() + most;
        if kind == Kind::SimMatch {
            self.keep(kind, most, std::iter::once(sources.most_similar()));
        }
        let left = end - self.kinds.len();
        let found = match kind {
            Kind::Rs => sources.covers(most + known),
            Kind::Full => sources.whole_videos(),
            // Alignment takes time: no more than can be needed, some of which may come twice.
            Kind::OtherPos => sources.other_truths(4 * (most + self.kinds.len())),
            Kind::RandMatch => sources.random_of_task(most * MAX_DRAWS),
            Kind::SimMatch => sources.similar(left * MAX_DRAWS),
        };
        self.keep(kind, left, found);
    }

    /// Fills up with the kinds that can give more, at last with clips of any task.
    fn fill(&mut self, sources: &mut Sources<'_>) {
        let kinds = [Kind::Rs, Kind::SimMatch, Kind::RandMatch, Kind::OtherPos];
        for (number, kind) in kinds.into_iter().enumerate() {
            let missing = DISTRACTORS - self.kinds.len();
            self.add(kind, missing.div_ceil(kinds.len() - number), sources);
        }
        let all = (0..self.collection.pool.len() as u32).map(ClipId).collect();
        let missing = DISTRACTORS - self.kinds.len();
        self.keep(Kind::RandMatch, missing, sources.random(all, missing * MAX_DRAWS));
    }

    fn keep(&mut self, kind: Kind, most: usize, mut found: impl Iterator<Item = Vec<ClipId>>) {
        let end = self.kinds.len() + most;
        while self.kinds.len() < end
            && let Some(clips) = found.next()
        {
            let truth = &self.sequences[0];
            if clips.len() == truth.len()
                && self.collection.tells_apart(truth, &clips)
                && self.seen.insert(clips.clone())
            {
                self.sequences.push(clips);
                self.kinds.push(kind);
            }
        }
    }
}

type Found<'a> = Box<dyn Iterator<Item = Vec<ClipId>> + 'a>;

/// Makes sequences of each kind for one procedure.
struct Sources<'a> {
    collection: &'a Collection,
    costs: &'a KBestOptions,
    number: usize,
    instance: &'a Instance,
    /// The videos of its task.
    videos: &'a [VideoId],
    step_map: StepMap,
    /// For each step the most similar clips by F_M, best first.
    similar: Vec<Vec<ClipId>>,
    random: ChaCha8Rng,
}

impl<'a> Sources<'a> {
    fn new(of: &'a Distractors<'a>, number: usize) -> Result<Self, MapError> {
        let instance = &of.collection.instances[number];
        let seed = of.seed ^ (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Ok(Self {
            collection: of.collection,
            costs: &of.costs,
            number,
            instance,
            videos: of.tasks.get(instance.task.as_str()).map_or(&[], Vec::as_slice),
            step_map: of.step_map(instance)?,
            similar: most_similar(of.collection, instance),
            random: ChaCha8Rng::seed_from_u64(seed),
        })
    }

    fn covers(&self, most: usize) -> Found<'_> {
        let covers = greedy(&self.step_map, &self.collection.pool, most, self.costs);
        Box::new(covers.into_iter().filter_map(|Sequence(clips)| clips.into_iter().collect()))
    }

    /// Each other video of the task, its clips aligned with the steps in order.
    fn whole_videos(&mut self) -> Found<'_> {
        let Collection { pool, videos, .. } = self.collection;
        let is_own =
            |video: &VideoId| self.instance.truth.iter().all(|c| pool.clip(*c).video == *video);
        let mut others: Vec<VideoId> =
            self.videos.iter().copied().filter(|video| !is_own(video)).collect();
        others.shuffle(&mut self.random);
        Box::new(others.into_iter().filter_map(|video| self.aligned(&videos.get(&video)?.clips)))
    }

    fn other_truths(&mut self, most: usize) -> Found<'_> {
        let instances = &self.collection.instances;
        let mut others: Vec<usize> = (0..instances.len()).filter(|at| *at != self.number).collect();
        others.shuffle(&mut self.random);
        let others = others.into_iter().take(most);
        Box::new(others.filter_map(|at| self.aligned(&instances[at].truth)))
    }

    fn random_of_task(&mut self, draws: usize) -> Found<'_> {
        let videos = self.videos.iter().filter_map(|video| self.collection.videos.get(video));
        self.random(videos.flat_map(|video| video.clips.iter().copied()).collect(), draws)
    }

    /// A random clip for each step, all different where there are enough.
    fn random(&mut self, clips: Vec<ClipId>, draws: usize) -> Found<'_> {
        let (steps, random) = (self.instance.truth.len(), &mut self.random);
        Box::new((0..draws).map(move |_| {
            if clips.len() < steps {
                return (0..steps).filter_map(|_| clips.choose(random).copied()).collect();
            }
            let mut chosen: Vec<ClipId> = clips.sample(random, steps).copied().collect();
            chosen.shuffle(random);
            chosen
        }))
    }

    /// The most similar clip of each step.
    fn most_similar(&self) -> Vec<ClipId> {
        self.similar.iter().filter_map(|clips| clips.first().copied()).collect()
    }

    /// Random draws from the most similar clips of each step, weighted by rank.
    fn similar(&mut self, draws: usize) -> Found<'_> {
        let Self { similar, random, .. } = self;
        Box::new(
            (0..draws).map(move |_| {
                similar.iter().filter_map(|clips| draw_by_rank(clips, random)).collect()
            }),
        )
    }

    /// A clip for each step, in the order of the clips, with the largest sum of similarities; each at
    /// most once where there are enough.
    fn aligned(&self, clips: &[ClipId]) -> Option<Vec<ClipId>> {
        let features = self.collection.pool.clip_features();
        let value = |step: usize, at: usize| {
            f64::from(similarity(self.instance.clip.row(step), &features.row(clips[at].row())))
        };
        let places = align(self.instance.truth.len(), clips.len(), value)?;
        Some(places.into_iter().map(|at| clips[at]).collect())
    }
}

/// For each of `steps` one of `count` places, ascending, with the largest sum of values; a place is used
/// twice only where there are fewer than steps. By dynamic programming.
fn align(steps: usize, count: usize, value: impl Fn(usize, usize) -> f64) -> Option<Vec<usize>> {
    let apart = usize::from(count >= steps);
    let mut best: Vec<Vec<f64>> = Vec::with_capacity(steps);
    for step in 0..steps {
        let mut row = vec![f64::NEG_INFINITY; count];
        let mut before = f64::NEG_INFINITY;
        for (at, here) in row.iter_mut().enumerate() {
            if let (Some(last), Some(from)) = (best.last(), at.checked_sub(apart)) {
                before = before.max(last[from]);
            }
            let so_far = if step == 0 { 0.0 } else { before };
            *here = so_far + value(step, at);
        }
        best.push(row);
    }
    let mut places = vec![0; steps];
    let mut end = count;
    for step in (0..steps).rev() {
        let at = (0..end).max_by(|a, b| best[step][*a].total_cmp(&best[step][*b]))?;
        places[step] = at;
        end = at + 1 - apart;
    }
    Some(places)
}

fn most_similar(collection: &Collection, instance: &Instance) -> Vec<Vec<ClipId>> {
    let features = collection.pool.clip_features();
    let of_step = |step: &[f32]| {
        let mut all: Vec<(f32, ClipId)> = (0..features.len())
            .map(|row| (similarity(step, &features.row(row)), ClipId(row as u32)))
            .collect();
        let order = |a: &(f32, ClipId), b: &(f32, ClipId)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        if all.len() > MOST_SIMILAR {
            all.select_nth_unstable_by(MOST_SIMILAR, order);
            all.truncate(MOST_SIMILAR);
        }
        all.sort_by(order);
        all.into_iter().map(|(_, clip)| clip).collect()
    };
    instance.clip.rows().map(of_step).collect()
}

/// A random clip of a list, with probability proportional to one over its rank.
fn draw_by_rank(clips: &[ClipId], random: &mut ChaCha8Rng) -> Option<ClipId> {
    let weights = || (1..=clips.len()).map(|rank| 1.0 / rank as f64);
    let mut left = random.random_range(0.0..1.0) * weights().sum::<f64>();
    for (clip, weight) in clips.iter().zip(weights()) {
        left -= weight;
        if left <= 0.0 {
            return Some(*clip);
        }
    }
    clips.last().copied()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::suite::fixture::{Made, collection};

    fn calibration() -> &'static Calibration {
        Calibration::of("unknown")
    }

    #[test]
    fn a_set_with_enough_of_everything_gives_every_kind_its_quota() {
        // 8 tasks of 120 videos each.
        let made = collection(&Made { tasks: 2, videos: 120, steps: 4, seed: 1 });
        let candidates = Distractors::new(&made, calibration(), 1);
        let question = candidates.question(7).unwrap();
        for kind in Kind::ALL {
            assert_eq!(question.made(kind), kind.quota(), "{kind:?}");
            assert_eq!(question.alone(kind).len(), 1 + ALONE);
        }
        assert_eq!((question.own, question.candidates.len()), (DISTRACTORS, 1 + DISTRACTORS));
        let counts = KindCounts::of(&[question]);
        assert!(counts.short.is_empty() && counts.fewer_than_499 == 0);
    }

    #[test]
    fn shortages_are_filled_and_told() {
        let made = collection(&Made { tasks: 30, videos: 4, steps: 3, seed: 2 });
        let question = Distractors::new(&made, calibration(), 1).question(0).unwrap();
        assert_eq!(question.candidates.len(), 1 + DISTRACTORS);
        assert!(question.made(Kind::Full) <= 3 && question.own < DISTRACTORS);
        let counts = KindCounts::of(&[question]);
        assert_eq!(counts.distractors.values().sum::<usize>(), DISTRACTORS);
        assert!(counts.short[&Kind::Full] >= 97);
        let one = collection(&Made { tasks: 1, videos: 1, steps: 2, seed: 3 });
        let question = Distractors::new(&one, calibration(), 1).question(0).unwrap();
        // Two clips on two places, less the truth.
        assert_eq!(question.candidates.len(), 4);
        assert_eq!(KindCounts::of(&[question]).fewer_than_499, 1);
    }

    #[test]
    fn whole_videos_are_other_videos_of_the_task_in_their_order() {
        let made = collection(&Made { tasks: 3, videos: 9, steps: 4, seed: 5 });
        let question = Distractors::new(&made, calibration(), 1).question(4).unwrap();
        let task = &made.instances[4].task;
        for at in question.alone(Kind::Full).into_iter().skip(1) {
            let clips: Vec<ClipId> = question.candidates[at].0.iter().flatten().copied().collect();
            let video = made.pool.clip(clips[0]).video;
            assert!(clips.iter().all(|clip| made.pool.clip(*clip).video == video));
            assert!(clips.is_sorted_by_key(|clip| made.pool.clip(*clip).span.start()));
            assert_eq!(&made.videos[&video].task, task);
            assert_ne!(video, made.pool.clip(made.instances[4].truth[0]).video);
        }
    }

    #[test]
    fn the_first_similar_sequence_is_the_most_similar_clip_of_each_step() {
        let made = collection(&Made { tasks: 2, videos: 9, steps: 3, seed: 6 });
        let instance = &made.instances[3];
        let best = most_similar(&made, instance);
        for (step, clips) in best.iter().enumerate() {
            let value = |clip: &ClipId| {
                similarity(instance.clip.row(step), &made.pool.clip_features().row(clip.row()))
            };
            assert!(clips.is_sorted_by(|a, b| value(a) >= value(b)));
            let all = (0..made.pool.len() as u32).map(|row| value(&ClipId(row)));
            assert_eq!(all.fold(f32::MIN, f32::max), value(&clips[0]));
        }
    }

    /// Every ascending choice of places.
    fn choices(steps: usize, count: usize) -> Vec<Vec<usize>> {
        let apart = usize::from(count >= steps);
        let mut all: Vec<Vec<usize>> = vec![vec![]];
        for _ in 0..steps {
            let longer = |some: &Vec<usize>| {
                let from = some.last().map_or(0, |last| last + apart);
                let some = some.clone();
                (from..count).map(move |next| [&some[..], &[next]].concat())
            };
            all = all.iter().flat_map(longer).collect();
        }
        all
    }

    proptest! {
        #[test]
        fn laying_is_the_best_of_all_ways(
            steps in 1usize..5, count in 1usize..7, values in prop::collection::vec(0i32..9, 28),
        ) {
            let value = |step: usize, at: usize| f64::from(values[step * 7 + at]);
            let sum = |places: &[usize]| {
                places.iter().enumerate().map(|(step, at)| value(step, *at)).sum::<f64>()
            };
            let laid = align(steps, count, value).unwrap();
            let all = choices(steps, count);
            prop_assert!(all.contains(&laid), "{laid:?}");
            let best = all.iter().map(|places| sum(places)).fold(f64::MIN, f64::max);
            prop_assert_eq!(sum(&laid), best);
        }

        #[test]
        fn none_is_the_truth_none_comes_twice_and_the_seed_decides(
            tasks in 1usize..4, videos in 1usize..6, steps in 1usize..5, seed in 0u64..9,
        ) {
            let made = collection(&Made { tasks, videos, steps, seed });
            let candidates = Distractors::new(&made, calibration(), seed);
            let question = candidates.question(0).unwrap();
            prop_assert_eq!(&question, &candidates.question(0).unwrap());
            let truth = Sequence::from(made.instances[0].truth.as_slice());
            prop_assert_eq!(&question.candidates[0], &truth);
            let different: HashSet<_> = question.candidates.iter().map(|s| &s.0).collect();
            prop_assert_eq!(different.len(), question.candidates.len());
            prop_assert!(question.candidates.len() <= 1 + DISTRACTORS);
            prop_assert_eq!(question.kinds.len() + 1, question.candidates.len());
            for kind in Kind::ALL {
                prop_assert!(question.made(kind) <= kind.quota());
            }
            prop_assert!(question.candidates.iter().all(|s| s.0.len() == made.instances[0].truth.len()));
        }
    }
}
