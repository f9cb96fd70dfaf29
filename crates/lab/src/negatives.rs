//! Negatives: sequences that break one constraint of a good demonstration each, made from a positive.
//!
//! Violations are counted against the positive: a negative of a constraint is a sequence in which the count
//! of that constraint, and of no other, went up.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rand::RngExt;
use rand::seq::{IndexedRandom, SliceRandom};
use rand_chacha::ChaCha8Rng;
use stitch_core::clip::{ClipId, VideoId};
use stitch_core::cover::{Sequence, interrupted, reversed, source_changes};
use stitch_core::features::{Features, similarity};
use stitch_core::pool::Pool;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Constraint {
    /// Every clip shows its step.
    Correctness,
    /// The source changes as seldom as possible, and never for a single clip.
    Continuity,
    /// Clips of one video keep its order, so that what is cut stays cut.
    State,
}

impl Constraint {
    pub const ALL: [Self; 3] = [Self::Correctness, Self::Continuity, Self::State];
}

/// A procedure's steps and the clips that negatives are made of.
pub struct NegativeContext<'a> {
    pub pool: &'a Pool,
    /// The clips that show the steps.
    pub positive: &'a [ClipId],
    /// The steps by the sentence encoder.
    pub steps: &'a Features,
    /// For each step clips that show it, of videos that may be used.
    pub showing: &'a [Vec<ClipId>],
    /// The clips of each video that may be used, by start.
    pub videos: &'a HashMap<VideoId, Vec<ClipId>>,
    /// From this similarity of texts on a clip shows a step.
    pub shows: f32,
    /// Below this similarity it does not.
    pub unlike: f32,
}

/// How often a sequence breaks each constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violations {
    /// Clips that do not show their step.
    pub wrong: usize,
    /// Changes from one source to another.
    pub changes: usize,
    /// Clips between two of another source.
    pub interrupted: usize,
    /// Pairs of clips of one video in the wrong order.
    pub reversed: usize,
}

impl Violations {
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

impl NegativeContext<'_> {
    pub fn similarity(&self, step: usize, clip: ClipId) -> f32 {
        similarity(self.steps.row(step), &self.pool.text_features().row(clip.row()))
    }

    pub fn violations(&self, clips: &[ClipId]) -> Violations {
        let wrong = clips.iter().enumerate().filter(|(i, c)| self.similarity(*i, **c) < self.shows);
        let changes = source_changes(&Sequence::from(clips), self.pool);
        let (interrupted, reversed) = (interrupted(clips, self.pool), reversed(clips, self.pool));
        Violations { wrong: wrong.count(), changes, interrupted, reversed }
    }

    fn source(&self, clip: ClipId) -> VideoId {
        self.pool.clip(clip).video
    }

    /// A sequence that breaks this constraint and no other: the first such change of the positive, in
    /// random order. None where the pool has none.
    pub fn negative(&self, constraint: Constraint, random: &mut ChaCha8Rng) -> Option<Vec<ClipId>> {
        let mut changes = match constraint {
            Constraint::Correctness => self.wrong_clips(),
            Constraint::Continuity => self.foreign_clips(),
            Constraint::State => self.reversals(random),
        };
        let was = self.violations(self.positive);
        changes.shuffle(random);
        changes.into_iter().find_map(|change| {
            let mut clips = self.positive.to_vec();
            change.into_iter().for_each(|(place, clip)| clips[place] = clip);
            (self.violations(&clips).broken_since(was) == [constraint]).then_some(clips)
        })
    }

    /// One clip replaced by one that does not show the step, from a video that already contributes.
    fn wrong_clips(&self) -> Vec<Change> {
        let sources: BTreeSet<VideoId> =
            self.positive.iter().map(|clip| self.source(*clip)).collect();
        let others = sources.iter().filter_map(|video| self.videos.get(video)).flatten();
        let wrong = |place: usize| {
            let unlike = move |clip: &&ClipId| self.similarity(place, **clip) < self.unlike;
            others.clone().filter(unlike).map(move |clip| vec![(place, *clip)])
        };
        (0..self.positive.len()).flat_map(wrong).collect()
    }

    /// The middle one of three clips of one source replaced by one of another that does show the step.
    fn foreign_clips(&self) -> Vec<Change> {
        let source = |place: usize| self.source(self.positive[place]);
        let is_middle = |place: &usize| {
            source(place - 1) == source(*place) && source(*place) == source(place + 1)
        };
        let middles = (1..self.positive.len().saturating_sub(1)).filter(is_middle);
        let foreign = |place: usize| {
            let foreign = move |clip: &&ClipId| self.source(**clip) != source(place);
            self.showing[place].iter().filter(foreign).map(move |clip| vec![(place, *clip)])
        };
        middles.flat_map(foreign).collect()
    }

    /// Two steps get clips of one video in the wrong order, both still showing their steps. The steps
    /// between may get clips of that video too, so that no source interrupts another.
    fn reversals(&self, random: &mut ChaCha8Rng) -> Vec<Change> {
        let mut changes = Vec::new();
        for shown in self.shown_by_video().values() {
            let of_step = |(step, clips): (&usize, &Vec<ClipId>)| -> Change {
                clips.iter().map(|clip| (*step, *clip)).collect()
            };
            let all: Change = shown.iter().flat_map(of_step).collect();
            let after = |a: (usize, ClipId)| all.iter().filter(move |b| a.0 < b.0);
            let pairs = all.iter().flat_map(|a| after(*a).map(|b| vec![*a, *b]));
            changes.extend(pairs.filter(|pair| self.goes_back(pair)));
            for first in shown.keys() {
                let stretch =
                    (*first..).map_while(|step| Some((step, *shown.get(&step)?.choose(random)?)));
                let stretch: Change = stretch.collect();
                let parts = (3..=stretch.len()).map(|steps| &stretch[..steps]);
                changes.extend(parts.filter(|part| self.goes_back(part)).map(<[_]>::to_vec));
            }
        }
        changes
    }

