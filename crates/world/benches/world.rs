//! How fast the synthetic library is drawn, spoken and encoded: video seconds per CPU second, with the
//! CPU time of the encoder counted in.

#![allow(clippy::print_stdout)]

use std::error::Error;

use stitch_engine::progress::Silent;
use stitch_world::render::render;
use stitch_world::settings::Settings;

/// Two videos of every task's first, which is enough to be steady.
const VIDEOS: usize = 12;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let settings = Settings { videos: VIDEOS, ..Settings::DEFAULT };
    let before = cpu_seconds()?;
    let summary = render(folder.path(), settings, false, &Silent)?;
    let spent = cpu_seconds()? - before;
    let rate = summary.seconds as f64 / spent;
    println!("{{\"world_video_seconds_per_cpu_second\": {rate:.2}}}");
    Ok(())
}

/// CPU time of this process and of all programs it has waited for.
fn cpu_seconds() -> Result<f64, Box<dyn Error>> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let (_, fields) = stat.rsplit_once(')').ok_or("no process table")?;
    let ticks = fields.split_whitespace().skip(11).take(4).map(str::parse::<f64>);
    Ok(ticks.sum::<Result<f64, _>>()? / 100.0)
}
