//! `stitch train`: an evaluator learnt from the library's own videos.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::json;
use stitch_engine::encoder::EncoderId;
use stitch_engine::evaluator::{Channels, Config, Precision};
use stitch_engine::kernels::Activation;
use stitch_engine::progress::Progress;
use stitch_lab::collection::{Collection, Taken};
use stitch_lab::dataset;
use stitch_lab::negatives::Constraint;
use stitch_lab::train::{
    Epoch, Line, Machine, Negatives, Schedule, TrainOptions, Trained, Where, train,
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
    /// The procedures, as `stitch dataset mix` wrote them
    #[arg(long, default_value = "procedures.jsonl", value_name = "FILE")]
    data: PathBuf,
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
    /// Sequences of one step
    #[arg(long, default_value_t = 24, value_name = "N", help_heading = "Learning",
        value_parser = clap::value_parser!(u64).range(1..))]
    batch: u64,
    /// Adam's rate, at its highest
    #[arg(long, default_value_t = 3e-4, value_name = "RATE", help_heading = "Learning",
        value_parser = rate)]
    rate: f64,
    /// How the rate changes
    #[arg(long, value_enum, default_value_t = ScheduleName::Cosine, help_heading = "Learning")]
    schedule: ScheduleName,
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
        help_heading = "Learning"
    )]
    ablate: Vec<ConstraintName>,
    /// How many negatives of each kind a positive gets: correctness,continuity,state
    #[arg(long, value_parser = rates, default_value = "1,1,1", value_name = "N,N,N",
        help_heading = "Learning")]
    negatives: [f64; 3],
    /// From which similarity of texts on a clip is taken to show a step
    #[arg(long, default_value_t = Negatives::default().shows, value_name = "COSINE",
        help_heading = "Learning")]
    shows: f32,
    /// Below which similarity it is taken not to
    #[arg(long, default_value_t = Negatives::default().unlike, value_name = "COSINE",
        help_heading = "Learning")]
    unlike: f32,

    /// The length of a token [default: that of the encoder's vectors]
    #[arg(long, value_name = "N", help_heading = "Network")]
    width: Option<usize>,
    /// Layers of the transformer
    #[arg(long, default_value_t = 4, value_name = "N", help_heading = "Network")]
    layers: usize,
    /// Heads of each layer's attention
    #[arg(long, default_value_t = 8, value_name = "N", help_heading = "Network")]
    heads: usize,
    /// The width of each layer's hidden part
    #[arg(long, default_value_t = 2048, value_name = "N", help_heading = "Network")]
    hidden: usize,
    /// The share of numbers left out while learning
    #[arg(long, default_value_t = 0.1, value_name = "SHARE", help_heading = "Network")]
    dropout: f64,
    /// What the hidden parts do with their sums
    #[arg(long, value_enum, default_value_t = ActivationName::Relu, help_heading = "Network")]
    activation: ActivationName,
    /// Normalise before the parts of a layer instead of after them
    #[arg(long, help_heading = "Network")]
    norm_first: bool,
    /// What a token is told beside the features of its step and its clip
    #[arg(long, value_enum, value_delimiter = ',', value_name = "KINDS", help_heading = "Network")]
    channels: Vec<ChannelName>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DeviceName {
    /// All cores; the same weights every time
    Cpu,
    /// The first CUDA GPU, in a program built for it
    Cuda,
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
enum ActivationName {
    Relu,
    Gelu,
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

/// `1,0.5,1` as numbers.
fn rates(text: &str) -> Result<[f64; 3], String> {
    let numbers: Result<Vec<f64>, _> = text.split(',').map(|part| part.trim().parse()).collect();
    match numbers.map(<[f64; 3]>::try_from) {
        Ok(Ok(rates)) if rates.iter().all(|rate| (0.0..=64.0).contains(rate)) => Ok(rates),
        _ => Err("three numbers from 0 to 64, as 1,1,1".into()),
    }
}

/// Runs the command.
pub fn run(arguments: &TrainArguments, setup: &Setup) -> Result<u8, Failure> {
    let examples = dataset::read(&arguments.data)?;
    setup.progress.begin("loading models", 0);
    let sentences = setup.sentence()?;
    let (library, encoder) = setup.open_library(&sentences)?;
    let config = arguments.config(encoder.id().clone())?;
    let (collection, taken) = Collection::of_library(
        &library,
        encoder.as_ref(),
        &sentences.encoder,
        &examples,
        &setup.progress,
    )?;
    warn_of(&taken, setup);
    let (options, place) = (arguments.options(), arguments.place());
    let tell = |line: &Line| told(line, options.epochs, setup);
    let trained = train(&collection, &config, &options, &place, &tell, &setup.progress)?;
    setup.progress.finish();
    print(&trained, arguments, setup);
    Ok(0)
}

impl TrainArguments {
    fn config(&self, encoder: EncoderId) -> Result<Config, Failure> {
        let paper = Config::paper(encoder, &self.domain);
        let wanted = |channel| self.channels.contains(&channel);
        let config = Config {
            width: self.width.unwrap_or(paper.width),
            layers: self.layers,
            heads: self.heads,
            hidden: self.hidden,
            dropout: self.dropout,
            norm_first: self.norm_first,
            activation: match self.activation {
                ActivationName::Relu => Activation::Relu,
                ActivationName::Gelu => Activation::Gelu,
            },
            channels: Channels {
                similarity: wanted(ChannelName::Similarity),
                standing: wanted(ChannelName::Standing),
                source: wanted(ChannelName::Source),
            },
            ..paper
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
        let [correctness, continuity, state] = self.negatives;
        let (shows, unlike) = (self.shows, self.unlike);
        let all = Negatives { correctness, continuity, state, shows, unlike };
        let ablated: Vec<Constraint> = self.ablate.iter().map(|name| name.constraint()).collect();
        TrainOptions {
            seed: self.seed,
            epochs: self.epochs as usize,
            batch: self.batch as usize,
            rate: self.rate,
            schedule: match self.schedule {
                ScheduleName::Constant => Schedule::Constant,
                ScheduleName::Cosine => Schedule::Cosine,
            },
            negatives: all.without(&ablated),
            patience: self.patience,
            held_out: self.held_out,
        }
    }

    fn place(&self) -> Where {
        Where {
            folder: self.out.clone(),
            machine: match self.device {
                DeviceName::Cpu => Machine::Cpu,
                DeviceName::Cuda => Machine::Cuda,
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

impl ConstraintName {
    fn constraint(self) -> Constraint {
        match self {
            Self::Correctness => Constraint::Correctness,
            Self::Continuity => Constraint::Continuity,
            Self::State => Constraint::State,
        }
    }
}

fn warn_of(taken: &Taken, setup: &Setup) {
    if !taken.lost.is_empty() {
        let lost: usize = taken.lost.values().sum();
        let all = lost + taken.kept;
        setup.progress.warn(&format!(
            "{lost} of {all} procedures are left out: {}; `stitch dataset mix` makes them anew",
            taken.in_words()
        ));
    }
}

/// A line for every epoch, as it ends.
fn told(line: &Line, epochs: usize, setup: &Setup) {
    match line {
        _ if setup.json => println!("{}", json!(line)),
        Line::Steps(_) => {}
        Line::Epoch(epoch) => {
            setup.progress.finish();
            println!("{}", in_words(epoch, epochs));
        }
    }
}

fn in_words(epoch: &Epoch, epochs: usize) -> String {
    let Epoch { epoch: number, loss, rate, medr, r50, samples_per_s, left_s, .. } = epoch;
    let left = table::clock((left_s * 1000.0) as u64);
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
