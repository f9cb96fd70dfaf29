//! Mixing a group of recipes into one procedure, and checking the mixture.

use std::collections::BTreeSet;

use serde::Serialize;
use stitch_core::pool::Pool;

use super::recipes::Recipe;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MixedStep {
    pub recipe: usize,
    pub step: usize,
    /// Where the mixer worded it anew.
    pub text: Option<String>,
}

/// Why a group gave no procedure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rejected {
    NotPossible,
    /// A line of an answer is no step.
    BadLine,
    UnknownStep,
    Repeated,
    /// A recipe's steps are in another order than in its video.
    OutOfOrder,
    SourceUnused,
    TooShort,
    NoAnswer,
}

/// Makes a new procedure out of similar recipes.
pub trait Mixer: Sync {
    fn name(&self) -> &'static str;

    fn mix(&self, recipes: &[&Recipe], pool: &Pool, seed: u64) -> Result<Vec<MixedStep>, Rejected>;
}

pub const MIN_STEPS: usize = 3;

/// Every step must exist and come once, each recipe be used and keep its order.
pub fn check(steps: &[MixedStep], recipes: &[&Recipe]) -> Result<(), Rejected> {
    let distinct: BTreeSet<_> = steps.iter().map(|s| (s.recipe, s.step)).collect();
    let in_order = |recipe: usize| {
        let own: Vec<usize> = steps.iter().filter(|s| s.recipe == recipe).map(|s| s.step).collect();
        own.is_sorted()
    };
    if !steps.iter().all(|step| exists(step, recipes)) {
        Err(Rejected::UnknownStep)
    } else if distinct.len() < steps.len() {
        Err(Rejected::Repeated)
    } else if !(0..recipes.len()).all(in_order) {
        Err(Rejected::OutOfOrder)
    } else if !(0..recipes.len()).all(|recipe| steps.iter().any(|s| s.recipe == recipe)) {
        Err(Rejected::SourceUnused)
    } else if steps.len() < MIN_STEPS {
        Err(Rejected::TooShort)
    } else {
        Ok(())
    }
}

pub(super) fn exists(step: &MixedStep, recipes: &[&Recipe]) -> bool {
    recipes.get(step.recipe).is_some_and(|recipe| step.step < recipe.steps.len())
}

#[cfg(test)]
pub(super) mod tests {
    use stitch_core::clip::{Clip, ClipId, Span, VideoId};
    use stitch_core::features::Features;

    use super::*;

    /// Recipes of these steps; a step's feature is the direction of its first letter.
    pub fn kitchen(videos: &[&[&str]]) -> (Vec<Recipe>, Pool) {
        let mut clips = Vec::new();
        let mut rows = Features::empty(27);
        let mut recipes = Vec::new();
        for (video, steps) in videos.iter().enumerate() {
            let video = VideoId(video as u32 + 1);
            let mut recipe = Recipe {
                video,
                content: format!("content-{}", video.0),
                title: format!("video {}", video.0),
                licence: None,
                steps: Vec::new(),
            };
            for (at, text) in steps.iter().enumerate() {
                recipe.steps.push(ClipId(clips.len() as u32));
                let span = Span::new(at as u64 * 5000, at as u64 * 5000 + 5000).unwrap();
                clips.push(Clip { video, span, text: text.to_string() });
                let mut row = [0.0; 27];
                row[(text.as_bytes()[0].to_ascii_lowercase() - b'a') as usize] = 1.0;
                row[26] = 0.1 * at as f32;
                rows.push(&row);
            }
            recipes.push(recipe);
        }
        (recipes, Pool::new(clips, rows.clone(), rows).unwrap())
    }

    pub fn step(recipe: usize, step: usize) -> MixedStep {
        MixedStep { recipe, step, text: None }
    }

    #[test]
    fn every_fault_has_its_name() {
        let (recipes, _) = kitchen(&[&["a", "b", "c"], &["d", "e"]]);
        let recipes: Vec<&Recipe> = recipes.iter().collect();
        let table = [
            (vec![step(0, 0), step(0, 1), step(1, 1)], Ok(())),
            (vec![step(0, 0), step(0, 3), step(1, 1)], Err(Rejected::UnknownStep)),
            (vec![step(0, 0), step(2, 0), step(1, 1)], Err(Rejected::UnknownStep)),
            (vec![step(0, 0), step(0, 0), step(1, 1)], Err(Rejected::Repeated)),
            (vec![step(0, 1), step(0, 0), step(1, 1)], Err(Rejected::OutOfOrder)),
            (vec![step(0, 0), step(0, 1), step(0, 2)], Err(Rejected::SourceUnused)),
            (vec![step(0, 0), step(1, 1)], Err(Rejected::TooShort)),
        ];
        for (steps, expected) in table {
            assert_eq!(check(&steps, &recipes), expected, "{steps:?}");
        }
    }
}
