//! What is learnt from and measured on: clips with the task of their video, and procedures whose
//! clips are known.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Serialize;
use sha2::{Digest, Sha256};
use stitch_core::clip::{ClipId, VideoId};
use stitch_core::cover::{Sequence, interrupted, reversed, source_changes, steps_back};
use stitch_core::features::Features;
use stitch_core::pool::Pool;
use stitch_engine::encoder::{Encoder, EncoderError};
use stitch_engine::library::{Library, LibraryError, VideoRecord};
use stitch_engine::progress::{Progress, Stopped};
use stitch_engine::sentence::{SentenceEncoder, SentenceError};

use crate::dataset::examples::Clips;
use crate::dataset::mine::{self, MineOptions};
use crate::dataset::recipes::{Recipe, recipes};
use crate::dataset::{Example, Split};

/// Clips, their videos, and procedures whose clips are known.
#[derive(Clone, Debug)]
pub struct Collection {
    /// All clips with their features.
    pub pool: Pool,
    /// The videos they are from.
    pub videos: BTreeMap<VideoId, VideoFacts>,
    /// The procedures.
    pub instances: Vec<Instance>,
    /// What each clip is said to show: clips of one label show the same.
    pub labels: Vec<String>,
}

/// A video as training and measuring see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VideoFacts {
    /// Its title, or its file's name.
    pub title: String,
    /// What it makes: videos that make the same have the same task.
    pub task: String,
    /// The part of the data it belongs to; none if no procedure uses it.
    pub split: Option<Split>,
    /// Its clips, by start.
    pub clips: Vec<ClipId>,
}

/// A procedure with the clips that show it.
#[derive(Clone, Debug, PartialEq)]
pub struct Instance {
    /// What it makes.
    pub title: String,
    /// Its steps.
    pub texts: Vec<String>,
    /// The steps by the sentence encoder.
    pub text: Features,
    /// The steps by F_M's text side, in the space of the clips.
    pub clip: Features,
    /// The clip of each step.
    pub truth: Vec<ClipId>,
    /// Its part of the data.
    pub split: Split,
    /// What made it (`rules`, `language-model`, `temporally-sampled`, `real`).
    pub builder: String,
    /// The task of most of its clips.
    pub task: String,
}

/// Why an example is not in the collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lost {
    /// A clip of it is not in the library any more.
    ClipGone,
    /// A clip of it has no feature: there was nothing to go by.
    NoFeature,
    /// It has no step.
    NoStep,
}

/// How many examples became instances, and why others did not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Taken {
    /// Instances.
    pub kept: usize,
    /// Examples that were not taken, by reason.
    pub lost: BTreeMap<Lost, usize>,
}

/// Why there is no collection.
#[derive(Debug, thiserror::Error)]
pub enum CollectionError {
    /// The library cannot be read, or was made with another encoder.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// The steps cannot be encoded.
    #[error(transparent)]
    Encoder(#[from] EncoderError),
    /// The steps cannot be encoded.
    #[error(transparent)]
    Sentence(#[from] SentenceError),
    /// A video is in both parts.
    #[error(
        "`{title}` is in the train and in the held-out part, so that what is measured would have been \
         learnt; make the parts anew with `stitch dataset mix`"
    )]
    InBothParts {
        /// The video's title.
        title: String,
    },
    /// No example is left.
    #[error(
        "none of {examples} procedures can be used ({why}); make them anew with `stitch dataset mix` \
         from this library"
    )]
    NothingLeft {
        /// How many there were.
        examples: usize,
        /// What is wrong with them.
        why: String,
    },
    /// The work was asked to stop.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// From which similarity of summaries on two videos make the same, where nobody says what they make.
const SAME_TASK: f32 = MineOptions::SIMILARITY;

impl Collection {
    /// Of these parts, every clip labelled with its text.
    pub fn new(
        pool: Pool,
        videos: BTreeMap<VideoId, VideoFacts>,
        instances: Vec<Instance>,
    ) -> Self {
        let labels = pool.clips().iter().map(|clip| clip.text.clone()).collect();
        Self { pool, videos, instances, labels }
    }

