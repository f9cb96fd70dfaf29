//! A set to measure on: a collection, and what scorers may see of it.

use std::collections::BTreeMap;

use stitch_core::clip::{Clip, ClipId, VideoId};
use stitch_core::features::Features;
use stitch_core::pool::{Pool, PoolError};
use stitch_engine::encoder::EncoderId;
use stitch_engine::scorer::Query;

use crate::collection::{Collection, Instance};

/// A collection with what scorers may see of its clips.
///
/// The step that a clip was annotated with is often the very text of the question, so scorers never
/// see it: the texts of their pool are what is said in the clip, and nothing where nothing is known to
/// be said.
#[derive(Clone, Debug)]
pub struct TestSet {
    /// Its name in reports.
    pub name: String,
    /// Everything.
    pub collection: Collection,
    /// The clips with what is said in them.
    pub seen: Pool,
    /// What made the features.
    pub encoder: EncoderId,
}

impl TestSet {
    /// A collection whose clips have this narration: a text and a row of sentence features for each,
    /// empty and zero where nothing is said.
    pub fn new(
        name: &str,
        collection: Collection,
        said: (Vec<String>, Features),
        encoder: EncoderId,
    ) -> Result<Self, PoolError> {
        let (texts, rows) = said;
        let clips = collection.pool.clips().iter().zip(texts);
        let clips: Vec<Clip> = clips.map(|(clip, text)| Clip { text, ..clip.clone() }).collect();
        let seen = Pool::new(clips, rows, collection.pool.clip_features().clone())?;
        Ok(Self { name: name.into(), collection, seen, encoder })
    }

    /// How many clips something is said in.
    pub fn narrated(&self) -> usize {
        self.seen.clips().iter().filter(|clip| !clip.text.is_empty()).count()
    }

    /// The numbers of the procedures that are measured: the held-out ones.
    pub fn measured(&self) -> Vec<usize> {
        let all = self.collection.instances.iter().enumerate();
        let held_out = all.filter(|(_, instance)| instance.split == crate::dataset::Split::HeldOut);
        held_out.map(|(at, _)| at).collect()
    }

    /// Whether a procedure's clips are all of one video.
    pub fn is_whole(&self, instance: &Instance) -> bool {
        self.collection.is_whole(instance)
    }

    /// The same set with only whole videos, or only mixed procedures, measured. What is learnt from
    /// stays.
    pub fn measuring(&self, whole: bool) -> Self {
        let mut set = self.clone();
        let held_out = crate::dataset::Split::HeldOut;
        let keep = |i: &Instance| i.split != held_out || self.is_whole(i) == whole;
        set.collection.instances.retain(keep);
        set
    }

    /// The set without the procedures of a builder.
    pub fn without_builder(mut self, builder: &str) -> Self {
        self.collection.instances.retain(|instance| instance.builder != builder);
        self
    }

    /// The video that a procedure has the most clips of.
    pub fn source(&self, instance: &Instance) -> VideoId {
        let mut counts: BTreeMap<VideoId, usize> = BTreeMap::new();
        for clip in &instance.truth {
            *counts.entry(self.collection.pool.clip(*clip).video).or_default() += 1;
        }
        let most =
            counts.into_iter().max_by_key(|(video, count)| (*count, std::cmp::Reverse(*video)));
        most.map_or(VideoId(0), |(video, _)| video)
    }

    /// The same set with some of its videos and the procedures that are made of them.
    pub fn part(&self, name: &str, keep: impl Fn(VideoId) -> bool) -> Result<Self, PoolError> {
        let Collection { pool, videos, instances, labels } = &self.collection;
        let kept: Vec<usize> = (0..pool.len()).filter(|at| keep(pool.clips()[*at].video)).collect();
        let numbers: BTreeMap<usize, u32> =
            kept.iter().enumerate().map(|(new, old)| (*old, new as u32)).collect();
        let renamed = |clips: &[ClipId]| -> Option<Vec<ClipId>> {
            clips.iter().map(|clip| numbers.get(&clip.row()).copied().map(ClipId)).collect()
        };
        let videos = videos.iter().filter(|(id, _)| keep(**id)).map(|(id, facts)| {
            let clips = renamed(&facts.clips).unwrap_or_default();
            (*id, crate::collection::VideoFacts { clips, ..facts.clone() })
        });
        let instance = |instance: &Instance| {
            let truth = renamed(&instance.truth)?;
            Some(Instance { truth, ..instance.clone() })
        };
        let instances = instances.iter().filter_map(instance).collect();
        let labels = kept.iter().map(|row| labels[*row].clone()).collect();
        let (pool, videos) = (chosen(pool, &kept)?, videos.collect());
        let collection = Collection { pool, videos, instances, labels };
        let (seen, encoder) = (chosen(&self.seen, &kept)?, self.encoder.clone());
        Ok(Self { name: name.into(), collection, seen, encoder })
    }
}

/// The procedure as a scorer sees it.
pub fn query(instance: &Instance) -> Query<'_> {
    Query { texts: &instance.texts, text: &instance.text, clip: &instance.clip, map: None }
}

fn chosen(pool: &Pool, kept: &[usize]) -> Result<Pool, PoolError> {
    let rows = |features: &Features| {
        let mut chosen = Features::empty(features.dim());
        kept.iter().for_each(|row| chosen.push(features.row(*row)));
        chosen
    };
    let clips = kept.iter().map(|row| pool.clips()[*row].clone()).collect();
    Pool::new(clips, rows(pool.text_features()), rows(pool.clip_features()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::fixture::{DIM, Made, collection};

    #[test]
    fn a_part_keeps_whole_procedures_with_their_clips() {
        let made = collection(&Made { tasks: 2, videos: 3, steps: 3, seed: 1 });
        let count = made.pool.len();
        let said =
            (vec![String::new(); count], Features::new(DIM, vec![0.0; DIM * count]).unwrap());
        let encoder = EncoderId { name: "x".into(), dim: DIM, weights: String::new() };
        let set = TestSet::new("all", made, said, encoder).unwrap();
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
