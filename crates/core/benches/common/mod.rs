//! Made-up inputs for the benchmarks, the same on every run.

use stitch_core::align::Costs;
use stitch_core::belief::Evidence;
use stitch_core::clip::{Clip, ClipId, Span, VideoId};
use stitch_core::features::Features;
use stitch_core::map::{Match, StepMap};
use stitch_core::pool::Pool;

/// A small generator of numbers between 0 and 1 (xorshift*).
pub struct Numbers(u64);

impl Numbers {
    pub fn new(seed: u64) -> Self {
        Self(seed * 2 + 1)
    }

    pub fn next(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Costs of a video that shows the steps one after another, with other things between.
pub fn costs(steps: usize, seconds: usize) -> Costs {
    let mut numbers = Numbers::new(1);
    let mut matching = Vec::with_capacity(steps * seconds);
    for step in 0..steps {
        for second in 0..seconds {
            let (at, into) = (second * steps / seconds, second * steps % seconds);
            let shown = at == step && into * 2 < seconds;
            matching.push(numbers.next() + if shown { 0.2 } else { 2.0 });
        }
    }
    let drop = (0..seconds).map(|_| 1.0 + 0.5 * numbers.next()).collect();
    Costs::new(matching, drop).expect("the costs are numbers")
}

/// A pool of `videos` with 50 clips each, and a map in which each step has the best clip of every
/// video that shows it, which it does with probability `share`.
pub fn library(steps: usize, videos: usize, share: f64) -> (Pool, StepMap) {
    let clips: Vec<Clip> = (0..videos * 50).map(clip).collect();
    let features = Features::new(1, vec![1.0; clips.len()]).expect("one number a row");
    let pool = Pool::new(clips, features.clone(), features).expect("as many rows as clips");
    let mut numbers = Numbers::new(2);
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
    numbers: &mut Numbers,
) -> Vec<Match> {
    let mut matches = Vec::new();
    for video in 0..videos {
        if numbers.next() >= share {
            continue;
        }
        // Mostly in the order of the procedure, with some disorder.
        let place = (step * 50 / steps + (numbers.next() * 5.0) as usize).min(49);
        let worth = (0.3 + 0.6 * numbers.next()) as f32;
        let clip = ClipId((video * 50 + place) as u32);
        matches.push(Match { clip, evidence: Evidence::default(), worth });
    }
    matches.sort_by(|a, b| b.worth.total_cmp(&a.worth).then(a.clip.cmp(&b.clip)));
    matches
}
