//! Parts of one format joined without encoding their pictures again.

use std::path::Path;

use super::audio::RATE;
use super::child::{run, url};
use super::program::{MediaError, Program};
use crate::progress::Progress;

/// What is joined. All names are of files in the working folder.
#[derive(Clone, Copy, Debug)]
pub struct Join<'a> {
    pub folder: &'a Path,
    /// A list for ffmpeg's concat demuxer, with the exact duration of every part.
    pub pieces: &'a str,
    /// The audio track: 16-bit little-endian stereo samples.
    pub sound: &'a str,
    /// Title and chapters in ffmpeg's metadata format.
    pub metadata: &'a str,
    /// Captions as SRT that can be switched on and off.
    pub captions: Option<&'a str>,
}

/// Writes the MP4: pictures copied, sound as AAC, index in front.
pub fn join(join: &Join, out: &Path, progress: &dyn Progress) -> Result<(), MediaError> {
    let mut command = Program::Ffmpeg.command();
    command.current_dir(join.folder).args(["-v", "error", "-nostdin", "-y"]);
    command.args(["-f", "concat", "-safe", "0", "-i", join.pieces]);
    command.args(["-f", "s16le", "-ar", &RATE.to_string(), "-ac", "2", "-i", join.sound]);
    command.args(["-f", "ffmetadata", "-i", join.metadata]);
    if let Some(captions) = join.captions {
        command.args(["-sub_charenc", "UTF-8", "-f", "srt", "-i", captions]);
    }
    command.args(["-map", "0:v", "-map", "1:a", "-map_metadata", "2", "-map_chapters", "2"]);
    if join.captions.is_some() {
        command.args(["-map", "3:s", "-c:s", "mov_text", "-disposition:s:0", "default"]);
    }
    command.args(["-c:v", "copy", "-c:a", "aac", "-b:a", "160k"]);
    command.args(["-movflags", "+faststart", "-f", "mp4"]).arg(url(out));
    run(Program::Ffmpeg, command, progress).map(|_| ())
}
