//! Steps of several actions. The joint solution gives each step one clip; what that clip does not show of the step
//! may be shown beside it in the same video.

use stitch_core::clip::{Clip, ClipId};
use stitch_core::cover::Sequence;
use stitch_core::features::Features;
use stitch_core::map::{Match, StepMap, Steps, map_among};
use stitch_core::parts::shown_by;
use stitch_core::pool::Pool;
use stitch_core::procedure::Procedure;

use super::{DemonstrateError, Options, Place, Wish};
use crate::calibration::Calibration;
use crate::lexicon::words;
use crate::recipe::clauses;

/// How many clips on each side of a step's clip may show its other actions. Chosen by hand.
const NEAR: usize = 3;
/// A step of more actions stays whole: each is encoded and searched for. Chosen by hand.
const MAX_ACTIONS: usize = 8;

/// The actions of a procedure's compound steps as both encoders see them; row i belongs to action i.
#[derive(Clone, Debug)]
pub(super) struct Actions {
    /// The step of each, in order.
    steps: Vec<usize>,
    texts: Vec<String>,
    text: Features,
    clip: Features,
}

/// The actions of the compound steps, each with its step.
pub(super) fn actions(procedure: &Procedure) -> Vec<(usize, String)> {
    let of_step = |(step, text): (usize, &String)| {
        let actions = clauses::orders(text);
        let compound = (2..=MAX_ACTIONS).contains(&actions.len());
        let actions = if compound { actions } else { Vec::new() };
        actions.into_iter().map(move |action| (step, action))
    };
    procedure.steps().iter().enumerate().flat_map(of_step).collect()
}

/// An action of a step, and whether and by which other clip it is shown.
pub(super) struct FoundPart {
    pub text: String,
    pub shown: bool,
    /// None for an action that the step's own clip shows.
    pub clip: Option<Match>,
}

/// The clips that may show the actions of a step, in the order of their video.
struct Nearby {
    step: usize,
    clips: Vec<ClipId>,
    /// The place of the step's own clip.
    own: usize,
}

impl Actions {
    pub fn new(actions: Vec<(usize, String)>, text: Features, clip: Features) -> Self {
        let (steps, texts) = actions.into_iter().unzip();
        Self { steps, texts, text, clip }
    }

    /// The step of an action, and the actions of that step so far, this one last.
    pub fn until(&self, action: usize) -> (usize, &[String]) {
        let step = self.steps[action];
        let first = self.steps.partition_point(|other| *other < step);
        (step, &self.texts[first..=action])
    }

    /// The parts of each step; none for a step of one action, and for one whose clip shows all of them.
    /// `read_together` adds what the cross-encoder says to M for the actions.
    pub fn complete(
        &self,
        best: &Sequence,
        pool: &Pool,
        calibration: &Calibration,
        options: &Options,
        read_together: impl FnOnce(&mut StepMap) -> Result<(), DemonstrateError>,
    ) -> Result<Vec<Vec<FoundPart>>, DemonstrateError> {
        let mut parts: Vec<Vec<FoundPart>> = best.0.iter().map(|_| Vec::new()).collect();
        let mut nearby = self.nearby(best, pool, options);
        let mut evidence = self.evidence(&nearby, pool, calibration)?;
        read_together(&mut evidence)?;
        let mut added = Vec::new();
        for near in &mut nearby {
            near.leave(&added);
            let found = self.parts(near, &evidence, calibration, options);
            added.extend(found.iter().filter_map(|part| Some(part.clip?.clip)));
            parts[near.step] = found;
        }
        Ok(parts)
    }

    fn nearby(&self, best: &Sequence, pool: &Pool, options: &Options) -> Vec<Nearby> {
        let no_wish = Wish::default();
        let mut steps = self.steps.clone();
        steps.dedup();
        let near = |step: usize| {
            let own = best.0[step]?;
            let wish = options.wishes.get(&step).unwrap_or(&no_wish);
            let completes = !wish.shows_alone(Place::from(pool.clip(own)));
            completes.then(|| Nearby::of(step, own, best, pool, |clip| wish.allows(clip)))
        };
        steps.into_iter().filter_map(near).collect()
    }

    /// M for the actions among the clips nearby.
    fn evidence(
        &self,
        nearby: &[Nearby],
        pool: &Pool,
        calibration: &Calibration,
    ) -> Result<StepMap, DemonstrateError> {
        if nearby.is_empty() {
            return Ok(StepMap::default());
        }
        let of_action = |action: usize| nearby.iter().find(|near| near.step == self.steps[action]);
        let clips_of = |action: usize| {
            let near = of_action(action).into_iter();
            near.flat_map(move |near| near.clips.iter().map(move |clip| (*clip, action)))
        };
        let mut pairs: Vec<(ClipId, usize)> = (0..self.steps.len()).flat_map(clips_of).collect();
        pairs.sort_unstable();
        let steps = Steps { texts: &self.texts, text: &self.text, clip: &self.clip, context: None };
        Ok(map_among(&pairs, &steps, pool, &calibration.belief(), 2 * NEAR + 1)?)
    }

