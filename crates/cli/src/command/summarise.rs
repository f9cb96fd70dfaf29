//! `stitch dataset summarise`: steps out of the captions of videos whose files are not there.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use stitch_core::format::count;
use stitch_engine::files::write_whole_with;
use stitch_lab::dataset::captions::VideoTasks;
use stitch_lab::dataset::summarise::Summariser;

use crate::failure::Failure;
use crate::options::{DomainArguments, LanguageModelArguments, ParallelArguments, domain_name};
use crate::setup::Setup;

/// Summarise captions or transcripts into steps, without video files
///
/// Writes a list that `stitch index --annotations` and `stitch eval --data` read. The language model at --llm-url
/// finds the steps, or rules if there is none. The same command continues an interrupted run.
#[derive(Args)]
pub struct SummariseArguments {
    /// HowTo100M's caption.json or raw_caption.json; a .csv file with the columns video_id, start, end and text;
    /// or a folder with a subtitle, transcript or .csv file per video
    #[arg(required = true, value_name = "CAPTIONS")]
    paths: Vec<PathBuf>,
    /// The file to write, one video per line
    #[arg(long, short, default_value = "videos.jsonl", value_name = "FILE")]
    output: PathBuf,
    /// Only the videos of this list, HowTo100M_v1.csv (columns video_id, task_id, category_1)
    #[arg(long, value_name = "FILE")]
    videos: Option<PathBuf>,
    /// Only the videos of this category_1, such as "Food and Entertaining"
    #[arg(long, value_name = "NAME", requires = "videos")]
    category: Option<String>,
    /// The names of tasks, task_ids.csv; they become the titles of the videos
    #[arg(long, value_name = "FILE", requires = "videos")]
    tasks: Option<PathBuf>,
    #[command(flatten)]
    chat: LanguageModelArguments,
    #[command(flatten)]
    parallel: ParallelArguments,
    #[command(flatten)]
    domain: DomainArguments,
}

pub fn run(arguments: &SummariseArguments, setup: &Setup) -> Result<u8, Failure> {
    let (names, category) = (arguments.tasks.as_deref(), arguments.category.as_deref());
    let tasks = arguments.videos.as_ref().map(|list| VideoTasks::read(list, names, category));
    let tasks = tasks.transpose()?;
    let (chat, domain) = (arguments.chat.chat(setup), arguments.domain.domain);
    let summariser = Summariser {
        language_model: chat.as_ref().map(|chat| (chat, domain)),
        parallel: usize::from(arguments.parallel.parallel),
        tasks: tasks.as_ref(),
        domain: domain_name(domain),
    };
    let (lines, report) = summariser.run(&arguments.paths, &setup.progress)?;
    write_whole_with(&arguments.output, |file| {
        let mut file = std::io::BufWriter::new(file);
        lines.iter().try_for_each(|line| writeln!(file, "{line}"))?;
        file.flush()
    })?;
    let json = json!({"report": report, "file": arguments.output});
    setup.print(json, || {
        println!("{}, {}", count(report.videos, "video"), count(report.steps, "step"));
        if report.without_steps > 0 {
            println!("  {} without a step", count(report.without_steps, "video"));
        }
        if let Some(reason) = &report.reason {
            println!("  {} without an answer, such as {reason}", count(report.failed, "video"));
        }
        println!("{}", arguments.output.display());
    });
    Ok(0)
}
