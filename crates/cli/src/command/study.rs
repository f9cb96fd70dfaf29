//! `stitch study`: creates and evaluates a preference study; `stitch serve --study` runs it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use stitch_core::format::count;
use stitch_core::procedure::Procedure;
use stitch_engine::demonstrate::{Demonstration, Demonstrator, Options, demonstrate};
use stitch_engine::export::json;
use stitch_engine::files::FileError;
use stitch_engine::progress::Progress;
use stitch_engine::render::{self, RenderOptions};
use stitch_engine::scorer::AverageSimilarity;
use stitch_engine::scorers;
use stitch_lab::study::{Judgement, Preference, StudyReport};
use stitch_server::study::{Answer, Sample, Study, StudyPlan, StudyVideo};

use crate::failure::Failure;
use crate::options::LanguageModelArguments;
use crate::setup::{ScorerArguments, Session, Setup, read_procedure};

#[derive(Subcommand)]
pub enum StudyCommand {
    New(NewArguments),
    Report(ReportArguments),
}

/// Create a study: render every procedure by every method, and pair the videos
#[derive(Args)]
pub struct NewArguments {
    /// The procedures: text, Markdown, JSON or recipe pages
    #[arg(required = true, value_name = "FILES")]
    procedures: Vec<PathBuf>,
    /// A method; give two or more: evaluator, similarity, most-similar (source changes cost
    /// nothing), or NAME=DIR for a folder with NAME-OF-PROCEDURE.json of another program
    #[arg(long, required = true, value_name = "METHOD")]
    method: Vec<String>,
    /// The folder to create
    #[arg(long, short, value_name = "DIR")]
    out: PathBuf,
    /// Replace the study in the folder; the old one is kept as study-N.json and answers-N.db
    #[arg(long)]
    force: bool,
    /// The title that raters see
    #[arg(long, default_value = "Which video shows it better?")]
    title: String,
    /// The random seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    chat: LanguageModelArguments,
}

/// Print win rates, agreement, and the pairs that raters disagree on
#[derive(Args)]
pub struct ReportArguments {
    /// The folder of the study
    #[arg(value_name = "DIR")]
    study: PathBuf,
    /// The seed of the bootstrap samples
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

pub fn run(command: &StudyCommand, setup: &Setup) -> Result<u8, Failure> {
    match command {
        StudyCommand::New(arguments) => new(arguments, setup),
        StudyCommand::Report(arguments) => report(arguments, setup),
    }
}

fn new(arguments: &NewArguments, setup: &Setup) -> Result<u8, Failure> {
    let session = Session {
        chat: arguments.chat.chat(setup),
        ..setup.open(&by_name(AverageSimilarity::ENTRY.name))?
    };
    let methods = arguments.methods(&session, setup)?;
    let out = &arguments.out;
    let read = |file: &PathBuf| Ok(read_procedure(file, Some(&session.sentences))?.procedure);
    let procedures: Result<Vec<Procedure>, Failure> =
        arguments.procedures.iter().map(read).collect();
    let procedures = procedures?;
    StudyPlan::create_folder(out, arguments.force)?;
    let mut samples = Vec::new();
    for (file, procedure) in arguments.procedures.iter().zip(procedures) {
        samples.push(sample(file, &procedure, &methods, arguments, setup)?);
    }
    let names: Vec<String> = methods.iter().map(|method| method.name.clone()).collect();
    let plan = StudyPlan::new(&arguments.title, arguments.seed, &names, samples);
    plan.write(out)?;
    setup.progress.finish();
    println!(
        "{} of {} and {}\nrun it with `stitch serve --study {}`",
        count(plan.pairs.len(), "pair"),
        count(plan.samples.len(), "procedure"),
        count(plan.methods.len(), "method"),
        out.display()
    );
    Ok(0)
}

fn by_name(scorer: &str) -> ScorerArguments {
    ScorerArguments { scorer: Some(scorer.into()) }
}

/// Makes a demonstration of the procedure in a file.
type Demonstrate<'a> = Box<dyn Fn(&Procedure, &Path) -> Result<Demonstration, Failure> + 'a>;

struct Method<'a> {
    name: String,
    demonstrate: Demonstrate<'a>,
}

