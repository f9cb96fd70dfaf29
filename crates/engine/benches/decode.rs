//! Samples a video as the default encoder wants it and prints how many pictures came;
//! `benches/decode.py` at the root of the repository compares it with PyAV.
//!
//! `cargo bench --workspace --bench decode -- VIDEO`

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::path::Path;

use stitch_engine::media::frames::{Decode, Filter, Fit, Frames, Sampling};
use stitch_engine::progress::Silent;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let Some(path) = arguments.next() else {
        return Ok(()); // `cargo test --benches` runs this without arguments
    };
    let (fps, width, height, decode) = (8.0, 256, 256, Decode::Exact);
    let sampling =
        Sampling { fps, width, height, fit: Fit::Squash, filter: Filter::Bicubic, decode };
    let mut pictures = 0u64;
    for frame in Frames::open(Path::new(&path), &sampling, &Silent)? {
        frame?;
        pictures += 1;
    }
    println!(r#"{{"pictures":{pictures}}}"#);
    Ok(())
}
