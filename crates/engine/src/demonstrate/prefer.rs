//! What a person prefers among clips that show a step: prices of clips in the search, and what was given up for each.
//!
//! A price is in natural logarithms of probability, as the price of a source change is. Prices decide which clip is
//! taken; they say nothing about whether it shows the step, so gaps are decided without them.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::str::FromStr;

use stitch_core::clip::{ClipId, VideoId};
use stitch_core::cover::Sequence;
use stitch_core::map::{Match, StepMap};

use super::sources::holds;
use super::{DemonstrateError, Demonstration, Options, PreferenceOutcome, Step, Stock};
use crate::library::{Library, LibraryError};
use crate::recipe::language;
use crate::transcript::Sentence;

/// A property of clips, or of what follows one.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Wanted {
    Short,
    Long,
    Spoken,
    Silent,
    /// This text in the licence of the video.
    Licence(String),
    /// What is said, by the English name of the language.
    Language(String),
    /// Few changes from one video to another.
    OneSource,
}

/// What is wanted, and how much it may cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Preference {
    wanted: Wanted,
    weight: f64,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no preference; there are length=short or long, sound=spoken or silent, source=one, licence=TEXT and \
     language=NAME, each with a weight from 0 to 5 if you like, as length=short:2 (who presents, \
     close-ups and skill are not measured)"
)]
pub struct PreferenceError(String);

/// A clip that is e times less likely to be right is taken at this weight.
const DEFAULT_WEIGHT: f64 = 1.0;
const GREATEST_WEIGHT: f64 = 5.0;

impl FromStr for Preference {
    type Err = PreferenceError;

    /// As `length=short` or `length=short:2`.
    fn from_str(text: &str) -> Result<Self, PreferenceError> {
        let unknown = || PreferenceError(text.to_owned());
        let (name, rest) = text.split_once('=').ok_or_else(unknown)?;
        let (value, weight) = match rest.rsplit_once(':') {
            Some((value, weight)) => (value, weight.parse().ok().ok_or_else(unknown)?),
            None => (rest, DEFAULT_WEIGHT),
        };
        if !(0.0..=GREATEST_WEIGHT).contains(&weight) {
            return Err(unknown());
        }
        let wanted = match (name.trim(), value.trim()) {
            ("length", "short") => Wanted::Short,
            ("length", "long") => Wanted::Long,
            ("sound", "spoken") => Wanted::Spoken,
            ("sound", "silent") => Wanted::Silent,
            ("source", "one") => Wanted::OneSource,
            ("licence", text) if !text.is_empty() => Wanted::Licence(text.into()),
            ("language", name) if !name.is_empty() => Wanted::Language(name.into()),
            _ => return Err(unknown()),
        };
        Ok(Self { wanted, weight })
    }
}

impl fmt::Display for Preference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.wanted {
            Wanted::Short => write!(f, "length=short"),
            Wanted::Long => write!(f, "length=long"),
            Wanted::Spoken => write!(f, "sound=spoken"),
            Wanted::Silent => write!(f, "sound=silent"),
            Wanted::OneSource => write!(f, "source=one"),
            Wanted::Licence(text) => write!(f, "licence={text}"),
            Wanted::Language(name) => write!(f, "language={name}"),
        }
    }
}

/// The options with the prices that are not of a single clip.
pub(super) fn with_prices(options: &Options) -> Options {
    let mut priced = options.clone();
    let changes = options.prefer.iter().filter(|preference| preference.wanted == Wanted::OneSource);
    priced.k_best.switch_cost += changes.map(|preference| preference.weight).sum::<f64>();
    priced
}

/// The most that preferences can cost one clip.
pub(super) fn highest_price(preferences: &[Preference]) -> f64 {
    preferences.iter().map(|preference| preference.weight).sum()
}

/// What preferences cost, by clip.
#[derive(Clone, Debug, Default)]
pub(super) struct Prices(HashMap<ClipId, f64>);

impl Prices {
    fn of(&self, clip: ClipId) -> f64 {
        self.0.get(&clip).copied().unwrap_or(0.0)
    }

