//! `stitch train`: an evaluator learnt from the library's own videos.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::json;
use stitch_core::format::clock;
use stitch_engine::encoder::EncoderId;
use stitch_engine::evaluator::{Channels, Config, Precision};
use stitch_engine::media::Decode;
use stitch_engine::progress::Progress;
use stitch_lab::collection::{Collection, ExampleCounts};
use stitch_lab::dataset;
use stitch_lab::suite::plain::load::{Encoders, load};
use stitch_lab::suite::plain::set::{Needs, Set};
use stitch_lab::train::{
    Epoch, NegativeRates, Schedule, TrainDevice, TrainEvent, TrainOptions, TrainOutput, Trained,
    train,
};

use crate::failure::Failure;
use crate::setup::Setup;
use crate::table;

/// Learn to judge demonstrations from the library's own videos
///
/// Learns from what `stitch dataset mix` wrote: procedures with their clips against the same with one
/// constraint broken. A run that was stopped or killed goes on where it was, by the same command.
#[derive(Args)]
pub struct TrainArguments {
    /// The procedures, as `stitch dataset mix` wrote them out of the library
    /// [default: procedures.jsonl, where no --set is given]
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// Learn from a set of pictures or features with their steps (videos.jsonl) and not from a library;
    /// several may be given
    #[arg(long, value_name = "DIR")]
    set: Vec<PathBuf>,
    /// The encoder that looks at the set
    #[arg(long, default_value = "mini", value_name = "NAME", requires = "set")]
    encoder: String,
    /// The share of a set's videos that are held out, where the set does not say which
    #[arg(long, default_value_t = 0.2, value_name = "SHARE", requires = "set")]
    held_out_share: f64,
    /// The model's folder; in the models' folder `stitch make` finds it by itself
    #[arg(long, short, value_name = "DIR")]
    out: PathBuf,
    /// What the videos are about, such as cooking
    #[arg(long, default_value = "any", value_name = "NAME")]
    domain: String,
    /// What learns
    #[arg(long, value_enum, default_value_t = DeviceName::Cpu)]
    device: DeviceName,
    /// In how many bits the weights are saved
    #[arg(long, value_enum, default_value_t = PrecisionName::F16)]
    precision: PrecisionName,
    /// The licence that the model's card names
    #[arg(long, default_value = "not stated", value_name = "TEXT")]
    licence: String,
    /// Of everything random
    #[arg(long, default_value_t = 0)]
    seed: u64,

