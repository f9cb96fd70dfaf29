//! Made-up inputs for the benchmarks, the same on every run.

use stitch_core::align::Costs;
use stitch_core::belief::Evidence;
use stitch_core::clip::{Clip, ClipId, Span, VideoId};
use stitch_core::features::Features;
use stitch_core::map::{Match, StepMap};
use stitch_core::pool::Pool;
use stitch_core::random::SplitMix64;

/// Costs of a video that shows the steps one after another, with other things between.
pub fn costs(steps: usize, seconds: usize) -> Costs {
    let mut numbers = SplitMix64::new(1);
    let mut matching = Vec::with_capacity(steps * seconds);
    for step in 0..steps {
        for second in 0..seconds {
            let (at, into) = (second * steps / seconds, second * steps % seconds);
            let shown = at == step && into * 2 < seconds;
            matching.push(f64::from(numbers.unit()) + if shown { 0.2 } else { 2.0 });
        }
    }
    let drop = (0..seconds).map(|_| 1.0 + 0.5 * f64::from(numbers.unit())).collect();
    Costs::new(matching, drop).expect("the costs are numbers")
}

/// A pool of `videos` with 50 clips each, and a map in which each step has the best clip of every
/// video that shows it, which it does with probability `share`.
pub fn library(steps: usize, videos: usize, share: f64) -> (Pool, StepMap) {
    let clips: Vec<Clip> = (0..videos * 50).map(clip).collect();
    let features = Features::new(1, vec![1.0; clips.len()]).expect("one number a row");
    let pool = Pool::new(clips, features.clone(), features).expect("as many rows as clips");
    let mut numbers = SplitMix64::new(2);
    let steps = (0..steps).map(|step| matches(step, steps, videos, share, &mut numbers));
    (pool, StepMap { steps: steps.collect() })
}

fn clip(row: usize) -> Clip {
    let start = (row % 50) as u64 * 2000;
    let span = Span::new(start, start + 1500).expect("not empty");
    Clip { video: VideoId((row / 50) as u32), span, text: String::new() }
}

fn matches(
    step: usize,
    steps: usize,
    videos: usize,
    share: f64,
    numbers: &mut SplitMix64,
) -> Vec<Match> {
    let mut matches = Vec::new();
    for video in 0..videos {
        if f64::from(numbers.unit()) >= share {
            continue;
        }
        // Mostly in the order of the procedure, with some disorder.
        let place = (step * 50 / steps + (f64::from(numbers.unit()) * 5.0) as usize).min(49);
        let log_prob = (0.3 + 0.6 * f64::from(numbers.unit())) as f32;
        let clip = ClipId((video * 50 + place) as u32);
        matches.push(Match { clip, evidence: Evidence::default(), log_prob });
    }
    matches.sort_by(|a, b| b.log_prob.total_cmp(&a.log_prob).then(a.clip.cmp(&b.clip)));
    matches
}
