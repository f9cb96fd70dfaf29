//! A set in the plain format as a test set: every video with two usable steps or more is a procedure
//! whose clips are known.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::iter::zip;
use std::sync::Arc;

use serde::Serialize;
use stitch_core::clip::{Clip, ClipId, Span, VideoId};
use stitch_core::features::{Features, Rows};
use stitch_core::pool::{Moment, Pool};
use stitch_engine::encoder::{Encoder, EncoderError, EncoderId, Precomputed, appearance};
use stitch_engine::progress::Progress;
use stitch_engine::sentence::{SentenceEncoder, SentenceError};

use super::features::{StepRows, StoredFeatures};
use super::pictures::encode_pictures;
use super::set::{MixedLine, MixedLineStep, PlainStep, Set, VideoSteps};
use super::{DataIssue, SetError};
use crate::collection::{Collection, Instance, VideoInfo};
use crate::dataset::{Split, mine};
use crate::rows::{TextIndex, distinct, grouped, mean_row, select_rows};
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
    let own_texts = StoredFeatures::find(&set, "texts")?.map(|stored| stored.rows(&mut set, None));
    let own_dim = own_texts.as_ref().map(|(dim, _)| *dim);
    let StepFeatures { from, dim, rows, appearance } =
        step_features(&mut set, with, own_dim, progress)?;
    let encoder = encoder_id(with.encoder.id(), from, dim, own_dim);
    let own_texts = own_texts.as_ref().map(|(_, rows)| rows);
    let clips = set_clips(&set, &rows, appearance.as_ref(), own_texts);
    if !clips.chunk_by(|a, b| a.video == b.video).any(|own| own.len() >= 2) {
        let (path, issues) = (set.folder.clone(), set.issues.clone());
        return Err(SetError::NoProcedures { path, issues });
    }
    let (collection, asked) = collection(&set, &clips, dim, with, progress)?;
    let narration = clips.iter().map(|clip| clip.step.narration.clone().unwrap_or_default());
    let narration = encode_narration(narration.collect(), with.sentence, progress)?;
    let name = set.folder.file_name().map_or("set".into(), |name| name.to_string_lossy());
    let mut test_set = TestSet::new(&name, collection, narration, encoder)?;
    let unusable = add_mixed(&set, &clips, &asked, &mut test_set.collection);
    set.issues.extend(unusable);
    let summary = summary(set, &test_set, from);
    Ok((test_set, summary))
}

/// The encoder that made the features. Those that came with the set have a name of their own.
fn encoder_id(id: &EncoderId, from: &str, dim: usize, own_dim: Option<usize>) -> EncoderId {
    let mut id = id.clone();
    if let Some(own) = own_dim {
        (id.dim, id.weights) = (own, String::new());
    }
    if from == "features" {
        let name = if own_dim.is_some() { "own" } else { &id.name };
        (id.name, id.dim) = (format!("{}{name}", Precomputed::PREFIX), dim);
    }
    id
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

/// Of every step.
struct StepFeatures {
    /// `features` or `pictures`.
    from: &'static str,
    /// The length of a row.
    dim: usize,
    rows: StepRows,
    /// Where the encoder tells more of it than the rows do.
    appearance: Option<StepRows>,
}

/// From features beside the list, else from its pictures.
fn step_features(
    set: &mut Set,
    with: &Encoders<'_>,
    own_dim: Option<usize>,
    progress: &dyn Progress,
) -> Result<StepFeatures, SetError> {
    let pictured = set.videos.iter().flat_map(|v| &v.steps).any(|step| !step.images.is_empty());
    let dim = own_dim.unwrap_or(with.encoder.id().dim);
    match StoredFeatures::find(set, "features") {
        Ok(Some(stored)) => {
            let (dim, rows) = stored.rows(set, Some(dim));
            return Ok(StepFeatures { from: "features", dim, rows, appearance: None });
        }
        Err(error) if pictured => set.report("features", error),
        other => drop(other?),
    }
    let Some(tower) = with.encoder.image_tower() else {
        let (name, or) = (with.encoder.id().name.clone(), ", or put features beside the list");
        return Err(SetError::NoImageTower { name, or });
    };
    report_missing_pictures(set);
    let (items, seen, _) = encode_pictures(tower, set, progress)?;
    let of_steps = |features: &Features| {
        let mut rows: StepRows = set.videos.iter().map(|v| vec![None; v.steps.len()]).collect();
        for (item, row) in zip(&items, features.rows()) {
            rows[item.video][item.step] = Some(row.to_vec());
        }
        rows
    };
    let (dim, rows) = (seen.features.dim(), of_steps(&seen.features));
    let appearance = seen.appearance.as_ref().map(of_steps);
    Ok(StepFeatures { from: "pictures", dim, rows, appearance })
}

fn report_missing_pictures(set: &mut Set) {
    let mut without = Vec::new();
    for video in &set.videos {
        let steps = video.steps.iter().filter(|step| step.images.is_empty());
        without.extend(steps.map(|step| format!("{}, step {}", video.id, step.number + 1)));
    }
    without.into_iter().for_each(|place| set.report(place, "it names no picture"));
}

/// A step that has a row.
struct SetClip<'a> {
    /// Its video, by number in the set.
    video: usize,
    step: &'a PlainStep,
    span: Span,
    row: &'a [f32],
    /// Where the encoder tells more of it than `row` does.
    appearance: Option<&'a [f32]>,
    /// Of its text, where such rows came with the set.
    text_row: Option<&'a [f32]>,
}

