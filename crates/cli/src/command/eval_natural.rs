//! `stitch eval natural`: procedures in natural wording, evaluated step by step.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use stitch_engine::demonstrate::Options;
use stitch_engine::files;
use stitch_lab::suite::metrics::Estimate;
use stitch_lab::suite::natural::{self, Group, NaturalReport};
use stitch_world::truth::Truth;

use crate::failure::Failure;
use crate::options::GapArguments;
use crate::setup::{ScorerArguments, Setup};
use crate::table;

/// Answer procedures in natural wording and compare every step with the ground truth
///
/// The set is a file or folder of lines {"id", "domain", "title", "text", "steps": [{"line", "accept":
/// [[verb, thing]], "context"}]}; crates/lab/data/natural has two.
#[derive(Args)]
pub struct NaturalArguments {
    /// The procedures
    #[arg(value_name = "SET")]
    set: PathBuf,
    /// The folder that `stitch world render` wrote and the library indexes
    #[arg(long, value_name = "DIR")]
    world: PathBuf,
    #[command(flatten)]
    scorer: ScorerArguments,
    #[command(flatten)]
    gaps: GapArguments,
    /// Print every step that was not answered correctly, with the reason
    #[arg(long)]
    errors: bool,
    /// Write every evaluated step as a line of JSON, for fitting a calibration
    #[arg(long, value_name = "FILE")]
    rows: Option<PathBuf>,
}

pub fn run(arguments: &NaturalArguments, setup: &Setup) -> Result<u8, Failure> {
    let GapArguments { threshold, gaps } = arguments.gaps;
    let options = Options { threshold, gaps, ..Options::default() };
    options.validate().map_err(|error| Failure::usage(error.to_string()))?;
    let procedures = natural::read(&arguments.set)?;
    let truth = Truth::read(&arguments.world.join("truth.json"))?;
    let session = setup.open(&arguments.scorer)?;
    let with = session.demonstrator();
    let report = natural::evaluate(&with, &truth, &procedures, &options, &setup.progress)?;
    if let Some(path) = &arguments.rows {
        let lines: Vec<String> = report.steps.iter().map(|step| json!(step).to_string()).collect();
        files::write_whole(path, (lines.join("\n") + "\n").as_bytes())?;
    }
    setup.print(&report, || print(&report, arguments.errors));
    Ok(0)
}

fn print(report: &NaturalReport, errors: bool) {
    let percent = |e: &Estimate| {
        format!("{:.1} ({:.1}-{:.1})", 100.0 * e.value, 100.0 * e.low, 100.0 * e.high)
    };
    let row = |group: &Group| {
        let [right, wrong, gap] = [&group.right, &group.wrong, &group.gap].map(percent);
        vec![group.name.clone(), group.steps.to_string(), right, wrong, gap]
    };
    let rows: Vec<_> = report.groups.iter().map(row).collect();
    println!("{} natural procedures, {} steps", report.procedures, report.steps.len());
    table::print(&["", ">steps", ">right %", ">wrong %", ">gap %"], &rows);
    println!(
        "lines falsely parsed as steps: {}; steps not parsed: {} ({} that nothing shows, counted as \
         gaps); calibration error: {:.3}",
        report.extra_steps.len(),
        report.missed_steps,
        report.missed_unshown,
        report.calibration_error
    );
    for (id, line) in report.extra_steps.iter().filter(|_| errors) {
        println!("  {id}: falsely parsed as a step: {line}");
    }
    for step in report.steps.iter().filter(|_| errors) {
        if let Some(reason) = step.reason {
            let clip = step.clip.as_deref().unwrap_or("a gap");
            println!("  {}: {reason}: {} → {clip}", step.id, step.line);
        }
    }
}
