//! `stitch library`: what is in the library, and what is wrong with it.

use clap::Subcommand;
use serde_json::json;
use stitch_core::clip::VideoId;
use stitch_core::format::clock;
use stitch_core::pool::Agreement;
use stitch_engine::library::{Library, VideoRecord, VideoStatus};

use crate::failure::Failure;
use crate::setup::Setup;
use crate::table::{self, clipped};

#[derive(Subcommand)]
pub enum LibraryCommand {
    /// List the videos, with what failed and why
    List,
    /// Show a video's steps and what is said in them
    Show {
        /// The video's number, path or file name
        video: String,
    },
    /// Forget videos; their files stay
    Remove {
        /// The videos' numbers, paths or file names
        #[arg(required = true)]
        videos: Vec<String>,
    },
    /// Check that every file the library needs is there and whole
    Verify {
        /// Put damaged videos back to be indexed again
        #[arg(long)]
        repair: bool,
    },
    /// Print the library in numbers
    Stats,
}

/// Runs the command.
pub fn run(command: &LibraryCommand, setup: &Setup) -> Result<u8, Failure> {
    let library = Library::open(&setup.library)?;
    match command {
        LibraryCommand::List => list(&library, setup),
        LibraryCommand::Show { video } => show(&library, video, setup),
        LibraryCommand::Remove { videos } => remove(&library, videos, setup),
        LibraryCommand::Verify { repair } => verify(&library, *repair, setup),
        LibraryCommand::Stats => stats(&library, setup),
    }
}

fn list(library: &Library, setup: &Setup) -> Result<u8, Failure> {
    let videos = library.videos()?;
    if setup.json {
        videos.iter().for_each(|video| println!("{}", json!(video)));
        return Ok(0);
    }
    let row = |video: &VideoRecord| {
        let (status, note) = match &video.status {
            VideoStatus::Ready => ("ready", video.video.title.clone()),
            VideoStatus::Pending => ("pending", "`stitch index` goes on with it".to_owned()),
            VideoStatus::Failed(reason) => ("failed", reason.clone()),
            VideoStatus::Duplicate(twin) => ("same", format!("as {twin}")),
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
    let header = ["id", "status", "clips", "length", "file", "title or reason"];
    table::print(&header, &[true, false, true, true, false, false], &rows);
    Ok(0)
}

fn show(library: &Library, wanted: &str, setup: &Setup) -> Result<u8, Failure> {
    let video = library.find(wanted)?;
    let pool = library.pool()?;
    let clips: Vec<_> =
        pool.clips().iter().filter(|clip| clip.video == VideoId(video.id)).collect();
    let sentences = library.sentences(VideoId(video.id))?;
    if setup.json {
        let step = |clip: &&stitch_core::clip::Clip| json!({"text": clip.text, "start_ms": clip.span.start(), "end_ms": clip.span.end()});
        let steps: Vec<_> = clips.iter().map(step).collect();
        println!("{}", json!({"video": video, "steps": steps, "sentences": sentences}));
        return Ok(0);
    }
    println!("{} ({})", video.video.title, video.path.display());
    if let VideoStatus::Failed(reason) = &video.status {
        println!("failed: {reason}");
    }
    let by = |what: &Option<String>| what.clone().unwrap_or_else(|| "nothing".into());
    println!("narration from {}, steps by {}", by(&video.narration_by), by(&video.steps_by));
    let rows: Vec<_> =
        clips.iter().map(|clip| vec![clip.span.to_string(), clip.text.clone()]).collect();
    table::print(&["when", "step"], &[true, false], &rows);
    Ok(0)
}

fn remove(library: &Library, wanted: &[String], setup: &Setup) -> Result<u8, Failure> {
    // All are found before any is removed: a mistyped name changes nothing.
    let videos = wanted.iter().map(|name| library.find(name)).collect::<Result<Vec<_>, _>>()?;
    for video in &videos {
        library.remove(video)?;
        if !setup.json {
            println!("forgot {} (its file stays)", video.path.display());
        }
    }
    Ok(0)
}

fn verify(library: &Library, repair: bool, setup: &Setup) -> Result<u8, Failure> {
    let mut wrong = 0;
    for video in library.videos()?.iter().filter(|video| video.status == VideoStatus::Ready) {
        let Some(reason) = library.damage(video) else { continue };
        wrong += 1;
        if setup.json {
            println!("{}", json!({"video": video.id, "path": video.path, "damage": reason}));
        } else {
            println!("{}: {reason}", video.path.display());
        }
        if repair {
            library.reset(VideoId(video.id))?;
        }
    }
    match (wrong, repair) {
        (0, _) => {
            if !setup.json {
                println!("everything is there and whole");
            }
            Ok(0)
        }
        (_, true) => {
            println!("put back {wrong} videos; `stitch index` on them makes them anew");
            Ok(0)
        }
        (_, false) => Err(Failure::new(format!(
            "{wrong} videos are damaged; `stitch library verify --repair` puts them back to be \
             indexed again"
        ))),
    }
}

fn stats(library: &Library, setup: &Setup) -> Result<u8, Failure> {
    let stats = library.stats()?;
    let agreement =
        if stats.clips > 0 { library.pool()?.agreement() } else { Agreement::default() };
    if setup.json {
        let agreement = json!({"suits": agreement.suits, "of": agreement.of});
        let encoder = library.encoder();
        println!("{}", json!({"stats": stats, "encoder": encoder, "agreement": agreement}));
        return Ok(0);
    }
    let encoder = library.encoder();
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
        println!(
            "agreement  {share:.0} % (how often a clip's words suit its own pictures better than another's)"
        );
    }
    Ok(0)
}
