//! Every parser of foreign bytes comes back from its seeds and from seeded mutations of them, quickly. The same table
//! is run under libFuzzer by `make fuzz`; what that finds becomes an input here.

#[path = "../../../fuzz/data_sets.rs"]
mod data_sets;
#[path = "../../../fuzz/mutate.rs"]
mod mutate;
#[path = "../../../fuzz/targets.rs"]
mod targets;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use data_sets::DATA_SETS;
use mutate::{Random, mutated};
use targets::{TARGETS, Target};

/// Of each target, beside its seeds.
const MUTATIONS: u64 = 500;
/// For one input of a few kilobytes, on a busy machine.
const LIMIT: Duration = Duration::from_secs(10);

fn check(target: &Target, bytes: &[u8], case: &str) {
    let started = Instant::now();
    let came_back = catch_unwind(AssertUnwindSafe(|| (target.run)(bytes))).is_ok();
    assert!(came_back, "{}: {case}: {:?}", target.name, String::from_utf8_lossy(bytes));
    let took = started.elapsed();
    assert!(took < LIMIT, "{}: {case} took {took:?}", target.name);
}

#[test]
fn mutations_of_every_form_are_read_or_refused() {
    for target in TARGETS.iter().chain(DATA_SETS) {
        let seeds = (target.seeds)();
        assert!(!seeds.is_empty(), "{}", target.name);
        for (number, seed) in seeds.iter().enumerate() {
            check(target, seed, &format!("seed {number}"));
        }
        for number in 0..MUTATIONS {
            let bytes = mutated(&seeds, &mut Random(number));
            check(target, &bytes, &format!("mutation {number}"));
        }
    }
}
