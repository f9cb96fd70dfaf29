//! Subject consistency at transitions: the similarity, max(0, cos), of the last picture of a clip and the
//! first of the next, in the candidate that each method ranks first.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};
use stitch_core::clip::{ClipId, VideoId};
use stitch_core::cover::Sequence;
use stitch_core::features::{Features, similarity};
use stitch_core::pool::Moment;
use stitch_engine::library::{Library, LibraryError};

use crate::suite::compare::Comparison;
use crate::suite::metrics::{Estimate, ratio};
use crate::suite::test_set::TestSet;

/// The first and the last picture of each clip, by row.
pub struct Edges {
    by: &'static str,
    first: Features,
    last: Features,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Consistency {
    /// What the edges are: `appearance`; `seconds` where the library has none; `clips` where only the mean of a
    /// clip is known.
    pub by: String,
    pub truth: Estimate,
    /// Of the candidate that each method ranks first.
    pub methods: BTreeMap<String, Estimate>,
}

impl Edges {
    /// By appearance, else by the mean of each clip.
    pub fn of_clips(set: &TestSet) -> Self {
        Self::of_appearance(set).unwrap_or_else(|| {
            let clips = set.seen.clip_features().to_features();
            Self { by: "clips", first: clips.clone(), last: clips }
        })
    }

    /// None unless it is known of every clip.
    fn of_appearance(set: &TestSet) -> Option<Self> {
        let rows = |moment| {
            let mut rows = Features::empty(set.seen.appearance_features()?.dim());
            for clip in (0..set.seen.len() as u32).map(ClipId) {
                rows.push(&set.seen.appearance(clip, moment)?);
            }
            Some(rows)
        };
        Some(Self { by: "appearance", first: rows(Moment::First)?, last: rows(Moment::Last)? })
    }

    /// By appearance, else by the first and last seconds of each clip.
    pub fn of_library(set: &TestSet, library: &Library) -> Result<Self, LibraryError> {
        if let Some(edges) = Self::of_appearance(set) {
            return Ok(edges);
        }
        let clips = set.seen.clip_features();
        let (first, last) = (Features::empty(clips.dim()), Features::empty(clips.dim()));
        let mut edges = Self { by: "seconds", first, last };
        let videos: BTreeSet<VideoId> = set.seen.clips().iter().map(|clip| clip.video).collect();
        let known: Result<HashMap<VideoId, Features>, LibraryError> =
            videos.into_iter().map(|video| Ok((video, library.seconds(video)?))).collect();
        let known = known?;
        for (row, clip) in set.seen.clips().iter().enumerate() {
            let seconds = &known[&clip.video];
            let second = |ms: u64| match (ms / 1000) as usize {
                at if at < seconds.len() => Cow::from(seconds.row(at)),
                _ => clips.row(row),
            };
            edges.first.push(&second(clip.span.start()));
            edges.last.push(&second(clip.span.end().saturating_sub(1)));
        }
        Ok(edges)
    }

    /// The sum over a sequence's transitions, and how many there are.
    fn of_sequence(&self, Sequence(clips): &Sequence) -> (f64, f64) {
        let shown: Vec<ClipId> = clips.iter().flatten().copied().collect();
        let alike = |pair: &[ClipId]| {
            let cosine = similarity(self.last.row(pair[0].row()), self.first.row(pair[1].row()));
            f64::from(cosine.max(0.0))
        };
        (shown.windows(2).map(alike).sum(), shown.len().saturating_sub(1) as f64)
    }
}

pub fn consistency(found: &Comparison, edges: &Edges, seed: u64) -> Consistency {
    let of = |first: &dyn Fn(usize) -> usize| {
        let questions = found.questions.iter().enumerate();
        let sums: Vec<_> =
            questions.map(|(at, q)| edges.of_sequence(&q.candidates[first(at)])).collect();
        ratio(&sums, 2000, seed)
    };
    let methods = found
        .methods
        .iter()
        .map(|method| (method.name.clone(), of(&|at| method.outcomes[at].first)));
    Consistency { by: edges.by.into(), methods: methods.collect(), truth: of(&|_| 0) }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::suite::fixture::{Made, test_set};

    #[test]
    fn a_transition_goes_from_the_end_of_a_clip_to_the_start_of_the_next() {
        let mut set = test_set(&Made { tasks: 1, videos: 1, steps: 2, seed: 1 });
        assert_eq!(Edges::of_clips(&set).by, "clips");
        // The first clip ends as the second begins; their means and other ends differ.
        let moments = [[1.0, 0.0], [0.6, 0.8], [0.0, 1.0], [0.0, 1.0], [0.8, 0.6], [1.0, 0.0]];
        set.seen = set.seen.with_appearance(Arc::new(Features::new(2, moments.concat()).unwrap()));
        let edges = Edges::of_clips(&set);
        assert_eq!(edges.by, "appearance");
        let shown = |clips: [u32; 2]| Sequence(clips.map(|clip| Some(ClipId(clip))).to_vec());
        assert_eq!(edges.of_sequence(&shown([0, 1])), (1.0, 1.0));
        assert_eq!(edges.of_sequence(&shown([0, 0])), (0.0, 1.0));
    }
}
