//! `stitch eval`: evaluates methods and models, with confidence intervals.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;
use stitch_engine::demonstrate::Options;
use stitch_lab::suite::made_up::{self, AnswerReport};
use stitch_world::library::mixed;
use stitch_world::truth::Truth;

use super::eval_all;
use super::eval_data::{self, DataArguments};
use super::eval_encoder::{self, EncoderArguments};
use super::eval_natural::{self, NaturalArguments};
use super::eval_speech::{self, EvalSpeechArguments};
use crate::failure::Failure;
use crate::setup::{ScorerArguments, Setup};
use crate::table;

/// Evaluate methods and models
///
/// With --data, every method ranks the true clip sequence of each procedure of a set among 499 distractors:
/// the evaluator and the baselines. DIR holds videos.jsonl, one line per video:
///
///   {"video": "v1", "recipe_type": "101", "duration": 90, "domain": "cooking",
///    "steps": [{"text": "chop the onion", "start": 3, "end": 9, "image": "v1/0.webp"}, ...]}
///
/// and the pictures (JPEG, PNG, WebP) under these paths, under images/, or in images.tar. Optional fields of
/// a step: `images` (several pictures), `narration` (what is said meanwhile), `label` (the same in every
/// video that shows the step). Features can replace pictures: a folder features/ with one file per video
/// (npy, npz, h5, safetensors; one row per step, or rows over time with `rate` in features.toml), or one
/// features.npy with a row for every step; texts/ or texts.npy beside them hold the steps' text embeddings
/// of the same model. Only `video`, `steps` and their `text` are required. Unusable records are listed and
/// left out.
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
    Speech(EvalSpeechArguments),
    Natural(NaturalArguments),
}

/// Answer mixed procedures from the made-up library and compare every step with the ground truth
#[derive(Args)]
pub struct WorldArguments {
    /// The folder that `stitch world render` wrote and the library indexes
    #[arg(value_name = "DIR")]
    world: PathBuf,
    /// The number of procedures
    #[arg(long, default_value_t = 30)]
    procedures: usize,
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

pub fn run(arguments: &EvalArguments, setup: &Setup) -> Result<u8, Failure> {
    let data = &arguments.data;
    match &arguments.command {
        None if data.all => eval_all::run_all(data, setup),
        None if data.quick => eval_all::run_quick(data, setup),
        None => eval_data::run(data, setup),
        Some(EvalCommand::World(arguments)) => run_world(arguments, setup),
        Some(EvalCommand::Encoder(arguments)) => eval_encoder::run(arguments, setup),
        Some(EvalCommand::Speech(arguments)) => eval_speech::run(arguments, setup),
        Some(EvalCommand::Natural(arguments)) => eval_natural::run(arguments, setup),
    }
}

fn run_world(arguments: &WorldArguments, setup: &Setup) -> Result<u8, Failure> {
    let mut options = Options { threshold: arguments.threshold, ..Options::default() };
    options.k_best.switch_cost = arguments.switch_cost.unwrap_or(options.k_best.switch_cost);
    options.k_best.order_cost = arguments.order_cost.unwrap_or(options.k_best.order_cost);
    options.validate().map_err(|error| Failure::usage(error.to_string()))?;
    let truth = Truth::read(&arguments.world.join("truth.json"))?;
    let session = setup.open(&arguments.scorer)?;
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
