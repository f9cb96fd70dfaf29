//! What training sees: procedures with their clips, and on the fly the same with something broken. All of
//! it follows from a seed and the number of the epoch, so that nothing need be remembered to go on in the
//! middle of one.

use std::collections::{BTreeMap, HashMap, HashSet};

use rand::RngExt;
use rand::seq::{IndexedRandom, SliceRandom};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use stitch_core::clip::{ClipId, VideoId};
use stitch_core::features::{Features, similarity};
use stitch_core::pool::Pool;
use stitch_engine::evaluator::{Batch, Channels, Inputs};

use super::spoilt;
use crate::collection::{Collection, Instance};
use crate::dataset::Split;
use crate::negatives::{Constraint, Ground, negative};

/// How many clips that show a step are thought of for its negatives.
const MOST_SHOWING: usize = 24;

/// How often a negative is drawn anew because it was some other procedure's truth.
const TRIES: usize = 3;

/// How positives are worded and negatives made. Rates are numbers for each positive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drawing {
    /// How many negatives break correctness,
    pub correctness: f64,
    /// continuity,
    pub continuity: f64,
    /// the order of states.
    pub state: f64,
    /// In how many two clips change places,
    pub swapped: f64,
    /// one clip is any that is unlike its step,
    pub wrong: f64,
    /// all are of another video of the task, or of several by chance.
    pub elsewhere: f64,
    /// From which similarity of texts on a clip shows a step.
    pub shows: f32,
    /// Below which it surely does not.
    pub unlike: f32,
    /// The share of steps that are worded as another clip that shows them.
    pub reword: f64,
    /// The share of whole videos among the positives that they are repeated for, where they are fewer.
    #[serde(default)]
    pub whole: f64,
    /// The share of whole videos that only some steps of are asked for, so that clips are left which
    /// could be wrong ones.
    #[serde(default)]
    pub shortened: f64,
}

impl Default for Drawing {
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

/// A way to break a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// One constraint and no other.
    Breaks(Constraint),
    /// Two clips in each other's place.
    Swapped,
    /// A clip that is unlike its step.
    Wrong,
    /// Clips of other videos of the task.
    Elsewhere,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Breaks(Constraint::Correctness),
        Self::Breaks(Constraint::Continuity),
        Self::Breaks(Constraint::State),
        Self::Swapped,
        Self::Wrong,
        Self::Elsewhere,
    ];
}

impl Drawing {
    /// How many of this kind for each positive.
    pub fn rate(&self, fault: Fault) -> f64 {
        match fault {
            Fault::Breaks(Constraint::Correctness) => self.correctness,
            Fault::Breaks(Constraint::Continuity) => self.continuity,
            Fault::Breaks(Constraint::State) => self.state,
            Fault::Swapped => self.swapped,
            Fault::Wrong => self.wrong,
            Fault::Elsewhere => self.elsewhere,
        }
    }
}

/// The procedures of one part, those longer than the evaluator takes cut into windows.
pub struct Pieces<'a> {
    pool: &'a Pool,
    /// The clips of each video that have words.
    videos: HashMap<VideoId, Vec<ClipId>>,
    /// The same clips, all together.
    clips: Vec<ClipId>,
    /// The videos of each task.
    tasks: BTreeMap<&'a str, Vec<VideoId>>,
    /// Every different step text by F_M's text side,
    steps: Features,
    /// and by number the texts of clips that show it.
    others: Vec<Vec<usize>>,
    pieces: Vec<Piece<'a>>,
}

struct Piece<'a> {
    task: &'a str,
    /// The steps by the sentence encoder, and by number in the table of step texts.
    text: Features,
    steps: Vec<usize>,
    truth: Vec<ClipId>,
    showing: Vec<Vec<ClipId>>,
}

