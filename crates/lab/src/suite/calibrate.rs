//! Learning how likely a clip shows a step: made-up libraries are asked everything they can be asked,
//! and every clip is judged by their truth.
//!
//! Folds are by action, so a figure is always of steps that were not learnt from. A step that nothing
//! shows is made by taking away every video that does.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use serde::{Deserialize, Serialize};
use stitch_core::belief::{Belief, Evidence, Logit};
use stitch_core::map::{MapError, MapOptions, Steps, Thresholds, map};
use stitch_engine::calibration::{Calibration, Weights};
use stitch_engine::encoder::{Encoder, EncoderError};
use stitch_engine::files::FileError;
use stitch_engine::library::{Library, LibraryError};
use stitch_engine::sentence::{SentenceEncoder, SentenceError};

use super::logistic::{self, NUMBERS, Sample};
use super::made_up::{file_name, is_right};
use stitch_world::library::{MixedStep, questions};
use stitch_world::truth::Truth;

/// Into how many parts the actions are divided.
pub const FOLDS: usize = 5;

/// The most of truly shown steps that the threshold may call gaps: somewhat below the one in twenty
/// that is promised.
const FALSE_GAPS: f64 = 0.044;

/// What real pictures count, in parts of the drawn pairs, where words and pictures agree as drawings do:
/// without any, eyes rule, and fewer of the steps that nothing shows are called gaps.
const REAL_AMONG_AGREEING: f64 = 0.05;

/// Everything that was asked, and what was found.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// Every question with every clip.
    pub pairs: Vec<Pair>,
    /// Cosines of texts and real pictures, where there are any.
    pub pictures: Vec<Picture>,
}

/// A question and a clip.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// The question, counted over all libraries.
    pub question: usize,
    /// What it asks for.
    pub lesson: usize,
    /// Whether the clip's video shows that anywhere.
    pub video_shows: bool,
    /// What the senses say.
    pub evidence: Evidence,
    /// Whether the clip shows it.
    pub right: bool,
}

/// A text and a real picture.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Picture {
    /// The video it is from.
    pub video: usize,
    /// The cosine, by a model that has never seen this video.
    pub cosine: f32,
    /// Whether the picture shows what the text says.
    pub right: bool,
}

/// What was learnt.
#[derive(Clone, Debug, Serialize)]
pub struct Made {
    /// The weights.
    pub calibration: Calibration,
    /// How they hold, by the senses that spoke.
    pub held_out: Vec<HeldOut>,
    /// What was said and what was, over all pairs where both senses spoke.
    pub reliability: Vec<Reliability>,
}

/// Figures of steps that were not learnt from.
#[derive(Clone, Debug, Serialize)]
pub struct HeldOut {
    /// The senses that spoke.
    pub senses: &'static str,
    /// How many pairs were judged.
    pub pairs: usize,
    /// Mean negative logarithm of the probability of what was.
    pub log_loss: f64,
    /// Expected calibration error over all pairs.
    pub calibration_error: f64,
    /// Share of shown steps whose best clip is right.
    pub best_right: f64,
    /// Expected calibration error of the best clips of shown steps.
    pub best_calibration_error: f64,
    /// The threshold below which a step is a gap.
    pub threshold: f64,
    /// Share of shown steps that are then called gaps.
    pub false_gaps: f64,
    /// Share of steps that no video shows that are.
    pub true_gaps: f64,
}

/// A bin of the reliability table.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Reliability {
    /// Probabilities from here
    pub from: f64,
    /// to here.
    pub to: f64,
    /// How many.
    pub count: usize,
    /// Their mean.
    pub said: f64,
    /// The share that was right.
    pub was: f64,
}

