//! A set in the plain format as a test set: every video with two usable steps or more is a procedure
//! whose clips are known.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};
use stitch_core::clip::{Clip, ClipId, Span, VideoId};
use stitch_core::features::Features;
use stitch_core::pool::Pool;
use stitch_engine::encoder::{Encoder, EncoderError, EncoderId, Precomputed};
use stitch_engine::progress::Progress;
use stitch_engine::sentence::{SentenceEncoder, SentenceError};

use super::features::StoredFeatures;
use super::pictures::encode_pictures;
use super::set::{Set, VideoSteps};
use super::{DataIssue, SetError};
use crate::collection::{Collection, Instance, VideoInfo};
use crate::dataset::{Split, mine};
use crate::rows::{TextIndex, distinct, mean_row};
use crate::suite::test_set::TestSet;

/// From this similarity on two videos have the same task, where the set does not name tasks. Chosen by
/// hand.
const MIN_TASK_SIMILARITY: f32 = 0.8;

pub struct Encoders<'a> {
    pub encoder: &'a dyn Encoder,
    pub sentence: &'a SentenceEncoder,
}

/// What a set holds, and what of it could not be used.
#[derive(Clone, Debug, Serialize)]
pub struct SetSummary {
    /// Videos with at least one usable step.
    pub videos: usize,
    /// Steps with a row of features.
    pub steps: usize,
    /// Videos with two of these or more.
    pub procedures: usize,
    pub tasks: usize,
    /// Steps with narration.
    pub narrated: usize,
    /// `pictures` or `features`.
    pub from: &'static str,
    pub unread_columns: Vec<String>,
    #[serde(rename = "complaints")]
    pub issues: Vec<DataIssue>,
}

/// A row for each usable step of each video, where there is one.
type StepRows = Vec<Vec<Option<Vec<f32>>>>;

/// The set as a test set, and what it holds; only videos of `domain` where one is named.
pub fn load(
    mut set: Set,
    with: &Encoders<'_>,
    domain: Option<&str>,
    progress: &dyn Progress,
) -> Result<(TestSet, SetSummary), SetError> {
    if let Some(domain) = domain {
        keep_domain(&mut set, domain)?;
    }
    let (own_texts, mut encoder) = own_texts(&mut set, with)?;
    let own_dim = own_texts.as_ref().map(|own| own.0);
    let (from, dim, rows) = step_rows(&mut set, with, own_dim, progress)?;
    if from == "features" {
        encoder.name = match own_texts {
            Some(_) => format!("{}own", Precomputed::PREFIX),
            None => format!("{}{}", Precomputed::PREFIX, encoder.name),
        };
        encoder.dim = dim;
    }
    let clips = SetClips::new(&set, &rows, own_texts.as_ref().map(|own| &own.1));
    if !clips.videos.iter().any(|(_, own)| own.len() >= 2) {
        let Set { folder: path, issues, .. } = set;
        return Err(SetError::NoProcedures { path, issues });
    }
    let texts = EncodedTexts::new(&clips, with, own_texts.is_none(), progress)?;
    let mut collection = clips.collection(&set, &texts, dim)?;
    add_mixed(&mut set, &clips, &texts, &mut collection);
    let narration = encode_narration(clips.narration, with.sentence, progress)?;
    let name = set.folder.file_name().map_or("set".into(), |name| name.to_string_lossy());
    let test_set = TestSet::new(&name, collection, narration, encoder)?;
    let summary = summary(set, &test_set, from);
    Ok((test_set, summary))
}

fn summary(set: Set, test_set: &TestSet, from: &'static str) -> SetSummary {
    let Collection { pool, videos, instances, .. } = &test_set.collection;
    let tasks: BTreeSet<&str> = videos.values().map(|video| video.task.as_str()).collect();
    SetSummary {
        videos: videos.len(),
        steps: pool.len(),
        procedures: instances.len(),
        tasks: tasks.len(),
        narrated: test_set.narrated(),
        from,
        unread_columns: set.unread.into_iter().collect(),
        issues: set.issues,
    }
}

/// Removes videos of other domains; keeps all where the set names no domain.
fn keep_domain(set: &mut Set, wanted: &str) -> Result<(), SetError> {
    let there: BTreeSet<String> =
        set.videos.iter().filter_map(|video| video.domain.clone()).collect();
    if there.is_empty() {
        let reason = format!("no line has a `domain`; all videos count as {wanted}");
        set.report(Set::FILE, reason);
        return Ok(());
    }
    let same = |domain: &String| domain.eq_ignore_ascii_case(wanted);
    if !there.iter().any(same) {
        let there = there.into_iter().collect::<Vec<_>>().join(", ");
        return Err(SetError::NoDomain { wanted: wanted.into(), there });
    }
    set.videos.retain(|video| video.domain.as_ref().is_some_and(same));
    Ok(())
}

