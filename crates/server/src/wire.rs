//! Demonstrations as JSON: how they are shown, and the changes that a user makes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stitch_engine::demonstrate::{self, Choice, Confidence, Doubt, Place, Wish, doubts};
use utoipa::ToSchema;

use crate::demonstrations::{Record, Revision};

/// Identifies a clip
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ClipRef {
    /// The id of its video
    pub video: u32,
    pub start_ms: u64,
    /// Exclusive
    pub end_ms: u64,
}

impl From<ClipRef> for Place {
    fn from(ClipRef { video, start_ms, end_ms }: ClipRef) -> Self {
        Self { video, start_ms, end_ms }
    }
}

impl From<Place> for ClipRef {
    fn from(Place { video, start_ms, end_ms }: Place) -> Self {
        Self { video, start_ms, end_ms }
    }
}

/// A change of a demonstration; steps count from 0
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Change {
    /// Show a step by this clip, and lock it
    Swap { step: usize, clip: ClipRef },
    /// Keep the step's clip in further searches
    Lock { step: usize },
    /// Let further searches change the step's clip
    Unlock { step: usize },
    /// Never show a step by this clip; without one, by its current clip
    Ban { step: usize, clip: Option<ClipRef> },
    /// Delete the bans of a step
    Pardon { step: usize },
    /// Show a step from this video only; without one, from any
    Source { step: usize, video: Option<u32> },
    /// Cut the step's clip to these times of its video
    Trim { step: usize, start_ms: u64, end_ms: u64 },
    /// Undo the trim of a step
    Untrim { step: usize },
    /// Leave a step as a gap
    Leave { step: usize },
    /// Search again, keeping locked steps
    Solve,
    /// Go back to the revision before
    Undo,
    /// Go on to the revision that was undone
    Redo,
}

/// A clip with the evidence for its step
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ClipView {
    pub clip: ClipRef,
    /// The title of its video
    pub title: String,
    /// The file name of its video
    pub file: String,
    pub uploader: Option<String>,
    pub licence: Option<String>,
    /// In milliseconds of the video
    pub cut_start_ms: u64,
    /// Exclusive
    pub cut_end_ms: u64,
    /// The playback speed; 1 is normal
    pub speed: f64,
    /// The step as its video words it
    pub text: String,
    /// What is said during the clip
    pub narration: String,
    /// The probability that it shows the step
    pub probability: f32,
    /// The cosine of the two texts' embeddings
    pub text_similarity: Option<f32>,
    /// The overlap of rare words
    pub words: Option<f32>,
    /// The cosine of the embeddings of text and frames
    pub clip_similarity: Option<f32>,
}

