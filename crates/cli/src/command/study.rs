//! `stitch study`: a preference study, made and reported; `stitch serve --study` shows it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use stitch_core::format::count;
use stitch_core::procedure::Procedure;
use stitch_engine::demonstrate::{Demonstration, Demonstrator, Options, demonstrate};
use stitch_engine::export::json;
use stitch_engine::files::FileError;
use stitch_engine::progress::Progress;
use stitch_engine::recipe;
use stitch_engine::render::{self, RenderOptions};
use stitch_engine::scorer::{AverageSimilarity, Scorer};
use stitch_engine::scorers::SCORERS;
use stitch_lab::study::{Judgement, Preference, StudyReport};
use stitch_server::study::{Plan, Rendered, Sample, Study};

use crate::failure::Failure;
use crate::setup::{Opened, ScorerArguments, Setup};

#[derive(Subcommand)]
pub enum StudyCommand {
    New(NewArguments),
    Report(ReportArguments),
}

/// Render every procedure by every method, and pair them for raters
#[derive(Args)]
pub struct NewArguments {
    /// The procedures: text, Markdown, JSON or recipe pages
    #[arg(required = true, value_name = "FILES")]
    procedures: Vec<PathBuf>,
    /// A method, twice or more often: evaluator, average-similarity, most-similar (which minds no
    /// change of source), or NAME=DIR for a folder with NAME-OF-PROCEDURE.json of another program
    #[arg(long, required = true, value_name = "METHOD")]
    method: Vec<String>,
    /// The folder to make
    #[arg(long, short, value_name = "DIR")]
    out: PathBuf,
    /// What raters see above it
    #[arg(long, default_value = "Which video shows it better?")]
    title: String,
    /// The seed of everything random
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

/// Win rates, agreement, and the pairs that raters disagree on
#[derive(Args)]
pub struct ReportArguments {
    /// The study's folder
    #[arg(value_name = "DIR")]
    study: PathBuf,
    /// The seed of the intervals
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

/// Runs the command.
pub fn run(command: &StudyCommand, setup: &Setup) -> Result<u8, Failure> {
    match command {
        StudyCommand::New(arguments) => new(arguments, setup),
        StudyCommand::Report(arguments) => report(arguments, setup),
    }
}

fn new(arguments: &NewArguments, setup: &Setup) -> Result<u8, Failure> {
    let usual = ScorerArguments { scorer: Some("average-similarity".into()), domain: None };
    let opened = setup.open(&usual)?;
    let methods = arguments.methods(&opened, setup)?;
    let out = &arguments.out;
    std::fs::create_dir_all(out).map_err(FileError::at(out))?;
    let mut samples = Vec::new();
    for file in &arguments.procedures {
        samples.push(sample(file, &methods, arguments, setup)?);
    }
    let names: Vec<String> = methods.iter().map(|method| method.name.clone()).collect();
    let plan = Plan::new(&arguments.title, arguments.seed, &names, samples);
    plan.write(out)?;
    setup.progress.finish();
    println!(
        "{} of {} and {}\nshow it with `stitch serve --study {}`",
        count(plan.pairs.len(), "pair"),
        count(plan.samples.len(), "procedure"),
        count(plan.methods.len(), "method"),
        out.display()
    );
    Ok(0)
}

/// A way to a demonstration.
struct Method<'a> {
    name: String,
    way: Way<'a>,
}

enum Way<'a> {
    /// Found here.
    Found(&'a Opened, Box<dyn Scorer>, Box<Options>),
    /// Found elsewhere, and kept in this folder.
    Kept(PathBuf),
}

impl NewArguments {
    fn methods<'a>(&self, opened: &'a Opened, setup: &Setup) -> Result<Vec<Method<'a>>, Failure> {
        let method = |name: &String| self.method(name, opened, setup);
        let methods: Vec<Method> = self.method.iter().map(method).collect::<Result<_, _>>()?;
        let mut names: Vec<&str> = methods.iter().map(|method| method.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        match names.len() == methods.len() && names.len() > 1 {
            true => Ok(methods),
            false => Err(Failure::new("a study compares two or more methods of different names")),
        }
    }

