//! `stitch eval reading`: which lines of texts are read as steps, against the true ones.

use std::path::PathBuf;

use clap::Args;
use stitch_engine::recipe::Labeller;
use stitch_lab::suite::reading::{
    self, ReadingErrorKind, ReadingGroup, ReadingReport, ReadingText, read_set,
};

use crate::failure::Failure;
use crate::setup::Setup;
use crate::table;

/// Read texts and compare the steps with the true ones
///
/// The set is a file or folder of lines {"id", "text", "steps": [{"line"}]}; optional are "source", by
/// which the results are grouped, and "name", the file name of the text.
#[derive(Args)]
pub struct ReadingArguments {
    /// The texts
    #[arg(value_name = "SET")]
    set: PathBuf,
    /// Read by rules alone, as without the sentence model
    #[arg(long)]
    rules: bool,
    /// Print every step that was not read, line wrongly read as one, and line that joins several steps
    #[arg(long)]
    errors: bool,
    /// The seed of the bootstrap samples
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

pub fn run(arguments: &ReadingArguments, setup: &Setup) -> Result<u8, Failure> {
    let texts: Vec<ReadingText> = read_set(&arguments.set)?;
    let sentences = (!arguments.rules).then(|| setup.load_sentences()).transpose()?;
    let labeller = sentences.as_ref().map(|sentences| &*sentences.encoder as &dyn Labeller);
    let report = reading::evaluate(&texts, labeller, arguments.seed, &setup.progress)?;
    setup.print(&report, || print(&report, arguments.errors));
    Ok(0)
}

fn print(report: &ReadingReport, errors: bool) {
    let row = |group: &ReadingGroup| {
        let [texts, steps] = [group.texts, group.steps].map(|count| count.to_string());
        let shares = [&group.missed, &group.extra, &group.joined].map(table::percent);
        [vec![group.name.clone(), texts, steps], shares.into()].concat()
    };
    let rows: Vec<_> = report.groups.iter().map(row).collect();
    table::print(&["", ">texts", ">steps", ">not read", ">wrongly read", ">joined"], &rows);
    println!("per 100 steps; joined: read steps that hold several true ones");
    for error in report.errors.iter().filter(|_| errors) {
        let what = match error.kind {
            ReadingErrorKind::Missed => "not read as a step",
            ReadingErrorKind::Extra => "wrongly read as a step",
            ReadingErrorKind::Joined => "several steps read as one",
        };
        println!("  {}: {what}: {}", error.id, error.line);
    }
}
