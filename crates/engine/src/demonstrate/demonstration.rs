//! V_R as a record: every step, the clip that shows it, why, and what else could. This is
//! `demo.json`; rendering and every export read nothing else.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The answer to a procedure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Demonstration {
    /// The version of this format.
    pub version: u32,
    /// What the procedure makes; may be empty.
    pub title: String,
    /// One entry per step of the procedure, in order.
    pub steps: Vec<Step>,
    /// What decided between the candidates, by name (`average-similarity`, `evaluator`).
    pub scorer: String,
    /// Its score of this sequence: a probability, where it makes one.
    pub score: f32,
    /// How many candidate sequences it was chosen from.
    pub candidates: usize,
    /// How often the source changes from one shown step to the next.
    pub source_changes: usize,
    /// The seed of everything random in between.
    pub seed: u64,
    /// The models used, by role, with the SHA-256 of their weights.
    pub models: BTreeMap<String, String>,
}

/// One step of the procedure and what shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The step in the words of the procedure.
    pub text: String,
    /// What it asks for, where that is known only from the title and the steps before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub understood: Option<String>,
    /// When it is to be done at all: "if the wood is rough".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// When and how long, in the words of the step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub times: Vec<String>,
    /// How sure the answer is.
    #[serde(default)]
    pub confidence: Confidence,
    /// The clip that shows it; none is an honest gap.
    pub chosen: Option<Choice>,
    /// Other clips that could show it, best first.
    pub alternatives: Vec<Choice>,
    /// How alike the pictures on both sides of the cut to this step are, 0 to 1; none for the first
    /// clip, after a gap, and where nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub join: Option<f32>,
}

/// How sure it is that the step is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// By the chosen clip.
    #[default]
    Shown,
    /// The chosen clip is played, and may be a wrong one.
    Perhaps,
    /// Nothing shows it.
    NotShown,
}

impl Confidence {
    /// Clips less likely than this are doubtful. Of such clips a fifth and more were wrong on natural
    /// procedures (`stitch eval natural`).
    pub const PERHAPS_BELOW: f32 = 0.8;

    /// Of a step with this clip.
    pub fn of(chosen: Option<&Choice>) -> Self {
        match chosen {
            None => Self::NotShown,
            Some(choice) if choice.similarity.probability < Self::PERHAPS_BELOW => Self::Perhaps,
            Some(_) => Self::Shown,
        }
    }
}

/// A clip put forward for a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// The clip's row in the pool.
    pub clip: u32,
    /// The video it is from.
    pub source: Source,
    /// Where the library says the step is shown.
    pub span: Interval,
    /// What is cut out of the video, padding and limits applied.
    pub cut: Interval,
    /// How fast the cut plays; 1 is as filmed.
    pub speed: f64,
    /// The step in the words of its own video.
    pub text: String,
    /// What is said in the video during the span.
    pub narration: String,
    /// How well it fits the step of the procedure.
    pub similarity: Similarity,
    /// Where else the library has the same footage.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copies: Vec<Elsewhere>,
}

/// A place that shows the same footage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Elsewhere {
    /// The video's number in the library.
    pub video: u32,
    /// Its title, or its file name.
    pub title: String,
    /// Where it begins there.
    pub start_ms: u64,
}

/// The video a clip is from, and who is to be credited.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// The video's number in the library.
    pub video: u32,
    /// Its file.
    pub path: PathBuf,
    /// Its title, or its file name.
    pub title: String,
    /// Who published it.
    pub uploader: Option<String>,
    /// Where.
    pub url: Option<String>,
    /// Under which licence.
    pub licence: Option<String>,
}

/// A stretch of a video in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    /// First millisecond.
    pub start_ms: u64,
    /// One past the last millisecond.
    pub end_ms: u64,
}

impl Interval {
    /// How long it lasts, in milliseconds.
    pub fn length_ms(self) -> u64 {
        self.end_ms.saturating_sub(self.start_ms)
    }
}

impl From<stitch_core::clip::Span> for Interval {
    fn from(span: stitch_core::clip::Span) -> Self {
        Self { start_ms: span.start(), end_ms: span.end() }
    }
}

/// How well a clip fits a step: what each sense says, nothing where it has nothing to go by, and
/// what the method made of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Similarity {
    /// The cosine of the step's text with the clip's; none for a clip without words.
    pub text: Option<f32>,
    /// How much of the rare words the two texts share, 0 to 1; none for a clip without words.
    pub words: Option<f32>,
    /// The cosine of the step's text with the clip's picture (or what the encoder takes for it);
    /// none where there is nothing to see (or to hear).
    pub clip: Option<f32>,
    /// How likely the clip shows the step, from all of them: the threshold and the ranking use this.
    pub probability: f32,
}

impl Demonstration {
    /// The current version of the format.
    pub const VERSION: u32 = 1;

    /// The clip for a step, by number from 0.
    pub fn chosen(&self, step: usize) -> Option<&Choice> {
        self.steps.get(step)?.chosen.as_ref()
    }

    /// The text of a step, by number from 0.
    pub fn text(&self, step: usize) -> &str {
        self.steps.get(step).map_or("", |step| &step.text)
    }

    /// The steps that nothing in the library shows, by number from 0.
    pub fn gaps(&self) -> impl Iterator<Item = usize> {
        self.steps.iter().enumerate().filter(|(_, step)| step.chosen.is_none()).map(|(i, _)| i)
    }
}
