//! `stitch eval`: how good the answers are, as tables with intervals.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;
use stitch_engine::demonstrate::Options;
use stitch_lab::suite::made_up::{self, AnswerReport};
use stitch_lab::suite::metrics::Estimate;
use stitch_world::library::mixed;
use stitch_world::truth::Truth;

use super::eval_all;
use super::eval_data::{self, DataArguments};
use super::eval_encoder::{self, EncoderArguments};
use super::eval_natural::{self, NaturalArguments};
use super::eval_speech::{self, SpeechArguments};
use crate::failure::Failure;
use crate::setup::{ScorerArguments, Setup};
use crate::table;

/// Measure how good the answers are
///
/// With --data, every method ranks the truth of each procedure of a set among 499 distractors: the
/// evaluator, and what it is compared with. DIR holds videos.jsonl, a line per video:
///
///   {"video": "v1", "recipe_type": "101", "duration": 90, "domain": "cooking",
///    "steps": [{"text": "chop the onion", "start": 3, "end": 9, "image": "v1/0.webp"}, ...]}
///
/// and the pictures (JPEG, PNG, WebP) by these paths, under images/, or in images.tar; `images` may
/// list several of a step, `narration` may hold what is said meanwhile, `label` what the step is called
/// in every video that shows it. Instead of pictures there may be features: a folder features/ with a
/// file per video (npy, npz, h5, safetensors; a row a step, or rows of seconds with `rate` in
/// features.toml), or one features.npy with a row for every step; texts/ or texts.npy beside them for
/// the steps' texts by the same model. Only `video`, `steps` and their `text` must be there. What
/// cannot be used is listed and left out.
#[derive(Args)]
#[command(verbatim_doc_comment, args_conflicts_with_subcommands = true)]
pub struct EvalArguments {
    #[command(flatten)]
    data: DataArguments,
    #[command(subcommand)]
    command: Option<EvalCommand>,
}

#[derive(Subcommand)]
pub enum EvalCommand {
    World(WorldArguments),
    Encoder(EncoderArguments),
    Speech(SpeechArguments),
    Natural(NaturalArguments),
}

/// Answer mixed procedures from the made-up library and judge every step by its truth
#[derive(Args)]
pub struct WorldArguments {
    /// The folder that `stitch world render` wrote, indexed into the library
    #[arg(value_name = "DIR")]
    world: PathBuf,
    /// How many procedures to ask
    #[arg(long, default_value_t = 30)]
    procedures: usize,
    /// The seed of the procedures
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    scorer: ScorerArguments,
    /// How likely a clip must show its step, or the step is called a gap
    #[arg(long, value_name = "PROBABILITY")]
    threshold: Option<f32>,
    /// The price of a source change, in natural logarithms of probability
    #[arg(long, value_name = "NUMBER")]
    switch_cost: Option<f64>,
    /// The price of going back in a source
    #[arg(long, value_name = "NUMBER")]
    order_cost: Option<f64>,
}

/// Runs the command.
pub fn run(arguments: &EvalArguments, setup: &Setup) -> Result<u8, Failure> {
    let data = &arguments.data;
    let Some(command) = &arguments.command else {
        return match (data.all, data.quick) {
            (true, _) => eval_all::run_all(data, setup),
            (_, true) => eval_all::run_quick(data, setup),
            _ => eval_data::run(data, setup),
        };
    };
    match command {
        EvalCommand::World(arguments) => run_world(arguments, setup),
        EvalCommand::Encoder(arguments) => eval_encoder::run(arguments, setup),
        EvalCommand::Speech(arguments) => eval_speech::run(arguments, setup),
        EvalCommand::Natural(arguments) => eval_natural::run(arguments, setup),
    }
}

fn run_world(arguments: &WorldArguments, setup: &Setup) -> Result<u8, Failure> {
    let truth = Truth::read(&arguments.world.join("truth.json"))?;
    let opened = setup.open(&arguments.scorer)?;
    let mut options = Options { threshold: arguments.threshold, ..Options::default() };
    options.k_best.switch_cost = arguments.switch_cost.unwrap_or(options.k_best.switch_cost);
    options.k_best.order_cost = arguments.order_cost.unwrap_or(options.k_best.order_cost);
    let procedures = mixed(&truth, arguments.procedures, arguments.seed);
    let with = opened.demonstrator();
    let report = made_up::evaluate(&with, &procedures, &options, &setup.progress)?;
    setup.progress.finish();
    print(&report, with.scorer.name(), &with.encoder.id().name, setup);
    Ok(0)
}

fn print(report: &AnswerReport, scorer: &str, encoder: &str, setup: &Setup) {
    if setup.json {
        println!("{}", json!({"encoder": encoder, "scorer": scorer, "report": report}));
        return;
    }
    let row = |what: &str, e: &Estimate| {
        vec![what.into(), format!("{:.3}", e.value), format!("{:.3}-{:.3}", e.low, e.high)]
    };
    println!(
        "{} mixed procedures, {} steps; encoder {encoder}, scorer {scorer}",
        report.procedures, report.steps
    );
    let rows = [
        row("steps shown rightly", &report.right),
        row("steps called gaps though shown", &report.false_gaps),
        row("source changes", &report.changes),
        row("  of the sequences mixed from", &report.true_changes),
        row("  the fewest that right clips allow", &report.fewest_changes),
        row("source changes against the truth", &report.changes_to_truth),
    ];
    table::print(&["", "value", "95 % interval"], &[false, true, true], &rows);
    println!("procedures with more source changes than their truth: {}", report.more_changes);
    for wrong in &report.wrong {
        let shown = match &wrong.shown {
            Some((file, text)) => format!("{text} ({file})"),
            None => "a gap".into(),
        };
        println!("  wrong: {} → {shown}", wrong.step);
    }
}
