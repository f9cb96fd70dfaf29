//! What the evaluator loses when it learns from fewer kinds of negatives, or from other data: each row
//! is trained anew and ranks the same truths among the same candidates.
//!
//! The rows are told the features of step and clip, as the paper's network is, and how sources follow one
//! another, which small encoders do not show; nothing else, and nothing beside the network. Similarities as
//! an input, or as part of the score, would do what correctness teaches, and rank before anything is learnt.

use std::path::Path;

use stitch_core::cover::Sequence;
use stitch_core::pool::Pool;
use stitch_engine::evaluator::{Channels, Config, Evaluator, EvaluatorError, Precision};
use stitch_engine::progress::{Progress, Within};
use stitch_engine::scorer::{Query, Scorer, ScorerError};

use crate::collection::Instance;
use crate::dataset::Split;
use crate::suite::compare::{CompareError, Extra, Options, compare};
use crate::suite::report::{Ablation, AblationRow};
use crate::suite::test_set::TestSet;
use crate::train::{Drawing, Machine, TrainError, TrainOptions, Where, train};

/// How many trainings of different seeds make a row; their scores are added.
const TRAININGS: u64 = 3;

/// How an evaluator is trained.
#[derive(Clone, Debug)]
pub struct Lessons {
    /// The domain that the models' cards name.
    pub domain: String,
    /// What a token is told.
    pub channels: Channels,
    /// How learning goes on.
    pub train: TrainOptions,
}

impl Lessons {
    /// Those of the ablations: one negative of each kind that is not switched off.
    pub fn plain(domain: &str, seed: u64) -> Self {
        let channels = Channels { source: true, ..Channels::default() };
        let drawing = Drawing { whole: 0.2, shortened: 1.0, reword: 0.0, ..kinds([true; 3]) };
        let train = TrainOptions {
            seed,
            drawing,
            batch: 128,
            rate: 1e-3,
            epochs: 8,
            patience: 8,
            held_out: 300,
            prior: false,
            ..TrainOptions::default()
        };
        Self { domain: domain.into(), channels, train }
    }
}

/// A negative of each of these of the three kinds for a positive. What one kind teaches must not depend
/// on whether the others are there, so none takes another's place.
fn kinds(kept: [bool; 3]) -> Drawing {
    let [correctness, continuity, state] = kept.map(|kept| f64::from(u8::from(kept)));
    Drawing { correctness, continuity, state, ..Drawing::default() }
}