    fn parts(
        &self,
        near: &Nearby,
        evidence: &StepMap,
        calibration: &Calibration,
        options: &Options,
    ) -> Vec<FoundPart> {
        let actions = (0..self.steps.len()).filter(|action| self.steps[*action] == near.step);
        let actions: Vec<usize> = actions.collect();
        let found = |action: usize, clip: ClipId| {
            evidence.steps[action].iter().find(|found| found.clip == clip)
        };
        let above = |found: &Match| {
            let threshold = options.threshold_of(calibration, &found.evidence).clamp(0.001, 0.999);
            found.log_odds() - (threshold / (1.0 - threshold)).ln()
        };
        let odds = |action: &usize| {
            let odds = |clip: &ClipId| found(*action, *clip).map_or(f32::NEG_INFINITY, above);
            near.clips.iter().map(odds).collect()
        };
        let shown = shown_by(&actions.iter().map(odds).collect::<Vec<_>>(), near.own);
        if shown.iter().all(|clip| *clip == Some(near.own)) {
            return Vec::new();
        }
        let part = |(action, shown): (usize, Option<usize>)| FoundPart {
            text: self.texts[action].clone(),
            shown: shown.is_some() || refers_back(&self.texts[action]),
            clip: shown
                .filter(|clip| *clip != near.own)
                .and_then(|clip| found(action, near.clips[clip]).copied()),
        };
        actions.into_iter().zip(shown).map(part).collect()
    }
}

/// Whether the action alone does not say what it is done to: then it cannot be said that nothing shows it.
fn refers_back(action: &str) -> bool {
    words::words(action).iter().any(|word| words::is_pronoun(&word.low))
}

impl Nearby {
    /// Of a step's clip, on both sides up to the next clip of another step.
    fn of(
        step: usize,
        own: ClipId,
        best: &Sequence,
        pool: &Pool,
        allowed: impl Fn(&Clip) -> bool,
    ) -> Self {
        let video = pool.clip(own).video;
        let free =
            |clip: &ClipId| pool.clip(*clip).video == video && !best.0.contains(&Some(*clip));
        let near = |clip: &ClipId| allowed(pool.clip(*clip));
        // The clips of a video stand together, in its order.
        let before = (0..own.0).rev().map(ClipId).take_while(free).filter(near).take(NEAR);
        let after = (own.0 + 1..pool.len() as u32).map(ClipId).take_while(free).filter(near);
        let mut clips: Vec<ClipId> = before.collect();
        clips.reverse();
        let place = clips.len();
        clips.push(own);
        clips.extend(after.take(NEAR));
        Self { step, clips, own: place }
    }

