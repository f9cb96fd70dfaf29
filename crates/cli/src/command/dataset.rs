//! `stitch dataset`: training data from the videos of the library.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;
use stitch_core::format::count;
use stitch_engine::library::Library;
use stitch_engine::progress::Progress;
use stitch_lab::dataset::language::LanguageModel;
use stitch_lab::dataset::recipes::recipes;
use stitch_lab::dataset::rules::{Rules, TemporallySampled};
use stitch_lab::dataset::{self, Build, BuildReport, MineOptions, Mixer, build, groups};

use stitch_lab::suite::labels;
use stitch_lab::train::answers as train;
use stitch_world::questions;
use stitch_world::truth::Truth;

use super::convert::{self, ConvertArguments};
use super::show::{self, ShowArguments};
use super::summarise::{self, SummariseArguments};
use crate::failure::Failure;
use crate::options::{Choices, DomainArguments, LanguageModelArguments, ParallelArguments, choice};
use crate::setup::{ScorerArguments, Setup};

#[derive(Subcommand)]
pub enum DatasetCommand {
    Summarise(SummariseArguments),
    /// List groups of similar videos
    Mine(MineArguments),
    /// Mix procedures from groups of similar videos; with a language model, the same command continues an
    /// interrupted run
    Mix(MixArguments),
    /// Find candidate answers to questions about a made-up library, for `stitch train --answers`
    Answers(AnswersArguments),
    /// Show the content of a file of procedures, or render one of them
    Show(ShowArguments),
    /// Convert published annotations (COIN, CrossTask, HiREST, HT-Step, YouCook2, NIV, detours) into a
    /// set that `stitch eval --data` reads
    Convert(ConvertArguments),
}

#[derive(Args)]
pub struct AnswersArguments {
    /// The folder that `stitch world render` wrote and the library indexes
    #[arg(value_name = "DIR")]
    world: PathBuf,
    /// The file to write
    #[arg(long, short, default_value = "answers.safetensors", value_name = "FILE")]
    output: PathBuf,
    /// Instead of questions, labelled procedures in natural wording, as `stitch eval natural` reads them
    #[arg(long, value_name = "SET")]
    natural: Option<PathBuf>,
    /// The number of questions of each kind
    #[arg(long, default_value_t = 100, value_name = "N")]
    questions: usize,
    /// The seed of the questions
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Args)]
pub struct MineArguments {
    #[command(flatten)]
    grouping: GroupingArguments,
    /// How many groups to print
    #[arg(long, short, default_value_t = 10)]
    number: usize,
}

fn answers(arguments: &AnswersArguments, setup: &Setup) -> Result<u8, Failure> {
    let AnswersArguments { world, output, natural, questions, seed } = arguments;
    let truth = Truth::read(&world.join("truth.json"))?;
    let session = setup.open(&ScorerArguments::default())?;
    let with = session.demonstrator();
    let groups = match natural {
        Some(set) => {
            let procedures = labels::read(set)?;
            train::natural_groups(&with, Some(&truth), &procedures, &setup.progress)?
        }
        None => {
            let asked = questions::questions(&truth, *questions, *seed);
            train::groups(&with, &truth, &asked, &setup.progress)?
        }
    };
    train::write(&groups, output)?;
    let candidates: usize = groups.iter().map(|group| group.judged.len()).sum();
    let json = json!({"file": output, "questions": groups.len(), "candidates": candidates});
    setup.print(json, || {
        let questions = count(groups.len(), "question");
        println!("{questions} with {candidates} candidate answers, in {}", output.display());
    });
    Ok(0)
}

#[derive(Args)]
struct GroupingArguments {
    /// The minimum similarity of the summaries of every two videos in a group
    #[arg(long, default_value_t = 0.8)]
    similarity: f32,
    /// The maximum number of videos in a group, 2 to 4
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(2..=4))]
    largest: u8,
    /// The maximum number of groups of each size, chosen by the seed
    #[arg(long, default_value_t = 10_000, value_name = "N")]
    most: usize,
    /// The random seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

impl GroupingArguments {
    fn options(&self) -> MineOptions {
        let (similarity, largest) = (self.similarity, usize::from(self.largest));
        MineOptions { similarity, largest, most: self.most, seed: self.seed }
    }
}

#[derive(Args)]
pub struct MixArguments {
    /// The file to write, one procedure per line
    #[arg(long, short, default_value = "procedures.jsonl", value_name = "FILE")]
    output: PathBuf,
    /// The method that mixes videos
    #[arg(long, value_parser = choice(&BUILDERS), default_value = "rules")]
    builder: Builder,
    /// The fraction of videos that are held out for evaluation
    #[arg(long, default_value_t = 0.2, value_name = "SHARE")]
    held_out: f64,
    #[command(flatten)]
    grouping: GroupingArguments,
    #[command(flatten)]
    chat: LanguageModelArguments,
    #[command(flatten)]
    parallel: ParallelArguments,
    #[command(flatten)]
    domain: DomainArguments,
}

