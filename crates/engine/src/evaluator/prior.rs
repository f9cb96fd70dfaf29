//! A linear term beside the network: mean similarity, changes of source, steps back. Its weights are searched
//! on held-out procedures: the network, trained on negatives that are easy to tell, does not learn to weigh a
//! little more similarity against one more change of source.

use serde::{Deserialize, Serialize};
use stitch_core::cover::{Sequence, source_changes, steps_back};
use stitch_core::features::similarity;
use stitch_core::pool::Pool;

use crate::scorer::Query;

/// Weights of what is added to the network's logit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prior {
    pub similarity: f32,
    /// Subtracted.
    pub changes: f32,
    /// Subtracted.
    pub back: f32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequenceStats {
    /// The mean similarity of steps and clips.
    pub similarity: f32,
    /// Changes of source per shown step.
    pub changes: f32,
    /// Steps back in time within a source, per shown step.
    pub back: f32,
}

impl SequenceStats {
    pub fn of(query: &Query, pool: &Pool, candidate: &Sequence) -> Self {
        let rows = pool.clip_features();
        let shown =
            candidate.0.iter().enumerate().filter_map(|(step, clip)| Some((step, (*clip)?)));
        let alike = shown
            .clone()
            .map(|(step, clip)| similarity(query.clip.row(step), &rows.row(clip.row())));
        let steps = shown.count().max(1) as f32;
        Self {
            similarity: alike.sum::<f32>() / steps,
            changes: source_changes(candidate, pool) as f32 / steps,
            back: steps_back(candidate, pool) as f32 / steps,
        }
    }
}

impl Prior {
    pub fn logit(&self, stats: &SequenceStats) -> f32 {
        self.similarity * stats.similarity - self.changes * stats.changes - self.back * stats.back
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
        let query = Query { texts: &[], text: &steps, clip: &steps, search: None };
        let candidate = Sequence(vec![Some(ClipId(1)), Some(ClipId(0)), None, Some(ClipId(2))]);
        let stats = SequenceStats::of(&query, &pool, &candidate);
        assert_eq!(
            stats,
            SequenceStats { similarity: 1.0 / 3.0, changes: 1.0 / 3.0, back: 1.0 / 3.0 }
        );
        let prior = Prior { similarity: 30.0, changes: 6.0, back: 3.0 };
        assert!((prior.logit(&stats) - 7.0).abs() < 1e-5);
        let nothing = SequenceStats::of(&query, &pool, &Sequence(vec![None; 4]));
        assert_eq!(prior.logit(&nothing), 0.0);
    }
}
