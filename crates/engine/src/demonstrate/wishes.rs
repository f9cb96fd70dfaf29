//! What a person has decided about steps, and how the query keeps to it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use stitch_core::belief::Belief;
use stitch_core::clip::{Clip, ClipId, VideoId};
use stitch_core::map::{Match, StepMap, Steps, map, map_among};
use stitch_core::pool::Pool;

use super::copies::{self, Copies};
use super::{Choice, DemonstrateError, Interval};
use crate::library::Library;

/// A clip by what it is: its row in the pool changes when videos are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Place {
    /// The video's number in the library.
    pub video: u32,
    /// Where the clip begins.
    pub start_ms: u64,
    /// One past where it ends.
    pub end_ms: u64,
}

impl Place {
    /// The clips that are here: mostly one, none where it is gone.
    pub(super) fn clips(self, pool: &Pool) -> impl Iterator<Item = ClipId> {
        let clips = pool.of_video(VideoId(self.video)).map(|row| ClipId(row as u32));
        clips.filter(move |clip| Place::from(pool.clip(*clip)) == self)
    }
}

impl From<&Clip> for Place {
    fn from(clip: &Clip) -> Self {
        let (start_ms, end_ms) = (clip.span.start(), clip.span.end());
        Self { video: clip.video.0, start_ms, end_ms }
    }
}

impl From<&Choice> for Place {
    fn from(choice: &Choice) -> Self {
        let Interval { start_ms, end_ms } = choice.span;
        Self { video: choice.source.video, start_ms, end_ms }
    }
}

/// What stands at a step whatever the query finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fixed {
    /// This clip.
    Clip(Place),
    /// Nothing.
    Gap,
}

/// Other ends for the cut of a clip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trim {
    /// The clip; shown by another, the step is cut as usual.
    pub of: Place,
    /// What is cut out of its video.
    pub cut: Interval,
}

impl Trim {
    /// The shortest cut a person may ask for.
    pub const SHORTEST_MS: u64 = 300;

    /// The cut as far as the video goes; none where too little is left.
    pub fn within(&self, length_ms: u64) -> Option<Interval> {
        let Interval { start_ms, end_ms } = self.cut;
        let cut = Interval { start_ms, end_ms: end_ms.min(length_ms) };
        (cut.length_ms() >= Self::SHORTEST_MS).then_some(cut)
    }
}

/// What a person has decided about one step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Wish {
    /// What stands there.
    pub fixed: Option<Fixed>,
    /// Clips that must not show it.
    pub banned: BTreeSet<Place>,
    /// The only video that may show it, by number.
    pub source: Option<u32>,
    /// How its clip is cut.
    pub trim: Option<Trim>,
    /// Whether a fixed clip that does not show all of the step gets others beside it, as one that was found does.
    pub completed: bool,
}

/// What a person has decided, by step from 0.
pub type Wishes = BTreeMap<usize, Wish>;

impl Wish {
    /// Whether this clip is played alone.
    pub(super) fn shows_alone(&self, clip: Place) -> bool {
        let trimmed = self.trim.is_some_and(|trim| trim.of == clip);
        trimmed || self.fixed.is_some() && !self.completed
    }

    /// Whether a clip may be offered for the step at all.
    pub(super) fn allows(&self, clip: &Clip) -> bool {
        self.source.is_none_or(|only| only == clip.video.0)
            && !self.banned.contains(&Place::from(clip))
    }
}

/// A person is offered clips up to so much less likely than a step's best, in log-probability; chosen by
/// hand.
const MIN_OFFERED_MARGIN: f32 = 11.0;

/// What is a match.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// S: the most clips of a step.
    pub top: usize,
    /// How much less likely than a step's best clip a candidate may be, in log-probability.
    pub margin: f32,
}

/// M as the query uses it, and as it is offered: a fixed step has one match, others are still told.
pub(super) struct Kept {
    pub used: StepMap,
    /// Before unlikely matches and copies were left out.
    pub all: StepMap,
    pub offered: StepMap,
    pub copies: Copies,
}

impl Kept {
    /// Leaves one match for each piece of footage; what a person fixed stays.
    pub fn collapse(&mut self, pool: &Pool, library: &Library) {
        let offered = std::mem::take(&mut self.offered);
        (self.offered, self.copies) = copies::collapse(offered, pool, library);
        for (used, offered) in self.used.steps.iter_mut().zip(&self.offered.steps) {
            let kept = |found: &Match| offered.iter().any(|other| other.clip == found.clip);
            if used.len() > 1 {
                used.retain(kept);
            }
        }
    }
}

