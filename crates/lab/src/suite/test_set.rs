//! A set to measure on: a collection, and the part of it that scorers see.

use std::collections::BTreeMap;
use std::sync::Arc;

use stitch_core::clip::{Clip, ClipId, VideoId};
use stitch_core::features::Features;
use stitch_core::pool::{Moment, Pool, PoolError};
use stitch_engine::encoder::EncoderId;
use stitch_engine::scorer::Query;

use crate::collection::{Collection, Instance, VideoInfo};
use crate::dataset::Split;
use crate::rows::{most_frequent, select_rows};

/// A collection with the pool that scorers see.
///
/// The annotated step of a clip is often the very text of the query, so scorers never see it: the texts of
/// their pool are the narration of each clip, empty where none is known.
#[derive(Clone, Debug)]
pub struct TestSet {
    /// Its name in reports.
    pub name: String,
    pub collection: Collection,
    /// The clips with their narration.
    pub seen: Pool,
    /// What made the features.
    pub encoder: EncoderId,
}

impl TestSet {
    /// `narration`: a text and a row of sentence features for each clip, empty and zero where nothing is
    /// said.
    pub fn new(
        name: &str,
        collection: Collection,
        narration: (Vec<String>, Features),
        encoder: EncoderId,
    ) -> Result<Self, PoolError> {
        let (texts, rows) = narration;
        let clips = collection.pool.clips().iter().zip(texts);
        let clips: Vec<Clip> = clips.map(|(clip, text)| Clip { text, ..clip.clone() }).collect();
        let mut seen = Pool::new(clips, rows, collection.pool.clip_features().to_features())?;
        if let Some(appearance) = collection.pool.appearance_features() {
            seen = seen.with_appearance(Arc::clone(appearance));
        }
        Ok(Self { name: name.into(), collection, seen, encoder })
    }

    pub fn narrated(&self) -> usize {
        self.seen.clips().iter().filter(|clip| !clip.text.is_empty()).count()
    }

    /// The numbers of the procedures that are measured: the held-out ones.
    pub fn measured(&self) -> Vec<usize> {
        let instances = &self.collection.instances;
        (0..instances.len()).filter(|at| instances[*at].split == Split::HeldOut).collect()
    }

    /// The same set with only whole videos, or only mixed procedures, measured. The training part stays.
    pub fn measuring(&self, whole: bool) -> Self {
        let mut set = self.clone();
        let keep = |i: &Instance| i.split == Split::Train || self.collection.is_whole(i) == whole;
        set.collection.instances.retain(keep);
        set
    }

    pub fn without_builder(mut self, builder: &str) -> Self {
        self.collection.instances.retain(|instance| instance.builder != builder);
        self
    }

    /// The video that a procedure has the most clips of.
    pub fn source(&self, instance: &Instance) -> VideoId {
        let videos = instance.truth.iter().map(|clip| self.collection.pool.clip(*clip).video);
        most_frequent(videos).unwrap_or(VideoId(0))
    }

    /// The set of the videos that `keep` accepts, with the procedures made of them alone.
    pub fn part(&self, name: &str, keep: impl Fn(VideoId) -> bool) -> Result<Self, PoolError> {
        let Collection { pool, videos, instances, labels } = &self.collection;
        let kept: Vec<usize> = (0..pool.len()).filter(|at| keep(pool.clips()[*at].video)).collect();
        let numbers: BTreeMap<usize, u32> =
            kept.iter().enumerate().map(|(new, old)| (*old, new as u32)).collect();
        let renamed = |clips: &[ClipId]| -> Option<Vec<ClipId>> {
            clips.iter().map(|clip| numbers.get(&clip.row()).copied().map(ClipId)).collect()
        };
        let videos = videos.iter().filter(|(id, _)| keep(**id)).map(|(id, video)| {
            let clips = renamed(&video.clips).unwrap_or_default();
            (*id, VideoInfo { clips, ..video.clone() })
        });
        let instance = |instance: &Instance| {
            let truth = renamed(&instance.truth)?;
            Some(Instance { truth, ..instance.clone() })
        };
        let instances = instances.iter().filter_map(instance).collect();
        let labels = kept.iter().map(|row| labels[*row].clone()).collect();
        let (pool, videos) = (select(pool, &kept)?, videos.collect());
        let collection = Collection { pool, videos, instances, labels };
        let (seen, encoder) = (select(&self.seen, &kept)?, self.encoder.clone());
        Ok(Self { name: name.into(), collection, seen, encoder })
    }
}

pub fn query(instance: &Instance) -> Query<'_> {
    Query { texts: &instance.texts, text: &instance.text, clip: &instance.clip, search: None }
}

fn select(pool: &Pool, kept: &[usize]) -> Result<Pool, PoolError> {
    let rows = |features| select_rows(features, kept.iter().copied());
    let clips = kept.iter().map(|row| pool.clips()[*row].clone()).collect();
    let part = Pool::new(clips, rows(pool.text_features()), rows(pool.clip_features()))?;
    let moments = Moment::ALL.len();
    let of_clip = |row: &usize| row * moments..(row + 1) * moments;
    Ok(match pool.appearance_features() {
        Some(all) => {
            part.with_appearance(Arc::new(select_rows(&**all, kept.iter().flat_map(of_clip))))
        }
        None => part,
    })
}

#[cfg(test)]
mod tests {
    use crate::suite::fixture::{Made, test_set};

    #[test]
    fn a_part_keeps_whole_procedures_with_their_clips() {
        let set = test_set(&Made { tasks: 2, videos: 3, steps: 3, seed: 1 });
        assert_eq!(set.narrated(), 0);
        let part = set.part("some", |video| video.0 % 2 == 1).unwrap();
        assert_eq!(part.collection.instances.len(), 3);
        for instance in &part.collection.instances {
            let source = part.source(instance);
            assert_eq!(source.0 % 2, 1);
            assert_eq!(part.collection.videos[&source].clips, instance.truth);
            let old = set.collection.instances.iter().find(|old| old.title == instance.title);
            let old = &set.collection.pool.clip(old.unwrap().truth[0]).span;
            assert_eq!(&part.seen.clip(instance.truth[0]).span, old);
        }
    }
}
