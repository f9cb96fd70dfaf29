//! What encodes the result's pictures: x264 on the CPU, or the graphics hardware where that works.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Result;
use super::program::Program;
use super::task::Task;
use crate::files::{FileError, write_whole};
use crate::progress::Silent;

/// An H.264 encoder of ffmpeg.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VideoEncoder {
    #[default]
    X264,
    /// NVIDIA.
    Nvenc,
    /// Intel Quick Sync Video.
    Qsv,
    /// Intel and AMD on Linux.
    Vaapi,
    /// macOS.
    VideoToolbox,
}

use VideoEncoder::{Nvenc, Qsv, Vaapi, VideoToolbox, X264};

impl VideoEncoder {
    /// In the order in which they are preferred.
    const HARDWARE: [Self; 4] = [VideoToolbox, Nvenc, Qsv, Vaapi];

    pub fn name(self) -> &'static str {
        match self {
            X264 => "x264",
            Nvenc => "nvenc",
            Qsv => "qsv",
            Vaapi => "vaapi",
            VideoToolbox => "videotoolbox",
        }
    }

    fn codec(self) -> &'static str {
        match self {
            X264 => "libx264",
            Nvenc => "h264_nvenc",
            Qsv => "h264_qsv",
            Vaapi => "h264_vaapi",
            VideoToolbox => "h264_videotoolbox",
        }
    }

    /// Codec and quality: part of the cache's keys. x264's quality was chosen by hand; the others get the same number on
    /// H.264's scale of quantisers, and VideoToolbox, which has a scale of its own, what its users take for it.
    pub fn options(self) -> Vec<&'static str> {
        let quality = match self {
            X264 => "-preset veryfast -crf 21",
            Nvenc => "-preset p4 -rc vbr -cq 21 -b:v 0",
            Qsv => "-preset veryfast -global_quality 21",
            Vaapi => "-rc_mode CQP -qp 21",
            VideoToolbox => "-q:v 65",
        };
        ["-c:v", self.codec()].into_iter().chain(quality.split(' ')).collect()
    }

    /// What stands before the inputs.
    pub(super) fn device(self) -> &'static [&'static str] {
        if self == Vaapi { &["-vaapi_device", "/dev/dri/renderD128"] } else { &[] }
    }

    /// The last filter: pictures in the form that the encoder takes.
    pub(super) fn pixels(self) -> &'static str {
        match self {
            X264 | Nvenc | VideoToolbox => "format=yuv420p",
            Qsv => "format=nv12",
            Vaapi => "format=nv12,hwupload",
        }
    }

    /// Encodes a few frames: a build may have an encoder whose driver or device the machine lacks.
    fn check(self) -> Result<()> {
        let task = Task::ffmpeg().args(self.device());
        let task = task.args(["-f", "lavfi", "-i", "testsrc2=size=640x360:rate=30"]);
        let task = task.args(["-vf", self.pixels(), "-frames:v", "5"]).args(self.options());
        task.args(["-f", "null", "-"]).run(&Silent).map(drop)
    }
}

/// The encoders that work on this machine with this ffmpeg.
#[derive(Serialize, Deserialize)]
struct Working {
    ffmpeg: String,
    hardware: Vec<VideoEncoder>,
}

/// Tries every hardware encoder that ffmpeg lists, and keeps the answer in `cache` for [`choose`].
pub fn try_hardware(cache: &Path) -> Result<Vec<VideoEncoder>> {
    let (ffmpeg, listed) = (Program::Ffmpeg.version()?, Program::Ffmpeg.listed("-encoders")?);
    let works = |encoder: &VideoEncoder| {
        let checked = listed.iter().any(|name| name == encoder.codec()).then(|| encoder.check());
        checked.is_some_and(|checked| {
            checked.inspect_err(|error| tracing::debug!(%error, "{}", encoder.name())).is_ok()
        })
    };
    let hardware = VideoEncoder::HARDWARE.into_iter().filter(works).collect();
    let working = Working { ffmpeg, hardware };
    std::fs::create_dir_all(cache).map_err(FileError::at(cache))?;
    write_whole(&file(cache), serde_json::json!(working).to_string().as_bytes())?;
    Ok(working.hardware)
}

fn file(cache: &Path) -> PathBuf {
    cache.join("video-encoders.json")
}

/// The wanted encoder, or the best where none is given; x264 where it does not work, with the reason.
pub fn choose(
    wanted: Option<VideoEncoder>,
    cache: &Path,
) -> Result<(VideoEncoder, Option<String>)> {
    if wanted == Some(X264) {
        return Ok((X264, None));
    }
    let version = Program::Ffmpeg.version()?;
    let known = std::fs::read(file(cache)).ok();
    let known = known.and_then(|json| serde_json::from_slice::<Working>(&json).ok());
    let hardware = match known.filter(|known| known.ffmpeg == version) {
        Some(known) => known.hardware,
        None => try_hardware(cache)?,
    };
    let usable = |encoder: &&VideoEncoder| wanted.is_none_or(|wanted| wanted == **encoder);
    Ok(match hardware.iter().find(usable) {
        Some(encoder) => (*encoder, None),
        None => {
            let (what, works) = match wanted {
                Some(encoder) => (encoder.name(), "does not work"),
                None => ("no hardware encoder", "works"),
            };
            let note = format!(
                "{what} {works} with this ffmpeg on this machine; x264 is used (`stitch doctor` \
                 tries again)"
            );
            (X264, Some(note))
        }
    })
}
