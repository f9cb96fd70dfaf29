//! How similar a text is to the seconds in which it is said, compared with a video's other seconds.

use std::ops::Range;

use stitch_core::features::{Features, similarity};

#[derive(Clone, Copy)]
pub struct WindowScore {
    /// The mean cosine with the window's seconds.
    pub cosine: f32,
    /// By how many standard deviations of the other seconds `cosine` is above their mean.
    pub z_score: f32,
}

/// None where the window has no seconds, or there are no others to compare with.
pub fn window_score(query: &[f32], window: (u64, u64), seconds: &Features) -> Option<WindowScore> {
    let window = seconds_of(window);
    let cosines = cosines(query, seconds).into_iter().enumerate();
    let (own, others): (Vec<_>, Vec<_>) = cosines.partition(|(at, _)| window.contains(at));
    if own.is_empty() || others.is_empty() {
        return None;
    }
    let values = |of: Vec<(usize, f32)>| of.into_iter().map(|(_, c)| c).collect::<Vec<f32>>();
    let (cosine, _) = mean_and_deviation(&values(own));
    let (mean, deviation) = mean_and_deviation(&values(others));
    Some(WindowScore { cosine, z_score: (cosine - mean) / deviation.max(1e-6) })
}

/// With each second.
pub fn cosines(query: &[f32], seconds: &Features) -> Vec<f32> {
    seconds.rows().map(|second| similarity(query, second)).collect()
}

/// Mean and standard deviation; 0 of none.
pub fn mean_and_deviation(values: &[f32]) -> (f32, f32) {
    let count = values.len().max(1) as f32;
    let mean = values.iter().sum::<f32>() / count;
    (mean, (values.iter().map(|x| (x - mean).powi(2)).sum::<f32>() / count).sqrt())
}

/// The seconds that a window of milliseconds overlaps.
pub fn seconds_of((start_ms, end_ms): (u64, u64)) -> Range<usize> {
    let start = (start_ms / 1000) as usize;
    start..(end_ms.div_ceil(1000) as usize).max(start + 1)
}