    /// The clips of a library, and the examples whose clips are all there. What was lost is counted,
    /// never guessed.
    pub fn of_library(
        library: &Library,
        encoder: &dyn Encoder,
        sentence: &SentenceEncoder,
        examples: &[Example],
        progress: &dyn Progress,
    ) -> Result<(Self, Taken), CollectionError> {
        library.check_encoder(encoder.id())?;
        let pool = library.pool()?;
        let records = library.videos()?;
        let tasks = tasks(&recipes(library, &pool)?, &pool, sentence, progress)?;
        let mut videos = videos(&pool, &records, &tasks);
        let (found, taken) = find(examples, &pool, &records);
        if found.is_empty() {
            let why = taken.in_words();
            return Err(CollectionError::NothingLeft { examples: examples.len(), why });
        }
        part(&mut videos, &pool, &found)?;
        let known = Known::encode(&found, encoder, sentence, progress)?;
        let instance = |(example, truth)| known.instance(example, truth, &pool, &videos);
        let instances = found.into_iter().map(instance).collect();
        Ok((Self::new(pool, videos, instances), taken))
    }

    /// Whether anything that is known tells a sequence from a truth. Clips that are said to show the
    /// same are equally right: without a further change of source, clip between two of another or
    /// clip after a later one, they are.
    pub fn tells_apart(&self, truth: &[ClipId], other: &[ClipId]) -> bool {
        let breaks = |clips: &[ClipId]| {
            let changes = source_changes(&Sequence::from(clips), &self.pool);
            [changes, interrupted(clips, &self.pool), reversed(clips, &self.pool)]
        };
        !self.shows_the_same(truth, other) || any_more(breaks(truth), breaks(other))
    }

    /// Whether a search that goes by changes of source and steps from one clip back to the next has found
    /// a truth, or what it cannot tell from it.
    pub fn is_found(&self, truth: &[ClipId], other: &[ClipId]) -> bool {
        let breaks = |clips: &[ClipId]| {
            let clips = Sequence::from(clips);
            [source_changes(&clips, &self.pool), steps_back(&clips, &self.pool)]
        };
        self.shows_the_same(truth, other) && !any_more(breaks(truth), breaks(other))
    }

    /// Whether each clip is, or is said to show, what the truth's is.
    fn shows_the_same(&self, truth: &[ClipId], other: &[ClipId]) -> bool {
        let says = |clip: &ClipId| self.labels[clip.row()].as_str();
        let alike = |a: &ClipId, b: &ClipId| a == b || (says(a) == says(b) && !says(a).is_empty());
        truth.len() == other.len() && truth.iter().zip(other).all(|(a, b)| alike(a, b))
    }

    /// Whether all clips of a procedure are of one video.
    pub fn is_whole(&self, instance: &Instance) -> bool {
        let video = |clip: &ClipId| self.pool.clip(*clip).video;
        instance.truth.windows(2).all(|pair| video(&pair[0]) == video(&pair[1]))
    }

    /// Where all instances are in one part: holds out those of this share of the videos, by title and
    /// seed; an instance of videos of both parts is left out. Parts that are there already stay.
    pub fn part_by_video(&mut self, held_out: f64, seed: u64) {
        let first = self.instances.first().map(|instance| instance.split);
        if self.instances.iter().any(|instance| Some(instance.split) != first) {
            return;
        }
        for facts in self.videos.values_mut() {
            let digest = Sha256::digest([&seed.to_le_bytes(), facts.title.as_bytes()].concat());
            let number = u32::from_le_bytes([digest[0], digest[1], digest[2], digest[3]]);
            let held = f64::from(number) < held_out * f64::from(u32::MAX);
            facts.split = Some(if held { Split::HeldOut } else { Split::Train });
        }
        let (pool, videos) = (&self.pool, &self.videos);
        self.instances.retain_mut(|instance| {
            let parts =
                instance.truth.iter().filter_map(|clip| videos[&pool.clip(*clip).video].split);
            let parts: BTreeSet<Split> = parts.collect();
            instance.split = parts.first().copied().unwrap_or(instance.split);
            parts.len() == 1
        });
    }

    /// The instances of one part.
    pub fn of_split(&self, split: Split) -> impl Iterator<Item = &Instance> {
        self.instances.iter().filter(move |instance| instance.split == split)
    }

    /// The videos of one part, each with its clips that have words, by start.
    pub fn clips_with_words(&self, split: Split) -> HashMap<VideoId, Vec<ClipId>> {
        let words = |clip: &&ClipId| !self.pool.clip(**clip).text.trim().is_empty();
        let own = self.videos.iter().filter(|(_, facts)| facts.split == Some(split));
        own.map(|(id, facts)| (*id, facts.clips.iter().filter(words).copied().collect())).collect()
    }
}

/// Whether the second has more of anything than the first.
fn any_more<const N: usize>(first: [usize; N], second: [usize; N]) -> bool {
    first.into_iter().zip(second).any(|(first, second)| second > first)
}

