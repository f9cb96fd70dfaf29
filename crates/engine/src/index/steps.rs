//! The steps to look for in a video: from a person's list, by a language model, or by rules.

use stitch_core::features::Features;

use super::similarity::{WindowScore, window_score};
use crate::recipe::{GivenStep, StepList};
use crate::transcript::Sentence;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VideoStep {
    pub text: String,
    /// When it is spoken of or shown, in milliseconds, where that is known.
    pub window: Option<(u64, u64)>,
}

pub struct Steps {
    pub steps: Vec<VideoStep>,
    /// Sentences that become steps if the frames confirm them.
    pub possible: Vec<VideoStep>,
    /// What made them, for the user.
    pub by: String,
    /// Whether the windows are those of spoken words, not of what is shown.
    pub spoken: bool,
}

impl Steps {
    pub fn narrated(steps: Vec<Sentence>, possible: Vec<Sentence>, by: &str) -> Self {
        let steps_of = |steps: Vec<Sentence>| steps.into_iter().map(VideoStep::from).collect();
        let (steps, possible) = (steps_of(steps), steps_of(possible));
        Self { steps, possible, by: by.into(), spoken: true }
    }

    pub fn from_list(list: StepList) -> Self {
        let step =
            |step: GivenStep| VideoStep { window: step.start_ms.zip(step.end_ms), text: step.text };
        Self::given(list.steps.into_iter().map(step).collect(), "a person's list")
    }

    /// Spans given by the user are never changed by narration.
    pub fn given(steps: Vec<VideoStep>, by: &str) -> Self {
        Self { steps, possible: Vec::new(), by: by.into(), spoken: false }
    }
}

impl From<Sentence> for VideoStep {
    fn from(step: Sentence) -> Self {
        Self { text: step.text, window: Some((step.start_ms, step.end_ms)) }
    }
}

/// Steps with their features.
pub type Encoded<'a> = (&'a [VideoStep], &'a Features);

/// Below this median z-score of the narrated steps the encoder is too weak for the video. This and the
/// next two were chosen on the made-up library by `stitch eval speech --against`.
const MIN_MEDIAN_Z_SCORE: f32 = 1.0;
/// What a possible step must reach of the narrated steps' medians.
const MIN_SHARE_OF_Z_SCORE: f32 = 0.2;
const MIN_SHARE_OF_COSINE: f32 = 0.5;

/// Which of the possible steps the frames confirm, compared with how similar narrated steps are to
/// their own seconds.
pub fn confirmed(narrated: Encoded, possible: Encoded, seconds: &Features) -> Vec<bool> {
    let scores = |(steps, queries): Encoded| -> Vec<Option<WindowScore>> {
        let both = steps.iter().zip(queries.rows());
        both.map(|(step, query)| window_score(query, step.window?, seconds)).collect()
    };
    let narrated: Vec<WindowScore> = scores(narrated).into_iter().flatten().collect();
    let z_score = median(narrated.iter().map(|score| score.z_score).collect());
    let cosine = median(narrated.iter().map(|score| score.cosine).collect());
    let is_confirmed = |score: WindowScore| {
        z_score > MIN_MEDIAN_Z_SCORE
            && score.z_score > MIN_SHARE_OF_Z_SCORE * z_score
            && score.cosine > MIN_SHARE_OF_COSINE * cosine.max(0.0)
    };
    scores(possible).into_iter().map(|score| score.is_some_and(is_confirmed)).collect()
}

/// 0 of none.
fn median(mut values: Vec<f32>) -> f32 {
    values.sort_by(f32::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_possible_step_is_confirmed_where_it_is_seen() {
        // Seconds that show the first thing, then the second, then the third; three of each.
        let thing = |at: usize| [0, 1, 2].map(|other| f32::from(u8::from(other == at)));
        let seconds = (0..9).flat_map(|second| thing(second / 3)).collect();
        let seconds = Features::new(3, seconds).unwrap();
        let step = |text: &str, from: u64| VideoStep {
            text: text.into(),
            window: Some((from * 1000, from * 1000 + 3000)),
        };
        let narrated = [step("the first", 0)];
        let queries = Features::new(3, vec![1.0, 0.1, 0.1]).unwrap();
        let possible = [step("the second", 3), step("the first again", 3), step("nothing", 6)];
        let said = Features::new(3, vec![0.2, 1.0, 0.2, 1.0, 0.0, 0.0, 0.5, 0.5, 0.5]).unwrap();
        let confirmed =
            |narrated: &[VideoStep]| confirmed((narrated, &queries), (&possible, &said), &seconds);
        assert_eq!(confirmed(&narrated), [true, false, false]);
        assert_eq!(confirmed(&[]), [false; 3], "nothing to compare with");
    }
}
