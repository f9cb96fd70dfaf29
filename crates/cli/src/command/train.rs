//! `stitch train`: trains an evaluator.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use stitch_core::format::clock;
use stitch_engine::encoder::EncoderId;
use stitch_engine::evaluator::{Channels, Config, Precision};
use stitch_engine::media::Decode;
use stitch_engine::progress::Progress;
use stitch_lab::collection::Collection;
use stitch_lab::dataset;
use stitch_lab::suite::plain::load::{Encoders, load};
use stitch_lab::suite::plain::set::{Needs, Set};
use stitch_lab::train::answers::{self, AnswerTraining, train_answers};
use stitch_lab::train::{
    Epoch, NegativeRates, TrainDevice, TrainEvent, TrainOptions, TrainOutput, Trained, train,
};

use crate::failure::Failure;
use crate::options::{Choices, choice};
use crate::setup::Setup;
use crate::table;

/// Train an evaluator of demonstrations on the library's own videos
///
/// Trains on the procedures that `stitch dataset mix` wrote, with their clips as positives and the same with
/// one constraint violated as negatives. The same command continues an interrupted run.
#[derive(Args)]
pub struct TrainArguments {
    /// The procedures that `stitch dataset mix` wrote from the library [default: procedures.jsonl, if no
    /// --set is given]
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// Train on a set of pictures or features with their steps (videos.jsonl) instead of a library; may be
    /// repeated
    #[arg(long, value_name = "DIR")]
    set: Vec<PathBuf>,
    /// Train the evaluator that decides `stitch make` on candidate answers that `stitch dataset answers` wrote;
    /// may be repeated
    #[arg(long, value_name = "FILE", requires = "choose", conflicts_with_all = ["data", "set"])]
    answers: Vec<PathBuf>,
    /// Candidate answers of other tasks, on which the best epoch is chosen
    #[arg(long, value_name = "FILE", requires = "answers")]
    choose: Option<PathBuf>,
    /// The encoder of the set
    #[arg(long, default_value = "mini", value_name = "NAME", requires = "set")]
    encoder: String,
    /// The folder of the model; `stitch make` finds it in the folder of models
    #[arg(long, short, value_name = "DIR")]
    out: PathBuf,
    /// The domain of the videos, such as cooking
    #[arg(long, default_value = "any", value_name = "NAME")]
    domain: String,
    /// The device that trains
    #[arg(long, value_parser = choice(&DEVICES), default_value = "cpu")]
    device: TrainDevice,
    /// The precision of the saved weights
    #[arg(long, value_parser = choice(&PRECISIONS), default_value = "f16")]
    precision: Precision,
    /// The licence in the model card
    #[arg(long, default_value = "not stated", value_name = "TEXT")]
    licence: String,
    /// The random seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    optimisation: OptimisationArguments,
    #[command(flatten)]
    examples: ExampleArguments,
    #[command(flatten)]
    network: NetworkArguments,
}

#[derive(Args)]
#[command(next_help_heading = "Optimisation")]
struct OptimisationArguments {
    /// The number of epochs
    #[arg(long, default_value_t = 10, value_name = "N",
        value_parser = clap::value_parser!(u64).range(1..))]
    epochs: u64,
    /// Sequences per batch [default: 384 with --preset small, 24 with paper]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    batch: Option<u64>,
    /// The maximum learning rate [default: 1e-3 with --preset small, 3e-4 with paper]
    #[arg(long, value_name = "RATE", value_parser = rate)]
    rate: Option<f64>,
    /// Epochs without a better rank after which training stops with the best epoch [default: 3; --preset
    /// paper trains all epochs and keeps the last]
    #[arg(long, value_name = "N")]
    patience: Option<usize>,
    /// Held-out procedures that are ranked: half to choose the best epoch, half to report
    #[arg(long, default_value_t = 100, value_name = "N")]
    held_out: usize,
    /// Batches between checkpoints, in addition to those after every epoch
    #[arg(long, default_value_t = 500, value_name = "N",
        value_parser = clap::value_parser!(u64).range(1..))]
    checkpoint_every: u64,
}

