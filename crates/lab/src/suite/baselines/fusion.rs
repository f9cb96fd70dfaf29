//! A small cross-attention transformer: the text of a step attends to the clips before it and predicts the
//! next clip's embedding. CoVR and VidDetours are forms of it.

use std::collections::HashMap;

use candle_core::{D, DType, Device, Tensor, Var};
use candle_nn::optim::{AdamW, Optimizer, ParamsAdamW};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use stitch_core::clip::ClipId;
use stitch_core::cover::Sequence;
use stitch_core::features::Features;
use stitch_core::pool::Pool;
use stitch_engine::scorer::{Query, Scorer, ScorerError};

use super::Training;
use super::measures::shown;
use crate::suite::MeasureError;

// All chosen by hand.
/// The length of a token.
const WIDTH: usize = 128;
const HEADS: usize = 4;
const BATCH: usize = 64;
/// Smaller batches have too few negatives.
const MIN_BATCH: usize = 4;
const EPOCHS: usize = 12;
/// Limits the time that a large set takes.
const MAX_TRAINING_STEPS: usize = 210;
const LEARNING_RATE: f64 = 1e-3;
/// Of the contrastive softmax.
pub const TEMPERATURE: f64 = 0.07;
/// Parts of a video that the window head distinguishes.
const PLACES: usize = 10;

#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// In reports.
    pub name: &'static str,
    /// Clips before the step that it attends to.
    pub past: usize,
    /// HN-NCE's β: how much more similar negatives weigh in the loss.
    pub hard_negatives: Option<f64>,
    /// Whether it also predicts where in its video the next clip is.
    pub window: bool,
    /// The score of a candidate from its mean cosine and the mean log-probability of its places.
    pub score: fn(f32, f32) -> f32,
}

struct Linear {
    weight: Tensor, // [in, out]
    bias: Tensor,   // [out]
}

impl Linear {
    fn forward(&self, x: &Tensor) -> candle_core::Result<Tensor> {
        x.matmul(&self.weight)?.broadcast_add(&self.bias)
    }
}

struct Fusion {
    form: Form,
    dim: usize,
    clip: Linear,   // e -> d
    text: Linear,   // e -> d
    start: Tensor,  // [1, d]: stands before the first clip
    place: Tensor,  // [past, d]: position embedding, the latest clip first
    query: Linear,  // d -> d
    key: Linear,    // d -> d
    value: Linear,  // d -> d
    out: Linear,    // d -> d
    up: Linear,     // d -> 2d
    down: Linear,   // 2d -> d
    last: Linear,   // d -> e
    window: Linear, // d -> PLACES
    variables: Vec<Var>,
}

struct Initialiser {
    random: ChaCha8Rng,
    variables: Vec<Var>,
}

impl Initialiser {
    fn tensor(&mut self, shape: (usize, usize), bound: f32) -> candle_core::Result<Tensor> {
        let count = shape.0 * shape.1;
        let numbers: Vec<f32> =
            (0..count).map(|_| bound * self.random.random_range(-1.0..1.0f32)).collect();
        let variable = Var::from_tensor(&Tensor::from_vec(numbers, shape, &Device::Cpu)?)?;
        self.variables.push(variable.clone());
        Ok(variable.as_tensor().clone())
    }

    fn linear(&mut self, into: usize, out: usize, scale: f32) -> candle_core::Result<Linear> {
        let weight = self.tensor((into, out), scale / (into as f32).sqrt())?;
        let bias = self.tensor((1, out), 0.0)?.squeeze(0)?;
        Ok(Linear { weight, bias })
    }
}

/// A training sample: the clips before, by row; the step; the next clip, and its place.
struct Sample<'a> {
    past: Vec<Option<usize>>,
    text: &'a [f32],
    words: &'a str,
    clip: usize,
    place: usize,
}

