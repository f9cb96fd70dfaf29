//! Samples of an epoch: procedures with their clips, and negatives made of them on the fly. All of it follows
//! from the seed and the number of the epoch, so that a checkpoint needs no random state.

use std::collections::{BTreeMap, HashMap, HashSet};

use rand::RngExt;
use rand::seq::{IndexedRandom, SliceRandom};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rayon::prelude::*;
use serde::Serialize;
use stitch_core::clip::{ClipId, VideoId};
use stitch_core::features::{Features, similarity};
use stitch_core::pool::Pool;
use stitch_engine::evaluator::{Batch, Channels, Inputs};

use crate::collection::{Collection, Instance};
use crate::dataset::Split;
use crate::negatives::{Constraint, NegativeContext};
use crate::rows::{grouped, select_rows};

/// Clips that show a step, from which its negatives are made; chosen by hand.
const MAX_SHOWING: usize = 24;

/// Draws of a negative that is no other procedure's truth; chosen by hand.
const MAX_DRAWS: usize = 3;

/// Negatives for each positive by kind, and how positives vary.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NegativeRates {
    /// Negatives that break correctness only,
    pub correctness: f64,
    /// continuity only,
    pub continuity: f64,
    /// the order of states only.
    pub state: f64,
    /// Two clips change places.
    pub swapped: f64,
    /// One clip is any that is unlike its step.
    pub wrong: f64,
    /// All clips are of another video of the task, or random ones of the task.
    pub elsewhere: f64,
    /// From this similarity of texts on a clip shows a step.
    pub shows: f32,
    /// Below this similarity it does not.
    pub unlike: f32,
    /// The share of steps whose text is replaced by that of another clip that shows them.
    pub reword: f64,
    /// The least share of whole videos among the positives; they are repeated up to it.
    pub whole: f64,
    /// The share of whole videos of which only some steps are used, so that clips are left for
    /// negatives.
    pub shortened: f64,
}

impl Default for NegativeRates {
    fn default() -> Self {
        Self {
            correctness: 1.0,
            continuity: 1.0,
            state: 1.0,
            swapped: 0.0,
            wrong: 0.0,
            elsewhere: 0.0,
            shows: 0.7,
            unlike: 0.45,
            reword: 0.3,
            whole: 0.0,
            shortened: 0.0,
        }
    }
}

/// How a negative is made; see [`NegativeRates`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NegativeKind {
    /// Breaks one constraint and no other.
    Breaks(Constraint),
    Swapped,
    Wrong,
    Elsewhere,
}

impl NegativeRates {
    fn by_kind(&self) -> [(NegativeKind, f64); 6] {
        [
            (NegativeKind::Breaks(Constraint::Correctness), self.correctness),
            (NegativeKind::Breaks(Constraint::Continuity), self.continuity),
            (NegativeKind::Breaks(Constraint::State), self.state),
            (NegativeKind::Swapped, self.swapped),
            (NegativeKind::Wrong, self.wrong),
            (NegativeKind::Elsewhere, self.elsewhere),
        ]
    }
}

/// The procedures of one split, cut into windows of at most as many steps as the evaluator takes.
pub struct Windows<'a> {
    pool: &'a Pool,
    /// The clips of each video that have a text.
    videos: HashMap<VideoId, Vec<ClipId>>,
    /// The same clips, all together.
    clips: Vec<ClipId>,
    tasks: BTreeMap<&'a str, Vec<VideoId>>,
    /// Every distinct step text by F_M's text side,
    steps: Features,
    /// and by number the texts of clips that show it.
    others: Vec<Vec<usize>>,
    windows: Vec<Window<'a>>,
}

struct Window<'a> {
    task: &'a str,
    /// The steps by the sentence encoder, and by number among the distinct step texts.
    text: Features,
    steps: Vec<usize>,
    truth: Vec<ClipId>,
    showing: Vec<Vec<ClipId>>,
}

