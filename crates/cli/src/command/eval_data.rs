//! `stitch eval --data DIR`: every method on a set that anyone can bring.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use stitch_core::format::count;
use stitch_engine::media::Decode;
use stitch_engine::models::Store;
use stitch_engine::progress::Progress;
use stitch_engine::sentence::SentenceEncoder;
use stitch_lab::suite::compare::{CompareOptions, Comparison, Extra, Method, Miss, compare};
use stitch_lab::suite::evaluators::EvaluatorSource;
use stitch_lab::suite::mixing::with_mixed;
use stitch_lab::suite::plain::load::{Encoders, SetSummary, load};
use stitch_lab::suite::plain::set::{Needs, Set};

use crate::failure::Failure;
use crate::setup::Setup;
use crate::table;

#[derive(Args)]
pub struct DataArguments {
    /// The set: a folder with videos.jsonl and pictures or features, or the list itself; several with
    /// --all
    #[arg(long, value_name = "DIR")]
    pub data: Vec<PathBuf>,
    /// Only videos of this domain, and the evaluator that was trained for it
    #[arg(long, value_name = "NAME")]
    domain: Option<String>,
    /// The encoder: a name, or the folder of a model
    #[arg(long, value_name = "NAME", default_value = "mini")]
    pub encoder: String,
    /// The folder of the evaluator, instead of the one in the store
    #[arg(long, value_name = "DIR")]
    evaluator: Option<PathBuf>,
    /// The seed of distractors, parts and bootstrap samples
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Into how many parts the videos are divided for the methods that learn
    #[arg(long, value_name = "NUMBER", default_value_t = 5)]
    folds: usize,
    /// The most procedures to measure, chosen by the seed
    #[arg(long, value_name = "NUMBER")]
    pub most: Option<usize>,
    /// Measure so many procedures that are mixed by rules out of a set's videos, and not the whole
    /// videos alone
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub mixed: usize,
    /// Leave out the methods that first learn on the set, which takes most of the time
    #[arg(long)]
    untrained: bool,
    /// Run every experiment on the sets named and on the library, and write a report; the same command
    /// goes on where it was stopped
    #[arg(long, conflicts_with = "quick")]
    pub all: bool,
    /// Measure a toy without models in under two minutes; fails where truths are lost
    #[arg(long)]
    pub quick: bool,
    /// With --all: also train evaluators on fewer kinds of negatives and on other data
    #[arg(long, requires = "all")]
    pub ablations: bool,
    /// Where --all and --quick write their report [default for --all: report]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// With --all: the folder that `stitch world render` wrote, if that is what the library holds
    #[arg(long, value_name = "DIR", requires = "all")]
    pub world: Option<PathBuf>,
    /// With --all: procedures that `stitch dataset mix` wrote [default: mixed by rules]
    #[arg(long, value_name = "FILE", requires = "all")]
    pub procedures: Option<PathBuf>,
    /// With --all: a list of the library's videos in the format of --data, whose steps have a `label`;
    /// clips of one label show the same, so that one is as right as another
    #[arg(long, value_name = "FILE", requires = "all")]
    pub labels: Option<PathBuf>,
    /// Show so many procedures whose truth the first method does not put first
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    errors: usize,
}

/// Runs the command.
pub fn run(arguments: &DataArguments, setup: &Setup) -> Result<u8, Failure> {
    let [data] = arguments.data.as_slice() else {
        return Err(Failure::new(
            "name one set with `--data DIR` (several with --all), or one of world, encoder, speech, \
             calibrate; `stitch eval --help` tells what a set is",
        )
        .with_code(2));
    };
    let set = Set::open(data, Needs::Text)?;
    setup.progress.begin("loading models", 0);
    let sentences = setup.sentence()?;
    let encoder = setup.encoder(&arguments.encoder, &sentences, Decode::Exact)?;
    let encoders = Encoders { encoder: encoder.as_ref(), sentence: &sentences.encoder };
    let domain = arguments.domain.as_deref();
    let (set, holdings) = load(set, &encoders, domain, &setup.progress)?;
    let set = with_mixed(set, arguments.mixed, arguments.seed);
    // A set that has procedures of several videos is measured on these.
    let mixed = set.measuring(false);
    let set = if mixed.measured().is_empty() { set } else { mixed };
    let store = setup.store();
    let evaluators = arguments.evaluators(&store, &sentences.encoder);
    let evaluator = evaluators.find(domain, &set.encoder);
    let extra: [Extra; 1] = [("evaluator", evaluator.as_deref().map_err(Clone::clone))];
    let comparison = compare(&set, &extra, &arguments.options(), &setup.progress)?;
    setup.progress.finish();
    let first = comparison.methods.first().map_or("", |method| method.name.as_str());
    let misses = comparison.misses(&set, first, arguments.errors);
    match setup.json {
        true => print_json(&comparison, &holdings, &misses),
        false => print(&comparison, &holdings, &misses),
    }
    Ok(0)
}

