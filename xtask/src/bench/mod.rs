//! Benchmarks as ratios: our code against the alternative that a user has, on the same machine.

mod pairs;
mod sides;
mod report;

use std::path::Path;
use std::process::ExitCode;

use crate::command;
use pairs::{PAIRS, Pair};
use report::{Outcome, Report, machine};

pub fn list() -> Result<ExitCode, String> {
    command::list(PAIRS.iter().map(|pair| (pair.name, pair.summary)))
}

/// Runs the named benchmarks, or all, prints the table and saves it. Fails if a bar is missed.
pub fn run(root: &Path, names: &[&str]) -> Result<ExitCode, String> {
    let pairs: Vec<&Pair> = PAIRS.iter().collect();
    let pairs = command::select(&pairs, |pair| pair.name, names)?;
    let outcomes = pairs.into_iter().map(|pair| measure(root, pair)).collect();
    let report = Report { machine: machine(), outcomes };
    println!("\n{}", report.markdown());
    report.save(root)?;
    Ok(if report.holds() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs one side after the other, so that they do not compete for cores.
fn measure(root: &Path, pair: &'static Pair) -> Outcome {
    eprintln!("{}: ours", pair.name);
    let ours = sides::ours(root, pair);
    let theirs = pair.theirs.map(|what| {
        eprintln!("{}: {what}", pair.name);
        sides::theirs(root, pair)
    });
    Outcome { pair, ours, theirs }
}