impl<'a> Windows<'a> {
    pub fn of(
        collection: &'a Collection,
        instances: &[&'a Instance],
        split: Split,
        max_steps: usize,
        rates: &NegativeRates,
    ) -> Self {
        let pool = &collection.pool;
        let videos = collection.clips_with_words(split);
        let mut clips: Vec<ClipId> = videos.values().flatten().copied().collect();
        clips.sort_unstable();
        let table = StepTable::of(instances);
        let showing = table.showing(pool, &clips, rates.shows);
        let others = table.others(pool, &showing);
        let known = collection.videos.iter().filter(|(id, _)| videos.contains_key(id));
        let tasks = grouped(known.map(|(id, video)| (video.task.as_str(), *id)));
        let instances = balanced(instances, collection, rates.whole);
        let window = |instance: &'a Instance, places: &[usize]| {
            let step = |place: &usize| table.rows[instance.texts[*place].as_str()];
            let steps: Vec<usize> = places.iter().map(step).collect();
            Window {
                task: &instance.task,
                text: select_rows(&instance.text, places.iter().copied()),
                truth: places.iter().map(|place| instance.truth[*place]).collect(),
                showing: steps.iter().map(|step| showing[*step].clone()).collect(),
                steps,
            }
        };
        let mut windows = Vec::new();
        for (number, instance) in instances.into_iter().enumerate() {
            let share = if collection.is_whole(instance) { rates.shortened } else { 0.0 };
            let places = used_steps(instance.truth.len(), share, number as u64);
            windows.extend(places.chunks(max_steps.max(1)).map(|places| window(instance, places)));
        }
        Self { pool, windows, clips, tasks, steps: table.clip, others, videos }
    }
}

/// The procedures, with whole videos repeated until they have their share.
fn balanced<'a>(
    instances: &[&'a Instance],
    collection: &Collection,
    share: f64,
) -> Vec<&'a Instance> {
    let mut balanced = instances.to_vec();
    let is_whole = |instance: &&&Instance| collection.is_whole(instance);
    let whole: Vec<&Instance> = instances.iter().filter(is_whole).copied().collect();
    let mixed = instances.len() - whole.len();
    let wanted = (mixed as f64 * share / (1.0 - share).max(0.1)) as usize;
    let more = wanted.saturating_sub(whole.len());
    balanced.extend(whole.iter().cycle().take(if mixed > 0 { more } else { 0 }));
    balanced
}

/// The steps of a procedure that are used: all, or in this share of cases a random choice of at least half
/// of them and at least three.
fn used_steps(steps: usize, share: f64, seed: u64) -> Vec<usize> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut places: Vec<usize> = (0..steps).collect();
    let least = steps.div_ceil(2).max(3);
    if least < steps && random.random_range(0.0..1.0) < share {
        let kept = random.random_range(least..steps);
        places = places.sample(&mut random, kept).copied().collect();
        places.sort_unstable();
    }
    places
}

/// Every distinct step text.
struct StepTable<'a> {
    rows: BTreeMap<&'a str, usize>,
    text: Vec<&'a [f32]>,
    clip: Features,
}

impl<'a> StepTable<'a> {
    fn of(instances: &[&'a Instance]) -> Self {
        let dim = instances.first().map_or(1, |instance| instance.clip.dim());
        let mut table =
            Self { rows: BTreeMap::new(), text: Vec::new(), clip: Features::empty(dim) };
        for instance in instances {
            for (step, text) in instance.texts.iter().enumerate() {
                table.rows.entry(text).or_insert_with(|| {
                    table.text.push(instance.text.row(step));
                    table.clip.push(instance.clip.row(step));
                    table.text.len() - 1
                });
            }
        }
        table
    }

    /// For every text some clips that show it.
    fn showing(&self, pool: &Pool, clips: &[ClipId], shows: f32) -> Vec<Vec<ClipId>> {
        let texts = pool.text_features();
        let find = |row: &&[f32]| {
            let near = |clip: &ClipId| similarity(row, &texts.row(clip.row())) >= shows;
            let all: Vec<ClipId> = clips.iter().copied().filter(near).collect();
            let apart = all.len().div_ceil(MAX_SHOWING).max(1);
            all.into_iter().step_by(apart).collect()
        };
        self.text.par_iter().map(find).collect()
    }

    /// For every text those of the clips that show it, as far as they are in the table.
    fn others(&self, pool: &Pool, showing: &[Vec<ClipId>]) -> Vec<Vec<usize>> {
        let row = |clip: &ClipId| self.rows.get(pool.clip(*clip).text.as_str()).copied();
        showing.iter().map(|clips| clips.iter().filter_map(row).collect()).collect()
    }
}

pub struct Sampler<'a> {
    of: &'a Windows<'a>,
    inputs: Inputs<'a>,
    truths: HashSet<&'a [ClipId]>,
    rates: NegativeRates,
    seed: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Its steps, by number among the distinct step texts, each with its clip.
    pub steps: Vec<(usize, ClipId)>,
    /// None for a positive.
    pub negative: Option<NegativeKind>,
}

