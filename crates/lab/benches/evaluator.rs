//! The evaluator at the paper's size: one step of training and 500 candidates scored, as one line of
//! JSON; benches/evaluator.py measures PyTorch on the same.
//!
//! `cargo bench --workspace --bench evaluator`; with `--features cuda` and `-- cuda`, on a GPU.
#![allow(clippy::print_stdout)]

use std::time::Instant;

use stitch_core::clip::{Clip, ClipId, Span, VideoId};
use stitch_core::cover::Sequence;
use stitch_core::features::Features;
use stitch_core::pool::Pool;
use stitch_engine::encoder::EncoderId;
use stitch_engine::evaluator::{AdamW, Batch, Config, Dropout, Evaluator, Labels};
use stitch_engine::scorer::{Query, Scorer};
use stitch_lab::train::learner::{CpuLearner, Learner};

const STEPS: usize = 8;
const DIM: usize = 768;

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("cuda") => on_gpu(),
        _ => on_cpu(),
    }
}

fn on_cpu() {
    let evaluator = paper();
    let score_s = score(&evaluator);
    let inputs = evaluator.config.inputs();
    let step_s = step(&mut CpuLearner::new(evaluator, None), inputs, 24, 8);
    println!("{{\"train_step_24x8_s\":{step_s:.5},\"score_500x8_s\":{score_s:.5}}}");
}

/// The first step with all that comes before it, then steps of 24 and of 1,024 sequences; and how far
/// the losses of the first steps are from those on CPU.
#[cfg(feature = "cuda")]
fn on_gpu() {
    use stitch_engine::evaluator::gpu::Arithmetic;
    use stitch_lab::train::learner::GpuLearner;

    let mut figures = Vec::new();
    for (size, fresh) in [("paper", paper as fn() -> Evaluator), ("small", small)] {
        let inputs = fresh().config.inputs();
        for (name, arithmetic) in [("f32", Arithmetic::F32), ("bf16", Arithmetic::Bf16)] {
            let begun = Instant::now();
            let mut learner = match GpuLearner::new(&fresh(), None, arithmetic) {
                Ok(learner) => learner,
                Err(error) => return println!("{{\"skipped\":\"{error}\"}}"),
            };
            let first_losses = losses(&mut learner, inputs, 1);
            figures.push((format!("{size}_{name}_first_step_s"), begun.elapsed().as_secs_f64()));
            let on_gpu = [first_losses, losses(&mut learner, inputs, 5)].concat();
            let mut on_cpu = CpuLearner::new(fresh(), None);
            let on_cpu = [losses(&mut on_cpu, inputs, 1), losses(&mut on_cpu, inputs, 5)].concat();
            let far = on_gpu.iter().zip(&on_cpu).map(|(a, b)| f64::from((a - b).abs()));
            figures.push((format!("{size}_{name}_loss_differs"), far.fold(0.0, f64::max)));
            for (count, times) in [(24, 50), (1024, 30)] {
                let seconds = step(&mut learner, inputs, count, times);
                figures.push((format!("{size}_{name}_step_{count}x8_s"), seconds));
            }
        }
    }
    let figures: Vec<String> = figures.iter().map(|(k, v)| format!("\"{k}\":{v:.6}")).collect();
    println!("{{{}}}", figures.join(","));
}

#[cfg(not(feature = "cuda"))]
fn on_gpu() {
    println!("{{\"skipped\":\"built without --features cuda\"}}");
}

/// The losses of so many steps.
#[cfg(feature = "cuda")]
fn losses(learner: &mut dyn Learner, inputs: usize, times: u64) -> Vec<f32> {
    let (batch, labels) = given(24, inputs);
    let adamw = AdamW { learning_rate: 3e-4, weight_decay: 0.01, max_gradient_norm: 1.0 };
    let mut once = |seed| learner.step(&batch, &labels, adamw, Dropout::new(0.1, seed));
    (0..times).map(|seed| once(seed).expect("a step")).collect()
}

#[cfg(feature = "cuda")]
fn small() -> Evaluator {
    let encoder = EncoderId { name: "bench".into(), dim: DIM, weights: String::new() };
    Evaluator::fresh(Config::small(encoder, "bench"), 1).expect("the small sizes are sound")
}

fn paper() -> Evaluator {
    let encoder = EncoderId { name: "bench".into(), dim: DIM, weights: String::new() };
    Evaluator::fresh(Config::paper(encoder, "bench"), 1).expect("the paper's sizes are sound")
}

/// Numbers that look random and are the same every time.
fn numbers(count: usize) -> Vec<f32> {
    (0..count).map(|i| (i as f32 * 12.9898).sin() * 0.05).collect()
}

fn best(times: usize, mut work: impl FnMut()) -> f64 {
    let once = |_| {
        let begun = Instant::now();
        work();
        begun.elapsed().as_secs_f64()
    };
    (0..times).map(once).fold(f64::INFINITY, f64::min)
}

/// Sequences and what they are.
fn given(count: usize, inputs: usize) -> (Batch, Labels) {
    let batch = Batch { inputs: numbers(count * STEPS * inputs), lengths: vec![STEPS; count] };
    let right = (0..count).map(|i| i % 4 == 0).collect();
    (batch, Labels { right, weight_of_right: 1.0 })
}

/// Forward, backward and Adam.
fn step(learner: &mut dyn Learner, inputs: usize, count: usize, times: usize) -> f64 {
    let (batch, labels) = given(count, inputs);
    let adamw = AdamW { learning_rate: 3e-4, weight_decay: 0.0, max_gradient_norm: 0.0 };
    let mut seed = 0;
    let mut once = || {
        seed += 1;
        learner.step(&batch, &labels, adamw, Dropout::new(0.1, seed)).expect("a step");
    };
    once();
    best(times, once)
}

/// 500 candidates, each step's clip one of fifty, as the query makes them.
fn score(evaluator: &Evaluator) -> f64 {
    const CLIPS: usize = 50;
    let span = Span::new(0, 1).expect("a span");
    let clip = |row: usize| Clip { video: VideoId(row as u32 % 40), span, text: String::new() };
    let rows = Features::new(DIM, numbers(STEPS * CLIPS * DIM)).expect("rows");
    let pool =
        Pool::new((0..STEPS * CLIPS).map(clip).collect(), rows.clone(), rows).expect("a pool");
    let steps = Features::new(DIM, numbers(STEPS * DIM)).expect("rows");
    let query = Query { texts: &[], text: &steps, clip: &steps, search: None };
    let candidate = |number: usize| {
        let clip = |step: usize| {
            (step * CLIPS + (number * 7 + number * number % 11 * step) % CLIPS) as u32
        };
        Sequence((0..STEPS).map(|step| Some(ClipId(clip(step)))).collect())
    };
    let candidates: Vec<Sequence> = (0..500).map(candidate).collect();
    let once = || drop(evaluator.score(&query, &pool, &candidates).expect("scores"));
    once();
    best(4, once)
}