impl NewArguments {
    fn methods<'a>(&self, session: &'a Session, setup: &Setup) -> Result<Vec<Method<'a>>, Failure> {
        let method = |name: &String| self.method(name, session, setup);
        let methods: Vec<Method> = self.method.iter().map(method).collect::<Result<_, _>>()?;
        let mut names: Vec<&str> = methods.iter().map(|method| method.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        match names.len() == methods.len() && names.len() > 1 {
            true => Ok(methods),
            false => Err(Failure::new("give two or more methods with different names")),
        }
    }

    fn method<'a>(
        &self,
        text: &str,
        session: &'a Session,
        setup: &Setup,
    ) -> Result<Method<'a>, Failure> {
        if let Some((name, folder)) = text.split_once('=') {
            return results_of(name, folder.into());
        }
        let mut options = Options { seed: self.seed, ..Options::default() };
        let names = scorers::names();
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
        let encoder = session.encoder.as_ref();
        let scorer = setup.load_scorer(&by_name(scorer), encoder)?;
        let search = move |procedure: &Procedure, _: &Path| {
            let with = Demonstrator { scorer: scorer.as_ref(), ..session.demonstrator() };
            Ok(demonstrate(&with, procedure, &options)?)
        };
        Ok(Method { name: text.into(), demonstrate: Box::new(search) })
    }
}

/// A method of another program, whose results are in a folder.
fn results_of(name: &str, folder: PathBuf) -> Result<Method<'static>, Failure> {
    let valid = name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    if !valid || name.is_empty() {
        let message = format!("`{name}` is not a valid name; use letters, digits, `-` and `_`");
        return Err(Failure::new(message));
    }
    let read = move |_: &Procedure, file: &Path| {
        let name = Path::new(file.file_name().unwrap_or_default()).with_extension("json");
        let path = folder.join(name);
        let bytes = std::fs::read(&path).map_err(FileError::at(&path))?;
        Ok(json::read(&bytes)?)
    };
    Ok(Method { name: name.into(), demonstrate: Box::new(read) })
}

fn sample(
    file: &Path,
    procedure: &Procedure,
    methods: &[Method<'_>],
    arguments: &NewArguments,
    setup: &Setup,
) -> Result<Sample, Failure> {
    let stem = file_name(&file.file_stem().unwrap_or_default().to_string_lossy());
    let (mut videos, mut language_note) = (BTreeMap::new(), None);
    for method in methods {
        setup.progress.begin(&format!("{stem} by {}", method.name), 0);
        let demonstration = (method.demonstrate)(procedure, file)?;
        language_note = language_note.or_else(|| demonstration.language_note.clone());
        let video = format!("{stem}.{}.mp4", method.name);
        videos.insert(method.name.clone(), render(&demonstration, video, arguments, setup)?);
    }
    if let Some(note) = language_note {
        setup.progress.warn(&format!("{stem}: {note}"));
    }
    let steps = procedure.steps().to_vec();
    let title = if procedure.title().is_empty() { &stem } else { procedure.title() };
    Ok(Sample { title: title.into(), name: stem, steps, videos })
}

/// A name that is valid as a file name on every system.
fn file_name(name: &str) -> String {
    name.chars().map(|c| if c.is_alphanumeric() || c == '-' { c } else { '-' }).collect()
}

/// Renders a demonstration into the study; all videos have the same size.
fn render(
    demonstration: &Demonstration,
    file: String,
    arguments: &NewArguments,
    setup: &Setup,
) -> Result<StudyVideo, Failure> {
    let options = RenderOptions { size: Some((640, 360)), ..RenderOptions::default() };
    let (out, cache) = (arguments.out.join(&file), setup.cuts_folder());
    let plan = render::render(demonstration, &options, &out, &cache, &setup.progress)?.plan;
    let steps = (0..demonstration.steps.len()).map(|step| plan.step_ms(step)).collect();
    Ok(StudyVideo { file, steps })
}

fn report(arguments: &ReportArguments, setup: &Setup) -> Result<u8, Failure> {
    let answers = Study::open(&arguments.study)?.answers()?;
    let judgement = |answer: Answer| Judgement {
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
    };
    let judgements: Vec<Judgement> = answers.into_iter().map(judgement).collect();
    if judgements.is_empty() {
        return Err(Failure::new(
            "there are no answers yet; run the study with `stitch serve --study`",
        ));
    }
    let report = StudyReport::new(&judgements, arguments.seed);
    setup.print(&report, || println!("{report}"));
    Ok(0)
}