impl<'a> Pieces<'a> {
    /// Of these procedures of a part of a collection.
    pub fn of(
        collection: &'a Collection,
        instances: &[&'a Instance],
        split: Split,
        longest: usize,
        drawing: &Drawing,
    ) -> Self {
        let pool = &collection.pool;
        let videos = collection.clips_with_words(split);
        let mut clips: Vec<ClipId> = videos.values().flatten().copied().collect();
        clips.sort_unstable();
        let table = Table::of(instances);
        let showing = table.showing(pool, &clips, drawing.shows);
        let others = table.others(pool, &showing);
        let mut tasks: BTreeMap<&str, Vec<VideoId>> = BTreeMap::new();
        for (id, facts) in collection.videos.iter().filter(|(id, _)| videos.contains_key(id)) {
            tasks.entry(&facts.task).or_default().push(*id);
        }
        let instances = balanced(instances, collection, drawing.whole);
        let piece = |instance: &'a Instance, places: &[usize]| {
            let step = |place: &usize| table.rows[instance.texts[*place].as_str()];
            let steps: Vec<usize> = places.iter().map(step).collect();
            Piece {
                task: &instance.task,
                text: rows(&instance.text, places),
                truth: places.iter().map(|place| instance.truth[*place]).collect(),
                showing: steps.iter().map(|step| showing[*step].clone()).collect(),
                steps,
            }
        };
        let mut pieces = Vec::new();
        for (number, instance) in instances.into_iter().enumerate() {
            let share = if collection.is_whole(instance) { drawing.shortened } else { 0.0 };
            let places = asked_for(instance.truth.len(), share, number as u64);
            pieces.extend(places.chunks(longest.max(1)).map(|places| piece(instance, places)));
        }
        Self { pool, pieces, clips, tasks, steps: table.clip, others, videos }
    }
}

/// The procedures, and whole videos among them again and again until they have their share.
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

/// The steps of a procedure that are asked for: all, or in this share of cases at least half of them
/// and three, by chance.
fn asked_for(steps: usize, share: f64, seed: u64) -> Vec<usize> {
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

fn rows(features: &Features, which: &[usize]) -> Features {
    let mut out = Features::empty(features.dim());
    which.iter().for_each(|row| out.push(features.row(*row)));
    out
}

/// Every different step text.
struct Table<'a> {
    rows: BTreeMap<&'a str, usize>,
    text: Vec<&'a [f32]>,
    clip: Features,
}

impl<'a> Table<'a> {
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
            let near = |clip: &ClipId| similarity(row, texts.row(clip.row())) >= shows;
            let all: Vec<ClipId> = clips.iter().copied().filter(near).collect();
            let apart = all.len().div_ceil(MOST_SHOWING).max(1);
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

/// Draws positives and negatives.
pub struct Sampler<'a> {
    of: &'a Pieces<'a>,
    grounds: Vec<Ground<'a>>,
    inputs: Inputs<'a>,
    truths: HashSet<&'a [ClipId]>,
    drawing: Drawing,
    seed: u64,
}

/// A sequence of clips for a procedure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// Its steps, by number in the table of step texts, each with its clip.
    pub steps: Vec<(usize, ClipId)>,
    /// What is broken; nothing for a positive.
    pub fault: Option<Fault>,
}

impl<'a> Sampler<'a> {
    /// Draws from these procedures, for an evaluator with these channels.
    pub fn new(of: &'a Pieces<'a>, channels: Channels, drawing: Drawing, seed: u64) -> Self {
        let ground = |piece: &'a Piece<'a>| Ground {
            pool: of.pool,
            steps: &piece.text,
            showing: piece.showing.clone(),
            videos: &of.videos,
            shows: drawing.shows,
            unlike: drawing.unlike,
        };
        Self {
            grounds: of.pieces.iter().map(ground).collect(),
            inputs: Inputs::new(channels, &of.steps, of.pool),
            truths: of.pieces.iter().map(|piece| piece.truth.as_slice()).collect(),
            of,
            drawing,
            seed,
        }
    }

    /// How many positives there are.
    pub fn positives(&self) -> usize {
        self.of.pieces.len()
    }

