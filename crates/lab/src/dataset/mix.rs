//! Mixing a group of recipes into one procedure, and checking the mixture.

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
    /// The language model cannot be asked at all.
    Unreachable,
}

/// Makes a new procedure out of similar recipes.
pub trait Mixer: Sync {
    fn name(&self) -> &'static str;

    fn mix(&self, recipes: &[&Recipe], pool: &Pool, seed: u64) -> Result<Vec<MixedStep>, Rejected>;
}

pub const MIN_STEPS: usize = 3;

/// Why steps are no procedure, and the mistake in words for a language model.
pub type Fault = (Rejected, String);

impl MixedStep {
    /// `Step 3 in Recipe 2`, as prompts have it.
    pub fn place(&self) -> String {
        format!("Step {} in Recipe {}", self.step + 1, self.recipe + 1)
    }
}

/// Every step must exist and come once, each recipe be used and keep its order.
pub fn check(steps: &[MixedStep], recipes: &[&Recipe]) -> Result<(), Fault> {
    let exists = |s: &MixedStep| recipes.get(s.recipe).is_some_and(|r| s.step < r.steps.len());
    let earlier = |wrong: fn(usize, usize) -> bool| {
        let pairs = steps.iter().enumerate();
        let mut pairs = pairs.flat_map(|(at, b)| steps[..at].iter().map(move |a| (a, b)));
        pairs.find(|(a, b)| a.recipe == b.recipe && wrong(a.step, b.step))
    };
    let unused = (1..=recipes.len()).find(|number| steps.iter().all(|s| s.recipe + 1 != *number));
    let (why, words) = if let Some(unknown) = steps.iter().find(|step| !exists(step)) {
        let words = format!("There is no {}: leave that line out.", unknown.place());
        (Rejected::UnknownStep, words)
    } else if let Some((_, twice)) = earlier(|a, b| a == b) {
        (Rejected::Repeated, format!("{} stands there twice.", twice.place()))
    } else if let Some((first, second)) = earlier(|a, b| a > b) {
        let words = format!("{} must come before {}.", second.place(), first.place());
        (Rejected::OutOfOrder, words)
    } else if let Some(unused) = unused {
        let words = format!(
            "No step of Recipe {unused} is used: put one of its steps in the place of one that does \
             the same."
        );
        (Rejected::SourceUnused, words)
    } else if steps.len() < MIN_STEPS {
        (Rejected::TooShort, format!("These are fewer than {MIN_STEPS} steps."))
    } else {
        return Ok(());
    };
    Err((why, words))
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
            assert_eq!(check(&steps, &recipes).map_err(|fault| fault.0), expected, "{steps:?}");
        }
    }
}
