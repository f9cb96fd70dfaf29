//! A small transformer over the text of a step and the clips before it, which predicts the next clip's
//! embedding, and where in its video that clip is. CoVR and VidDetours are forms of it.

use std::collections::HashMap;
use std::hash::Hash;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use stitch_core::clip::{Clip, ClipId, VideoId};
use stitch_core::cover::Sequence;
use stitch_core::features::{Rows, normalise, similarity};
use stitch_core::pool::Pool;
use stitch_engine::scorer::{Query, Scorer, Scores};
use stitch_nn::evaluator::{
    Activations, AdamW, AdamWState, Batch, Dropout, EvaluatorConfig, EvaluatorNetwork,
};
use stitch_nn::kernels::Activation;

use super::{Training, shown};
use crate::collection::Instance;

// All chosen by hand.
/// The length of a token.
const WIDTH: usize = 128;
/// In the second, the learnt token sees what text and clips made of each other in the first.
const LAYERS: usize = 2;
const HEADS: usize = 4;
/// Parts of a video that the window head distinguishes.
const PLACES: usize = 10;
const BATCH: usize = 64;
/// Smaller batches have too few negatives.
const MIN_BATCH: usize = 4;
const EPOCHS: usize = 24;
/// Limits the time that a large set takes.
const MAX_TRAINING_STEPS: usize = 210;
const LEARNING_RATE: f64 = 2e-3;
/// Of the contrastive softmax.
pub const TEMPERATURE: f32 = 0.07;
/// Added to logits that must not count.
const MASKED: f32 = -1e9;

#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// In reports.
    pub name: &'static str,
    /// Clips before the step that it attends to.
    pub past: usize,
    /// HN-NCE's β: how much more similar negatives weigh in the loss.
    pub hard_negatives: Option<f32>,
    /// Whether it also predicts where in its video the next clip is.
    pub window: bool,
    /// The score of a candidate from its mean cosine and the mean log-probability of its places.
    pub score: fn(f32, f32) -> f32,
}

/// A step, the clips before it by row in the pool, the latest first, and the clip that comes next.
struct Sample<'a> {
    text: &'a [f32],
    words: &'a str,
    past: Vec<usize>,
    clip: usize,
    place: usize,
}

impl Form {
    /// An untrained network: the first outputs are added to the text, the others are logits of places.
    fn init(&self, dim: usize, seed: u64) -> EvaluatorNetwork {
        let config = EvaluatorConfig {
            inputs: dim,
            width: WIDTH,
            layers: LAYERS,
            heads: HEADS,
            hidden: 2 * WIDTH,
            norm_first: true,
            activation: Activation::Gelu,
            max_steps: 1 + self.past,
            outputs: dim + PLACES,
        };
        let mut network = EvaluatorNetwork::init(config, seed);
        // The last layer is small at first, so that training begins at the step's own text.
        let parameters = &mut network.parameters;
        let last = parameters.len() - (WIDTH + 1) * (dim + PLACES);
        parameters[last..].iter_mut().for_each(|x| *x *= 0.1);
        network
    }

    fn train(&self, training: &Training<'_>) -> EvaluatorNetwork {
        let clips = training.pool.clip_features();
        let mut network = self.init(clips.dim(), training.seed);
        let mut samples = samples(training, &places(training.pool), self.past);
        if samples.len() < MIN_BATCH {
            return network;
        }
        let mut gradient = vec![0.0; network.parameters.len()];
        let mut state = AdamWState::new(gradient.len());
        let mut activations = Activations::new(&network.config);
        let mut random = ChaCha8Rng::seed_from_u64(training.seed ^ 1);
        let steps = (EPOCHS * samples.len().div_ceil(BATCH)).min(MAX_TRAINING_STEPS);
        let mut done = 0;
        while done < steps {
            samples.shuffle(&mut random);
            for batch in samples.chunks(BATCH).filter(|batch| batch.len() >= MIN_BATCH) {
                let slopes = |outputs: &[f32]| self.loss(batch, outputs, clips).1;
                let inputs = inputs(batch, clips);
                let none = Dropout::none();
                network.gradient(&inputs, none, slopes, &mut activations, &mut gradient);
                let share = done as f64 / steps as f64; // cosine schedule
                let factor = 0.5 * (1.0 + (share * std::f64::consts::PI).cos());
                let learning_rate = LEARNING_RATE * factor;
                let adamw = AdamW { learning_rate, weight_decay: 0.01, max_gradient_norm: 1.0 };
                adamw.step(&mut network.parameters, &mut state, &gradient);
                done += 1;
            }
        }
        network
    }

