//! A set in the plain format as a test set: every video with two usable steps or more is a procedure
//! whose clips are known.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use serde::Serialize;
use stitch_core::clip::{Clip, ClipId, Span, VideoId};
use stitch_core::features::{Features, normalise};
use stitch_core::pool::{Pool, PoolError};
use stitch_engine::encoder::precomputed::PrecomputedError;
use stitch_engine::encoder::{Encoder, EncoderError, EncoderId, Precomputed};
use stitch_engine::progress::{Progress, Stopped};
use stitch_engine::sentence::{SentenceEncoder, SentenceError};

use super::look::look;
use super::rows::Kept;
use super::set::{Complaint, Set, VideoSteps, first};
use crate::collection::{Collection, Instance, VideoFacts};
use crate::dataset::{Split, mine};
use crate::suite::test_set::TestSet;

/// From which similarity on two videos make the same, where the set does not say what they make.
const SAME_TASK: f32 = 0.8;

/// What reads texts and looks at pictures.
pub struct Senses<'a> {
    /// F_M.
    pub encoder: &'a dyn Encoder,
    /// For text against text.
    pub sentence: &'a SentenceEncoder,
}

/// What a set holds, and what of it could not be used.
#[derive(Clone, Debug, Serialize)]
pub struct Holdings {
    /// Videos with at least one usable step.
    pub videos: usize,
    /// Steps with a row of features.
    pub steps: usize,
    /// Procedures: videos with two of these or more.
    pub procedures: usize,
    /// How many different things the videos make.
    pub tasks: usize,
    /// Steps that something is said in.
    pub narrated: usize,
    /// `pictures` or `features`.
    pub from: &'static str,
    /// Columns of the list that nobody here reads.
    pub unread_columns: Vec<String>,
    /// What could not be used, and why.
    pub complaints: Vec<Complaint>,
}

