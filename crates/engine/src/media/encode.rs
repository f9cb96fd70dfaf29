//! A video file written from pictures and samples, by one ffmpeg process per file.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ChildStdin;

use tempfile::NamedTempFile;

use super::Result;
use super::probe::unusable;
use super::program::MediaError;
use super::task::{Running, Task};
use crate::files::{FileError, folder_of, persist, temporary};
use crate::progress::{Progress, Silent};

/// Size and rates of a video file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VideoFormat {
    /// In pixels, even.
    pub width: u32,
    /// In pixels, even.
    pub height: u32,
    /// How many pictures are handed over for each second.
    pub pictures_per_second: u32,
    /// How many frames a second the file has; pictures are repeated to fill it.
    pub frames_per_second: u32,
}

/// Mono audio samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pcm {
    /// Samples per second.
    pub rate: u32,
    pub samples: Vec<i16>,
}

/// A video file being written. It takes its name when it is finished; dropped before, it leaves
/// nothing behind.
pub struct VideoWriter {
    // The pipe is dropped before the program, which lets the program end.
    pictures: Option<ChildStdin>,
    ffmpeg: Option<Running>,
    picture_bytes: usize,
    file: NamedTempFile,
    _audio: Option<NamedTempFile>,
    path: PathBuf,
}

impl VideoWriter {
    /// Starts a file: H.264 and AAC in MP4, whatever its extension.
    pub fn start(path: &Path, format: VideoFormat, audio: Option<&Pcm>) -> Result<Self> {
        let new = |suffix| temporary(folder_of(path), suffix);
        let file = new(".mp4").map_err(FileError::at(path))?;
        let VideoFormat { width, height, pictures_per_second: rate, .. } = format;
        let (size, rate) = (format!("{width}x{height}"), rate.to_string());
        let mut task = Task::ffmpeg().args(["-f", "rawvideo", "-pix_fmt", "rgba", "-s", &size]);
        task = task.args(["-framerate", &rate, "-i", "-"]);
        let mut audio_file = None;
        if let Some(pcm) = audio {
            let samples = new(".pcm").and_then(|file| write_samples(file, pcm));
            let samples = audio_file.insert(samples.map_err(FileError::at(path))?);
            let rate = pcm.rate.to_string();
            task = task.args(["-f", "s16le", "-ar", &rate, "-ac", "1", "-i"]).file(samples.path());
            task = task.args(["-c:a", "aac", "-b:a", "64k", "-ar", "44100"]);
        }
        let output = video_output(format.frames_per_second);
        let task = task.args(output.split(' ')).file(file.path());
        let (ffmpeg, pictures) = task.start_with_input()?;
        Ok(Self {
            pictures,
            ffmpeg: Some(ffmpeg),
            picture_bytes: width as usize * height as usize * 4,
            file,
            _audio: audio_file,
            path: path.to_owned(),
        })
    }

    /// Adds a picture: rows of red, green, blue, alpha bytes.
    pub fn picture(&mut self, rgba: &[u8]) -> Result<()> {
        if rgba.len() != self.picture_bytes {
            let reason = format!("a picture of {} bytes, not {}", rgba.len(), self.picture_bytes);
            return Err(unusable(&self.path, reason));
        }
        match self.pictures.as_mut().map(|pipe| pipe.write_all(rgba)) {
            Some(Ok(())) => Ok(()),
            Some(Err(error)) => Err(self.failure(error)),
            None => Err(self.failure(io::ErrorKind::BrokenPipe.into())),
        }
    }

    /// Ends the file, makes it last, and gives it its name.
    pub fn finish(mut self, progress: &dyn Progress) -> Result<()> {
        drop(self.pictures.take());
        if let Some(ffmpeg) = self.ffmpeg.take() {
            ffmpeg.finish(progress)?;
        }
        Ok(persist(self.file, &self.path)?)
    }

    /// Why ffmpeg takes no more pictures: its own words, or where it has none, the pipe's.
    fn failure(&mut self, pipe: io::Error) -> MediaError {
        drop(self.pictures.take());
        match self.ffmpeg.take().map(|ffmpeg| ffmpeg.finish(&Silent)) {
            Some(Err(error)) => error,
            _ => FileError::at(&self.path)(pipe).into(),
        }
    }
}

/// One thread and fixed settings: the same pictures give the same bytes on every machine.
fn video_output(rate: u32) -> String {
    format!(
        "-c:v libx264 -preset veryfast -tune animation -crf 23 -pix_fmt yuv420p -threads 1 \
         -r {rate} -g {} -fflags +bitexact -flags:v +bitexact -flags:a +bitexact \
         -map_metadata -1 -movflags +faststart -f mp4",
        2 * rate
    )
}

fn write_samples(mut file: NamedTempFile, pcm: &Pcm) -> io::Result<NamedTempFile> {
    let bytes: Vec<u8> = pcm.samples.iter().flat_map(|sample| sample.to_le_bytes()).collect();
    file.write_all(&bytes)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: VideoFormat =
        VideoFormat { width: 64, height: 36, pictures_per_second: 12, frames_per_second: 24 };

    fn write(path: &Path, seconds: usize) -> Result<(), MediaError> {
        let sound = Pcm { rate: 22_050, samples: vec![0; 22_050 * seconds] };
        let mut video = VideoWriter::start(path, SMALL, Some(&sound))?;
        for picture in 0..12 * seconds {
            video.picture(&[picture as u8; 64 * 36 * 4])?;
        }
        video.finish(&Silent)
    }

    #[test]
    fn the_same_pictures_make_the_same_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (folder.path().join("a.mp4"), folder.path().join("b.mp4"));
        write(&a, 1).unwrap();
        write(&b, 1).unwrap();
        assert_eq!(std::fs::read(a).unwrap(), std::fs::read(b).unwrap());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "no litter");
    }

    #[test]
    fn a_dropped_video_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mut video = VideoWriter::start(&folder.path().join("a.mp4"), SMALL, None).unwrap();
        video.picture(&[7; 64 * 36 * 4]).unwrap();
        drop(video);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_picture_of_the_wrong_size_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let mut video = VideoWriter::start(&folder.path().join("a.mp4"), SMALL, None).unwrap();
        assert!(matches!(video.picture(&[0; 5]), Err(MediaError::Unusable { .. })));
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = write(&folder.path().join("no/a.mp4"), 1).unwrap_err();
        assert!(error.to_string().contains("no/a.mp4"), "{error}");
    }
}
