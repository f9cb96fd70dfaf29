//! Pictures and sound into a video file, through one ffmpeg process per file.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Stdio};
use std::thread::JoinHandle;

use super::program::{MediaError, Program};
use crate::files::{FileError, sync_folder};

/// What the pictures look like and how much care is taken with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// In pixels, even.
    pub width: u32,
    /// In pixels, even.
    pub height: u32,
    /// How many pictures are handed over for each second.
    pub pictures_per_second: u32,
    /// How many frames a second the file has; pictures are repeated to fill it.
    pub frames_per_second: u32,
}

/// Sound to put beside the pictures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sound {
    /// Samples a second.
    pub rate: u32,
    /// One channel.
    pub samples: Vec<i16>,
}

/// A video file in the making. It takes its name when it is finished; dropped before, it leaves
/// nothing behind.
pub struct VideoWriter {
    child: Child,
    pictures: Option<ChildStdin>,
    complaints: Option<JoinHandle<Vec<u8>>>,
    picture_bytes: usize,
    temporary: Option<tempfile::TempPath>,
    _sound: Option<tempfile::TempPath>,
    path: PathBuf,
}

impl VideoWriter {
    /// Starts a file (h264 and aac in mp4, whatever the name ends in).
    pub fn start(path: &Path, format: Format, sound: Option<&Sound>) -> Result<Self, MediaError> {
        let folder = folder_of(path);
        let temporary = hidden(folder, ".mp4").map_err(FileError::at(path))?;
        let sound_file = sound.map(|sound| write_sound(folder, sound)).transpose();
        let sound_file = sound_file.map_err(FileError::at(path))?;
        let mut command = Program::Ffmpeg.command();
        command.args(["-hide_banner", "-loglevel", "error", "-nostdin", "-y"]);
        command.args(picture_input(format));
        if let (Some(file), Some(sound)) = (&sound_file, sound) {
            command
                .args(["-f", "s16le", "-ar", &sound.rate.to_string(), "-ac", "1", "-i"])
                .arg(file);
            command.args(["-c:a", "aac", "-b:a", "64k", "-ar", "44100"]);
        }
        command.args(video_output(format)).arg(&*temporary);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| Program::Ffmpeg.not_started(error))?;
        Ok(Self {
            pictures: child.stdin.take(),
            complaints: child.stderr.take().map(listen),
            child,
            picture_bytes: format.width as usize * format.height as usize * 4,
            temporary: Some(temporary),
            _sound: sound_file,
            path: path.to_owned(),
        })
    }

    /// Adds a picture: rows of red, green, blue, alpha bytes.
    pub fn picture(&mut self, rgba: &[u8]) -> Result<(), MediaError> {
        if rgba.len() != self.picture_bytes {
            let reason =
                format!("a picture of {} bytes instead of {}", rgba.len(), self.picture_bytes);
            return Err(MediaError::Unusable { path: self.path.clone(), reason });
        }
        let Some(pipe) = self.pictures.as_mut() else { return Err(self.failure()) };
        match pipe.write_all(rgba) {
            Ok(()) => Ok(()),
            // ffmpeg has closed its end; its own words say why
            Err(_) => Err(self.failure()),
        }
    }

    /// Ends the file, makes it last, and gives it its name.
    pub fn finish(mut self) -> Result<(), MediaError> {
        drop(self.pictures.take());
        let status = self.child.wait().map_err(|error| Program::Ffmpeg.not_started(error))?;
        if !status.success() {
            return Err(Program::Ffmpeg.failed(&self.heard()));
        }
        match self.temporary.take() {
            Some(file) => Ok(persist(file, &self.path).map_err(FileError::at(&self.path))?),
            None => Ok(()),
        }
    }

    /// Why ffmpeg gave up.
    fn failure(&mut self) -> MediaError {
        drop(self.pictures.take());
        // the process is at its end; if it cannot be waited for, what it said is still the reason
        let _ = self.child.wait();
        Program::Ffmpeg.failed(&self.heard())
    }

    /// Everything ffmpeg wrote to standard error.
    fn heard(&mut self) -> Vec<u8> {
        let thread = self.complaints.take();
        thread.and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl Drop for VideoWriter {
    fn drop(&mut self) {
        drop(self.pictures.take());
        // nothing can be done about a process that is gone already
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads standard error beside the work, so that a talkative process never blocks.
fn listen(mut stderr: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut heard = Vec::new();
        // an unreadable pipe ends the message early, which is all that is lost
        let _ = stderr.read_to_end(&mut heard);
        heard
    })
}

fn picture_input(format: Format) -> Vec<String> {
    let size = format!("{}x{}", format.width, format.height);
    let rate = format.pictures_per_second.to_string();
    let input = ["-f", "rawvideo", "-pix_fmt", "rgba", "-s", &size, "-framerate", &rate, "-i", "-"];
    input.map(str::to_owned).to_vec()
}

/// One thread and fixed settings: the same pictures give the same bytes on every machine.
fn video_output(format: Format) -> Vec<String> {
    let rate = format.frames_per_second.to_string();
    let keyframes = (format.frames_per_second * 2).to_string();
    let output = [
        "-c:v",
        "libx264",
        "-preset",
        "veryfast",
        "-tune",
        "animation",
        "-crf",
        "23",
        "-pix_fmt",
        "yuv420p",
        "-threads",
        "1",
        "-r",
        &rate,
        "-g",
        &keyframes,
        "-fflags",
        "+bitexact",
        "-flags:v",
        "+bitexact",
        "-flags:a",
        "+bitexact",
        "-map_metadata",
        "-1",
        "-movflags",
        "+faststart",
        "-f",
        "mp4",
    ];
    output.map(str::to_owned).to_vec()
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// A new file with a hidden name, removed when dropped.
fn hidden(folder: &Path, suffix: &str) -> io::Result<tempfile::TempPath> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".writing-").suffix(suffix);
    #[cfg(unix)] // temporary files are private by default, a video is not
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    Ok(builder.tempfile_in(folder)?.into_temp_path())
}

fn write_sound(folder: &Path, sound: &Sound) -> io::Result<tempfile::TempPath> {
    let path = hidden(folder, ".pcm")?;
    let bytes: Vec<u8> = sound.samples.iter().flat_map(|sample| sample.to_le_bytes()).collect();
    std::fs::write(&path, bytes)?;
    Ok(path)
}

fn persist(temporary: tempfile::TempPath, path: &Path) -> io::Result<()> {
    std::fs::File::open(&temporary)?.sync_all()?;
    temporary.persist(path)?;
    sync_folder(folder_of(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Format =
        Format { width: 64, height: 36, pictures_per_second: 12, frames_per_second: 24 };

    fn write(path: &Path, seconds: usize) -> Result<(), MediaError> {
        let sound = Sound { rate: 22_050, samples: vec![0; 22_050 * seconds] };
        let mut video = VideoWriter::start(path, SMALL, Some(&sound))?;
        for picture in 0..12 * seconds {
            video.picture(&[picture as u8; 64 * 36 * 4])?;
        }
        video.finish()
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
