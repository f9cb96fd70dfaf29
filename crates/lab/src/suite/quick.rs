//! A test set out of made-up scripts, without pictures and without models: every word has a vector by
//! chance, a clip looks as its step reads, as its place looks, and blurred. It shows in seconds whether
//! the machinery of measuring works; what it says of methods holds for this toy alone.

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
use crate::collection::{Collection, Instance, VideoFacts};
use crate::dataset::{MineOptions, Recipe, Split};
use stitch_world::library::scripts;
use stitch_world::truth::Truth;
use stitch_world::vocabulary::Domain;

/// The length of the vectors.
const DIM: usize = 64;

/// How much of a clip's picture is its step, its place, and blur.
const STEP: f32 = 1.0;
const PLACE: f32 = 0.7;
const BLUR: f32 = 0.9;

/// The most mixed procedures of each part.
const MOST: usize = 150;

/// Scripts of one domain as a test set: mixed procedures and whole videos, asked for in the words of
/// their sources as the paper's are, a third of the videos held out.
pub fn made_up(domain: Domain, videos: usize, seed: u64) -> Result<TestSet, PoolError> {
    let mut truth = Truth::new(seed, &scripts(seed, videos));
    truth.videos.retain(|video| video.domain == domain);
    let made = Made::new(&truth, seed)?;
    let mut instances = Vec::new();
    for recipe in &made.recipes {
        instances.extend(made.whole(recipe, part(recipe.video)));
    }
    let said = made.said.clone();
    let rows = features(said.iter().map(|text| in_words(text)));
    let mut collection = Collection::new(made.pool, made.videos, instances);
    let mine = MineOptions { similarity: 0.5, largest: 3, most: MOST, seed };
    for split in [Split::Train, Split::HeldOut] {
        let mixed = mixed(&collection, split, &mine, MOST);
        collection.instances.extend(mixed);
    }
    let name = format!("{domain:?}").to_lowercase();
    let encoder = EncoderId { name: "made-up".into(), dim: DIM, weights: String::new() };
    TestSet::new(&name, collection, (said, rows), encoder)
}

fn part(video: VideoId) -> Split {
    if video.0.is_multiple_of(3) { Split::HeldOut } else { Split::Train }
}

struct Made {
    pool: Pool,
    videos: BTreeMap<VideoId, VideoFacts>,
    recipes: Vec<Recipe>,
    /// What is said in each clip.
    said: Vec<String>,
}

impl Made {
    fn new(truth: &Truth, seed: u64) -> Result<Self, PoolError> {
        let (mut clips, mut said) = (Vec::new(), Vec::new());
        let (mut videos, mut recipes) = (BTreeMap::new(), Vec::new());
        let mut pictures = Features::empty(DIM);
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        for (number, video) in truth.videos.iter().enumerate() {
            let id = VideoId(number as u32);
            let place = by_chance(&format!("place {}", video.place_seed));
            let mut own = Vec::new();
            for step in &video.steps {
                let Some(span) = Span::new(step.start_ms, step.end_ms) else { continue };
                own.push(ClipId(clips.len() as u32));
                let blur: Vec<f32> = (0..DIM).map(|_| random.random_range(-0.2..0.2)).collect();
                pictures.push(&sum(&[
                    (STEP, &in_words(&step.text)),
                    (PLACE, &place),
                    (BLUR, &blur),
                ]));
                said.push(step.narration.clone());
                clips.push(Clip { video: id, span, text: step.text.clone() });
            }
            let (title, task) = (video.title.clone(), video.task.clone());
            let (split, steps) = (Some(part(id)), own.clone());
            videos.insert(id, VideoFacts { title: title.clone(), task, split, clips: own });
            let content = video.file.clone();
            recipes.push(Recipe { video: id, content, title, licence: None, steps });
        }
        let texts = features(clips.iter().map(|clip| in_words(&clip.text)));
        Ok(Self { pool: Pool::new(clips, texts, pictures)?, videos, recipes, said })
    }

    fn whole(&self, recipe: &Recipe, split: Split) -> Option<Instance> {
        let truth = recipe.steps.clone();
        (truth.len() >= 2).then(|| self.instance(&recipe.title, truth, split, "real"))
    }

    fn instance(&self, title: &str, truth: Vec<ClipId>, split: Split, by: &str) -> Instance {
        let texts = truth.iter().map(|clip| self.pool.clip(*clip).text.clone());
        let texts: Vec<String> = texts.collect();
        let rows = features(texts.iter().map(|text| in_words(text)));
        let task = |clip: &ClipId| self.videos[&self.pool.clip(*clip).video].task.clone();
        let task = truth.first().map(task).unwrap_or_default();
        Instance {
            title: title.into(),
            text: rows.clone(),
            clip: rows,
            texts,
            truth,
            split,
            builder: by.into(),
            task,
        }
    }
}

fn features(rows: impl Iterator<Item = Vec<f32>>) -> Features {
    let mut features = Features::empty(DIM);
    rows.for_each(|row| features.push(&row));
    features
}

/// A text as the sum of its words.
fn in_words(text: &str) -> Vec<f32> {
    let mut words: Vec<String> = stems(text).into_iter().collect();
    words.sort_unstable();
    let rows: HashMap<&String, Vec<f32>> = words.iter().map(|w| (w, by_chance(w))).collect();
    let parts: Vec<(f32, &Vec<f32>)> = words.iter().map(|word| (1.0, &rows[word])).collect();
    sum(&parts)
}

/// The vector of a word: always the same, and like no other's.
fn by_chance(word: &str) -> Vec<f32> {
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
        let set = made_up(Domain::Cooking, 60, 1).unwrap();
        for split in [Split::Train, Split::HeldOut] {
            for builder in ["real", "rules"] {
                let found = set.collection.of_split(split).filter(|i| i.builder == builder);
                assert!(found.count() > 0, "{split:?} {builder}");
            }
        }
        for instance in &set.collection.instances {
            assert_eq!(set.is_whole(instance), instance.builder == "real");
            let said = instance.truth.iter().map(|clip| &set.collection.pool.clip(*clip).text);
            assert!(said.eq(&instance.texts), "asked for in the clips' own words");
            let parts = instance.truth.iter().map(|clip| part(set.seen.clip(*clip).video));
            assert!(parts.into_iter().all(|part| part == instance.split));
        }
        let again = made_up(Domain::Cooking, 60, 1).unwrap();
        assert_eq!(set.collection.instances, again.collection.instances);
    }
}
