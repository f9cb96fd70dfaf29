//! Small collections for tests: videos of tasks whose steps look and read as their kind does.

use std::collections::BTreeMap;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use stitch_core::clip::{Clip, ClipId, Span, VideoId};
use stitch_core::features::Features;
use stitch_core::pool::Pool;
use stitch_engine::encoder::EncoderId;

use crate::collection::{Collection, Instance, VideoInfo};
use crate::dataset::Split;
use crate::suite::test_set::TestSet;

/// How large a collection is.
pub struct Made {
    pub tasks: usize,
    /// Of each task.
    pub videos: usize,
    /// About how many a video has.
    pub steps: usize,
    pub seed: u64,
}

/// The length of the vectors.
const DIM: usize = 16;

/// A [`collection`] without narration.
pub fn test_set(made: &Made) -> TestSet {
    let collection = collection(made);
    let count = collection.pool.len();
    let narration = Features::new(DIM, vec![0.0; DIM * count]).unwrap();
    let encoder = EncoderId { name: "x".into(), dim: DIM, weights: String::new() };
    TestSet::new("made", collection, (vec![String::new(); count], narration), encoder).unwrap()
}

/// Whole videos as procedures. A clip's picture is its step's, and its video's, and noise.
pub fn collection(made: &Made) -> Collection {
    let mut random = ChaCha8Rng::seed_from_u64(made.seed);
    let (mut clips, mut rows) = (Vec::new(), [Features::empty(DIM), Features::empty(DIM)]);
    let (mut videos, mut instances) = (BTreeMap::new(), Vec::new());
    for task in 0..made.tasks {
        let kinds: Vec<Vec<f32>> = (0..made.steps + 1).map(|_| noise(&mut random)).collect();
        for number in 0..made.videos {
            let id = VideoId((task * made.videos + number) as u32);
            let look = noise(&mut random);
            // Now and then a video has a step more.
            let count = made.steps + usize::from(made.steps > 2 && number % 4 == 3);
            let (mut own, mut texts) = (Vec::new(), Vec::new());
            let mut steps = Features::empty(DIM);
            for (at, kind) in kinds.iter().take(count).enumerate() {
                own.push(ClipId(clips.len() as u32));
                let start = 1000 * at as u64;
                let text = format!("step {at} of task {task}");
                texts.push(text.clone());
                clips.push(Clip { video: id, span: Span::new(start, start + 900).unwrap(), text });
                steps.push(&mixed(&[(1.0, kind), (0.2, &noise(&mut random))]));
                rows[0].push(&mixed(&[(1.0, kind), (0.2, &noise(&mut random))]));
                rows[1].push(&mixed(&[(1.0, kind), (0.8, &look), (0.6, &noise(&mut random))]));
            }
            let task = format!("task {task}");
            let facts = VideoInfo {
                title: format!("video {}", id.0),
                task: task.clone(),
                split: Some(Split::HeldOut),
                clips: own.clone(),
            };
            videos.insert(id, facts);
            instances.push(Instance {
                title: format!("video {}", id.0),
                texts,
                text: steps.clone(),
                clip: steps,
                truth: own,
                split: Split::HeldOut,
                builder: "real".into(),
                task,
            });
        }
    }
    let [text, picture] = rows;
    let labels = (0..clips.len()).map(|row| format!("clip {row}")).collect();
    Collection { pool: Pool::new(clips, text, picture).unwrap(), videos, instances, labels }
}

fn noise(random: &mut ChaCha8Rng) -> Vec<f32> {
    let mut row: Vec<f32> = (0..DIM).map(|_| random.random_range(-1.0..1.0)).collect();
    stitch_core::features::normalise(&mut row);
    row
}

fn mixed(parts: &[(f32, &Vec<f32>)]) -> Vec<f32> {
    (0..DIM).map(|i| parts.iter().map(|(weight, row)| weight * row[i]).sum()).collect()
}
