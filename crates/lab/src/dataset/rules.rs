//! Mixing without a language model: by rules, and for the ablation by time.

use std::collections::BTreeSet;

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use stitch_core::clip::ClipId;
use stitch_core::features::similarity;
use stitch_core::pool::Pool;
use stitch_engine::lexicon;

use super::mix::{MixedStep, Mixer, Rejected, check};
use super::recipes::Recipe;

/// The least similarity of the two steps of a change.
const MIN_SIMILARITY: f32 = 0.35;

/// Follows one recipe, and changes to the next where the two do nearly the same to different things.
#[derive(Clone, Copy, Debug)]
pub struct Rules;

impl Mixer for Rules {
    fn name(&self) -> &'static str {
        "rules"
    }

    fn mix(&self, recipes: &[&Recipe], pool: &Pool, seed: u64) -> Result<Vec<MixedStep>, Rejected> {
        let mut order: Vec<usize> = (0..recipes.len()).collect();
        order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
        let mut steps = Vec::new();
        let mut from = 0;
        for (turn, &recipe) in order.iter().enumerate() {
            let left = order.len() - turn - 1;
            let change = order
                .get(turn + 1)
                .map(|&next| change(recipes[recipe], from, recipes[next], left, pool));
            let (until, next_from) = match change {
                None => (recipes[recipe].steps.len(), 0),
                Some(change) => change.ok_or(Rejected::NotPossible)?,
            };
            let own = from..until;
            steps.extend(own.map(|step| MixedStep { recipe, step, text: None }));
            from = next_from;
        }
        check(&steps, recipes).map(|()| steps).map_err(|fault| fault.0)
    }
}

/// The step of a recipe, begun at `from`, that is replaced by a step of the next, and that step: the most
/// similar two that handle different things. At least one step of each recipe is used, and enough of the
/// next are left for `left` changes.
fn change(
    recipe: &Recipe,
    from: usize,
    next: &Recipe,
    left: usize,
    pool: &Pool,
) -> Option<(usize, usize)> {
    let mut best: Option<(f32, usize, usize)> = None;
    for i in from + 1..recipe.steps.len() {
        for j in 0..(next.steps.len() + 1).saturating_sub(left.max(1)) {
            let (a, b) = (recipe.steps[i], next.steps[j]);
            let near = text_similarity(a, b, pool);
            let better = best.is_none_or(|(most, ..)| near > most);
            if near >= MIN_SIMILARITY && better && things(a, pool) != things(b, pool) {
                best = Some((near, i, j));
            }
        }
    }
    best.map(|(_, i, j)| (i, j))
}

fn text_similarity(a: ClipId, b: ClipId, pool: &Pool) -> f32 {
    similarity(&pool.text_features().row(a.row()), &pool.text_features().row(b.row()))
}

/// The words of a step that name no action: objects and tools.
fn things(step: ClipId, pool: &Pool) -> BTreeSet<String> {
    let words = pool.clip(step).text.split(|c: char| !c.is_alphanumeric());
    let words = words.filter(|word| word.len() > 3).map(str::to_lowercase);
    words.filter(|word| lexicon::verb(word).is_none()).collect()
}

/// At each moment of a procedure the step that a random video of the group shows at that relative time.
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
    use proptest::prelude::*;

    use super::super::mix::tests::kitchen;
    use super::*;

    #[test]
    fn changes_where_the_same_is_done_to_something_else() {
        let (recipes, pool) = kitchen(&[
            &["wash lettuce", "chop tomato", "fry mince", "serve"],
            &["mix batter", "chop onion", "bake bread", "yield"],
        ]);
        let recipes: Vec<&Recipe> = recipes.iter().collect();
        let mixes: Vec<_> = (0..8).map(|seed| Rules.mix(&recipes, &pool, seed)).collect();
        let first = mixes.iter().flatten().find(|steps| steps[0].recipe == 0).unwrap();
        let numbers: Vec<_> = first.iter().map(|s| (s.recipe, s.step)).collect();
        assert_eq!(numbers, [(0, 0), (1, 1), (1, 2), (1, 3)]);
    }

    #[test]
    fn recipes_that_share_no_action_do_not_mix() {
        let (recipes, pool) = kitchen(&[&["ab", "bc", "cd"], &["wx", "xy", "yz"]]);
        let recipes: Vec<&Recipe> = recipes.iter().collect();
        assert_eq!(Rules.mix(&recipes, &pool, 1), Err(Rejected::NotPossible));
    }

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

    proptest! {
        #[test]
        fn what_is_mixed_is_sound(
            videos in prop::collection::vec(prop::collection::vec("[a-e] [a-z]{4,6}", 2..7), 2..=4),
            seed in 0u64..50,
        ) {
            let texts: Vec<Vec<&str>> =
                videos.iter().map(|v| v.iter().map(String::as_str).collect()).collect();
            let slices: Vec<&[&str]> = texts.iter().map(Vec::as_slice).collect();
            let (recipes, pool) = kitchen(&slices);
            let recipes: Vec<&Recipe> = recipes.iter().collect();
            let mixed = Rules.mix(&recipes, &pool, seed);
            prop_assert_eq!(&mixed, &Rules.mix(&recipes, &pool, seed));
            if let Ok(steps) = mixed {
                prop_assert_eq!(check(&steps, &recipes), Ok(()));
                let changes = steps.windows(2).filter(|w| w[0].recipe != w[1].recipe).count();
                prop_assert_eq!(changes, recipes.len() - 1);
            }
        }
    }
}
