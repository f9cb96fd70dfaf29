//! `stitch library`: lists, shows, removes, verifies, backs up, optimises and merges the videos of the library.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use serde_json::json;
use stitch_core::clip::{Clip, VideoId};
use stitch_core::format::{clock, count};
use stitch_core::pool::Agreement;
use stitch_engine::library::{Library, VideoRecord, VideoStatus};
use stitch_engine::shards::{self, Shards};

use crate::failure::Failure;
use crate::setup::Setup;
use crate::table::{self, clipped};

#[derive(Subcommand)]
pub enum LibraryCommand {
    /// List the videos, and why some failed
    List,
    /// Show the steps of a video
    Show {
        /// The id, path or file name of the video
        video: String,
    },
    /// Remove videos from the library; their files stay
    Remove {
        /// The ids, paths or file names of the videos
        #[arg(required = true)]
        videos: Vec<String>,
    },
    /// Check that all files of the library exist and are intact
    Verify {
        /// The folder or bucket of shards to check instead of the library
        #[arg(value_name = "URL", conflicts_with = "repair")]
        url: Option<String>,
        /// Repair what can be made again; damaged videos are marked to be indexed again
        #[arg(long)]
        repair: bool,
    },
    /// Copy the library to a new folder, also while it is being written to
    Backup {
        /// The new folder; `--library FOLDER` opens it
        #[arg(value_name = "FOLDER")]
        to: PathBuf,
    },
    /// Add the videos of shards that `stitch index --out URL` wrote; the library is made where there is none
    Merge {
        /// Folders or buckets of shards
        #[arg(required = true, value_name = "URL")]
        urls: Vec<String>,
    },
    /// Merge the segments of the pool and leave out what removed videos have left in them
    Optimise,
    /// Print statistics of the library
    Stats,
}

pub fn run(command: &LibraryCommand, setup: &Setup) -> Result<u8, Failure> {
    let library = || Library::open(&setup.library);
    match command {
        LibraryCommand::List => list(&library()?, setup),
        LibraryCommand::Show { video } => show(&library()?, video, setup),
        LibraryCommand::Remove { videos } => remove(&library()?, videos, setup),
        LibraryCommand::Verify { url: Some(url), .. } => verify_shards(url, setup),
        LibraryCommand::Verify { repair, .. } => verify(&library()?, *repair, setup),
        LibraryCommand::Backup { to } => backup(&library()?, to, setup),
        LibraryCommand::Merge { urls } => merge(urls, setup),
        LibraryCommand::Optimise => optimise(&library()?, setup),
        LibraryCommand::Stats => stats(&library()?, setup),
    }
}

fn list(library: &Library, setup: &Setup) -> Result<u8, Failure> {
    let videos = library.videos()?;
    let row = |video: &VideoRecord| {
        let (status, note) = match &video.status {
            VideoStatus::Ready => ("ready", video.video.title.clone()),
            VideoStatus::Pending => ("pending", "`stitch index` continues with it".to_owned()),
            VideoStatus::Failed(reason) => ("failed", reason.clone()),
            VideoStatus::Duplicate(of) => ("duplicate", format!("of {of}")),
        };
        let name = video.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        vec![
            video.id.to_string(),
            status.to_owned(),
            video.clips.to_string(),
            clock(video.video.length_ms, 1),
            clipped(&name, 40),
            clipped(&note, 60),
        ]
    };
    let rows: Vec<_> = videos.iter().map(row).collect();
    let header = [">id", "status", ">clips", ">length", "file", "title or reason"];
    setup.print_all(&videos, || table::print(&header, &rows));
    Ok(0)
}

fn show(library: &Library, wanted: &str, setup: &Setup) -> Result<u8, Failure> {
    let video = library.find(wanted)?;
    let pool = library.pool()?;
    let clips = &pool.clips()[pool.of_video(VideoId(video.id))];
    let sentences = library.sentences(VideoId(video.id))?;
    let step = |clip: &Clip| json!({"text": clip.text, "start_ms": clip.span.start(), "end_ms": clip.span.end()});
    let steps: Vec<_> = clips.iter().map(step).collect();
    setup.print(json!({"video": video, "steps": steps, "sentences": sentences}), || {
        println!("{} ({})", video.video.title, video.path.display());
        if let VideoStatus::Failed(reason) = &video.status {
            println!("failed: {reason}");
        }
        let origin = |by: &Option<String>| by.clone().unwrap_or_else(|| "nothing".into());
        let (narration, steps) = (origin(&video.narration_by), origin(&video.steps_by));
        println!("narration from {narration}, steps from {steps}");
        let rows: Vec<_> =
            clips.iter().map(|clip| vec![clip.span.to_string(), clip.text.clone()]).collect();
        table::print(&[">time", "step"], &rows);
    });
    Ok(0)
}

