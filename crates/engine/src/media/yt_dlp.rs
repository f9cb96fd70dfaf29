//! Videos from the web, by yt-dlp: with subtitles, and with title, uploader and licence beside them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::Result;
use super::program::{MediaError, Program};
use super::task::Task;
use crate::progress::Progress;

/// What is downloaded, and how much at most.
pub struct Download<'a> {
    /// Addresses of videos or playlists.
    pub urls: &'a [String],
    /// Where the files are written.
    pub folder: &'a Path,
    /// The languages of the subtitles, as yt-dlp takes them: `en.*,de`.
    pub languages: &'a str,
    /// In pixels; the best picture that is no higher is taken.
    pub max_height: u32,
    /// Larger files are left out, in megabytes.
    pub max_size_mb: u32,
    /// In kilobytes per second.
    pub max_rate_kb: u32,
}

/// What was downloaded.
pub struct Downloaded {
    /// The videos, also those that were there already.
    pub videos: Vec<PathBuf>,
    /// Why some are missing.
    pub failure: Option<MediaError>,
}

impl Download<'_> {
    /// Files that are there already stay, and a broken download goes on where it stopped.
    pub fn run(&self, progress: &dyn Progress) -> Result<Downloaded> {
        let options = "--no-progress --no-overwrites --continue --write-info-json --write-subs \
            --write-auto-subs --sub-format vtt/srt/best --no-simulate --print after_move:filepath";
        let task = Task::new(Program::YtDlp).args(options.split(' '));
        let task = task
            .args(["--output", "%(title).100B [%(id)s].%(ext)s", "--paths"])
            .args([self.folder]);
        let task = task.args(["--sub-langs", self.languages, "--format-sort"]);
        let task = task.args([format!("res:{}", self.max_height), "--max-filesize".into()]);
        let task = task.args([format!("{}M", self.max_size_mb), "--limit-rate".into()]);
        let task = task.args([format!("{}K", self.max_rate_kb), "--".into()]).args(self.urls);
        let (output, ended) = task.run_to_end(progress)?;
        let lines = output.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let videos = lines.map(|line| PathBuf::from(OsStr::from_bytes(line))).collect();
        match ended {
            Err(MediaError::Stopped(stopped)) => Err(stopped.into()),
            ended => Ok(Downloaded { videos, failure: ended.err() }),
        }
    }
}