/// Why nothing was learnt.
#[derive(Debug, thiserror::Error)]
pub enum CalibrateError {
    /// A library cannot be read.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// The questions cannot be encoded.
    #[error(transparent)]
    Encoder(#[from] EncoderError),
    /// The questions cannot be encoded.
    #[error(transparent)]
    Sentence(#[from] SentenceError),
    /// Libraries and encoder do not belong together.
    #[error(transparent)]
    Map(#[from] MapError),
    /// The pictures cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The pictures are not in their format.
    #[error("line {line} of the pictures is not {{\"video\", \"cosine\", \"right\"}}: {source}")]
    Pictures {
        /// Which line, from 1.
        line: usize,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// No clip is right.
    #[error("no clip of these libraries shows what can be asked; index what `world render` wrote")]
    NothingRight,
}

/// Asks every library everything.
pub fn ask(
    worlds: &[(Truth, Library)],
    encoder: &dyn Encoder,
    sentence: &SentenceEncoder,
) -> Result<Asked, CalibrateError> {
    let mut asked = Asked::default();
    let mut first = 0;
    for (truth, library) in worlds {
        library.check_encoder(encoder.id())?;
        let questions = questions(truth);
        let texts: Vec<String> = questions.iter().map(|(_, step)| step.text.clone()).collect();
        let strs: Vec<&str> = texts.iter().map(String::as_str).collect();
        let (text, clip) = (sentence.encode(&texts)?, encoder.encode_text(&strs)?);
        let steps = Steps { texts: &texts, text: &text, clip: &clip };
        asked.pairs.extend(judged(&steps, &questions, library, first)?);
        first += questions.len();
    }
    Ok(asked)
}

/// Every question with every clip of a library.
fn judged(
    steps: &Steps<'_>,
    questions: &[(usize, MixedStep)],
    library: &Library,
    first: usize,
) -> Result<Vec<Pair>, CalibrateError> {
    let pool = library.pool()?;
    let mut files = BTreeMap::new();
    for video in library.videos()? {
        files.insert(video.id, file_name(&video.path));
    }
    // Every clip is wanted: any belief will do.
    let everything =
        MapOptions { top: pool.len(), threshold: Thresholds::always(0.0), margin: f32::INFINITY };
    let found = map(steps, &pool, |_| true, &Belief::always(Logit::default()), &everything)?;
    let mut pairs = Vec::new();
    for (at, ((lesson, step), matches)) in questions.iter().zip(found.steps).enumerate() {
        let showing: HashSet<&str> = step.sources.iter().map(|s| s.file.as_str()).collect();
        for found in matches {
            let clip = pool.clip(found.clip);
            let file = files.get(&clip.video.0).map_or("", String::as_str);
            pairs.push(Pair {
                question: first + at,
                lesson: *lesson,
                video_shows: showing.contains(file),
                evidence: found.evidence,
                right: is_right(file, clip.span, step),
            });
        }
    }
    Ok(pairs)
}

/// Reads lines of pictures.
pub fn read_pictures(file: &Path) -> Result<Vec<Picture>, CalibrateError> {
    let text = std::fs::read_to_string(file).map_err(FileError::at(file))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let read = |(at, line)| {
        serde_json::from_str(line)
            .map_err(|source| CalibrateError::Pictures { line: at + 1, source })
    };
    lines.map(read).collect()
}

/// Learns the weights of each set of senses, and measures them on what they were not learnt from.
pub fn learn(asked: &Asked) -> Result<Made, CalibrateError> {
    if !asked.pairs.iter().any(|pair| pair.right) {
        return Err(CalibrateError::NothingRight);
    }
    let tables: Vec<Table> = Senses::ALL.map(|senses| Table::new(asked, senses)).into();
    let held_out: Vec<HeldOut> = tables.iter().map(Table::figures).collect();
    let shipped = |at: usize| {
        let [bias, text, words, clip] = logistic::fit(&tables[at].samples).map(rounded);
        Weights { bias, text, words, clip, threshold: held_out[at].threshold as f32 }
    };
    let calibration = Calibration {
        from: format!(
            "{} pairs of made-up libraries, {} of them right, and {} real pictures",
            asked.pairs.len(),
            asked.pairs.iter().filter(|pair| pair.right).count(),
            asked.pictures.len()
        ),
        both: shipped(0),
        agreeing: (!asked.pictures.is_empty()).then(|| shipped(1)),
        text: shipped(2),
        clip: shipped(3),
    };
    let reliability = reliability(tables[0].judged());
    Ok(Made { calibration, held_out, reliability })
}

/// Two decimals are more than the data can tell.
fn rounded(weight: f64) -> f32 {
    ((weight * 100.0).round() / 100.0) as f32
}

/// Which senses a model listens to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Senses {
    Both,
    /// Both, nearly by the drawings alone.
    Agreeing,
    Text,
    Clip,
}

impl Senses {
    const ALL: [Self; 4] = [Self::Both, Self::Agreeing, Self::Text, Self::Clip];

    fn name(self) -> &'static str {
        match self {
            Self::Both => "text and clip",
            Self::Agreeing => "… that agree",
            Self::Text => "text alone",
            Self::Clip => "clip alone",
        }
    }

    /// What these senses say; none where one of them is silent.
    fn numbers(self, evidence: &Evidence) -> Option<[f64; NUMBERS]> {
        let text = evidence.text.zip(evidence.words);
        let text = text.map(|(text, words)| (f64::from(text), f64::from(words)));
        let clip = evidence.clip.map(f64::from);
        match self {
            Self::Both | Self::Agreeing => {
                text.zip(clip).map(|((text, words), clip)| [text, words, clip])
            }
            Self::Text => text.map(|(text, words)| [text, words, 0.0]),
            Self::Clip => clip.map(|clip| [0.0, 0.0, clip]),
        }
    }
}

/// The samples of a model, in folds, with what was said of those of the libraries out of fold.
struct Table {
    senses: Senses,
    samples: Vec<Sample>,
    pairs: Vec<Pair>,
    said: Vec<f64>,
}

impl Table {
    fn new(asked: &Asked, senses: Senses) -> Self {
        let heard: Vec<(Pair, [f64; NUMBERS])> = asked
            .pairs
            .iter()
            .filter_map(|pair| Some((*pair, senses.numbers(&pair.evidence)?)))
            .collect();
        let sample = |(pair, numbers): &(Pair, [f64; NUMBERS])| Sample {
            numbers: *numbers,
            right: pair.right,
            weight: 1.0,
        };
        let mut samples: Vec<Sample> = heard.iter().map(sample).collect();
        let mut folds: Vec<usize> = heard.iter().map(|(pair, _)| pair.lesson % FOLDS).collect();
        let real = real_pictures(&samples, &asked.pictures, senses);
        folds.extend(asked.pictures.iter().take(real.len()).map(|each| each.video % FOLDS));
        samples.extend(real);
        let models: Vec<logistic::Weights> = (0..FOLDS)
            .map(|fold| {
                let others = samples.iter().zip(&folds).filter(|(_, f)| **f != fold);
                logistic::fit(&others.map(|(sample, _)| *sample).collect::<Vec<_>>())
            })
            .collect();
        let said = heard
            .iter()
            .map(|(pair, numbers)| logistic::probability(&models[pair.lesson % FOLDS], numbers));
        let said = said.collect();
        Self { senses, said, pairs: heard.into_iter().map(|(pair, _)| pair).collect(), samples }
    }

    /// What was said and what was.
    fn judged(&self) -> impl Iterator<Item = (f64, bool)> {
        self.said.iter().zip(&self.pairs).map(|(said, pair)| (*said, pair.right))
    }

    fn figures(&self) -> HeldOut {
        let shown = self.best(|_| true, |right| right);
        let missing = self.best(|pair| !pair.video_shows, |_| true);
        let threshold = threshold(shown.iter().map(|(said, _)| *said).collect());
        let below = |found: &[(f64, bool)]| {
            let below = found.iter().filter(|(said, _)| *said < threshold).count();
            below as f64 / found.len().max(1) as f64
        };
        HeldOut {
            senses: self.senses.name(),
            pairs: self.pairs.len(),
            log_loss: log_loss(self.judged()),
            calibration_error: calibration_error(&reliability(self.judged())),
            best_right: mean(shown.iter().map(|(_, right)| f64::from(u8::from(*right)))),
            best_calibration_error: calibration_error(&reliability(shown.iter().copied())),
            threshold,
            false_gaps: below(&shown),
            true_gaps: below(&missing),
        }
    }

    /// For each question the best of the clips that are there, and whether it is right; only
    /// questions for which `wanted(some clip is right)`.
    fn best(
        &self,
        there: impl Fn(&Pair) -> bool,
        wanted: impl Fn(bool) -> bool,
    ) -> Vec<(f64, bool)> {
        let mut best: BTreeMap<usize, (f64, bool)> = BTreeMap::new();
        let mut some_right: BTreeMap<usize, bool> = BTreeMap::new();
        for (said, pair) in self.said.iter().zip(&self.pairs) {
            *some_right.entry(pair.question).or_default() |= pair.right;
            let best = best.entry(pair.question).or_insert((0.0, false));
            if there(pair) && *said > best.0 {
                *best = (*said, pair.right);
            }
        }
        let kept = best.into_iter().filter(|(question, _)| wanted(some_right[question]));
        kept.map(|(_, found)| found).collect()
    }
}

/// Real pictures as samples, together worth as much as the drawn ones, so that eyes that do well on
/// drawings are trusted no more than they deserve on footage. Where the model also listens to words,
/// each takes those of a drawn pair that is as right as it: given whether the clip is right, what is
/// said and what is seen are taken to be independent.
fn real_pictures(drawn: &[Sample], pictures: &[Picture], senses: Senses) -> Vec<Sample> {
    let part = match senses {
        Senses::Text => 0.0,
        Senses::Agreeing => REAL_AMONG_AGREEING,
        Senses::Both | Senses::Clip => 1.0,
    };
    if part == 0.0 || pictures.is_empty() {
        return Vec::new();
    }
    let of = |right: bool| drawn.iter().filter(move |sample| sample.right == right);
    let (mut rights, mut wrongs) = (of(true).cycle(), of(false).cycle());
    let count = |right| pictures.iter().filter(|each| each.right == right).count().max(1) as f64;
    let (right_weight, wrong_weight) =
        (of(true).count() as f64 / count(true), of(false).count() as f64 / count(false));
    let sample = |picture: &Picture| {
        let words = if picture.right { rights.next() } else { wrongs.next() };
        let mut numbers = words.map_or([0.0; NUMBERS], |sample| sample.numbers);
        numbers[NUMBERS - 1] = f64::from(picture.cosine);
        let weight = part * if picture.right { right_weight } else { wrong_weight };
        Sample { numbers, right: picture.right, weight }
    };
    pictures.iter().map(sample).collect()
}

/// The greatest threshold, in hundredths, that calls few enough of shown steps gaps.
fn threshold(mut best: Vec<f64>) -> f64 {
    best.sort_by(f64::total_cmp);
    let at = (best.len() as f64 * FALSE_GAPS).floor() as usize;
    best.get(at).map_or(0.0, |least| (least * 100.0).floor() / 100.0)
}

fn log_loss(judged: impl Iterator<Item = (f64, bool)>) -> f64 {
    mean(judged.map(|(said, right)| -(if right { said } else { 1.0 - said }).max(1e-12).ln()))
}

fn mean(numbers: impl Iterator<Item = f64>) -> f64 {
    let (count, sum) = numbers.fold((0usize, 0.0), |(count, sum), x| (count + 1, sum + x));
    sum / count.max(1) as f64
}

/// Ten bins.
pub(crate) fn reliability(judged: impl Iterator<Item = (f64, bool)>) -> Vec<Reliability> {
    let mut bins = vec![Reliability::default(); 10];
    for (said, right) in judged {
        let bin = &mut bins[((said * 10.0) as usize).min(9)];
        bin.count += 1;
        bin.said += said;
        bin.was += f64::from(u8::from(right));
    }
    for (at, bin) in bins.iter_mut().enumerate() {
        (bin.from, bin.to) = (at as f64 / 10.0, (at + 1) as f64 / 10.0);
        bin.said /= bin.count.max(1) as f64;
        bin.was /= bin.count.max(1) as f64;
    }
    bins
}

/// Expected calibration error.
pub(crate) fn calibration_error(bins: &[Reliability]) -> f64 {
    let all: usize = bins.iter().map(|bin| bin.count).sum();
    let off = |bin: &Reliability| bin.count as f64 * (bin.said - bin.was).abs();
    bins.iter().map(off).sum::<f64>() / all.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 40 questions of 8 lessons with 30 clips each, one of them right.
    fn asked() -> Asked {
        let pair = |question: usize, clip: usize| {
            let noise = ((question * 31 + clip * 17) % 97) as f32 / 97.0 - 0.5;
            let right = clip == question % 30;
            let says = if right { 0.75 } else { 0.3 } + 0.3 * noise;
            Pair {
                question,
                lesson: question / 5,
                video_shows: clip / 3 == question % 30 / 3,
                evidence: Evidence { text: Some(says), words: Some(0.0), clip: Some(says) },
                right,
            }
        };
        let pairs = (0..40).flat_map(|q| (0..30).map(move |clip| pair(q, clip)));
        Asked { pairs: pairs.collect(), pictures: Vec::new() }
    }

    #[test]
    fn learns_what_can_be_learnt() {
        let made = learn(&asked()).unwrap();
        let both = &made.held_out[0];
        assert!(both.best_right > 0.95 && both.false_gaps <= 0.05, "{both:?}");
        assert!(both.true_gaps > 0.8 && both.calibration_error < 0.05, "{both:?}");
        assert!(made.calibration.both.text > 0.0 && made.calibration.clip.clip > 0.0);
        assert_eq!(made.calibration.text.clip, 0.0);
        assert_eq!(made.reliability.iter().map(|bin| bin.count).sum::<usize>(), 1200);
    }

    #[test]
    fn real_pictures_that_say_nothing_take_trust_away() {
        let mut asked = asked();
        let drawn = learn(&asked).unwrap().calibration;
        asked.pictures = (0..500)
            .map(|i| Picture { video: i, cosine: 0.3 + (i % 7) as f32 / 70.0, right: i % 20 == 0 })
            .collect();
        let real = learn(&asked).unwrap().calibration;
        assert!(real.clip.clip < drawn.clip.clip && real.both.clip < drawn.both.clip);
        assert_eq!(real.text, drawn.text, "words are not touched by pictures");
        let agreeing = real.agreeing.unwrap().clip;
        assert!(
            real.both.clip < agreeing && agreeing < drawn.both.clip && drawn.agreeing.is_none()
        );
    }

    #[test]
    fn nothing_right_is_told() {
        let mut asked = asked();
        asked.pairs.iter_mut().for_each(|pair| pair.right = false);
        assert!(matches!(learn(&asked), Err(CalibrateError::NothingRight)));
    }
}
