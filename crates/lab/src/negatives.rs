//! What a good demonstration is not: sequences that break one constraint each, made from one that
//! breaks none. The evaluator learns to tell them apart.
//!
//! A constraint counts as kept or broken against the sequence it was made from: [`faults`] counts how
//! often each is broken, and a negative is one where exactly its own count went up.

use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use stitch_core::clip::{ClipId, VideoId};
use stitch_core::cover::{interrupted, reversed};
use stitch_core::features::{Features, similarity};
use stitch_core::pool::Pool;

/// The three constraints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Constraint {
    /// Every clip shows its step.
    Correctness,
    /// One source serves as long as it can: no clip of another between two of the same.
    Continuity,
    /// Clips of one video stand in the order of that video, so that what is cut stays cut.
    State,
}

impl Constraint {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Correctness, Self::Continuity, Self::State];
}

/// What is known of a procedure's steps and the clips of a pool.
pub struct Ground<'a> {
    /// All clips.
    pub pool: &'a Pool,
    /// The steps' texts, by the sentence encoder.
    pub steps: &'a Features,
    /// For each step clips that show it, of videos that may be used.
    pub showing: Vec<Vec<ClipId>>,
    /// The clips of each video that may be used, by start.
    pub videos: &'a std::collections::HashMap<VideoId, Vec<ClipId>>,
    /// From which similarity of texts on a clip shows a step.
    pub shows: f32,
    /// Below which similarity it surely does not.
    pub unlike: f32,
}

/// How often a sequence breaks each constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Faults {
    /// Clips that do not show their step.
    pub wrong: usize,
    /// Clips between two of another source.
    pub interrupted: usize,
    /// Pairs of clips of one video in the wrong order.
    pub reversed: usize,
}

impl Ground<'_> {
    /// The similarity of a step's text to a clip's.
    pub fn similarity(&self, step: usize, clip: ClipId) -> f32 {
        similarity(self.steps.row(step), self.pool.text_features().row(clip.row()))
    }

    /// Counts what is wrong with a sequence.
    pub fn faults(&self, clips: &[ClipId]) -> Faults {
        let wrong = clips.iter().enumerate().filter(|(i, c)| self.similarity(*i, **c) < self.shows);
        let (interrupted, reversed) = (interrupted(clips, self.pool), reversed(clips, self.pool));
        Faults { wrong: wrong.count(), interrupted, reversed }
    }

    fn source(&self, clip: ClipId) -> VideoId {
        self.pool.clip(clip).video
    }
}

/// A sequence that breaks this constraint and no other; none where the pool has none.
pub fn negative(
    constraint: Constraint,
    positive: &[ClipId],
    ground: &Ground<'_>,
    random: &mut ChaCha8Rng,
) -> Option<Vec<ClipId>> {
    match constraint {
        Constraint::Correctness => correctness(positive, ground, random),
        Constraint::Continuity => continuity(positive, ground, random),
        Constraint::State => state(positive, ground, random),
    }
}

/// One clip replaced by one that does not show the step, from a video that already contributes.
pub fn correctness(
    positive: &[ClipId],
    ground: &Ground<'_>,
    random: &mut ChaCha8Rng,
) -> Option<Vec<ClipId>> {
    let mut sources: Vec<VideoId> = positive.iter().map(|clip| ground.source(*clip)).collect();
    sources.sort_unstable();
    sources.dedup();
    let others: Vec<ClipId> =
        sources.iter().filter_map(|video| ground.videos.get(video)).flatten().copied().collect();
    let unlike = |place: usize| {
        let unlike = move |clip: &ClipId| ground.similarity(place, *clip) < ground.unlike;
        others.iter().copied().filter(unlike).map(move |clip| vec![(place, clip)])
    };
    let changes = (0..positive.len()).flat_map(unlike).collect();
    first_that(positive, changes, ground, random, |was, is| {
        is.wrong == was.wrong + 1
            && is.interrupted <= was.interrupted
            && is.reversed <= was.reversed
    })
}

/// The middle one of three clips of one source replaced by one of another that does show the step.
pub fn continuity(
    positive: &[ClipId],
    ground: &Ground<'_>,
    random: &mut ChaCha8Rng,
) -> Option<Vec<ClipId>> {
    let middle = |place: &usize| {
        let source = |place: usize| ground.source(positive[place]);
        source(place - 1) == source(*place) && source(*place) == source(place + 1)
    };
    let middles = (1..positive.len().saturating_sub(1)).filter(middle);
    let elsewhere = |place: usize| {
        let foreign = move |clip: &ClipId| ground.source(*clip) != ground.source(positive[place]);
        ground.showing[place].iter().copied().filter(foreign).map(move |clip| vec![(place, clip)])
    };
    let changes = middles.flat_map(elsewhere).collect();
    first_that(positive, changes, ground, random, |was, is| {
        is.interrupted > was.interrupted && is.wrong <= was.wrong && is.reversed <= was.reversed
    })
}

/// Two steps get clips of one video in the wrong order, both still showing their steps.
pub fn state(
    positive: &[ClipId],
    ground: &Ground<'_>,
    random: &mut ChaCha8Rng,
) -> Option<Vec<ClipId>> {
    let mut changes = Vec::new();
    for earlier in 0..positive.len() {
        for later in earlier + 1..positive.len() {
            for &a in &ground.showing[earlier] {
                let before = |b: &&ClipId| {
                    let (a, b) = (ground.pool.clip(a), ground.pool.clip(**b));
                    a.video == b.video && b.span.start() < a.span.start()
                };
                let pairs = ground.showing[later].iter().filter(before);
                changes.extend(pairs.map(|b| vec![(earlier, a), (later, *b)]));
            }
        }
    }
    first_that(positive, changes, ground, random, |was, is| {
        is.reversed > was.reversed && is.wrong <= was.wrong && is.interrupted <= was.interrupted
    })
}