impl Fusion {
    fn init(dim: usize, form: Form, seed: u64) -> candle_core::Result<Self> {
        let mut fresh =
            Initialiser { random: ChaCha8Rng::seed_from_u64(seed), variables: Vec::new() };
        let d = WIDTH;
        let mut network = Self {
            form,
            dim,
            clip: fresh.linear(dim, d, 1.0)?,
            text: fresh.linear(dim, d, 1.0)?,
            start: fresh.tensor((1, d), 0.1)?,
            place: fresh.tensor((form.past, d), 0.1)?,
            query: fresh.linear(d, d, 1.0)?,
            key: fresh.linear(d, d, 1.0)?,
            value: fresh.linear(d, d, 1.0)?,
            out: fresh.linear(d, d, 1.0)?,
            up: fresh.linear(d, 2 * d, 1.0)?,
            down: fresh.linear(2 * d, d, 1.0)?,
            // Small at first, so that training begins at the step's own text.
            last: fresh.linear(d, dim, 0.1)?,
            window: fresh.linear(d, PLACES, 0.1)?,
            variables: Vec::new(),
        };
        network.variables = fresh.variables;
        Ok(network)
    }

    /// From steps \[B, e\] and projected clips before them \[B, P, d\], of which those count whose mask
    /// \[B, P\] is 0, to predictions of length 1 \[B, e\] and of places \[B, PLACES\].
    fn predict(
        &self,
        text: &Tensor,
        past: &Tensor,
        mask: &Tensor,
    ) -> candle_core::Result<(Tensor, Tensor)> {
        let (b, p, d) = past.dims3()?;
        let size = d / HEADS;
        let step = self.text.forward(text)?; // [B, d]
        let past = past.broadcast_add(&self.place)?.reshape((b * p, d))?;
        let heads = |x: Tensor, n: usize| {
            x.reshape((b, n, HEADS, size))?.transpose(1, 2)?.contiguous() // [B, H, n, s]
        };
        let q = heads(self.query.forward(&step)?, 1)?;
        let k = heads(self.key.forward(&past)?, p)?;
        let v = heads(self.value.forward(&past)?, p)?;
        let scores = (q.matmul(&k.t()?)? / (size as f64).sqrt())?; // [B, H, 1, P]
        let scores = scores.broadcast_add(&mask.reshape((b, 1, 1, p))?)?;
        let shares = candle_nn::ops::softmax(&scores, D::Minus1)?;
        let seen = shares.matmul(&v)?.transpose(1, 2)?.reshape((b, d))?;
        let x = (step + self.out.forward(&seen)?)?;
        let x = (&x + self.down.forward(&self.up.forward(&standard(&x)?)?.gelu()?)?)?; // [B, d]
        let x = standard(&x)?;
        Ok((unit(&(text + self.last.forward(&x)?)?)?, self.window.forward(&x)?))
    }

    fn train(training: &Training<'_>, form: Form) -> candle_core::Result<Self> {
        let pool = training.pool;
        let network = Self::init(pool.clip_features().dim(), form, training.seed)?;
        let places = places(pool);
        let mut samples = samples(training, &places, form.past);
        if samples.len() < MIN_BATCH {
            return Ok(network);
        }
        let params =
            ParamsAdamW { lr: LEARNING_RATE, weight_decay: 0.01, ..ParamsAdamW::default() };
        let mut optimiser = AdamW::new(network.variables.clone(), params)?;
        let mut random = ChaCha8Rng::seed_from_u64(training.seed ^ 1);
        let per_epoch = samples.len().div_ceil(BATCH);
        let steps = (EPOCHS * per_epoch).min(MAX_TRAINING_STEPS);
        let mut done = 0;
        while done < steps {
            samples.shuffle(&mut random);
            for batch in samples.chunks(BATCH).filter(|batch| batch.len() >= MIN_BATCH) {
                let loss = network.loss(batch, pool.clip_features())?;
                let share = done as f64 / steps as f64; // cosine schedule
                let factor = 0.5 * (1.0 + (share * std::f64::consts::PI).cos());
                optimiser.set_learning_rate(LEARNING_RATE * factor);
                optimiser.backward_step(&loss)?;
                done += 1;
            }
        }
        Ok(network)
    }

