//! Benchmarks as ratios: ours against what a user would pick instead, in one run, on one machine.

mod pairs;
mod machine;
mod ours;
mod theirs;
mod report;

use std::path::Path;
use std::process::ExitCode;

use pairs::{PAIRS, Pair};
use report::{Report, Result as Outcome};

/// Prints the pairs.
pub fn list() -> Result<ExitCode, String> {
    for pair in &PAIRS {
        println!("{:10} {}", pair.name, pair.says);
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs the pairs of these names (all, where none is named), prints the table and saves it.
pub fn run(root: &Path, names: &[&str]) -> Result<ExitCode, String> {
    let chosen = chosen(names)?;
    let outcomes: Vec<Outcome> = chosen.into_iter().map(|pair| measure(root, pair)).collect();
    let report = Report { machine: machine::facts(), outcomes };
    println!("\n{}", report.markdown());
    report.save(root)?;
    Ok(if report.holds() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn chosen(names: &[&str]) -> Result<Vec<&'static Pair>, String> {
    if names.is_empty() {
        return Ok(PAIRS.iter().collect());
    }
    let find = |name: &&str| PAIRS.iter().find(|pair| pair.name == *name);
    let unknown = |name: &&str| format!("no benchmark `{name}`; `cargo xtask bench --list`");
    names.iter().map(|name| find(name).ok_or_else(|| unknown(name))).collect()
}

/// Both sides of a pair, one after the other so that neither disturbs the other.
fn measure(root: &Path, pair: &'static Pair) -> Outcome {
    eprintln!("{}: ours", pair.name);
    let ours = ours::run(root, pair);
    let theirs = pair.theirs.map(|rival| {
        eprintln!("{}: {}", pair.name, rival.what);
        theirs::run(root, rival, pair.how)
    });
    Outcome { pair, ours, theirs }
}
