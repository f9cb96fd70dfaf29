//! HiREST (Zala et al., CVPR 2023): choose the video for the whole query, then the moment in it, then
//! its steps.
//!
//! Faithful: the hierarchy, each level judged by similarity of texts and pictures, the mix of the
//! levels learnt on whole videos. Adapted: their moment and step heads work on frames of one video
//! that was retrieved; here a candidate has clips of several videos, so each clip is judged by its own
//! whole video (against all steps together), by the moment around it (the clip with its neighbours),
//! and by itself. The query's title is not among what scorers see; its steps stand for it.

use std::collections::HashMap;

use stitch_core::clip::{ClipId, VideoId};
use stitch_core::cover::Sequence;
use stitch_core::features::{Features, similarity};
use stitch_core::pool::Pool;
use stitch_engine::scorer::Query;

use super::weighted::Measures;
use super::{mean, shown, step_similarity};
use crate::rows::{clips_by_video, mean_row};

pub struct Hirest {
    videos: HashMap<VideoId, Vec<f32>>,
    /// For each clip the mean of it and the clips before and after it.
    moments: Features,
}

impl Hirest {
    pub fn new(pool: &Pool) -> Self {
        let rows = pool.clip_features();
        let own = clips_by_video(pool);
        let mut means = vec![Vec::new(); rows.len()];
        for clips in own.values() {
            for (at, clip) in clips.iter().enumerate() {
                let around = &clips[at.saturating_sub(1)..(at + 2).min(clips.len())];
                means[clip.row()] = mean_row(rows, around);
            }
        }
        let mut moments = Features::empty(rows.dim());
        means.iter().for_each(|row| moments.push(row));
        let videos = own.iter().map(|(video, clips)| (*video, mean_row(rows, clips)));
        Self { videos: videos.collect(), moments }
    }
}

impl Measures for Hirest {
    const NAME: &str = "hirest";
    const COUNT: usize = 3;

    fn measure(&self, query: &Query, pool: &Pool, candidates: &[Sequence]) -> Vec<Vec<f32>> {
        let whole = query.clip.mean_of(0..query.clip.len());
        let of_video = |row: &Vec<f32>| similarity(&whole, row);
        let videos: HashMap<VideoId, f32> =
            self.videos.iter().map(|(video, row)| (*video, of_video(row))).collect();
        let moment = |(step, clip): (usize, ClipId)| {
            similarity(query.clip.row(step), self.moments.row(clip.row()))
        };
        let video = |(_, clip): (usize, ClipId)| videos.get(&pool.clip(clip).video).copied();
        let one = |candidate: &Sequence| {
            let video = mean(shown(candidate).filter_map(video));
            let moment = mean(shown(candidate).map(moment));
            vec![video, moment, step_similarity(query, pool, candidate)]
        };
        candidates.iter().map(one).collect()
    }
}
