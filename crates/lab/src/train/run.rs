//! The state of a training while it runs: learner, position, checkpoints and history.

use std::time::Instant;

use serde_json::{Value, json};
use stitch_engine::evaluator::{AdamW, Batch, Config, Dropout, Evaluator, Labels};
use stitch_engine::files::write_whole;
use stitch_engine::progress::Progress;

use super::checkpoint::{self, Position};
use super::held_out::{CalibrationReport, TestMetrics};
use super::history::{Epoch, Steps, TrainEvent};
use super::learner::{CpuLearner, Learner, OptimiserState};
use super::mixture::{MiniBatch, Mixture};
use super::outcome::Trained;
use super::{Optimiser, TrainDevice, TrainError, TrainOptions, TrainOutput, curves};
use crate::collection::Collection;
use crate::suite::ranks::RankMetrics;

/// How many steps there will be, and what follows from that.
pub struct Plan<'a> {
    options: &'a TrainOptions,
    steps_per_epoch: u64,
    steps: u64,
    /// Of a positive, where a negative has 1.
    weight_of_right: f32,
}

impl<'a> Plan<'a> {
    pub fn new(mixture: &Mixture<'_>, options: &'a TrainOptions) -> Result<Self, TrainError> {
        let first = mixture.epoch(0, options.batch);
        let right: usize = first.iter().map(MiniBatch::positives).sum();
        let sequences: usize = first.iter().map(MiniBatch::len).sum();
        if right == sequences {
            return Err(TrainError::NoNegatives);
        }
        let weight_of_right = match options.optimiser.balanced {
            true => (sequences - right) as f32 / right.max(1) as f32,
            false => 1.0,
        };
        let steps_per_epoch = first.len() as u64;
        let steps = steps_per_epoch * options.epochs as u64;
        Ok(Self { options, steps_per_epoch, steps, weight_of_right })
    }

    /// The learning rate of a step, from 0, as [`Optimiser::cosine`] says.
    fn rate(&self, step: u64) -> f64 {
        if !self.options.optimiser.cosine {
            return self.options.rate;
        }
        let warm_up = (self.steps / 20).max(1);
        let rise = ((step + 1) as f64 / warm_up as f64).min(1.0);
        let done = (step as f64 / self.steps.max(1) as f64).min(1.0);
        self.options.rate * rise * 0.5 * (1.0 + (std::f64::consts::PI * done).cos())
    }
}

fn learner(
    device: TrainDevice,
    evaluator: Evaluator,
    state: Option<OptimiserState>,
) -> Result<Box<dyn Learner>, TrainError> {
    if device == TrainDevice::Cpu {
        return Ok(Box::new(CpuLearner::new(evaluator, state)));
    }
    #[cfg(not(feature = "cuda"))]
    return Err(TrainError::NoCuda { reason: "it was built without".into() });
    #[cfg(feature = "cuda")]
    {
        use stitch_engine::evaluator::gpu::Arithmetic;
        use stitch_engine::models::NnError;
        let bf16 = device == TrainDevice::CudaBf16;
        let arithmetic = if bf16 { Arithmetic::Bf16 } else { Arithmetic::F32 };
        let no_cuda = |error: NnError| TrainError::NoCuda { reason: error.to_string() };
        let learner = super::learner::GpuLearner::new(&evaluator, state, arithmetic);
        Ok(Box::new(learner.map_err(no_cuda)?))
    }
}

pub struct Run<'a> {
    learner: Box<dyn Learner>,
    pub position: Position,
    /// Batches since the beginning.
    steps: u64,
    /// With the weights from before training.
    fresh: Evaluator,
    /// The weights of the best epoch.
    best: Vec<f32>,
    plan: &'a Plan<'a>,
    output: &'a TrainOutput,
    report: &'a dyn Fn(&TrainEvent),
    settings: Value,
    /// When the last checkpoint was written, or this process began.
    saved: Instant,
    epoch_began: Instant,
}

impl<'a> Run<'a> {
    pub fn begin(
        config: &Config,
        plan: &'a Plan<'a>,
        output: &'a TrainOutput,
        settings: Value,
        report: &'a dyn Fn(&TrainEvent),
    ) -> Result<Self, TrainError> {
        let fresh = Evaluator::fresh(config.clone(), plan.options.seed)?;
        let found = checkpoint::read(&output.folder, &settings, fresh.network.parameters.len())?;
        let (position, state, best) = match found {
            None => (Position::default(), None, Vec::new()),
            Some(found) => (found.position, Some(found.state), found.best),
        };
        let steps = state.as_ref().map_or(0, |state| state.moments.steps);
        let learner = learner(output.device, fresh.clone(), state)?;
        let [saved, epoch_began] = [Instant::now(); 2];
        Ok(Self {
            learner,
            position,
            steps,
            fresh,
            best,
            plan,
            output,
            report,
            settings,
            saved,
            epoch_began,
        })
    }

    /// Whether all epochs are done, or there was no better one for as long as `TrainOptions::patience`.
    pub fn is_over(&self) -> bool {
        let TrainOptions { epochs, patience, .. } = *self.plan.options;
        let best = self.position.best.map_or(self.position.epoch, |best| best.epoch);
        let waited = self.position.epoch - best;
        self.position.epoch >= epochs || patience.is_some_and(|patience| waited >= patience.max(1))
    }

