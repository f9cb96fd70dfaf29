//! What training sees: procedures with their clips, and on the fly the same with one constraint broken.
//! All of it follows from a seed and the number of the epoch, so that nothing need be remembered to go
//! on in the middle of one.

use std::collections::{BTreeMap, HashMap, HashSet};

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use stitch_core::clip::{ClipId, VideoId};
use stitch_core::features::{Features, similarity};
use stitch_core::pool::Pool;
use stitch_engine::evaluator::{Batch, Channels, Inputs};

use crate::collection::{Collection, Instance};
use crate::dataset::Split;
use crate::negatives::{Constraint, Ground, negative};

/// How many clips that show a step are thought of for its negatives.
const MOST_SHOWING: usize = 24;

/// How often a negative is drawn anew because it was some other procedure's truth.
const TRIES: usize = 3;

/// How negatives are made.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Negatives {
    /// How many for each positive, of those that break correctness.
    pub correctness: f64,
    /// Continuity.
    pub continuity: f64,
    /// The order of states.
    pub state: f64,
    /// From which similarity of texts on a clip shows a step.
    pub shows: f32,
    /// Below which it surely does not.
    pub unlike: f32,
}

impl Default for Negatives {
    fn default() -> Self {
        Self { correctness: 1.0, continuity: 1.0, state: 1.0, shows: 0.7, unlike: 0.45 }
    }
}

impl Negatives {
    /// How many of this kind for each positive.
    pub fn rate(&self, constraint: Constraint) -> f64 {
        match constraint {
            Constraint::Correctness => self.correctness,
            Constraint::Continuity => self.continuity,
            Constraint::State => self.state,
        }
    }

    /// Without those of these kinds.
    pub fn without(mut self, kinds: &[Constraint]) -> Self {
        for kind in kinds {
            match kind {
                Constraint::Correctness => self.correctness = 0.0,
                Constraint::Continuity => self.continuity = 0.0,
                Constraint::State => self.state = 0.0,
            }
        }
        self
    }
}

/// The procedures of one part, those longer than the evaluator takes cut into windows.
pub struct Pieces<'a> {
    pool: &'a Pool,
    videos: HashMap<VideoId, Vec<ClipId>>,
    pieces: Vec<Piece>,
}

struct Piece {
    text: Features,
    clip: Features,
    truth: Vec<ClipId>,
    showing: Vec<Vec<ClipId>>,
}

impl<'a> Pieces<'a> {
    /// Of these procedures of a part of a collection.
    pub fn of(
        collection: &'a Collection,
        instances: &[&Instance],
        split: Split,
        longest: usize,
        negatives: &Negatives,
    ) -> Self {
        let videos = collection.clips_with_words(split);
        let showing = showing(&collection.pool, instances, &videos, negatives.shows);
        let windows = instances.iter().flat_map(|instance| {
            let starts = (0..instance.truth.len()).step_by(longest.max(1));
            starts.map(move |start| (*instance, start..(start + longest).min(instance.truth.len())))
        });
        let piece = |(instance, window): (&Instance, std::ops::Range<usize>)| Piece {
            text: rows(&instance.text, window.clone()),
            clip: rows(&instance.clip, window.clone()),
            truth: instance.truth[window.clone()].to_vec(),
            showing: window.map(|step| showing[instance.texts[step].as_str()].clone()).collect(),
        };
        Self { pool: &collection.pool, pieces: windows.map(piece).collect(), videos }
    }

    /// How many videos there are to take clips from.
    pub fn videos(&self) -> usize {
        self.videos.len()
    }

    /// How many positives there are.
    pub fn len(&self) -> usize {
        self.pieces.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }
}

fn rows(features: &Features, which: std::ops::Range<usize>) -> Features {
    let mut out = Features::empty(features.dim());
    which.for_each(|row| out.push(features.row(row)));
    out
}

/// For every different step text some clips that show it.
fn showing<'a>(
    pool: &Pool,
    instances: &[&'a Instance],
    videos: &HashMap<VideoId, Vec<ClipId>>,
    shows: f32,
) -> HashMap<&'a str, Vec<ClipId>> {
    let mut clips: Vec<ClipId> = videos.values().flatten().copied().collect();
    clips.sort_unstable();
    let mut steps: BTreeMap<&str, &[f32]> = BTreeMap::new();
    for instance in instances {
        steps.extend(instance.texts.iter().map(String::as_str).zip(instance.text.rows()));
    }
    let texts = pool.text_features();
    let find = |(text, row): (&'a str, &[f32])| {
        let near = |clip: &ClipId| similarity(row, texts.row(clip.row())) >= shows;
        let all: Vec<ClipId> = clips.iter().copied().filter(near).collect();
        let apart = all.len().div_ceil(MOST_SHOWING).max(1);
        (text, all.into_iter().step_by(apart).collect())
    };
    steps.into_par_iter().map(find).collect()
}