/// Why there is no test set.
#[derive(Debug, thiserror::Error)]
pub enum GatherError {
    /// Nothing is left.
    #[error("{}: no video with two steps that have a text and a readable picture or a row of \
        features; {} wants lines such as {{\"video\": \"v1\", \"recipe_type\": \"101\", \"steps\": \
        [{{\"text\": \"chop\", \"start\": 3, \"end\": 9, \"image\": \"v1/0.webp\"}}]}}, and the \
        pictures in images.tar or a folder{}", path.display(), Set::FILE, first(complaints))]
    NothingUsable {
        /// The set.
        path: PathBuf,
        /// What was wrong with it.
        complaints: Vec<Complaint>,
    },
    /// No video is of the domain.
    #[error("no video of the set is of the domain `{wanted}`; there are: {there}")]
    NoDomain {
        /// What was asked for.
        wanted: String,
        /// The domains that there are.
        there: String,
    },
    /// The encoder does not look at pictures.
    #[error(
        "the encoder `{name}` does not look at pictures; name one that does with --encoder, or \
        put features beside the list"
    )]
    Blind {
        /// Its name.
        name: String,
    },
    /// Features that came with the set do not fit.
    #[error(transparent)]
    Precomputed(#[from] PrecomputedError),
    /// The encoder failed.
    #[error(transparent)]
    Encoder(#[from] EncoderError),
    /// The sentence encoder failed.
    #[error(transparent)]
    Sentence(#[from] SentenceError),
    /// Rows and clips do not belong together.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// The work was asked to stop.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// A row for each usable step of each video, where there is one.
type StepRows = Vec<Vec<Option<Vec<f32>>>>;

/// The set as a test set, and what it holds. Only videos of the domain where one is asked for.
pub fn gather(
    mut set: Set,
    with: &Senses<'_>,
    domain: Option<&str>,
    progress: &dyn Progress,
) -> Result<(TestSet, Holdings), GatherError> {
    if let Some(domain) = domain {
        keep_domain(&mut set, domain)?;
    }
    let (own_texts, mut encoder) = own_texts(&mut set, with)?;
    let (from, dim, rows) = see(&mut set, with, own_texts.as_ref().map(|own| own.0), progress)?;
    if from == "features" {
        encoder.name = match own_texts {
            Some(_) => format!("{}own", Precomputed::PREFIX),
            None => format!("{}{}", Precomputed::PREFIX, encoder.name),
        };
        encoder.dim = dim;
    }
    let mut clips = Clips::default();
    clips.enter(&set, &rows, own_texts.as_ref().map(|own| &own.1));
    if !clips.videos.iter().any(|(_, own)| own.len() >= 2) {
        let Set { folder: path, complaints, .. } = set;
        return Err(GatherError::NothingUsable { path, complaints });
    }
    let read = Read::texts(&clips, with, own_texts.is_none(), progress)?;
    let mut collection = clips.collection(&set, &read, dim)?;
    add_given(&mut set, &clips, &read, &mut collection);
    let said = clips.said(with.sentence, progress)?;
    let name = set.folder.file_name().map_or("set".into(), |name| name.to_string_lossy());
    let test_set = TestSet::new(&name, collection, said, encoder)?;
    let holdings = holdings(set, &test_set, from);
    Ok((test_set, holdings))
}

fn holdings(set: Set, test_set: &TestSet, from: &'static str) -> Holdings {
    let Collection { pool, videos, instances, .. } = &test_set.collection;
    let tasks: std::collections::BTreeSet<&str> =
        videos.values().map(|facts| facts.task.as_str()).collect();
    Holdings {
        videos: videos.len(),
        steps: pool.len(),
        procedures: instances.len(),
        tasks: tasks.len(),
        narrated: test_set.narrated(),
        from,
        unread_columns: set.unread.into_iter().collect(),
        complaints: set.complaints,
    }
}

/// Leaves the videos of a domain; all of them where the set does not say.
fn keep_domain(set: &mut Set, wanted: &str) -> Result<(), GatherError> {
    let there: std::collections::BTreeSet<String> =
        set.videos.iter().filter_map(|video| video.domain.clone()).collect();
    if there.is_empty() {
        let reason = format!("no line has a `domain`; all videos count as {wanted}");
        set.complain(Set::FILE, reason);
        return Ok(());
    }
    let same = |domain: &String| domain.eq_ignore_ascii_case(wanted);
    if !there.iter().any(same) {
        let there = there.into_iter().collect::<Vec<_>>().join(", ");
        return Err(GatherError::NoDomain { wanted: wanted.into(), there });
    }
    set.videos.retain(|video| video.domain.as_ref().is_some_and(same));
    Ok(())
}

/// The features of texts that came with the set, and who the features are of.
fn own_texts(
    set: &mut Set,
    with: &Senses<'_>,
) -> Result<(Option<(usize, StepRows)>, EncoderId), GatherError> {
    let id = with.encoder.id().clone();
    let Some(kept) = Kept::find(set, "texts")? else { return Ok((None, id)) };
    let (dim, rows) = kept.rows(set, None);
    let id = EncoderId { name: id.name, dim, weights: String::new() };
    Ok((Some((dim, rows)), id))
}

/// A row for each step: from features beside the list, else from its pictures.
fn see(
    set: &mut Set,
    with: &Senses<'_>,
    own_dim: Option<usize>,
    progress: &dyn Progress,
) -> Result<(&'static str, usize, StepRows), GatherError> {
    let pictured = set.videos.iter().flat_map(|v| &v.steps).any(|step| !step.images.is_empty());
    let dim = own_dim.unwrap_or(with.encoder.id().dim);
    match Kept::find(set, "features") {
        Ok(Some(kept)) => {
            let (dim, rows) = kept.rows(set, Some(dim));
            return Ok(("features", dim, rows));
        }
        Err(error) if pictured => set.complain("features", error),
        other => drop(other?),
    }
    let Some(tower) = with.encoder.image_tower() else {
        return Err(GatherError::Blind { name: with.encoder.id().name.clone() });
    };
    note_missing_pictures(set);
    let (items, features, _) = look(tower, set, progress)?;
    let mut rows: StepRows = set.videos.iter().map(|v| vec![None; v.steps.len()]).collect();
    for (item, row) in items.iter().zip(features.rows()) {
        rows[item.video][item.step] = Some(row.to_vec());
    }
    Ok(("pictures", features.dim(), rows))
}

fn note_missing_pictures(set: &mut Set) {
    let mut without = Vec::new();
    for video in &set.videos {
        let steps = video.steps.iter().filter(|step| step.images.is_empty());
        without.extend(steps.map(|step| format!("{}, step {}", video.id, step.number + 1)));
    }
    without.into_iter().for_each(|place| set.complain(place, "it names no picture"));
}

/// The steps that have a row, as clips.
#[derive(Default)]
struct Clips {
    clips: Vec<Clip>,
    rows: Vec<Vec<f32>>,
    narration: Vec<String>,
    labels: Vec<String>,
    /// The rows of the texts, where they came with the set.
    texts: Vec<Vec<f32>>,
    /// The place of each among the listed steps of its video.
    numbers: Vec<usize>,
    /// For each video its number in the set and its clips.
    videos: Vec<(usize, Vec<ClipId>)>,
}

impl Clips {
    fn enter(&mut self, set: &Set, rows: &StepRows, texts: Option<&StepRows>) {
        for (at, video) in set.videos.iter().enumerate() {
            let spans = spans(video);
            let mut own = Vec::new();
            for (number, step) in video.steps.iter().enumerate() {
                let text_row = texts.map(|texts| texts[at].get(number).cloned().flatten());
                let row = rows[at].get(number).cloned().flatten();
                let (Some(row), None | Some(Some(_))) = (row, &text_row) else { continue };
                own.push(ClipId(self.clips.len() as u32));
                self.texts.extend(text_row.flatten());
                self.rows.push(row);
                self.numbers.push(step.number);
                self.narration.push(step.narration.clone().unwrap_or_default());
                self.labels.push(step.label.clone().unwrap_or_else(|| step.text.clone()));
                let (id, text) = (VideoId(at as u32), step.text.clone());
                self.clips.push(Clip { video: id, span: spans[number], text });
            }
            if !own.is_empty() {
                self.videos.push((at, own));
            }
        }
    }

    fn collection(&self, set: &Set, read: &Read, dim: usize) -> Result<Collection, GatherError> {
        let text = read.rows(&read.text, self.clips.iter().map(|clip| clip.text.as_str()));
        let data = self.rows.concat();
        let clip = Features::new(dim, data).map_err(EncoderError::Features)?;
        let pool = Pool::new(self.clips.clone(), text, clip)?;
        let tasks = tasks(set, &self.videos, &pool);
        let (mut videos, mut instances) = (BTreeMap::new(), Vec::new());
        for (at, own) in &self.videos {
            let video = &set.videos[*at];
            let title = video.title.clone().unwrap_or_else(|| video.id.clone());
            let task = tasks[at].clone();
            if own.len() >= 2 {
                instances.push(self.instance(&title, &task, own, read));
            }
            let mut clips = own.clone();
            clips.sort_by_key(|clip| pool.clip(*clip).span);
            let split = Some(Split::HeldOut);
            videos.insert(VideoId(*at as u32), VideoFacts { title, task, split, clips });
        }
        let mut collection = Collection::new(pool, videos, instances);
        collection.labels.clone_from(&self.labels);
        Ok(collection)
    }

    fn instance(&self, title: &str, task: &str, own: &[ClipId], read: &Read) -> Instance {
        let texts: Vec<String> = own.iter().map(|id| self.clips[id.row()].text.clone()).collect();
        let clip = match &read.clip {
            Some(clip) => read.rows(clip, texts.iter().map(String::as_str)),
            None => {
                let mut rows = Features::empty(self.texts.first().map_or(1, Vec::len));
                own.iter().for_each(|id| rows.push(&self.texts[id.row()]));
                rows
            }
        };
        Instance {
            title: title.into(),
            text: read.rows(&read.text, texts.iter().map(String::as_str)),
            clip,
            texts,
            truth: own.to_vec(),
            split: Split::HeldOut,
            builder: "real".into(),
            task: task.into(),
        }
    }

    /// What is said in each clip, and its sentence features.
    fn said(
        &self,
        sentence: &SentenceEncoder,
        progress: &dyn Progress,
    ) -> Result<(Vec<String>, Features), GatherError> {
        said(self.narration.clone(), sentence, progress).map_err(GatherError::Sentence)
    }
}

/// The procedures of `mixed.jsonl`, made of clips of several videos: lines such as
/// {"title": "…", "steps": [{"text": "…", "video": "v1", "step": 0}]}. A step is asked for in the words
/// of its clip, whose features are known.
fn add_given(set: &mut Set, clips: &Clips, read: &Read, collection: &mut Collection) {
    let Ok(lines) = std::fs::read_to_string(set.folder.join(Set::MIXED)) else { return };
    let mut known: HashMap<(String, usize), ClipId> = HashMap::new();
    for (at, own) in &clips.videos {
        for (number, clip) in own.iter().enumerate() {
            let number = clips.numbers[own[number].row()];
            known.insert((set.videos[*at].id.clone(), number), *clip);
        }
    }
    for (number, line) in lines.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let given: Option<Given> = serde_json::from_str(line).ok();
        let steps = given.as_ref().map(|given| {
            given.steps.iter().map(|step| known.get(&(step.video.clone(), step.step)).copied())
        });
        let truth: Option<Vec<ClipId>> = steps.and_then(Iterator::collect);
        let (Some(given), Some(truth)) = (given, truth.filter(|truth| truth.len() >= 2)) else {
            let place = format!("{}, line {}", Set::MIXED, number + 1);
            set.complain(place, "not two steps or more of clips that the set has");
            continue;
        };
        let first = &collection.videos[&collection.pool.clip(truth[0]).video];
        let mut instance = clips.instance(&given.title, &first.task, &truth, read);
        instance.builder = given.builder;
        collection.instances.push(instance);
    }
}

#[derive(serde::Deserialize)]
struct Given {
    #[serde(default)]
    title: String,
    #[serde(default)]
    builder: String,
    steps: Vec<GivenStep>,
}

#[derive(serde::Deserialize)]
struct GivenStep {
    video: String,
    step: usize,
}

/// Texts with their sentence features; a zero row for an empty one.
pub fn said(
    texts: Vec<String>,
    sentence: &SentenceEncoder,
    progress: &dyn Progress,
) -> Result<(Vec<String>, Features), SentenceError> {
    let spoken: Vec<&String> = texts.iter().filter(|text| !text.is_empty()).collect();
    let encoded = match spoken.is_empty() {
        true => Features::empty(sentence.dim()),
        false => sentence.encode_with(&spoken, progress)?,
    };
    let (mut encoded, mut rows) = (encoded.rows(), Features::empty(sentence.dim()));
    let nothing = vec![0.0; sentence.dim()];
    for text in &texts {
        let row = if text.is_empty() { None } else { encoded.next() };
        rows.push(row.unwrap_or(&nothing));
    }
    Ok((texts, rows))
}

/// Every different text with its features.
struct Read {
    numbers: HashMap<String, usize>,
    text: Features,
    /// By F_M, unless these came with the set.
    clip: Option<Features>,
}

impl Read {
    fn texts(
        clips: &Clips,
        with: &Senses<'_>,
        by_encoder: bool,
        progress: &dyn Progress,
    ) -> Result<Self, GatherError> {
        let texts: std::collections::BTreeSet<&str> =
            clips.clips.iter().map(|clip| clip.text.as_str()).collect();
        let texts: Vec<&str> = texts.into_iter().collect();
        progress.begin("reading the texts", texts.len() as u64);
        let text = with.sentence.encode_with(&texts, progress)?;
        let clip = by_encoder.then(|| with.encoder.encode_text(&texts)).transpose()?;
        let numbers = texts.iter().enumerate().map(|(row, text)| (text.to_string(), row));
        Ok(Self { numbers: numbers.collect(), text, clip })
    }

    fn rows<'t>(&self, features: &Features, texts: impl Iterator<Item = &'t str>) -> Features {
        let mut rows = Features::empty(features.dim());
        texts.filter_map(|text| self.numbers.get(text)).for_each(|at| rows.push(features.row(*at)));
        rows
    }
}

/// The spans of a video's steps; a second each, one after the other, where one is not known.
fn spans(video: &VideoSteps) -> Vec<Span> {
    let known: Option<Vec<Span>> = video.steps.iter().map(|step| step.span).collect();
    let second = |at: u64| Span::new(1000 * at, 1000 * at + 1000);
    known.unwrap_or_else(|| (0..video.steps.len() as u64).filter_map(second).collect())
}

/// What each video makes: what the list says; where it says so of none, the same for those whose steps
/// are alike.
fn tasks(set: &Set, videos: &[(usize, Vec<ClipId>)], pool: &Pool) -> HashMap<usize, String> {
    let alone = |at: &usize| set.videos[*at].id.clone();
    let said = |at: &usize| set.videos[*at].task.clone();
    if videos.iter().any(|(at, _)| said(at).is_some()) {
        return videos.iter().map(|(at, _)| (*at, said(at).unwrap_or_else(|| alone(at)))).collect();
    }
    let mut means = Features::empty(pool.text_features().dim());
    for (_, own) in videos {
        let mut mean = vec![0.0; means.dim()];
        for row in own.iter().map(|clip| pool.text_features().row(clip.row())) {
            mean.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
        }
        normalise(&mut mean);
        means.push(&mean);
    }
    let mut group: Vec<usize> = (0..videos.len()).collect();
    for (row, near) in mine::neighbours(&means, SAME_TASK).into_iter().enumerate() {
        // Videos come in order, so the first of a row's group is known by now.
        near.into_iter().for_each(|other| group[other as usize] = group[row]);
    }
    let named = videos.iter().enumerate();
    named.map(|(row, (at, _))| (*at, alone(&videos[group[row]].0))).collect()
}
