//! Renders a `demo.json` with default options and prints the work done as JSON; `benches/render.py`
//! at the root of the repository compares it with moviepy.
//!
//! `cargo bench -p stitch-engine --bench render -- DEMO.json OUT.mp4 CACHE [burnt] [blur|crop]
//! [fade=MS] [title] [exports]`

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use stitch_engine::demonstrate::Demonstration;
use stitch_engine::export::{Export, FORMATS};
use stitch_engine::progress::Silent;
use stitch_engine::render::{Aspect, Captions, Plan, RenderOptions, render};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let [json, out, cache, words @ ..] = arguments.as_slice() else {
        return Ok(()); // `cargo test --benches` runs this without arguments
    };
    let demonstration: Demonstration = serde_json::from_slice(&std::fs::read(json)?)?;
    let began = Instant::now();
    let report =
        render(&demonstration, &options(words), Path::new(out), Path::new(cache), &Silent)?;
    let wall = began.elapsed().as_secs_f64();
    let (encoded, reused) = (report.encoded, report.reused);
    let cpu = cpu_seconds()?;
    if words.iter().any(|word| word == "exports") {
        exports(&demonstration, &report.plan, Path::new(out), Path::new(cache))?;
    }
    println!(r#"{{"encoded":{encoded},"reused":{reused},"wall_s":{wall:.2},"cpu_s":{cpu:.2}}}"#);
    Ok(())
}

/// Every export, beside the video.
fn exports(
    demonstration: &Demonstration,
    plan: &Plan,
    out: &Path,
    cache: &Path,
) -> Result<(), Box<dyn Error>> {
    let video = out.file_name().unwrap_or_default().to_string_lossy();
    let export =
        Export { demonstration, plan, handles_ms: 0, video: &video, cache, progress: &Silent };
    for format in FORMATS {
        format.write(&export, &out.with_extension(format.extension))?;
    }
    Ok(())
}

fn options(words: &[String]) -> RenderOptions {
    let mut options = RenderOptions::default();
    for word in words {
        match word.as_str() {
            "burnt" => options.captions = Captions::Burnt,
            "blur" => options.aspect = Aspect::Blur,
            "crop" => options.aspect = Aspect::Crop,
            "title" => options.title_card = true,
            other => {
                if let Some(ms) = other.strip_prefix("fade=").and_then(|ms| ms.parse().ok()) {
                    options.crossfade_ms = ms;
                }
            }
        }
    }
    options
}

/// User and system time of this process and of its children that have ended (Linux).
fn cpu_seconds() -> Result<f64, Box<dyn Error>> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks = after_name.split_whitespace().skip(11).take(4).map(str::parse::<f64>);
    Ok(ticks.sum::<Result<f64, _>>()? / 100.0)
}
