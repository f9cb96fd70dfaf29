//! What a viewer may stumble over in a demonstration, and what the scorer makes of each clip.

use serde::Serialize;
use stitch_core::cover::Sequence;

use super::{Asked, Choice, DemonstrateError, Demonstration, Demonstrator, Place, Stock};

/// Something to look at before the result is used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Doubt {
    /// The step before is from another video.
    SourceChange,
    /// The step before is shown later in the same video.
    Backwards,
    /// An earlier step, by number from 0, shows the same clip.
    SameClip {
        /// That step.
        step: usize,
    },
    /// The clip is less likely than not to show the step.
    Unlikely,
}

/// The doubts about each step.
pub fn doubts(demonstration: &Demonstration) -> Vec<Vec<Doubt>> {
    let mut before: Vec<(usize, &Choice)> = Vec::new();
    let mut all = Vec::with_capacity(demonstration.steps.len());
    for (number, step) in demonstration.steps.iter().enumerate() {
        let found = step.chosen.as_ref().map(|choice| about(choice, &before)).unwrap_or_default();
        before.extend(step.chosen.as_ref().map(|choice| (number, choice)));
        all.push(found);
    }
    all
}

fn about(choice: &Choice, before: &[(usize, &Choice)]) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    if let Some((_, last)) = before.last() {
        if last.source.video != choice.source.video {
            doubts.push(Doubt::SourceChange);
        } else if choice.span.start_ms < last.span.start_ms {
            doubts.push(Doubt::Backwards);
        }
    }
    let same = |(_, other): &&(usize, &Choice)| Place::from(*other) == Place::from(choice);
    if let Some((step, _)) = before.iter().find(same) {
        doubts.push(Doubt::SameClip { step: *step });
    }
    if choice.similarity.probability < 0.5 {
        doubts.push(Doubt::Unlikely);
    }
    doubts
}

/// What the scorer says of the sequence, and of the sequence without each of its clips; nothing from
/// a scorer that only adds up similarities, which are told anyway.
pub fn without_each(
    with: &Demonstrator<'_>,
    stock: &Stock,
    asked: &Asked,
    demonstration: &Demonstration,
) -> Result<Vec<Option<f32>>, DemonstrateError> {
    let nothing = vec![None; demonstration.steps.len()];
    if !with.scorer.judges_coherence() {
        return Ok(nothing);
    }
    let row = |choice: &Choice| stock.find(Place::from(choice));
    let chosen: Vec<_> =
        demonstration.steps.iter().map(|step| step.chosen.as_ref().and_then(row)).collect();
    let shown: Vec<usize> = (0..chosen.len()).filter(|&step| chosen[step].is_some()).collect();
    let without = |&step: &usize| {
        let mut clips = chosen.clone();
        clips[step] = None;
        Sequence(clips)
    };
    let sequences: Vec<Sequence> = shown.iter().map(without).collect();
    let scores = with.scorer.score(&asked.query(), &stock.pool, &sequences)?;
    let mut told = nothing;
    shown.iter().zip(scores).for_each(|(&step, score)| told[step] = Some(score));
    Ok(told)
}