impl<'a> Sampler<'a> {
    pub fn new(of: &'a Windows<'a>, channels: Channels, rates: NegativeRates, seed: u64) -> Self {
        Self {
            inputs: Inputs::new(channels, &of.steps, of.pool),
            truths: of.windows.iter().map(|window| window.truth.as_slice()).collect(),
            of,
            rates,
            seed,
        }
    }

    pub fn positives(&self) -> usize {
        self.of.windows.len()
    }

    /// All positives in random order, each followed by its negatives, so that a batch has both.
    pub fn epoch(&self, epoch: usize) -> Vec<Sample> {
        let mut order: Vec<usize> = (0..self.of.windows.len()).collect();
        order.shuffle(&mut self.random(epoch, u32::MAX as usize));
        order.into_par_iter().flat_map_iter(|window| self.samples(epoch, window)).collect()
    }

    fn samples(&self, epoch: usize, number: usize) -> Vec<Sample> {
        let mut random = self.random(epoch, number);
        let window = &self.of.windows[number];
        let steps = window.steps.iter().map(|step| self.reworded(*step, &mut random));
        let steps: Vec<usize> = steps.collect();
        let sample = |clips: &[ClipId], negative| Sample {
            steps: steps.iter().copied().zip(clips.iter().copied()).collect(),
            negative,
        };
        let mut all = vec![sample(&window.truth, None)];
        for (kind, rate) in self.rates.by_kind() {
            let more = random.random_range(0.0..1.0) < rate.fract();
            for _ in 0..rate as usize + usize::from(more) {
                let clips = self.negative(kind, window, &mut random);
                all.extend(clips.map(|clips| sample(&clips, Some(kind))));
            }
        }
        all
    }

    /// A step, or at the rate of `reword` another text for the same.
    fn reworded(&self, step: usize, random: &mut ChaCha8Rng) -> usize {
        let otherwise = random.random_range(0.0..1.0) < self.rates.reword;
        let other = self.of.others[step].choose(random).copied();
        other.filter(|_| otherwise).unwrap_or(step)
    }

    /// A negative that is no procedure's truth; none where none can be made.
    fn negative(
        &self,
        kind: NegativeKind,
        window: &'a Window<'a>,
        random: &mut ChaCha8Rng,
    ) -> Option<Vec<ClipId>> {
        let context = self.context(window);
        let make = |_| match kind {
            NegativeKind::Breaks(constraint) => context.negative(constraint, random),
            NegativeKind::Swapped => context.swapped(random),
            NegativeKind::Wrong => context.wrong(&self.of.clips, random),
            NegativeKind::Elsewhere => {
                let task = self.of.tasks.get(window.task).map_or(&[][..], Vec::as_slice);
                context.elsewhere(task, random)
            }
        };
        (0..MAX_DRAWS).filter_map(make).find(|clips| !self.truths.contains(clips.as_slice()))
    }