/// The features of texts that came with the set, and the encoder that made them.
fn own_texts(
    set: &mut Set,
    with: &Encoders<'_>,
) -> Result<(Option<(usize, StepRows)>, EncoderId), SetError> {
    let id = with.encoder.id().clone();
    let Some(kept) = StoredFeatures::find(set, "texts")? else { return Ok((None, id)) };
    let (dim, rows) = kept.rows(set, None);
    let id = EncoderId { name: id.name, dim, weights: String::new() };
    Ok((Some((dim, rows)), id))
}

/// A row for each step: from features beside the list, else from its pictures.
fn step_rows(
    set: &mut Set,
    with: &Encoders<'_>,
    own_dim: Option<usize>,
    progress: &dyn Progress,
) -> Result<(&'static str, usize, StepRows), SetError> {
    let pictured = set.videos.iter().flat_map(|v| &v.steps).any(|step| !step.images.is_empty());
    let dim = own_dim.unwrap_or(with.encoder.id().dim);
    match StoredFeatures::find(set, "features") {
        Ok(Some(kept)) => {
            let (dim, rows) = kept.rows(set, Some(dim));
            return Ok(("features", dim, rows));
        }
        Err(error) if pictured => set.report("features", error),
        other => drop(other?),
    }
    let Some(tower) = with.encoder.image_tower() else {
        let (name, or) = (with.encoder.id().name.clone(), ", or put features beside the list");
        return Err(SetError::NoImageTower { name, or });
    };
    report_missing_pictures(set);
    let (items, features, _) = encode_pictures(tower, set, progress)?;
    let mut rows: StepRows = set.videos.iter().map(|v| vec![None; v.steps.len()]).collect();
    for (item, row) in items.iter().zip(features.rows()) {
        rows[item.video][item.step] = Some(row.to_vec());
    }
    Ok(("pictures", features.dim(), rows))
}

fn report_missing_pictures(set: &mut Set) {
    let mut without = Vec::new();
    for video in &set.videos {
        let steps = video.steps.iter().filter(|step| step.images.is_empty());
        without.extend(steps.map(|step| format!("{}, step {}", video.id, step.number + 1)));
    }
    without.into_iter().for_each(|place| set.report(place, "it names no picture"));
}

/// The steps that have a row, as clips. The vectors have one entry for each clip, but for `videos`.
#[derive(Default)]
struct SetClips {
    clips: Vec<Clip>,
    rows: Vec<Vec<f32>>,
    narration: Vec<String>,
    labels: Vec<String>,
    /// The rows of the texts; empty where they did not come with the set.
    texts: Vec<Vec<f32>>,
    /// The place of each among the listed steps of its video.
    numbers: Vec<usize>,
    /// For each video its number in the set and its clips.
    videos: Vec<(usize, Vec<ClipId>)>,
}

impl SetClips {
    fn new(set: &Set, rows: &StepRows, texts: Option<&StepRows>) -> Self {
        let mut clips = Self::default();
        for (at, video) in set.videos.iter().enumerate() {
            let own = clips.add(VideoId(at as u32), video, &rows[at], texts.map(|all| &all[at]));
            if !own.is_empty() {
                clips.videos.push((at, own));
            }
        }
        clips
    }

    fn add(
        &mut self,
        id: VideoId,
        video: &VideoSteps,
        rows: &[Option<Vec<f32>>],
        texts: Option<&Vec<Option<Vec<f32>>>>,
    ) -> Vec<ClipId> {
        let (spans, mut own) = (spans(video), Vec::new());
        for (number, step) in video.steps.iter().enumerate() {
            let text_row = texts.map(|texts| texts.get(number).cloned().flatten());
            let row = rows.get(number).cloned().flatten();
            let (Some(row), None | Some(Some(_))) = (row, &text_row) else { continue };
            own.push(ClipId(self.clips.len() as u32));
            self.texts.extend(text_row.flatten());
            self.rows.push(row);
            self.numbers.push(step.number);
            self.narration.push(step.narration.clone().unwrap_or_default());
            self.labels.push(step.label.clone().unwrap_or_else(|| step.text.clone()));
            self.clips.push(Clip { video: id, span: spans[number], text: step.text.clone() });
        }
        own
    }

    fn collection(
        &self,
        set: &Set,
        texts: &EncodedTexts,
        dim: usize,
    ) -> Result<Collection, SetError> {
        let all = self.clips.iter().map(|clip| clip.text.as_str());
        let text = texts.index.rows(&texts.text, all);
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
                instances.push(self.instance(&title, &task, own, texts));
            }
            let mut clips = own.clone();
            clips.sort_by_key(|clip| pool.clip(*clip).span);
            let split = Some(Split::HeldOut);
            videos.insert(VideoId(*at as u32), VideoInfo { title, task, split, clips });
        }
        let mut collection = Collection::new(pool, videos, instances);
        collection.labels.clone_from(&self.labels);
        Ok(collection)
    }

    fn instance(&self, title: &str, task: &str, own: &[ClipId], texts: &EncodedTexts) -> Instance {
        let words = || own.iter().map(|id| self.clips[id.row()].text.as_str());
        let own_rows = || {
            let mut rows = Features::empty(self.texts.first().map_or(1, Vec::len));
            own.iter().for_each(|id| rows.push(&self.texts[id.row()]));
            rows
        };
        Instance {
            title: title.into(),
            text: texts.index.rows(&texts.text, words()),
            clip: match &texts.clip {
                Some(clip) => texts.index.rows(clip, words()),
                None => own_rows(),
            },
            texts: words().map(str::to_owned).collect(),
            truth: own.to_vec(),
            split: Split::HeldOut,
            builder: "real".into(),
            task: task.into(),
        }
    }
}