impl DataArguments {
    /// How methods are compared.
    pub fn options(&self) -> CompareOptions {
        CompareOptions {
            seed: self.seed,
            folds: self.folds,
            most: self.most.unwrap_or(usize::MAX),
            trained: !self.untrained,
            ..CompareOptions::default()
        }
    }

    /// Where the evaluator is looked for.
    pub fn evaluators<'a>(
        &'a self,
        store: &'a Store,
        sentence: &'a SentenceEncoder,
    ) -> EvaluatorSource<'a> {
        EvaluatorSource { store, folder: self.evaluator.as_deref(), sentence }
    }
}

fn print_json(comparison: &Comparison, holdings: &SetSummary, misses: &[Miss]) {
    let mut object = json!(comparison);
    object["holdings"] = json!(holdings);
    if !misses.is_empty() {
        object["errors"] = json!(misses);
    }
    println!("{object}");
}

/// How many complaints are printed; `--json` has them all.
const COMPLAINTS: usize = 20;

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
    println!("methods that learn were trained on {}", found.trained_on);
    print_distractors(found);
    print_complaints(holdings);
    misses.iter().for_each(print_miss);
}

/// The table of methods, and which could not be measured.
pub fn print_methods(found: &Comparison) {
    let header = ["", "MedR", "R@1", "R@5", "R@50", "MRR"];
    let rows: Vec<_> = found.methods.iter().map(row).collect();
    table::print(&header, &[false, true, true, true, true, true], &rows);
    for (name, why) in &found.absent {
        println!("{name}: not measured: {why}");
    }
}

fn row(method: &Method) -> Vec<String> {
    let (figures, ends) = (&method.figures, &method.intervals);
    let share = |value: f64, [low, high]: [f64; 2]| format!("{value:.3} ({low:.3}-{high:.3})");
    let [low, high] = ends.medr;
    vec![
        method.name.clone(),
        format!("{:.1} ({low:.1}-{high:.1})", figures.medr),
        share(figures.r1, ends.r1),
        share(figures.r5, ends.r5),
        share(figures.r50, ends.r50),
        share(figures.mrr, ends.mrr),
    ]
}

fn print_distractors(found: &Comparison) {
    let named = |(kind, number): (&stitch_lab::suite::distractors::Kind, &usize)| {
        format!("{number} {}", kind.name())
    };
    let kinds: Vec<String> = found.counts.distractors.iter().map(named).collect();
    println!("distractors: {}", kinds.join(", "));
    if !found.counts.short.is_empty() {
        let short: Vec<String> = found.counts.short.iter().map(named).collect();
        println!("  too few could be made, and others filled them: {}", short.join(", "));
    }
    if found.counts.fewer_than_499 > 0 {
        println!("  {} with fewer than 499", count(found.counts.fewer_than_499, "procedure"));
    }
}

fn print_complaints(holdings: &SetSummary) {
    if !holdings.unread_columns.is_empty() {
        println!("columns that were not read: {}", holdings.unread_columns.join(", "));
    }
    if !holdings.issues.is_empty() {
        println!("{} could not be used:", count(holdings.issues.len(), "thing"));
    }
    for complaint in holdings.issues.iter().take(COMPLAINTS) {
        println!("  {}: {}", complaint.place, complaint.reason);
    }
    if holdings.issues.len() > COMPLAINTS {
        println!("  and {} more; --json lists all", holdings.issues.len() - COMPLAINTS);
    }
}

fn print_miss(miss: &Miss) {
    let kind = miss.kind.map_or("", |kind| kind.name());
    println!("\n{}: truth at {:.1}; first is {kind}", miss.title, miss.rank);
    for (text, shown, video) in &miss.steps {
        println!("  {text} → {shown} ({video})");
    }
}
