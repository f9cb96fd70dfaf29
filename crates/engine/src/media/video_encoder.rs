//! What encodes the result's pictures: x264 on the CPU, or the graphics hardware where that works.

use super::task::Task;
use crate::progress::Silent;

/// An H.264 encoder of ffmpeg.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
    pub fn name(self) -> &'static str {
        match self {
            X264 => "x264",
            Nvenc => "nvenc",
            Qsv => "qsv",
            Vaapi => "vaapi",
            VideoToolbox => "videotoolbox",
        }
    }

    fn codec(self) -> String {
        if self == X264 { "libx264".into() } else { format!("h264_{}", self.name()) }
    }

    /// Codec and quality: part of the cache's keys. x264's quality was chosen by hand; the others get the same number on
    /// H.264's scale of quantisers, and VideoToolbox, which has a scale of its own, what its users take for it.
    pub fn options(self) -> Vec<String> {
        let quality = match self {
            X264 => "-preset veryfast -crf 21",
            Nvenc => "-preset p4 -rc vbr -cq 21 -b:v 0",
            Qsv => "-preset veryfast -global_quality 21",
            Vaapi => "-rc_mode CQP -qp 21",
            VideoToolbox => "-q:v 65",
        };
        let quality = quality.split(' ').map(str::to_owned);
        ["-c:v".into(), self.codec()].into_iter().chain(quality).collect()
    }

    /// A task that encodes by it; its inputs follow.
    pub(super) fn task(self) -> Task {
        match self {
            X264 => Task::ffmpeg(),
            Vaapi => Task::ffmpeg().with_graphics().args(["-vaapi_device", "/dev/dri/renderD128"]),
            Nvenc | Qsv | VideoToolbox => Task::ffmpeg().with_graphics(),
        }
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
    fn works(self) -> bool {
        let task = self.task().args(["-f", "lavfi", "-i", "testsrc2=size=640x360:rate=30"]);
        let task = task.args(["-vf", self.pixels(), "-frames:v", "5"]).args(self.options());
        task.args(["-f", "null", "-"]).run(&Silent).is_ok()
    }

    /// The hardware encoders that work on this machine with this ffmpeg, the preferred first.
    pub fn working() -> impl Iterator<Item = Self> {
        [VideoToolbox, Nvenc, Qsv, Vaapi].into_iter().filter(|encoder| encoder.works())
    }

    /// The wanted encoder, or the first that works where none is given; x264 where that fails, with a note.
    pub fn choose(wanted: Option<Self>) -> (Self, Option<String>) {
        let (found, what) = match wanted {
            Some(X264) => return (X264, None),
            Some(encoder) => (
                Some(encoder).filter(|encoder| encoder.works()),
                format!("{} does not work", encoder.name()),
            ),
            None => (Self::working().next(), "no hardware encoder works".into()),
        };
        match found {
            Some(encoder) => (encoder, None),
            None => (X264, Some(format!("{what} with this ffmpeg on this machine; x264 is used"))),
        }
    }
}
