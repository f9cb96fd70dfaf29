//! How likely it is that a clip shows a step: what each sense says, weighed by a small logistic
//! model.
//!
//! A clip may lack a sense (no words in a silent video, no picture in a library of narration), and
//! the weight of one sense depends on whether the other spoke too. So there is one model for each
//! case, and a clip of which no sense knows anything is never believed.

/// What the senses say of a step and a clip; none where a sense has nothing to go by.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Evidence {
    /// The cosine of the step's text with the clip's own.
    pub text: Option<f32>,
    /// How much of the rarity in the two texts is in words they share, 0 to 1.
    pub words: Option<f32>,
    /// The cosine of the step's text with what F_M makes of the clip.
    pub clip: Option<f32>,
    /// As `text`, of the step understood in its procedure; `text` stands in where it is unknown.
    pub context: Option<f32>,
    /// As `clip`, of the step understood in its procedure; `clip` stands in where it is unknown.
    pub context_clip: Option<f32>,
    /// The log-odds that the clip's text is what the step asks for, by a cross-encoder: a network that reads both
    /// together. Only the best clips by all else are read so.
    pub cross: Option<f32>,
}

/// The log-odds that a clip shows a step: the bias, and each part of the evidence times its weight.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Logit {
    pub bias: f32,
    pub text: f32,
    pub words: f32,
    pub clip: f32,
    pub context: f32,
    pub context_clip: f32,
}

/// A model for evidence of text and clip, of the text alone, and of the clip alone.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Belief {
    pub both: Logit,
    pub text: Logit,
    pub clip: Logit,
    pub cross: Stacked,
}

/// What the log-odds of all other evidence become where the cross-encoder spoke too.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stacked {
    pub bias: f32,
    /// Of the log-odds of all other evidence.
    pub odds: f32,
    /// Of the cross-encoder's.
    pub cross: f32,
    /// Of how far the sum of these is behind that of the step's best clip: where one clip surely shows the step, a
    /// clip that shows something else may not win by its source.
    pub behind: f32,
}

impl Stacked {
    /// What the cross-encoder says does not count.
    pub const WITHOUT: Self = Self { bias: 0.0, odds: 1.0, cross: 0.0, behind: 0.0 };
}

impl Default for Stacked {
    fn default() -> Self {
        Self::WITHOUT
    }
}

impl Belief {
    /// The log-odds that the clip shows the step, whatever the other clips; none where no sense spoke.
    pub fn log_odds(&self, evidence: &Evidence) -> Option<f32> {
        let Stacked { bias, odds, cross, behind: _ } = self.cross;
        let apart = self.apart(evidence)?;
        Some(evidence.cross.map_or(apart, |read| bias + odds * apart + cross * read))
    }

    /// The same by texts and frames that were encoded apart from the step.
    fn apart(&self, evidence: &Evidence) -> Option<f32> {
        let logit = match (evidence.text, evidence.clip) {
            (Some(_), Some(_)) => self.both,
            (Some(_), None) => self.text,
            (None, Some(_)) => self.clip,
            (None, None) => return None,
        };
        let part = |weight: f32, says: Option<f32>| weight * says.unwrap_or(0.0);
        let sum = part(logit.text, evidence.text)
            + part(logit.words, evidence.words)
            + part(logit.clip, evidence.clip)
            + part(logit.context, evidence.context.or(evidence.text))
            + part(logit.context_clip, evidence.context_clip.or(evidence.clip));
        Some(logit.bias + sum)
    }
}

/// The probability of log-odds.
pub fn probability(log_odds: f32) -> f32 {
    (1.0 + (-log_odds).exp()).recip()
}

/// The inverse of [`probability`]; finite for certain things too.
pub fn log_odds(probability: f32) -> f32 {
    let probability = probability.clamp(1e-6, 1.0 - 1e-6);
    (probability / (1.0 - probability)).ln()
}

/// The natural logarithm of the probability of log-odds; at most 0, and finite however small.
pub fn log_probability(log_odds: f32) -> f32 {
    // ln(1 + e^-x), without overflow on either side
    -((-log_odds.abs()).exp().ln_1p() + (-log_odds).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn belief() -> Belief {
        let logit = |bias, text, words, clip| Logit { bias, text, words, clip, ..Logit::default() };
        Belief {
            both: logit(-3.0, 2.0, 1.0, 4.0),
            text: logit(-1.0, 3.0, 1.0, 0.0),
            clip: logit(-5.0, 0.0, 0.0, 6.0),
            cross: Stacked { bias: -1.0, odds: 0.5, cross: 2.0, behind: 0.0 },
        }
    }

    #[test]
    fn what_was_read_together_is_weighed_against_all_else() {
        let apart = Evidence { text: Some(0.5), ..Evidence::default() };
        assert_eq!(belief().log_odds(&apart), Some(0.5));
        let read = |cross| belief().log_odds(&Evidence { cross: Some(cross), ..apart });
        assert_eq!((read(3.0), read(-3.0)), (Some(5.25), Some(-6.75)));
        assert_eq!(Belief::default().log_odds(&Evidence { cross: Some(9.0), ..apart }), Some(0.0));
    }

    #[test]
    fn each_set_of_senses_has_its_model() {
        let says = |text, words, clip| {
            belief().log_odds(&Evidence { text, words, clip, ..Evidence::default() })
        };
        assert_eq!(says(Some(0.5), Some(1.0), Some(0.5)), Some(1.0));
        assert_eq!(says(Some(0.5), Some(1.0), None), Some(1.5));
        assert_eq!(says(Some(0.5), None, None), Some(0.5));
        assert_eq!(says(None, None, Some(0.5)), Some(-2.0));
        assert_eq!(says(None, None, None), None);
    }

    #[test]
    fn a_step_without_context_is_taken_as_written() {
        let logit =
            Logit { text: 1.0, clip: 1.0, context: 10.0, context_clip: 100.0, ..Logit::default() };
        let written = Evidence { text: Some(1.0), clip: Some(1.0), ..Evidence::default() };
        let understood = Evidence { context: Some(0.5), context_clip: Some(0.25), ..written };
        let model = Belief { both: logit, ..Belief::default() };
        assert_eq!(model.log_odds(&written), Some(112.0));
        assert_eq!(model.log_odds(&understood), Some(32.0));
    }

    #[test]
    fn probabilities_are_exact_in_the_middle_and_finite_at_the_ends() {
        assert_eq!(probability(0.0), 0.5);
        for log_odds in [-8.0f32, -1.0, 0.0, 0.3, 5.0] {
            let plain = f64::from(probability(log_odds)).ln();
            assert!((f64::from(log_probability(log_odds)) - plain).abs() < 1e-5, "{log_odds}");
        }
        assert_eq!(log_probability(-1e30), -1e30);
        assert_eq!(log_probability(1e30), 0.0);
        assert_eq!((probability(-1e30), probability(1e30)), (0.0, 1.0));
    }
}