    /// All positives in an order by chance, each followed by its negatives, so that a batch shows what
    /// makes the difference.
    pub fn epoch(&self, epoch: usize) -> Vec<Drawn> {
        let mut order: Vec<usize> = (0..self.of.pieces.len()).collect();
        order.shuffle(&mut self.random(epoch, u32::MAX as usize));
        order.into_par_iter().flat_map_iter(|piece| self.draw(epoch, piece)).collect()
    }

    fn draw(&self, epoch: usize, number: usize) -> Vec<Drawn> {
        let mut random = self.random(epoch, number);
        let piece = &self.of.pieces[number];
        let said: Vec<usize> = piece.steps.iter().map(|s| self.reworded(*s, &mut random)).collect();
        let drawn = |clips: &[ClipId], fault| Drawn {
            steps: said.iter().copied().zip(clips.iter().copied()).collect(),
            fault,
        };
        let mut all = vec![drawn(&piece.truth, None)];
        for fault in Fault::ALL {
            let rate = self.drawing.rate(fault);
            let more = random.random_range(0.0..1.0) < rate.fract();
            for _ in 0..rate as usize + usize::from(more) {
                let clips = self.negative(fault, number, &mut random);
                all.extend(clips.map(|clips| drawn(&clips, Some(fault))));
            }
        }
        all
    }

    /// A step, or now and then another text for the same.
    fn reworded(&self, step: usize, random: &mut ChaCha8Rng) -> usize {
        let otherwise = random.random_range(0.0..1.0) < self.drawing.reword;
        let other = self.of.others[step].choose(random).copied();
        other.filter(|_| otherwise).unwrap_or(step)
    }

    /// A negative that is no procedure's truth; none where none can be made.
    fn negative(
        &self,
        fault: Fault,
        number: usize,
        random: &mut ChaCha8Rng,
    ) -> Option<Vec<ClipId>> {
        let Piece { task, truth, .. } = &self.of.pieces[number];
        let ground = &self.grounds[number];
        let make = |_| match fault {
            Fault::Breaks(constraint) => negative(constraint, truth, ground, random),
            Fault::Swapped => spoilt::swapped(truth, random),
            Fault::Wrong => spoilt::wrong(truth, ground, &self.of.clips, random),
            Fault::Elsewhere => {
                let task = self.of.tasks.get(task).map_or(&[][..], Vec::as_slice);
                spoilt::elsewhere(truth, task, &self.of.videos, random)
            }
        };
        (0..TRIES).filter_map(make).find(|clips| !self.truths.contains(clips.as_slice()))
    }

    /// A stream of its own for each epoch and procedure.
    fn random(&self, epoch: usize, piece: usize) -> ChaCha8Rng {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        random.set_stream((epoch as u64) << 32 | piece as u64);
        random
    }

    /// The steps of a sequence by F_M's text side.
    pub fn said(&self, drawn: &Drawn) -> Features {
        let mut rows = Features::empty(self.of.steps.dim());
        drawn.steps.iter().for_each(|(step, _)| rows.push(self.of.steps.row(*step)));
        rows
    }

