//! Learning F_R: positives of a collection against negatives made on the fly.

pub mod history;
mod spoilt;
pub mod sampler;
mod mixture;
pub mod learner;
pub mod checkpoint;
pub mod held_out;
mod prior;
pub mod curves;
mod outcome;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use stitch_engine::evaluator::{
    AdamW, Config, Dropout, Evaluator, EvaluatorError, Labels, Precision,
};
use stitch_engine::files::{FileError, write_whole};
use stitch_engine::progress::{Progress, Stopped};
use stitch_engine::scorer::{AverageSimilarity, Scorer, ScorerError};

use crate::collection::{Collection, Instance};
use crate::dataset::Split;
use crate::suite::distractors::DistractorsError;
use crate::suite::ranks::Figures;
use checkpoint::{Checkpoint, CheckpointError, Position};
use held_out::HeldOut;
pub use history::{Epoch, Line, Steps};
use learner::{Learner, OnCpu, State};
use mixture::{Mixture, Portion};
pub use outcome::Trained;
pub use sampler::Drawing;
use sampler::{Pieces, Sampler};

/// How learning goes on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainOptions {
    /// Of everything random.
    pub seed: u64,
    /// How often every positive is seen.
    pub epochs: usize,
    /// Sequences of one step.
    pub batch: usize,
    /// Adam's rate, at its highest.
    pub rate: f64,
    /// How the rate changes.
    pub schedule: Schedule,
    /// As in AdamW: what a step of rate 1 would take off every weight.
    pub decay: f64,
    /// A longer gradient is shortened to this length; 0 for never.
    pub clip: f64,
    /// How positives are worded and negatives made.
    pub drawing: Drawing,
    /// After how many epochs without a better rank learning ends.
    pub patience: usize,
    /// How many held-out procedures are ranked, half of them after every epoch.
    pub held_out: usize,
    /// Whether what similarity, changes and steps back are worth beside the network's word is searched;
    /// without it the network stands alone.
    #[serde(default = "searched")]
    pub prior: bool,
}

fn searched() -> bool {
    true
}

/// How the rate changes over a training.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Schedule {
    /// It does not.
    Constant,
    /// It rises over the first twentieth and falls as half a wave to nothing.
    Cosine,
}

impl Default for TrainOptions {
    fn default() -> Self {
        Self {
            seed: 0,
            epochs: 10,
            batch: 24,
            rate: 3e-4,
            schedule: Schedule::Cosine,
            decay: 0.01,
            clip: 1.0,
            drawing: Drawing::default(),
            patience: 3,
            held_out: 100,
            prior: true,
        }
    }
}

/// Where learning happens, and what of it is kept; none of it changes what is learnt (but for the
/// device's rounding).
#[derive(Clone, Debug)]
pub struct Where {
    /// The model's folder.
    pub folder: PathBuf,
    /// CPU, or a GPU.
    pub machine: Machine,
    /// In how many bits the weights are saved at the end.
    pub precision: Precision,
    /// A checkpoint after so many steps, and after every epoch.
    pub checkpoint_every: u64,
    /// The licence that the card names.
    pub licence: String,
}

/// What learns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// All cores of the CPU; the same weights every time.
    Cpu,
    /// The first CUDA GPU.
    Cuda,
    /// The same, in numbers of 16 bits: faster, and not quite the same weights.
    CudaBf16,
}

