//! ffmpeg, ffprobe and espeak-ng: the only place that starts processes.

pub mod program;

pub use program::{MediaError, Program};
