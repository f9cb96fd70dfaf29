//! Drop-DTW, greedy covers and the exact K best, as they grow.

mod common;

use divan::{Bencher, counter::ItemsCount};
use stitch_core::align::{AlignOptions, drop_dtw, drop_dtw_with_missing_steps};
use stitch_core::cover::{KBestOptions, greedy, k_best};

fn main() {
    divan::main();
}

/// Items are cells: the time per cell stays the same where it is linear in K·N.
#[divan::bench(args = [
    (10, 300), (20, 3600), (8, 450), (8, 900), (8, 1800), (8, 3600), (16, 3600), (32, 3600),
    (64, 3600), (128, 3600), (32, 28_800)
])]
fn align(bencher: Bencher, (steps, seconds): (usize, usize)) {
    let costs = common::costs(steps, seconds);
    bencher
        .counter(ItemsCount::new(steps * seconds))
        .bench(|| drop_dtw(divan::black_box(&costs), &AlignOptions::default()));
}

#[divan::bench(args = [(10, 300), (20, 3600)])]
fn align_with_missing_steps(bencher: Bencher, (steps, seconds): (usize, usize)) {
    let costs = common::costs(steps, seconds);
    let step_drop = vec![3.0; steps];
    bencher.counter(ItemsCount::new(steps * seconds)).bench(|| {
        drop_dtw_with_missing_steps(divan::black_box(&costs), &step_drop, &AlignOptions::default())
    });
}

const COSTS: KBestOptions = KBestOptions { switch_cost: 0.1, order_cost: 0.2 };

/// 20 steps, 1,000 videos, each of which shows a step with this probability.
#[divan::bench(args = [1.0, 0.5, 0.2, 0.05])]
fn greedy_500(bencher: Bencher, share: f64) {
    let (pool, map) = common::library(20, 1000, share);
    bencher.bench(|| greedy(divan::black_box(&map), &pool, 500, &COSTS));
}

#[divan::bench(args = [1.0, 0.5, 0.2, 0.05])]
fn k_best_500(bencher: Bencher, share: f64) {
    let (pool, map) = common::library(20, 1000, share);
    bencher.bench(|| k_best(divan::black_box(&map), &pool, 500, &COSTS));
}
