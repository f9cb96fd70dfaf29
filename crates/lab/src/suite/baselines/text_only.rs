//! Text-only: similarity of steps and narration.
//!
//! Faithful: the mean over steps of the cosine of the sentence features of the clip's narration and of the
//! step; pictures are not used. Adapted: a clip without narration scores the mean of its video, and a video
//! without narration the mean of all clips, so that silence neither helps nor harms. In a set without
//! narration all candidates score the same.

use std::collections::HashMap;

use stitch_core::clip::VideoId;
use stitch_core::cover::Sequence;
use stitch_core::features::similarity;
use stitch_core::pool::Pool;
use stitch_engine::scorer::{Query, Scorer, ScorerError};

use super::measures::{mean, shown};
use crate::rows::clips_by_video;

pub struct TextOnly {
    /// The clips of each video with narration, by row.
    spoken: HashMap<VideoId, Vec<usize>>,
    all: Vec<usize>,
}

impl TextOnly {
    /// The texts of the clips are their narration.
    pub fn new(pool: &Pool) -> Self {
        let rows = pool.text_features();
        let speaks = |row: &usize| rows.row(*row).iter().any(|x| *x != 0.0);
        let own = clips_by_video(pool).into_iter().map(|(video, clips)| {
            (video, clips.iter().map(|clip| clip.row()).filter(speaks).collect())
        });
        Self { spoken: own.collect(), all: (0..rows.len()).filter(speaks).collect() }
    }

    /// `overall`: what a clip of a video without narration scores.
    fn fit(&self, query: &Query, pool: &Pool, step: usize, row: usize, overall: f32) -> f32 {
        let cosine = |row: usize| similarity(query.text.row(step), pool.text_features().row(row));
        if pool.text_features().row(row).iter().any(|x| *x != 0.0) {
            return cosine(row);
        }
        match self.spoken.get(&pool.clips()[row].video) {
            Some(spoken) if !spoken.is_empty() => mean(spoken.iter().map(|row| cosine(*row))),
            _ => overall,
        }
    }
}

impl Scorer for TextOnly {
    fn name(&self) -> &str {
        "text-only"
    }

    fn score(
        &self,
        query: &Query,
        pool: &Pool,
        candidates: &[Sequence],
    ) -> Result<Vec<f32>, ScorerError> {
        query.check(pool, candidates, query.clip.dim())?;
        let overall = |step: usize| {
            let cosine =
                |row: &usize| similarity(query.text.row(step), pool.text_features().row(*row));
            mean(self.all.iter().map(cosine))
        };
        let overall: Vec<f32> = (0..query.text.len()).map(overall).collect();
        let mut known: HashMap<(usize, usize), f32> = HashMap::new();
        let mut one = |sequence: &Sequence| {
            mean(shown(sequence).map(|(step, clip)| {
                let fit = || self.fit(query, pool, step, clip.row(), overall[step]);
                *known.entry((step, clip.row())).or_insert_with(fit)
            }))
        };
        Ok(candidates.iter().map(&mut one).collect())
    }
}

#[cfg(test)]
mod tests {
    use stitch_core::clip::{Clip, ClipId, Span};
    use stitch_core::features::Features;

    use super::*;

    #[test]
    fn silence_scores_what_its_video_or_the_set_says_on_average() {
        let clip = |video: u32, start: u64| Clip {
            video: VideoId(video),
            span: Span::new(start, start + 1).unwrap(),
            text: String::new(),
        };
        let clips = vec![clip(0, 0), clip(0, 1), clip(1, 0), clip(2, 0)];
        let rows = vec![1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0];
        let said = Features::new(2, rows).unwrap();
        let pool = Pool::new(clips, said.clone(), said).unwrap();
        let step = Features::new(2, vec![1.0, 0.0]).unwrap();
        let texts = ["a".to_owned()];
        let query = Query { texts: &texts, text: &step, clip: &step, map: None };
        let candidates: Vec<_> = (0..4).map(|row| Sequence(vec![Some(ClipId(row))])).collect();
        let scores = TextOnly::new(&pool).score(&query, &pool, &candidates).unwrap();
        assert_eq!(scores, [1.0, 1.0, 0.0, 0.5]);
    }
}
