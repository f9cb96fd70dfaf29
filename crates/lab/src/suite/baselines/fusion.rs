//! A small cross-attention transformer: the text of a step attends to the clips before it and predicts the
//! next clip's embedding. CoVR and VidDetours are forms of it.

use std::collections::HashMap;

use candle_core::{D, DType, Device, Result, Tensor, Var};
use candle_nn::optim::{AdamW, Optimizer, ParamsAdamW};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use stitch_core::clip::{Clip, ClipId, VideoId};
use stitch_core::cover::Sequence;
use stitch_core::features::{Features, similarity};
use stitch_core::pool::Pool;
use stitch_engine::scorer::{Query, Scorer, ScorerError};

use super::{Training, shown};
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
/// Added to logits that must not count.
const MASKED: f32 = -1e9;

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
    bias: Tensor,   // [1, out]
}

impl Linear {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
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
    fn tensor(&mut self, shape: (usize, usize), bound: f32) -> Result<Tensor> {
        let mut number = || bound * self.random.random_range(-1.0..1.0f32);
        let numbers: Vec<f32> = (0..shape.0 * shape.1).map(|_| number()).collect();
        let variable = Var::from_vec(numbers, shape, &Device::Cpu)?;
        self.variables.push(variable.clone());
        Ok(variable.as_tensor().clone())
    }

    fn linear(&mut self, into: usize, out: usize, scale: f32) -> Result<Linear> {
        let weight = self.tensor((into, out), scale / (into as f32).sqrt())?;
        Ok(Linear { weight, bias: self.tensor((1, out), 0.0)? })
    }
}

/// What the network sees: a step, and the clips before it, by row, the latest first; none where there are
/// fewer.
struct Input<'a> {
    text: &'a [f32],
    past: Vec<Option<usize>>,
}

/// An input with the clip that comes next.
struct Sample<'a> {
    input: Input<'a>,
    words: &'a str,
    clip: usize,
    place: usize,
}