    fn loss(&self, batch: &[Sample<'_>], clips: &Features) -> candle_core::Result<Tensor> {
        let text = rows(batch.iter().map(|sample| sample.text), self.dim)?;
        let wanted = rows(batch.iter().map(|sample| clips.row(sample.clip)), self.dim)?;
        let zeros = vec![0.0; self.dim];
        let before = batch.iter().flat_map(|sample| &sample.past);
        let before = before.map(|clip| clip.map_or(&zeros[..], |row| clips.row(row)));
        let before = self.clip.forward(&rows(before, self.dim)?)?; // [B·P, d]
        let (past, mask) = self.with_start(before, batch.iter().map(|sample| &sample.past[..]))?;
        let (found, window) = self.predict(&text, &past, &mask)?;
        let cosines = (found.matmul(&wanted.t()?)? / TEMPERATURE)?; // [B, B]
        let cosines = cosines.add(&same_mask(batch)?)?;
        let loss =
            (self.contrastive(&cosines)? + self.contrastive(&cosines.t()?.contiguous()?)?)?;
        if !self.form.window {
            return Ok(loss);
        }
        let places: Vec<u32> = batch.iter().map(|sample| sample.place as u32).collect();
        let places = Tensor::new(places, &Device::Cpu)?;
        loss + candle_nn::loss::cross_entropy(&window, &places)?
    }

    /// The contrastive loss of rows against the diagonal, HN-NCE where hard negatives weigh more.
    fn contrastive(&self, cosines: &Tensor) -> candle_core::Result<Tensor> {
        let b = cosines.dim(0)?;
        let eye = Tensor::eye(b, DType::F32, &Device::Cpu)?;
        let own = (cosines * &eye)?.sum(1)?; // [B]
        let weighed = match self.form.hard_negatives {
            None => cosines.clone(),
            Some(beta) => {
                // log of (B - 1) · softmax(β s) over the negatives; the positive keeps its weight.
                let others = ((cosines.detach() * beta)? - (&eye * 1e9)?)?;
                let all = others.log_sum_exp(1)?.unsqueeze(1)?;
                let weights = (others.broadcast_sub(&all)? + ((b - 1) as f64).ln())?;
                let others = (1.0 - &eye)?;
                (cosines + weights.clamp(-30.0, 30.0)?.mul(&others)?)?
            }
        };
        (weighed.log_sum_exp(1)? - own)?.mean_all()
    }

    /// The start embedding before the first clip; places before that are masked.
    fn with_start<'a>(
        &self,
        past: Tensor,
        clips: impl Iterator<Item = &'a [Option<usize>]> + Clone,
    ) -> candle_core::Result<(Tensor, Tensor)> {
        let p = self.form.past;
        let b = past.dim(0)? / p;
        let (mut starts, mut masks) = (Vec::new(), Vec::new());
        for before in clips {
            // The latest comes first, so the start is at the first that is missing.
            let first = before.iter().position(Option::is_none);
            for at in 0..p {
                starts.push(f32::from(u8::from(first == Some(at))));
                masks.push(if first.is_some_and(|first| at > first) { -1e9f32 } else { 0.0 });
            }
        }
        let starts = Tensor::from_vec(starts, (b * p, 1), &Device::Cpu)?;
        let start = starts.matmul(&self.start)?;
        let past = past.broadcast_mul(&(1.0 - &starts)?)?.add(&start)?.reshape((b, p, WIDTH))?;
        Ok((past, Tensor::from_vec(masks, (b, p), &Device::Cpu)?))
    }
}

/// A trained network with the clips of a pool.
pub struct Predictor {
    network: Fusion,
    /// Every clip, projected; the last row is zero. \[N + 1, d\]
    table: Tensor,
    places: Vec<usize>,
}

impl Predictor {
    pub fn train(training: &Training<'_>, form: Form) -> Result<Self, MeasureError> {
        Ok(Self::new(Fusion::train(training, form)?, training.pool)?)
    }

    fn new(network: Fusion, pool: &Pool) -> candle_core::Result<Self> {
        let clips = pool.clip_features();
        let all = Tensor::from_slice(clips.as_slice(), (clips.len(), clips.dim()), &Device::Cpu)?;
        let table = network.clip.forward(&all)?.detach();
        let nothing = Tensor::zeros((1, WIDTH), DType::F32, &Device::Cpu)?;
        let table = Tensor::cat(&[table, nothing], 0)?;
        Ok(Self { network, table, places: places(pool) })
    }

