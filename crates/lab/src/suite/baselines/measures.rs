//! Measures that several baselines take of a candidate sequence.

use std::collections::HashMap;

use stitch_core::clip::{ClipId, VideoId};
use stitch_core::cover::Sequence;
use stitch_core::features::{Features, similarity};
use stitch_core::pool::Pool;
use stitch_engine::scorer::Query;

/// The shown steps of a sequence with their clips.
pub fn shown(sequence: &Sequence) -> impl Iterator<Item = (usize, ClipId)> + Clone {
    sequence.0.iter().enumerate().filter_map(|(step, clip)| clip.map(|clip| (step, clip)))
}

/// The mean of numbers; 0 of none.
pub fn mean(numbers: impl Iterator<Item = f32>) -> f32 {
    let (mut sum, mut count) = (0.0, 0);
    numbers.for_each(|number| {
        sum += number;
        count += 1;
    });
    sum / count.max(1) as f32
}

/// The mean of cos(F_M(r_i), F_M(v_i)).
pub fn step_similarity(query: &Query, pool: &Pool, sequence: &Sequence) -> f32 {
    let rows = pool.clip_features();
    mean(shown(sequence).map(|(step, clip)| similarity(query.clip.row(step), rows.row(clip.row()))))
}

/// The mean of all rows of a query, of length 1.
pub fn pooled(rows: &Features) -> Vec<f32> {
    rows.mean_of(0..rows.len())
}

/// The clips of each video, by start.
pub fn by_video(pool: &Pool) -> HashMap<VideoId, Vec<ClipId>> {
    let mut videos: HashMap<VideoId, Vec<ClipId>> = HashMap::new();
    for (row, clip) in pool.clips().iter().enumerate() {
        videos.entry(clip.video).or_default().push(ClipId(row as u32));
    }
    for clips in videos.values_mut() {
        clips.sort_by_key(|clip| (pool.clip(*clip).span, *clip));
    }
    videos
}

/// The mean row of some clips, of length 1.
pub fn mean_row(rows: &Features, clips: &[ClipId]) -> Vec<f32> {
    let mut sum = vec![0.0; rows.dim()];
    for clip in clips {
        sum.iter_mut().zip(rows.row(clip.row())).for_each(|(sum, x)| *sum += x);
    }
    stitch_core::features::normalise(&mut sum);
    sum
}