    /// Sequences ready for the network, and which of them are right.
    pub fn batch(&self, drawn: &[Drawn]) -> (Batch, Vec<bool>) {
        let mut batch = Batch::default();
        drawn.iter().for_each(|sequence| self.inputs.add(&sequence.steps, &mut batch));
        (batch, drawn.iter().map(|sequence| sequence.fault.is_none()).collect())
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

    fn every_kind() -> Drawing {
        Drawing { swapped: 1.0, wrong: 1.0, elsewhere: 1.0, ..Drawing::default() }
    }

    #[test]
    fn an_epoch_follows_from_its_seed_and_number_and_holds_every_positive() {
        let made = made();
        let own: Vec<&Instance> = made.instances.iter().collect();
        let drawing = every_kind();
        let pieces = Pieces::of(&made, &own, Split::Train, 32, &drawing);
        let draw =
            |seed, epoch| Sampler::new(&pieces, Channels::default(), drawing, seed).epoch(epoch);
        let first = draw(1, 0);
        assert_eq!(first, draw(1, 0));
        assert!(first != draw(1, 1) && first != draw(2, 0));
        let positives = first.iter().filter(|drawn| drawn.fault.is_none()).count();
        assert_eq!(positives, made.instances.len());
        // Whole videos with different steps have no clip to spare for a wrong one or a wrong order.
        let possible =
            [Fault::Breaks(Constraint::Continuity), Fault::Swapped, Fault::Wrong, Fault::Elsewhere];
        for fault in possible {
            let made = first.iter().filter(|drawn| drawn.fault == Some(fault)).count();
            assert!(made > 0, "{fault:?}");
        }
        let truths: HashSet<&[ClipId]> = own.iter().map(|i| i.truth.as_slice()).collect();
        for drawn in first.iter().filter(|drawn| drawn.fault.is_some()) {
            let clips: Vec<ClipId> = drawn.steps.iter().map(|(_, clip)| *clip).collect();
            assert!(!truths.contains(clips.as_slice()), "{:?} is some truth", drawn.fault);
        }
    }

    #[test]
    fn of_a_shortened_video_half_of_the_steps_are_asked_for_and_three() {
        let all = |steps| (0..steps).collect::<Vec<_>>();
        for seed in 0..40 {
            assert_eq!(asked_for(7, 0.0, seed), all(7));
            assert_eq!(asked_for(3, 1.0, seed), all(3), "too few to leave one out");
            let some = asked_for(7, 1.0, seed);
            assert!((4..7).contains(&some.len()), "{some:?}");
            assert!(some.is_sorted() && some.iter().all(|place| *place < 7), "{some:?}");
            assert_eq!(some, asked_for(7, 1.0, seed));
        }
        let shortened = (0..400).filter(|seed| asked_for(9, 0.5, *seed).len() < 9).count();
        assert!((150..250).contains(&shortened), "{shortened}");
        let lengths: HashSet<usize> = (0..40).map(|seed| asked_for(9, 1.0, seed).len()).collect();
        assert_eq!(lengths, HashSet::from([5, 6, 7, 8]));
    }

    #[test]
    fn a_shortened_video_has_clips_left_for_wrong_ones() {
        let made = made();
        let own: Vec<&Instance> = made.instances.iter().collect();
        let wrong = |shortened| {
            let drawing = Drawing { shortened, unlike: 0.9, ..Drawing::default() };
            let pieces = Pieces::of(&made, &own, Split::Train, 32, &drawing);
            let drawn = Sampler::new(&pieces, Channels::default(), drawing, 1).epoch(0);
            let fault = Some(Fault::Breaks(Constraint::Correctness));
            drawn.iter().filter(|drawn| drawn.fault == fault).count()
        };
        assert_eq!(wrong(0.0), 0);
        assert!(wrong(1.0) > 0);
    }

    #[test]
    fn long_procedures_are_seen_in_windows_and_rates_are_kept() {
        let made = made();
        let own: Vec<&Instance> = made.instances.iter().collect();
        let none = Drawing { correctness: 0.0, continuity: 0.0, state: 0.0, ..Drawing::default() };
        let half = Drawing { swapped: 2.5, ..none };
        let pieces = Pieces::of(&made, &own, Split::Train, 2, &half);
        let sampler = Sampler::new(&pieces, Channels::default(), half, 3);
        let drawn = sampler.epoch(0);
        assert!(drawn.iter().all(|drawn| (1..=2).contains(&drawn.steps.len())));
        let (batch, right) = sampler.batch(&drawn);
        assert_eq!((batch.lengths.len(), right.len()), (drawn.len(), drawn.len()));
        let steps: usize = own.iter().map(|instance| instance.truth.len()).sum();
        let positives = drawn.iter().filter(|drawn| drawn.fault.is_none());
        assert_eq!(positives.map(|drawn| drawn.steps.len()).sum::<usize>(), steps);
        let whole = drawn.iter().filter(|d| d.steps.len() == 2);
        let (bad, good): (Vec<_>, Vec<_>) = whole.partition(|drawn| drawn.fault.is_some());
        let rate = bad.len() as f64 / good.len() as f64;
        assert!((rate - 2.5).abs() < 0.5, "{rate}");
    }
}