/// M within what the person has decided. `allowed` says which clips there are at all, `read_together` adds what the
/// cross-encoder says.
pub(super) fn map_within(
    steps: &Steps<'_>,
    pool: &Pool,
    allowed: impl Fn(ClipId) -> bool + Sync,
    model: &Belief,
    wishes: &Wishes,
    limits: Limits,
    read_together: impl Fn(&mut StepMap) -> Result<(), DemonstrateError>,
) -> Result<Kept, DemonstrateError> {
    let wish_of: Vec<Option<&Wish>> =
        (0..steps.texts.len()).map(|step| wishes.get(&step)).collect();
    let free = |step: usize, id: ClipId| {
        allowed(id) && wish_of[step].is_none_or(|wish| wish.allows(pool.clip(id)))
    };
    let mut all = map(steps, pool, free, model, limits.top)?;
    read_together(&mut all)?;
    let offered = all.within(limits.margin.max(MIN_OFFERED_MARGIN));
    let mut used = all.within(limits.margin);
    let fixed: Vec<usize> = (0..wish_of.len())
        .filter(|step| wish_of[*step].is_some_and(|wish| wish.fixed.is_some()))
        .collect();
    if !fixed.is_empty() {
        // However unlikely; a clip that is gone leaves a gap.
        let clips_of = |step: &usize| {
            let place = match wish_of[*step].and_then(|wish| wish.fixed) {
                Some(Fixed::Clip(place)) => Some(place),
                _ => None,
            };
            let clips = place.into_iter().flat_map(|place| place.clips(pool));
            clips.filter(|id| allowed(*id)).map(|id| (id, *step)).collect::<Vec<_>>()
        };
        let mut clips: Vec<(ClipId, usize)> = fixed.iter().flat_map(clips_of).collect();
        clips.sort_unstable();
        let mut found = map_among(&clips, steps, pool, model, limits.top)?;
        read_together(&mut found)?;
        fixed.iter().for_each(|step| used.steps[*step] = std::mem::take(&mut found.steps[*step]));
    }
    Ok(Kept { used, all, offered, copies: Copies::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibration::Calibration;
    use stitch_core::clip::Span;
    use stitch_core::features::Features;

    /// Two videos of two clips each; the first clip of each is what both steps ask for.
    fn pool() -> Pool {
        let clip = |video, start| Clip {
            video: VideoId(video),
            span: Span::new(start, start + 1000).unwrap(),
            text: "x".into(),
        };
        let clips = vec![clip(1, 0), clip(1, 5000), clip(2, 0), clip(2, 5000)];
        let rows = Features::new(2, vec![1.0, 0.0, 0.0, 1.0, 0.9, 0.1, 0.1, 0.9]).unwrap();
        Pool::new(clips, rows.clone(), rows).unwrap()
    }

    fn kept(wishes: Wishes) -> (Vec<Vec<u32>>, Vec<Vec<u32>>) {
        let pool = pool();
        let steps = Features::new(2, vec![1.0, 0.0, 1.0, 0.0]).unwrap();
        let texts = ["x".to_owned(), "x".to_owned()];
        let steps = Steps { texts: &texts, text: &steps, clip: &steps, context: None };
        let model = Calibration::of("narration").belief();
        let limits = Limits { top: 50, margin: 11.0 };
        let found =
            map_within(&steps, &pool, |_| true, &model, &wishes, limits, |_| Ok(())).unwrap();
        let rows = |map: StepMap| -> Vec<Vec<u32>> {
            map.steps.iter().map(|step| step.iter().map(|m| m.clip.0).collect()).collect()
        };
        (rows(found.used), rows(found.offered))
    }

    fn one(wish: Wish) -> Wishes {
        Wishes::from([(0, wish)])
    }

    fn place(video: u32, start_ms: u64) -> Place {
        Place { video, start_ms, end_ms: start_ms + 1000 }
    }

    #[test]
    fn a_fixed_step_has_its_clip_alone_and_is_still_offered_others() {
        let fixed = Some(Fixed::Clip(place(2, 5000)));
        let (used, offered) = kept(one(Wish { fixed, ..Wish::default() }));
        assert_eq!(used[0], [3], "however unlikely it is");
        assert!(used[1].len() > 1 && offered[0].starts_with(&[0, 2]));
        let (used, _) = kept(one(Wish { fixed: Some(Fixed::Gap), ..Wish::default() }));
        assert!(used[0].is_empty() && !used[1].is_empty());
        let gone = Some(Fixed::Clip(place(9, 0)));
        assert!(kept(one(Wish { fixed: gone, ..Wish::default() })).0[0].is_empty());
    }

    #[test]
    fn what_is_read_together_counts_for_found_and_for_fixed_clips() {
        let pool = pool();
        let steps = Features::new(2, vec![1.0, 0.0, 1.0, 0.0]).unwrap();
        let texts = ["x".to_owned(), "x".to_owned()];
        let steps = Steps { texts: &texts, text: &steps, clip: &steps, context: None };
        let model = Calibration::of("narration").belief();
        let wishes = one(Wish { fixed: Some(Fixed::Clip(place(2, 5000))), ..Wish::default() });
        let limits = Limits { top: 50, margin: 11.0 };
        let read = |map: &mut StepMap| {
            map.steps.iter_mut().flatten().for_each(|found| found.log_prob = -0.25);
            Ok(())
        };
        let found = map_within(&steps, &pool, |_| true, &model, &wishes, limits, read).unwrap();
        assert_eq!((found.used.steps[0].len(), found.used.steps[1].len()), (1, 4));
        let all = [&found.used, &found.all, &found.offered].map(|map| map.steps.concat());
        assert!(all.concat().iter().all(|found| found.log_prob == -0.25));
    }

    #[test]
    fn banned_clips_and_other_sources_are_neither_used_nor_offered() {
        let banned = [place(1, 0)].into();
        let (used, offered) = kept(one(Wish { banned, ..Wish::default() }));
        assert!(!used[0].contains(&0) && !offered[0].contains(&0));
        assert_eq!((used[0][0], used[1][0]), (2, 0));
        let (used, _) = kept(one(Wish { source: Some(2), ..Wish::default() }));
        assert!(used[0].iter().all(|row| *row >= 2) && used[1][0] == 0);
    }

    #[test]
    fn a_trim_stays_within_its_video_and_is_never_a_glimpse() {
        let trim = |start_ms, end_ms| Trim { of: place(1, 0), cut: Interval { start_ms, end_ms } };
        assert_eq!(trim(0, 9000).within(5000), Some(Interval { start_ms: 0, end_ms: 5000 }));
        assert_eq!(trim(4900, 9000).within(5000), None);
        assert_eq!(trim(3000, 2000).within(5000), None);
    }
}
