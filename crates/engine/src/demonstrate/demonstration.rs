//! V_R as a record: every step, the clip that shows it, why, and what else could. This is
//! `demo.json`; rendering and every export read nothing else.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use stitch_core::format::{count, percent};

use crate::overlay::Overlay;
use crate::transcript::Sentence;

/// The answer to a procedure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Demonstration {
    /// The version of this format.
    pub version: u32,
    /// What the procedure makes; may be empty.
    pub title: String,
    /// Why the procedure's language is not understood, and what to do; none where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language_note: Option<String>,
    /// One entry per step of the procedure, in order.
    pub steps: Vec<Step>,
    /// What decided between the candidates, by name (`evaluator`, `similarity`, `blend`).
    pub scorer: String,
    /// Its score of this sequence.
    pub score: f32,
    /// How likely every step is answered rightly, where the scorer says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<f32>,
    /// How many candidate sequences it was chosen from.
    pub candidates: usize,
    /// How often the source changes from one shown step to the next.
    pub source_changes: usize,
    /// The seed of everything random in between.
    pub seed: u64,
    /// The models used, by role, with the SHA-256 of their weights.
    pub models: BTreeMap<String, String>,
    /// What was preferred, and what was given up for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preferences: Vec<PreferenceOutcome>,
    /// What a narrator reads over the clips; none without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voiceover: Option<Voiceover>,
}

/// What one preference did to an answer, against the answer with all preferences but this one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PreferenceOutcome {
    /// As `length=short`.
    pub preference: String,
    /// How well the answer meets it, 0 to 1.
    pub met: f32,
    pub met_without: f32,
    /// The steps, from 0, that are shown otherwise because of it.
    pub changed: Vec<usize>,
    /// Those of them that are gaps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<usize>,
    /// How likely the clips of these steps are right, on average; 0 without any.
    pub probability: f32,
    pub probability_without: f32,
}

impl PreferenceOutcome {
    /// What was got and what was given up for it, in words.
    pub fn told(&self) -> String {
        let Self { preference, met, met_without, changed, gaps, .. } = self;
        let met = percent(*met);
        if changed.is_empty() {
            return format!("{preference}: {met} met, and nothing was given up for it");
        }
        let [now, before] = [self.probability, self.probability_without].map(percent);
        let clips = changed.len() - gaps.len();
        let clips = (clips > 0).then(|| {
            let steps = count(clips, "step");
            format!("{steps} got another clip, {now} likely to be right instead of {before}")
        });
        let gaps = (!gaps.is_empty()).then(|| format!("{} got no clip", count(gaps.len(), "step")));
        let price: Vec<String> = clips.into_iter().chain(gaps).collect();
        let without = percent(*met_without);
        format!("{preference}: {met} met instead of {without}; for it {}", price.join(", and "))
    }
}

/// What a narrator says, and how the clips were fitted to it. The cuts and speeds of the clips are the
/// fitted ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Voiceover {
    /// Who speaks, as the user named it.
    pub voice: String,
    /// One entry per step; none for a gap, and for a step that a recording does not say.
    pub steps: Vec<Option<SpokenStep>>,
}

/// A step that is spoken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpokenStep {
    /// The words, with times from the beginning of the step in the video.
    pub words: Vec<Sentence>,
    /// Footage that was added to its clips, in milliseconds.
    pub added_ms: u64,
    /// How often its clips are played again.
    pub loops: u32,
}

/// One step of the procedure and what shows it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The step in the words of the procedure.
    pub text: String,
    /// What it asks for, where its own words do not say it: a translation, or what only the title and the steps
    /// before name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub understood: Option<String>,
    /// When it is to be done at all, in the words that were searched for: "if the wood is rough". None where these
    /// are not English.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// When and how long, likewise: "for ten minutes".
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub times: Vec<String>,
    /// How sure the answer is.
    #[serde(default)]
    pub confidence: Confidence,
    /// The clip that shows it; none is an honest gap.
    pub chosen: Option<Choice>,
    /// Its actions, where it has several and the chosen clip does not show them all; else empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<StepPart>,
    /// Other clips that could show it, best first.
    pub alternatives: Vec<Choice>,
    /// A thing that its clip shows in an earlier state than a clip before: "onion is chopped in step 2 and whole in
    /// step 5". None where the words of the clips tell of none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_note: Option<String>,
    /// How alike the pictures on both sides of the cut to this step are, 0 to 1; none for the first
    /// clip, after a gap, and where nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub join: Option<f32>,
    /// By how much the answer's score is above that of the best candidate without this clip (or gap); none where
    /// no candidate is without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lead: Option<f32>,
}

/// One of several actions of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepPart {
    /// The action in the words that were searched for.
    pub text: String,
    /// Whether it is shown.
    pub shown: bool,
    /// The clip that is played for it besides the step's chosen one, from the same video.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clip: Option<Choice>,
}

impl Step {
    /// The clips that are played for it, in order.
    pub fn clips(&self) -> Vec<&Choice> {
        let Some(chosen) = &self.chosen else { return Vec::new() };
        let further = self.parts.iter().filter_map(|part| part.clip.as_ref());
        let mut clips: Vec<&Choice> = further.chain([chosen]).collect();
        clips.sort_by_key(|clip| (clip.span.start_ms, clip.clip));
        clips.dedup_by_key(|clip| clip.clip);
        clips
    }

    /// Whether it is a gap that was filled.
    pub fn is_generated(&self) -> bool {
        self.chosen.as_ref().is_some_and(|choice| choice.source.generated.is_some())
    }