/// Why a row is missing.
#[derive(Debug, thiserror::Error)]
pub enum AblationError {
    /// It could not be trained.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// It could not be loaded.
    #[error(transparent)]
    Evaluator(#[from] EvaluatorError),
    /// It could not be measured.
    #[error(transparent)]
    Compare(#[from] CompareError),
}

/// An evaluator that learnt from the training part of a set, as far as it is kept; from the folder where
/// it was trained before.
pub fn learn(
    set: &TestSet,
    keep: impl Fn(&Instance) -> bool,
    lessons: &Lessons,
    folder: &Path,
    progress: &dyn Progress,
) -> Result<Evaluator, AblationError> {
    let mut collection = set.collection.clone();
    collection.instances.retain(|instance| instance.split == Split::HeldOut || keep(instance));
    let small = Config::small(set.encoder.clone(), &lessons.domain);
    let config = Config { channels: lessons.channels, ..small };
    let place = Where {
        folder: folder.into(),
        machine: Machine::Cpu,
        precision: Precision::F32,
        checkpoint_every: u64::MAX,
        licence: "for measuring only".into(),
    };
    train(&collection, &[], &config, &lessons.train, &place, &|_| {}, &Within(progress))?;
    Ok(Evaluator::load(folder)?)
}

/// Evaluators of the same lessons and different seeds.
struct Together {
    lessons: String,
    evaluators: Vec<Evaluator>,
}

impl Together {
    fn learn(
        name: &str,
        set: &TestSet,
        keep: impl Fn(&Instance) -> bool,
        lessons: &Lessons,
        folder: &Path,
        progress: &dyn Progress,
    ) -> Result<Self, AblationError> {
        let of = |number: u64| {
            let mut lessons = lessons.clone();
            lessons.train.seed = lessons.train.seed.wrapping_add(number);
            learn(set, &keep, &lessons, &folder.join(number.to_string()), progress)
        };
        let evaluators = (0..TRAININGS).map(of).collect::<Result<_, _>>()?;
        Ok(Self { lessons: name.into(), evaluators })
    }
}

impl Scorer for Together {
    fn name(&self) -> &str {
        "evaluator"
    }

    fn score(
        &self,
        query: &Query<'_>,
        pool: &Pool,
        candidates: &[Sequence],
    ) -> Result<Vec<f32>, ScorerError> {
        let mut sums = vec![0.0; candidates.len()];
        for evaluator in &self.evaluators {
            let scores = evaluator.score(query, pool, candidates)?;
            sums.iter_mut().zip(scores).for_each(|(sum, score)| *sum += score);
        }
        Ok(sums)
    }
}

/// The negatives of the paper's ablation: every choice of the three kinds but none.
pub fn choices() -> Vec<(String, [bool; 3])> {
    let names = ["correctness", "continuity", "state"];
    let some = |bits: u8| [0, 1, 2].map(|bit| bits >> bit & 1 == 1);
    let name = |kinds: [bool; 3]| {
        let kept = names.iter().zip(kinds).filter(|(_, kept)| *kept).map(|(name, _)| *name);
        kept.collect::<Vec<_>>().join(" + ")
    };
    [1, 2, 4, 3, 5, 6, 7].map(some).map(|kinds| (name(kinds), kinds)).to_vec()
}

/// Seven rows: which kinds of negatives are learnt from.
pub fn negatives(
    set: &TestSet,
    lessons: &Lessons,
    folder: &Path,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Ablation, AblationError> {
    let mut rows = Vec::new();
    for (name, kept) in choices() {
        let mut lessons = lessons.clone();
        let Drawing { correctness, continuity, state, .. } = kinds(kept);
        let drawing = &mut lessons.train.drawing;
        *drawing = Drawing { correctness, continuity, state, ..*drawing };
        let place = folder.join(name.replace(" + ", "-"));
        rows.push(Together::learn(&name, set, |_| true, &lessons, &place, progress)?);
    }
    table("Kinds of negatives", set, &rows, options, progress)
}

/// Three rows: what is learnt from.
pub fn data(
    set: &TestSet,
    lessons: &Lessons,
    folder: &Path,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Ablation, AblationError> {
    let sources = [
        ("real videos alone", &["real"][..]),
        ("temporally sampled", &["real", "temporally-sampled"]),
        ("mixed procedures (D_w)", &["real", "rules", "language-model"]),
    ];
    let mut rows = Vec::new();
    for (name, builders) in sources {
        let place = folder.join(name.replace(' ', "-"));
        let keep = |instance: &Instance| builders.contains(&instance.builder.as_str());
        match Together::learn(name, set, keep, lessons, &place, progress) {
            Ok(together) => rows.push(together),
            // A library may have no such data: the row is missing, and the others stand.
            Err(AblationError::Train(
                TrainError::EmptyPart { .. } | TrainError::NoNegatives | TrainError::OneVideo,
            )) => {}
            Err(error) => return Err(error),
        }
    }
    table("Training data", set, &rows, options, progress)
}

/// All rows on the same questions, each beside the last, which nothing was taken from.
fn table(
    title: &str,
    set: &TestSet,
    rows: &[Together],
    options: &Options,
    progress: &dyn Progress,
) -> Result<Ablation, AblationError> {
    let name = |at: usize| if at + 1 == rows.len() { "evaluator" } else { &rows[at].lessons };
    let extra: Vec<Extra> =
        rows.iter().enumerate().map(|(at, row)| (name(at), Ok(row as &dyn Scorer))).collect();
    let options = Options { trained: false, ..options.clone() };
    let found = compare(set, &extra, &options, progress)?;
    let row = |(at, row): (usize, &Together)| {
        let method = found.methods.iter().find(|method| method.name == name(at))?;
        Some(AblationRow {
            name: row.lessons.clone(),
            figures: method.figures,
            intervals: method.intervals,
            against_last: method.against_evaluator,
        })
    };
    let rows = rows.iter().enumerate().filter_map(row).collect();
    Ok(Ablation { title: title.into(), on: set.name.clone(), rows })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_seven_rows() {
        let names: Vec<String> = choices().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), 7);
        assert_eq!(names[0], "correctness");
        assert_eq!(names[6], "correctness + continuity + state");
    }

    #[test]
    fn a_kind_that_is_switched_off_leaves_the_others_as_they_are() {
        for (name, kept) in choices() {
            let Drawing { correctness, continuity, state, .. } = kinds(kept);
            let rates = [correctness, continuity, state];
            assert_eq!(rates, kept.map(|kept| if kept { 1.0 } else { 0.0 }), "{name}");
        }
        let plain = Lessons::plain("cooking", 3).train;
        assert!(!plain.prior && plain.drawing.swapped + plain.drawing.elsewhere == 0.0);
    }
}
