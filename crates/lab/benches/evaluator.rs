//! The evaluator at the paper's size: one step of training and 500 candidates scored, as one line of
//! JSON; benches/evaluator.py measures PyTorch on the same.
//!
//! `cargo bench --workspace --bench evaluator`, or `-- cuda` in a program built with `--features cuda`.
#![allow(clippy::print_stdout)]

use std::time::Instant;

use candle_core::Device;
use stitch_core::clip::{Clip, ClipId, Span, VideoId};
use stitch_core::cover::Sequence;
use stitch_core::features::Features;
use stitch_core::pool::Pool;
use stitch_engine::encoder::EncoderId;
use stitch_engine::evaluator::{Batch, Config, Dropout, Evaluator, Labels};
use stitch_engine::scorer::{Query, Scorer};
use stitch_lab::train::learner::{Learner, OnCpu, OnDevice, Pace};

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
    let step_s = step(&mut OnCpu::new(evaluator, None), 24, 8);
    println!("{{\"train_step_24x8_s\":{step_s:.5},\"score_500x8_s\":{score_s:.5}}}");
}

fn on_gpu() {
    let device = Device::new_cuda(0).expect("a CUDA GPU");
    let begun = Instant::now();
    let mut learner = OnDevice::new(paper(), None, &device).expect("it fits");
    step(&mut learner, 24, 1);
    let first_s = begun.elapsed().as_secs_f64();
    let (small, large) = (step(&mut learner, 24, 20), step(&mut learner, 1024, 10));
    println!(
        "{{\"first_step_s\":{first_s:.3},\"cuda_step_24x8_s\":{small:.5},\"cuda_step_1024x8_s\":{large:.5}}}"
    );
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

/// Forward, backward and Adam.
fn step(learner: &mut dyn Learner, count: usize, times: usize) -> f64 {
    let batch = Batch { inputs: numbers(count * STEPS * 2 * DIM), lengths: vec![STEPS; count] };
    let right = (0..count).map(|i| i % 4 == 0).collect();
    let labels = Labels { right, weight_of_right: 1.0 };
    let pace = Pace { rate: 3e-4, decay: 0.0, clip: 0.0 };
    let mut seed = 0;
    let mut once = || {
        seed += 1;
        learner.step(&batch, &labels, pace, Dropout::new(0.1, seed)).expect("a step");
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
    let query = Query { texts: &[], text: &steps, clip: &steps, map: None };
    let candidate = |number: usize| {
        let clip = |step: usize| {
            (step * CLIPS + (number * 7 + number * number % 11 * step) % CLIPS) as u32
        };
        Sequence((0..STEPS).map(|step| Some(ClipId(clip(step)))).collect())
    };
    let candidates: Vec<Sequence> = (0..500).map(candidate).collect();
    let mut once = || drop(evaluator.score(&query, &pool, &candidates).expect("scores"));
    once();
    best(4, once)
}