    /// The loss of a batch, and its gradient by the network's outputs.
    fn loss(&self, batch: &[Sample<'_>], outputs: &[f32], clips: &dyn Rows) -> (f32, Vec<f32>) {
        let (b, dim) = (batch.len(), clips.dim());
        let rows = || batch.iter().zip(outputs.chunks_exact(dim + PLACES));
        let found: Vec<_> = rows().map(|(sample, output)| predict(sample.text, output)).collect();
        let cosines = cosines(batch, &found, clips);
        let mut d_cosines = vec![0.0; b * b];
        let mut loss = self.contrastive(&cosines, &mut d_cosines, |own, other| own * b + other);
        loss += self.contrastive(&cosines, &mut d_cosines, |own, other| other * b + own);
        let mut slopes = vec![0.0; outputs.len()];
        for (own, (sample, output)) in rows().enumerate() {
            let slopes = &mut slopes[own * output.len()..][..output.len()];
            let (d_sum, d_window) = slopes.split_at_mut(dim);
            for (other, slope) in batch.iter().zip(&d_cosines[own * b..]) {
                let clip = clips.row(other.clip);
                d_sum.iter_mut().zip(&*clip).for_each(|(sum, x)| *sum += slope / TEMPERATURE * x);
            }
            // Of the sum of text and output, from that of its direction.
            let (direction, length) = &found[own];
            let along = similarity(direction, d_sum);
            d_sum.iter_mut().zip(direction).for_each(|(d, x)| *d = (*d - along * x) / length);
            if self.window {
                loss += cross_entropy(&output[dim..], sample.place, b, |at| at, d_window);
            }
        }
        (loss, slopes)
    }

    /// The contrastive loss of each own cosine against the others, HN-NCE where hard negatives weigh more;
    /// `at` gives the place of a pair.
    fn contrastive(
        &self,
        cosines: &[f32],
        slopes: &mut [f32],
        at: impl Fn(usize, usize) -> usize,
    ) -> f32 {
        let b = cosines.len().isqrt();
        let of_row = |own: usize| {
            let mut row: Vec<f32> = (0..b).map(|other| cosines[at(own, other)]).collect();
            if let Some(beta) = self.hard_negatives {
                // log of (B - 1) · softmax(β s) over the negatives; the positive keeps its weight.
                let mut others: Vec<f32> = row.iter().map(|cosine| cosine * beta).collect();
                others[own] = MASKED;
                let all = log_sum_exp(&others) - ((b - 1) as f32).ln();
                let weights = others.iter().map(|x| (x - all).clamp(-30.0, 30.0)).enumerate();
                weights.filter(|(at, _)| *at != own).for_each(|(at, weight)| row[at] += weight);
            }
            cross_entropy(&row, own, b, |other| at(own, other), slopes)
        };
        (0..b).map(of_row).sum()
    }
}

/// Sequences of a step's text and the clips before it.
fn inputs(batch: &[Sample<'_>], clips: &dyn Rows) -> Batch {
    let mut inputs = Batch::default();
    for sample in batch {
        inputs.inputs.extend_from_slice(sample.text);
        sample.past.iter().for_each(|clip| inputs.inputs.extend_from_slice(&clips.row(*clip)));
        inputs.lengths.push(1 + sample.past.len());
    }
    inputs
}

/// The predicted embedding, of length 1, and the length that it had.
fn predict(text: &[f32], output: &[f32]) -> (Vec<f32>, f32) {
    let mut sum: Vec<f32> = text.iter().zip(output).map(|(a, b)| a + b).collect();
    let length = similarity(&sum, &sum).sqrt().max(1e-6);
    normalise(&mut sum);
    (sum, length)
}

/// The cross entropy of logits of which one is right, in a batch of `b`; adds its slopes.
fn cross_entropy(
    logits: &[f32],
    right: usize,
    b: usize,
    at: impl Fn(usize) -> usize,
    slopes: &mut [f32],
) -> f32 {
    let all = log_sum_exp(logits);
    for (number, logit) in logits.iter().enumerate() {
        let wanted = f32::from(u8::from(number == right));
        slopes[at(number)] += ((logit - all).exp() - wanted) / b as f32;
    }
    (all - logits[right]) / b as f32
}

fn log_sum_exp(numbers: &[f32]) -> f32 {
    let most = numbers.iter().copied().fold(f32::MIN, f32::max);
    most + numbers.iter().map(|x| (x - most).exp()).sum::<f32>().ln()
}

/// Cosines of predictions and clips over the temperature \[B, B\]. Pairs of samples of the same clip or the
/// same words are no negatives, and are masked.
fn cosines(batch: &[Sample<'_>], found: &[(Vec<f32>, f32)], clips: &dyn Rows) -> Vec<f32> {
    let mut cosines = Vec::with_capacity(batch.len() * batch.len());
    for (own, (found, _)) in batch.iter().zip(found) {
        cosines.extend(batch.iter().map(|other| {
            let same = own.clip == other.clip || own.words == other.words;
            let mask = if same && !std::ptr::eq(own, other) { MASKED } else { 0.0 };
            similarity(found, &clips.row(other.clip)) / TEMPERATURE + mask
        }));
    }
    cosines
}

/// Distinct values, numbered in the order in which they come.
struct Numbered<T> {
    values: Vec<T>,
    numbers: HashMap<T, usize>,
}

impl<T: Clone + Eq + Hash> Numbered<T> {
    fn new() -> Self {
        Self { values: Vec::new(), numbers: HashMap::new() }
    }

    fn number(&mut self, value: T) -> usize {
        *self.numbers.entry(value.clone()).or_insert_with(|| {
            self.values.push(value);
            self.values.len() - 1
        })
    }
}

/// A trained network with the places of a pool's clips.
pub struct Predictor {
    form: Form,
    network: EvaluatorNetwork,
    places: Vec<usize>,
}

impl Predictor {
    pub fn train(training: &Training<'_>, form: Form) -> Self {
        Self { form, network: form.train(training), places: places(training.pool) }
    }

    /// For each candidate the mean cosine of predictions and clips, and the mean log-probability of
    /// their places. A step after the same clips is predicted once.
    fn predict(&self, query: &Query, pool: &Pool, candidates: &[Sequence]) -> Vec<(f32, f32)> {
        let clips = pool.clip_features();
        // A token is a place in a sequence and a row: of the step at 0, of a clip behind it.
        let (mut tokens, mut sequences) = (Numbered::new(), Numbered::new());
        let mut steps = |candidate: &Sequence| -> Vec<(usize, ClipId)> {
            let mut before = Vec::new();
            let step = |(step, clip): (usize, ClipId)| {
                let rows = std::iter::once(step).chain(latest(&before, self.form.past));
                // The network's own token has the number 0.
                let sequence = rows.enumerate().map(|token| 1 + tokens.number(token)).collect();
                before.push(clip.row());
                (sequences.number(sequence), clip)
            };
            shown(candidate).map(step).collect()
        };
        let candidates: Vec<_> = candidates.iter().map(&mut steps).collect();
        let predicted = self.predictions(query, clips, &tokens.values, &sequences.values);
        let mean = |steps: Vec<(usize, ClipId)>| {
            let (mut cosines, mut places) = (0.0, 0.0);
            for (at, clip) in &steps {
                let (found, window) = &predicted[*at];
                cosines += similarity(found, &clips.row(clip.row()));
                places += window[self.places[clip.row()]];
            }
            let count = steps.len().max(1) as f32;
            (cosines / count, places / count)
        };
        candidates.into_iter().map(mean).collect()
    }

    /// For each sequence of tokens the embedding of the next clip and the log-probability of each place.
    fn predictions(
        &self,
        query: &Query,
        clips: &dyn Rows,
        tokens: &[(usize, usize)],
        sequences: &[Vec<usize>],
    ) -> Vec<(Vec<f32>, Vec<f32>)> {
        if sequences.is_empty() {
            return Vec::new();
        }
        let row = |(place, row): &(usize, usize)| match place {
            0 => query.clip.row(*row).into(),
            _ => clips.row(*row),
        };
        let inputs: Vec<f32> = tokens.iter().flat_map(|token| row(token).into_owned()).collect();
        let embedded = self.network.tokens(&inputs, tokens.iter().map(|(place, _)| 1 + place));
        let outputs = self.network.logits_of_tokens(sequences, &embedded);
        let one = |(output, sequence): (&[f32], &Vec<usize>)| {
            let text = row(&tokens[sequence[0] - 1]);
            let window = &output[clips.dim()..];
            let all = log_sum_exp(window);
            (predict(&text, output).0, window.iter().map(|logit| logit - all).collect())
        };
        outputs.chunks_exact(clips.dim() + PLACES).zip(sequences).map(one).collect()
    }
}

impl Scorer for Predictor {
    fn name(&self) -> &str {
        self.form.name
    }

    fn score(&self, query: &Query, pool: &Pool, candidates: &[Sequence]) -> Scores {
        query.check(pool, candidates, self.network.config.inputs)?;
        let predicted = self.predict(query, pool, candidates).into_iter();
        Ok(predicted.map(|(cosine, place)| (self.form.score)(cosine, place)).collect())
    }
}

/// The last of these, the latest first.
fn latest(before: &[usize], past: usize) -> Vec<usize> {
    before.iter().rev().take(past).copied().collect()
}

fn samples<'a>(training: &Training<'a>, places: &[usize], past: usize) -> Vec<Sample<'a>> {
    let of_instance = |instance: &'a Instance| {
        let rows: Vec<usize> = instance.truth.iter().map(|clip| clip.row()).collect();
        (0..rows.len()).map(move |step| Sample {
            text: instance.clip.row(step),
            words: &instance.texts[step],
            past: latest(&rows[..step], past),
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
        let fit = |network: EvaluatorNetwork| {
            let predictor = Predictor { form, network, places: places(&made.pool) };
            let one = |instance: &&Instance| {
                let truth: Vec<_> = instance.truth.iter().copied().map(Some).collect();
                let turned: Vec<_> = truth.iter().rev().copied().collect();
                let asked = crate::suite::test_set::query(instance);
                let both = [Sequence(truth), Sequence(turned)];
                let said = predictor.predict(&asked, &made.pool, &both);
                // How much better the truth fits than the same clips the other way round.
                (said[0].0 - said[1].0, said[0].1)
            };
            let sums = learnt.iter().map(one).fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
            (sums.0 / learnt.len() as f32, sums.1 / learnt.len() as f32)
        };
        let before = fit(form.init(16, 1));
        let after = fit(form.train(&training));
        assert!(after.0 > before.0, "{before:?} {after:?}");
        assert!(after.1 > before.1 + 0.5, "{before:?} {after:?}");
        assert_eq!(after, fit(form.train(&training)), "the seed decides");
    }

    #[test]
    fn what_came_before_is_the_latest_first() {
        assert_eq!(latest(&[1, 2, 3], 2), [3, 2]);
        assert_eq!(latest(&[1], 3), [1]);
    }

    #[test]
    fn slopes_are_those_of_the_loss() {
        let made = collection(&Made { tasks: 2, videos: 2, steps: 3, seed: 5 });
        let (instances, questions) = (made.instances.iter().collect(), Vec::new());
        let training = Training { pool: &made.pool, instances, questions, seed: 1 };
        let clips = made.pool.clip_features();
        // The weights of hard negatives have no slope, so that β is 0 here.
        for (hard_negatives, window) in [(None, true), (Some(0.0), false)] {
            let score = |cosine, _| cosine;
            let form = Form { name: "test", past: 2, hard_negatives, window, score };
            let samples = samples(&training, &places(&made.pool), form.past);
            let count = samples.len() * (clips.dim() + PLACES);
            let mut outputs: Vec<f32> = (0..count).map(|at| (at as f32 * 0.7).sin()).collect();
            let (_, slopes) = form.loss(&samples, &outputs, clips);
            for at in 0..count {
                let mut loss = |by: f32| {
                    let before = outputs[at];
                    outputs[at] += by;
                    let loss = form.loss(&samples, &outputs, clips).0;
                    outputs[at] = before;
                    loss
                };
                let found = (loss(0.01) - loss(-0.01)) / 0.02;
                assert!((found - slopes[at]).abs() < 0.01, "{at}: {found} {}", slopes[at]);
            }
        }
    }

    #[test]
    fn gradients_are_those_of_the_loss() {
        let made = collection(&Made { tasks: 2, videos: 2, steps: 3, seed: 5 });
        let (instances, questions) = (made.instances.iter().collect(), Vec::new());
        let training = Training { pool: &made.pool, instances, questions, seed: 1 };
        let clips = made.pool.clip_features();
        let score = |cosine, _| cosine;
        let form = Form { name: "test", past: 2, hard_negatives: None, window: true, score };
        let samples = samples(&training, &places(&made.pool), form.past);
        let batch = inputs(&samples, clips);
        let mut network = form.init(16, 2);
        let mut gradient = vec![0.0; network.parameters.len()];
        let slopes = |outputs: &[f32]| form.loss(&samples, outputs, clips).1;
        let mut activations = Activations::new(&network.config);
        network.gradient(&batch, Dropout::none(), slopes, &mut activations, &mut gradient);
        // Steps along the gradient of every 37th parameter, so that every tensor is in each.
        for first in 0..37 {
            let along: Vec<usize> = (first..gradient.len()).step_by(37).collect();
            let slope: f32 = along.iter().map(|at| gradient[*at].powi(2)).sum();
            let by = 0.005 / slope.sqrt();
            let mut loss = |by: f32| {
                let before = network.parameters.to_vec();
                along.iter().for_each(|at| network.parameters[*at] += by * gradient[*at]);
                let loss = form.loss(&samples, &network.logits(&batch), clips).0;
                network.parameters.copy_from_slice(&before);
                loss
            };
            let found = (loss(by) - loss(-by)) / (2.0 * by);
            assert!((found / slope - 1.0).abs() < 0.05, "{first}: {found} {slope}");
        }
    }
}