impl From<&Choice> for ClipView {
    fn from(choice: &Choice) -> Self {
        let file = choice.source.path.file_name().unwrap_or_default();
        Self {
            clip: Place::from(choice).into(),
            title: choice.source.title.clone(),
            file: file.to_string_lossy().into_owned(),
            uploader: choice.source.uploader.clone(),
            licence: choice.source.licence.clone(),
            cut_start_ms: choice.cut.start_ms,
            cut_end_ms: choice.cut.end_ms,
            speed: choice.speed,
            text: choice.text.clone(),
            narration: choice.narration.clone(),
            probability: choice.similarity.probability,
            text_similarity: choice.similarity.text,
            words: choice.similarity.words,
            clip_similarity: choice.similarity.clip,
        }
    }
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct StepView {
    pub text: String,
    /// What it asks for, where its own words do not say it
    #[serde(skip_serializing_if = "Option::is_none")]
    pub understood: Option<String>,
    /// When it is to be done at all
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// When and how long
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub times: Vec<String>,
    /// How sure the answer is: `shown`, `perhaps` or `not_shown`
    #[schema(value_type = String, pattern = "^(shown|perhaps|not_shown)$")]
    pub confidence: Confidence,
    /// None is a gap
    pub chosen: Option<ClipView>,
    /// The clips that are played, in order: the chosen one, and those that show other actions of the step
    pub clips: Vec<ClipView>,
    /// What of the step nothing shows, in words
    pub partly_shown: Option<String>,
    /// The most likely first; for a gap, the nearest clips
    pub alternatives: Vec<ClipView>,
    /// Whether further searches keep it
    pub locked: bool,
    /// The number of banned clips
    pub banned: usize,
    /// The only video that it may be from
    pub source: Option<u32>,
    /// Whether the user trimmed it
    pub trimmed: bool,
    /// What may confuse a viewer
    pub warnings: Vec<String>,
    /// By how much the score is above that of the best candidate without this clip
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lead: Option<f32>,
}

/// The current revision of a demonstration
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct DemonstrationView {
    pub id: i64,
    pub title: String,
    /// Why the language of the steps is not understood, and what to do
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language_note: Option<String>,
    /// From 1
    pub revision: i64,
    pub steps: Vec<StepView>,
    pub can_undo: bool,
    pub can_redo: bool,
    /// The method that ranked the candidates
    pub scorer: String,
    pub score: f32,
    /// How likely every step is answered correctly
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probability: Option<f32>,
    /// The number of sequences that were compared
    pub candidates: usize,
    pub source_changes: usize,
    /// What was preferred, and what was given up for it, in words
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub preferences: Vec<String>,
    /// How long the search took
    pub took_ms: u64,
}

impl DemonstrationView {
    pub fn new(record: &Record, revision: &Revision, last_revision: i64) -> Self {
        let answer = &revision.answer;
        let doubts = doubts(answer);
        let no_wish = Wish::default();
        let step = |(number, step): (usize, &demonstrate::Step)| {
            let wish = revision.wishes.get(&number).unwrap_or(&no_wish);
            let clip = step.chosen.as_ref().map(Place::from);
            StepView {
                text: step.text.clone(),
                understood: step.understood.clone(),
                condition: step.condition.clone(),
                times: step.times.clone(),
                confidence: step.confidence,
                chosen: step.chosen.as_ref().map(ClipView::from),
                clips: step.clips().into_iter().map(ClipView::from).collect(),
                partly_shown: step.partly_shown(),
                alternatives: offered(&step.alternatives),
                locked: wish.fixed.is_some(),
                banned: wish.banned.len(),
                source: wish.source,
                trimmed: wish.trim.is_some_and(|trim| Some(trim.of) == clip),
                warnings: doubts[number]
                    .iter()
                    .map(warning)
                    .chain(step.state_note.clone())
                    .collect(),
                lead: step.lead,
            }
        };
        Self {
            id: record.id,
            title: record.title.clone(),
            language_note: answer.language_note.clone(),
            revision: revision.number,
            steps: answer.steps.iter().enumerate().map(step).collect(),
            can_undo: revision.number > 1,
            can_redo: revision.number < last_revision,
            scorer: answer.scorer.clone(),
            score: answer.score,
            probability: answer.probability,
            candidates: answer.candidates,
            source_changes: answer.source_changes,
            preferences: answer.preferences.iter().map(|outcome| outcome.told()).collect(),
            took_ms: revision.took_ms,
        }
    }

    /// The ids of the source videos, in order of appearance.
    pub fn sources(&self) -> Vec<u32> {
        let mut sources = Vec::new();
        for clip in self.steps.iter().filter_map(|step| step.chosen.as_ref()) {
            if !sources.contains(&clip.clip.video) {
                sources.push(clip.clip.video);
            }
        }
        sources
    }
}

/// Alternatives below this probability are not offered; chosen by hand.
const MIN_ALTERNATIVE_PROBABILITY: f32 = 0.02;
/// So many are offered whatever their probability.
const MIN_ALTERNATIVES: usize = 2;

fn offered(alternatives: &[Choice]) -> Vec<ClipView> {
    let mut sorted: Vec<ClipView> = alternatives.iter().map(ClipView::from).collect();
    sorted.sort_by(|a, b| b.probability.total_cmp(&a.probability));
    let likely = sorted.partition_point(|clip| clip.probability >= MIN_ALTERNATIVE_PROBABILITY);
    sorted.truncate(likely.max(MIN_ALTERNATIVES));
    sorted
}

fn warning(doubt: &Doubt) -> String {
    match doubt {
        Doubt::SourceChange => "the source changes here".into(),
        Doubt::Backwards => "the step before is shown later in this video".into(),
        Doubt::SameClip { step } => format!("step {} shows the same clip", step + 1),
        Doubt::Unlikely => "the clip may not show this".into(),
    }
}
