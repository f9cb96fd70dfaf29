//! The state of a training while it runs: learner, position, checkpoints and history.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::Value;
use stitch_engine::evaluator::{AdamW, Config, Evaluator};
use stitch_engine::files::{FileError, write_whole};
use stitch_engine::progress::Progress;

use super::checkpoint::{self, Checkpoint, Position};
use super::held_out::{HeldOutReport, TestMetrics};
use super::history::{self, Epoch, Steps, TrainEvent};
use super::learner::{CpuLearner, Learner, OptimiserState};
use super::mixture::{MiniBatch, Mixture};
use super::outcome::Trained;
use super::{Schedule, TrainDevice, TrainError, TrainOptions, TrainOutput, curves};
use crate::collection::Collection;
use crate::suite::ranks::RankMetrics;

/// How many steps there will be, and what follows from that.
pub struct Plan {
    options: TrainOptions,
    steps_per_epoch: u64,
    steps: u64,
    /// So that positives and negatives weigh the same.
    pub weight_of_right: f32,
}

impl Plan {
    pub fn new(mixture: &Mixture<'_>, options: &TrainOptions) -> Result<Self, TrainError> {
        let first = mixture.epoch(0, options.batch);
        let right: usize = first.iter().map(MiniBatch::positives).sum();
        let sequences: usize = first.iter().map(MiniBatch::len).sum();
        if right == sequences {
            return Err(TrainError::NoNegatives);
        }
        let weight_of_right = (sequences - right) as f32 / right.max(1) as f32;
        let steps_per_epoch = first.len() as u64;
        let steps = steps_per_epoch * options.epochs as u64;
        Ok(Self { options: options.clone(), steps_per_epoch, steps, weight_of_right })
    }

    /// The learning rate of a step, from 0.
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

    pub fn adamw(&self, step: u64) -> AdamW {
        let TrainOptions { decay, clip, .. } = self.options;
        AdamW { learning_rate: self.rate(step), weight_decay: decay, max_gradient_norm: clip }
    }

    pub fn dropout_seed(&self, step: u64) -> u64 {
        self.options.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(step)
    }

    /// Steps between two [`TrainEvent::Steps`].
    fn report_every(&self) -> u64 {
        (self.steps_per_epoch / 10).max(1)
    }
}

fn learner(
    device: TrainDevice,
    evaluator: Evaluator,
    state: Option<OptimiserState<'_>>,
) -> Result<Box<dyn Learner>, TrainError> {
    match device {
        TrainDevice::Cpu => Ok(Box::new(CpuLearner::new(evaluator, state))),
        TrainDevice::Cuda | TrainDevice::CudaBf16 => gpu_learner(device, evaluator, state),
    }
}

#[cfg(feature = "cuda")]
fn gpu_learner(
    device: TrainDevice,
    evaluator: Evaluator,
    state: Option<OptimiserState<'_>>,
) -> Result<Box<dyn Learner>, TrainError> {
    use stitch_engine::evaluator::gpu::Arithmetic;
    use stitch_engine::models::NnError;
    let bf16 = device == TrainDevice::CudaBf16;
    let arithmetic = if bf16 { Arithmetic::Bf16 } else { Arithmetic::F32 };
    let no_cuda = |error: NnError| TrainError::NoCuda { reason: error.to_string() };
    let learner = super::learner::GpuLearner::new(evaluator, state, arithmetic);
    Ok(Box::new(learner.map_err(no_cuda)?))
}

#[cfg(not(feature = "cuda"))]
fn gpu_learner(
    _: TrainDevice,
    _: Evaluator,
    _: Option<OptimiserState<'_>>,
) -> Result<Box<dyn Learner>, TrainError> {
    Err(TrainError::NoCuda { reason: "it was built without".into() })
}

pub struct Run {
    pub learner: Box<dyn Learner>,
    pub position: Position,
    /// Batches since the beginning.
    pub steps: u64,
    /// The weights of the best epoch.
    best: Vec<f32>,
    settings: Value,
    folder: PathBuf,
    checkpoint_every: u64,
    /// When this process began, and the seconds that earlier ones took.
    began: Instant,
    earlier_s: f64,
    /// The sum of losses and the batches of this epoch.
    epoch_loss: (f64, u32),
    epoch_began: Instant,
}