    /// M with the prices taken off.
    pub fn on<'m>(&self, map: &'m StepMap) -> Cow<'m, StepMap> {
        if self.0.is_empty() {
            return Cow::Borrowed(map);
        }
        let priced = |found: &Match| {
            let log_prob = found.log_prob - self.of(found.clip) as f32;
            Match { log_prob, ..*found }
        };
        let steps = map.steps.iter().map(|found| found.iter().map(priced).collect()).collect();
        Cow::Owned(StepMap { steps })
    }

    pub fn of_sequence(&self, sequence: &Sequence) -> f64 {
        sequence.0.iter().flatten().map(|clip| self.of(*clip)).sum()
    }
}

/// What is known of clips that preferences ask for.
pub(super) struct Facts<'a> {
    stock: &'a Stock,
    /// Clips are cut to this length.
    longest_ms: u64,
    narration: HashMap<VideoId, Narration>,
}

struct Narration {
    sentences: Vec<Sentence>,
    /// None where it is not surely told.
    language: Option<&'static str>,
}

impl<'a> Facts<'a> {
    pub fn new(
        clips: impl Iterator<Item = ClipId>,
        stock: &'a Stock,
        library: &Library,
        options: &Options,
    ) -> Result<Self, LibraryError> {
        let videos: BTreeSet<VideoId> = match options.prefer.is_empty() {
            true => BTreeSet::new(),
            false => clips.map(|clip| stock.pool.clip(clip).video).collect(),
        };
        let read = |video: VideoId| {
            let sentences = library.sentences(video)?;
            let said: Vec<&str> = sentences.iter().map(|s| s.text.as_str()).collect();
            let language = language(&said.join(" "));
            Ok((video, Narration { sentences, language }))
        };
        let narration = videos.into_iter().map(read).collect::<Result<_, LibraryError>>()?;
        Ok(Self { stock, longest_ms: options.timeline.longest_ms.max(1), narration })
    }

    /// What the preferences cost, by clip.
    pub fn prices(
        &self,
        preferences: &[Preference],
        clips: impl Iterator<Item = ClipId>,
    ) -> Prices {
        if preferences.is_empty() {
            return Prices::default();
        }
        let price = |clip: ClipId| {
            let price = |wish: &Preference| wish.weight * self.unmet(&wish.wanted, clip);
            (clip, preferences.iter().map(price).sum::<f64>())
        };
        Prices(clips.map(price).collect())
    }

    /// How far a clip is from what is wanted, 0 to 1.
    fn unmet(&self, wanted: &Wanted, clip: ClipId) -> f64 {
        let clip = self.stock.pool.clip(clip);
        let length = clip.span.length().min(self.longest_ms) as f64 / self.longest_ms as f64;
        let is = |met: bool| if met { 0.0 } else { 1.0 };
        match wanted {
            Wanted::Short => length,
            Wanted::Long => 1.0 - length,
            Wanted::Spoken => 1.0 - self.spoken(clip.video, clip.span.start(), clip.span.end()),
            Wanted::Silent => self.spoken(clip.video, clip.span.start(), clip.span.end()),
            Wanted::Licence(text) => {
                let video = self.stock.videos.get(&clip.video);
                let licence = video.and_then(|record| record.video.licence.as_deref());
                is(licence.is_some_and(|licence| holds(licence, text)))
            }
            Wanted::Language(name) => {
                let spoken = self.narration.get(&clip.video).and_then(|n| n.language);
                is(spoken.is_none_or(|spoken| spoken.eq_ignore_ascii_case(name)))
            }
            Wanted::OneSource => 0.0,
        }
    }

    /// The share of a span in which something is said.
    fn spoken(&self, video: VideoId, start_ms: u64, end_ms: u64) -> f64 {
        let sentences = self.narration.get(&video).map_or(&[][..], |n| &n.sentences);
        let heard = |s: &Sentence| s.end_ms.min(end_ms).saturating_sub(s.start_ms.max(start_ms));
        let heard: u64 = sentences.iter().map(heard).sum();
        (heard as f64 / end_ms.saturating_sub(start_ms).max(1) as f64).min(1.0)
    }

