//! `stitch eval --all` and `--quick`: all experiments, written as a report.

use std::path::{Path, PathBuf};

use stitch_core::format::count;
use stitch_engine::encoder::Encoder;
use stitch_engine::media::Decode;
use stitch_lab::evaluation::{self, Evaluation};
use stitch_lab::suite::experiments::localisation::{Localisation, Quality};
use stitch_lab::suite::metrics::Estimate;
use stitch_lab::suite::report::EvaluationReport;

use super::eval_data::{self, DataArguments};
use crate::failure::Failure;
use crate::setup::Setup;
use crate::table;

/// All domains of a toy data set, without models; fails if the candidates contain too few truths.
pub fn run_quick(arguments: &DataArguments, setup: &Setup) -> Result<u8, Failure> {
    let report = evaluation::toy(arguments.seed, arguments.most, &setup.progress);
    let report = report.map_err(|error| Failure::of(&*error))?;
    finish(&report, arguments.out.as_deref(), setup)?;
    match evaluation::lost_truths(&report) {
        lost if lost.is_empty() => Ok(0),
        lost => Err(Failure::new(lost.join("; "))),
    }
}

/// All experiments on the given sets and on the library.
pub fn run_all(arguments: &DataArguments, setup: &Setup) -> Result<u8, Failure> {
    let indexed = setup.library.join("library.db").is_file();
    let (sentences, store) = (setup.load_sentences()?, setup.store());
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
        false => Some(setup.load_encoder(&arguments.encoder, &sentences, Decode::Exact)?),
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
            "there is nothing to evaluate: {} is not a library; create one with `stitch index`, give \
             another with --library, or sets with `--data DIR`",
            setup.library.display()
        )));
    }
    finish(&report, Some(&out), setup)?;
    Ok(0)
}

/// Writes the report into `out`, if given, and prints it.
fn finish(report: &EvaluationReport, out: Option<&Path>, setup: &Setup) -> Result<(), Failure> {
    let written = out.map(|out| report.write(out)).transpose()?.unwrap_or_default();
    setup.print(report, || print(report, &written));
    Ok(())
}

fn print(report: &EvaluationReport, written: &[PathBuf]) {
    for section in &report.sections {
        println!("{} ({})", section.name(), count(section.comparison.procedures, "procedure"));
        eval_data::print_methods(&section.comparison);
        for capture in &section.capture {
            let methods = ["greedy cover", "exact K-best", "edited nearest neighbour", "random"];
            let share = |way| capture.at(way, 100).map_or(0.0, |found| found.value);
            let shares = methods.map(|method| format!("{method} {:.3}", share(method)));
            println!("truths among 100 candidates: {}\n", shares.join(", "));
        }
    }
    report.localisation.iter().for_each(print_localisation);
    written.iter().for_each(|path| println!("wrote {}", path.display()));
}

fn print_localisation(found: &Localisation) {
    let row = |(name, quality): (&String, &Quality)| {
        let cell = |e: &Estimate| format!("{:.3} ({:.3}-{:.3})", e.value, e.low, e.high);
        let cells = [&quality.frame_accuracy, &quality.iou, &quality.recall].map(cell);
        std::iter::once(name.clone()).chain(cells).collect()
    };
    let rows: Vec<Vec<String>> = found.ways.iter().map(row).collect();
    println!("localising {} in {}:", count(found.steps, "step"), count(found.videos, "video"));
    table::print(&["", ">frame accuracy", ">IoU", ">recall"], &rows);
}
