//! `stitch eval world` and `stitch eval natural`: answers against the ground truth of a made-up library, or
//! against labels.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;
use serde_json::json;
use stitch_core::format::count;
use stitch_engine::demonstrate::{Demonstrator, Options};
use stitch_engine::files;
use stitch_engine::scorers;
use stitch_lab::suite::answers::{self, QuestionGroup};
use stitch_lab::suite::equal_changes::{self, EqualChangeGroup, EqualChangeReport};
use stitch_lab::suite::evaluators::EvaluatorSource;
use stitch_lab::suite::labels;
use stitch_lab::suite::made_up::{self, AnswerReport};
use stitch_lab::suite::natural::{self, Group, NaturalReport};
use stitch_lab::suite::reliability::{self, GroupReliability};
use stitch_world::library::mixed;
use stitch_world::questions;
use stitch_world::truth::Truth;

use super::calibrate::read_world;
use crate::failure::Failure;
use crate::options::GapArguments;
use crate::setup::{ScorerArguments, Session, Setup};
use crate::table;

/// Answer mixed procedures from the made-up library and compare every step with the ground truth
#[derive(Args)]
pub struct WorldArguments {
    /// The folder that `stitch world render` wrote and the library indexes
    #[arg(value_name = "DIR")]
    world: PathBuf,
    /// The number of procedures
    #[arg(long, default_value_t = 30)]
    procedures: usize,
    /// Also ask so many questions of each kind that need the whole sequence: steps that say "it", things in
    /// another state, steps that nothing shows
    #[arg(long, default_value_t = 0, value_name = "N")]
    questions: usize,
    /// Instead of answering these questions, rank a faultless answer of each among 499 with faults that change
    /// the source as often
    #[arg(long, requires = "questions")]
    ranks: bool,
    /// With --ranks: the folder of an evaluator that ranks in place of --scorer, such as one that `stitch train`
    /// made of `stitch dataset mix`'s procedures
    #[arg(long, value_name = "DIR", requires = "ranks")]
    evaluator: Option<PathBuf>,
    /// The method that answers to these questions are compared with
    #[arg(long, default_value = "similarity", value_name = "NAME",
        value_parser = PossibleValuesParser::new(scorers::names()))]
    against: String,
    /// Print every step of these questions that was not answered correctly, with the reason
    #[arg(long)]
    errors: bool,
    /// The seed of the procedures
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    scorer: ScorerArguments,
    /// The minimum probability that a clip shows its step; below it the step is a gap
    #[arg(long, value_name = "PROBABILITY")]
    threshold: Option<f32>,
    /// The cost of a source change, in natural logarithms of probability
    #[arg(long, value_name = "NUMBER")]
    switch_cost: Option<f64>,
    /// The cost of going back in a source, in the same unit
    #[arg(long, value_name = "NUMBER")]
    order_cost: Option<f64>,
}

/// Answer procedures in natural wording and compare every step with the ground truth
///
/// The set is a file or folder of lines {"id", "domain", "text", "steps": [{"line", "accept": [[verb,
/// thing]], "context"}]}; crates/lab/data/natural has two. Instead of `accept`, actions of the made-up
/// library, a step may have `clips`, spans of the library's videos, as `stitch calibrate --help` says.
#[derive(Args)]
pub struct NaturalArguments {
    /// The procedures
    #[arg(value_name = "SET")]
    set: PathBuf,
    /// The folder that `stitch world render` wrote and the library indexes, for steps with `accept`
    #[arg(long, value_name = "DIR")]
    world: Option<PathBuf>,
    #[command(flatten)]
    scorer: ScorerArguments,
    #[command(flatten)]
    gaps: GapArguments,
    /// Print every step that was not answered correctly, with the reason
    #[arg(long)]
    errors: bool,
    /// Write every evaluated step as a line of JSON
    #[arg(long, value_name = "FILE")]
    rows: Option<PathBuf>,
    /// Write a reliability diagram of the probabilities of chosen clips, of all and by domain
    #[arg(long, value_name = "SVG")]
    reliability: Option<PathBuf>,
}

