//! Sentences per second of the sentence encoder, as one line of JSON; benches/mpnet.py measures
//! sentence-transformers on the same sentences.
//!
//! `cargo bench -p stitch-engine --bench mpnet --profile release -- MODEL_FOLDER`
#![allow(clippy::print_stdout)]

use std::path::PathBuf;
use std::time::Instant;

use stitch_engine::sentence::SentenceEncoder;

fn main() {
    let folder = std::env::args().nth(1).map(PathBuf::from);
    let Some(folder) = folder.filter(|folder| folder.join("model.safetensors").exists()) else {
        println!("{{\"skipped\":\"give the folder of all-mpnet-base-v2\"}}");
        return;
    };
    let steps: Vec<&str> = include_str!("../../../benches/steps.txt").lines().collect();
    let load = Instant::now();
    let encoder = SentenceEncoder::load(&folder).expect("the model loads");
    let load_s = load.elapsed().as_secs_f64();
    encoder.encode(&steps[..64]).expect("sentences encode");
    let seconds = |_| {
        encoder.forget();
        let start = Instant::now();
        encoder.encode(&steps).expect("sentences encode");
        start.elapsed().as_secs_f64()
    };
    let best = (0..3).map(seconds).fold(f64::INFINITY, f64::min);
    let rate = steps.len() as f64 / best;
    println!("{{\"mpnet_sentences_per_s\":{rate:.1},\"load_s\":{load_s:.2}}}");
}
