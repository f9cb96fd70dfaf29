//! `stitch eval --all` and `--quick`: every experiment, written as a report.

use std::path::{Path, PathBuf};

use serde_json::json;
use stitch_core::format::count;
use stitch_engine::encoder::Encoder;
use stitch_engine::media::Decode;
use stitch_engine::progress::Progress;
use stitch_lab::evaluation::{self, Evaluation};
use stitch_lab::suite::experiments::localisation;
use stitch_lab::suite::report::EvaluationReport;

use super::eval_data::{self, DataArguments};
use crate::failure::Failure;
use crate::setup::Setup;
use crate::table;

/// Every domain of a toy without models; fails where candidates hold too few truths.
pub fn run_quick(arguments: &DataArguments, setup: &Setup) -> Result<u8, Failure> {
    let report = evaluation::toy(arguments.seed, arguments.most, &setup.progress);
    let report = report.map_err(|error| Failure::of(&*error))?;
    finish(&report, arguments.out.as_deref(), setup)?;
    match evaluation::lost_truths(&report) {
        lost if lost.is_empty() => Ok(0),
        lost => Err(Failure::new(lost.join("; "))),
    }
}

/// Everything on the sets that were named and on the library.
pub fn run_all(arguments: &DataArguments, setup: &Setup) -> Result<u8, Failure> {
    let indexed = setup.library.join("library.db").is_file();
    setup.progress.begin("loading models", 0);
    let (sentences, store) = (setup.sentence()?, setup.store());
    let out = arguments.out.clone().unwrap_or_else(|| "report".into());
    let evaluation = Evaluation {
        options: arguments.options(),
        mixed: arguments.mixed,
        ablations: arguments.ablations,
        out: &out,
        world: arguments.world.as_deref(),
        procedures: arguments.procedures.as_deref(),
        labels: arguments.labels.as_deref(),
        sentence: &sentences.encoder,
        evaluators: arguments.evaluators(&store, &sentences.encoder),
        progress: &setup.progress,
    };
    let encoder = match arguments.data.is_empty() {
        true => None,
        false => Some(setup.encoder(&arguments.encoder, &sentences, Decode::Exact)?),
    };
    let sets = encoder.iter().flat_map(|encoder| {
        arguments.data.iter().map(move |data| (data.clone(), encoder.as_ref()))
    });
    let sets: Vec<(PathBuf, &dyn Encoder)> = sets.collect();
    let library = indexed.then(|| setup.open_library(&sentences)).transpose()?;
    let library = library.as_ref().map(|(library, encoder)| (library, encoder.as_ref()));
    let report = evaluation.run(&sets, library).map_err(|error| Failure::of(&*error))?;
    if report.sections.is_empty() {
        return Err(Failure::new(format!(
            "there is nothing to measure: {} is no library; index one with `stitch index`, name another \
             with --library, or sets with `--data DIR`",
            setup.library.display()
        )));
    }
    finish(&report, Some(&out), setup)?;
    Ok(0)
}

/// Writes the report where that is asked for, and tells what is in it.
fn finish(report: &EvaluationReport, out: Option<&Path>, setup: &Setup) -> Result<(), Failure> {
    setup.progress.finish();
    let written = out.map(|out| report.write(out)).transpose()?.unwrap_or_default();
    if setup.json {
        println!("{}", json!(report));
        return Ok(());
    }
    for section in &report.sections {
        println!("{} ({})", section.name(), count(section.comparison.procedures, "procedure"));
        eval_data::print_methods(&section.comparison);
        for capture in &section.capture {
            let share = |way: &str| capture.at(way, 100).map_or(0.0, |found| found.value);
            println!(
                "truths among 100 candidates: greedy cover {:.3}, exact K-best {:.3}, edited nearest \
                 neighbour {:.3}, random {:.3}\n",
                share("greedy cover"),
                share("exact K-best"),
                share("edited nearest neighbour"),
                share("random")
            );
        }
    }
    if let Some(found) = &report.localisation {
        print_localisation(found);
    }
    written.iter().for_each(|path| println!("wrote {}", path.display()));
    Ok(())
}

fn print_localisation(found: &localisation::Localisation) {
    let row = |(name, quality): (&String, &localisation::Quality)| {
        let cell = |e: &stitch_lab::suite::metrics::Estimate| {
            format!("{:.3} ({:.3}-{:.3})", e.value, e.low, e.high)
        };
        let cells = [&quality.frame_accuracy, &quality.iou, &quality.recall].map(cell);
        std::iter::once(name.clone()).chain(cells).collect()
    };
    let rows: Vec<Vec<String>> = found.ways.iter().map(row).collect();
    println!("finding {} in {}:", count(found.steps, "step"), count(found.videos, "video"));
    table::print(&["", "frame accuracy", "IoU", "recall"], &[false, true, true, true], &rows);
}