/// Why nothing was learnt.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// A part of the data is empty.
    #[error(
        "the {part} part of the data has no procedure; make it anew with `stitch dataset mix`, with \
         another `--held-out` if need be"
    )]
    EmptyPart {
        /// `train` or `held-out`.
        part: &'static str,
    },
    /// There is nothing to make negatives from.
    #[error(
        "the train part is made of one video; learning what does not fit needs others, so index more \
         videos and run `stitch dataset mix` again"
    )]
    OneVideo,
    /// No negative could be made.
    #[error(
        "no procedure of the train part can be spoilt in the ways asked for; leave fewer out with \
         `--ablate`, or mix procedures of more videos"
    )]
    NoNegatives,
    /// The loss is no number any more.
    #[error("the loss is not a number at step {step}; lower `--rate` (it is {rate}) and run again")]
    Diverged {
        /// Which step.
        step: u64,
        /// The rate then.
        rate: f64,
    },
    /// There is no GPU to learn on.
    #[error(
        "there is no CUDA GPU that this program can use ({reason}); leave out `--device`, or run a \
         program built with `--features cuda` on a machine that has one"
    )]
    NoCuda {
        /// What is missing.
        reason: String,
    },
    /// The folder holds another model.
    #[error(
        "{} holds a model of another training; choose another `--out`, or remove that folder",
        folder.display()
    )]
    Occupied {
        /// The folder.
        folder: PathBuf,
    },
    /// The checkpoint is of no use, or could not be written.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The held-out procedures could not be made into questions.
    #[error(transparent)]
    Distractors(#[from] DistractorsError),
    /// They could not be scored.
    #[error(transparent)]
    Scorer(#[from] ScorerError),
    /// The network failed.
    #[error(transparent)]
    Evaluator(#[from] EvaluatorError),
    /// A file could not be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The work was asked to stop.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// Learns an evaluator of this config from the train part of a collection, and of further ones where
/// there are any, each with a pool of its own. Goes on from the checkpoint in the folder where there is
/// one; where the model itself is there, nothing is left to do.
pub fn train(
    collection: &Collection,
    further: &[Collection],
    config: &Config,
    options: &TrainOptions,
    place: &Where,
    tell: &dyn Fn(&Line),
    progress: &dyn Progress,
) -> Result<Trained, TrainError> {
    check(collection)?;
    let all: Vec<&Collection> = std::iter::once(collection).chain(further).collect();
    let settings = settings(&all, config, options);
    if let Some(trained) = outcome::read(&place.folder, &settings)? {
        forget_checkpoint(&place.folder)?;
        return Ok(trained);
    }
    std::fs::create_dir_all(&place.folder).map_err(FileError::at(&place.folder))?;
    progress.begin("preparing", 0);
    let drawing = &options.drawing;
    let pieces: Vec<Pieces<'_>> = all.iter().map(|of| pieces(of, config, drawing)).collect();
    let sampler = |pieces| Sampler::new(pieces, config.channels, *drawing, options.seed);
    let mixture = Mixture::new(pieces.iter().map(sampler).collect(), options.seed);
    let held_out = held_out(&all, config, options, progress)?;
    let plan = Plan::new(&mixture, options)?;
    let mut run = Run::begin(config, options, place, settings)?;

    while run.position.epoch < options.epochs && !run.is_stale(options) {
        let epoch = run.position.epoch;
        let portions = mixture.epoch(epoch, options.batch);
        progress
            .begin(&format!("epoch {} of {}", epoch + 1, options.epochs), portions.len() as u64);
        progress.advance(run.position.batch as u64);
        for portion in portions.iter().skip(run.position.batch) {
            run.stop_if_asked(progress)?;
            let (batch, right) = mixture.batch(portion);
            let labels = Labels { right, weight_of_right: plan.weight_of_right };
            let adamw = plan.adamw(run.steps);
            let dropout = Dropout::new(config.dropout, plan.dropout_seed(run.steps));
            let loss = run.learner.step(&batch, &labels, adamw, dropout)?;
            run.count(loss, adamw.learning_rate, &plan, tell)?;
            progress.advance(1);
        }
        let figures = chosen_by(&held_out, run.learner.evaluator()?.as_ref())?;
        let sequences = portions.iter().map(Portion::len).sum();
        run.end_epoch(figures, sequences, &plan, tell)?;
    }

    let best = run.best_evaluator()?;
    let best = match options.prior {
        true => prior::search(&best, &held_out).map(|prior| best.with_prior(prior))?,
        false => best,
    };
    let (first, others) = (&held_out[0], &held_out[1..]);
    let (evaluator, report) = first.report(best, &AverageSimilarity, drawing, options.seed)?;
    let others = others.iter().map(|other| other.ranks(&evaluator, &AverageSimilarity));
    let others = others.collect::<Result<Vec<_>, _>>()?;
    run.finish(&evaluator, (report, others), &all, place)
}

fn pieces<'a>(of: &'a Collection, config: &Config, drawing: &Drawing) -> Pieces<'a> {
    let own: Vec<&Instance> = of.of_split(Split::Train).collect();
    Pieces::of(of, &own, Split::Train, config.max_steps, drawing)
}

/// The questions of every collection that holds something out; the first one's come first.
fn held_out<'a>(
    all: &[&'a Collection],
    config: &Config,
    options: &TrainOptions,
    progress: &dyn Progress,
) -> Result<Vec<HeldOut<'a>>, TrainError> {
    let name = &config.encoder.name;
    let some = all.iter().filter(|of| of.of_split(Split::HeldOut).next().is_some());
    let questions =
        |of: &&'a Collection| Ok(HeldOut::new(of, name, options.held_out, options.seed, progress)?);
    some.map(questions).collect()
}

