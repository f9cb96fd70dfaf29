//! `stitch calibrate`: fits the decision about gaps to labelled procedures of the library.

use std::path::{Path, PathBuf};

use clap::Args;
use stitch_engine::calibration::Calibration;
use stitch_engine::demonstrate::Options;
use stitch_engine::library::Library;
use stitch_lab::suite::calibrate::{self, Decisions, GapFit, VerdictShares};
use stitch_lab::suite::{labels, natural};
use stitch_world::truth::Truth;

use crate::failure::Failure;
use crate::setup::{ScorerArguments, Setup};
use crate::table;

/// Fit the decision about gaps to labelled procedures of the library
///
/// LABELS has a line per procedure, with the text as pasted, its steps and the clips that show each; no clip
/// if nothing does. A chosen clip is right if half of the shorter span is common:
///
///   {"id": "soup", "domain": "cooking", "text": "Soup\n1. Chop the onion.\n2. Say grace.",
///    "steps": [{"line": "Chop the onion.",
///               "clips": [{"video": "soup.mp4", "start_s": 12.0, "end_s": 20.5}]},
///              {"line": "Say grace.", "clips": []}]}
///
/// At least 20 steps that a clip shows, 5 that nothing shows and 2 procedures are needed. Each domain is
/// judged by weights fitted to the others (without domains, or with one: each fifth of the procedures), with a
/// threshold chosen on the others' held-out probabilities: the one, in hundredths from 0.01 to 0.95, with the
/// highest mean of the share of shown steps with a right clip and the share of unshown steps left as gaps; of
/// equals the one nearest to 0.5. What is written is fitted to, and chosen on, all procedures.
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct CalibrateArguments {
    /// The labelled procedures: a .jsonl file, or a folder of them
    #[arg(value_name = "LABELS", required_unless_present = "reset")]
    labels: Option<PathBuf>,
    /// The folder that `stitch world render` wrote, for labels with `accept` instead of `clips`
    #[arg(long, value_name = "DIR")]
    world: Option<PathBuf>,
    /// The file to write [default: calibration.json in the library, which is used from then on]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Remove the library's calibration.json, so that the built-in weights are used again
    #[arg(long, conflicts_with_all = ["labels", "world", "out"])]
    reset: bool,
    #[command(flatten)]
    scorer: ScorerArguments,
}

pub fn run(arguments: &CalibrateArguments, setup: &Setup) -> Result<u8, Failure> {
    let Some(labels) = &arguments.labels else { return reset(setup) };
    let procedures = labels::read(labels)?;
    calibrate::check_labels(&procedures)?;
    let world = read_world(arguments.world.as_deref())?;
    let session = setup.open(&arguments.scorer)?;
    let with = session.demonstrator();
    let options = Options::default();
    let report = natural::evaluate(&with, world.as_ref(), &procedures, &options, &setup.progress)?;
    let name = labels.file_name().unwrap_or_default().to_string_lossy();
    let built_in = Calibration::of(&with.encoder.id().name);
    // Queries leave out a file that cannot be used, too, and warn of it.
    let known = session.library.calibration().unwrap_or_default();
    let mut fitted = calibrate::fit(&report.steps, built_in, known.as_ref(), &name)?;
    let path = arguments.out.clone().unwrap_or_else(|| session.library.calibration_file());
    session.library.write_calibration(&path, &fitted.calibration)?;
    if path == session.library.calibration_file() {
        let report =
            natural::evaluate(&with, world.as_ref(), &procedures, &options, &setup.progress)?;
        fitted.answers = Some(Decisions::of_answers(&report));
    }
    setup.print(&fitted, || print(&fitted, &path));
    Ok(0)
}

/// The truth of a made-up library.
pub fn read_world(folder: Option<&Path>) -> Result<Option<Truth>, Failure> {
    Ok(folder.map(|folder| Truth::read(&folder.join("truth.json"))).transpose()?)
}

fn reset(setup: &Setup) -> Result<u8, Failure> {
    let removed = Library::open(&setup.library)?.remove_calibration()?;
    setup.print(serde_json::json!({"removed": removed}), || match removed {
        true => println!("calibration.json is removed; the built-in weights are used again"),
        false => println!("the library has no calibration.json; the built-in weights are used"),
    });
    Ok(0)
}

fn print(fitted: &GapFit, path: &Path) {
    let row = |name: &str, of: &VerdictShares| {
        let [right, wrong, gap] =
            [of.right, of.wrong, of.gap].map(|share| format!("{:.1}", 100.0 * share));
        vec![name.to_owned(), of.steps.to_string(), right, wrong, gap]
    };
    let GapFit { before, after, answers, .. } = fitted;
    let whole = |of: fn(&Decisions) -> &VerdictShares| {
        answers.as_ref().map(|answers| row("  whole answers, in-sample", of(answers)))
    };
    let mut rows = vec![row("shown steps, before", &before.shown), row("  after", &after.shown)];
    rows.extend(whole(|answers| &answers.shown));
    rows.push(row("steps that nothing shows, before", &before.unshown));
    rows.push(row("  after", &after.unshown));
    rows.extend(whole(|answers| &answers.unshown));
    println!(
        "{} procedures, {} folds; threshold {:.2}",
        fitted.procedures, fitted.folds, fitted.threshold
    );
    table::print(&["", ">steps", ">right %", ">wrong %", ">gap %"], &rows);
    println!(
        "before: built-in weights; after: weights and threshold of the other folds; both for the best clip of \
         each step, before a refused clip is replaced by another"
    );
    match answers {
        Some(_) => println!("in-sample: whole answers to the procedures that were fitted to"),
        None => {
            println!("`stitch eval natural` measures whole answers once the library has the file")
        }
    }
    println!(
        "calibration error: {:.3} before, {:.3} after",
        before.calibration_error, after.calibration_error
    );
    println!(
        "clips by themselves (not fitted): calibration error {:.3}; mean probability {:.2}, {:.2} right",
        fitted.belief_error, fitted.belief_mean, fitted.right
    );
    println!("wrote {}", path.display());
}
