//! Training F_R: positives of a collection against negatives made on the fly.

pub mod history;
pub mod sampler;
mod mixture;
pub mod learner;
pub mod checkpoint;
mod platt;
pub mod held_out;
pub mod answers;
mod prior;
pub mod curves;
mod outcome;
mod run;

use std::path::PathBuf;

use serde::Serialize;
use serde_json::{Value, json};
use stitch_engine::evaluator::{Config, EvaluatorError, Precision};
use stitch_engine::files::{FileError, create_folder};
use stitch_engine::models::NnError;
use stitch_engine::progress::{Progress, Stopped};
use stitch_engine::scorer::ScorerError;

use crate::collection::{Collection, Instance};
use crate::dataset::Split;
use crate::suite::MeasureError;
use crate::suite::ranks::RankMetrics;
use held_out::HeldOut;
pub use history::{Epoch, Steps, TrainEvent};
use mixture::{MiniBatch, Mixture};
pub use outcome::Trained;
use run::{Plan, Run};
pub use sampler::NegativeRates;
use sampler::{Sampler, Windows};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrainOptions {
    pub seed: u64,
    pub epochs: usize,
    pub batch: usize,
    /// Adam's learning rate, at its highest.
    pub rate: f64,
    pub optimiser: Optimiser,
    #[serde(rename = "drawing")]
    pub negatives: NegativeRates,
    /// Epochs without a better rank after which training ends with the best epoch; none trains all epochs and
    /// keeps the last.
    pub patience: Option<usize>,
    /// Held-out procedures that are ranked, half of them after every epoch.
    pub held_out: usize,
    /// Whether weights of similarity, source changes and steps back are searched and added to the
    /// network's logit.
    pub prior: bool,
}

impl Default for TrainOptions {
    fn default() -> Self {
        Self {
            seed: 0,
            epochs: 10,
            batch: 24,
            rate: 3e-4,
            optimiser: Optimiser::default(),
            negatives: NegativeRates::default(),
            patience: Some(3),
            held_out: 100,
            prior: true,
        }
    }
}

impl TrainOptions {
    /// The paper's: Adam at a constant rate for ten epochs, the three kinds of negatives, cross entropy without
    /// weights, and nothing beside the network.
    pub fn paper() -> Self {
        Self {
            optimiser: Optimiser::PLAIN,
            negatives: NegativeRates { reword: 0.0, ..NegativeRates::default() },
            patience: None,
            prior: false,
            ..Self::default()
        }
    }
}

/// What beside the learning rate decides how a batch changes the weights.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Optimiser {
    /// A linear warm-up over the first twentieth of all steps, then half a cosine down to 0; else a constant rate.
    pub cosine: bool,
    pub weight_decay: f64,
    /// A longer gradient is scaled to this length; 0 for never.
    pub max_gradient_norm: f64,
    /// Whether all positives together weigh as much as all negatives.
    pub balanced: bool,
}

impl Optimiser {
    /// Adam as published, and cross entropy.
    pub const PLAIN: Self =
        Self { cosine: false, weight_decay: 0.0, max_gradient_norm: 0.0, balanced: false };
}

impl Default for Optimiser {
    fn default() -> Self {
        Self { cosine: true, weight_decay: 0.01, max_gradient_norm: 1.0, balanced: true }
    }
}