impl Fusion {
    fn init(dim: usize, form: Form, seed: u64) -> Result<Self> {
        let random = ChaCha8Rng::seed_from_u64(seed);
        let mut fresh = Initialiser { random, variables: Vec::new() };
        let d = WIDTH;
        let network = Self {
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
        Ok(Self { variables: fresh.variables, ..network })
    }

    /// Clips, projected, and the start: \[N + 1, d\].
    fn tokens(&self, clips: Tensor) -> Result<Tensor> {
        Tensor::cat(&[&self.clip.forward(&clips)?, &self.start], 0)
    }

    /// Predictions of length 1 \[B, e\] and logits of places \[B, PLACES\]. `row` gives the row of a past
    /// clip among the tokens from its place among all \[B·P\] and its row in the pool.
    fn forward(
        &self,
        inputs: &[&Input<'_>],
        tokens: &Tensor,
        row: impl Fn(usize, usize) -> usize,
    ) -> Result<(Tensor, Tensor)> {
        let (b, p, d, size) = (inputs.len(), self.form.past, WIDTH, WIDTH / HEADS);
        let text = rows(inputs.iter().map(|input| input.text), self.dim)?;
        let (start, mut chosen, mut mask) = (tokens.dim(0)? - 1, Vec::new(), Vec::new());
        for input in inputs {
            // The latest comes first, so the start is at the first that is missing.
            let first = input.past.iter().position(Option::is_none).unwrap_or(p);
            for (at, clip) in input.past.iter().enumerate() {
                let number = chosen.len();
                chosen.push(clip.map_or(start, |clip| row(number, clip)) as u32);
                mask.push(if at > first { MASKED } else { 0.0 });
            }
        }
        let past = tokens.index_select(&Tensor::new(chosen, &Device::Cpu)?, 0)?;
        let past = past.reshape((b, p, d))?.broadcast_add(&self.place)?.reshape((b * p, d))?;
        let step = self.text.forward(&text)?; // [B, d]
        let heads = |x: Tensor, n: usize| {
            x.reshape((b, n, HEADS, size))?.transpose(1, 2)?.contiguous() // [B, H, n, s]
        };
        let q = heads(self.query.forward(&step)?, 1)?;
        let k = heads(self.key.forward(&past)?, p)?;
        let v = heads(self.value.forward(&past)?, p)?;
        let scores = (q.matmul(&k.t()?)? / (size as f64).sqrt())?; // [B, H, 1, P]
        let scores = scores.broadcast_add(&Tensor::from_vec(mask, (b, 1, 1, p), &Device::Cpu)?)?;
        let shares = candle_nn::ops::softmax(&scores, D::Minus1)?;
        let seen = shares.matmul(&v)?.transpose(1, 2)?.reshape((b, d))?;
        let x = (step + self.out.forward(&seen)?)?;
        let x = (&x + self.down.forward(&self.up.forward(&standard(&x)?)?.gelu()?)?)?; // [B, d]
        let x = standard(&x)?;
        Ok((unit(&(text + self.last.forward(&x)?)?)?, self.window.forward(&x)?))
    }

    fn train(training: &Training<'_>, form: Form) -> Result<Self> {
        let pool = training.pool;
        let network = Self::init(pool.clip_features().dim(), form, training.seed)?;
        let mut samples = samples(training, &places(pool), form.past);
        if samples.len() < MIN_BATCH {
            return Ok(network);
        }
        let params =
            ParamsAdamW { lr: LEARNING_RATE, weight_decay: 0.01, ..ParamsAdamW::default() };
        let mut optimiser = AdamW::new(network.variables.clone(), params)?;
        let mut random = ChaCha8Rng::seed_from_u64(training.seed ^ 1);
        let steps = (EPOCHS * samples.len().div_ceil(BATCH)).min(MAX_TRAINING_STEPS);
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

    fn loss(&self, batch: &[Sample<'_>], clips: &Features) -> Result<Tensor> {
        let wanted = rows(batch.iter().map(|sample| clips.row(sample.clip)), self.dim)?;
        let inputs: Vec<&Input> = batch.iter().map(|sample| &sample.input).collect();
        let zeros = vec![0.0; self.dim];
        let past = inputs.iter().flat_map(|input| &input.past);
        let past = past.map(|clip| clip.map_or(&zeros[..], |row| clips.row(row)));
        let tokens = self.tokens(rows(past, self.dim)?)?;
        let (found, window) = self.forward(&inputs, &tokens, |at, _| at)?;
        let cosines = (found.matmul(&wanted.t()?)? / TEMPERATURE)?; // [B, B]
        let cosines = cosines.add(&same_mask(batch)?)?;
        let loss =
            (self.contrastive(&cosines)? + self.contrastive(&cosines.t()?.contiguous()?)?)?;
        if !self.form.window {
            return Ok(loss);
        }
        let places: Vec<u32> = batch.iter().map(|sample| sample.place as u32).collect();
        loss + candle_nn::loss::cross_entropy(&window, &Tensor::new(places, &Device::Cpu)?)?
    }

    /// The contrastive loss of rows against the diagonal, HN-NCE where hard negatives weigh more.
    fn contrastive(&self, cosines: &Tensor) -> Result<Tensor> {
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
                (cosines + weights.clamp(-30.0, 30.0)?.mul(&(1.0 - &eye)?)?)?
            }
        };
        (weighed.log_sum_exp(1)? - own)?.mean_all()
    }
}

/// A trained network with the clips of a pool.
pub struct Predictor {
    network: Fusion,
    /// Of every clip.
    tokens: Tensor,
    places: Vec<usize>,
}

impl Predictor {
    pub fn train(training: &Training<'_>, form: Form) -> Result<Self> {
        Self::new(Fusion::train(training, form)?, training.pool)
    }

    fn new(network: Fusion, pool: &Pool) -> Result<Self> {
        let tokens = network.tokens(rows(pool.clip_features().rows(), network.dim)?)?.detach();
        Ok(Self { network, tokens, places: places(pool) })
    }

    /// For each candidate the mean cosine of predictions and clips, and the mean log-probability of
    /// their places. A step after the same clips is predicted once.
    fn predict(
        &self,
        query: &Query,
        pool: &Pool,
        candidates: &[Sequence],
    ) -> Result<Vec<(f32, f32)>> {
        let (mut known, mut inputs) = (HashMap::new(), Vec::new());
        let mut number = |step: usize, before: &[usize]| {
            let past = latest(before, self.network.form.past);
            *known.entry((step, past.clone())).or_insert_with(|| {
                inputs.push(Input { text: query.clip.row(step), past });
                inputs.len() - 1
            })
        };
        let mut steps = |candidate: &Sequence| -> Vec<(usize, ClipId)> {
            let mut before = Vec::new();
            let step = |(step, clip): (usize, ClipId)| {
                let number = number(step, &before);
                before.push(clip.row());
                (number, clip)
            };
            shown(candidate).map(step).collect()
        };
        let candidates: Vec<_> = candidates.iter().map(&mut steps).collect();
        let inputs: Vec<&Input> = inputs.iter().collect();
        let (found, window) = self.network.forward(&inputs, &self.tokens, |_, clip| clip)?;
        let found: Vec<Vec<f32>> = found.to_vec2()?;
        let window: Vec<Vec<f32>> = candle_nn::ops::log_softmax(&window, D::Minus1)?.to_vec2()?;
        let mean = |steps: Vec<(usize, ClipId)>| {
            let (mut cosines, mut places) = (0.0, 0.0);
            for (at, clip) in &steps {
                cosines += similarity(&found[*at], pool.clip_features().row(clip.row()));
                places += window[*at][self.places[clip.row()]];
            }
            let count = steps.len().max(1) as f32;
            (cosines / count, places / count)
        };
        Ok(candidates.into_iter().map(mean).collect())
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
    ) -> std::result::Result<Vec<f32>, ScorerError> {
        query.check(pool, candidates, self.network.dim)?;
        let predicted = self.predict(query, pool, candidates);
        let predicted =
            predicted.map_err(|e| ScorerError::Failed(Box::new(MeasureError::Network(e))))?;
        let score = self.network.form.score;
        Ok(predicted.into_iter().map(|(cosine, place)| score(cosine, place)).collect())
    }
}

/// The last of these, the latest first, padded with none.
fn latest(before: &[usize], past: usize) -> Vec<Option<usize>> {
    let found = before.iter().rev().map(|row| Some(*row));
    found.chain(std::iter::repeat(None)).take(past).collect()
}

fn samples<'a>(training: &Training<'a>, places: &[usize], past: usize) -> Vec<Sample<'a>> {
    let of_instance = |instance: &'a crate::collection::Instance| {
        let rows: Vec<usize> = instance.truth.iter().map(|clip| clip.row()).collect();
        (0..rows.len()).map(move |step| Sample {
            input: Input { past: latest(&rows[..step], past), text: instance.clip.row(step) },
            words: &instance.texts[step],
            clip: rows[step],
            place: places[rows[step]],
        })
    };
    training.instances.iter().copied().flat_map(of_instance).collect()
}

