//! Which clip shows each action of a step with several: the step's own clip, or one beside it in its video.

use std::ops::Range;

// All in log-odds, chosen by hand.

/// The margin that counts as clearly likelier.
const CLEARLY: f32 = 2.0;
/// How much more than for each other action of the step a clip must speak for an action to be added for it: clips of
/// one thing ("shred the lettuce") are likely for all that is done to it.
const ABOUT: f32 = 1.5;
/// How much less likely than the step's own clip another may be for an action, where the own one is clearly about
/// another action.
const NEARLY: f32 = 1.0;
/// How far below the threshold the own clip may be where no other is likelier: it was found for the whole step, whose
/// words it need not repeat part by part.
const DOUBT: f32 = 3.0;

/// For each action of a step, in the order of its text, the clip that shows it, if one does. Row i of `odds` holds
/// the log-odds of action i above the threshold of a shown step, by clip; the clips are of one video, in its
/// order, and `own` is the step's own. Actions keep their order beside those that the own clip shows. If the own clip
/// shows none, it stands for all that nothing else shows.
pub fn shown_by(odds: &[Vec<f32>], own: usize) -> Vec<Option<usize>> {
    let clips = odds.first().map_or(0, Vec::len);
    let actions = 0..odds.len();
    let free: Vec<_> = actions.clone().map(|action| best(odds, action, own, 0..clips)).collect();
    let is_own = |shown: &Option<usize>| *shown == Some(own);
    let in_order = |action: usize| {
        let from = if free[..action].iter().any(is_own) { own + 1 } else { 0 };
        let to = if free[action + 1..].iter().any(is_own) { own } else { clips };
        if is_own(&free[action]) { Some(own) } else { best(odds, action, own, from..to) }
    };
    let shown: Vec<_> = actions.map(in_order).collect();
    match shown.iter().any(is_own) {
        true => shown,
        false => shown.into_iter().map(|clip| clip.or(Some(own))).collect(),
    }
}

/// The clip that shows an action, among the own one and those of a range.
fn best(odds: &[Vec<f32>], action: usize, own: usize, others: Range<usize>) -> Option<usize> {
    let here = &odds[action];
    let other_action = |clip: usize| {
        let others = odds.iter().enumerate().filter(|(other, _)| *other != action);
        others.map(|(_, odds)| odds[clip]).fold(f32::NEG_INFINITY, f32::max)
    };
    let about_another = other_action(own) >= here[own] + CLEARLY;
    let least = here[own] + if about_another { -NEARLY } else { CLEARLY };
    let is_added = |clip: &usize| {
        let odds = here[*clip];
        *clip != own && odds >= least.max(0.0) && odds >= other_action(*clip) + ABOUT
    };
    let added = others.clone().filter(is_added).max_by(|a, b| here[*a].total_cmp(&here[*b]));
    added.or_else(|| {
        let likeliest = others.into_iter().all(|clip| here[own] >= here[clip]);
        (here[own] >= 0.0 || likeliest && here[own] >= -DOUBT).then_some(own)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(odds: &[&[f32]], own: usize, expected: &[Option<usize>]) {
        let odds: Vec<Vec<f32>> = odds.iter().map(|row| row.to_vec()).collect();
        assert_eq!(shown_by(&odds, own), expected, "{odds:?}");
    }

    #[test]
    fn another_clip_must_be_likely_and_clearly_likelier() {
        // "wash" and "shred"; the step's own clip is the second
        check(&[&[4.0, -3.0], &[-3.0, 5.0]], 1, &[Some(0), Some(1)]);
        check(&[&[5.0, 4.0], &[-3.0, 5.0]], 1, &[Some(1), Some(1)]);
        check(&[&[6.5, 4.0], &[-3.0, 5.0]], 1, &[Some(0), Some(1)]);
        check(&[&[-0.5, -9.0], &[-3.0, 5.0]], 1, &[None, Some(1)]);
    }

    #[test]
    fn a_clip_of_another_action_with_the_same_thing_gives_way_to_one_about_the_action() {
        check(&[&[1.8, 1.9], &[-0.1, 9.0]], 1, &[Some(0), Some(1)]);
        check(&[&[1.0, 1.9], &[-2.0, 9.0]], 1, &[Some(0), Some(1)]);
        check(&[&[0.8, 1.9], &[-2.0, 9.0]], 1, &[Some(1), Some(1)]);
        check(&[&[1.8, 1.9], &[0.4, 9.0]], 1, &[Some(1), Some(1)]);
    }

    #[test]
    fn the_own_clip_has_the_benefit_of_some_doubt() {
        check(&[&[-4.0, -2.9], &[-3.0, 5.0]], 1, &[Some(1), Some(1)]);
        check(&[&[-4.0, -3.1], &[-3.0, 5.0]], 1, &[None, Some(1)]);
        check(&[&[-0.5, -0.9], &[-3.0, 5.0]], 1, &[None, Some(1)]);
    }

    #[test]
    fn actions_stay_in_order() {
        // washing is shown after the own clip, which shows shredding: it is another washing
        check(&[&[5.0, -3.0], &[-3.0, 4.0]], 0, &[Some(0), Some(1)]);
        check(&[&[-3.5, 4.0], &[5.0, -3.5]], 0, &[None, Some(0)]);
        check(&[&[-2.0, 1.0, 9.0], &[-3.0, 5.0, 0.0]], 1, &[Some(1), Some(1)]);
    }

    #[test]
    fn an_own_clip_that_shows_no_action_shows_the_rest() {
        check(&[&[-9.0], &[-9.0]], 0, &[Some(0), Some(0)]);
        check(&[&[4.0, -9.0], &[-9.0, -9.0]], 1, &[Some(0), Some(1)]);
    }
}
