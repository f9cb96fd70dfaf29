//! Videos that another library knows already: narration, steps and spans are copied from it, and only
//! features are computed.

use std::path::PathBuf;

use stitch_core::clip::{Clip, VideoId};

use super::spans::{self, StepSpan};
use super::video::failure;
use super::{Indexer, Result};
use crate::encoder::{EncoderError, VideoInput};
use crate::library::{Indexed, KnownVideo, Library, Outcome, VideoRecord, VideoStatus};
use crate::progress::Progress;

/// The files of a library's videos; one that is gone is a warning.
pub fn files_of(library: &Library, progress: &dyn Progress) -> Result<Vec<PathBuf>> {
    let is_used = |video: &VideoRecord| {
        matches!(video.status, VideoStatus::Ready | VideoStatus::Duplicate(_))
    };
    let paths = library.videos()?.into_iter().filter(is_used).map(|video| video.path);
    let (here, gone): (Vec<PathBuf>, Vec<PathBuf>) = paths.partition(|path| path.is_file());
    for path in gone {
        progress.warn(&format!("{}: the file is gone; it is left out", path.display()));
    }
    Ok(here)
}

impl Indexer<'_> {
    pub(super) fn reencode_video(
        &self,
        record: &VideoRecord,
        known: KnownVideo,
        progress: &dyn Progress,
    ) -> Result<Outcome> {
        self.reencoded(record, known, progress).or_else(failure)
    }

    fn reencoded(
        &self,
        record: &VideoRecord,
        known: KnownVideo,
        progress: &dyn Progress,
    ) -> Result<Outcome, EncoderError> {
        let KnownVideo { record: copied, sentences, clips, shots } = known;
        let length_ms = copied.video.length_ms;
        let input = VideoInput { path: &record.path, length_ms, sentences: &sentences };
        let seconds = self.encoder.encode_seconds(&input, progress)?;
        let texts: Vec<&str> = clips.iter().map(|clip| clip.text.as_str()).collect();
        let steps: Vec<&str> = texts.iter().copied().filter(|text| !text.is_empty()).collect();
        let queries = self.encoder.encode_text(&steps)?;
        let mut numbers = 0..;
        let span = |clip: &Clip| {
            let step = if clip.text.is_empty() { None } else { numbers.next() };
            spans::known(step, clip.span, seconds.features.len())
        };
        let found: Vec<StepSpan> = clips.iter().map(span).collect();
        // An encoder that decodes no frames finds no shots.
        let shots = if shots.is_empty() { seconds.shots.clone() } else { shots };
        let features =
            self.video_features(&found, &queries, (&record.video.title, &texts), seconds)?;
        let video = VideoId(record.id);
        let indexed = Indexed {
            clips: clips.into_iter().map(|clip| Clip { video, ..clip }).collect(),
            sentences,
            features,
            shots,
            narration_by: copied.narration_by,
            steps_by: copied.steps_by.unwrap_or_default(),
        };
        Ok(Outcome::Ready(copied.video, Box::new(indexed)))
    }
}
