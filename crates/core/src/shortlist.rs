//! The first stage of M: which clips may be among the best of a step, by bounds of their log-odds.

use crate::clip::ClipId;

/// The log-odds that a clip shows a step, as a linear function of the clip's rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Linear {
    pub bias: f32,
    /// In the space of the text features.
    pub text: Vec<f32>,
    /// In the space of the clip features.
    pub clip: Vec<f32>,
    /// How far the log-odds as M computes them can be from the exact ones.
    pub rounding: f32,
}

/// The log-odds for each case of the belief: of clips with both rows, with a text alone, with pictures alone.
#[derive(Clone, Debug, PartialEq)]
pub struct StepOdds {
    pub both: Linear,
    pub text: Linear,
    pub clip: Linear,
}

/// Rules clips out without scoring them exactly.
pub trait Shortlist: std::fmt::Debug + Send + Sync {
    /// Pairs of clip and step, sorted, among them the `most` best allowed clips of every step: each clip whose
    /// log-odds may reach [`rival`] of the step's `most`-th best.
    fn shortlist(
        &self,
        steps: &[StepOdds],
        allowed: &(dyn Fn(usize, ClipId) -> bool + Sync),
        most: usize,
    ) -> Vec<(ClipId, usize)>;
}

/// Log-odds so much below these that their log-probability, as computed in 32 bits, is certainly lower: matches of
/// equal log-probability are in the order of the pool.
pub fn rival(log_odds: f32) -> f32 {
    /// More than the rounding errors of `exp`, `ln_1p` and their sum.
    const ROUNDING: f64 = 4.0 * f32::EPSILON as f64;
    let x = f64::from(log_odds);
    let log_prob = -((-x.abs()).exp().ln_1p() + (-x).max(0.0));
    let lower = log_prob * (1.0 + ROUNDING) - ROUNDING;
    let log_odds = lower - (-lower.exp_m1()).ln();
    (log_odds as f32).next_down()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::belief::log_probability;

    #[test]
    fn below_the_rival_the_log_probability_is_lower() {
        for tenth in -2000..2000 {
            let log_odds = tenth as f32 / 10.0;
            let rival = rival(log_odds);
            assert!(rival < log_odds && rival.is_finite(), "{log_odds}");
            let lower = log_probability(rival.next_down());
            assert!(lower < log_probability(log_odds), "{log_odds}: {rival}");
            assert!(log_odds > 8.0 || log_odds - rival < 1e-2, "{log_odds}: {rival} is too far");
        }
    }
}
