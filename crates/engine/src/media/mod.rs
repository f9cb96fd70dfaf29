//! ffmpeg, ffprobe and espeak-ng: the only place that starts processes.

pub mod program;
mod sandbox;
pub mod task;
pub mod doctor;
pub mod probe;
pub mod frames;
pub mod audio;
pub mod cut;
pub mod join;
pub mod encode;
pub mod speech;

pub use audio::AudioReader;
pub use frames::{Decode, Frames, Sampling, text_stream, thumbnail};
pub use probe::{AudioStream, Probe, describe, probe};
pub use program::{MediaError, Program};

type Result<T, E = MediaError> = std::result::Result<T, E>;
