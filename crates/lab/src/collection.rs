//! What is trained and measured on: clips with the task of their video, and procedures whose clips are
//! known.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use stitch_core::clip::{ClipId, VideoId};
use stitch_core::cover::{Sequence, interrupted, reversed, source_changes, steps_back};
use stitch_core::features::Features;
use stitch_core::pool::Pool;
use stitch_engine::encoder::Encoder;
use stitch_engine::library::{Library, VideoRecord};
use stitch_engine::progress::Progress;
use stitch_engine::sentence::SentenceEncoder;

use crate::dataset::examples::Clips;
use crate::dataset::mine::{self, MineOptions};
use crate::dataset::recipes::{Recipe, recipes};
use crate::dataset::{DatasetError, Example, Split};
use crate::rows::{TextIndex, clips_by_video, distinct, most_frequent};

#[derive(Clone, Debug)]
pub struct Collection {
    pub pool: Pool,
    pub videos: BTreeMap<VideoId, VideoInfo>,
    pub instances: Vec<Instance>,
    /// For each clip what it shows: clips of one label show the same.
    pub labels: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VideoInfo {
    pub title: String,
    /// What it makes: videos that make the same have the same task.
    pub task: String,
    /// None if no procedure uses it.
    pub split: Option<Split>,
    /// By start.
    pub clips: Vec<ClipId>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Instance {
    pub title: String,
    /// Its steps.
    pub texts: Vec<String>,
    /// The steps by the sentence encoder.
    pub text: Features,
    /// The steps by F_M's text side, in the space of the clips.
    pub clip: Features,
    pub truth: Vec<ClipId>,
    pub split: Split,
    /// What made it (`rules`, `language-model`, `temporally-sampled`, `real`).
    pub builder: String,
    /// The task of most of its clips.
    pub task: String,
}

/// How many examples became instances, and how many did not, by reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExampleCounts {
    pub used: usize,
    pub skipped: BTreeMap<&'static str, usize>,
}

/// From this similarity of summaries on two videos have the same task, where nobody names tasks.
const MIN_TASK_SIMILARITY: f32 = MineOptions::SIMILARITY;

impl Collection {
    /// Every clip is labelled with its text.
    pub fn new(pool: Pool, videos: BTreeMap<VideoId, VideoInfo>, instances: Vec<Instance>) -> Self {
        let labels = pool.clips().iter().map(|clip| clip.text.clone()).collect();
        Self { pool, videos, instances, labels }
    }

    /// The clips of a library, and the examples whose clips are all in it; the others are counted.
    pub fn of_library(
        library: &Library,
        encoder: &dyn Encoder,
        sentence: &SentenceEncoder,
        examples: &[Example],
        progress: &dyn Progress,
    ) -> Result<(Self, ExampleCounts), DatasetError> {
        library.check_encoder(encoder.id())?;
        let pool = library.pool()?.in_memory();
        let records = library.videos()?;
        let tasks = tasks(&recipes(library, &pool)?, &pool, sentence, progress)?;
        let mut videos = videos(&pool, &records, &tasks);
        let (found, counts) = find(examples, &pool, &records);
        if found.is_empty() {
            let why = counts.in_words();
            return Err(DatasetError::NoneUsable { examples: examples.len(), why });
        }
        assign_splits(&mut videos, &pool, &found)?;
        let (index, text, clip) = encode_steps(&found, encoder, sentence, progress)?;
        let instance = |(example, truth): Located<'_>| {
            let tasks = truth.iter().filter_map(|clip| videos.get(&pool.clip(*clip).video));
            let task = most_frequent(tasks.map(|video| video.task.as_str())).unwrap_or_default();
            let texts = || example.steps.iter().map(|step| step.text.as_str());
            Instance {
                title: example.title.clone(),
                text: index.rows(&text, texts()),
                clip: index.rows(&clip, texts()),
                texts: texts().map(str::to_owned).collect(),
                task: task.to_owned(),
                truth,
                split: example.split,
                builder: example.builder.clone(),
            }
        };
        let instances = found.into_iter().map(instance).collect();
        Ok((Self::new(pool, videos, instances), counts))
    }

    /// Whether the annotations tell a sequence from a truth. Clips of the same labels are equally right,
    /// unless they bring a further change of source, clip between two of another source, or clip after a
    /// later one.
    pub fn tells_apart(&self, truth: &[ClipId], other: &[ClipId]) -> bool {
        let breaks = |clips: &[ClipId]| {
            let changes = source_changes(&Sequence::from(clips), &self.pool);
            [changes, interrupted(clips, &self.pool), reversed(clips, &self.pool)]
        };
        !self.shows_the_same(truth, other) || any_more(breaks(truth), breaks(other))
    }

