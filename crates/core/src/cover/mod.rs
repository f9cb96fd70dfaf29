//! V'_R: candidate sequences from few sources that together show every step.
//!
//! [`greedy`] is the paper's adaptive search-space reduction: set covers, each from other sources.
//! [`k_best`] is exact: the most likely sequences, less a cost for every change of source
//! and for every step back in time within a source.

mod graph;
mod suffix;
mod k_best;
mod sources;
mod greedy;

pub use greedy::greedy;
pub use k_best::{KBestOptions, k_best};

use crate::clip::{Clip, ClipId, VideoId};
use crate::pool::Pool;

/// V'_R: for each step its clip; none where nothing shows it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sequence(pub Vec<Option<ClipId>>);

impl From<&[ClipId]> for Sequence {
    /// One without gaps.
    fn from(clips: &[ClipId]) -> Self {
        Self(clips.iter().copied().map(Some).collect())
    }
}

impl Sequence {
    /// The steps that have a clip, with it.
    pub fn shown(&self) -> impl Iterator<Item = (usize, ClipId)> {
        self.0.iter().enumerate().filter_map(|(step, clip)| Some((step, (*clip)?)))
    }
}

/// How often a shown step's clip starts before the previous shown step's of the same source.
pub fn steps_back(sequence: &Sequence, pool: &Pool) -> usize {
    let clips: Vec<&Clip> = sequence.0.iter().flatten().map(|clip| pool.clip(*clip)).collect();
    let back = |a: &Clip, b: &Clip| a.video == b.video && b.span.start() < a.span.start();
    clips.windows(2).filter(|pair| back(pair[0], pair[1])).count()
}

/// How often the source changes from one shown step to the next.
pub fn source_changes(sequence: &Sequence, pool: &Pool) -> usize {
    let videos: Vec<VideoId> =
        sequence.0.iter().flatten().map(|clip| pool.clip(*clip).video).collect();
    videos.windows(2).filter(|pair| pair[0] != pair[1]).count()
}

/// How many clips stand between two of another source.
pub fn interrupted(clips: &[ClipId], pool: &Pool) -> usize {
    let between = |three: &&[ClipId]| {
        let [before, here, after] = [0, 1, 2].map(|i| pool.clip(three[i]).video);
        before == after && before != here
    };
    clips.windows(3).filter(between).count()
}

/// How many pairs of clips of one video are not in its order.
pub fn reversed(clips: &[ClipId], pool: &Pool) -> usize {
    let pairs =
        clips.iter().enumerate().flat_map(|(i, a)| clips[i + 1..].iter().map(move |b| (*a, *b)));
    let back = |(a, b): &(ClipId, ClipId)| {
        let (a, b) = (pool.clip(*a), pool.clip(*b));
        a.video == b.video && a.span.start() >= b.span.start()
    };
    pairs.filter(back).count()
}