#[derive(Args)]
#[command(next_help_heading = "Training examples")]
struct ExampleArguments {
    /// Kinds of negatives to leave out
    #[arg(long, value_parser = choice(&NEGATIVES), value_delimiter = ',', value_name = "KINDS")]
    ablate: Vec<&'static str>,
    /// Further kinds of negatives, for videos with few steps
    #[arg(long, value_parser = choice(&MORE_NEGATIVES), value_delimiter = ',', value_name = "KINDS")]
    also: Vec<&'static str>,
    /// Negatives of each kind per positive
    #[arg(long, default_value_t = 1.0, value_name = "N")]
    negatives: f64,
    /// The fraction of steps that get the text of another clip that shows them [default: 0.3 with --preset
    /// small, 0 with paper]
    #[arg(long, value_name = "SHARE", value_parser = share(0.9))]
    reword: Option<f64>,
    /// The fraction of whole videos among the positives; they are repeated to reach it
    #[arg(long, default_value_t = 0.0, value_name = "SHARE", value_parser = share(0.9))]
    whole: f64,
    /// The fraction of whole videos of which only some steps are used, so that clips remain for negatives
    #[arg(long, default_value_t = 0.0, value_name = "SHARE", value_parser = share(1.0))]
    shortened: f64,
}

#[derive(Args)]
#[command(next_help_heading = "Network")]
struct NetworkArguments {
    /// The network and how it is trained; other options change parts of it
    #[arg(long, value_parser = choice(&PRESETS), default_value = "small")]
    preset: Preset,
    /// The width of a token
    #[arg(long, value_name = "N")]
    width: Option<usize>,
    /// Transformer layers
    #[arg(long, value_name = "N")]
    layers: Option<usize>,
    /// Attention heads per layer
    #[arg(long, value_name = "N")]
    heads: Option<usize>,
    /// The width of the hidden layer of each feed-forward block
    #[arg(long, value_name = "N")]
    hidden: Option<usize>,
    /// The dropout rate
    #[arg(long, value_name = "SHARE")]
    dropout: Option<f64>,
    /// The input channels of a token
    #[arg(long, value_parser = choice(&CHANNELS), value_delimiter = ',', value_name = "KINDS")]
    channels: Vec<&'static str>,
    /// Use the network alone, without similarity, source changes and reversals as additional terms (always so
    /// with --preset paper)
    #[arg(long)]
    no_prior: bool,
}

const DEVICES: Choices<TrainDevice, 3> = [
    ("cpu", "All cores; the same weights every time", TrainDevice::Cpu),
    ("cuda", "The first CUDA GPU, if the program was built for it", TrainDevice::Cuda),
    (
        "cuda-bf16",
        "The same in bfloat16: faster, with slightly other weights",
        TrainDevice::CudaBf16,
    ),
];

const PRECISIONS: Choices<Precision, 2> =
    [("f16", "", Precision::F16), ("f32", "", Precision::F32)];

#[derive(Clone, Copy)]
struct Preset {
    config: fn(EncoderId, &str) -> Config,
    options: fn() -> TrainOptions,
}

const PRESETS: Choices<Preset, 2> = [
    (
        "small",
        "Two layers of width 64 on similarities and source relations",
        Preset {
            config: Config::small,
            options: || TrainOptions { batch: 384, rate: 1e-3, ..TrainOptions::default() },
        },
    ),
    (
        "paper",
        "As in the paper: four layers as wide as the features, on the features; Adam at a constant rate",
        Preset { config: Config::paper, options: TrainOptions::paper },
    ),
];

const NEGATIVES: Choices<&str, 3> = [
    ("correctness", "Clips that do not show their step", "correctness"),
    ("continuity", "A clip of another source between two of one source", "continuity"),
    ("state", "Clips of one video in the wrong order", "state"),
];

const MORE_NEGATIVES: Choices<&str, 3> = [
    ("swapped", "Two clips exchanged", "swapped"),
    ("wrong", "A clip that is dissimilar to its step", "wrong"),
    ("elsewhere", "Clips of other videos of the task", "elsewhere"),
];

const CHANNELS: Choices<&str, 4> = [
    ("features", "The features of step and clip", "features"),
    ("similarity", "The similarity of step and clip", "similarity"),
    ("standing", "The similarity relative to all clips of the library", "standing"),
    ("source", "The relation of the clip's source to the previous clip's", "source"),
];

fn rate(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(rate) if rate > 0.0 && rate <= 1.0 => Ok(rate),
        _ => Err("a number above 0, at most 1".into()),
    }
}

/// Parses a fraction that is at most so large.
fn share(most: f64) -> impl Fn(&str) -> Result<f64, String> + Clone {
    move |text| match text.parse() {
        Ok(share) if (0.0..=most).contains(&share) => Ok(share),
        _ => Err(format!("it must be from 0 to {most}")),
    }
}