    /// For each candidate the mean cosine of predictions and clips, and the mean log-probability of
    /// their places. A step after the same clips is predicted once.
    fn predict(
        &self,
        query: &Query,
        pool: &Pool,
        candidates: &[Sequence],
    ) -> Result<Vec<(f32, f32)>, ScorerError> {
        query.check(pool, candidates, self.network.dim)?;
        let mut inputs = Inputs::default();
        let past = self.network.form.past;
        let numbers: Vec<Vec<(usize, ClipId)>> =
            candidates.iter().map(|candidate| inputs.add(candidate, past)).collect();
        let outputs = self.forward(&inputs, query);
        let (found, window) =
            outputs.map_err(|e| ScorerError::Failed(Box::new(MeasureError::Network(e))))?;
        let (dim, clips) = (self.network.dim, pool.clip_features());
        let one = |steps: &Vec<(usize, ClipId)>| {
            let (mut cosines, mut places) = (0.0, 0.0);
            for (at, clip) in steps {
                let row = &found[at * dim..(at + 1) * dim];
                cosines += stitch_core::features::similarity(row, clips.row(clip.row()));
                places += window[at * PLACES + self.places[clip.row()]];
            }
            let count = steps.len().max(1) as f32;
            (cosines / count, places / count)
        };
        Ok(numbers.iter().map(one).collect())
    }

    /// Predictions, row after row, and log-probabilities of the places.
    fn forward(&self, inputs: &Inputs, query: &Query) -> candle_core::Result<(Vec<f32>, Vec<f32>)> {
        let p = self.network.form.past;
        let nothing = self.places.len() as u32;
        let text =
            rows(inputs.keys.iter().map(|(step, _)| query.clip.row(*step)), self.network.dim)?;
        let before = inputs.keys.iter().flat_map(|(_, past)| past);
        let before: Vec<u32> = before.map(|clip| clip.map_or(nothing, |row| row as u32)).collect();
        debug_assert_eq!(before.len(), p * inputs.keys.len());
        let before = self.table.index_select(&Tensor::new(before, &Device::Cpu)?, 0)?;
        let clips = inputs.keys.iter().map(|(_, past)| &past[..]);
        let (past, mask) = self.network.with_start(before, clips)?;
        let (found, window) = self.network.predict(&text, &past, &mask)?;
        let window = candle_nn::ops::log_softmax(&window, D::Minus1)?;
        Ok((found.flatten_all()?.to_vec1()?, window.flatten_all()?.to_vec1()?))
    }
}

impl Scorer for Predictor {
    fn name(&self) -> &str {
        self.network.form.name
    }

    fn score(
        &self,
        query: &Query,
        pool: &Pool,
        candidates: &[Sequence],
    ) -> Result<Vec<f32>, ScorerError> {
        let predicted = self.predict(query, pool, candidates)?;
        let score = self.network.form.score;
        Ok(predicted.into_iter().map(|(cosine, place)| score(cosine, place)).collect())
    }
}

/// A step and the clips shown before it, the latest first.
type Key = (usize, Vec<Option<usize>>);

/// Every distinct input of the network once.
#[derive(Default)]
struct Inputs {
    numbers: HashMap<Key, usize>,
    keys: Vec<Key>,
}

impl Inputs {
    /// The inputs of a candidate by number, each with the next clip.
    fn add(&mut self, candidate: &Sequence, past: usize) -> Vec<(usize, ClipId)> {
        let mut before: Vec<usize> = Vec::new();
        let mut numbers = Vec::new();
        for (step, clip) in shown(candidate) {
            let key = (step, latest(&before, past));
            let next = self.keys.len();
            let number = *self.numbers.entry(key.clone()).or_insert(next);
            if number == next {
                self.keys.push(key);
            }
            numbers.push((number, clip));
            before.push(clip.row());
        }
        numbers
    }
}

/// The last of these, the latest first, padded with none.
fn latest(before: &[usize], past: usize) -> Vec<Option<usize>> {
    let found = before.iter().rev().map(|row| Some(*row));
    found.chain(std::iter::repeat(None)).take(past).collect()
}

fn samples<'a>(training: &Training<'a>, places: &[usize], past: usize) -> Vec<Sample<'a>> {
    let mut samples = Vec::new();
    for instance in training.instances() {
        let rows: Vec<usize> = instance.truth.iter().map(|clip| clip.row()).collect();
        for (step, clip) in rows.iter().enumerate() {
            samples.push(Sample {
                past: latest(&rows[..step], past),
                text: instance.clip.row(step),
                words: &instance.texts[step],
                clip: *clip,
                place: places[*clip],
            });
        }
    }
    samples
}

