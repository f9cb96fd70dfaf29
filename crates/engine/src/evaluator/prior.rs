//! What a sequence tells without the network: how similar its clips are to their steps, how often its
//! source changes, how often it steps back. What the evaluator makes of these three numbers is searched
//! on held-out procedures, where the network, which learns from faults that are easy to see, weighs a
//! little more similarity against one more change of source as chance will have it.

use serde::{Deserialize, Serialize};
use stitch_core::cover::{Sequence, source_changes, steps_back};
use stitch_core::features::similarity;
use stitch_core::pool::Pool;

use crate::scorer::Query;

/// What is added to the network's logit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prior {
    /// For the mean similarity of steps and clips.
    pub similarity: f32,
    /// Taken off for changes of source, per step.
    pub changes: f32,
    /// Taken off for steps back in time within a source, per step.
    pub back: f32,
}

/// The three numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Told {
    /// The mean similarity of steps and clips.
    pub similarity: f32,
    /// Changes of source, per step.
    pub changes: f32,
    /// Steps back, per step.
    pub back: f32,
}

impl Told {
    /// By a candidate; its gaps tell nothing.
    pub fn by(query: &Query, pool: &Pool, candidate: &Sequence) -> Self {
        let rows = pool.clip_features();
        let shown =
            candidate.0.iter().enumerate().filter_map(|(step, clip)| Some((step, (*clip)?)));
        let alike = shown
            .clone()
            .map(|(step, clip)| similarity(query.clip.row(step), rows.row(clip.row())));
        let steps = shown.count().max(1) as f32;
        Self {
            similarity: alike.sum::<f32>() / steps,
            changes: source_changes(candidate, pool) as f32 / steps,
            back: steps_back(candidate, pool) as f32 / steps,
        }
    }
}

impl Prior {
    /// What it adds.
    pub fn of(&self, told: &Told) -> f32 {
        self.similarity * told.similarity - self.changes * told.changes - self.back * told.back
    }

    /// Whether it adds nothing whatever is told.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use stitch_core::clip::{Clip, ClipId, Span, VideoId};
    use stitch_core::features::Features;

    use super::*;

    #[test]
    fn similarity_is_added_and_what_breaks_is_taken_off() {
        let clip = |video, start| Clip {
            video: VideoId(video),
            span: Span::new(start, start + 5).unwrap(),
            text: String::new(),
        };
        let clips = vec![clip(0, 0), clip(0, 10), clip(1, 0)];
        let rows = Features::new(2, vec![1.0, 0.0, 0.0, 1.0, 1.0, 0.0]).unwrap();
        let pool = Pool::new(clips, rows.clone(), rows).unwrap();
        let steps = Features::new(2, vec![1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0]).unwrap();
        let query = Query { texts: &[], text: &steps, clip: &steps, map: None };
        let candidate = Sequence(vec![Some(ClipId(1)), Some(ClipId(0)), None, Some(ClipId(2))]);
        let told = Told::by(&query, &pool, &candidate);
        assert_eq!(told, Told { similarity: 1.0 / 3.0, changes: 1.0 / 3.0, back: 1.0 / 3.0 });
        let prior = Prior { similarity: 30.0, changes: 6.0, back: 3.0 };
        assert!((prior.of(&told) - 7.0).abs() < 1e-5);
        let nothing = Told::by(&query, &pool, &Sequence(vec![None; 4]));
        assert_eq!(prior.of(&nothing), 0.0);
        assert!(Prior::default().is_none() && !prior.is_none());
    }
}
