//! What an encoder's cosines are worth: the weights with which the senses become a probability that
//! a clip shows a step, and below which probability a step is a gap.
//!
//! `weights.json` beside this file holds them by encoder, as `stitch eval calibrate` prints them; it
//! says for each what it was learnt from.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use stitch_core::belief::{Belief, Logit};
use stitch_core::map::Thresholds;
use stitch_core::pool::Agreement;

/// What is known of an encoder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// What it was learnt from.
    pub from: String,
    /// Where text and clip speak.
    pub both: Weights,
    /// The same in a library whose words and pictures agree as well as drawings and their words do.
    #[serde(default)]
    pub agreeing: Option<Weights>,
    /// Where only the text does.
    pub text: Weights,
    /// Where only the clip does.
    pub clip: Weights,
}

/// A [`Logit`] as it stands in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Weights {
    /// The log-odds when every sense says 0.
    pub bias: f32,
    /// Of the texts' cosine.
    pub text: f32,
    /// Of the shared words.
    pub words: f32,
    /// Of the clip's cosine.
    pub clip: f32,
    /// How likely the best clip must show its step, or the step is a gap.
    pub threshold: f32,
}

/// Shares of pairs whose words suit their own clip: real frames by a model that never saw them, and
/// drawings.
const AGREEMENT: Range<f32> = 0.73..0.93;

/// For an encoder that nobody has measured.
const UNKNOWN: &str = "unknown";

impl Calibration {
    /// Of the encoder of this name; a cautious one where nobody has measured it.
    pub fn of(encoder: &str) -> &'static Self {
        let all = &*ALL;
        all.get(encoder).or_else(|| all.get(UNKNOWN)).unwrap_or(&LAST_RESORT)
    }

    /// What it is in a library whose words and pictures agree so far: eyes that tell its clips apart are
    /// worth more there than elsewhere.
    pub fn in_library(&self, agreement: Agreement) -> Self {
        let Some(agreeing) = self.agreeing else { return self.clone() };
        let share = agreement.share(AGREEMENT.start);
        let trust = (share - AGREEMENT.start) / (AGREEMENT.end - AGREEMENT.start);
        Self { both: self.both.towards(agreeing, trust.clamp(0.0, 1.0)), ..self.clone() }
    }

    /// Below which probability a step is a gap.
    pub fn thresholds(&self) -> Thresholds {
        let [both, text, clip] = [self.both, self.text, self.clip].map(|each| each.threshold);
        Thresholds { both, text, clip }
    }

    /// The model.
    pub fn belief(&self) -> Belief {
        Belief { both: self.both.into(), text: self.text.into(), clip: self.clip.into() }
    }
}

impl Weights {
    /// Part of the way to others.
    fn towards(self, other: Self, part: f32) -> Self {
        let between = |from: f32, to: f32| from + part * (to - from);
        Self {
            bias: between(self.bias, other.bias),
            text: between(self.text, other.text),
            words: between(self.words, other.words),
            clip: between(self.clip, other.clip),
            threshold: between(self.threshold, other.threshold),
        }
    }
}

impl From<Weights> for Logit {
    fn from(Weights { bias, text, words, clip, .. }: Weights) -> Self {
        Self { bias, text, words, clip }
    }
}

static ALL: LazyLock<BTreeMap<String, Calibration>> =
    LazyLock::new(|| serde_json::from_str(include_str!("weights.json")).unwrap_or_default());

/// Never used while the file can be read, which a test makes sure of.
static LAST_RESORT: LazyLock<Calibration> = LazyLock::new(|| {
    let weights = Weights { bias: -10.0, text: 10.0, words: 5.0, clip: 2.0, threshold: 0.3 };
    Calibration {
        from: "nothing".into(),
        both: weights,
        agreeing: None,
        text: weights,
        clip: weights,
    }
});

#[cfg(test)]
mod tests {
    use stitch_core::belief::{Evidence, probability};

    use super::*;

    #[test]
    fn the_file_is_sound_and_has_a_place_for_the_unknown() {
        assert!(
            ALL.contains_key("narration") && ALL.contains_key("mini") && ALL.contains_key(UNKNOWN)
        );
        assert_eq!(Calibration::of("someone-else"), &ALL[UNKNOWN]);
        for (name, found) in &*ALL {
            for weights in [found.both, found.text, found.clip].into_iter().chain(found.agreeing) {
                assert!((0.01..0.95).contains(&weights.threshold), "{name}");
                let all = [weights.text, weights.words, weights.clip];
                assert!(all.iter().all(|w| (0.0..60.0).contains(w)), "{name}: {weights:?}");
            }
        }
    }

    #[test]
    fn eyes_are_worth_more_where_they_agree_with_the_words() {
        let mini = &ALL["mini"];
        let clip = |suits, of| mini.in_library(Agreement { suits, of }).both.clip;
        assert_eq!(clip(0, 0), mini.both.clip);
        assert_eq!(clip(600, 1000), mini.both.clip);
        assert_eq!(clip(990, 1000), mini.agreeing.unwrap().clip);
        assert!(clip(840, 1000) > mini.both.clip && clip(840, 1000) < clip(900, 1000));
    }

    #[test]
    fn more_agreement_is_never_less_likely() {
        for found in ALL.values() {
            let likely = |says: f32| {
                let says = Some(says);
                let evidence = Evidence { text: says, words: says, clip: says };
                probability(found.belief().log_odds(&evidence).unwrap())
            };
            assert!(likely(0.0) < 0.01 && likely(0.9) > 0.9, "{}", found.from);
        }
    }
}
