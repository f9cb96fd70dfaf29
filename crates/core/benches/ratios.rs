//! One JSON object of seconds, for comparisons with other implementations.
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
        ("drop_dtw_10x300_s", shortest(|| drop_dtw(black_box(&small), &options))),
        ("drop_dtw_20x3600_s", shortest(|| drop_dtw(black_box(&large), &options))),
        ("greedy_20x1000_s", shortest(|| greedy(black_box(&whole), &pool, 500, &costs))),
        ("greedy_20x1000_half_s", shortest(|| greedy(black_box(&half), &pool, 500, &costs))),
        ("k_best_20x1000_s", shortest(|| k_best(black_box(&whole), &pool, 500, &costs))),
    ];
    let fields: Vec<String> =
        results.iter().map(|(name, seconds)| format!("\"{name}\": {seconds:e}")).collect();
    println!("{{{}}}", fields.join(", "));
}

/// The shortest time of many runs: what else the machine does can only add to it.
fn shortest<T>(run: impl Fn() -> T) -> f64 {
    black_box(run());
    let begun = Instant::now();
    let mut times = Vec::new();
    while times.len() < 5 || begun.elapsed() < Duration::from_millis(500) {
        let start = Instant::now();
        black_box(run());
        times.push(start.elapsed().as_secs_f64());
    }
    times.into_iter().fold(f64::INFINITY, f64::min)
}
