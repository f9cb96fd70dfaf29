//! `stitch eval --data DIR`: all methods on a set; `--all` and `--quick`: all experiments, as a report.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};
use stitch_core::format::count;
use stitch_engine::encoder::Encoder;
use stitch_engine::media::Decode;
use stitch_engine::models::Store;
use stitch_engine::sentence::SentenceEncoder;
use stitch_lab::evaluation::{self, Evaluation};
use stitch_lab::suite::compare::{CompareOptions, Comparison, Extra, Method, Miss, compare};
use stitch_lab::suite::evaluators::EvaluatorSource;
use stitch_lab::suite::experiments::localisation::{Localisation, Quality};
use stitch_lab::suite::metrics::Estimate;
use stitch_lab::suite::mixing::with_mixed;
use stitch_lab::suite::plain::DataIssue;
use stitch_lab::suite::plain::load::{Encoders, SetSummary, load};
use stitch_lab::suite::plain::set::{Needs, Set};
use stitch_lab::suite::report::EvaluationReport;

use crate::failure::Failure;
use crate::setup::Setup;
use crate::table;

#[derive(Args)]
pub struct DataArguments {
    /// The set: a folder with videos.jsonl and pictures or features, or the list itself; may be repeated
    /// with --all
    #[arg(long, value_name = "DIR")]
    data: Vec<PathBuf>,
    /// Use only videos of this domain, and the evaluator trained for it
    #[arg(long, value_name = "NAME")]
    domain: Option<String>,
    /// The encoder, by name or folder
    #[arg(long, value_name = "NAME", default_value = "mini")]
    encoder: String,
    /// The folder of the evaluator [default: the installed one]
    #[arg(long, value_name = "DIR")]
    evaluator: Option<PathBuf>,
    /// The seed of distractors, folds and bootstrap samples
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The number of cross-validation folds of trained methods
    #[arg(long, value_name = "NUMBER", default_value_t = 5)]
    folds: usize,
    /// The maximum number of procedures, chosen by the seed
    #[arg(long, value_name = "NUMBER")]
    most: Option<usize>,
    /// Also evaluate so many procedures that rules mix from the videos of a set
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    mixed: usize,
    /// Skip the methods that are trained on the set, which take most of the time
    #[arg(long)]
    untrained: bool,
    /// Run all experiments on the given sets and on the library, and write a report; the same command
    /// continues an interrupted run
    #[arg(long, conflicts_with = "quick")]
    pub all: bool,
    /// Evaluate a toy data set without models in under two minutes; fails if truths are lost
    #[arg(long)]
    pub quick: bool,
    /// With --all: also train evaluators with fewer kinds of negatives and on other data
    #[arg(long, requires = "all")]
    ablations: bool,
    /// The folder that --all and --quick write their report into [default for --all: report]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// With --all: the folder that `stitch world render` wrote, if the library indexes it
    #[arg(long, value_name = "DIR", requires = "all")]
    world: Option<PathBuf>,
    /// With --all: the procedures that `stitch dataset mix` wrote [default: mixed by rules]
    #[arg(long, value_name = "FILE", requires = "all")]
    procedures: Option<PathBuf>,
    /// With --all: a list of the library's videos in the format of --data, whose steps have a `label`;
    /// clips with the same label count as equally correct
    #[arg(long, value_name = "FILE", requires = "all")]
    labels: Option<PathBuf>,
    /// Print so many procedures whose truth the first method does not rank first
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    errors: usize,
}

pub fn run(arguments: &DataArguments, setup: &Setup) -> Result<u8, Failure> {
    let [data] = arguments.data.as_slice() else {
        return Err(Failure::usage(
            "give one set with `--data DIR` (several with --all), or one of world, encoder, speech, \
             natural; `stitch eval --help` describes sets",
        ));
    };
    let set = Set::open(data, Needs::Text)?;
    let sentences = setup.load_sentences()?;
    let encoder = setup.load_encoder(&arguments.encoder, &sentences, Decode::Exact)?;
    let encoders = Encoders { encoder: encoder.as_ref(), sentence: &sentences.encoder };
    let domain = arguments.domain.as_deref();
    let (set, holdings) = load(set, &encoders, domain, &setup.progress)?;
    let set = with_mixed(set, arguments.mixed, arguments.seed);
    // If a set has procedures of several videos, only these are evaluated.
    let mixed = set.measuring(false);
    let set = if mixed.measured().is_empty() { set } else { mixed };
    let store = setup.store();
    let evaluators = arguments.evaluators(&store, &sentences.encoder);
    let evaluator = evaluators.find(domain, &set.encoder);
    let extra: [Extra; 1] = [("evaluator", evaluator.as_deref().map_err(Clone::clone))];
    let comparison = compare(&set, &extra, &arguments.options(), &setup.progress)?;
    let first = comparison.methods.first().map_or("", |method| method.name.as_str());
    let misses = comparison.misses(&set, first, arguments.errors);
    let json = to_json(&comparison, &holdings, &misses);
    setup.print(json, || print(&comparison, &holdings, &misses));
    Ok(0)
}

