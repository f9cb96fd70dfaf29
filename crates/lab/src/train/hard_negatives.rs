//! Further negatives, for collections whose videos are too short or too few for those of `negatives`, which
//! break one constraint only. These may break several.

use std::collections::HashMap;

use rand::RngExt;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use stitch_core::clip::{ClipId, VideoId};

use crate::negatives::NegativeContext;

/// Draws of a clip that is unlike its step; chosen by hand.
const MAX_DRAWS: usize = 20;

/// Two clips change places.
pub fn swapped(positive: &[ClipId], random: &mut ChaCha8Rng) -> Option<Vec<ClipId>> {
    if positive.len() < 2 {
        return None;
    }
    let (a, b) = (random.random_range(0..positive.len()), random.random_range(1..positive.len()));
    let mut clips = positive.to_vec();
    clips.swap(a, (a + b) % positive.len());
    (clips != positive).then_some(clips)
}

/// One clip is any other whose text is unlike the step.
pub fn wrong(
    context: &NegativeContext<'_>,
    clips: &[ClipId],
    random: &mut ChaCha8Rng,
) -> Option<Vec<ClipId>> {
    let place = random.random_range(0..context.positive.len().max(1));
    let draw = |_| clips.choose(random).copied();
    let unlike = |clip: &ClipId| context.similarity(place, *clip) < context.unlike;
    let other = (0..MAX_DRAWS).filter_map(draw).find(unlike)?;
    let mut clips = context.positive.to_vec();
    *clips.get_mut(place)? = other;
    Some(clips)
}

/// The clips of another video of the task, evenly spaced, or random clips of the task.
pub fn elsewhere(
    positive: &[ClipId],
    task: &[VideoId],
    videos: &HashMap<VideoId, Vec<ClipId>>,
    random: &mut ChaCha8Rng,
) -> Option<Vec<ClipId>> {
    let of = |video: &VideoId| videos.get(video).filter(|clips| !clips.is_empty());
    let known: Vec<&Vec<ClipId>> = task.iter().filter_map(of).collect();
    let steps = positive.len();
    let clips: Option<Vec<ClipId>> = if random.random_range(0..2) == 0 {
        let video = known.choose(random)?;
        Some((0..steps).map(|step| video[step * video.len() / steps]).collect())
    } else {
        (0..steps).map(|_| known.choose(random)?.choose(random).copied()).collect()
    };
    clips.filter(|clips| clips != positive)
}
