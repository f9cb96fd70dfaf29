//! A toy test set out of made-up scripts, without pictures and without models: every word has a random
//! vector, and the picture of a clip is the sum of its step's text, its place and noise. It shows in seconds
//! whether measuring works; what it says of methods holds for the toy alone.

use std::collections::{BTreeMap, HashMap};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sha2::{Digest, Sha256};
use stitch_core::clip::{Clip, ClipId, Span, VideoId};
use stitch_core::features::{Features, normalise};
use stitch_core::pool::{Pool, PoolError};
use stitch_core::words::stems;
use stitch_engine::encoder::EncoderId;

use super::mixing::mixed;
use super::test_set::TestSet;
use crate::collection::{Collection, Instance, VideoInfo};
use crate::dataset::{MineOptions, Split};
use stitch_world::library::scripts;
use stitch_world::truth::{Truth, VideoTruth};
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
    let mut truth = Truth::new(seed, &scripts(seed, videos));
    truth.videos.retain(|video| video.domain == domain);
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut toy = Toy {
        clips: Vec::new(),
        pictures: Features::empty(DIM),
        narration: Vec::new(),
        videos: BTreeMap::new(),
        instances: Vec::new(),
    };
    for (number, video) in truth.videos.iter().enumerate() {
        toy.add(VideoId(number as u32), video, &mut random);
    }
    let texts = features(toy.clips.iter().map(|clip| text_vector(&clip.text)));
    let narration_rows = features(toy.narration.iter().map(|text| text_vector(text)));
    let pool = Pool::new(toy.clips, texts, toy.pictures)?;
    let mut collection = Collection::new(pool, toy.videos, toy.instances);
    let mine = MineOptions { similarity: 0.5, largest: 3, most: MAX_MIXED, seed };
    for split in [Split::Train, Split::HeldOut] {
        let mixed = mixed(&collection, split, &mine);
        collection.instances.extend(mixed);
    }
    let name = format!("{domain:?}").to_lowercase();
    let encoder = EncoderId { name: "made-up".into(), dim: DIM, weights: String::new() };
    TestSet::new(&name, collection, (toy.narration, narration_rows), encoder)
}

fn split_of(video: VideoId) -> Split {
    if video.0.is_multiple_of(3) { Split::HeldOut } else { Split::Train }
}

struct Toy {
    clips: Vec<Clip>,
    pictures: Features,
    narration: Vec<String>,
    videos: BTreeMap<VideoId, VideoInfo>,
    /// The whole videos of two steps or more.
    instances: Vec<Instance>,
}

impl Toy {
    fn add(&mut self, id: VideoId, video: &VideoTruth, random: &mut ChaCha8Rng) {
        let place = random_vector(&format!("place {}", video.place_seed));
        let (mut own, mut texts) = (Vec::new(), Vec::new());
        for step in &video.steps {
            let Some(span) = Span::new(step.start_ms, step.end_ms) else { continue };
            own.push(ClipId(self.clips.len() as u32));
            let noise: Vec<f32> = (0..DIM).map(|_| random.random_range(-0.2..0.2)).collect();
            self.pictures.push(&sum(&[
                (STEP_WEIGHT, &text_vector(&step.text)),
                (PLACE_WEIGHT, &place),
                (NOISE_WEIGHT, &noise),
            ]));
            self.narration.push(step.narration.clone());
            self.clips.push(Clip { video: id, span, text: step.text.clone() });
            texts.push(step.text.clone());
        }
        let (title, task) = (video.title.clone(), video.task.clone());
        if own.len() >= 2 {
            let rows = features(texts.iter().map(|text| text_vector(text)));
            self.instances.push(Instance {
                title: title.clone(),
                text: rows.clone(),
                clip: rows,
                texts,
                truth: own.clone(),
                split: split_of(id),
                builder: "real".into(),
                task: task.clone(),
            });
        }
        self.videos.insert(id, VideoInfo { title, task, split: Some(split_of(id)), clips: own });
    }
}

fn features(rows: impl Iterator<Item = Vec<f32>>) -> Features {
    let mut features = Features::empty(DIM);
    rows.for_each(|row| features.push(&row));
    features
}

/// The sum of the vectors of its words.
fn text_vector(text: &str) -> Vec<f32> {
    let mut words: Vec<String> = stems(text).into_iter().collect();
    words.sort_unstable();
    let rows: HashMap<&String, Vec<f32>> = words.iter().map(|w| (w, random_vector(w))).collect();
    let parts: Vec<(f32, &Vec<f32>)> = words.iter().map(|word| (1.0, &rows[word])).collect();
    sum(&parts)
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
