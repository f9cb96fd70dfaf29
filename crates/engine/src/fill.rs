//! Gaps filled with a picture or clip of the user's own making, marked as generated wherever it is shown.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::demonstrate::{Choice, Confidence, Demonstration, Interval, Similarity, Source};
use crate::encoder::pictures::Picture;
use crate::files::{FileError, copy_whole, read_side_file, write_whole};
use crate::media::encode::{VideoFormat, VideoWriter};
use crate::media::frames::{Filter, thumbnail};
use crate::media::{self, MediaError, shell};
use crate::progress::{Progress, Stopped};

/// Where pictures and clips for gaps come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filler {
    /// A command of the user's, and how long it may take for one step.
    Command(String, Duration),
    /// A folder with a file for each step, named by its number from 1.
    Folder(PathBuf),
}

#[derive(Debug, thiserror::Error)]
enum FillError {
    #[error("there is no file that is named {step} and an extension in {}", folder.display())]
    NotInFolder { step: usize, folder: PathBuf },
    #[error("it wrote {files} files into its folder $STITCH_OUT; write one picture or video")]
    WrongOutput { files: usize },
    #[error(transparent)]
    Media(#[from] MediaError),
    #[error(transparent)]
    File(#[from] FileError),
}

/// How long a picture is shown, and the longest clip.
const PICTURE_MS: u64 = 4000;
const LONGEST_MS: u64 = 20_000;
/// Of the frames of neighbouring steps, and of pictures that are larger.
const MAX_WIDTH: u32 = 1280;

/// Fills the gaps for which something comes; the files are kept in `folder`. What fails leaves its gap, with a warning.
pub fn fill(
    demonstration: &mut Demonstration,
    filler: &Filler,
    folder: &Path,
    progress: &dyn Progress,
) -> Result<(), Stopped> {
    let gaps: Vec<usize> = demonstration.gaps().collect();
    progress.begin("filling gaps", gaps.len() as u64);
    for step in gaps {
        progress.check()?;
        match fill_step(demonstration, step, filler, folder, progress) {
            Ok(choice) => {
                let step = &mut demonstration.steps[step];
                step.confidence = Confidence::of(Some(&choice));
                step.chosen = Some(choice);
            }
            Err(FillError::Media(MediaError::Stopped(stopped))) => return Err(stopped),
            Err(error) => progress.warn(&format!("step {} stays a gap: {error}", step + 1)),
        }
        progress.advance(1);
    }
    Ok(())
}

fn fill_step(
    demonstration: &Demonstration,
    step: usize,
    filler: &Filler,
    folder: &Path,
    progress: &dyn Progress,
) -> Result<Choice, FillError> {
    let text = demonstration.steps[step].text.as_str();
    match filler {
        Filler::Folder(files) => {
            let file = in_folder(files, step + 1)?;
            let by = format!("the file {}", file.display());
            choice(&keep(&file, step, folder, progress)?, text, by, progress)
        }
        Filler::Command(command, limit) => {
            let work = tempfile::tempdir().map_err(FileError::at(std::env::temp_dir()))?;
            let file = run(command, *limit, demonstration, step, work.path(), progress)?;
            choice(&keep(&file, step, folder, progress)?, text, format!("`{command}`"), progress)
        }
    }
}

/// The file of a folder that is named by the step's number.
fn in_folder(folder: &Path, step: usize) -> Result<PathBuf, FillError> {
    let name = step.to_string();
    let mut files = files(folder)?;
    files.retain(|file| file.file_stem().is_some_and(|stem| stem == name.as_str()));
    let none = || FillError::NotInFolder { step, folder: folder.to_owned() };
    files.into_iter().next().ok_or_else(none)
}

/// The files of a folder, by name.
fn files(folder: &Path) -> Result<Vec<PathBuf>, FillError> {
    let read = || -> std::io::Result<Vec<PathBuf>> {
        let entries = std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
        let mut files = entries.collect::<std::io::Result<Vec<_>>>()?;
        files.retain(|file| file.is_file());
        files.sort();
        Ok(files)
    };
    Ok(read().map_err(FileError::at(folder))?)
}

/// Runs the command for a step; the file that it wrote.
fn run(
    command: &str,
    limit: Duration,
    demonstration: &Demonstration,
    step: usize,
    work: &Path,
    progress: &dyn Progress,
) -> Result<PathBuf, FillError> {
    let out = work.join("out");
    std::fs::create_dir(&out).map_err(FileError::at(&out))?;
    let before = demonstration.steps[..step].iter().rev().find_map(|step| {
        step.clips().last().map(|clip| (*clip, clip.cut.end_ms.saturating_sub(100)))
    });
    let after = demonstration.steps[step + 1..]
        .iter()
        .find_map(|step| step.clips().first().map(|clip| (*clip, clip.cut.start_ms)));
    let mut frames = [PathBuf::new(), PathBuf::new()];
    for ((frame, name), moment) in frames.iter_mut().zip(["before", "after"]).zip([before, after]) {
        if let Some((clip, at_ms)) = moment {
            *frame = work.join(format!("{name}.jpg"));
            write_whole(frame, &thumbnail(&clip.source.path, at_ms, MAX_WIDTH, progress)?)?;
        }
    }
    let text = demonstration.steps[step].text.as_str();
    let number = (step + 1).to_string();
    let variables = [
        ("STITCH_STEP", OsStr::new(&number)),
        ("STITCH_TEXT", OsStr::new(text)),
        ("STITCH_TITLE", OsStr::new(&demonstration.title)),
        ("STITCH_BEFORE", frames[0].as_os_str()),
        ("STITCH_AFTER", frames[1].as_os_str()),
        ("STITCH_OUT", out.as_os_str()),
    ];
    shell::run(command, &variables, limit, progress)?;
    let written = files(&out)?;
    match <[PathBuf; 1]>::try_from(written) {
        Ok([file]) => Ok(file),
        Err(files) => Err(FillError::WrongOutput { files: files.len() }),
    }
}

/// Keeps a picture or clip in a folder, as a video.
fn keep(
    file: &Path,
    step: usize,
    folder: &Path,
    progress: &dyn Progress,
) -> Result<PathBuf, FillError> {
    std::fs::create_dir_all(folder).map_err(FileError::at(folder))?;
    let picture = read_side_file(file).ok().and_then(|bytes| Picture::decode(&bytes).ok());
    let Some(picture) = picture else {
        media::describe(file, progress)?;
        let extension = file.extension().unwrap_or_default().to_string_lossy();
        let kept = folder.join(format!("step-{}.{extension}", step + 1));
        copy_whole(file, &kept)?;
        return Ok(kept);
    };
    let kept = folder.join(format!("step-{}.mp4", step + 1));
    still(&picture, &kept, progress)?;
    Ok(kept)
}

/// A video that shows one picture.
fn still(picture: &Picture, path: &Path, progress: &dyn Progress) -> Result<(), MediaError> {
    let factor = (f64::from(MAX_WIDTH) / f64::from(picture.width.max(picture.height))).min(1.0);
    let even = |side: u32| ((f64::from(side) * factor) as u32 / 2 * 2).max(16);
    let (width, height) = (even(picture.width), even(picture.height));
    let picture = picture.resized(width, height, Filter::Bicubic);
    let rgba: Vec<u8> = picture.rgb.chunks_exact(3).flat_map(|p| [p[0], p[1], p[2], 255]).collect();
    let format = VideoFormat { width, height, pictures_per_second: 1, frames_per_second: 25 };
    let mut video = VideoWriter::start(path, format, None)?;
    for _ in 0..PICTURE_MS / 1000 {
        video.picture(&rgba)?;
    }
    video.finish(progress)
}

/// A generated clip in the place of one of the library.
fn choice(
    path: &Path,
    text: &str,
    by: String,
    progress: &dyn Progress,
) -> Result<Choice, FillError> {
    let length_ms = media::describe(path, progress)?.duration_ms.min(LONGEST_MS);
    let cut = Interval { start_ms: 0, end_ms: length_ms };
    let source = Source {
        video: u32::MAX, // no video of the library
        path: std::path::absolute(path).unwrap_or_else(|_| path.to_owned()),
        title: format!("Generated: {text}"),
        generated: Some(by),
        ..Source::default()
    };
    let similarity = Similarity { text: None, words: None, clip: None, probability: 0.0 };
    Ok(Choice {
        clip: u32::MAX,
        source,
        span: cut,
        cut,
        speed: 1.0,
        text: String::new(),
        narration: String::new(),
        similarity,
        copies: Vec::new(),
    })
}
