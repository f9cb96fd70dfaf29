//! Rows of features by text and by clip, and the clips of each video.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use stitch_core::clip::{ClipId, VideoId};
use stitch_core::features::{Features, Rows, normalise};
use stitch_core::pool::Pool;

/// Sorted, each once.
pub fn distinct<'t>(texts: impl Iterator<Item = &'t str>) -> Vec<&'t str> {
    texts.collect::<BTreeSet<_>>().into_iter().collect()
}

/// The distinct names, in the order of their first.
pub fn first_of_each<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = HashSet::new();
    names.filter(|name| seen.insert(*name)).collect()
}

/// The row of each text in features that were computed for all of them.
pub struct TextIndex(HashMap<String, usize>);

impl TextIndex {
    /// Text i has row i.
    pub fn new(texts: &[&str]) -> Self {
        Self(texts.iter().enumerate().map(|(row, text)| (text.to_string(), row)).collect())
    }

    pub fn rows<'t>(&self, features: &Features, texts: impl Iterator<Item = &'t str>) -> Features {
        select_rows(features, texts.filter_map(|text| self.0.get(text).copied()))
    }
}

pub fn select_rows(features: &dyn Rows, rows: impl Iterator<Item = usize>) -> Features {
    let mut selected = Features::empty(features.dim());
    rows.for_each(|row| selected.push(&features.row(row)));
    selected
}

/// The mean row of some clips, of length 1.
pub fn mean_row(rows: &dyn Rows, clips: &[ClipId]) -> Vec<f32> {
    let mut sum = vec![0.0; rows.dim()];
    for clip in clips {
        sum.iter_mut().zip(&*rows.row(clip.row())).for_each(|(sum, x)| *sum += x);
    }
    normalise(&mut sum);
    sum
}

/// The values of each key, in the order in which they come.
pub fn grouped<K: Ord, V>(pairs: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, Vec<V>> {
    let mut groups: BTreeMap<K, Vec<V>> = BTreeMap::new();
    pairs.into_iter().for_each(|(key, value)| groups.entry(key).or_default().push(value));
    groups
}

/// 0 of none.
pub fn mean(numbers: impl Iterator<Item = f32>) -> f32 {
    let (sum, count) = numbers.fold((0.0, 0), |(sum, count), x| (sum + x, count + 1));
    sum / count.max(1) as f32
}

/// By start.
pub fn clips_by_video(pool: &Pool) -> BTreeMap<VideoId, Vec<ClipId>> {
    let clips = pool.clips().iter().zip((0..).map(ClipId));
    let mut videos = grouped(clips.map(|(clip, id)| (clip.video, id)));
    for clips in videos.values_mut() {
        clips.sort_by_key(|clip| (pool.clip(*clip).span, *clip));
    }
    videos
}

/// The value that comes most often; of equals the first.
pub fn most_frequent<T: Ord>(values: impl Iterator<Item = T>) -> Option<T> {
    let mut counts: BTreeMap<T, usize> = BTreeMap::new();
    values.for_each(|value| *counts.entry(value).or_default() += 1);
    let last = counts.into_iter().rev().max_by_key(|(_, count)| *count);
    last.map(|(value, _)| value)
}