    /// Leaves out clips that were added to other steps, and what is beyond them.
    fn leave(&mut self, added: &[ClipId]) {
        let is_added = |clip: &ClipId| added.contains(clip);
        let (before, after) = (&self.clips[..self.own], &self.clips[self.own + 1..]);
        let from = before.iter().rposition(is_added).map_or(0, |place| place + 1);
        let to = self.own + 1 + after.iter().position(is_added).unwrap_or(after.len());
        self.clips = self.clips[from..to].to_vec();
        self.own -= from;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::demonstrate::{Fixed, Interval, Trim};
    use stitch_core::clip::{Span, VideoId};

    /// What an action or a clip is about, as a feature of either encoder.
    type About = [f32; 3];
    const WASH: About = [1.0, 0.0, 0.0];
    const SHRED: About = [0.0, 1.0, 0.0];
    const FRY: About = [0.0, 0.0, 1.0];

    fn features(rows: impl Iterator<Item = About>) -> Features {
        Features::new(3, rows.flatten().collect()).unwrap()
    }

    fn text(about: About) -> String {
        ["wash", "shred", "fry"][about.iter().position(|x| *x == 1.0).unwrap()].into()
    }

    /// Clips of four seconds, one every five, by video.
    fn pool(clips: &[(u32, About)]) -> Pool {
        let clip = |(row, (video, about)): (usize, &(u32, About))| Clip {
            video: VideoId(*video),
            span: Span::new(row as u64 * 5000, row as u64 * 5000 + 4000).unwrap(),
            text: text(*about),
        };
        let rows = features(clips.iter().map(|(_, about)| *about));
        Pool::new(clips.iter().enumerate().map(clip).collect(), rows.clone(), rows).unwrap()
    }

    /// By step and action, whether it is shown and by which further clip, where steps have these clips.
    fn completed(
        clips: &[(u32, About)],
        chosen: &[u32],
        actions: &[(usize, About)],
        options: &Options,
    ) -> Vec<Vec<(bool, Option<u32>)>> {
        completed_by(clips, chosen, actions, options, &HashMap::new())
    }

    /// The same where the cross-encoder says this of an action and a text.
    fn completed_by(
        clips: &[(u32, About)],
        chosen: &[u32],
        actions: &[(usize, About)],
        options: &Options,
        said: &HashMap<(usize, &str), f32>,
    ) -> Vec<Vec<(bool, Option<u32>)>> {
        let rows = features(actions.iter().map(|(_, about)| *about));
        let actions = actions.iter().map(|(step, about)| (*step, text(*about))).collect();
        let actions = Actions::new(actions, rows.clone(), rows);
        let best = Sequence(chosen.iter().map(|row| Some(ClipId(*row))).collect());
        let calibration = Calibration::of("narration");
        let pool = pool(clips);
        let read = |map: &mut StepMap| {
            map.add_cross(said, &pool, &calibration.belief());
            Ok(())
        };
        let found = actions.complete(&best, &pool, calibration, options, read).unwrap();
        let part = |part: &FoundPart| (part.shown, part.clip.map(|found| found.clip.0));
        found.iter().map(|parts| parts.iter().map(part).collect()).collect()
    }

    #[test]
    fn a_step_of_one_action_or_of_very_many_stays_whole() {
        let count = |times: usize| {
            let step = "Chop the onion. ".repeat(times);
            actions(&Procedure::new("", [step]).unwrap()).len()
        };
        assert_eq!([1, 2, MAX_ACTIONS, MAX_ACTIONS + 1].map(count), [0, 2, MAX_ACTIONS, 0]);
    }

    const BOTH: [(usize, About); 2] = [(0, WASH), (0, SHRED)];
    const OWN: (bool, Option<u32>) = (true, None);
    const NOT_SHOWN: (bool, Option<u32>) = (false, None);

    #[test]
    fn the_clip_beside_it_shows_the_other_action() {
        let found = |clips: &[(u32, About)], own, actions: &[(usize, About)]| {
            completed(clips, &[own], actions, &Options::default()).remove(0)
        };
        assert_eq!(found(&[(1, WASH), (1, SHRED)], 1, &BOTH), [(true, Some(0)), OWN]);
        assert_eq!(found(&[(1, WASH), (1, FRY), (1, SHRED)], 2, &BOTH), [(true, Some(0)), OWN]);
        assert_eq!(found(&[(1, FRY), (1, SHRED)], 1, &BOTH), [NOT_SHOWN, OWN]);
        assert_eq!(found(&[(1, SHRED), (2, WASH)], 0, &BOTH), [NOT_SHOWN, OWN], "another video");
        assert_eq!(found(&[(1, WASH), (1, SHRED)], 0, &[(0, WASH), (0, WASH)]), []);
    }

    #[test]
    fn what_is_read_together_may_show_an_action() {
        let clips = [(1, FRY), (1, SHRED)];
        let options = Options::default();
        let found = |said: f32| {
            let said = HashMap::from([((0, "fry"), said)]);
            completed_by(&clips, &[1], &BOTH, &options, &said).remove(0)
        };
        assert_eq!(found(-20.0), [NOT_SHOWN, OWN]);
        assert_eq!(found(20.0), [(true, Some(0)), OWN]);
    }

    #[test]
    fn an_action_follows_those_of_its_step() {
        let texts = ["a", "b", "c", "d"].map(str::to_owned);
        let rows = features([WASH; 4].into_iter());
        let steps = [1, 1, 4, 4];
        let actions = steps.into_iter().zip(texts.clone()).collect();
        let actions = Actions::new(actions, rows.clone(), rows);
        assert_eq!(actions.until(1), (1, &texts[..2]));
        assert_eq!(actions.until(2), (4, &texts[2..3]));
    }

    #[test]
    fn a_clip_shows_one_step_and_none_beyond_it_another() {
        let found = |clips: &[(u32, About)], actions: &[(usize, About)]| {
            completed(clips, &[0, 2], actions, &Options::default())
        };
        let both = [(0, SHRED), (0, WASH), (1, WASH), (1, SHRED)];
        let shared = found(&[(1, SHRED), (1, WASH), (1, SHRED)], &both);
        assert_eq!(shared, [vec![OWN, (true, Some(1))], vec![NOT_SHOWN, OWN]]);
        let beyond = found(&[(1, FRY), (1, FRY), (1, SHRED), (1, WASH)], &[(0, FRY), (0, WASH)]);
        assert_eq!(beyond, [vec![OWN, NOT_SHOWN], vec![]]);
    }

    #[test]
    fn a_persons_clip_is_shown_alone_unless_it_may_be_completed() {
        let clips = [(1, WASH), (1, SHRED)];
        let of = Place { video: 1, start_ms: 5000, end_ms: 9000 };
        let found = |wish: Wish| {
            let options = Options { wishes: [(0, wish)].into(), ..Options::default() };
            completed(&clips, &[1], &BOTH, &options).remove(0)
        };
        let fixed = Some(Fixed::Clip(of));
        assert_eq!(found(Wish { fixed, ..Wish::default() }), []);
        let both = [(true, Some(0)), OWN];
        assert_eq!(found(Wish { fixed, completed: true, ..Wish::default() }), both);
        let cut = Interval { start_ms: 5000, end_ms: 6000 };
        assert_eq!(found(Wish { trim: Some(Trim { of, cut }), ..Wish::default() }), []);
        let banned = [Place { video: 1, start_ms: 0, end_ms: 4000 }].into();
        assert_eq!(found(Wish { banned, ..Wish::default() }), [NOT_SHOWN, OWN]);
    }
}