    /// Whether a sequence is the truth for a search that sees labels, changes of source and steps back
    /// from one clip to the next.
    pub fn is_found(&self, truth: &[ClipId], other: &[ClipId]) -> bool {
        let breaks = |clips: &[ClipId]| {
            let clips = Sequence::from(clips);
            [source_changes(&clips, &self.pool), steps_back(&clips, &self.pool)]
        };
        self.shows_the_same(truth, other) && !any_more(breaks(truth), breaks(other))
    }

    /// Whether each clip is the truth's or has its label.
    fn shows_the_same(&self, truth: &[ClipId], other: &[ClipId]) -> bool {
        let label = |clip: &ClipId| self.labels[clip.row()].as_str();
        let alike =
            |a: &ClipId, b: &ClipId| a == b || (label(a) == label(b) && !label(a).is_empty());
        truth.len() == other.len() && truth.iter().zip(other).all(|(a, b)| alike(a, b))
    }

    /// Whether all clips of a procedure are of one video.
    pub fn is_whole(&self, instance: &Instance) -> bool {
        let video = |clip: &ClipId| self.pool.clip(*clip).video;
        instance.truth.windows(2).all(|pair| video(&pair[0]) == video(&pair[1]))
    }

    /// Holds out the instances of this share of the videos, by title and seed, unless some are held out
    /// already. An instance with videos of both splits is left out.
    pub fn split_by_video(&mut self, held_out: f64, seed: u64) {
        let first = self.instances.first().map(|instance| instance.split);
        if self.instances.iter().any(|instance| Some(instance.split) != first) {
            return;
        }
        for video in self.videos.values_mut() {
            video.split = Some(Split::of(&video.title, held_out, seed));
        }
        let (pool, videos) = (&self.pool, &self.videos);
        self.instances.retain_mut(|instance| {
            let splits =
                instance.truth.iter().filter_map(|clip| videos[&pool.clip(*clip).video].split);
            let splits: BTreeSet<Split> = splits.collect();
            instance.split = splits.first().copied().unwrap_or(instance.split);
            splits.len() == 1
        });
    }

    pub fn of_split(&self, split: Split) -> impl Iterator<Item = &Instance> {
        self.instances.iter().filter(move |instance| instance.split == split)
    }

    /// The videos of a split, each with its clips that have a text, by start.
    pub fn clips_with_words(&self, split: Split) -> HashMap<VideoId, Vec<ClipId>> {
        let words = |clip: &&ClipId| !self.pool.clip(**clip).text.trim().is_empty();
        let own = self.videos.iter().filter(|(_, video)| video.split == Some(split));
        own.map(|(id, video)| (*id, video.clips.iter().filter(words).copied().collect())).collect()
    }
}

fn any_more<const N: usize>(first: [usize; N], second: [usize; N]) -> bool {
    first.into_iter().zip(second).any(|(first, second)| second > first)
}

impl ExampleCounts {
    /// `3 with a clip that is not in the library any more`, and so on.
    pub fn in_words(&self) -> String {
        let words = self.skipped.iter().map(|(reason, count)| format!("{count} {reason}"));
        words.collect::<Vec<_>>().join(", ")
    }
}

/// An example with its clips.
type Located<'a> = (&'a Example, Vec<ClipId>);

/// The examples whose clips are all in the library and have features.
fn find<'a>(
    examples: &'a [Example],
    pool: &Pool,
    records: &[VideoRecord],
) -> (Vec<Located<'a>>, ExampleCounts) {
    let clips = Clips::of(pool, records);
    let featureless =
        |clip: &ClipId| pool.clip_features().row(clip.row()).iter().all(|number| *number == 0.0);
    let (mut found, mut counts) = (Vec::new(), ExampleCounts::default());
    for example in examples {
        let reason = match clips.find(example) {
            None => "with a clip that is not in the library any more",
            Some(truth) if truth.is_empty() => "without a step",
            Some(truth) if truth.iter().any(featureless) => "with a clip that has no feature",
            Some(truth) => {
                found.push((example, truth));
                continue;
            }
        };
        *counts.skipped.entry(reason).or_default() += 1;
    }
    counts.used = found.len();
    (found, counts)
}

