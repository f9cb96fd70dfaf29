//! A toy test set out of made-up scripts, without pictures and without models: every word has a random
//! vector, and the picture of a clip is the sum of its step's text, its place and noise. It shows in seconds
//! whether measuring works; what it says of methods holds for the toy alone.

use std::collections::{BTreeMap, BTreeSet};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sha2::{Digest, Sha256};
use stitch_core::clip::{Clip, ClipId, Span, VideoId};
use stitch_core::features::{Features, normalise};
use stitch_core::pool::{Pool, PoolError};
use stitch_core::words::stems;
use stitch_engine::encoder::EncoderId;

use super::mixing::mixed;
use super::plain::load::instance_of_clips;
use super::test_set::TestSet;
use crate::collection::{Collection, Instance, VideoInfo};
use crate::dataset::{MineOptions, Split};
use stitch_world::catalogue::TaskSet;
use stitch_world::library::scripts;
use stitch_world::truth::Truth;
use stitch_world::vocabulary::Domain;

const DIM: usize = 64;

// Weights of the parts of a clip's picture, chosen by hand.
const STEP_WEIGHT: f32 = 1.0;
const PLACE_WEIGHT: f32 = 0.7;
const NOISE_WEIGHT: f32 = 0.9;

/// Mixed procedures of each split.
const MAX_MIXED: usize = 150;

/// Scripts of one domain as a test set: mixed procedures and whole videos, in the words of their sources as
/// the paper's are, a third of the videos held out.
pub fn toy_set(domain: Domain, videos: usize, seed: u64) -> Result<TestSet, PoolError> {
    let tasks = TaskSet::Demonstration;
    let mut truth = Truth::new(tasks, seed, &scripts(tasks, seed, videos));
    truth.videos.retain(|video| video.domain == domain);
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let (mut clips, mut pictures) = (Vec::new(), Features::empty(DIM));
    let (mut narration, mut videos) = (Vec::new(), BTreeMap::new());
    for (video, id) in truth.videos.iter().zip((0..).map(VideoId)) {
        let place = random_vector(&format!("place {}", video.place_seed));
        let mut own = Vec::new();
        for step in &video.steps {
            let Some(span) = Span::new(step.start_ms, step.end_ms) else { continue };
            own.push(ClipId(clips.len() as u32));
            let noise: Vec<f32> = (0..DIM).map(|_| random.random_range(-0.2..0.2)).collect();
            pictures.push(&sum(&[
                (STEP_WEIGHT, &text_vector(&step.text)),
                (PLACE_WEIGHT, &place),
                (NOISE_WEIGHT, &noise),
            ]));
            narration.push(step.narration.clone());
            clips.push(Clip { video: id, span, text: step.text.clone() });
        }
        let (title, task) = (video.title.clone(), video.task.clone());
        videos.insert(id, VideoInfo { title, task, split: Some(split_of(id)), clips: own });
    }
    let texts = features(clips.iter().map(|clip| clip.text.as_str()));
    let pool = Pool::new(clips, texts, pictures)?;
    let whole = |(id, video): (&VideoId, &VideoInfo)| Instance {
        split: split_of(*id),
        ..instance_of_clips(&video.title, &video.task, &video.clips, &pool, pool.text_features())
    };
    let instances = videos.iter().filter(|(_, video)| video.clips.len() >= 2).map(whole).collect();
    let mut collection = Collection::new(pool, videos, instances);
    let mine = MineOptions { similarity: 0.5, largest: 3, most: MAX_MIXED, seed };
    for split in [Split::Train, Split::HeldOut] {
        let mixed = mixed(&collection, split, &mine);
        collection.instances.extend(mixed);
    }
    let name = format!("{domain:?}").to_lowercase();
    let encoder = EncoderId { name: "made-up".into(), dim: DIM, weights: String::new() };
    let rows = features(narration.iter().map(String::as_str));
    TestSet::new(&name, collection, (narration, rows), encoder)
}

fn split_of(video: VideoId) -> Split {
    if video.0.is_multiple_of(3) { Split::HeldOut } else { Split::Train }
}

fn features<'a>(texts: impl Iterator<Item = &'a str>) -> Features {
    let mut features = Features::empty(DIM);
    texts.for_each(|text| features.push(&text_vector(text)));
    features
}

/// The sum of the vectors of its words.
fn text_vector(text: &str) -> Vec<f32> {
    let words: BTreeSet<String> = stems(text).into_iter().collect();
    let rows: Vec<Vec<f32>> = words.iter().map(|word| random_vector(word)).collect();
    sum(&rows.iter().map(|row| (1.0, row)).collect::<Vec<_>>())
}

/// A random vector that depends on the word alone.
fn random_vector(word: &str) -> Vec<f32> {
    let digest = Sha256::digest(word.as_bytes());
    let seed = digest.iter().take(8).fold(0u64, |seed, byte| seed << 8 | u64::from(*byte));
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut row: Vec<f32> = (0..DIM).map(|_| random.random_range(-1.0..1.0)).collect();
    normalise(&mut row);
    row
}

fn sum(parts: &[(f32, &Vec<f32>)]) -> Vec<f32> {
    let mut row = vec![0.0; DIM];
    for (weight, part) in parts {
        row.iter_mut().zip(part.iter()).for_each(|(sum, x)| *sum += weight * x);
    }
    normalise(&mut row);
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_toy_has_both_kinds_in_both_parts_and_the_seed_decides() {
        let set = toy_set(Domain::Cooking, 60, 1).unwrap();
        for split in [Split::Train, Split::HeldOut] {
            for builder in ["real", "rules"] {
                let found = set.collection.of_split(split).filter(|i| i.builder == builder);
                assert!(found.count() > 0, "{split:?} {builder}");
            }
        }
        for instance in &set.collection.instances {
            assert_eq!(set.collection.is_whole(instance), instance.builder == "real");
            let said = instance.truth.iter().map(|clip| &set.collection.pool.clip(*clip).text);
            assert!(said.eq(&instance.texts), "asked for in the clips' own words");
            let splits = instance.truth.iter().map(|clip| split_of(set.seen.clip(*clip).video));
            assert!(splits.into_iter().all(|split| split == instance.split));
        }
        let again = toy_set(Domain::Cooking, 60, 1).unwrap();
        assert_eq!(set.collection.instances, again.collection.instances);
    }
}
