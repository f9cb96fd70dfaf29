//! The prior that the evaluator adds to its network's logit: the weights of three inputs with which truths
//! rank best, searched on the validation half.

use stitch_engine::evaluator::{Evaluator, Prior, SequenceStats};
use stitch_engine::scorer::ScorerError;

use super::held_out::HeldOut;
use crate::rows::mean;
use crate::suite::ranks::Rank;

/// Weights that are tried, in units of the logit's spread; chosen by hand.
const WEIGHTS: [f32; 11] = [0.0, 0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.5, 4.0, 7.0, 12.0];

/// Rounds of coordinate descent.
const ROUNDS: usize = 3;

/// The candidates of one question.
type Candidates = Vec<(f32, SequenceStats)>;

/// The best weights; each collection counts the same.
pub fn search(network: &Evaluator, held_out: &[HeldOut<'_>]) -> Result<Prior, ScorerError> {
    let all = held_out.iter().map(|of| of.prior_inputs(network)).collect::<Result<Vec<_>, _>>()?;
    Ok(best(&all))
}

fn best(all: &[Vec<Candidates>]) -> Prior {
    let units = units(all);
    let prior = |weights: [f32; 3]| Prior {
        similarity: weights[0] * units[0],
        changes: weights[1] * units[1],
        back: weights[2] * units[2],
    };
    let mut chosen = [0.0; 3];
    let mut least = cost(all, &prior(chosen));
    for place in (0..ROUNDS).flat_map(|_| 0..3) {
        for weight in WEIGHTS {
            let mut tried = chosen;
            tried[place] = weight;
            let cost = cost(all, &prior(tried));
            if cost < least {
                (chosen, least) = (tried, cost);
            }
        }
    }
    prior(chosen)
}

/// For each input the ratio of the logit's standard deviation to its own, within questions.
fn units(all: &[Vec<Candidates>]) -> [f32; 3] {
    let spread = |of: &dyn Fn(&(f32, SequenceStats)) -> f32| -> f32 {
        mean(all.iter().flatten().map(|question| deviation(question.iter().map(of))))
    };
    let logit = spread(&|(logit, _)| *logit);
    let unit = |spread: f32| if spread > 1e-6 { logit / spread } else { 0.0 };
    [
        unit(spread(&|(_, told)| told.similarity)),
        unit(spread(&|(_, told)| told.changes)),
        unit(spread(&|(_, told)| told.back)),
    ]
}

fn deviation(numbers: impl Iterator<Item = f32> + Clone) -> f32 {
    let middle = mean(numbers.clone());
    mean(numbers.map(|x| (x - middle).powi(2))).sqrt()
}

/// The mean logarithm of the truth's rank, over each collection and then over all: one truth that comes
/// first where it was second is worth as much as one that comes 50th where it was 100th.
fn cost(all: &[Vec<Candidates>], prior: &Prior) -> f64 {
    let of = |questions: &Vec<Candidates>| {
        let ranks = questions.iter().filter_map(|question| {
            let scores: Vec<f32> = question.iter().map(|(l, told)| l + prior.logit(told)).collect();
            Some(Rank::of_first(&scores)?.expected().ln())
        });
        let (sum, count) = ranks.fold((0.0, 0), |(sum, count), rank| (sum + rank, count + 1));
        sum / f64::from(count.max(1))
    };
    all.iter().map(of).sum::<f64>() / all.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The truth first: the network prefers another, which changes its source more.
    fn question(changes: f32) -> Candidates {
        let told = |similarity, changes| SequenceStats { similarity, changes, back: 0.0 };
        vec![(1.0, told(0.5, 0.0)), (1.5, told(0.5, changes)), (0.0, told(0.4, 0.0))]
    }

    #[test]
    fn what_the_network_does_not_weigh_is_found() {
        let found = best(&[vec![question(0.4), question(0.5)], vec![question(0.3)]]);
        assert!(found.changes > 0.0, "{found:?}");
        assert_eq!(cost(&[vec![question(0.4)]], &found), 0.0);
        assert!(cost(&[vec![question(0.4)]], &Prior::default()) > 0.0);
    }

    #[test]
    fn a_network_that_is_right_is_left_alone() {
        let right: Candidates =
            question(0.4).into_iter().enumerate().map(|(i, (_, t))| (-(i as f32), t)).collect();
        assert_eq!(best(&[vec![right]]), Prior::default());
        assert_eq!(best(&[vec![]]), Prior::default());
    }
}