pub fn run_world(arguments: &WorldArguments, setup: &Setup) -> Result<u8, Failure> {
    let mut options = Options { threshold: arguments.threshold, ..Options::default() };
    options.k_best.switch_cost = arguments.switch_cost.unwrap_or(options.k_best.switch_cost);
    options.k_best.order_cost = arguments.order_cost.unwrap_or(options.k_best.order_cost);
    options.validate().map_err(|error| Failure::usage(error.to_string()))?;
    let truth = Truth::read(&arguments.world.join("truth.json"))?;
    let session = setup.open(&arguments.scorer)?;
    if arguments.questions > 0 {
        return ask(arguments, &truth, &session, &options, setup);
    }
    let procedures = mixed(&truth, arguments.procedures, arguments.seed);
    let with = session.demonstrator();
    let report = made_up::evaluate(&with, &procedures, &options, &setup.progress)?;
    let (scorer, encoder) = (with.scorer.name(), &with.encoder.id().name);
    setup.print(json!({"encoder": encoder, "scorer": scorer, "report": report}), || {
        print!("{} mixed procedures, {} steps; ", report.procedures, report.steps);
        println!("encoder {encoder}, scorer {scorer}");
        print(&report);
    });
    Ok(0)
}

/// Asks questions of every kind, of the scorer in use and of another.
fn ask(
    arguments: &WorldArguments,
    truth: &Truth,
    session: &Session,
    options: &Options,
    setup: &Setup,
) -> Result<u8, Failure> {
    let against = ScorerArguments { scorer: Some(arguments.against.clone()) };
    let other = setup.load_scorer(&against, session.encoder.as_ref())?;
    let with = session.demonstrator();
    let without = Demonstrator { scorer: other.as_ref(), ..session.demonstrator() };
    let asked = questions::questions(truth, arguments.questions, arguments.seed);
    if arguments.ranks {
        let named = arguments.evaluator.as_deref().map(|folder| {
            let (store, sentence) = (&setup.store(), &*session.sentences.encoder);
            EvaluatorSource { store, folder: Some(folder), sentence }.find(None, with.encoder.id())
        });
        let named = named.transpose().map_err(Failure::new)?;
        let scorers = [named.as_deref().unwrap_or(with.scorer), without.scorer];
        let report = equal_changes::rank(&with, scorers, truth, &asked, options, &setup.progress)?;
        let names = [scorers[0].name(), arguments.against.as_str()];
        setup.print(json!({"methods": names, "report": report}), || print_ranks(&report, names));
        return Ok(0);
    }
    let (groups, misses) =
        answers::compare([&with, &without], truth, &asked, options, &setup.progress)?;
    let json = json!({
        "scorer": with.scorer.name(),
        "against": arguments.against,
        "groups": groups,
        "errors": misses,
    });
    setup.print(json, || {
        println!(
            "questions answered without any fault, in percent, and steps and states that are right"
        );
        let other = format!(">{}", arguments.against);
        let own = format!(">{}", with.scorer.name());
        let row = |group: &QuestionGroup| {
            let estimates =
                [&group.perfect, &group.other, &group.gain, &group.right, &group.consistent];
            let cells = estimates.into_iter().map(table::percent);
            [group.name.clone(), group.questions.to_string()].into_iter().chain(cells).collect()
        };
        let rows: Vec<Vec<String>> = groups.iter().map(row).collect();
        table::print(&["", ">questions", &own, &other, ">difference", ">steps", ">states"], &rows);
        for miss in misses.iter().filter(|_| arguments.errors) {
            let shown = miss.shown.as_deref().unwrap_or("a gap");
            println!("  {:?}: {}: {} → {shown}", miss.kind, miss.reason, miss.step);
        }
    });
    Ok(0)
}

