//! A file's first audio stream, decoded by ffmpeg into a pipe: all of it for speech recognition, or a
//! cut of it for rendering.

use std::path::Path;

use super::Result;
use super::probe::{unreadable, unusable};
use super::program::{MediaError, Program};
use super::task::{Running, Task};
use crate::files::FileError;
use crate::progress::Progress;

/// Samples per second for speech recognition, mono.
pub const SPEECH_RATE: usize = 16_000;
/// Samples per second for rendering, stereo.
pub const RATE: u32 = 48_000;

/// Interleaved samples from one ffmpeg process. Dropping it ends the process. Holes and a late start
/// are silence, so that sample `i` of a channel is at `i / rate` seconds.
pub struct AudioReader {
    running: Running,
    /// Larger samples, which files of floats may hold, are clipped.
    max_sample: f32,
    samples: u64,
}

/// How decoding ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AudioEnd {
    pub samples: u64,
    /// ffmpeg's last error message, where part of the audio is damaged.
    pub damage: Option<String>,
}

impl AudioReader {
    /// The whole stream, mono at [`SPEECH_RATE`].
    pub fn speech(path: &Path) -> Result<Self> {
        let task = Task::ffmpeg().args(["-threads", "1", "-vn", "-sn", "-dn"]).input(path);
        Self::start(task, &resample(SPEECH_RATE), [1, SPEECH_RATE], 1.0)
    }

    /// `seconds` of the result from a moment of the stream at this speed, stereo at [`RATE`].
    pub fn cut(path: &Path, from_s: f64, seconds: f64, speed: f64) -> Result<Self> {
        let (from, read) = (format!("{from_s:.6}"), format!("{:.6}", seconds * speed));
        let task = Task::ffmpeg().args(["-vn", "-sn", "-ss", &from, "-t", &read]).input(path);
        Self::start(task, &with_speed(speed), [2, RATE as usize], f32::MAX)
    }

    fn start(task: Task, filters: &str, format: [usize; 2], max_sample: f32) -> Result<Self> {
        let [channels, rate] = format.map(|number| number.to_string());
        let task = task.args(["-map", "0:a:0", "-af", filters, "-ac", &channels, "-ar", &rate]);
        let running = task.args(["-f", "f32le", "-"]).start()?;
        Ok(Self { running, max_sample, samples: 0 })
    }

    /// Fills the buffer and returns how many samples came; fewer than fit are the last ones.
    /// Samples that are not finite become 0.
    pub fn read(&mut self, samples: &mut [f32], progress: &dyn Progress) -> Result<usize> {
        let mut bytes = vec![0; samples.len() * 4];
        let have = self.running.fill(&mut bytes, progress)?;
        let (decoded, _) = bytes[..have].as_chunks::<4>();
        for (sample, bytes) in samples.iter_mut().zip(decoded) {
            let x = f32::from_le_bytes(*bytes);
            *sample = if x.is_finite() { x.clamp(-self.max_sample, self.max_sample) } else { 0.0 };
        }
        self.samples += decoded.len() as u64;
        Ok(decoded.len())
    }

    /// Waits for the decoder's end. Damage is an error only if nothing could be decoded.
    pub fn finish(self, progress: &dyn Progress) -> Result<AudioEnd> {
        let samples = self.samples;
        let (success, stderr) = self.running.finish_with_stderr(progress)?;
        let message = match Program::Ffmpeg.failed(&stderr) {
            MediaError::Failed { message, .. } => message,
            other => return Err(other),
        };
        let message = message.lines().last().unwrap_or_default().trim().to_owned();
        if samples == 0 && !success {
            return Err(MediaError::Failed { program: Program::Ffmpeg, message });
        }
        let damage = (!success || !message.is_empty()).then_some(message);
        Ok(AudioEnd { samples, damage })
    }

    /// Waits for the decoder's end. Any failure is an error.
    pub fn finish_undamaged(self, progress: &dyn Progress) -> Result<()> {
        self.running.finish(progress)
    }
}

fn resample(rate: usize) -> String {
    format!("aresample={rate}:async=1:first_pts=0")
}

/// Filters that change the speed without the pitch.
fn with_speed(speed: f64) -> String {
    let mut filters = resample(RATE as usize);
    let mut left = speed;
    while left < 0.5 {
        filters.push_str(",atempo=0.5");
        left /= 0.5;
    }
    if (left - 1.0).abs() > 1e-6 {
        filters.push_str(&format!(",atempo={left:.6}"));
    }
    filters
}

/// The duration of a file with audio in milliseconds; 0 if its header does not say.
pub fn duration_ms(path: &Path, progress: &dyn Progress) -> Result<u64> {
    std::fs::metadata(path).map_err(FileError::at(path))?;
    let task = Task::ffprobe().args(["-select_streams", "a:0", "-of", "default=nk=1:nw=1"]);
    let task = task.args(["-show_entries", "stream=codec_type:format=duration"]).input(path);
    let report = task.run(progress).map_err(|error| unreadable(path, error))?;
    let report = String::from_utf8_lossy(&report);
    if !report.lines().any(|line| line == "audio") {
        return Err(unusable(path, "has no sound"));
    }
    let seconds = report.lines().find_map(|line| line.parse::<f64>().ok()).unwrap_or(0.0);
    Ok((seconds.max(0.0) * 1000.0) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_are_chained_where_one_filter_cannot_reach() {
        assert_eq!(with_speed(1.0), "aresample=48000:async=1:first_pts=0");
        assert!(with_speed(0.2).ends_with("atempo=0.5,atempo=0.5,atempo=0.800000"));
        assert!(with_speed(2.0).ends_with(",atempo=2.000000"));
    }
}