#[derive(Clone, Copy)]
enum Builder {
    Rules,
    LanguageModel,
    TemporallySampled,
    None,
}

const BUILDERS: Choices<Builder, 4> = [
    ("rules", "Follow one video, switch where two do the same to different things", Builder::Rules),
    ("language-model", "Ask the language model at --llm-url", Builder::LanguageModel),
    (
        "temporally-sampled",
        "Steps at the same relative time, from random videos",
        Builder::TemporallySampled,
    ),
    ("none", "Whole videos only", Builder::None),
];

pub fn run(command: &DatasetCommand, setup: &Setup) -> Result<u8, Failure> {
    match command {
        DatasetCommand::Summarise(arguments) => summarise::run(arguments, setup),
        DatasetCommand::Mine(arguments) => mine(arguments, setup),
        DatasetCommand::Mix(arguments) => mix(arguments, setup),
        DatasetCommand::Answers(arguments) => answers(arguments, setup),
        DatasetCommand::Show(arguments) => show::run(arguments, setup),
        DatasetCommand::Convert(arguments) => convert::run(arguments, setup),
    }
}

fn mine(arguments: &MineArguments, setup: &Setup) -> Result<u8, Failure> {
    let sentences = setup.load_sentences()?;
    let library = Library::open(&setup.library)?;
    let pool = library.pool()?;
    let recipes = recipes(&library, &pool)?;
    let summaries: Vec<String> = recipes.iter().map(|recipe| recipe.summary(&pool)).collect();
    setup.progress.begin("encoding summaries", summaries.len() as u64);
    let rows = sentences.encoder.encode_with(&summaries, &setup.progress)?;
    let groups = groups(&rows, &arguments.grouping.options());
    let contents = groups.iter().map(|group| {
        let contents: Vec<_> = group.iter().map(|index| &recipes[*index].content).collect();
        json!({"videos": contents})
    });
    setup.print_all(&contents.collect::<Vec<_>>(), || {
        let mut sizes: BTreeMap<usize, usize> = BTreeMap::new();
        groups.iter().for_each(|group| *sizes.entry(group.len()).or_default() += 1);
        println!("{} with two or more steps", count(recipes.len(), "video"));
        sizes.iter().for_each(|(size, n)| println!("  {n} groups of {size}"));
        for group in groups.iter().rev().take(arguments.number) {
            let titles: Vec<_> = group.iter().map(|index| recipes[*index].title.as_str()).collect();
            println!("  {}", titles.join(" + "));
        }
    });
    Ok(0)
}

fn mix(arguments: &MixArguments, setup: &Setup) -> Result<u8, Failure> {
    if !(0.01..=0.9).contains(&arguments.held_out) {
        return Err(Failure::usage("--held-out must be from 0.01 to 0.9"));
    }
    let chat = arguments.chat.chat(setup);
    let model = chat.as_ref().map(|chat| LanguageModel { chat, domain: arguments.domain.domain });
    let mixer: Option<&dyn Mixer> = match (arguments.builder, &model) {
        (Builder::Rules, _) => Some(&Rules),
        (Builder::TemporallySampled, _) => Some(&TemporallySampled),
        (Builder::None, _) => None,
        (Builder::LanguageModel, Some(model)) => Some(model),
        (Builder::LanguageModel, None) => {
            return Err(Failure::usage(
                "--builder language-model needs --llm-url, such as http://127.0.0.1:8080/v1",
            ));
        }
    };
    let sentences = setup.load_sentences()?;
    let library = Library::open(&setup.library)?;
    let with = Build {
        library: &library,
        sentence: &sentences.encoder,
        mixer,
        parallel: usize::from(arguments.parallel.parallel),
        mine: arguments.grouping.options(),
        held_out: arguments.held_out,
        seed: arguments.grouping.seed,
    };
    let (examples, report) = build(&with, &setup.progress)?;
    dataset::write(&arguments.output, &examples)?;
    let json = json!({"report": report, "file": arguments.output});
    setup.print(json, || print(&report, arguments));
    Ok(0)
}

fn print(report: &BuildReport, arguments: &MixArguments) {
    println!(
        "{} with two or more steps, {} of them held out",
        count(report.videos, "video"),
        report.held_out
    );
    report.groups.iter().for_each(|(size, n)| println!("  {n} groups of {size} similar videos"));
    report.examples.iter().for_each(|(kind, n)| println!("  {n} procedures: {kind}"));
    if report.repeated > 0 {
        println!("  {} mixtures were duplicates", report.repeated);
    }
    for (reason, n) in &report.rejected {
        println!(
            "  {n} groups without a procedure: {}",
            json!(reason).as_str().unwrap_or_default()
        );
    }
    println!("{}", arguments.output.display());
}