    /// What of it nothing shows, in words; none where all of it or nothing of it is shown.
    pub fn partly_shown(&self) -> Option<String> {
        let missing = self.parts.iter().filter(|part| !part.shown);
        let missing: Vec<String> = missing.map(|part| format!("\"{}\"", part.text)).collect();
        let told = || format!("partly shown: nothing shows {}", missing.join(" or "));
        (self.chosen.is_some() && !missing.is_empty()).then(told)
    }
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
            Some(choice) if choice.source.generated.is_some() => Self::NotShown,
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// What generated it, in words, where it is no video of the library but fills a gap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generated: Option<String>,
    /// Subtitles and watermarks in its picture, where somebody looked for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overlays: Vec<Overlay>,
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

    /// Every clip that is played, in order, with its step by number from 0.
    pub fn cuts(&self) -> impl Iterator<Item = (usize, &Choice)> {
        let of_step =
            |(number, step)| Step::clips(step).into_iter().map(move |clip| (number, clip));
        self.steps.iter().enumerate().flat_map(of_step)
    }

    /// One of the clips that are played for a step, both by number from 0.
    pub fn clip(&self, step: usize, clip: usize) -> Option<&Choice> {
        self.steps.get(step)?.clips().get(clip).copied()
    }

    /// The text of a step as it is shown, by number from 0.
    pub fn text(&self, step: usize) -> Cow<'_, str> {
        match self.steps.get(step) {
            Some(step) if step.is_generated() => format!("{} (generated)", step.text.trim()).into(),
            step => step.map_or("", |step| &step.text).into(),
        }
    }

    /// What is said during a step, by number from 0.
    pub fn spoken(&self, step: usize) -> Option<&SpokenStep> {
        self.voiceover.as_ref()?.steps.get(step)?.as_ref()
    }

    /// The steps that nothing in the library shows, by number from 0; filled or not.
    pub fn gaps(&self) -> impl Iterator<Item = usize> {
        let is_gap = |(_, step): &(usize, &Step)| step.chosen.is_none() || step.is_generated();
        self.steps.iter().enumerate().filter(is_gap).map(|(i, _)| i)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn choice(clip: u32, start_ms: u64) -> Choice {
        let interval = Interval { start_ms, end_ms: start_ms + 1000 };
        Choice {
            clip,
            source: Source {
                video: 1,
                path: "a.mp4".into(),
                title: "a".into(),
                ..Source::default()
            },
            span: interval,
            cut: interval,
            speed: 1.0,
            text: String::new(),
            narration: String::new(),
            similarity: Similarity { text: None, words: None, clip: Some(0.5), probability: 0.9 },
            copies: Vec::new(),
        }
    }

    pub fn part(text: &str, shown: bool, clip: Option<Choice>) -> StepPart {
        StepPart { text: text.into(), shown, clip }
    }

    pub fn step(parts: Vec<StepPart>) -> Step {
        let (text, chosen) = ("Wash and shred the lettuce".into(), Some(choice(7, 5000)));
        Step { text, chosen, parts, ..Step::default() }
    }

    #[test]
    fn the_clips_of_a_step_are_played_in_the_order_of_their_video() {
        let of = |parts| step(parts).clips().iter().map(|clip| clip.clip).collect::<Vec<_>>();
        assert_eq!(of(vec![]), [7]);
        let (before, after) = (Some(choice(6, 2000)), Some(choice(8, 9000)));
        let parts = vec![part("dry", true, after), part("wash", true, before.clone())];
        assert_eq!(of(parts), [6, 7, 8]);
        let parts = vec![part("wash", true, before.clone()), part("rinse", true, before)];
        assert_eq!(of(parts), [6, 7], "one clip for two actions is played once");
    }

    #[test]
    fn what_nothing_shows_is_told() {
        let told = |parts| step(parts).partly_shown();
        assert_eq!(told(vec![part("wash", true, None), part("shred", true, None)]), None);
        let parts = vec![part("wash the lettuce", false, None), part("shred", true, None)];
        assert_eq!(told(parts).unwrap(), "partly shown: nothing shows \"wash the lettuce\"");
    }

    #[test]
    fn a_preference_that_leads_to_a_gap_says_so() {
        let told = |changed: Vec<usize>, gaps: Vec<usize>| {
            let (met, met_without, probability, probability_without) = (1.0, 0.0, 0.5, 0.75);
            let preference = "source=one".into();
            let outcome = PreferenceOutcome {
                preference,
                met,
                met_without,
                changed,
                gaps,
                probability,
                probability_without,
            };
            outcome.told().split_once("for it ").map(|(_, price)| price.to_owned())
        };
        let another = "1 step got another clip, 50 % likely to be right instead of 75 %";
        assert_eq!(told(vec![], vec![]).as_deref(), None);
        assert_eq!(told(vec![1], vec![]).as_deref(), Some(another));
        assert_eq!(told(vec![1], vec![1]).as_deref(), Some("1 step got no clip"));
        let both = format!("{another}, and 1 step got no clip");
        assert_eq!(told(vec![1, 2], vec![2]), Some(both));
    }

    #[test]
    fn a_step_without_parts_reads_and_is_written_as_before() {
        let plain = serde_json::to_value(step(vec![])).unwrap();
        assert!(plain.get("parts").is_none());
        assert_eq!(serde_json::from_value::<Step>(plain).unwrap(), step(vec![]));
        let compound = step(vec![part("wash", true, Some(choice(6, 2000)))]);
        let text = serde_json::to_string(&compound).unwrap();
        assert_eq!(serde_json::from_str::<Step>(&text).unwrap(), compound);
    }
}
