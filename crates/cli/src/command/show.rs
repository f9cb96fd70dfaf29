//! `stitch dataset show`: statistics and samples of a file of procedures, or the video of one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use stitch_core::format::count;
use stitch_core::procedure::Procedure;
use stitch_engine::demonstrate::{Fixed, Options, Place, Wish, Wishes, demonstrate};
use stitch_engine::library::Library;
use stitch_engine::render::{self, RenderOptions};
use stitch_lab::dataset::examples::Clips;
use stitch_lab::dataset::{self, Example};

use crate::failure::Failure;
use crate::setup::{ScorerArguments, Setup};
use crate::table::{self, clipped};

#[derive(Args)]
pub struct ShowArguments {
    /// A file that `stitch dataset mix` wrote
    file: PathBuf,
    /// How many procedures to print
    #[arg(long, short, default_value_t = 3)]
    number: usize,
    /// Render this procedure, counted from 1, from the library's clips
    #[arg(long, value_name = "N")]
    render: Option<usize>,
    /// The video that --render writes
    #[arg(long, short, default_value = "procedure.mp4", value_name = "FILE")]
    output: PathBuf,
}

pub fn run(arguments: &ShowArguments, setup: &Setup) -> Result<u8, Failure> {
    let examples = dataset::read(&arguments.file)?;
    if let Some(number) = arguments.render {
        let example = number.checked_sub(1).and_then(|at| examples.get(at));
        let example = example.ok_or_else(|| {
            let there = count(examples.len(), "procedure");
            let file = arguments.file.display();
            Failure::usage(format!("{file} has {there}: give --render a number up to that"))
        })?;
        return render(example, &arguments.output, setup);
    }
    let json = json!({"procedures": examples.len(), "statistics": statistics(&examples)});
    setup.print(json, || print(&examples, arguments.number));
    Ok(0)
}

fn print(examples: &[Example], number: usize) {
    let row = |((split, builder), s): ((String, String), Statistics)| {
        let mean = |n: usize| format!("{:.1}", n as f64 / s.procedures as f64);
        vec![builder, split, s.procedures.to_string(), mean(s.steps), mean(s.changes)]
    };
    let rows: Vec<_> = statistics(examples).into_iter().map(row).collect();
    table::print(&["builder", "split", ">procedures", ">steps", ">source changes"], &rows);
    let spread = (examples.len() / number.max(1)).max(1);
    for (index, example) in examples.iter().enumerate().step_by(spread).take(number) {
        println!("\n{}: {} ({})", index + 1, example.title, example.builder);
        for (number, step) in example.steps.iter().enumerate() {
            let source = clipped(&example.sources[step.source].title, 36);
            println!("  {:2}. {}  [{source}]", number + 1, clipped(&step.text, 56));
        }
    }
}

#[derive(Default, serde::Serialize)]
struct Statistics {
    procedures: usize,
    steps: usize,
    changes: usize,
}

/// By split and builder.
fn statistics(examples: &[Example]) -> Vec<((String, String), Statistics)> {
    let mut all: BTreeMap<(String, String), Statistics> = BTreeMap::new();
    for example in examples {
        let key = (example.split.name().to_owned(), example.builder.clone());
        let statistics = all.entry(key).or_default();
        statistics.procedures += 1;
        statistics.steps += example.steps.len();
        statistics.changes +=
            example.steps.windows(2).filter(|pair| pair[0].source != pair[1].source).count();
    }
    all.into_iter().collect()
}

/// Renders the procedure as `stitch make` does, with every step's clip fixed.
fn render(example: &Example, output: &Path, setup: &Setup) -> Result<u8, Failure> {
    let session = setup.open(&ScorerArguments::default())?;
    let wishes = fixed_clips(example, &session.library)?;
    let texts = example.steps.iter().map(|step| &step.text);
    let procedure = Procedure::new(&example.title, texts)?;
    let options = Options { wishes, ..Options::default() };
    let demonstration = demonstrate(&session.demonstrator(), &procedure, &options)?;
    let (cache, options) = (setup.cuts_folder(), RenderOptions::default());
    render::render(&demonstration, &options, output, &cache, &setup.progress)?;
    let json = json!({"video": output, "demonstration": demonstration});
    setup.print(json, || println!("{}", output.display()));
    Ok(0)
}

fn fixed_clips(example: &Example, library: &Library) -> Result<Wishes, Failure> {
    let pool = library.pool()?;
    let clips = Clips::of(&pool, &library.videos()?).find(example).ok_or_else(|| {
        Failure::new(
            "the library no longer has this procedure's clips; give the library that it was mixed from \
             with --library, or mix again with `stitch dataset mix`",
        )
    })?;
    let fixed = |clip| Fixed::Clip(Place::from(pool.clip(clip)));
    let wish = |clip| Wish { fixed: Some(fixed(clip)), ..Wish::default() };
    Ok(clips.into_iter().map(wish).enumerate().collect())
}