/// Draws positives and negatives.
pub struct Sampler<'a> {
    grounds: Vec<Ground<'a>>,
    inputs: Vec<Inputs<'a>>,
    pieces: &'a [Piece],
    truths: HashSet<&'a [ClipId]>,
    negatives: Negatives,
    seed: u64,
}

/// A sequence of clips for a procedure, and whether it is a good one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// The procedure, by number.
    pub piece: usize,
    /// A clip for each step.
    pub clips: Vec<ClipId>,
    /// What is broken; nothing for a positive.
    pub broken: Option<Constraint>,
}

impl<'a> Sampler<'a> {
    /// Draws from these procedures, for an evaluator with these channels.
    pub fn new(
        pieces: &'a Pieces<'a>,
        channels: Channels,
        negatives: Negatives,
        seed: u64,
    ) -> Self {
        let ground = |piece: &'a Piece| Ground {
            pool: pieces.pool,
            steps: &piece.text,
            showing: piece.showing.clone(),
            videos: &pieces.videos,
            shows: negatives.shows,
            unlike: negatives.unlike,
        };
        let inputs = |piece: &'a Piece| Inputs::new(channels, &piece.clip, pieces.pool);
        Self {
            grounds: pieces.pieces.iter().map(ground).collect(),
            inputs: pieces.pieces.par_iter().map(inputs).collect(),
            truths: pieces.pieces.iter().map(|piece| piece.truth.as_slice()).collect(),
            pieces: &pieces.pieces,
            negatives,
            seed,
        }
    }

    /// All positives in an order by chance, each followed by its negatives, so that a batch shows what
    /// makes the difference.
    pub fn epoch(&self, epoch: usize) -> Vec<Drawn> {
        let mut order: Vec<usize> = (0..self.pieces.len()).collect();
        order.shuffle(&mut self.random(epoch, u32::MAX as usize));
        order.into_par_iter().flat_map_iter(|piece| self.draw(epoch, piece)).collect()
    }

    fn draw(&self, epoch: usize, piece: usize) -> Vec<Drawn> {
        let mut random = self.random(epoch, piece);
        let positive = Drawn { piece, clips: self.pieces[piece].truth.clone(), broken: None };
        let mut drawn = vec![positive];
        for constraint in Constraint::ALL {
            let rate = self.negatives.rate(constraint);
            let more = random.random_range(0.0..1.0) < rate.fract();
            for _ in 0..rate as usize + usize::from(more) {
                let clips = self.negative(constraint, piece, &mut random);
                drawn.extend(clips.map(|clips| Drawn { piece, clips, broken: Some(constraint) }));
            }
        }
        drawn
    }

    /// A negative that is no procedure's truth; none where none can be made.
    fn negative(
        &self,
        constraint: Constraint,
        piece: usize,
        random: &mut ChaCha8Rng,
    ) -> Option<Vec<ClipId>> {
        let make =
            |_| negative(constraint, &self.pieces[piece].truth, &self.grounds[piece], random);
        (0..TRIES).map_while(make).find(|clips| !self.truths.contains(clips.as_slice()))
    }

    /// A stream of its own for each epoch and procedure.
    fn random(&self, epoch: usize, piece: usize) -> ChaCha8Rng {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        random.set_stream((epoch as u64) << 32 | piece as u64);
        random
    }

    /// Sequences ready for the network, with their labels.
    pub fn batch(&self, drawn: &[Drawn]) -> (Batch, Vec<f32>) {
        let mut batch = Batch::default();
        for sequence in drawn {
            let clips: Vec<_> = sequence.clips.iter().copied().enumerate().collect();
            self.inputs[sequence.piece].add(&clips, &mut batch);
        }
        let label = |sequence: &Drawn| if sequence.broken.is_none() { 1.0 } else { 0.0 };
        (batch, drawn.iter().map(label).collect())
    }
}
