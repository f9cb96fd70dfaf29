//! Text-only: similarity of steps and narration.
//!
//! Faithful: the mean over steps of the cosine of the sentence features of the clip's narration and of the
//! step; pictures are not used. Adapted: a clip without narration scores the mean of its video, and a video
//! without narration the mean of all clips, so that silence neither helps nor harms. In a set without
//! narration all candidates score the same.

use std::collections::HashMap;

use stitch_core::clip::{Clip, VideoId};
use stitch_core::cover::Sequence;
use stitch_core::features::similarity;
use stitch_core::pool::Pool;
use stitch_engine::scorer::{Query, Scorer, Scores};

use super::{mean, shown};

/// The texts of the clips are their narration.
pub struct TextOnly;

/// How well each clip's narration fits a step.
fn fits(step: &[f32], pool: &Pool) -> Vec<f32> {
    let cosine = |row: &[f32]| row.iter().any(|x| *x != 0.0).then(|| similarity(step, row));
    let rows = pool.text_features();
    let cosines: Vec<Option<f32>> = (0..rows.len()).map(|row| cosine(&rows.row(row))).collect();
    let overall = mean(cosines.iter().flatten().copied());
    let mut videos: HashMap<VideoId, Vec<f32>> = HashMap::new();
    for (clip, cosine) in pool.clips().iter().zip(&cosines) {
        videos.entry(clip.video).or_default().extend(cosine);
    }
    let silent = |clip: &Clip| match &videos[&clip.video][..] {
        [] => overall,
        spoken => mean(spoken.iter().copied()),
    };
    let clips = pool.clips().iter().zip(cosines);
    clips.map(|(clip, cosine)| cosine.unwrap_or_else(|| silent(clip))).collect()
}

impl Scorer for TextOnly {
    fn name(&self) -> &str {
        "text-only"
    }

    fn score(&self, query: &Query, pool: &Pool, candidates: &[Sequence]) -> Scores {
        query.check(pool, candidates, query.clip.dim())?;
        let fits: Vec<Vec<f32>> = query.text.rows().map(|step| fits(step, pool)).collect();
        let one =
            |sequence: &Sequence| mean(shown(sequence).map(|(step, clip)| fits[step][clip.row()]));
        Ok(candidates.iter().map(one).collect())
    }
}

#[cfg(test)]
mod tests {
    use stitch_core::clip::{ClipId, Span};
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
        let query = Query { texts: &texts, text: &step, clip: &step, search: None };
        let candidates: Vec<_> = (0..4).map(|row| Sequence(vec![Some(ClipId(row))])).collect();
        let scores = TextOnly.score(&query, &pool, &candidates).unwrap();
        assert_eq!(scores, [1.0, 1.0, 0.0, 0.5]);
    }
}
