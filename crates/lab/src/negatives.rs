//! What a good demonstration is not: sequences that break one constraint each, made from one that
//! breaks none. The evaluator learns to tell them apart.
//!
//! A constraint counts as kept or broken against the sequence it was made from: [`faults`] counts how
//! often each is broken, and a negative is one where exactly its own count went up.

use std::collections::BTreeMap;

use rand::seq::{IndexedRandom, SliceRandom};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use stitch_core::clip::{ClipId, VideoId};
use stitch_core::cover::{Sequence, interrupted, reversed, source_changes};
use stitch_core::features::{Features, similarity};
use stitch_core::pool::Pool;

/// The three constraints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Constraint {
    /// Every clip shows its step.
    Correctness,
    /// One source serves as long as it can: the source changes seldom, and never for a single clip.
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
    /// Changes from one source to another.
    pub changes: usize,
    /// Clips between two of another source.
    pub interrupted: usize,
    /// Pairs of clips of one video in the wrong order.
    pub reversed: usize,
}

impl Faults {
    /// Which constraints are broken more often than they were.
    pub fn broken_since(self, was: Self) -> Vec<Constraint> {
        let more = |constraint: &Constraint| match constraint {
            Constraint::Correctness => self.wrong > was.wrong,
            Constraint::Continuity => {
                self.changes > was.changes || self.interrupted > was.interrupted
            }
            Constraint::State => self.reversed > was.reversed,
        };
        Constraint::ALL.into_iter().filter(more).collect()
    }
}

impl Ground<'_> {
    /// The similarity of a step's text to a clip's.
    pub fn similarity(&self, step: usize, clip: ClipId) -> f32 {
        similarity(self.steps.row(step), self.pool.text_features().row(clip.row()))
    }

    /// Counts what is wrong with a sequence.
    pub fn faults(&self, clips: &[ClipId]) -> Faults {
        let wrong = clips.iter().enumerate().filter(|(i, c)| self.similarity(*i, **c) < self.shows);
        let changes = source_changes(&Sequence::from(clips), self.pool);
        let (interrupted, reversed) = (interrupted(clips, self.pool), reversed(clips, self.pool));
        Faults { wrong: wrong.count(), changes, interrupted, reversed }
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
    breaking(Constraint::Correctness, positive, changes, ground, random)
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
    breaking(Constraint::Continuity, positive, changes, ground, random)
}

/// Two steps get clips of one video in the wrong order, both still showing their steps. So that no source
/// interrupts another, the steps between may get clips of that video too.
pub fn state(
    positive: &[ClipId],
    ground: &Ground<'_>,
    random: &mut ChaCha8Rng,
) -> Option<Vec<ClipId>> {
    let mut changes = Vec::new();
    for shown in shown_by_video(ground).values() {
        let of_step = |(step, clips): (&usize, &Vec<ClipId>)| -> Change {
            clips.iter().map(|clip| (*step, *clip)).collect()
        };
        let all: Change = shown.iter().flat_map(of_step).collect();
        let after = |a: (usize, ClipId)| all.iter().filter(move |b| a.0 < b.0);
        let pairs = all.iter().flat_map(|a| after(*a).map(|b| vec![*a, *b]));
        changes.extend(pairs.filter(|pair| goes_back(pair, ground.pool)));
        for first in shown.keys() {
            let stretch =
                (*first..).map_while(|step| Some((step, *shown.get(&step)?.choose(random)?)));
            let stretch: Change = stretch.collect();
            let parts = (3..=stretch.len()).map(|steps| &stretch[..steps]);
            changes.extend(parts.filter(|part| goes_back(part, ground.pool)).map(<[_]>::to_vec));
        }
    }
    breaking(Constraint::State, positive, changes, ground, random)
}

/// The clips that show each step, by video.
fn shown_by_video(ground: &Ground<'_>) -> BTreeMap<VideoId, BTreeMap<usize, Vec<ClipId>>> {
    let mut shown: BTreeMap<VideoId, BTreeMap<usize, Vec<ClipId>>> = BTreeMap::new();
    for (step, clips) in ground.showing.iter().enumerate() {
        for clip in clips {
            shown.entry(ground.source(*clip)).or_default().entry(step).or_default().push(*clip);
        }
    }
    shown
}

/// Whether a clip of one video stands before an earlier one.
fn goes_back(change: &[(usize, ClipId)], pool: &Pool) -> bool {
    let start = |of: &(usize, ClipId)| pool.clip(of.1).span.start();
    change.windows(2).any(|pair| start(&pair[0]) > start(&pair[1]))
}

/// Clips put in other places.
type Change = Vec<(usize, ClipId)>;

/// The first of the changes, in an order by chance, that breaks this constraint and no other.
fn breaking(
    constraint: Constraint,
    positive: &[ClipId],
    mut changes: Vec<Change>,
    ground: &Ground<'_>,
    random: &mut ChaCha8Rng,
) -> Option<Vec<ClipId>> {
    let was = ground.faults(positive);
    changes.shuffle(random);
    changes.into_iter().find_map(|change| {
        let mut clips = positive.to_vec();
        change.into_iter().for_each(|(place, clip)| clips[place] = clip);
        (ground.faults(&clips).broken_since(was) == [constraint]).then_some(clips)
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

    #[test]
    fn each_kind_can_be_made() {
        // The second video does 2 before 0, and 1 in between.
        let some = [true, true, false];
        let case = Case::new(&[vec![0, 1, 4, 2, 0, 3], vec![2, 1, 0, 4], vec![4, 1]], &some);
        let ground = case.ground();
        for constraint in Constraint::ALL {
            let mut random = ChaCha8Rng::seed_from_u64(7);
            let found = negative(constraint, &case.positive, &ground, &mut random);
            let clips = found.unwrap_or_else(|| panic!("{constraint:?}"));
            let broken = ground.faults(&clips).broken_since(ground.faults(&case.positive));
            assert_eq!(broken, [constraint]);
        }
    }

    #[test]
    fn a_whole_video_in_another_order_breaks_only_the_order() {
        // No two clips of the second video alone could stand in the first without a change of source.
        let case = Case::new(&[vec![0, 1, 2], vec![2, 1, 0]], &[]);
        let mut random = ChaCha8Rng::seed_from_u64(3);
        let clips = state(&case.positive, &case.ground(), &mut random);
        assert_eq!(clips, Some(vec![ClipId(5), ClipId(4), ClipId(3)]));
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
            for constraint in Constraint::ALL {
                let make = || {
                    let mut random = ChaCha8Rng::seed_from_u64(seed);
                    negative(constraint, &case.positive, &ground, &mut random)
                };
                let found = make();
                prop_assert_eq!(&found, &make(), "the same for the same seed");
                if let Some(clips) = found {
                    prop_assert_ne!(&clips, &case.positive);
                    prop_assert_eq!(ground.faults(&clips).broken_since(was), vec![constraint]);
                }
            }
        }
    }
}
