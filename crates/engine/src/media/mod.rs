//! ffmpeg, ffprobe, espeak-ng, piper, yt-dlp and a command of the user's: the only place that starts processes.

pub mod program;
mod sandbox;
pub mod task;
pub mod video_encoder;
pub mod doctor;
pub mod probe;
pub mod frames;
pub mod audio;
pub mod cut;
pub mod join;
pub mod encode;
pub mod speech;
pub mod yt_dlp;
pub mod shell;

pub use audio::AudioReader;
pub use frames::{Decode, Frames, Sampling, THUMBNAIL_WIDTH_PX, text_stream, thumbnail};
pub use probe::{AudioStream, Probe, describe, probe};
pub use program::{MediaError, Program};
pub use video_encoder::VideoEncoder;

type Result<T, E = MediaError> = std::result::Result<T, E>;