    /// How often every procedure is seen
    #[arg(long, default_value_t = 10, value_name = "N", help_heading = "Learning",
        value_parser = clap::value_parser!(u64).range(1..))]
    epochs: u64,
    /// Sequences of one step [default: 384 with --preset small, 24 with paper]
    #[arg(long, value_name = "N", help_heading = "Learning",
        value_parser = clap::value_parser!(u64).range(1..))]
    batch: Option<u64>,
    /// Adam's rate, at its highest [default: 1e-3 with --preset small, 3e-4 with paper]
    #[arg(long, value_name = "RATE", help_heading = "Learning", value_parser = rate)]
    rate: Option<f64>,
    /// How the rate changes
    #[arg(long, value_enum, default_value_t = ScheduleName::Cosine, help_heading = "Learning")]
    schedule: ScheduleName,
    /// What a step of rate 1 would take off every weight
    #[arg(long, default_value_t = 0.01, value_name = "SHARE", help_heading = "Learning")]
    decay: f64,
    /// Gradients longer than this are shortened to it; 0 for never
    #[arg(long, default_value_t = 1.0, value_name = "LENGTH", help_heading = "Learning")]
    clip: f64,
    /// Epochs without a better rank after which learning ends
    #[arg(long, default_value_t = 3, value_name = "N", help_heading = "Learning")]
    patience: usize,
    /// Held-out procedures that are ranked: half to choose the best epoch by, half to report
    #[arg(long, default_value_t = 100, value_name = "N", help_heading = "Learning")]
    held_out: usize,
    /// Steps between checkpoints, beside those after every epoch
    #[arg(long, default_value_t = 500, value_name = "N", help_heading = "Learning",
        value_parser = clap::value_parser!(u64).range(1..))]
    checkpoint_every: u64,

    /// Kinds of negatives to leave out
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        value_name = "KINDS",
        help_heading = "What is learnt from"
    )]
    ablate: Vec<ConstraintName>,
    /// Further kinds of negatives, for videos of few steps
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        value_name = "KINDS",
        help_heading = "What is learnt from"
    )]
    also: Vec<HardNegativeName>,
    /// How many negatives of each kind a positive gets
    #[arg(long, default_value_t = 1.0, value_name = "N", help_heading = "What is learnt from")]
    negatives: f64,
    /// The share of steps that are worded as another clip that shows them
    #[arg(long, default_value_t = 0.3, value_name = "SHARE", value_parser = share,
        help_heading = "What is learnt from")]
    reword: f64,
    /// The share of whole videos among what is learnt from: they are repeated up to it
    #[arg(long, default_value_t = 0.0, value_name = "SHARE", value_parser = share,
        help_heading = "What is learnt from")]
    whole: f64,
    /// The share of whole videos that only some steps of are asked for, so that clips are left which
    /// could be wrong ones
    #[arg(long, default_value_t = 0.0, value_name = "SHARE", value_parser = part,
        help_heading = "What is learnt from")]
    shortened: f64,
    /// From which similarity of texts on a clip is taken to show a step
    #[arg(long, default_value_t = NegativeRates::default().shows, value_name = "COSINE",
        help_heading = "What is learnt from")]
    shows: f32,
    /// Below which similarity it is taken not to
    #[arg(long, default_value_t = NegativeRates::default().unlike, value_name = "COSINE",
        help_heading = "What is learnt from")]
    unlike: f32,

    /// What the network is like; the options below change parts of it
    #[arg(long, value_enum, default_value_t = PresetName::Small, help_heading = "Network")]
    preset: PresetName,
    /// The length of a token
    #[arg(long, value_name = "N", help_heading = "Network")]
    width: Option<usize>,
    /// Layers of the transformer
    #[arg(long, value_name = "N", help_heading = "Network")]
    layers: Option<usize>,
    /// Heads of each layer's attention
    #[arg(long, value_name = "N", help_heading = "Network")]
    heads: Option<usize>,
    /// The width of each layer's hidden part
    #[arg(long, value_name = "N", help_heading = "Network")]
    hidden: Option<usize>,
    /// The share of numbers left out while learning
    #[arg(long, value_name = "SHARE", help_heading = "Network")]
    dropout: Option<f64>,
    /// What a token is told
    #[arg(long, value_enum, value_delimiter = ',', value_name = "KINDS", help_heading = "Network")]
    channels: Vec<ChannelName>,
    /// Let the network judge alone, without similarity, changes of source and steps back beside it
    #[arg(long, help_heading = "Network")]
    no_prior: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DeviceName {
    /// All cores; the same weights every time
    Cpu,
    /// The first CUDA GPU, in a program built for it
    Cuda,
    /// The same, in numbers of 16 bits: faster, and not quite the same weights
    CudaBf16,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PrecisionName {
    F16,
    F32,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ScheduleName {
    /// It does not
    Constant,
    /// It rises over the first twentieth of all steps and falls to nothing
    Cosine,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PresetName {
    /// Two layers of width 64, told how step and clip agree and how sources follow one another
    Small,
    /// The paper's: four layers as wide as the features, told the features
    Paper,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum HardNegativeName {
    /// Two clips in each other's place
    Swapped,
    /// A clip that is unlike its step
    Wrong,
    /// Clips of other videos of the task
    Elsewhere,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ConstraintName {
    /// Clips that do not show their step
    Correctness,
    /// A clip of another source between two of one
    Continuity,
    /// Clips of one video in the wrong order
    State,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ChannelName {
    /// The features of step and clip
    Features,
    /// How similar step and clip are
    Similarity,
    /// The same against all clips of the library
    Standing,
    /// How the clip's source stands to that of the clip before it
    Source,
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(rate) if rate > 0.0 && rate <= 1.0 => Ok(rate),
        _ => Err("a number above 0, at most 1".into()),
    }
}

/// A share that leaves something of the rest.
fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=0.9).contains(share));
    share.ok_or_else(|| "it must be from 0 to 0.9".into())
}

/// A share that may be all.
fn part(text: &str) -> Result<f64, String> {
    let part = text.parse().ok().filter(|part| (0.0..=1.0).contains(part));
    part.ok_or_else(|| "it must be from 0 to 1".into())
}

/// Runs the command.
pub fn run(arguments: &TrainArguments, setup: &Setup) -> Result<u8, Failure> {
    let data = match (&arguments.data, arguments.set.as_slice()) {
        (None, []) => Some(PathBuf::from("procedures.jsonl")),
        (data, _) => data.clone(),
    };
    let library = data.map(|data| of_library(&data, setup)).transpose()?;
    let sets = arguments.set.iter().map(|set| of_set(set, arguments, setup));
    let all = library.into_iter().map(Ok).chain(sets).collect::<Result<Vec<_>, _>>()?;
    let (collections, encoders): (Vec<Collection>, Vec<EncoderId>) = all.into_iter().unzip();
    let config = arguments.config(encoders[0].clone())?; // a library where no set is named
    let (options, output) = (arguments.options(), arguments.output());
    let report = |event: &TrainEvent| print_event(event, options.epochs, setup);
    let trained = train(&collections, &config, &options, &output, &report, &setup.progress)?;
    setup.progress.finish();
    print(&trained, arguments, setup);
    Ok(0)
}

/// The library's clips and the procedures that were mixed out of it.
fn of_library(data: &Path, setup: &Setup) -> Result<(Collection, EncoderId), Failure> {
    let examples = dataset::read(data)?;
    setup.progress.begin("loading models", 0);
    let sentences = setup.sentence()?;
    let (library, encoder) = setup.open_library(&sentences)?;
    let (collection, counts) = Collection::of_library(
        &library,
        encoder.as_ref(),
        &sentences.encoder,
        &examples,
        &setup.progress,
    )?;
    warn_of(&counts, setup);
    Ok((collection, encoder.id().clone()))
}

/// The videos of a set, each a procedure as it is.
fn of_set(
    set: &Path,
    arguments: &TrainArguments,
    setup: &Setup,
) -> Result<(Collection, EncoderId), Failure> {
    setup.progress.begin("loading models", 0);
    let sentences = setup.sentence()?;
    let encoder = setup.encoder(&arguments.encoder, &sentences, Decode::Exact)?;
    let encoders = Encoders { encoder: encoder.as_ref(), sentence: &sentences.encoder };
    let set = Set::open(set, Needs::Text)?;
    let (set, _) = load(set, &encoders, None, &setup.progress)?;
    let mut collection = set.collection;
    collection.split_by_video(arguments.held_out_share, arguments.seed);
    Ok((collection, set.encoder))
}

impl TrainArguments {
    fn config(&self, encoder: EncoderId) -> Result<Config, Failure> {
        let preset = match self.preset {
            PresetName::Small => Config::small(encoder, &self.domain),
            PresetName::Paper => Config::paper(encoder, &self.domain),
        };
        let wanted = |channel| self.channels.contains(&channel);
        let channels = Channels {
            features: wanted(ChannelName::Features),
            similarity: wanted(ChannelName::Similarity),
            standing: wanted(ChannelName::Standing),
            source: wanted(ChannelName::Source),
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
            return Err(Failure::new(
                "--width must be a multiple of --heads, all sizes from 1 to 65536, and --dropout from \
                 0 to below 1",
            )
            .with_code(2));
        }
        Ok(config)
    }

    fn options(&self) -> TrainOptions {
        let (batch, rate) = match self.preset {
            PresetName::Small => (384, 1e-3),
            PresetName::Paper => (24, 3e-4),
        };
        TrainOptions {
            seed: self.seed,
            epochs: self.epochs as usize,
            batch: self.batch.unwrap_or(batch) as usize,
            rate: self.rate.unwrap_or(rate),
            schedule: match self.schedule {
                ScheduleName::Constant => Schedule::Constant,
                ScheduleName::Cosine => Schedule::Cosine,
            },
            decay: self.decay,
            clip: self.clip,
            negatives: self.negative_rates(),
            patience: self.patience,
            held_out: self.held_out,
            prior: !self.no_prior,
        }
    }

    fn negative_rates(&self) -> NegativeRates {
        let usual = |name| if self.ablate.contains(&name) { 0.0 } else { self.negatives };
        let also = |name| if self.also.contains(&name) { self.negatives } else { 0.0 };
        NegativeRates {
            correctness: usual(ConstraintName::Correctness),
            continuity: usual(ConstraintName::Continuity),
            state: usual(ConstraintName::State),
            swapped: also(HardNegativeName::Swapped),
            wrong: also(HardNegativeName::Wrong),
            elsewhere: also(HardNegativeName::Elsewhere),
            shows: self.shows,
            unlike: self.unlike,
            reword: self.reword,
            whole: self.whole,
            shortened: self.shortened,
        }
    }

    fn output(&self) -> TrainOutput {
        TrainOutput {
            folder: self.out.clone(),
            device: match self.device {
                DeviceName::Cpu => TrainDevice::Cpu,
                DeviceName::Cuda => TrainDevice::Cuda,
                DeviceName::CudaBf16 => TrainDevice::CudaBf16,
            },
            precision: match self.precision {
                PrecisionName::F16 => Precision::F16,
                PrecisionName::F32 => Precision::F32,
            },
            checkpoint_every: self.checkpoint_every,
            licence: self.licence.clone(),
        }
    }
}

fn warn_of(counts: &ExampleCounts, setup: &Setup) {
    if !counts.skipped.is_empty() {
        let skipped: usize = counts.skipped.values().sum();
        let all = skipped + counts.used;
        setup.progress.warn(&format!(
            "{skipped} of {all} procedures are left out: {}; `stitch dataset mix` makes them anew",
            counts.in_words()
        ));
    }
}

/// A line for every epoch, as it ends.
fn print_event(event: &TrainEvent, epochs: usize, setup: &Setup) {
    match event {
        _ if setup.json => println!("{}", json!(event)),
        TrainEvent::Steps(_) => {}
        TrainEvent::Epoch(epoch) => {
            setup.progress.finish();
            println!("{}", in_words(epoch, epochs));
        }
    }
}

fn in_words(epoch: &Epoch, epochs: usize) -> String {
    let Epoch { epoch: number, loss, rate, medr, r50, samples_per_s, left_s, .. } = epoch;
    let left = clock((left_s * 1000.0) as u64, 1);
    format!(
        "epoch {number:2} of {epochs}  loss {loss:.4}  rate {rate:.1e}  held out: MedR {medr:5.1}  \
         R@50 {r50:.3}  {samples_per_s:.0} samples/s  {left} left"
    )
}

fn print(trained: &Trained, arguments: &TrainArguments, setup: &Setup) {
    let folder = arguments.out.display();
    if setup.json {
        let done = json!({"event": "trained", "folder": arguments.out, "metrics": trained.metrics});
        println!("{done}");
        return;
    }
    if trained.done_before {
        println!("{folder} holds this very training already");
    }
    let of = |name: &str| &trained.metrics[name];
    let row = |name: &str| {
        let figure = |key: &str| of(name)[key].as_f64().unwrap_or(f64::NAN);
        let title = name.replace('_', " ");
        let numbers = [figure("medr"), figure("r1"), figure("r5"), figure("r50"), figure("mrr")];
        let [medr, rest @ ..] = numbers;
        let cells = rest.iter().map(|number| format!("{number:.3}"));
        [title, format!("{medr:.1}")].into_iter().chain(cells).collect::<Vec<_>>()
    };
    println!("{} held-out procedures that chose nothing, each among 500:", of("procedures"));
    let heads = ["", "MedR", "R@1", "R@5", "R@50", "MRR"];
    let rows = [row("evaluator"), row("average_similarity")];
    table::print(&heads, &[false, true, true, true, true, true], &rows);
    let error = of("calibration")["error"].as_f64().unwrap_or(f64::NAN);
    println!(
        "its probabilities are off by {error:.3} on average; {folder}/card.json has the table"
    );
}
