//! What a person has decided about steps, and how the query keeps to it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use stitch_core::clip::{Clip, ClipId};
use stitch_core::map::{MapError, Match, StepMap};
use stitch_core::pool::Pool;

use super::copies::{self, Copies};
use super::{Choice, Interval, Options, step_map_where};
use crate::calibration::Calibration;
use crate::library::Library;
use crate::scorer::Query;

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
}

/// What a person has decided, by step from 0.
pub type Wishes = BTreeMap<usize, Wish>;

impl Wish {
    /// Whether a clip may be offered for the step at all.
    fn allows(&self, clip: &Clip) -> bool {
        self.source.is_none_or(|only| only == clip.video.0)
            && !self.banned.contains(&Place::from(clip))
    }
}

/// M as the query uses it, and as it is offered: a fixed step has one match, others are still told.
pub(super) struct Kept {
    pub used: StepMap,
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

/// What the maps are made of.
pub(super) struct Mapper<'a, A: Fn(ClipId) -> bool> {
    pub query: &'a Query<'a>,
    pub pool: &'a Pool,
    pub allowed: A,
    pub calibration: &'a Calibration,
    pub options: &'a Options,
}

impl<A: Fn(ClipId) -> bool> Mapper<'_, A> {
    /// M within what the person has decided.
    pub fn map(&self) -> Result<Kept, MapError> {
        let mut used = self.among(|_, _| true, self.options.threshold)?;
        let mut offered = used.clone();
        if self.options.near_misses && offered.steps.iter().any(Vec::is_empty) {
            let missing = |step: usize, _: &Clip| used.steps[step].is_empty();
            let near = self.among(missing, Some(0.0))?;
            offered.steps.iter_mut().zip(near.steps).for_each(|(step, near)| step.extend(near));
        }
        if self.wishes().any(|(_, wish)| wish.fixed.is_some()) {
            self.fix(&mut used)?;
        }
        Ok(Kept { used, offered, copies: Copies::default() })
    }

    /// Leaves fixed steps what they are fixed to, however unlikely; a clip that is gone leaves a gap.
    fn fix(&self, used: &mut StepMap) -> Result<(), MapError> {
        let clip_of = |step: usize| match self.options.wishes.get(&step)?.fixed? {
            Fixed::Clip(place) => Some(place),
            Fixed::Gap => None,
        };
        let surely = |step: usize, clip: &Clip| clip_of(step) == Some(Place::from(clip));
        let mut fixed = self.map_where(surely, Some(0.0))?;
        for (step, _) in self.wishes().filter(|(_, wish)| wish.fixed.is_some()) {
            used.steps[step] = std::mem::take(&mut fixed.steps[step]);
        }
        Ok(())
    }

    /// M of the clips that are neither banned nor of another source than the one wanted.
    fn among(
        &self,
        may: impl Fn(usize, &Clip) -> bool,
        threshold: Option<f32>,
    ) -> Result<StepMap, MapError> {
        let wishes: Vec<_> =
            (0..self.query.texts.len()).map(|step| self.options.wishes.get(&step)).collect();
        let allows = |step: usize, clip: &Clip| wishes[step].is_none_or(|wish| wish.allows(clip));
        self.map_where(|step, clip| may(step, clip) && allows(step, clip), threshold)
    }

    fn map_where(
        &self,
        may: impl Fn(usize, &Clip) -> bool,
        threshold: Option<f32>,
    ) -> Result<StepMap, MapError> {
        let options = Options { threshold, ..self.options.clone() };
        let allowed = |step, id| may(step, self.pool.clip(id)) && (self.allowed)(id);
        step_map_where(self.query, self.pool, allowed, self.calibration, &options)
    }

    /// What was decided about steps that there are.
    fn wishes(&self) -> impl Iterator<Item = (usize, &Wish)> {
        let steps = self.query.texts.len();
        self.options.wishes.range(..steps).map(|(step, wish)| (*step, wish))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scorer::Query;
    use stitch_core::clip::{Span, VideoId};
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

    fn kept(wishes: Wishes, threshold: f32) -> (Vec<Vec<u32>>, Vec<Vec<u32>>) {
        let pool = pool();
        let steps = Features::new(2, vec![1.0, 0.0, 1.0, 0.0]).unwrap();
        let texts = ["x".to_owned(), "x".to_owned()];
        let query = Query { texts: &texts, text: &steps, clip: &steps, map: None };
        let threshold = Some(threshold);
        let options = Options { wishes, near_misses: true, threshold, ..Options::default() };
        let calibration = Calibration::of("narration");
        let mapper = Mapper {
            query: &query,
            pool: &pool,
            allowed: |_| true,
            calibration,
            options: &options,
        };
        let Kept { used, offered, .. } = mapper.map().unwrap();
        let rows = |map: StepMap| -> Vec<Vec<u32>> {
            map.steps.iter().map(|step| step.iter().map(|m| m.clip.0).collect()).collect()
        };
        (rows(used), rows(offered))
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
        let (used, offered) = kept(one(Wish { fixed, ..Wish::default() }), 0.0);
        assert_eq!(used[0], [3], "however unlikely it is");
        assert!(used[1].len() > 1 && offered[0].starts_with(&[0, 2]));
        let (used, _) = kept(one(Wish { fixed: Some(Fixed::Gap), ..Wish::default() }), 0.0);
        assert!(used[0].is_empty() && !used[1].is_empty());
        let gone = Some(Fixed::Clip(place(9, 0)));
        assert!(kept(one(Wish { fixed: gone, ..Wish::default() }), 0.0).0[0].is_empty());
    }

    #[test]
    fn banned_clips_and_other_sources_are_neither_used_nor_offered() {
        let banned = [place(1, 0)].into();
        let (used, offered) = kept(one(Wish { banned, ..Wish::default() }), 0.0);
        assert!(!used[0].contains(&0) && !offered[0].contains(&0));
        assert_eq!((used[0][0], used[1][0]), (2, 0));
        let (used, _) = kept(one(Wish { source: Some(2), ..Wish::default() }), 0.0);
        assert!(used[0].iter().all(|row| *row >= 2) && used[1][0] == 0);
    }

    #[test]
    fn a_gap_is_offered_what_comes_nearest() {
        let (used, offered) = kept(Wishes::new(), 1.0);
        assert_eq!(used, [[0u32; 0], []]);
        assert_eq!(offered[0][..2], [0, 2]);
    }

    #[test]
    fn a_trim_stays_within_its_video_and_is_never_a_glimpse() {
        let trim = |start_ms, end_ms| Trim { of: place(1, 0), cut: Interval { start_ms, end_ms } };
        assert_eq!(trim(0, 9000).within(5000), Some(Interval { start_ms: 0, end_ms: 5000 }));
        assert_eq!(trim(4900, 9000).within(5000), None);
        assert_eq!(trim(3000, 2000).within(5000), None);
    }
}