fn remove(library: &Library, wanted: &[String], setup: &Setup) -> Result<u8, Failure> {
    // Find all before removing any, so that a mistyped name changes nothing.
    let videos = wanted.iter().map(|name| library.find(name)).collect::<Result<Vec<_>, _>>()?;
    for video in &videos {
        library.remove(video)?;
        let removed = || println!("removed {} (its file stays)", video.path.display());
        setup.print_all::<()>(&[], removed);
    }
    Ok(0)
}

fn verify(library: &Library, repair: bool, setup: &Setup) -> Result<u8, Failure> {
    let found = if repair { library.verify_and_repair()? } else { library.verify()? };
    for damage in &found {
        let what = match &damage.repaired {
            Some(how) => format!(" ({how})"),
            None if repair => " (cannot be repaired)".into(),
            None => String::new(),
        };
        setup.print(damage, || println!("{}: {}{what}", damage.path.display(), damage.reason));
    }
    if found.is_empty() {
        setup.print_all::<()>(&[], || println!("all files exist and are intact"));
    }
    let left = found.iter().filter(|damage| damage.is_left()).count();
    match (left, repair) {
        (0, _) => Ok(0),
        (_, false) => Err(Failure::new(format!(
            "{} found; `stitch library verify --repair` repairs what can be made again",
            count(left, "problem")
        ))),
        (_, true) => {
            Err(Failure::new(format!("{left} could not be repaired; each line says what to do")))
        }
    }
}

fn verify_shards(url: &str, setup: &Setup) -> Result<u8, Failure> {
    let found = Shards::open(url)?.verify(&setup.progress)?;
    setup.print(&found, || {
        found.damaged.iter().for_each(|damage| println!("{damage}"));
        let (whole, unfinished) = (count(found.shards, "shard"), found.unfinished);
        println!("{whole} whole, {unfinished} unfinished, {} damaged", found.damaged.len());
    });
    Ok(if found.damaged.is_empty() { 0 } else { 1 })
}

fn merge(urls: &[String], setup: &Setup) -> Result<u8, Failure> {
    let all = urls.iter().map(|url| Shards::open(url)).collect::<Result<Vec<_>, _>>()?;
    let merged = shards::merge(&all, &setup.library, &setup.progress)?;
    setup.print(&merged, || {
        println!("{}: {} added", count(merged.shards, "shard"), count(merged.added, "video"));
        println!("library: {}", setup.library.display());
    });
    Ok(0)
}

fn backup(library: &Library, to: &Path, setup: &Setup) -> Result<u8, Failure> {
    library.backup(to)?;
    setup.print(json!({"backup": to}), || println!("copied to {}", to.display()));
    Ok(0)
}

fn optimise(library: &Library, setup: &Setup) -> Result<u8, Failure> {
    let segments = library.optimise()?;
    setup.print(json!({"segments": segments}), || {
        println!("the pool has {}", count(segments, "segment"))
    });
    Ok(0)
}

fn stats(library: &Library, setup: &Setup) -> Result<u8, Failure> {
    let stats = library.stats()?;
    let agreement =
        if stats.clips > 0 { library.pool()?.agreement() } else { Agreement::default() };
    let encoder = library.encoder();
    let counts = json!({"suits": agreement.suits, "of": agreement.of});
    setup.print(json!({"stats": stats, "encoder": encoder, "agreement": counts}), || {
        println!("{}", library.folder().display());
        println!("encoder    {} ({} dimensions)", encoder.name, encoder.dim);
        println!(
            "videos     {} ({} ready, {} failed, {} duplicates, {} pending)",
            stats.videos, stats.ready, stats.failed, stats.duplicates, stats.pending
        );
        println!("length     {:.1} hours", stats.seconds as f64 / 3600.0);
        println!("sentences  {}", stats.sentences);
        println!("clips      {}", stats.clips);
        if agreement.of > 0 {
            let share = 100.0 * agreement.suits as f64 / agreement.of as f64;
            print!("agreement  {share:.0} % ");
            println!("(how often a clip's text matches its own frames better than another clip's)");
        }
    });
    Ok(0)
}
