//! One JSON object of median seconds, for comparisons with other implementations.
#![allow(clippy::print_stdout, reason = "a benchmark's report is what it prints")]

mod common;

use std::hint::black_box;
use std::time::{Duration, Instant};
use stitch_core::align::{AlignOptions, drop_dtw};
use stitch_core::cover::{KBestOptions, greedy, k_best};

fn main() {
    let (small, large) = (common::costs(10, 300), common::costs(20, 3600));
    let options = AlignOptions::default();
    // Every video can show every step; and one in two, where no video shows all.
    let (pool, whole) = common::library(20, 1000, 1.0);
    let (_, half) = common::library(20, 1000, 0.5);
    let costs = KBestOptions { switch_cost: 0.1, order_cost: 0.2 };
    let results = [
        ("drop_dtw_10x300_s", median(|| drop_dtw(black_box(&small), &options))),
        ("drop_dtw_20x3600_s", median(|| drop_dtw(black_box(&large), &options))),
        ("greedy_20x1000_s", median(|| greedy(black_box(&whole), &pool, 500))),
        ("greedy_20x1000_half_s", median(|| greedy(black_box(&half), &pool, 500))),
        ("k_best_20x1000_s", median(|| k_best(black_box(&whole), &pool, 500, &costs))),
    ];
    let fields: Vec<String> =
        results.iter().map(|(name, seconds)| format!("\"{name}\": {seconds:e}")).collect();
    println!("{{{}}}", fields.join(", "));
}

/// The median time of many runs, at least five and about half a second in all.
fn median<T>(run: impl Fn() -> T) -> f64 {
    black_box(run());
    let begun = Instant::now();
    let mut times = Vec::new();
    while times.len() < 5 || begun.elapsed() < Duration::from_millis(500) {
        let start = Instant::now();
        black_box(run());
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