/// The task of each video: the title of the first of those that are similar, directly or through others.
fn tasks(
    recipes: &[Recipe],
    pool: &Pool,
    sentence: &SentenceEncoder,
    progress: &dyn Progress,
) -> Result<HashMap<VideoId, String>, DatasetError> {
    let summaries: Vec<String> = recipes.iter().map(|recipe| recipe.summary(pool)).collect();
    progress.begin("encoding summaries", summaries.len() as u64);
    let rows = sentence.encode_with(&summaries, progress)?;
    let mut first: Vec<usize> = (0..recipes.len()).collect();
    for (row, near) in mine::neighbours(&rows, MIN_TASK_SIMILARITY).iter().enumerate() {
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

/// The first of the group that a row is in (union-find with path halving).
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
) -> BTreeMap<VideoId, VideoInfo> {
    let titles: HashMap<VideoId, &str> =
        records.iter().map(|record| (VideoId(record.id), record.video.title.as_str())).collect();
    let info = |(id, clips): (VideoId, Vec<ClipId>)| {
        let title = titles.get(&id).copied().unwrap_or_default().to_owned();
        let task = tasks.get(&id).unwrap_or(&title).clone();
        (id, VideoInfo { title, task, split: None, clips })
    };
    clips_by_video(pool).into_iter().map(info).collect()
}

/// Sets the split of each video; an error if it is used in both.
fn assign_splits(
    videos: &mut BTreeMap<VideoId, VideoInfo>,
    pool: &Pool,
    found: &[Located<'_>],
) -> Result<(), DatasetError> {
    for (example, truth) in found {
        for clip in truth {
            let Some(video) = videos.get_mut(&pool.clip(*clip).video) else { continue };
            if video.split.is_some_and(|split| split != example.split) {
                return Err(DatasetError::InBothParts { title: video.title.clone() });
            }
            video.split = Some(example.split);
        }
    }
    Ok(())
}

/// The distinct step texts by the sentence encoder and by F_M's text side.
fn encode_steps(
    found: &[Located<'_>],
    encoder: &dyn Encoder,
    sentence: &SentenceEncoder,
    progress: &dyn Progress,
) -> Result<(TextIndex, Features, Features), DatasetError> {
    const BATCH: usize = 256;
    let steps = found.iter().flat_map(|(example, _)| &example.steps);
    let texts = distinct(steps.map(|step| step.text.as_str()));
    progress.begin("encoding steps", texts.len() as u64);
    let mut text = Features::empty(sentence.dim());
    let mut clip = Features::empty(encoder.id().dim);
    for batch in texts.chunks(BATCH) {
        progress.check()?;
        sentence.encode_with(batch, progress)?.rows().for_each(|row| text.push(row));
        encoder.encode_text(batch)?.rows().for_each(|row| clip.push(row));
    }
    Ok((TextIndex::new(&texts), text, clip))
}

#[cfg(test)]
mod tests {
    use stitch_core::clip::{Clip, Span};

    use super::*;
    use crate::dataset::examples::{ExampleSource, ExampleStep};

    fn clip(video: u32, start: u64, text: &str) -> Clip {
        let span = Span::new(start, start + 10).unwrap();
        Clip { video: VideoId(video), span, text: text.into() }
    }

    /// Three videos of two clips each; the last clip has no feature.
    fn pool() -> Pool {
        let clip = |video, start| clip(video, start, &format!("{video}-{start}"));
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
        let ids = |rows: &[u32]| rows.iter().map(|row| ClipId(*row)).collect::<Vec<_>>();
        let apart = |a: &[u32], b: &[u32]| collection.tells_apart(&ids(a), &ids(b));
        assert!(!apart(&[0, 1], &[0, 1]), "the same");
        assert!(!apart(&[0, 1], &[2, 3]), "another video that says the same");
        assert!(!apart(&[0, 3], &[2, 3]), "one change less");
        assert!(apart(&[0, 1], &[0, 3]), "one change more");
        assert!(apart(&[0, 1], &[4, 5]), "a step back");
        assert!(!apart(&[0, 3, 2], &[2, 1, 0]), "as many changes, as many steps back");
        assert!(apart(&[0, 2, 8], &[0, 2, 0]), "the first clip again");
        assert!(apart(&[0, 2, 4], &[0, 2, 8]), "back to the first source, as many changes");
        assert!(apart(&[0, 1], &[0, 0]), "other words");
        assert!(apart(&[6, 7], &[7, 6]), "no words are not the same words");
        assert!(collection.is_found(&ids(&[0, 2, 4]), &ids(&[0, 2, 8])));
        assert!(!collection.is_found(&ids(&[0, 1]), &ids(&[4, 5])), "a step back");
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
        let (found, counts) = find(&examples, &pool(), &[1, 2, 3].map(record));
        assert_eq!(found[0].1, [ClipId(1), ClipId(0)]);
        assert_eq!(counts.used, 1);
        assert_eq!(
            counts.in_words(),
            "1 with a clip that has no feature, 2 with a clip that is not in the library any more, \
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
        assign_splits(&mut known, &pool, &find(&apart, &pool, &records).0).unwrap();
        assert_eq!(known[&VideoId(2)].split, Some(Split::Train));
        assert_eq!(known[&VideoId(3)].split, None);
        let both = [train, held_out];
        let error = assign_splits(&mut known, &pool, &find(&both, &pool, &records).0).unwrap_err();
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