/// Where in its video each clip begins, in [`PLACES`] parts.
fn places(pool: &Pool) -> Vec<usize> {
    let mut ends: HashMap<VideoId, u64> = HashMap::new();
    for clip in pool.clips() {
        let end = ends.entry(clip.video).or_insert(1);
        *end = (*end).max(clip.span.end());
    }
    let place = |clip: &Clip| {
        ((clip.span.start() as usize * PLACES) / ends[&clip.video] as usize).min(PLACES - 1)
    };
    pool.clips().iter().map(place).collect()
}

/// Masks pairs of samples of the same clip or the same words, which are no negatives.
fn same_mask(batch: &[Sample<'_>]) -> Result<Tensor> {
    let b = batch.len();
    let pair = |at: usize| {
        let (one, other) = (&batch[at / b], &batch[at % b]);
        let same = one.clip == other.clip || one.words == other.words;
        if same && at / b != at % b { MASKED } else { 0.0 }
    };
    Tensor::from_vec((0..b * b).map(pair).collect(), (b, b), &Device::Cpu)
}

fn rows<'a>(rows: impl Iterator<Item = &'a [f32]>, dim: usize) -> Result<Tensor> {
    let numbers: Vec<f32> = rows.flatten().copied().collect();
    let count = numbers.len() / dim;
    Tensor::from_vec(numbers, (count, dim), &Device::Cpu)
}

/// Rows of mean 0 and variance 1, in operations that have a gradient.
fn standard(x: &Tensor) -> Result<Tensor> {
    let x = x.broadcast_sub(&x.mean_keepdim(D::Minus1)?)?;
    let variance = x.sqr()?.mean_keepdim(D::Minus1)?;
    x.broadcast_div(&(variance + 1e-5)?.sqrt()?)
}

/// Rows of length 1.
fn unit(x: &Tensor) -> Result<Tensor> {
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
            instances: made
                .instances
                .iter()
                .enumerate()
                .filter(|(at, _)| at % 4 != 0)
                .map(|(_, i)| i)
                .collect(),
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
        let learnt = &training.instances;
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
