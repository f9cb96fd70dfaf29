//! Parts of one format joined without encoding their pictures again.

use std::path::Path;

use super::Result;
use super::audio::RATE;
use super::task::Task;
use crate::progress::Progress;

/// Writes the MP4: pictures copied, sound as AAC, index in front. In the folder are
/// - `pieces.txt`, a list for ffmpeg's concat demuxer with the exact duration of every part in `pieces`;
/// - `sound.s16`, the audio track in 16-bit little-endian stereo samples;
/// - `metadata.txt`, title and chapters in ffmpeg's metadata format;
/// - `captions.srt`, where there are captions to be switched on and off.
pub fn join(
    folder: &Path,
    pieces: &Path,
    captions: bool,
    out: &Path,
    progress: &dyn Progress,
) -> Result<()> {
    let rate = RATE.to_string();
    let mut task = Task::ffmpeg().in_folder(folder).reads(pieces);
    task = task.args(["-f", "concat", "-safe", "0", "-i", "pieces.txt"]);
    task = task.args(["-f", "s16le", "-ar", &rate, "-ac", "2", "-i", "sound.s16"]);
    task = task.args(["-f", "ffmetadata", "-i", "metadata.txt"]);
    if captions {
        task = task.args(["-sub_charenc", "UTF-8", "-f", "srt", "-i", "captions.srt"]);
    }
    task = task.args(["-map", "0:v", "-map", "1:a", "-map_metadata", "2", "-map_chapters", "2"]);
    if captions {
        task = task.args(["-map", "3:s", "-c:s", "mov_text", "-disposition:s:0", "default"]);
    }
    task = task.args(["-c:v", "copy", "-c:a", "aac", "-b:a", "160k", "-progress", "-"]);
    task.args(["-movflags", "+faststart", "-f", "mp4"]).file(out).run(progress).map(|_| ())
}