impl DataArguments {
    fn options(&self) -> CompareOptions {
        CompareOptions {
            seed: self.seed,
            folds: self.folds,
            most: self.most.unwrap_or(usize::MAX),
            trained: !self.untrained,
            ..CompareOptions::default()
        }
    }

    fn evaluators<'a>(
        &'a self,
        store: &'a Store,
        sentence: &'a SentenceEncoder,
    ) -> EvaluatorSource<'a> {
        EvaluatorSource { store, folder: self.evaluator.as_deref(), sentence }
    }
}

fn to_json(comparison: &Comparison, holdings: &SetSummary, misses: &[Miss]) -> Value {
    let mut object = json!(comparison);
    object["holdings"] = json!(holdings);
    if !misses.is_empty() {
        object["errors"] = json!(misses);
    }
    object
}

fn print(found: &Comparison, holdings: &SetSummary, misses: &[Miss]) {
    println!(
        "{}: {} of {}, {}, {}; encoder {}",
        found.set,
        count(found.procedures, "procedure"),
        count(found.sources, "video"),
        count(holdings.tasks, "task"),
        count(found.clips, "clip"),
        found.encoder
    );
    print_methods(found);
    println!("trained methods were trained on {}", found.trained_on);
    print_distractors(found);
    print_complaints(&holdings.unread_columns, &holdings.issues);
    misses.iter().for_each(print_miss);
}

fn print_methods(found: &Comparison) {
    let rows: Vec<_> = found.methods.iter().map(row).collect();
    table::print(&["", ">MedR", ">R@1", ">R@5", ">R@50", ">MRR"], &rows);
    for (name, why) in &found.absent {
        println!("{name}: not measured: {why}");
    }
}

fn row(method: &Method) -> Vec<String> {
    let values = method.figures.array().into_iter().zip(method.intervals.array()).take(5);
    let cell = |(at, (value, [low, high])): (usize, (f64, [f64; 2]))| {
        let digits = if at == 0 { 1 } else { 3 }; // a median rank, then shares
        format!("{value:.digits$} ({low:.digits$}-{high:.digits$})")
    };
    std::iter::once(method.name.clone()).chain(values.enumerate().map(cell)).collect()
}

fn print_distractors(found: &Comparison) {
    let named = |(kind, number): (&stitch_lab::suite::distractors::Kind, &usize)| {
        format!("{number} {}", kind.name())
    };
    let kinds: Vec<String> = found.counts.distractors.iter().map(named).collect();
    println!("distractors: {}", kinds.join(", "));
    if !found.counts.short.is_empty() {
        let short: Vec<String> = found.counts.short.iter().map(named).collect();
        println!("  too few of these, filled up with others: {}", short.join(", "));
    }
    if found.counts.fewer_than_499 > 0 {
        println!("  {} with fewer than 499", count(found.counts.fewer_than_499, "procedure"));
    }
}

/// Records printed as left out; `--json` has all.
const MAX_COMPLAINTS: usize = 20;

/// Prints what of a set was not used.
pub fn print_complaints(unread_columns: &[String], complaints: &[DataIssue]) {
    if !unread_columns.is_empty() {
        println!("columns that were not read: {}", unread_columns.join(", "));
    }
    if !complaints.is_empty() {
        println!("{} left out:", count(complaints.len(), "record"));
    }
    for complaint in complaints.iter().take(MAX_COMPLAINTS) {
        println!("  {}: {}", complaint.place, complaint.reason);
    }
    if complaints.len() > MAX_COMPLAINTS {
        println!("  and {} more; --json lists all", complaints.len() - MAX_COMPLAINTS);
    }
}

fn print_miss(miss: &Miss) {
    let kind = miss.kind.map_or("", |kind| kind.name());
    println!("\n{}: truth at rank {:.1}; first is {kind}", miss.title, miss.rank);
    for (text, shown, video) in &miss.steps {
        println!("  {text} → {shown} ({video})");
    }
}

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
    setup.print(report, || print_report(report, &written));
    Ok(())
}

fn print_report(report: &EvaluationReport, written: &[PathBuf]) {
    for section in &report.sections {
        println!("{} ({})", section.name(), count(section.comparison.procedures, "procedure"));
        print_methods(&section.comparison);
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
