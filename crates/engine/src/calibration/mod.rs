//! Calibration of an encoder's cosines: the weights of the logistic models that give the probability that a
//! clip shows a step, and the thresholds below which a step is a gap.
//!
//! `weights.json` beside this file holds them by encoder and says where they come from; `stitch calibrate`
//! fits `gaps` and the thresholds on labels of one library.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use stitch_core::belief::{Belief, Evidence, Logit, Stacked};
use stitch_core::gaps::{FEATURES, GapModel};
use stitch_core::pool::Agreement;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// What it was fitted on.
    pub from: String,
    /// For clips with text and frames.
    pub both: Weights,
    /// The same in a library whose [`Agreement`] is that of drawings.
    #[serde(default)]
    pub agreeing: Option<Weights>,
    /// For clips without frames.
    pub text: Weights,
    /// For clips without text.
    pub clip: Weights,
    /// How the cross-encoder changes what the others say.
    #[serde(default)]
    pub cross: CrossWeights,
    /// Decides, in a whole solution, whether a chosen clip shows its step.
    pub gaps: GapWeights,
    /// The same for a clip without text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent_gaps: Option<GapWeights>,
    /// The same where there is no cross-encoder, as with another sentence model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gaps_without_cross: Option<GapWeights>,
}

/// A [`GapModel`] as it stands in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GapWeights {
    /// The log-odds when every feature is 0.
    pub bias: f32,
    /// In the order of `stitch_core::gaps::features`.
    pub weights: [f32; FEATURES],
}

impl From<GapWeights> for GapModel {
    fn from(GapWeights { bias, weights }: GapWeights) -> Self {
        Self { bias, weights }
    }
}

/// A [`Stacked`] as it stands in the file.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CrossWeights {
    pub bias: f32,
    /// Of the log-odds of all other evidence.
    pub odds: f32,
    /// Of the cross-encoder's.
    pub cross: f32,
    /// Of how far the sum of these is behind that of the step's best clip.
    #[serde(default)]
    pub behind: f32,
}

impl Default for CrossWeights {
    fn default() -> Self {
        let Stacked { bias, odds, cross, behind } = Stacked::WITHOUT;
        Self { bias, odds, cross, behind }
    }
}

impl From<CrossWeights> for Stacked {
    fn from(CrossWeights { bias, odds, cross, behind }: CrossWeights) -> Self {
        Self { bias, odds, cross, behind }
    }
}

/// A [`Logit`] as it stands in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Weights {
    /// The log-odds when all evidence is 0.
    pub bias: f32,
    /// Of the texts' cosine.
    pub text: f32,
    /// Of the shared words.
    pub words: f32,
    /// Of the clip's cosine.
    pub clip: f32,
    /// Of the texts' cosine, the step understood in its procedure.
    pub context: f32,
    /// Of the clip's cosine, the step understood in its procedure.
    pub context_clip: f32,
    /// The probability below which a chosen clip does not show its step.
    pub threshold: f32,
}

/// Agreement of real frames, by a model that never saw them, and of drawings.
const AGREEMENT: Range<f32> = 0.73..0.93;

/// The entry for encoders that nobody has measured.
const UNKNOWN: &str = "unknown";

impl Calibration {
    /// Of the encoder of this name.
    pub fn of(encoder: &str) -> &'static Self {
        ALL.get(encoder).unwrap_or(&ALL[UNKNOWN])
    }

    /// Interpolated by how well text and frames agree in a library: vision counts more where it tells clips
    /// apart.
    pub fn in_library(&self, agreement: Agreement) -> Self {
        let Some(agreeing) = self.agreeing else { return self.clone() };
        let share = agreement.share(AGREEMENT.start);
        let trust = (share - AGREEMENT.start) / (AGREEMENT.end - AGREEMENT.start);
        Self { both: self.both.interpolate(agreeing, trust.clamp(0.0, 1.0)), ..self.clone() }
    }

    /// Below which probability a step whose clip has this evidence is a gap.
    pub fn threshold(&self, evidence: &Evidence) -> f32 {
        match (evidence.text, evidence.clip) {
            (Some(_), Some(_)) => self.both.threshold,
            (Some(_), None) => self.text.threshold,
            _ => self.clip.threshold,
        }
    }

    /// Of a chosen clip with this evidence, of a step that the cross-encoder read with some clips or with none.
    pub fn gap_model(&self, evidence: &Evidence, was_read: bool) -> GapModel {
        let silent = self.silent_gaps.filter(|_| evidence.text.is_none());
        let without_cross = self.gaps_without_cross.filter(|_| !was_read);
        silent.or(without_cross).unwrap_or(self.gaps).into()
    }

    /// Whether all weights are finite and all thresholds probabilities.
    pub fn is_sound(&self) -> bool {
        let mut evidence = [self.both, self.text, self.clip].into_iter().chain(self.agreeing);
        let mut gaps =
            [self.gaps].into_iter().chain(self.silent_gaps).chain(self.gaps_without_cross);
        let CrossWeights { bias, odds, cross, behind } = self.cross;
        [bias, odds, cross, behind].iter().all(|weight| weight.is_finite())
            && evidence.all(Weights::is_sound)
            && gaps.all(GapWeights::is_sound)
    }

    /// The same with a gap model and one threshold for all evidence.
    pub fn with_gaps(&self, from: String, gaps: GapWeights, threshold: f32) -> Self {
        let at = |weights: Weights| Weights { threshold, ..weights };
        let [both, text, clip] = [self.both, self.text, self.clip].map(at);
        let (agreeing, cross) = (self.agreeing.map(at), self.cross);
        Self {
            from,
            both,
            agreeing,
            text,
            clip,
            cross,
            gaps,
            silent_gaps: None,
            gaps_without_cross: None,
        }
    }

    pub fn belief(&self) -> Belief {
        let [both, text, clip] = [self.both, self.text, self.clip].map(Logit::from);
        Belief { both, text, clip, cross: self.cross.into() }
    }
}

