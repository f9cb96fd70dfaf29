//! Temporal localisation of steps in videos with known spans: Drop-DTW, plain DTW, and equal parts.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use stitch_core::align::{AlignOptions, Costs, drop_dtw};
use stitch_core::features::Features;
use stitch_engine::encoder::Encoder;
use stitch_engine::index::spans::COSTS;
use stitch_engine::library::Library;

use crate::dataset::DatasetError;
use crate::suite::made_up::file_name;
use crate::suite::metrics::{Estimate, ratio};
use stitch_world::truth::Truth;

pub struct LocatedVideo {
    pub texts: Vec<String>,
    /// The steps by F_M.
    pub steps: Features,
    /// Every second by F_M.
    pub seconds: Features,
    /// The seconds that show each step.
    pub truth: Vec<Range<usize>>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Quality {
    /// Share of seconds with the right step, or rightly none.
    pub frame_accuracy: Estimate,
    /// Mean intersection over union of found and true seconds of a step.
    pub iou: Estimate,
    /// Share of steps whose found middle second shows them.
    pub recall: Estimate,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Localisation {
    pub videos: usize,
    pub steps: usize,
    /// By method.
    pub ways: BTreeMap<String, Quality>,
}

/// The videos of an indexed made-up library, with the spans of its truth.
pub fn made_up(
    truth: &Truth,
    library: &Library,
    encoder: &dyn Encoder,
) -> Result<Vec<LocatedVideo>, DatasetError> {
    let mut located = Vec::new();
    for record in library.videos()? {
        let name = file_name(&record.path);
        let Some(video) = truth.videos.iter().find(|video| video.file == name) else { continue };
        let texts: Vec<String> = video.steps.iter().map(|step| step.text.clone()).collect();
        let seconds = library.seconds(stitch_core::clip::VideoId(record.id))?;
        let range = |start_ms: u64, end_ms: u64| {
            let from = ((start_ms + 500) / 1000) as usize;
            from..(((end_ms + 500) / 1000) as usize).max(from + 1).min(seconds.len().max(from + 1))
        };
        let spans = video.steps.iter().map(|step| range(step.start_ms, step.end_ms)).collect();
        let steps = encoder.encode_text(&texts.iter().map(String::as_str).collect::<Vec<_>>())?;
        located.push(LocatedVideo { steps, texts, seconds, truth: spans });
    }
    Ok(located)
}

type Found = Vec<Option<Range<usize>>>;

type LocateMethod = (&'static str, fn(&LocatedVideo) -> Found);

/// Every method on these videos; all get the steps in their order, and nothing else.
pub fn localise(videos: &[LocatedVideo], seed: u64) -> Localisation {
    let ways: [LocateMethod; 3] =
        [("Drop-DTW", by_drop_dtw), ("plain DTW", by_dtw), ("equal parts", by_equal_parts)];
    let quality = |way: fn(&LocatedVideo) -> Found| {
        let counts: Vec<Counts> = videos.iter().map(|video| count(video, &way(video))).collect();
        let of = |part: fn(&Counts) -> (f64, f64)| {
            ratio(&counts.iter().map(part).collect::<Vec<_>>(), 2000, seed)
        };
        Quality {
            frame_accuracy: of(|c| (c.right, c.seconds)),
            iou: of(|c| (c.overlap, c.steps)),
            recall: of(|c| (c.hit, c.steps)),
        }
    };
    Localisation {
        videos: videos.len(),
        steps: videos.iter().map(|video| video.truth.len()).sum(),
        ways: ways.into_iter().map(|(name, way)| (name.to_owned(), quality(way))).collect(),
    }
}

fn align(video: &LocatedVideo, change: impl Fn(Costs) -> Option<Costs>) -> Found {
    let costs = Costs::from_features(&video.steps, &video.seconds, &video.texts, &COSTS).ok();
    let found = costs.and_then(change).and_then(|c| drop_dtw(&c, &AlignOptions::default()).ok());
    found.map_or_else(|| vec![None; video.texts.len()], |found| found.spans)
}

fn by_drop_dtw(video: &LocatedVideo) -> Found {
    align(video, Some)
}

/// Plain DTW: dropping a second costs more than all matches together.
fn by_dtw(video: &LocatedVideo) -> Found {
    align(video, |costs| {
        let (steps, seconds) = (costs.steps(), costs.seconds());
        let cells = (0..steps).flat_map(|step| (0..seconds).map(move |second| (step, second)));
        let matching: Vec<f64> = cells.map(|(step, at)| costs.matching(step, at)).collect();
        let all: f64 = matching.iter().sum();
        Costs::new(matching, vec![1.0 + 2.0 * all.abs(); seconds]).ok()
    })
}

fn by_equal_parts(video: &LocatedVideo) -> Found {
    let (steps, seconds) = (video.texts.len(), video.seconds.len());
    let edge = |step: usize| step * seconds / steps.max(1);
    (0..steps).map(|step| Some(edge(step)..edge(step + 1))).collect()
}

/// Of one video; `overlap` is a sum of intersections over unions.
#[derive(Debug, PartialEq)]
struct Counts {
    seconds: f64,
    right: f64,
    steps: f64,
    overlap: f64,
    hit: f64,
}

fn count(video: &LocatedVideo, found: &Found) -> Counts {
    let label = |ranges: &dyn Fn(usize) -> Option<Range<usize>>, second: usize| {
        (0..video.truth.len()).find(|step| ranges(*step).is_some_and(|r| r.contains(&second)))
    };
    let true_label = |second| label(&|step| Some(video.truth[step].clone()), second);
    let found_label = |second| label(&|step| found[step].clone(), second);
    let right = (0..video.seconds.len()).filter(|at| true_label(*at) == found_label(*at)).count();
    let (mut overlap, mut hit) = (0.0, 0.0);
    for (truth, found) in video.truth.iter().zip(found) {
        let Some(found) = found.as_ref().filter(|found| !found.is_empty()) else { continue };
        let both = truth.end.min(found.end).saturating_sub(truth.start.max(found.start));
        overlap += both as f64 / (truth.len() + found.len() - both).max(1) as f64;
        hit += f64::from(u8::from(truth.contains(&((found.start + found.end) / 2))));
    }
    let (seconds, steps) = (video.seconds.len() as f64, video.truth.len() as f64);
    Counts { seconds, right: right as f64, steps, overlap, hit }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten seconds: nothing, step 0, nothing, step 1.
    fn video() -> LocatedVideo {
        let rows = |kinds: &[usize]| {
            // What shows no step is unlike both.
            let hot = |kind: &usize| match *kind {
                2 => vec![-0.6, -0.6, 0.5],
                kind => (0..3).map(|k| f32::from(u8::from(k == kind))).collect(),
            };
            Features::new(3, kinds.iter().flat_map(|k| -> Vec<f32> { hot(k) }).collect()).unwrap()
        };
        LocatedVideo {
            texts: vec!["a".into(), "b".into()],
            steps: rows(&[0, 1]),
            seconds: rows(&[2, 2, 0, 0, 0, 2, 2, 1, 1, 2]),
            truth: vec![2..5, 7..9],
        }
    }

    #[test]
    fn what_is_right_is_counted_second_by_second_and_step_by_step() {
        let video = video();
        let exact = count(&video, &vec![Some(2..5), Some(7..9)]);
        let all = Counts { seconds: 10.0, right: 10.0, steps: 2.0, overlap: 2.0, hit: 2.0 };
        assert_eq!(exact, all);
        let none = count(&video, &vec![None, Some(2..5)]);
        assert_eq!((none.right, none.overlap, none.hit), (5.0, 0.0, 0.0));
        let halves = count(&video, &by_equal_parts(&video));
        assert_eq!((halves.right, halves.hit), (5.0, 2.0));
    }

    #[test]
    fn dropping_seconds_helps_where_nothing_is_shown() {
        let found = localise(&[video()], 1);
        let accuracy = |way: &str| found.ways[way].frame_accuracy.value;
        assert_eq!(accuracy("Drop-DTW"), 1.0);
        assert!(accuracy("plain DTW") < 1.0);
        assert!(by_dtw(&video()).iter().flatten().map(|r| r.len()).sum::<usize>() == 10);
    }
}
