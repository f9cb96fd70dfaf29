//! Measures that several baselines take of a candidate sequence.

use stitch_core::clip::ClipId;
use stitch_core::cover::Sequence;
use stitch_core::features::similarity;
use stitch_core::pool::Pool;
use stitch_engine::scorer::Query;

/// The shown steps of a sequence with their clips.
pub fn shown(sequence: &Sequence) -> impl Iterator<Item = (usize, ClipId)> + Clone {
    sequence.0.iter().enumerate().filter_map(|(step, clip)| clip.map(|clip| (step, clip)))
}

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