    /// How well the shown steps have what is wanted, 0 to 1.
    fn met(&self, wanted: &Wanted, answer: &Demonstration) -> f32 {
        let clips: Vec<ClipId> = answer
            .steps
            .iter()
            .filter_map(|step| Some(ClipId(step.chosen.as_ref()?.clip)))
            .collect();
        let unmet = match wanted {
            Wanted::OneSource => {
                answer.source_changes as f64 / clips.len().saturating_sub(1).max(1) as f64
            }
            wanted => {
                let sum: f64 = clips.iter().map(|clip| self.unmet(wanted, *clip)).sum();
                sum / clips.len().max(1) as f64
            }
        };
        (1.0 - unmet) as f32
    }
}

/// Answers once more without each preference; what the difference is.
pub(super) fn outcomes(
    answer: &Demonstration,
    stock: &Stock,
    library: &Library,
    options: &Options,
    answer_to: impl Fn(&Options) -> Result<Demonstration, DemonstrateError>,
) -> Result<Vec<PreferenceOutcome>, DemonstrateError> {
    let clip = |step: &Step| step.chosen.as_ref().map(|choice| ClipId(choice.clip));
    let outcome = |preference: &Preference| {
        let mut others = options.clone();
        others.prefer.retain(|other| other != preference);
        let without = answer_to(&others)?;
        let clips = answer.steps.iter().chain(&without.steps).filter_map(clip);
        let facts = Facts::new(clips, stock, library, options)?;
        let pairs = answer.steps.iter().zip(&without.steps).enumerate();
        let changed: Vec<usize> =
            pairs.filter(|(_, (a, b))| clip(a) != clip(b)).map(|(step, _)| step).collect();
        let probability = |answer: &Demonstration| {
            let of = |step: &usize| answer.steps[*step].chosen.as_ref();
            let clips: Vec<_> = changed.iter().filter_map(of).collect();
            clips.iter().map(|clip| clip.similarity.probability).sum::<f32>()
                / clips.len().max(1) as f32
        };
        let is_gap = |step: &usize| answer.steps[*step].chosen.is_none();
        Ok(PreferenceOutcome {
            preference: preference.to_string(),
            met: facts.met(&preference.wanted, answer),
            met_without: facts.met(&preference.wanted, &without),
            probability: probability(answer),
            probability_without: probability(&without),
            gaps: changed.iter().copied().filter(is_gap).collect(),
            changed,
        })
    };
    options.prefer.iter().map(outcome).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preferences_are_read_and_written_alike() {
        for text in ["length=short", "length=long", "sound=spoken", "sound=silent", "source=one"] {
            let preference: Preference = text.parse().unwrap();
            assert_eq!((preference.to_string(), preference.weight), (text.to_owned(), 1.0));
        }
        let weighed: Preference = "licence=cc by:2.5".parse().unwrap();
        assert_eq!((weighed.to_string(), weighed.weight), ("licence=cc by".into(), 2.5));
        for text in [
            "",
            "length",
            "length=",
            "length=short:",
            "length=short:-1",
            "length=short:NaN",
            "shots=close",
            "licence=",
        ] {
            let said = text.parse::<Preference>().unwrap_err().to_string();
            assert!(said.contains("length=short or long"), "{said}");
        }
    }

    #[test]
    fn a_price_lowers_a_match_and_nothing_else() {
        let found =
            |clip| Match { clip: ClipId(clip), evidence: Default::default(), log_prob: -1.0 };
        let map = StepMap { steps: vec![vec![found(0), found(1)]] };
        let prices = Prices(HashMap::from([(ClipId(1), 0.5)]));
        let priced = prices.on(&map);
        let priced: Vec<f32> = priced.steps[0].iter().map(|found| found.log_prob).collect();
        assert_eq!(priced, [-1.0, -1.5]);
        assert_eq!(
            prices.of_sequence(&Sequence(vec![Some(ClipId(1)), None, Some(ClipId(1))])),
            1.0
        );
        assert!(matches!(Prices::default().on(&map), Cow::Borrowed(_)));
    }
}
