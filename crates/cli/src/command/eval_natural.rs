//! `stitch eval natural`: procedures as people write them, judged step by step.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use stitch_engine::demonstrate::Options;
use stitch_engine::files;
use stitch_lab::suite::metrics::Estimate;
use stitch_lab::suite::natural::{self, NaturalReport};
use stitch_world::truth::Truth;

use super::make::GapsName;
use crate::failure::Failure;
use crate::setup::{ScorerArguments, Setup};
use crate::table;

/// Answer procedures in people's own words and judge every step
///
/// The set is a file or folder of lines {"id", "domain", "title", "text", "steps": [{"line", "accept":
/// [[verb, thing]], "context"}]}; crates/lab/data/natural has two.
#[derive(Args)]
pub struct NaturalArguments {
    /// The natural procedures
    #[arg(value_name = "SET")]
    set: PathBuf,
    /// The folder that `stitch world render` wrote, indexed into the library
    #[arg(long, value_name = "DIR")]
    world: PathBuf,
    #[command(flatten)]
    scorer: ScorerArguments,
    /// When a step is called a gap
    #[arg(long, value_enum, default_value_t = GapsName::Balanced)]
    gaps: GapsName,
    /// How likely a clip must show its step, or the step is called a gap
    #[arg(long, value_name = "PROBABILITY")]
    threshold: Option<f32>,
    /// List every step that was not answered rightly, with the reason
    #[arg(long)]
    errors: bool,
    /// Write every judged step as a line of JSON, for fitting a calibration
    #[arg(long, value_name = "FILE")]
    rows: Option<PathBuf>,
}

/// Runs the command.
pub fn run(arguments: &NaturalArguments, setup: &Setup) -> Result<u8, Failure> {
    let procedures = natural::read(&arguments.set)?;
    let truth = Truth::read(&arguments.world.join("truth.json"))?;
    let opened = setup.open(&arguments.scorer)?;
    let options = Options {
        threshold: arguments.threshold,
        gaps: arguments.gaps.into(),
        ..Options::default()
    };
    let with = opened.demonstrator();
    let report = natural::evaluate(&with, &truth, &procedures, &options, &setup.progress)?;
    setup.progress.finish();
    if let Some(path) = &arguments.rows {
        let lines: Vec<String> = report.steps.iter().map(|step| json!(step).to_string()).collect();
        files::write_whole(path, (lines.join("\n") + "\n").as_bytes())?;
    }
    if setup.json {
        println!("{}", json!(report));
    } else {
        print(&report, arguments.errors);
    }
    Ok(0)
}

fn print(report: &NaturalReport, errors: bool) {
    let percent = |e: &Estimate| {
        format!("{:.1} ({:.1}-{:.1})", 100.0 * e.value, 100.0 * e.low, 100.0 * e.high)
    };
    let rows: Vec<Vec<String>> = report
        .groups
        .iter()
        .map(|group| {
            let shares = [&group.right, &group.wrong, &group.gap].map(percent);
            [vec![group.name.clone(), group.steps.to_string()], shares.to_vec()].concat()
        })
        .collect();
    println!("{} natural procedures, {} steps", report.procedures, report.steps.len());
    let head = ["", "steps", "right %", "wrong %", "gap %"];
    table::print(&head, &[false, true, true, true, true], &rows);
    println!(
        "lines wrongly read as steps: {}; steps not read: {}; calibration error: {:.3}",
        report.extra_steps.len(),
        report.missed_steps,
        report.calibration_error
    );
    for (id, line) in report.extra_steps.iter().filter(|_| errors) {
        println!("  {id}: no step, but read as one: {line}");
    }
    for step in report.steps.iter().filter(|_| errors) {
        if let Some(reason) = step.reason {
            let clip = step.clip.as_deref().unwrap_or("a gap");
            println!("  {}: {reason}: {} → {clip}", step.id, step.line);
        }
    }
}
