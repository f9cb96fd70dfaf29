//! ffmpeg, ffprobe and espeak-ng: the only place that starts processes.

pub mod program;
pub mod encode;
pub mod speech;

pub use program::{MediaError, Program};
