//! `stitch eval`: evaluates methods and models, with confidence intervals.

use clap::{Args, Subcommand};

use super::eval_clips::{self, ClipsArguments};
use super::eval_data::{self, DataArguments};
use super::eval_encoder::{self, EncoderArguments};
use super::eval_reading::{self, ReadingArguments};
use super::eval_speech::{self, EvalSpeechArguments};
use super::eval_world::{self, NaturalArguments, WorldArguments};
use crate::failure::Failure;
use crate::setup::Setup;

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
    Clips(ClipsArguments),
    Natural(NaturalArguments),
    Reading(ReadingArguments),
}

pub fn run(arguments: &EvalArguments, setup: &Setup) -> Result<u8, Failure> {
    let data = &arguments.data;
    match &arguments.command {
        None if data.all => eval_data::run_all(data, setup),
        None if data.quick => eval_data::run_quick(data, setup),
        None => eval_data::run(data, setup),
        Some(EvalCommand::World(arguments)) => eval_world::run_world(arguments, setup),
        Some(EvalCommand::Encoder(arguments)) => eval_encoder::run(arguments, setup),
        Some(EvalCommand::Speech(arguments)) => eval_speech::run(arguments, setup),
        Some(EvalCommand::Clips(arguments)) => eval_clips::run(arguments, setup),
        Some(EvalCommand::Natural(arguments)) => eval_world::run_natural(arguments, setup),
        Some(EvalCommand::Reading(arguments)) => eval_reading::run(arguments, setup),
    }
}