    /// For each video the clips that show each step.
    fn shown_by_video(&self) -> BTreeMap<VideoId, BTreeMap<usize, Vec<ClipId>>> {
        let mut shown: BTreeMap<VideoId, BTreeMap<usize, Vec<ClipId>>> = BTreeMap::new();
        for (step, clips) in self.showing.iter().enumerate() {
            for clip in clips {
                let video = shown.entry(self.source(*clip)).or_default();
                video.entry(step).or_default().push(*clip);
            }
        }
        shown
    }

    /// Whether a clip comes before an earlier one of the same video.
    fn goes_back(&self, change: &[(usize, ClipId)]) -> bool {
        !change.is_sorted_by_key(|(_, clip)| self.pool.clip(*clip).span.start())
    }
}

/// Further negatives, for collections whose videos are too short or too few for those above. These may break
/// several constraints.
impl NegativeContext<'_> {
    /// Two clips change places.
    pub fn swapped(&self, random: &mut ChaCha8Rng) -> Option<Vec<ClipId>> {
        let count = self.positive.len();
        if count < 2 {
            return None;
        }
        let (a, b) = (random.random_range(0..count), random.random_range(1..count));
        let mut clips = self.positive.to_vec();
        clips.swap(a, (a + b) % count);
        (clips != self.positive).then_some(clips)
    }

    /// One clip is any other of these whose text is unlike the step.
    pub fn wrong(&self, clips: &[ClipId], random: &mut ChaCha8Rng) -> Option<Vec<ClipId>> {
        let place = random.random_range(0..self.positive.len().max(1));
        let draw = |_| clips.choose(random).copied();
        let unlike = |clip: &ClipId| self.similarity(place, *clip) < self.unlike;
        let other = (0..MAX_DRAWS).filter_map(draw).find(unlike)?;
        let mut clips = self.positive.to_vec();
        *clips.get_mut(place)? = other;
        Some(clips)
    }

    /// The clips of another video of the task, evenly spaced, or random clips of the task.
    pub fn elsewhere(&self, task: &[VideoId], random: &mut ChaCha8Rng) -> Option<Vec<ClipId>> {
        let of = |video: &VideoId| self.videos.get(video).filter(|clips| !clips.is_empty());
        let known: Vec<&Vec<ClipId>> = task.iter().filter_map(of).collect();
        let steps = self.positive.len();
        let clips: Option<Vec<ClipId>> = if random.random_range(0..2) == 0 {
            let video = known.choose(random)?;
            Some((0..steps).map(|step| video[step * video.len() / steps]).collect())
        } else {
            (0..steps).map(|_| known.choose(random)?.choose(random).copied()).collect()
        };
        clips.filter(|clips| clips != self.positive)
    }
}

/// Draws of a clip that is unlike its step; chosen by hand.
const MAX_DRAWS: usize = 20;

/// Replacements: a step and its new clip each.
type Change = Vec<(usize, ClipId)>;

#[cfg(test)]
mod tests {
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
                    similarity(steps.row(step), &pool.text_features().row(c.row())) > 0.9
                };
                all.clone().filter(near).collect()
            };
            let showing = (0..steps.len()).map(shows).collect();
            let positive = used.iter().map(|at| by_video[&VideoId(0)][*at]).collect();
            Self { pool, steps, videos: by_video, showing, positive }
        }

        fn context(&self) -> NegativeContext<'_> {
            NegativeContext {
                pool: &self.pool,
                positive: &self.positive,
                steps: &self.steps,
                showing: &self.showing,
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
        let context = case.context();
        for constraint in Constraint::ALL {
            let mut random = ChaCha8Rng::seed_from_u64(7);
            let found = context.negative(constraint, &mut random);
            let clips = found.unwrap_or_else(|| panic!("{constraint:?}"));
            let broken =
                context.violations(&clips).broken_since(context.violations(&case.positive));
            assert_eq!(broken, [constraint]);
        }
    }

    #[test]
    fn a_whole_video_in_another_order_breaks_only_the_order() {
        // No two clips of the second video alone could stand in the first without a change of source.
        let case = Case::new(&[vec![0, 1, 2], vec![2, 1, 0]], &[]);
        let mut random = ChaCha8Rng::seed_from_u64(3);
        let clips = case.context().negative(Constraint::State, &mut random);
        assert_eq!(clips, Some(vec![ClipId(5), ClipId(4), ClipId(3)]));
    }

    #[test]
    fn where_nothing_can_be_broken_there_is_no_negative() {
        let case = Case::new(&[vec![0]], &[]);
        let mut random = ChaCha8Rng::seed_from_u64(1);
        for constraint in Constraint::ALL {
            assert_eq!(case.context().negative(constraint, &mut random), None);
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
            let context = case.context();
            let was = context.violations(&case.positive);
            for constraint in Constraint::ALL {
                let make = || {
                    let mut random = ChaCha8Rng::seed_from_u64(seed);
                    context.negative(constraint, &mut random)
                };
                let found = make();
                prop_assert_eq!(&found, &make(), "the same for the same seed");
                if let Some(clips) = found {
                    prop_assert_ne!(&clips, &case.positive);
                    prop_assert_eq!(context.violations(&clips).broken_since(was), vec![constraint]);
                }
            }
        }
    }
}
