//! A file's sound as a recogniser takes it: one channel at 16 kHz, on a pipe, however long.

use std::io::{self, BufReader, Read};
use std::path::Path;
use std::process::{ChildStdout, Command};

use super::child::{Running, run, url};
use super::program::{MediaError, Program};
use crate::files::FileError;
use crate::progress::Progress;

/// Samples per second.
pub const HEARD_RATE: usize = 16_000;

/// The sound of a file, one process for all. Dropping it ends the process.
pub struct Hearing {
    running: Option<Running>,
    pipe: BufReader<ChildStdout>,
    heard: u64,
}

/// How a file's sound ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    pub samples: u64,
    /// What ffmpeg complained of, if it did: part of the sound is damaged.
    pub complaint: Option<String>,
}

impl Hearing {
    /// Starts to decode the first sound of the file. Holes and a late beginning become silence, so
    /// that sample `i` is what is heard at `i / 16000` seconds.
    pub fn open(path: &Path) -> Result<Self, MediaError> {
        let mut running = Running::start(Program::Ffmpeg, command(path))?;
        let stdout = running.stdout().ok_or_else(|| {
            Program::Ffmpeg.not_started(io::Error::from(io::ErrorKind::BrokenPipe))
        })?;
        let pipe = BufReader::with_capacity(1 << 16, stdout);
        Ok(Self { running: Some(running), pipe, heard: 0 })
    }

    /// Fills the buffer as far as there is sound; how many samples came. Fewer than asked for is
    /// the end.
    pub fn read(&mut self, samples: &mut [f32]) -> Result<usize, MediaError> {
        let mut bytes = vec![0; samples.len() * 4];
        let mut have = 0;
        while have < bytes.len() {
            match self.pipe.read(&mut bytes[have..]) {
                Ok(0) => break,
                Ok(count) => have += count,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(Program::Ffmpeg.not_started(e)),
            }
        }
        let (fours, _) = bytes[..have].as_chunks::<4>();
        for (sample, four) in samples.iter_mut().zip(fours) {
            // Files of float samples may hold anything.
            let heard = f32::from_le_bytes(*four);
            *sample = if heard.is_finite() { heard.clamp(-1.0, 1.0) } else { 0.0 };
        }
        self.heard += fours.len() as u64;
        Ok(fours.len())
    }

    /// Ends the process after the last sample. Damage is told, not an error: what could be decoded
    /// has been read.
    pub fn finish(mut self, progress: &dyn Progress) -> Result<Ending, MediaError> {
        let samples = self.heard;
        let Some(running) = self.running.take() else {
            return Ok(Ending { samples, complaint: None });
        };
        let (well, stderr) = running.finish_with_complaints(progress)?;
        let failed = match Program::Ffmpeg.failed(&stderr) {
            MediaError::Failed { message, .. } => message,
            other => return Err(other),
        };
        let said = failed.lines().last().unwrap_or_default().trim().to_owned();
        if samples == 0 && !well {
            return Err(MediaError::Failed { program: Program::Ffmpeg, message: said });
        }
        let complaint = (!well || !said.is_empty()).then_some(said);
        Ok(Ending { samples, complaint })
    }
}

fn command(path: &Path) -> Command {
    let mut command = Program::Ffmpeg.command();
    command.args(["-v", "error", "-nostdin", "-threads", "1", "-vn", "-sn", "-dn"]);
    command.arg("-i").arg(url(path)).args(["-map", "0:a:0"]);
    command.args(["-af", "aresample=16000:async=1:first_pts=0", "-ac", "1", "-ar", "16000"]);
    command.args(["-f", "f32le", "-"]);
    command
}

/// How long a file with sound lasts, in milliseconds; 0 where its header does not tell.
pub fn length_ms(path: &Path, progress: &dyn Progress) -> Result<u64, MediaError> {
    if let Err(error) = std::fs::metadata(path) {
        return Err(FileError::at(path)(error).into());
    }
    let mut command = Program::Ffprobe.command();
    command.args(["-v", "error", "-select_streams", "a:0", "-of", "default=nk=1:nw=1"]);
    command.args(["-show_entries", "stream=codec_type:format=duration"]).arg(url(path));
    let unusable = |reason: &str| MediaError::Unusable { path: path.into(), reason: reason.into() };
    let report = match run(Program::Ffprobe, command, progress) {
        Err(MediaError::Failed { .. }) => {
            return Err(unusable("is no media file that ffmpeg can read"));
        }
        report => String::from_utf8_lossy(&report?).into_owned(),
    };
    if !report.lines().any(|line| line == "audio") {
        return Err(unusable("has no sound"));
    }
    let seconds = report.lines().find_map(|line| line.parse::<f64>().ok()).unwrap_or(0.0);
    Ok((seconds.max(0.0) * 1000.0) as u64)
}