pub fn run(arguments: &TrainArguments, setup: &Setup) -> Result<u8, Failure> {
    if let Some(choose) = &arguments.choose {
        return of_answers(arguments, choose, setup);
    }
    let data = match (&arguments.data, arguments.set.as_slice()) {
        (None, []) => Some(PathBuf::from("procedures.jsonl")),
        (data, _) => data.clone(),
    };
    let library = data.map(|data| of_library(&data, setup)).transpose()?;
    let sets = arguments.set.iter().map(|set| of_set(set, arguments, setup));
    let all = library.into_iter().map(Ok).chain(sets).collect::<Result<Vec<_>, _>>()?;
    let (collections, encoders): (Vec<Collection>, Vec<EncoderId>) = all.into_iter().unzip();
    let encoder = encoders[0].clone(); // cannot fail: a library if there is no set
    let config = arguments.network.config(encoder, &arguments.domain)?;
    let (options, output) = (arguments.options(), arguments.output());
    let report = |event: &TrainEvent| print_event(event, options.epochs, setup);
    let trained = train(&collections, &config, &options, &output, &report, &setup.progress)?;
    let folder = &arguments.out;
    let json = json!({"event": "trained", "folder": folder, "metrics": trained.metrics});
    setup.print(json, || print(&trained, folder));
    Ok(0)
}

/// Trains on candidate answers.
fn of_answers(arguments: &TrainArguments, choose: &Path, setup: &Setup) -> Result<u8, Failure> {
    let mut training = Vec::new();
    for path in &arguments.answers {
        training.extend(answers::read(path)?);
    }
    let choosing = answers::read(choose)?;
    let options = AnswerTraining {
        epochs: arguments.optimisation.epochs as usize,
        rate: arguments.optimisation.rate.unwrap_or(AnswerTraining::default().rate),
        seed: arguments.seed,
        ..AnswerTraining::default()
    };
    let report = |epoch: usize, loss: f32, right: f64| {
        let event = json!({"event": "epoch", "epoch": epoch + 1, "loss": loss, "right": right});
        setup.print(event, || {
            println!(
                "epoch {}: loss {loss:.4}, {:.1} % of decisions right",
                epoch + 1,
                100.0 * right
            );
        });
    };
    let trained = train_answers(&training, &choosing, &options, &report, &setup.progress)?;
    let card = answers::card(&arguments.answers, choose, &options, &arguments.licence)?;
    trained.save(&arguments.out, card, arguments.precision)?;
    let json = json!({"event": "trained", "folder": arguments.out});
    setup.print(json, || println!("trained: {}", arguments.out.display()));
    Ok(0)
}

/// The clips of the library and the procedures that were mixed from it.
fn of_library(data: &Path, setup: &Setup) -> Result<(Collection, EncoderId), Failure> {
    let examples = dataset::read(data)?;
    let sentences = setup.load_sentences()?;
    let (library, encoder) = setup.open_library(&sentences)?;
    let sentence = &sentences.encoder;
    let (collection, counts) =
        Collection::of_library(&library, encoder.as_ref(), sentence, &examples, &setup.progress)?;
    if !counts.skipped.is_empty() {
        let skipped: usize = counts.skipped.values().sum();
        setup.progress.warn(&format!(
            "{skipped} of {} procedures are left out: {}; `stitch dataset mix` makes new ones",
            skipped + counts.used,
            counts.in_words()
        ));
    }
    Ok((collection, encoder.id().clone()))
}

/// The fraction of a set's videos that are held out, if the set does not say which.
const HELD_OUT_SHARE: f64 = 0.2;

/// The videos of a set, each as one procedure.
fn of_set(
    set: &Path,
    arguments: &TrainArguments,
    setup: &Setup,
) -> Result<(Collection, EncoderId), Failure> {
    let sentences = setup.load_sentences()?;
    let encoder = setup.load_encoder(&arguments.encoder, &sentences, Decode::Exact)?;
    let encoders = Encoders { encoder: encoder.as_ref(), sentence: &sentences.encoder };
    let set = Set::open(set, Needs::Text)?;
    let (set, _) = load(set, &encoders, None, &setup.progress)?;
    let mut collection = set.collection;
    collection.split_by_video(HELD_OUT_SHARE, arguments.seed);
    Ok((collection, set.encoder))
}

