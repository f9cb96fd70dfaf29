//! libFuzzer over one target of the table, the one that `FUZZ_TARGET` names; without it, the names are printed.
//! The corpus of the target begins with its seeds.
#![no_main]

mod data_sets;
mod targets;

use std::path::PathBuf;
use std::sync::OnceLock;

use data_sets::DATA_SETS;
use targets::{TARGETS, Target};

static TARGET: OnceLock<&Target> = OnceLock::new();

/// Writes the seeds into the folder `FUZZ_CORPUS`.
fn choose() {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    let all = || TARGETS.iter().chain(DATA_SETS);
    let Some(target) = all().find(|target| target.name == name) else {
        all().for_each(|target| println!("{}", target.name));
        std::process::exit(0);
    };
    let corpus = PathBuf::from(std::env::var_os("FUZZ_CORPUS").unwrap_or("corpus".into()));
    std::fs::create_dir_all(&corpus).unwrap();
    for (number, seed) in (target.seeds)().iter().enumerate() {
        std::fs::write(corpus.join(format!("seed-{number}")), seed).unwrap();
    }
    TARGET.get_or_init(|| target);
}

libfuzzer_sys::fuzz_target!(init: choose(), |bytes: &[u8]| {
    if let Some(target) = TARGET.get() {
        (target.run)(bytes);
    }
});