fn print_ranks(report: &EqualChangeReport, names: [&str; 2]) {
    println!("a faultless answer among 499 with faults and as many source changes");
    let row = |group: &EqualChangeGroup| {
        let cells = group.ranks.iter().zip(&group.intervals).flat_map(|(ranks, ends)| {
            let [low, high] = ends.medr;
            [format!("{:.1} ({low:.1}-{high:.1})", ranks.medr), format!("{:.2}", ranks.r50)]
        });
        let third = 3.0 * group.ranks[0].medr <= group.ranks[1].medr;
        let first = [group.name.clone(), group.questions.to_string()];
        let last = [if third { "yes" } else { "no" }.to_owned()];
        first.into_iter().chain(cells).chain(last).collect()
    };
    let rows: Vec<Vec<String>> = report.groups.iter().map(row).collect();
    let [own, other] = names.map(|name| [format!(">{name} MedR"), ">R@50".to_owned()]);
    table::print(
        &["", ">questions", &own[0], &own[1], &other[0], &other[1], ">at most a third"],
        &rows,
    );
    let kinds = report.distractors.iter().map(|(kind, number)| format!("{number} {kind}"));
    println!("distractors: {}", kinds.collect::<Vec<_>>().join(", "));
    println!(
        "left out: {} without a faultless answer, {} with too few distractors",
        count(report.unanswerable, "question"),
        report.too_few
    );
}

fn print(report: &AnswerReport) {
    table::print_estimates(&[
        ("steps with a correct clip", &report.right),
        ("steps falsely left as gaps", &report.false_gaps),
        ("source changes", &report.changes),
        ("  of the true sequences", &report.true_changes),
        ("  the fewest with correct clips", &report.fewest_changes),
        ("source changes relative to the truth", &report.changes_to_truth),
    ]);
    println!("procedures with more source changes than the truth: {}", report.more_changes);
    for wrong in &report.wrong {
        let shown = match &wrong.shown {
            Some((file, text)) => format!("{text} ({file})"),
            None => "a gap".into(),
        };
        println!("  wrong: {} → {shown}", wrong.step);
    }
}

pub fn run_natural(arguments: &NaturalArguments, setup: &Setup) -> Result<u8, Failure> {
    let GapArguments { threshold, gaps } = arguments.gaps;
    let options = Options { threshold, gaps, ..Options::default() };
    options.validate().map_err(|error| Failure::usage(error.to_string()))?;
    let procedures = labels::read(&arguments.set)?;
    let world = read_world(arguments.world.as_deref())?;
    let session = setup.open(&arguments.scorer)?;
    let with = session.demonstrator();
    let report = natural::evaluate(&with, world.as_ref(), &procedures, &options, &setup.progress)?;
    if let Some(path) = &arguments.rows {
        let lines: Vec<String> = report.steps.iter().map(|step| json!(step).to_string()).collect();
        files::write_whole(path, (lines.join("\n") + "\n").as_bytes())?;
    }
    if let Some(path) = &arguments.reliability {
        files::write_whole(path, reliability::diagram(&report.reliability).as_bytes())?;
    }
    setup.print(&report, || print_natural(&report, arguments.errors));
    Ok(0)
}

fn print_natural(report: &NaturalReport, errors: bool) {
    let row = |group: &Group| {
        let [right, wrong, gap] = [&group.right, &group.wrong, &group.gap].map(table::percent);
        vec![group.name.clone(), group.steps.to_string(), right, wrong, gap]
    };
    let rows: Vec<_> = report.groups.iter().map(row).collect();
    println!("{} natural procedures, {} steps", report.procedures, report.steps.len());
    table::print(&["", ">steps", ">right %", ">wrong %", ">gap %"], &rows);
    println!(
        "lines falsely parsed as steps: {}; steps not parsed: {} ({} that nothing shows, counted as \
         gaps)",
        report.extra_steps.len(),
        report.missed_steps,
        report.missed_unshown
    );
    let row = |group: &GroupReliability| {
        let error = format!("{:.3}", group.calibration_error);
        vec![group.name.clone(), group.clips.to_string(), error]
    };
    let rows: Vec<_> = report.reliability.iter().map(row).collect();
    table::print(&["probabilities of chosen clips", ">clips", ">calibration error"], &rows);
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
