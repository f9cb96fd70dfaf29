//! Further ways to spoil a sequence, for collections whose videos are too short or too few for the three
//! constraints of `negatives`. They break whatever they break.

use std::collections::HashMap;

use rand::RngExt;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use stitch_core::clip::{ClipId, VideoId};

use crate::negatives::Ground;

/// How often an unlike clip is looked for before it is given up.
const TRIES: usize = 20;

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
    positive: &[ClipId],
    ground: &Ground<'_>,
    clips: &[ClipId],
    random: &mut ChaCha8Rng,
) -> Option<Vec<ClipId>> {
    let place = random.random_range(0..positive.len().max(1));
    let draw = |_| clips.choose(random).copied();
    let unlike = |clip: &ClipId| ground.similarity(place, *clip) < ground.unlike;
    let other = (0..TRIES).filter_map(draw).find(unlike)?;
    let mut clips = positive.to_vec();
    *clips.get_mut(place)? = other;
    Some(clips)
}

/// Another video of the task laid along the steps, or clips of the task by chance.
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
