//! The videos of a library as recipes: their steps in order.

use stitch_core::clip::{Clip, ClipId, VideoId};
use stitch_core::pool::Pool;
use stitch_engine::library::{Library, LibraryError, VideoRecord};

use crate::rows::grouped;

#[derive(Clone, Debug, PartialEq)]
pub struct Recipe {
    pub video: VideoId,
    /// A hash of its bytes.
    pub content: String,
    pub title: String,
    pub licence: Option<String>,
    /// By start.
    pub steps: Vec<ClipId>,
}

impl Recipe {
    /// Title and steps, for the sentence encoder.
    pub fn summary(&self, pool: &Pool) -> String {
        let steps = self.steps.iter().map(|step| pool.clip(*step).text.as_str());
        std::iter::once(self.title.as_str()).chain(steps).collect::<Vec<_>>().join(". ")
    }
}

/// The recipes of all videos that name at least two steps. Scenes without words are no steps.
pub fn recipes(library: &Library, pool: &Pool) -> Result<Vec<Recipe>, LibraryError> {
    let clips = pool.clips().iter().zip((0..).map(ClipId)).filter(|(clip, _)| has_words(clip));
    let steps = grouped(clips.map(|(clip, id)| (clip.video, id)));
    let videos = library.videos()?;
    let recipe = |record: &VideoRecord| {
        let mut steps = steps.get(&VideoId(record.id)).filter(|steps| steps.len() >= 2)?.clone();
        steps.sort_by_key(|step| pool.clip(*step).span.start());
        Some(Recipe {
            video: VideoId(record.id),
            content: record.content.clone(),
            title: record.video.title.clone(),
            licence: record.video.licence.clone(),
            steps,
        })
    };
    Ok(videos.iter().filter_map(recipe).collect())
}

fn has_words(clip: &Clip) -> bool {
    !clip.text.trim().is_empty()
}