/// The mean of what the collections say: none of them may be given up for another.
fn chosen_by(held_out: &[HeldOut<'_>], scorer: &dyn Scorer) -> Result<Figures, TrainError> {
    let all = held_out.iter().map(|held_out| held_out.choose(scorer));
    let all = all.collect::<Result<Vec<Figures>, _>>()?;
    Ok(Figures::mean(&all))
}

/// That there is something to learn from and something to measure by.
fn check(collection: &Collection) -> Result<(), TrainError> {
    for (split, part) in [(Split::Train, "train"), (Split::HeldOut, "held-out")] {
        if collection.of_split(split).next().is_none() {
            return Err(TrainError::EmptyPart { part });
        }
    }
    let train = collection.videos.values().filter(|video| video.split == Some(Split::Train));
    if train.count() < 2 { Err(TrainError::OneVideo) } else { Ok(()) }
}

/// Everything that decides what is learnt.
fn settings(all: &[&Collection], config: &Config, options: &TrainOptions) -> Value {
    let hashes: Vec<String> = all.iter().map(|of| outcome::data_hash(of)).collect();
    json!({"config": config, "options": options, "data": hashes.join(" ")})
}

/// How many steps there will be, and what follows from that.
struct Plan {
    options: TrainOptions,
    steps_per_epoch: u64,
    steps: u64,
    /// So that positives and negatives weigh the same.
    weight_of_right: f32,
}

impl Plan {
    fn new(mixture: &Mixture<'_>, options: &TrainOptions) -> Result<Self, TrainError> {
        let first = mixture.epoch(0, options.batch);
        let right: usize = first.iter().map(Portion::right).sum();
        let sequences: usize = first.iter().map(Portion::len).sum();
        if right == sequences {
            return Err(TrainError::NoNegatives);
        }
        let weight_of_right = (sequences - right) as f32 / right.max(1) as f32;
        let steps_per_epoch = first.len() as u64;
        let steps = steps_per_epoch * options.epochs as u64;
        Ok(Self { options: options.clone(), steps_per_epoch, steps, weight_of_right })
    }

    /// The rate of a step, from 0.
    fn rate(&self, step: u64) -> f64 {
        let warm_up = (self.steps / 20).max(1);
        let rise = ((step + 1) as f64 / warm_up as f64).min(1.0);
        let done = (step as f64 / self.steps.max(1) as f64).min(1.0);
        match self.options.schedule {
            Schedule::Constant => self.options.rate,
            Schedule::Cosine => {
                self.options.rate * rise * 0.5 * (1.0 + (std::f64::consts::PI * done).cos())
            }
        }
    }

    fn adamw(&self, step: u64) -> AdamW {
        let TrainOptions { decay, clip, .. } = self.options;
        AdamW { learning_rate: self.rate(step), weight_decay: decay, max_gradient_norm: clip }
    }

    /// Another for every step.
    fn dropout_seed(&self, step: u64) -> u64 {
        self.options.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(step)
    }

    /// After how many steps the loss is told.
    fn told_every(&self) -> u64 {
        (self.steps_per_epoch / 10).max(1)
    }
}

fn learner(
    machine: Machine,
    fresh: Evaluator,
    state: Option<State<'_>>,
) -> Result<Box<dyn Learner>, TrainError> {
    match machine {
        Machine::Cpu => Ok(Box::new(OnCpu::new(fresh, state))),
        Machine::Cuda | Machine::CudaBf16 => on_gpu(machine, fresh, state),
    }
}

#[cfg(feature = "cuda")]
fn on_gpu(
    machine: Machine,
    fresh: Evaluator,
    state: Option<State<'_>>,
) -> Result<Box<dyn Learner>, TrainError> {
    use stitch_engine::evaluator::gpu::Arithmetic;
    use stitch_engine::models::NnError;
    let arithmetic = if machine == Machine::CudaBf16 { Arithmetic::Bf16 } else { Arithmetic::F32 };
    let no_cuda = |error: NnError| TrainError::NoCuda { reason: error.to_string() };
    Ok(Box::new(learner::OnGpu::new(fresh, state, arithmetic).map_err(no_cuda)?))
}

#[cfg(not(feature = "cuda"))]
fn on_gpu(_: Machine, _: Evaluator, _: Option<State<'_>>) -> Result<Box<dyn Learner>, TrainError> {
    Err(TrainError::NoCuda { reason: "it was built without".into() })
}

/// A training under way.
struct Run {
    learner: Box<dyn Learner>,
    position: Position,
    best: Vec<f32>,
    steps: u64,
    settings: Value,
    folder: PathBuf,
    checkpoint_every: u64,
    /// When this process began, and how many seconds others had spent before.
    began: Instant,
    spent: f64,
    epoch_loss: (f64, u32),
    epoch_began: Instant,
}

impl Run {
    /// From the beginning, or from the checkpoint.
    fn begin(
        config: &Config,
        options: &TrainOptions,
        place: &Where,
        settings: Value,
    ) -> Result<Self, TrainError> {
        let fresh = Evaluator::fresh(config.clone(), options.seed)?;
        let found = checkpoint::read(&place.folder, &settings, fresh.numbers().len())?;
        let (position, state, best) = match found {
            None => (Position::default(), None, Vec::new()),
            Some(found) => {
                (found.position.into_owned(), Some(found.state), found.best.into_owned())
            }
        };
        let steps = state.as_ref().map_or(0, |state| state.steps);
        let learner = learner(place.machine, fresh, state)?;
        let now = Instant::now();
        Ok(Self {
            learner,
            best,
            steps,
            settings,
            folder: place.folder.clone(),
            checkpoint_every: place.checkpoint_every.max(1),
            began: now,
            spent: position.seconds,
            epoch_loss: position.epoch_loss,
            epoch_began: now,
            position,
        })
    }

    fn is_stale(&self, options: &TrainOptions) -> bool {
        let best = self.position.best.map_or(self.position.epoch, |best| best.epoch);
        self.position.epoch - best >= options.patience.max(1)
    }

    /// Saves and ends if asked to.
    fn stop_if_asked(&mut self, progress: &dyn Progress) -> Result<(), TrainError> {
        if progress.stopped() {
            self.save()?;
        }
        Ok(progress.check()?)
    }

    /// One more batch is learnt.
    fn count(
        &mut self,
        loss: f32,
        rate: f64,
        plan: &Plan,
        tell: &dyn Fn(&Line),
    ) -> Result<(), TrainError> {
        if !loss.is_finite() {
            return Err(TrainError::Diverged { step: self.steps, rate });
        }
        self.steps += 1;
        self.position.batch += 1;
        for (sum, count) in [&mut self.position.loss, &mut self.epoch_loss] {
            *sum += f64::from(loss);
            *count += 1;
        }
        if self.steps.is_multiple_of(plan.told_every()) {
            let epoch = self.steps as f64 / plan.steps_per_epoch as f64;
            let loss = mean(std::mem::take(&mut self.position.loss));
            self.told(Line::Steps(Steps { epoch, step: self.steps, loss, rate }), tell);
        }
        if self.steps.is_multiple_of(self.checkpoint_every) {
            self.save()?;
        }
        Ok(())
    }

    /// An epoch is done and ranked.
    fn end_epoch(
        &mut self,
        figures: Figures,
        sequences: usize,
        plan: &Plan,
        tell: &dyn Fn(&Line),
    ) -> Result<(), TrainError> {
        let took = self.epoch_began.elapsed().as_secs_f64();
        self.position.epoch += 1;
        self.position.batch = 0;
        let left = plan.options.epochs - self.position.epoch;
        let epoch = Epoch {
            epoch: self.position.epoch,
            step: self.steps,
            loss: mean(std::mem::take(&mut self.epoch_loss)),
            rate: plan.rate(self.steps.saturating_sub(1)),
            medr: figures.medr,
            r50: figures.r50,
            mrr: figures.mrr,
            samples_per_s: sequences as f64 / took.max(1e-9),
            left_s: took * left as f64,
        };
        self.epoch_began = Instant::now();
        if self.position.best.is_none_or(|best| epoch.is_better(&best)) {
            self.position.best = Some(epoch);
            self.best = self.learner.state()?.weights.into_owned();
        }
        self.told(Line::Epoch(epoch), tell);
        self.save()
    }

    fn told(&mut self, line: Line, tell: &dyn Fn(&Line)) {
        tell(&line);
        self.position.history.push(line);
    }

    /// Checkpoint, metrics and curves.
    fn save(&mut self) -> Result<(), TrainError> {
        self.position.seconds = self.spent + self.began.elapsed().as_secs_f64();
        self.position.epoch_loss = self.epoch_loss;
        let checkpoint = Checkpoint {
            position: Cow::Borrowed(&self.position),
            state: self.learner.state()?,
            best: Cow::Borrowed(&self.best),
        };
        checkpoint.write(&self.folder, &self.settings)?;
        write_history(&self.folder, &self.position.history)
    }

    /// The evaluator with the best weights.
    fn best_evaluator(&self) -> Result<Evaluator, TrainError> {
        let mut evaluator = self.learner.evaluator()?.into_owned();
        if self.best.len() == evaluator.numbers().len() {
            evaluator.numbers_mut().copy_from_slice(&self.best);
        }
        Ok(evaluator)
    }

    /// The model's files; the checkpoint has served.
    fn finish(
        self,
        evaluator: &Evaluator,
        reports: (held_out::Report, Vec<held_out::Ranks>),
        all: &[&Collection],
        place: &Where,
    ) -> Result<Trained, TrainError> {
        let trained = Trained::new(reports, self.position, self.steps, self.settings);
        let card = trained.card(evaluator, all, place);
        evaluator.save(&place.folder, card, place.precision)?;
        forget_checkpoint(&place.folder)?;
        Ok(trained)
    }
}

/// Once the model is there, its checkpoint has served.
fn forget_checkpoint(folder: &Path) -> Result<(), FileError> {
    let path = folder.join(checkpoint::FILE);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(FileError::at(path)(error))
        }
        _ => Ok(()),
    }
}

/// Metrics as lines of JSON, and the curves.
fn write_history(folder: &Path, lines: &[Line]) -> Result<(), TrainError> {
    let path = folder.join("metrics.jsonl");
    let text = history::jsonl(lines)
        .map_err(|error| FileError { path: path.clone(), source: error.into() })?;
    write_whole(&path, &text)?;
    Ok(write_whole(&folder.join("curves.svg"), curves::svg(lines).as_bytes())?)
}

fn mean((sum, count): (f64, u32)) -> f64 {
    sum / f64::from(count.max(1))
}
