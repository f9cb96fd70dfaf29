//! What a viewer may stumble over in a demonstration.

use serde::Serialize;

use super::{Choice, Confidence, Demonstration, Place};

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
    /// The clip may not show the step.
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
    if Confidence::of(Some(choice)) == Confidence::Perhaps {
        doubts.push(Doubt::Unlikely);
    }
    doubts
}
