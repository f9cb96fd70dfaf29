//! Which clip shows each action of a step with several: the step's own clip, or one beside it in its video.

/// How much likelier than the step's own clip another one must be to be shown too, in log-odds. Chosen by hand.
const CLEARLY_LOG_ODDS: f32 = 2.0;
/// How far below the threshold the step's own clip may be, in log-odds, where no other clip is likelier: it was
/// found for the step as a whole. Chosen by hand.
const DOUBT_LOG_ODDS: f32 = 1.0;

/// For each action of a step, in the order of its text, the clip that shows it, if one does. Row i of `odds` holds
/// the log-odds of action i above the threshold of a shown step, by clip; the clips are of one video, in its
/// order, and `own` is the step's own. Actions keep their order beside those that the own clip shows. If the own clip
/// shows none, it stands for all that nothing else shows.
pub fn shown_by(odds: &[Vec<f32>], own: usize) -> Vec<Option<usize>> {
    let clips = odds.first().map_or(0, Vec::len);
    let free: Vec<_> = odds.iter().map(|odds| best(odds, own, 0..clips)).collect();
    let is_own = |shown: &Option<usize>| *shown == Some(own);
    let in_order = |(action, odds): (usize, &Vec<f32>)| {
        let from = if free[..action].iter().any(is_own) { own + 1 } else { 0 };
        let to = if free[action + 1..].iter().any(is_own) { own } else { clips };
        if is_own(&free[action]) { Some(own) } else { best(odds, own, from..to) }
    };
    let shown: Vec<_> = odds.iter().enumerate().map(in_order).collect();
    match shown.iter().any(is_own) {
        true => shown,
        false => shown.into_iter().map(|clip| clip.or(Some(own))).collect(),
    }
}

/// The clip that shows an action, among the own one and those of a range.
fn best(odds: &[f32], own: usize, others: std::ops::Range<usize>) -> Option<usize> {
    let others = others.filter(|clip| *clip != own);
    let other = others.max_by(|a, b| odds[*a].total_cmp(&odds[*b]));
    let other_odds = other.map_or(f32::NEG_INFINITY, |clip| odds[clip]);
    if other_odds >= 0.0 && other_odds >= odds[own] + CLEARLY_LOG_ODDS {
        return other;
    }
    let likeliest = odds[own] >= other_odds && odds[own] >= -DOUBT_LOG_ODDS;
    (odds[own] >= 0.0 || likeliest).then_some(own)
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
        check(&[&[4.0, 3.0], &[-3.0, 5.0]], 1, &[Some(1), Some(1)]);
        check(&[&[4.0, 1.5], &[-3.0, 5.0]], 1, &[Some(0), Some(1)]);
        check(&[&[-0.5, -9.0], &[-3.0, 5.0]], 1, &[None, Some(1)]);
    }

    #[test]
    fn the_own_clip_has_the_benefit_of_some_doubt() {
        check(&[&[-2.0, -0.9], &[-3.0, 5.0]], 1, &[Some(1), Some(1)]);
        check(&[&[-2.0, -1.1], &[-3.0, 5.0]], 1, &[None, Some(1)]);
        check(&[&[-0.5, -0.9], &[-3.0, 5.0]], 1, &[None, Some(1)]);
    }

    #[test]
    fn actions_stay_in_order() {
        // washing is shown after the own clip, which shows shredding: it is another washing
        check(&[&[5.0, -3.0], &[-3.0, 4.0]], 0, &[Some(0), Some(1)]);
        check(&[&[-3.0, 4.0], &[5.0, -3.0]], 0, &[None, Some(0)]);
        check(&[&[-2.0, 1.0, 9.0], &[-3.0, 5.0, 0.0]], 1, &[Some(1), Some(1)]);
    }

    #[test]
    fn an_own_clip_that_shows_no_action_shows_the_rest() {
        check(&[&[-9.0], &[-9.0]], 0, &[Some(0), Some(0)]);
        check(&[&[4.0, -9.0], &[-9.0, -9.0]], 1, &[Some(0), Some(1)]);
    }
}
