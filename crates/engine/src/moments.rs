//! What clips look like when they begin and when they end, in the space of F_M.

use std::collections::HashMap;

use stitch_core::clip::{ClipId, VideoId};
use stitch_core::features::Features;
use stitch_core::pool::Pool;

/// The first and the last moment of a clip: the mean of its first and of its last quarter, at least a second of
/// each.
#[derive(Clone, Debug)]
pub struct Moments {
    /// The row of each clip in both features.
    rows: HashMap<ClipId, usize>,
    first: Features,
    last: Features,
}

impl Moments {
    /// Of these clips, as far as `seconds` has features of the seconds of their videos.
    pub fn of(
        clips: impl IntoIterator<Item = ClipId>,
        pool: &Pool,
        mut seconds: impl FnMut(VideoId) -> Option<std::sync::Arc<Features>>,
    ) -> Self {
        let dim = pool.clip_features().dim();
        let (mut rows, mut first, mut last) =
            (HashMap::new(), Features::empty(dim), Features::empty(dim));
        for id in clips {
            let clip = pool.clip(id);
            let of_video = seconds(clip.video).filter(|seconds| !seconds.is_empty());
            let Some(of_video) = of_video.filter(|seconds| seconds.dim() == dim) else { continue };
            if rows.contains_key(&id) {
                continue;
            }
            let end = (clip.span.end().div_ceil(1000) as usize).clamp(1, of_video.len());
            let start = ((clip.span.start() / 1000) as usize).min(end - 1);
            let quarter = (end - start).div_ceil(4);
            rows.insert(id, first.len());
            first.push(&sum(&of_video, start..start + quarter));
            last.push(&sum(&of_video, end - quarter..end));
        }
        Self { rows, first, last }
    }

    pub fn first(&self, clip: ClipId) -> Option<&[f32]> {
        self.rows.get(&clip).map(|row| self.first.row(*row))
    }

    pub fn last(&self, clip: ClipId) -> Option<&[f32]> {
        self.rows.get(&clip).map(|row| self.last.row(*row))
    }

    pub fn firsts(&self) -> &Features {
        &self.first
    }

    pub fn lasts(&self) -> &Features {
        &self.last
    }
}

fn sum(features: &Features, rows: std::ops::Range<usize>) -> Vec<f32> {
    let mut sum = vec![0.0; features.dim()];
    rows.for_each(|row| sum.iter_mut().zip(features.row(row)).for_each(|(sum, x)| *sum += x));
    sum
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use stitch_core::clip::{Clip, Span};

    use super::*;

    /// A clip of five seconds whose picture turns after the second one.
    #[test]
    fn a_clip_begins_with_its_first_quarter_and_ends_with_its_last() {
        let clip = |start, end| Clip {
            video: VideoId(3),
            span: Span::new(start, end).unwrap(),
            text: String::new(),
        };
        let rows = Features::new(2, vec![1.0, 0.0, 1.0, 0.0]).unwrap();
        let pool = Pool::new(vec![clip(1000, 6000), clip(9000, 9500)], rows.clone(), rows).unwrap();
        let seconds = [[0.0, 1.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.6, 0.8]];
        let seconds = Arc::new(Features::new(2, seconds.concat()).unwrap());
        let known = Moments::of([ClipId(0), ClipId(1)], &pool, |_| Some(seconds.clone()));
        assert_eq!(known.first(ClipId(0)), Some(&[1.0, 0.0][..]));
        let last = known.last(ClipId(0)).unwrap();
        assert!(last[0] > 0.0 && last[1] > 0.9, "{last:?}");
        assert!(known.first(ClipId(1)).is_some(), "beyond the end it is the last second");
        let unknown = Moments::of([ClipId(0)], &pool, |_| None);
        assert_eq!(unknown.first(ClipId(0)), None);
    }
}