impl GapWeights {
    fn is_sound(self) -> bool {
        self.bias.is_finite() && self.weights.iter().all(|weight| weight.is_finite())
    }
}

impl Weights {
    fn is_sound(self) -> bool {
        let Self { bias, text, words, clip, context, context_clip, threshold } = self;
        let weights = [bias, text, words, clip, context, context_clip];
        weights.iter().all(|weight| weight.is_finite()) && (0.0..=1.0).contains(&threshold)
    }

    fn interpolate(self, other: Self, part: f32) -> Self {
        let between = |from: f32, to: f32| from + part * (to - from);
        Self {
            bias: between(self.bias, other.bias),
            text: between(self.text, other.text),
            words: between(self.words, other.words),
            clip: between(self.clip, other.clip),
            context: between(self.context, other.context),
            context_clip: between(self.context_clip, other.context_clip),
            threshold: between(self.threshold, other.threshold),
        }
    }
}

impl From<Weights> for Logit {
    fn from(weights: Weights) -> Self {
        let Weights { bias, text, words, clip, context, context_clip, .. } = weights;
        Self { bias, text, words, clip, context, context_clip }
    }
}

static ALL: LazyLock<BTreeMap<String, Calibration>> = LazyLock::new(|| {
    // cannot fail: a test reads the same text
    serde_json::from_str(include_str!("weights.json")).unwrap()
});

#[cfg(test)]
mod tests {
    use stitch_core::belief::probability;

    use super::*;

    #[test]
    fn the_file_is_sound_and_has_a_place_for_the_unknown() {
        assert!(
            ALL.contains_key("narration") && ALL.contains_key("mini") && ALL.contains_key(UNKNOWN)
        );
        assert_eq!(Calibration::of("someone-else"), &ALL[UNKNOWN]);
        for (name, found) in &*ALL {
            assert!(found.is_sound(), "{name}");
            for weights in [found.both, found.text, found.clip].into_iter().chain(found.agreeing) {
                assert!((0.01..0.95).contains(&weights.threshold), "{name}");
                let all = [weights.text + weights.context, weights.words];
                let clip = weights.clip + weights.context_clip;
                assert!(all.iter().all(|w| (0.0..60.0).contains(w)), "{name}: {weights:?}");
                assert!((0.0..60.0).contains(&clip), "{name}: {weights:?}");
            }
        }
    }

    #[test]
    fn vision_counts_more_where_it_agrees_with_the_text() {
        let mini = &ALL["mini"];
        let clip = |suits, of| mini.in_library(Agreement { suits, of }).both.context_clip;
        assert_eq!(clip(0, 0), mini.both.context_clip);
        assert_eq!(clip(600, 1000), mini.both.context_clip);
        assert_eq!(clip(990, 1000), mini.agreeing.unwrap().context_clip);
        assert!(clip(840, 1000) > mini.both.context_clip && clip(840, 1000) < clip(900, 1000));
    }

    #[test]
    fn clips_without_text_or_without_cross_encoder_are_decided_by_weights_of_their_own() {
        let mini = &ALL["mini"];
        let silent = mini.silent_gaps.unwrap();
        let of = |text, was_read| {
            let evidence = Evidence { text, clip: Some(0.3), ..Evidence::default() };
            mini.gap_model(&evidence, was_read)
        };
        assert_eq!(of(Some(0.3), true), mini.gaps.into());
        assert_eq!(of(Some(0.3), false), mini.gaps_without_cross.unwrap().into());
        assert_eq!([of(None, true), of(None, false)], [silent.into(); 2]);
        assert!(silent != mini.gaps && mini.gaps_without_cross != Some(mini.gaps));
        let fitted = mini.with_gaps(String::new(), GapWeights::default(), 0.5);
        assert_eq!(
            fitted.gap_model(&Evidence::default(), false),
            GapWeights::default().into(),
            "a library's own"
        );
        let broken = GapWeights { bias: f32::NAN, ..silent };
        assert!(!Calibration { silent_gaps: Some(broken), ..mini.clone() }.is_sound());
        // Where every clip is clear, none is doubted for it.
        assert!(silent.weights[0] + silent.weights[2] >= 0.0, "{silent:?}");
    }

    #[test]
    fn more_agreement_is_never_less_likely() {
        for found in ALL.values() {
            let likely = |says: f32| {
                let says = Some(says);
                let evidence =
                    Evidence { text: says, words: says, clip: says, ..Evidence::default() };
                probability(found.belief().log_odds(&evidence).unwrap())
            };
            assert!(likely(0.0) < 0.01 && likely(0.9) > 0.9, "{}", found.from);
        }
    }
}