/// The steps with a row, and with one of their text if `texts` are given, video by video.
fn set_clips<'a>(
    set: &'a Set,
    rows: &'a StepRows,
    appearance: Option<&'a StepRows>,
    texts: Option<&'a StepRows>,
) -> Vec<SetClip<'a>> {
    let mut clips = Vec::new();
    for (video, listed) in set.videos.iter().enumerate() {
        for (at, (step, span)) in zip(&listed.steps, spans(listed)).enumerate() {
            let row = |rows: &'a StepRows| rows[video].get(at).and_then(Option::as_deref);
            let (text_row, appearance) = (texts.and_then(row), appearance.and_then(row));
            if let Some(row) = row(rows).filter(|_| texts.is_none() || text_row.is_some()) {
                clips.push(SetClip { video, step, span, row, appearance, text_row });
            }
        }
    }
    clips
}

/// The clips with every video of two or more as a procedure, and the features of their texts by F_M.
fn collection(
    set: &Set,
    clips: &[SetClip<'_>],
    dim: usize,
    with: &Encoders<'_>,
    progress: &dyn Progress,
) -> Result<(Collection, Features), SetError> {
    let words = || clips.iter().map(|clip| clip.step.text.as_str());
    let distinct = distinct(words());
    let index = TextIndex::new(&distinct);
    progress.begin("encoding texts", distinct.len() as u64);
    let text = index.rows(&with.sentence.encode_with(&distinct, progress)?, words());
    let own: Option<Vec<&[f32]>> = clips.iter().map(|clip| clip.text_row).collect();
    let asked = match own.filter(|own| !own.is_empty()) {
        Some(own) => features(own[0].len(), own)?,
        None => index.rows(&with.encoder.encode_text(&distinct)?, words()),
    };
    let rows = features(dim, clips.iter().map(|clip| clip.row).collect())?;
    let clip = |clip: &SetClip| Clip {
        video: VideoId(clip.video as u32),
        span: clip.span,
        text: clip.step.text.clone(),
    };
    let appearance: Option<Vec<&[f32]>> = clips.iter().map(|clip| clip.appearance).collect();
    let appearance = match appearance {
        Some(seen) => features(appearance::DIM, seen)?,
        None => appearance::reduced(&rows),
    };
    // Of a step there is one row: its first moment is its last.
    let moments = (0..clips.len()).flat_map(|row| Moment::ALL.map(|_| row));
    let pool = Pool::new(clips.iter().map(clip).collect(), text, rows)?
        .with_appearance(Arc::new(select_rows(&appearance, moments)));
    let own = grouped(clips.iter().map(|clip| clip.video).zip((0..).map(ClipId)));
    let tasks = tasks(set, &own, &pool);
    let (mut videos, mut instances) = (BTreeMap::new(), Vec::new());
    for (at, mut own) in own {
        let (video, task) = (&set.videos[at], tasks[&at].clone());
        let title = video.title.clone().unwrap_or_else(|| video.id.clone());
        if own.len() >= 2 {
            instances.push(instance_of_clips(&title, &task, &own, &pool, &asked));
        }
        own.sort_by_key(|clip| pool.clip(*clip).span);
        let split = Some(Split::HeldOut);
        videos.insert(VideoId(at as u32), VideoInfo { title, task, split, clips: own });
    }
    let label = |clip: &SetClip| clip.step.label.clone().unwrap_or_else(|| clip.step.text.clone());
    let labels = clips.iter().map(label).collect();
    Ok((Collection { pool, videos, instances, labels }, asked))
}

fn features(dim: usize, rows: Vec<&[f32]>) -> Result<Features, EncoderError> {
    Features::new(dim, rows.concat()).map_err(EncoderError::Features)
}

/// A held-out procedure whose steps are the texts of these clips; `asked` are their features by F_M.
pub fn instance_of_clips(
    title: &str,
    task: &str,
    clips: &[ClipId],
    pool: &Pool,
    asked: &dyn Rows,
) -> Instance {
    let rows = || clips.iter().map(|clip| clip.row());
    Instance {
        title: title.into(),
        texts: rows().map(|row| pool.clips()[row].text.clone()).collect(),
        text: select_rows(pool.text_features(), rows()),
        clip: select_rows(asked, rows()),
        truth: clips.to_vec(),
        split: Split::HeldOut,
        builder: "real".into(),
        task: task.into(),
    }
}

/// Adds the procedures of `mixed.jsonl`, made of clips of several videos: lines such as
/// {"title": "…", "steps": [{"text": "…", "video": "v1", "step": 0}]}. The text of a step is that of its
/// clip, whose features are known. Returns the lines that cannot be used.
fn add_mixed(
    set: &Set,
    clips: &[SetClip<'_>],
    asked: &Features,
    collection: &mut Collection,
) -> Vec<DataIssue> {
    let lines = std::fs::read_to_string(set.folder.join(Set::MIXED)).unwrap_or_default();
    let place = |clip: &SetClip| (set.videos[clip.video].id.clone(), clip.step.number);
    let known: HashMap<(String, usize), ClipId> =
        clips.iter().map(place).zip((0..).map(ClipId)).collect();
    let mut unusable = Vec::new();
    for (number, line) in lines.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let mixed: Option<MixedLine> = serde_json::from_str(line).ok();
        let truth = mixed.as_ref().and_then(|mixed| {
            let clip = |step: &MixedLineStep| known.get(&(step.video.clone(), step.step)).copied();
            mixed.steps.iter().map(clip).collect::<Option<Vec<ClipId>>>()
        });
        let (Some(mixed), Some(truth)) = (mixed, truth.filter(|truth| truth.len() >= 2)) else {
            let place = format!("{}, line {}", Set::MIXED, number + 1);
            let reason = "not two steps or more of clips that the set has".into();
            unusable.push(DataIssue { place, reason });
            continue;
        };
        let Collection { pool, videos, instances, .. } = &mut *collection;
        let task = &videos[&pool.clip(truth[0]).video].task;
        let instance = instance_of_clips(&mixed.title, task, &truth, pool, asked);
        instances.push(Instance { builder: mixed.builder, ..instance });
    }
    unusable
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
fn tasks(set: &Set, clips: &BTreeMap<usize, Vec<ClipId>>, pool: &Pool) -> HashMap<usize, String> {
    let alone = |at: &usize| set.videos[*at].id.clone();
    let named = |at: &usize| set.videos[*at].task.clone();
    if clips.keys().any(|at| named(at).is_some()) {
        return clips.keys().map(|at| (*at, named(at).unwrap_or_else(|| alone(at)))).collect();
    }
    let mut means = Features::empty(pool.text_features().dim());
    clips.values().for_each(|own| means.push(&mean_row(pool.text_features(), own)));
    let videos: Vec<usize> = clips.keys().copied().collect();
    let mut group: Vec<usize> = (0..videos.len()).collect();
    for (row, near) in mine::neighbours(&means, MIN_TASK_SIMILARITY).into_iter().enumerate() {
        // Videos come in order, so the first of a row's group is known by now.
        near.into_iter().for_each(|other| group[other as usize] = group[row]);
    }
    zip(&videos, group).map(|(at, first)| (*at, alone(&videos[first]))).collect()
}