    fn context(&self, window: &'a Window<'a>) -> NegativeContext<'a> {
        NegativeContext {
            pool: self.of.pool,
            positive: &window.truth,
            steps: &window.text,
            showing: &window.showing,
            videos: &self.of.videos,
            shows: self.rates.shows,
            unlike: self.rates.unlike,
        }
    }

    /// A stream of its own for each epoch and window.
    fn random(&self, epoch: usize, window: usize) -> ChaCha8Rng {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        random.set_stream((epoch as u64) << 32 | window as u64);
        random
    }

    /// The steps of a sample by F_M's text side.
    pub fn step_features(&self, sample: &Sample) -> Features {
        select_rows(&self.of.steps, sample.steps.iter().map(|(step, _)| *step))
    }

    /// The inputs of the network, and which of the samples are positives.
    pub fn inputs(&self, samples: &[Sample]) -> (Batch, Vec<bool>) {
        let mut batch = Batch::default();
        samples.iter().for_each(|sample| self.inputs.add(&sample.steps, &mut batch));
        (batch, samples.iter().map(|sample| sample.negative.is_none()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::fixture::{Made, collection};

    fn made() -> Collection {
        let mut made = collection(&Made { tasks: 3, videos: 6, steps: 5, seed: 1 });
        made.videos.values_mut().for_each(|video| video.split = Some(Split::Train));
        made.instances.iter_mut().for_each(|instance| instance.split = Split::Train);
        made
    }

    /// All procedures, at most so many steps at once.
    fn windows<'a>(made: &'a Collection, steps: usize, rates: &NegativeRates) -> Windows<'a> {
        let own: Vec<&Instance> = made.instances.iter().collect();
        Windows::of(made, &own, Split::Train, steps, rates)
    }

    fn every_kind() -> NegativeRates {
        NegativeRates { swapped: 1.0, wrong: 1.0, elsewhere: 1.0, ..NegativeRates::default() }
    }

    #[test]
    fn an_epoch_follows_from_its_seed_and_number_and_holds_every_positive() {
        let made = made();
        let rates = every_kind();
        let windows = windows(&made, 32, &rates);
        let draw =
            |seed, epoch| Sampler::new(&windows, Channels::default(), rates, seed).epoch(epoch);
        let first = draw(1, 0);
        assert_eq!(first, draw(1, 0));
        assert!(first != draw(1, 1) && first != draw(2, 0));
        let positives = first.iter().filter(|sample| sample.negative.is_none()).count();
        assert_eq!(positives, made.instances.len());
        // Whole videos with different steps have no clip to spare for a wrong one or a wrong order.
        let possible = [
            NegativeKind::Breaks(Constraint::Continuity),
            NegativeKind::Swapped,
            NegativeKind::Wrong,
            NegativeKind::Elsewhere,
        ];
        for kind in possible {
            let made = first.iter().filter(|sample| sample.negative == Some(kind)).count();
            assert!(made > 0, "{kind:?}");
        }
        let truths: HashSet<&[ClipId]> =
            made.instances.iter().map(|i| i.truth.as_slice()).collect();
        for sample in first.iter().filter(|sample| sample.negative.is_some()) {
            let clips: Vec<ClipId> = sample.steps.iter().map(|(_, clip)| *clip).collect();
            assert!(!truths.contains(clips.as_slice()), "{:?} is some truth", sample.negative);
        }
    }

    #[test]
    fn of_a_shortened_video_half_of_the_steps_are_asked_for_and_three() {
        let all = |steps| (0..steps).collect::<Vec<_>>();
        for seed in 0..40 {
            assert_eq!(used_steps(7, 0.0, seed), all(7));
            assert_eq!(used_steps(3, 1.0, seed), all(3), "too few to leave one out");
            let some = used_steps(7, 1.0, seed);
            assert!((4..7).contains(&some.len()), "{some:?}");
            assert!(some.is_sorted() && some.iter().all(|place| *place < 7), "{some:?}");
            assert_eq!(some, used_steps(7, 1.0, seed));
        }
        let shortened = (0..400).filter(|seed| used_steps(9, 0.5, *seed).len() < 9).count();
        assert!((150..250).contains(&shortened), "{shortened}");
        let lengths: HashSet<usize> = (0..40).map(|seed| used_steps(9, 1.0, seed).len()).collect();
        assert_eq!(lengths, HashSet::from([5, 6, 7, 8]));
    }

    #[test]
    fn a_shortened_video_has_clips_left_for_wrong_ones() {
        let made = made();
        let wrong = |shortened| {
            let rates = NegativeRates { shortened, unlike: 0.9, ..NegativeRates::default() };
            let windows = windows(&made, 32, &rates);
            let drawn = Sampler::new(&windows, Channels::default(), rates, 1).epoch(0);
            let wanted = Some(NegativeKind::Breaks(Constraint::Correctness));
            drawn.iter().filter(|sample| sample.negative == wanted).count()
        };
        assert_eq!(wrong(0.0), 0);
        assert!(wrong(1.0) > 0);
    }

    #[test]
    fn long_procedures_are_seen_in_windows_and_rates_are_kept() {
        let made = made();
        let [correctness, continuity, state] = [0.0; 3];
        let swapped = 2.5;
        let half =
            NegativeRates { correctness, continuity, state, swapped, ..NegativeRates::default() };
        let windows = windows(&made, 2, &half);
        let sampler = Sampler::new(&windows, Channels::default(), half, 3);
        let drawn = sampler.epoch(0);
        assert!(drawn.iter().all(|drawn| (1..=2).contains(&drawn.steps.len())));
        let (batch, right) = sampler.inputs(&drawn);
        assert_eq!((batch.lengths.len(), right.len()), (drawn.len(), drawn.len()));
        let steps: usize = made.instances.iter().map(|instance| instance.truth.len()).sum();
        let positives = drawn.iter().filter(|sample| sample.negative.is_none());
        assert_eq!(positives.map(|drawn| drawn.steps.len()).sum::<usize>(), steps);
        let whole = drawn.iter().filter(|d| d.steps.len() == 2);
        let (bad, good): (Vec<_>, Vec<_>) = whole.partition(|sample| sample.negative.is_some());
        let rate = bad.len() as f64 / good.len() as f64;
        assert!((rate - 2.5).abs() < 0.5, "{rate}");
    }
}