    fn method<'a>(
        &self,
        text: &str,
        opened: &'a Opened,
        setup: &Setup,
    ) -> Result<Method<'a>, Failure> {
        let mut options = Options { seed: self.seed, ..Options::default() };
        if let Some((name, folder)) = text.split_once('=') {
            let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
            return match plain && !name.is_empty() {
                true => Ok(Method { name: name.into(), way: Way::Kept(folder.into()) }),
                false => Err(Failure::new(format!("`{name}` is no name; use letters and digits"))),
            };
        }
        let names = SCORERS.map(|scorer| scorer.name);
        let scorer = match text {
            "most-similar" => {
                (options.k_best.switch_cost, options.k_best.order_cost) = (0.0, 0.0);
                AverageSimilarity::ENTRY.name
            }
            _ if names.contains(&text) => text,
            _ => {
                return Err(Failure::new(format!(
                    "there is no method `{text}`; there are {}, most-similar, and NAME=DIR",
                    names.join(", ")
                )));
            }
        };
        let wanted = ScorerArguments { scorer: Some(scorer.into()), domain: None };
        let scorer = setup.scorer(&wanted, opened.encoder.as_ref(), &opened.sentences)?;
        Ok(Method { name: text.into(), way: Way::Found(opened, scorer, Box::new(options)) })
    }
}

fn sample(
    file: &Path,
    methods: &[Method<'_>],
    arguments: &NewArguments,
    setup: &Setup,
) -> Result<Sample, Failure> {
    let bytes = std::fs::read(file).map_err(FileError::at(file))?;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let procedure = recipe::read_procedure(&name, &bytes)?.procedure;
    let stem = plain(&file.file_stem().unwrap_or_default().to_string_lossy());
    let mut videos = BTreeMap::new();
    for method in methods {
        setup.progress.begin(&format!("{stem} by {}", method.name), 0);
        let demonstration = method.demonstrate(&procedure, file)?;
        let video = format!("{stem}.{}.mp4", method.name);
        videos.insert(method.name.clone(), make(&demonstration, video, arguments, setup)?);
    }
    let steps = procedure.steps().to_vec();
    let title = if procedure.title().is_empty() { &stem } else { procedure.title() };
    Ok(Sample { title: title.into(), name: stem, steps, videos })
}

/// A name that is a file name everywhere.
fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_alphanumeric() || c == '-' { c } else { '-' }).collect()
}

impl Method<'_> {
    fn demonstrate(&self, procedure: &Procedure, file: &Path) -> Result<Demonstration, Failure> {
        match &self.way {
            Way::Found(opened, scorer, options) => {
                let with = Demonstrator { scorer: scorer.as_ref(), ..opened.demonstrator() };
                Ok(demonstrate(&with, procedure, options)?)
            }
            Way::Kept(folder) => {
                let name = Path::new(file.file_name().unwrap_or_default()).with_extension("json");
                let kept = folder.join(name);
                let bytes = std::fs::read(&kept).map_err(FileError::at(&kept))?;
                Ok(json::read(&bytes)?)
            }
        }
    }
}

/// Renders a demonstration into the study, at one size for all.
fn make(
    demonstration: &Demonstration,
    file: String,
    arguments: &NewArguments,
    setup: &Setup,
) -> Result<Rendered, Failure> {
    let options = RenderOptions { size: Some((640, 360)), ..RenderOptions::default() };
    let (out, cache) = (arguments.out.join(&file), setup.cache.join("cuts"));
    let plan = render::render(demonstration, &options, &out, &cache, &setup.progress)?.plan;
    let steps = (0..demonstration.steps.len()).map(|step| plan.step_ms(step)).collect();
    Ok(Rendered { file, steps })
}

fn report(arguments: &ReportArguments, setup: &Setup) -> Result<u8, Failure> {
    let answers = Study::open(&arguments.study)?.answers()?;
    let judgements: Vec<Judgement> = answers
        .into_iter()
        .map(|answer| Judgement {
            preference: match answer.preferred {
                None => Preference::Tie,
                Some(method) if method == answer.a => Preference::A,
                Some(_) => Preference::B,
            },
            rater: answer.rater,
            sample: answer.sample,
            a: answer.a,
            b: answer.b,
            question: answer.question,
        })
        .collect();
    if judgements.is_empty() {
        return Err(Failure::new("nobody has answered yet; show it with `stitch serve --study`"));
    }
    setup.say(&StudyReport::new(&judgements, arguments.seed));
    Ok(0)
}