impl Taken {
    /// `3 with a clip that is not in the library any more`, and so on.
    pub fn in_words(&self) -> String {
        let words = |(reason, count): (&Lost, &usize)| match reason {
            Lost::ClipGone => format!("{count} with a clip that is not in the library any more"),
            Lost::NoFeature => format!("{count} with a clip that has no feature"),
            Lost::NoStep => format!("{count} without a step"),
        };
        self.lost.iter().map(words).collect::<Vec<_>>().join(", ")
    }
}

type Located<'a> = (&'a Example, Vec<ClipId>);

/// The examples whose clips are there, with these clips.
fn find<'a>(
    examples: &'a [Example],
    pool: &Pool,
    records: &[VideoRecord],
) -> (Vec<Located<'a>>, Taken) {
    let contents = records.iter().map(|r| (VideoId(r.id), r.content.clone())).collect();
    let clips = Clips::of(pool, &contents);
    let (mut found, mut taken) = (Vec::new(), Taken::default());
    for example in examples {
        match locate(example, &clips, pool) {
            Ok(truth) => found.push((example, truth)),
            Err(reason) => *taken.lost.entry(reason).or_default() += 1,
        }
    }
    taken.kept = found.len();
    (found, taken)
}

fn locate(example: &Example, clips: &Clips, pool: &Pool) -> Result<Vec<ClipId>, Lost> {
    let truth = clips.find(example).ok_or(Lost::ClipGone)?;
    let nothing =
        |clip: &ClipId| pool.clip_features().row(clip.row()).iter().all(|number| *number == 0.0);
    match truth.as_slice() {
        [] => Err(Lost::NoStep),
        clips if clips.iter().any(nothing) => Err(Lost::NoFeature),
        _ => Ok(truth),
    }
}

/// What each video makes: the title of the first of those that are alike, directly or through others.
fn tasks(
    recipes: &[Recipe],
    pool: &Pool,
    sentence: &SentenceEncoder,
    progress: &dyn Progress,
) -> Result<HashMap<VideoId, String>, CollectionError> {
    let summaries: Vec<String> = recipes.iter().map(|recipe| recipe.summary(pool)).collect();
    progress.begin("encoding summaries", summaries.len() as u64);
    let rows = sentence.encode_with(&summaries, progress)?;
    let mut first: Vec<usize> = (0..recipes.len()).collect();
    for (row, near) in mine::neighbours(&rows, SAME_TASK).iter().enumerate() {
        for other in near {
            let (a, b) = (root(&mut first, row), root(&mut first, *other as usize));
            first[a.max(b)] = a.min(b);
        }
    }
    let task = |(row, recipe): (usize, &Recipe)| {
        (recipe.video, recipes[root(&mut first, row)].title.clone())
    };
    Ok(recipes.iter().enumerate().map(task).collect())
}

/// The first of the group that a row is in; the way there is made shorter.
fn root(first: &mut [usize], mut row: usize) -> usize {
    while first[row] != row {
        first[row] = first[first[row]];
        row = first[row];
    }
    row
}

fn videos(
    pool: &Pool,
    records: &[VideoRecord],
    tasks: &HashMap<VideoId, String>,
) -> BTreeMap<VideoId, VideoFacts> {
    let titles: HashMap<VideoId, &str> =
        records.iter().map(|record| (VideoId(record.id), record.video.title.as_str())).collect();
    let mut videos: BTreeMap<VideoId, VideoFacts> = BTreeMap::new();
    for (row, clip) in pool.clips().iter().enumerate() {
        let facts = videos.entry(clip.video).or_insert_with(|| {
            let title = titles.get(&clip.video).copied().unwrap_or_default().to_owned();
            let task = tasks.get(&clip.video).unwrap_or(&title).clone();
            VideoFacts { title, task, split: None, clips: Vec::new() }
        });
        facts.clips.push(ClipId(row as u32));
    }
    for facts in videos.values_mut() {
        facts.clips.sort_by_key(|clip| pool.clip(*clip).span);
    }
    videos
}