/// Where training runs and what it writes; none of it changes what is learnt (but for the device's
/// rounding).
#[derive(Clone, Debug)]
pub struct TrainOutput {
    pub folder: PathBuf,
    pub device: TrainDevice,
    pub precision: Precision,
    /// Steps between checkpoints, beside those after every epoch.
    pub checkpoint_every: u64,
    pub licence: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrainDevice {
    /// All cores; the same weights every time.
    Cpu,
    Cuda,
    /// The same, in bfloat16: faster, and not quite the same weights.
    CudaBf16,
}

#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    #[error(
        "the {part} part of the data has no procedure; make it anew with `stitch dataset mix`, with \
         another `--held-out` if need be"
    )]
    EmptyPart { part: &'static str },
    #[error(
        "the train part is made of one video; learning what does not fit needs others, so index more \
         videos and run `stitch dataset mix` again"
    )]
    OneVideo,
    #[error(
        "no negative can be made of any procedure of the train part; leave fewer kinds out with \
         `--ablate`, or mix procedures of more videos"
    )]
    NoNegatives,
    #[error(
        "{} holds no candidate answers ({reason}); `stitch dataset answers` writes such a file",
        path.display()
    )]
    NoAnswers { path: PathBuf, reason: String },
    #[error("the loss is not a number at step {step}; lower `--rate` (it is {rate}) and run again")]
    Diverged { step: u64, rate: f64 },
    #[error(
        "there is no CUDA GPU that this program can use ({reason}); leave out `--device`, or run a \
         program built with `--features cuda` on a machine that has one"
    )]
    NoCuda { reason: String },
    #[error(
        "{} holds a model of another training; choose another `--out`, or remove that folder",
        folder.display()
    )]
    Occupied { folder: PathBuf },
    #[error("{} is of another training ({difference}); give the same options to go on with that one, \
        another `--out`, or remove the file to begin anew", path.display())]
    OtherCheckpoint { path: PathBuf, difference: String },
    #[error("{}: {reason}; remove the file to begin anew", path.display())]
    BrokenCheckpoint { path: PathBuf, reason: String },
    #[error("{0}; remove the file to begin anew")]
    CheckpointWeights(#[from] NnError),
    #[error(transparent)]
    Measure(#[from] MeasureError),
    #[error(transparent)]
    Scorer(#[from] ScorerError),
    #[error(transparent)]
    Evaluator(#[from] EvaluatorError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// Trains an evaluator of this config on the train part of the collections, each with a pool of its own;
/// the first decides the calibration and the reported metrics. Continues from the checkpoint in the folder
/// where there is one; where the model itself is there, nothing is left to do.
pub fn train<'a>(
    collections: &'a [Collection],
    config: &Config,
    options: &TrainOptions,
    output: &TrainOutput,
    report: &dyn Fn(&TrainEvent),
    progress: &dyn Progress,
) -> Result<Trained, TrainError> {
    check(&collections[0])?;
    let settings = settings(collections, config, options);
    if let Some(trained) = outcome::read(&output.folder, &settings)? {
        checkpoint::remove(&output.folder)?;
        return Ok(trained);
    }
    create_folder(&output.folder)?;
    progress.begin("preparing", 0);
    let windows = |of: &'a Collection| {
        let own: Vec<&Instance> = of.of_split(Split::Train).collect();
        Windows::of(of, &own, Split::Train, config.max_steps, &options.negatives)
    };
    let windows: Vec<Windows<'_>> = collections.iter().map(windows).collect();
    let sampler = |windows| Sampler::new(windows, config.channels, options.negatives, options.seed);
    let mixture = Mixture::new(windows.iter().map(sampler).collect(), options.seed);
    let held_out = held_out(collections, config, options, progress)?;
    let plan = Plan::new(&mixture, options)?;
    let mut run = Run::begin(config, &plan, output, settings, report)?;

    while !run.is_over() {
        let epoch = run.position.epoch;
        let batches = mixture.epoch(epoch, options.batch);
        progress.begin(&format!("epoch {} of {}", epoch + 1, options.epochs), batches.len() as u64);
        progress.advance(run.position.batch as u64);
        for batch in batches.iter().skip(run.position.batch) {
            run.stop_if_asked(progress)?;
            let (inputs, right) = mixture.inputs(batch);
            run.step(&inputs, right)?;
            progress.advance(1);
        }
        let evaluator = run.evaluator()?;
        let metrics = held_out.iter().map(|of| of.validation_metrics(&evaluator));
        let metrics = RankMetrics::mean(&metrics.collect::<Result<Vec<_>, _>>()?);
        let sequences = batches.iter().map(MiniBatch::len).sum();
        run.end_epoch(metrics, sequences)?;
    }

    let mut best = run.best_evaluator()?;
    if options.prior {
        best.config.prior = prior::search(&best, &held_out)?;
    }
    let (evaluator, calibration) =
        held_out[0].calibrated(best, &options.negatives, options.seed)?;
    let metrics = held_out.iter().map(|of| of.test_metrics(&evaluator));
    let metrics = metrics.collect::<Result<Vec<_>, _>>()?;
    run.finish(&evaluator, &metrics, &calibration, collections)
}

/// The questions of every collection that has a held-out part, in order.
fn held_out<'a>(
    collections: &'a [Collection],
    config: &Config,
    options: &TrainOptions,
    progress: &dyn Progress,
) -> Result<Vec<HeldOut<'a>>, TrainError> {
    let name = &config.encoder.name;
    let some = collections.iter().filter(|of| of.of_split(Split::HeldOut).next().is_some());
    let questions =
        |of: &'a Collection| Ok(HeldOut::new(of, name, options.held_out, options.seed, progress)?);
    some.map(questions).collect()
}

/// That both parts of the data can be used.
fn check(collection: &Collection) -> Result<(), TrainError> {
    for split in [Split::Train, Split::HeldOut] {
        if collection.of_split(split).next().is_none() {
            return Err(TrainError::EmptyPart { part: split.name() });
        }
    }
    let train = collection.videos.values().filter(|video| video.split == Some(Split::Train));
    if train.count() < 2 { Err(TrainError::OneVideo) } else { Ok(()) }
}

/// Everything that decides what is learnt.
fn settings(collections: &[Collection], config: &Config, options: &TrainOptions) -> Value {
    let hashes: Vec<String> = collections.iter().map(outcome::data_hash).collect();
    json!({"config": config, "options": options, "data": hashes.join(" ")})
}