impl Run {
    pub fn begin(
        config: &Config,
        options: &TrainOptions,
        output: &TrainOutput,
        settings: Value,
    ) -> Result<Self, TrainError> {
        let fresh = Evaluator::fresh(config.clone(), options.seed)?;
        let found = checkpoint::read(&output.folder, &settings, fresh.numbers().len())?;
        let (position, state, best) = match found {
            None => (Position::default(), None, Vec::new()),
            Some(found) => {
                (found.position.into_owned(), Some(found.state), found.best.into_owned())
            }
        };
        let steps = state.as_ref().map_or(0, |state| state.steps);
        let learner = learner(output.device, fresh, state)?;
        let now = Instant::now();
        Ok(Self {
            learner,
            best,
            steps,
            settings,
            folder: output.folder.clone(),
            checkpoint_every: output.checkpoint_every.max(1),
            began: now,
            earlier_s: position.seconds,
            epoch_loss: position.epoch_loss,
            epoch_began: now,
            position,
        })
    }

    /// Whether there was no better epoch for as long as `options.patience`.
    pub fn is_stale(&self, options: &TrainOptions) -> bool {
        let best = self.position.best.map_or(self.position.epoch, |best| best.epoch);
        self.position.epoch - best >= options.patience.max(1)
    }

    pub fn stop_if_asked(&mut self, progress: &dyn Progress) -> Result<(), TrainError> {
        if progress.stopped() {
            self.save()?;
        }
        Ok(progress.check()?)
    }

    pub fn end_step(
        &mut self,
        loss: f32,
        rate: f64,
        plan: &Plan,
        report: &dyn Fn(&TrainEvent),
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
        if self.steps.is_multiple_of(plan.report_every()) {
            let epoch = self.steps as f64 / plan.steps_per_epoch as f64;
            let loss = mean(std::mem::take(&mut self.position.loss));
            let steps = Steps { epoch, step: self.steps, loss, rate };
            self.record(TrainEvent::Steps(steps), report);
        }
        if self.steps.is_multiple_of(self.checkpoint_every) {
            self.save()?;
        }
        Ok(())
    }

    pub fn end_epoch(
        &mut self,
        metrics: RankMetrics,
        sequences: usize,
        plan: &Plan,
        report: &dyn Fn(&TrainEvent),
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
            medr: metrics.medr,
            r50: metrics.r50,
            mrr: metrics.mrr,
            samples_per_s: sequences as f64 / took.max(1e-9),
            left_s: took * left as f64,
        };
        self.epoch_began = Instant::now();
        if self.position.best.is_none_or(|best| epoch.is_better(&best)) {
            self.position.best = Some(epoch);
            self.best = self.learner.state()?.weights.into_owned();
        }
        self.record(TrainEvent::Epoch(epoch), report);
        self.save()
    }

    fn record(&mut self, event: TrainEvent, report: &dyn Fn(&TrainEvent)) {
        report(&event);
        self.position.history.push(event);
    }

    fn save(&mut self) -> Result<(), TrainError> {
        self.position.seconds = self.earlier_s + self.began.elapsed().as_secs_f64();
        self.position.epoch_loss = self.epoch_loss;
        let checkpoint = Checkpoint {
            position: Cow::Borrowed(&self.position),
            state: self.learner.state()?,
            best: Cow::Borrowed(&self.best),
        };
        checkpoint.write(&self.folder, &self.settings)?;
        write_history(&self.folder, &self.position.history)
    }

    pub fn best_evaluator(&self) -> Result<Evaluator, TrainError> {
        let mut evaluator = self.learner.evaluator()?.into_owned();
        if self.best.len() == evaluator.numbers().len() {
            evaluator.numbers_mut().copy_from_slice(&self.best);
        }
        Ok(evaluator)
    }

    /// Writes the model, and removes the checkpoint.
    pub fn finish(
        self,
        evaluator: &Evaluator,
        reports: (HeldOutReport, Vec<TestMetrics>),
        collections: &[Collection],
        output: &TrainOutput,
    ) -> Result<Trained, TrainError> {
        let trained = Trained::new(reports, self.position, self.steps, self.settings);
        let card = trained.card(evaluator, collections, output);
        evaluator.save(&output.folder, card, output.precision)?;
        checkpoint::remove(&output.folder)?;
        Ok(trained)
    }
}

fn write_history(folder: &Path, events: &[TrainEvent]) -> Result<(), TrainError> {
    let path = folder.join("metrics.jsonl");
    let text = history::jsonl(events)
        .map_err(|error| FileError { path: path.clone(), source: error.into() })?;
    write_whole(&path, &text)?;
    Ok(write_whole(&folder.join("curves.svg"), curves::svg(events).as_bytes())?)
}

fn mean((sum, count): (f64, u32)) -> f64 {
    sum / f64::from(count.max(1))
}
