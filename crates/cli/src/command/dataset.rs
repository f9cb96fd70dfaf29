//! `stitch dataset`: procedures to learn from, mixed out of the library's videos.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;
use stitch_core::format::count;
use stitch_engine::library::Library;
use stitch_engine::progress::Progress;
use stitch_lab::dataset::language::LanguageModel;
use stitch_lab::dataset::recipes::recipes;
use stitch_lab::dataset::rules::Rules;
use stitch_lab::dataset::sampled::TemporallySampled;
use stitch_lab::dataset::{self, Build, BuildReport, MineOptions, Mixer, Recipe, build, groups};

use super::convert::{self, ConvertArguments};
use super::show::{self, ShowArguments};
use crate::chat::{ChatArguments, Domain};
use crate::failure::Failure;
use crate::setup::Setup;

#[derive(Subcommand)]
pub enum DatasetCommand {
    /// Tell which videos of the library belong together
    Mine(MineArguments),
    /// Mix procedures out of the videos that belong together
    Mix(MixArguments),
    /// Tell what is in a file of procedures, or make a video of one
    Show(ShowArguments),
    /// Turn published annotations (COIN, CrossTask, HiREST, HT-Step, YouCook2, NIV, detours) into a
    /// set that `stitch eval --data` reads
    Convert(ConvertArguments),
}

#[derive(Args)]
pub struct MineArguments {
    #[command(flatten)]
    grouping: Grouping,
    /// How many groups are printed
    #[arg(long, short, default_value_t = 10)]
    number: usize,
}

#[derive(Args)]
struct Grouping {
    /// How similar the summaries of every two videos of a group are at least
    #[arg(long, default_value_t = 0.8)]
    similarity: f32,
    /// The most videos of a group, 2 to 4
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(2..=4))]
    largest: u8,
    /// The most groups of each size, chosen by the seed
    #[arg(long, default_value_t = 10_000, value_name = "N")]
    most: usize,
    /// Of everything random
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

impl Grouping {
    fn options(&self) -> MineOptions {
        let (similarity, largest) = (self.similarity, usize::from(self.largest));
        MineOptions { similarity, largest, most: self.most, seed: self.seed }
    }
}

#[derive(Args)]
pub struct MixArguments {
    /// The file to write, a procedure a line
    #[arg(long, short, default_value = "procedures.jsonl", value_name = "FILE")]
    output: PathBuf,
    /// What mixes
    #[arg(long, value_enum, default_value_t = Builder::Rules)]
    builder: Builder,
    /// The share of videos held out to measure by
    #[arg(long, default_value_t = 0.2, value_name = "SHARE")]
    held_out: f64,
    #[command(flatten)]
    grouping: Grouping,
    /// The field the videos are from; only a language model's prompt depends on it
    #[arg(long, value_enum, default_value_t = Domain::Any)]
    domain: Domain,
    #[command(flatten)]
    chat: ChatArguments,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Builder {
    /// Keep to one video, change where two do the same to different things
    Rules,
    /// Ask the language model behind --llm-url
    LanguageModel,
    /// Steps at the same relative time, from videos at random
    TemporallySampled,
    /// Real videos alone
    None,
}

/// Runs the command.
pub fn run(command: &DatasetCommand, setup: &Setup) -> Result<u8, Failure> {
    match command {
        DatasetCommand::Mine(arguments) => mine(arguments, setup),
        DatasetCommand::Mix(arguments) => mix(arguments, setup),
        DatasetCommand::Show(arguments) => show::run(arguments, setup),
        DatasetCommand::Convert(arguments) => convert::run(arguments, setup),
    }
}

fn mine(arguments: &MineArguments, setup: &Setup) -> Result<u8, Failure> {
    setup.progress.begin("loading models", 0);
    let sentences = setup.sentence()?;
    let library = Library::open(&setup.library)?;
    let pool = library.pool()?;
    let recipes = recipes(&library, &pool)?;
    let summaries: Vec<String> = recipes.iter().map(|recipe| recipe.summary(&pool)).collect();
    setup.progress.begin("encoding summaries", summaries.len() as u64);
    let rows = sentences.encoder.encode_with(&summaries, &setup.progress)?;
    let groups = groups(&rows, &arguments.grouping.options());
    setup.progress.finish();
    let titles = |group: &Vec<usize>| -> Vec<&str> {
        group.iter().map(|at| recipes[*at].title.as_str()).collect()
    };
    if setup.json {
        groups
            .iter()
            .for_each(|group| println!("{}", json!({"videos": contents(group, &recipes)})));
        return Ok(0);
    }
    let mut sizes: BTreeMap<usize, usize> = BTreeMap::new();
    groups.iter().for_each(|group| *sizes.entry(group.len()).or_default() += 1);
    println!("{} with two steps or more", count(recipes.len(), "video"));
    sizes.iter().for_each(|(size, n)| println!("  {n} groups of {size}"));
    for group in groups.iter().rev().take(arguments.number) {
        println!("  {}", titles(group).join(" + "));
    }
    Ok(0)
}

fn contents<'a>(group: &[usize], recipes: &'a [Recipe]) -> Vec<&'a str> {
    group.iter().map(|at| recipes[*at].content.as_str()).collect()
}

fn mix(arguments: &MixArguments, setup: &Setup) -> Result<u8, Failure> {
    if !(0.01..=0.9).contains(&arguments.held_out) {
        return Err(Failure::new("--held-out must be from 0.01 to 0.9").with_code(2));
    }
    let chat = arguments.chat.chat(setup);
    let model = chat.as_ref().map(|chat| LanguageModel { chat, domain: arguments.domain.into() });
    let rules = Rules::default();
    let mixer: Option<&dyn Mixer> = match (arguments.builder, &model) {
        (Builder::Rules, _) => Some(&rules),
        (Builder::TemporallySampled, _) => Some(&TemporallySampled),
        (Builder::None, _) => None,
        (Builder::LanguageModel, Some(model)) => Some(model),
        (Builder::LanguageModel, None) => {
            return Err(Failure::new(
                "--builder language-model needs --llm-url, such as http://127.0.0.1:8080/v1",
            )
            .with_code(2));
        }
    };
    setup.progress.begin("loading models", 0);
    let sentences = setup.sentence()?;
    let library = Library::open(&setup.library)?;
    let with = Build {
        library: &library,
        sentence: &sentences.encoder,
        mixer,
        mine: arguments.grouping.options(),
        held_out: arguments.held_out,
        seed: arguments.grouping.seed,
    };
    let (examples, report) = build(&with, &setup.progress)?;
    dataset::write(&arguments.output, &examples)?;
    setup.progress.finish();
    print(&report, arguments, setup);
    Ok(0)
}

fn print(report: &BuildReport, arguments: &MixArguments, setup: &Setup) {
    if setup.json {
        println!("{}", json!({"report": report, "file": arguments.output}));
        return;
    }
    println!(
        "{} with two steps or more, {} of them held out",
        count(report.videos, "video"),
        report.held_out
    );
    report.groups.iter().for_each(|(size, n)| println!("  {n} groups of {size} similar videos"));
    report.examples.iter().for_each(|(kind, n)| println!("  {n} procedures: {kind}"));
    if report.repeated > 0 {
        println!("  {} mixtures were the same as another", report.repeated);
    }
    for (reason, n) in &report.rejected {
        println!("  {n} groups gave none: {}", json!(reason).as_str().unwrap_or_default());
    }
    println!("{}", arguments.output.display());
}
