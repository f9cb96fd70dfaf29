//! What is sent and received, as JSON.

use serde::{Deserialize, Serialize};
use stitch_engine::demonstrate::{Choice, Doubt, Place, Wish, doubts};
use utoipa::ToSchema;

use crate::demonstrations::{Record, Revision};

/// A clip by what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ClipRef {
    /// The video's number.
    pub video: u32,
    /// Where the clip begins, in milliseconds.
    pub start_ms: u64,
    /// One past where it ends.
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

/// What a person does to a demonstration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Change {
    /// Show a step by this clip, and keep it so.
    Swap {
        /// The step, from 0.
        step: usize,
        /// The clip.
        clip: ClipRef,
    },
    /// Keep what a step shows.
    Lock {
        /// The step, from 0.
        step: usize,
    },
    /// Let the search decide again.
    Unlock {
        /// The step, from 0.
        step: usize,
    },
    /// Never show a step by this clip.
    Ban {
        /// The step, from 0.
        step: usize,
        /// The clip; left out, the one that shows it now.
        clip: Option<ClipRef>,
    },
    /// Forget the bans of a step.
    Pardon {
        /// The step, from 0.
        step: usize,
    },
    /// Show a step from one video only, or, left out, from any again.
    Source {
        /// The step, from 0.
        step: usize,
        /// The video's number.
        video: Option<u32>,
    },
    /// Cut the clip of a step elsewhere.
    Trim {
        /// The step, from 0.
        step: usize,
        /// Where the cut begins in its video, in milliseconds.
        start_ms: u64,
        /// One past where it ends.
        end_ms: u64,
    },
    /// Cut the clip of a step as the library says.
    Untrim {
        /// The step, from 0.
        step: usize,
    },
    /// Show nothing for a step.
    Leave {
        /// The step, from 0.
        step: usize,
    },
    /// Search anew, keeping what is locked.
    Solve,
    /// Take the last change back.
    Undo,
    /// Make the change again that was taken back.
    Redo,
}

/// A clip with its evidence.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ClipView {
    /// What it is.
    pub clip: ClipRef,
    /// Its video's title.
    pub title: String,
    /// Its video's file name.
    pub file: String,
    /// Who published it.
    pub uploader: Option<String>,
    /// Under which licence.
    pub licence: Option<String>,
    /// Where the cut begins, in milliseconds of the video.
    pub cut_start_ms: u64,
    /// One past where it ends.
    pub cut_end_ms: u64,
    /// How fast it plays.
    pub speed: f64,
    /// The step in the words of its video.
    pub text: String,
    /// What is said during the clip.
    pub narration: String,
    /// How likely it shows the step.
    pub probability: f32,
    /// The cosine of the texts.
    pub text_similarity: Option<f32>,
    /// The rare words shared.
    pub words: Option<f32>,
    /// The cosine of text and picture.
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

/// A step, what shows it, and what a person decided about it.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct StepView {
    /// The step in the words of the procedure.
    pub text: String,
    /// The clip that shows it; none is a gap.
    pub chosen: Option<ClipView>,
    /// Other clips, best first; for a gap those that come nearest.
    pub alternatives: Vec<ClipView>,
    /// Whether a search keeps what stands here.
    pub locked: bool,
    /// How many clips are banned.
    pub banned: usize,
    /// The only video it may be from.
    pub source: Option<u32>,
    /// Whether a person cut it.
    pub trimmed: bool,
    /// What a viewer may stumble over.
    pub warnings: Vec<String>,
}

/// A demonstration as it stands.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct DemonstrationView {
    /// Its number.
    pub id: i64,
    /// What it makes.
    pub title: String,
    /// Its revision; 0 while it is being found.
    pub revision: i64,
    /// Its steps.
    pub steps: Vec<StepView>,
    /// Whether there is a change to take back.
    pub can_undo: bool,
    /// Whether there is a change to make again.
    pub can_redo: bool,
    /// What decided.
    pub scorer: String,
    /// Its word on the whole.
    pub score: f32,
    /// How many candidates were compared.
    pub candidates: usize,
    /// How often the source changes.
    pub source_changes: usize,
    /// How long the answer took.
    pub took_ms: u64,
}

impl DemonstrationView {
    /// As it stands at a revision.
    pub fn new(record: &Record, revision: &Revision, last: i64) -> Self {
        let answer = &revision.answer;
        let doubts = doubts(answer);
        let nothing = Wish::default();
        let step = |(number, step): (usize, &stitch_engine::demonstrate::Step)| {
            let wish = revision.wishes.get(&number).unwrap_or(&nothing);
            let place = step.chosen.as_ref().map(Place::from);
            StepView {
                text: step.text.clone(),
                chosen: step.chosen.as_ref().map(ClipView::from),
                alternatives: worth_offering(&step.alternatives),
                locked: wish.fixed.is_some(),
                banned: wish.banned.len(),
                source: wish.source,
                trimmed: wish.trim.is_some_and(|trim| Some(trim.of) == place),
                warnings: doubts[number].iter().map(say).collect(),
            }
        };
        Self {
            id: record.id,
            title: record.title.clone(),
            revision: revision.number,
            steps: answer.steps.iter().enumerate().map(step).collect(),
            can_undo: revision.number > 1,
            can_redo: revision.number < last,
            scorer: answer.scorer.clone(),
            score: answer.score,
            candidates: answer.candidates,
            source_changes: answer.source_changes,
            took_ms: revision.took_ms,
        }
    }

    /// The sources, in the order in which they appear.
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

/// The alternatives that may be meant; the two best whatever they are worth.
fn worth_offering(all: &[Choice]) -> Vec<ClipView> {
    const LEAST: f32 = 0.02;
    const ANYWAY: usize = 2;
    let worth = |(place, choice): &(usize, &Choice)| {
        *place < ANYWAY || choice.similarity.probability >= LEAST
    };
    let mut sorted: Vec<&Choice> = all.iter().collect();
    sorted.sort_by(|a, b| b.similarity.probability.total_cmp(&a.similarity.probability));
    sorted.into_iter().enumerate().filter(worth).map(|(_, choice)| choice.into()).collect()
}

/// A doubt in words.
pub fn say(doubt: &Doubt) -> String {
    match doubt {
        Doubt::SourceChange => "the source changes here".into(),
        Doubt::Backwards => "the step before is shown later in this video".into(),
        Doubt::SameClip { step } => format!("step {} shows the same clip", step + 1),
        Doubt::Unlikely => "the clip more likely does not show this".into(),
    }
}