/// Clips put in other places.
type Change = Vec<(usize, ClipId)>;

/// The first change, in an order by chance, after which the faults are as asked.
fn first_that(
    positive: &[ClipId],
    mut changes: Vec<Change>,
    ground: &Ground<'_>,
    random: &mut ChaCha8Rng,
    asked: impl Fn(Faults, Faults) -> bool,
) -> Option<Vec<ClipId>> {
    let was = ground.faults(positive);
    changes.shuffle(random);
    changes.into_iter().find_map(|change| {
        let mut clips = positive.to_vec();
        change.into_iter().for_each(|(place, clip)| clips[place] = clip);
        asked(was, ground.faults(&clips)).then_some(clips)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;
    use rand_chacha::rand_core::SeedableRng;
    use stitch_core::clip::{Clip, Span};

    use super::*;

    const KINDS: usize = 5;

    fn one_hot(kind: usize) -> Vec<f32> {
        (0..KINDS).map(|k| f32::from(u8::from(k == kind))).collect()
    }

    /// Videos as lists of kinds of steps; a procedure as kinds; the positive by first clips found.
    struct Case {
        pool: Pool,
        steps: Features,
        videos: HashMap<VideoId, Vec<ClipId>>,
        showing: Vec<Vec<ClipId>>,
        positive: Vec<ClipId>,
    }

    impl Case {
        /// The positive is some clips of the first video; the procedure is what they show.
        fn new(videos: &[Vec<usize>], some: &[bool]) -> Self {
            let (mut clips, mut rows) = (Vec::new(), Features::empty(KINDS));
            let mut by_video: HashMap<VideoId, Vec<ClipId>> = HashMap::new();
            for (video, kinds) in videos.iter().enumerate() {
                for (at, kind) in kinds.iter().enumerate() {
                    let id = VideoId(video as u32);
                    by_video.entry(id).or_default().push(ClipId(clips.len() as u32));
                    let span = Span::new(at as u64 * 1000, at as u64 * 1000 + 900).unwrap();
                    clips.push(Clip { video: id, span, text: format!("{kind}") });
                    rows.push(&one_hot(*kind));
                }
            }
            let places = 0..videos[0].len();
            let used: Vec<usize> =
                places.filter(|at| some.get(*at).copied().unwrap_or(true)).collect();
            let mut steps = Features::empty(KINDS);
            used.iter().for_each(|at| steps.push(&one_hot(videos[0][*at])));
            let pool = Pool::new(clips, rows.clone(), rows).unwrap();
            let all = (0..pool.len() as u32).map(ClipId);
            let shows = |step: usize| {
                let near = |c: &ClipId| {
                    similarity(steps.row(step), pool.text_features().row(c.row())) > 0.9
                };
                all.clone().filter(near).collect()
            };
            let showing = (0..steps.len()).map(shows).collect();
            let positive = used.iter().map(|at| by_video[&VideoId(0)][*at]).collect();
            Self { pool, steps, videos: by_video, showing, positive }
        }

        fn ground(&self) -> Ground<'_> {
            Ground {
                pool: &self.pool,
                steps: &self.steps,
                showing: self.showing.clone(),
                videos: &self.videos,
                shows: 0.9,
                unlike: 0.1,
            }
        }
    }

    fn broken(was: Faults, is: Faults) -> [bool; 3] {
        [is.wrong > was.wrong, is.interrupted > was.interrupted, is.reversed > was.reversed]
    }

    #[test]
    fn each_kind_can_be_made() {
        // The second video does 2 before 0, and 1 in between.
        let some = [true, true, false];
        let case = Case::new(&[vec![0, 1, 4, 2, 0, 3], vec![2, 1, 0, 4], vec![4, 1]], &some);
        let ground = case.ground();
        for (number, constraint) in Constraint::ALL.into_iter().enumerate() {
            let mut random = ChaCha8Rng::seed_from_u64(7);
            let found = negative(constraint, &case.positive, &ground, &mut random);
            let clips = found.unwrap_or_else(|| panic!("{constraint:?}"));
            let broken = broken(ground.faults(&case.positive), ground.faults(&clips));
            assert_eq!(broken, [0, 1, 2].map(|i| i == number), "{constraint:?}");
        }
    }

    #[test]
    fn where_nothing_can_be_broken_there_is_no_negative() {
        let case = Case::new(&[vec![0]], &[]);
        let mut random = ChaCha8Rng::seed_from_u64(1);
        for constraint in Constraint::ALL {
            assert_eq!(negative(constraint, &case.positive, &case.ground(), &mut random), None);
        }
    }

    proptest! {
        #[test]
        fn a_negative_breaks_its_constraint_and_no_other(
            videos in prop::collection::vec(prop::collection::vec(0..KINDS, 1..7), 1..5),
            some in prop::collection::vec(any::<bool>(), 0..7),
            seed in 0u64..20,
        ) {
            let case = Case::new(&videos, &some);
            let ground = case.ground();
            let was = ground.faults(&case.positive);
            for (number, constraint) in Constraint::ALL.into_iter().enumerate() {
                let make = || {
                    let mut random = ChaCha8Rng::seed_from_u64(seed);
                    negative(constraint, &case.positive, &ground, &mut random)
                };
                let found = make();
                prop_assert_eq!(&found, &make(), "the same for the same seed");
                if let Some(clips) = found {
                    prop_assert_ne!(&clips, &case.positive);
                    let broken = broken(was, ground.faults(&clips));
                    prop_assert_eq!(broken, [0, 1, 2].map(|i| i == number));
                }
            }
        }
    }
}