/// Where in its video each clip begins, in [`PLACES`] parts.
fn places(pool: &Pool) -> Vec<usize> {
    let mut ends: HashMap<u32, u64> = HashMap::new();
    for clip in pool.clips() {
        let end = ends.entry(clip.video.0).or_default();
        *end = (*end).max(clip.span.end());
    }
    let place = |clip: &stitch_core::clip::Clip| {
        let end = ends.get(&clip.video.0).copied().unwrap_or(1).max(1);
        ((clip.span.start() as usize * PLACES) / end as usize).min(PLACES - 1)
    };
    pool.clips().iter().map(place).collect()
}

/// -1e9 for pairs of samples of the same clip or the same words, which are no negatives.
fn same_mask(batch: &[Sample<'_>]) -> candle_core::Result<Tensor> {
    let pairs = batch.iter().enumerate().flat_map(|(i, a)| {
        batch.iter().enumerate().map(move |(j, b)| {
            let same = i != j && (a.clip == b.clip || a.words == b.words);
            if same { -1e9f32 } else { 0.0 }
        })
    });
    Tensor::from_vec(pairs.collect::<Vec<f32>>(), (batch.len(), batch.len()), &Device::Cpu)
}

fn rows<'a>(rows: impl Iterator<Item = &'a [f32]>, dim: usize) -> candle_core::Result<Tensor> {
    let numbers: Vec<f32> = rows.flatten().copied().collect();
    let count = numbers.len() / dim;
    Tensor::from_vec(numbers, (count, dim), &Device::Cpu)
}

/// Rows of mean 0 and variance 1, in operations that have a gradient.
fn standard(x: &Tensor) -> candle_core::Result<Tensor> {
    let x = x.broadcast_sub(&x.mean_keepdim(D::Minus1)?)?;
    let variance = x.sqr()?.mean_keepdim(D::Minus1)?;
    x.broadcast_div(&(variance + 1e-5)?.sqrt()?)
}

/// Rows of length 1.
fn unit(x: &Tensor) -> candle_core::Result<Tensor> {
    x.broadcast_div(&(x.sqr()?.sum_keepdim(D::Minus1)? + 1e-12)?.sqrt()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::fixture::{Made, collection};

    #[test]
    fn training_brings_predictions_to_the_clips_that_come() {
        let made = collection(&Made { tasks: 6, videos: 8, steps: 4, seed: 3 });
        let training = Training {
            pool: &made.pool,
            all: &made.instances,
            instances: (0..made.instances.len()).filter(|at| at % 4 != 0).collect(),
            questions: Vec::new(),
            seed: 1,
        };
        let form = Form {
            name: "test",
            past: 3,
            hard_negatives: Some(0.5),
            window: true,
            score: |cosine, _| cosine,
        };
        // On so few videos it learns these; what it does on others is what `stitch eval` measures.
        let learnt: Vec<_> = training.instances.iter().map(|at| &made.instances[*at]).collect();
        let fit = |network: Fusion| {
            let predictor = Predictor::new(network, &made.pool).unwrap();
            let one = |instance: &&crate::collection::Instance| {
                let truth: Vec<_> = instance.truth.iter().copied().map(Some).collect();
                let turned: Vec<_> = truth.iter().rev().copied().collect();
                let asked = crate::suite::test_set::query(instance);
                let both = [Sequence(truth), Sequence(turned)];
                let said = predictor.predict(&asked, &made.pool, &both).unwrap();
                // How much better the truth fits than the same clips the other way round.
                (said[0].0 - said[1].0, said[0].1)
            };
            let sums = learnt.iter().map(one).fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
            (sums.0 / learnt.len() as f32, sums.1 / learnt.len() as f32)
        };
        let before = fit(Fusion::init(16, form, 1).unwrap());
        let after = fit(Fusion::train(&training, form).unwrap());
        assert!(after.0 > before.0, "{before:?} {after:?}");
        assert!(after.1 > before.1 + 0.5, "{before:?} {after:?}");
        assert_eq!(after, fit(Fusion::train(&training, form).unwrap()), "the seed decides");
    }

    #[test]
    fn what_came_before_is_the_latest_first() {
        assert_eq!(latest(&[1, 2, 3], 2), [Some(3), Some(2)]);
        assert_eq!(latest(&[1], 3), [Some(1), None, None]);
    }
}