    pub fn stop_if_asked(&mut self, progress: &dyn Progress) -> Result<(), TrainError> {
        if progress.stopped() {
            self.save()?;
        }
        Ok(progress.check()?)
    }

    /// Trains on one batch.
    pub fn step(&mut self, inputs: &Batch, right: Vec<bool>) -> Result<(), TrainError> {
        let labels = Labels { right, weight_of_right: self.plan.weight_of_right };
        let learning_rate = self.plan.rate(self.steps);
        let Optimiser { weight_decay, max_gradient_norm, .. } = self.plan.options.optimiser;
        let adamw = AdamW { learning_rate, weight_decay, max_gradient_norm };
        let seed =
            self.plan.options.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(self.steps);
        let dropout = Dropout::new(self.fresh.config.dropout, seed);
        let loss = self.learner.step(inputs, &labels, adamw, dropout)?;
        if !loss.is_finite() {
            return Err(TrainError::Diverged { step: self.steps, rate: learning_rate });
        }
        self.steps += 1;
        self.position.batch += 1;
        for (sum, count) in [&mut self.position.loss, &mut self.position.epoch_loss] {
            *sum += f64::from(loss);
            *count += 1;
        }
        let steps_per_epoch = self.plan.steps_per_epoch;
        if self.steps.is_multiple_of((steps_per_epoch / 10).max(1)) {
            let epoch = self.steps as f64 / steps_per_epoch as f64;
            let loss = mean(std::mem::take(&mut self.position.loss));
            let steps = Steps { epoch, step: self.steps, loss, rate: learning_rate };
            self.record(TrainEvent::Steps(steps));
        }
        if self.steps.is_multiple_of(self.output.checkpoint_every.max(1)) {
            self.save()?;
        }
        Ok(())
    }

    pub fn end_epoch(&mut self, metrics: RankMetrics, sequences: usize) -> Result<(), TrainError> {
        let took = self.epoch_began.elapsed().as_secs_f64();
        self.position.epoch += 1;
        self.position.batch = 0;
        let left = self.plan.options.epochs - self.position.epoch;
        let epoch = Epoch {
            epoch: self.position.epoch,
            step: self.steps,
            loss: mean(std::mem::take(&mut self.position.epoch_loss)),
            rate: self.plan.rate(self.steps.saturating_sub(1)),
            medr: metrics.medr,
            r50: metrics.r50,
            mrr: metrics.mrr,
            samples_per_s: sequences as f64 / took.max(1e-9),
            left_s: took * left as f64,
        };
        self.epoch_began = Instant::now();
        if self.position.best.is_none_or(|best| epoch.is_better(&best)) {
            self.position.best = Some(epoch);
            self.best = self.learner.state()?.weights;
        }
        self.record(TrainEvent::Epoch(epoch));
        self.save()
    }

    fn record(&mut self, event: TrainEvent) {
        (self.report)(&event);
        self.position.history.push(event);
    }

    fn save(&mut self) -> Result<(), TrainError> {
        self.position.seconds += self.saved.elapsed().as_secs_f64();
        self.saved = Instant::now();
        let (folder, state) = (&self.output.folder, self.learner.state()?);
        checkpoint::write(folder, &self.settings, &self.position, &state, &self.best)?;
        let events = &self.position.history;
        let lines: String = events.iter().map(|event| format!("{}\n", json!(event))).collect();
        write_whole(&folder.join("metrics.jsonl"), lines.as_bytes())?;
        Ok(write_whole(&folder.join("curves.svg"), curves::svg(events).as_bytes())?)
    }

    /// With the weights as they are now.
    pub fn evaluator(&self) -> Result<Evaluator, TrainError> {
        Ok(self.with_weights(&self.learner.state()?.weights))
    }

    /// Of the epoch that `TrainOptions::patience` keeps.
    pub fn best_evaluator(&self) -> Result<Evaluator, TrainError> {
        match self.best.is_empty() || self.plan.options.patience.is_none() {
            true => self.evaluator(),
            false => Ok(self.with_weights(&self.best)),
        }
    }

    fn with_weights(&self, weights: &[f32]) -> Evaluator {
        let mut evaluator = self.fresh.clone();
        evaluator.network.parameters.copy_from_slice(weights);
        evaluator
    }

    /// Writes the model with the metrics of every collection, and removes the checkpoint.
    pub fn finish(
        self,
        evaluator: &Evaluator,
        metrics: &[TestMetrics],
        calibration: &CalibrationReport,
        collections: &[Collection],
    ) -> Result<Trained, TrainError> {
        let Self { position, steps, settings, .. } = self;
        let trained = Trained::new(metrics, calibration, &position, steps, settings);
        let card = trained.card(evaluator, collections, self.output);
        evaluator.save(&self.output.folder, card, self.output.precision)?;
        checkpoint::remove(&self.output.folder)?;
        Ok(trained)
    }
}

fn mean((sum, count): (f64, u32)) -> f64 {
    sum / f64::from(count.max(1))
}