impl NetworkArguments {
    fn config(&self, encoder: EncoderId, domain: &str) -> Result<Config, Failure> {
        let preset = (self.preset.config)(encoder, domain);
        let has = |channel| self.channels.contains(&channel);
        let channels = Channels {
            features: has("features"),
            similarity: has("similarity"),
            standing: has("standing"),
            source: has("source"),
            answer: false,
        };
        let config = Config {
            width: self.width.unwrap_or(preset.width),
            layers: self.layers.unwrap_or(preset.layers),
            heads: self.heads.unwrap_or(preset.heads),
            hidden: self.hidden.unwrap_or(preset.hidden),
            dropout: self.dropout.unwrap_or(preset.dropout),
            channels: if self.channels.is_empty() { preset.channels } else { channels },
            ..preset
        };
        if !config.is_sound() {
            return Err(Failure::usage(
                "--width must be a multiple of --heads, all sizes from 1 to 65536, and --dropout from \
                 0 to below 1",
            ));
        }
        Ok(config)
    }
}

impl ExampleArguments {
    fn options(&self, preset: NegativeRates) -> NegativeRates {
        let usual = |kind| if self.ablate.contains(&kind) { 0.0 } else { self.negatives };
        let also = |kind| if self.also.contains(&kind) { self.negatives } else { 0.0 };
        NegativeRates {
            correctness: usual("correctness"),
            continuity: usual("continuity"),
            state: usual("state"),
            swapped: also("swapped"),
            wrong: also("wrong"),
            elsewhere: also("elsewhere"),
            reword: self.reword.unwrap_or(preset.reword),
            whole: self.whole,
            shortened: self.shortened,
            ..preset
        }
    }
}

impl TrainArguments {
    fn options(&self) -> TrainOptions {
        let preset = (self.network.preset.options)();
        let optimisation = &self.optimisation;
        TrainOptions {
            seed: self.seed,
            epochs: optimisation.epochs as usize,
            batch: optimisation.batch.map_or(preset.batch, |batch| batch as usize),
            rate: optimisation.rate.unwrap_or(preset.rate),
            negatives: self.examples.options(preset.negatives),
            patience: optimisation.patience.or(preset.patience),
            held_out: optimisation.held_out,
            prior: preset.prior && !self.network.no_prior,
            ..preset
        }
    }

    fn output(&self) -> TrainOutput {
        TrainOutput {
            folder: self.out.clone(),
            device: self.device,
            precision: self.precision,
            checkpoint_every: self.optimisation.checkpoint_every,
            licence: self.licence.clone(),
        }
    }
}

/// Prints a line after every epoch; with --json also those between, which leave the progress bar alone.
fn print_event(event: &TrainEvent, epochs: usize, setup: &Setup) {
    match event {
        TrainEvent::Steps(_) => setup.print_json(event),
        TrainEvent::Epoch(epoch) => {
            setup.print(event, || println!("{}", epoch_text(epoch, epochs)))
        }
    }
}

fn epoch_text(epoch: &Epoch, epochs: usize) -> String {
    let Epoch { epoch: number, loss, rate, medr, r50, samples_per_s, left_s, .. } = epoch;
    let left = clock((left_s * 1000.0) as u64, 1);
    format!(
        "epoch {number:2} of {epochs}  loss {loss:.4}  rate {rate:.1e}  held out: MedR {medr:5.1}  \
         R@50 {r50:.3}  {samples_per_s:.0} samples/s  {left} left"
    )
}

fn print(trained: &Trained, folder: &Path) {
    let folder = folder.display();
    if trained.done_before {
        println!("{folder} holds the result of this training already");
    }
    let metrics = |name: &str| &trained.metrics[name];
    let row = |name: &str| {
        let metric = |key: &str| metrics(name)[key].as_f64().unwrap_or(f64::NAN);
        let cells = ["r1", "r5", "r50", "mrr"].map(|key| format!("{:.3}", metric(key)));
        let first = [name.replace('_', " "), format!("{:.1}", metric("medr"))];
        first.into_iter().chain(cells).collect::<Vec<_>>()
    };
    println!("{} held-out procedures, each ranked among 500:", metrics("procedures"));
    let rows = [row("evaluator"), row("average_similarity")];
    table::print(&["", ">MedR", ">R@1", ">R@5", ">R@50", ">MRR"], &rows);
    let error = metrics("calibration")["error"].as_f64().unwrap_or(f64::NAN);
    println!("calibration error {error:.3}; {folder}/card.json has the reliability table");
}
