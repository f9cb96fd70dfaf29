//! Temporally sampled mixtures, for the ablation: at each moment of a procedure the step that a random video
//! of the group shows at that relative time.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use stitch_core::pool::Pool;

use super::mix::{MixedStep, Mixer, Rejected, check};
use super::recipes::Recipe;

#[derive(Clone, Copy, Debug)]
pub struct TemporallySampled;

impl Mixer for TemporallySampled {
    fn name(&self) -> &'static str {
        "temporally-sampled"
    }

    fn mix(&self, recipes: &[&Recipe], _: &Pool, seed: u64) -> Result<Vec<MixedStep>, Rejected> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let length = recipes.iter().map(|recipe| recipe.steps.len()).sum::<usize>() / recipes.len();
        let mut steps: Vec<MixedStep> = Vec::with_capacity(length);
        for place in 0..length {
            let recipe = random.random_range(0..recipes.len());
            let step = place * recipes[recipe].steps.len() / length;
            let again = steps.iter().any(|s| s.recipe == recipe && s.step == step);
            if !again {
                steps.push(MixedStep { recipe, step, text: None });
            }
        }
        check(&steps, recipes).map(|()| steps).map_err(|fault| fault.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::mix::tests::kitchen;
    use super::*;

    #[test]
    fn steps_stand_near_their_own_time() {
        let (recipes, pool) = kitchen(&[&["a", "b", "c", "d", "e", "f"], &["g", "h", "i"]]);
        let recipes: Vec<&Recipe> = recipes.iter().collect();
        let made = (0..20).filter_map(|seed| TemporallySampled.mix(&recipes, &pool, seed).ok());
        let mut count = 0;
        for steps in made {
            count += 1;
            assert!(steps.iter().filter(|s| s.recipe == 0).map(|s| s.step).is_sorted());
            assert!(steps.len() >= 3);
        }
        assert!(count > 5, "{count} of 20");
    }
}
