//! How well the clips of an index fit the actions of the made-up library.

use serde::Serialize;
use stitch_engine::library::Library;
use stitch_world::truth::{Truth, VideoTruth};

use super::MeasureError;
use super::made_up::RESAMPLES;
use super::metrics::{Estimate, ratio};
use super::speech_index::places;

/// A boundary is found if a clip begins or ends within this.
const TOLERANCE_MS: u64 = 1000;

#[derive(Clone, Debug, Serialize)]
pub struct SpanReport {
    pub videos: usize,
    pub actions: usize,
    pub clips: usize,
    /// The intersection over union of an action and the clip that fits it best, on average.
    pub iou: Estimate,
    /// Share of actions where it is at least a half.
    pub half: Estimate,
    /// Share of the actions' boundaries that are found, and of the clips' boundaries that are one of an action.
    pub boundary_recall: Estimate,
    pub boundary_precision: Estimate,
}

type Span = (u64, u64);

/// Compares the clips of every indexed video with its truth; intervals are over videos.
pub fn compare(library: &Library, truth: &Truth, seed: u64) -> Result<SpanReport, MeasureError> {
    let clips = places(library)?;
    let of_video = |video: &VideoTruth| {
        let actions: Vec<Span> = video.steps.iter().map(|s| (s.start_ms, s.end_ms)).collect();
        Some(Fit::of(&actions, clips.get(&video.file)?, video.duration_ms))
    };
    let fits: Vec<Fit> = truth.videos.iter().filter_map(of_video).collect();
    let mean = |part: fn(&Fit) -> (f64, f64)| {
        ratio(&fits.iter().map(part).collect::<Vec<_>>(), RESAMPLES, seed)
    };
    Ok(SpanReport {
        videos: fits.len(),
        actions: fits.iter().map(|fit| fit.ious.len()).sum(),
        clips: fits.iter().map(|fit| fit.clips).sum(),
        iou: mean(|fit| (fit.ious.iter().sum(), fit.ious.len() as f64)),
        half: mean(|fit| share(fit.ious.iter().map(|iou| *iou >= 0.5))),
        boundary_recall: mean(|fit| share(fit.found.iter().copied())),
        boundary_precision: mean(|fit| share(fit.right.iter().copied())),
    })
}

/// The clips of a video against its actions.
struct Fit {
    clips: usize,
    /// By action, of the clip that fits best.
    ious: Vec<f64>,
    /// Whether each boundary of an action is found.
    found: Vec<bool>,
    /// Whether each boundary of a clip inside the video is one of an action.
    right: Vec<bool>,
}

impl Fit {
    fn of(actions: &[Span], clips: &[Span], duration_ms: u64) -> Self {
        let best = |action: &Span| clips.iter().map(|clip| iou(*action, *clip)).fold(0.0, f64::max);
        let inside = |at: &u64| *at > 0 && at + TOLERANCE_MS / 2 < duration_ms;
        let (wanted, cuts) = (boundaries(actions), boundaries(clips));
        let near =
            |at: &u64, others: &[u64]| others.iter().any(|o| o.abs_diff(*at) <= TOLERANCE_MS);
        Self {
            clips: clips.len(),
            ious: actions.iter().map(best).collect(),
            found: wanted.iter().map(|at| near(at, &cuts)).collect(),
            right: cuts.iter().filter(|at| inside(at)).map(|at| near(at, &wanted)).collect(),
        }
    }
}

/// Where spans begin and end, each place once.
fn boundaries(spans: &[Span]) -> Vec<u64> {
    let mut places: Vec<u64> = spans.iter().flat_map(|(start, end)| [*start, *end]).collect();
    places.sort_unstable();
    places.dedup();
    places
}

fn iou(a: Span, b: Span) -> f64 {
    let common = a.1.min(b.1).saturating_sub(a.0.max(b.0));
    let union = (a.1 - a.0) + (b.1 - b.0) - common;
    common as f64 / union.max(1) as f64
}

fn share(values: impl Iterator<Item = bool>) -> (f64, f64) {
    values.fold((0.0, 0.0), |(yes, all), value| (yes + f64::from(u8::from(value)), all + 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clip_fits_by_its_span_and_a_boundary_within_a_second() {
        let actions = [(2000, 6000), (6000, 10_000)];
        let fit = Fit::of(&actions, &[(0, 4000), (4000, 9500), (9500, 20_000)], 20_000);
        assert_eq!(fit.ious, [0.5 / 1.5, 3.5 / 6.0]);
        assert_eq!(fit.found, [false, false, true]);
        assert_eq!(fit.right, [false, true], "the ends of the video are no boundaries");
        assert_eq!(Fit::of(&actions, &actions, 20_000).ious, [1.0, 1.0]);
        assert_eq!(Fit::of(&actions, &[], 20_000).ious, [0.0, 0.0]);
    }
}