/// The distinct texts of all clips with their features.
struct EncodedTexts {
    index: TextIndex,
    text: Features,
    /// By F_M, unless these came with the set.
    clip: Option<Features>,
}

impl EncodedTexts {
    fn new(
        clips: &SetClips,
        with: &Encoders<'_>,
        by_encoder: bool,
        progress: &dyn Progress,
    ) -> Result<Self, SetError> {
        let texts = distinct(clips.clips.iter().map(|clip| clip.text.as_str()));
        progress.begin("encoding texts", texts.len() as u64);
        let text = with.sentence.encode_with(&texts, progress)?;
        let clip = by_encoder.then(|| with.encoder.encode_text(&texts)).transpose()?;
        Ok(Self { index: TextIndex::new(&texts), text, clip })
    }
}

/// Adds the procedures of `mixed.jsonl`, made of clips of several videos: lines such as
/// {"title": "…", "steps": [{"text": "…", "video": "v1", "step": 0}]}. The text of a step is that of its
/// clip, whose features are known.
fn add_mixed(set: &mut Set, clips: &SetClips, texts: &EncodedTexts, collection: &mut Collection) {
    let Ok(lines) = std::fs::read_to_string(set.folder.join(Set::MIXED)) else { return };
    let mut known: HashMap<(String, usize), ClipId> = HashMap::new();
    for (at, own) in &clips.videos {
        let id = &set.videos[*at].id;
        known.extend(own.iter().map(|clip| ((id.clone(), clips.numbers[clip.row()]), *clip)));
    }
    for (number, line) in lines.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let mixed: Option<MixedLine> = serde_json::from_str(line).ok();
        let truth = mixed.as_ref().and_then(|mixed| {
            let clip = |step: &MixedLineStep| known.get(&(step.video.clone(), step.step)).copied();
            mixed.steps.iter().map(clip).collect::<Option<Vec<ClipId>>>()
        });
        let (Some(mixed), Some(truth)) = (mixed, truth.filter(|truth| truth.len() >= 2)) else {
            let place = format!("{}, line {}", Set::MIXED, number + 1);
            set.report(place, "not two steps or more of clips that the set has");
            continue;
        };
        let first = &collection.videos[&collection.pool.clip(truth[0]).video];
        let mut instance = clips.instance(&mixed.title, &first.task, &truth, texts);
        instance.builder = mixed.builder;
        collection.instances.push(instance);
    }
}

#[derive(Deserialize)]
struct MixedLine {
    #[serde(default)]
    title: String,
    #[serde(default)]
    builder: String,
    steps: Vec<MixedLineStep>,
}

#[derive(Deserialize)]
struct MixedLineStep {
    video: String,
    step: usize,
}

/// Texts with their sentence features; a zero row for an empty one.
pub fn encode_narration(
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

/// The spans of a video's steps; where one is not known, a second for each step in turn.
fn spans(video: &VideoSteps) -> Vec<Span> {
    let known: Option<Vec<Span>> = video.steps.iter().map(|step| step.span).collect();
    let second = |at: u64| Span::new(1000 * at, 1000 * at + 1000);
    known.unwrap_or_else(|| (0..video.steps.len() as u64).filter_map(second).collect())
}

/// The task of each video: what the list says; where it names none, one task for videos with similar steps.
fn tasks(set: &Set, videos: &[(usize, Vec<ClipId>)], pool: &Pool) -> HashMap<usize, String> {
    let alone = |at: &usize| set.videos[*at].id.clone();
    let said = |at: &usize| set.videos[*at].task.clone();
    if videos.iter().any(|(at, _)| said(at).is_some()) {
        return videos.iter().map(|(at, _)| (*at, said(at).unwrap_or_else(|| alone(at)))).collect();
    }
    let mut means = Features::empty(pool.text_features().dim());
    for (_, own) in videos {
        means.push(&mean_row(pool.text_features(), own));
    }
    let mut group: Vec<usize> = (0..videos.len()).collect();
    for (row, near) in mine::neighbours(&means, MIN_TASK_SIMILARITY).into_iter().enumerate() {
        // Videos come in order, so the first of a row's group is known by now.
        near.into_iter().for_each(|other| group[other as usize] = group[row]);
    }
    let named = videos.iter().enumerate();
    named.map(|(row, (at, _))| (*at, alone(&videos[group[row]].0))).collect()
}