/// Tells each video its part; an error if it is used in both.
fn part(
    videos: &mut BTreeMap<VideoId, VideoFacts>,
    pool: &Pool,
    found: &[Located<'_>],
) -> Result<(), CollectionError> {
    for (example, truth) in found {
        for clip in truth {
            let Some(facts) = videos.get_mut(&pool.clip(*clip).video) else { continue };
            if facts.split.is_some_and(|split| split != example.split) {
                return Err(CollectionError::InBothParts { title: facts.title.clone() });
            }
            facts.split = Some(example.split);
        }
    }
    Ok(())
}

/// Every different step text with its features.
struct Known {
    rows: HashMap<String, usize>,
    text: Features,
    clip: Features,
}

impl Known {
    fn encode(
        found: &[Located<'_>],
        encoder: &dyn Encoder,
        sentence: &SentenceEncoder,
        progress: &dyn Progress,
    ) -> Result<Self, CollectionError> {
        const BATCH: usize = 256;
        let steps = found.iter().flat_map(|(example, _)| &example.steps);
        let texts: BTreeSet<&str> = steps.map(|step| step.text.as_str()).collect();
        let texts: Vec<&str> = texts.into_iter().collect();
        progress.begin("encoding steps", texts.len() as u64);
        let mut text = Features::empty(sentence.dim());
        let mut clip = Features::empty(encoder.id().dim);
        for batch in texts.chunks(BATCH) {
            progress.check()?;
            sentence.encode_with(batch, progress)?.rows().for_each(|row| text.push(row));
            encoder.encode_text(batch)?.rows().for_each(|row| clip.push(row));
        }
        let rows = texts.iter().enumerate().map(|(row, text)| (text.to_string(), row));
        Ok(Self { rows: rows.collect(), text, clip })
    }

    fn instance(
        &self,
        example: &Example,
        truth: Vec<ClipId>,
        pool: &Pool,
        videos: &BTreeMap<VideoId, VideoFacts>,
    ) -> Instance {
        let texts: Vec<String> = example.steps.iter().map(|step| step.text.clone()).collect();
        Instance {
            title: example.title.clone(),
            text: self.chosen(&self.text, &texts),
            clip: self.chosen(&self.clip, &texts),
            texts,
            task: task_of(&truth, pool, videos),
            truth,
            split: example.split,
            builder: example.builder.clone(),
        }
    }

    fn chosen(&self, features: &Features, texts: &[String]) -> Features {
        let mut chosen = Features::empty(features.dim());
        let rows = texts.iter().filter_map(|text| self.rows.get(text));
        rows.for_each(|row| chosen.push(features.row(*row)));
        chosen
    }
}

/// The task that most clips are of; the earlier name where two are equal.
fn task_of(truth: &[ClipId], pool: &Pool, videos: &BTreeMap<VideoId, VideoFacts>) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for facts in truth.iter().filter_map(|clip| videos.get(&pool.clip(*clip).video)) {
        *counts.entry(&facts.task).or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|(name, count)| (*count, std::cmp::Reverse(*name)));
    most.map_or_else(String::new, |(name, _)| name.to_owned())
}

#[cfg(test)]
mod tests {
    use stitch_core::clip::{Clip, Span};

    use super::*;
    use crate::dataset::examples::{ExampleSource, ExampleStep};

    /// Three videos of two clips each; the last clip has no feature.
    fn pool() -> Pool {
        let clip = |video, start| Clip {
            video: VideoId(video),
            span: Span::new(start, start + 10).unwrap(),
            text: format!("{video}-{start}"),
        };
        let clips = (1..=3).flat_map(|video| [clip(video, 10), clip(video, 0)]).collect();
        let mut rows = Features::empty(2);
        (0..6).for_each(|row| rows.push(&[if row == 5 { 0.0 } else { 1.0 }, 0.0]));
        Pool::new(clips, rows.clone(), rows).unwrap()
    }

    fn record(id: u32) -> VideoRecord {
        VideoRecord {
            id,
            path: format!("{id}.mp4").into(),
            content: format!("content-{id}"),
            status: stitch_engine::library::VideoStatus::Ready,
            video: stitch_engine::library::Video { title: format!("title {id}"), ..<_>::default() },
            narration_by: None,
            steps_by: None,
            clips: 2,
        }
    }

    fn example(split: Split, steps: &[(u32, u64)]) -> Example {
        let source = |(video, _): &(u32, u64)| ExampleSource {
            content: format!("content-{video}"),
            title: String::new(),
            licence: None,
        };
        let step = |(source, (_, start)): (usize, &(u32, u64))| ExampleStep {
            text: "a".into(),
            source,
            start_ms: *start,
            end_ms: start + 10,
        };
        Example {
            title: "x".into(),
            split,
            builder: "rules".into(),
            seed: 1,
            steps: steps.iter().enumerate().map(step).collect(),
            sources: steps.iter().map(source).collect(),
        }
    }

    #[test]
    fn what_is_said_to_show_the_same_is_as_right_unless_it_breaks_more() {
        let clip = |video, start, text: &str| Clip {
            video: VideoId(video),
            span: Span::new(start, start + 10).unwrap(),
            text: text.into(),
        };
        let clips = vec![
            clip(1, 0, "cut"),
            clip(1, 10, "fry"),
            clip(2, 0, "cut"),
            clip(2, 10, "fry"),
            clip(3, 10, "cut"),
            clip(3, 0, "fry"),
            clip(4, 0, ""),
            clip(4, 10, ""),
            clip(1, 20, "cut"),
        ];
        let rows = Features::new(1, vec![1.0; clips.len()]).unwrap();
        let pool = Pool::new(clips, rows.clone(), rows).unwrap();
        let collection = Collection::new(pool, BTreeMap::new(), vec![]);
        let apart =
            |a: [u32; 2], b: [u32; 2]| collection.tells_apart(&a.map(ClipId), &b.map(ClipId));
        assert!(!apart([0, 1], [0, 1]), "the same");
        assert!(!apart([0, 1], [2, 3]), "another video that says the same");
        assert!(!apart([0, 3], [2, 3]), "one change less");
        assert!(apart([0, 1], [0, 3]), "one change more");
        assert!(apart([0, 1], [4, 5]), "a step back");
        let apart =
            |a: [u32; 3], b: [u32; 3]| collection.tells_apart(&a.map(ClipId), &b.map(ClipId));
        assert!(!apart([0, 3, 2], [2, 1, 0]), "as many changes, as many steps back");
        assert!(apart([0, 2, 8], [0, 2, 0]), "the first clip again");
        assert!(apart([0, 2, 4], [0, 2, 8]), "back to the first source, as many changes");
        assert!(collection.is_found(&[0, 2, 4].map(ClipId), &[0, 2, 8].map(ClipId)));
        assert!(!collection.is_found(&[0, 1].map(ClipId), &[4, 5].map(ClipId)), "a step back");
        let apart =
            |a: [u32; 2], b: [u32; 2]| collection.tells_apart(&a.map(ClipId), &b.map(ClipId));
        assert!(apart([0, 1], [0, 0]), "other words");
        assert!(apart([6, 7], [7, 6]), "no words are not the same words");
    }

    #[test]
    fn what_is_lost_is_counted_by_reason() {
        let examples = [
            example(Split::Train, &[(1, 0), (1, 10)]),
            example(Split::Train, &[(1, 0), (1, 20)]),
            example(Split::Train, &[(7, 0)]),
            example(Split::Train, &[(3, 0)]),
            example(Split::Train, &[]),
        ];
        let (found, taken) = find(&examples, &pool(), &[1, 2, 3].map(record));
        assert_eq!(found[0].1, [ClipId(1), ClipId(0)]);
        assert_eq!(taken.kept, 1);
        let lost = [(Lost::ClipGone, 2), (Lost::NoFeature, 1), (Lost::NoStep, 1)];
        assert_eq!(taken.lost, lost.into());
        assert_eq!(
            taken.in_words(),
            "2 with a clip that is not in the library any more, 1 with a clip that has no feature, \
             1 without a step"
        );
    }

    #[test]
    fn videos_know_their_clips_by_start_and_are_in_one_part() {
        let (pool, records) = (pool(), [1, 2, 3].map(record));
        let tasks = [(VideoId(1), "soup".to_owned())].into();
        let mut known = videos(&pool, &records, &tasks);
        assert_eq!(known[&VideoId(1)].clips, [ClipId(1), ClipId(0)]);
        assert_eq!(
            (known[&VideoId(1)].task.as_str(), known[&VideoId(2)].task.as_str()),
            ("soup", "title 2")
        );
        let train = example(Split::Train, &[(1, 0), (2, 0)]);
        let held_out = example(Split::HeldOut, &[(2, 10)]);
        let apart = [train.clone()];
        part(&mut known, &pool, &find(&apart, &pool, &records).0).unwrap();
        assert_eq!(known[&VideoId(2)].split, Some(Split::Train));
        assert_eq!(known[&VideoId(3)].split, None);
        let both = [train, held_out];
        let error = part(&mut known, &pool, &find(&both, &pool, &records).0).unwrap_err();
        assert!(
            error.to_string().starts_with("`title 2` is in the train and in the held-out part")
        );
    }

    #[test]
    fn groups_are_joined_through_others_and_named_by_their_first() {
        let mut first = vec![0, 1, 1, 2, 3];
        assert_eq!(root(&mut first, 4), 1);
        assert_eq!(root(&mut first, 0), 0);
    }
}
